//! Topics of documents that workers hold: the worker as an object, words of many files, and climbs that reach workers by a
//! callable.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use collapsar::topics::machines::Worker;
use collapsar::topics::{Alpha, Beta, Settings};
use collapsar_formats::{CorpusOptions, TokenOptions};
use collapsar_run::topics::{
    CorpusRequest, FarDocumentsInput, FarTopicsRequest, WordCounts, WordFilters, WordKind,
    common_vocabulary as common, read_bags,
};
use collapsar_run::{PosteriorKind, RunFolder, Signs};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::json;

use crate::arrays::{python, report, shaped};
use crate::error::{Failure, Result};
use crate::machines::{Bytes, Callable, Place, as_piece};
use crate::run::{Plan, detached};

/// How files become counts of words, as Python's dictionary says.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Reading {
    format: Option<String>,
    /// The file that names the words of files of counts.
    vocabulary: Option<PathBuf>,
    text_column: Option<String>,
    stop_words: Option<String>,
    min_length: usize,
    keep_numbers: bool,
}

impl Reading {
    fn options(&self) -> Result<CorpusOptions> {
        let format = self.format.as_deref().map(str::parse).transpose();
        Ok(CorpusOptions {
            format: format.map_err(collapsar_run::Error::from)?,
            vocabulary: self.vocabulary.clone(),
            text_column: self.text_column.clone(),
            tokens: TokenOptions {
                min_length: self.min_length,
                numbers: self.keep_numbers,
                ..TokenOptions::default()
            },
            ..CorpusOptions::default()
        })
    }
}

/// Words of a file as Python hands them on: documents, what words are, words, counts, documents with each.
type Counted = (u64, u8, Vec<String>, Vec<f64>, Vec<u64>);

/// How many documents a file has, and its words.
#[pyfunction]
pub(crate) fn count_words(py: Python<'_>, file: PathBuf, reading: Reading) -> PyResult<Counted> {
    let found = py.detach(|| -> Result<WordCounts> {
        let request = CorpusRequest {
            file,
            options: reading.options()?,
            stop_words: reading.stop_words.clone(),
        };
        Ok(WordCounts::read(request)?)
    })?;
    let kind = match found.kind {
        WordKind::Texts => 0,
        WordKind::Named => 1,
        WordKind::Numbers => 2,
    };
    let (words, tokens) = (found.words, found.tokens);
    Ok((found.documents, kind, words, tokens, found.documents_with))
}

/// The vocabulary of files whose words were counted, and whether numbers of words are positions in it.
#[pyfunction]
pub(crate) fn common_vocabulary(
    py: Python<'_>,
    files: Vec<(String, Counted)>,
    min_docs: u64,
    max_docs_share: f64,
    max_vocabulary: Option<usize>,
) -> PyResult<(Vec<String>, bool)> {
    let counts = |(documents, kind, words, tokens, documents_with): Counted| WordCounts {
        documents,
        kind: [WordKind::Texts, WordKind::Named, WordKind::Numbers][usize::from(kind.min(2))],
        words,
        tokens,
        documents_with,
    };
    let found = py.detach(|| {
        let files = files.into_iter();
        let filters = WordFilters {
            min_docs,
            max_docs_share,
            max_vocabulary,
        };
        common(
            files.map(|(name, file)| (name, counts(file))).collect(),
            filters,
        )
        .map_err(Failure::from)
    });
    Ok(found?)
}

/// Who holds chunks of documents, and answers tasks.
#[pyclass(frozen, module = "pycollapsar._collapsar")]
pub(crate) struct TopicsWorker {
    worker: Mutex<Worker>,
    vocabulary: (Vec<String>, bool),
    threads: rayon::ThreadPool,
}

impl TopicsWorker {
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
impl TopicsWorker {
    /// A worker without documents: chunks in all, documents of a chunk, the words and whether numbers are positions among
    /// them, threads.
    #[new]
    fn new(
        count: u64,
        chunk_rows: u64,
        vocabulary: (Vec<String>, bool),
        threads: usize,
    ) -> PyResult<Self> {
        let threads = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let threads = threads.map_err(|error| Failure::Panic(error.to_string()))?;
        Ok(Self {
            worker: Mutex::new(Worker::new(count, chunk_rows, vocabulary.0.len())),
            vocabulary,
            threads,
        })
    }

    /// Takes in documents of a matrix: where each begins, words, counts.
    fn hold(
        &self,
        py: Python<'_>,
        piece: Place,
        name: &str,
        documents: (
            PyReadonlyArray1<'_, i64>,
            PyReadonlyArray1<'_, u32>,
            PyReadonlyArray1<'_, f32>,
        ),
    ) -> PyResult<()> {
        let (starts, words, counts) = documents;
        let starts = starts.as_slice()?.iter().map(|&at| at as usize);
        let starts: Vec<usize> = starts.collect();
        let (words, counts) = (words.as_slice()?, counts.as_slice()?);
        let held = self.with(py, |worker| {
            worker.hold(name, &as_piece(piece), (&starts, words, counts))
        });
        Ok(held.map_err(Failure::from)?)
    }

    /// Takes in documents of a file.
    fn read(
        &self,
        py: Python<'_>,
        piece: Place,
        name: &str,
        file: PathBuf,
        reading: Reading,
    ) -> PyResult<()> {
        let piece = as_piece(piece);
        let (vocabulary, positions) = (&self.vocabulary.0, self.vocabulary.1);
        self.with(py, |worker| -> Result<()> {
            let known = (&vocabulary[..], positions);
            let (starts, words, counts) = read_bags(&file, known, &reading.options()?)?;
            let first = usize::try_from(piece.first_row).unwrap_or(usize::MAX);
            let end = first.saturating_add(piece.rows as usize).saturating_add(1);
            // Fewer than there were are refused by the worker.
            let own = starts.get(first..end.min(starts.len())).unwrap_or(&[]);
            Ok(worker.hold(name, &piece, (own, &words, &counts))?)
        })?;
        Ok(())
    }

    /// How many documents it holds.
    #[getter]
    fn rows(&self, py: Python<'_>) -> usize {
        self.with(py, |worker| worker.documents())
    }

    /// Of how many passes it keeps what they left.
    #[getter]
    fn passes(&self, py: Python<'_>) -> usize {
        self.with(py, |worker| worker.passes())
    }

    /// Does what a task says.
    fn answer<'py>(&self, py: Python<'py>, task: Bytes<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let task = task.as_slice()?;
        let answer = self.with(py, |worker| worker.answer(task));
        Ok(PyBytes::new(py, &answer))
    }
}

/// Topics of documents that workers hold, as Python's dictionary says.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct FarTopicsOptions {
    topics: Vec<usize>,
    alpha: Option<Vec<f64>>,
    beta: Option<f64>,
    sweeps: Option<usize>,
    start: String,
    sources: Vec<(String, u64)>,
    chunk_rows: u64,
    vocabulary: (Vec<String>, bool),
    checkpoint_every: u64,
    /// A folder for the files of the run, the command and the engine that `run.json` tells.
    out: Option<PathBuf>,
    command: Vec<String>,
    engine: String,
}

impl FarTopicsOptions {
    fn request(self, plan: Plan) -> Result<(FarTopicsRequest, FarDocumentsInput)> {
        let defaults = Settings::new(1);
        let mut climb = plan.options()?;
        if let Some((_, every)) = &mut climb.checkpoint {
            *every = self.checkpoint_every.max(1);
        }
        let alpha = match self.alpha {
            None => Alpha::Learned,
            // One number is that of every topic, however many there are.
            Some(all) if all.len() == 1 => Alpha::Symmetric(all[0]),
            Some(all) => Alpha::Given(all),
        };
        let request = FarTopicsRequest {
            settings: Settings {
                alpha,
                beta: self.beta.map_or(Beta::Learned, Beta::Given),
                sweeps: self.sweeps.unwrap_or(defaults.sweeps),
                ..defaults
            },
            topics: self.topics,
            start: self.start.parse()?,
            climb,
        };
        let input = FarDocumentsInput {
            sources: self.sources,
            chunk_documents: self.chunk_rows,
            vocabulary: self.vocabulary.0,
            ids_are_positions: self.vocabulary.1,
        };
        Ok((request, input))
    }
}

/// Fits topics to documents that workers hold.
#[pyfunction]
pub(crate) fn fit_far_topics(
    py: Python<'_>,
    options: FarTopicsOptions,
    plan: Plan,
    ask: Py<PyAny>,
    callback: Option<Py<PyAny>>,
) -> PyResult<Bound<'_, PyDict>> {
    let exchange = Callable::new(ask);
    let out = options.out.clone();
    let told = (options.command.clone(), options.engine.clone());
    // Whoever asks computes little: the threads are the workers'.
    let done = detached(py, 1, callback, |control| {
        let folder = RunFolder::asked(out.as_deref(), collapsar_run::Witness::default())?;
        let (request, input) = options.request(plan)?;
        let run = request.prepare(input, &exchange)?;
        let result = run.climb(control)?;
        if let Some(folder) = folder {
            run.write(folder, &result, (told.0, &told.1))?;
        }
        Ok((result, run.tokens()))
    });
    let ((result, tokens), stopped) = exchange.done(done)?;
    let out = report(py, &result.climbed, stopped)?;
    let messages = &result.climbed.best().point.messages;
    out.set_item("messages", PyArray1::from_slice(py, messages))?;
    out.set_item("fingerprint", &result.fingerprint)?;
    let (kind, signs) = (PosteriorKind::MeanField, Signs::default());
    let verdict = signs.verdict(kind, result.climbed.outcome.converged);
    out.set_item("posterior", kind.name())?;
    let judged = json!({"verdict": verdict, "signs": signs});
    out.set_item("judged", python(py, &judged)?)?;
    out.set_item("compared", python(py, &result.compared)?)?;
    out.set_item("tokens", tokens)?;
    let fit = result.fit;
    let shape = [fit.vocabulary(), fit.topics];
    out.set_item("alpha", PyArray1::from_vec(py, fit.alpha))?;
    out.set_item("beta", fit.beta)?;
    out.set_item("drawn", fit.drawn)?;
    out.set_item("word_counts", shaped(py, fit.word_counts, &shape)?)?;
    Ok(out)
}
