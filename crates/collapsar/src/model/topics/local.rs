//! The sum over documents: each document's own messages are brought near their optimum while it
//! is in cache, then words gather their statistics.

use std::sync::Arc;

use rayon::prelude::*;

use super::corpus::Corpus;
use super::coupling::Coupling;
use super::document::{Document, Scratch, add_in_logs};
use collapsar_core::kernel::bag::{Bag, TINY, padded, sweep};
use collapsar_core::kernel::gamma::{digamma_in_place, exp_below};
use collapsar_core::parallel::Buffers;
use collapsar_core::special::ln_gamma;
use collapsar_core::{Error, Potential, Result};

/// How many documents or words a thread takes at a time: a function of their number alone.
pub(super) fn share(count: usize) -> usize {
    count.div_ceil(512).max(1)
}

/// When a document's own messages are near enough to their optimum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Settle {
    /// After this many sweeps over its words.
    Sweeps(usize),
    /// When no count changes by more than this part of the document's length.
    Change(f64),
}

/// Sweeps after which a document is taken to be settled.
pub(super) const MOST_SWEEPS: usize = 100_000;
/// As near to the fixed point as rounding allows.
const EXACT: Settle = Settle::Change(1e-15);

/// $\tilde A(b)$: what documents say to messages $b$ of words to topics, with the proportions
/// collapsed and each document's own messages at their optimum (maths §7.2).
#[derive(Debug)]
pub struct Local {
    pub(super) corpus: Arc<Corpus>,
    pub(super) topics: usize,
    pub(super) alpha: Vec<f64>,
    pub(super) buffers: Buffers,
}

/// Exponentials of the messages, each word's largest taken out.
pub(super) struct Exponentials<'a> {
    pub(super) messages: &'a [f64],
    pub(super) rows: &'a [f64],
    pub(super) highest: &'a [f64],
}

/// Messages of documents some of whose products underflowed; rare.
type Rare = Vec<(u32, Vec<f64>)>;

impl Local {
    pub(super) fn new(corpus: Arc<Corpus>, topics: usize, alpha: Vec<f64>) -> Self {
        Self {
            corpus,
            topics,
            alpha,
            buffers: Buffers::default(),
        }
    }

    /// Lends the exponentials of `messages`.
    pub(super) fn with_exponentials<T>(
        &self,
        messages: &[f64],
        work: impl FnOnce(Exponentials<'_>) -> Result<T>,
    ) -> Result<T> {
        let (vocabulary, width) = (self.corpus.vocabulary(), padded(self.topics));
        self.buffers.lend(vocabulary * (width + 1), |buffer| {
            let (rows, highest) = buffer.split_at_mut(vocabulary * width);
            rows.par_chunks_mut(width)
                .zip(highest.par_iter_mut())
                .zip(messages.par_chunks(self.topics))
                .with_min_len(share(vocabulary))
                .for_each(|((row, highest), messages)| {
                    *highest = messages.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    exp_below(messages, *highest, &mut row[..self.topics]);
                });
            if let Some(word) = highest.iter().position(|high| !high.is_finite()) {
                return Err(Error::Domain {
                    block: format!("messages of word {}", word + 1),
                    found: highest[word].to_string(),
                    expected: "finite numbers",
                });
            }
            work(Exponentials {
                messages,
                rows,
                highest,
            })
        })
    }

    /// Settles every document from `counts` under the prior `alpha`, writes statistics where
    /// they are wanted and returns what the documents add to the bound but for their Dirichlets' part.
    pub(super) fn pass(
        &self,
        messages: &[f64],
        alpha: &[f64],
        settle: Settle,
        counts: &mut [f64],
        statistics: Option<&mut [f64]>,
    ) -> Result<f64> {
        let width = padded(self.topics);
        self.with_exponentials(messages, |words| {
            self.buffers
                .lend(self.corpus.documents() * width, |documents| {
                    let (value, rare) = self.settle(&words, alpha, settle, counts, documents);
                    if let Some(statistics) = statistics {
                        self.gather(&words, documents, &rare, statistics);
                    }
                    let shift: f64 = (0..self.corpus.vocabulary())
                        .map(|word| self.corpus.by_word.total(word) * words.highest[word])
                        .sum();
                    Ok(value + shift)
                })
        })
    }

    fn settle(
        &self,
        words: &Exponentials<'_>,
        alpha: &[f64],
        settle: Settle,
        counts: &mut [f64],
        exponentials: &mut [f64],
    ) -> (f64, Rare) {
        let (topics, width) = (self.topics, padded(self.topics));
        let share = share(self.corpus.documents());
        let parts: Vec<(f64, Rare)> = counts
            .par_chunks_mut(share * topics)
            .zip(exponentials.par_chunks_mut(share * width))
            .enumerate()
            .map(|(chunk, (counts, exponentials))| {
                let mut scratch = Scratch::new(width, self.corpus.by_document.longest());
                let (mut value, mut rare) = (0.0, Rare::new());
                let each = counts
                    .chunks_mut(topics)
                    .zip(exponentials.chunks_mut(width));
                for (i, (counts, exponentials)) in each.enumerate() {
                    let index = chunk * share + i;
                    let (ids, totals) = self.corpus.document(index);
                    let document = Document {
                        ids,
                        totals,
                        words,
                        alpha,
                    };
                    let settled = document.settle(settle, counts, exponentials, &mut scratch);
                    value += settled.value;
                    if settled.tiny {
                        rare.push((index as u32, scratch.messages[..topics].to_vec()));
                    }
                }
                (value, rare)
            })
            .collect();
        let mut rare = Rare::new();
        let mut value = 0.0;
        for (part, mut some) in parts {
            value += part;
            rare.append(&mut some);
        }
        (value, rare)
    }

    /// Statistics of each word, from the documents that hold it.
    fn gather(
        &self,
        words: &Exponentials<'_>,
        documents: &[f64],
        rare: &Rare,
        statistics: &mut [f64],
    ) {
        let (topics, width) = (self.topics, padded(self.topics));
        let share = share(self.corpus.vocabulary());
        statistics
            .par_chunks_mut(share * topics)
            .enumerate()
            .for_each(|(chunk, statistics)| {
                let mut scratch = Scratch::new(width, self.corpus.by_word.longest());
                for (i, statistics) in statistics.chunks_mut(topics).enumerate() {
                    let word = chunk * share + i;
                    let (ids, counts) = self.corpus.word(word);
                    let own = &words.rows[word * width..(word + 1) * width];
                    let bag = Bag {
                        ids,
                        counts,
                        rows: documents,
                    };
                    scratch.sum.fill(0.0);
                    let products = &mut scratch.products[..ids.len()];
                    let tiny = sweep(bag, own, products, &mut scratch.sum);
                    for ((s, own), sum) in statistics.iter_mut().zip(own).zip(&scratch.sum) {
                        *s = own * sum;
                    }
                    if tiny {
                        let messages = &words.messages[word * topics..(word + 1) * topics];
                        for i in (0..ids.len()).filter(|&i| products[i] < TINY) {
                            let at = rare
                                .binary_search_by_key(&ids[i], |(id, _)| *id)
                                .expect("a document with a tiny product is among the rare");
                            let logits: Vec<f64> = rare[at]
                                .1
                                .iter()
                                .zip(messages)
                                .map(|(a, b)| a + b)
                                .collect();
                            add_in_logs(&logits, counts[i], statistics);
                        }
                    }
                }
            });
    }

    /// Counts to settle from where nothing better is known: every word to all topics alike.
    pub(super) fn even_counts(&self) -> Vec<f64> {
        let topics = self.topics;
        let mut counts = vec![0.0; self.corpus.documents() * topics];
        for (index, counts) in counts.chunks_mut(topics).enumerate() {
            counts.fill(self.corpus.by_document.total(index) / topics as f64);
        }
        counts
    }

    /// The Dirichlets' part of what documents add to the bound.
    pub(super) fn dirichlets(&self, alpha: &[f64], counts: &[f64]) -> f64 {
        let topics = self.topics;
        let share = share(self.corpus.documents());
        let mut prior = alpha.to_vec();
        let prior_ln_gamma = digamma_in_place(&mut prior);
        let total: f64 = alpha.iter().sum();
        let prior_total = ln_gamma(total);
        let parts: Vec<f64> = counts
            .par_chunks(share * topics)
            .map(|counts| {
                let mut x = vec![0.0; topics];
                counts
                    .chunks(topics)
                    .map(|counts| {
                        let mut length = 0.0;
                        for ((x, alpha), count) in x.iter_mut().zip(alpha).zip(counts) {
                            *x = alpha + count;
                            length += count;
                        }
                        if length == 0.0 {
                            return 0.0;
                        }
                        digamma_in_place(&mut x)
                            - prior_ln_gamma
                            - (ln_gamma(total + length) - prior_total)
                    })
                    .sum()
            })
            .collect();
        parts.iter().sum()
    }

    pub(super) fn coupling<'a>(&'a self, alpha: &'a [f64], counts: &'a [f64]) -> Coupling<'a> {
        Coupling {
            local: self,
            alpha,
            counts,
        }
    }
}

impl Potential for Local {
    fn dim(&self) -> usize {
        self.topics * self.corpus.vocabulary()
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let mut counts = self.even_counts();
        let value = self.pass(at, &self.alpha, EXACT, &mut counts, Some(gradient))?;
        Ok(value + self.dirichlets(&self.alpha, &counts))
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        let mut counts = self.even_counts();
        self.pass(at, &self.alpha, EXACT, &mut counts, None)?;
        self.coupling(&self.alpha, &counts).product(at, along, out);
        Ok(())
    }
}
