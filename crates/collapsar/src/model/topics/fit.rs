//! Decides how a fitted topic model is described: topics over words, documents over topics.

use serde::{Deserialize, Serialize};

use super::posterior::column_sums;
use super::{Documents, Topics};
use collapsar_core::Point;

/// A fitted topic model: all that is needed to describe it and to read new documents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopicsFit {
    /// How many topics.
    pub topics: usize,
    /// The prior of the documents' proportions, learned or given.
    pub alpha: Vec<f64>,
    /// The prior of the topics, learned or given.
    pub beta: f64,
    /// Expected tokens of each word in each topic: a row for each word.
    pub word_counts: Vec<f64>,
    /// Expected tokens of each document in each topic: a row for each document.
    pub document_counts: Vec<f64>,
    /// Whether counts are means over exact draws. Then probabilities of words are the ratios of what is expected;
    /// those of a climb are Dirichlet distributed with these counts.
    #[serde(default)]
    pub drawn: bool,
}

impl<D: Documents> Topics<D> {
    /// The fitted model at `point`; without counts of documents where these are not in memory.
    pub fn fit(&self, point: &Point) -> TopicsFit {
        let (counts, alpha, beta) = self.warm_of(point);
        TopicsFit {
            topics: self.topics(),
            alpha: alpha.to_vec(),
            beta,
            word_counts: point.statistics.clone(),
            document_counts: counts.to_vec(),
            drawn: false,
        }
    }
}

impl TopicsFit {
    /// Words in the vocabulary.
    pub fn vocabulary(&self) -> usize {
        self.word_counts.len() / self.topics
    }

    /// Documents that were fitted.
    pub fn documents(&self) -> usize {
        self.document_counts.len() / self.topics
    }

    /// Expected tokens of each topic.
    pub fn topic_counts(&self) -> Vec<f64> {
        column_sums(&self.word_counts, self.topics)
    }

    /// Posterior mean probability of each word in each topic: a row for each topic.
    pub fn word_probabilities(&self) -> Vec<f64> {
        let vocabulary = self.vocabulary();
        let totals = self.topic_counts();
        let mut probabilities = vec![0.0; self.word_counts.len()];
        for (topic, row) in probabilities.chunks_mut(vocabulary).enumerate() {
            let total = totals[topic] + self.beta * vocabulary as f64;
            for (word, p) in row.iter_mut().enumerate() {
                *p = (self.beta + self.word_counts[word * self.topics + topic]) / total;
            }
        }
        probabilities
    }

    /// Posterior mean proportions of a document with these expected tokens.
    pub fn proportions_of(&self, counts: &[f64]) -> Vec<f64> {
        proportions(&self.alpha, counts)
    }

    /// Posterior mean proportions of a fitted document.
    pub fn proportions(&self, document: usize) -> Vec<f64> {
        let counts = &self.document_counts[document * self.topics..(document + 1) * self.topics];
        proportions(&self.alpha, counts)
    }
}

/// Posterior mean proportions from prior and expected counts.
pub(super) fn proportions(alpha: &[f64], counts: &[f64]) -> Vec<f64> {
    let total = alpha.iter().sum::<f64>() + counts.iter().sum::<f64>();
    let each = alpha.iter().zip(counts);
    each.map(|(alpha, count)| (alpha + count) / total).collect()
}
