//! The factors of p(fragment | transcript) put together.

use super::bias::{Bias, End};
use super::length::{LengthDistribution, Seen, effective_length};
use super::library::{CLASSES, Ends, LibraryType, class};
use super::unpaired::Unpaired;
use super::{Layout, Placement};

use collapsar_core::elementary::Elementary;

/// A likelihood that was learned.
pub(super) struct Likelihood<'a> {
    transcripts: &'a [u32],
    pub(super) library: LibraryType,
    /// ln p(orientation), by class.
    chances: [f64; CLASSES],
    pub(super) unpaired: Unpaired,
    bias: Option<Bias<'a>>,
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
            chances: std::array::from_fn(|class| library.ln_chance(class, incompatible)),
            unpaired: Unpaired::new(lengths),
            bias: None,
        }
    }

    /// Learns the weights of the places from the ends of fragments, each placement of a fragment
    /// counting in part.
    pub(super) fn correct<'p>(
        &mut self,
        mut bias: Bias<'a>,
        fragments: impl Iterator<Item = &'p [Placement]>,
    ) {
        for placements in fragments {
            let fits = |placement: &&Placement| {
                self.library.allows(placement.layout) && self.holds(placement)
            };
            let count = placements.iter().filter(fits).count() as f64;
            for placement in placements.iter().filter(fits) {
                let (left, right) = self.sides(placement.layout);
                for (end, place, probability) in [
                    (End::Left, placement.start, left),
                    (End::Right, placement.end, right),
                ] {
                    // Half an end is none: which one it is was not seen.
                    if probability == 1.0 {
                        bias.see(placement.transcript, end, place, 1.0 / count);
                    }
                }
            }
        }
        bias.learn(&mut self.unpaired);
        self.bias = Some(bias);
    }

    /// The effective lengths of all transcripts.
    pub(super) fn effective_lengths(&mut self) -> Vec<f64> {
        let (numbered, lengths) = ((0..).zip(self.transcripts), &self.unpaired.lengths);
        let effective = numbered.map(|(number, &length)| match &mut self.bias {
            Some(bias) => bias.effective_length(lengths, number),
            None => effective_length(length, lengths),
        });
        effective.collect()
    }

    /// Whether a fragment may be as long.
    fn holds(&self, placement: &Placement) -> bool {
        placement.end - placement.start <= self.unpaired.lengths.longest()
    }

    /// Writes (transcript, ln p(fragment | transcript)) for the placements that are possible; says whether
    /// one is too long.
    ///
    /// A read alone has no factor for the place of its mate, so it is not to be compared with a
    /// pair: where a pair is possible, reads alone are left out.
    pub(super) fn entries(
        &mut self,
        placements: &[Placement],
        entries: &mut Vec<(u32, f64)>,
    ) -> bool {
        entries.clear();
        let alone = |placement: &Placement| !matches!(placement.layout, Layout::Pair { .. });
        let pairs = placements.iter().any(|placement| {
            let allowed = self.chances[class(placement.layout)] > f64::NEG_INFINITY;
            allowed && !alone(placement) && self.holds(placement)
        });
        let mut too_long = false;
        for placement in placements {
            let chance = self.chances[class(placement.layout)];
            if chance == f64::NEG_INFINITY || pairs && alone(placement) {
                continue;
            }
            let place = self.place(placement, alone(placement));
            if place > 0.0 {
                let ln_p = place.ln_() + chance + f64::from(placement.log_odds);
                entries.push((placement.transcript, ln_p));
            } else {
                too_long = true;
            }
        }
        too_long
    }

    /// p(length and place | transcript), 0 where the fragment is too long.
    fn place(&mut self, placement: &Placement, alone: bool) -> f64 {
        let length = self.transcripts[placement.transcript as usize];
        if alone {
            return self.alone(placement, length);
        }
        let (start, end) = (placement.start, placement.end);
        let fragment = end - start;
        // Glaus12: p(l) / P(L), one of the L − l + 1 places.
        let places = f64::from(length - fragment) + 1.0;
        let lengths = &self.unpaired.lengths;
        let place = lengths.probability(fragment) / (lengths.below(length) * places);
        match &mut self.bias {
            Some(bias) if place > 0.0 => {
                place * bias.pair(lengths, placement.transcript, start, end)
            }
            _ => place,
        }
    }

    /// The same for a read alone, whose fragment has one of its ends.
    fn alone(&mut self, placement: &Placement, length: u32) -> f64 {
        let (start, end) = (placement.start, placement.end);
        let (left, right) = self.sides(placement.layout);
        let mut sum = 0.0;
        for (probability, side, at, room) in [
            (left, End::Left, start, length - start),
            (right, End::Right, end, end),
        ] {
            if probability > 0.0 {
                let unpaired = &mut self.unpaired;
                let place = unpaired.place(length, end - start, room);
                let weight = self.bias.as_mut().map_or(1.0, |bias| {
                    bias.alone(unpaired, placement.transcript, side, at)
                });
                sum += probability * place * weight;
            }
        }
        sum
    }

    /// How likely what was placed shows the left and the right end of the fragment: a pair both,
    /// a read alone one of them, each equally often where mates have the same strand.
    fn sides(&self, layout: Layout) -> (f64, f64) {
        let (Layout::Single { forward } | Layout::Orphan { forward, .. }) = layout else {
            return (1.0, 1.0);
        };
        let left = match self.library.ends {
            Ends::Single | Ends::Inward => forward,
            Ends::Outward => !forward,
            Ends::Matching => return (0.5, 0.5),
        };
        (f64::from(u8::from(left)), f64::from(u8::from(!left)))
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
