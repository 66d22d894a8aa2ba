//! Corpora as files give them and as the library takes them, and what is said of reading them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{anyhow, bail};
use collapsar::topics;
use collapsar_formats::{
    Corpus, CorpusOptions, CorpusReport, InvalidUtf8, OutOfVocabulary, StopWords, TokenOptions,
    read_corpus, read_corpus_with, read_stop_words,
};
use serde_json::{Value, json};

use super::args::{FitArgs, InvalidUtf8Arg, Pair, ReadArgs};
use crate::common::Common;
use crate::files::name_of;
use crate::text::count;

/// A corpus with what was found while reading it.
pub(crate) struct Data {
    pub(crate) corpus: Corpus,
    pub(crate) report: CorpusReport,
    pub(crate) tokens: TokenOptions,
    /// Beside the corpus itself.
    pub(crate) files: Vec<PathBuf>,
}

impl Data {
    pub(crate) fn read(args: &FitArgs) -> anyhow::Result<Self> {
        let mut options = args.read.options();
        let mut files = Vec::new();
        options.tokens.min_length = args.min_length;
        options.tokens.numbers = args.keep_numbers;
        options.stop_words = match args.stop_words.as_deref() {
            None => StopWords::Auto,
            Some("english") => StopWords::English,
            Some("none") => StopWords::None,
            Some(file) => {
                let path = PathBuf::from(file);
                if !path.exists() {
                    bail!(
                        "--stop-words {file}: no such file, expected english, none or a file of words"
                    );
                }
                let words = read_stop_words(&path)?;
                files.push(path);
                StopWords::List(words)
            }
        };
        options.min_docs = args.min_docs;
        options.max_docs_share = args.max_docs_share;
        options.max_vocabulary = args.max_vocabulary.map(|most| most as usize);
        let (corpus, report) = read_corpus(args.corpus(), &options)?;
        files.extend(report.vocabulary.clone());
        Ok(Self {
            corpus,
            report,
            tokens: options.tokens,
            files,
        })
    }

    /// Whether ids in a numeric format are positions in the vocabulary: nothing was dropped.
    pub(crate) fn ids_are_positions(&self) -> bool {
        !self.report.format.is_text() && self.report.filtered.is_empty()
    }

    /// Reads documents whose halves are in two files.
    pub(crate) fn halves(
        &self,
        pair: &Pair,
        read: &ReadArgs,
        common: &Common,
    ) -> anyhow::Result<Halves> {
        let mut options = read.options();
        options.tokens = self.tokens;
        // Halves seldom have a list of words of their own, and the corpus's is what their ids mean.
        options.vocabulary = options
            .vocabulary
            .or_else(|| self.report.vocabulary.clone());
        halves(
            pair,
            &self.corpus.vocabulary,
            &options,
            self.ids_are_positions(),
            common,
        )
    }
}

impl ReadArgs {
    pub(crate) fn options(&self) -> CorpusOptions {
        CorpusOptions {
            vocabulary: self.vocabulary.clone(),
            format: self.format,
            text_column: self.text_column.clone(),
            id_column: self.id_column.clone(),
            invalid_utf8: match self.invalid_utf8 {
                InvalidUtf8Arg::Refuse => InvalidUtf8::Refuse,
                InvalidUtf8Arg::Replace => InvalidUtf8::Replace,
            },
            ..CorpusOptions::default()
        }
    }
}

/// Documents of which one half is read and the other foreseen.
#[derive(Debug)]
pub(crate) struct Halves {
    pub(crate) observed: Arc<topics::Corpus>,
    pub(crate) evaluated: Arc<topics::Corpus>,
    /// The two together.
    pub(crate) whole: Arc<topics::Corpus>,
}

impl Halves {
    /// The halves of the same documents, over the same vocabulary.
    pub(crate) fn new(observed: &Corpus, evaluated: &Corpus) -> collapsar::Result<Self> {
        let mut whole = Part::new();
        for document in 0..observed.documents.len() {
            let mut entries = Vec::new();
            for half in [observed, evaluated] {
                let (words, counts) = half.document(document);
                entries.extend(words.iter().copied().zip(counts.iter().copied()));
            }
            entries.sort_unstable_by_key(|entry| entry.0);
            whole.push(&entries);
        }
        Ok(Self {
            observed: library(observed)?,
            evaluated: library(evaluated)?,
            whole: whole.finish(observed.vocabulary.len())?,
        })
    }
}

/// Reads documents whose halves are in two files, with the vocabulary of a fit.
pub(crate) fn halves(
    Pair(observed, evaluated): &Pair,
    vocabulary: &[String],
    options: &CorpusOptions,
    ids_are_positions: bool,
    common: &Common,
) -> anyhow::Result<Halves> {
    let read = |file: &Path| {
        let (corpus, outside) = read_like(file, vocabulary, options, ids_are_positions)?;
        tell_outside(&name_of(file), &outside, common);
        if corpus.words.is_empty() {
            bail!(
                "{}: no word of the vocabulary, expected documents to foresee",
                name_of(file)
            );
        }
        Ok(corpus)
    };
    let (first, second) = (read(observed)?, read(evaluated)?);
    if first.documents.len() != second.documents.len() {
        bail!(
            "{}: {}, expected {} as in {}",
            name_of(evaluated),
            count(second.documents.len(), "document"),
            first.documents.len(),
            name_of(observed)
        );
    }
    Ok(Halves::new(&first, &second)?)
}

/// Reads documents with the vocabulary of a fit.
pub(crate) fn read_like(
    file: &Path,
    vocabulary: &[String],
    options: &CorpusOptions,
    ids_are_positions: bool,
) -> anyhow::Result<(Corpus, OutOfVocabulary)> {
    let (corpus, outside) = read_corpus_with(file, vocabulary, options)?;
    if outside.report.words_are_ids && !ids_are_positions {
        bail!(
            "{}: words are numbers without names, expected names as the fit has them; try --vocabulary",
            name_of(file)
        );
    }
    Ok((corpus, outside))
}

/// Documents on their way to the library.
pub(crate) struct Part {
    starts: Vec<usize>,
    words: Vec<u32>,
    counts: Vec<f32>,
}

impl Part {
    pub(crate) fn new() -> Self {
        Self {
            starts: vec![0],
            words: Vec::new(),
            counts: Vec::new(),
        }
    }

    /// One more document, its words in order; those that are named twice are added up.
    pub(crate) fn push(&mut self, entries: &[(u32, f32)]) {
        let begin = self.words.len();
        for &(word, count) in entries {
            if self.words.len() > begin && self.words.last() == Some(&word) {
                *self.counts.last_mut().expect("as many counts as words") += count;
            } else {
                self.words.push(word);
                self.counts.push(count);
            }
        }
        self.starts.push(self.words.len());
    }

    pub(crate) fn finish(self, vocabulary: usize) -> collapsar::Result<Arc<topics::Corpus>> {
        let corpus = topics::Corpus::new(self.starts, self.words, self.counts, vocabulary)?;
        Ok(Arc::new(corpus))
    }
}

/// A corpus as the library takes it.
pub(crate) fn library(corpus: &Corpus) -> collapsar::Result<Arc<topics::Corpus>> {
    let part = Part {
        starts: corpus.starts.clone(),
        words: corpus.words.clone(),
        counts: corpus.counts.clone(),
    };
    part.finish(corpus.vocabulary.len())
}

/// Tells what was found and dropped while reading.
pub(crate) fn tell(report: &CorpusReport, documents: &[String], common: &Common) {
    for filtered in &report.filtered {
        common.say(&format!(
            "dropped {} ({}): {}",
            count(filtered.words, "word"),
            count(filtered.tokens as usize, "token"),
            filtered.filter
        ));
    }
    if report.duplicates > 0 {
        common.say(&format!(
            "added up {} of a document and word",
            count(report.duplicates, "repetition")
        ));
    }
    if report.replaced > 0 {
        common.say(&format!(
            "replaced bytes that are not UTF-8 in {}",
            count(report.replaced, "document")
        ));
    }
    if report.words_are_ids {
        common.say("found no file that names the words; they go by their numbers");
    }
    if !report.empty.is_empty() {
        common.say(&format!(
            "kept {} without words: {}",
            count(report.empty.len(), "document"),
            some(report.empty.iter().map(|&index| documents[index].as_str()))
        ));
    }
}

/// Tells of words outside a fit's vocabulary.
pub(crate) fn tell_outside(name: &str, outside: &OutOfVocabulary, common: &Common) {
    if outside.words > 0 {
        common.say(&format!(
            "{name}: left out {} ({}) outside the vocabulary: {}",
            count(outside.words, "word"),
            count(outside.tokens as usize, "token"),
            some_of(outside.examples.iter().map(String::as_str), outside.words)
        ));
    }
}

/// The first few names of many.
fn some<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let all = names.len();
    some_of(names, all)
}

fn some_of<'a>(names: impl Iterator<Item = &'a str>, all: usize) -> String {
    let shown: Vec<&str> = names.take(5).collect();
    let more = if all > shown.len() { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// What `run.json` says of reading.
pub(crate) fn record(data: &Data) -> Value {
    let report = &data.report;
    let filtered: Vec<Value> = report
        .filtered
        .iter()
        .map(|f| json!({"filter": f.filter, "words": f.words, "tokens": f.tokens}))
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

/// The library's refusals of data, with the corpus's name: it does not know it.
pub(crate) fn of_corpus(name: &str, error: collapsar::Error) -> anyhow::Error {
    match error {
        collapsar::Error::Data {
            found, expected, ..
        } => anyhow!("{name}: {found}, expected {expected}"),
        error => error.into(),
    }
}
