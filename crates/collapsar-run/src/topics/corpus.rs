//! Corpora as files give them and as the library takes them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use collapsar::{Hint, topics};
use collapsar_formats::{
    Corpus, CorpusFile, CorpusLimits, CorpusOptions, CorpusReport, CorpusSeen, CorpusSize,
    OutOfVocabulary, ReadCorpus, StopWords, read_corpus, read_corpus_with, read_corpus_within,
    read_stop_words,
};
use collapsar_text::count;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::record::name_of;
use crate::scratch::{self, Scratch};
use crate::witness::stamp;

/// Bytes that a fit in memory takes for each word of a document: as it was read, by document and by word; and, while it is read, what
/// lists have in reserve.
const ENTRY: u64 = 32;
/// Bytes for each document, beside its counts: its name, its places and its length.
const DOCUMENT: u64 = 96;
/// Numbers for each document and topic: counts at a few points, exponentials, variances.
const COUNTS: u64 = 6;
/// Bytes of the blocks that documents are read in, at most and at least: what a pass makes of one takes a few times that.
const SEGMENT: (u64, u64) = (1 << 16, 8 << 20);

/// A corpus to read.
#[derive(Debug, Clone)]
pub struct CorpusRequest {
    /// Its file or folder.
    pub file: PathBuf,
    /// How it is read.
    pub options: CorpusOptions,
    /// Which stop words are dropped: `english`, `none`, or those of a file.
    pub stop_words: Option<String>,
}

/// How much of a corpus may be in memory, and where the rest goes.
#[derive(Debug, Clone)]
pub struct CorpusRoom {
    /// Bytes of memory that there are; without a limit all documents are kept in memory.
    pub memory: Option<u64>,
    /// How many topics are fitted, at most.
    pub topics: usize,
    /// The file that documents are written to which do not fit.
    pub scratch: PathBuf,
}

/// A corpus with what was found while reading it.
pub struct CorpusData {
    pub(super) request: CorpusRequest,
    /// The vocabulary, and documents where they are in memory.
    pub corpus: Corpus,
    /// What was found.
    pub report: CorpusReport,
    /// The file that documents are in, if they are in one.
    pub stored: Option<StoredData>,
}

/// Documents in a file.
#[derive(Debug)]
pub struct StoredData {
    /// The documents, and their names.
    pub file: CorpusFile,
    /// The file itself.
    pub scratch: Scratch,
    /// Bytes of memory that were allowed.
    pub memory: u64,
}

impl CorpusRequest {
    /// Reads the corpus.
    pub fn read(mut self) -> Result<CorpusData> {
        self.options.stop_words = self.stop_words()?;
        let (corpus, report) = read_corpus(&self.file, &self.options)?;
        Ok(self.data(corpus, report))
    }

    /// Reads the corpus, into a file where it does not fit in memory.
    pub fn read_within(mut self, room: &CorpusRoom, seen: &CorpusSeen<'_>) -> Result<CorpusData> {
        let Some(memory) = room.memory else {
            return self.read();
        };
        self.options.stop_words = self.stop_words()?;
        let fits = |size: CorpusSize| needed(size, room.topics) <= memory;
        let before = self.key();
        let limits = CorpusLimits {
            fits: &fits,
            scratch: &room.scratch,
            key: before.unwrap_or_default(),
            segment: (memory / 64).clamp(SEGMENT.0, SEGMENT.1) as usize,
        };
        // Only what certainly is of the same input is not read again, and what would not fit now either.
        let left = before.and_then(|_| CorpusFile::left(&limits));
        let read = match left {
            Some(left) if fits(size_of(&left)) => {
                drop((left, Scratch::new(room.scratch.clone(), true)));
                return self.read();
            }
            Some(left) if !is_newer(left.report.vocabulary.as_deref(), &room.scratch) => {
                ReadCorpus::File(left)
            }
            _ => read_corpus_within(&self.file, &self.options, &limits, seen)?,
        };
        let mut file = match read {
            ReadCorpus::Memory(corpus, report) => return Ok(self.data(corpus, report)),
            ReadCorpus::File(file) => file,
        };
        let scratch = Scratch::new(room.scratch.clone(), file.reused);
        if self.key() != before {
            return Err(Error::input(
                name_of(&self.file),
                "a file that changed while it was read",
                "one that stays as it is; start the fit anew",
            ));
        }
        let corpus = Corpus {
            vocabulary: std::mem::take(&mut file.vocabulary),
            ..Corpus::default()
        };
        let report = std::mem::take(&mut file.report);
        let mut data = self.data(corpus, report);
        data.stored = Some(StoredData {
            file,
            scratch,
            memory,
        });
        Ok(data)
    }

    fn data(self, corpus: Corpus, report: CorpusReport) -> CorpusData {
        CorpusData {
            request: self,
            corpus,
            report,
            stored: None,
        }
    }

    /// What tells a corpus and the way that it is read apart; nothing for what cannot be looked at again.
    fn key(&self) -> Option<u64> {
        let data = stamp(&self.file)?;
        let mut hasher = DefaultHasher::new();
        let options = format!("{:?}", self.options);
        let vocabulary = self.options.vocabulary.as_deref().and_then(stamp);
        let version = env!("CARGO_PKG_VERSION");
        let file = self.file.canonicalize().ok();
        (data, file, options, vocabulary, version).hash(&mut hasher);
        Some(hasher.finish())
    }
}

fn size_of(file: &CorpusFile) -> CorpusSize {
    CorpusSize {
        documents: file.corpus.documents() as u64,
        entries: file.corpus.entries(),
    }
}

/// Bytes that a fit in memory takes, about.
fn needed(size: CorpusSize, topics: usize) -> u64 {
    let document = DOCUMENT + 8 * COUNTS * topics as u64;
    let documents = size.documents.saturating_mul(document);
    documents.saturating_add(size.entries.saturating_mul(ENTRY))
}

/// Whether a file has changed since another was written; also where nobody knows.
fn is_newer(file: Option<&Path>, other: &Path) -> bool {
    let Some(file) = file else { return false };
    let modified = |path: &Path| fs::metadata(path).and_then(|of| of.modified()).ok();
    match (modified(file), modified(other)) {
        (Some(file), Some(other)) => file >= other,
        _ => true,
    }
}

impl CorpusRequest {
    /// The stop words that are asked for.
    pub(super) fn stop_words(&self) -> Result<StopWords> {
        Ok(match self.stop_words.as_deref() {
            None => StopWords::Auto,
            Some("english") => StopWords::English,
            Some("none") => StopWords::None,
            Some(file) if !Path::new(file).exists() => {
                return Err(Error::Value {
                    option: "stop_words",
                    value: file.to_owned(),
                    found: "no such file",
                    expected: "english, none or a file of words".into(),
                });
            }
            Some(file) => StopWords::List(read_stop_words(Path::new(file))?),
        })
    }
}

impl CorpusData {
    /// The corpus's name, as in refusals.
    pub fn name(&self) -> String {
        name_of(&self.request.file)
    }

    /// How many documents there are.
    pub fn documents(&self) -> usize {
        match &self.stored {
            Some(stored) => stored.file.corpus.documents(),
            None => self.corpus.documents.len(),
        }
    }

    /// The sum of all counts.
    pub fn tokens(&self) -> f64 {
        match &self.stored {
            Some(stored) => stored.file.corpus.tokens(),
            None => self.corpus.tokens(),
        }
    }

    /// The names of some documents.
    pub fn names_of(&self, documents: &BTreeSet<usize>) -> Result<BTreeMap<usize, String>> {
        if let Some(stored) = &self.stored {
            return Ok(stored.file.names_of(documents)?);
        }
        let names = &self.corpus.documents;
        let named = documents.iter().map(|&at| (at, names[at].clone()));
        Ok(named.collect())
    }

    /// The names of the first so many documents without words.
    pub fn empty(&self, most: usize) -> Result<Vec<String>> {
        let first = self.report.empty.iter().take(most).copied().collect();
        Ok(self.names_of(&first)?.into_values().collect())
    }

    /// Whether ids in a numeric format are positions in the vocabulary: nothing was dropped.
    pub(super) fn ids_are_positions(&self) -> bool {
        !self.report.format.is_text() && self.report.filtered.is_empty()
    }

    /// Reads documents whose halves are in two files.
    pub(super) fn halves(&self, files: &[PathBuf; 2]) -> Result<Halves> {
        let mut options = CorpusOptions {
            stop_words: StopWords::Auto,
            ..self.request.options.clone()
        };
        // Halves seldom have a list of words of their own, and the corpus's is what their ids mean.
        options.vocabulary = (options.vocabulary).or_else(|| self.report.vocabulary.clone());
        let known = (&*self.corpus.vocabulary, self.ids_are_positions());
        Halves::read(files, known, &options)
    }

    /// The corpus as the library takes it.
    pub(super) fn library(&self) -> Result<Arc<topics::Corpus>> {
        library(&self.corpus).map_err(|error| Error::of_file(error, self.name()))
    }

    /// The files that were read.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let mut files = vec![self.request.file.clone()];
        if let StopWords::List(_) = self.request.options.stop_words {
            files.extend(self.request.stop_words.iter().map(PathBuf::from));
        }
        files.extend(self.report.vocabulary.clone());
        files
    }
}

/// Documents of which one half is read and the other foreseen.
#[derive(Debug)]
pub struct Halves {
    pub(super) observed: Arc<topics::Corpus>,
    pub(super) evaluated: Arc<topics::Corpus>,
    /// The two together.
    pub(super) whole: Arc<topics::Corpus>,
    /// Words of their files that are outside the vocabulary.
    pub outside: Vec<(String, OutOfVocabulary)>,
}

impl Halves {
    /// Reads documents whose halves are in two files, with the vocabulary of a fit.
    pub(super) fn read(
        files: &[PathBuf; 2],
        known: Known<'_>,
        options: &CorpusOptions,
    ) -> Result<Self> {
        let names = files.each_ref().map(|file| name_of(file));
        let read = |half: usize| {
            let (corpus, outside) = read_like(&files[half], known, options)?;
            if corpus.words.is_empty() {
                let found = "no word of the vocabulary";
                return Err(Error::input(&names[half], found, "documents to foresee"));
            }
            Ok((corpus, (names[half].clone(), outside)))
        };
        let ((observed, first), (evaluated, second)) = (read(0)?, read(1)?);
        let (documents, expected) = (evaluated.documents.len(), observed.documents.len());
        if documents != expected {
            return Err(Error::input(
                &names[1],
                count(documents, "document"),
                format!("{expected} as in {}", names[0]),
            ));
        }
        let whole = (0..documents).map(|document| {
            let mut both = entries(&observed, document);
            both.extend(entries(&evaluated, document));
            both.sort_unstable_by_key(|entry| entry.0);
            both
        });
        Ok(Self {
            observed: library(&observed)?,
            evaluated: library(&evaluated)?,
            whole: gathered(whole, known.0.len())?,
            outside: vec![first, second],
        })
    }
}

/// The vocabulary of a fit, and whether numbers of words in a corpus of counts are positions in it.
pub(super) type Known<'a> = (&'a [String], bool);

/// Reads documents with the vocabulary of a fit.
pub(super) fn read_like(
    file: &Path,
    (vocabulary, ids_are_positions): Known<'_>,
    options: &CorpusOptions,
) -> Result<(Corpus, OutOfVocabulary)> {
    let (corpus, outside) = read_corpus_with(file, vocabulary, options)?;
    if outside.report.words_are_ids && !ids_are_positions {
        let found = "words are numbers without names";
        let error = Error::input(name_of(file), found, "names as the fit has them");
        return Err(error.with_hint(Hint::give("vocabulary")));
    }
    Ok((corpus, outside))
}

/// A document's words and how often it has each.
pub(super) fn entries(corpus: &Corpus, document: usize) -> Vec<(u32, f32)> {
    let (words, counts) = corpus.document(document);
    words.iter().copied().zip(counts.iter().copied()).collect()
}

/// Documents as the library takes them; words that one names twice, which stand together, are added up.
pub(super) fn gathered(
    documents: impl IntoIterator<Item = Vec<(u32, f32)>>,
    vocabulary: usize,
) -> collapsar::Result<Arc<topics::Corpus>> {
    let (mut starts, mut words, mut counts) = (vec![0], Vec::new(), Vec::<f32>::new());
    for entries in documents {
        let begin = words.len();
        for (word, count) in entries {
            match counts.last_mut() {
                Some(last) if words.len() > begin && words.last() == Some(&word) => *last += count,
                _ => {
                    words.push(word);
                    counts.push(count);
                }
            }
        }
        starts.push(words.len());
    }
    let corpus = topics::Corpus::new(starts, words, counts, vocabulary)?;
    Ok(Arc::new(corpus))
}

/// A corpus as the library takes it.
pub(super) fn library(corpus: &Corpus) -> collapsar::Result<Arc<topics::Corpus>> {
    let (starts, words) = (corpus.starts.clone(), corpus.words.clone());
    let vocabulary = corpus.vocabulary.len();
    let corpus = topics::Corpus::new(starts, words, corpus.counts.clone(), vocabulary)?;
    Ok(Arc::new(corpus))
}

/// How the corpus was read, as `run.json` has it among the options.
pub(super) fn config(data: &CorpusData) -> Value {
    let options = &data.request.options;
    json!({
        "stop_words": data.request.stop_words,
        "min_docs": options.min_docs,
        "max_docs_share": options.max_docs_share,
        "max_vocabulary": options.max_vocabulary,
        "min_length": options.tokens.min_length,
        "keep_numbers": options.tokens.numbers,
    })
}

/// What `run.json` says of reading.
pub(super) fn record(data: &CorpusData) -> Result<Value> {
    let report = &data.report;
    let filtered = report.filtered.iter();
    let filtered: Vec<Value> = filtered
        .map(|f| json!({"filter": f.filter.to_string(), "words": f.words, "tokens": f.tokens}))
        .collect();
    Ok(json!({
        "format": report.format.name(),
        "documents": data.documents(),
        "words": data.corpus.vocabulary.len(),
        "tokens": data.tokens(),
        "filtered": filtered,
        "empty_documents": data.empty(usize::MAX)?,
        "duplicates": report.duplicates,
        "replaced": report.replaced,
        "unseen_words": report.unseen,
    }))
}

/// What `run.json` says of where documents were, and what reading them cost.
pub(super) fn place(data: &CorpusData) -> Value {
    let Some(stored) = &data.stored else {
        return json!({"in": "memory"});
    };
    let corpus = &stored.file.corpus;
    scratch::record(corpus.path(), corpus.pass_bytes(), corpus.reading())
}
