//! `collapsar fit`, `check` and `compare`: numbers against exact posteriors, files, refusals.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use common::{collapsar, done, names, refusal, run, run_json};

const NORMAL: &str = "model {
  for (i in 1:N) { y[i] ~ dnorm(mu, 4) }
  mu ~ dnorm(1, 0.5)
  twice <- 2 * mu
}
";

const NORMAL_DATA: &str = "N <- 3\ny <- c(1.5, 2, 4)\n";

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

/// The rows of posterior.csv by name; names with commas are quoted.
fn posterior(folder: &Path) -> BTreeMap<String, Vec<f64>> {
    let text = fs::read_to_string(folder.join("posterior.csv")).expect("posterior.csv");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("name,mean,sd,q2.5,median,q97.5"));
    let row = |line: &str| {
        let (name, rest) = match line.strip_prefix('"') {
            Some(line) => line.split_once("\",").expect("a quote"),
            None => line.split_once(',').expect("a comma"),
        };
        let numbers = rest.split(',').map(|x| x.parse().expect("a number"));
        (name.to_owned(), numbers.collect())
    };
    lines.map(row).collect()
}

fn near(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < tolerance, "{found} {expected}");
    }
}

#[test]
fn a_normal_mean_is_exact() {
    let folder = folder(&[("m.bug", NORMAL), ("d.R", NORMAL_DATA)]);
    done(
        folder.path(),
        &["fit", "m.bug", "--data", "d.R", "--out", "o"],
    );
    let out = folder.path().join("o");
    assert_eq!(names(&out), ["posterior.csv", "run.json", "trace.jsonl"]);
    let found = posterior(&out);
    // Precision 0.5 + 3·4; mean (0.5·1 + 4·7.5) / 12.5; the quantile of a standard normal is 1.95996….
    let (mean, sd) = (30.5 / 12.5, 12.5_f64.sqrt().recip());
    let z = 1.959_963_984_540_054;
    near(
        &found["mu"],
        &[mean, sd, mean - z * sd, mean, mean + z * sd],
        1e-8,
    );
    // A sum of normal variables needs no draws.
    let twice: Vec<f64> = found["mu"].iter().map(|x| 2.0 * x).collect();
    near(&found["twice"], &twice, 1e-8);
    // ln N(y; 1, I/4 + 2J), by hand: |Σ| = (1/4)²(1/4 + 6), Σ⁻¹ = 4I − 16·2/(1 + 4·2·3) J.
    let errors = [0.5, 1.0, 3.0_f64];
    let squares: f64 = errors.iter().map(|e| e * e).sum();
    let sum: f64 = errors.iter().sum();
    let form = 4.0 * squares - 32.0 / 25.0 * sum * sum;
    let determinant = 6.25_f64 / 16.0;
    let evidence = -0.5 * (3.0 * std::f64::consts::TAU.ln() + determinant.ln() + form);
    let run = run_json(&out);
    // Everything is collapsed or exact, so that the bound is the evidence.
    assert!((run["bound"].as_f64().expect("a bound") - evidence).abs() < 1e-9);
    assert_eq!(run["data"], 3);
    assert_eq!(run["inputs"][0]["name"], "d.R");
    assert_eq!(run["model"]["name"], "m.bug");
}

#[test]
fn a_share_is_exact_and_missing_data_are_predicted() {
    let model = "model {
        for (i in 1:N) { y[i] ~ dbern(p) }
        p ~ dbeta(2, 3)
    }";
    let folder = folder(&[
        ("m.bug", model),
        ("d.json", r#"{"N": 6, "y": [1, 1, 0, 1, 1, 1]}"#),
    ]);
    done(
        folder.path(),
        &["fit", "m.bug", "--data", "d.json", "--out", "o"],
    );
    let found = posterior(&folder.path().join("o"));
    // Beta(7, 4).
    near(
        &found["p"][..2],
        &[7.0 / 11.0, (28.0_f64 / (121.0 * 12.0)).sqrt()],
        1e-9,
    );

    let model = "model {
        for (i in 1:N) { y[i] ~ dnorm(mu, 4) }
        mu ~ dnorm(1, 0.5)
    }";
    fs::write(folder.path().join("n.bug"), model).expect("a file");
    fs::write(folder.path().join("n.R"), "N <- 4\ny <- c(1.5, 2, NA, 4)\n").expect("a file");
    done(
        folder.path(),
        &["fit", "n.bug", "--data", "n.R", "--out", "n"],
    );
    let found = posterior(&folder.path().join("n"));
    assert_eq!(found.keys().collect::<Vec<_>>(), ["mu", "y[3]"]);
    let (mean, variance) = (30.5 / 12.5, 1.0 / 12.5_f64);
    near(&found["mu"][..2], &[mean, variance.sqrt()], 1e-6);
    near(&found["y[3]"][..2], &[mean, (variance + 0.25).sqrt()], 1e-6);
}

const MIXTURE: &str = "model {
  for (i in 1:N) { z[i] ~ dcat(p[])  y[i] ~ dnorm(mu[z[i]], 1) }
  p[1:2] ~ ddirch(a[])
  for (k in 1:2) { mu[k] ~ dnorm(0, 0.01) }
}
";

const MIXTURE_DATA: &str = r#"{"N": 6, "a": [1, 1], "y": [-5.1, -4.8, 5.2, 4.9, 5.0, -5.3]}"#;

#[test]
fn labels_are_told_of_only_where_asked_for() {
    let folder = folder(&[("m.bug", MIXTURE), ("d.json", MIXTURE_DATA)]);
    let fit = [
        "fit",
        "m.bug",
        "--data",
        "d.json",
        "--restarts",
        "4",
        "--out",
    ];
    let printed = run(folder.path(), &[&fit[..], &["a"]].concat());
    let printed = String::from_utf8(printed.stdout).expect("UTF-8");
    assert!(
        printed.contains("collapsed: p, mu; explicit: z\n"),
        "{printed}"
    );
    assert!(printed.contains("4 starts: bounds "), "{printed}");
    assert!(
        printed.contains("not shown: z (6 labels); --monitor"),
        "{printed}"
    );
    let found = posterior(&folder.path().join("a"));
    assert_eq!(
        found.keys().collect::<Vec<_>>(),
        ["mu[1]", "mu[2]", "p[1]", "p[2]"]
    );

    let asked = ["b", "--monitor", "z, mu[2]", "--draws", "7"];
    done(folder.path(), &[&fit[..], &asked].concat());
    let out = folder.path().join("b");
    let found = posterior(&out);
    assert_eq!(found.len(), 7);
    // Clusters ten standard deviations apart: labels are certain, and the first two are alike.
    let z = |i: usize| found[&format!("z[{i}]")].clone();
    assert_eq!(z(1)[3], z(2)[3]);
    assert_eq!(z(1)[2..], [z(1)[3]; 3]);
    near(&[z(1)[0] + z(3)[0], z(1)[1]], &[3.0, 0.0], 1e-6);
    let draws = fs::read_to_string(out.join("draws.csv")).expect("draws.csv");
    let lines: Vec<&str> = draws.lines().collect();
    assert_eq!(lines[0], "z[1],z[2],z[3],z[4],z[5],z[6],mu[2]");
    assert_eq!(lines.len(), 8);
    let cells: Vec<f64> = lines[1]
        .split(',')
        .map(|x| x.parse().expect("a number"))
        .collect();
    assert_eq!(cells[0], z(1)[0].round());

    // The same seed, the same draws, bit for bit.
    done(
        folder.path(),
        &[&fit[..], &["c"], &asked[1..], &["--threads", "1"]].concat(),
    );
    let again = fs::read_to_string(folder.path().join("c/draws.csv")).expect("draws.csv");
    assert_eq!(draws, again);
}

#[test]
fn a_model_may_come_from_standard_input() {
    let folder = folder(&[("d.R", NORMAL_DATA)]);
    let mut child = collapsar(folder.path(), &["fit", "-", "--data", "d.R"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(NORMAL.as_bytes()).expect("a pipe");
    drop(input);
    let output = child.wait_with_output().expect("an end");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(
        text.starts_with("stdin: 3 observed numbers in y\n"),
        "{text}"
    );
    let twice = run(folder.path(), &["fit", "-", "--data", "-"]);
    assert_eq!(twice.status.code(), Some(2));
}

#[test]
fn a_climb_goes_on_from_its_checkpoint() {
    let folder = folder(&[("m.bug", MIXTURE), ("d.json", MIXTURE_DATA)]);
    let fit = [
        "fit",
        "m.bug",
        "--data",
        "d.json",
        "--method",
        "vbem",
        "--restarts",
        "1",
        "--out",
    ];
    done(folder.path(), &[&fit[..], &["whole"]].concat());
    let cut = ["cut", "--max-iterations", "1", "--checkpoint", "c"];
    let first = run(
        folder.path(),
        &[&fit[..], &cut, &["--require-convergence"]].concat(),
    );
    assert_eq!(first.status.code(), Some(3));
    done(
        folder.path(),
        &[&fit[..], &["rest", "--resume", "c"]].concat(),
    );
    let whole = posterior(&folder.path().join("whole"));
    assert_eq!(whole, posterior(&folder.path().join("rest")));
}

#[test]
fn checks_tell_and_draw() {
    let folder = folder(&[("m.bug", MIXTURE), ("d.json", MIXTURE_DATA)]);
    let check = [
        "check", "m.bug", "--data", "d.json", "--svg", "m.svg", "--dot", "m.dot",
    ];
    let output = run(folder.path(), &check);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(
        text.contains("meets p in z[i] ~ dcat(p[]) (m.bug:2:20)"),
        "{text}"
    );
    let svg = fs::read_to_string(folder.path().join("m.svg")).expect("a drawing");
    // Two outlines for each of the two that are collapsed and their sign, one for z, y and theirs.
    assert_eq!(svg.matches("<ellipse").count(), 10);
    let dot = fs::read_to_string(folder.path().join("m.dot")).expect("a drawing");
    assert_eq!(dot.matches("peripheries=2").count(), 2);
    done(
        folder.path(),
        &["check", "m.bug", "--data", "d.json", "--explicit", "p,mu"],
    );
    let both = refusal(
        folder.path(),
        &["check", "m.bug", "--data", "d.json", "--collapse", "z,mu"],
    );
    assert!(both.contains("--collapse: both z and mu cannot be collapsed, since they meet in y[i] ~ dnorm(mu[z[i]], 1) (m.bug:2:38)"), "{both}");
}

#[test]
fn bounds_are_compared() {
    let other = NORMAL.replace("dnorm(1, 0.5)", "dnorm(-30, 0.5)");
    let folder = folder(&[
        ("m.bug", NORMAL),
        ("other.bug", &other),
        ("d.R", NORMAL_DATA),
        ("e.R", "N <- 3\ny <- c(1.5, 2, 5)\n"),
    ]);
    for (model, data, out) in [
        ("other.bug", "d.R", "far"),
        ("m.bug", "d.R", "near"),
        ("m.bug", "e.R", "else"),
    ] {
        done(folder.path(), &["fit", model, "--data", data, "--out", out]);
    }
    let same = run(folder.path(), &["compare", "far", "near"]);
    assert!(same.status.success() && same.stderr.is_empty());
    let text = String::from_utf8(same.stdout).expect("UTF-8");
    let lines: Vec<Vec<&str>> = text
        .lines()
        .map(|l| l.split_whitespace().collect())
        .collect();
    assert_eq!(
        (lines[1][0], lines[1][5], lines[2][0]),
        ("near", "0.000", "far")
    );
    let bound = |out: &str| {
        run_json(&folder.path().join(out))["bound"]
            .as_f64()
            .expect("a bound")
    };
    // Nothing is approximated, so that bounds are the evidence.
    assert_eq!(lines[2][1], lines[2][2]);
    assert_eq!(lines[2][5], format!("{:.3}", bound("far") - bound("near")));
    let differ = run(folder.path(), &["compare", "near", "else"]);
    let talk = String::from_utf8(differ.stderr).expect("UTF-8");
    assert!(talk.contains("d.R was read by near only"), "{talk}");
    assert!(talk.contains("e.R was read by else only"), "{talk}");
    assert!(refusal(folder.path(), &["compare", "none"]).contains("none: no such folder"));
    assert!(refusal(folder.path(), &["compare", "d.R"]).contains("d.R: a file"));
    assert!(refusal(folder.path(), &["compare", "."]).contains("no run.json"));
}

#[test]
fn data_that_nothing_reads_are_warned_of() {
    let data = "N <- 3\ny <- c(1.5, 2, 4)\nY <- 3\n";
    let folder = folder(&[("m.bug", &NORMAL.replace("4)", "Tau)")), ("d.R", data)]);
    // Tau is not there, so that the fit is refused after the warning.
    fs::write(folder.path().join("tau.R"), "tau. <- 4\n").expect("a file");
    let told = run(folder.path(), &["fit", "m.bug", "--data", "d.R", "tau.R"]);
    let text = String::from_utf8_lossy(&told.stderr).into_owned();
    let expected = "warning: m.bug: nothing reads Y, tau. (is Tau meant?) of the data\n";
    assert!(text.contains(expected), "{text}");
    assert_eq!(told.status.code(), Some(1));
}

#[test]
fn ranges_may_be_monitored() {
    let model = "model { for (i in 1:2) { for (j in 1:3) { y[i,j] ~ dnorm(mu[i,j], 1); mu[i,j] ~ dnorm(0, 1) } } }";
    let data = r#"{"y": [[1, 2, 3], [4, 5, null]]}"#;
    let folder = folder(&[("m.bug", model), ("d.json", data)]);
    let asked = |monitor: &str| -> Vec<String> {
        let arguments = [
            "fit",
            "m.bug",
            "--data",
            "d.json",
            "--out",
            "o",
            "--monitor",
            monitor,
        ];
        done(folder.path(), &arguments);
        posterior(&folder.path().join("o")).into_keys().collect()
    };
    assert_eq!(asked("mu[2,]"), ["mu[2,1]", "mu[2,2]", "mu[2,3]"]);
    assert_eq!(
        asked("mu[1:2,2:3],y"),
        ["mu[1,2]", "mu[1,3]", "mu[2,2]", "mu[2,3]", "y[2,3]"]
    );
    // Nothing depends on y[2,3], nor on mu[2,3]: they are as their priors say.
    let found = posterior(&folder.path().join("o"));
    near(&found["mu[2,3]"][..2], &[0.0, 1.0], 1e-12);
    let error = refusal(
        folder.path(),
        &["fit", "m.bug", "--data", "d.json", "--monitor", "mu[3:4,]"],
    );
    assert!(
        error.contains("--monitor mu[3:4,]: nothing unknown of that name"),
        "{error}"
    );
}

#[test]
fn starts_compete_where_there_are_labels() {
    let model = "model { for (i in 1:N) { z[i] ~ dcat(p[]); y[i] ~ dnorm(mu[z[i]], 1) }
        p[1:2] ~ ddirch(a[]); for (k in 1:2) { mu[k] ~ dnorm(0, 0.1) } }";
    let data = r#"{"N": 6, "y": [-2, -1.5, -1.8, 2, 2.5, 2.2], "a": [1, 1]}"#;
    let folder = folder(&[("m.bug", model), ("d.json", data)]);
    let told = |more: &[&str]| {
        let arguments = [&["fit", "m.bug", "--data", "d.json", "--out", "o"], more].concat();
        let output = run(folder.path(), &arguments);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (text, run_json(&folder.path().join("o")))
    };
    let (text, json) = told(&[]);
    let line = text.lines().find(|line| line.contains("abandoned early"));
    assert!(
        line.is_some_and(|line| line.ends_with("reached the best bound")),
        "{text}"
    );
    assert!(json["config"]["restarts"].is_null());
    assert!(json["spread"]["abandoned"].as_u64() > Some(0), "{json}");
    let (text, json) = told(&["--restarts", "1"]);
    assert!(!text.contains("abandoned"), "{text}");
    assert_eq!(json["spread"]["starts"], 1);
    let (text, _) = told(&["--restarts", "3"]);
    assert!(text.contains("3 starts: bounds"), "{text}");
}

/// A network of thirty nodes is fitted label by label, and that is said.
#[test]
fn dense_labels_are_told_of() {
    let model = "model { for (i in 1:N) { z[i] ~ dcat(p[]) } p[1:2] ~ ddirch(a[])
        for (i in 2:N) { for (j in 1:(i-1)) { A[i,j] ~ dbern(B[z[i],z[j]]) } }
        for (k in 1:2) { for (l in 1:2) { B[k,l] ~ dbeta(1, 1) } } }";
    let row = |i: usize| {
        let links = (0..30).map(|j| {
            if usize::is_multiple_of(i + j, 2) {
                "1"
            } else {
                "0"
            }
        });
        format!("[{}]", links.collect::<Vec<_>>().join(","))
    };
    let rows: Vec<String> = (0..30).map(row).collect();
    let data = format!(r#"{{"N": 30, "a": [1, 1], "A": [{}]}}"#, rows.join(","));
    let folder = folder(&[("m.bug", model), ("d.json", data.as_str())]);
    let said =
        "labels z are approximated one by one: their network is too dense to be summed exactly\n";
    for command in ["check", "fit"] {
        let output = run(folder.path(), &[command, "m.bug", "--data", "d.json"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success() && text.contains(said),
            "{command}: {text}"
        );
    }
}

#[test]
fn a_second_run_leaves_nothing_of_the_first() {
    let folder = folder(&[("m.bug", NORMAL), ("d.R", NORMAL_DATA)]);
    let fit = ["fit", "m.bug", "--data", "d.R", "--out", "o"];
    let out = folder.path().join("o");
    done(folder.path(), &[&fit[..], &["--draws", "3"]].concat());
    let files = ["draws.csv", "posterior.csv", "run.json", "trace.jsonl"];
    assert_eq!(names(&out), files);
    // Listed, but for the list itself.
    let listed = ["draws.csv", "posterior.csv", "trace.jsonl"];
    assert_eq!(run_json(&out)["files"], serde_json::json!(listed));
    fs::write(out.join("notes.txt"), "mine").expect("a file");
    done(folder.path(), &fit);
    let files = ["notes.txt", "posterior.csv", "run.json", "trace.jsonl"];
    assert_eq!(names(&out), files);
    // A refusal leaves the folder as it was.
    let before = fs::read(out.join("posterior.csv")).expect("a file");
    refusal(folder.path(), &[&fit[..], &["--monitor", "nu"]].concat());
    assert_eq!(names(&out), files);
    assert!(fs::read(out.join("posterior.csv")).expect("a file") == before);
}
