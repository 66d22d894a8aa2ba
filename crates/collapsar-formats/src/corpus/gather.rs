//! Turns texts into counts: in parallel, in bounded memory, and the same for any number of threads.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;

use rayon::prelude::*;

use crate::error::{Error, FilePlace, Result};

use super::Corpus;
use super::entries::too_many;
use super::numbers::LARGEST;
use super::options::CorpusOptions;
use super::source::decode;
use super::spill::{CorpusSize, Raw, Spill};
use super::tokens::tokens;

/// Texts are held until they have so many bytes, then counted and let go.
const BATCH: usize = 1 << 23;
/// Texts that one thread counts together: with a common list of words, whose merging is sequential.
const CHUNK: usize = 64;

/// Takes one text after the other.
pub(super) struct Gatherer<'a> {
    pub(super) path: &'a str,
    pub(super) options: &'a CorpusOptions,
    batch: Vec<String>,
    bytes: usize,
    ids: HashMap<String, u32>,
    corpus: Corpus,
    replaced: usize,
    excerpts: Option<Excerpts<'a>>,
    batches: Option<Batches<'a>>,
    /// Where documents go that do not fit in memory.
    spill: Option<Spill<'a>>,
}

/// Documents are handed over so many at a time, and let go.
struct Batches<'a> {
    size: usize,
    visit: &'a mut dyn FnMut(Corpus) -> ControlFlow<()>,
    /// Documents handed over.
    before: usize,
    /// Whether no more are wanted.
    over: bool,
}

/// Beginnings of some documents, which are then all that is kept.
struct Excerpts<'a> {
    /// Numbers of documents, from 0.
    of: &'a BTreeSet<usize>,
    letters: usize,
    found: BTreeMap<usize, String>,
}

impl<'a> Gatherer<'a> {
    pub(super) fn new(path: &'a str, options: &'a CorpusOptions) -> Self {
        Gatherer {
            path,
            options,
            batch: Vec::new(),
            bytes: 0,
            ids: HashMap::new(),
            corpus: Corpus {
                starts: vec![0],
                ..Corpus::default()
            },
            replaced: 0,
            excerpts: None,
            batches: None,
            spill: None,
        }
    }

    /// The same, where not all may be kept in memory.
    pub(super) fn within(self, spill: Option<Spill<'a>>) -> Self {
        Self { spill, ..self }
    }

    /// Hands over so many documents at a time, each time with a vocabulary of their own.
    pub(super) fn batches(
        path: &'a str,
        options: &'a CorpusOptions,
        size: usize,
        visit: &'a mut dyn FnMut(Corpus) -> ControlFlow<()>,
    ) -> Self {
        let batches = Batches {
            size,
            visit,
            before: 0,
            over: false,
        };
        Self {
            batches: Some(batches),
            ..Self::new(path, options)
        }
    }

    /// Whether no more documents are wanted.
    pub(super) fn over(&self) -> bool {
        self.batches.as_ref().is_some_and(|batches| batches.over)
    }

    /// Hands over what there is.
    fn hand_over(&mut self) -> Result<()> {
        self.count()?;
        let empty = Corpus {
            starts: vec![0],
            ..Corpus::default()
        };
        let corpus = std::mem::replace(&mut self.corpus, empty);
        self.ids.clear();
        let Some(batches) = &mut self.batches else {
            return Ok(());
        };
        batches.before += corpus.documents.len();
        if (batches.visit)(corpus).is_break() {
            batches.over = true;
            // Readers end with an error; whoever asked for batches knows why.
            return Err(Error::no_documents(self.path, "an end that was asked for"));
        }
        Ok(())
    }

    /// Keeps nothing but the first letters of some documents.
    pub(super) fn excerpts(
        path: &'a str,
        options: &'a CorpusOptions,
        of: &'a BTreeSet<usize>,
        letters: usize,
    ) -> Self {
        let found = BTreeMap::new();
        Self {
            excerpts: Some(Excerpts { of, letters, found }),
            ..Self::new(path, options)
        }
    }

    /// The beginnings that were asked for.
    pub(super) fn into_excerpts(self) -> BTreeMap<usize, String> {
        self.excerpts.map(|kept| kept.found).unwrap_or_default()
    }

    /// The number of the next document, from 1.
    pub(super) fn number(&self) -> usize {
        let before = self.batches.as_ref().map_or(0, |batches| batches.before);
        let raw = self.spill.as_ref().and_then(|spill| spill.raw.as_ref());
        let before = before + raw.map_or(0, |raw| raw.documents as usize);
        before + self.corpus.documents.len() + 1
    }

    pub(super) fn push(&mut self, name: String, text: String) -> Result<()> {
        if let Some(kept) = &mut self.excerpts {
            let document = self.corpus.documents.len();
            self.corpus.documents.push(String::new());
            if kept.of.contains(&document) {
                kept.found.insert(document, excerpt(&text, kept.letters));
            }
            return Ok(());
        }
        self.corpus.documents.push(name);
        self.bytes += text.len();
        self.batch.push(text);
        if self.bytes >= BATCH || self.batch.len() >= BATCH / 256 {
            self.count()?;
        }
        match &self.batches {
            Some(batches) if self.corpus.documents.len() >= batches.size => self.hand_over(),
            _ => Ok(()),
        }
    }

    /// Takes a text at a place of a file, which may not be UTF-8.
    pub(super) fn push_bytes(
        &mut self,
        name: String,
        path: &str,
        place: FilePlace,
        bytes: &[u8],
    ) -> Result<()> {
        let (text, replaced) = decode(path, place, bytes, self.options.invalid_utf8)?;
        self.note(replaced);
        self.push(name, text.into_owned())
    }

    /// Notes whether something was replaced in a document.
    pub(super) fn note(&mut self, replaced: bool) {
        self.replaced += usize::from(replaced);
    }

    /// Refuses a corpus without documents, for what was found in their place.
    pub(super) fn some(&self, found: &str) -> Result<()> {
        match self.number() - 1 {
            0 => Err(Error::no_documents(self.path, found)),
            _ => Ok(()),
        }
    }

    /// Hands over the documents of the last batch.
    pub(super) fn last_batch(&mut self) -> Result<()> {
        self.count()?;
        if self.corpus.documents.is_empty() {
            return Ok(());
        }
        self.hand_over()
    }

    /// The number of documents in which something was replaced.
    pub(super) fn replaced(&self) -> usize {
        self.replaced
    }

    /// The corpus, and the number of documents in which something was replaced. Documents that did not fit are in a file, all of
    /// them.
    pub(super) fn finish(mut self) -> Result<(Corpus, Option<Raw>, usize)> {
        self.count()?;
        let raw = self.spill.and_then(|spill| spill.raw);
        Ok((self.corpus, raw, self.replaced))
    }

    /// Sends documents to a file where there are too many, those that are in memory first.
    fn spilled(&mut self) -> Result<()> {
        let Some(spill) = &mut self.spill else {
            return Ok(());
        };
        let corpus = &mut self.corpus;
        let raw = spill.raw.as_ref().map_or(0, |raw| raw.documents);
        let size = CorpusSize {
            documents: raw + corpus.documents.len() as u64,
            entries: corpus.words.len() as u64,
        };
        if !spill.spills(size)? {
            return Ok(());
        }
        let Some(raw) = &mut spill.raw else {
            return Ok(());
        };
        for (document, name) in corpus.documents.iter().enumerate() {
            let (words, counts) = corpus.document(document);
            raw.push(words, counts)?;
            raw.names.push(name)?;
        }
        *corpus = Corpus {
            vocabulary: std::mem::take(&mut corpus.vocabulary),
            starts: vec![0],
            ..Corpus::default()
        };
        Ok(())
    }

    fn count(&mut self) -> Result<()> {
        let lowercase = self.options.tokens.lowercase;
        let parts: Vec<Part> = self
            .batch
            .par_chunks(CHUNK)
            .map(|texts| Part::of(texts, lowercase))
            .collect();
        self.batch.clear();
        self.bytes = 0;
        for part in parts {
            let ids = self.merge(part.words)?;
            for document in part.documents {
                let mut own: Vec<(u32, u32)> = document
                    .into_iter()
                    .map(|(word, count)| (ids[word as usize], count))
                    .collect();
                own.sort_unstable();
                for (word, count) in own {
                    if f64::from(count) > LARGEST {
                        let word = &self.corpus.vocabulary[word as usize];
                        let document = &self.corpus.documents[self.corpus.starts.len() - 1];
                        return Err(too_many(self.path, word, f64::from(count), document));
                    }
                    self.corpus.words.push(word);
                    self.corpus.counts.push(count as f32);
                }
                self.corpus.starts.push(self.corpus.words.len());
            }
        }
        self.spilled()
    }

    /// The place of each word in the vocabulary, which takes in those that are new.
    fn merge(&mut self, words: Vec<String>) -> Result<Vec<u32>> {
        let mut ids = Vec::with_capacity(words.len());
        for word in words {
            if let Some(&id) = self.ids.get(&word) {
                ids.push(id);
                continue;
            }
            let Ok(id) = u32::try_from(self.corpus.vocabulary.len()) else {
                let found = "more than 4294967296 different words";
                return Err(Error::content(self.path, found, "fewer"));
            };
            self.corpus.vocabulary.push(word.clone());
            self.ids.insert(word, id);
            ids.push(id);
        }
        Ok(ids)
    }
}

/// The first letters of a text in one line, with a sign where it goes on.
fn excerpt(text: &str, letters: usize) -> String {
    let words = text.split_whitespace();
    let mut line = String::new();
    for word in words {
        if line.chars().count() > letters {
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().take(letters + 1));
    }
    match line.char_indices().nth(letters) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

/// The counts of a few texts, over their own words.
struct Part {
    words: Vec<String>,
    /// Words and counts of each text, in the order in which the words first come.
    documents: Vec<Vec<(u32, u32)>>,
}

impl Part {
    fn of(texts: &[String], lowercase: bool) -> Part {
        let mut part = Part {
            words: Vec::new(),
            documents: Vec::with_capacity(texts.len()),
        };
        let mut ids: HashMap<String, u32> = HashMap::new();
        // For each word the text that had it last, and its place there.
        let mut last: Vec<(usize, usize)> = Vec::new();
        for (index, text) in texts.iter().enumerate() {
            let mut counts: Vec<(u32, u32)> = Vec::new();
            for token in tokens(text, lowercase) {
                let word = if let Some(&word) = ids.get(token.as_ref()) {
                    word
                } else {
                    // A batch would need 2^32 different words to overflow this, and has 2^23 bytes or
                    // one text; the merge counts with a check.
                    let word = part.words.len() as u32;
                    let token = token.into_owned();
                    part.words.push(token.clone());
                    ids.insert(token, word);
                    last.push((usize::MAX, 0));
                    word
                };
                let (text, place) = last[word as usize];
                if text == index {
                    let count = &mut counts[place].1;
                    *count = count.saturating_add(1);
                } else {
                    last[word as usize] = (index, counts.len());
                    counts.push((word, 1));
                }
            }
            part.documents.push(counts);
        }
        part
    }
}
