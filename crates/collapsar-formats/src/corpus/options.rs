//! The options of reading a corpus, and their defaults.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::{Error, Result};

use super::sibling::word_list;

/// How a corpus is read and which of its words are kept.
#[derive(Debug, Clone, PartialEq)]
pub struct CorpusOptions {
    /// The file that names the words of a numeric format, one a line; `None` looks beside the data.
    pub vocabulary: Option<PathBuf>,
    /// The format; `None` goes by the content, then by the name.
    pub format: Option<CorpusFormat>,
    /// The column or field that holds the text; `None` takes `text`, or the only one of text.
    pub text_column: Option<String>,
    /// The column or field that names the documents; `None` numbers them.
    pub id_column: Option<String>,
    /// What to do about bytes that are not UTF-8.
    pub invalid_utf8: InvalidUtf8,
    /// What counts as a word of a text.
    pub tokens: TokenOptions,
    /// The words to drop however frequent they are.
    pub stop_words: StopWords,
    /// Words in fewer documents are dropped. At 1, words of a vocabulary file that never occur stay, so
    /// that ids keep their meaning.
    pub min_docs: u32,
    /// Words in more than this fraction of the documents are dropped.
    pub max_docs_share: f64,
    /// Only so many words are kept: the most frequent, and of equals the first in the alphabet.
    pub max_vocabulary: Option<usize>,
}

impl Default for CorpusOptions {
    fn default() -> Self {
        CorpusOptions {
            vocabulary: None,
            format: None,
            text_column: None,
            id_column: None,
            invalid_utf8: InvalidUtf8::Refuse,
            tokens: TokenOptions::default(),
            stop_words: StopWords::Auto,
            min_docs: 1,
            max_docs_share: 1.0,
            max_vocabulary: None,
        }
    }
}

/// What to do about bytes that are not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InvalidUtf8 {
    /// An error that says where they are.
    #[default]
    Refuse,
    /// Each becomes U+FFFD, which separates words.
    Replace,
}

/// What counts as a word of a text; formats that give counts are taken as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenOptions {
    /// The least number of characters. A lone ideograph passes: it is a word.
    pub min_length: usize,
    /// Whether words are turned to lower case.
    pub lowercase: bool,
    /// Whether tokens without any letter are kept.
    pub numbers: bool,
}

impl Default for TokenOptions {
    fn default() -> Self {
        TokenOptions {
            min_length: 2,
            lowercase: true,
            numbers: false,
        }
    }
}

/// The words to drop however frequent they are; upper and lower case, straight and typographic
/// apostrophes are alike.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum StopWords {
    /// English for texts, none for formats that give counts: whoever made those has chosen the words.
    #[default]
    Auto,
    /// Articles, pronouns, prepositions, conjunctions, auxiliaries and their contractions.
    English,
    /// None.
    None,
    /// These.
    List(Vec<String>),
}

/// Reads a list of words, one a line; empty lines and those that begin with `#` are skipped.
///
/// # Errors
///
/// A file that cannot be read or is not UTF-8.
pub fn read_stop_words(path: &Path) -> Result<Vec<String>> {
    let mut words = word_list(path, InvalidUtf8::Refuse)?;
    words.retain(|word| !word.is_empty() && !word.starts_with('#'));
    Ok(words)
}

/// The formats of corpora.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CorpusFormat {
    /// A text in each file below a folder.
    Folder,
    /// A text a line; what nothing speaks against.
    #[default]
    Lines,
    /// A text a row of CSV, TSV or Parquet.
    Table,
    /// A JSON object or string a line.
    JsonLines,
    /// The bag of words of the UCI repository: `document word count` after three lines of totals.
    Docword,
    /// `N word:count …`, a document a line, words from 0.
    LdaC,
    /// `label word:count … # comment`, a document a line, words from 1.
    SvmLight,
    /// A sparse matrix in coordinates, a document a row.
    MatrixMarket,
}

impl CorpusFormat {
    /// Every format.
    pub const ALL: [CorpusFormat; 8] = [
        CorpusFormat::Folder,
        CorpusFormat::Lines,
        CorpusFormat::Table,
        CorpusFormat::JsonLines,
        CorpusFormat::Docword,
        CorpusFormat::LdaC,
        CorpusFormat::SvmLight,
        CorpusFormat::MatrixMarket,
    ];

    /// The names to ask for it by, the usual one first, and what a file in it is.
    fn words(self) -> (&'static [&'static str], &'static str) {
        match self {
            CorpusFormat::Folder => (&["folder"], "a folder of texts"),
            CorpusFormat::Lines => (&["lines"], "UTF-8 text with a document a line"),
            CorpusFormat::Table => (
                &["table", "csv", "tsv", "parquet"],
                "CSV or TSV in UTF-8, or Parquet",
            ),
            CorpusFormat::JsonLines => (
                &["jsonl", "json-lines", "ndjson"],
                "a JSON object or string a line",
            ),
            CorpusFormat::Docword => (&["docword", "uci"], "a docword file (the UCI bag of words)"),
            CorpusFormat::LdaC => (&["ldac", "lda-c"], "an LDA-C file"),
            CorpusFormat::SvmLight => (&["svmlight", "libsvm"], "an SVMlight file"),
            CorpusFormat::MatrixMarket => (&["mtx", "matrix-market"], "a Matrix Market file"),
        }
    }

    /// The name to ask for it by.
    pub fn name(self) -> &'static str {
        self.words().0[0]
    }

    /// Whether it holds texts, not counts.
    pub fn is_text(self) -> bool {
        use CorpusFormat::{Folder, JsonLines, Lines, Table};
        matches!(self, Folder | Lines | Table | JsonLines)
    }

    /// What a file in it is, in an error.
    pub(super) fn description(self) -> &'static str {
        self.words().1
    }
}

impl FromStr for CorpusFormat {
    type Err = Error;

    /// By name or by a usual extension.
    fn from_str(text: &str) -> Result<Self> {
        let name = text.to_ascii_lowercase();
        let mut all = Self::ALL.into_iter();
        all.find(|format| format.words().0.contains(&name.as_str()))
            .ok_or_else(|| {
                let names = Self::ALL.map(Self::name).join(", ");
                collapsar::Error::setting("format", format!("{text:?}"), names).into()
            })
    }
}
