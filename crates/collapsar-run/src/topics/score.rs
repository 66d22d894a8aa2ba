//! How well a fit, or the mean of several, foresees documents that it has not seen.

use collapsar::topics::{TopicsFit, completion};
use serde::Serialize;

use super::Halves;

/// What a fit makes of documents that it has not seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Score {
    /// How many there are.
    pub documents: usize,
    /// Tokens read.
    pub observed: f64,
    /// Tokens foreseen from them.
    pub evaluated: f64,
    /// Fits whose predictions are averaged.
    pub fits: usize,
    /// exp(− mean log probability of a token foreseen).
    pub perplexity: f64,
    /// That of the best fit alone.
    pub best_perplexity: f64,
    /// A lower bound on ln p(documents | topics of the best), both halves, for each token.
    pub bound_per_token: f64,
}

impl Score {
    /// The score of the mean of `all`, of which `best` is one, or of `best` where there are none.
    pub(super) fn new(
        best: &TopicsFit,
        all: &[TopicsFit],
        halves: &Halves,
    ) -> collapsar::Result<Self> {
        let (observed, evaluated) = (&halves.observed, &halves.evaluated);
        let alone = best.completion(observed, evaluated)?;
        let mean = if all.len() > 1 {
            completion(all, observed, evaluated)?
        } else {
            alone
        };
        let bound = best.infer(&halves.whole)?.bound;
        Ok(Self {
            documents: observed.documents(),
            observed: observed.tokens(),
            evaluated: evaluated.tokens(),
            fits: all.len().max(1),
            perplexity: mean.perplexity(),
            best_perplexity: alone.perplexity(),
            bound_per_token: bound / halves.whole.tokens(),
        })
    }
}
