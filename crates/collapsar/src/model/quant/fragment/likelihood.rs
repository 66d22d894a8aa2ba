//! The factors of p(fragment | transcript) put together.

use super::length::{LengthDistribution, Seen};
use super::library::{CLASSES, Ends, LibraryType, class, example};
use super::unpaired::Unpaired;
use super::{Layout, Placement};

/// What became of a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Used,
    Unplaced,
    Incompatible,
    TooLong,
}

/// A likelihood that was learned.
pub(super) struct Likelihood<'a> {
    transcripts: &'a [u32],
    pub(super) library: LibraryType,
    /// ln p(orientation), by class.
    chances: [f64; CLASSES],
    pub(super) lengths: LengthDistribution,
    unpaired: Unpaired,
}

impl<'a> Likelihood<'a> {
    pub(super) fn new(
        transcripts: &'a [u32],
        library: LibraryType,
        incompatible: f64,
        lengths: LengthDistribution,
    ) -> Self {
        Self {
            transcripts,
            library,
            chances: std::array::from_fn(|class| library.ln_chance(example(class), incompatible)),
            unpaired: Unpaired::new(&lengths),
            lengths,
        }
    }

    /// Writes (transcript, ln p(fragment | transcript)) for the placements that are possible.
    ///
    /// A read alone has no factor for the place of its mate, so it is not to be compared with a
    /// pair: where a pair is possible, reads alone are left out.
    pub(super) fn entries(
        &mut self,
        placements: &[Placement],
        entries: &mut Vec<(u32, f64)>,
    ) -> Fate {
        entries.clear();
        if placements.is_empty() {
            return Fate::Unplaced;
        }
        let pairs = placements.iter().any(|placement| {
            matches!(placement.layout, Layout::Pair { .. })
                && self.chances[class(placement.layout)] > f64::NEG_INFINITY
                && placement.end - placement.start <= self.lengths.longest()
        });
        let mut fate = Fate::Incompatible;
        for placement in placements {
            let chance = self.chances[class(placement.layout)];
            if chance == f64::NEG_INFINITY {
                continue;
            }
            let alone = !matches!(placement.layout, Layout::Pair { .. });
            if alone && pairs {
                continue;
            }
            let place = self.place(placement, alone);
            if place > 0.0 {
                let ln_p = place.ln() + chance + f64::from(placement.log_odds);
                entries.push((placement.transcript, ln_p));
                fate = Fate::Used;
            } else if fate == Fate::Incompatible {
                fate = Fate::TooLong;
            }
        }
        fate
    }

    /// p(length and place | transcript), 0 where the fragment is too long.
    fn place(&mut self, placement: &Placement, alone: bool) -> f64 {
        let length = self.transcripts[placement.transcript as usize];
        let (start, end) = (placement.start, placement.end);
        if alone {
            return self.alone(placement.layout, length, start, end);
        }
        let fragment = end - start;
        // Glaus12: p(l) / P(L), one of the L − l + 1 places.
        let places = f64::from(length - fragment) + 1.0;
        self.lengths.probability(fragment) / (self.lengths.below(length) * places)
    }

    /// The same for a read alone: its fragment goes on to the right, to the left, or to either
    /// side equally often where mates have the same strand.
    fn alone(&mut self, layout: Layout, length: u32, start: u32, end: u32) -> f64 {
        let (Layout::Single { forward } | Layout::Orphan { forward, .. }) = layout else {
            return 0.0;
        };
        let right = match self.library.ends {
            Ends::Single | Ends::Inward => f64::from(u8::from(forward)),
            Ends::Outward => f64::from(u8::from(!forward)),
            Ends::Matching => 0.5,
        };
        let mut place = 0.0;
        for (share, room) in [(right, length - start), (1.0 - right, end)] {
            if share > 0.0 {
                let lengths = &self.lengths;
                place += share * self.unpaired.place(lengths, length, end - start, room);
            }
        }
        place
    }
}

/// The fragment lengths to learn from: of pairs whose allowed placements all have the same.
///
/// Which of several transcripts held the fragment is not known, so each counts in part.
pub(super) fn see<'a>(
    fragments: impl Iterator<Item = &'a [Placement]>,
    transcripts: &[u32],
    library: LibraryType,
    longest: u32,
) -> Seen {
    let mut seen = Seen::new(longest);
    for placements in fragments {
        let fits = |placement: &&Placement| {
            matches!(placement.layout, Layout::Pair { .. }) && library.allows(placement.layout)
        };
        let allowed = || placements.iter().filter(fits);
        let Some(first) = allowed().next() else {
            continue;
        };
        let length = first.end - first.start;
        if length > longest || allowed().any(|other| other.end - other.start != length) {
            continue;
        }
        let weight = 1.0 / allowed().count() as f64;
        for placement in allowed() {
            seen.add(length, transcripts[placement.transcript as usize], weight);
        }
    }
    seen
}
