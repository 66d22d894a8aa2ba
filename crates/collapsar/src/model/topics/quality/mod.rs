//! Whether topics are worth reading: their words, how these go together, and how topics differ.
//!
//! - `words`: which words tell what a topic is about
//! - `coherence`: whether words are found in the same documents
//! - `documents`: which documents show a topic best
//! - `relations`: which topics go together, and which are nearly the same

mod coherence;
mod documents;
mod relations;
mod words;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Corpus, TopicsFit};
use coherence::Found;
use collapsar_core::Result;
use words::Words;

pub use coherence::{Coherence, coherence};
pub use documents::DocumentScore;
pub(super) use documents::typical;
pub(super) use relations::correlations;
pub use words::{Ranking, WordScore};

/// How good the topics of a fit are, by their most probable words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// How many words of each topic were looked at.
    pub words: usize,
    /// Each topic.
    pub topics: Vec<TopicQuality>,
    /// How many topics are used: all else is about these.
    pub used: usize,
    /// The mean over topics; none where no topic has one.
    pub coherence: Option<Coherence>,
    /// The mean over topics; none where no topic is used.
    pub exclusivity: Option<f64>,
    /// Distinct words among those of all topics, as [`diversity`] has it.
    pub diversity: f64,
}

/// How good a topic is, by its most probable words.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TopicQuality {
    /// Expected tokens.
    pub tokens: f64,
    /// Expected tokens as a proportion of all.
    #[serde(rename = "share")]
    pub proportion: f64,
    /// How its words go together; none where fewer than two of them occur.
    pub coherence: Option<Coherence>,
    /// How far its words are its own, up to 1.
    ///
    /// $$\frac1n \sum_w \frac{\phi_{tw}}{\sum_s \phi_{sw}},$$
    ///
    /// with $\phi_{tw}$ the probability of word $w$ in topic $t$, summed over the topics that are
    /// used (BischofAiroldi12 without the part on frequency, which choosing the most probable
    /// words has settled). Unused topics would take from all others: each is the prior, a $\phi$
    /// of one over the vocabulary.
    pub exclusivity: f64,
}

impl TopicQuality {
    /// Whether the topic has at least one expected token; of one that has not, all that is known is
    /// the prior.
    pub fn used(&self) -> bool {
        used(self.tokens)
    }
}

fn used(tokens: f64) -> bool {
    tokens >= 1.0
}

/// Distinct words as a fraction of all that are listed, 1 where nothing is listed (Dieng20).
///
/// $$\frac{|\bigcup_t W_t|}{\sum_t |W_t|}$$
pub fn diversity<T: AsRef<[usize]>>(topics: &[T]) -> f64 {
    let mut words: Vec<usize> = topics.iter().flat_map(AsRef::as_ref).copied().collect();
    let listed = words.len();
    if listed == 0 {
        return 1.0;
    }
    words.sort_unstable();
    words.dedup();
    words.len() as f64 / listed as f64
}

impl TopicsFit {
    /// How good the topics are, by the `n` most probable words of each.
    ///
    /// Coherence is measured on `corpus`: the one that was fitted, or another with the same
    /// vocabulary. Means and diversity leave out topics that are not used.
    ///
    /// # Errors
    /// [`crate::Error::Data`] where `corpus` has another vocabulary.
    pub fn quality(&self, corpus: &Corpus, n: usize) -> Result<Quality> {
        self.fits(corpus)?;
        self.quality_of(n, &|tops| {
            let each = tops.par_iter().map(|top| coherence(corpus, top));
            Ok(each.collect())
        })
    }

    /// The same on documents that are read one after another by `each`.
    pub(super) fn quality_of_each(&self, n: usize, each: &EachWords<'_>) -> Result<Quality> {
        self.quality_of(n, &|tops| {
            let mut found = Found::new(self.vocabulary(), tops);
            each(&mut |words| found.add(words))?;
            Ok(found.coherences())
        })
    }

    /// The same with the coherences of lists of words, by whoever knows the documents.
    fn quality_of(&self, n: usize, coherences: &Coherences<'_>) -> Result<Quality> {
        let words = Words::new(self);
        let tops: Vec<Vec<usize>> = words
            .top_of_all(n, Ranking::Probability)
            .iter()
            .map(|scores| scores.iter().map(|score| score.word).collect())
            .collect();
        let all: f64 = words.totals.iter().sum();
        let coherences = coherences(&tops)?;
        let topics: Vec<TopicQuality> = tops
            .par_iter()
            .enumerate()
            .map(|(topic, top)| TopicQuality {
                tokens: words.totals[topic],
                proportion: words.totals[topic] / all,
                coherence: coherences[topic],
                exclusivity: exclusivity(&words, topic, top),
            })
            .collect();
        let in_use = topics.iter().zip(&tops).filter(|(topic, _)| topic.used());
        let (used, lists): (Vec<TopicQuality>, Vec<&[usize]>) =
            in_use.map(|(topic, top)| (*topic, &top[..])).unzip();
        let coherences: Vec<Coherence> = used.iter().filter_map(|topic| topic.coherence).collect();
        let exclusivity: f64 = used.iter().map(|topic| topic.exclusivity).sum();
        Ok(Quality {
            words: n,
            used: used.len(),
            coherence: Coherence::mean(&coherences),
            exclusivity: (!used.is_empty()).then(|| exclusivity / used.len() as f64),
            diversity: diversity(&lists),
            topics,
        })
    }
}

fn exclusivity(words: &Words<'_>, topic: usize, top: &[usize]) -> f64 {
    let own = |&word: &usize| {
        let sum: f64 = (0..words.totals.len())
            .filter(|&other| other == topic || used(words.totals[other]))
            .map(|other| words.probability(word, other))
            .sum();
        words.probability(word, topic) / sum
    };
    if top.is_empty() {
        return 1.0;
    }
    top.iter().map(own).sum::<f64>() / top.len() as f64
}

/// Hands over counts of documents some documents at a time, in their order: the first of them, and a row for each.
pub(super) type EachCounts<'a> = dyn Fn(&mut VisitCounts<'_>) -> Result<()> + 'a;
/// Takes the first of some documents, and a row for each.
pub(super) type VisitCounts<'a> = dyn FnMut(usize, &[f64]) + 'a;
/// Hands over the words of each document, which ascend.
pub(super) type EachWords<'a> = dyn Fn(&mut dyn FnMut(&[u32])) -> Result<()> + 'a;
/// What lists of words have for coherence.
type Coherences<'a> = dyn Fn(&[Vec<usize>]) -> Result<Vec<Option<Coherence>>> + 'a;

/// The counts that a fit has of its documents.
fn in_memory(fit: &TopicsFit) -> impl Fn(&mut VisitCounts<'_>) -> Result<()> {
    |visit| {
        visit(0, &fit.document_counts);
        Ok(())
    }
}

/// The `n` of highest score, highest first, those of equal score in the order of their ids.
fn highest(mut scores: Vec<(f64, usize)>, n: usize) -> Vec<(f64, usize)> {
    let order = |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if n < scores.len() {
        scores.select_nth_unstable_by(n, order);
        scores.truncate(n);
    }
    scores.sort_unstable_by(order);
    scores
}

#[cfg(test)]
mod tests {
    use collapsar_core::elementary::Elementary;

    use super::*;

    #[test]
    fn diversity_counts_distinct_words() {
        // {0, 1, 2} of five listed.
        assert_eq!(diversity(&[vec![0, 1, 2], vec![1, 0]]), 3.0 / 5.0);
        assert_eq!(diversity(&[[4, 5]]), 1.0);
        assert_eq!(diversity::<[usize; 0]>(&[]), 1.0);
    }

    #[test]
    fn the_highest_are_in_order() {
        let scores = vec![(1.0, 0), (3.0, 3), (2.0, 2), (3.0, 1)];
        assert_eq!(highest(scores.clone(), 3), [(3.0, 1), (3.0, 3), (2.0, 2)]);
        assert_eq!(highest(scores.clone(), 0), []);
        assert_eq!(highest(scores, 9).len(), 4);
    }

    /// Documents {0, 1}, {0, 1}, {1, 2}, one token each. The first topic has both tokens of word
    /// 0 and two of word 1, the second the others, the third none.
    #[test]
    fn topics_that_are_not_used_count_for_nothing() {
        let corpus = Corpus::new(vec![0, 2, 4, 6], vec![0, 1, 0, 1, 1, 2], vec![1.0; 6], 3);
        let fit = TopicsFit {
            drawn: false,
            topics: 3,
            alpha: vec![0.1; 3],
            beta: 1.0,
            word_counts: vec![2.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 1.0, 0.0],
            document_counts: vec![2.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0, 0.0],
        };
        let quality = fit.quality(&corpus.unwrap(), 2).unwrap();
        assert_eq!(quality.used, 2);
        assert_eq!(quality.topics[1].proportion, 2.0 / 6.0);
        // Probabilities (3, 3, 1)/7 and (1, 2, 2)/5; the third topic's are 1/3 each. The words of
        // the first are 0 and 1, of the second 1 and 2, of the third, all being equal, 0 and 1.
        let third = quality.topics[2];
        assert!(!third.used());
        assert_eq!(third.coherence, quality.topics[0].coherence);
        let (a, b, c) = (3.0 / 7.0, 1.0 / 5.0, 2.0 / 5.0);
        let first = f64::midpoint(a / (a + b), a / (a + c));
        let second = f64::midpoint(c / (a + c), c / (1.0 / 7.0 + c));
        // A few roundings of numbers near 1.
        assert!((quality.topics[0].exclusivity - first).abs() < 1e-15);
        assert!((quality.exclusivity.unwrap() - f64::midpoint(first, second)).abs() < 1e-15);
        assert_eq!(quality.diversity, 3.0 / 4.0);
        // D(0) = 2, D(1) = 3, D(2) = 1, D(0, 1) = 2, D(1, 2) = 1: ln 3/2 of (0, 1), ln 2/3 of
        // (1, 2). With all of three documents holding word 1, both pairs are independent.
        let coherence = quality.coherence.unwrap();
        assert!((quality.topics[0].coherence.unwrap().umass - 1.5_f64.ln_()).abs() < 1e-15);
        assert!(coherence.umass.abs() < 1e-15 && coherence.npmi.abs() < 1e-15);
    }

    #[test]
    fn another_vocabulary_is_refused() {
        let corpus = Corpus::new(vec![0, 1], vec![0], vec![1.0], 2).unwrap();
        let fit = TopicsFit {
            drawn: false,
            topics: 1,
            alpha: vec![0.1],
            beta: 0.1,
            word_counts: vec![1.0],
            document_counts: vec![1.0],
        };
        let refused = fit.quality(&corpus, 10).unwrap_err().to_string();
        assert!(refused.contains("a vocabulary of 2 words"), "{refused}");
    }
}
