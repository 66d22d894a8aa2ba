//! Which words tell what a topic is about: probable ones, its own, or something between.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::highest;
use crate::topics::TopicsFit;
use collapsar_core::elementary::Elementary;
use collapsar_core::{Error, Result};

/// By what words are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ranking {
    /// Their probability in the topic, $\phi_{tw}$.
    #[default]
    Probability,
    /// How much more probable they are in the topic than in the corpus, $\phi_{tw} / p_w$.
    Lift,
    /// [`WordScore::relevance`] with this $\lambda$, from 0 to 1; by about 0.6 readers knew topics
    /// best (SievertShirley14).
    Relevance(f64),
}

impl Ranking {
    /// Whether words can be ranked by this.
    ///
    /// # Errors
    /// [`Error::Setting`] where $\lambda$ lies outside of 0 to 1.
    pub fn check(self) -> Result<()> {
        match self {
            Self::Relevance(lambda) if !(0.0..=1.0).contains(&lambda) => Err(Error::setting(
                "relevance",
                lambda,
                "a number from 0 (lift) to 1 (probability)",
            )),
            _ => Ok(()),
        }
    }

    /// Probability and lift are the two ends of relevance.
    fn lambda(self) -> f64 {
        match self {
            Self::Probability => 1.0,
            Self::Lift => 0.0,
            Self::Relevance(lambda) => lambda,
        }
    }
}

/// A word of a topic.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WordScore {
    /// The word, counted from 0.
    pub word: usize,
    /// Its posterior mean probability in the topic, $\phi_{tw}$.
    pub probability: f64,
    /// The same over its frequency in the corpus, $\phi_{tw} / p_w$.
    pub lift: f64,
}

impl WordScore {
    /// Between log probability and log lift (SievertShirley14):
    ///
    /// $$\lambda \ln \phi_{tw} + (1 - \lambda) \ln \frac{\phi_{tw}}{p_w}.$$
    pub fn relevance(&self, lambda: f64) -> f64 {
        lambda * self.probability.ln_() + (1.0 - lambda) * self.lift.ln_()
    }
}

impl TopicsFit {
    /// The `n` words that rank highest in `topic`, highest first, equals in the order of the
    /// vocabulary.
    ///
    /// The frequency $p_w$ of a word in the corpus is that of its expected tokens: summed over topics,
    /// these are its tokens. Words that the corpus never holds are left out: what a topic says of
    /// them is the prior, and they have no lift. So there may be fewer than `n`.
    ///
    /// # Panics
    /// Where there is no such topic, or where the ranking does not pass [`Ranking::check`].
    pub fn top_words(&self, topic: usize, n: usize, ranking: Ranking) -> Vec<WordScore> {
        Words::new(self).top(topic, n, ranking)
    }

    /// [`TopicsFit::top_words`] of every topic.
    pub fn top_words_of_all(&self, n: usize, ranking: Ranking) -> Vec<Vec<WordScore>> {
        Words::new(self).top_of_all(n, ranking)
    }
}

/// What rankings of several topics share.
pub(super) struct Words<'a> {
    fit: &'a TopicsFit,
    /// Expected tokens of each topic.
    pub(super) totals: Vec<f64>,
    /// Each word's frequency among the tokens.
    frequencies: Vec<f64>,
}

impl<'a> Words<'a> {
    pub(super) fn new(fit: &'a TopicsFit) -> Self {
        let counts = fit.word_counts.chunks(fit.topics);
        let mut frequencies: Vec<f64> = counts.map(|counts| counts.iter().sum()).collect();
        let tokens: f64 = frequencies.iter().sum();
        for frequency in &mut frequencies {
            *frequency /= tokens;
        }
        Self {
            fit,
            totals: fit.topic_counts(),
            frequencies,
        }
    }

    pub(super) fn probability(&self, word: usize, topic: usize) -> f64 {
        let count = self.fit.word_counts[word * self.fit.topics + topic];
        let total = self.totals[topic] + self.fit.beta * self.frequencies.len() as f64;
        (self.fit.beta + count) / total
    }

    fn top(&self, topic: usize, n: usize, ranking: Ranking) -> Vec<WordScore> {
        assert!(topic < self.fit.topics, "there is no topic {topic}");
        if let Err(error) = ranking.check() {
            panic!("{error}");
        }
        let lambda = ranking.lambda();
        let score = |word: usize| {
            let probability = self.probability(word, topic);
            WordScore {
                word,
                probability,
                lift: probability / self.frequencies[word],
            }
        };
        let scores = (0..self.frequencies.len())
            .filter(|&word| self.frequencies[word] > 0.0)
            .map(|word| (score(word).relevance(lambda), word))
            .collect();
        let top = highest(scores, n);
        top.into_iter().map(|(_, word)| score(word)).collect()
    }

    pub(super) fn top_of_all(&self, n: usize, ranking: Ranking) -> Vec<Vec<WordScore>> {
        (0..self.fit.topics)
            .into_par_iter()
            .map(|topic| self.top(topic, n, ranking))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four words, the last never seen; six tokens in each topic, so with beta 1 the
    /// probabilities are (5, 3, 1, 1)/10 and (1, 1, 7, 1)/10, and the frequencies (4, 2, 6, 0)/12.
    fn fit() -> TopicsFit {
        TopicsFit {
            drawn: false,
            topics: 2,
            alpha: vec![1.0; 2],
            beta: 1.0,
            word_counts: vec![4.0, 0.0, 2.0, 0.0, 0.0, 6.0, 0.0, 0.0],
            document_counts: vec![6.0, 6.0],
        }
    }

    fn words(topic: usize, n: usize, ranking: Ranking) -> Vec<usize> {
        let top = fit().top_words(topic, n, ranking);
        top.iter().map(|score| score.word).collect()
    }

    #[test]
    fn probability_lift_and_relevance() {
        // Lifts (5/10)/(4/12) = 1.5, (3/10)/(2/12) = 1.8, (1/10)/(6/12) = 0.2.
        let top = fit().top_words(0, 4, Ranking::Probability);
        for (score, (word, probability, lift)) in
            top.iter()
                .zip([(0, 0.5, 1.5), (1, 0.3, 1.8), (2, 0.1, 0.2)])
        {
            assert_eq!(score.word, word);
            // A few roundings of numbers near 1.
            assert!((score.probability - probability).abs() < 1e-15);
            assert!((score.lift - lift).abs() < 1e-15);
        }
        assert_eq!(top.len(), 3, "the word never seen is left out");
        assert_eq!(words(0, 4, Ranking::Lift), [1, 0, 2]);
        // The first two change places where λ ln(5/3) = (1 − λ) ln(1.8/1.5), at λ = 0.2630.
        assert_eq!(words(0, 2, Ranking::Relevance(0.26)), [1, 0]);
        assert_eq!(words(0, 2, Ranking::Relevance(0.27)), [0, 1]);
        // 0.6 ln 0.5 + 0.4 ln 1.5
        assert!((top[0].relevance(0.6) + 0.253_702_265).abs() < 1e-9);
    }

    #[test]
    fn equals_are_in_the_order_of_the_vocabulary() {
        assert_eq!(words(1, 4, Ranking::Probability), [2, 0, 1]);
        assert_eq!(words(1, 1, Ranking::Probability), [2]);
    }

    #[test]
    fn what_cannot_be_ranked_by_is_refused() {
        for lambda in [-0.1, 1.1, f64::NAN] {
            let refused = Ranking::Relevance(lambda).check().unwrap_err().to_string();
            assert!(refused.starts_with("relevance is"), "{refused}");
        }
        assert!(Ranking::Relevance(1.0).check().is_ok());
    }
}
