//! Models in the BUGS language: read, given data, fitted, asked.

use std::sync::{Mutex, MutexGuard, PoisonError};

use collapsar::Point;
use collapsar::graph::{Answer, Compiled, Demands, Role};
use collapsar_bugs::{
    Array, Data, Diagnostic, Drawing, Model, Outline, Posterior, PosteriorError, Prepared,
    Quantity, Sparse,
};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::report;
use crate::error::{Failure, Result};
use crate::run::{Plan, detached};

/// What a drawing is called where no file has a name.
const TITLE: &str = "model";

/// The text of a model that was read.
#[pyclass(frozen, module = "collapsar._collapsar")]
pub(crate) struct BugsModel {
    model: Model,
}

/// A fit of a model, which can be asked.
#[pyclass(frozen, module = "collapsar._collapsar")]
pub(crate) struct BugsFit {
    source: String,
    outline: Outline,
    /// Locked, since it remembers what it has computed.
    prepared: Mutex<Prepared>,
    compiled: Compiled,
    point: Point,
    seed: u64,
}

/// What is to be collapsed and what is not.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Wanted {
    collapse: Vec<String>,
    explicit: Vec<String>,
    /// Where none is given, it depends on how many data there are.
    default_tolerance: bool,
    /// Where to begin, instead of where seeds say.
    messages: Option<Vec<f64>>,
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

fn refusal(source: &str) -> impl Fn(Diagnostic) -> Failure {
    move |diagnostic| Failure::Model(Box::new(diagnostic), source.into())
}

#[pymethods]
impl BugsModel {
    #[new]
    fn new(source: String) -> PyResult<Self> {
        let model = Model::parse(source.clone()).map_err(refusal(&source))?;
        Ok(Self { model })
    }

    /// Fits the model to data; the dictionary tells of the climb.
    fn fit<'py>(
        &self,
        py: Python<'py>,
        given: Vec<(String, Given<'py>)>,
        wanted: Wanted,
        mut plan: Plan,
        callback: Option<Py<PyAny>>,
    ) -> PyResult<(BugsFit, Bound<'py, PyDict>)> {
        let data = data(given)?;
        let source = self.model.source();
        let outline = self.model.outline(&data);
        let ((mut climbed, prepared, compiled, seed), raised) =
            detached(py, plan.threads, callback, |control| {
                let prepared = self.model.with(data).map_err(refusal(source))?;
                let demands = Demands {
                    collapse: wanted.collapse,
                    explicit: wanted.explicit,
                };
                let compiled = prepared.compile(&demands)?;
                if wanted.default_tolerance {
                    let observed = prepared.observed();
                    plan.tolerance_for(observed.iter().map(|(_, count)| count).sum());
                }
                let start = |seed| match &wanted.messages {
                    Some(messages) => Ok((messages.clone(), 0)),
                    None => Ok((compiled.start(seed)?, 0)),
                };
                let climbed = plan.climb(&compiled, &start, None, control)?;
                Ok((climbed, prepared, compiled, plan.seed))
            })?;
        let point = std::mem::take(&mut climbed.fit.point);
        climbed.fit.point.bound = point.bound;
        let report = report(py, &climbed, raised)?;
        let source = source.to_owned();
        let fit = BugsFit {
            source,
            outline,
            prepared: Mutex::new(prepared),
            compiled,
            point,
            seed,
        };
        Ok((fit, report))
    }

    /// The graph as SVG, nothing yet being known to be data or to be collapsed.
    fn svg(&self) -> String {
        Drawing::new(&self.model.outline(&Data::default()), None).svg(TITLE)
    }
}

impl BugsFit {
    fn prepared(&self) -> MutexGuard<'_, Prepared> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self) -> Answer<'_> {
        self.compiled.answer(&self.point)
    }

    /// Why the fit does not answer.
    fn no_answer(&self, refusal: PosteriorError) -> Failure {
        match refusal {
            PosteriorError::Model(diagnostic) => Failure::Model(diagnostic, self.source.clone()),
            PosteriorError::Fit(error) => error.into(),
        }
    }

    fn quantities(&self, prepared: &Prepared, names: &[String]) -> Result<Vec<Quantity>> {
        let chosen = |array: &str| names.iter().any(|name| name == array);
        let found = prepared.quantities_of(chosen);
        found.map_err(refusal(&self.source))
    }
}

#[pymethods]
impl BugsFit {
    /// The graph as SVG, what is collapsed marked.
    fn svg(&self) -> String {
        Drawing::new(&self.outline, Some(self.compiled.choice())).svg(TITLE)
    }

    /// Where the climb ended: a fit that begins there and takes no step is this one again.
    fn messages<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        PyArray1::from_slice(py, &self.point.messages).into_any()
    }

    /// Arrays that are not data: name, numbers, whether labels, whether computed.
    fn unknowns(&self) -> Vec<(String, usize, bool, bool)> {
        let unknowns = self.prepared().unknowns().into_iter();
        unknowns
            .map(|array| (array.name, array.elements, array.labels, array.computed))
            .collect()
    }

    /// The classes of the graph: names, family, whether collapsed.
    fn classes(&self) -> Vec<(Vec<String>, String, bool)> {
        let classes = self.compiled.choice().classes.iter();
        let collapsed = |role| role == Role::Collapsed;
        classes
            .map(|class| {
                (
                    class.names.clone(),
                    class.family.clone(),
                    collapsed(class.role),
                )
            })
            .collect()
    }

    /// These arrays' elements, and a row of mean, sd and three quantiles for each.
    fn rows<'py>(
        &self,
        py: Python<'py>,
        arrays: Vec<String>,
    ) -> PyResult<(Vec<Named>, Bound<'py, PyAny>)> {
        let ((names, rows), raised) = detached(py, 0, None, |_| {
            let prepared = self.prepared();
            let quantities = self.quantities(&prepared, &arrays)?;
            let posterior = Posterior {
                prepared: &prepared,
                answer: &self.answer(),
                seed: self.seed,
            };
            let (rows, _) =
                (posterior.summaries(&quantities)).map_err(|why| self.no_answer(why))?;
            Ok((named(quantities), rows))
        })?;
        let rows: Vec<Vec<f64>> = (rows.iter())
            .map(|row| [&[row.mean, row.sd][..], &row.quantiles].concat())
            .collect();
        matrix(py, names, &rows, 5, raised)
    }

    /// These arrays' elements, and draws of them, a row a draw.
    fn draws<'py>(
        &self,
        py: Python<'py>,
        arrays: Vec<String>,
        count: usize,
        seed: u64,
    ) -> PyResult<(Vec<Named>, Bound<'py, PyAny>)> {
        let ((names, rows), raised) = detached(py, 0, None, |_| {
            let prepared = self.prepared();
            let quantities = self.quantities(&prepared, &arrays)?;
            let posterior = Posterior {
                prepared: &prepared,
                answer: &self.answer(),
                seed,
            };
            let draws = posterior.draws(&quantities, 0..count);
            let draws = draws.map_err(|why| self.no_answer(why))?;
            let row = |draw: usize| draws.iter().map(|of| of[draw]).collect();
            let rows: Vec<Vec<f64>> = (0..count).map(row).collect();
            Ok((named(quantities), rows))
        })?;
        let width = names.len();
        matrix(py, names, &rows, width, raised)
    }
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
    raised: Option<PyErr>,
) -> PyResult<(Vec<Named>, Bound<'py, PyAny>)> {
    if let Some(error) = raised {
        return Err(error);
    }
    let array = if rows.is_empty() {
        PyArray2::zeros(py, [0, width], false)
    } else {
        PyArray2::from_vec2(py, rows)?
    };
    Ok((names, array.into_any()))
}
