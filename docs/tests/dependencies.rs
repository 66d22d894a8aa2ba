//! Dependencies have licences of the list in deny.toml, and come from where it allows, as `cargo deny check` would say.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All packages that Cargo.lock has for this workspace.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version", "1"])
        .current_dir(root())
        .output()
        .expect("cargo");
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{talk}");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    metadata["packages"].as_array().expect("a list").clone()
}

/// The strings of a list in deny.toml.
fn listed(name: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("deny.toml")).expect("deny.toml");
    let begin = format!("\n{name} = [");
    let (_, rest) = text.split_once(&begin).expect(name);
    let (list, _) = rest.split_once(']').expect("an end");
    let strings = list.split('"').skip(1).step_by(2);
    strings.map(str::to_owned).collect()
}

/// Whether an SPDX expression can be met by licences of a list.
fn permitted(expression: &str, allowed: &BTreeSet<String>) -> bool {
    // A slash is how older manifests say OR.
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace(" WITH ", "\u{0}WITH\u{0}");
    let words = spaced
        .split_whitespace()
        .map(|word| word.replace('\u{0}', " "));
    let words: Vec<String> = words.collect();
    let mut at = 0;
    let met = any(&words, &mut at, allowed);
    met && at == words.len()
}

fn any(words: &[String], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let mut met = all(words, at, allowed);
    while words.get(*at).is_some_and(|word| word == "OR") {
        *at += 1;
        met |= all(words, at, allowed);
    }
    met
}

fn all(words: &[String], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let mut met = one(words, at, allowed);
    while words.get(*at).is_some_and(|word| word == "AND") {
        *at += 1;
        met &= one(words, at, allowed);
    }
    met
}

fn one(words: &[String], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let Some(word) = words.get(*at) else {
        return false;
    };
    *at += 1;
    if word != "(" {
        return allowed.contains(word);
    }
    let met = any(words, at, allowed);
    let closed = words.get(*at).is_some_and(|word| word == ")");
    *at += 1;
    met && closed
}

#[test]
fn licences_are_on_the_list() {
    let allowed = listed("allow");
    assert!(allowed.contains("MIT") && !allowed.iter().any(|one| one.contains("GPL")));
    let packages = packages();
    assert!(packages.len() > 100, "{}", packages.len());
    let wrong: Vec<String> = packages
        .iter()
        .filter(|package| {
            let licence = package["license"].as_str();
            !licence.is_some_and(|licence| permitted(licence, &allowed))
        })
        .map(|package| {
            format!(
                "{} {}: {}",
                package["name"], package["version"], package["license"]
            )
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "licences that deny.toml does not allow: {wrong:?}"
    );
}

#[test]
fn crates_come_from_one_registry() {
    let allowed = listed("allow-registry");
    for package in packages() {
        let Some(source) = package["source"].as_str() else {
            continue;
        };
        let registry = source.strip_prefix("registry+").unwrap_or(source);
        assert!(allowed.contains(registry), "{}: {source}", package["name"]);
    }
}

#[test]
fn expressions_are_read_as_spdx_has_them() {
    let allowed: BTreeSet<String> = ["MIT", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"]
        .map(str::to_owned)
        .into();
    for good in [
        "MIT",
        "MIT/Apache-2.0",
        "GPL-3.0 OR MIT",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception",
        "GPL-3.0 AND Zlib OR MIT",
    ] {
        assert!(permitted(good, &allowed), "{good}");
    }
    for bad in [
        "",
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "(MIT OR Apache-2.0) AND GPL-3.0",
        "Apache-2.0",
        "MIT Zlib",
        "(MIT",
        "GPL-3.0 OR Zlib AND MIT",
    ] {
        assert!(!permitted(bad, &allowed), "{bad}");
    }
}
