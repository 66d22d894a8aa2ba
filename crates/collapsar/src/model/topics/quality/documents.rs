//! Which documents show a topic best.

use serde::{Deserialize, Serialize};

use collapsar_core::Result;

use super::{EachCounts, highest, in_memory};
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
        self.typical_documents_of_all(n).swap_remove(topic)
    }

    /// [`TopicsFit::typical_documents`] of every topic.
    pub fn typical_documents_of_all(&self, n: usize) -> Vec<Vec<DocumentScore>> {
        typical(&self.alpha, n, &in_memory(self)).expect("counts in memory are there")
    }
}

/// The typical documents of all topics, of documents whose counts come block by block.
pub(in super::super) fn typical(
    alpha: &[f64],
    n: usize,
    counts: &EachCounts<'_>,
) -> Result<Vec<Vec<DocumentScore>>> {
    let topics = alpha.len();
    let prior: f64 = alpha.iter().sum();
    let least = median_length(topics, counts)? / SHORTEST;
    // For each topic what is best so far, and at most as much again.
    let mut best: Vec<Vec<DocumentScore>> = vec![vec![]; topics];
    counts(&mut |first, counts| {
        for (document, counts) in (first..).zip(counts.chunks(topics)) {
            let length = counts.iter().sum::<f64>();
            if length <= 0.0 || length < least {
                continue;
            }
            for (topic, best) in best.iter_mut().enumerate() {
                let tokens = counts[topic];
                best.push(DocumentScore {
                    document,
                    proportion: (alpha[topic] + tokens) / (prior + length),
                    tokens,
                });
                if best.len() > 2 * n + 64 {
                    keep_best(best, n);
                }
            }
        }
    })?;
    for best in &mut best {
        keep_best(best, n);
    }
    Ok(best)
}

/// Leaves the `n` of highest proportion, highest first, equals in their own order.
fn keep_best(all: &mut Vec<DocumentScore>, n: usize) {
    let scores = all.iter().map(|one| one.proportion).zip(0..).collect();
    *all = (highest(scores, n).into_iter())
        .map(|(_, place)| all[place])
        .collect();
}

/// Bits of a length that are decided by one look at all documents.
const DIGITS: u32 = 16;

/// The median length of documents that hold words, of an even number the upper one; zero where there are none.
// Digit by digit from the highest: lengths are positive, so their bits have their order, and nothing is kept for a document.
fn median_length(topics: usize, counts: &EachCounts<'_>) -> Result<f64> {
    let (mut known, mut rank) = (0_u64, None);
    for place in (0..u64::BITS / DIGITS).rev() {
        let shift = place * DIGITS;
        let mut histogram = vec![0_u64; 1 << DIGITS];
        counts(&mut |_, counts| {
            for counts in counts.chunks(topics) {
                let length = counts.iter().sum::<f64>();
                let bits = length.to_bits();
                let alike = (bits ^ known).checked_shr(shift + DIGITS).unwrap_or(0) == 0;
                if length > 0.0 && alike {
                    histogram[(bits >> shift) as usize & ((1 << DIGITS) - 1)] += 1;
                }
            }
        })?;
        let mut left = *rank.get_or_insert_with(|| histogram.iter().sum::<u64>() / 2);
        for (digit, &number) in histogram.iter().enumerate() {
            if left < number {
                known |= (digit as u64) << shift;
                break;
            }
            left -= number;
        }
        rank = Some(left);
    }
    Ok(f64::from_bits(known))
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
