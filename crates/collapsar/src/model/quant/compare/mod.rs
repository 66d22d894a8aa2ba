//! Changes of expression between conditions, from quantifications of several samples (maths §8.16).
//!
//! - `scale`: samples made comparable, as logs of expression with inferential variances
//! - `variance`: what variance to expect of a transcript before its own samples are looked at
//! - `change`: the posterior of a log ratio
//!
//! The variance of a transcript's log expression within a condition has two parts. The biological
//! one is much the same for transcripts of similar counts, and is learned as a trend over all of
//! them. The inferential one is the transcript's own: how far the draws of its reads differ, which
//! is much where reads are shared with other transcripts. Their sum is the prior mean of the
//! variance, with degrees of freedom $d_0$ that are learned too, and the samples' residuals update
//! it. The posterior of a log ratio is then a Student t distribution with $d_0 + d$ degrees.
//!
//! BitSeq's second stage (Glaus12) has a prior variance by expression alone, and sees inferential
//! variance only by running through the draws, paired up over replicates. Here a transcript with
//! shared reads has a large expected variance of its own: three replicates that agree by luck do
//! not make it change. And as the posterior is known in closed form rather than sampled, small
//! probabilities have all their digits.
//!
//! The prior of the log ratio is flat, so that the probability of a positive one is a one-sided
//! p-value: over transcripts that do not change it is uniform, which is what the tests check.
//!
//! ```
//! use collapsar::quant::compare::{Design, Sample, Scale, compare};
//!
//! let counts = [[90.0, 30.0], [110.0, 32.0], [95.0, 120.0], [105.0, 130.0]];
//! let samples = ["a", "b", "c", "d"].into_iter().zip(&counts);
//! let samples: Vec<Sample> = samples
//!     .map(|(name, counts)| Sample { name, counts, effective: &[900.0, 400.0] })
//!     .collect();
//! let scale = Scale::new(&samples)?;
//! let levels = (0..4).map(|sample| scale.levels(sample, &[])).collect::<Result<Vec<_>, _>>()?;
//! let comparison = compare(&scale, &levels, &Design::new(vec![0, 0, 1, 1], (0, 1))?)?;
//! let second = comparison.rows[1].change.as_ref().expect("it has reads");
//! assert!(second.mean > 1.0 && second.positive > 0.9);
//! # Ok::<(), collapsar::Error>(())
//! ```

mod change;
mod scale;
mod variance;

pub use change::{Change, false_discovery_rates};
pub use scale::{Levels, Sample, Scale};

use collapsar_core::{Error, Place, Result};
use variance::{Expected, Seen};

/// Fewer reads in all samples together say nothing of changes: the transcript is not tested.
pub const FEWEST: f64 = 5.0;

/// Which sample is of which condition, and which conditions are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Design {
    conditions: Vec<usize>,
    sizes: Vec<usize>,
    contrast: (usize, usize),
}

impl Design {
    /// Samples of these conditions, counted from zero; the change is from the first condition of
    /// `contrast` to the second.
    ///
    /// # Errors
    /// [`Error::Data`] with fewer than two conditions, one without samples or none with two.
    pub fn new(conditions: Vec<usize>, contrast: (usize, usize)) -> Result<Self> {
        let refused = |found: String, expected: &str| {
            Err(Error::data(Place::Whole("conditions"), found, expected))
        };
        let count = conditions.iter().max().map_or(0, |last| last + 1);
        let mut sizes = vec![0; count];
        for &condition in &conditions {
            sizes[condition] += 1;
        }
        if let Some(empty) = sizes.iter().position(|&size| size == 0) {
            let found = format!("no sample of number {empty}");
            return refused(found, "one or more of each");
        }
        if count < 2 {
            let found = format!("{count} for {} samples", conditions.len());
            return refused(found, "two or more to compare");
        }
        if conditions.len() == count {
            let expected = "replicates, two samples or more, of at least one of them";
            return refused(format!("one sample for each of {count}"), expected);
        }
        let (from, to) = contrast;
        if from == to || from.max(to) >= count {
            let found = format!("numbers {from} and {to} to compare");
            return refused(found, "two different ones");
        }
        Ok(Self {
            conditions,
            sizes,
            contrast,
        })
    }

    /// Residual degrees of freedom: samples less conditions.
    pub fn degrees(&self) -> f64 {
        (self.conditions.len() - self.sizes.len()) as f64
    }

    /// Means of the conditions, and the variance that is left.
    fn fit(&self, values: &[f64]) -> (Vec<f64>, f64) {
        let mut means = vec![0.0; self.sizes.len()];
        for (&condition, value) in self.conditions.iter().zip(values) {
            means[condition] += value / self.sizes[condition] as f64;
        }
        let pairs = self.conditions.iter().zip(values);
        let squares: f64 = pairs.map(|(&c, value)| (value - means[c]).powi(2)).sum();
        (means, squares / self.degrees())
    }
}

/// The result of a comparison for one transcript or gene.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Mean over samples of log2 TPM, on the scale that the samples have in common.
    pub expression: f64,
    /// The same for each condition.
    pub conditions: Vec<f64>,
    /// Inferential standard deviation of the log2 expression of one sample, zero without draws.
    pub inferential: f64,
    /// The change, unless there are too few reads.
    pub change: Option<Change>,
}

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Residual degrees of freedom.
    pub degrees: f64,
    /// Degrees of freedom of the prior variance: how much more is learned from other transcripts.
    pub prior_degrees: f64,
    /// The trend: log2 counts with the biological variance that goes with them.
    pub trend: Vec<(f64, f64)>,
    /// The transcripts, or genes, in the order of the input.
    pub rows: Vec<Row>,
}

/// Compares two conditions; `levels` are those of each sample.
///
/// # Errors
/// [`Error::Data`] where levels and design are not of the samples of `scale`.
pub fn compare(scale: &Scale, levels: &[Levels], design: &Design) -> Result<Comparison> {
    let samples = scale.factors().len();
    let conditions = design.conditions.len();
    for (place, found) in [("levels", levels.len()), ("conditions", conditions)] {
        if found != samples {
            let expected = format!("one for each of {samples} samples");
            return Err(Error::data(
                Place::Whole(place),
                found.to_string(),
                expected,
            ));
        }
    }
    let count = samples as f64;
    let fit = |unit: usize| {
        let values: Vec<f64> = levels.iter().map(|level| level.means[unit]).collect();
        let inferential = levels.iter().map(|level| level.variances[unit]);
        let (means, residual) = design.fit(&values);
        let seen = Seen {
            level: values.iter().sum::<f64>() / count,
            residual,
            inferential: inferential.sum::<f64>() / count,
        };
        (means, seen)
    };
    let fits: Vec<(Vec<f64>, Seen)> = (0..scale.reads().len()).map(fit).collect();
    let tested = |unit: usize| scale.reads()[unit] >= FEWEST;
    let numbered = fits.iter().enumerate();
    let seen = numbered.filter(|(unit, _)| tested(*unit));
    let seen: Vec<Seen> = seen.map(|(_, (_, seen))| *seen).collect();
    let expected = Expected::learn(&seen, design.degrees());
    let mut rows: Vec<Row> = (fits.into_iter().enumerate())
        .map(|(unit, (means, seen))| Row {
            change: tested(unit).then(|| Change::new(design, &means, expected.updated(&seen))),
            expression: seen.level + scale.to_tpm(unit),
            conditions: means.iter().map(|mean| mean + scale.to_tpm(unit)).collect(),
            inferential: seen.inferential.sqrt(),
        })
        .collect();
    change::fill(&mut rows, expected.degrees + design.degrees());
    Ok(Comparison {
        degrees: design.degrees(),
        prior_degrees: expected.degrees,
        trend: expected.trend(),
        rows,
    })
}

/// Where `below` turns false between `low` and `high`.
fn turn(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// The middle of some values, which are sorted on the way; zero of none.
fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => 0.5 * (values[n / 2 - 1] + values[n / 2]),
    }
}
