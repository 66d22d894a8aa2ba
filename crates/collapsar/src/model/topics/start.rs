//! Where a run begins: topics that differ a little, and priors that are lowered step by step.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};

use collapsar_core::random::{Distribution, Gamma};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::Topics;
use super::corpus::sum;
use super::documents::{Documents, Settle};
use collapsar_core::elementary::Elementary;
use collapsar_core::{Error, Potential, Result};

/// How the first topics are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// Each topic leans to a document of its own; priors begin at 1 and are lowered to their own
    /// values over thirty passes.
    ///
    /// With small priors, documents and words settle on a topic before topics mean anything. On
    /// nips2011 with K = 50, alpha 0.02 and beta 0.1 this start ends 18,000 nats above a random
    /// one and 10,000 above one from documents without the lowering (means of four seeds).
    #[default]
    Annealed,
    /// Each topic leans to a document of its own.
    Documents,
    /// Topics nearly even, each word by a Gamma of shape 100, as scikit-learn and gensim start.
    Random,
}

impl Start {
    /// Every start, in the order of the documentation.
    pub const ALL: [Self; 3] = [Self::Annealed, Self::Documents, Self::Random];

    /// The name, as `--start` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Annealed => "annealed",
            Self::Documents => "documents",
            Self::Random => "random",
        }
    }
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Start {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|start| start.name() == name);
        let names = || Self::ALL.map(Self::name).join(", ");
        known.ok_or_else(|| Error::setting("start", format!("{name:?}"), names()))
    }
}

/// Passes over which priors are lowered. Sixty end as high within the spread of seeds.
const PASSES: u64 = 30;
/// Within a pass of the start, whatever the fit does, so that fits with other sweeps start alike.
const SWEEPS: Settle = Settle::Sweeps(3);
/// Where priors that are smaller begin.
const FIRST_PRIOR: f64 = 1.0;
/// Shape of the random numbers that tell topics apart.
pub(super) const SHAPE: f64 = 100.0;
/// How much a topic leans to its document, the whole corpus counting 1.
pub(super) const LEAN: f64 = 0.1;

/// A prior that is lowered from one, evenly in its logarithm, as progress goes from 0 to 1.
pub(super) fn lowered(prior: f64, progress: f64) -> f64 {
    let first = prior.max(FIRST_PRIOR);
    first.powf_(1.0 - progress) * prior.powf_(progress)
}

impl<D: Documents> Topics<D> {
    /// Messages to start from, and the passes over the data spent on them.
    ///
    /// # Errors
    /// As the posterior, which no valid corpus makes fail.
    pub fn start(&self, start: Start, seed: u64) -> Result<(Vec<f64>, u64)> {
        self.start_unless(start, seed, &AtomicBool::new(false))
    }

    /// As [`Topics::start`], but passes end once `interrupt` is set: messages are those of the last.
    ///
    /// # Errors
    /// As [`Topics::start`].
    pub fn start_unless(
        &self,
        start: Start,
        seed: u64,
        interrupt: &AtomicBool,
    ) -> Result<(Vec<f64>, u64)> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut messages = vec![0.0; self.posterior.dim()];
        let gamma = Gamma::new(SHAPE, 1.0 / SHAPE).expect("shape and scale are positive");
        let mut weights: Vec<f64> = (0..messages.len())
            .map(|_| gamma.sample(&mut rng))
            .collect();
        if start == Start::Random {
            // scikit-learn takes such weights for posterior parameters, whatever the prior.
            self.posterior
                .with_beta(f64::MIN_POSITIVE)
                .value_and_gradient(&weights, &mut messages)?;
            return Ok((messages, 0));
        }
        self.lean(&mut weights, &mut rng)?;
        self.posterior.value_and_gradient(&weights, &mut messages)?;
        if start == Start::Documents {
            return Ok((messages, 0));
        }
        let passes = self.anneal(&mut messages, interrupt)?;
        Ok((messages, passes))
    }

    /// Turns random weights into statistics: each word as often as in the corpus, and in each
    /// topic more often those of a document.
    fn lean(&self, weights: &mut [f64], rng: &mut ChaCha8Rng) -> Result<()> {
        let (documents, topics) = (&self.local, self.topics());
        for (row, total) in weights.chunks_mut(topics).zip(documents.word_totals()) {
            let frequency = total / documents.tokens();
            for weight in row {
                *weight *= frequency;
            }
        }
        let some = documents.some(topics, rng)?;
        for (topic, (words, counts)) in (0..topics).zip(some.iter().cycle()) {
            let token = LEAN / sum(counts);
            for (&word, &count) in words.iter().zip(counts) {
                weights[word as usize * topics + topic] += token * f64::from(count);
            }
        }
        let scale = documents.tokens() / (topics as f64 * (1.0 + LEAN));
        for weight in weights {
            *weight *= scale;
        }
        Ok(())
    }

    /// VBEM steps under priors that fall from one, evenly in their logs, to their own values; how
    /// many there were.
    fn anneal(&self, messages: &mut [f64], interrupt: &AtomicBool) -> Result<u64> {
        let mut counts = self.local.even();
        let mut statistics = vec![0.0; messages.len()];
        for pass in 0..PASSES {
            if interrupt.load(Ordering::Relaxed) {
                return Ok(pass);
            }
            let progress = pass as f64 / PASSES as f64;
            let alpha = self.local.alpha().iter();
            let alpha: Vec<f64> = alpha.map(|&a| lowered(a, progress)).collect();
            self.local
                .pass(messages, &alpha, SWEEPS, &mut counts, Some(&mut statistics))?;
            self.posterior
                .with_beta(lowered(self.posterior.beta, progress))
                .value_and_gradient(&statistics, messages)?;
        }
        Ok(PASSES)
    }
}
