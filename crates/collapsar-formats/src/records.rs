//! Splits text into records of trimmed fields, knowing the line each one begins in.
//!
//! We cut lines ourselves and leave quoted fields to `csv-core`. The reader of the `csv` crate (1.4) counts
//! differently: the second line of a CRLF file is its line 1, and a record after blank lines gets the line of
//! the first of them. Nor can it split on runs of spaces.

use std::io::BufRead;

use crate::error::{Error, Result};
use crate::lines::{fields, unquoted};
use crate::open::text_error;

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
        let width = |line| fields(line).count();
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

/// How many lines end before the byte at `index`, and which byte of its own line it is, from 1.
pub(crate) fn position(bytes: &[u8], index: usize) -> (u64, u64) {
    let before = &bytes[..index.min(bytes.len())];
    let lines = before.split(|&byte| byte == b'\n').count() - 1;
    let line = before.iter().rev().take_while(|&&byte| byte != b'\n');
    (lines as u64, line.count() as u64 + 1)
}

/// The fields of one record.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    /// The line the record begins in, from 1.
    pub(crate) line: u64,
    /// The line and the byte in it, from 1, of the first byte that was not UTF-8 and has been replaced.
    pub(crate) replaced: Option<(u64, u64)>,
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
        let field = self.text[start..end].trim_start();
        let start = end - field.len();
        self.spans.push((start, start + field.trim_end().len()));
    }
}

/// Reads records one after the other into the same buffers.
pub(crate) struct Records<R> {
    pub(crate) path: String,
    reader: R,
    pub(crate) delimiter: Delimiter,
    /// Whether bytes that are not UTF-8 are replaced.
    replace: bool,
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
            replace: false,
            line: 0,
            bytes: Vec::new(),
            // Lines are cut here: left to itself csv-core would also end a record at a lone carriage
            // return, and the rest of the line would be lost.
            core: csv_core::ReaderBuilder::new()
                .delimiter(byte)
                .terminator(csv_core::Terminator::Any(b'\n'))
                .build(),
            output: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Replaces what is not UTF-8 by `\u{fffd}` from here on, where otherwise it is refused.
    pub(crate) fn replacing(mut self) -> Self {
        self.replace = true;
        self
    }

    /// Reads the next record that is not blank; `false` at the end.
    pub(crate) fn next(&mut self, record: &mut Record) -> Result<bool> {
        record.spans.clear();
        record.text.clear();
        record.replaced = None;
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
            let Record { text, spans, .. } = record;
            spans.extend(text.split_whitespace().map(|field| {
                let field = unquoted(field);
                let start = field.as_ptr() as usize - text.as_ptr() as usize;
                (start, start + field.len())
            }));
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

    fn copy(&mut self, record: &mut Record) -> Result<()> {
        self.mend(record, 0);
        let text = std::str::from_utf8(&self.bytes)
            .map_err(|_| Error::encoding(&self.path, record.line))?;
        record.text.push_str(text.trim_end_matches(['\n', '\r']));
        Ok(())
    }

    /// Makes the bytes of a record from `start` on UTF-8, if what is not is replaced.
    fn mend(&mut self, record: &mut Record, start: usize) {
        if self.replace
            && let Err(error) = std::str::from_utf8(&self.bytes[start..])
        {
            let (lines, byte) = position(&self.bytes, start + error.valid_up_to());
            record.replaced = record.replaced.or(Some((record.line + lines, byte)));
            let text = String::from_utf8_lossy(&self.bytes[start..]).into_owned();
            self.bytes.truncate(start);
            self.bytes.extend_from_slice(text.as_bytes());
        }
    }

    /// A record with quotes, which may go on over several lines. Only a quote that opens a field counts:
    /// one inside, as in `12" screen`, is a character like any other.
    fn unquote(&mut self, record: &mut Record) -> Result<()> {
        use csv_core::ReadRecordResult::Record as Whole;
        self.core.reset();
        let (mut read, mut written, mut fields) = (0, 0, 0);
        loop {
            self.mend(record, read);
            // A record never grows when its quotes go.
            self.output.resize(self.bytes.len(), 0);
            self.ends.resize(self.bytes.len() + 1, 0);
            let (result, taken, wrote, ended) = self.core.read_record(
                &self.bytes[read..],
                &mut self.output[written..],
                &mut self.ends[fields..],
            );
            (read, written, fields) = (read + taken, written + wrote, fields + ended);
            if result == Whole {
                break;
            } else if !self.bytes.ends_with(b"\n") {
                // The last line of a file need not end.
                self.bytes.push(b'\n');
            } else if !self.append()? {
                let found = "a quote opens and never closes";
                let expected = "a closing \"";
                return Err(Error::line(&self.path, record.line, found, expected));
            }
        }
        let text = std::str::from_utf8(&self.output[..written])
            .map_err(|_| Error::encoding(&self.path, record.line))?;
        record.text.push_str(text);
        let mut start = 0;
        for &end in &self.ends[..fields] {
            // Bytes of two fields may make a character that neither has.
            if !text.is_char_boundary(end) {
                return Err(Error::encoding(&self.path, record.line));
            }
            record.push(start, end);
            start = end;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line of each record and its fields, bars between them.
    fn all(text: &str, delimiter: Delimiter) -> Vec<(u64, String)> {
        let mut records = Records::new("t.csv", text.as_bytes(), delimiter);
        let mut record = Record::default();
        let mut out = Vec::new();
        while records.next(&mut record).unwrap() {
            let fields: Vec<&str> = record.fields().collect();
            out.push((record.line, fields.join("|")));
        }
        out
    }

    fn check(text: &str, delimiter: Delimiter, expected: &[(u64, &str)]) {
        let owned = |&(line, fields): &(u64, &str)| (line, fields.to_owned());
        let expected: Vec<(u64, String)> = expected.iter().map(owned).collect();
        assert_eq!(all(text, delimiter), expected);
    }

    #[test]
    fn lines_are_exact() {
        let text = "\u{feff}a, b \r\n\r\n1,2\r\n\n\"x\ny\",\"say \"\"hi\"\"\"\n3,\n , 5";
        let expected = [
            (1, "a|b"),
            (3, "1|2"),
            (5, "x\ny|say \"hi\""),
            (7, "3|"),
            (8, "|5"),
        ];
        check(text, Delimiter::Byte(b','), &expected);
    }

    #[test]
    fn quotes_count_where_a_field_begins() {
        let text = "a,12\" screen\nb,\"x\" y\",z\nc\rd,\"e\"\n\"q\"\"\n,\",r\n";
        let expected = [
            (1, "a|12\" screen"),
            (2, "b|x y\"|z"),
            (3, "c\rd|e"),
            (4, "q\"\n,|r"),
        ];
        check(text, Delimiter::Byte(b','), &expected);
    }

    #[test]
    fn a_character_of_two_fields_is_none() {
        let text = b"\"x\",y,z\n\"1\",\xce,\x93\n";
        let mut records = Records::new("t.csv", &text[..], Delimiter::Byte(b','));
        let mut record = Record::default();
        assert!(records.next(&mut record).unwrap());
        let refused = records.next(&mut record).unwrap_err().to_string();
        assert!(refused.starts_with("t.csv:2: "), "{refused}");
    }

    #[test]
    fn what_is_not_utf8_can_be_replaced() {
        let text = b"a,b\n\"x\ny\xff\",\xe9\n";
        let mut records = Records::new("t.csv", &text[..], Delimiter::Byte(b',')).replacing();
        let mut record = Record::default();
        assert!(records.next(&mut record).unwrap() && record.replaced.is_none());
        assert!(records.next(&mut record).unwrap());
        assert_eq!((record.get(0), record.get(1)), ("x\ny\u{fffd}", "\u{fffd}"));
        assert_eq!(record.replaced, Some((3, 2)));
    }

    #[test]
    fn runs_of_spaces() {
        let text = "  \"a\"\t b\n1   2 \n";
        check(text, Delimiter::Spaces, &[(1, "a|b"), (2, "1|2")]);
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
            let found = Delimiter::guess(extension, head.as_bytes());
            assert_eq!(found, expected, "{extension} {head:?}");
        }
    }
}
