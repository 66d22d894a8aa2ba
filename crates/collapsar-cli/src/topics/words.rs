//! The words that describe a topic.

use collapsar::topics::TopicsFit;

/// Every word's probability in every topic, and in all.
pub(crate) struct Words {
    /// A row for each topic.
    by_topic: Vec<f64>,
    /// Under the fit, so that no word has none.
    overall: Vec<f64>,
}

/// A word of a topic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Word {
    /// Position in the vocabulary.
    pub(crate) index: usize,
    pub(crate) probability: f64,
    pub(crate) relevance: f64,
}

impl Words {
    pub(crate) fn of(answer: &TopicsFit) -> Self {
        let vocabulary = answer.vocabulary();
        let by_topic = answer.word_probabilities();
        let counts = answer.topic_counts();
        let tokens: f64 = counts.iter().sum();
        let mut overall = vec![0.0; vocabulary];
        for (row, count) in by_topic.chunks(vocabulary).zip(&counts) {
            for (sum, p) in overall.iter_mut().zip(row) {
                *sum += count / tokens * p;
            }
        }
        Self { by_topic, overall }
    }

    /// All words of a topic, in the order of the vocabulary; relevance is
    /// λ ln p(w|t) + (1 − λ) ln (p(w|t) / p(w)).
    fn of_topic(&self, topic: usize, lambda: f64) -> impl Iterator<Item = Word> {
        let vocabulary = self.overall.len();
        let row = &self.by_topic[topic * vocabulary..(topic + 1) * vocabulary];
        let pairs = row.iter().zip(&self.overall).enumerate();
        pairs.map(move |(index, (&probability, overall))| Word {
            index,
            probability,
            relevance: lambda * probability.ln() + (1.0 - lambda) * (probability / overall).ln(),
        })
    }

    /// The most relevant words of a topic.
    pub(crate) fn most_relevant(&self, topic: usize, lambda: f64, number: usize) -> Vec<Word> {
        let words = self.of_topic(topic, lambda).collect();
        top(words, number, |word| word.relevance)
    }

    /// The most probable words of a topic.
    pub(crate) fn most_probable(&self, topic: usize, lambda: f64, number: usize) -> Vec<Word> {
        let words = self.of_topic(topic, lambda).collect();
        top(words, number, |word| word.probability)
    }
}

/// The highest, and of equals the first of the vocabulary.
fn top(mut words: Vec<Word>, number: usize, by: impl Fn(&Word) -> f64) -> Vec<Word> {
    words.sort_by(|a, b| by(b).total_cmp(&by(a)));
    words.truncate(number);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relevance_prefers_what_tells_topics_apart() {
        // The first word is common to both topics, the others belong to one each.
        let answer = TopicsFit {
            topics: 2,
            alpha: vec![0.1; 2],
            beta: 0.01,
            word_counts: vec![50.0, 50.0, 40.0, 0.0, 0.0, 40.0],
            document_counts: vec![],
        };
        let words = Words::of(&answer);
        let first = |lambda| words.most_relevant(0, lambda, 1)[0].index;
        assert_eq!((first(1.0), first(0.6), first(0.0)), (0, 1, 1));
        let probable = words.most_probable(1, 0.6, 2);
        assert_eq!((probable[0].index, probable[1].index), (0, 2));
        let sum: f64 = words.overall.iter().sum();
        assert!((sum - 1.0).abs() < 1e-12);
        // By hand: 50.01 / 90.03 in both topics and over all, so that λ = 0 leaves ln 1.
        assert!((probable[0].probability - 50.01 / 90.03).abs() < 1e-15);
        assert!((probable[0].relevance - 0.6 * (50.01_f64 / 90.03).ln()).abs() < 1e-12);
    }
}
