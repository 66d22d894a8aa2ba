//! Corpora for topic models: which words each document has and how often.
//!
//! | File | Decides |
//! |---|---|
//! | `options` | what may be chosen, and the defaults |
//! | `source` | how a path opens as a corpus and what happens to bytes that are not UTF-8 |
//! | `detect` | which format a file is in |
//! | `numbers` | which ids and counts are accepted |
//! | `entries` | how entries in any order become documents of unique words |
//! | `coordinates` | the UCI bag of words and Matrix Market |
//! | `pairs` | LDA-C and SVMlight |
//! | `sibling` | which files beside the data name its words and documents |
//! | `tokens` | what a word of a text is |
//! | `gather` | how texts become counts, in parallel and in bounded memory |
//! | `plain` | documents a line or a file |
//! | `json` | documents in JSON lines |
//! | `columns` | which column holds the text |
//! | `sheet` | documents in CSV and TSV |
//! | `strings` | documents in Parquet |
//! | `stop` | the English stop words |
//! | `spill` | what becomes of documents that do not fit in memory |
//! | `file` | how a corpus that does not fit in memory is kept in a file |
//! | `filter` | which words are dropped and how that is reported |
//! | `out_of_vocabulary` | what becomes of words outside the vocabulary of a fit |

mod columns;
mod coordinates;
mod detect;
mod entries;
mod file;
mod filter;
mod gather;
mod json;
mod numbers;
mod options;
mod out_of_vocabulary;
mod pairs;
mod plain;
mod sheet;
mod sibling;
mod source;
mod spill;
mod stop;
mod strings;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::lines::Lines;

use entries::Entries;
use gather::Gatherer;
use numbers::Known;
use source::{Content, CorpusSource};
use spill::{Raw, Spill};

pub use file::{CorpusFile, DocumentNames};
pub use filter::{Filtered, WordFilter};
pub use options::{
    CorpusFormat, CorpusOptions, InvalidUtf8, StopWords, TokenOptions, read_stop_words,
};
pub use out_of_vocabulary::OutOfVocabulary;
pub(crate) use plain::{files, relative};
pub use spill::{CorpusLimits, CorpusSeen, CorpusSize};
#[cfg(test)]
pub(crate) use {columns::no_text, filter::no_words};

/// Unique words with counts for each document.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Corpus {
    /// The documents' names: of their files, from their id column, or else `1`, `2`, …
    pub documents: Vec<String>,
    /// The words: in the order of the vocabulary file, or for texts by decreasing total count, and
    /// alphabetically where counts are equal.
    pub vocabulary: Vec<String>,
    /// Where each document begins in `words` and `counts`, and where the last one ends.
    pub starts: Vec<usize>,
    /// Positions in the vocabulary, ascending and unique within a document.
    pub words: Vec<u32>,
    /// How often each: above 0, at most 2²⁴, which `f32` still counts by ones.
    pub counts: Vec<f32>,
}

impl Corpus {
    /// The words of a document and how often each.
    ///
    /// # Panics
    ///
    /// If there is no such document.
    pub fn document(&self, index: usize) -> (&[u32], &[f32]) {
        let span = self.starts[index]..self.starts[index + 1];
        (&self.words[span.clone()], &self.counts[span])
    }

    /// The sum of all counts.
    pub fn tokens(&self) -> f64 {
        self.counts.iter().map(|&count| f64::from(count)).sum()
    }

    /// The documents without a word.
    fn empty(&self) -> Vec<usize> {
        let documents = 0..self.documents.len();
        let is_empty = |&document: &usize| self.document(document).0.is_empty();
        documents.filter(is_empty).collect()
    }
}

/// What was found and done while reading a corpus: for people to see.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CorpusReport {
    /// The format.
    pub format: CorpusFormat,
    /// What each filter removed, in the order applied; filters that removed nothing are left out.
    pub filtered: Vec<Filtered>,
    /// Documents left without words, which are kept.
    pub empty: Vec<usize>,
    /// Entries for a word and document that already had one, which were added up.
    pub duplicates: usize,
    /// Documents in which bytes that were not UTF-8 were replaced.
    pub replaced: usize,
    /// The file that names the words of a numeric format.
    pub vocabulary: Option<PathBuf>,
    /// Whether no such file was given or found, so that the words are named by their ids.
    pub words_are_ids: bool,
    /// Words of the vocabulary that no document has, which are kept.
    pub unseen: usize,
}

/// Reads a corpus: a folder of texts, a text a line, a column of a table, a field of JSON lines, or
/// counts as docword, LDA-C, SVMlight and Matrix Market give them. `-` reads standard input, except for
/// folders and Parquet. Anything but Parquet may be compressed by gzip.
///
/// # Errors
///
/// A file that cannot be read, is damaged, or leaves no document or no word.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("notes.txt");
/// std::fs::write(&path, "The cat saw a cat\nThe dog saw a bird\n")?;
/// let options = collapsar_formats::CorpusOptions::default();
/// let (corpus, report) = collapsar_formats::read_corpus(&path, &options)?;
/// assert_eq!(corpus.vocabulary, ["cat", "saw", "bird", "dog"]);
/// assert_eq!(corpus.document(0), (&[0, 1][..], &[2.0, 1.0][..]));
/// assert_eq!(report.filtered[0].filter.to_string(), "shorter than 2 letters");
/// # Ok(()) }
/// ```
pub fn read_corpus(path: &Path, options: &CorpusOptions) -> Result<(Corpus, CorpusReport)> {
    read_source(CorpusSource::open(path)?, options)
}

/// Reads documents of a corpus of texts batch by batch, without holding more of them, and hands each to `visit` with a
/// vocabulary of its own: words are dropped for what they are, not for how often they are there. Ends where `visit` breaks.
/// Returns how many documents there were in which bytes that were not UTF-8 were replaced.
///
/// # Errors
///
/// As [`read_corpus`], and where the corpus is one of counts.
pub fn read_batches(
    path: &Path,
    options: &CorpusOptions,
    size: usize,
    visit: &mut dyn FnMut(Corpus) -> ControlFlow<()>,
) -> Result<usize> {
    let source = CorpusSource::open(path)?;
    let format = options.format.unwrap_or_else(|| detect::format(&source));
    source.check(format, options)?;
    if !format.is_text() {
        let found = format!("counts of words, {}", format.description());
        return Err(Error::content(&source.name, found, "texts"));
    }
    let name = source.name;
    let mut visit = |corpus| visit(filter::by_form(corpus, options));
    let mut gatherer = Gatherer::batches(&name, options, size.max(1), &mut visit);
    let ended = gather(source.content, format, &mut gatherer);
    let ended = ended.and_then(|()| gatherer.some("nothing but a header"));
    let ended = ended.and_then(|()| gatherer.last_batch());
    match ended {
        Err(error) if !gatherer.over() => Err(error),
        _ => Ok(gatherer.replaced()),
    }
}

/// A corpus in memory or in a file.
#[derive(Debug)]
pub enum ReadCorpus {
    /// In memory.
    Memory(Corpus, CorpusReport),
    /// In a file.
    File(CorpusFile),
}

/// Reads a corpus as [`read_corpus`] does, but into a file where it may not be kept in memory: the same documents with the same words.
/// While it is read, memory is that of the vocabulary and of a few buffers.
///
/// # Errors
///
/// As [`read_corpus`]; a place that has no room for documents; and entries that are not in the order of their documents, where
/// these may not be kept in memory.
pub fn read_corpus_within(
    path: &Path,
    options: &CorpusOptions,
    limits: &CorpusLimits<'_>,
    seen: &CorpusSeen<'_>,
) -> Result<ReadCorpus> {
    let source = CorpusSource::open(path)?;
    let name = source.name.clone();
    let spill = Spill::new(limits, seen);
    match load(source, options, None, Some(spill))? {
        (Loaded::Memory(corpus), report) => {
            let (corpus, report) = finished(&name, corpus, report, options)?;
            Ok(ReadCorpus::Memory(corpus, report))
        }
        (Loaded::File(raw, vocabulary), report) => {
            let file = file::store(&name, (raw, vocabulary), report, options, limits)?;
            Ok(ReadCorpus::File(file))
        }
    }
}

/// What was read, before words are dropped.
enum Loaded {
    Memory(Corpus),
    /// Documents, and their vocabulary.
    File(Raw, Vec<String>),
}

fn read_source(source: CorpusSource, options: &CorpusOptions) -> Result<(Corpus, CorpusReport)> {
    let name = source.name.clone();
    let (corpus, report) = load_all(source, options, None)?;
    finished(&name, corpus, report, options)
}

fn finished(
    name: &str,
    corpus: Corpus,
    mut report: CorpusReport,
    options: &CorpusOptions,
) -> Result<(Corpus, CorpusReport)> {
    let (corpus, filtered) = filter::apply(name, corpus, report.format, options)?;
    report.filtered = filtered;
    report.empty = corpus.empty();
    report.unseen = filter::unseen(&corpus);
    Ok((corpus, report))
}

/// The beginnings of some documents of a corpus of texts, by their numbers from 0, at most so many letters of each. There are
/// none in a corpus of counts, and none where it came by standard input, which is gone.
///
/// # Errors
///
/// As [`read_corpus`] where the file can no longer be read.
pub fn read_excerpts(
    path: &Path,
    options: &CorpusOptions,
    documents: &BTreeSet<usize>,
    letters: usize,
) -> Result<BTreeMap<usize, String>> {
    if path == Path::new("-") {
        return Ok(BTreeMap::new());
    }
    let source = CorpusSource::open(path)?;
    let format = options.format.unwrap_or_else(|| detect::format(&source));
    source.check(format, options)?;
    if !format.is_text() {
        return Ok(BTreeMap::new());
    }
    let name = source.name;
    let mut gatherer = Gatherer::excerpts(&name, options, documents, letters);
    gather(source.content, format, &mut gatherer)?;
    Ok(gatherer.into_excerpts())
}

/// Reads new documents with the vocabulary of a fit: words outside it are counted and not kept.
///
/// Nothing in the vocabulary is filtered. Words outside that are too short, without a letter or stop
/// words by these options are told apart in the report, so that [`OutOfVocabulary`] holds only those that a
/// reader would miss. Ids of numeric formats are looked up in the file that names them, given or found;
/// where there is none they are positions in `vocabulary`.
///
/// # Errors
///
/// As [`read_corpus`], but documents need not have words; and an id beyond the vocabulary.
pub fn read_corpus_with(
    path: &Path,
    vocabulary: &[String],
    options: &CorpusOptions,
) -> Result<(Corpus, OutOfVocabulary)> {
    let source = CorpusSource::open(path)?;
    let (corpus, report) = load_all(source, options, Some(vocabulary.len()))?;
    if report.words_are_ids {
        // The ids were checked against the size of the vocabulary while reading.
        let corpus = Corpus {
            vocabulary: vocabulary.to_vec(),
            ..corpus
        };
        return Ok(out_of_vocabulary::finish(corpus, report, Vec::new(), 0.0));
    }
    Ok(out_of_vocabulary::map(corpus, vocabulary, report, options))
}

/// Reads without filtering, into memory; `fit` is the size of the vocabulary that ids without names refer to.
fn load_all(
    source: CorpusSource,
    options: &CorpusOptions,
    fit: Option<usize>,
) -> Result<(Corpus, CorpusReport)> {
    match load(source, options, fit, None)? {
        (Loaded::Memory(corpus), report) => Ok((corpus, report)),
        (Loaded::File(..), _) => unreachable!("nothing goes to a file without limits"),
    }
}

/// The same, into a file where documents may not be kept in memory.
fn load<'a>(
    source: CorpusSource,
    options: &'a CorpusOptions,
    fit: Option<usize>,
    spill: Option<Spill<'a>>,
) -> Result<(Loaded, CorpusReport)> {
    let format = options.format.unwrap_or_else(|| detect::format(&source));
    source.check(format, options)?;
    let mut report = CorpusReport {
        format,
        ..CorpusReport::default()
    };
    let name = source.name.clone();
    let loaded = if format.is_text() {
        texts(source, format, options, spill, &mut report)?
    } else {
        numeric(source, format, options, fit, spill, &mut report)?
    };
    if matches!(&loaded, Loaded::Memory(corpus) if corpus.documents.is_empty()) {
        return Err(Error::no_documents(&name, "nothing but a header"));
    }
    Ok((loaded, report))
}

fn texts(
    source: CorpusSource,
    format: CorpusFormat,
    options: &CorpusOptions,
    spill: Option<Spill<'_>>,
    report: &mut CorpusReport,
) -> Result<Loaded> {
    let name = &source.name;
    let mut gatherer = Gatherer::new(name, options).within(spill);
    gather(source.content, format, &mut gatherer)?;
    let (corpus, raw, replaced) = gatherer.finish()?;
    report.replaced = replaced;
    Ok(match raw {
        None => Loaded::Memory(corpus),
        Some(raw) => Loaded::File(raw, corpus.vocabulary),
    })
}

/// Takes one text after the other.
fn gather(content: Content, format: CorpusFormat, gatherer: &mut Gatherer<'_>) -> Result<()> {
    match (format, content) {
        (CorpusFormat::Lines, Content::Text(input)) => plain::lines(Lines::new(input), gatherer),
        (CorpusFormat::JsonLines, Content::Text(input)) => json::read(Lines::new(input), gatherer),
        (_, Content::Text(input)) => sheet::read(input, gatherer),
        (_, Content::Folder(folder)) => plain::folder(&folder, gatherer),
        (_, Content::Parquet(file)) => strings::read(file, gatherer),
    }
}

fn numeric(
    source: CorpusSource,
    format: CorpusFormat,
    options: &CorpusOptions,
    fit: Option<usize>,
    spill: Option<Spill<'_>>,
    report: &mut CorpusReport,
) -> Result<Loaded> {
    let vocabulary = sibling::vocabulary(source.path.as_deref(), format, options)?;
    let known = match (&vocabulary, fit) {
        (Some((path, words)), _) => Known::File(path.display().to_string(), words.len()),
        (None, Some(size)) => Known::Fit(size),
        (None, None) => Known::Nothing,
    };
    let (name, path) = (source.name, source.path);
    let Content::Text(input) = source.content else {
        return Err(Error::no_documents(&name, "no text"));
    };
    let (lines, entries) = (Lines::new(input), Entries::new(spill));
    let counted = match format {
        CorpusFormat::Docword => coordinates::docword(lines, &known, entries),
        CorpusFormat::LdaC => pairs::lda_c(lines, &known, entries),
        CorpusFormat::SvmLight => pairs::svm_light(lines, &known, entries),
        _ => coordinates::market(lines, &known, entries),
    }?;
    report.words_are_ids = vocabulary.is_none();
    let words = if let Some((path, words)) = vocabulary {
        report.vocabulary = Some(path);
        words
    } else {
        // Named as the format counts them.
        let first = usize::from(format != CorpusFormat::LdaC);
        let ids = first..first + counted.words;
        ids.map(|id| id.to_string()).collect()
    };
    let (path, number) = (path.as_deref(), counted.documents);
    if !counted.entries.is_spilled() {
        let documents = sibling::documents(path, format, number);
        let (corpus, duplicates) = counted.entries.into_corpus(&name, documents, words)?;
        report.duplicates = duplicates;
        return Ok(Loaded::Memory(corpus));
    }
    let titles = sibling::document_file(path, format, number);
    let (mut raw, duplicates) = (counted.entries).into_raw(&name, number, |document, word| {
        let mut place = 0;
        let mut title = (document + 1).to_string();
        if let Some(titles) = &titles {
            sibling::each_word(titles, |name| {
                if place == document {
                    name.clone_into(&mut title);
                }
                place += 1;
                Ok(())
            })?;
        }
        Ok((title, words[word].clone()))
    })?;
    report.duplicates = duplicates;
    if let Some(titles) = &titles {
        sibling::each_word(titles, |name| raw.names.push(name))?;
    }
    Ok(Loaded::File(raw, words))
}

#[cfg(test)]
mod tests;
