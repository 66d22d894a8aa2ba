//! Decides what a fit says about new documents: proportions, the bound, and words yet to come.

use std::sync::Arc;

use super::Corpus;
use super::documents::Settle;
use super::fit::{TopicsFit, proportions};
use super::local::Local;
use super::posterior::Posterior;
use collapsar_core::elementary::Elementary;
use collapsar_core::vector::dot;
use collapsar_core::{Error, Place, Potential, Result};

/// The posterior of documents under the topics of a fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Inferred {
    /// How many topics.
    pub topics: usize,
    /// Expected tokens of each document in each topic: a row for each document.
    pub counts: Vec<f64>,
    /// Posterior mean proportions: a row for each document.
    pub proportions: Vec<f64>,
    /// A lower bound on ln p(documents | topics).
    pub bound: f64,
}

/// How well a fit predicts the second half of documents from the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Completion {
    /// Tokens predicted.
    pub tokens: f64,
    /// The sum of their log probabilities.
    pub ln_probability: f64,
}

impl Completion {
    /// exp(− mean log probability of a token).
    pub fn perplexity(&self) -> f64 {
        (-self.ln_probability / self.tokens).exp_()
    }
}

/// Counts are settled when none changes by more than this fraction of its document's length.
const SETTLED: Settle = Settle::Change(1e-6);

impl TopicsFit {
    /// Proportions of new documents under the topics as they are.
    ///
    /// # Errors
    /// [`Error::Data`] where the documents have another vocabulary.
    pub fn infer(&self, corpus: &Arc<Corpus>) -> Result<Inferred> {
        self.fits(corpus)?;
        let local = Local::new(Arc::clone(corpus), self.topics, self.alpha.clone());
        let messages = self.messages()?;
        let mut counts = local.even_counts();
        let words = local.pass(&messages, &self.alpha, SETTLED, &mut counts, None)?;
        let bound = words + local.dirichlets(&self.alpha, &counts);
        let all = counts
            .chunks(self.topics)
            .flat_map(|counts| proportions(&self.alpha, counts))
            .collect();
        Ok(Inferred {
            topics: self.topics,
            counts,
            proportions: all,
            bound,
        })
    }

    /// What a word says of its topic: the expected log of its probability, or the log of the expected one.
    fn messages(&self) -> Result<Vec<f64>> {
        let posterior = Posterior {
            topics: self.topics,
            vocabulary: self.vocabulary(),
            beta: self.beta,
        };
        let mut messages = vec![0.0; self.word_counts.len()];
        if !self.drawn {
            posterior.value_and_gradient(&self.word_counts, &mut messages)?;
            return Ok(messages);
        }
        let prior = self.beta * self.vocabulary() as f64;
        let totals: Vec<f64> = (self.topic_counts().iter())
            .map(|total| (prior + total).ln_())
            .collect();
        let rows = messages.chunks_mut(self.topics);
        for (row, counts) in rows.zip(self.word_counts.chunks(self.topics)) {
            for k in 0..self.topics {
                row[k] = (self.beta + counts[k]).ln_() - totals[k];
            }
        }
        Ok(messages)
    }

    /// How well the words of `evaluated` are predicted after reading those of `observed`.
    ///
    /// # Errors
    /// As [`TopicsFit::infer`], and where the two do not have the same documents.
    pub fn completion(&self, observed: &Arc<Corpus>, evaluated: &Corpus) -> Result<Completion> {
        completion(std::slice::from_ref(self), observed, evaluated)
    }

    /// Adds the probability of each entry of `evaluated`, document after document.
    fn add_probabilities(&self, inferred: &Inferred, evaluated: &Corpus, sum: &mut [f64]) {
        let topics = self.topics;
        let prior = self.beta * self.vocabulary() as f64;
        let totals: Vec<f64> = (self.topic_counts().iter())
            .map(|total| total + prior)
            .collect();
        let mut entries = sum.iter_mut();
        for (document, proportions) in inferred.proportions.chunks(topics).enumerate() {
            let ratios = proportions.iter().zip(&totals).map(|(p, t)| p / t);
            let weights: Vec<f64> = ratios.collect();
            let prior: f64 = self.beta * weights.iter().sum::<f64>();
            for (&word, sum) in evaluated.document(document).0.iter().zip(&mut entries) {
                let counts = &self.word_counts[word as usize * topics..][..topics];
                *sum += prior + dot(&weights, counts);
            }
        }
    }

    pub(super) fn fits(&self, corpus: &Corpus) -> Result<()> {
        if corpus.vocabulary() == self.vocabulary() {
            return Ok(());
        }
        Err(Error::data(
            Place::Whole("documents"),
            format!("a vocabulary of {} words", corpus.vocabulary()),
            format!("that of the fit, {} words", self.vocabulary()),
        ))
    }
}

/// How well several fits together predict the words of `evaluated` after reading those of
/// `observed`: the mean of their probabilities, a mixture of posteriors from several starts.
///
/// # Errors
/// As [`TopicsFit::completion`], and where there is no fit.
pub fn completion(
    fits: &[TopicsFit],
    observed: &Arc<Corpus>,
    evaluated: &Corpus,
) -> Result<Completion> {
    if fits.is_empty() || observed.documents() != evaluated.documents() {
        return Err(Error::data(
            Place::Whole("evaluated documents"),
            format!("{}, by {} fits", evaluated.documents(), fits.len()),
            format!("the second halves of {}, by a fit", observed.documents()),
        ));
    }
    let mut probabilities = vec![0.0; evaluated.entries()];
    for fit in fits {
        fit.fits(evaluated)?;
        let inferred = fit.infer(observed)?;
        fit.add_probabilities(&inferred, evaluated, &mut probabilities);
    }
    let counts = (0..evaluated.documents()).flat_map(|index| evaluated.document(index).1);
    let ln_probability = probabilities
        .iter()
        .zip(counts)
        .map(|(p, &count)| f64::from(count) * (p / fits.len() as f64).ln_())
        .sum();
    Ok(Completion {
        tokens: evaluated.tokens(),
        ln_probability,
    })
}
