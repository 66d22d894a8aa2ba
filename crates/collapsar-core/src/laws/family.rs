//! Decides what every family must satisfy beyond the laws of its log-partition function.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{Verdict, evaluate, hessian_diagonal, holds};
use crate::family::Family;

/// Draws that [`conforms`] takes: enough for errors of a few per cent, in milliseconds.
const DRAWS: usize = 4000;

/// Natural → ordinary → natural parameters return.
///
/// Where the natural parameters are not unique, as the logits of a categorical, the distribution
/// must return: its mean is unique.
///
/// # Errors
/// Where they do not.
pub fn round_trip<F: Family>(family: &F, natural: &[f64]) -> Verdict {
    let ordinary = family.ordinary(natural);
    let back = ordinary.and_then(|ordinary| family.natural(&ordinary));
    let back = back.map_err(|e| format!("round trip: {e}"))?;
    let (before, after) = (natural.len(), back.len());
    if after != before {
        return Err(format!("round trip: {before} parameters became {after}"));
    }
    let difference: Vec<f64> = back.iter().zip(natural).map(|(b, n)| b - n).collect();
    let largest = |v: &[f64]| {
        v.iter()
            .fold(0.0, |a: f64, x| if x.abs() <= a { a } else { x.abs() })
    };
    // A few roundings, relative to the largest parameter: a scale is a difference of squares.
    if largest(&difference) <= 1e-13 * largest(natural) {
        return Ok(());
    }
    // Rounding of the parameters moves a mean by that times their size, here at most thousands.
    let (_, mean) = evaluate(family, natural)?;
    let (_, mean_back) = evaluate(family, &back)?;
    let worst = mean
        .iter()
        .zip(&mean_back)
        .map(|(m, b)| (m - b).abs() / m.abs().max(f64::MIN_POSITIVE))
        .fold(0.0, |a, e| if e <= a { a } else { e });
    holds(worst <= 1e-12, || {
        let moved = largest(&difference);
        format!("round trip: a parameter moved by {moved:e}, a mean by {worst:e} of itself")
    })
}

/// The average statistics of `n` draws are within five standard errors of the mean.
///
/// # Errors
/// Where they are not, or where a draw has statistics that are not finite.
pub fn draws_match_mean<F: Family>(family: &F, natural: &[f64], seed: u64, n: usize) -> Verdict {
    let law = "draws match the mean";
    let (_, mean) = evaluate(family, natural)?;
    let variances = hessian_diagonal(family, natural)?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut statistics = vec![0.0; mean.len()];
    let mut sums = vec![0.0; mean.len()];
    let mut ranges = vec![0.0_f64; mean.len()];
    for _ in 0..n {
        let draw = family
            .sample(natural, &mut rng)
            .map_err(|e| format!("{law}: {e}"))?;
        family.statistics(&draw, &mut statistics);
        for (i, u) in statistics.iter().enumerate() {
            holds(u.is_finite(), || {
                format!("{law}: statistic {i} of a draw is {u}")
            })?;
            sums[i] += u - mean[i];
            ranges[i] = ranges[i].max((u - mean[i]).abs());
        }
    }
    let n = n as f64;
    for (i, sum) in sums.iter().enumerate() {
        let error = sum.abs() / n;
        let standard_error = (variances[i].max(0.0) / n).sqrt();
        // Bernstein's inequality at the level of five standard errors: its second term is for
        // statistics that are rarely large, such as the indicator of an improbable component.
        // The last is the rounding of statistics that hardly vary.
        let allowed = 5.0 * standard_error + 4.0 * ranges[i] / n + 1e-12 * mean[i].abs();
        holds(error <= allowed, || {
            let (errors, mean) = (error / standard_error, mean[i]);
            format!("{law}: statistic {i} is off by {errors:.1} standard errors from {mean:e}")
        })?;
    }
    Ok(())
}

/// Runs every law of a family at `natural`.
///
/// # Errors
/// The first law that fails.
pub fn conforms<F: Family>(family: &F, natural: &[f64], seed: u64) -> Verdict {
    super::conforms(family, natural, seed)?;
    round_trip(family, natural)?;
    draws_match_mean(family, natural, seed, DRAWS)
}
