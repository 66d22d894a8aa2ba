//! Documents of a block by word as well, in pieces that threads work on.

use collapsar_core::Result;
use rayon::prelude::*;

use super::super::corpus::{Bags, sum};
use super::DocumentBlock;

/// Entries of a piece are at least so many: below that a thread spends more on lists of words than on documents.
const LEAST: usize = 1 << 14;
/// Pieces of a block at most.
const MOST: usize = 64;

/// Some documents of a block.
pub(super) struct Piece {
    /// The first of them, counted from the first of the block.
    pub(super) first: usize,
    pub(super) by_document: Bags,
    pub(super) by_word: Bags,
}

/// How many documents each piece of a block has: about as many entries in each, and no fewer than the vocabulary has words.
fn cuts(block: &DocumentBlock, vocabulary: usize) -> Vec<(usize, usize)> {
    let entries = block.words.len();
    let least = vocabulary.max(LEAST);
    let each = entries.div_ceil(MOST).max(least);
    let (mut cuts, mut first) = (vec![], 0);
    while first < block.len() {
        let until = block.starts[first] + each;
        let last = block.starts.partition_point(|&start| start < until);
        let last = last.clamp(first + 1, block.len());
        cuts.push((first, last));
        first = last;
    }
    cuts
}

/// Has `work` done on each piece of a block by some thread; what it returns is in the order of the pieces.
pub(super) fn each_piece<T: Send>(
    block: &DocumentBlock,
    vocabulary: usize,
    work: impl Fn(Piece) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let cuts = cuts(block, vocabulary);
    let piece = |&(first, last): &(usize, usize)| {
        let begin = block.starts[first];
        let range = begin..block.starts[last];
        let starts = block.starts[first..=last].iter();
        let by_document = Bags::new(
            starts.map(|start| start - begin).collect(),
            block.words[range.clone()].to_vec(),
            block.counts[range].to_vec(),
        );
        let by_word = by_document.transposed(vocabulary);
        work(Piece {
            first,
            by_document,
            by_word,
        })
    };
    cuts.par_iter().map(piece).collect()
}

/// Tokens of each document of a block.
pub(super) fn totals(block: &DocumentBlock) -> impl Iterator<Item = f64> {
    (0..block.len()).map(|index| sum(block.document(index).1))
}
