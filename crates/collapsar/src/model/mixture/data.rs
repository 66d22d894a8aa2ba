//! What is known of rows before a model is: that they can be used, how often each is there, and their moments.

use std::borrow::Cow;

use nalgebra::{Cholesky, DMatrix};

use super::settings::diagonal;
use super::{Covariance, Settings};
use collapsar_core::{Change, Error, Hint, Place, Result};

/// Squares of larger numbers, summed over rows, would overflow.
pub(super) const LARGEST: f64 = 1e140;

/// Rows, and how often each is there. NaN is a value that is missing.
#[derive(Debug, Clone)]
pub(super) struct Data<'a> {
    pub(super) values: &'a [f64],
    pub(super) columns: usize,
    pub(super) weights: Option<Cow<'a, [f64]>>,
    pub(super) gaps: Gaps,
}

/// How much of the data is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gaps {
    /// Values.
    pub values: usize,
    /// Rows that miss one at least.
    pub rows: usize,
    /// Rows that miss all: they are left out of the fit, which they say nothing to.
    pub empty: usize,
}

impl Gaps {
    /// What is missing of row-major `values`.
    pub fn of(values: &[f64], columns: usize) -> Self {
        let mut gaps = Self::default();
        if !values.iter().any(|x| x.is_nan()) {
            return gaps;
        }
        for row in values.chunks_exact(columns) {
            let missing = row.iter().filter(|x| x.is_nan()).count();
            gaps.values += missing;
            gaps.rows += usize::from(missing > 0);
            gaps.empty += usize::from(missing == columns);
        }
        gaps
    }

    /// Whether there is any.
    pub fn any(&self) -> bool {
        self.values > 0
    }
}

impl<'a> Data<'a> {
    /// The rows, of which those that miss everything count for nothing.
    pub(super) fn new(values: &'a [f64], columns: usize, weights: Option<&'a [f64]>) -> Self {
        let gaps = Gaps::of(values, columns.max(1));
        let mut weights = weights.map(Cow::Borrowed);
        if gaps.empty > 0 {
            let ones = || Cow::Owned(vec![1.0; values.len() / columns]);
            let weights = weights.get_or_insert_with(ones).to_mut();
            for (weight, row) in weights.iter_mut().zip(values.chunks_exact(columns)) {
                if row.iter().all(|x| x.is_nan()) {
                    *weight = 0.0;
                }
            }
        }
        Self {
            values,
            columns,
            weights,
            gaps,
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.values.len() / self.columns
    }

    fn weight(&self, row: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[row])
    }

    /// The sum of all weights: how many rows there are in effect.
    pub(super) fn total(&self) -> f64 {
        match &self.weights {
            Some(weights) => weights.iter().sum(),
            None => self.rows() as f64,
        }
    }

    /// The rows with their weights.
    fn weighted(&self) -> impl Iterator<Item = (f64, &[f64])> {
        let rows = self.values.chunks_exact(self.columns).enumerate();
        rows.map(|(n, row)| (self.weight(n), row))
    }

    pub(super) fn check(&self, settings: &Settings) -> Result<()> {
        let (values, columns) = (self.values, self.columns);
        let refuse = |found: String, expected: String| {
            Err(Error::data(Place::Whole("data"), found, expected))
        };
        if columns == 0 || values.is_empty() {
            return refuse("no rows".into(), "at least one row of numbers".into());
        }
        if !values.len().is_multiple_of(columns) {
            let expected = format!("a multiple of {columns} columns");
            return refuse(format!("{} numbers", values.len()), expected);
        }
        let (mut rows, components) = (self.rows(), settings.components);
        if self.gaps.empty == rows {
            return refuse("no value".into(), "a row that has one".into());
        }
        if components == 0 {
            return Err(Error::setting("components", "0", "at least 1"));
        }
        if let Some(weights) = &self.weights {
            check_weights(weights, rows)?;
            // Rows that are there several times count as often.
            rows = weights.iter().filter(|weight| **weight > 0.0).count();
            rows = rows.max(self.total() as usize);
        }
        if rows < components {
            let found = format!("{rows} rows for {components} components");
            let refused = refuse(found, "at least as many rows as components".into());
            let fewer = Hint::Option("components", Change::Fewer);
            return refused.map_err(|error| error.with_hint(fewer));
        }
        if let Some(bad) = values.iter().position(|x| x.abs() > LARGEST) {
            let expected =
                format!("a finite number no larger than {LARGEST:e}; rescale the column");
            let found = format!("{:e}", values[bad]);
            return Err(Error::data(Place::cell(bad, columns), found, expected));
        }
        let empty = |column: &usize| {
            let mut rows = self.weighted().filter(|(weight, _)| *weight > 0.0);
            rows.all(|(_, row)| row[*column].is_nan())
        };
        if self.gaps.any()
            && let Some(column) = (0..columns).find(empty)
        {
            let expected = "a column that has a value";
            let error = Error::data(Place::Column(column), "no value", expected);
            return Err(error.with_hint(Hint::give("columns")));
        }
        Ok(())
    }

    /// How many rows have each column.
    pub(super) fn observed(&self) -> Vec<f64> {
        if !self.gaps.any() {
            return vec![self.total(); self.columns];
        }
        let mut observed = vec![0.0; self.columns];
        for (weight, row) in self.weighted() {
            for (sum, _) in observed.iter_mut().zip(row).filter(|(_, x)| !x.is_nan()) {
                *sum += weight;
            }
        }
        observed
    }

    /// Mean and (population) variance of each column, of the values that it has.
    pub(super) fn moments(&self) -> (Vec<f64>, Vec<f64>) {
        let observed = self.observed();
        let mut mean = vec![0.0; self.columns];
        for (weight, row) in self.weighted() {
            let there = mean.iter_mut().zip(row).zip(&observed);
            for ((m, x), total) in there.filter(|((_, x), _)| !x.is_nan()) {
                *m += weight * x / total;
            }
        }
        let mut variance = vec![0.0; self.columns];
        for (weight, row) in self.weighted() {
            let there = variance.iter_mut().zip(row).zip(mean.iter().zip(&observed));
            for ((v, x), (m, total)) in there.filter(|((_, x), _)| !x.is_nan()) {
                *v += weight * (x - m) * (x - m) / total;
            }
        }
        // A constant column's mean may be off by rounding: its variance is still none.
        for (column, (v, m)) in variance.iter_mut().zip(&mut mean).enumerate() {
            if *v <= (1e-14 * m.abs()).powi(2) {
                let mut rows = self.weighted().filter(|(weight, _)| *weight > 0.0);
                let first = rows.find_map(|(_, row)| Some(row[column]).filter(|x| !x.is_nan()));
                (*v, *m) = (0.0, first.unwrap_or(*m));
            }
        }
        (mean, variance)
    }

    /// The sample covariance, its diagonal, or the mean of that times the identity.
    pub(super) fn default_scale(
        &self,
        (mean, variance): &(Vec<f64>, Vec<f64>),
        covariance: Covariance,
    ) -> Result<Vec<f64>> {
        let (columns, total) = (self.columns, self.total());
        let constant = |v: &f64| *v == 0.0;
        let constant = match covariance {
            Covariance::Spherical => variance.iter().all(constant).then_some(0),
            _ => variance.iter().position(constant),
        };
        if let Some(column) = constant {
            let found = format!("the constant {}", mean[column]);
            let error = Error::data(Place::Column(column), found, "a column that varies");
            let hints = vec![Hint::give("columns"), Hint::give("scale")];
            return Err(error.with_hint(Hint::Any(hints)));
        }
        // scikit-learn divides by N - 1.
        let others = total - 1.0;
        if others <= 0.0 {
            let found = format!("weights whose sum is {total}");
            let expected = "a sum of more than 1, since weights count rows";
            let error = Error::data(Place::Whole("data"), found, expected);
            return Err(error.with_hint(Hint::give("scale")));
        }
        let unbiased = total / others;
        Ok(match covariance {
            Covariance::Full | Covariance::Tied if self.gaps.any() => self.pairwise(mean, variance),
            Covariance::Full | Covariance::Tied => {
                let mut matrix = vec![0.0; columns * columns];
                for (weight, row) in self.weighted() {
                    for (i, cells) in matrix.chunks_exact_mut(columns).enumerate() {
                        for (j, cell) in cells.iter_mut().enumerate() {
                            *cell += weight * (row[i] - mean[i]) * (row[j] - mean[j]) / others;
                        }
                    }
                }
                matrix
            }
            Covariance::Diagonal => diagonal(columns, |i| variance[i] * unbiased),
            Covariance::Spherical => {
                let mean = variance.iter().sum::<f64>() / columns as f64;
                diagonal(columns, |_| mean * unbiased)
            }
        })
    }

    /// The covariance of each pair of columns from the rows that have both; its diagonal where that is no covariance.
    fn pairwise(&self, mean: &[f64], variance: &[f64]) -> Vec<f64> {
        let columns = self.columns;
        let (mut matrix, mut total) = (vec![0.0; columns * columns], vec![0.0; columns * columns]);
        for (weight, row) in self.weighted() {
            for i in (0..columns).filter(|i| !row[*i].is_nan()) {
                for j in (0..columns).filter(|j| !row[*j].is_nan()) {
                    matrix[i * columns + j] += weight * (row[i] - mean[i]) * (row[j] - mean[j]);
                    total[i * columns + j] += weight;
                }
            }
        }
        for (cell, total) in matrix.iter_mut().zip(&total) {
            *cell /= (total - 1.0).max(1.0);
        }
        if Cholesky::new(DMatrix::from_row_slice(columns, columns, &matrix)).is_some() {
            return matrix;
        }
        diagonal(columns, |i| variance[i])
    }

    /// Shift and scale that bring each column to mean 0 and standard deviation 1, or all columns to
    /// a common deviation where components are spherical (maths §4.4).
    pub(super) fn standard(
        (shift, mut variance): (Vec<f64>, Vec<f64>),
        covariance: Covariance,
    ) -> (Vec<f64>, Vec<f64>) {
        if covariance == Covariance::Spherical {
            let mean = variance.iter().sum::<f64>() / shift.len() as f64;
            variance.fill(mean);
        }
        // A constant column has no scale of its own; any will do.
        let scale = variance
            .iter()
            .map(|&v| if v > 0.0 { v.sqrt() } else { 1.0 })
            .collect();
        (shift, scale)
    }

    /// Tells data apart.
    pub(super) fn digest(&self) -> u64 {
        let weights = self.weights.as_deref().unwrap_or_default();
        digest(self.values.iter().chain(weights))
    }
}

/// Refuses weights that do not say how often each row is there.
fn check_weights(weights: &[f64], rows: usize) -> Result<()> {
    let whole = || Place::Whole("data");
    if weights.len() != rows {
        let expected = format!("{rows}, one for each row");
        return Err(Error::data(
            whole(),
            format!("{} weights", weights.len()),
            expected,
        ));
    }
    let usable = |weight: &f64| (0.0..=LARGEST).contains(weight);
    if let Some(row) = weights.iter().position(|weight| !usable(weight)) {
        let found = format!("a weight of {}", weights[row]);
        let expected = "a finite number that is not negative";
        return Err(Error::data(Place::Row(row), found, expected));
    }
    if weights.iter().all(|weight| *weight == 0.0) {
        let found = "weights that are all zero";
        return Err(Error::data(whole(), found, "a weight above zero"));
    }
    Ok(())
}

/// Tells arrays of numbers apart.
pub(super) fn digest<'a>(numbers: impl IntoIterator<Item = &'a f64>) -> u64 {
    // There are many NaN, and one way to be missing.
    let bits = |x: &f64| if x.is_nan() { f64::NAN } else { *x }.to_bits();
    let bytes = numbers.into_iter().flat_map(|x| bits(x).to_le_bytes());
    collapsar_core::digest(bytes)
}
