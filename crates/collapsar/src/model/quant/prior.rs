//! The prior that makes the bound highest (maths §8.8).

use super::settings::RANGE;
use collapsar_core::special::digamma;

/// Where a learned prior begins; a coarse look at chr19 of 0.001 to 1 has its best at 0.05.
pub(super) const FIRST: f64 = 0.1;
/// Counts below this are as good as none, and none say nothing about the prior.
const NOTHING: f64 = 1e-9;
/// Steps of the fixed point for given counts.
const STEPS: usize = 20;

/// A better prior for `transcripts` with these expected counts, the rest of which are zero.
pub(super) fn better(alpha: f64, transcripts: usize, counts: &[f64]) -> f64 {
    let all = transcripts as f64;
    let reads: f64 = counts.iter().sum();
    (0..STEPS).fold(alpha, |alpha, _| {
        let at_prior = digamma(alpha);
        let seen = counts.iter().filter(|&&count| count > NOTHING);
        let apart: f64 = seen.map(|count| digamma(alpha + count) - at_prior).sum();
        let together = all * (digamma(all * alpha + reads) - digamma(all * alpha));
        (alpha * apart / together).clamp(*RANGE.start(), *RANGE.end())
    })
}
