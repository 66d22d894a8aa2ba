//! Which documents show a topic best.

use serde::{Deserialize, Serialize};

use super::highest;
use crate::topics::TopicsFit;

/// A document of a topic.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DocumentScore {
    /// The document, counted from 0.
    pub document: usize,
    /// Posterior mean proportion of the topic.
    pub proportion: f64,
    /// Expected tokens in the topic.
    pub tokens: f64,
}

/// A document shorter than the median over this shows nothing.
const SHORTEST: f64 = 4.0;

impl TopicsFit {
    /// The `n` documents with the highest proportion of `topic`, highest first, equals in their
    /// own order.
    ///
    /// Only documents of at least a quarter of the median length are considered, the median being
    /// over documents that hold words and, of an even number, the upper one. So there may be
    /// fewer than `n`.
    ///
    /// # Panics
    /// Where there is no such topic.
    // Three words of one topic make a proportion near 1 where alpha is small, as it is when
    // learned, so the posterior mean alone puts fragments first. Expected tokens put the longest
    // documents first, typical or not. A lower credible value weighs the two against each other,
    // but by a level that nobody can choose, and it still prefers the long among documents that
    // are equally typical. Length is asked for once, then only the proportion counts.
    pub fn typical_documents(&self, topic: usize, n: usize) -> Vec<DocumentScore> {
        assert!(topic < self.topics, "there is no topic {topic}");
        typical(self, &long_enough(self), topic, n)
    }

    /// [`TopicsFit::typical_documents`] of every topic.
    pub fn typical_documents_of_all(&self, n: usize) -> Vec<Vec<DocumentScore>> {
        let among = long_enough(self);
        let each = 0..self.topics;
        each.map(|topic| typical(self, &among, topic, n)).collect()
    }
}

/// Documents that may be typical, with their lengths.
fn long_enough(fit: &TopicsFit) -> Vec<(usize, f64)> {
    let counts = fit.document_counts.chunks(fit.topics).enumerate();
    let lengths = counts.map(|(document, counts)| (document, counts.iter().sum::<f64>()));
    let mut documents: Vec<(usize, f64)> = lengths.filter(|(_, length)| *length > 0.0).collect();
    let mut sorted: Vec<f64> = documents.iter().map(|(_, length)| *length).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    if let Some(median) = sorted.get(sorted.len() / 2) {
        documents.retain(|(_, length)| length * SHORTEST >= *median);
    }
    documents
}

fn typical(fit: &TopicsFit, among: &[(usize, f64)], topic: usize, n: usize) -> Vec<DocumentScore> {
    let prior: f64 = fit.alpha.iter().sum();
    let tokens = |document: usize| fit.document_counts[document * fit.topics + topic];
    let proportion = |&(document, length): &(usize, f64)| {
        let own = fit.alpha[topic] + tokens(document);
        (own / (prior + length), document)
    };
    highest(among.iter().map(proportion).collect(), n)
        .into_iter()
        .map(|(proportion, document)| DocumentScore {
            document,
            proportion,
            tokens: tokens(document),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proportions_count_among_documents_of_some_length() {
        let fit = TopicsFit {
            drawn: false,
            topics: 2,
            alpha: vec![0.1; 2],
            beta: 0.1,
            word_counts: vec![111.0, 53.0],
            // Lengths 40, 20, 2, 100, 0, 2: without the empty one the median is the third of 2,
            // 2, 20, 40, 100, and documents of 5 tokens are long enough.
            document_counts: vec![
                30.0, 10.0, 18.0, 2.0, 2.0, 0.0, 60.0, 40.0, 0.0, 0.0, 1.0, 1.0,
            ],
        };
        // 18.1/20.2 = 0.896, 30.1/40.2 = 0.749, 60.1/100.2 = 0.600; the third document's 2.1/2.2
        // would come first.
        let typical = fit.typical_documents(0, 9);
        let documents: Vec<usize> = typical.iter().map(|score| score.document).collect();
        assert_eq!(documents, [1, 0, 3]);
        assert_eq!(typical[0].proportion, 18.1 / 20.2);
        assert_eq!(typical[0].tokens, 18.0);
        assert_eq!(fit.typical_documents(1, 1)[0].document, 3);
        assert_eq!(fit.typical_documents_of_all(9)[0], typical);
    }
}
