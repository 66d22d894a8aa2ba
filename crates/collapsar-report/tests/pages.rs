//! Pages of small folders that a hostile hand filled: names are text, and nothing is fetched or run.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

const HOSTILE: [&str; 5] = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\"' onload=\"alert(1)",
    "שלום \u{202e}olleh",
    "{{ 7 * 7 }}",
];

fn run(folder: &Path, extra: &Value) {
    let mut run = json!({
        "version": "0.1.0", "command": ["collapsar", "fit", HOSTILE[0]], "config": {"method": HOSTILE[1]},
        "inputs": [{"name": HOSTILE[1], "size": 3, "digest": "sha256:ab"}],
        "outcome": {"converged": true, "reason": HOSTILE[0]},
        "bound": -3.5, "iterations": 2, "passes": 3, "seconds": 0.1, "seed": 7,
    });
    for (name, value) in extra.as_object().unwrap() {
        run[name] = value.clone();
    }
    fs::write(folder.join("run.json"), run.to_string()).unwrap();
    let steps = [
        json!({"passes": 1, "bound": -9.0}),
        json!({"passes": 2, "bound": -3.5}),
    ];
    fs::write(
        folder.join("trace.jsonl"),
        format!("{}\n{}\n", steps[0], steps[1]),
    )
    .unwrap();
}

/// A fit whose numbers have these names.
fn fit(folder: &Path, names: &[String]) {
    run(
        folder,
        &json!({"verdict": "trust-means", "posterior": "linear-response", "warnings": [HOSTILE[0]]}),
    );
    let mut text = "name,mean,sd,q2.5,median,q97.5\n".to_owned();
    for (place, name) in names.iter().enumerate() {
        let name = name.replace('"', "\"\"");
        writeln!(text, "\"{name}\",{place},1,-1,0.5,2").unwrap();
    }
    fs::write(folder.join("posterior.csv"), text).unwrap();
}

fn data(html: &str) -> Value {
    let (_, rest) = html.split_once("id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// What every page keeps to: two scripts, one of them data; no address but those of names in the text of programs.
fn is_closed(html: &str) {
    let (page, _) = html.split_once("<script>").unwrap();
    assert_eq!(page.matches("<script").count(), 1, "only the data");
    assert_eq!(html.matches("<script>").count(), 1);
    assert!(page.contains("default-src &#x27;none&#x27;") || page.contains("default-src 'none'"));
    let (head, _) = page.split_once("id=\"data\"").unwrap();
    let forbidden = [
        "unsafe-eval",
        "unsafe-inline",
        "<img src=x",
        "onload=\"",
        "<link",
        "<iframe",
        ">49<",
    ];
    for part in forbidden {
        assert!(!head.contains(part), "{part}");
    }
}

#[test]
fn hostile_names_are_text() {
    let folder = tempfile::tempdir().unwrap();
    let mut names: Vec<String> = HOSTILE.iter().map(|&name| name.to_owned()).collect();
    names.push("x".repeat(10_000));
    names.push("x".repeat(10_001));
    fit(folder.path(), &names);
    let path = collapsar_report::write(folder.path()).unwrap();
    let html = fs::read_to_string(path).unwrap();
    is_closed(&html);
    let charts = data(&html)["charts"].to_string();
    assert!(charts.contains("<script>alert(1)</script>"), "as data");
    // Long names are cut, and those that are then alike stay apart.
    assert!(!html.contains(&"x".repeat(200)));
    assert!(charts.contains("… (2)"));
    assert!(html.contains("&lt;script&gt;alert(1)&lt;&#x2f;script&gt;"));
    assert!(html.contains("Trust means but not"));
    // What the run read is not there, and the page says so.
    assert!(html.contains("The drawing of the model is left out"));
}

#[test]
fn runs_are_compared_by_the_numbers_that_all_have() {
    let root = tempfile::tempdir().unwrap();
    let folders: Vec<PathBuf> = ["a", "b"]
        .iter()
        .map(|name| root.path().join(name))
        .collect();
    for (folder, own) in folders.iter().zip(["only_a", "only_b"]) {
        fs::create_dir(folder).unwrap();
        fit(folder, &["mu".to_owned(), own.to_owned()]);
    }
    let html = collapsar_report::html(&folders).unwrap();
    is_closed(&html);
    let forest = &data(&html)["charts"]["numbers-forest"]["spec"]["data"]["values"];
    let shown: Vec<&str> = forest
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v["name"].as_str().unwrap())
        .collect();
    assert_eq!(shown, ["mu", "mu"]);
}

#[test]
fn a_quantification_is_found_by_multiqc() {
    let folder = tempfile::tempdir().unwrap();
    run(
        folder.path(),
        &json!({"reads": 10, "used": 8, "unique": 4, "transcripts": 2}),
    );
    fs::write(folder.path().join("quant.sf"), "").unwrap();
    let head = "Name\tTPM.mean\tTPM.sd\tTPM.lower\tTPM.upper\tNumReads.mean\tNumReads.sd\tNumReads.lower\tNumReads.upper\n";
    let rows = format!(
        "{}\t5\t1\t3\t7\t6\t1\t4\t8\nT2\t5\t4\t0\t9\t2\t2\t0\t5\n",
        HOSTILE[1]
    );
    fs::write(folder.path().join("posterior.tsv"), head.to_owned() + &rows).unwrap();
    let path = collapsar_report::write(folder.path()).unwrap();
    let html = fs::read_to_string(path).unwrap();
    is_closed(&html);
    assert_eq!(
        data(&html)["tables"]["transcripts"]["rows"][0][0],
        HOSTILE[1]
    );
    let text = fs::read(folder.path().join("collapsar_mqc.json")).unwrap();
    let content: Value = serde_json::from_slice(&text).unwrap();
    let samples = content["data"].as_object().unwrap();
    let sample = samples.values().next().unwrap();
    assert_eq!(
        (&sample["used"], &sample["unique"]),
        (&json!(80.0), &json!(50.0))
    );
}

#[test]
fn a_damaged_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fit(folder.path(), &["mu".to_owned()]);
    fs::write(folder.path().join("posterior.csv"), "name,mean\nmu,1\n").unwrap();
    let told = collapsar_report::html(&[folder.path().to_owned()])
        .unwrap_err()
        .to_string();
    assert!(
        told.ends_with(
            "damaged (a line without its six columns), expected a file as the run wrote it"
        ),
        "{told}"
    );
}
