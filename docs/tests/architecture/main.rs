//! What imports what is what ARCHITECTURE.md draws: crates, and the modules of every crate that it has a block for.
//!
//! A block is fenced and opens with ```` ```arrows ```` and its name: `crates`, or a crate whose modules it draws. Its
//! lines are `driver -> direction, error`. Refused are an import without an arrow, an arrow without an import, and
//! imports that go in a circle. What only tests import does not count, and neither do imports of and from the root.

mod arrows;
mod imports;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use arrows::{Arrows, blocks, complaints};
use imports::{crates_named, dependencies, module_arrows, modules};

#[test]
fn imports_are_those_drawn() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path: &Path| fs::read_to_string(path).ok();
    let drawn = blocks(&read(&root.join("ARCHITECTURE.md")).expect("a page"));
    let folders = fs::read_dir(root.join("crates")).expect("a folder of crates");
    let names = folders.map(|entry| entry.expect("an entry").file_name().into_string());
    let crates: Vec<String> = names.map(|name| name.expect("a name in UTF-8")).collect();
    let (mut declared, mut imported, mut wrong) = (Arrows::new(), Arrows::new(), Vec::new());
    for name in &crates {
        let folder = root.join("crates").join(name);
        let modules = modules(|file| read(&folder.join("src").join(file)));
        let manifest = read(&folder.join("Cargo.toml")).expect("a manifest");
        imported.insert(name.clone(), crates_named(&modules, &crates));
        declared.insert(name.clone(), dependencies(&manifest, &crates));
        if let Some(drawn) = drawn.get(name) {
            wrong.extend(complaints(name, drawn, &module_arrows(&modules)));
        }
    }
    wrong.extend(complaints("Cargo.toml", &declared, &imported));
    wrong.extend(complaints("crates", &drawn["crates"], &imported));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A crate whose root hands on names of `high`; `low` has a test and words in a string that import more than it does.
const MADE_UP: [(&str, &str); 4] = [
    (
        "lib.rs",
        "mod high; mod low; pub use high::{Tower, climb as up};",
    ),
    ("high/mod.rs", "mod stairs; use crate::low::{self, Floor};"),
    (
        "high/stairs.rs",
        "fn f() { crate::low::g(super::super::low::h) }",
    ),
    (
        "low.rs",
        "#[cfg(test)] mod tests; /// crate::high\n const S: &str = \" crate :: high ::\"; #[cfg(test)] mod more { use crate::high; }",
    ),
];

/// What is said of the made-up crate with another text of `low`, drawn like this.
fn said(low: &str, page: &str) -> Vec<String> {
    let read = |file: &str| {
        let source = MADE_UP.iter().find(|(name, _)| *name == file)?.1;
        Some(if file == "low.rs" {
            source.to_owned() + low
        } else {
            source.to_owned()
        })
    };
    complaints(
        "made up",
        &blocks(page)["made up"],
        &module_arrows(&modules(read)),
    )
}

#[test]
fn what_is_not_as_drawn_is_refused() {
    let page = "text\n```arrows made up\nhigh -> low\nlow\n```\n";
    assert_eq!(said("", page), [""; 0]);
    let none = said("", "```arrows made up\nhigh\n```");
    assert_eq!(none, ["made up: no high -> low, which is imported"]);
    let both = said("", "```arrows made up\nhigh -> low\nlow -> high\n```");
    assert_eq!(both, ["made up: low -> high, which nothing imports"]);
    for low in [
        "use crate::{Tower, x::y};",
        "fn g() { crate::up(1) }",
        "use super::high::Tower;",
    ] {
        let expected = [
            "made up: no low -> high, which is imported",
            "made up: imports in a circle, high -> low -> high",
        ];
        assert_eq!(said(low, page), expected, "{low}");
    }
}

#[test]
fn crates_are_found_in_manifests_and_in_sources() {
    let crates = ["a-b", "a-c", "a-d"].map(String::from);
    let manifest = "[package]\nname = \"a\"\n\n[dependencies]\na-b.workspace = true\nx = \"1\"\na-c = { path = \"c\" }\n\n[dev-dependencies]\na-d = \"1\"\n";
    assert_eq!(
        dependencies(manifest, &crates),
        BTreeSet::from(["a-b", "a-c"].map(String::from))
    );
    let modules =
        modules(|_| Some("use a_b::x; use a_c as c; #[cfg(test)] use a_d::y;".to_owned()));
    assert_eq!(
        crates_named(&modules, &crates),
        BTreeSet::from(["a-b", "a-c"].map(String::from))
    );
}
