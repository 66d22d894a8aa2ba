//! Measures of the topics themselves, whatever they foresee, and what looks wrong with them.

use collapsar::topics::{Alpha, Beta, Quality, Settings, TopicsFit};
use serde::Serialize;

/// Most probable words of each topic that are looked at, as is usual.
pub(super) const WORDS: usize = 10;

/// Topics more alike than this are nearly the same.
const ALIKE: f64 = 0.9;

/// A prior learned beyond this is on its way to the library's limit of 1e4, where it says that all
/// documents, or all topics, are the same.
const LIMIT: f64 = 1e3;

/// Numbers that tell good topics from poor ones: means over those in use, as `run.json` has them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Measures {
    /// Coherence by normalised pointwise mutual information.
    pub npmi: Option<f64>,
    /// Coherence by conditional probabilities.
    pub umass: Option<f64>,
    /// How many of the words of all topics are distinct.
    pub diversity: f64,
    /// How far words are their topic's own.
    pub exclusivity: Option<f64>,
}

impl Measures {
    /// Those of a fit.
    pub fn of(quality: &Quality) -> Self {
        Self {
            npmi: quality.coherence.map(|coherence| coherence.npmi),
            umass: quality.coherence.map(|coherence| coherence.umass),
            diversity: quality.diversity,
            exclusivity: quality.exclusivity,
        }
    }
}

/// What a person should know before trusting topics.
#[derive(Debug, Clone, PartialEq)]
pub enum Doubt {
    /// With learned priors fewer than two topics are in use.
    Unused {
        /// Topics in use.
        used: usize,
        /// Topics in all.
        topics: usize,
    },
    /// The learned prior of proportions is as large as this, by which all documents are alike.
    Alpha(f64),
    /// The learned prior of words is as large as this, by which all topics are alike.
    Beta(f64),
    /// Topics of each group are nearly the same.
    Alike(Vec<Vec<usize>>),
}

/// What looks wrong with topics.
pub(super) fn doubts(settings: &Settings, fit: &TopicsFit, quality: &Quality) -> Vec<Doubt> {
    let used = |topic: usize| quality.topics[topic].used();
    let alike = groups(quality.topics.len(), &fit.topic_similarities(), used);
    let alike = (!alike.is_empty()).then_some(Doubt::Alike(alike));
    let limit = limit(settings, fit, quality);
    limit.into_iter().chain(alike).collect()
}

/// Priors that were learned and left no topics to speak of: what was given is what was wanted.
fn limit(settings: &Settings, fit: &TopicsFit, quality: &Quality) -> Option<Doubt> {
    let alpha = settings.alpha == Alpha::Learned;
    let beta = settings.beta == Beta::Learned;
    let largest = fit.alpha.iter().copied().fold(0.0, f64::max);
    let (used, topics) = (quality.used, fit.topics);
    if topics < 2 || !(alpha || beta) {
        None
    } else if used < 2 {
        Some(Doubt::Unused { used, topics })
    } else if alpha && largest > LIMIT {
        Some(Doubt::Alpha(largest))
    } else if beta && fit.beta > LIMIT {
        Some(Doubt::Beta(fit.beta))
    } else {
        None
    }
}

/// Topics that are linked by being alike, those of a group together, in order.
fn groups(topics: usize, similarities: &[f64], used: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
    let mut group: Vec<usize> = (0..topics).collect();
    for a in (0..topics).filter(|&a| used(a)) {
        for b in (a + 1..topics).filter(|&b| used(b)) {
            let (one, other) = (group[a], group[b]);
            if similarities[a * topics + b] > ALIKE && one != other {
                let (least, most) = (one.min(other), one.max(other));
                for g in group.iter_mut().filter(|g| **g == most) {
                    *g = least;
                }
            }
        }
    }
    let members = |first: usize| (0..topics).filter(|&t| group[t] == first).collect();
    let mut all: Vec<Vec<usize>> = (0..topics).map(members).collect();
    all.retain(|members| members.len() > 1);
    all
}

#[cfg(test)]
mod tests;
