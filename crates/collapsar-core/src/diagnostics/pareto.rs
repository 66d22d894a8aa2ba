//! Importance weights, smoothed by a generalised Pareto distribution that also tells whether to believe them.

use crate::elementary::Elementary;
use crate::special::log_sum_exp;

/// Weights in the tail that the fit needs.
const FEWEST: usize = 5;
/// Log weights within this of one another are equal but for rounding; k-hat would be that of the rounding.
const ROUNDING: f64 = 1e-9;

/// Importance weights after Pareto smoothing (Vehtari24).
///
/// Of $S$ weights $w$, those above all but $M = \lceil \min(S/5, 3 \sqrt S) \rceil$ are taken for a sample from a generalised
/// Pareto distribution, with CDF $F(w) = 1 - (1 + k (w - u) / \sigma)^{-1/k}$ above the cutoff $u$. It is
/// fitted as ZhangStephens09 do, with a prior worth ten weights at $k = \frac12$, and the quantiles
/// $F^{-1}\big((z - \frac12) / M\big)$, $z = 1 \dots M$, take the places of the $M$ weights in their order, none above the largest of
/// the weights as they were.
///
/// Weights have $1/k$ moments. Below $\hat k = \frac12$ estimates behave as the central limit theorem says; up to
/// [`k_hat_threshold`] smoothing makes them good; above it neither they nor the errors here can be trusted.
/// Sizes and errors are those for independent draws.
///
/// ```
/// use collapsar_core::diagnostics::ImportanceWeights;
/// // Draws spread evenly over a density that is a little too wide, weighted to the right one.
/// let ln_weights: Vec<f64> = (-500..=500).map(|i| -0.1 * (f64::from(i) / 100.0).powi(2)).collect();
/// let weights = ImportanceWeights::smooth(&ln_weights).expect("finite weights");
/// assert!(weights.k_hat.is_some_and(|k_hat| k_hat < 0.5));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ImportanceWeights {
    /// Logarithms of the smoothed weights, which sum to one; $-\infty$ for a weight of zero.
    pub ln_weights: Vec<f64>,
    /// $\hat k$, the shape of the fitted distribution; $+\infty$ where one to four weights alone are above the cutoff, too
    /// few for a fit; `None` where there is no tail to judge: 20 weights or fewer, weights equal but for rounding, or
    /// none above the cutoff because the largest are equal.
    pub k_hat: Option<f64>,
    /// The effective size $1 / \sum_s \tilde w_s^2$, between 1 and $S$.
    pub ess: f64,
    /// The logarithm of the mean of the smoothed weights: an estimate of the log evidence where weights are ratios of
    /// the joint density to that of the draws.
    pub ln_mean: f64,
    /// The Monte Carlo standard error of `ln_mean`, by the delta method: $\mathrm{sd}(w) / (\bar w \sqrt S)$.
    pub mcse_ln_mean: f64,
}

impl ImportanceWeights {
    /// Smooths weights given as logarithms. `None` for fewer than two, for one that is NaN or $+\infty$, and where all
    /// are $-\infty$.
    pub fn smooth(ln_weights: &[f64]) -> Option<Self> {
        let largest = ln_weights.iter().copied().reduce(f64::max)?;
        let size = ln_weights.len() as f64;
        // The maximum passes over NaN.
        if ln_weights.len() < 2 || !largest.is_finite() || ln_weights.iter().any(|x| x.is_nan()) {
            return None;
        }
        let mut ln_weights: Vec<f64> = ln_weights.iter().map(|x| x - largest).collect();
        let k_hat = smooth_tail(&mut ln_weights);
        let ln_sum = log_sum_exp(&ln_weights);
        let (mut squares, mut spread) = (0.0, 0.0);
        for x in &mut ln_weights {
            *x -= ln_sum;
            let weight = x.exp_();
            squares += weight * weight;
            spread += (weight - 1.0 / size).powi(2);
        }
        Some(Self {
            ln_weights,
            k_hat,
            ess: (1.0 / squares).clamp(1.0, size),
            ln_mean: largest + (ln_sum - size.ln_()),
            mcse_ln_mean: (spread * size / (size - 1.0)).sqrt(),
        })
    }
}

/// The largest $\hat k$ with which estimates from so many draws can be trusted, $\min(1 - 1 / \log_{10} S, 0.7)$ (Vehtari24);
/// zero for ten draws or fewer.
pub fn k_hat_threshold(draws: usize) -> f64 {
    if draws <= 10 {
        return 0.0;
    }
    (1.0 - 1.0 / (draws as f64).log10_()).min(0.7)
}

/// Replaces the tail of log weights whose largest is zero; returns k-hat.
fn smooth_tail(ln_weights: &mut [f64]) -> Option<f64> {
    let size = ln_weights.len();
    let tail = (size as f64 / 5.0).min(3.0 * (size as f64).sqrt()).ceil() as usize;
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by(|&a, &b| ln_weights[a].total_cmp(&ln_weights[b]));
    if tail < FEWEST || ln_weights[order[0]] > -ROUNDING {
        return None;
    }
    // Weights that would be subnormal beside the largest are none of the tail.
    let cutoff = ln_weights[order[size - tail - 1]].max(f64::MIN_POSITIVE.ln_());
    let body = order.partition_point(|&i| ln_weights[i] <= cutoff);
    let order = &order[body..];
    if order.is_empty() {
        return None;
    }
    if order.len() < FEWEST {
        return Some(f64::INFINITY);
    }
    // w - u, without cancellation where they are close.
    let excess = |&i: &usize| -(cutoff - ln_weights[i]).exp_m1_() * ln_weights[i].exp_();
    let excesses: Vec<f64> = order.iter().map(excess).collect();
    let fitted = GeneralisedPareto::fit(&excesses);
    for (z, &i) in order.iter().enumerate() {
        let probability = (z as f64 + 0.5) / order.len() as f64;
        let weight = fitted.quantile(probability) + cutoff.exp_();
        ln_weights[i] = weight.ln_().min(0.0);
    }
    Some(fitted.k)
}

/// A distribution with density (1 + k x / σ)^(-1/k - 1) / σ above zero.
pub(super) struct GeneralisedPareto {
    pub(super) k: f64,
    pub(super) sigma: f64,
}

impl GeneralisedPareto {
    /// The distribution of positive numbers in increasing order, of which there are five or more.
    ///
    /// ZhangStephens09 write the profile likelihood with θ = -k/σ and take the mean of θ under it and a prior that
    /// the data place; its integral is a sum over a grid.
    pub(super) fn fit(x: &[f64]) -> Self {
        let n = x.len() as f64;
        let points = 30 + n.sqrt() as usize;
        let largest = x[x.len() - 1];
        // The first quartile, which places the prior. Beyond this θ would be infinite.
        let quartile = x[(0.25 * n + 0.5) as usize - 1].max(1e-300);
        let grid = (0..points).map(|i| {
            let root = (points as f64 / (i as f64 + 0.5)).sqrt();
            1.0 / largest + (1.0 - root) / (3.0 * quartile)
        });
        let grid: Vec<f64> = grid.collect();
        let ln_likelihood = |&theta: &f64| {
            let k = shape(x, theta);
            -n * (scale(x, theta, k).ln_() + k + 1.0)
        };
        let likelihoods: Vec<f64> = grid.iter().map(ln_likelihood).collect();
        let ln_sum = log_sum_exp(&likelihoods);
        let weighted = grid.iter().zip(&likelihoods);
        let theta: f64 = weighted.map(|(theta, l)| theta * (l - ln_sum).exp_()).sum();
        let k = shape(x, theta);
        // Vehtari24: a prior of ten weights at k = 1/2 steadies short tails; the scale stays as it is.
        Self {
            k: (n * k + 5.0) / (n + 10.0),
            sigma: scale(x, theta, k),
        }
    }

    pub(super) fn quantile(&self, probability: f64) -> f64 {
        let tail = -(-probability).ln_1p_();
        // (1 - p)^(-k) - 1 over k, whose limit at zero is -ln(1 - p).
        let standard = if self.k.abs() < f64::EPSILON {
            tail
        } else {
            (self.k * tail).exp_m1_() / self.k
        };
        self.sigma * standard
    }
}

/// The most likely k for a given θ.
fn shape(x: &[f64], theta: f64) -> f64 {
    x.iter().map(|x| (-theta * x).ln_1p_()).sum::<f64>() / x.len() as f64
}

/// σ = -k/θ, and its limit, the mean, where both are zero.
fn scale(x: &[f64], theta: f64, k: f64) -> f64 {
    if k == 0.0 || theta == 0.0 {
        x.iter().sum::<f64>() / x.len() as f64
    } else {
        -k / theta
    }
}
