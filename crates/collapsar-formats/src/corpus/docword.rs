//! Reads the UCI bag of words: three lines of totals, then a document, a word and a count a line.

use crate::error::{Error, Result};
use crate::lines::{Lines, shown, whole};

use super::coordinates::{self, Header};
use super::entries::{Counted, Total};
use super::numbers::{Known, Zero};

pub(super) fn read(mut lines: Lines, known: &Known) -> Result<Counted> {
    let header = Header {
        format: "docword",
        nouns: ["document", "word"],
        holds: "a document, a word and a count",
        pattern: false,
        zero: Zero::Refused,
        documents: total(&mut lines, "the number of documents")?,
        words: total(&mut lines, "the number of words")?,
        entries: total(&mut lines, "the number of entries")?,
    };
    for (total, noun) in [(header.documents, "documents"), (header.words, "words")] {
        if !(1..=u64::from(u32::MAX)).contains(&total.number) {
            let found = format!("{} {noun}", total.number);
            let expected = format!("a number from 1 to {}", u32::MAX);
            return Err(Error::line(lines.path(), total.line, found, expected));
        }
    }
    let blank = |bytes: &[u8]| bytes.trim_ascii().is_empty();
    coordinates::read(lines, known, &header, blank)
}

/// One of the totals at the beginning.
fn total(lines: &mut Lines, what: &str) -> Result<Total> {
    if !lines.next_filled()? {
        let cause = format!("it ends before {what}");
        return Err(Error::damaged(lines.path(), "docword", cause));
    }
    let bytes = lines.bytes().trim_ascii();
    let number = whole(bytes).ok_or_else(|| lines.refuse(shown(bytes), what))?;
    let line = lines.line();
    Ok(Total { number, line })
}
