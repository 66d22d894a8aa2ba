//! Decides which transcripts of two files are the same, by name.

use std::collections::HashMap;

use collapsar::Hint;

use super::names::{strip_gencode, strip_version};
use crate::error::{Error, Problem, Result, count};

const GENCODE: &str = "gencode";
const IGNORE_VERSIONS: &str = "ignore_versions";

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

/// A file's transcripts and what to call the file.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    /// The file, as refusals name it.
    pub file: &'a str,
    /// Its transcripts.
    pub names: &'a [String],
}

/// For each of the `wanted` transcripts its place among the `known` ones.
///
/// # Errors
/// Where one is missing, or two have the same name.
pub fn matched(wanted: Named<'_>, known: Named<'_>, naming: Naming) -> Result<Vec<u32>> {
    let places = places(known, naming)?;
    // Two that become the same would be one line of results twice.
    self::places(wanted, naming)?;
    let find = |name: &String| places.get(naming.key(name)).copied();
    let found: Vec<Option<u32>> = wanted.names.iter().map(find).collect();
    let missing = found.iter().filter(|place| place.is_none()).count();
    let Some(first) = found.iter().position(Option::is_none) else {
        return Ok(found.into_iter().flatten().collect());
    };
    let first = &wanted.names[first];
    let found = format!(
        "{missing} of {} {} not in {}, the first is {first:?}",
        count(wanted.names.len(), "transcript"),
        if missing == 1 { "is" } else { "are" },
        known.file,
    );
    let error = Error::content(wanted.file, found, "all of them");
    Err(match hint(first, known.names, naming) {
        Some(hint) => error.with_hint(hint),
        None => error,
    })
}

/// Places by name.
fn places(named: Named<'_>, naming: Naming) -> Result<HashMap<&str, u32>> {
    let mut places = HashMap::with_capacity(named.names.len());
    for (place, name) in (0..).zip(named.names) {
        if let Some(before) = places.insert(naming.key(name), place) {
            let before = named.names[before as usize].clone();
            let same_name = Problem::SameName {
                names: [before, name.clone()],
                option: if naming.ignore_versions {
                    IGNORE_VERSIONS
                } else {
                    GENCODE
                },
            };
            return Err(Error::of(named.file, same_name));
        }
    }
    Ok(places)
}

/// Options under which a name would be found.
fn hint(missing: &str, known: &[String], given: Naming) -> Option<Hint> {
    let both = vec![Hint::give(GENCODE), Hint::give(IGNORE_VERSIONS)];
    let tries = [
        (true, given.ignore_versions, Hint::give(GENCODE)),
        (given.gencode, true, Hint::give(IGNORE_VERSIONS)),
        (true, true, Hint::All(both)),
    ];
    let found = tries.into_iter().find(|&(gencode, ignore_versions, _)| {
        let naming = Naming {
            gencode,
            ignore_versions,
        };
        let key = naming.key(missing);
        naming != given && known.iter().any(|name| naming.key(name) == key)
    });
    found.map(|(.., hint)| hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn of(
        wanted: &[&str],
        known: &[&str],
        flags: (bool, bool),
    ) -> std::result::Result<Vec<u32>, String> {
        let (wanted, known) = (names(wanted), names(known));
        let naming = Naming {
            gencode: flags.0,
            ignore_versions: flags.1,
        };
        let named = |file, names| Named { file, names };
        matched(named("a.bam", &wanted), named("t.fa", &known), naming)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn by_name() {
        assert_eq!(
            of(&["b", "a"], &["a", "c", "b"], (false, false)),
            Ok(vec![2, 0])
        );
        assert_eq!(of(&["b.2"], &["a", "b.1"], (false, true)), Ok(vec![1]));
        assert_eq!(of(&["b.2"], &["b.2|g|x"], (true, false)), Ok(vec![0]));
    }

    #[test]
    fn refusals_name_the_way_out() {
        let cases = [
            (
                of(&["a.1", "b.1"], &["a.1", "b.2"], (false, false)),
                "1 of 2 transcripts is not in t.fa, the first is \"b.1\", expected all of them; try ignore_versions",
            ),
            (
                of(&["a|x"], &["a"], (false, false)),
                "1 of 1 transcript is not in t.fa, the first is \"a|x\", expected all of them; try gencode",
            ),
            (
                of(&["a.2|x"], &["a.1"], (false, false)),
                "1 of 1 transcript is not in t.fa, the first is \"a.2|x\", expected all of them; try gencode and ignore_versions",
            ),
            (
                of(&["a", "b"], &["c"], (false, false)),
                "2 of 2 transcripts are not in t.fa, the first is \"a\", expected all of them",
            ),
        ];
        for (found, expected) in cases {
            assert_eq!(found, Err(format!("a.bam: {expected}")));
        }
        assert_eq!(
            of(&["a"], &["a.1", "a.2"], (false, true)),
            Err("t.fa: \"a.1\" and \"a.2\" are one name by ignore_versions, expected them to differ".into())
        );
    }
}
