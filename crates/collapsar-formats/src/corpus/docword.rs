//! Reads the UCI bag of words: three lines of totals, then a document, a word and a count a line.

use std::io::BufRead;

use crate::error::{Error, Result};

use super::entries::{Counted, Entries};
use super::numbers::{self, Known, Zero, count, fields, id, shown, whole};
use super::source::{At, Lines};

pub(super) fn read(mut lines: Lines<'_, impl BufRead>, known: &Known) -> Result<Counted> {
    let (first, documents) = total(&mut lines, "the number of documents")?;
    let (second, words) = total(&mut lines, "the number of words")?;
    let (third, claimed) = total(&mut lines, "the number of entries")?;
    for (at, number, noun) in [(first, documents, "documents"), (second, words, "words")] {
        if number == 0 || number > u64::from(u32::MAX) {
            let expected = format!("a number from 1 to {}", u32::MAX);
            return Err(at.refuse(format!("{number} {noun}"), expected));
        }
    }
    if let Known::File(path, size) = known
        && words != *size as u64
    {
        return Err(second.refuse(format!("{words} words"), format!("{size} as in {path}")));
    }
    let (last, whose) = match known.limit() {
        Some((limit, whose)) if limit < words => (limit, whose),
        _ => (words, format!(" as in line {}", second.line)),
    };
    let whose_documents = format!(" as in line {}", first.line);
    let mut entries = Entries::default();
    while let Some((at, bytes)) = lines.next()? {
        let mut parts = fields(bytes);
        let Some(document) = parts.next() else {
            continue;
        };
        let (Some(word), Some(number), None) = (parts.next(), parts.next(), parts.next()) else {
            return Err(at.refuse(shown(bytes), "a document, a word and a count"));
        };
        if entries.len() as u64 == claimed {
            return Err(at.refuse(
                format!("entry {}", entries.len() + 1),
                format!("{} as in line {}", numbers::entries(claimed), third.line),
            ));
        }
        let document = id(at, "document", document, (1, documents), &whose_documents)?;
        let word = id(at, "word", word, (1, last), &whose)?;
        entries.push(document, word, count(at, number, Zero::Refused)?);
    }
    if (entries.len() as u64) < claimed {
        let cause = format!("{} of {claimed} entries", entries.len());
        return Err(Error::damaged(lines.path, "docword", cause));
    }
    entries.plausible(first, "documents", documents)?;
    Ok(Counted {
        documents: documents as usize,
        words: entries.vocabulary(second, known, words)?,
        entries,
    })
}

/// One of the totals at the beginning.
fn total<'n>(lines: &mut Lines<'n, impl BufRead>, what: &str) -> Result<(At<'n>, u64)> {
    while let Some((at, bytes)) = lines.next()? {
        let bytes = bytes.trim_ascii();
        if !bytes.is_empty() {
            let number = whole(bytes).ok_or_else(|| at.refuse(shown(bytes), what))?;
            return Ok((at, number));
        }
    }
    let cause = format!("it ends before {what}");
    Err(Error::damaged(lines.path, "docword", cause))
}
