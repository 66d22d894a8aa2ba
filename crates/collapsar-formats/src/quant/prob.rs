//! Reads BitSeq's probabilities of reads given transcripts, one read after the other; `line` parses a line.

mod line;

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use collapsar::limits::TRANSCRIPTS;

use crate::error::{Error, Result, count};

use crate::lines::{Lines, fields, shown, whole};

use line::{Cursor, Fault, Scale};

const EXPECTED: &str = "a .prob file as BitSeq's parseAlignment writes it";

/// What the beginning of a `.prob` file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbHeader {
    /// Reads, with those that have no alignment.
    pub reads: u64,
    /// Reads with alignments, each of which has a line.
    pub mapped: u64,
    /// Transcripts, noise not among them.
    pub transcripts: usize,
}

/// Streams a `.prob` file.
pub struct ProbReader {
    lines: Lines,
    header: ProbHeader,
    scale: Scale,
    /// Reads so far.
    read: u64,
    /// The last read's name in its line.
    name: Range<usize>,
}

impl ProbReader {
    /// Opens a file and reads its header; `-` is standard input.
    ///
    /// # Errors
    ///
    /// A file that cannot be read or does not begin as `.prob` files do.
    pub fn open(path: &Path) -> Result<Self> {
        let mut lines = Lines::open(path, EXPECTED)?;
        let (mut reads, mut mapped, mut transcripts, mut scale) = (None, None, None, None);
        while let Some(b'#' | b'\n' | b'\r' | b'\xef') = lines.peek()? {
            lines.next()?;
            let mut parts = fields(lines.bytes.strip_prefix(b"#").unwrap_or_default());
            let number = match parts.next() {
                Some(b"Ntotal") => &mut reads,
                Some(b"Nmap") => &mut mapped,
                Some(b"M") => &mut transcripts,
                Some(b"LOGFORMAT") => {
                    scale = Some(Scale::Log);
                    continue;
                }
                Some(b"NEWFORMAT") => {
                    scale = Some(Scale::Linear);
                    continue;
                }
                _ => continue,
            };
            *number = Some(parts.next().and_then(whole).ok_or_else(|| {
                let found = shown(&lines.bytes);
                lines.refuse(found, "a whole number after the name")
            })?);
        }
        let refuse = |found: &str, expected: &str| Error::content(&lines.path, found, expected);
        let (Some(reads), Some(mapped), Some(transcripts)) = (reads, mapped, transcripts) else {
            let missing = [(reads, "Ntotal"), (mapped, "Nmap"), (transcripts, "M")];
            let names = missing.iter().filter(|(number, _)| number.is_none());
            let names: Vec<&str> = names.map(|(_, name)| *name).collect();
            let found = format!("no # {} at the beginning", names.join(", no # "));
            return Err(refuse(&found, EXPECTED));
        };
        let Some(scale) = scale else {
            let found = "neither # LOGFORMAT nor # NEWFORMAT at the beginning, as in an old version of the format";
            let error = refuse(found, "one of them");
            return Err(error.trying("making it again with parseAlignment of BitSeq 0.7"));
        };
        if transcripts == 0 || transcripts > TRANSCRIPTS {
            let found = format!("# M {transcripts}");
            let expected = format!("from 1 to {TRANSCRIPTS} transcripts");
            return Err(refuse(&found, &expected));
        }
        if mapped > reads {
            let found = format!("# Nmap {mapped} of # Ntotal {reads}");
            return Err(refuse(&found, "no more mapped reads than reads"));
        }
        Ok(ProbReader {
            lines,
            header: ProbHeader {
                reads,
                mapped,
                transcripts: transcripts as usize,
            },
            scale,
            read: 0,
            name: 0..0,
        })
    }

    /// What the beginning of the file says.
    pub fn header(&self) -> &ProbHeader {
        &self.header
    }

    /// The last read's name.
    pub fn name(&self) -> Cow<'_, str> {
        let name = self.lines.bytes.get(self.name.clone());
        String::from_utf8_lossy(name.unwrap_or_default())
    }

    /// The last read's line, from 1.
    pub fn line(&self) -> u64 {
        self.lines.line
    }

    /// Replaces `entries` by those of the next read: a transcript's number, from 1, or 0 for noise, and
    /// the natural logarithm of the read's probability. Entries of probability 0 are left out; a
    /// transcript may come more than once. False at the end.
    ///
    /// # Errors
    ///
    /// A line that is not a read, and a number of reads other than the header's.
    pub fn next(&mut self, entries: &mut Vec<(u32, f64)>) -> Result<bool> {
        entries.clear();
        loop {
            if !self.lines.next()? {
                return self.finish();
            }
            let mut cursor = Cursor::new(&self.lines.bytes);
            if cursor.at_end() {
                continue;
            }
            self.name = cursor.field();
            self.read += 1;
            if self.read > self.header.mapped {
                let found = format!("a read more, {:?}", self.name());
                let mapped = count(self.header.mapped, "read");
                let expected = format!("{mapped} as # Nmap at the beginning says");
                return Err(self.lines.refuse(found, expected));
            }
            let last = self.header.transcripts as u64;
            return match cursor.entries(self.scale, last, entries) {
                Ok(()) => Ok(true),
                Err(fault) => Err(self.refuse(&fault)),
            };
        }
    }

    fn finish(&mut self) -> Result<bool> {
        self.name = 0..0;
        if self.read < self.header.mapped {
            let (read, mapped) = (self.read, self.header.mapped);
            let cause = format!("it ends after {read} of {mapped} reads");
            return Err(Error::damaged(&self.lines.path, ".prob", cause));
        }
        Ok(false)
    }

    #[cold]
    fn refuse(&self, fault: &Fault) -> Error {
        let field = |range: &Range<usize>| shown(&self.lines.bytes[range.clone()]);
        let (found, expected): (String, String) = match fault {
            Fault::Number(range) if range.is_empty() => (
                "nothing after its name".into(),
                "its number of alignments".into(),
            ),
            Fault::Number(range) => {
                let found = format!("{} alignments", field(range));
                (found, "a whole number from 1".into())
            }
            Fault::Transcript(range) => {
                let last = self.header.transcripts;
                let expected =
                    format!("a whole number from 0 to {last} as # M at the beginning says");
                (format!("transcript {}", field(range)), expected)
            }
            Fault::Probability(range) if range.is_empty() => {
                let expected = "pairs of a transcript and a probability";
                ("a transcript without a probability".into(), expected.into())
            }
            Fault::Probability(range) => {
                let expected = match self.scale {
                    Scale::Log => "a finite logarithm or -inf",
                    Scale::Linear => "a finite number from 0",
                };
                (format!("probability {}", field(range)), expected.into())
            }
            Fault::Pairs(pairs, claimed) => {
                let expected = format!("{claimed} as its second field says");
                (count(*pairs, "alignment"), expected)
            }
            Fault::Impossible => {
                let found = "no alignment of a probability above 0";
                (found.into(), "at least one".into())
            }
        };
        let found = format!("read {} has {found}", field(&self.name));
        self.lines.refuse(found, expected)
    }
}

#[cfg(test)]
mod tests;
