//! Weights by how far along the transcript the ends of a fragment are.
//!
//! Twenty bins of the transcript for each end and each of five groups of transcripts by length,
//! as in BitSeq and salmon. There, the weight of a bin is the fraction of the ends seen in it over
//! the fraction without bias. But where one end goes the other one follows, so the product of two
//! such weights counts a bias twice. Here weights are such that the ends that they predict,
//! b₅ b₃ / B on each transcript, are those that were seen, by iterative proportional fitting:
//! the left end's weights first, then what is left for the right end's, and over again.

use std::collections::BTreeMap;

use super::super::length::LengthDistribution;
use super::End;

const BINS: usize = 20;
/// The longest transcripts of the first four groups: salmon's.
const GROUPS: [u32; 4] = [791, 1265, 1707, 2433];
/// The weight of ends without bias, in fragments a group.
const SHRINK: f64 = 50.0;
/// Rounds of fitting both ends.
const ROUNDS: usize = 5;
/// Quantiles of the lengths that the fit looks at.
const PROBABILITIES: [f64; 5] = [0.1, 0.3, 0.5, 0.7, 0.9];

type Bins = [[f64; BINS]; GROUPS.len() + 1];

pub(super) struct PositionBias {
    seen: [Bins; 2],
    weights: [Bins; 2],
}

/// A transcript length: how many fragments show each end, and the bins of both ends with their
/// number of places, for each fragment length to look at.
struct Model {
    group: usize,
    shown: [f64; 2],
    runs: [Vec<([usize; 2], f64)>; PROBABILITIES.len()],
}

impl PositionBias {
    pub(super) fn new() -> Self {
        let bins = |value: f64| [[value; BINS]; GROUPS.len() + 1];
        Self {
            seen: [bins(0.0); 2],
            weights: [bins(1.0); 2],
        }
    }

    pub(super) fn see(&mut self, length: u32, end: End, place: u32, weight: f64) {
        self.seen[end as usize][group(length)][bin(length, end, place)] += weight;
    }

    pub(super) fn weight(&self, length: u32, end: End, place: u32) -> f64 {
        self.weights[end as usize][group(length)][bin(length, end, place)]
    }

    /// Multiplies the weights of the places from 0 to `length`, but for the one place that is
    /// the end of no fragment.
    pub(super) fn apply(&self, length: u32, end: End, weights: &mut [f64]) {
        let bins = self.weights[end as usize][group(length)];
        for (bin, factor) in bins.into_iter().enumerate() {
            let bases = first(length, bin)..first(length, bin + 1);
            for weight in &mut weights[end as usize..][bases] {
                *weight *= factor;
            }
        }
    }

    pub(super) fn learn(
        &mut self,
        transcripts: &[u32],
        shown: &[Vec<f64>; 2],
        lengths: &LengthDistribution,
    ) {
        // The fit knows transcripts by their length alone.
        let mut by_length = BTreeMap::<u32, [f64; 2]>::new();
        for (length, (left, right)) in transcripts.iter().zip(shown[0].iter().zip(&shown[1])) {
            if left + right > 0.0 {
                let total = by_length.entry(*length).or_default();
                *total = [total[0] + left, total[1] + right];
            }
        }
        let model = |(length, shown): (u32, [f64; 2])| Model {
            group: group(length),
            shown,
            runs: PROBABILITIES
                .map(|probability| runs(length, lengths.quantile(probability, length))),
        };
        let models: Vec<Model> = by_length.into_iter().map(model).collect();
        let targets = End::BOTH.map(|end| self.target(&models, end));
        for _ in 0..ROUNDS {
            for end in End::BOTH {
                let (predicted, _) = self.predicted(&models, end);
                let bins = self.weights[end as usize].as_flattened_mut().iter_mut();
                let targets = targets[end as usize].as_flattened();
                for ((weight, target), predicted) in bins.zip(targets).zip(predicted.as_flattened())
                {
                    if *predicted > 0.0 {
                        *weight *= target / predicted;
                    }
                }
            }
        }
        // Places of the group's transcripts have the mean weight 1, so that effective lengths
        // stay comparable between groups.
        let (_, means) = self.predicted(&models, End::Left);
        for (bins, mean) in self.weights[0].iter_mut().zip(means) {
            for weight in bins {
                *weight /= mean;
            }
        }
    }

    /// The ends seen, with [`SHRINK`] ends without bias among them.
    fn target(&self, models: &[Model], end: End) -> Bins {
        let (even, _) = self.predicted(models, end);
        let mut target = self.seen[end as usize];
        for (target, even) in target.iter_mut().zip(even) {
            let total: f64 = even.iter().sum();
            for (target, even) in target.iter_mut().zip(even).filter(|_| total > 0.0) {
                *target = (*target + SHRINK * even / total) * total / (total + SHRINK);
            }
        }
        target
    }

    /// The ends that the weights predict, and the mean weight of the places in each group.
    fn predicted(&self, models: &[Model], end: End) -> (Bins, [f64; GROUPS.len() + 1]) {
        let mut predicted = [[0.0; BINS]; GROUPS.len() + 1];
        let (mut sums, mut totals) = ([0.0; GROUPS.len() + 1], [0.0; GROUPS.len() + 1]);
        for model in models {
            let [left, right] = [0, 1].map(|end| &self.weights[end][model.group]);
            let both = model.shown[0] + model.shown[1];
            for runs in &model.runs {
                let mut bins = [0.0; BINS];
                let (mut total, mut places) = (0.0, 0.0);
                for (at, count) in runs {
                    let weight = count * left[at[0]] * right[at[1]];
                    bins[at[end as usize]] += weight;
                    total += weight;
                    places += count;
                }
                let shown = model.shown[end as usize] / PROBABILITIES.len() as f64;
                for (predicted, value) in predicted[model.group].iter_mut().zip(bins) {
                    *predicted += shown * value / total;
                }
                sums[model.group] += both * total / places;
                totals[model.group] += both;
            }
        }
        for (sum, total) in sums.iter_mut().zip(totals) {
            *sum = if total > 0.0 { *sum / total } else { 1.0 };
        }
        (predicted, sums)
    }
}

fn group(length: u32) -> usize {
    GROUPS.partition_point(|&longest| length > longest)
}

/// The bin of a fragment's first or last base.
fn bin(length: u32, end: End, place: u32) -> usize {
    let base = match end {
        End::Left => place,
        End::Right => place.saturating_sub(1),
    };
    (BINS * base as usize / length.max(1) as usize).min(BINS - 1)
}

/// The first base of a bin.
fn first(length: u32, bin: usize) -> usize {
    (bin * length as usize).div_ceil(BINS)
}

/// The places of a fragment, as runs of those whose ends are in the same bins.
fn runs(length: u32, fragment: u32) -> Vec<([usize; 2], f64)> {
    let places = (length - fragment + 1) as usize;
    let mut runs = vec![];
    let mut start = 0;
    while start < places {
        let left = bin(length, End::Left, start as u32);
        let right = bin(length, End::Right, start as u32 + fragment);
        // The right end's last base is fragment − 1 after the start.
        let next = first(length, left + 1)
            .min(first(length, right + 1) + 1 - fragment as usize)
            .min(places);
        runs.push(([left, right], (next - start) as f64));
        start = next;
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_hold_every_place() {
        for (length, fragment) in [(1, 1), (7, 3), (19, 19), (100, 30), (791, 250), (2003, 1)] {
            let mut slow = std::collections::BTreeMap::new();
            for start in 0..=length - fragment {
                let left = bin(length, End::Left, start);
                let right = bin(length, End::Right, start + fragment);
                *slow.entry([left, right]).or_insert(0.0) += 1.0;
            }
            let found = runs(length, fragment);
            assert!(slow.into_iter().eq(found), "{length} {fragment}");
        }
    }

    #[test]
    fn whole_transcripts_agree_with_places() {
        let mut bias = PositionBias::new();
        for (index, weight) in bias.weights.iter_mut().flatten().flatten().enumerate() {
            *weight = 1.0 + index as f64;
        }
        for length in [1, 7, 20, 801, 2003] {
            let mut weights = [
                vec![1.0; length as usize + 1],
                vec![1.0; length as usize + 1],
            ];
            for end in End::BOTH {
                bias.apply(length, end, &mut weights[end as usize]);
            }
            for base in 0..length {
                assert_eq!(
                    weights[0][base as usize],
                    bias.weight(length, End::Left, base)
                );
                let place = base + 1;
                assert_eq!(
                    weights[1][place as usize],
                    bias.weight(length, End::Right, place)
                );
            }
        }
    }
}
