//! Which documents are held out, and which half of each is read.

use std::sync::Arc;

use collapsar::topics;
use collapsar_formats::Corpus;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::corpus::{Halves, Part, entries};
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
        let mut training = Part::new();
        for &document in &kept {
            training.push(&entries(corpus, document));
        }
        let (mut observed, mut evaluated) = (Part::new(), Part::new());
        let mut whole = Part::new();
        for &document in &held {
            let mut pieces = pieces(corpus, document);
            whole.push(&pieces);
            pieces.shuffle(&mut rng);
            let middle = pieces.len().div_ceil(2);
            let (first, second) = pieces.split_at_mut(middle);
            for (half, pieces) in [(&mut observed, first), (&mut evaluated, second)] {
                pieces.sort_unstable_by_key(|piece| piece.0);
                half.push(pieces);
            }
        }
        let vocabulary = corpus.vocabulary.len();
        Ok(Self {
            kept,
            held,
            training: training.finish(vocabulary)?,
            halves: Halves {
                observed: observed.finish(vocabulary)?,
                evaluated: evaluated.finish(vocabulary)?,
                whole: whole.finish(vocabulary)?,
                outside: vec![],
            },
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
