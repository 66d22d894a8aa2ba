//! Latent Dirichlet allocation with every responsibility kept, in logs, and corpora to try it on.

use std::collections::BTreeMap;
use std::sync::Arc;

use collapsar::special::{digamma, ln_gamma, log_sum_exp};
use collapsar::topics::{Alpha, Beta, Corpus, Settings, Topics};
use collapsar::{Collapsed, Point, Warm};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Gamma};

/// A corpus from a list of (word, count) for each document.
pub(crate) fn corpus(documents: &[Vec<(u32, f32)>], vocabulary: usize) -> Arc<Corpus> {
    let mut starts = vec![0];
    let (mut words, mut counts) = (vec![], vec![]);
    for document in documents {
        words.extend(document.iter().map(|entry| entry.0));
        counts.extend(document.iter().map(|entry| entry.1));
        starts.push(words.len());
    }
    Arc::new(Corpus::new(starts, words, counts, vocabulary).expect("a corpus"))
}

/// A draw from a Dirichlet.
pub(crate) fn dirichlet(prior: &[f64], rng: &mut impl Rng) -> Vec<f64> {
    let draws: Vec<f64> = prior
        .iter()
        .map(|&shape| Gamma::new(shape, 1.0).expect("positive").sample(rng))
        .collect();
    let total: f64 = draws.iter().sum();
    draws.iter().map(|x| x / total).collect()
}

fn index(probabilities: &[f64], rng: &mut impl Rng) -> usize {
    let mut left: f64 = rng.random();
    for (i, p) in probabilities.iter().enumerate() {
        left -= p;
        if left < 0.0 {
            return i;
        }
    }
    probabilities.len() - 1
}

/// A corpus that the model itself has drawn, and the topics that it was drawn from.
pub(crate) fn drawn(
    (documents, length, vocabulary): (usize, usize, usize),
    alpha: &[f64],
    beta: f64,
    seed: u64,
) -> (Arc<Corpus>, Vec<Vec<f64>>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let topics: Vec<Vec<f64>> = alpha
        .iter()
        .map(|_| dirichlet(&vec![beta; vocabulary], &mut rng))
        .collect();
    let mut bags = Vec::new();
    for _ in 0..documents {
        let proportions = dirichlet(alpha, &mut rng);
        let mut bag = BTreeMap::new();
        for _ in 0..length {
            let topic = index(&proportions, &mut rng);
            *bag.entry(index(&topics[topic], &mut rng) as u32)
                .or_insert(0.0) += 1.0;
        }
        bags.push(bag.into_iter().collect());
    }
    (corpus(&bags, vocabulary), topics)
}

/// Priors that are given.
pub(crate) fn given(alpha: &[f64], beta: f64, sweeps: usize) -> Settings {
    Settings {
        alpha: Alpha::Given(alpha.to_vec()),
        beta: Beta::Given(beta),
        sweeps,
        ..Settings::new(alpha.len())
    }
}

pub(crate) fn model(corpus: &Arc<Corpus>, settings: &Settings) -> Topics {
    Topics::new(Arc::clone(corpus), settings).expect("settings in range")
}

/// What the model itself says at `messages` beginning from `warm`, as the driver asks it.
pub(crate) fn look(model: &Topics, messages: &[f64], warm: impl Into<Warm>) -> Point {
    let mut point = Point {
        messages: messages.to_vec(),
        statistics: vec![f64::NAN; messages.len()],
        gradient: vec![f64::NAN; messages.len()],
        bound: f64::NAN,
        warm: warm.into(),
    };
    let (local, posterior) = model.evaluate(&mut point).expect("finite messages");
    let linear: f64 = messages
        .iter()
        .zip(&point.statistics)
        .map(|(m, t)| m * t)
        .sum();
    point.bound = local - linear + posterior;
    point
}

/// The largest difference of two lists.
pub(crate) fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    // Written so that a NaN is the largest.
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, |worst, x| if x <= worst { worst } else { x })
}

/// The plain model.
pub(crate) struct Plain {
    pub(crate) corpus: Arc<Corpus>,
    pub(crate) alpha: Vec<f64>,
    pub(crate) beta: f64,
}

/// q(Z): for each document, for each of its words, the responsibilities of the topics.
pub(crate) type Responsibilities = Vec<Vec<Vec<f64>>>;

impl Plain {
    pub(crate) fn topics(&self) -> usize {
        self.alpha.len()
    }

    /// Every word to all topics alike.
    pub(crate) fn even(&self) -> Vec<Vec<f64>> {
        let count = |d| self.corpus.document(d).1.iter().copied().map(f64::from);
        (0..self.corpus.documents())
            .map(|d| vec![count(d).sum::<f64>() / self.topics() as f64; self.topics()])
            .collect()
    }

    /// q(Z) from messages of words and of documents.
    pub(crate) fn responsibilities(&self, b: &[f64], a: &[Vec<f64>]) -> Responsibilities {
        let topics = self.topics();
        (0..self.corpus.documents())
            .map(|d| {
                let of_word = |&word: &u32| {
                    let row = &b[word as usize * topics..(word as usize + 1) * topics];
                    let logits: Vec<f64> = row.iter().zip(&a[d]).map(|(b, a)| a + b).collect();
                    let total = log_sum_exp(&logits);
                    logits.iter().map(|x| (x - total).exp()).collect()
                };
                self.corpus.document(d).0.iter().map(of_word).collect()
            })
            .collect()
    }

    /// Expected tokens of each document in each topic.
    pub(crate) fn counts(&self, r: &Responsibilities) -> Vec<Vec<f64>> {
        let mut counts = vec![vec![0.0; self.topics()]; r.len()];
        self.each(r, |d, _, n, r| {
            for (count, r) in counts[d].iter_mut().zip(r) {
                *count += n * r;
            }
        });
        counts
    }

    /// Expected tokens of each word in each topic.
    pub(crate) fn statistics(&self, r: &Responsibilities) -> Vec<f64> {
        let topics = self.topics();
        let mut statistics = vec![0.0; topics * self.corpus.vocabulary()];
        self.each(r, |_, v, n, r| {
            for k in 0..topics {
                statistics[v * topics + k] += n * r[k];
            }
        });
        statistics
    }

    fn each(&self, r: &Responsibilities, mut f: impl FnMut(usize, usize, f64, &[f64])) {
        for (d, rows) in r.iter().enumerate() {
            let (words, totals) = self.corpus.document(d);
            for ((&word, &n), row) in words.iter().zip(totals).zip(rows) {
                f(d, word as usize, f64::from(n), row);
            }
        }
    }

    /// E ln θ of each document but for a constant: its messages.
    pub(crate) fn document_messages(&self, counts: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let of = |counts: &Vec<f64>| {
            let shape = self.alpha.iter().zip(counts);
            shape.map(|(alpha, n)| digamma(alpha + n)).collect()
        };
        counts.iter().map(of).collect()
    }

    /// E ln φ of each word: the messages of words, a row for each.
    pub(crate) fn word_messages(&self, statistics: &[f64]) -> Vec<f64> {
        let topics = self.topics();
        let mut totals = vec![self.beta * self.corpus.vocabulary() as f64; topics];
        for (i, x) in statistics.iter().enumerate() {
            totals[i % topics] += x;
        }
        let message = |(i, x): (usize, &f64)| digamma(self.beta + x) - digamma(totals[i % topics]);
        statistics.iter().enumerate().map(message).collect()
    }

    /// `sweeps` coordinate updates of documents at messages `b` of words.
    pub(crate) fn sweep(
        &self,
        b: &[f64],
        counts: &mut Vec<Vec<f64>>,
        sweeps: usize,
    ) -> Responsibilities {
        let mut r = vec![];
        for _ in 0..sweeps {
            r = self.responsibilities(b, &self.document_messages(counts));
            *counts = self.counts(&r);
        }
        r
    }

    /// Entropy of q(Z).
    pub(crate) fn entropy(&self, r: &Responsibilities) -> f64 {
        let mut entropy = 0.0;
        self.each(r, |_, _, n, r| {
            for r in r.iter().filter(|r| **r > 0.0) {
                entropy -= n * r * r.ln();
            }
        });
        entropy
    }

    /// The collapsed bound of any q(Z): entropy and two Dirichlet-multinomials at expected counts.
    pub(crate) fn bound(&self, r: &Responsibilities) -> f64 {
        let topics = self.topics();
        let statistics = self.statistics(r);
        let words = vec![self.beta; self.corpus.vocabulary()];
        let of_topic = |k: usize| {
            let counts: Vec<f64> = statistics.iter().skip(k).step_by(topics).copied().collect();
            ln_probability(&words, &counts)
        };
        let of_documents: f64 = self
            .counts(r)
            .iter()
            .map(|counts| ln_probability(&self.alpha, counts))
            .sum();
        self.entropy(r) + of_documents + (0..topics).map(of_topic).sum::<f64>()
    }
}

/// ln probability of a sequence with these counts under a Dirichlet-multinomial.
pub(crate) fn ln_probability(prior: &[f64], counts: &[f64]) -> f64 {
    let total: f64 = prior.iter().sum();
    let tokens: f64 = counts.iter().sum();
    let each = prior.iter().zip(counts);
    ln_gamma(total) - ln_gamma(total + tokens)
        + each
            .map(|(a, n)| ln_gamma(a + n) - ln_gamma(*a))
            .sum::<f64>()
}
