//! Decides how numbers cross: NumPy arrays in without a copy, new ones out.

use collapsar::Step;
use collapsar_run::Climbed;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The numbers of a C-contiguous matrix, where they are, and its columns.
pub(crate) fn rows<'a>(array: &'a PyReadonlyArray2<'_, f64>) -> PyResult<(&'a [f64], usize)> {
    let values = array
        .as_slice()
        .map_err(|_| PyValueError::new_err("X is not C-contiguous"))?;
    Ok((values, array.shape()[1]))
}

/// An array of this shape.
pub(crate) fn shaped<'py>(
    py: Python<'py>,
    values: Vec<f64>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    let flat = PyArray1::from_vec(py, values);
    Ok(flat.reshape(shape.to_vec())?.into_any())
}

/// A column of the trace.
pub(crate) fn column<'py, T: numpy::Element>(
    py: Python<'py>,
    steps: &[Step],
    value: impl Fn(&Step) -> T,
) -> Bound<'py, PyAny> {
    PyArray1::from_vec(py, steps.iter().map(value).collect()).into_any()
}

/// What every climb says of itself.
pub(crate) fn report<'py>(
    py: Python<'py>,
    climbed: &Climbed,
    raised: Option<PyErr>,
) -> PyResult<Bound<'py, PyDict>> {
    let fit = climbed.best();
    let steps = &climbed.climbs.steps;
    let trace = PyDict::new(py);
    trace.set_item("iteration", column(py, steps, |step| step.iteration))?;
    trace.set_item("passes", column(py, steps, |step| step.passes))?;
    trace.set_item("bound", column(py, steps, |step| step.bound))?;
    trace.set_item("gain", column(py, steps, |step| step.gain))?;
    let norm = |step: &Step| step.squared_norm.unwrap_or(f64::NAN);
    trace.set_item("squared_norm", column(py, steps, norm))?;
    trace.set_item(
        "beta",
        column(py, steps, |step| step.beta.unwrap_or(f64::NAN)),
    )?;
    trace.set_item("fell_back", column(py, steps, |step| step.fell_back))?;
    trace.set_item("trial", column(py, steps, |step| step.trial))?;
    trace.set_item("seconds", column(py, steps, |step| step.seconds))?;

    let report = PyDict::new(py);
    report.set_item("trace", trace)?;
    report.set_item("bound", fit.point.bound)?;
    let ends = climbed.climbs.ends.iter();
    let bounds = ends.map(|end| end.map_or(f64::NEG_INFINITY, |end| end.bound));
    report.set_item("bounds", PyArray1::from_iter(py, bounds))?;
    report.set_item("converged", climbed.outcome.converged)?;
    report.set_item("outcome", &climbed.outcome.reason)?;
    report.set_item("iterations", fit.iterations)?;
    report.set_item("passes", fit.passes)?;
    report.set_item("seconds", fit.seconds)?;
    report.set_item("raised", raised)?;
    Ok(report)
}
