//! Fits from several starts, whose predictions are averaged: a mixture of posteriors.

use collapsar::topics::TopicsFit;
use collapsar::{Fit, Outcome};

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
        let mut all: Vec<(Member, TopicsFit)> = self
            .members
            .into_iter()
            .zip(self.fits)
            .filter(|(member, _)| member.whole || !any || member.seed == best)
            .collect();
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
