//! Learned priors: each pass ends with steps in alpha and beta that raise the bound.

use rayon::prelude::*;

use super::local::{Local, share};
use super::posterior::Posterior;
use collapsar_core::kernel::gamma::{digamma_in_place, trigamma_in_place, trigamma_sum};
use collapsar_core::special::{digamma, trigamma};
use collapsar_core::{Potential, Result};

/// No prior is learned below this: a topic that no document uses would drive its own to zero.
const SMALLEST: f64 = 1e-5;
/// Nor above: where documents hardly differ the best alpha is infinite.
const LARGEST: f64 = 1e4;

/// Moves `alpha` to where the documents' Dirichlets say more of `counts`; returns their value there.
///
/// Newton's step where it raises the bound, else a fixed-point step, which always does (maths §7.5).
pub(super) fn step_alpha(local: &Local, counts: &[f64], alpha: &mut [f64]) -> f64 {
    let now = local.dirichlets(alpha, counts);
    let slopes = Slopes::of(local, counts, alpha);
    for proposal in [slopes.newton(alpha), slopes.fixed_point(alpha)] {
        let inside = proposal
            .iter()
            .all(|x| x.is_finite() && *x >= SMALLEST && *x <= LARGEST);
        if !inside {
            continue;
        }
        let then = local.dirichlets(&proposal, counts);
        if then > now {
            alpha.copy_from_slice(&proposal);
            return then;
        }
    }
    now
}

/// Derivatives of the documents' Dirichlets by alpha.
struct Slopes {
    documents: f64,
    /// Σ_d ψ(α_k + N_dk) and Σ_d ψ'(α_k + N_dk).
    first: Vec<f64>,
    second: Vec<f64>,
    /// Σ_d ψ(α_0 + N_d) and Σ_d ψ'(α_0 + N_d).
    total_first: f64,
    total_second: f64,
}

impl Slopes {
    fn of(local: &Local, counts: &[f64], alpha: &[f64]) -> Self {
        let topics = alpha.len();
        let total: f64 = alpha.iter().sum();
        let share = share(local.corpus.documents());
        let parts: Vec<Self> = counts
            .par_chunks(share * topics)
            .map(|counts| {
                let mut part = Self::zero(topics);
                let (mut x, mut y) = (vec![0.0; topics], vec![0.0; topics]);
                for counts in counts.chunks(topics) {
                    let length: f64 = counts.iter().sum();
                    if length == 0.0 {
                        continue;
                    }
                    part.documents += 1.0;
                    for ((x, alpha), count) in x.iter_mut().zip(alpha).zip(counts) {
                        *x = alpha + count;
                    }
                    y.clone_from(&x);
                    digamma_in_place(&mut y);
                    trigamma_in_place(&mut x);
                    for k in 0..topics {
                        part.first[k] += y[k];
                        part.second[k] += x[k];
                    }
                    part.total_first += digamma(total + length);
                    part.total_second += trigamma(total + length);
                }
                part
            })
            .collect();
        let mut sum = Self::zero(topics);
        for part in parts {
            sum.documents += part.documents;
            sum.total_first += part.total_first;
            sum.total_second += part.total_second;
            for k in 0..topics {
                sum.first[k] += part.first[k];
                sum.second[k] += part.second[k];
            }
        }
        sum
    }

    fn zero(topics: usize) -> Self {
        Self {
            documents: 0.0,
            first: vec![0.0; topics],
            second: vec![0.0; topics],
            total_first: 0.0,
            total_second: 0.0,
        }
    }

    /// The Hessian is diagonal plus a common number.
    fn newton(&self, alpha: &[f64]) -> Vec<f64> {
        let total: f64 = alpha.iter().sum();
        let common = self.documents * trigamma(total) - self.total_second;
        let common_slope = self.documents * digamma(total) - self.total_first;
        let slope = |k: usize| common_slope + self.first[k] - self.documents * digamma(alpha[k]);
        let curvature = |k: usize| self.second[k] - self.documents * trigamma(alpha[k]);
        let (mut numerator, mut denominator) = (0.0, 1.0 / common);
        for k in 0..alpha.len() {
            numerator += slope(k) / curvature(k);
            denominator += 1.0 / curvature(k);
        }
        let shift = numerator / denominator;
        (0..alpha.len())
            .map(|k| (alpha[k] - (slope(k) - shift) / curvature(k)).max(SMALLEST))
            .collect()
    }

    /// Minka's fixed point for the Dirichlet-multinomial.
    fn fixed_point(&self, alpha: &[f64]) -> Vec<f64> {
        let total: f64 = alpha.iter().sum();
        let below = self.total_first - self.documents * digamma(total);
        (0..alpha.len())
            .map(|k| {
                let above = self.first[k] - self.documents * digamma(alpha[k]);
                (alpha[k] * above / below).max(SMALLEST)
            })
            .collect()
    }
}

/// Moves `beta` to where the topics' Dirichlets say more of `statistics`; writes the target and
/// returns the value there.
pub(super) fn step_beta(
    posterior: &Posterior,
    statistics: &[f64],
    beta: &mut f64,
    target: &mut [f64],
) -> Result<f64> {
    let now = posterior
        .with_beta(*beta)
        .value_and_gradient(statistics, target)?;
    let (v, k) = (posterior.vocabulary as f64, posterior.topics as f64);
    let b = *beta;
    // All but the priors' part of the slope is the sum of the target.
    let slope = target.iter().sum::<f64>() + k * v * (digamma(v * b) - digamma(b));
    let parts: Vec<f64> = statistics
        .par_chunks(4096)
        .map(|x| trigamma_sum(x, b))
        .collect();
    let totals: f64 = posterior
        .totals(statistics)
        .iter()
        .map(|total| trigamma(v * b + total))
        .sum();
    let curvature =
        parts.iter().sum::<f64>() - v * v * totals + k * v * (v * trigamma(v * b) - trigamma(b));
    // Newton in ln β, where the function is nearer to a parabola.
    let (first, second) = (b * slope, b * slope + b * b * curvature);
    let step = if second < 0.0 {
        -first / second
    } else {
        first.signum() * 0.5
    };
    let mut step = step.clamp(-1.0, 1.0);
    for _ in 0..4 {
        let proposal = (b * step.exp()).clamp(SMALLEST, LARGEST);
        // Closer than this the value is the same to the last bits.
        if (proposal / b - 1.0).abs() < 1e-9 {
            break;
        }
        let then = posterior
            .with_beta(proposal)
            .value_and_gradient(statistics, target)?;
        if then > now {
            *beta = proposal;
            return Ok(then);
        }
        step *= 0.25;
    }
    posterior
        .with_beta(b)
        .value_and_gradient(statistics, target)
}
