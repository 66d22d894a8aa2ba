//! Corpora as files give them and as the library takes them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use collapsar::{Hint, topics};
use collapsar_formats::{
    Corpus, CorpusOptions, CorpusReport, OutOfVocabulary, StopWords, read_corpus, read_corpus_with,
    read_stop_words,
};
use collapsar_text::count;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::record::name_of;

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

/// A corpus with what was found while reading it.
pub struct CorpusData {
    pub(super) request: CorpusRequest,
    /// The documents.
    pub corpus: Corpus,
    /// What was found.
    pub report: CorpusReport,
}

impl CorpusRequest {
    /// Reads the corpus.
    pub fn read(mut self) -> Result<CorpusData> {
        self.options.stop_words = self.stop_words()?;
        let (corpus, report) = read_corpus(&self.file, &self.options)?;
        let request = self;
        Ok(CorpusData {
            request,
            corpus,
            report,
        })
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
pub(super) fn record(data: &CorpusData) -> Value {
    let report = &data.report;
    let filtered = report.filtered.iter();
    let filtered: Vec<Value> = filtered
        .map(|f| json!({"filter": f.filter.to_string(), "words": f.words, "tokens": f.tokens}))
        .collect();
    json!({
        "format": report.format.name(),
        "documents": data.corpus.documents.len(),
        "words": data.corpus.vocabulary.len(),
        "tokens": data.corpus.tokens(),
        "filtered": filtered,
        "empty_documents": report.empty.iter().map(|&d| &data.corpus.documents[d]).collect::<Vec<_>>(),
        "duplicates": report.duplicates,
        "replaced": report.replaced,
        "unseen_words": report.unseen,
    })
}
