//! Runs of topic models: a request and a corpus, then climbs with every number of topics.
//!
//! - `corpus`: corpora as files give them and as the library takes them
//! - `holdout`: which documents are held out, and how each is halved
//! - `request`: what may be asked for, and what it means for the corpus at hand
//! - `curve`: perplexity and cost along a climb
//! - `score`: how well a fit foresees documents, or several that are kept to be averaged
//! - `posterior`: which posterior results are of, and how far it may be trusted
//! - `quality`: measures of the topics themselves, and what looks wrong with them
//! - `results`: the files of a run
//! - `stored`: the same of documents that are in a file
//! - `stream`: documents as they come
//! - `machines`: documents that workers hold
//! - `vocabulary`: words of many files as one vocabulary
//! - `saved`: `topics.json`, written, read and used on new documents

mod corpus;
mod curve;
mod holdout;
mod machines;
mod posterior;
mod quality;
mod request;
mod results;
mod saved;
mod score;
mod stored;
mod stream;
mod vocabulary;

use std::sync::{Arc, Mutex, PoisonError};

use collapsar::topics::{AtSweep, Corpus, Quality, Settings, StoredCorpus, Topics, TopicsFit};
use collapsar::{Fit, Outcome, Point, Step};
use collapsar_text::count;
use serde::Serialize;

use crate::climb::{Ascent, Climbed, Watch, each, lock};
use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::verdict::PosteriorKind;

pub use corpus::{CorpusData, CorpusRequest, CorpusRoom, Halves, StoredData};
pub use machines::{
    FarCompared, FarDocumentsInput, FarTopicsRequest, FarTopicsResult, FarTopicsRun,
};
pub use posterior::TopicsPosterior;
pub use quality::{Doubt, Measures};
pub use request::TopicsRequest;
pub use results::write_documents;
pub(crate) use saved::others;
pub use saved::{Inferred, SavedTopics};
pub use score::{Average, Score};
pub use stream::{StreamPosition, StreamRequest, StreamResult};
pub use vocabulary::{Bags, WordCounts, WordFilters, WordKind, common_vocabulary, read_bags};

use curve::Curve;
use holdout::Holdout;
use score::Members;

/// Topic models that can be climbed.
pub struct TopicsRun<'a> {
    request: TopicsRequest,
    /// The file that the corpus was read from, if any.
    data: Option<&'a CorpusData>,
    /// What is fitted.
    training: Training,
    held: Held,
    plan: Plan,
}

/// Documents to fit.
enum Training {
    Memory(Arc<Corpus>),
    File(Arc<StoredCorpus>),
}

impl Training {
    fn documents(&self) -> usize {
        match self {
            Self::Memory(corpus) => corpus.documents(),
            Self::File(corpus) => corpus.documents(),
        }
    }

    fn tokens(&self) -> f64 {
        match self {
            Self::Memory(corpus) => corpus.tokens(),
            Self::File(corpus) => corpus.tokens(),
        }
    }
}

/// Documents to foresee.
enum Held {
    None,
    /// A part of the corpus.
    Out(Holdout),
    /// From other files.
    Files(Halves),
}

impl Held {
    /// Where a document that was fitted stands in the corpus.
    fn place(&self, fitted: usize) -> usize {
        match self {
            Self::Out(holdout) => holdout.kept[fitted],
            _ => fitted,
        }
    }
}

/// The best fit, and what finding it cost.
pub struct TopicsResult {
    /// The topics, and what documents are about.
    pub fit: TopicsFit,
    /// What is known of shares and proportions.
    pub posterior: TopicsPosterior,
    /// How good the topics are.
    pub quality: Quality,
    /// How well they foresee documents, where there are any to foresee.
    pub score: Option<Score>,
    /// The best and the others, where all are kept.
    pub average: Average,
    /// What looks wrong with the topics.
    pub doubts: Vec<Doubt>,
    /// The climbs.
    pub climbed: Climbed,
    /// One line for each number of topics.
    pub compared: Vec<Compared>,
    /// The model of documents that are in a file, which knows what they are about.
    stored: Option<stored::StoredTopics>,
}

/// What one number of topics led to.
#[derive(Debug, Clone, Serialize)]
pub struct Compared {
    /// The number.
    pub topics: usize,
    /// The bound reached.
    pub bound: f64,
    /// That of documents to foresee.
    pub perplexity: Option<f64>,
    /// How good the topics are.
    pub measures: Measures,
    /// Topics in use.
    pub used: usize,
    /// Accepted steps of all climbs.
    pub iterations: u64,
    /// Passes over the data of all climbs.
    pub passes: u64,
    /// Whether the best climb has converged.
    pub converged: bool,
}

impl TopicsRun<'_> {
    /// Documents to foresee.
    pub fn halves(&self) -> Option<&Halves> {
        match &self.held {
            Held::None => None,
            Held::Out(holdout) => Some(&holdout.halves),
            Held::Files(halves) => Some(halves),
        }
    }

    /// Climbs with every number of topics, and keeps the best: by held-out perplexity where there is one.
    pub fn climb(&self, watch: &dyn Watch) -> Result<TopicsResult> {
        match &self.training {
            Training::Memory(corpus) => self.climb_memory(corpus, watch),
            Training::File(corpus) => self.climb_file(corpus, watch),
        }
    }

    fn climb_memory(&self, corpus: &Arc<Corpus>, watch: &dyn Watch) -> Result<TopicsResult> {
        let request = &self.request;
        let mut compared = Vec::new();
        let (climbed, (fit, posterior, quality, score, average)) = each(
            &self.plan,
            watch,
            &request.topics,
            |run, topics| {
                let curve = (request.curve.clone().zip(self.halves()))
                    .map(|(file, halves)| Curve::begin(file, halves, self.line(topics)));
                let model = Topics::new(Arc::clone(corpus), &self.settings(topics))?;
                let average = Mutex::new(Average::default());
                let exact = request.posterior.posterior == Some(PosteriorKind::Exact);
                // What chains of each restart say, and the first refusal of one, which no climb can report.
                let drawn: Mutex<Vec<(u64, TopicsFit, TopicsPosterior)>> = Mutex::default();
                let refused: Mutex<Option<Error>> = Mutex::default();
                let at_step = |step: &Step, point: &Point| {
                    if let Some(curve) = &curve {
                        run.aside(|| curve.step(&model, step, point));
                    }
                };
                let at_end = |seed: u64, fit: &Fit| {
                    if !request.average {
                        if let Some(curve) = &curve {
                            run.aside(|| curve.end(&model, fit));
                        }
                        return;
                    }
                    // Each restart has chains of its own, and what they drew on average is what is kept.
                    let member = if exact {
                        (self.posterior(&model, (fit, seed), watch.interrupt(), None))
                            .map(|(fit, posterior)| (fit, Some(posterior)))
                    } else {
                        Ok((model.fit(&fit.point), None))
                    };
                    let (member, posterior) = match member {
                        Ok(member) => member,
                        Err(refusal) => {
                            lock(&refused).get_or_insert(refusal);
                            return;
                        }
                    };
                    if let Some(posterior) = posterior {
                        lock(&drawn).push((seed, member.clone(), posterior));
                    }
                    let mut average = lock(&average);
                    average.add(seed, fit, member);
                    // One that was cut short counts only where there is no other.
                    let counts = fit.outcome != Outcome::Interrupted || average.fits.len() == 1;
                    if let Some(curve) = curve.as_ref().filter(|_| counts) {
                        run.aside(|| curve.restart(&average.fits, fit, self.sweeps()));
                    }
                };
                let start = |_, seed| model.start_unless(request.start, seed, watch.interrupt());
                let name = count(topics, "topic");
                let followed = curve.is_some() && !request.average;
                let climbs = run.climbs(&Ascent {
                    at_step: followed.then_some(&at_step),
                    at_end: Some(&at_end),
                    in_turn: curve.is_some(),
                    ..Ascent::new(&model, name, &start)
                })?;
                let best = &climbs.best;
                let at_sweep = |sweep: usize, fits: &dyn Fn() -> Vec<TopicsFit>| {
                    if let Some(curve) = &curve {
                        run.aside(|| curve.sweep(best, sweep, fits));
                    }
                };
                let at_sweep = curve.is_some().then_some(&at_sweep as &AtSweep<'_>);
                if let Some(refusal) = lock(&refused).take() {
                    return Err(refusal);
                }
                let seed = climbs.best_seed;
                let known = drawn.into_inner().unwrap_or_else(PoisonError::into_inner);
                let known = known.into_iter().find(|(of, ..)| *of == seed);
                let (fit, posterior) = match known {
                    Some((_, fit, posterior)) => (fit, posterior),
                    None => self.posterior(&model, (best, seed), watch.chains(), at_sweep)?,
                };
                curve.map_or(Ok(()), Curve::finish)?;
                let average = average.into_inner().unwrap_or_else(PoisonError::into_inner);
                let average = average.settle(climbs.best_seed);
                let score = (self.halves())
                    .map(|halves| {
                        let members = Members::of(&average, &posterior);
                        run.aside(|| Score::new(&fit, &members, halves))
                    })
                    .transpose()?;
                let quality = run.aside(|| fit.quality(corpus, quality::WORDS))?;
                compared.push(Compared {
                    topics,
                    bound: best.point.bound,
                    perplexity: score.map(|score| score.perplexity),
                    measures: Measures::of(&quality),
                    used: quality.used,
                    iterations: climbs.iterations(),
                    passes: climbs.passes(),
                    converged: best.outcome.converged(),
                });
                Ok((climbs, (fit, posterior, quality, score, average)))
            },
            |climbs, (_, _, _, score, _)| match score {
                Some(score) => -score.perplexity,
                None => climbs.best.point.bound,
            },
        )?;
        Ok(TopicsResult {
            doubts: quality::doubts(&request.settings, &fit, &quality),
            fit,
            posterior,
            quality,
            score,
            average,
            climbed,
            compared,
            stored: None,
        })
    }

    /// The model's settings with so many topics.
    fn settings(&self, topics: usize) -> Settings {
        Settings {
            topics,
            ..self.request.settings.clone()
        }
    }
}
