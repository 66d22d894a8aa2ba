//! Decides how numbers cross: NumPy arrays in without a copy, new ones out.

use collapsar_run::Climbed;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;
use serde_json::json;

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

/// What serde makes of a value, as Python has it: numbers that are not finite are None.
pub(crate) fn python<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value);
    let text = text.map_err(|error| PyValueError::new_err(error.to_string()))?;
    py.import("json")?.call_method1("loads", (text,))
}

/// What every climb says of itself.
pub(crate) fn report<'py>(
    py: Python<'py>,
    climbed: &Climbed,
    raised: Option<PyErr>,
) -> PyResult<Bound<'py, PyDict>> {
    let fit = climbed.best();
    let ends = climbed.climbs.ends.iter();
    let report = json!({
        "steps": climbed.climbs.steps,
        "bound": fit.point.bound,
        "bounds": ends.map(|end| end.map(|end| end.bound)).collect::<Vec<_>>(),
        "spread": climbed.climbs.spread(),
        "converged": climbed.outcome.converged,
        "outcome": climbed.outcome.reason,
        "iterations": fit.iterations,
        "passes": fit.passes,
        "seconds": fit.seconds,
        "jumps_taken": fit.jumps_taken,
    });
    let report = python(py, &report)?.cast_into::<PyDict>()?;
    report.set_item("raised", raised)?;
    Ok(report)
}
