//! The program, started and looked at.
#![allow(dead_code, reason = "each test file uses some of it")]
#![allow(unreachable_pub, reason = "test files include this one as a module")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// The program, in a folder of its own.
pub fn collapsar(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_collapsar"));
    command.current_dir(folder).args(args);
    command
}

pub fn run(folder: &Path, args: &[&str]) -> Output {
    collapsar(folder, args)
        .output()
        .expect("the program starts")
}

/// Runs and expects success.
pub fn done(folder: &Path, args: &[&str]) {
    let output = run(folder, args);
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {talk}");
}

/// What a refusal says; the code is 1 and nothing is printed.
pub fn refusal(folder: &Path, args: &[&str]) -> String {
    let output = run(folder, args);
    assert_eq!(output.status.code(), Some(1), "{args:?}");
    assert!(output.stdout.is_empty(), "{args:?}");
    String::from_utf8(output.stderr).expect("UTF-8")
}

/// `run.json` of a folder of results.
pub fn run_json(folder: &Path) -> Value {
    let text = fs::read(folder.join("run.json")).expect("run.json");
    serde_json::from_slice(&text).expect("JSON")
}

/// The names in a folder, in order.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}
