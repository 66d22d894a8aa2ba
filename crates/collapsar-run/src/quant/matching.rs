//! Decides which transcripts of two files are the same, by name.

use std::collections::HashMap;

use collapsar::{Change, Hint};
use collapsar_formats::{strip_gencode, strip_version};
use collapsar_text::count;

use crate::error::{Error, Result};

/// What of a name counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Naming {
    /// Names end at the first `|`.
    pub gencode: bool,
    /// Names are compared without their versions.
    pub ignore_versions: bool,
}

impl Naming {
    /// The name as results have it.
    pub fn shown(self, name: &str) -> &str {
        if self.gencode {
            strip_gencode(name)
        } else {
            name
        }
    }

    fn key(self, name: &str) -> &str {
        let shown = self.shown(name);
        if self.ignore_versions {
            strip_version(shown)
        } else {
            shown
        }
    }
}

/// A file, as refusals name it, and its transcripts.
type Named<'a> = (&'a str, &'a [String]);

/// For each of the `wanted` transcripts its place among the `known` ones.
pub(super) fn matched(wanted: Named<'_>, known: Named<'_>, naming: Naming) -> Result<Vec<u32>> {
    let places = places(known, naming)?;
    // Two that become the same would be one line of results twice.
    self::places(wanted, naming)?;
    let find = |name: &String| places.get(naming.key(name)).copied();
    let found: Vec<Option<u32>> = wanted.1.iter().map(find).collect();
    let missing = found.iter().filter(|place| place.is_none()).count();
    let Some(first) = found.iter().position(Option::is_none) else {
        return Ok(found.into_iter().flatten().collect());
    };
    let first = &wanted.1[first];
    let all = count(wanted.1.len(), "transcript");
    let are = if missing == 1 { "is" } else { "are" };
    let place = known.0;
    let found = format!("{missing} of {all} {are} not in {place}, the first is {first:?}");
    let error = Error::input(wanted.0, found, "all of them");
    Err(error.with_hint(hint(first, known.1, naming)))
}

/// Places by name.
fn places((file, names): Named<'_>, naming: Naming) -> Result<HashMap<&str, u32>> {
    let mut places = HashMap::with_capacity(names.len());
    for (place, name) in (0..).zip(names) {
        if let Some(before) = places.insert(naming.key(name), place) {
            let option = if naming.ignore_versions {
                "ignore_versions"
            } else {
                "gencode"
            };
            let before = &names[before as usize];
            let found = format!("{before:?} and {name:?} are taken for one name");
            let error = Error::input(file, found, "them to differ");
            return Err(error.with_hint(Hint::Option(option, Change::Omit)));
        }
    }
    Ok(places)
}

/// Options under which a name would be found.
fn hint(missing: &str, known: &[String], given: Naming) -> Option<Hint> {
    let tries = [
        (true, given.ignore_versions, &["gencode"][..]),
        (given.gencode, true, &["ignore_versions"]),
        (true, true, &["gencode", "ignore_versions"]),
    ];
    let found = tries.into_iter().find(|&(gencode, ignore_versions, _)| {
        let naming = Naming {
            gencode,
            ignore_versions,
        };
        let key = naming.key(missing);
        naming != given && known.iter().any(|name| naming.key(name) == key)
    });
    found.map(|(.., options)| Hint::All(options.iter().copied().map(Hint::give).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(wanted: &[&str], known: &[&str], gencode: bool, ignore_versions: bool) -> String {
        let [wanted, known] = [wanted, known].map(|names| {
            let names = names.iter().map(|&name| name.to_owned());
            names.collect::<Vec<_>>()
        });
        let naming = Naming {
            gencode,
            ignore_versions,
        };
        match matched(("a.bam", &wanted), ("t.fa", &known), naming) {
            Ok(places) => format!("{places:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn by_name() {
        assert_eq!(of(&["b", "a"], &["a", "c", "b"], false, false), "[2, 0]");
        assert_eq!(of(&["b.2"], &["a", "b.1"], false, true), "[1]");
        assert_eq!(of(&["b.2"], &["b.2|g|x"], true, false), "[0]");
    }

    #[test]
    fn refusals_name_the_way_out() {
        for (wanted, known, found) in [
            (
                &["a.1", "b.1"][..],
                &["a.1", "b.2"][..],
                "1 of 2 transcripts is not in t.fa, the first is \"b.1\", expected all of them; try ignore_versions",
            ),
            (
                &["a|x"],
                &["a"],
                "1 of 1 transcript is not in t.fa, the first is \"a|x\", expected all of them; try gencode",
            ),
            (
                &["a.2|x"],
                &["a.1"],
                "1 of 1 transcript is not in t.fa, the first is \"a.2|x\", expected all of them; try gencode and ignore_versions",
            ),
            (
                &["a", "b"],
                &["c"],
                "2 of 2 transcripts are not in t.fa, the first is \"a\", expected all of them",
            ),
        ] {
            assert_eq!(of(wanted, known, false, false), format!("a.bam: {found}"));
        }
        assert_eq!(
            of(&["a"], &["a.1", "a.2"], false, true),
            "t.fa: \"a.1\" and \"a.2\" are taken for one name, expected them to differ; try without ignore_versions"
        );
    }
}
