//! Hostile files, absurd arguments and outputs that are inputs end in one sentence, soon, with everything as it was.

mod common;

use std::fs;
use std::path::Path;
use std::process::Output;

use common::{done, names, refusal, run, run_json};

const TABLE: &str = "x,y\n1,2\n2,1\n9,8\n8,9\n1,1\n9,9\n2,2\n8,8\n";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("data.csv"), TABLE).expect("a file");
    fs::write(
        folder.path().join("model.bug"),
        "model { y ~ dnorm(mu, 1)\nmu ~ dnorm(0, 1) }",
    )
    .expect("a file");
    fs::write(folder.path().join("data.json"), "{\"y\": 1}").expect("a file");
    fs::write(
        folder.path().join("texts.txt"),
        "ash bee cat\nbee cat dog\nash cat elk\nfox gnu ash\n".repeat(20),
    )
    .expect("a file");
    folder
}

/// An error of one sentence, and no panic.
fn refused(folder: &Path, args: &[&str]) -> String {
    let Output { status, stderr, .. } = run(folder, args);
    let talk = String::from_utf8_lossy(&stderr).into_owned();
    assert!(
        matches!(status.code(), Some(1 | 2)),
        "{args:?}: {status} {talk}"
    );
    assert!(!talk.contains("panicked"), "{args:?}: {talk}");
    talk
}

#[test]
fn an_output_is_never_an_input() {
    let folder = folder();
    let folder = folder.path();
    done(folder, &["mixture", "data.csv", "-k", "2", "--out", "fit"]);
    fs::hard_link(folder.join("data.csv"), folder.join("same.csv")).expect("a link");
    for args in [
        &["mixture", "data.csv", "-k", "2", "--checkpoint", "data.csv"][..],
        &[
            "mixture",
            "data.csv",
            "-k",
            "2",
            "--checkpoint",
            "./data.csv",
        ],
        &["mixture", "data.csv", "-k", "2", "--checkpoint", "same.csv"],
        &[
            "fit",
            "model.bug",
            "--data",
            "data.json",
            "--checkpoint",
            "model.bug",
        ],
        &[
            "fit",
            "model.bug",
            "--data",
            "data.json",
            "--checkpoint",
            "data.json",
        ],
        &["check", "model.bug", "--svg", "model.bug"],
        &[
            "check",
            "model.bug",
            "--data",
            "data.json",
            "--dot",
            "data.json",
        ],
        &[
            "topics",
            "texts.txt",
            "--topics",
            "2",
            "--holdout",
            "0.2",
            "--curve",
            "texts.txt",
        ],
        &["mixture", "predict", "fit", "data.csv", "--out", "data.csv"],
        &[
            "mixture",
            "predict",
            "fit",
            "data.csv",
            "--out",
            "fit/components.json",
        ],
        &[
            "mixture",
            "fit/assignments.csv",
            "--columns",
            "row",
            "-k",
            "2",
            "--out",
            "fit",
        ],
    ] {
        let before: Vec<_> = [
            "data.csv",
            "model.bug",
            "data.json",
            "texts.txt",
            "fit/components.json",
        ]
        .map(|file| fs::read(folder.join(file)).expect("a file"))
        .into();
        let told = refusal(folder, args);
        assert!(
            told.contains("a file that this run reads, expected another one"),
            "{args:?}: {told}"
        );
        let after: Vec<_> = [
            "data.csv",
            "model.bug",
            "data.json",
            "texts.txt",
            "fit/components.json",
        ]
        .map(|file| fs::read(folder.join(file)).expect("a file"))
        .into();
        assert!(before == after, "{args:?}");
    }
}

#[test]
fn absurd_arguments_are_refused() {
    let folder = folder();
    let folder = folder.path();
    for more in [
        &["-k", "1..18446744073709551615"][..],
        &["-k", "1000000000"],
        &["--restarts", "4000000000"],
        &["-k", "2", "--threads", "100000000"],
        &["--samples", "4294967296", "--out", "fit"],
        &["--posterior", "exact", "--draws", "1000000000"],
    ] {
        refused(folder, &[&["mixture", "data.csv"], more].concat());
    }
    refused(
        folder,
        &[
            "topics",
            "texts.txt",
            "--topics",
            "2",
            "--sweeps",
            "1000000000000000000",
        ],
    );
    assert!(!folder.join("fit").exists());
}

#[test]
fn hostile_files_are_refused() {
    let folder = folder();
    let folder = folder.path();
    let put = |name: &str, content: &[u8]| fs::write(folder.join(name), content).expect("a file");
    put("joined.csv", b"\"x\",y,z\n\"1\",\xce,\x93\n");
    assert!(refused(folder, &["mixture", "joined.csv"]).contains("joined.csv:2"));

    let header = format!("{}{}", "{'a':".repeat(30), "}".repeat(30));
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    npy.extend_from_slice(&u16::try_from(header.len()).expect("short").to_le_bytes());
    npy.extend_from_slice(header.as_bytes());
    put("deep.npy", &npy);
    assert!(refused(folder, &["mixture", "deep.npy"]).contains("nested too deeply"));

    put(
        "reads.prob",
        b"# Ntotal 1\n# Nmap 1\n# M 4294967294\n# LOGFORMAT\nr1 1 1 -1\n",
    );
    let args = ["quant", "--prob", "reads.prob", "--out", "fit"];
    assert!(refused(folder, &args).contains("from 1 to 10000000 transcripts"));

    put("sparse.json", b"{\"x\": {\"sparse\": \"coo\", \"dim\": [4000000000, 2], \"row\": [1], \"col\": [1], \"value\": [1]}}");
    let told = refused(folder, &["fit", "model.bug", "--data", "sparse.json"]);
    assert!(
        told.contains("4000000000 rows in \"x\", expected 20000000 at most"),
        "{told}"
    );

    for (text, told) in [
        (
            "model { x[1000000000] ~ dnorm(0, 1) }",
            "x has 1000000000 elements",
        ),
        (
            "model { for (i in 1:1000000000) { x[i] ~ dnorm(0, 1) }\ny ~ dnorm(x[1], 1) }",
            "repeated more than 500064 times with so few data",
        ),
        (
            "model { for (i in 1:1000) { for (j in i:1000) { x[i,j] ~ dnorm(0, 1) } }\ny ~ dnorm(x[1,1], 1) }",
            "repeated more than 500064 times with so few data",
        ),
        (
            "model { z ~ dcat(rep(1, 100000))\ny ~ dnorm(z, 1) }",
            "an unknown label of 100000 states, expected 20000 at most",
        ),
        (
            "var x[1000000000, 1000000000]; model { y ~ dnorm(x[1,1], 1)\nx[1,1] ~ dnorm(0, 1) }",
            "too long",
        ),
        (
            "model { y ~ dnorm(sum(rep(c(1, 2), 9.3e18)), 1) }",
            "expected 20000000 at most",
        ),
    ] {
        put("hostile.bug", text.as_bytes());
        let found = refused(folder, &["fit", "hostile.bug", "--data", "data.json"]);
        assert!(found.contains(told), "{text}: {found}");
    }
}

/// Numbers that overflow on the way are answered, by a fit or a sentence.
#[test]
fn huge_numbers_do_not_panic() {
    let folder = folder();
    let folder = folder.path();
    let text = TABLE.replacen("9,8", "1e66,8", 1);
    fs::write(folder.join("huge.csv"), text).expect("a file");
    fs::write(
        folder.join("huge.bug"),
        "model { p[1:2] ~ ddirch(a[])\nfor (i in 1:3) { y[i] ~ dcat(p[]) } }",
    )
    .expect("a file");
    fs::write(
        folder.join("huge.json"),
        "{\"a\": [1e92, 1e92], \"y\": [1, 2, 1]}",
    )
    .expect("a file");
    for args in [
        &["mixture", "huge.csv", "-k", "3", "--start", "random"][..],
        &["fit", "huge.bug", "--data", "huge.json"],
    ] {
        let Output { status, stderr, .. } = run(folder, args);
        let talk = String::from_utf8_lossy(&stderr);
        assert!(!talk.contains("panicked"), "{args:?}: {talk}");
        assert!(matches!(status.code(), Some(0 | 1)), "{args:?}: {status}");
    }
}

/// A checkpoint that cannot be written costs a warning, not the fit; leftovers of the dead go.
#[cfg(unix)]
#[test]
fn a_fit_survives_its_checkpoint() {
    let folder = folder();
    let folder = folder.path();
    fs::write(folder.join(".run.ckpt.0123456789abcdef.tmp"), "dead").expect("a file");
    let args = [
        "mixture",
        "data.csv",
        "-k",
        "2",
        "--checkpoint",
        "run.ckpt",
        "--out",
        "fit",
    ];
    done(folder, &args);
    assert!(
        names(folder).iter().all(|name| !name.contains(".tmp")),
        "{:?}",
        names(folder)
    );
    let first = run_json(&folder.join("fit"));
    let again = [
        "mixture", "data.csv", "-k", "2", "--resume", "run.ckpt", "--out", "again",
    ];
    done(folder, &again);
    let second = run_json(&folder.join("again"));
    for field in ["bound", "iterations", "passes", "outcome"] {
        assert_eq!(first[field], second[field], "{field}");
    }
    done(
        folder,
        &[
            "mixture", "data.csv", "-k", "2", "--resume", "run.ckpt", "--jumps", "off",
        ],
    );
}

/// A bound that would be nothing but rounding is refused, and so is a precision that has lost its digits.
#[test]
fn what_has_no_digits_is_refused() {
    let folder = folder();
    let folder = folder.path();
    let text = "model { p[1:2] ~ ddirch(a[])\nfor (i in 1:50) { y[i] ~ dcat(p[]) } }";
    fs::write(folder.join("dirichlet.bug"), text).expect("a file");
    let with = |concentration: &str| {
        let y = ["1", "2"].repeat(25).join(", ");
        let data = format!("{{\"a\": [{concentration}, {concentration}], \"y\": [{y}]}}");
        fs::write(folder.join("dirichlet.json"), data).expect("a file");
        [
            "fit",
            "dirichlet.bug",
            "--data",
            "dirichlet.json",
            "--out",
            "fit",
        ]
    };
    // ln p(y) is 50 ln(1/2) where the prior is sure of it.
    for fine in ["1e6", "1e10"] {
        done(folder, &with(fine));
        let bound = run_json(&folder.join("fit"))["bound"]
            .as_f64()
            .expect("a number");
        assert!(
            (bound - 50.0 * 0.5_f64.ln()).abs() < 1e-3,
            "{fine}: {bound}"
        );
    }
    for rough in ["1e15", "1e20"] {
        let told = refused(folder, &with(rough));
        assert!(told.contains("rounding errors"), "{rough}: {told}");
    }
    fs::write(
        folder.join("faint.bug"),
        "model { y ~ dnorm(mu, 1)\nmu ~ dnorm(0, 1e-310) }",
    )
    .expect("a file");
    let told = refused(folder, &["fit", "faint.bug", "--data", "data.json"]);
    assert!(told.contains("not so near to zero"), "{told}");
}

/// What is infinite among the data is named, and not the line's own data.
#[test]
fn an_infinite_number_is_to_blame() {
    let folder = folder();
    let folder = folder.path();
    fs::write(
        folder.join("infinite.R"),
        "y <- c(1, 2, 3)\nx <- c(1, 2, Inf)\nN <- 3\n",
    )
    .expect("a file");
    let told = |line: &str| {
        let text =
            format!("model {{ for (i in 1:N) {{ {line} }}\na ~ dnorm(0, 1)\nb ~ dnorm(0, 1) }}");
        fs::write(folder.join("infinite.bug"), text).expect("a file");
        refused(folder, &["fit", "infinite.bug", "--data", "infinite.R"])
    };
    for line in [
        "y[i] ~ dnorm(a + b * x[i], 1)",
        "y[i] ~ dnorm(mu[i], 1)\nmu[i] <- a + b * x[i]",
        "y[i] ~ dbin(p[i], 9)\nlogit(p[i]) <- a + b * x[i]",
    ] {
        let told = told(line);
        assert!(
            told.contains("x[3] is inf, expected a finite number"),
            "{told}"
        );
        assert!(told.contains("for y[3]"), "{told}");
    }
    let own = told("y[i] ~ dnorm(a, 1)\nx[i] ~ dnorm(b, 1)");
    assert!(
        own.contains("the data of x[3] are outside the support"),
        "{own}"
    );
}

/// The program with at most so many kilobytes of address space.
#[cfg(target_os = "linux")]
fn within(kilobytes: u32, folder: &Path, args: &[&str]) -> Output {
    let script = format!("ulimit -v {kilobytes} && exec \"$0\" \"$@\"");
    let program = env!("CARGO_BIN_EXE_collapsar");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &script, program, "--threads", "1"]);
    shell.args(args).current_dir(folder).output().expect("sh")
}

/// Memory that cannot be had is a sentence and exit code 1; a stack that cannot be had is none.
#[cfg(target_os = "linux")]
#[test]
fn memory_that_cannot_be_had() {
    let folder = folder();
    let folder = folder.path();
    let fit = ["fit", "model.bug", "--data", "data.json"];
    // The wide stack alone would take 256 MB.
    let Output { status, stderr, .. } = within(230_000, folder, &fit);
    let talk = String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(0), "{talk}");

    let mut table = String::from("x\n");
    for _ in 0..3_000_000 {
        table.push_str("1\n2\n");
    }
    fs::write(folder.join("long.csv"), table).expect("a file");
    let Output { status, stderr, .. } =
        within(100_000, folder, &["mixture", "long.csv", "-k", "1"]);
    let talk = String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(1), "{status} {talk}");
    let sentence = talk.starts_with("collapsar: error: memory: ") && talk.lines().count() == 1;
    assert!(
        sentence && talk.contains("bytes could not be had"),
        "{talk}"
    );
}

/// However little there is: done, a sentence, or a system that cannot load the program.
#[cfg(target_os = "linux")]
#[test]
fn little_memory_is_no_panic() {
    let folder = folder();
    let folder = folder.path();
    for megabytes in (20..44).step_by(2) {
        let script = format!("ulimit -v {megabytes}000 && exec \"$0\" \"$@\"");
        for args in [
            &["mixture", "data.csv", "-k", "2"][..],
            &["fit", "model.bug", "--data", "data.json"],
        ] {
            let mut shell = std::process::Command::new("sh");
            shell.args(["-c", &script, env!("CARGO_BIN_EXE_collapsar")]);
            let done = shell.args(args).current_dir(folder).output();
            let Output { status, stderr, .. } = done.expect("sh");
            let talk = String::from_utf8_lossy(&stderr);
            let sentence = talk.starts_with("collapsar: error: ") && talk.lines().count() == 1;
            let unborn = talk.is_empty() || talk.contains("error while loading shared libraries");
            let answered = match status.code() {
                Some(0) => true,
                Some(1) => sentence,
                _ => unborn,
            };
            assert!(answered, "{megabytes} MB, {args:?}: {status} {talk}");
        }
    }
}

/// What is infinite is null in JSON, with the reason beside it.
#[test]
fn an_infinite_deviation_has_a_reason() {
    let folder = folder();
    let folder = folder.path();
    let fit = ["mixture", "data.csv", "-k", "8", "--jumps", "off"];
    let start = ["--start", "random", "--out", "fit"];
    done(folder, &[&fit[..], &start].concat());
    let text = fs::read_to_string(folder.join("fit/components.json")).expect("a file");
    let saved: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let components = saved["components"].as_array().expect("components");
    let mut infinite = 0;
    for component in components {
        let absent = component["covariance_sd"].is_null();
        infinite += usize::from(absent);
        let reason = component["absent"].as_str().unwrap_or_default();
        assert_eq!(
            reason.contains("degrees of freedom, expected more than"),
            absent,
            "{component}"
        );
        assert!(!component["covariance"].is_null());
    }
    assert!(infinite > 0, "{text}");
}
