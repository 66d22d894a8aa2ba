//! Every crate that is published says what it is, and holds its own README, licences and header of formulas.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Files that a package holds beside its sources; all but the README are links to the repository's.
const FILES: [(&str, Option<&str>); 4] = [
    ("README.md", None),
    ("LICENSE-MIT", Some("LICENSE-MIT")),
    ("LICENSE-APACHE", Some("LICENSE-APACHE")),
    ("katex-header.html", Some("docs/katex-header.html")),
];

fn metadata(root: &Path) -> Value {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(root)
        .output()
        .expect("cargo");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// What a package lacks for being published.
fn missing(package: &Value, root: &Path) -> Vec<String> {
    let mut missing = Vec::new();
    for field in ["description", "license", "readme", "rust_version"] {
        if !package[field].is_string() {
            missing.push(field.to_owned());
        }
    }
    for field in ["authors", "keywords", "categories"] {
        if package[field].as_array().is_none_or(Vec::is_empty) {
            missing.push(field.to_owned());
        }
    }
    let header = &package["metadata"]["docs"]["rs"]["rustdoc-args"];
    if *header != serde_json::json!(["--html-in-header", "katex-header.html"]) {
        missing.push("package.metadata.docs.rs with the header of formulas".to_owned());
    }
    let folder = Path::new(package["manifest_path"].as_str().expect("a path"));
    for (file, original) in FILES {
        let text = fs::read(folder.with_file_name(file)).ok();
        let expected = original.map(|path| fs::read(root.join(path)).expect("a file"));
        if text.is_none() || expected.is_some() && text != expected {
            missing.push(file.to_owned());
        }
    }
    // A path without a version would be dropped from the package.
    for dependency in package["dependencies"].as_array().expect("a list") {
        let path = dependency["path"].is_string() && dependency["kind"].is_null();
        if path && dependency["req"] == "*" {
            missing.push(format!("a version of {}", dependency["name"]));
        }
    }
    missing
}

#[test]
fn published_crates_are_complete() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let workspace = metadata(&root);
    let packages = workspace["packages"].as_array().expect("a list");
    let published: Vec<&Value> = packages
        .iter()
        .filter(|package| package["publish"].is_null())
        .collect();
    assert!(published.len() >= 4, "{}", published.len());
    for package in published {
        let missing = missing(package, &root);
        assert!(
            missing.is_empty(),
            "{} lacks {}",
            package["name"],
            missing.join(", ")
        );
    }
}
