//! The sum over documents in a file: blocks of them settle as they are read, then words take up their statistics.
//!
//! Each document and each word adds the same numbers in the same order as in memory, so every bit is the same.

use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use collapsar_core::kernel::bag::{TINY, padded, sweep};
use collapsar_core::parallel::Buffers;
use collapsar_core::vector::dot;
use collapsar_core::{Error, Potential, Result, Warm};

use super::super::coupling;
use super::super::document::{Document, Scratch, add_in_logs};
use super::super::documents::{Documents, Settle, Words};
use super::super::local::{Dirichlets, EXACT, Exponentials, Rare, chunk_size, with_exponentials};
use super::super::priors::Slopes;
use super::counts::{Counts, Shelf, extrapolate};
use super::pieces::{Piece, each_piece, totals};
use super::{DocumentBlock, StoredCorpus};

/// Documents whose counts are read at once, where nothing else is read.
const TOGETHER: usize = 4096;

/// Takes a block of documents, and their counts.
pub(super) type Visit<'a> = dyn FnMut(&DocumentBlock, &[f64]) -> Result<ControlFlow<()>> + 'a;

/// Documents in a file, with counts in other files beside it.
#[derive(Debug)]
pub struct StoredDocuments {
    corpus: Arc<StoredCorpus>,
    topics: usize,
    alpha: Vec<f64>,
    shelf: Arc<Shelf>,
    buffers: Buffers,
}

/// A piece whose documents have settled.
struct Settled {
    piece: Piece,
    counts: Vec<f64>,
    exponentials: Vec<f64>,
    /// What each document adds to the bound.
    values: Vec<f64>,
    rare: Rare,
}

/// The sum of chunks of so many documents each, as documents come.
struct ChunkSum {
    size: usize,
    inside: usize,
    chunk: f64,
    total: f64,
}

impl ChunkSum {
    fn new(documents: usize) -> Self {
        let size = chunk_size(documents);
        let (chunk, total) = (0.0, 0.0);
        let inside = 0;
        Self {
            size,
            inside,
            chunk,
            total,
        }
    }

    fn add(&mut self, value: f64) {
        self.chunk += value;
        self.inside += 1;
        if self.inside == self.size {
            self.total += self.chunk;
            (self.inside, self.chunk) = (0, 0.0);
        }
    }

    fn total(self) -> f64 {
        if self.inside == 0 {
            self.total
        } else {
            self.total + self.chunk
        }
    }
}

impl StoredDocuments {
    /// Documents of a file; counts go into a private folder beside `target`.
    ///
    /// # Errors
    /// [`Error::File`] where the folder cannot be made.
    pub(in super::super) fn new(
        corpus: Arc<StoredCorpus>,
        topics: usize,
        alpha: Vec<f64>,
        target: &Path,
    ) -> Result<Self> {
        Ok(Self {
            shelf: Shelf::create(target, topics)?,
            corpus,
            topics,
            alpha,
            buffers: Buffers::default(),
        })
    }

    /// The file.
    pub fn corpus(&self) -> &Arc<StoredCorpus> {
        &self.corpus
    }

    /// Visits documents block by block with their counts, which are in the same order.
    ///
    /// # Errors
    /// Where documents or counts cannot be read; what `visit` has.
    pub fn each(&self, counts: &Warm, visit: &mut Visit<'_>) -> Result<()> {
        let (mut own, mut bytes) = (vec![], vec![]);
        self.corpus.each(0..self.corpus.documents(), &mut |block| {
            self.counts_of(counts, block, &mut bytes, &mut own)?;
            visit(block, &own)
        })
    }

    /// Counts of the documents of a block: as they were left, or even.
    fn counts_of(
        &self,
        counts: &Warm,
        block: &DocumentBlock,
        bytes: &mut Vec<u8>,
        out: &mut Vec<f64>,
    ) -> Result<()> {
        out.clear();
        if let Some(counts) = Counts::of(counts) {
            out.resize(block.len() * self.topics, 0.0);
            return counts.read(block.first, bytes, out);
        }
        for total in totals(block) {
            out.extend(std::iter::repeat_n(total / self.topics as f64, self.topics));
        }
        Ok(())
    }

    /// Settles the documents of a piece from `counts`.
    fn settle(
        &self,
        words: &Exponentials<'_>,
        (alpha, settle): (&[f64], Settle),
        piece: Piece,
        counts: &[f64],
    ) -> Settled {
        let (topics, width) = (self.topics, padded(self.topics));
        let documents = piece.by_document.len();
        let own = piece.first * topics..(piece.first + documents) * topics;
        let mut counts = counts[own].to_vec();
        let mut exponentials = vec![0.0; documents * width];
        let mut scratch = Scratch::new(width, piece.by_document.longest);
        let (mut values, mut rare) = (Vec::with_capacity(documents), Rare::new());
        let each = (counts.chunks_mut(topics)).zip(exponentials.chunks_mut(width));
        for (index, (counts, exponentials)) in each.enumerate() {
            let bag = piece.by_document.bag(index, words.rows);
            let document = Document { bag, words, alpha };
            let (value, tiny) = document.settle(settle, counts, exponentials, &mut scratch);
            values.push(value);
            if tiny {
                rare.push((index as u32, scratch.messages[..topics].to_vec()));
            }
        }
        Settled {
            piece,
            counts,
            exponentials,
            values,
            rare,
        }
    }

    /// Adds to each word's sum what the documents of a block say of it; and what is too small for that to `late`, in logs.
    fn gather(
        &self,
        words: &Exponentials<'_>,
        settled: &[Settled],
        sums: &mut [f64],
        late: &mut Option<Vec<f64>>,
    ) {
        let (topics, width) = (self.topics, padded(self.topics));
        let size = chunk_size(self.corpus.vocabulary());
        let longest = settled.iter().map(|settled| settled.piece.by_word.longest);
        let longest = longest.max().unwrap_or(0);
        let tiny: Vec<Vec<(usize, Vec<f64>, f32)>> = sums
            .par_chunks_mut(size * width)
            .enumerate()
            .map(|(chunk, sums)| {
                let mut products = vec![0.0; longest];
                let mut found = vec![];
                for (i, sum) in sums.chunks_mut(width).enumerate() {
                    let word = chunk * size + i;
                    let own = &words.rows[word * width..(word + 1) * width];
                    for settled in settled {
                        let bag = settled.piece.by_word.bag(word, &settled.exponentials);
                        if bag.ids.is_empty() {
                            continue;
                        }
                        let products = &mut products[..bag.ids.len()];
                        if sweep(bag, own, products, sum) {
                            let messages = &words.messages[word * topics..(word + 1) * topics];
                            for i in (0..products.len()).filter(|&i| products[i] < TINY) {
                                let logits = settled.rare_logits(bag.ids[i], messages);
                                found.push((word, logits, bag.counts[i]));
                            }
                        }
                    }
                }
                found
            })
            .collect();
        for (word, logits, count) in tiny.into_iter().flatten() {
            let late = late.get_or_insert_with(|| vec![0.0; self.dim()]);
            add_in_logs(
                &logits,
                count,
                &mut late[word * topics..(word + 1) * topics],
            );
        }
    }

    /// What all chunks of documents come to, each of whose counts `add` takes some at a time.
    fn chunks<T: Send>(
        &self,
        counts: &Warm,
        begin: impl Fn() -> T + Sync,
        add: impl Fn(&mut T, &[f64]) + Sync,
    ) -> Result<Vec<T>> {
        let (documents, topics) = (self.corpus.documents(), self.topics);
        let size = chunk_size(documents);
        let counts = Counts::of(counts).ok_or_else(|| {
            Error::domain("counts of documents", "none", "those that a pass has left")
        })?;
        let chunk = |chunk: usize| {
            let all: Range<usize> = chunk * size..((chunk + 1) * size).min(documents);
            let (mut sum, mut bytes, mut own) = (begin(), vec![], vec![]);
            for first in all.clone().step_by(TOGETHER) {
                own.resize(TOGETHER.min(all.end - first) * topics, 0.0);
                counts.read(first, &mut bytes, &mut own)?;
                add(&mut sum, &own);
            }
            Ok(sum)
        };
        let number = documents.div_ceil(size);
        (0..number).into_par_iter().map(chunk).collect()
    }
}

impl Settled {
    fn rare_logits(&self, document: u32, messages: &[f64]) -> Vec<f64> {
        let at = (self.rare)
            .binary_search_by_key(&document, |(id, _)| *id)
            .expect("a document with a tiny product is among the rare");
        let logits = self.rare[at].1.iter().zip(messages).map(|(a, b)| a + b);
        logits.collect()
    }
}

impl Documents for StoredDocuments {
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
        self.corpus.word_totals()
    }

    fn digest(&self) -> u64 {
        self.corpus.digest()
    }

    fn alpha(&self) -> &[f64] {
        &self.alpha
    }

    fn some(&self, count: usize, rng: &mut ChaCha8Rng) -> Result<Vec<Words>> {
        let mut order: Vec<u32> = vec![];
        self.corpus.each(0..self.documents(), &mut |block| {
            let has_words = |index: &usize| block.starts[*index] < block.starts[index + 1];
            let own = (0..block.len()).filter(has_words);
            order.extend(own.map(|index| (block.first + index) as u32));
            Ok(ControlFlow::Continue(()))
        })?;
        order.shuffle(rng);
        let first = order.iter().take(count);
        first
            .map(|&index| self.corpus.document(index as usize))
            .collect()
    }

    fn numbers(&self) -> usize {
        0
    }

    fn even(&self) -> Warm {
        Warm::default()
    }

    fn is_whole(&self, counts: &Warm) -> bool {
        counts.elsewhere.is_some()
    }

    fn extrapolate(&self, counts: &mut Warm, before: &Warm, coefficient: f64) {
        extrapolate(counts, before, coefficient);
    }

    fn pass(
        &self,
        messages: &[f64],
        alpha: &[f64],
        settle: Settle,
        counts: &mut Warm,
        statistics: Option<&mut [f64]>,
    ) -> Result<f64> {
        let (topics, width) = (self.topics, padded(self.topics));
        let (vocabulary, documents) = (self.vocabulary(), self.documents());
        let next = with_exponentials(&self.buffers, messages, topics, |words| {
            let length = if statistics.is_some() {
                vocabulary * width
            } else {
                0
            };
            self.buffers.lend(length, |sums| {
                let (mut value, mut late) = (ChunkSum::new(documents), None);
                let mut next = self.shelf.begin()?;
                let (mut own, mut bytes) = (vec![], vec![]);
                self.corpus.each(0..documents, &mut |block| {
                    self.counts_of(counts, block, &mut bytes, &mut own)?;
                    let how = (alpha, settle);
                    let settled = each_piece(block, vocabulary, |piece| {
                        Ok(self.settle(words, how, piece, &own))
                    })?;
                    if statistics.is_some() {
                        self.gather(words, &settled, sums, &mut late);
                    }
                    for settled in &settled {
                        next.add(&settled.counts)?;
                        settled.values.iter().for_each(|one| value.add(*one));
                    }
                    Ok(ControlFlow::Continue(()))
                })?;
                if let Some(statistics) = statistics {
                    let rows = sums.par_chunks(width).zip(words.rows.par_chunks(width));
                    (statistics.par_chunks_mut(topics).zip(rows)).for_each(|(out, (sum, own))| {
                        for ((s, own), sum) in out.iter_mut().zip(own).zip(sum) {
                            *s = own * sum;
                        }
                    });
                    for (s, late) in statistics.iter_mut().zip(late.iter().flatten()) {
                        *s += late;
                    }
                }
                let value = value.total() + dot(self.word_totals(), words.highest);
                Ok((value, next.finish()?))
            })
        })?;
        counts.elsewhere = Some(next.1);
        Ok(next.0)
    }

    fn dirichlets(&self, alpha: &[f64], counts: &Warm) -> Result<f64> {
        let of = Dirichlets::new(alpha);
        let parts = self.chunks(counts, || 0.0, |sum, counts| of.add(counts, sum))?;
        Ok(parts.iter().sum())
    }

    fn slopes(&self, alpha: &[f64], counts: &Warm) -> Result<Slopes> {
        let begin = || vec![0.0; Slopes::width(alpha.len())];
        let add = |part: &mut Vec<f64>, counts: &[f64]| Slopes::add(alpha, counts, part);
        let parts = self.chunks(counts, begin, add)?;
        Ok(Slopes::sum(&parts.concat(), alpha.len()))
    }

    fn product(
        &self,
        alpha: &[f64],
        counts: &Warm,
        (at, along): (&[f64], &[f64]),
        out: &mut [f64],
    ) -> Result<()> {
        let (topics, vocabulary) = (self.topics, self.vocabulary());
        out.fill(0.0);
        self.each(counts, &mut |block, counts| {
            let solved = each_piece(block, vocabulary, |piece| {
                let own = counts[piece.first * topics..].chunks(topics);
                let solved: Vec<_> = (own.take(piece.by_document.len()).enumerate())
                    .map(|(index, counts)| {
                        let words = piece.by_document.get(index);
                        coupling::document(words, (alpha, counts), at, along)
                    })
                    .collect();
                Ok((piece, solved))
            })?;
            (out.par_chunks_mut(topics).enumerate()).for_each(|(word, out)| {
                for (piece, solved) in &solved {
                    coupling::add_word((word, piece.by_word.get(word)), solved, at, along, out);
                }
            });
            Ok(ControlFlow::Continue(()))
        })
    }
}

impl Potential for StoredDocuments {
    fn dim(&self) -> usize {
        self.topics * self.vocabulary()
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let mut counts = self.even();
        let value = self.pass(at, &self.alpha, EXACT, &mut counts, Some(gradient))?;
        Ok(value + self.dirichlets(&self.alpha, &counts)?)
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        let mut counts = self.even();
        self.pass(at, &self.alpha, EXACT, &mut counts, None)?;
        self.product(&self.alpha, &counts, (at, along), out)
    }
}
