//! Decides how a path opens, how lines are cut and what happens to bytes that are not UTF-8.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use collapsar::{Change, Hint};

use crate::error::{Error, FilePlace, Problem, Result};
use crate::records::{position, text_error};
use crate::table::{TextReader, extension, not_text, unzip};

use super::options::{CorpusFormat, CorpusOptions, InvalidUtf8};

/// An opened corpus.
pub(super) struct Source<'a> {
    /// The path as given, for errors.
    pub(super) name: String,
    /// Where to look for siblings; `None` for standard input.
    pub(super) path: Option<PathBuf>,
    /// The extension without that of the compression, in lower case.
    pub(super) extension: String,
    pub(super) content: Content<'a>,
}

pub(super) enum Content<'a> {
    Folder(PathBuf),
    Parquet(File),
    Text {
        /// The beginning.
        head: Vec<u8>,
        /// The whole.
        reader: TextReader<'a>,
    },
}

impl<'a> Source<'a> {
    pub(super) fn open(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            return Self::text("stdin", None, std::io::stdin());
        }
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| Error::file(path, &error))?;
        let metadata = file.metadata().map_err(|error| Error::file(path, &error))?;
        if metadata.is_dir() {
            return Ok(Source {
                name,
                path: Some(path.to_owned()),
                extension: String::new(),
                content: Content::Folder(path.to_owned()),
            });
        }
        let mut source = Self::text(&name, Some(path), file)?;
        if let Content::Text { head, .. } = &source.content {
            let empty = head.is_empty();
            if head.starts_with(b"PAR1")
                || (!empty && matches!(source.extension.as_str(), "parquet" | "pq"))
            {
                // Parquet is read from its end, so it needs the file itself.
                let file = File::open(path).map_err(|error| Error::file(path, &error))?;
                source.content = Content::Parquet(file);
            }
        }
        Ok(source)
    }

    /// Text that comes from any reader.
    pub(super) fn text(
        name: &str,
        path: Option<&Path>,
        reader: impl Read + 'a,
    ) -> Result<Source<'a>> {
        let (head, reader) = unzip(name, reader)?;
        if head.is_empty() {
            return Err(Error::no_documents(name, "an empty file"));
        }
        Ok(Source {
            name: name.to_owned(),
            path: path.map(Path::to_owned),
            extension: path.map(extension).unwrap_or_default(),
            content: Content::Text { head, reader },
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
            Content::Text { head, .. } => {
                if let Some(found) = not_text(head) {
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

/// A place in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct At<'n> {
    pub(super) path: &'n str,
    /// From 1.
    pub(super) line: u64,
}

impl At<'_> {
    /// The error of what was found here.
    pub(super) fn refuse(self, found: impl Into<String>, expected: impl Into<String>) -> Error {
        Error::line(self.path, self.line, found, expected)
    }
}

/// Reads lines one after the other into the same buffer.
pub(super) struct Lines<'n, R> {
    pub(super) path: &'n str,
    reader: R,
    line: u64,
    bytes: Vec<u8>,
}

impl<'n, R: BufRead> Lines<'n, R> {
    pub(super) fn new(path: &'n str, reader: R) -> Self {
        Lines {
            path,
            reader,
            line: 0,
            bytes: Vec::new(),
        }
    }

    /// The next line without its end, and without the mark some programs put at the beginning of UTF-8.
    pub(super) fn next(&mut self) -> Result<Option<(At<'n>, &[u8])>> {
        self.bytes.clear();
        let read = self
            .reader
            .read_until(b'\n', &mut self.bytes)
            .map_err(|error| text_error(self.path, &error))?;
        if read == 0 {
            return Ok(None);
        }
        self.line += 1;
        let mut bytes = self.bytes.as_slice();
        bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        if self.line == 1 {
            bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        }
        let at = At {
            path: self.path,
            line: self.line,
        };
        Ok(Some((at, bytes)))
    }
}

/// The text of `bytes`, whose first line is at `at`, and whether any were replaced.
pub(super) fn decode<'b>(
    at: At<'_>,
    bytes: &'b [u8],
    invalid: InvalidUtf8,
) -> Result<(Cow<'b, str>, bool)> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok((Cow::Borrowed(text), false)),
        Err(_) if invalid == InvalidUtf8::Replace => Ok((String::from_utf8_lossy(bytes), true)),
        Err(error) => {
            let (lines, byte) = position(bytes, error.valid_up_to());
            let place = FilePlace::Line(at.line + lines);
            Err(Error::at(at.path, place, Problem::Utf8 { byte }))
        }
    }
}
