//! Decides which files beside the data name its words and its documents.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::lines::Lines;
use crate::open::{Opened, beside};

use super::options::{CorpusFormat, CorpusOptions, InvalidUtf8};
use super::source::decode;

/// The file that names the words, given or found, and the words.
pub(super) fn vocabulary(
    path: Option<&Path>,
    format: CorpusFormat,
    options: &CorpusOptions,
) -> Result<Option<(PathBuf, Vec<String>)>> {
    let found = || {
        let path = path?;
        beside(path, &vocabulary_names(path, format)).next()
    };
    let Some(path) = options.vocabulary.clone().or_else(found) else {
        return Ok(None);
    };
    let mut words = word_list(&path, options.invalid_utf8)?;
    while words.last().is_some_and(String::is_empty) {
        words.pop();
    }
    let name = path.display().to_string();
    if words.is_empty() || words.len() > u32::MAX as usize {
        let found = format!("{} words", words.len());
        let expected = "from 1 to 4294967295, one a line";
        return Err(Error::content(name, found, expected));
    }
    // A word that stands twice could not be told apart when new documents come with their own words.
    let mut lines: HashMap<&str, u64> = HashMap::with_capacity(words.len());
    for (index, word) in words.iter().enumerate() {
        let line = index as u64 + 1;
        if word.is_empty() {
            return Err(Error::line(name, line, "an empty line", "a word"));
        }
        if let Some(before) = lines.insert(word, line) {
            let found = format!("{word:?} as in line {before}");
            return Err(Error::line(name, line, found, "each word once"));
        }
    }
    Ok(Some((path, words)))
}

/// The documents' names: from a file beside the data if it has a line for each, else `1`, `2`, …
pub(super) fn documents(path: Option<&Path>, format: CorpusFormat, number: usize) -> Vec<String> {
    let mut names = vec![];
    // Names are a help and no more: a file that cannot be read is as good as none.
    let push = |name: &str| {
        names.push(name.to_owned());
        Ok(())
    };
    let found = document_file(path, format, number).map(|file| each_word(&file, push));
    match found {
        Some(Ok(())) if names.len() == number => names,
        _ => (1..=number).map(|document| document.to_string()).collect(),
    }
}

/// The file beside the data that has a line for each document.
pub(super) fn document_file(
    path: Option<&Path>,
    format: CorpusFormat,
    number: usize,
) -> Option<PathBuf> {
    let path = path?;
    let names = document_names(path, format);
    let mut candidates = beside(path, &names);
    candidates.find(|candidate| {
        let mut lines = 0;
        let count = |_: &str| {
            lines += 1;
            Ok(())
        };
        each_word(candidate, count).is_ok() && lines == number
    })
}

/// Visits the names of documents in a file, as [`documents`] has them.
pub(super) fn each_word(path: &Path, mut visit: impl FnMut(&str) -> Result<()>) -> Result<()> {
    let input = Opened::open(path)?.text("UTF-8 text with a word a line")?;
    let mut lines = Lines::new(input);
    while lines.next()? {
        let (text, _) = decode(
            &lines.path,
            lines.place(),
            &lines.bytes,
            InvalidUtf8::Replace,
        )?;
        visit(text.trim())?;
    }
    Ok(())
}

/// The lines of a file without the white space around them.
pub(super) fn word_list(path: &Path, invalid: InvalidUtf8) -> Result<Vec<String>> {
    let input = Opened::open(path)?.text("UTF-8 text with a word a line")?;
    let mut lines = Lines::new(input);
    let mut words = Vec::new();
    while lines.next()? {
        let (text, _) = decode(&lines.path, lines.place(), &lines.bytes, invalid)?;
        words.push(text.trim().to_owned());
    }
    Ok(words)
}

fn vocabulary_names(path: &Path, format: CorpusFormat) -> Vec<String> {
    let (name, bare) = names(path);
    let mut found = Vec::new();
    if let Some(rest) = name.strip_prefix("docword.") {
        let mut stem = rest.strip_suffix(".txt").unwrap_or(rest);
        // The parts of a split share the vocabulary: docword.x_test.txt has the words of vocab.x.txt.
        loop {
            found.push(format!("vocab.{stem}.txt"));
            found.push(format!("vocab.{stem}"));
            match stem.rfind('_') {
                Some(cut) => stem = &stem[..cut],
                None => break,
            }
        }
    } else {
        found.extend(["tokens", "vocab"].map(|end| format!("{bare}.{end}")));
        found.push(format!("{bare}_vocab.txt"));
        if matches!(format, CorpusFormat::LdaC | CorpusFormat::MatrixMarket) {
            found.push("vocab.txt".to_owned());
        }
    }
    found
}

fn document_names(path: &Path, format: CorpusFormat) -> Vec<String> {
    let (name, bare) = names(path);
    match name.strip_prefix("docword.") {
        Some(rest) if format == CorpusFormat::Docword => {
            let stem = rest.strip_suffix(".txt").unwrap_or(rest);
            vec![format!("docs.{stem}.txt"), format!("docs.{stem}")]
        }
        _ => vec![format!("{bare}.titles")],
    }
}

/// The file's name without `.gz`, and without the extension before that.
fn names(path: &Path) -> (String, String) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name).to_owned();
    let bare = match name.rfind('.') {
        Some(dot) if dot > 0 => name[..dot].to_owned(),
        _ => name.clone(),
    };
    (name, bare)
}
