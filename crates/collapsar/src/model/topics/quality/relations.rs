//! Which topics go together, and which are nearly the same.

use collapsar_core::Result;
use rayon::prelude::*;

use super::super::fit::proportions;
use super::{EachCounts, in_memory};
use crate::topics::TopicsFit;

/// Rows of a square that a thread takes at a time, so that what they are made of is read once for
/// all of them.
const ROWS: usize = 8;

impl TopicsFit {
    /// Pearson's correlation, over documents, of the topics' posterior mean proportions: a row for
    /// each topic.
    ///
    /// $$\rho_{st} = \frac{\sum_d (\theta_{ds} - \bar\theta_s)(\theta_{dt} - \bar\theta_t)}
    /// {\sqrt{\sum_d (\theta_{ds} - \bar\theta_s)^2 \sum_d (\theta_{dt} - \bar\theta_t)^2}}$$
    ///
    /// Proportions sum to one, so topics that have nothing to do with each other correlate by
    /// about $-1 / (K - 1)$, not 0. Documents that hold no word say nothing and are left out. A
    /// topic of the same proportion everywhere has correlation 0 with others and 1 with itself.
    /// Of a topic that is not used the prior remains, which is larger where documents are short:
    /// its correlations are those of length.
    // Not of centred log-ratios, which have no such bias: there a topic's absence from a document
    // is a large negative number, set by alpha, and absences would decide the correlations.
    pub fn topic_correlations(&self) -> Vec<f64> {
        correlations(&self.alpha, &in_memory(self)).expect("counts in memory are there")
    }

    /// How alike the topics' words are, one minus Hellinger's distance: a row for each topic.
    ///
    /// $$1 - \sqrt{\tfrac12 \sum_w \bigl(\sqrt{\phi_{sw}} - \sqrt{\phi_{tw}}\bigr)^2}$$
    ///
    /// It is 1 for topics that are the same and falls to 0 for topics without a word in common.
    // Not the divergence of Jensen and Shannon, which says much the same for two logarithms a
    // word and pair of topics.
    pub fn topic_similarities(&self) -> Vec<f64> {
        let (topics, vocabulary) = (self.topics, self.vocabulary());
        let mut roots = self.word_probabilities();
        roots.par_iter_mut().for_each(|p| *p = p.sqrt());
        let mut square = vec![0.0; topics * topics];
        square
            .par_chunks_mut(topics)
            .zip(roots.par_chunks(vocabulary))
            .for_each(|(row, own)| {
                for (similarity, other) in row.iter_mut().zip(roots.chunks(vocabulary)) {
                    let squares: f64 = own.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum();
                    // Rounding may lead outside by a few ulps.
                    *similarity = 1.0 - (squares / 2.0).sqrt().min(1.0);
                }
            });
        square
    }
}

/// Correlations of topics over documents whose counts come block by block, in their order.
pub(in super::super) fn correlations(alpha: &[f64], counts: &EachCounts<'_>) -> Result<Vec<f64>> {
    let topics = alpha.len();
    let rows = |counts: &[f64]| -> Vec<f64> {
        (counts.chunks(topics))
            .filter(|counts| counts.iter().any(|&count| count > 0.0))
            .flat_map(|counts| proportions(alpha, counts))
            .collect()
    };
    let mut documents = 0.0;
    counts(&mut |_, counts| documents += (rows(counts).len() / topics) as f64)?;
    let mut means = vec![0.0; topics];
    counts(&mut |_, counts| {
        for row in rows(counts).chunks(topics) {
            for (mean, x) in means.iter_mut().zip(row) {
                *mean += x / documents;
            }
        }
    })?;
    let mut square = vec![0.0; topics * topics];
    counts(&mut |_, counts| {
        let mut centred = rows(counts);
        for row in centred.chunks_mut(topics) {
            for (x, mean) in row.iter_mut().zip(&means) {
                *x -= mean;
                // What rounding leaves of a proportion that never changes is no variation.
                if x.abs() <= 1e-12 * mean {
                    *x = 0.0;
                }
            }
        }
        let blocks = square.par_chunks_mut(ROWS * topics).enumerate();
        blocks.for_each(|(block, rows)| {
            for x in centred.chunks(topics) {
                for (row, own) in rows.chunks_mut(topics).zip(&x[block * ROWS..]) {
                    for (sum, other) in row.iter_mut().zip(x) {
                        *sum += own * other;
                    }
                }
            }
        });
    })?;
    let deviations: Vec<f64> = (0..topics)
        .map(|topic| square[topic * topics + topic].sqrt())
        .collect();
    for (s, row) in square.chunks_mut(topics).enumerate() {
        for (t, rho) in row.iter_mut().enumerate() {
            let scale = deviations[s] * deviations[t];
            *rho = if s == t {
                1.0
            } else if scale == 0.0 {
                0.0
            } else {
                // Rounding may lead outside by a few ulps.
                (*rho / scale).clamp(-1.0, 1.0)
            };
        }
    }
    Ok(square)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(topics: usize, word_counts: &[f64], document_counts: &[f64]) -> TopicsFit {
        TopicsFit {
            drawn: false,
            topics,
            alpha: vec![1.0; topics],
            beta: 1.0,
            word_counts: word_counts.to_vec(),
            document_counts: document_counts.to_vec(),
        }
    }

    fn all_near(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            // A few roundings of numbers near 1.
            assert!((found - expected).abs() < 1e-14, "{found} {expected}");
        }
    }

    #[test]
    fn correlations_as_by_hand() {
        // Proportions (4, 1, 1)/6 and its turns: deviations (2, −1, −1)/6, variance 6/36,
        // covariance (−2 − 2 + 1)/36. The empty document changes nothing.
        let documents = [3.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0];
        let found = fit(3, &[3.0; 3], &documents).topic_correlations();
        let half = -0.5;
        all_near(&found, &[1.0, half, half, half, 1.0, half, half, half, 1.0]);
    }

    #[test]
    fn a_topic_that_never_changes_has_no_correlation() {
        // Proportions (3, 1, 2)/6, (1, 3, 2)/6: the third is 1/3 in both.
        let found = fit(3, &[2.0; 3], &[2.0, 0.0, 1.0, 0.0, 2.0, 1.0]).topic_correlations();
        all_near(&found, &[1.0, -1.0, 0.0, -1.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!(fit(1, &[2.0], &[1.0, 1.0]).topic_correlations(), [1.0]);
    }

    #[test]
    fn similarities_as_by_hand() {
        // Probabilities (4, 1)/5, (1, 4)/5 and (4, 1)/5: Σ √(φφ') = 2 · 2/5, distance √(1 − 4/5).
        let found = fit(3, &[3.0, 0.0, 3.0, 0.0, 3.0, 0.0], &[6.0, 3.0, 0.0]).topic_similarities();
        let apart = 1.0 - 0.2_f64.sqrt();
        all_near(
            &found,
            &[1.0, apart, 1.0, apart, 1.0, apart, 1.0, apart, 1.0],
        );
        assert_eq!(found[2], 1.0);
    }
}
