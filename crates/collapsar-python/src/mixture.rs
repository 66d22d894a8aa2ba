//! Mixtures of Gaussians: fits, scores and draws.

use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use collapsar::mixture::{
    Cells, Component, Covariance, LevelColumn, MISSING, MixtureDraws, MixtureFit,
    PredictiveDensity, Scale, Settings, Start, Weights,
};
use collapsar::{Collapsed, Error};
use collapsar_formats::LabelColumn;
use collapsar_report::pictures;
use collapsar_run::fit::PosteriorOptions;
use collapsar_run::mixture::{Categories, MixtureInput, MixtureRequest, StartOption};
use collapsar_run::{Watch, threads_of_jobs};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::arrays::{python, report, rows, shaped};
use crate::error::Result;
use crate::run::{Plan, detached, posterior_kind, whole};

/// Responsibilities of a start, row by row.
#[derive(Debug)]
struct Responsibilities(Vec<f64>);

impl<'py> FromPyObject<'_, 'py> for Responsibilities {
    type Error = PyErr;

    fn extract(array: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let array: PyReadonlyArray2<'py, f64> = array.extract()?;
        Ok(Self(rows(&array)?.0.to_vec()))
    }
}

/// A number for each row.
#[derive(Debug)]
pub(crate) struct RowWeights(pub(crate) Vec<f64>);

impl<'py> FromPyObject<'_, 'py> for RowWeights {
    type Error = PyErr;

    fn extract(array: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let array: PyReadonlyArray1<'py, f64> = array.extract()?;
        Ok(Self(array.as_array().to_vec()))
    }
}

/// The component of each row; less than zero where it is not known.
#[derive(Debug)]
pub(crate) struct KnownLabels(pub(crate) Vec<Option<usize>>);

impl<'py> FromPyObject<'_, 'py> for KnownLabels {
    type Error = PyErr;

    fn extract(array: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let array: PyReadonlyArray1<'py, i64> = array.extract()?;
        let labels = array
            .as_array()
            .iter()
            .map(|y| usize::try_from(*y).ok())
            .collect();
        Ok(Self(labels))
    }
}

/// A categorical column: how many levels there are, and that of each row; less than zero where it has none.
#[derive(Debug)]
pub(crate) struct Levels(LevelColumn);

impl<'py> FromPyObject<'_, 'py> for Levels {
    type Error = PyErr;

    fn extract(pair: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (levels, codes): (usize, PyReadonlyArray1<'py, i64>) = pair.extract()?;
        let code = |code: &i64| u32::try_from(*code).unwrap_or(MISSING);
        let codes = codes.as_array().iter().map(code).collect();
        Ok(Self(LevelColumn { levels, codes }))
    }
}

/// A mixture as Python's dictionary says.

#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    components: usize,
    /// How often each row is there.
    row_weights: Option<RowWeights>,
    /// Which component rows are known to be of.
    known: Option<KnownLabels>,
    covariance: String,
    process: bool,
    concentration: Option<f64>,
    location: Option<Vec<f64>>,
    mean_precision: Option<f64>,
    degrees_of_freedom: Option<f64>,
    /// Row-major; what is not given comes from the data.
    scale: Option<Vec<f64>>,
    /// Categorical columns, and how many rows each of their levels is worth.
    categories: Option<Vec<Levels>>,
    level_concentration: Option<f64>,
    start: String,
    /// Where each climb begins: in one component of each row, or in all by their responsibilities.
    labels: Option<Vec<Vec<usize>>>,
    responsibilities: Option<Vec<Responsibilities>>,
    /// Where an earlier fit ended, and of what: it goes on from there if that is the same still.
    earlier: Option<(Vec<f64>, String)>,
    jumps: bool,
    /// Which posterior results are of, by name; how many chains, draws of each, and draws before these.
    posterior: Option<String>,
    chains: usize,
    draws: usize,
    warmup: Option<usize>,
}

impl Options {
    fn posterior(&self) -> Result<PosteriorOptions> {
        Ok(PosteriorOptions {
            posterior: posterior_kind(self.posterior.as_deref())?,
            draws: Some(self.draws),
            chains: self.chains,
            warmup: self.warmup,
        })
    }

    /// How many components are asked for.
    pub(crate) fn components(&self) -> usize {
        self.components
    }

    /// Takes what is said of the rows: how often each is there, and its component where that is known.
    pub(crate) fn of_rows(&mut self) -> (Option<RowWeights>, Option<KnownLabels>) {
        (self.row_weights.take(), self.known.take())
    }

    /// Whether climbs begin at random.
    pub(crate) fn is_random(&self) -> bool {
        self.start == "random"
    }

    /// Settings of so many components, and where climbs begin if that is given.
    pub(crate) fn model(self) -> Result<(Settings, Vec<Start>)> {
        let mut known = Covariance::ALL.into_iter();
        let covariance = known.find(|kind| kind.name() == self.covariance);
        let expected = "full, tied, diag or spherical";
        let covariance =
            covariance.ok_or_else(|| Error::setting("covariance", &self.covariance, expected))?;
        let weights = if self.process {
            Weights::DirichletProcess
        } else {
            Weights::Dirichlet
        };
        let labels = self.labels.into_iter().flatten().map(Start::Labels);
        let all = self.responsibilities.into_iter().flatten();
        let starts = labels.chain(all.map(|each| Start::Responsibilities(each.0)));
        let settings = Settings {
            covariance,
            weights,
            concentration: self.concentration,
            location: self.location,
            mean_precision: self.mean_precision,
            degrees_of_freedom: self.degrees_of_freedom,
            scale: self.scale.map(Scale::Matrix),
            level_concentration: self.level_concentration,
            ..Settings::new(self.components)
        };
        Ok((settings, starts.collect()))
    }

    fn request(mut self, plan: Plan) -> Result<MixtureRequest> {
        let posterior = self.posterior()?;
        let (jumps, earlier) = (self.jumps, self.earlier.take());
        let random = self.is_random();
        let (settings, starts) = self.model()?;
        Ok(MixtureRequest {
            components: vec![settings.components],
            settings,
            scale: None,
            start: match (starts.is_empty(), random) {
                (false, _) => StartOption::Each(starts),
                (true, true) => StartOption::Random,
                (true, false) => StartOption::KMeans,
            },
            earlier,
            jumps: Some(jumps),
            samples: None,
            posterior,
            climb: plan.options()?,
        })
    }
}

/// A fitted mixture, which scores rows and draws new ones.
#[pyclass(frozen, module = "pycollapsar._collapsar")]
pub(crate) struct FittedMixture {
    fitted: Fitted,
    density: OnceLock<PredictiveDensity>,
}

/// A fit, and exact draws where there are any.
#[derive(Debug, Serialize, Deserialize)]
struct Fitted {
    fit: MixtureFit,
    draws: Option<MixtureDraws>,
}

/// Fits a mixture to the rows of a matrix.
#[pyfunction]
pub(crate) fn fit_mixture<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    mut options: Options,
    plan: Plan,
    callback: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (values, columns) = rows(&x)?;
    let threads = plan.threads(Some(
        values.len() * options.components * plan.restarts.unwrap_or(1),
    ));
    let weights = options.row_weights.take();
    let labels = options.known.take().map(|known| LabelColumn {
        names: vec![],
        labels: known.0,
    });
    let categories = Categories {
        names: vec![],
        columns: (options.categories.take().into_iter().flatten())
            .map(|levels| levels.0)
            .collect(),
    };
    let (result, raised) = detached(py, threads, callback, |control| {
        let input = MixtureInput {
            values,
            stored: None,
            columns,
            categories: Some(&categories).filter(|of| !of.is_empty()),
            weights: weights.as_ref().map(|weights| &weights.0[..]),
            labels: labels.as_ref(),
            file: None,
        };
        let run = options.request(plan)?.prepare(input)?;
        let result = run.climb(control)?;
        // Stopped chains leave what the climb has reached, as a stopped climb does.
        let posterior = run.posterior(&result, control.interrupt())?;
        Ok((result, posterior))
    })?;
    let (result, posterior) = result;
    let out = report(py, &result.climbed, raised)?;
    let messages = &result.climbed.best().point.messages;
    out.set_item("messages", PyArray1::from_slice(py, messages))?;
    out.set_item("fingerprint", result.model.fingerprint())?;
    let verdict = posterior.result.verdict(result.climbed.outcome.converged);
    let signs = posterior.result.signs;
    let known = (posterior.result.kind, verdict, signs, &posterior.refused);
    out.set_item("posterior", python(py, &known)?)?;
    if let Some(draws) = &posterior.draws {
        let rows: Vec<f64> = draws.rows().flat_map(|(_, _, row)| row).copied().collect();
        let shape = [draws.chains(), draws.draws(), draws.width()];
        out.set_item("draws", (shaped(py, rows, &shape)?, draws.relabelled))?;
    }
    let fitted = Fitted {
        fit: posterior.fit,
        draws: posterior.draws,
    };
    out.set_item("mixture", python(py, &fitted.fit)?)?;
    out.set_item("fit", FittedMixture::from(fitted).into_pyobject(py)?)?;
    Ok(out)
}

impl From<Fitted> for FittedMixture {
    fn from(fitted: Fitted) -> Self {
        Self {
            fitted,
            density: OnceLock::new(),
        }
    }
}

impl FittedMixture {
    /// A fit without draws.
    pub(crate) fn of(fit: MixtureFit) -> Self {
        Fitted { fit, draws: None }.into()
    }

    /// The predictive density, which is made once.
    fn density(&self) -> Result<&PredictiveDensity> {
        if let Some(density) = self.density.get() {
            return Ok(density);
        }
        let Fitted { fit, draws } = &self.fitted;
        let density = match draws {
            Some(draws) => fit.predictive_of(draws)?,
            None => fit.predictive()?,
        };
        Ok(self.density.get_or_init(|| density))
    }
}

#[pymethods]
impl FittedMixture {
    /// A fit from what `__reduce__` made of it.
    #[new]
    fn new(json: &str) -> PyResult<Self> {
        let fitted: Fitted = serde_json::from_str(json)
            .map_err(|error| PyValueError::new_err(format!("not a fitted mixture: {error}")))?;
        Ok(fitted.into())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let json = serde_json::to_string(&self.fitted);
        let json = json.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok((py.get_type::<Self>().into_any(), (json,)))
    }

    /// Log predictive densities of the rows, and the probability of each component given them.
    ///
    /// Under a Dirichlet process these have a last column: a component that no datum has used.
    fn score<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f64>,
        jobs: Option<isize>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let (values, columns) = rows(&x)?;
        let numbers = values.len() * self.fitted.fit.components.len();
        if values.iter().any(|x| x.is_nan()) {
            let (ln_density, each) = whole(py, threads_of_jobs(jobs, Some(numbers)), |_| {
                let density = self.density()?;
                let scores = density.score(values, columns)?;
                Ok((scores.ln_density, density.probabilities(values, columns)?))
            })?;
            let shape = [ln_density.len(), each.len() / ln_density.len().max(1)];
            return Ok((
                PyArray1::from_vec(py, ln_density).into_any(),
                shaped(py, each, &shape)?,
            ));
        }
        let scored = whole(py, threads_of_jobs(jobs, Some(numbers)), |control| {
            let density = self.density()?;
            let scored: Vec<(f64, Vec<f64>)> = values
                .par_chunks_exact(columns)
                .with_min_len(256)
                .map(|row| {
                    let mut probabilities = Vec::new();
                    // An interrupted call raises, and nobody sees its scores.
                    let ln_density = if control.interrupt().load(Ordering::Relaxed) {
                        f64::NAN
                    } else {
                        density.ln_density(row, &mut probabilities)
                    };
                    (ln_density, probabilities)
                })
                .collect();
            Ok(scored)
        })?;
        let parts = scored.first().map_or(0, |(_, each)| each.len());
        let shape = [scored.len(), parts];
        let (ln_density, each): (Vec<f64>, Vec<Vec<f64>>) = scored.into_iter().unzip();
        Ok((
            PyArray1::from_vec(py, ln_density).into_any(),
            shaped(py, each.concat(), &shape)?,
        ))
    }

    /// As `score`, of rows with categorical columns.
    fn score_mixed<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f64>,
        categories: Vec<Levels>,
        jobs: Option<isize>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let (values, columns) = rows(&x)?;
        let categories: Vec<LevelColumn> = categories.into_iter().map(|of| of.0).collect();
        let count = categories.first().map_or(0, |column| column.codes.len());
        let numbers = count * self.fitted.fit.components.len();
        let (ln_density, each) = whole(py, threads_of_jobs(jobs, Some(numbers)), |_| {
            Ok(self.density()?.probabilities_of_cells(Cells {
                values,
                columns,
                categories: &categories,
            })?)
        })?;
        let shape = [ln_density.len(), each.len() / ln_density.len().max(1)];
        Ok((
            PyArray1::from_vec(py, ln_density).into_any(),
            shaped(py, each, &shape)?,
        ))
    }

    /// A picture of rows and components, as a Vega-Lite specification.
    fn picture(
        &self,
        py: Python<'_>,
        x: PyReadonlyArray2<'_, f64>,
        labels: Vec<usize>,
        columns: Vec<String>,
    ) -> PyResult<String> {
        let (values, width) = rows(&x)?;
        if labels.len() * width != values.len() || columns.len() != width {
            return Err(PyValueError::new_err(
                "rows, labels and columns differ in number",
            ));
        }
        whole(py, 0, |_| {
            let fit = &self.fitted.fit;
            Ok(pictures::mixture(fit, values, &labels, &columns).to_string())
        })
    }

    /// A picture of components alone.
    fn picture_of_components(&self, py: Python<'_>, columns: Vec<String>) -> PyResult<String> {
        whole(py, 0, |_| {
            Ok(pictures::components(&self.fitted.fit, &columns).to_string())
        })
    }

    /// Rows with what is expected where they have NaN, and standard deviations of that.
    fn impute<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f64>,
        jobs: Option<isize>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let (values, columns) = rows(&x)?;
        let numbers = values.len() * self.fitted.fit.components.len();
        let imputed = whole(py, threads_of_jobs(jobs, Some(numbers)), |_| {
            Ok(self.density()?.impute(values, columns)?)
        })?;
        let shape = [values.len() / columns, columns];
        Ok((
            shaped(py, imputed.mean, &shape)?,
            shaped(py, imputed.sd, &shape)?,
        ))
    }

    /// Rows with draws where they have NaN, so many times.
    fn impute_draws<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f64>,
        count: usize,
        seed: u64,
        jobs: Option<isize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (values, columns) = rows(&x)?;
        let draws = whole(
            py,
            threads_of_jobs(jobs, Some(values.len() * count)),
            |_| Ok(self.density()?.impute_draws(values, columns, count, seed)?),
        )?;
        shaped(py, draws, &[count, values.len() / columns, columns])
    }

    /// Draws from the predictive density of one component, a row each.
    fn sample<'py>(
        &self,
        py: Python<'py>,
        component: usize,
        count: usize,
        seed: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let draws = whole(py, 1, |_| {
            let alone = MixtureFit {
                unused_weight: 0.0,
                components: vec![Component {
                    weight: 1.0,
                    ..self.fitted.fit.components[component].clone()
                }],
                ..self.fitted.fit.clone()
            };
            Ok(alone.predictive()?.sample(count, seed))
        })?;
        shaped(py, draws, &[count, self.fitted.fit.columns()])
    }
}
