//! Weights of the places on a transcript, and their sums.
//!
//! - `sequence`: by the bases around the ends of a fragment
//! - `position`: by how far along the transcript the ends are
//!
//! A fragment from s to e has the weight b(s, e) = b₅(s) b₃(e), each factor the product of those
//! that are corrected for, and the place has the probability b(s, s + l) / B(l) with
//! B(l) = Σ_s b(s, s + l). Exact sums for each transcript and length would cost (bases) x
//! (lengths), so the mean weight B(l) / (L − l + 1) is computed exactly at nine quantiles of the
//! length and taken to be linear between them; it is a mean over places, so it changes little.
//!
//! A read alone shows one end. Its weight is that of this end, and the sum over its places is
//! weighted by the probability they have without bias; that the read itself keeps its fragment
//! from being shorter is left out of this sum.

mod position;
mod sequence;

use super::Sequences;
use super::length::{LengthDistribution, effective_length};
use super::settings::Settings;
use super::unpaired::Unpaired;
use collapsar_core::{Error, Place, Result};
use position::PositionBias;
use sequence::SequenceBias;

/// Where the mean weights are computed.
const PROBABILITIES: [f64; 9] = [0.001, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 0.999];

/// An end of a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Where it begins on the transcript.
    Left = 0,
    /// One past where it ends.
    Right = 1,
}

impl End {
    pub(super) const BOTH: [Self; 2] = [Self::Left, Self::Right];
}

pub(super) struct Bias<'a> {
    transcripts: &'a [u32],
    sequence: Option<SequenceBias<'a>>,
    position: Option<PositionBias>,
    /// How many fragments show each end of each transcript.
    shown: [Vec<f64>; 2],
    /// Lengths with mean weights, by transcript; empty until needed.
    means: Vec<Box<[(u32, f64)]>>,
    /// The mean weights of each end, by transcript; 0 until needed.
    alone: [Vec<f64>; 2],
}

impl<'a> Bias<'a> {
    /// Weights still to be learned, none if no bias is corrected for.
    ///
    /// # Errors
    /// [`Error::Data`] where a sequence does not have the length of its transcript.
    pub(super) fn new(
        transcripts: &'a [u32],
        sequences: Option<&'a dyn Sequences>,
        settings: &Settings,
    ) -> Result<Option<Self>> {
        let sequences = sequences.filter(|_| settings.sequence_bias);
        if let Some(sequences) = sequences {
            for (number, &length) in transcripts.iter().enumerate() {
                let bases = sequences.sequence(number as u32).len();
                if bases != length as usize {
                    let found = format!("a sequence of {bases} bases");
                    let place = Place::item("transcript", number);
                    return Err(Error::data(place, found, format!("its length, {length}")));
                }
            }
        }
        let corrects = sequences.is_some() || settings.position_bias;
        let none = || End::BOTH.map(|_| vec![0.0; transcripts.len()]);
        Ok(corrects.then(|| Self {
            transcripts,
            sequence: sequences.map(SequenceBias::new),
            position: settings.position_bias.then(PositionBias::new),
            shown: none(),
            means: vec![Box::default(); transcripts.len()],
            alone: none(),
        }))
    }

    /// Counts the end of a fragment at `place` of a transcript.
    pub(super) fn see(&mut self, transcript: u32, end: End, place: u32, weight: f64) {
        self.shown[end as usize][transcript as usize] += weight;
        let length = self.transcripts[transcript as usize];
        if let Some(sequence) = &mut self.sequence {
            sequence.see(transcript, end, place, weight);
        }
        if let Some(position) = &mut self.position {
            position.see(length, end, place, weight);
        }
    }

    /// Learns the weights from the ends counted.
    pub(super) fn learn(&mut self, unpaired: &mut Unpaired) {
        if let Some(sequence) = &mut self.sequence {
            sequence.learn(self.transcripts, &self.shown, unpaired);
        }
        if let Some(position) = &mut self.position {
            position.learn(self.transcripts, &self.shown, &unpaired.lengths);
        }
    }

    /// How much likelier the place of a fragment is than without bias.
    pub(super) fn pair(
        &mut self,
        lengths: &LengthDistribution,
        transcript: u32,
        start: u32,
        end: u32,
    ) -> f64 {
        let left = self.weight(transcript, End::Left, start);
        let right = self.weight(transcript, End::Right, end);
        left * right / self.mean(lengths, transcript, end - start)
    }

    /// How much likelier the place of a read alone is than without bias.
    pub(super) fn alone(
        &mut self,
        unpaired: &mut Unpaired,
        transcript: u32,
        end: End,
        place: u32,
    ) -> f64 {
        let index = transcript as usize;
        if self.alone[end as usize][index] == 0.0 {
            let length = self.transcripts[index];
            let mut sum = 0.0;
            for (place, weight) in (0..).zip(self.weights(transcript, end)) {
                let room = match end {
                    End::Left => length - place,
                    End::Right => place,
                };
                if room > 0 {
                    sum += weight * unpaired.place(length, 1, room);
                }
            }
            self.alone[end as usize][index] = sum;
        }
        self.weight(transcript, end, place) / self.alone[end as usize][index]
    }

    /// The expected sum of the weights over the places of a fragment.
    pub(super) fn effective_length(
        &mut self,
        lengths: &LengthDistribution,
        transcript: u32,
    ) -> f64 {
        let length = self.transcripts[transcript as usize];
        let held = length.min(lengths.longest());
        if held == 0 {
            return effective_length(length, lengths);
        }
        let mut sum = 0.0;
        for l in 1..=held {
            let places = f64::from(length - l) + 1.0;
            sum += lengths.probability(l) * places * self.mean(lengths, transcript, l);
        }
        sum / lengths.below(length)
    }

    fn weight(&self, transcript: u32, end: End, place: u32) -> f64 {
        let sequence = self.sequence.as_ref();
        let position = self.position.as_ref();
        let length = self.transcripts[transcript as usize];
        sequence.map_or(1.0, |bias| bias.weight(transcript, end, place))
            * position.map_or(1.0, |bias| bias.weight(length, end, place))
    }

    /// The weights of all places, 0 to the transcript's length.
    fn weights(&self, transcript: u32, end: End) -> Vec<f64> {
        let length = self.transcripts[transcript as usize];
        let mut weights = match &self.sequence {
            Some(sequence) => sequence.weights(transcript, end),
            None => vec![1.0; length as usize + 1],
        };
        if let Some(position) = &self.position {
            position.apply(length, end, &mut weights);
        }
        weights
    }

    /// The mean weight of the places of a fragment of length `l`.
    fn mean(&mut self, lengths: &LengthDistribution, transcript: u32, l: u32) -> f64 {
        let index = transcript as usize;
        if self.means[index].is_empty() {
            self.means[index] = self.tabulate(lengths, transcript);
        }
        let means = &self.means[index];
        let after = means.partition_point(|&(length, _)| length < l);
        if after == 0 {
            return means[0].1;
        }
        let (from, low) = means[after - 1];
        let Some(&(to, high)) = means.get(after) else {
            return low;
        };
        let part = f64::from(l - from) / f64::from(to - from);
        low + part * (high - low)
    }

    fn tabulate(&self, lengths: &LengthDistribution, transcript: u32) -> Box<[(u32, f64)]> {
        let length = self.transcripts[transcript as usize];
        let left = self.weights(transcript, End::Left);
        let right = self.weights(transcript, End::Right);
        let mut means: Vec<(u32, f64)> = vec![];
        for probability in PROBABILITIES {
            let l = lengths.quantile(probability, length);
            if means.last().is_some_and(|&(last, _)| last == l) {
                continue;
            }
            let places = left.len() - l as usize;
            let pairs = left[..places].iter().zip(&right[l as usize..]);
            let sum: f64 = pairs.map(|(left, right)| left * right).sum();
            means.push((l, sum / places as f64));
        }
        means.into()
    }
}

#[cfg(test)]
mod tests;
