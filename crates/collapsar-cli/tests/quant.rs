//! Quantifications that are written are read back by those who read salmon's, and leave nothing where they fail.

mod common;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use collapsar_formats::read_quantification;
use common::{collapsar, done, names, refusal, run, run_json};

/// The small input of the documentation.
fn inputs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd/quant.in")
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for file in fs::read_dir(inputs()).expect("inputs") {
        let file = file.expect("a file").path();
        let name = file.file_name().expect("a name");
        fs::copy(&file, folder.path().join(name)).expect("space");
    }
    folder
}

const ALL: [&str; 8] = [
    "quant",
    "-a",
    "reads.sam",
    "-t",
    "transcripts.fa",
    "-g",
    "genes.tsv",
    "--out",
];

fn with<'a>(out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&ALL[..], &[out], more].concat()
}

/// Cells of a table between tabs.
fn cells(file: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(file).expect("a table");
    let rows = text.lines();
    rows.map(|row| row.split('\t').map(String::from).collect())
        .collect()
}

fn number(cell: &str) -> f64 {
    cell.parse().expect("a number")
}

#[test]
fn a_folder_as_salmon_has_it() {
    let folder = folder();
    let folder = folder.path();
    done(folder, &with("fit", &["--draws", "20", "--seed", "3"]));
    let fit = folder.join("fit");
    assert_eq!(
        names(&fit),
        [
            "aux_info",
            "cmd_info.json",
            "lib_format_counts.json",
            "posterior.genes.tsv",
            "posterior.tsv",
            "quant.genes.sf",
            "quant.sf",
            "run.json"
        ]
    );
    let read = read_quantification(&fit).expect("a quantification");
    assert_eq!(read.names, ["a.1", "b.2", "c.1"]);
    assert_eq!(read.lengths, [600.0, 600.0, 300.0]);
    assert!((read.counts.iter().sum::<f64>() - 60.0).abs() < 0.01);
    assert!((read.tpm.iter().sum::<f64>() - 1e6).abs() < 1.0);
    assert_eq!(read.draws.len(), 20);
    for draw in &read.draws {
        assert_eq!(draw.iter().sum::<f64>(), 60.0);
        assert_eq!(draw[2], 18.0);
    }
    // Both of g1's transcripts are drawn, not one value twenty times.
    assert!(read.draws.iter().any(|draw| draw[0] != read.draws[0][0]));

    let (transcripts, genes) = (
        cells(&fit.join("quant.sf")),
        cells(&fit.join("quant.genes.sf")),
    );
    assert_eq!(genes[1][0], "g1");
    for column in [3, 4] {
        let sum = number(&transcripts[1][column]) + number(&transcripts[2][column]);
        assert!((sum - number(&genes[1][column])).abs() < 0.01);
    }
    let posterior = cells(&fit.join("posterior.tsv"));
    assert_eq!(
        posterior[0].join(" "),
        "Name TPM.mean TPM.sd TPM.lower TPM.upper \
         NumReads.mean NumReads.sd NumReads.lower NumReads.upper"
    );
    for row in &posterior[1..] {
        let values: Vec<f64> = row[1..].iter().map(|cell| number(cell)).collect();
        for of in values.chunks(4) {
            let [mean, _, lower, upper] = of else {
                panic!("four numbers")
            };
            assert!(lower <= mean && mean <= upper, "{row:?}");
        }
    }
    let run = run_json(&fit);
    assert_eq!(run["alignments"]["library_type"], "ISF");
    assert_eq!(run["reads"], 62);
    assert_eq!(run["used"], 60);
    assert_eq!(run["inputs"].as_array().map(Vec::len), Some(3));
}

#[test]
fn the_same_for_any_number_of_threads_and_from_standard_input() {
    let folder = folder();
    let folder = folder.path();
    let files = ["quant.sf", "posterior.tsv", "posterior.genes.tsv"];
    let bytes = |fit: &str| files.map(|file| fs::read(folder.join(fit).join(file)).expect(file));
    done(folder, &with("one", &["--threads", "1"]));
    done(folder, &with("three", &["--threads", "3"]));
    assert_eq!(bytes("one"), bytes("three"));
    let mut args = with("piped", &[]);
    args[2] = "-";
    let mut program = collapsar(folder, &args)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    let sam = fs::read(folder.join("reads.sam")).expect("alignments");
    let mut pipe = program.stdin.take().expect("a pipe");
    pipe.write_all(&sam).expect("a reader");
    drop(pipe);
    assert!(program.wait().expect("an end").success());
    assert_eq!(bytes("one"), bytes("piped"));
}

#[test]
fn methods_agree_where_there_is_one_optimum() {
    let folder = folder();
    let folder = folder.path();
    let quick = ["--prior", "1", "--posterior", "collapsed"];
    done(folder, &with("auto", &quick));
    let counts = |fit: &str| {
        read_quantification(&folder.join(fit))
            .expect("a fit")
            .counts
    };
    for method in ["vbem", "fr", "hs", "lbfgs", "newton"] {
        let more = [&quick[..], &["--method", method, "--tolerance", "1e-12"]].concat();
        done(folder, &with(method, &more));
        assert!(folder.join(method).join("trace.jsonl").exists());
        for (a, b) in counts("auto").iter().zip(counts(method)) {
            assert!((a - b).abs() < 2e-3, "{method}: {a} and {b}");
        }
    }
}

#[test]
fn noise_has_a_share_and_no_line() {
    let folder = folder();
    let folder = folder.path();
    let args = [
        "quant",
        "--prob",
        "reads.prob",
        "--lengths",
        "reads.tr",
        "--noise",
        "--prior",
        "1",
        "--posterior",
        "collapsed",
        "--draws",
        "5",
        "--out",
        "fit",
    ];
    done(folder, &args);
    let read = read_quantification(&folder.join("fit")).expect("a fit");
    assert_eq!(read.names, ["a", "b", "c"]);
    assert_eq!(read.effective, [480.5, 480.5, 1.0]);
    assert!((read.counts.iter().sum::<f64>() - 48.0).abs() < 0.01);
    assert_eq!(read.draws.len(), 5);
    let noise = run_json(&folder.join("fit"))["noise"].as_f64();
    assert!((noise.expect("a share") - 0.04).abs() < 1e-9);
}

#[test]
fn names_are_matched_as_asked() {
    let folder = folder();
    let folder = folder.path();
    let fasta = fs::read_to_string(folder.join("transcripts.fa")).expect("FASTA");
    let changed = fasta.replace(">a.1", ">a.9|g1|x") + ">d.1\nACGT\n";
    fs::write(folder.join("transcripts.fa"), changed).expect("space");
    let output = run(folder, &with("fit", &["--gencode", "--ignore-versions"]));
    assert!(output.status.success());
    let talk = String::from_utf8_lossy(&output.stderr);
    let left = "transcripts.fa: left out 1 transcript that the header of reads.sam does not have";
    assert!(talk.contains(left), "{talk}");
    let said = refusal(folder, &with("none", &["--gencode"]));
    assert!(said.contains("try --ignore-versions"), "{said}");
    assert!(!folder.join("none").exists());
}

#[test]
fn doubts_are_told() {
    let folder = folder();
    let folder = folder.path();
    let sam = fs::read_to_string(folder.join("reads.sam")).expect("SAM");
    let unaligned = (0..200).map(|n| format!("u{n}\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n"));
    fs::write(
        folder.join("reads.sam"),
        sam + &unaligned.collect::<String>(),
    )
    .expect("space");
    fs::write(folder.join("genes.tsv"), "a.1\tg1\nz\tg2\n").expect("space");
    let output = run(folder, &with("fit", &[]));
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(
        talk.contains("warning: only 22.9% of the reads are aligned"),
        "{talk}"
    );
    let own = "no gene for 2 transcripts, the first \"b.2\", which count as genes of their own";
    assert!(talk.contains(own), "{talk}");
    let genes = cells(&folder.join("fit/quant.genes.sf"));
    let names: Vec<&str> = genes[1..].iter().map(|row| row[0].as_str()).collect();
    assert_eq!(names, ["g1", "b.2", "c.1"]);
}

#[test]
fn a_second_run_leaves_nothing_of_the_first() {
    let folder = folder();
    let folder = folder.path();
    done(folder, &with("fit", &["--draws", "3", "--method", "vbem"]));
    assert!(folder.join("fit/aux_info/bootstrap/bootstraps.gz").exists());
    let alone = [
        "quant",
        "-a",
        "reads.sam",
        "-t",
        "transcripts.fa",
        "-o",
        "fit",
    ];
    done(folder, &alone);
    let left = names(&folder.join("fit"));
    assert!(
        !left
            .iter()
            .any(|name| name.contains("genes") || name.contains("trace"))
    );
    assert!(!folder.join("fit/aux_info/bootstrap/bootstraps.gz").exists());
    assert!(
        read_quantification(&folder.join("fit"))
            .expect("a fit")
            .draws
            .is_empty()
    );
}

/// Ctrl-C while reads come in: nothing is written.
#[cfg(unix)]
#[test]
fn an_interrupted_run_leaves_nothing() {
    let folder = folder();
    let folder = folder.path();
    let mut args = with("fit", &[]);
    args[2] = "-";
    let mut program = collapsar(folder, &args)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut pipe = program.stdin.take().expect("a pipe");
    let sam = fs::read_to_string(folder.join("reads.sam")).expect("SAM");
    let (head, record): (Vec<&str>, Vec<&str>) = sam.lines().partition(|l| l.starts_with('@'));
    writeln!(pipe, "{}", head.join("\n")).expect("a reader");
    // More records than the pipe and the program's own buffers hold, so that it is reading by now.
    let copies = |from: usize, to: usize| {
        let copy = |n: usize| format!("n{n}{}\nn{n}{}\n", &record[0][2..], &record[1][2..]);
        (from..to).map(copy).collect::<String>()
    };
    pipe.write_all(copies(0, 20_000).as_bytes())
        .expect("a reader");
    let id = program.id().to_string();
    let killed = Command::new("kill").args(["-INT", &id]).status();
    assert!(killed.expect("kill").success());
    // Heard at the latest with the next batch of reads; the pipe may be closed by then.
    let _ = pipe.write_all(copies(20_000, 60_000).as_bytes());
    drop(pipe);
    let output = program.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(130));
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(talk.contains("interrupted; nothing was written"), "{talk}");
    assert!(!folder.join("fit").exists());
}

/// Bioconductor's tximport reads the folder, draws included.
#[test]
fn tximport_reads_it() {
    let folder = folder();
    let folder = folder.path();
    done(folder, &with("fit", &["--draws", "20"]));
    let script = r#"
        suppressMessages(library(tximport))
        read <- tximport("fit/quant.sf", type = "salmon", txOut = TRUE, dropInfReps = FALSE)
        draws <- read$infReps[[1]]
        cat(dim(draws), sum(draws[, 1]), rownames(read$counts), round(sum(read$counts)), "\n")
    "#;
    let has = Command::new("Rscript")
        .args(["-e", "library(tximport); library(jsonlite)"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !has {
        // Not through println, which is captured.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: tximport_reads_it needs Rscript, r-bioc-tximport and r-cran-jsonlite"
        );
        return;
    }
    let output = Command::new("Rscript")
        .args(["-e", script])
        .current_dir(folder)
        .output()
        .expect("Rscript");
    let said = String::from_utf8_lossy(&output.stdout);
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        said.lines().last().map(str::trim),
        Some("3 20 60 a.1 b.2 c.1 60"),
        "{talk}"
    );
}

/// The public data: the bound of BitSeq's model, and a run from alignments.
#[test]
fn chromosome_19() {
    let Some(data) = std::env::var_os("COLLAPSAR_DATA").map(PathBuf::from) else {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: chromosome_19 needs COLLAPSAR_DATA"
        );
        return;
    };
    let data = data.join("quant");
    let path = |name: &str| data.join(name).display().to_string();
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let (prob, lengths) = (
        path("chr19_sim200k.uniform.prob.gz"),
        path("chr19_sim200k.uniform.tr.gz"),
    );
    let args = [
        "quant",
        "--prob",
        &prob,
        "--lengths",
        &lengths,
        "--noise",
        "--prior",
        "1",
        "--posterior",
        "collapsed",
        "--out",
        "prob",
    ];
    done(folder, &args);
    let bound = run_json(&folder.join("prob"))["bound"].as_f64();
    assert!((bound.expect("a bound") - -3_784_235.120_2).abs() < 1e-3);
    let (bam, fasta) = (path("chr19_sim20k.bam"), path("chr19_ensembl_cdna.fa.gz"));
    done(folder, &["quant", "-a", &bam, "-t", &fasta, "--out", "bam"]);
    let run = run_json(&folder.join("bam"));
    assert_eq!(run["alignments"]["library_type"], "IU");
    assert_eq!(run["used"], run["reads"]);
}
