//! What is known of rows before a model is: that they can be used, how often each is there, and their moments.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use nalgebra::{Cholesky, DMatrix};

use super::known::{check_components, check_labels};
use super::levels;
use super::settings::diagonal;
use super::{Covariance, Settings};
use collapsar_core::rows::{LevelColumn, MISSING, Stored};
use collapsar_core::{Change, Error, Hint, Place, Result};

/// Squares of larger numbers, summed over rows, would overflow.
pub(super) const LARGEST: f64 = 1e140;

/// Rows as they are given.
#[derive(Debug, Clone, Copy)]
pub struct Observations<'a> {
    /// The numbers, row by row; NaN is a value that is missing.
    pub values: &'a [f64],
    /// How many there are in a row.
    pub columns: usize,
    /// How often each row is there, where that is not once.
    pub weights: Option<&'a [f64]>,
    /// The component of each row, where it is known: such a row is of this one with probability one (maths §4.8).
    pub labels: Option<&'a [Option<usize>]>,
}

/// Rows, and how often each is there. NaN is a value that is missing.
#[derive(Debug, Clone)]
pub(super) struct Data<'a> {
    pub(super) source: Source<'a>,
    pub(super) columns: usize,
    /// Those of rows in memory; a file has its own.
    pub(super) weights: Option<Cow<'a, [f64]>>,
    pub(super) labels: Option<&'a [Option<usize>]>,
    /// Columns of levels beside the numbers.
    pub(super) categories: &'a [LevelColumn],
    /// What is missing of the numbers.
    pub(super) gaps: Gaps,
    /// What is missing of all.
    pub(super) missing: Gaps,
    /// How many rows there are in effect, and what tells data apart: of a file, once they are known.
    found: (f64, u64),
}

/// Where rows are.
#[derive(Debug, Clone)]
pub(super) enum Source<'a> {
    Memory(&'a [f64]),
    File(Arc<Stored>),
}

/// How much of the data is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gaps {
    /// Values.
    pub values: usize,
    /// Rows that miss one at least.
    pub rows: usize,
    /// Rows that miss all, and of which nothing else is known: they are left out of the fit, which they say nothing to.
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
    /// The rows, of which those that miss everything, their label too, count for nothing.
    pub(super) fn new(given: Observations<'a>) -> Self {
        let Observations {
            values,
            columns,
            weights,
            labels,
        } = given;
        let mut gaps = Gaps::of(values, columns.max(1));
        let mut weights = weights.map(Cow::Borrowed);
        if gaps.empty > 0 {
            let ones = || Cow::Owned(vec![1.0; values.len() / columns]);
            let weights = weights.get_or_insert_with(ones).to_mut();
            let each = weights.iter_mut().zip(values.chunks_exact(columns));
            for (n, (weight, row)) in each.enumerate() {
                if row.iter().all(|x| x.is_nan()) {
                    // A label by itself speaks of the weights of components.
                    match labels.and_then(|labels| labels.get(n).copied().flatten()) {
                        Some(_) => gaps.empty -= 1,
                        None => *weight = 0.0,
                    }
                }
            }
        }
        Self {
            source: Source::Memory(values),
            columns,
            weights,
            labels,
            categories: &[],
            gaps,
            missing: gaps,
            found: (0.0, 0),
        }
    }

    /// The rows with columns of levels, of which those that miss everything count for nothing.
    pub(super) fn mixed(given: Observations<'a>, categories: &'a [LevelColumn]) -> Self {
        if categories.is_empty() {
            return Self::new(given);
        }
        let Observations {
            values,
            columns,
            weights,
            labels,
        } = given;
        let rows = match columns {
            0 => levels::rows(categories),
            _ => values.len() / columns,
        };
        let (mut gaps, mut missing) = (Gaps::of(values, columns.max(1)), Gaps::default());
        gaps.empty = 0;
        let mut weights = weights.map(Cow::Borrowed);
        for n in 0..rows {
            let numbers = values.get(n * columns..(n + 1) * columns);
            let numbers = numbers.unwrap_or_default().iter();
            let codes = categories.iter().filter_map(|column| column.codes.get(n));
            let count = numbers.filter(|x| x.is_nan()).count()
                + codes.filter(|code| **code == MISSING).count();
            missing.values += count;
            missing.rows += usize::from(count > 0);
            let labelled = labels.and_then(|labels| labels.get(n).copied().flatten());
            if count == columns + categories.len() && labelled.is_none() {
                missing.empty += 1;
                let ones = || Cow::Owned(vec![1.0; rows]);
                if let Some(weight) = weights.get_or_insert_with(ones).to_mut().get_mut(n) {
                    *weight = 0.0;
                }
            }
        }
        gaps.empty = missing.empty;
        Self {
            source: Source::Memory(values),
            columns,
            weights,
            labels,
            categories,
            gaps,
            missing,
            found: (0.0, 0),
        }
    }

    /// The rows of a file, which misses nothing.
    ///
    /// # Errors
    /// As [`Data::check`], and where the file cannot be read.
    pub(super) fn stored(stored: Arc<Stored>, settings: &Settings) -> Result<Self> {
        let mut data = Self {
            columns: stored.columns(),
            source: Source::File(stored),
            weights: None,
            labels: None,
            categories: &[],
            gaps: Gaps::default(),
            missing: Gaps::default(),
            found: (0.0, 0),
        };
        data.found = data.look(settings)?;
        Ok(data)
    }

    pub(super) fn rows(&self) -> usize {
        match &self.source {
            Source::Memory(_) if self.columns == 0 => levels::rows(self.categories),
            Source::Memory(values) => values.len() / self.columns,
            Source::File(stored) => stored.len(),
        }
    }

    fn weight(&self, row: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[row])
    }

    /// The sum of all weights: how many rows there are in effect.
    pub(super) fn total(&self) -> f64 {
        match (&self.source, &self.weights) {
            (Source::File(_), _) => self.found.0,
            (_, Some(weights)) => weights.iter().sum(),
            (_, None) => self.rows() as f64,
        }
    }

    /// Visits the rows with their weights, in their order.
    fn each_row(&self, mut visit: impl FnMut(f64, &[f64])) -> Result<()> {
        match &self.source {
            // There is nothing in them.
            Source::Memory(_) if self.columns == 0 => Ok(()),
            Source::Memory(values) => {
                for (n, row) in values.chunks_exact(self.columns).enumerate() {
                    visit(self.weight(n), row);
                }
                Ok(())
            }
            Source::File(stored) => {
                let mut row = vec![0.0; self.columns];
                stored.each(0..stored.len(), None, |block| {
                    for at in 0..block.width {
                        let numbers = block.values.iter().skip(at).step_by(block.width);
                        for (x, number) in row.iter_mut().zip(numbers) {
                            *x = *number;
                        }
                        visit(block.weights.map_or(1.0, |weights| weights[at]), &row);
                    }
                    Ok(ControlFlow::Continue(()))
                })
            }
        }
    }

    /// Checks the rows of a file in one pass: their total weight, and what tells them apart.
    fn look(&self, settings: &Settings) -> Result<(f64, u64)> {
        let components = settings.components;
        let (mut total, mut positive, mut rows) = (0.0, 0, 0);
        let (mut digest, mut bad, mut bad_weight) = (Digest::default(), None, None);
        self.each_row(|weight, row| {
            if bad_weight.is_none() && !is_usable(weight) {
                bad_weight = Some((rows, weight));
            }
            total += weight;
            positive += usize::from(weight > 0.0);
            let unusable = |x: &f64| x.is_nan() || x.abs() > LARGEST;
            if let (None, Some(column)) = (bad, row.iter().position(unusable)) {
                bad = Some((rows, column, row[column]));
            }
            digest.add(row);
            rows += 1;
        })?;
        if rows == 0 {
            let expected = "at least one row of numbers";
            return Err(Error::data(Place::Whole("data"), "no rows", expected));
        }
        if components == 0 {
            return Err(Error::setting("components", "0", "at least 1"));
        }
        if let Some((row, weight)) = bad_weight {
            return Err(unusable_weight(row, weight));
        }
        let Source::File(stored) = &self.source else {
            return Ok((total, digest.0));
        };
        let mut effective = rows;
        if stored.is_weighted() {
            if positive == 0 {
                return Err(no_weight());
            }
            effective = positive.max(total as usize);
        } else {
            total = rows as f64;
        }
        if effective < components {
            return Err(too_few(effective, components));
        }
        if let Some((row, column, found)) = bad {
            return Err(too_large(Place::Cell { row, column }, found));
        }
        if stored.is_weighted() {
            stored.each(0..rows, None, |block| {
                digest.add(block.weights.unwrap_or_default());
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok((total, digest.0))
    }

    /// Checks rows in memory; those of a file have been.
    pub(super) fn check(&self, settings: &Settings) -> Result<()> {
        let Source::Memory(values) = self.source else {
            return Ok(());
        };
        let components = settings.components;
        self.check_batch(components)?;
        let (columns, mut rows) = (self.columns, self.rows());
        if let Some(weights) = &self.weights {
            // Rows that are there several times count as often.
            rows = weights.iter().filter(|weight| **weight > 0.0).count();
            rows = rows.max(self.total() as usize);
        }
        if rows < components {
            return Err(too_few(rows, components));
        }
        let empty = |column: &usize| {
            let rows = values.chunks_exact(columns).enumerate();
            let mut rows = rows.filter(|(n, _)| self.weight(*n) > 0.0);
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

    /// Refuses rows that cannot be used, even as some of many.
    pub(super) fn check_batch(&self, components: usize) -> Result<()> {
        let Source::Memory(values) = self.source else {
            return Ok(());
        };
        let columns = self.columns;
        let refuse = |found: String, expected: String| {
            Err(Error::data(Place::Whole("data"), found, expected))
        };
        let any = if columns == 0 {
            self.rows() > 0
        } else {
            !values.is_empty()
        };
        if !any {
            return refuse("no rows".into(), "at least one row of numbers".into());
        }
        if columns > 0 && !values.len().is_multiple_of(columns) {
            let expected = format!("a multiple of {columns} columns");
            return refuse(format!("{} numbers", values.len()), expected);
        }
        let rows = self.rows();
        if self.gaps.empty == rows {
            return refuse("no value".into(), "a row that has one".into());
        }
        if components == 0 {
            return Err(Error::setting("components", "0", "at least 1"));
        }
        levels::check(self.categories, (rows, columns, components))?;
        if let Some(labels) = self.labels {
            check_labels(labels, rows)?;
            check_components(labels, components)?;
        }
        if let Some(weights) = &self.weights {
            check_weights(weights, rows)?;
        }
        if let Some(bad) = values.iter().position(|x| x.abs() > LARGEST) {
            return Err(too_large(Place::cell(bad, columns), values[bad]));
        }
        Ok(())
    }

    /// How many rows have each column.
    pub(super) fn observed(&self) -> Result<Vec<f64>> {
        if !self.gaps.any() {
            return Ok(vec![self.total(); self.columns]);
        }
        let mut observed = vec![0.0; self.columns];
        self.each_row(|weight, row| {
            for (sum, _) in observed.iter_mut().zip(row).filter(|(_, x)| !x.is_nan()) {
                *sum += weight;
            }
        })?;
        Ok(observed)
    }

    /// Mean and (population) variance of each column, of the values that it has.
    pub(super) fn moments(&self) -> Result<(Vec<f64>, Vec<f64>)> {
        let observed = self.observed()?;
        let mut mean = vec![0.0; self.columns];
        self.each_row(|weight, row| {
            let there = mean.iter_mut().zip(row).zip(&observed);
            for ((m, x), total) in there.filter(|((_, x), _)| !x.is_nan()) {
                *m += weight * x / total;
            }
        })?;
        let mut variance = vec![0.0; self.columns];
        self.each_row(|weight, row| {
            let there = variance.iter_mut().zip(row).zip(mean.iter().zip(&observed));
            for ((v, x), (m, total)) in there.filter(|((_, x), _)| !x.is_nan()) {
                *v += weight * (x - m) * (x - m) / total;
            }
        })?;
        // A constant column's mean may be off by rounding: its variance is still none.
        for (column, (v, m)) in variance.iter_mut().zip(&mut mean).enumerate() {
            if *v <= (1e-14 * m.abs()).powi(2) {
                let mut first = None;
                self.each_row(|weight, row| {
                    if first.is_none() && weight > 0.0 && !row[column].is_nan() {
                        first = Some(row[column]);
                    }
                })?;
                (*v, *m) = (0.0, first.unwrap_or(*m));
            }
        }
        Ok((mean, variance))
    }

    /// The sample covariance, its diagonal, or the mean of that times the identity.
    pub(super) fn default_scale(
        &self,
        (mean, variance): &(Vec<f64>, Vec<f64>),
        covariance: Covariance,
    ) -> Result<Vec<f64>> {
        let (columns, total) = (self.columns, self.total());
        if columns == 0 {
            return Ok(vec![]);
        }
        check_varies(mean, variance, covariance)?;
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
            Covariance::Full | Covariance::Tied if self.gaps.any() => {
                self.pairwise(mean, variance)?
            }
            Covariance::Full | Covariance::Tied => {
                let mut matrix = vec![0.0; columns * columns];
                let mut from_mean = vec![0.0; columns];
                self.each_row(|weight, row| {
                    for ((from, x), mean) in from_mean.iter_mut().zip(row).zip(mean) {
                        *from = x - mean;
                    }
                    for (cells, from) in matrix.chunks_exact_mut(columns).zip(&from_mean) {
                        let weighed = weight * from;
                        for (cell, other) in cells.iter_mut().zip(&from_mean) {
                            *cell += weighed * other / others;
                        }
                    }
                })?;
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
    fn pairwise(&self, mean: &[f64], variance: &[f64]) -> Result<Vec<f64>> {
        let columns = self.columns;
        let (mut matrix, mut total) = (vec![0.0; columns * columns], vec![0.0; columns * columns]);
        self.each_row(|weight, row| {
            for i in (0..columns).filter(|i| !row[*i].is_nan()) {
                for j in (0..columns).filter(|j| !row[*j].is_nan()) {
                    matrix[i * columns + j] += weight * (row[i] - mean[i]) * (row[j] - mean[j]);
                    total[i * columns + j] += weight;
                }
            }
        })?;
        for (cell, total) in matrix.iter_mut().zip(&total) {
            *cell /= (total - 1.0).max(1.0);
        }
        if Cholesky::new(DMatrix::from_row_slice(columns, columns, &matrix)).is_some() {
            return Ok(matrix);
        }
        Ok(diagonal(columns, |i| variance[i]))
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
        let Source::Memory(values) = self.source else {
            return self.found.1;
        };
        let weights = self.weights.as_deref().unwrap_or_default();
        let labels: Vec<f64> = (self.labels.unwrap_or_default().iter())
            .map(|label| label.map_or(-1.0, |k| k as f64))
            .collect();
        let levels = levels::numbers(self.categories);
        digest(values.iter().chain(weights).chain(&labels).chain(&levels))
    }
}

/// Refuses moments from which there is no default scale.
pub(super) fn check_varies(mean: &[f64], variance: &[f64], covariance: Covariance) -> Result<()> {
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
    Ok(())
}

fn too_few(rows: usize, components: usize) -> Error {
    let found = format!("{rows} rows for {components} components");
    let expected = "at least as many rows as components";
    let error = Error::data(Place::Whole("data"), found, expected);
    error.with_hint(Hint::Option("components", Change::Fewer))
}

fn too_large(place: Place, found: f64) -> Error {
    let expected = format!("a finite number no larger than {LARGEST:e}; rescale the column");
    Error::data(place, format!("{found:e}"), expected)
}

fn is_usable(weight: f64) -> bool {
    (0.0..=LARGEST).contains(&weight)
}

fn unusable_weight(row: usize, weight: f64) -> Error {
    let found = format!("a weight of {weight}");
    let expected = "a finite number that is not negative";
    Error::data(Place::Row(row), found, expected)
}

fn no_weight() -> Error {
    let found = "weights that are all zero";
    Error::data(Place::Whole("data"), found, "a weight above zero")
}

/// Refuses weights that do not say how often each row is there.
fn check_weights(weights: &[f64], rows: usize) -> Result<()> {
    if weights.len() != rows {
        let expected = format!("{rows}, one for each row");
        return Err(Error::data(
            Place::Whole("data"),
            format!("{} weights", weights.len()),
            expected,
        ));
    }
    if let Some(row) = weights.iter().position(|weight| !is_usable(*weight)) {
        return Err(unusable_weight(row, weights[row]));
    }
    if weights.iter().all(|weight| *weight == 0.0) {
        return Err(no_weight());
    }
    Ok(())
}

/// There are many NaN, and one way to be missing.
fn bits(x: f64) -> u64 {
    if x.is_nan() { f64::NAN } else { x }.to_bits()
}

/// Tells arrays of numbers apart.
pub(super) fn digest<'a>(numbers: impl IntoIterator<Item = &'a f64>) -> u64 {
    let bytes = numbers.into_iter().flat_map(|x| bits(*x).to_le_bytes());
    collapsar_core::digest(bytes)
}

/// The same of numbers that come in pieces.
struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(collapsar_core::digest(std::iter::empty()))
    }
}

impl Digest {
    fn add(&mut self, numbers: &[f64]) {
        let bytes = numbers.iter().flat_map(|x| bits(*x).to_le_bytes());
        self.0 = collapsar_core::digest_on(self.0, bytes);
    }
}
