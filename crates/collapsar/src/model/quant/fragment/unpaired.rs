//! Reads whose fragment's other end was not seen: sums over the lengths it may have.
//!
//! A read of r bases at one end of a fragment, on a transcript of length L that leaves the
//! fragment `room` bases, has
//!
//! p(place) = Σ_{l=r}^{room} p(l) / (L − l + 1)  /  Σ_{l=r}^{L} p(l),
//!
//! which sums to one over the places of the read. The sums are differences of cumulative ones,
//! kept for each length of a transcript up to [`NEAR`] times the longest fragment, where there
//! are few lengths. Beyond, with μ the mean length and A = L + 1 − μ,
//!
//! 1 / (L − l + 1) = Σ_k (l − μ)^k / A^(k+1),
//!
//! so a few cumulative moments serve all transcripts.

use super::length::LengthDistribution;

/// Transcripts up to this many times the longest fragment have a table.
const NEAR: f64 = 2.5;
/// Terms of the series. |l − μ| / A is at most 2/3 (1/3 for common lengths) to its power: the
/// error is below 1e-7 of the term of the longest fragments, and nothing for common ones.
const TERMS: usize = 20;

#[derive(Debug)]
pub(super) struct Unpaired {
    pub(super) lengths: LengthDistribution,
    /// By the transcript's length; empty until needed.
    tables: Vec<Box<[f64]>>,
    /// Σ_{k≤l} p(k) (k − μ)^j, `TERMS` for each l, in units of the longest length.
    moments: Vec<[f64; TERMS]>,
    mean: f64,
}

impl Unpaired {
    pub(super) fn new(lengths: LengthDistribution) -> Self {
        let longest = lengths.longest();
        let near = (NEAR * f64::from(longest)).ceil() as usize;
        let mean = lengths.mean();
        let mut sums = [0.0; TERMS];
        let moments = (0..=longest).map(|l| {
            let mut term = lengths.probability(l);
            for sum in &mut sums {
                *sum += term;
                term *= (f64::from(l) - mean) / f64::from(longest);
            }
            sums
        });
        Self {
            moments: moments.collect(),
            lengths,
            tables: vec![Box::default(); near + 1],
            mean,
        }
    }

    /// p(place) of a read of `read` bases whose fragment may have up to `room`, from 1 to the
    /// transcript's length; 0 where the read is longer than the longest fragment.
    pub(super) fn place(&mut self, length: u32, read: u32, room: u32) -> f64 {
        let lengths = &self.lengths;
        let longest = lengths.longest();
        if read > longest {
            return 0.0;
        }
        let (from, to) = (read as usize - 1, room.min(longest) as usize);
        let held = lengths.below(length) - lengths.below(read - 1);
        let sum = if let Some(table) = self.tables.get_mut(length as usize) {
            if table.is_empty() {
                *table = tabulate(lengths, length);
            }
            table[to] - table[from]
        } else {
            let distance = f64::from(length) + 1.0 - self.mean;
            let ratio = f64::from(longest) / distance;
            let mut sum = 0.0;
            for k in (0..TERMS).rev() {
                sum = sum * ratio + (self.moments[to][k] - self.moments[from][k]);
            }
            sum / distance
        };
        // Every length has a probability, but differences of sums may round to nothing.
        sum.max(f64::MIN_POSITIVE) / held.max(f64::MIN_POSITIVE)
    }
}

/// Σ_{k≤l} p(k) / (L − k + 1) for each length l that the transcript holds.
fn tabulate(lengths: &LengthDistribution, length: u32) -> Box<[f64]> {
    let mut sum = 0.0;
    let terms = (0..=length.min(lengths.longest())).map(|l| {
        sum += lengths.probability(l) / (f64::from(length - l) + 1.0);
        sum
    });
    terms.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_by_enumeration() {
        let lengths = LengthDistribution::given(250.0, 60.0, 1000);
        let mut unpaired = Unpaired::new(lengths.clone());
        for (length, read) in [
            (1, 1),
            (60, 60),
            (90, 50),
            (300, 75),
            (1000, 75),
            (2500, 30),
        ]
        .into_iter()
        .chain([(2501, 75), (2501, 1000), (4000, 1), (100_000, 100)])
        {
            let mut total = 0.0;
            for start in 0..=length - read {
                let room = length - start;
                let found = unpaired.place(length, read, room);
                total += found;
                if start % 97 == 0 || room < 1010 && start % 7 == 0 {
                    let within = read..=length.min(1000);
                    let held: f64 = within.map(|l| lengths.probability(l)).sum();
                    let sum: f64 = (read..=room.min(1000))
                        .map(|l| lengths.probability(l) / f64::from(length - l + 1))
                        .sum();
                    let expected = sum / held;
                    // Lengths that only the even part allows are differences of sums near one.
                    let error = (found - expected).abs() / expected;
                    assert!(error < 1e-6, "{length} {read} {start}: {found} {expected}");
                }
            }
            assert!((total - 1.0).abs() < 1e-6, "{length} {read}: {total}");
        }
        assert_eq!(unpaired.place(5000, 1001, 5000), 0.0);
    }
}
