//! How well a fit, or the mean of several, foresees documents that it has not seen.
//!
//! Fits from several starts, whose predictions are averaged, are a mixture of posteriors; draws of one are that posterior.

use collapsar::topics::{TopicsFit, completion};
use collapsar::{Fit, Outcome};
use serde::Serialize;

use super::Halves;
use super::posterior::TopicsPosterior;

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
    /// Whether these are exact draws, whose mean is the best fit, instead of fits from several starts.
    pub draws: bool,
    /// exp(− mean log probability of a token foreseen).
    pub perplexity: f64,
    /// That of the best fit alone.
    pub best_perplexity: f64,
    /// A lower bound on ln p(documents | topics of the best), both halves, for each token.
    pub bound_per_token: f64,
}

/// Whose predictions are averaged.
pub(super) enum Members<'a> {
    /// Fits from several starts, the best among them; or nothing but the best.
    Starts(&'a [TopicsFit]),
    /// Draws of one posterior, none of which is its mean.
    Draws(&'a [TopicsFit]),
}

impl<'a> Members<'a> {
    /// Restarts where they are kept, otherwise draws where there are any.
    pub(super) fn of(average: &'a Average, posterior: &'a TopicsPosterior) -> Self {
        if average.fits.is_empty() && !posterior.thinned.is_empty() {
            Self::Draws(&posterior.thinned)
        } else {
            Self::Starts(&average.fits)
        }
    }
}

impl Score {
    /// The score of the mean prediction of `members`, or of `best` where there are none.
    pub(super) fn new(
        best: &TopicsFit,
        members: &Members<'_>,
        halves: &Halves,
    ) -> collapsar::Result<Self> {
        let (all, draws) = match members {
            Members::Starts(all) => (*all, false),
            Members::Draws(all) => (*all, true),
        };
        let (observed, evaluated) = (&halves.observed, &halves.evaluated);
        let alone = best.completion(observed, evaluated)?;
        let mean = if draws || all.len() > 1 {
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
            draws,
            perplexity: mean.perplexity(),
            best_perplexity: alone.perplexity(),
            bound_per_token: bound / halves.whole.tokens(),
        })
    }
}

/// The fits, without their documents: predictions do not need these.
#[derive(Debug, Default)]
pub struct Average {
    members: Vec<Member>,
    pub(super) fits: Vec<TopicsFit>,
}

/// What is known of a fit beside itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Member {
    pub(super) seed: u64,
    pub(super) bound: f64,
    /// Whether it was let to its own end.
    whole: bool,
}

impl Average {
    pub(super) fn add(&mut self, seed: u64, climb: &Fit, mut fit: TopicsFit) {
        self.members.push(Member {
            seed,
            bound: climb.point.bound,
            whole: climb.outcome != Outcome::Interrupted,
        });
        fit.document_counts = Vec::new();
        self.fits.push(fit);
    }

    /// Puts the best first and the others in the order of their seeds, whichever ended first.
    ///
    /// Climbs that were cut short would blur the others, and count only where all were.
    pub(super) fn settle(self, best: u64) -> Self {
        let any = self.members.iter().any(|member| member.whole);
        let all = self.members.into_iter().zip(self.fits);
        let mut all: Vec<(Member, TopicsFit)> = all.collect();
        all.retain(|(member, _)| member.whole || !any || member.seed == best);
        all.sort_by_key(|(member, _)| (member.seed != best, member.seed));
        let (members, fits) = all.into_iter().unzip();
        Self { members, fits }
    }

    /// All but the best.
    pub(super) fn others(&self) -> impl Iterator<Item = (Member, &TopicsFit)> {
        self.members.iter().copied().zip(&self.fits).skip(1)
    }
}

#[cfg(test)]
mod tests;
