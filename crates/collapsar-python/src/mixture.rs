//! Mixtures of Gaussians: fits, scores and draws.

use std::sync::atomic::Ordering;

use collapsar::mixture::{
    Component, Covariance, Matrix, Mixture, MixtureFit, Prior, Scale, Settings, Start, Weights,
};
use collapsar::{Collapsed, Error, Jumps, Place};
use collapsar_run::Watch;
use numpy::{PyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;

use crate::arrays::{report, rows, shaped};
use crate::run::{Plan, detached};

/// Responsibilities of a start, row by row.
#[derive(Debug)]
struct Shares(Vec<f64>);

impl<'py> FromPyObject<'_, 'py> for Shares {
    type Error = PyErr;

    fn extract(array: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let array: PyReadonlyArray2<'py, f64> = array.extract()?;
        Ok(Self(rows(&array)?.0.to_vec()))
    }
}

/// A mixture as Python's dictionary says.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Wanted {
    components: usize,
    covariance: String,
    process: bool,
    concentration: Option<f64>,
    location: Option<Vec<f64>>,
    mean_precision: Option<f64>,
    degrees_of_freedom: Option<f64>,
    /// Row-major; what is not given comes from the data.
    scale: Option<Vec<f64>>,
    start: String,
    /// Where each climb begins: in one component of each row, or in shares of all.
    labels: Option<Vec<Vec<usize>>>,
    responsibilities: Option<Vec<Shares>>,
    /// Where an earlier fit ended, and of what: it goes on from there if that is the same still.
    messages: Option<Vec<f64>>,
    fingerprint: Option<String>,
    jumps: bool,
}

fn covariance(name: &str) -> collapsar::Result<Covariance> {
    let found = Covariance::ALL.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| Error::setting("covariance", name, "full, tied, diag or spherical"))
}

fn weights(process: bool) -> Weights {
    if process {
        Weights::DirichletProcess
    } else {
        Weights::Dirichlet
    }
}

impl Wanted {
    fn settings(&self) -> collapsar::Result<Settings> {
        Ok(Settings {
            covariance: covariance(&self.covariance)?,
            weights: weights(self.process),
            concentration: self.concentration,
            location: self.location.clone(),
            mean_precision: self.mean_precision,
            degrees_of_freedom: self.degrees_of_freedom,
            scale: self.scale.clone().map(Scale::Matrix),
            ..Settings::new(self.components)
        })
    }

    /// Where climbs begin that were told so, in their order, and where all others do.
    fn starts(&mut self) -> (Vec<Start>, Start) {
        let labels = self.labels.take().unwrap_or_default();
        let shares = self.responsibilities.take().unwrap_or_default();
        let told = labels.into_iter().map(Start::Labels);
        let told = told.chain(shares.into_iter().map(|one| Start::Responsibilities(one.0)));
        let other = match &*self.start {
            "random" => Start::Random,
            _ => Start::KMeans,
        };
        (told.collect(), other)
    }
}

/// Fits a mixture to the rows of a matrix.
#[pyfunction]
pub(crate) fn fit_mixture<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    mut wanted: Wanted,
    plan: Plan,
    callback: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (told, other) = wanted.starts();
    let (values, columns) = rows(&x)?;
    let ((climbed, answer, fingerprint), raised) =
        detached(py, plan.threads, callback, |control| {
            let model = Mixture::new(values, columns, &wanted.settings()?)?;
            let fingerprint = model.fingerprint();
            let earlier = wanted.messages.as_ref();
            let earlier = earlier.filter(|_| wanted.fingerprint.as_ref() == Some(&fingerprint));
            let start = |seed: u64| {
                if let Some(messages) = earlier {
                    return Ok((messages.clone(), 0));
                }
                let index = seed.wrapping_sub(plan.seed) as usize;
                model.start(told.get(index).unwrap_or(&other), seed)
            };
            let jumps = wanted.jumps.then_some(&model as &dyn Jumps);
            let climbed = plan.climb(&model, &start, jumps, control)?;
            let answer = model.fit(&climbed.fit.point)?;
            Ok((climbed, answer, fingerprint))
        })?;
    let result = report(py, &climbed, raised)?;
    describe(&result, &answer)?;
    let messages = PyArray1::from_vec(py, climbed.fit.point.messages);
    result.set_item("messages", messages)?;
    result.set_item("fingerprint", fingerprint)?;
    result.set_item("jumps_taken", climbed.fit.jumps_taken)?;
    Ok(result)
}

/// Puts the components into a dictionary of arrays.
fn describe(out: &Bound<'_, PyDict>, answer: &MixtureFit) -> PyResult<()> {
    let py = out.py();
    let all = &answer.components;
    let (count, columns) = (all.len(), answer.columns());
    let each = |value: &dyn Fn(&Component) -> f64| {
        PyArray1::from_vec(py, all.iter().map(value).collect()).into_any()
    };
    out.set_item("weights", each(&|c| c.weight))?;
    out.set_item("weight_sd", each(&|c| c.weight_sd))?;
    out.set_item("counts", each(&|c| c.count))?;
    out.set_item("mean_precision", each(&|c| c.mean_precision))?;
    out.set_item("degrees_of_freedom", each(&|c| c.degrees_of_freedom))?;
    out.set_item("unused_weight", answer.unused_weight)?;
    let means = all.iter().flat_map(|c| c.mean.clone()).collect();
    out.set_item("means", shaped(py, means, &[count, columns])?)?;
    let absent = || vec![f64::NAN; columns];
    let sds = all.iter();
    let sds = sds.flat_map(|c| c.mean_sd.clone().unwrap_or_else(absent));
    out.set_item("mean_sd", shaped(py, sds.collect(), &[count, columns])?)?;

    // Tied components all carry the one matrix that there is.
    let some = match answer.covariance {
        Covariance::Tied => &all[..1],
        _ => &all[..],
    };
    let one: &[usize] = match answer.covariance {
        Covariance::Full | Covariance::Tied => &[columns, columns],
        Covariance::Diagonal => &[columns],
        Covariance::Spherical => &[],
    };
    let shape: Vec<usize> = match answer.covariance {
        Covariance::Tied => one.to_vec(),
        _ => [&[count], one].concat(),
    };
    let numbers = one.iter().product();
    let matrices = |matrix: &dyn Fn(&Component) -> Option<Matrix>| {
        let flat = some.iter().flat_map(|c| match matrix(c) {
            Some(Matrix::Full(rows)) => rows.concat(),
            Some(Matrix::Diagonal(diagonal)) => diagonal,
            Some(Matrix::Spherical(one)) => vec![one],
            None => vec![f64::NAN; numbers],
        });
        shaped(py, flat.collect(), &shape)
    };
    out.set_item("covariances", matrices(&|c| Some(c.covariance.clone()))?)?;
    out.set_item("covariance_sd", matrices(&|c| c.covariance_sd.clone())?)?;

    let prior = &answer.prior;
    let described = PyDict::new(py);
    described.set_item("concentration", prior.concentration)?;
    described.set_item("location", PyArray1::from_slice(py, &prior.location))?;
    described.set_item("mean_precision", prior.mean_precision)?;
    described.set_item("degrees_of_freedom", prior.degrees_of_freedom)?;
    let scale = shaped(py, prior.scale.clone(), &[columns, columns])?;
    described.set_item("scale", scale)?;
    out.set_item("prior", described)
}

/// A fitted mixture as Python's dictionary says: flat, row by row.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Fitted {
    covariance: String,
    process: bool,
    weights: Vec<f64>,
    unused_weight: f64,
    means: Vec<f64>,
    mean_precision: Vec<f64>,
    degrees_of_freedom: Vec<f64>,
    covariances: Vec<f64>,
    concentration: f64,
    location: Vec<f64>,
    prior_mean_precision: f64,
    prior_degrees_of_freedom: f64,
    scale: Vec<f64>,
}

impl Fitted {
    fn fit(&self) -> collapsar::Result<MixtureFit> {
        let covariance = covariance(&self.covariance)?;
        let (count, columns) = (self.weights.len(), self.location.len());
        let numbers = match covariance {
            Covariance::Full | Covariance::Tied => columns * columns,
            Covariance::Diagonal => columns,
            Covariance::Spherical => 1,
        };
        let matrices = if covariance == Covariance::Tied {
            1
        } else {
            count
        };
        let fits = columns > 0
            && self.means.len() == count * columns
            && self.mean_precision.len() == count
            && self.degrees_of_freedom.len() == count
            && self.covariances.len() == matrices * numbers;
        if !fits {
            return Err(Error::data(
                Place::Whole("fitted attributes"),
                "arrays whose shapes do not fit together",
                format!("those of {count} components with {columns} columns"),
            ));
        }
        let matrix = |k: usize, by: f64| {
            let first = if matrices == 1 { 0 } else { k * numbers };
            let flat: Vec<f64> = self.covariances[first..first + numbers]
                .iter()
                .map(|c| c * by)
                .collect();
            match covariance {
                Covariance::Full | Covariance::Tied => {
                    Matrix::Full(flat.chunks(columns).map(<[f64]>::to_vec).collect())
                }
                Covariance::Diagonal => Matrix::Diagonal(flat),
                Covariance::Spherical => Matrix::Spherical(flat[0]),
            }
        };
        let component = |k: usize| Component {
            weight: self.weights[k],
            weight_sd: f64::NAN,
            count: f64::NAN,
            mean: self.means[k * columns..(k + 1) * columns].to_vec(),
            mean_sd: None,
            covariance: matrix(k, 1.0),
            covariance_sd: None,
            mean_precision: self.mean_precision[k],
            degrees_of_freedom: self.degrees_of_freedom[k],
            scale: matrix(k, self.degrees_of_freedom[k]),
        };
        Ok(MixtureFit {
            covariance,
            weights: weights(self.process),
            prior: Prior {
                concentration: self.concentration,
                location: self.location.clone(),
                mean_precision: self.prior_mean_precision,
                degrees_of_freedom: self.prior_degrees_of_freedom,
                scale: self.scale.clone(),
            },
            unused_weight: self.unused_weight,
            components: (0..count).map(component).collect(),
        })
    }
}

/// Log predictive densities of the rows, and each component's share of them.
///
/// Under a Dirichlet process the shares have a last column: a component that no datum has used.
#[pyfunction]
pub(crate) fn score_mixture<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    fitted: Fitted,
    threads: usize,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let (values, columns) = rows(&x)?;
    let (scored, raised) = detached(py, threads, None, |control| {
        let density = fitted.fit()?.predictive()?;
        let interrupt = control.interrupt();
        let scored: Vec<(f64, Vec<f64>)> = values
            .par_chunks_exact(columns)
            .with_min_len(256)
            .map(|row| {
                let mut shares = Vec::new();
                // An interrupted call raises, and nobody sees its scores.
                let ln_density = if interrupt.load(Ordering::Relaxed) {
                    f64::NAN
                } else {
                    density.ln_density(row, &mut shares)
                };
                (ln_density, shares)
            })
            .collect();
        Ok(scored)
    })?;
    if let Some(error) = raised {
        return Err(error);
    }
    let parts = scored.first().map_or(0, |(_, shares)| shares.len());
    let shape = [scored.len(), parts];
    let (ln_density, shares): (Vec<f64>, Vec<Vec<f64>>) = scored.into_iter().unzip();
    Ok((
        PyArray1::from_vec(py, ln_density).into_any(),
        shaped(py, shares.concat(), &shape)?,
    ))
}

/// Draws from the predictive density, a row each.
#[pyfunction]
pub(crate) fn sample_mixture(
    py: Python<'_>,
    fitted: Fitted,
    count: usize,
    seed: u64,
) -> PyResult<Bound<'_, PyAny>> {
    let columns = fitted.location.len();
    let (draws, _) = detached(py, 1, None, |_| {
        Ok(fitted.fit()?.predictive()?.sample(count, seed))
    })?;
    shaped(py, draws, &[count, columns])
}
