//! Models in the BUGS language: read, given data, fitted, asked.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use collapsar::Point;
use collapsar_bugs::{Array, Data, Drawing, Outline, Quantity, Selection, Sparse, Summary};
use collapsar_report::pictures::{self, Interval};
use collapsar_run::fit::{
    ModelRequest, ModelResult, ModelRun, ModelSource, PosteriorOptions, class_name, class_names,
};
use collapsar_run::{PosteriorKind, Watch};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{python, report};
use crate::error::{Failure, Result};
use crate::run::{Plan, detached, posterior_kind, whole};

/// What complaints and drawings call a text, which has no file.
const NAME: &str = "model";

/// The text of a model that was read.
#[pyclass(frozen, module = "pycollapsar._collapsar")]
pub(crate) struct BugsModel {
    source: Arc<ModelSource>,
}

/// A fit of a model, which can be asked.
#[pyclass(frozen, module = "pycollapsar._collapsar")]
pub(crate) struct BugsFit {
    outline: Outline,
    /// Locked, since it remembers what it has computed.
    run: Mutex<ModelRun>,
    point: Point,
}

/// What is to be collapsed and what is not.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    collapse: Vec<String>,
    explicit: Vec<String>,
    /// Arrays of labels that are to be enumerated.
    enumerate: Option<Vec<String>>,
    /// Which posterior results are of, by name.
    posterior: Option<String>,
    /// Markov chains, where it is exact.
    chains: usize,
    /// Where to begin, instead of where seeds say.
    messages: Option<Vec<f64>>,
}

impl Options {
    fn posterior(&self) -> Result<PosteriorOptions> {
        if self.chains == 0 {
            return Err(collapsar::Error::setting("n_chains", 0, "at least 1").into());
        }
        Ok(PosteriorOptions {
            posterior: posterior_kind(self.posterior.as_deref())?,
            chains: self.chains,
            ..PosteriorOptions::default()
        })
    }
}

/// A dense array, or the parts of a sparse one: shape, row starts, columns, entries.
#[derive(FromPyObject)]
pub(crate) enum Given<'py> {
    Dense(PyReadonlyArrayDyn<'py, f64>),
    Sparse(
        (
            [usize; 2],
            PyReadonlyArray1<'py, i64>,
            PyReadonlyArray1<'py, u32>,
            PyReadonlyArray1<'py, f64>,
        ),
    ),
}

fn data(given: Vec<(String, Given<'_>)>) -> PyResult<Data> {
    let mut data = Data::default();
    for (name, given) in given {
        match given {
            Given::Dense(array) => {
                let dims = match array.shape() {
                    [] => vec![1],
                    dims => dims.to_vec(),
                };
                let values = array.as_slice()?.to_vec();
                data.arrays.insert(name, Array { dims, values });
            }
            Given::Sparse((dims, starts, columns, values)) => {
                let starts = starts.as_slice()?.iter().map(|&at| at as usize).collect();
                let sparse = Sparse {
                    dims,
                    starts,
                    columns: columns.as_slice()?.to_vec(),
                    values: values.as_slice()?.to_vec(),
                };
                data.sparse.insert(name, sparse);
            }
        }
    }
    Ok(data)
}

#[pymethods]
impl BugsModel {
    #[new]
    fn new(source: String) -> PyResult<Self> {
        let source = ModelSource::new(NAME.into(), source).map_err(Failure::from)?;
        Ok(Self {
            source: source.into(),
        })
    }

    /// Fits the model to data; the dictionary tells of the climb.
    fn fit<'py>(
        &self,
        py: Python<'py>,
        given: Vec<(String, Given<'py>)>,
        inits: Vec<Vec<(String, Given<'py>)>>,
        options: Options,
        plan: Plan,
        callback: Option<Py<PyAny>>,
    ) -> PyResult<(BugsFit, Bound<'py, PyDict>)> {
        let inits = (inits.into_iter().enumerate())
            .map(|(place, values)| -> PyResult<(String, Data)> {
                Ok((format!("inits[{place}]"), data(values)?))
            })
            .collect::<PyResult<Vec<_>>>()?;
        let data = data(given)?;
        let outline = self.source.model.outline(&data);
        let unused = self.source.model.unused(&data);
        let ((run, mut climbed), raised) = detached(py, plan.threads(None), callback, |control| {
            let request = ModelRequest {
                posterior: options.posterior()?,
                collapse: options.collapse,
                explicit: options.explicit,
                enumerate: options.enumerate,
                inits,
                messages: options.messages,
                climb: plan.options()?,
                ..ModelRequest::default()
            };
            let prepared = self.source.with(data)?;
            let run = request.prepare(Arc::clone(&self.source), prepared)?;
            run.check_lines(&quantities(&run, None)?)?;
            let climbed = run.climb(control)?;
            Ok((run, climbed))
        })?;
        let best = &mut climbed.climbs.best;
        let point = std::mem::take(&mut best.point);
        best.point.bound = point.bound;
        let report = report(py, &climbed, raised)?;
        report.set_item("unused", unused)?;
        report.set_item("idle", &run.idle_inits)?;
        let fit = BugsFit {
            outline,
            run: Mutex::new(run),
            point,
        };
        Ok((fit, report))
    }

    /// What of the model can be collapsed with these data, and why the rest cannot.
    fn check<'py>(
        &self,
        py: Python<'py>,
        given: Vec<(String, Given<'py>)>,
        collapse: Vec<String>,
        explicit: Vec<String>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let data = data(given)?;
        let source = &self.source;
        let run = whole(py, 0, |_| {
            let request = ModelRequest {
                collapse,
                explicit,
                ..ModelRequest::default()
            };
            let run = request.prepare(Arc::clone(source), source.with(data)?)?;
            run.check(&quantities(&run, None)?)?;
            Ok(run)
        })?;
        let (prepared, compiled) = (&run.prepared, &run.compiled);
        let choice = compiled.choice();
        let named = |class: usize| class_name(&choice.classes[class]);
        let out = PyDict::new(py);
        out.set_item("collapsed", class_names(compiled, true))?;
        out.set_item("explicit", class_names(compiled, false))?;
        let enumerated = run.enumerated.iter().flat_map(|of| &of.arrays);
        let enumerated: Vec<String> = enumerated.map(|array| array.name.clone()).collect();
        out.set_item("enumerated", enumerated)?;
        out.set_item("observed", prepared.observed())?;
        out.set_item("summed", prepared.summed())?;
        out.set_item("predicted", prepared.predicted())?;
        let meetings = choice.conflicts.iter().map(|meeting| {
            let place = source.place(prepared.factor(&meeting.factor));
            (named(meeting.first), named(meeting.second), place)
        });
        out.set_item("meetings", meetings.collect::<Vec<_>>())?;
        let names = |set: &Vec<usize>| set.iter().map(|&class| named(class)).collect();
        let alternatives: Vec<Vec<String>> = choice.alternatives.iter().map(names).collect();
        out.set_item("alternatives", alternatives)?;
        Ok(out)
    }

    /// The graph as SVG, nothing yet being known to be data or to be collapsed.
    fn svg(&self) -> String {
        Drawing::new(&self.source.model.outline(&Data::default()), None).svg(NAME)
    }
}

impl BugsFit {
    fn run(&self) -> MutexGuard<'_, ModelRun> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The numbers of these names, by the rule where nothing is said.
fn quantities(run: &ModelRun, names: Option<&[String]>) -> Result<Vec<Quantity>> {
    if names == Some(&[]) {
        return Ok(vec![]);
    }
    let names = names.unwrap_or_default().iter();
    let selections: Vec<Selection> = names.map(|name| name.as_str().into()).collect();
    Ok(run.monitor(&selections)?.quantities)
}

#[pymethods]
impl BugsFit {
    /// The graph as SVG, what is collapsed marked.
    fn svg(&self) -> String {
        Drawing::new(&self.outline, Some(self.run().compiled.choice())).svg(NAME)
    }

    /// Where the climb ended: a fit that begins there and takes no step is this one again.
    fn messages<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        PyArray1::from_slice(py, &self.point.messages).into_any()
    }

    /// Arrays that are not data.
    fn unknowns(&self) -> Vec<String> {
        let unknowns = self.run().prepared.unknowns().into_iter();
        unknowns.map(|array| array.name).collect()
    }

    /// Labels that are enumerated, the values that they have in each state, and the bound and the probability of each.
    fn enumerated<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let run = self.run();
        let Some(enumerated) = &run.enumerated else {
            return Ok(None);
        };
        let record = enumerated.record(&self.point).map_err(Failure::from)?;
        python(py, &record).map(Some)
    }

    /// What is collapsed, and what is not.
    fn classes(&self) -> (Vec<String>, Vec<String>) {
        let run = self.run();
        let names = |collapsed: bool| run.class_names(&self.point, collapsed);
        (names(true), names(false))
    }

    /// Which posterior a fit's results are of, how far they may be trusted, and what signs say.
    fn verdict<'py>(&self, py: Python<'py>, converged: bool) -> PyResult<Bound<'py, PyAny>> {
        let signs = whole(py, 0, |control| {
            let run = self.run();
            let quantities = quantities(&run, None)?;
            let result = run.result(&self.point, &quantities, control.interrupt())?;
            let result = result.filter(ModelResult::complete);
            Ok(result.map(|of| (of.kind, of.verdict(converged), of.signs)))
        })?;
        python(py, &signs.ok_or_else(interrupted)?)
    }

    /// Elements, and a row of mean, sd and three quantiles for each; of chains also Monte Carlo errors,
    /// effective sample sizes and R-hat.
    fn rows<'py>(
        &self,
        py: Python<'py>,
        names: Option<Vec<String>>,
    ) -> PyResult<(Vec<Named>, Bound<'py, PyAny>)> {
        let (names, rows) = whole(py, 0, |control| {
            let run = self.run();
            let quantities = quantities(&run, names.as_deref())?;
            let result = run.result(&self.point, &quantities, control.interrupt())?;
            let Some(result) = result.filter(ModelResult::complete) else {
                return Ok(None);
            };
            let row = |(place, row): (usize, &Summary)| -> Vec<f64> {
                let mut cells = [&[row.mean, row.sd][..], &row.quantiles].concat();
                let more = result.diagnostics(place).into_iter().flatten();
                cells.extend(more.map(|number| number.unwrap_or(f64::NAN)));
                cells
            };
            let rows: Vec<Vec<f64>> = result.rows.iter().enumerate().map(row).collect();
            Ok(Some((named(quantities), rows)))
        })?
        .ok_or_else(interrupted)?;
        let width = rows.first().map_or(5, Vec::len);
        matrix(py, names, &rows, width)
    }

    /// A picture of intervals, as a Vega-Lite specification.
    fn forest(&self, py: Python<'_>, names: Option<Vec<String>>) -> PyResult<String> {
        whole(py, 0, |control| {
            let run = self.run();
            let quantities = quantities(&run, names.as_deref())?;
            let result = run.result(&self.point, &quantities, control.interrupt())?;
            let Some(result) = result.filter(ModelResult::complete) else {
                return Ok(None);
            };
            let intervals = quantities.iter().zip(&result.rows);
            let intervals = intervals.map(|(quantity, row)| Interval {
                name: quantity.to_string(),
                mean: row.mean,
                quantiles: row.quantiles,
            });
            let intervals: Vec<Interval> = intervals.collect();
            Ok(Some(pictures::forest(&intervals).to_string()))
        })?
        .ok_or_else(interrupted)
    }

    /// Elements, and draws of them, a row a draw; of chains so many of each, one chain after the other.
    fn draws<'py>(
        &self,
        py: Python<'py>,
        names: Option<Vec<String>>,
        count: usize,
        seed: u64,
    ) -> PyResult<(Vec<Named>, Bound<'py, PyAny>)> {
        let (names, rows) = whole(py, 0, |control| {
            let run = self.run();
            let quantities = quantities(&run, names.as_deref())?;
            let interrupt = control.interrupt();
            let chains = if run.request.posterior.posterior == Some(PosteriorKind::Exact) {
                match run.chains(&self.point, &quantities, (count, seed), interrupt)? {
                    Some(draws) if draws.complete => draws.chains,
                    _ => return Ok(None),
                }
            } else {
                vec![run.draws(&self.point, &quantities, seed, 0..count)?]
            };
            let row = |draw: usize, chain: &[Vec<f64>]| chain.iter().map(|of| of[draw]).collect();
            let rows: Vec<Vec<f64>> = (chains.iter())
                .flat_map(|chain| (0..count).map(move |draw| row(draw, chain)))
                .collect();
            Ok(Some((named(quantities), rows)))
        })?
        .ok_or_else(interrupted)?;
        let width = names.len();
        matrix(py, names, &rows, width)
    }
}

/// A picture of the density of a number's draws, those of each chain apart.
#[pyfunction]
pub(crate) fn density_picture(
    py: Python<'_>,
    name: &str,
    chains: Vec<Vec<f64>>,
) -> PyResult<String> {
    whole(py, 0, |_| Ok(pictures::density(name, &chains).to_string()))
}

/// Only a signal interrupts, and that has an error of its own.
fn interrupted() -> PyErr {
    PyKeyboardInterrupt::new_err(())
}

/// An element's name, its array and its indices, counted from 1.
type Named = (String, String, Vec<usize>);

fn named(quantities: Vec<Quantity>) -> Vec<Named> {
    let named = |q: Quantity| (q.to_string(), q.element.array, q.element.indices);
    quantities.into_iter().map(named).collect()
}

fn matrix<'py>(
    py: Python<'py>,
    names: Vec<Named>,
    rows: &[Vec<f64>],
    width: usize,
) -> PyResult<(Vec<Named>, Bound<'py, PyAny>)> {
    let array = if rows.is_empty() {
        PyArray2::zeros(py, [0, width], false)
    } else {
        PyArray2::from_vec2(py, rows)?
    };
    Ok((names, array.into_any()))
}
