//! Weights by the bases around the ends of a fragment.
//!
//! After Roberts et al. (Genome Biology 12:R22, 2011) and Glaus12: the bases from 8 before to 12
//! after an end follow a Markov chain of order two with its own probabilities at each of the 21
//! positions, once for the ends of fragments and once for all places of the same transcripts; the
//! weight is the ratio of the two. Left and right ends have chains of their own, the right one
//! reads the opposite strand. Bases beyond the transcript's ends or unknown have no say.
//!
//! A thousand ratios an end are more than a bias needs, and what they gain by chance is noise in
//! every weight. So a position first gets a ratio for each base, then one for each base after
//! each base, then one for each base after each two, each set shrunk by how much of its departure
//! from the set before is chance (James and Stein): where a set explains nothing, it is one.

use super::super::Sequences;
use super::super::unpaired::Unpaired;
use super::End;

use collapsar_core::elementary::Elementary;

/// Bases before the first one of a fragment, and positions in all.
const BEFORE: usize = 8;
const WINDOW: usize = 21;
/// A base with the two before it, two bits each; one more for those not known.
const TRIPLES: usize = 64;
const UNKNOWN: u8 = 64;
/// Places that are looked at for what transcripts look like without bias, about.
const PLACES: f64 = 4e6;

type Chain = [[f64; TRIPLES]; WINDOW];
type Ratios = [[f64; TRIPLES + 1]; WINDOW];

pub(super) struct SequenceBias<'a> {
    sequences: &'a dyn Sequences,
    seen: [Box<Chain>; 2],
    /// The weights of each position; 1 where a base is not known.
    ratios: [Box<Ratios>; 2],
}

impl<'a> SequenceBias<'a> {
    pub(super) fn new(sequences: &'a dyn Sequences) -> Self {
        let chain = || Box::new([[0.0; TRIPLES]; WINDOW]);
        let ratios = || Box::new([[1.0; TRIPLES + 1]; WINDOW]);
        Self {
            sequences,
            seen: [chain(), chain()],
            ratios: [ratios(), ratios()],
        }
    }

    pub(super) fn see(&mut self, transcript: u32, end: End, place: u32, weight: f64) {
        let seen = &mut self.seen[end as usize];
        for (position, triple) in window(self.sequences.sequence(transcript), end, place) {
            if triple != UNKNOWN {
                seen[position][usize::from(triple)] += weight;
            }
        }
    }

    pub(super) fn learn(
        &mut self,
        transcripts: &[u32],
        shown: &[Vec<f64>; 2],
        unpaired: &mut Unpaired,
    ) {
        for end in End::BOTH {
            let even = self.even(transcripts, &shown[end as usize], end, unpaired);
            let ratios = &mut self.ratios[end as usize];
            for (position, seen) in self.seen[end as usize].iter().enumerate() {
                settle(seen, &even[position], &mut ratios[position]);
            }
        }
    }

    /// The triples at the ends of fragments that know no bias, on transcripts as often as seen.
    fn even(
        &self,
        transcripts: &[u32],
        shown: &[f64],
        end: End,
        unpaired: &mut Unpaired,
    ) -> Box<Chain> {
        let expressed = || (0..transcripts.len()).filter(|&number| shown[number] > 0.0);
        let bases: f64 = expressed()
            .map(|number| f64::from(transcripts[number]))
            .sum();
        let stride = (bases / PLACES).ceil().max(1.0) as usize;
        let mut even = Box::new([[0.0; TRIPLES]; WINDOW]);
        for number in expressed() {
            let length = transcripts[number];
            let triples = all_triples(self.sequences.sequence(number as u32), end);
            for first in (number % stride..length as usize).step_by(stride) {
                let room = length - first as u32;
                let weight = shown[number] * unpaired.place(length, 1, room);
                for (position, triple) in around(&triples, first) {
                    if triple != UNKNOWN {
                        even[position][usize::from(triple)] += weight * stride as f64;
                    }
                }
            }
        }
        even
    }

    pub(super) fn weight(&self, transcript: u32, end: End, place: u32) -> f64 {
        let ratios = &self.ratios[end as usize];
        let window = window(self.sequences.sequence(transcript), end, place);
        let ratios = window.map(|(position, triple)| ratios[position][usize::from(triple)]);
        ratios.product()
    }

    /// The weights of the places from 0 to the transcript's length.
    pub(super) fn weights(&self, transcript: u32, end: End) -> Vec<f64> {
        let ratios = &self.ratios[end as usize];
        let triples = all_triples(self.sequences.sequence(transcript), end);
        let mut weights = vec![1.0; triples.len() + 1];
        for (position, ratios) in ratios.iter().enumerate() {
            let skipped = BEFORE.saturating_sub(position).min(triples.len());
            let first = position.saturating_sub(BEFORE).min(triples.len());
            for (weight, &triple) in weights[skipped..].iter_mut().zip(&triples[first..]) {
                *weight *= ratios[usize::from(triple)];
            }
        }
        if end == End::Right {
            weights.reverse();
        }
        weights
    }
}

/// The ratios of two chains at a position.
fn settle(seen: &[f64; TRIPLES], even: &[f64; TRIPLES], weights: &mut [f64; TRIPLES + 1]) {
    let mut usual = even.map(|count| count + 0.25);
    condition(&mut usual);
    let mut found = usual;
    // Sets of ratios of 4, 16 and 64: triples that end alike share one.
    for ratios in [4, 16, 64] {
        let (mut counts, mut expected) = ([0.0; TRIPLES], [0.0; TRIPLES]);
        for triple in 0..TRIPLES {
            let before = triple - triple % 4;
            let total: f64 = seen[before..before + 4].iter().sum();
            counts[triple % ratios] += seen[triple];
            expected[triple % ratios] += total * found[triple];
        }
        let cells = counts.iter().zip(&expected).filter(|(_, e)| **e > 0.0);
        let departure: f64 = cells.map(|(n, e)| (n - e).powi(2) / e).sum();
        // Three free ratios of the four after each context.
        let chance = 0.75 * ratios as f64;
        let kept = (1.0 - chance / departure.max(chance)).max(0.0);
        for triple in 0..TRIPLES {
            let (count, expected) = (counts[triple % ratios], expected[triple % ratios]);
            found[triple] *= ((count + 0.5) / (expected + 0.5)).powf_(kept);
        }
        condition(&mut found);
    }
    for triple in 0..TRIPLES {
        weights[triple] = found[triple] / usual[triple];
    }
}

/// Makes probabilities of a base, given the two before it.
fn condition(values: &mut [f64; TRIPLES]) {
    for bases in values.chunks_mut(4) {
        let sum: f64 = bases.iter().sum();
        for value in bases {
            *value /= sum;
        }
    }
}

/// The code of a letter, on the strand on which `end` comes first: A and T, C and G add up to 3.
fn code(base: u8, end: End) -> Option<u8> {
    let code = match base.to_ascii_uppercase() {
        b'A' => 0,
        b'C' => 1,
        b'G' => 2,
        b'T' | b'U' => 3,
        _ => return None,
    };
    Some(if end == End::Left { code } else { 3 - code })
}

/// Each base from `from` to before `to` with the two before it, on the strand on which `end` comes
/// first.
fn triples(bases: &[u8], end: End, from: usize, to: usize) -> impl Iterator<Item = u8> {
    let early = from.saturating_sub(2);
    let (mut known, mut triple) = (0, 0);
    let triples = (early..to).map(move |at| {
        let base = match end {
            End::Left => bases[at],
            End::Right => bases[bases.len() - 1 - at],
        };
        let code = code(base, end);
        known = if code.is_some() { known + 1 } else { 0 };
        triple = (4 * triple + code.unwrap_or(0)) % UNKNOWN;
        if known < 3 { UNKNOWN } else { triple }
    });
    triples.skip(from - early)
}

/// The triples of a transcript, by their last base.
fn all_triples(bases: &[u8], end: End) -> Vec<u8> {
    triples(bases, end, 0, bases.len()).collect()
}

/// Positions of the window around the base `first` that lie off the transcript's left, and the
/// range of bases of the others.
fn range(first: usize, length: usize) -> (usize, usize, usize) {
    let skipped = BEFORE.saturating_sub(first);
    let from = (first + skipped - BEFORE).min(length);
    (skipped, from, (first + WINDOW - BEFORE).min(length))
}

/// Positions and triples around the base `first`, as far as there are any.
fn around(triples: &[u8], first: usize) -> impl Iterator<Item = (usize, u8)> {
    let (skipped, from, to) = range(first, triples.len());
    (skipped..).zip(triples[from..to].iter().copied())
}

/// The same, from the bases and for a place in the transcript's coordinates.
fn window(bases: &[u8], end: End, place: u32) -> impl Iterator<Item = (usize, u8)> {
    let first = match end {
        End::Left => place as usize,
        End::Right => bases.len() - place as usize,
    };
    let (skipped, from, to) = range(first, bases.len());
    (skipped..).zip(triples(bases, end, from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_agree_and_the_right_end_reads_the_other_strand() {
        let bases = b"ACGTTGCANNACGGGTTTACCATGCATGACCCAGT".to_vec();
        let reversed: Vec<u8> = bases
            .iter()
            .rev()
            .map(|base| match base {
                b'A' => b'T',
                b'C' => b'G',
                b'G' => b'C',
                b'T' => b'A',
                other => *other,
            })
            .collect();
        let length = bases.len();
        let window =
            |bases: &[u8], end, place| super::window(bases, end, place as u32).collect::<Vec<_>>();
        for end in End::BOTH {
            let triples = all_triples(&bases, end);
            for place in 0..=length {
                let first = if end == End::Left {
                    place
                } else {
                    length - place
                };
                let slow = window(&bases, end, place);
                assert_eq!(slow, around(&triples, first).collect::<Vec<_>>());
                assert!(slow.iter().all(|&(position, _)| position < WINDOW));
            }
        }
        for place in 0..=length {
            let right = window(&bases, End::Right, place);
            let left = window(&reversed, End::Left, length - place);
            assert_eq!(right, left, "{place}");
        }
    }

    #[test]
    fn no_fragments_no_weights() {
        let mut ratios = [1.0; TRIPLES + 1];
        settle(&[0.0; TRIPLES], &[7.0; TRIPLES], &mut ratios);
        assert_eq!(ratios, [1.0; TRIPLES + 1]);
        // As many of each as expected, give or take chance.
        let seen = std::array::from_fn(|triple| if triple % 5 > 2 { 1010.0 } else { 990.0 });
        settle(&seen, &[7.0; TRIPLES], &mut ratios);
        let even = |ratio: &f64| (ratio - 1.0).abs() < 1e-12;
        assert!(ratios.iter().all(even), "{ratios:?}");
    }
}
