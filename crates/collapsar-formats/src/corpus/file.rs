//! Decides how a corpus that does not fit in memory is kept in a file: documents as passes read them, and behind them words, names of
//! documents and what was found while reading.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use collapsar::topics::{CorpusWriter, StoredCorpus};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

use super::CorpusReport;
use super::filter::{self, Filtered, StoredFilter};
use super::options::CorpusOptions;
use super::spill::{CorpusLimits, Raw, no_place};

/// Bytes of names that are read at once.
const BUFFER: usize = 1 << 16;

/// A corpus in a file.
#[derive(Debug)]
pub struct CorpusFile {
    /// The documents.
    pub corpus: StoredCorpus,
    /// The words, in the order of [`super::Corpus::vocabulary`].
    pub vocabulary: Vec<String>,
    /// What was found and done while reading; the documents without words take memory here.
    pub report: CorpusReport,
    /// Whether it was there already.
    pub reused: bool,
    /// Where names begin among what is kept with the documents; nothing where they are numbers.
    names: Option<u64>,
}

/// What is kept with the documents, before their names.
#[derive(Serialize, Deserialize)]
struct Kept {
    key: u64,
    vocabulary: Vec<String>,
    named: bool,
    format: String,
    filtered: Vec<StoredFilter>,
    empty: Vec<usize>,
    duplicates: usize,
    replaced: usize,
    words: Option<PathBuf>,
    words_are_ids: bool,
    unseen: usize,
}

/// Names of documents, one after another.
pub struct DocumentNames<'a> {
    of: &'a CorpusFile,
    /// Documents so far.
    number: u64,
    /// What was read and not yet told, and where the rest is.
    buffer: Vec<u8>,
    used: usize,
    at: u64,
}

impl CorpusFile {
    /// What an earlier run left at the place that limits name, if it is of the same corpus and whole.
    #[must_use]
    pub fn left(limits: &CorpusLimits<'_>) -> Option<Self> {
        let (key, file) = Self::open(limits.scratch, limits.segment, true).ok()??;
        (key == limits.key && file.corpus.is_whole().ok()?).then_some(file)
    }

    fn open(path: &Path, segment: usize, reused: bool) -> Result<Option<(u64, Self)>> {
        let corpus = StoredCorpus::open(path, segment)?;
        if corpus.kept_bytes() < 8 {
            return Ok(None);
        }
        let mut length = [0; 8];
        corpus.kept(0, &mut length)?;
        let length = u64::from_le_bytes(length);
        if length > corpus.kept_bytes() - 8 {
            return Ok(None);
        }
        let mut text = vec![0; length as usize];
        corpus.kept(8, &mut text)?;
        let Ok(kept) = serde_json::from_slice::<Kept>(&text) else {
            return Ok(None);
        };
        drop(text);
        let filtered: Option<Vec<Filtered>> =
            kept.filtered.iter().map(StoredFilter::filtered).collect();
        let (Some(filtered), Ok(format)) = (filtered, kept.format.parse()) else {
            return Ok(None);
        };
        let report = CorpusReport {
            format,
            filtered,
            empty: kept.empty,
            duplicates: kept.duplicates,
            replaced: kept.replaced,
            vocabulary: kept.words,
            words_are_ids: kept.words_are_ids,
            unseen: kept.unseen,
        };
        let file = Self {
            corpus,
            vocabulary: kept.vocabulary,
            report,
            reused,
            names: kept.named.then_some(8 + length),
        };
        Ok(Some((kept.key, file)))
    }

    /// The names of all documents, from the first.
    pub fn names(&self) -> DocumentNames<'_> {
        DocumentNames {
            of: self,
            number: 0,
            buffer: vec![],
            used: 0,
            at: self.names.unwrap_or_default(),
        }
    }

    /// The names of some documents.
    ///
    /// # Errors
    /// A file that cannot be read, or has changed.
    pub fn names_of(&self, documents: &BTreeSet<usize>) -> Result<BTreeMap<usize, String>> {
        if self.names.is_none() {
            let names = documents.iter().map(|&at| (at, (at + 1).to_string()));
            return Ok(names.collect());
        }
        let mut names = self.names();
        let mut found = BTreeMap::new();
        let last = documents.last().map_or(0, |last| last + 1);
        for document in 0..last {
            let name = names.next()?;
            if documents.contains(&document) {
                found.insert(document, name);
            }
        }
        Ok(found)
    }
}

impl DocumentNames<'_> {
    /// The name of the next document.
    ///
    /// # Errors
    /// A file that cannot be read, or has changed.
    #[expect(
        clippy::should_implement_trait,
        reason = "it may fail, and ends with the documents"
    )]
    pub fn next(&mut self) -> Result<String> {
        self.number += 1;
        if self.of.names.is_none() {
            return Ok(self.number.to_string());
        }
        let length = self.take(4)?;
        let length = length.try_into().map_or(0, u32::from_le_bytes);
        let name = self.take(length as usize)?;
        Ok(String::from_utf8_lossy(name).into_owned())
    }

    fn take(&mut self, length: usize) -> Result<&[u8]> {
        let corpus = &self.of.corpus;
        if self.buffer.len() - self.used < length {
            let left = corpus.kept_bytes() - self.at;
            let wanted = length.max(BUFFER) - (self.buffer.len() - self.used);
            self.buffer.drain(..self.used);
            self.used = 0;
            let old = self.buffer.len();
            let more = wanted.min(usize::try_from(left).unwrap_or(usize::MAX));
            self.buffer.resize(old + more, 0);
            corpus.kept(self.at, &mut self.buffer[old..])?;
            self.at += more as u64;
        }
        let end = self.used + length;
        let Some(bytes) = self.buffer.get(self.used..end) else {
            let (found, expected) = ("fewer names than documents", "a name for each");
            let path = corpus.path().display().to_string();
            return Err(Error::content(path, found, expected));
        };
        self.used = end;
        Ok(bytes)
    }
}

/// Filters documents that went to a private file, and writes those words that are kept to the file that limits name.
pub(super) fn store(
    path: &str,
    (mut raw, vocabulary): (Raw, Vec<String>),
    mut report: CorpusReport,
    options: &CorpusOptions,
    limits: &CorpusLimits<'_>,
) -> Result<CorpusFile> {
    let (tokens, within) = raw.frequencies(vocabulary.len())?;
    let (kept, filtered) = filter::decide(
        path,
        &vocabulary,
        (&tokens, &within, raw.documents as usize),
        report.format,
        options,
    )?;
    report.filtered = filtered;
    report.unseen = kept.iter().filter(|&&word| within[word] == 0).count();
    let (places, vocabulary) = filter::places(&kept, vocabulary);
    let refused = |error: collapsar::Error| match error {
        collapsar::Error::File { path, cause } => no_place(&format!("{path}: {cause}")),
        other => other.into(),
    };
    let mut out = CorpusWriter::create(limits.scratch, vocabulary.len()).map_err(refused)?;
    let mut own = vec![];
    let (mut words, mut counts) = (vec![], vec![]);
    raw.each(&mut |all, numbers| {
        filter::moved_pairs((all, numbers), &places, &mut own);
        words.clear();
        words.extend(own.iter().map(|pair| pair.0));
        counts.clear();
        counts.extend(own.iter().map(|pair| pair.1));
        if words.is_empty() {
            report.empty.push(out.documents());
        }
        out.push(&words, &counts).map_err(refused)
    })?;
    let names = raw.names;
    let text = serde_json::to_vec(&Kept {
        key: limits.key,
        vocabulary,
        named: !names.are_numbers(),
        format: report.format.name().to_owned(),
        filtered: report.filtered.iter().map(StoredFilter::of).collect(),
        empty: report.empty,
        duplicates: report.duplicates,
        replaced: report.replaced,
        words: report.vocabulary,
        words_are_ids: report.words_are_ids,
        unseen: report.unseen,
    });
    let text = text.map_err(|error| no_place(&error.to_string()))?;
    let length = (text.len() as u64).to_le_bytes();
    out.keep(&length).map_err(refused)?;
    out.keep(&text).map_err(refused)?;
    names.keep(&mut out)?;
    out.finish().map_err(refused)?;
    let file = CorpusFile::open(limits.scratch, limits.segment, false)?;
    let (_, file) = file.ok_or_else(|| {
        let path = limits.scratch.display().to_string();
        Error::content(path, "another file", "the one that was written")
    })?;
    Ok(file)
}
