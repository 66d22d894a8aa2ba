//! Runs that are killed or asked to stop leave nothing that the next run does not make good; bench/faults has the long study.
#![cfg(unix)]

mod common;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{collapsar, done, names, run, run_json};
use serde_json::Value;

const MIXED: &str = "model {
  for (i in 1:N) { z[i] ~ dcat(p[]); y[i] ~ dnorm(mu[z[i]], tau) }
  for (k in 1:3) { mu[k] ~ dnorm(0, 0.01) }
  tau ~ dgamma(1, 1)
  p[1:3] ~ ddirch(a[])
}
";
const PRECIOUS: &str = "the user's\n";

/// Uniform numbers of a linear congruential generator.
struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A table, a model whose starts compete, and its data.
fn write_inputs(folder: &Path, rows: usize) {
    let mut uniform = Uniform(1);
    let mut near = |centre: f64| {
        let sum: f64 = (0..4).map(|_| uniform.next()).sum();
        centre + 1.5 * (sum - 2.0)
    };
    let mut text = "x,y\n".to_owned();
    let mut numbers = Vec::new();
    for row in 0..rows {
        let group = (row % 4) as f64;
        let pair = [near(group), near(2.0 * (group % 2.0))];
        writeln!(text, "{:.5},{:.5}", pair[0], pair[1]).expect("memory");
        numbers.push(near([-3.0, 0.0, 4.0][row % 3]));
    }
    fs::write(folder.join("data.csv"), text).expect("space");
    fs::write(folder.join("mixed.bug"), MIXED).expect("space");
    let numbers = &numbers[..rows.min(200)];
    let data = serde_json::json!({"N": numbers.len(), "a": [1, 1, 1], "y": numbers});
    fs::write(folder.join("data.json"), data.to_string()).expect("space");
}

fn signal(child: &Child, name: &str) {
    let args = [&format!("-{name}"), &child.id().to_string()[..]].map(str::to_owned);
    let sent = Command::new("kill").args(args).status().expect("kill");
    assert!(sent.success());
}

/// A record without times, and without how it was asked for.
fn bare(record: Value) -> Value {
    match record {
        Value::Object(fields) => {
            let kept = fields
                .into_iter()
                .filter(|(name, _)| !name.contains("seconds") && name != "command");
            kept.map(|(name, value)| (name, bare(value))).collect()
        }
        Value::Array(items) => {
            let kept = items.into_iter().filter(|item| item["name"] != "run.ckpt");
            kept.map(bare).collect()
        }
        other => other,
    }
}

/// All results but the trace, which has times, and what is the user's.
fn results(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for name in names(folder) {
        let content = fs::read(folder.join(&name)).expect("a file");
        let content = match &name[..] {
            "trace.jsonl" | "mine.txt" => continue,
            "run.json" => bare(run_json(folder)).to_string().into_bytes(),
            _ => content,
        };
        found.insert(name, content);
    }
    found
}

/// Kills a command so many times at moments spread over its length; each time the next run must end where one that was
/// never stopped does.
fn killed(folder: &Path, command: &[&str], checkpoint: bool, kills: usize) {
    let arguments = |out: &'static str, resume: bool| {
        let mut all = command.to_vec();
        all.extend(["--out", out, "--threads", "1"]);
        if checkpoint {
            all.extend(["--checkpoint", "run.ckpt", "--checkpoint-every", "2"]);
        }
        if resume {
            all.extend(["--resume", "run.ckpt"]);
        }
        all
    };
    let began = Instant::now();
    done(folder, &arguments("whole", false));
    let length = began.elapsed().as_secs_f64();
    let whole = results(&folder.join("whole"));
    let before = names(folder);
    let mut uniform = Uniform(7);
    for kill in 0..kills {
        let _ = fs::remove_file(folder.join("run.ckpt"));
        let _ = fs::remove_dir_all(folder.join("part"));
        fs::create_dir(folder.join("part")).expect("a folder");
        fs::write(folder.join("part/mine.txt"), PRECIOUS).expect("space");
        let mut child = collapsar(folder, &arguments("part", false))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        thread::sleep(Duration::from_secs_f64(
            length * (kill as f64 + uniform.next()) / kills as f64,
        ));
        let name = ["KILL", "TERM"][kill % 2];
        if child.try_wait().expect("a state").is_none() {
            signal(&child, name);
        }
        child.wait().expect("an end");
        let resume = checkpoint && folder.join("run.ckpt").exists();
        done(folder, &arguments("part", resume));
        let part = folder.join("part");
        assert!(
            results(&part) == whole,
            "{command:?}, kill {kill} by {name}, resumed: {resume}"
        );
        let mine = fs::read_to_string(part.join("mine.txt")).expect("a file");
        assert_eq!(mine, PRECIOUS);
        let mut left = names(folder);
        left.retain(|name| name != "part" && !before.contains(name));
        assert!(left.is_empty(), "{left:?}");
    }
    let _ = fs::remove_dir_all(folder.join("whole"));
    let _ = fs::remove_dir_all(folder.join("part"));
    let _ = fs::remove_file(folder.join("run.ckpt"));
}

#[test]
fn killed_runs_are_made_good() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_inputs(folder, 600);
    killed(
        folder,
        &["mixture", "data.csv", "--start", "random"],
        true,
        6,
    );
    let fit = ["fit", "mixed.bug", "--data", "data.json", "--draws", "50"];
    killed(folder, &fit, true, 6);
    let rerun = [
        "reproduce",
        "mixture",
        "--restarts",
        "2",
        "--rows",
        "60",
        "--methods",
        "vbem,auto",
    ];
    killed(folder, &rerun, false, 6);
}

#[test]
fn a_competition_goes_on_from_its_last_climb() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_inputs(folder, 100);
    let base = ["fit", "mixed.bug", "--data", "data.json", "--draws", "50"];
    let with = |more: &[&str]| done(folder, &[&base[..], more].concat());
    with(&["--out", "whole", "--checkpoint", "run.ckpt"]);
    let whole = run_json(&folder.join("whole"));
    assert!(
        whole["spread"]["starts"].as_u64() > Some(3),
        "starts compete"
    );
    with(&["--out", "resumed", "--resume", "run.ckpt"]);
    assert!(results(&folder.join("whole")) == results(&folder.join("resumed")));
}

/// Starts a run that takes a while, and waits for its third step.
fn climbing(folder: &Path, command: &mut Command) -> (Child, BufReader<std::process::ChildStderr>) {
    let command = command.current_dir(folder);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut talk = BufReader::new(child.stderr.take().expect("piped"));
    let mut line = String::new();
    while !line.starts_with("iteration 3") {
        line.clear();
        let read = talk.read_line(&mut line).expect("text");
        assert!(read > 0, "the run ended early");
    }
    (child, talk)
}

const LONG: [&str; 9] = [
    "mixture",
    "data.csv",
    "--components",
    "12",
    "--start",
    "random",
    "--verbose",
    "--out",
    "part",
];

#[test]
fn two_signals_at_once_are_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_inputs(folder, 20_000);
    // As `timeout` sends them: to the program, and to its group.
    let (mut child, mut talk) = climbing(folder, &mut collapsar(folder, &LONG));
    let number = child.id();
    let twice = format!("kill -TERM {number}; kill -INT {number}");
    let sent = Command::new("sh").args(["-c", &twice]).status();
    assert!(sent.expect("sh").success());
    let mut rest = String::new();
    talk.read_to_string(&mut rest).expect("text");
    assert_eq!(child.wait().expect("an end").code(), Some(130), "{rest}");
    let record = run_json(&folder.join("part"));
    assert_eq!(record["outcome"]["reason"], "interrupted");
}

/// Results of fewer draws than were asked for are told from whole ones by their record too.
#[test]
fn draws_that_are_interrupted_say_so_in_the_record() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_inputs(folder, 200);
    let fit = "fit mixed.bug --data data.json --restarts 1 --posterior exact --warmup 10 --draws 1000000 --verbose --out part";
    let args: Vec<&str> = fit.split(' ').collect();
    let (mut child, mut talk) = climbing(folder, &mut collapsar(folder, &args));
    // The climb takes milliseconds from here, all draws minutes.
    thread::sleep(Duration::from_secs(3));
    signal(&child, "INT");
    let mut rest = String::new();
    talk.read_to_string(&mut rest).expect("text");
    assert_eq!(child.wait().expect("an end").code(), Some(130), "{rest}");
    let warnings = run_json(&folder.join("part"))["warnings"].to_string();
    assert!(
        warnings.contains("interrupted: results are of the first"),
        "{warnings}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn nohup_is_heeded() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_inputs(folder, 20_000);
    let mut shell = Command::new("sh");
    let script = "trap '' HUP; exec \"$0\" \"$@\"";
    shell.args(["-c", script, env!("CARGO_BIN_EXE_collapsar")]);
    shell.args(LONG).args(["--max-iterations", "8"]);
    let (mut child, mut talk) = climbing(folder, &mut shell);
    signal(&child, "HUP");
    let mut rest = String::new();
    talk.read_to_string(&mut rest).expect("text");
    assert_eq!(child.wait().expect("an end").code(), Some(0), "{rest}");
    let record = run_json(&folder.join("part"));
    assert_eq!(record["iterations"], 8);
}

#[test]
fn an_experiment_that_is_stopped_says_so_by_its_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let long = ["mixture", "topics", "quant"];
    for experiment in long {
        let mut args = vec!["reproduce", experiment, "--out", "part"];
        args.extend(match experiment {
            "mixture" => ["--restarts", "100000"],
            _ => ["--starts", "100000"],
        });
        let mut child = collapsar(folder, &args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        // Its folder comes right before the first run.
        let staged = || names(folder).contains(&"part".to_owned());
        let began = Instant::now();
        while !staged() && began.elapsed() < Duration::from_mins(1) {
            thread::sleep(Duration::from_millis(5));
        }
        signal(&child, "INT");
        assert_eq!(
            child.wait().expect("an end").code(),
            Some(130),
            "{experiment}"
        );
        let _ = fs::remove_dir_all(folder.join("part"));
    }
}

#[test]
fn manual_pages_replace_links() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("precious"), PRECIOUS).expect("space");
    fs::create_dir(folder.join("pages")).expect("a folder");
    let page = folder.join("pages/collapsar-fit.1");
    std::os::unix::fs::symlink(folder.join("precious"), &page).expect("a link");
    let output = run(folder, &["man", "--dir", "pages"]);
    assert!(output.status.success());
    let precious = fs::read_to_string(folder.join("precious")).expect("a file");
    assert_eq!(precious, PRECIOUS);
    assert!(fs::symlink_metadata(&page).expect("a page").is_file());
    let hidden = names(&folder.join("pages"));
    assert!(!hidden.iter().any(|name| name.starts_with('.')));
}
