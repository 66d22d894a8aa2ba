//! Means over the sweeps of a chain: what they say of words and of documents.

use super::chain::{Chain, Priors, unpadded};
use super::fit::TopicsFit;

/// Sums over some sweeps of a chain, in padded rows.
#[derive(Default)]
pub(super) struct Sums {
    sweeps: usize,
    words: Vec<f64>,
    documents: Vec<f64>,
    /// Squares of documents' counts.
    squares: Vec<f64>,
}

impl Sums {
    /// Adds the present state of a chain.
    pub(super) fn add(&mut self, chain: &Chain<'_>) {
        self.sweeps += 1;
        self.words.resize(chain.words.len(), 0.0);
        self.documents.resize(chain.documents.len(), 0.0);
        self.squares.resize(chain.documents.len(), 0.0);
        for (sum, &count) in self.words.iter_mut().zip(&chain.words) {
            *sum += f64::from(count);
        }
        let sums = self.documents.iter_mut().zip(&mut self.squares);
        for ((sum, square), &count) in sums.zip(&chain.documents) {
            *sum += count;
            *square += count * count;
        }
    }

    /// Adds what another chain has summed.
    pub(super) fn join(&mut self, other: &Self) {
        self.sweeps += other.sweeps;
        let pairs = [
            (&mut self.words, &other.words),
            (&mut self.documents, &other.documents),
            (&mut self.squares, &other.squares),
        ];
        for (sum, other) in pairs {
            for (sum, other) in sum.iter_mut().zip(other) {
                *sum += other;
            }
        }
    }

    /// The mean.
    pub(super) fn fit(&self, priors: &Priors) -> TopicsFit {
        let (topics, sweeps) = (priors.alpha.len(), self.sweeps as f64);
        let mean = |sums: &[f64]| unpadded(sums, topics, |sum| sum / sweeps);
        TopicsFit {
            topics,
            alpha: priors.alpha.clone(),
            beta: priors.beta,
            word_counts: mean(&self.words),
            document_counts: mean(&self.documents),
            drawn: true,
        }
    }

    /// Standard deviations of the documents' proportions, by the law of total variance: given the counts n of a
    /// document of N tokens a proportion is Beta(a + n, b - n), with variance p(1 - p)/(b + 1), p = (a + n)/b.
    pub(super) fn proportion_sds(&self, priors: &Priors) -> Vec<f64> {
        let (topics, sweeps) = (priors.alpha.len(), self.sweeps as f64);
        let prior: f64 = priors.alpha.iter().sum();
        let means = unpadded(&self.documents, topics, |sum| sum / sweeps);
        let squares = unpadded(&self.squares, topics, |sum| sum / sweeps);
        let mut sds = Vec::with_capacity(means.len());
        for (means, squares) in means.chunks(topics).zip(squares.chunks(topics)) {
            let total = prior + means.iter().sum::<f64>();
            for k in 0..topics {
                let mean = (priors.alpha[k] + means[k]) / total;
                let spread = (squares[k] - means[k] * means[k]).max(0.0) / (total * total);
                let square = mean * mean + spread;
                sds.push(((mean - square) / (total + 1.0) + spread).max(0.0).sqrt());
            }
        }
        sds
    }
}
