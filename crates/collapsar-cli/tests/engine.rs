//! `--engine` calls the Python package with the flags that it was given, or says how to install it.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

fn collapsar(python: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_collapsar"))
        .args(arguments)
        .env("COLLAPSAR_PYTHON", python)
        .output()
        .expect("the program")
}

/// A Python that does what a few lines say.
fn python(folder: &Path, lines: &str) -> std::path::PathBuf {
    let path = folder.join("python");
    fs::write(&path, format!("#!/bin/sh\n{lines}\n")).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
    path
}

#[test]
fn without_the_package_it_says_how_to_install_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = "echo \"ModuleNotFoundError: No module named 'pycollapsar'\" >&2; exit 1";
    let python = python(folder.path(), words);
    let done = collapsar(
        &python,
        &["mixture", "data", "--out", "fit", "--engine", "ray"],
    );
    assert_eq!(done.status.code(), Some(1));
    let name = python.display();
    assert_eq!(
        String::from_utf8_lossy(&done.stderr),
        format!(
            "collapsar: error: --engine ray: {name} cannot run the Python package (ModuleNotFoundError: No module named 'pycollapsar'), expected one that can; try {name} -m pip install pycollapsar 'ray[data]', or name another by COLLAPSAR_PYTHON\n"
        )
    );
}

#[test]
fn with_the_package_it_hands_on_flags_and_exit_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = "test \"$1\" = -c && exit 0; echo \"$@\"; exit 3";
    let python = python(folder.path(), words);
    let flags = [
        "mixture",
        "data",
        "--out",
        "fit",
        "--engine",
        "local",
        "--workers",
        "4",
        "--components",
        "3..5",
        "--weights",
        "dp",
        "--columns",
        "a,b",
        "--checkpoint",
        "kept",
        "--require-convergence",
    ];
    let done = collapsar(&python, &flags);
    assert_eq!(done.status.code(), Some(3));
    assert_eq!(
        String::from_utf8_lossy(&done.stdout),
        "-m pycollapsar.distributed mixture data --engine=local --workers=4 --out=fit --columns=a,b --components=3,4,5 \
         --covariance=full --weights=dp --start=kmeans --method=auto --jumps=auto --seed=0 --tolerance=0.000001 \
         --max-iterations=10000 --checkpoint=kept --checkpoint-every=50 --require-convergence\n"
    );
}

#[test]
fn what_workers_cannot_do_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let python = python(folder.path(), "exit 0");
    let flags = [
        "mixture",
        "data",
        "--out",
        "fit",
        "--engine",
        "ray",
        "--row-weights",
        "n",
    ];
    let done = collapsar(&python, &flags);
    assert_eq!(done.status.code(), Some(2));
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(
        told.contains("--row-weights and --engine do not go together"),
        "{told}"
    );
}
