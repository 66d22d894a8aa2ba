//! The sum over documents in memory: each document's own messages are brought near their optimum while it
//! is in cache, then words gather their statistics.

use std::sync::Arc;

use rayon::prelude::*;

use super::corpus::Corpus;
use super::document::{Document, Scratch, add_in_logs, extrapolated, write_sum};
use super::documents::{Documents, Settle, Words};
use super::priors::Slopes;
use collapsar_core::kernel::bag::{TINY, padded, sweep};
use collapsar_core::kernel::gamma::{digamma_in_place, exp_below};
use collapsar_core::parallel::Buffers;
use collapsar_core::special::ln_gamma;
use collapsar_core::vector::dot;
use collapsar_core::{Error, Potential, Result, Warm};
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// How many documents or words a thread takes at a time: a function of their number alone.
pub(super) fn chunk_size(count: usize) -> usize {
    count.div_ceil(512).max(1)
}

/// Sweeps after which a document is taken to be settled.
pub(super) const MOST_SWEEPS: usize = 100_000;
/// As near to the fixed point as rounding allows.
pub(super) const EXACT: Settle = Settle::Change(1e-15);

/// $\tilde A(b)$: the sum over documents at messages $b$ of words to topics, with the proportions
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

/// Lends the exponentials of messages to `work`.
pub(super) fn with_exponentials<T>(
    buffers: &Buffers,
    messages: &[f64],
    topics: usize,
    work: impl FnOnce(&Exponentials<'_>) -> Result<T>,
) -> Result<T> {
    let (vocabulary, width) = (messages.len() / topics, padded(topics));
    buffers.lend(vocabulary * (width + 1), |buffer| {
        let (rows, highest) = buffer.split_at_mut(vocabulary * width);
        rows.par_chunks_mut(width)
            .zip(highest.par_iter_mut())
            .zip(messages.par_chunks(topics))
            .with_min_len(chunk_size(vocabulary))
            .for_each(|((row, highest), messages)| {
                *highest = messages.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                exp_below(messages, *highest, &mut row[..topics]);
            });
        if let Some(word) = highest.iter().position(|high| !high.is_finite()) {
            let block = format!("messages of word {}", word + 1);
            return Err(Error::domain(
                block,
                highest[word].to_string(),
                "finite numbers",
            ));
        }
        work(&Exponentials {
            messages,
            rows,
            highest,
        })
    })
}

/// The Dirichlets' part of what documents add to the bound, under a prior.
pub(super) struct Dirichlets<'a> {
    alpha: &'a [f64],
    total: f64,
    prior_ln_gamma: f64,
    prior_total: f64,
}

impl<'a> Dirichlets<'a> {
    pub(super) fn new(alpha: &'a [f64]) -> Self {
        let total: f64 = alpha.iter().sum();
        Self {
            alpha,
            total,
            prior_ln_gamma: digamma_in_place(&mut alpha.to_vec()),
            prior_total: ln_gamma(total),
        }
    }

    /// Adds the part of documents with these counts, one after another.
    pub(super) fn add(&self, counts: &[f64], sum: &mut f64) {
        let topics = self.alpha.len();
        let mut x = vec![0.0; topics];
        for counts in counts.chunks(topics) {
            let length: f64 = counts.iter().sum();
            if length == 0.0 {
                continue;
            }
            write_sum(self.alpha, counts, &mut x);
            let of_total = ln_gamma(self.total + length) - self.prior_total;
            *sum += digamma_in_place(&mut x) - self.prior_ln_gamma - of_total;
        }
    }
}

/// Messages of documents some of whose products underflowed; rare.
pub(super) type Rare = Vec<(u32, Vec<f64>)>;

impl Local {
    pub(super) fn new(corpus: Arc<Corpus>, topics: usize, alpha: Vec<f64>) -> Self {
        Self {
            corpus,
            topics,
            alpha,
            buffers: Buffers::default(),
        }
    }

    /// Settles every document from `counts` under the prior `alpha`, writes statistics if there is
    /// room for them, and returns what the documents add to the bound but for their Dirichlets' part.
    pub(super) fn pass(
        &self,
        messages: &[f64],
        alpha: &[f64],
        settle: Settle,
        counts: &mut [f64],
        statistics: Option<&mut [f64]>,
    ) -> Result<f64> {
        let length = self.corpus.documents() * padded(self.topics);
        with_exponentials(&self.buffers, messages, self.topics, |words| {
            self.buffers.lend(length, |documents| {
                let (value, rare) = self.settle(words, alpha, settle, counts, documents);
                if let Some(statistics) = statistics {
                    self.gather(words, documents, &rare, statistics);
                }
                Ok(value + dot(&self.corpus.by_word.totals, words.highest))
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
        let size = chunk_size(self.corpus.documents());
        let parts: Vec<(f64, Rare)> = counts
            .par_chunks_mut(size * topics)
            .zip(exponentials.par_chunks_mut(size * width))
            .enumerate()
            .map(|(chunk, (counts, exponentials))| {
                let mut scratch = Scratch::new(width, self.corpus.by_document.longest);
                let (mut value, mut rare) = (0.0, Rare::new());
                let each = (counts.chunks_mut(topics)).zip(exponentials.chunks_mut(width));
                for (i, (counts, exponentials)) in each.enumerate() {
                    let index = chunk * size + i;
                    let bag = self.corpus.by_document.bag(index, words.rows);
                    let document = Document { bag, words, alpha };
                    let (part, tiny) = document.settle(settle, counts, exponentials, &mut scratch);
                    value += part;
                    if tiny {
                        rare.push((index as u32, scratch.messages[..topics].to_vec()));
                    }
                }
                (value, rare)
            })
            .collect();
        let (values, rare): (Vec<f64>, Vec<Rare>) = parts.into_iter().unzip();
        (values.iter().sum(), rare.concat())
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
        let size = chunk_size(self.corpus.vocabulary());
        statistics
            .par_chunks_mut(size * topics)
            .enumerate()
            .for_each(|(chunk, statistics)| {
                let mut scratch = Scratch::new(width, self.corpus.by_word.longest);
                // What is too small for a product, in logs.
                let mut late = vec![0.0; topics];
                for (i, statistics) in statistics.chunks_mut(topics).enumerate() {
                    let word = chunk * size + i;
                    let bag = self.corpus.by_word.bag(word, documents);
                    let own = &words.rows[word * width..(word + 1) * width];
                    scratch.sum.fill(0.0);
                    let products = &mut scratch.products[..bag.ids.len()];
                    let tiny = sweep(bag, own, products, &mut scratch.sum);
                    for ((s, own), sum) in statistics.iter_mut().zip(own).zip(&scratch.sum) {
                        *s = own * sum;
                    }
                    if tiny {
                        late.fill(0.0);
                        let messages = &words.messages[word * topics..(word + 1) * topics];
                        for i in (0..products.len()).filter(|&i| products[i] < TINY) {
                            let at = rare
                                .binary_search_by_key(&bag.ids[i], |(id, _)| *id)
                                .expect("a document with a tiny product is among the rare");
                            let logits = rare[at].1.iter().zip(messages).map(|(a, b)| a + b);
                            add_in_logs(&logits.collect::<Vec<_>>(), bag.counts[i], &mut late);
                        }
                        for (s, late) in statistics.iter_mut().zip(&late) {
                            *s += late;
                        }
                    }
                }
            });
    }

    /// Counts to settle from where nothing better is known: every word to all topics alike.
    pub(super) fn even_counts(&self) -> Vec<f64> {
        let totals = self.corpus.by_document.totals.iter();
        let even = |total| std::iter::repeat_n(total / self.topics as f64, self.topics);
        totals.flat_map(even).collect()
    }

    /// The Dirichlets' part of what documents add to the bound.
    pub(super) fn dirichlets(&self, alpha: &[f64], counts: &[f64]) -> f64 {
        let size = chunk_size(self.corpus.documents());
        let of = Dirichlets::new(alpha);
        let parts: Vec<f64> = counts
            .par_chunks(size * self.topics)
            .map(|counts| {
                let mut sum = 0.0;
                of.add(counts, &mut sum);
                sum
            })
            .collect();
        parts.iter().sum()
    }
}

impl Documents for Local {
    fn topics(&self) -> usize {
        self.topics
    }

    fn documents(&self) -> usize {
        self.corpus.documents()
    }

    fn vocabulary(&self) -> usize {
        self.corpus.vocabulary()
    }

    fn tokens(&self) -> f64 {
        self.corpus.tokens()
    }

    fn word_totals(&self) -> &[f64] {
        &self.corpus.by_word.totals
    }

    fn digest(&self) -> u64 {
        self.corpus.digest()
    }

    fn alpha(&self) -> &[f64] {
        &self.alpha
    }

    fn some(&self, count: usize, rng: &mut ChaCha8Rng) -> Result<Vec<Words>> {
        let has_words = |&index: &usize| !self.corpus.document(index).0.is_empty();
        let mut order: Vec<usize> = (0..self.documents()).filter(has_words).collect();
        order.shuffle(rng);
        let first = order.into_iter().take(count);
        let words = |index| {
            let (words, counts) = self.corpus.document(index);
            (words.to_vec(), counts.to_vec())
        };
        Ok(first.map(words).collect())
    }

    fn numbers(&self) -> usize {
        self.documents() * self.topics
    }

    fn even(&self) -> Warm {
        self.even_counts().into()
    }

    fn extrapolate(&self, counts: &mut Warm, before: &Warm, coefficient: f64) {
        for (count, before) in counts[..self.numbers()].iter_mut().zip(before.iter()) {
            *count = extrapolated(*count, *before, coefficient);
        }
    }

    fn pass(
        &self,
        messages: &[f64],
        alpha: &[f64],
        settle: Settle,
        counts: &mut Warm,
        statistics: Option<&mut [f64]>,
    ) -> Result<f64> {
        let counts = &mut counts[..self.numbers()];
        self.pass(messages, alpha, settle, counts, statistics)
    }

    fn dirichlets(&self, alpha: &[f64], counts: &Warm) -> Result<f64> {
        Ok(self.dirichlets(alpha, &counts[..self.numbers()]))
    }

    fn slopes(&self, alpha: &[f64], counts: &Warm) -> Result<Slopes> {
        let size = chunk_size(self.documents()) * self.topics;
        let parts = counts[..self.numbers()].par_chunks(size);
        let parts: Vec<Vec<f64>> = parts.map(|counts| Slopes::part(alpha, counts)).collect();
        Ok(Slopes::sum(&parts.concat(), alpha.len()))
    }

    fn product(
        &self,
        alpha: &[f64],
        counts: &Warm,
        (at, along): (&[f64], &[f64]),
        out: &mut [f64],
    ) -> Result<()> {
        self.coupling_product((alpha, &counts[..self.numbers()]), at, along, out);
        Ok(())
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
        self.coupling_product((&self.alpha, &counts), at, along, out);
        Ok(())
    }
}
