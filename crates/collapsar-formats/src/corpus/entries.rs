//! Decides how entries in any order become documents of unique words.

use crate::error::{Error, Result};

use super::Corpus;
use super::numbers::{self, Known, LARGEST, SPARE};

/// What a numeric format holds.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) documents: usize,
    pub(super) words: usize,
    pub(super) entries: Entries,
}

/// A number of things, and the line that tells of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Total {
    pub(super) number: u64,
    pub(super) line: u64,
}

/// Documents, words, both from 0, and counts.
#[derive(Debug, Default)]
pub(super) struct Entries(pub(super) Vec<(u32, u32, f32)>);

impl Entries {
    /// Refuses a number of documents or nameless words that so few entries make absurd.
    pub(super) fn plausible(&self, path: &str, noun: &str, total: Total) -> Result<()> {
        let (entries, number) = (self.0.len() as u64, total.number);
        let most = entries + SPARE;
        if number <= most {
            return Ok(());
        }
        let found = format!("{number} {noun} for {}", numbers::entries(entries));
        let expected = format!("at most {most}");
        Err(Error::line(path, total.line, found, expected))
    }

    /// The number of words: as many as are known, else those that the file tells of.
    pub(super) fn vocabulary(&self, path: &str, known: &Known, total: Total) -> Result<usize> {
        match known {
            Known::File(_, size) | Known::Fit(size) => Ok(*size),
            Known::Nothing => {
                self.plausible(path, "words without names", total)?;
                Ok(total.number as usize)
            }
        }
    }

    /// Sorts and adds up; gives the number of entries that were added to others.
    pub(super) fn into_corpus(
        self,
        path: &str,
        documents: Vec<String>,
        vocabulary: Vec<String>,
    ) -> Result<(Corpus, usize)> {
        let mut starts = vec![0usize; documents.len() + 1];
        for &(document, ..) in &self.0 {
            starts[document as usize + 1] += 1;
        }
        for document in 0..documents.len() {
            starts[document + 1] += starts[document];
        }
        let mut next = starts.clone();
        let mut pairs = vec![(0u32, 0f32); self.0.len()];
        for &(document, word, count) in &self.0 {
            let slot = &mut next[document as usize];
            pairs[*slot] = (word, count);
            *slot += 1;
        }
        drop((next, self));
        let mut corpus = Corpus {
            documents,
            vocabulary,
            starts: vec![0],
            words: Vec::with_capacity(pairs.len()),
            counts: Vec::with_capacity(pairs.len()),
        };
        for document in 0..corpus.documents.len() {
            let own = &mut pairs[starts[document]..starts[document + 1]];
            // Stable, so that fractions are added in the order of the file.
            if !own.is_sorted_by(|a, b| a.0 < b.0) {
                own.sort_by_key(|pair| pair.0);
            }
            for same in own.chunk_by(|a, b| a.0 == b.0) {
                let sum: f64 = same.iter().map(|pair| f64::from(pair.1)).sum();
                if sum > LARGEST {
                    let word = &corpus.vocabulary[same[0].0 as usize];
                    return Err(too_many(path, word, sum, &corpus.documents[document]));
                }
                corpus.words.push(same[0].0);
                corpus.counts.push(sum as f32);
            }
            corpus.starts.push(corpus.words.len());
        }
        let duplicates = pairs.len() - corpus.words.len();
        Ok((corpus, duplicates))
    }
}

/// The error of a word that is more frequent in a document than can be counted.
pub(super) fn too_many(path: &str, word: &str, count: f64, document: &str) -> Error {
    let found = format!("word {word:?} {count} times in document {document:?}");
    Error::content(path, found, "at most 16777216 times")
}
