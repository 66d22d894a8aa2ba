//! Missing values in mixtures: the same posterior as that of the model written in the BUGS language with NA, and tables that
//! are filled in.

mod common;

use std::fs;
use std::path::Path;

use common::{done, run, run_json};

const DATA: &str = "x,y\n1.0,2.1\n1.2,\n0.7,1.7\nNA,2.4\n1.1,2.6\n0.4,1.1\n8.1,5.2\n7.8,NA\n8.4,6.1\n,5.6\n7.5,4.4\n8.8,6.6\n";

const JSON: &str = r#"{"N": 12, "alpha": [1.5, 1.5], "m": [0.5, 1.0], "R": [[2.0, 0.0], [0.0, 2.0]], "y": [
    [1.0, 2.1], [1.2, null], [0.7, 1.7], [null, 2.4], [1.1, 2.6], [0.4, 1.1],
    [8.1, 5.2], [7.8, null], [8.4, 6.1], [null, 5.6], [7.5, 4.4], [8.8, 6.6]]}"#;

/// The mixture with a line for the numbers of a row and one for the parameters of a component.
fn model(row: &str, component: &str) -> String {
    format!(
        "model {{
           for (n in 1:N) {{ z[n] ~ dcat(pi[]) {row} }}
           pi[1:2] ~ ddirch(alpha[])
           for (k in 1:2) {{ {component} }}
         }}"
    )
}

/// Fits both; the folders of the results.
fn both(folder: &Path, covariance: &str, model: &str, posterior: &[&str]) {
    fs::write(folder.join("data.csv"), DATA).expect("a writable folder");
    fs::write(folder.join("data.json"), JSON).expect("a writable folder");
    fs::write(folder.join("model.bug"), model).expect("a writable folder");
    fs::write(
        folder.join("labels.csv"),
        "label\n0\n0\n0\n0\n0\n0\n1\n1\n1\n1\n1\n1\n",
    )
    .expect("a writable folder");
    let ours = [
        "mixture",
        "data.csv",
        "-k",
        "2",
        "--covariance",
        covariance,
        "--concentration",
        "1.5",
        "--location",
        "0.5,1",
        "--mean-precision",
        "0.7",
        "--degrees-of-freedom",
        "3.5",
        "--scale",
        "2",
        "--start",
        "labels.csv",
        "--tolerance",
        "1e-10",
        "--out",
        "mixture",
    ];
    done(folder, &[&ours[..], posterior].concat());
    let theirs = [
        "fit",
        "model.bug",
        "--data",
        "data.json",
        "--out",
        "graph",
        "--monitor",
        "pi,mu",
    ];
    done(folder, &[&theirs[..], posterior].concat());
}

fn bound(folder: &Path) -> f64 {
    run_json(folder)["bound"].as_f64().expect("a number")
}

/// Mean and deviation of a number by its name in a table of results.
fn of(file: &Path, name: &str) -> [f64; 2] {
    let text = fs::read_to_string(file).expect("a table");
    let quoted = format!("\"{name}\",");
    let line = text.lines().find_map(|line| {
        line.strip_prefix(&quoted)
            .or_else(|| line.strip_prefix(&format!("{name},")))
    });
    let line = line.unwrap_or_else(|| panic!("{name} in {text}"));
    let mut cells = line.split(',').map(|cell| cell.parse().expect("a number"));
    std::array::from_fn(|_| cells.next().expect("a cell"))
}

/// The mean of each column in the component at the origin, by both.
fn means(folder: &Path) -> [[[f64; 2]; 2]; 2] {
    let graph = folder.join("graph/posterior.csv");
    // The language's labels have no order of their own.
    let near = if of(&graph, "mu[1,1]")[0] < 4.0 { 1 } else { 2 };
    ["x", "y"].map(|column| {
        let number = if column == "x" { 1 } else { 2 };
        [
            of(
                &folder.join("mixture/posterior.csv"),
                &format!("mean[0,{column}]"),
            ),
            of(&graph, &format!("mu[{near},{number}]")),
        ]
    })
}

const APART: &str = "for (d in 1:2) { y[n,d] ~ dnorm(mu[z[n],d], tau[z[n],d]) }";
const OWN: &str =
    "for (d in 1:2) { tau[k,d] ~ dgamma(1.75, 1) mu[k,d] ~ dnorm(m[d], 0.7 * tau[k,d]) }";
const ROUND: &str = "for (d in 1:2) { y[n,d] ~ dnorm(mu[z[n],d], tau[z[n]]) }";
const ONE: &str = "tau[k] ~ dgamma(3.5, 2) for (d in 1:2) { mu[k,d] ~ dnorm(m[d], 0.7 * tau[k]) }";
const TOGETHER: &str = "y[n,1:2] ~ dmnorm(mu[z[n],], T[z[n],,])";
const WISHART: &str = "T[k,1:2,1:2] ~ dwish(R[,], 3.5) mu[k,1:2] ~ dmnorm(m[], 0.7 * T[k,,])";

#[test]
fn the_bound_is_that_of_the_model_with_na() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let plain = ["--posterior", "mean-field"];
    for (covariance, model) in [
        ("diag", model(APART, OWN)),
        ("spherical", model(ROUND, ONE)),
    ] {
        both(folder, covariance, &model, &plain);
        let (ours, theirs) = (bound(&folder.join("mixture")), bound(&folder.join("graph")));
        // The language's climb stops at gains of 1e-8.
        assert!(
            (ours - theirs).abs() < 1e-6,
            "{covariance}: {ours} {theirs}"
        );
        for [[mean, sd], [expected, of_expected]] in means(folder) {
            assert!(
                (mean - expected).abs() < 1e-3,
                "{covariance}: {mean} {expected}"
            );
            assert!(
                (sd - of_expected).abs() < 1e-3,
                "{covariance}: {sd} {of_expected}"
            );
        }
    }
    // There the factor of a missing number does not know which component its row is of, which costs a tenth of a nat here.
    both(folder, "full", &model(TOGETHER, WISHART), &plain);
    let (ours, theirs) = (bound(&folder.join("mixture")), bound(&folder.join("graph")));
    assert!(
        ours > theirs - 1e-6 && ours < theirs + 0.2,
        "{ours} {theirs}"
    );
    for [[mean, sd], [expected, of_expected]] in means(folder) {
        assert!(
            (mean - expected).abs() < 0.05 * of_expected,
            "{mean} {expected}"
        );
        assert!(
            (sd - of_expected).abs() < 0.05 * of_expected,
            "{sd} {of_expected}"
        );
    }
}

#[test]
fn exact_draws_are_those_of_the_model_with_na() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let exact = ["--posterior", "exact", "--draws", "2000"];
    for (covariance, model) in [
        ("diag", model(APART, OWN)),
        ("full", model(TOGETHER, WISHART)),
    ] {
        both(folder, covariance, &model, &exact);
        for [[mean, sd], [expected, of_expected]] in means(folder) {
            // 8,000 draws each, of which about half count, of numbers with tails: five standard errors of the difference.
            let error = 5.0 * of_expected * (2.0_f64 / 4000.0).sqrt();
            assert!(
                (mean - expected).abs() < error,
                "{covariance}: {mean} {expected}"
            );
            assert!(
                (sd / of_expected - 1.0).abs() < 0.15,
                "{covariance}: {sd} {of_expected}"
            );
        }
    }
}

#[test]
fn tables_are_filled_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("data.csv"), DATA).expect("a writable folder");
    done(folder, &["mixture", "data.csv", "-k", "2", "--out", "fit"]);
    let filled = run(
        folder,
        &["mixture", "predict", "fit", "data.csv", "--impute"],
    );
    let text = String::from_utf8(filled.stdout).expect("text");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("x,x_sd,y,y_sd"));
    let rows: Vec<Vec<f64>> = lines
        .map(|line| {
            line.split(',')
                .map(|cell| cell.parse().expect("a number"))
                .collect()
        })
        .collect();
    assert_eq!(rows[0], [1.0, 0.0, 2.1, 0.0]);
    for (row, column) in [(1, 3), (3, 1), (7, 3), (9, 1)] {
        assert!(rows[row][column] > 0.1 && rows[row][column - 1].is_finite());
    }
    assert!(rows[3][0] < 4.0 && rows[9][0] > 4.0);
}
