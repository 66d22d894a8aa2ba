//! Mixtures of Gaussians that learn from batches of rows.

use std::sync::atomic::Ordering;

use collapsar::mixture::{Observations, OnlineMixture as Online, OnlineOptions, Start};
use collapsar_run::{Watch, threads_of_jobs};
use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{python, rows};
use crate::error::Result;
use crate::mixture::{FittedMixture, KnownLabels, Options, RowWeights};
use crate::run::whole;

/// How batches count: rows in all, decay and offset.
type Schedule = (f64, f64, f64);

fn options((rows, decay, offset): Schedule) -> OnlineOptions {
    OnlineOptions {
        rows,
        decay,
        offset,
    }
}

/// A mixture that learns from one batch of rows after another.
#[pyclass(module = "pycollapsar._collapsar")]
pub(crate) struct OnlineMixture(Online);

#[pymethods]
impl OnlineMixture {
    /// A mixture from what `__reduce__` made of it.
    #[new]
    fn new(json: &str) -> PyResult<Self> {
        let online = serde_json::from_str(json)
            .map_err(|error| PyValueError::new_err(format!("not a mixture: {error}")))?;
        Ok(Self(online))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let json = serde_json::to_string(&self.0);
        let json = json.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok((py.get_type::<Self>().into_any(), (json,)))
    }

    /// A mixture that has not learned yet: its first rows say what units, prior and first components are.
    #[staticmethod]
    fn begin(
        py: Python<'_>,
        x: PyReadonlyArray2<'_, f64>,
        mut given: Options,
        schedule: Schedule,
        seed: u64,
        jobs: Option<isize>,
    ) -> PyResult<Self> {
        let (values, columns) = rows(&x)?;
        let threads = threads_of_jobs(jobs, Some(values.len() * given.components()));
        let (weights, known) = given.of_rows();
        let online = whole(py, threads, |_| {
            let first = Observations {
                values,
                columns,
                weights: weights.as_ref().map(|weights| &weights.0[..]),
                labels: known.as_ref().map(|known| &known.0[..]),
            };
            let random = given.is_random();
            let (settings, starts) = given.model()?;
            let start = starts.into_iter().next();
            let start = start.unwrap_or(if random { Start::Random } else { Start::KMeans });
            Ok(Online::new(
                first,
                &settings,
                options(schedule),
                &start,
                seed,
            )?)
        })?;
        Ok(Self(online))
    }

    /// Learns from rows, batch by batch; the weight of these, and what the mixture before each batch said of it.
    #[pyo3(signature = (x, weights, known, batch_size, schedule, jobs))]
    #[allow(clippy::too_many_arguments, reason = "those of Python's call")]
    fn learn(
        &mut self,
        py: Python<'_>,
        x: PyReadonlyArray2<'_, f64>,
        weights: Option<RowWeights>,
        known: Option<KnownLabels>,
        batch_size: usize,
        schedule: Schedule,
        jobs: Option<isize>,
    ) -> PyResult<(f64, f64)> {
        let (values, columns) = rows(&x)?;
        let online = self.0.clone();
        let size = batch_size.max(1);
        let threads = threads_of_jobs(jobs, Some(values.len().min(size * columns)));
        let (learned, score) = whole(py, threads, move |control| {
            let mut online = online.with_options(options(schedule))?;
            let (mut count, mut bound) = (0.0, 0.0);
            for (batch, values) in values.chunks(size * columns).enumerate() {
                // An interrupted call raises, and what it has learned is dropped.
                if control.interrupt().load(Ordering::Relaxed) {
                    break;
                }
                let within = batch * size..batch * size + values.len() / columns;
                let weights = weights.as_ref().map(|of| &of.0[within.clone()]);
                let rows = Observations {
                    values,
                    columns,
                    weights,
                    labels: known.as_ref().map(|of| &of.0[within.clone()]),
                };
                let there = weights.is_none_or(|weights| weights.iter().any(|w| *w != 0.0));
                let said = |row: usize| rows.labels.is_some_and(|labels| labels[row].is_some());
                let empty = |(row, x): (usize, &[f64])| x.iter().all(|x| x.is_nan()) && !said(row);
                // Nothing is learned from rows that say nothing.
                if there && !values.chunks_exact(columns).enumerate().all(empty) {
                    let score = online.learn(rows)?;
                    count += score.rows;
                    bound += score.bound;
                }
            }
            Ok((online, (count, bound)))
        })?;
        self.0 = learned;
        Ok(score)
    }

    /// What is known of the components now, and what scores rows; how many batches there have been.
    fn fitted<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, FittedMixture, u64)> {
        let fit = whole(py, 1, |_| -> Result<_> { Ok(self.0.fit()?) })?;
        let described = python(py, &fit)?;
        Ok((described, FittedMixture::of(fit), self.0.batches()))
    }
}
