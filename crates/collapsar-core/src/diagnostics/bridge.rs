//! The evidence from draws of a posterior and of a proposal: bridge sampling.

use super::chains::ess_mean;
use crate::elementary::Elementary;
use crate::special::log_sum_exp;

/// Rounds at most; each brings the estimate much nearer.
const ROUNDS: usize = 200;
/// Where a round moves the logarithm by less than this, it is done.
const TOLERANCE: f64 = 1e-10;

/// An estimate of the log evidence with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bridge {
    /// The estimate.
    pub ln_evidence: f64,
    /// Its standard error, by the delta method, with the autocorrelation of chains (FruehwirthSchnatter04).
    pub error: f64,
}

/// Bridge sampling with the best bridge (MengWong96).
///
/// `chains` holds $\ell = \ln p(y, x) - \ln r(x)$ at draws of the posterior, chain by chain, `proposed` the same at
/// independent draws of the proposal $r$, which is a density. With shares $s_1, s_2$ of the effective numbers of draws the
/// evidence solves
///
/// $$Z = \frac{\operatorname{mean}_r e^{\ell} / (s_1 e^{\ell} + s_2 Z)}
/// {\operatorname{mean}_p 1 / (s_1 e^{\ell} + s_2 Z)} .$$
///
/// `None` where there are no draws of either, or none with a finite ratio.
pub fn bridge(chains: &[&[f64]], proposed: &[f64]) -> Option<Bridge> {
    let posterior: Vec<f64> = chains.concat();
    let finite = |values: &[f64]| {
        values
            .iter()
            .copied()
            .filter(|x| x.is_finite())
            .reduce(f64::max)
    };
    let (_, middle) = (finite(proposed)?, finite(&posterior)?);
    if posterior.iter().chain(proposed).any(|x| x.is_nan()) {
        return None;
    }
    let size = proposed.len() as f64;
    let worth = ess_mean(chains).unwrap_or(1.0).min(posterior.len() as f64);
    let (ln_s1, ln_s2) = (
        (worth / (worth + size)).ln_(),
        (size / (worth + size)).ln_(),
    );
    // ln(s₁ e^ℓ + s₂ Z)
    let bridge = |l: f64, ln_z: f64| log_sum_exp(&[ln_s1 + l, ln_s2 + ln_z]);
    let ln_mean = |values: Vec<f64>| {
        let count = values.len() as f64;
        log_sum_exp(&values) - count.ln_()
    };
    let mut ln_z = middle;
    for _ in 0..ROUNDS {
        let above = ln_mean(proposed.iter().map(|&l| l - bridge(l, ln_z)).collect());
        let below = ln_mean(posterior.iter().map(|&l| -bridge(l, ln_z)).collect());
        let last = ln_z;
        ln_z = above - below;
        if !ln_z.is_finite() {
            return None;
        }
        if (ln_z - last).abs() < TOLERANCE {
            break;
        }
    }
    // Relative variances of the two means, f₁ = p / (s₁ p + s₂ r) over the proposal and f₂ = r / (…) over the posterior.
    let first: Vec<f64> = proposed
        .iter()
        .map(|&l| (l - bridge(l, ln_z)).exp_())
        .collect();
    let second = |chain: &&[f64]| -> Vec<f64> {
        chain
            .iter()
            .map(|&l| (ln_z - bridge(l, ln_z)).exp_())
            .collect()
    };
    let second: Vec<Vec<f64>> = chains.iter().map(second).collect();
    let of_second: Vec<&[f64]> = second.iter().map(Vec::as_slice).collect();
    let worth = ess_mean(&of_second).unwrap_or(worth);
    let variance = relative_variance(&first) / size + relative_variance(&second.concat()) / worth;
    Some(Bridge {
        ln_evidence: ln_z,
        error: variance.sqrt(),
    })
}

/// The variance over the square of the mean.
fn relative_variance(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    squares / (n - 1.0).max(1.0) / (mean * mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Distribution, StandardNormal};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    /// e^3 times the density of N(0, 1), seen from N(0.5, 1.3²): ln Z is 3, within its errors, and errors are honest.
    #[test]
    fn normals_have_a_known_evidence() {
        let mut squares = 0.0;
        for seed in 0..20 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
            let ratio = |x: f64| 3.0 - 0.5 * x * x + 0.5 * ((x - 0.5) / 1.3).powi(2) + 1.3_f64.ln();
            let mut x = 0.0;
            let chain: Vec<f64> = (0..2000)
                .map(|_| {
                    // An autoregression with correlation 0.6 and variance one.
                    x = 0.6 * x + 0.8 * normal();
                    ratio(x)
                })
                .collect();
            let proposed: Vec<f64> = (0..1000).map(|_| ratio(0.5 + 1.3 * normal())).collect();
            let found = bridge(&[&chain], &proposed).expect("draws");
            squares += ((found.ln_evidence - 3.0) / found.error).powi(2);
        }
        // The mean of twenty squares of standard normals has a standard deviation of 0.32.
        assert!((0.3..2.2).contains(&(squares / 20.0)), "{squares}");
    }

    #[test]
    fn a_perfect_proposal_has_no_error() {
        let level = [2.0; 50];
        let found = bridge(&[&level, &level], &level).expect("draws");
        assert!((found.ln_evidence - 2.0).abs() < 1e-12 && found.error < 1e-7);
        assert_eq!(bridge(&[&[f64::NEG_INFINITY; 4]], &level), None);
        assert_eq!(bridge(&[&level], &[f64::NAN; 3]), None);
        assert_eq!(bridge(&[], &level), None);
    }
}
