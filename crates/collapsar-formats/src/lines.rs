//! Decides how text is cut into lines and lines into fields, and what a refusal names.

use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;

use crate::error::{Error, FilePlace, Result, quoted};
use crate::open::{ContentReader, Opened, text_error};

/// Reads lines one after the other into the same buffer.
pub(crate) struct Lines {
    pub(crate) path: String,
    reader: ContentReader,
    /// The present line's number, from 1.
    pub(crate) line: u64,
    /// The present line without its end.
    pub(crate) bytes: Vec<u8>,
}

impl Lines {
    pub(crate) fn new(input: Opened) -> Self {
        Lines {
            path: input.name,
            reader: input.reader,
            line: 0,
            bytes: Vec::with_capacity(1 << 10),
        }
    }

    /// Opens text that is not empty; `expected` says what it should be.
    pub(crate) fn open(path: &Path, expected: &str) -> Result<Self> {
        let input = Opened::open(path)?;
        let found = match input.head.as_slice() {
            [] => Some("an empty file"),
            [b'B', b'A', b'M', 1, ..] => Some("alignments in BAM"),
            [b'C', b'R', b'A', b'M', ..] => Some("alignments in CRAM"),
            _ => input.not_text(),
        };
        match found {
            Some(found) => Err(Error::content(input.name, found, expected)),
            None => Ok(Self::new(input)),
        }
    }

    /// Goes on to the next line; false at the end.
    pub(crate) fn next(&mut self) -> Result<bool> {
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
    pub(crate) fn next_filled(&mut self) -> Result<bool> {
        while self.next()? {
            if !self.bytes.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The first byte of the next line.
    pub(crate) fn peek(&mut self) -> Result<Option<u8>> {
        self.reader
            .fill_buf()
            .map(|bytes| bytes.first().copied())
            .map_err(|error| text_error(&self.path, &error))
    }

    /// The present line, which must be UTF-8.
    pub(crate) fn text(&self) -> Result<&str> {
        self.decode(&self.bytes)
    }

    /// A part of the present line, which must be UTF-8.
    pub(crate) fn decode<'b>(&self, bytes: &'b [u8]) -> Result<&'b str> {
        std::str::from_utf8(bytes).map_err(|_| Error::encoding(&self.path, self.line))
    }

    pub(crate) fn place(&self) -> FilePlace {
        FilePlace::Line(self.line)
    }

    /// The error of a line that has more or fewer fields than the first.
    pub(crate) fn ragged(&self, found: usize, expected: usize) -> Error {
        Error::ragged(&self.path, self.line, found, expected)
    }

    /// The error of what was found in the present line.
    #[cold]
    pub(crate) fn refuse(&self, found: impl Into<String>, expected: impl Into<String>) -> Error {
        Error::line(&self.path, self.line, found, expected)
    }

    /// Refuses transcripts that stand twice; `lines` has the line of each.
    pub(crate) fn unique<'a>(
        &self,
        names: impl IntoIterator<Item = &'a String>,
        lines: &[u64],
    ) -> Result<()> {
        let mut seen: HashMap<&str, u64> = HashMap::with_capacity(lines.len());
        for (name, &line) in names.into_iter().zip(lines) {
            if let Some(before) = seen.insert(name, line) {
                let found = format!("transcript {name:?} as in line {before}");
                return Err(Error::line(&self.path, line, found, "each transcript once"));
            }
        }
        Ok(())
    }
}

/// The fields of a line, between runs of white space.
pub(crate) fn fields(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes
        .split(u8::is_ascii_whitespace)
        .filter(|field| !field.is_empty())
}

/// The first fields of a line, `None` past its end.
pub(crate) fn first<const N: usize>(bytes: &[u8]) -> [Option<&[u8]>; N] {
    let mut fields = fields(bytes);
    [(); N].map(|()| fields.next())
}

/// A field as an error shows it.
pub(crate) fn shown(bytes: &[u8]) -> String {
    quoted(&String::from_utf8_lossy(bytes))
}

/// A field without the quotes around it.
pub(crate) fn unquoted(field: &str) -> &str {
    let inner = field.strip_prefix('"');
    inner
        .and_then(|inner| inner.strip_suffix('"'))
        .unwrap_or(field)
}

/// A whole number of digits only.
pub(crate) fn whole(bytes: &[u8]) -> Option<u64> {
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
