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
mod tests {
    use super::*;

    fn seeds(members: &[(u64, bool)], best: u64) -> Vec<u64> {
        let average = Average {
            members: members
                .iter()
                .map(|&(seed, whole)| Member {
                    seed,
                    bound: -1.0,
                    whole,
                })
                .collect(),
            fits: members
                .iter()
                .map(|&(seed, _)| TopicsFit {
                    topics: 1,
                    alpha: vec![seed as f64],
                    beta: 0.1,
                    word_counts: vec![1.0],
                    document_counts: vec![],
                })
                .collect(),
        };
        let settled = average.settle(best);
        let pairs = settled.members.iter().zip(&settled.fits);
        pairs
            .map(|(member, fit)| {
                assert_eq!(fit.alpha, [member.seed as f64]);
                member.seed
            })
            .collect()
    }

    #[test]
    fn the_best_comes_first_and_climbs_cut_short_go() {
        let whole = [(4, true), (2, true), (3, true)];
        assert_eq!(seeds(&whole, 3), [3, 2, 4]);
        assert_eq!(seeds(&[(4, true), (2, false), (3, true)], 4), [4, 3]);
        assert_eq!(seeds(&[(4, true), (2, false)], 2), [2, 4]);
        assert_eq!(seeds(&[(4, false), (2, false)], 4), [4, 2]);
    }
}
