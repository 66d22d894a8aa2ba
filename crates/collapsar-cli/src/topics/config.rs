//! What the flags of a fit mean for the corpus at hand: files read, defaults filled in, checked once.

use std::path::PathBuf;
use std::sync::Arc;

use collapsar::topics::{Corpus, Settings, Start, Topics};
use serde_json::{Value, json};

use super::args::FitArgs;
use super::corpus::{self, Data, Halves};
use super::holdout::Holdout;
use crate::climb::Plan;
use crate::common::Common;
use crate::files::check_target;

/// The default tolerance, for each token: a corpus of a million tokens has converged when a step raises
/// its bound by less than 0.1 nats, far below what tells two fits apart.
const TOLERANCE: f64 = 1e-7;

/// A fit that can begin.
#[derive(Debug)]
pub(crate) struct Config {
    /// Numbers of topics to fit.
    pub(crate) topics: Vec<usize>,
    /// The model, but for the number of topics.
    settings: Settings,
    pub(crate) start: Start,
    tolerance: f64,
    pub(crate) plan: Plan,
    /// What is fitted.
    pub(crate) training: Arc<Corpus>,
    pub(crate) held: Held,
    pub(crate) curve: Option<PathBuf>,
    /// Whether all restarts are kept.
    pub(crate) average: bool,
}

/// Documents to foresee.
#[derive(Debug)]
pub(crate) enum Held {
    None,
    /// A part of the corpus.
    Out(Holdout),
    /// From other files.
    Files(Halves),
}

impl Held {
    /// Where a document that was fitted stands in the corpus.
    pub(crate) fn place(&self, fitted: usize) -> usize {
        match self {
            Self::Out(holdout) => holdout.kept[fitted],
            _ => fitted,
        }
    }

    pub(crate) fn halves(&self) -> Option<&Halves> {
        match self {
            Self::None => None,
            Self::Out(holdout) => Some(&holdout.halves),
            Self::Files(halves) => Some(halves),
        }
    }
}

impl Config {
    pub(crate) fn resolve(args: &FitArgs, data: &Data, common: &Common) -> anyhow::Result<Self> {
        let name = args.corpus_name();
        let held = match (args.holdout, &args.completion) {
            (Some(share), _) => {
                Held::Out(Holdout::draw(&name, &data.corpus, share, args.climb.seed)?)
            }
            (None, Some(pair)) => Held::Files(data.halves(pair, &args.read, common)?),
            (None, None) => Held::None,
        };
        let training = match &held {
            Held::Out(holdout) => Arc::clone(&holdout.training),
            _ => corpus::library(&data.corpus).map_err(|error| corpus::of_corpus(&name, error))?,
        };
        let tolerance = args
            .tolerance
            .unwrap_or_else(|| rounded(TOLERANCE * training.tokens()));
        let settings = Settings {
            alpha: args.alpha.0.clone(),
            beta: args.beta.0,
            sweeps: args.sweeps,
            ..Settings::new(1)
        };
        let config = Self {
            topics: args.topics.0.clone(),
            settings,
            start: args.start,
            tolerance,
            plan: Plan::resolve(&args.climb, tolerance)?,
            training,
            held,
            curve: args.curve.clone(),
            average: args.average,
        };
        // Whatever is wrong with one model is better known before the others are fitted.
        for &topics in &config.topics {
            config.model(topics)?;
        }
        config.plan.prepare()?;
        if let Some(file) = &config.curve {
            check_target(file, "the curve")?;
        }
        Ok(config)
    }

    /// The model with so many topics.
    pub(crate) fn model(&self, topics: usize) -> collapsar::Result<Topics> {
        let settings = Settings {
            topics,
            ..self.settings.clone()
        };
        Topics::new(Arc::clone(&self.training), &settings)
    }

    /// The settings as `run.json` has them.
    pub(crate) fn record(&self, args: &FitArgs) -> Value {
        let mut record = args.climb.record();
        let own = [
            ("topics", json!(self.topics)),
            ("alpha", args.alpha.record()),
            ("beta", args.beta.record()),
            ("sweeps", json!(self.settings.sweeps)),
            ("start", json!(args.start)),
            ("average", json!(args.average)),
            ("tolerance", json!(self.tolerance)),
            ("holdout", json!(args.holdout)),
            (
                "completion",
                json!(args.completion.as_ref().map(ToString::to_string)),
            ),
            ("stop_words", json!(args.stop_words)),
            ("min_docs", json!(args.min_docs)),
            ("max_docs_share", json!(args.max_docs_share)),
            ("max_vocabulary", json!(args.max_vocabulary)),
            ("min_length", json!(args.min_length)),
            ("keep_numbers", json!(args.keep_numbers)),
            ("relevance", json!(args.relevance)),
        ];
        record.extend(own.map(|(name, value)| (name.to_owned(), value)));
        Value::Object(record)
    }
}

/// To two digits, which is all that a tolerance can mean.
fn rounded(number: f64) -> f64 {
    format!("{number:.1e}").parse().unwrap_or(number)
}

/// The files that a fit reads.
pub(crate) fn files(args: &FitArgs, data: &Data) -> Vec<PathBuf> {
    let mut files = vec![args.corpus().to_owned()];
    files.extend(data.files.iter().cloned());
    if let Some(pair) = &args.completion {
        files.extend([pair.0.clone(), pair.1.clone()]);
    }
    files.extend(args.climb.resume.clone());
    files
}
