//! Every equation that the code cites exists: sections in docs/maths, keys in docs/references.bib. And every link
//! between the pages of the repository leads somewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Files below a folder whose names end with `extension`.
fn files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, extension, found);
        } else if path.extension().is_some_and(|other| other == extension) {
            found.push(path);
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The chapters of the mathematics.
fn chapters() -> Vec<PathBuf> {
    let mut found = vec![];
    files(&root().join("docs/maths"), "md", &mut found);
    found.sort();
    found
}

/// Pages that link to one another: those at the root and those of the book.
fn pages() -> Vec<PathBuf> {
    let mut found = vec![];
    files(&root().join("docs"), "md", &mut found);
    for name in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "COMPARE.md",
    ] {
        found.push(root().join(name));
    }
    found
}

/// Headings of a page, without their number signs.
fn headings(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter(|line| line.starts_with('#'));
    lines.map(|line| line.trim_start_matches('#').trim())
}

/// The anchor that GitHub gives a heading.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
    let lower = heading.to_lowercase();
    lower
        .chars()
        .filter(kept)
        .collect::<String>()
        .replace(' ', "-")
}

/// A number such as 5 or 5.9 at the beginning of a text.
fn leading_number(text: &str) -> &str {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    text[..end].trim_end_matches('.')
}

/// Every `§k.j` that follows the word `maths`, `maths §5.6, §6.1` included.
fn cited_sections(text: &str) -> BTreeSet<String> {
    let mut sections = BTreeSet::new();
    for (at, _) in text.match_indices("maths §") {
        let mut rest = &text[at + "maths ".len()..];
        while let Some(after) = rest.strip_prefix('§') {
            let number = leading_number(after);
            sections.insert(number.to_owned());
            rest = after[number.len()..].trim_start_matches(['.', ',', ' ']);
        }
    }
    sections
}

/// Whether a word looks like HRL12 or FangSaad09: it begins with a capital and ends with two digits.
fn is_key(word: &str) -> bool {
    let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
    letters.len() >= 3
        && letters.chars().all(|c| c.is_ascii_alphabetic())
        && word.len() == letters.len() + 2
        && letters.starts_with(|c: char| c.is_ascii_uppercase())
}

/// Keys that are followed by an equation's number.
fn cited_keys(text: &str) -> BTreeSet<&str> {
    text.match_indices(" (")
        .filter(|(at, _)| text[at + 2..].starts_with(|c: char| c.is_ascii_digit()))
        .filter_map(|(at, _)| {
            text[..at]
                .rsplit(|c: char| !c.is_ascii_alphanumeric())
                .next()
        })
        .filter(|word| is_key(word))
        .collect()
}

/// A text without its formulas.
fn prose(text: &str) -> String {
    let parts: Vec<&str> = text.split('$').collect();
    parts
        .iter()
        .step_by(2)
        .copied()
        .collect::<Vec<_>>()
        .join(" ")
}

/// The sections of the mathematics, each with its chapter's file.
fn sections() -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    for chapter in chapters() {
        for heading in headings(&read(&chapter)) {
            if let Some(rest) = heading.strip_prefix('§') {
                let before = found.insert(leading_number(rest).to_owned(), chapter.clone());
                assert_eq!(before, None, "§{rest} stands twice");
            }
        }
    }
    found
}

#[test]
fn what_is_cited_exists() {
    let sections = sections();
    let references = read(&root().join("docs/references.bib"));
    let known = |key: &str| references.contains(&format!("{{{key},"));
    let mut sources = vec![];
    files(&root().join("crates"), "rs", &mut sources);
    let (mut cited, mut keys) = (0, 0);
    for file in sources
        .iter()
        .filter(|file| !file.ends_with("citations.rs"))
    {
        let text = read(file);
        for section in cited_sections(&text) {
            assert!(
                sections.contains_key(&section),
                "{}: maths §{section} does not exist",
                file.display()
            );
            cited += 1;
        }
        for key in cited_keys(&text) {
            assert!(
                known(key),
                "{}: {key} is not in references.bib",
                file.display()
            );
            keys += 1;
        }
    }
    // Guards the test itself: a change of notation must not make it pass on nothing.
    assert!(
        cited > 20 && keys >= 2,
        "only {cited} sections and {keys} keys found"
    );
    for chapter in chapters() {
        let text = prose(&read(&chapter));
        for word in text.split(|c: char| !c.is_ascii_alphanumeric()) {
            assert!(
                !is_key(word) || known(word),
                "{}: {word}",
                chapter.display()
            );
        }
    }
}

#[test]
fn sections_are_in_the_chapters_of_their_numbers() {
    let sections = sections();
    assert!(sections.len() > 60, "only {} sections", sections.len());
    for (section, file) in &sections {
        let chapter = section.split('.').next().unwrap_or_default();
        let name = file
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        assert!(
            name.starts_with(&format!("{chapter:0>2}-")),
            "§{section} in {name}"
        );
    }
}

#[test]
fn equations_that_chapters_cite_have_tags() {
    let texts: Vec<String> = chapters().iter().map(|chapter| read(chapter)).collect();
    let all = texts.concat();
    let mut found = 0;
    for text in &texts {
        let text = prose(text);
        for (at, _) in text.match_indices('(') {
            let number = leading_number(&text[at + 1..]);
            if number.contains('.') && text[at + 1 + number.len()..].starts_with(')') {
                assert!(
                    all.contains(&format!("\\tag{{{number}}}")),
                    "({number}) has no tag"
                );
                found += 1;
            }
        }
    }
    assert!(found > 20, "only {found} citations of equations");
}

/// What the glossary names is there: types, methods, files and flags.
#[test]
fn names_of_the_glossary_exist() {
    let mut sources = vec![];
    files(&root().join("crates"), "rs", &mut sources);
    let texts: Vec<String> = sources.iter().map(|file| read(file)).collect();
    let paths = sources.iter().map(|file| file.display().to_string());
    let all = texts.concat() + &paths.collect::<String>();
    let mut found = 0;
    for line in read(&root().join("docs/glossary.md")).lines() {
        let place = line.split('|').nth(3).unwrap_or_default();
        for name in place.split('`').skip(1).step_by(2) {
            let last = name.rsplit([':', ' ']).next().unwrap_or_default();
            let last = last.split('(').next().unwrap_or_default();
            let known = all.contains(last.trim_start_matches('-'));
            assert!(known, "nothing is called {name}: {line}");
            found += 1;
        }
    }
    assert!(found > 50, "only {found} names");
}

/// Where the links of a page lead: inline ones and definitions.
fn targets(text: &str) -> Vec<&str> {
    let inline = text
        .match_indices("](")
        .filter_map(|(at, _)| text[at + 2..].split(')').next());
    let definitions = text.lines().filter_map(|line| {
        let (label, target) = line.strip_prefix('[')?.split_once("]: ")?;
        (!label.contains(']')).then_some(target)
    });
    inline.chain(definitions).collect()
}

#[test]
fn links_lead_somewhere() {
    let mut followed = 0;
    let chapters = chapters();
    for page in pages() {
        let mut text = read(&page);
        if chapters.contains(&page) {
            text = prose(&text);
        }
        for target in targets(&text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (path, wanted) = target.split_once('#').unwrap_or((target, ""));
            let file = if path.is_empty() {
                page.clone()
            } else {
                page.parent().unwrap_or(Path::new("")).join(path)
            };
            assert!(file.exists(), "{}: {target} leads nowhere", page.display());
            if !wanted.is_empty() {
                let other = read(&file);
                let found = headings(&other).any(|heading| anchor(heading) == wanted);
                assert!(found, "{}: {target} has no such heading", page.display());
            }
            followed += 1;
        }
        // A section that a chapter refers to is a link.
        for (at, _) in text.match_indices("[§") {
            let label = text[at..].split_inclusive(']').next().unwrap_or_default();
            let after = &text[at + label.len()..];
            let defined = after.starts_with('(') || text.contains(&format!("\n{label}: "));
            assert!(defined, "{}: {label} is not defined", page.display());
        }
    }
    assert!(followed > 100, "only {followed} links");
}
