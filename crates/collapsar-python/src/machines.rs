//! Mixtures whose rows workers hold: the worker as an object, and climbs that reach workers by a callable.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use collapsar::mixture::machines::{Cuts, Exchange, FarStart, Piece, Worker, merged};
use collapsar::mixture::{Covariance, Scale, Settings, Weights};
use collapsar_formats::read_table;
use collapsar_run::mixture::{FarInput, FarRequest};
use collapsar_run::{PosteriorKind, RunFolder, Signs};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyBytesMethods, PyDict};

use crate::arrays::{python, report, rows};
use crate::error::{Failure, Result};
use crate::mixture::FittedMixture;
use crate::run::{Plan, detached};

/// Source, first row in it, rows, number of the first chunk.
pub(crate) type Place = (usize, u64, u64, u64);

/// Bytes of Python's, or an array of them, which may be in memory that processes share: copies of it cost more than its way.
#[derive(FromPyObject)]
pub(crate) enum Bytes<'py> {
    Bytes(Bound<'py, PyBytes>),
    Array(PyReadonlyArray1<'py, u8>),
}

impl Bytes<'_> {
    pub(crate) fn as_slice(&self) -> PyResult<&[u8]> {
        Ok(match self {
            Self::Bytes(bytes) => bytes.as_bytes(),
            Self::Array(array) => array.as_slice()?,
        })
    }
}

/// Who holds chunks of rows, and answers tasks.
#[pyclass(frozen, module = "pycollapsar._collapsar")]
pub(crate) struct MixtureWorker {
    worker: Mutex<Worker>,
    columns: usize,
    threads: rayon::ThreadPool,
}

impl MixtureWorker {
    /// Does `work` on the worker's own threads, the interpreter free.
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Worker) -> T + Send) -> T {
        py.detach(|| {
            // A panic in another task has left its chunks as they were.
            let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
            let worker = &mut *worker;
            self.threads.install(|| work(worker))
        })
    }
}

#[pymethods]
impl MixtureWorker {
    /// A worker without rows: chunks in all, rows of a chunk, columns, threads.
    #[new]
    fn new(count: u64, chunk_rows: u64, columns: usize, threads: usize) -> PyResult<Self> {
        let threads = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let threads = threads.map_err(|error| Failure::Panic(error.to_string()))?;
        Ok(Self {
            worker: Mutex::new(Worker::new(count, chunk_rows, columns)),
            columns,
            threads,
        })
    }

    /// Takes in rows of an array that begins at a piece's first row.
    fn hold(&self, py: Python<'_>, piece: Place, x: PyReadonlyArray2<'_, f64>) -> PyResult<()> {
        let (values, columns) = rows(&x)?;
        self.check(columns)?;
        let held = self.with(py, |worker| worker.hold(&as_piece(piece), values));
        Ok(held.map_err(Failure::from)?)
    }

    /// Takes in rows of a file.
    fn read(
        &self,
        py: Python<'_>,
        piece: Place,
        file: PathBuf,
        columns: Option<Vec<String>>,
    ) -> PyResult<()> {
        let piece = as_piece(piece);
        let read = self.with(py, |worker| -> Result<usize> {
            let table = read_table(&file, columns.as_deref())?;
            let width = table.columns.len();
            let first = (piece.first_row as usize).saturating_mul(width);
            let end = first.saturating_add((piece.rows as usize).saturating_mul(width));
            let Some(values) = table.values.get(first..end) else {
                let found = format!("{} rows", table.rows);
                let expected = format!(
                    "{} at least, as when they were counted",
                    piece.first_row + piece.rows
                );
                let name = file.display().to_string();
                return Err(collapsar_run::Error::input(name, found, expected).into());
            };
            if width == self.columns {
                worker.hold(&piece, values)?;
            }
            Ok(width)
        });
        self.check(read?)
    }

    /// How many rows it holds.
    #[getter]
    fn rows(&self, py: Python<'_>) -> usize {
        self.with(py, |worker| worker.rows())
    }

    /// Does what a task says.
    fn answer<'py>(&self, py: Python<'py>, task: Bytes<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let task = task.as_slice()?;
        let answer = self.with(py, |worker| worker.answer(task));
        Ok(PyBytes::new(py, &answer))
    }
}

impl MixtureWorker {
    fn check(&self, found: usize) -> PyResult<()> {
        let expected = self.columns;
        if found == expected {
            return Ok(());
        }
        Err(PyValueError::new_err(format!(
            "X has {found} columns, expected {expected} as the first array or file"
        )))
    }
}

pub(crate) fn as_piece((source, first_row, rows, first_chunk): Place) -> Piece {
    Piece {
        source,
        first_row,
        rows,
        first_chunk,
    }
}

/// How many rows a table has, and the names of its columns.
#[pyfunction]
pub(crate) fn shape_of_table(
    py: Python<'_>,
    file: PathBuf,
    columns: Option<Vec<String>>,
) -> PyResult<(u64, Vec<String>)> {
    let table = py.detach(|| read_table(&file, columns.as_deref()));
    let table = table.map_err(Failure::from)?;
    Ok((table.rows as u64, table.columns))
}

/// How many chunks there are, and the pieces that each worker is to hold.
#[pyfunction]
pub(crate) fn cut_rows(
    sources: Vec<(String, u64)>,
    chunk_rows: u64,
    workers: u64,
) -> PyResult<(u64, Vec<Vec<Place>>)> {
    let cuts = Cuts::new(sources, chunk_rows).map_err(Failure::from)?;
    let each = cuts.shared(workers).into_iter();
    let place = |piece: Piece| (piece.source, piece.first_row, piece.rows, piece.first_chunk);
    let pieces = each.map(|pieces| pieces.into_iter().map(place).collect());
    Ok((cuts.count(), pieces.collect()))
}

/// Several workers' answers to one task as one.
#[pyfunction]
pub(crate) fn merge_answers<'py>(
    py: Python<'py>,
    answers: Vec<Bytes<'py>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let bytes: Vec<&[u8]> = (answers.iter().map(Bytes::as_slice)).collect::<PyResult<_>>()?;
    Ok(PyBytes::new(py, &py.detach(|| merged(&bytes))))
}

/// A mixture of rows that workers hold, as Python's dictionary says.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct FarOptions {
    components: Vec<usize>,
    covariance: String,
    process: bool,
    concentration: Option<f64>,
    location: Option<Vec<f64>>,
    mean_precision: Option<f64>,
    degrees_of_freedom: Option<f64>,
    scale: Option<Vec<f64>>,
    start: String,
    jumps: Option<bool>,
    sources: Vec<(String, u64)>,
    chunk_rows: u64,
    columns: Vec<String>,
    checkpoint_every: u64,
    /// A folder for the files of the run, the command and the engine that `run.json` tells.
    out: Option<PathBuf>,
    command: Vec<String>,
    engine: String,
}

impl FarOptions {
    fn request(self, plan: Plan) -> Result<(FarRequest, FarInput)> {
        let mut known = Covariance::ALL.into_iter();
        let covariance = known.find(|kind| kind.name() == self.covariance);
        let unknown = || {
            let expected = "full, tied, diag or spherical";
            collapsar::Error::setting("covariance", &self.covariance, expected)
        };
        let start = match &*self.start {
            "random" => FarStart::Random,
            "kmeans" => FarStart::KMeans,
            "k-means++" => FarStart::PlusPlus,
            "random_from_data" => FarStart::Rows,
            other => {
                let expected = "kmeans, k-means++, random or random_from_data";
                return Err(collapsar::Error::setting("start", other, expected).into());
            }
        };
        let mut climb = plan.options()?;
        if let Some((_, every)) = &mut climb.checkpoint {
            *every = self.checkpoint_every.max(1);
        }
        let weights = if self.process {
            Weights::DirichletProcess
        } else {
            Weights::Dirichlet
        };
        let request = FarRequest {
            settings: Settings {
                covariance: covariance.ok_or_else(unknown)?,
                weights,
                concentration: self.concentration,
                location: self.location,
                mean_precision: self.mean_precision,
                degrees_of_freedom: self.degrees_of_freedom,
                scale: self.scale.map(Scale::Matrix),
                ..Settings::new(1)
            },
            components: self.components,
            start,
            jumps: self.jumps,
            climb,
        };
        let input = FarInput {
            sources: self.sources,
            chunk_rows: self.chunk_rows,
            columns: self.columns,
        };
        Ok((request, input))
    }
}

/// Workers that a callable reaches: `ask(task, prepares)` returns what each answered.
pub(crate) struct Callable {
    ask: Py<PyAny>,
    /// What was raised meanwhile.
    raised: Mutex<Option<PyErr>>,
}

impl Callable {
    pub(crate) fn new(ask: Py<PyAny>) -> Self {
        let raised = Mutex::new(None);
        Self { ask, raised }
    }

    /// What was done, or what the callable raised meanwhile, which says more than that it did.
    pub(crate) fn done<T>(&self, done: PyResult<T>) -> PyResult<T> {
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        match (done, raised.take()) {
            (Err(_), Some(error)) => Err(error),
            (done, _) => done,
        }
    }

    fn call(&self, task: &[u8], prepares: bool) -> collapsar::Result<Vec<Vec<u8>>> {
        let called = Python::attach(|py| -> PyResult<Vec<Vec<u8>>> {
            let answers = self
                .ask
                .bind(py)
                .call1((PyBytes::new(py, task), prepares))?;
            let answers: Vec<Bound<'_, PyAny>> = answers.extract()?;
            let bytes = |answer: &Bound<'_, PyAny>| -> PyResult<Vec<u8>> {
                Ok(answer.cast::<PyBytes>()?.as_bytes().to_vec())
            };
            answers.iter().map(bytes).collect()
        });
        called.map_err(|error| {
            let cause = error.to_string();
            let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
            raised.get_or_insert(error);
            collapsar::Error::exchange(cause)
        })
    }
}

impl Exchange for Callable {
    fn ask(&self, task: &[u8]) -> collapsar::Result<Vec<Vec<u8>>> {
        self.call(task, false)
    }

    fn prepare(&self, task: &[u8]) -> collapsar::Result<Vec<Vec<u8>>> {
        self.call(task, true)
    }
}

/// Fits a mixture to rows that workers hold.
#[pyfunction]
pub(crate) fn fit_far_mixture(
    py: Python<'_>,
    options: FarOptions,
    plan: Plan,
    ask: Py<PyAny>,
    callback: Option<Py<PyAny>>,
) -> PyResult<Bound<'_, PyDict>> {
    let exchange = Callable::new(ask);
    let (out, written) = (
        options.out.clone(),
        (options.command.clone(), options.engine.clone()),
    );
    // Whoever asks computes little: the threads are the workers'.
    let done = detached(py, 1, callback, |control| {
        let folder = RunFolder::asked(out.as_deref(), collapsar_run::Witness::default())?;
        let (request, input) = options.request(plan)?;
        let run = request.prepare(input, &exchange)?;
        let result = run.climb(control)?;
        if let Some(folder) = folder {
            run.write(folder, &result, (written.0, &written.1))?;
        }
        Ok(result)
    });
    let (result, stopped) = exchange.done(done)?;
    let out = report(py, &result.climbed, stopped)?;
    let messages = &result.climbed.best().point.messages;
    out.set_item("messages", PyArray1::from_slice(py, messages))?;
    out.set_item("fingerprint", &result.fingerprint)?;
    let kind = PosteriorKind::MeanField;
    let signs = Signs::default();
    let verdict = signs.verdict(kind, result.climbed.outcome.converged);
    let known = (kind, verdict, signs, None::<String>);
    out.set_item("posterior", python(py, &known)?)?;
    out.set_item("compared", python(py, &result.compared)?)?;
    out.set_item("mixture", python(py, &result.fit)?)?;
    out.set_item("fit", FittedMixture::of(result.fit).into_pyobject(py)?)?;
    Ok(out)
}
