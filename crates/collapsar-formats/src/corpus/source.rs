//! Decides how a path opens as a corpus and what happens to bytes that are not UTF-8.

use std::borrow::Cow;
use std::fs::File;
use std::path::{Path, PathBuf};

use collapsar::{Change, Hint};

use crate::error::{Error, FilePlace, Result};
use crate::open::{Opened, name_of};
use crate::records::position;

use super::options::{CorpusFormat, CorpusOptions, InvalidUtf8};

/// An opened corpus.
pub(super) struct CorpusSource {
    /// The path as given, for errors.
    pub(super) name: String,
    /// Where to look for siblings; `None` for standard input.
    pub(super) path: Option<PathBuf>,
    pub(super) content: Content,
}

pub(super) enum Content {
    Folder(PathBuf),
    Parquet(File),
    Text(Opened),
}

impl CorpusSource {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let content = if path.is_dir() {
            Content::Folder(path.to_owned())
        } else {
            let input = Opened::open(path)?;
            if input.is_parquet() {
                Content::Parquet(File::open(path).map_err(|error| Error::file(path, &error))?)
            } else {
                return Self::text((path != Path::new("-")).then_some(path), input);
            }
        };
        Ok(CorpusSource {
            name: name_of(path),
            path: Some(path.to_owned()),
            content,
        })
    }

    pub(super) fn text(path: Option<&Path>, input: Opened) -> Result<Self> {
        if input.head.is_empty() {
            return Err(Error::no_documents(&input.name, "an empty file"));
        }
        Ok(CorpusSource {
            name: input.name.clone(),
            path: path.map(Path::to_owned),
            content: Content::Text(input),
        })
    }

    /// Refuses what is not of this format at first sight, and options that it has no use for.
    pub(super) fn check(&self, format: CorpusFormat, options: &CorpusOptions) -> Result<()> {
        let refuse = |found| Error::content(&self.name, found, format.description());
        let of_format = |format: CorpusFormat| Hint::set("format", format.name());
        match &self.content {
            Content::Folder(_) if format == CorpusFormat::Folder => {}
            Content::Folder(_) => {
                return Err(refuse("a folder").with_hint(of_format(CorpusFormat::Folder)));
            }
            _ if format == CorpusFormat::Folder => return Err(refuse("a file")),
            Content::Parquet(_) if format == CorpusFormat::Table => {}
            Content::Parquet(_) => {
                return Err(refuse("Parquet data").with_hint(of_format(CorpusFormat::Table)));
            }
            Content::Text(input) => {
                if let Some(found) = input.not_text() {
                    return Err(refuse(found));
                }
            }
        }
        let name = format.name();
        let of_columns = [CorpusFormat::Table, CorpusFormat::JsonLines];
        let columns = options.text_column.is_some() || options.id_column.is_some();
        if columns && !of_columns.contains(&format) {
            let found = format!("a column is asked for in a corpus of format {name}");
            let hint = Hint::Any(of_columns.map(of_format).to_vec());
            let error = Error::content(&self.name, found, "a table or JSON lines");
            return Err(error.with_hint(hint));
        }
        if options.vocabulary.is_some() && format.is_text() {
            let found = format!("a vocabulary is given for a corpus of format {name}");
            let expected = "one of format docword, ldac, svmlight or mtx";
            let error = Error::content(&self.name, found, expected);
            return Err(error.with_hint(Hint::Option("vocabulary", Change::Omit)));
        }
        Ok(())
    }
}

/// The text of `bytes`, which begin at a place, and whether any were replaced.
pub(super) fn decode<'b>(
    path: &str,
    place: FilePlace,
    bytes: &'b [u8],
    invalid: InvalidUtf8,
) -> Result<(Cow<'b, str>, bool)> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok((Cow::Borrowed(text), false)),
        Err(_) if invalid == InvalidUtf8::Replace => Ok((String::from_utf8_lossy(bytes), true)),
        Err(error) => {
            let index = error.valid_up_to();
            let (place, byte) = match place {
                FilePlace::Line(line) => {
                    let (lines, byte) = position(bytes, index);
                    (FilePlace::Line(line + lines), byte)
                }
                place => (place, index as u64 + 1),
            };
            Err(Error::not_utf8(path, place, byte))
        }
    }
}
