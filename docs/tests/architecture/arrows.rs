//! Arrows as a page draws them, and how they differ from what is imported.

use std::collections::{BTreeMap, BTreeSet};

/// What each crate or module imports.
pub(crate) type Arrows = BTreeMap<String, BTreeSet<String>>;

/// The blocks of a page by their names.
pub(crate) fn blocks(page: &str) -> BTreeMap<String, Arrows> {
    let arrow = |line: &str| {
        let (from, to) = line.split_once("->").unwrap_or((line, ""));
        let to = to.split(',').map(|name| name.trim().to_owned());
        let to = to.filter(|name| !name.is_empty()).collect();
        (from.trim().to_owned(), to)
    };
    let mut blocks = BTreeMap::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("```arrows ") {
            let inside = lines.by_ref().take_while(|line| !line.starts_with("```"));
            blocks.insert(name.trim().to_owned(), inside.map(arrow).collect());
        }
    }
    blocks
}

/// How the arrows of `place` differ from what is imported, and where that goes in a circle.
pub(crate) fn complaints(place: &str, arrows: &Arrows, imported: &Arrows) -> Vec<String> {
    let pairs = |arrows: &Arrows| -> BTreeSet<String> {
        let pair = |(from, to): (&String, &BTreeSet<String>)| -> Vec<String> {
            to.iter().map(|to| format!("{from} -> {to}")).collect()
        };
        arrows.iter().flat_map(pair).collect()
    };
    let (drawn, found) = (pairs(arrows), pairs(imported));
    let absent = found.difference(&drawn);
    let absent = absent.map(|arrow| format!("{place}: no {arrow}, which is imported"));
    let unused = drawn.difference(&found);
    let unused = unused.map(|arrow| format!("{place}: {arrow}, which nothing imports"));
    let circle = circle(imported).map(|path| format!("{place}: imports in a circle, {path}"));
    absent.chain(unused).chain(circle).collect()
}

/// A way that ends where it began.
fn circle(arrows: &Arrows) -> Option<String> {
    let mut left: BTreeSet<&str> = arrows.keys().map(String::as_str).collect();
    let next = |left: &BTreeSet<&str>, name: &str| {
        let mut to = arrows[name].iter().map(String::as_str);
        to.find(|to| left.contains(to))
    };
    // Whoever imports nothing that is left is in no circle.
    while let Some(free) = left
        .iter()
        .copied()
        .find(|name| next(&left, name).is_none())
    {
        left.remove(free);
    }
    // From whoever is left every way goes on for ever, and so comes back.
    let mut path = vec![left.first().copied()?];
    loop {
        let name = next(&left, path[path.len() - 1])?;
        let begun = path.iter().position(|other| *other == name);
        path.push(name);
        if let Some(begun) = begun {
            return Some(path[begun..].join(" -> "));
        }
    }
}
