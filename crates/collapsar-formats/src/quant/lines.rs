//! Decides how a path opens, how lines are cut and what a refusal names.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::error::{Error, FilePlace, Problem, Result, shortened};
use crate::records::text_error;
use crate::table::not_text;

/// How much of a file decides what it is.
const HEAD: u64 = 1 << 10;

/// Content, unzipped; it may go to another thread.
pub(super) type Content = BufReader<Box<dyn Read + Send>>;

/// The path as errors show it.
pub(super) fn name_of(path: &Path) -> String {
    if path == Path::new("-") {
        "stdin".to_owned()
    } else {
        path.display().to_string()
    }
}

/// The path as errors show it, and the content of a file, unzipped if its first bytes say so; `-` is
/// standard input.
pub(super) fn open(path: &Path) -> Result<(String, Content)> {
    let name = name_of(path);
    let mut reader: Box<dyn Read + Send> = if path == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        Box::new(File::open(path).map_err(|error| Error::file(path, &error))?)
    };
    let mut head = Vec::new();
    reader
        .by_ref()
        .take(HEAD)
        .read_to_end(&mut head)
        .map_err(|error| Error::file(&name, &error))?;
    let zipped = head.starts_with(b"\x1f\x8b");
    // Not by seeking back: the path may be a pipe.
    let whole = Cursor::new(head).chain(reader);
    let content: Box<dyn Read + Send> = if zipped {
        // Of several members, as bgzip and concatenation make them.
        Box::new(MultiGzDecoder::new(BufReader::with_capacity(
            1 << 16,
            whole,
        )))
    } else {
        Box::new(whole)
    };
    Ok((name, BufReader::with_capacity(1 << 16, content)))
}

/// Reads lines one after the other into the same buffer.
pub(super) struct Lines {
    path: String,
    reader: Content,
    line: u64,
    bytes: Vec<u8>,
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines")
            .field("path", &self.path)
            .field("line", &self.line)
            .finish_non_exhaustive()
    }
}

impl Lines {
    /// Opens text that is not empty; `expected` says what it should be.
    pub(super) fn open(path: &Path, expected: &'static str) -> Result<Self> {
        let (path, mut reader) = open(path)?;
        let head = reader
            .fill_buf()
            .map_err(|error| text_error(&path, &error))?;
        let found = match head {
            [] => Some("an empty file"),
            head if head.starts_with(b"BAM\x01") => Some("alignments in BAM"),
            head if head.starts_with(b"CRAM") => Some("alignments in CRAM"),
            head => not_text(head),
        };
        if let Some(found) = found {
            return Err(Error::content(path, found, expected));
        }
        Ok(Lines {
            path,
            reader,
            line: 0,
            bytes: Vec::with_capacity(1 << 10),
        })
    }

    /// Goes on to the next line; false at the end.
    pub(super) fn next(&mut self) -> Result<bool> {
        self.bytes.clear();
        let read = self
            .reader
            .read_until(b'\n', &mut self.bytes)
            .map_err(|error| text_error(&self.path, &error))?;
        if read == 0 {
            return Ok(false);
        }
        self.line += 1;
        if self.bytes.ends_with(b"\n") {
            self.bytes.pop();
        }
        if self.bytes.ends_with(b"\r") {
            self.bytes.pop();
        }
        // The mark that some programs put at the beginning of UTF-8.
        if self.line == 1 && self.bytes.starts_with(b"\xef\xbb\xbf") {
            self.bytes.drain(..3);
        }
        Ok(true)
    }

    /// Goes on to the next line that is not blank; false at the end.
    pub(super) fn next_filled(&mut self) -> Result<bool> {
        while self.next()? {
            if !self.bytes.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The first byte of the next line.
    pub(super) fn peek(&mut self) -> Result<Option<u8>> {
        self.reader
            .fill_buf()
            .map(|bytes| bytes.first().copied())
            .map_err(|error| text_error(&self.path, &error))
    }

    /// The present line without its end.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The present line, which must be UTF-8.
    pub(super) fn text(&self) -> Result<&str> {
        self.decode(&self.bytes)
    }

    /// A part of the present line, which must be UTF-8.
    pub(super) fn decode<'b>(&self, bytes: &'b [u8]) -> Result<&'b str> {
        std::str::from_utf8(bytes).map_err(|_| Error::encoding(&self.path, self.line))
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The present line's number, from 1.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// The error of a line that has more or fewer fields than the first.
    pub(super) fn ragged(&self, found: usize, expected: usize) -> Error {
        let ragged = Problem::Ragged { found, expected };
        Error::at(&self.path, FilePlace::Line(self.line), ragged)
    }

    /// The error of what was found in the present line.
    #[cold]
    pub(super) fn refuse(&self, found: impl Into<String>, expected: impl Into<String>) -> Error {
        Error::line(&self.path, self.line, found, expected)
    }
}

/// Refuses names that stand twice; `lines` has the line of each.
pub(super) fn unique<'a>(
    path: &str,
    noun: &str,
    names: impl IntoIterator<Item = &'a String>,
    lines: &[u64],
) -> Result<()> {
    let mut seen: HashMap<&str, u64> = HashMap::with_capacity(lines.len());
    for (name, &line) in names.into_iter().zip(lines) {
        if let Some(before) = seen.insert(name, line) {
            let found = format!("{noun} {name:?} as in line {before}");
            return Err(Error::line(path, line, found, format!("each {noun} once")));
        }
    }
    Ok(())
}

/// The fields of a line, between runs of white space.
pub(super) fn fields(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes
        .split(u8::is_ascii_whitespace)
        .filter(|field| !field.is_empty())
}

/// A field as an error shows it.
pub(super) fn shown(bytes: &[u8]) -> String {
    format!("{:?}", shortened(&String::from_utf8_lossy(bytes), 40))
}

/// A whole number of digits only.
pub(super) fn whole(bytes: &[u8]) -> Option<u64> {
    if bytes.is_empty() {
        return None;
    }
    bytes.iter().try_fold(0u64, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}
