//! What is imported: by the modules of a crate, by a crate, and by its manifest.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::arrows::Arrows;

/// The modules of a crate, such as `driver/point`, as tokens with blanks between them; the root's name is empty.
pub(crate) type Modules = BTreeMap<String, String>;

/// Writes tokens, names and signs only, without items that only tests have.
fn write_tokens(stream: TokenStream, text: &mut String) {
    let mut tokens = stream.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let is_test = |next: &TokenTree| next.to_string().replace(' ', "") == "[cfg(test)]";
        match token {
            TokenTree::Punct(hash)
                if hash.as_char() == '#' && tokens.peek().is_some_and(is_test) =>
            {
                // An item ends with a block or a semicolon.
                let ends =
                    |token: &TokenTree| matches!(token.to_string().as_bytes(), [b';'] | [b'{', ..]);
                tokens.by_ref().find(ends);
            }
            TokenTree::Group(group) => {
                let braces = group.delimiter() == Delimiter::Brace;
                text.push_str(if braces { " {" } else { " (" });
                write_tokens(group.stream(), text);
                text.push_str(if braces { " }" } else { " )" });
            }
            TokenTree::Literal(_) => text.push_str(" _"),
            token => text.extend([" ", &token.to_string()]),
        }
    }
}

/// The modules that a crate's root declares and those that these declare; `read` finds a file below `src`. So modules of
/// tests are never met.
pub(crate) fn modules(read: impl Fn(&str) -> Option<String>) -> Modules {
    let (mut modules, mut declared) = (Modules::new(), vec![String::new()]);
    while let Some(module) = declared.pop() {
        let files = match &*module {
            "" => ["lib.rs".to_owned(), "main.rs".to_owned()],
            module => [format!("{module}.rs"), format!("{module}/mod.rs")],
        };
        let source = files
            .iter()
            .find_map(|file| read(file))
            .expect("the source of a module");
        let mut text = String::new();
        write_tokens(source.parse().expect("tokens of Rust"), &mut text);
        let items = text.split(" mod ").skip(1);
        let names = items.filter_map(|item| item.split_once(" ;").map(|(name, _)| name));
        for name in names.filter(|name| !name.contains(' ')) {
            declared.push(format!("{module}/{name}").trim_matches('/').to_owned());
        }
        modules.insert(module, text + " ");
    }
    modules
}

/// The first names of the paths that go on from `root`.
fn names_after<'a>(text: &'a str, root: &str) -> Vec<&'a str> {
    let mut names = Vec::new();
    for rest in text.split(&format!(" {root} : : ")).skip(1) {
        let (mut depth, mut begins) = (0, true);
        for word in rest.split(' ') {
            match word {
                "{" => depth += 1,
                "}" => depth -= 1,
                "," => begins = depth == 1,
                name if begins => {
                    names.push(name);
                    begins = false;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    names
}

/// Which top-level module imports which, by its own name or by one that the root hands on.
pub(crate) fn module_arrows(modules: &Modules) -> Arrows {
    let top = |module: &str| module.split('/').next().unwrap_or_default().to_owned();
    let uses = modules[""].split(" use ").skip(1);
    let uses = uses.filter_map(|item| item.split(" ;").next()?.split_once(' '));
    let handed_on: BTreeMap<&str, &str> = uses
        .flat_map(|(module, names)| names.split(' ').map(move |name| (name, module)))
        .collect();
    let mut arrows = Arrows::new();
    for (module, text) in modules.iter().filter(|(module, _)| !module.is_empty()) {
        let up = vec!["super"; module.split('/').count()].join(" : : ");
        let names = ["crate", &up].map(|root| names_after(text, root)).concat();
        let own = |name: &str| modules.contains_key(name);
        let handed_on = names.iter().map(|name| match handed_on.get(name) {
            Some(module) if !own(name) => module,
            _ => *name,
        });
        let others = handed_on.filter(|name| own(name) && *name != top(module));
        arrows
            .entry(top(module))
            .or_default()
            .extend(others.map(String::from));
    }
    arrows
}

/// Those of `crates` that are named.
pub(crate) fn crates_named(modules: &Modules, crates: &[String]) -> BTreeSet<String> {
    let named = |name: &&String| {
        let word = format!(" {} ", name.replace('-', "_"));
        modules.values().any(|text| text.contains(&word))
    };
    crates.iter().filter(named).cloned().collect()
}

/// Those of `crates` that a manifest depends on, and not for tests.
pub(crate) fn dependencies(manifest: &str, crates: &[String]) -> BTreeSet<String> {
    let mut sections = manifest.split("\n[");
    let section = sections.find_map(|section| section.strip_prefix("dependencies]"));
    let names = section
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.split(['.', ' ', '=']).next());
    names
        .map(String::from)
        .filter(|name| crates.contains(name))
        .collect()
}
