//! Splits text into records of trimmed fields, knowing the line each one begins in.
//!
//! We cut lines ourselves and leave quoted fields to `csv-core`. The reader of the `csv` crate (1.4) counts
//! differently: the second line of a CRLF file is its line 1, and a record after blank lines gets the line of
//! the first of them. Nor can it split on runs of spaces.

use std::io::{self, BufRead};

use crate::error::{Error, Result};

/// What separates the fields of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delimiter {
    Byte(u8),
    /// Any run of spaces and tabs.
    Spaces,
}

impl Delimiter {
    /// Guesses from the extension, then from the first lines: the delimiter the extension names, if the
    /// first line has it, else the next likely one it has.
    pub(crate) fn guess(extension: &str, head: &[u8]) -> Self {
        let mut lines = head
            .split(|&b| b == b'\n')
            .map(<[u8]>::trim_ascii)
            .filter(|line| !line.is_empty());
        let Some(first) = lines.next() else {
            return Delimiter::Byte(b',');
        };
        let order = match extension {
            "csv" => [b',', b';', b'\t'],
            _ => [b'\t', b',', b';'],
        };
        let mut quoted = false;
        let bare: Vec<u8> = first
            .iter()
            .copied()
            .filter(|&b| {
                quoted ^= b == b'"';
                !quoted
            })
            .collect();
        if let Some(&byte) = order.iter().find(|byte| bare.contains(byte)) {
            return Delimiter::Byte(byte);
        }
        // A single column named "sepal length" has a space too, so the second line must agree. One
        // field more is R's write.table, whose header leaves out the row names.
        let width = |line: &[u8]| {
            line.split(u8::is_ascii_whitespace)
                .filter(|field| !field.is_empty())
                .count()
        };
        let found = width(first);
        let spaces = match lines.next().map(width) {
            Some(next) => (found > 1 && next == found) || next == found + 1,
            None => found > 1,
        };
        if spaces {
            Delimiter::Spaces
        } else {
            Delimiter::Byte(order[0])
        }
    }
}

/// Only decompression fails in these ways; a plain file gives the system's own errors.
pub(crate) fn text_error(path: &str, error: &io::Error) -> Error {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    match error.kind() {
        UnexpectedEof | InvalidData | InvalidInput => Error::damaged(path, "gzip", error),
        _ => Error::file(path, error),
    }
}

/// The fields of one record.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    /// The line the record begins in, from 1.
    pub(crate) line: u64,
    text: String,
    spans: Vec<(usize, usize)>,
}

impl Record {
    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    /// A field without the white space around it; empty past the end.
    pub(crate) fn get(&self, index: usize) -> &str {
        self.spans
            .get(index)
            .map_or("", |&(start, end)| &self.text[start..end])
    }

    pub(crate) fn fields(&self) -> impl Iterator<Item = &str> {
        self.spans
            .iter()
            .map(|&(start, end)| &self.text[start..end])
    }

    fn push(&mut self, start: usize, end: usize) {
        let field = &self.text[start..end];
        let left = field.len() - field.trim_start().len();
        let start = if field.trim().is_empty() {
            end
        } else {
            start + left
        };
        self.spans
            .push((start, start + self.text[start..end].trim_end().len()));
    }
}

/// Reads records one after the other into the same buffers.
pub(crate) struct Records<R> {
    path: String,
    reader: R,
    delimiter: Delimiter,
    line: u64,
    bytes: Vec<u8>,
    core: csv_core::Reader,
    output: Vec<u8>,
    ends: Vec<usize>,
}

impl<R: BufRead> Records<R> {
    pub(crate) fn new(path: &str, reader: R, delimiter: Delimiter) -> Self {
        let byte = match delimiter {
            Delimiter::Byte(byte) => byte,
            Delimiter::Spaces => b' ',
        };
        Records {
            path: path.to_owned(),
            reader,
            delimiter,
            line: 0,
            bytes: Vec::new(),
            core: csv_core::ReaderBuilder::new().delimiter(byte).build(),
            output: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Reads the next record that is not blank; `false` at the end.
    pub(crate) fn next(&mut self, record: &mut Record) -> Result<bool> {
        record.spans.clear();
        record.text.clear();
        loop {
            self.bytes.clear();
            if !self.append()? {
                return Ok(false);
            }
            if self.line == 1 && self.bytes.starts_with(b"\xef\xbb\xbf") {
                self.bytes.drain(..3);
            }
            if !self.bytes.trim_ascii().is_empty() {
                break;
            }
        }
        record.line = self.line;
        let Delimiter::Byte(delimiter) = self.delimiter else {
            self.copy(record)?;
            let base = record.text.as_ptr() as usize;
            let spans: Vec<(usize, usize)> = record
                .text
                .split_whitespace()
                .map(|field| {
                    field
                        .strip_prefix('"')
                        .and_then(|f| f.strip_suffix('"'))
                        .unwrap_or(field)
                })
                .map(|field| {
                    let start = field.as_ptr() as usize - base;
                    (start, start + field.len())
                })
                .collect();
            record.spans = spans;
            return Ok(true);
        };
        if self.bytes.contains(&b'"') {
            self.unquote(record)?;
            return Ok(true);
        }
        self.copy(record)?;
        let mut start = 0;
        for index in 0..record.text.len() {
            if record.text.as_bytes()[index] == delimiter {
                record.push(start, index);
                start = index + 1;
            }
        }
        record.push(start, record.text.len());
        Ok(true)
    }

    /// Appends one line, its end included; `false` at the end of the file.
    fn append(&mut self) -> Result<bool> {
        let read = self
            .reader
            .read_until(b'\n', &mut self.bytes)
            .map_err(|error| text_error(&self.path, &error))?;
        self.line += u64::from(read > 0);
        Ok(read > 0)
    }

    fn copy(&self, record: &mut Record) -> Result<()> {
        let text = std::str::from_utf8(&self.bytes).map_err(|_| Error::Encoding {
            path: self.path.clone(),
            line: record.line,
        })?;
        record.text.push_str(text.trim_end_matches(['\n', '\r']));
        Ok(())
    }

    /// A record with quotes, which may go on over several lines.
    fn unquote(&mut self, record: &mut Record) -> Result<()> {
        let odd = |bytes: &[u8]| bytes.iter().fold(false, |odd, &byte| odd ^ (byte == b'"'));
        let mut open = odd(&self.bytes);
        while open {
            let before = self.bytes.len();
            if !self.append()? {
                return Err(Error::Quote {
                    path: self.path.clone(),
                    line: record.line,
                });
            }
            open ^= odd(&self.bytes[before..]);
        }
        self.bytes.push(b'\n');
        // A record never grows when its quotes go, so these sizes make one call enough.
        self.output.resize(self.bytes.len(), 0);
        self.ends.resize(self.bytes.len() + 1, 0);
        self.core.reset();
        let (result, _, written, fields) =
            self.core
                .read_record(&self.bytes, &mut self.output, &mut self.ends);
        if result != csv_core::ReadRecordResult::Record {
            return Err(Error::Quote {
                path: self.path.clone(),
                line: record.line,
            });
        }
        let text = std::str::from_utf8(&self.output[..written]).map_err(|_| Error::Encoding {
            path: self.path.clone(),
            line: record.line,
        })?;
        record.text.push_str(text);
        let mut start = 0;
        for &end in &self.ends[..fields] {
            record.push(start, end);
            start = end;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str, delimiter: Delimiter) -> Vec<(u64, Vec<String>)> {
        let mut records = Records::new("t.csv", text.as_bytes(), delimiter);
        let mut record = Record::default();
        let mut out = Vec::new();
        while records.next(&mut record).unwrap() {
            out.push((record.line, record.fields().map(str::to_owned).collect()));
        }
        out
    }

    #[test]
    fn lines_are_exact() {
        let text = "\u{feff}a, b \r\n\r\n1,2\r\n\n\"x\ny\",\"say \"\"hi\"\"\"\n3,\n , 5";
        let found = all(text, Delimiter::Byte(b','));
        let expected = [
            (1, "a|b"),
            (3, "1|2"),
            (5, "x\ny|say \"hi\""),
            (7, "3|"),
            (8, "|5"),
        ];
        let joined: Vec<(u64, String)> = found
            .into_iter()
            .map(|(line, fields)| (line, fields.join("|")))
            .collect();
        assert_eq!(
            joined,
            expected.map(|(line, fields)| (line, fields.to_owned()))
        );
    }

    #[test]
    fn runs_of_spaces() {
        let found = all("  \"a\"\t b\n1   2 \n", Delimiter::Spaces);
        assert_eq!(
            found,
            [
                (1, vec!["a".into(), "b".into()]),
                (2, vec!["1".into(), "2".into()])
            ]
        );
    }

    #[test]
    fn guesses() {
        use Delimiter::{Byte, Spaces};
        for (extension, head, expected) in [
            ("csv", "a,b\n1,2", Byte(b',')),
            ("csv", "a;b\n1,5;2,5", Byte(b';')),
            ("csv", "\"a;x\",b\n", Byte(b',')),
            ("tsv", "a\tb,c\n", Byte(b'\t')),
            ("tsv", "a,b\n", Byte(b',')),
            ("csv", "sepal length\n1\n2\n", Byte(b',')),
            ("txt", "\n1 2 3\n4 5 6\n", Spaces),
            ("txt", "a b\n1 2 3\n", Spaces),
            ("txt", "a,b\n", Byte(b',')),
            ("", "", Byte(b',')),
        ] {
            assert_eq!(
                Delimiter::guess(extension, head.as_bytes()),
                expected,
                "{extension} {head:?}"
            );
        }
    }
}
