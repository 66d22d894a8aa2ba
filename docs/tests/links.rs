//! What the pages link to within the repository exists, headings included.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders that hold no pages of ours.
const SKIPPED: [&str; 4] = [".git", ".venv", "target", "runs"];

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        if path.is_dir() && !SKIPPED.contains(&&*name) {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// What stands in round brackets after square ones, outside of blocks of code.
fn targets(text: &str) -> Vec<&str> {
    let mut code = false;
    let lines = text.lines().filter(|line| {
        code ^= line.starts_with("```");
        !code
    });
    lines
        .flat_map(|line| line.split("](").skip(1))
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target)
        .collect()
}

/// The anchors that a page's headings get: lower case, hyphens for spaces, no punctuation.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let heading = line.trim_start_matches('#').trim().to_lowercase();
            let kept = heading
                .chars()
                .filter(|&c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

#[test]
fn what_is_linked_exists() {
    let mut found = Vec::new();
    pages(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join(".."),
        &mut found,
    );
    let (mut links, mut broken) = (0, Vec::new());
    for page in &found {
        let text = fs::read_to_string(page).expect("a page");
        for target in targets(&text) {
            // Elsewhere, or brackets of a formula.
            if target.contains("://") || target.starts_with('\\') {
                continue;
            }
            links += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let linked = if file.is_empty() {
                page.clone()
            } else {
                page.with_file_name(file)
            };
            let there = linked.exists()
                && (anchor.is_empty()
                    || fs::read_to_string(&linked)
                        .is_ok_and(|text| anchors(&text).contains(anchor)));
            if !there {
                broken.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    // Guards the test itself: a change of notation must not make it pass on nothing.
    assert!(links > 100, "only {links} links found");
}
