//! What may be asked of topics, and what it means for the corpus at hand: files read, checked once.

use std::path::PathBuf;
use std::sync::Arc;

use collapsar::topics::{Alpha, Beta, Corpus, Settings, Start, Topics};
use collapsar::{Change, Direction, Hint};
use serde_json::{Value, json};

use super::corpus::{self, CorpusData};
use super::holdout::Holdout;
use super::{Held, TopicsRun, Training};
use crate::error::{Error, Result};
use crate::fit::PosteriorOptions;
use crate::plan::{ClimbOptions, topics_tolerance};
use crate::record::{check_apart, check_target, merged};
use crate::verdict::PosteriorKind;

/// Topics, as a user asks for them.
#[derive(Debug, Clone)]
pub struct TopicsRequest {
    /// Numbers of topics to fit.
    pub topics: Vec<usize>,
    /// The model, but for the number of topics.
    pub settings: Settings,
    /// Where climbs begin.
    pub start: Start,
    /// Whether all restarts are kept, and words foreseen by the mean of their predictions.
    pub average: bool,
    /// The fraction of the documents to hold out.
    pub holdout: Option<f64>,
    /// Files of documents to foresee: the half that is read, and the other.
    pub completion: Option<[PathBuf; 2]>,
    /// Where to write perplexity and cost along the climb.
    pub curve: Option<PathBuf>,
    /// How words are ranked in tables, from 0, by lift, to 1, by probability.
    pub relevance: f64,
    /// Whether tables have every word.
    pub all_words: bool,
    /// Which posterior results are of.
    pub posterior: PosteriorOptions,
    /// Whether the posterior of every document's proportions is told, draws included.
    pub documents: bool,
    /// How models are climbed.
    pub climb: ClimbOptions,
}

/// How many times more a step may gain where chains take over, which find the rest themselves: on nips2011 all that
/// follows the annealed start raises the bound, and no prediction.
const BEFORE_CHAINS: f64 = 1e6;

impl TopicsRequest {
    /// All documents of a corpus, with learned priors.
    pub fn new(topics: Vec<usize>) -> Self {
        Self {
            topics,
            settings: Settings::new(1),
            start: Start::default(),
            average: false,
            holdout: None,
            completion: None,
            curve: None,
            relevance: 0.6,
            all_words: false,
            posterior: PosteriorOptions::default(),
            documents: false,
            climb: ClimbOptions::default(),
        }
    }

    /// Holds documents out of a corpus or reads others, and checks all that can be wrong before a climb.
    pub fn prepare(self, data: &CorpusData) -> Result<TopicsRun<'_>> {
        self.check_stored(data)?;
        let held = match (self.holdout, &self.completion) {
            (Some(fraction), _) => {
                let (name, seed) = (data.name(), self.climb.seed);
                Held::Out(Holdout::draw(name, &data.corpus, fraction, seed)?)
            }
            (None, Some(files)) => Held::Files(data.halves(files)?),
            (None, None) => Held::None,
        };
        let training = match &held {
            Held::Out(holdout) => Training::Memory(Arc::clone(&holdout.training)),
            _ => match &data.stored {
                Some(stored) => Training::File(Arc::clone(&stored.file.corpus)),
                None => Training::Memory(data.library()?),
            },
        };
        self.checked(Some(data), training, held)
    }

    /// The same for a corpus in memory, all of which is fitted.
    pub fn prepare_corpus(self, training: Arc<Corpus>) -> Result<TopicsRun<'static>> {
        self.checked(None, Training::Memory(training), Held::None)
    }

    /// Refuses what needs all documents in memory, where they are in a file.
    fn check_stored(&self, data: &CorpusData) -> Result<()> {
        if data.stored.is_none() {
            return Ok(());
        }
        let exact = self.posterior.posterior == Some(PosteriorKind::Exact);
        let options = [
            ("posterior", exact, "chains over all tokens"),
            ("documents", self.documents, "a row for each of them"),
            (
                "holdout",
                self.holdout.is_some(),
                "documents held out of them",
            ),
            ("average", self.average, "what several fits say of them"),
            ("curve", self.curve.is_some(), "perplexity along the climb"),
        ];
        let Some((option, _, what)) = options.into_iter().find(|(_, asked, _)| *asked) else {
            return Ok(());
        };
        let found = format!("documents that do not fit in memory, and {what} asked for");
        let error = Error::input(data.name(), found, "documents in memory");
        let hints = vec![Hint::higher("memory"), Hint::Option(option, Change::Omit)];
        Err(error.with_hint(Hint::Any(hints)))
    }

    fn checked(
        mut self,
        data: Option<&CorpusData>,
        training: Training,
        held: Held,
    ) -> Result<TopicsRun<'_>> {
        self.climb.check(self.topics.len(), "topics")?;
        let exact = self.posterior.posterior == Some(PosteriorKind::Exact);
        let sooner = if exact { BEFORE_CHAINS } else { 1.0 };
        if exact && self.climb.tolerance.is_none() && self.climb.method == Direction::Auto {
            // Momentum would not stop before it has found its pace.
            self.climb.method = Direction::Vbem;
        }
        let plan = (self.climb).plan(topics_tolerance(sooner * training.tokens()))?;
        let run = TopicsRun {
            request: self,
            data,
            training,
            held,
            plan,
        };
        // Whatever is wrong with one model is better known before the others are fitted.
        for &topics in &run.request.topics {
            let settings = run.settings(topics);
            match &run.training {
                Training::Memory(corpus) => drop(Topics::new(Arc::clone(corpus), &settings)?),
                Training::File(corpus) => {
                    drop(Topics::stored(
                        Arc::clone(corpus),
                        &settings,
                        corpus.path(),
                    )?);
                }
            }
        }
        run.plan.prepare(&run.files())?;
        if let Some(file) = &run.request.curve {
            check_apart(file, "the curve", &run.files())?;
            check_target(file, "the curve")?;
        }
        Ok(run)
    }
}

impl TopicsRun<'_> {
    /// The options as `run.json` has them.
    pub(super) fn config(&self) -> Value {
        let request = &self.request;
        let completion = request.completion.as_ref();
        let completion =
            completion.map(|[first, second]| format!("{},{}", first.display(), second.display()));
        let own = json!({
            "topics": request.topics,
            "alpha": alpha(&request.settings),
            "beta": beta(&request.settings),
            "sweeps": request.settings.sweeps,
            "start": request.start,
            "average": request.average,
            "holdout": request.holdout,
            "completion": completion,
            "curve": request.curve,
            "relevance": request.relevance,
            "documents": request.documents,
        });
        let own = merged(&request.posterior, own);
        let corpus = self.data.map_or(Value::Null, corpus::config);
        merged(&request.climb, merged(own, corpus))
    }

    /// What every line of a curve says.
    pub(super) fn line(&self, topics: usize) -> Value {
        let request = &self.request;
        json!({
            "tool": "collapsar",
            "version": env!("CARGO_PKG_VERSION"),
            "corpus": self.data.map(CorpusData::name),
            "topics": topics,
            "alpha": alpha(&request.settings),
            "beta": beta(&request.settings),
            "seed": request.climb.seed,
            "settings": self.config(),
        })
    }

    /// The files that were read.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = self.data.into_iter().flat_map(CorpusData::files).collect();
        files.extend(self.request.completion.iter().flatten().cloned());
        files.extend(self.request.climb.resume.clone());
        files
    }
}

/// The prior of proportions as it is asked for.
pub(super) fn alpha(settings: &Settings) -> Value {
    match &settings.alpha {
        Alpha::Learned => "auto".into(),
        Alpha::Symmetric(alpha) => (*alpha).into(),
        Alpha::Given(all) => all.clone().into(),
    }
}

/// The prior of words as it is asked for.
pub(super) fn beta(settings: &Settings) -> Value {
    match settings.beta {
        Beta::Learned => "auto".into(),
        Beta::Given(beta) => beta.into(),
    }
}
