//! Which documents are held out, and which half of each is read.

use std::sync::Arc;

use collapsar::topics;
use collapsar_formats::Corpus;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::corpus::{Halves, entries, gathered};
use crate::error::{Error, Result};

/// A corpus in two parts.
#[derive(Debug)]
pub(super) struct Holdout {
    /// The documents to fit, as positions in the corpus.
    pub(super) kept: Vec<usize>,
    /// Those held out.
    pub(super) held: Vec<usize>,
    pub(super) training: Arc<topics::Corpus>,
    pub(super) halves: Halves,
}

impl Holdout {
    /// Holds out a fraction of the documents that can be halved; `name` is the corpus's.
    pub(super) fn draw(name: String, corpus: &Corpus, fraction: f64, seed: u64) -> Result<Self> {
        // Of its own: the climbs draw from the seeds that follow, and the split must not depend on them.
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(1);
        let mut order: Vec<usize> = (0..corpus.documents.len())
            .filter(|&document| pieces(corpus, document).len() > 1)
            .collect();
        let documents = order.len();
        let number = ((fraction * documents as f64).round() as usize).max(1);
        if number >= documents {
            return Err(Error::Holdout {
                name,
                fraction,
                documents,
            });
        }
        order.shuffle(&mut rng);
        let mut held = order[..number].to_vec();
        held.sort_unstable();
        let kept: Vec<usize> = (0..corpus.documents.len())
            .filter(|document| held.binary_search(document).is_err())
            .collect();
        let (mut observed, mut evaluated) = (vec![], vec![]);
        for &document in &held {
            let mut first = pieces(corpus, document);
            first.shuffle(&mut rng);
            let mut second = first.split_off(first.len().div_ceil(2));
            for half in [&mut first, &mut second] {
                half.sort_unstable_by_key(|piece| piece.0);
            }
            observed.push(first);
            evaluated.push(second);
        }
        let vocabulary = corpus.vocabulary.len();
        let whole = |documents: &[usize]| {
            gathered(documents.iter().map(|&d| entries(corpus, d)), vocabulary)
        };
        Ok(Self {
            training: whole(&kept)?,
            halves: Halves {
                observed: gathered(observed, vocabulary)?,
                evaluated: gathered(evaluated, vocabulary)?,
                whole: whole(&held)?,
                outside: vec![],
            },
            kept,
            held,
        })
    }
}

/// A document's tokens one by one; of a count that is not whole, the rest is one more.
fn pieces(corpus: &Corpus, document: usize) -> Vec<(u32, f32)> {
    let mut pieces = Vec::new();
    for (word, count) in entries(corpus, document) {
        let ones = count.floor();
        pieces.extend(std::iter::repeat_n((word, 1.0), ones as usize));
        if count > ones {
            pieces.push((word, count - ones));
        }
    }
    pieces
}

#[cfg(test)]
mod tests;
