//! Effective lengths: how many places a transcript has for a fragment.

use super::length::LengthDistribution;

/// The expected number of places of a fragment on a transcript,
///
/// $$\sum_{l \le L} \frac{p(l)}{\sum_{k \le L} p(k)} (L - l + 1) = L + 1 - \mathrm E[l \mid l \le L].$$
///
/// A fragment as long as its transcript has one place, hence the $+1$ that BitSeq leaves out: with
/// it the number is at least 1, and it is the sum that normalises the places of the likelihood.
/// The condition $l \le L$, as in salmon, keeps transcripts shorter than most fragments from
/// having none; on those shorter than all the lengths seen, lengths are even, and it is half of
/// their length.
pub fn effective_length(length: u32, lengths: &LengthDistribution) -> f64 {
    (f64::from(length) + 1.0 - lengths.mean_below(length)).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effective_lengths_by_enumeration() {
        let lengths = LengthDistribution::given(200.0, 50.0, 1000);
        for length in [1, 2, 50, 199, 200, 201, 999, 1000, 1001, 5000, 100_000] {
            let (mut places, mut total) = (0.0, 0.0);
            for l in 1..=length.min(1000) {
                places += lengths.probability(l) * f64::from(length - l + 1);
                total += lengths.probability(l);
            }
            let (found, expected) = (effective_length(length, &lengths), places / total);
            // Sums of a thousand positive terms, in another order.
            assert!(
                (found - expected).abs() < 1e-11 * f64::from(length + 1),
                "{length}"
            );
            assert!(found >= 1.0);
        }
        assert_eq!(effective_length(0, &lengths), 1.0);
        // Shorter than all likely fragments: the even part.
        let lengths = LengthDistribution::given(500.0, 5.0, 1000);
        assert!((effective_length(100, &lengths) - 50.5).abs() < 1e-6);
    }
}
