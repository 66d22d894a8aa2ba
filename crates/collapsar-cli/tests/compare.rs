//! Comparisons of folders in salmon's layout, draws and genes included.

mod common;

use std::fs;
use std::path::Path;

use collapsar_formats::{QuantRow, write_draws, write_quant_sf};
use common::{done, names, refusal, run, run_json};

const TRANSCRIPTS: usize = 120;
const DRAWS: usize = 24;

/// A number from 0 to 1, the same every time.
fn chance(sample: usize, transcript: usize, draw: usize) -> f64 {
    let mut x = (sample * 1_000_003 + transcript * 7919 + draw * 104_729 + 12_345) as u64;
    for _ in 0..3 {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    (x % 1_000_000) as f64 / 1e6
}

/// A folder as collapsar quant or salmon writes it: transcript 3 is eight times as high in the second
/// half of samples, transcripts 10 and 11 share nearly all reads, and transcript 5 has none.
fn folder(path: &Path, sample: usize, draws: usize) {
    let names: Vec<String> = (0..TRANSCRIPTS).map(|t| format!("t{t}")).collect();
    let counts: Vec<f64> = (0..TRANSCRIPTS)
        .map(|t| {
            let high = if t == 3 && sample >= 3 { 8.0 } else { 1.0 };
            let noise = 1.0 + 0.3 * (chance(sample, t, 0) - 0.5);
            let depth = (1 + sample % 2) as f64;
            if t == 5 {
                0.0
            } else {
                (60.0 + 4.0 * t as f64) * high * noise * depth
            }
        })
        .collect();
    fs::create_dir_all(path).expect("a folder");
    let rows = names.iter().zip(&counts).map(|(name, &count)| QuantRow {
        name,
        length: 1200.0,
        effective: 1000.0,
        tpm: count,
        count,
    });
    write_quant_sf(&path.join("quant.sf"), rows).expect("quant.sf");
    if draws == 0 {
        return;
    }
    let drawn = (0..draws).map(|draw| {
        let mut drawn = counts.clone();
        let both = counts[10] + counts[11];
        drawn[10] = both * chance(sample, 10, draw);
        drawn[11] = both - drawn[10];
        drawn
    });
    let aux = path.join("aux_info");
    fs::create_dir(&aux).expect("aux_info");
    write_draws(&aux, &names, drawn).expect("draws");
    let meta = format!(r#"{{"num_bootstraps": {draws}, "num_valid_targets": {TRANSCRIPTS}}}"#);
    fs::write(aux.join("meta_info.json"), meta).expect("meta_info.json");
}

/// Six samples in two conditions.
fn study(draws: usize) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a folder");
    let mut groups = vec!["folder,condition".to_owned()];
    for sample in 0..6 {
        folder(&place.path().join(format!("in/s{sample}")), sample, draws);
        let condition = ["control", "treated"][sample / 3];
        groups.push(format!("s{sample},{condition}"));
    }
    fs::write(place.path().join("in/groups.csv"), groups.join("\n")).expect("groups");
    let genes = (0..TRANSCRIPTS).map(|t| format!("t{t}	g{}", t / 2));
    let genes = genes.collect::<Vec<_>>().join(
        "
",
    );
    fs::write(place.path().join("genes.tsv"), genes).expect("genes");
    place
}

/// A table of results: names of columns, then rows.
fn table(path: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path).expect("a table");
    text.lines()
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect()
}

fn cell(table: &[Vec<String>], row: &str, column: &str) -> String {
    let place = table[0]
        .iter()
        .position(|name| name == column)
        .expect("a column");
    let row = table.iter().find(|cells| cells[0] == row).expect("a row");
    row[place].clone()
}

#[test]
fn transcripts_and_genes() {
    let place = study(DRAWS);
    let args = [
        "quant",
        "compare",
        "--groups",
        "in/groups.csv",
        "-g",
        "genes.tsv",
        "--out",
        "out",
    ];
    done(place.path(), &args);
    let out = place.path().join("out");
    assert_eq!(
        names(&out),
        ["compare.genes.tsv", "compare.tsv", "run.json"]
    );
    let rows = table(&out.join("compare.tsv"));
    assert_eq!(rows.len(), TRANSCRIPTS + 1);
    assert!(rows.iter().all(|cells| cells.len() == 12), "{:?}", rows[6]);
    let number =
        |row: &str, column: &str| -> f64 { cell(&rows, row, column).parse().expect("a number") };
    assert!((number("t3", "log2FoldChange") - 3.0).abs() < 0.3);
    assert!(number("t3", "lower") > 2.0 && number("t3", "upper") < 4.0);
    assert!(number("t3", "qvalue") < 1e-3 && number("t3", "P.positive") > 0.999);
    let gap = number("t3", "log2Expression.treated") - number("t3", "log2Expression.control");
    assert!((gap - number("t3", "log2FoldChange")).abs() < 2e-6);
    assert_eq!(cell(&rows, "t5", "log2FoldChange"), "NA");
    assert!(
        rows.iter()
            .flatten()
            .all(|cell| cell != "NaN" && cell != "inf")
    );
    // Two that share all reads are uncertain; the gene that they make is not.
    assert!(number("t10", "inferentialSd") > 0.5 && number("t10", "sd") > 0.3);
    let genes = table(&out.join("compare.genes.tsv"));
    assert_eq!(genes.len(), TRANSCRIPTS / 2 + 1);
    let sd: f64 = cell(&genes, "g5", "sd").parse().expect("a number");
    assert!(sd < 0.2, "{sd}");
    let run = run_json(&out);
    assert_eq!(run["transcripts"]["tested"], TRANSCRIPTS - 1);
    assert_eq!(run["transcripts"]["up"], 1);
    assert_eq!(run["samples"][5]["condition"], "treated");
    assert_eq!(run["inputs"].as_array().map(Vec::len), Some(14));

    // The other way round, into the same folder and without genes: what is stale goes.
    let args = [
        "quant",
        "compare",
        "--groups",
        "in/groups.csv",
        "--contrast",
        "treated,control",
        "-o",
        "out",
    ];
    done(place.path(), &args);
    assert_eq!(names(&out), ["compare.tsv", "run.json"]);
    let back: f64 = cell(&table(&out.join("compare.tsv")), "t3", "log2FoldChange")
        .parse()
        .expect("a number");
    assert_eq!(back, -number("t3", "log2FoldChange"));
}

#[test]
fn without_draws_there_is_a_warning() {
    let place = study(0);
    let output = run(
        place.path(),
        &["quant", "compare", "--groups", "in/groups.csv"],
    );
    assert!(output.status.success());
    let talk = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(
        talk.contains("6 of 6 samples have fewer than 20 draws"),
        "{talk}"
    );
}

#[test]
fn refusals_leave_nothing() {
    let place = study(0);
    let groups = place.path().join("in/groups.csv");
    let compare = |extra: &[&str]| {
        let mut args = vec![
            "quant",
            "compare",
            "--groups",
            "in/groups.csv",
            "--out",
            "out",
        ];
        args.extend(extra);
        let text = refusal(place.path(), &args);
        assert!(!place.path().join("out").exists(), "{text}");
        text
    };
    let text = compare(&["--contrast", "control,other"]);
    assert!(
        text.contains("expected two of control, treated with a comma"),
        "{text}"
    );
    let text = compare(&["--contrast", "control"]);
    assert!(text.contains("expected two of control, treated"), "{text}");

    let sf = place.path().join("in/s4/quant.sf");
    let whole = fs::read_to_string(&sf).expect("quant.sf");
    fs::write(&sf, whole.replace("t7\t", "other\t")).expect("quant.sf");
    let text = compare(&[]);
    assert!(
        text.contains("in/s4: transcript 8 is \"other\", expected \"t7\" as in in/s0"),
        "{text}"
    );
    let short = whole.lines().take(50).collect::<Vec<_>>().join(
        "
",
    );
    fs::write(&sf, short).expect("quant.sf");
    let text = compare(&[]);
    assert!(
        text.contains(
            "49 transcripts, expected 120 as in in/s0, the first that only one has is \"t49\""
        ),
        "{text}"
    );
    fs::remove_file(&sf).expect("quant.sf");
    let text = compare(&[]);
    assert!(text.contains("line 6: in/s4: no quant.sf in it"), "{text}");
    fs::write(&groups, "s0 a\ns1 b\n").expect("groups");
    let text = compare(&[]);
    assert!(text.contains("expected replicates"), "{text}");
}
