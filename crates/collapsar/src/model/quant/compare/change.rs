//! The posterior of a log ratio, and what to say of many at once.

use super::{Design, Row, turn};
use collapsar_core::special::student_cdf;

/// The posterior of a log2 fold change: a Student t distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Its centre.
    pub mean: f64,
    /// Its scale: the standard error of the mean.
    pub sd: f64,
    /// Where 2.5% lie below.
    pub lower: f64,
    /// Where 97.5% lie below.
    pub upper: f64,
    /// The probability that it is positive, which is BitSeq's PPLR.
    pub positive: f64,
    /// The local false sign rate: the probability that it does not have the sign of its mean.
    ///
    /// With a flat prior this is half of a two-sided p-value. Means of it over a list of changes
    /// are no false discovery rate: they would be if log ratios were spread as evenly as the prior
    /// has it, but most transcripts hardly change. `qvalue` allows for that.
    pub false_sign: f64,
    /// The smallest false discovery rate of a list that has this change in it (Benjamini95).
    pub qvalue: f64,
}

impl Change {
    /// A change with this posterior variance of one sample; what depends on degrees of freedom is
    /// filled in later.
    pub(super) fn new(design: &Design, means: &[f64], variance: f64) -> Self {
        let (from, to) = design.contrast;
        let inverse = |condition: usize| 1.0 / design.sizes[condition] as f64;
        Self {
            mean: means[to] - means[from],
            sd: (variance * (inverse(from) + inverse(to))).sqrt(),
            lower: 0.0,
            upper: 0.0,
            positive: 0.5,
            false_sign: 0.5,
            qvalue: 1.0,
        }
    }
}

/// Fills in all probabilities of t distributions with so many degrees of freedom.
pub(super) fn fill(rows: &mut [Row], degrees: f64) {
    let reach = -turn(-1e12, 0.0, |t| student_cdf(degrees, t) < 0.025);
    let mut changes: Vec<&mut Change> = rows.iter_mut().filter_map(|r| r.change.as_mut()).collect();
    for change in &mut changes {
        let ratio = change.mean / change.sd;
        change.false_sign = student_cdf(degrees, -ratio.abs());
        change.positive = student_cdf(degrees, ratio);
        change.lower = change.mean - reach * change.sd;
        change.upper = change.mean + reach * change.sd;
    }
    let pvalues: Vec<f64> = changes.iter().map(|c| 2.0 * c.false_sign).collect();
    for (change, rate) in changes.into_iter().zip(false_discovery_rates(&pvalues)) {
        change.qvalue = rate;
    }
}

/// The smallest false discovery rate at which each p-value is in the list, after Benjamini and
/// Hochberg.
pub fn false_discovery_rates(pvalues: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..pvalues.len()).collect();
    order.sort_by(|&a, &b| pvalues[b].total_cmp(&pvalues[a]));
    let mut rates = vec![1.0; pvalues.len()];
    let mut least = 1.0_f64;
    for (above, &place) in order.iter().enumerate() {
        let rank = (pvalues.len() - above) as f64;
        least = least.min(pvalues[place] * pvalues.len() as f64 / rank);
        rates[place] = least;
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_as_in_r() {
        // p.adjust(c(0.01, 0.04, 0.03, 0.5, 0.04), "BH").
        let found = false_discovery_rates(&[0.01, 0.04, 0.03, 0.5, 0.04]);
        for (found, expected) in found.iter().zip([0.05, 0.05, 0.05, 0.5, 0.05]) {
            assert!((found - expected).abs() < 1e-15, "{found} {expected}");
        }
        assert!(false_discovery_rates(&[]).is_empty());
    }
}
