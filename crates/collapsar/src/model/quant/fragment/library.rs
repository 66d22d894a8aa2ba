//! Library types in salmon's words, and how one is learned from the fragments.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Layout;
use collapsar_core::elementary::Elementary;
use collapsar_core::{Error, Result};

/// How the reads of a fragment lie to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// There is only one read.
    Single,
    /// The reads face each other: I.
    Inward,
    /// The reads face away from each other: O.
    Outward,
    /// The reads have the same strand: M.
    Matching,
}

/// Which strand the first read comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strand {
    /// Both, equally often: U.
    Either,
    /// The transcript's: SF.
    Forward,
    /// The opposite one: SR.
    Reverse,
}

/// Every library type, with salmon's name for it.
const NAMED: [(&str, Ends, Strand); 12] = [
    ("IU", Ends::Inward, Strand::Either),
    ("ISF", Ends::Inward, Strand::Forward),
    ("ISR", Ends::Inward, Strand::Reverse),
    ("OU", Ends::Outward, Strand::Either),
    ("OSF", Ends::Outward, Strand::Forward),
    ("OSR", Ends::Outward, Strand::Reverse),
    ("MU", Ends::Matching, Strand::Either),
    ("MSF", Ends::Matching, Strand::Forward),
    ("MSR", Ends::Matching, Strand::Reverse),
    ("U", Ends::Single, Strand::Either),
    ("SF", Ends::Single, Strand::Forward),
    ("SR", Ends::Single, Strand::Reverse),
];

/// A library type, one of salmon's twelve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LibraryType {
    /// How the reads of a fragment lie to each other.
    pub ends: Ends,
    /// Which strand the first read comes from.
    pub strand: Strand,
}

/// A library type, or the wish to have it learned from the fragments (`A`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Library {
    /// Learned from the fragments.
    #[default]
    Auto,
    /// This one.
    Given(LibraryType),
}

impl LibraryType {
    /// Every library type, in the order of the documentation.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMED.iter().map(|&(_, ends, strand)| Self { ends, strand })
    }

    /// The name, as salmon has it.
    pub fn name(self) -> &'static str {
        let named = NAMED
            .iter()
            .find(|(_, ends, strand)| (*ends, *strand) == (self.ends, self.strand));
        named.map_or("", |(name, ..)| name)
    }

    /// Whether there are two reads a fragment.
    pub fn paired(self) -> bool {
        self.ends != Ends::Single
    }

    /// Whether fragments of the library can lie like this.
    ///
    /// A read alone is judged by the strand that it implies for the first read. A single read
    /// among pairs counts as a first one, which it is where the reads of short fragments were
    /// merged before they were aligned.
    pub fn allows(self, layout: Layout) -> bool {
        self.allows_class(class(layout))
    }

    fn allows_class(self, class: usize) -> bool {
        let mut forward = class.is_multiple_of(2);
        match class {
            0..6 if PAIRED[class / 2] != self.ends => return false,
            // A second read.
            10.. => forward ^= self.ends != Ends::Matching,
            _ => {}
        }
        let strand = [Strand::Reverse, Strand::Forward][usize::from(forward)];
        self.strand == Strand::Either || self.strand == strand
    }

    /// ln p(layout) of a class, $-\infty$ for what is dropped: the layouts of as many reads that the type
    /// allows have $1 - \varepsilon$ in equal parts, and the others $\varepsilon$.
    pub(super) fn ln_chance(self, class: usize, incompatible: f64) -> f64 {
        // The three flags of a pair make eight layouts: one for each of the four stranded types
        // whose reads have opposite strands, two for MSF and MSR, where either read may be left.
        let twice = |yes: bool| if yes { 2.0 } else { 1.0 };
        let either = self.strand == Strand::Either;
        let (all, allowed) = match class {
            0..6 => (8.0, twice(self.ends == Ends::Matching) * twice(either)),
            _ if either => return -std::f64::consts::LN_2,
            _ => (2.0, 1.0),
        };
        if self.allows_class(class) {
            ((1.0 - incompatible) / allowed).ln_()
        } else {
            (incompatible / (all - allowed)).ln_()
        }
    }
}

/// How the fragments lie that the likelihood was learned from: those whose placements agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Orientations {
    counts: [u64; CLASSES],
}

/// How the reads of pairs lie to each other, each counted twice: for the strands of the first read.
const PAIRED: [Ends; 3] = [Ends::Inward, Ends::Outward, Ends::Matching];

/// How many orientations are told apart.
pub(super) const CLASSES: usize = 12;

/// What is counted, by strand: pairs, single reads, and reads of a pair alone.
const KINDS: [&str; CLASSES / 2] = ["I", "O", "M", "", "first ", "second "];

/// The fraction of fragments that must agree on a strand. With less a library counts as unstranded,
/// which costs some information; a stranded type chosen wrongly costs fragments.
const AGREE: f64 = 0.85;
/// Pretended fragments that do not agree, so that a handful does not decide: 23 can.
const DOUBT: f64 = 4.0;

impl Orientations {
    /// Counts a fragment if all of its placements lie alike.
    pub(super) fn add(&mut self, mut layouts: impl Iterator<Item = Layout>) {
        let Some(first) = layouts.next().map(class) else {
            return;
        };
        if layouts.all(|layout| class(layout) == first) {
            self.counts[first] += 1;
        }
    }

    /// The fragments counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The fragments counted whose reads are in pairs.
    pub(super) fn paired(&self) -> u64 {
        self.total() - self.counts[6] - self.counts[7]
    }

    /// How often each orientation was seen: pairs and single reads by library type, reads of a
    /// pair alone as `first` or `second` with their strand.
    pub fn counts(&self) -> impl Iterator<Item = (String, u64)> {
        (0..CLASSES).map(name).zip(self.counts)
    }

    /// The fraction of fragments that `library` allows, 1 where none was counted.
    pub fn fraction(&self, library: LibraryType) -> f64 {
        if self.total() == 0 {
            return 1.0;
        }
        self.allowed(library) as f64 / self.total() as f64
    }

    fn allowed(&self, library: LibraryType) -> u64 {
        let allowed = (0..CLASSES).filter(|&class| library.allows_class(class));
        allowed.map(|class| self.counts[class]).sum()
    }

    /// The library type that the fragments show.
    ///
    /// The ends are those of most pairs, inward if there are none. The strand is that of at
    /// least 85% of the fragments with such ends, four pretended ones that do not agree included.
    pub(super) fn library(&self) -> LibraryType {
        let ends = if self.paired() == 0 && self.total() > 0 {
            Ends::Single
        } else {
            let pairs = |&index: &usize| self.counts[2 * index] + self.counts[2 * index + 1];
            // The first of equals.
            let most = (0..PAIRED.len()).rev().max_by_key(pairs);
            most.map_or(Ends::Inward, |index| PAIRED[index])
        };
        let agree = |strand| self.allowed(LibraryType { ends, strand }) as f64;
        let (forward, reverse) = (agree(Strand::Forward), agree(Strand::Reverse));
        let needed = AGREE * (forward + reverse + DOUBT);
        let strand = match (forward >= needed, reverse >= needed) {
            (true, _) => Strand::Forward,
            (_, true) => Strand::Reverse,
            _ => Strand::Either,
        };
        LibraryType { ends, strand }
    }
}

/// Where a layout is counted.
pub(super) fn class(layout: Layout) -> usize {
    let (base, forward) = match layout {
        Layout::Pair {
            first_forward,
            second_forward,
            first_left,
        } => {
            let ends = match (first_forward == second_forward, first_forward == first_left) {
                (false, inward) => 2 * usize::from(!inward),
                (true, _) => 4,
            };
            (ends, first_forward)
        }
        Layout::Single { forward } => (6, forward),
        Layout::Orphan { first, forward } => (if first { 8 } else { 10 }, forward),
    };
    base + usize::from(!forward)
}

/// What is counted there.
fn name(class: usize) -> String {
    KINDS[class / 2].to_owned() + ["SF", "SR"][class % 2]
}

impl fmt::Display for LibraryType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.pad("A"),
            Self::Given(library) => library.fmt(f),
        }
    }
}

impl FromStr for LibraryType {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let known = Self::all().find(|library| library.name() == name);
        known.ok_or_else(|| unknown(name, ""))
    }
}

impl FromStr for Library {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        if name == "A" {
            return Ok(Self::Auto);
        }
        let library = name.parse().map_err(|_| unknown(name, "A, "))?;
        Ok(Self::Given(library))
    }
}

fn unknown(name: &str, auto: &str) -> Error {
    let known = NAMED.map(|(name, ..)| name).join(", ");
    Error::setting(
        "library_type",
        format!("{name:?}"),
        auto.to_owned() + &known,
    )
}

impl TryFrom<String> for Library {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        name.parse()
    }
}

impl From<Library> for String {
    fn from(library: Library) -> Self {
        library.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A layout that is counted there.
    fn example(class: usize) -> Layout {
        let forward = class.is_multiple_of(2);
        match class {
            0..6 => Layout::Pair {
                first_forward: forward,
                second_forward: (class >= 4) == forward,
                first_left: (class < 2) == forward,
            },
            6..8 => Layout::Single { forward },
            _ => Layout::Orphan {
                first: class < 10,
                forward,
            },
        }
    }

    fn pairs() -> impl Iterator<Item = Layout> {
        (0..8).map(|bits| Layout::Pair {
            first_forward: bits & 1 > 0,
            second_forward: bits & 2 > 0,
            first_left: bits & 4 > 0,
        })
    }

    #[test]
    fn names_round_trip() {
        for library in LibraryType::all() {
            let name = library.to_string();
            assert_eq!(name.parse::<LibraryType>().unwrap(), library);
            assert_eq!(name.parse::<Library>().unwrap(), Library::Given(library));
        }
        assert_eq!("A".parse::<Library>().unwrap(), Library::Auto);
        assert_eq!(
            "FR".parse::<Library>().unwrap_err().to_string(),
            "library_type is \"FR\", expected A, IU, ISF, ISR, OU, OSF, OSR, MU, MSF, MSR, U, SF, SR"
        );
    }

    #[test]
    fn classes_and_examples_agree() {
        for index in 0..CLASSES {
            assert_eq!(class(example(index)), index);
            // The stranded type of that name allows it, and no other stranded one does.
            let name = name(index);
            if let Ok(library) = name.parse::<LibraryType>() {
                assert!(library.allows(example(index)), "{name}");
            }
        }
    }

    #[test]
    fn orphans_imply_the_strand_of_the_first_read() {
        let allows = |name: &str, first, forward| {
            let library: LibraryType = name.parse().unwrap();
            library.allows(Layout::Orphan { first, forward })
        };
        assert!(allows("ISF", true, true) && allows("ISF", false, false));
        assert!(!allows("ISF", false, true) && !allows("ISF", true, false));
        assert!(allows("OSR", false, true) && allows("MSR", false, false));
        assert!(allows("IU", false, true) && allows("IU", true, true));
    }

    #[test]
    fn chances_sum_to_one() {
        for library in LibraryType::all() {
            for incompatible in [0.0, 0.01] {
                let sum = |layouts: &mut dyn Iterator<Item = Layout>| -> f64 {
                    layouts
                        .map(|layout| library.ln_chance(class(layout), incompatible).exp_())
                        .sum()
                };
                if library.paired() {
                    assert!((sum(&mut pairs()) - 1.0).abs() < 1e-14, "{library}");
                }
                for first in [false, true] {
                    let orphan = |forward| Layout::Orphan { first, forward };
                    let total = sum(&mut [false, true].map(orphan).into_iter());
                    assert!((total - 1.0).abs() < 1e-14, "{library}");
                }
            }
        }
    }

    #[test]
    fn few_fragments_do_not_decide() {
        let mut seen = Orientations::default();
        assert_eq!(seen.library().name(), "IU");
        for count in 1..40 {
            seen.add([example(1)].into_iter());
            let expected = if count < 23 { "IU" } else { "ISR" };
            assert_eq!(seen.library().name(), expected, "{count}");
        }
        // Placements that disagree say nothing.
        seen.add([example(0), example(1)].into_iter());
        assert_eq!(seen.total(), 39);
    }
}
