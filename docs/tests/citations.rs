//! Every equation that the code cites exists: sections in docs/maths.md, keys in docs/references.bib.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Every `§k.j` that follows the word `maths`, `maths §5.6, §6.1` included.
fn cited_sections(text: &str) -> BTreeSet<String> {
    let mut sections = BTreeSet::new();
    for (at, _) in text.match_indices("maths §") {
        let mut rest = &text[at + "maths ".len()..];
        while let Some(after) = rest.strip_prefix('§') {
            let end = after
                .find(|c: char| !c.is_ascii_digit() && c != '.')
                .unwrap_or(after.len());
            sections.insert(after[..end].trim_end_matches('.').to_owned());
            rest = after[end..].trim_start_matches([',', ' ']);
        }
    }
    sections
}

/// Keys such as HRL12 or FangSaad09: a word that begins with a capital and ends with two digits,
/// followed by an equation's number.
fn cited_keys(text: &str) -> BTreeSet<String> {
    text.match_indices(" (")
        .filter(|(at, _)| text[at + 2..].starts_with(|c: char| c.is_ascii_digit()))
        .filter_map(|(at, _)| {
            text[..at]
                .rsplit(|c: char| !c.is_ascii_alphanumeric())
                .next()
        })
        .filter(|word| {
            let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
            letters.len() >= 3
                && word.len() == letters.len() + 2
                && letters.starts_with(|c: char| c.is_ascii_uppercase())
        })
        .map(str::to_owned)
        .collect()
}

#[test]
fn what_is_cited_exists() {
    let maths = fs::read_to_string(root().join("docs/maths.md")).expect("docs/maths.md");
    let references =
        fs::read_to_string(root().join("docs/references.bib")).expect("docs/references.bib");
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    let (mut sections, mut keys) = (0, 0);
    for file in files.iter().filter(|file| !file.ends_with("citations.rs")) {
        let text = fs::read_to_string(file).expect("a source file");
        for section in cited_sections(&text) {
            let heading = if section.contains('.') {
                format!("### §{section} ")
            } else {
                format!("## §{section} ")
            };
            assert!(
                maths.contains(&heading),
                "{}: maths §{section} does not exist",
                file.display()
            );
            sections += 1;
        }
        for key in cited_keys(&text) {
            assert!(
                references.contains(&format!("{{{key},")),
                "{}: {key} is not in references.bib",
                file.display()
            );
            keys += 1;
        }
    }
    // Guards the test itself: a change of notation must not make it pass on nothing.
    assert!(
        sections > 20 && keys >= 2,
        "only {sections} sections and {keys} keys found"
    );
}
