//! Decides how entries in any order become documents of unique words.

use collapsar::Hint;

use crate::error::{Error, Result};
use crate::lines::Lines;

use super::Corpus;
use super::numbers::{self, Known, LARGEST, SPARE};
use super::spill::{CorpusSize, Raw, Spill};

/// Entries between two looks at how many there are.
const LOOK: u64 = 1 << 16;

/// What a numeric format holds.
pub(super) struct Counted<'a> {
    pub(super) documents: usize,
    pub(super) words: usize,
    pub(super) entries: Entries<'a>,
}

/// A number of things, and the line that tells of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Total {
    pub(super) number: u64,
    pub(super) line: u64,
}

/// Documents, words, both from 0, and counts; those that may not be kept in memory go on as documents.
pub(super) struct Entries<'a> {
    list: Vec<(u32, u32, f32)>,
    number: u64,
    spill: Option<Spill<'a>>,
    /// How many there are when they are looked at again.
    look: u64,
    stream: Stream,
}

/// Documents one after another, of which the last is not yet complete.
#[derive(Default)]
struct Stream {
    document: u32,
    pairs: Vec<(u32, f32)>,
    merged: (Vec<u32>, Vec<f32>),
    duplicates: usize,
    /// The first word that cannot be counted: its document, itself and how often it is there.
    beyond: Option<(u32, u32, f64)>,
}

impl<'a> Entries<'a> {
    pub(super) fn new(spill: Option<Spill<'a>>) -> Self {
        Self {
            list: vec![],
            number: 0,
            spill,
            look: 1,
            stream: Stream::default(),
        }
    }

    /// Adds an entry of the present line.
    pub(super) fn push(&mut self, lines: &Lines, entry: (u32, u32, f32)) -> Result<()> {
        self.number += 1;
        if let Some(raw) = self.spill.as_mut().and_then(|spill| spill.raw.as_mut()) {
            if entry.0 < self.stream.document {
                return Err(disordered(lines, entry.0, self.stream.document));
            }
            self.stream.push(raw, entry)?;
        } else {
            self.list.push(entry);
        }
        if self.number >= self.look {
            self.look += self.number.min(LOOK);
            self.looked(entry.0)?;
        }
        Ok(())
    }

    /// Writes entries to a file from now on, if there are too many; the last was of a document.
    fn looked(&mut self, last: u32) -> Result<()> {
        let Some(spill) = &mut self.spill else {
            return Ok(());
        };
        let size = CorpusSize {
            documents: u64::from(last) + 1,
            entries: self.number,
        };
        if !spill.spills(size)? || self.list.is_empty() {
            return Ok(());
        }
        let mut list = std::mem::take(&mut self.list);
        if !list.is_sorted_by_key(|entry| entry.0) {
            list.sort_by_key(|entry| entry.0);
        }
        let Some(raw) = &mut spill.raw else {
            return Ok(());
        };
        list.into_iter()
            .try_for_each(|entry| self.stream.push(raw, entry))
    }

    /// Refuses a number of documents or nameless words that so few entries make absurd.
    pub(super) fn plausible(&self, path: &str, noun: &str, total: Total) -> Result<()> {
        let (entries, number) = (self.number, total.number);
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

    /// Whether they went to a file.
    pub(super) fn is_spilled(&self) -> bool {
        self.spill.as_ref().is_some_and(|spill| spill.raw.is_some())
    }

    /// So many documents in a file, and the number of entries that were added to others. Refuses a word that is more frequent in a
    /// document than can be counted, by the `name`s of the document and the word.
    ///
    /// # Panics
    /// Where they did not go to a file.
    pub(super) fn into_raw(
        mut self,
        path: &str,
        documents: usize,
        name: impl Fn(usize, usize) -> Result<(String, String)>,
    ) -> Result<(Raw, usize)> {
        let raw = self.spill.take().and_then(|spill| spill.raw);
        let mut raw = raw.expect("documents in a file");
        self.stream.flush(&mut raw)?;
        if let Some((document, word, count)) = self.stream.beyond {
            let (document, word) = name(document as usize, word as usize)?;
            return Err(too_many(path, &word, count, &document));
        }
        raw.skip((documents as u64).saturating_sub(raw.documents));
        Ok((raw, self.stream.duplicates))
    }

    /// Sorts and adds up; gives the number of entries that were added to others.
    pub(super) fn into_corpus(
        self,
        path: &str,
        documents: Vec<String>,
        vocabulary: Vec<String>,
    ) -> Result<(Corpus, usize)> {
        let mut starts = vec![0usize; documents.len() + 1];
        for &(document, ..) in &self.list {
            starts[document as usize + 1] += 1;
        }
        for document in 0..documents.len() {
            starts[document + 1] += starts[document];
        }
        let mut next = starts.clone();
        let mut pairs = vec![(0u32, 0f32); self.list.len()];
        for &(document, word, count) in &self.list {
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
            merge(own, |word, sum| {
                if sum > LARGEST {
                    let word = &corpus.vocabulary[word as usize];
                    return Err(too_many(path, word, sum, &corpus.documents[document]));
                }
                corpus.words.push(word);
                corpus.counts.push(sum as f32);
                Ok(())
            })?;
            corpus.starts.push(corpus.words.len());
        }
        let duplicates = pairs.len() - corpus.words.len();
        Ok((corpus, duplicates))
    }
}

/// Hands over each word of a document, in their order, with the sum of its counts.
fn merge(pairs: &mut [(u32, f32)], mut word: impl FnMut(u32, f64) -> Result<()>) -> Result<()> {
    // Stable, so that fractions are added in the order of the file.
    if !pairs.is_sorted_by(|a, b| a.0 < b.0) {
        pairs.sort_by_key(|pair| pair.0);
    }
    let mut each = pairs.chunk_by(|a, b| a.0 == b.0);
    each.try_for_each(|same| {
        let sum: f64 = same.iter().map(|pair| f64::from(pair.1)).sum();
        word(same[0].0, sum)
    })
}

impl Stream {
    /// Adds an entry of the last document or of one behind it.
    fn push(&mut self, raw: &mut Raw, (document, word, count): (u32, u32, f32)) -> Result<()> {
        if document > self.document {
            self.flush(raw)?;
            self.document = document;
        }
        self.pairs.push((word, count));
        Ok(())
    }

    /// Writes the last document.
    fn flush(&mut self, raw: &mut Raw) -> Result<()> {
        if self.pairs.is_empty() {
            return Ok(());
        }
        let (words, counts) = &mut self.merged;
        words.clear();
        counts.clear();
        merge(&mut self.pairs, |word, sum| {
            if sum > LARGEST {
                // Told at the end, as whatever else is wrong comes first.
                self.beyond.get_or_insert((self.document, word, sum));
            }
            words.push(word);
            counts.push(sum as f32);
            Ok(())
        })?;
        self.duplicates += self.pairs.len() - words.len();
        self.pairs.clear();
        raw.skip(u64::from(self.document).saturating_sub(raw.documents));
        raw.push(words, counts)
    }
}

/// The error of an entry whose document has already gone to a file.
fn disordered(lines: &Lines, document: u32, last: u32) -> Error {
    let [document, last] = [document, last].map(|document| u64::from(document) + 1);
    let found = format!("document {document} after document {last}");
    let expected = "documents in their order, as they do not fit in memory";
    let sorted = Hint::plain("sorting the entries by document");
    (lines.refuse(found, expected)).with_hint(Hint::Any(vec![sorted, Hint::higher("memory")]))
}

/// The error of a word that is more frequent in a document than can be counted.
pub(super) fn too_many(path: &str, word: &str, count: f64, document: &str) -> Error {
    let found = format!("word {word:?} {count} times in document {document:?}");
    Error::content(path, found, "at most 16777216 times")
}
