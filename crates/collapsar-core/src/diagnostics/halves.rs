//! Chains split in two, with the variances and autocovariances of their halves.

use crate::elementary::Elementary;

/// Halves of chains, one after another.
pub(super) struct Halves<'a> {
    /// Draws of each half.
    length: usize,
    /// Draws less the mean of their half.
    centred: &'a [f64],
    /// The mean of the variances of the halves, W.
    within: f64,
    /// The variance of the means of the halves, B/n.
    between: f64,
}

impl<'a> Halves<'a> {
    /// Splits chains of `draws` draws each, which stand one after another; leaves the middle ones out. Works in a buffer,
    /// as a quantity's draws are split again and again.
    pub(super) fn of(values: &[f64], draws: usize, centred: &'a mut Vec<f64>) -> Self {
        let length = draws / 2;
        centred.clear();
        let mut means = Vec::with_capacity(values.len() / length.max(1));
        for chain in values.chunks_exact(draws) {
            for half in [&chain[..length], &chain[draws - length..]] {
                // From the first draw on, so that halves that do not move have a variance of exactly zero.
                let origin = half[0];
                let mean = half.iter().map(|x| x - origin).sum::<f64>() / length as f64;
                centred.extend(half.iter().map(|x| (x - origin) - mean));
                means.push((origin, mean));
            }
        }
        let (origin, _) = means[0];
        let means: Vec<f64> = means.iter().map(|(o, mean)| (o - origin) + mean).collect();
        let squares = lagged_product(centred, 0);
        Self {
            length,
            within: squares / (means.len() * (length - 1)) as f64,
            between: variance(&means),
            centred,
        }
    }

    /// R-hat of these numbers as they are; infinite where no half moves and they differ, nothing where all are equal.
    pub(super) fn r_hat(&self) -> Option<f64> {
        let n = self.length as f64;
        let ratio = self.between / self.within;
        (!ratio.is_nan()).then(|| (ratio + (n - 1.0) / n).sqrt())
    }

    /// The effective sample size of the mean; nothing where all are equal or a half has fewer than five draws, which do
    /// not have the two pairs of lags that the sequence needs.
    pub(super) fn ess(&self) -> Option<f64> {
        let n = self.length;
        let total = self.within * (n as f64 - 1.0) / n as f64 + self.between;
        if n < 5 || total.is_nan() || total <= 0.0 {
            return None;
        }
        let correlation = |lag| 1.0 - (self.within - self.autocovariance(lag)) / total;
        let (mut even, mut pair) = (1.0, 1.0 + correlation(1));
        let (mut least, mut sum) = (f64::INFINITY, 0.0);
        let mut lag = 1;
        while lag + 3 < n && pair > 0.0 {
            least = pair.min(least);
            sum += least;
            even = correlation(lag + 1);
            pair = even + correlation(lag + 2);
            lag += 2;
        }
        // Where the lags ran out before the sequence did, its last even one counts as it is.
        let last = if pair < 0.0 { even.max(0.0) } else { even };
        let size = self.centred.len() as f64;
        // Negative correlations may make draws worth more than independent ones, up to this factor.
        let time = (2.0 * sum - 1.0 + last).max(1.0 / size.log10_());
        Some(size / time)
    }

    /// The mean over halves of the autocovariance at this lag, each divided by all draws of the half.
    fn autocovariance(&self, lag: usize) -> f64 {
        let halves = self.centred.chunks_exact(self.length);
        let sum: f64 = halves.map(|half| lagged_product(half, lag)).sum();
        sum / self.centred.len() as f64
    }
}

/// The sum of xᵢ xᵢ₊ₜ, in eight sums that need not wait for one another.
pub(super) fn lagged_product(x: &[f64], lag: usize) -> f64 {
    const LANES: usize = 8;
    let (early, late) = (&x[..x.len() - lag], &x[lag..]);
    let (early, early_rest) = early.as_chunks::<LANES>();
    let (late, late_rest) = late.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (a, b) in early.iter().zip(late) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest = early_rest.iter().zip(late_rest).map(|(a, b)| a * b);
    sums.iter().sum::<f64>() + rest.sum::<f64>()
}

/// The variance of two numbers or more, as an estimate from a sample.
pub(super) fn variance(x: &[f64]) -> f64 {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)
}
