//! What every format shares: the same documents give the same corpus.

mod counts;
mod damage;
mod data;
mod files;
mod texts;

use std::io::Write;
use std::path::{Path, PathBuf};

use super::*;

/// A folder of files, removed at the end.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Files(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// An error without the name of the folder.
    fn text(&self, error: &Error) -> String {
        let place = format!("{}/", self.0.path().display());
        error.to_string().replace(&place, "")
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

fn read(path: &Path) -> (Corpus, CorpusReport) {
    files::both(path, &CorpusOptions::default()).unwrap()
}

/// Reads one file with these options; the error is its text.
fn one(
    name: &str,
    bytes: impl AsRef<[u8]>,
    options: &CorpusOptions,
) -> std::result::Result<(Corpus, CorpusReport), String> {
    let files = Files::new();
    let path = files.write(name, bytes);
    files::both(&path, options).map_err(|error| files.text(&error))
}

/// The error of one file.
fn refusal(name: &str, bytes: impl AsRef<[u8]>) -> String {
    one(name, bytes, &CorpusOptions::default()).unwrap_err()
}

/// The words of a document and how often each.
fn bag(corpus: &Corpus, document: usize) -> Vec<(&str, f32)> {
    let (words, counts) = corpus.document(document);
    let words = words
        .iter()
        .map(|&word| corpus.vocabulary[word as usize].as_str());
    words.zip(counts.iter().copied()).collect()
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

/// What the fields promise.
fn check(corpus: &Corpus) {
    assert_eq!(corpus.starts.len(), corpus.documents.len() + 1);
    assert_eq!(corpus.starts.first(), Some(&0));
    assert_eq!(corpus.starts.last(), Some(&corpus.words.len()));
    assert!(corpus.starts.is_sorted());
    assert_eq!(corpus.words.len(), corpus.counts.len());
    for document in 0..corpus.documents.len() {
        let (words, _) = corpus.document(document);
        assert!(words.is_sorted_by(|a, b| a < b));
        let size = corpus.vocabulary.len();
        assert!(words.iter().all(|&word| (word as usize) < size));
    }
    let mut counts = corpus.counts.iter();
    assert!(counts.all(|&count| count > 0.0 && count <= 16_777_216.0));
}

#[test]
fn formats_have_names() {
    for format in CorpusFormat::ALL {
        assert_eq!(format.name().parse(), Ok(format));
    }
    assert_eq!("CSV".parse(), Ok(CorpusFormat::Table));
    let error = "docx".parse::<CorpusFormat>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "format is \"docx\", expected folder, lines, table, jsonl, docword, ldac, svmlight, mtx"
    );
}

#[test]
fn standard_input_is_told_by_its_beginning() {
    for (text, format, tokens) in [
        ("cats purr\ndogs bark\n", CorpusFormat::Lines, 4.0),
        ("{\"text\": \"cats purr\"}\n", CorpusFormat::JsonLines, 2.0),
        ("1\n2\n1\n1 2 3\n", CorpusFormat::Docword, 3.0),
        ("1 0:3\n2 0:1 1:1\n", CorpusFormat::LdaC, 5.0),
        ("-1 1:3\n", CorpusFormat::SvmLight, 3.0),
    ] {
        for bytes in [text.as_bytes().to_vec(), gzip(text.as_bytes())] {
            let bytes = std::io::Cursor::new(bytes);
            let input = crate::open::Opened::new("stdin".as_ref(), None, bytes).unwrap();
            let source = CorpusSource::text(None, input).unwrap();
            let (corpus, report) = read_source(source, &CorpusOptions::default()).unwrap();
            assert_eq!((report.format, corpus.tokens()), (format, tokens));
        }
    }
}
