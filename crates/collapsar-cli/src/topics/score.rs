//! How well a fit foresees documents that it has not seen.

use collapsar::topics::TopicsFit;
use serde::Serialize;

use super::corpus::Halves;

/// What a fit makes of documents that it has not seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Score {
    pub(crate) documents: usize,
    /// Tokens read, and tokens foreseen from them.
    pub(crate) observed: f64,
    pub(crate) evaluated: f64,
    /// exp(− mean log probability of a token foreseen).
    pub(crate) perplexity: f64,
    /// A lower bound on ln p(documents | topics), both halves, for each token.
    pub(crate) bound_per_token: f64,
}

impl Score {
    pub(crate) fn of(answer: &TopicsFit, halves: &Halves) -> collapsar::Result<Self> {
        let completion = answer.completion(&halves.observed, &halves.evaluated)?;
        let bound = answer.infer(&halves.whole)?.bound;
        Ok(Self {
            documents: halves.observed.documents(),
            observed: halves.observed.tokens(),
            evaluated: halves.evaluated.tokens(),
            perplexity: completion.perplexity(),
            bound_per_token: bound / halves.whole.tokens(),
        })
    }
}
