//! Learned priors: each pass ends with steps in alpha and beta that raise the bound.

use rayon::prelude::*;

use super::document::write_sum;
use super::documents::Documents;
use super::posterior::{Posterior, column_sums};
use collapsar_core::elementary::Elementary;
use collapsar_core::kernel::gamma::{digamma_in_place, trigamma_in_place, trigamma_sum};
use collapsar_core::special::{digamma, trigamma};
use collapsar_core::vector::add;
use collapsar_core::{Potential, Result, Warm};

/// No prior is learned below this: a topic that no document uses would drive its own to zero.
const SMALLEST: f64 = 1e-5;
/// Nor above: where documents hardly differ the best alpha is infinite.
const LARGEST: f64 = 1e4;

/// Moves `alpha` to where `counts` have more evidence under the documents' Dirichlets; returns its value there.
///
/// Newton's step where it raises the bound, else a fixed-point step, which always does (maths §7.5).
pub(super) fn step_alpha(
    documents: &impl Documents,
    counts: &Warm,
    alpha: &mut [f64],
) -> Result<f64> {
    let now = documents.dirichlets(alpha, counts)?;
    let slopes = documents.slopes(alpha, counts)?;
    for proposal in [slopes.newton(alpha), slopes.fixed_point(alpha)] {
        if proposal.iter().all(|x| (SMALLEST..=LARGEST).contains(x)) {
            let then = documents.dirichlets(&proposal, counts)?;
            if then > now {
                alpha.copy_from_slice(&proposal);
                return Ok(then);
            }
        }
    }
    Ok(now)
}

/// Derivatives of the documents' Dirichlets by alpha.
#[derive(Debug, Clone, PartialEq)]
pub struct Slopes {
    documents: f64,
    /// Σ_d ψ(α_k + N_dk) and Σ_d ψ'(α_k + N_dk).
    first: Vec<f64>,
    second: Vec<f64>,
    /// Σ_d ψ(α_0 + N_d) and Σ_d ψ'(α_0 + N_d).
    total_first: f64,
    total_second: f64,
}

impl Slopes {
    /// Numbers that documents, of which these are the counts, add to sums: as many as a [`Slopes::width`].
    pub(super) fn part(alpha: &[f64], counts: &[f64]) -> Vec<f64> {
        let mut part = vec![0.0; Self::width(alpha.len())];
        Self::add(alpha, counts, &mut part);
        part
    }

    /// Adds these numbers to `part`.
    pub(super) fn add(alpha: &[f64], counts: &[f64], part: &mut [f64]) {
        let topics = alpha.len();
        let total: f64 = alpha.iter().sum();
        let (first, rest) = part.split_at_mut(topics);
        let (second, totals) = rest.split_at_mut(topics);
        let (mut x, mut y) = (vec![0.0; topics], vec![0.0; topics]);
        for counts in counts.chunks(topics) {
            let length: f64 = counts.iter().sum();
            if length == 0.0 {
                continue;
            }
            write_sum(alpha, counts, &mut x);
            y.clone_from(&x);
            digamma_in_place(&mut y);
            trigamma_in_place(&mut x);
            add(first, 1.0, &y);
            add(second, 1.0, &x);
            let length = total + length;
            add(totals, 1.0, &[1.0, digamma(length), trigamma(length)]);
        }
    }

    /// How many numbers a part has.
    pub(super) fn width(topics: usize) -> usize {
        2 * topics + 3
    }

    /// The sum of parts, one after another.
    pub(super) fn sum(parts: &[f64], topics: usize) -> Self {
        let sum = column_sums(parts, Self::width(topics));
        Self {
            documents: sum[2 * topics],
            first: sum[..topics].to_vec(),
            second: sum[topics..2 * topics].to_vec(),
            total_first: sum[2 * topics + 1],
            total_second: sum[2 * topics + 2],
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

/// Moves `beta` to where `statistics` have more evidence under the topics' Dirichlets; writes the
/// target and returns the value there.
pub(super) fn step_beta(
    posterior: &Posterior,
    statistics: &[f64],
    beta: &mut f64,
    target: &mut [f64],
) -> Result<f64> {
    let at = |beta: f64, target: &mut [f64]| {
        let posterior = posterior.with_beta(beta);
        posterior.value_and_gradient(statistics, target)
    };
    let now = at(*beta, target)?;
    let (v, k) = (posterior.vocabulary as f64, posterior.topics as f64);
    let b = *beta;
    // All but the priors' part of the slope is the sum of the target.
    let slope = target.iter().sum::<f64>() + k * v * (digamma(v * b) - digamma(b));
    let parts = statistics.par_chunks(4096).map(|x| trigamma_sum(x, b));
    let parts: Vec<f64> = parts.collect();
    let totals = column_sums(statistics, posterior.topics);
    let totals: f64 = totals.iter().map(|total| trigamma(v * b + total)).sum();
    let curvature =
        parts.iter().sum::<f64>() - v * v * totals + k * v * (v * trigamma(v * b) - trigamma(b));
    // Newton in ln β, where the function is nearer to a parabola.
    let (first, second) = (b * slope, b * slope + b * b * curvature);
    let newton = -first / second;
    let step = if second < 0.0 {
        newton
    } else {
        first.signum() * 0.5
    };
    let mut step = step.clamp(-1.0, 1.0);
    for _ in 0..4 {
        let proposal = (b * step.exp_()).clamp(SMALLEST, LARGEST);
        // Closer than this the value is the same to the last bits.
        if (proposal / b - 1.0).abs() < 1e-9 {
            break;
        }
        let then = at(proposal, target)?;
        if then > now {
            *beta = proposal;
            return Ok(then);
        }
        step *= 0.25;
    }
    at(b, target)
}
