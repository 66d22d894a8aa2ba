//! Latent Dirichlet allocation: fits, new documents, how good topics are.

use std::sync::Arc;

use collapsar::topics::{
    Alpha, BatchScore, Beta, Corpus, OnlineOptions, OnlineTopics, Ranking, Settings, TopicsFit,
    WordScore,
};
use collapsar_report::pictures;
use collapsar_run::fit::PosteriorOptions;
use collapsar_run::threads_of_jobs;
use collapsar_run::topics::{Measures, TopicsRequest};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;

use crate::arrays::{python, report, shaped};
use crate::error::Result;
use crate::run::{Plan, detached, posterior_kind, whole};

/// Documents as SciPy's CSR matrices have them: starts, words, counts, and the vocabulary's size.
type Documents<'py> = (
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, f32>,
    usize,
);

/// Documents copied out of Python: the library keeps them in two orders anyway.
struct Bags(Vec<usize>, Vec<u32>, Vec<f32>, usize);

impl Bags {
    fn new((starts, words, counts, vocabulary): &Documents<'_>) -> PyResult<Self> {
        let starts = starts.as_slice()?.iter().map(|&at| at as usize).collect();
        let (words, counts) = (words.as_slice()?.to_vec(), counts.as_slice()?.to_vec());
        Ok(Self(starts, words, counts, *vocabulary))
    }

    fn corpus(self) -> collapsar::Result<Arc<Corpus>> {
        Ok(Arc::new(Corpus::new(self.0, self.1, self.2, self.3)?))
    }

    /// So many documents at a time; batches without words are left out.
    fn batches(&self, size: usize) -> impl Iterator<Item = collapsar::Result<Corpus>> {
        let Self(starts, words, counts, vocabulary) = self;
        let last = starts.len() - 1;
        let batch = move |first: usize| {
            let starts = &starts[first..=(first + size).min(last)];
            let (begin, end) = (starts[0], starts[starts.len() - 1]);
            let starts = starts.iter().map(|start| start - begin).collect();
            let (words, counts) = (words[begin..end].to_vec(), counts[begin..end].to_vec());
            (begin < end).then(|| Corpus::new(starts, words, counts, *vocabulary))
        };
        (0..last).step_by(size.max(1)).filter_map(batch)
    }
}

/// A topic model as Python's dictionary says; priors that are not given are learned.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    topics: usize,
    alpha: Option<Vec<f64>>,
    beta: Option<f64>,
    sweeps: Option<usize>,
    start: String,
    /// Which posterior results are of, by name.
    posterior: Option<String>,
    /// Markov chains, where it is exact, draws of each, and sweeps before the first.
    chains: usize,
    draws: usize,
    warmup: Option<usize>,
    /// Whether every draw of every document's proportions is kept.
    keep_documents: bool,
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

    fn request(self, plan: Plan) -> Result<TopicsRequest> {
        let defaults = Settings::new(self.topics);
        Ok(TopicsRequest {
            posterior: self.posterior()?,
            documents: self.keep_documents,
            settings: Settings {
                alpha: self.alpha.map_or(Alpha::Learned, Alpha::Given),
                beta: self.beta.map_or(Beta::Learned, Beta::Given),
                sweeps: self.sweeps.unwrap_or(defaults.sweeps),
                ..defaults
            },
            start: self.start.parse()?,
            climb: plan.options()?,
            ..TopicsRequest::new(vec![self.topics])
        })
    }
}

/// Fits topics to documents.
#[pyfunction]
pub(crate) fn fit_topics<'py>(
    py: Python<'py>,
    documents: Documents<'py>,
    options: Options,
    plan: Plan,
    callback: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let bags = Bags::new(&documents)?;
    let (fitted, raised) = detached(py, plan.threads(None), callback, |control| {
        let request = options.request(plan)?;
        Ok(request.prepare_corpus(bags.corpus()?)?.climb(control)?)
    })?;
    let result = report(py, &fitted.climbed, raised)?;
    let posterior = fitted.posterior;
    let verdict = posterior
        .signs
        .verdict(posterior.kind, fitted.climbed.outcome.converged);
    let signs = json!({"verdict": verdict, "signs": posterior.signs});
    result.set_item("posterior", posterior.kind.name())?;
    result.set_item("judged", python(py, &signs)?)?;
    let answer = fitted.fit;
    let (words, count) = (answer.vocabulary(), answer.documents());
    let topics = answer.topics;
    result.set_item("alpha", PyArray1::from_vec(py, answer.alpha))?;
    result.set_item("beta", answer.beta)?;
    let word_counts = shaped(py, answer.word_counts, &[words, topics])?;
    result.set_item("word_counts", word_counts)?;
    let document_counts = shaped(py, answer.document_counts, &[count, topics])?;
    result.set_item("document_counts", document_counts)?;
    result.set_item("drawn", answer.drawn)?;
    let shares = posterior.rows[..topics].iter();
    let shares = shares.flat_map(|row| [row.mean, row.sd]).collect();
    result.set_item("shares", shaped(py, shares, &[topics, 2])?)?;
    let sds = shaped(py, posterior.proportion_sds, &[count, topics])?;
    result.set_item("proportion_sds", sds)?;
    let drawn = posterior.chains.map(|(chains, _)| {
        let rows = posterior.rows.len();
        let shape = [chains.chains.len(), rows, chains.chains[0][0].len()];
        let all = chains.chains.into_iter().flatten().flatten().collect();
        shaped(py, all, &shape)
    });
    result.set_item("draws", drawn.transpose()?)?;
    Ok(result)
}

/// Fitted topics: the prior of proportions, that of words, expected tokens, a row a word, and whether these are
/// means over exact draws.
type Fitted<'py> = (Vec<f64>, f64, PyReadonlyArray1<'py, f64>, bool);

fn fitted((alpha, beta, counts, drawn): &Fitted<'_>) -> PyResult<TopicsFit> {
    Ok(TopicsFit {
        topics: alpha.len(),
        alpha: alpha.clone(),
        beta: *beta,
        word_counts: counts.as_slice()?.to_vec(),
        document_counts: vec![],
        drawn: *drawn,
    })
}

/// Expected tokens and proportions of new documents, and a lower bound on their log probability.
#[pyfunction]
pub(crate) fn infer_topics<'py>(
    py: Python<'py>,
    topics: Fitted<'py>,
    documents: Documents<'py>,
    jobs: Option<isize>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>, f64)> {
    let (fit, bags) = (fitted(&topics)?, Bags::new(&documents)?);
    let threads = threads_of_jobs(jobs, Some(bags.1.len() * fit.topics));
    let inferred = whole(py, threads, |_| Ok(fit.infer(&bags.corpus()?)?))?;
    let shape = [inferred.counts.len() / inferred.topics, inferred.topics];
    Ok((
        shaped(py, inferred.counts, &shape)?,
        shaped(py, inferred.proportions, &shape)?,
        inferred.bound,
    ))
}

/// Log probability and number of tokens of second halves of documents, given the first.
#[pyfunction]
pub(crate) fn complete_topics<'py>(
    py: Python<'py>,
    topics: Fitted<'py>,
    observed: Documents<'py>,
    evaluated: Documents<'py>,
    jobs: Option<isize>,
) -> PyResult<(f64, f64)> {
    let fit = fitted(&topics)?;
    let (first, second) = (Bags::new(&observed)?, Bags::new(&evaluated)?);
    let completion = whole(py, threads_of_jobs(jobs, None), |_| {
        Ok(fit.completion(&first.corpus()?, &*second.corpus()?)?)
    })?;
    Ok((completion.ln_probability, completion.tokens))
}

/// How topics learn from batches, as Python's dictionary says.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Online {
    /// Documents that there are, or will be, and those of a batch.
    documents: f64,
    batch_size: usize,
    /// How many batches there were before.
    batches: u64,
    decay: f64,
    offset: f64,
    settled: f64,
    /// Of where topics begin.
    seed: u64,
}

impl Online {
    fn options(&self) -> OnlineOptions {
        OnlineOptions {
            documents: self.documents,
            decay: self.decay,
            offset: self.offset,
            settled: self.settled,
        }
    }
}

/// The expected tokens that topics begin with which learn from batches.
#[pyfunction]
pub(crate) fn first_topics(
    py: Python<'_>,
    prior: (Vec<f64>, f64),
    vocabulary: usize,
    seed: u64,
) -> PyResult<Bound<'_, PyAny>> {
    let topics = prior.0.len();
    let settings = Settings {
        alpha: Alpha::Given(prior.0),
        beta: Beta::Given(prior.1),
        ..Settings::new(topics)
    };
    let fit = whole(py, 1, |_| {
        let options = OnlineOptions::default();
        Ok(OnlineTopics::new(&settings, vocabulary, options, seed)?.fit())
    })?;
    shaped(py, fit.word_counts, &[vocabulary, topics])
}

/// Learns from documents, batch by batch: expected tokens, how many batches there have been, and the tokens of these
/// documents with what the topics before each batch said of it, a lower bound on its log probability.
#[pyfunction]
pub(crate) fn learn_topics<'py>(
    py: Python<'py>,
    topics: Fitted<'py>,
    documents: Documents<'py>,
    online: Online,
    jobs: Option<isize>,
) -> PyResult<(Bound<'py, PyAny>, u64, f64, f64)> {
    let (fit, bags) = (fitted(&topics)?, Bags::new(&documents)?);
    let threads = threads_of_jobs(jobs, Some(bags.1.len() * fit.topics));
    let shape = [fit.vocabulary(), fit.topics];
    let (learned, score) = whole(py, threads, |_| {
        let topics = OnlineTopics::resume(fit, online.batches, online.options())?;
        let mut topics = topics.seeded(online.seed);
        let mut score = BatchScore::default();
        for batch in bags.batches(online.batch_size) {
            score += topics.learn(&batch?)?;
        }
        Ok((topics, score))
    })?;
    let batches = learned.batches();
    let counts = shaped(py, learned.fit().word_counts, &shape)?;
    Ok((counts, batches, score.tokens, score.bound))
}

/// How good topics are by their `count` most probable words.
#[pyfunction]
pub(crate) fn quality_of_topics<'py>(
    py: Python<'py>,
    topics: Fitted<'py>,
    documents: Documents<'py>,
    count: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let (fit, bags) = (fitted(&topics)?, Bags::new(&documents)?);
    let quality = whole(py, 0, |_| Ok(fit.quality(&*bags.corpus()?, count)?))?;
    let topics = quality.topics.iter().map(|topic| {
        json!({
            "tokens": topic.tokens,
            "share": topic.proportion,
            "umass": topic.coherence.map(|c| c.umass),
            "npmi": topic.coherence.map(|c| c.npmi),
            "exclusivity": topic.exclusivity,
        })
    });
    let mut all = json!(Measures::of(&quality));
    all["topics"] = topics.collect();
    python(py, &all)
}

/// The words that rank highest in each topic: word, probability, relevance.
#[pyfunction]
pub(crate) fn words_of_topics(
    py: Python<'_>,
    topics: Fitted<'_>,
    count: usize,
    relevance: f64,
) -> PyResult<Vec<Vec<(usize, f64, f64)>>> {
    let fit = fitted(&topics)?;
    let tops = whole(py, 0, |_| {
        let ranking = Ranking::Relevance(relevance);
        ranking.check()?;
        Ok(fit.top_words_of_all(count, ranking))
    })?;
    let row = |w: &WordScore| (w.word, w.probability, w.relevance(relevance));
    let tops = tops.iter().map(|top| top.iter().map(row).collect());
    Ok(tops.collect())
}

/// A picture of topics on a plane, or of the terms of one, as a Vega-Lite specification.
#[pyfunction]
pub(crate) fn picture_of_topics(
    py: Python<'_>,
    topics: Fitted<'_>,
    words: Vec<String>,
    topic: Option<usize>,
    relevance: f64,
) -> PyResult<String> {
    let fit = fitted(&topics)?;
    if words.len() != fit.vocabulary() {
        let (found, expected) = (words.len(), fit.vocabulary());
        return Err(PyValueError::new_err(format!(
            "feature_names has {found} words, expected {expected} as the fit has"
        )));
    }
    if let Some(topic) = topic.filter(|&topic| topic >= fit.topics) {
        let last = fit.topics - 1;
        return Err(PyValueError::new_err(format!(
            "topic is {topic}, expected one from 0 to {last}"
        )));
    }
    whole(py, 0, |_| {
        Ranking::Relevance(relevance).check()?;
        Ok(match topic {
            Some(topic) => pictures::terms(&fit, &words, (topic, relevance)).to_string(),
            None => pictures::topics(&fit, &words, relevance).to_string(),
        })
    })
}
