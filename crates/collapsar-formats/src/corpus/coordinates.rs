//! Reads entries of a document, a word and a count in any order, after a header that counts them: the UCI bag of
//! words (docword), with three lines of totals, and Matrix Market, with a document a row and a word a column.

use crate::error::{Error, Result};
use crate::lines::{Lines, fields, first, shown, whole};

use super::entries::{Counted, Entries, Total};
use super::numbers::{self, Known, count, id};

const DOCWORD: &str = "docword";
const MARKET: &str = "Matrix Market";

/// What a header says and what its format calls it.
struct Header {
    format: &'static str,
    /// Whether lines may be comments, and counts 0.
    market: bool,
    /// What documents and words are called.
    nouns: [&'static str; 2],
    /// What an entry holds.
    holds: &'static str,
    /// Whether counts are left out, each entry standing for 1.
    pattern: bool,
    /// The numbers of documents, words and entries.
    totals: [Total; 3],
}

pub(super) fn docword<'a>(
    mut lines: Lines,
    known: &Known,
    entries: Entries<'a>,
) -> Result<Counted<'a>> {
    let mut total = |what: &str| {
        if !lines.next_filled()? {
            let cause = format!("it ends before {what}");
            return Err(Error::damaged(&lines.path, DOCWORD, cause));
        }
        let (bytes, line) = (lines.bytes.trim_ascii(), lines.line);
        let number = whole(bytes).ok_or_else(|| lines.refuse(shown(bytes), what))?;
        Ok(Total { number, line })
    };
    let header = Header {
        format: DOCWORD,
        market: false,
        nouns: ["document", "word"],
        holds: "a document, a word and a count",
        pattern: false,
        totals: [
            total("the number of documents")?,
            total("the number of words")?,
            total("the number of entries")?,
        ],
    };
    for (total, noun) in header.totals.iter().zip(header.nouns) {
        if !(1..=u64::from(u32::MAX)).contains(&total.number) {
            let found = format!("{} {noun}s", total.number);
            let expected = format!("a number from 1 to {}", u32::MAX);
            return Err(Error::line(&lines.path, total.line, found, expected));
        }
    }
    read(lines, known, &header, entries)
}

pub(super) fn market<'a>(
    mut lines: Lines,
    known: &Known,
    entries: Entries<'a>,
) -> Result<Counted<'a>> {
    let pattern = banner(&mut lines)?;
    let header = Header {
        format: MARKET,
        market: true,
        nouns: ["row", "column"],
        holds: if pattern {
            "a row and a column"
        } else {
            "a row, a column and a value"
        },
        pattern,
        totals: size(&mut lines)?,
    };
    read(lines, known, &header, entries)
}

/// Whether values are left out, each entry standing for 1.
fn banner(lines: &mut Lines) -> Result<bool> {
    if !lines.next()? {
        return Err(Error::damaged(&lines.path, MARKET, "it is empty"));
    }
    let line = String::from_utf8_lossy(&lines.bytes).to_lowercase();
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    match words.as_slice() {
        [
            "%%matrixmarket",
            "matrix",
            "coordinate",
            field @ ("real" | "integer" | "pattern"),
            "general",
        ] => Ok(*field == "pattern"),
        _ => Err(lines.refuse(
            shown(&lines.bytes),
            "%%MatrixMarket matrix coordinate real general (or integer or pattern)",
        )),
    }
}

/// Goes on to the next line that is neither blank nor a comment of Matrix Market; false at the end.
fn next(lines: &mut Lines, market: bool) -> Result<bool> {
    while lines.next_filled()? {
        if !market || !lines.bytes.trim_ascii_start().starts_with(b"%") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The numbers of rows, columns and entries.
fn size(lines: &mut Lines) -> Result<[Total; 3]> {
    if !next(lines, true)? {
        let cause = "it ends before its size";
        return Err(Error::damaged(&lines.path, MARKET, cause));
    }
    let numbers: Option<Vec<u64>> = fields(&lines.bytes).take(4).map(whole).collect();
    let Some(&[rows, columns, entries]) = numbers.as_deref() else {
        let expected = "the numbers of rows, columns and entries";
        return Err(lines.refuse(shown(&lines.bytes), expected));
    };
    let range = 1..=u64::from(u32::MAX);
    if !range.contains(&rows) || !range.contains(&columns) {
        let found = format!("{rows} rows and {columns} columns");
        return Err(lines.refuse(found, format!("from 1 to {} of each", u32::MAX)));
    }
    let line = lines.line;
    Ok([rows, columns, entries].map(|number| Total { number, line }))
}

/// Reads what follows a header.
fn read<'a>(
    mut lines: Lines,
    known: &Known,
    header: &Header,
    mut entries: Entries<'a>,
) -> Result<Counted<'a>> {
    let (nouns, [documents, words, claimed]) = (header.nouns, header.totals);
    if let Known::File(path, size) = known
        && words.number != *size as u64
    {
        let found = format!("{} {}s", words.number, nouns[1]);
        let expected = format!("{size} as in {path}");
        return Err(Error::line(&lines.path, words.line, found, expected));
    }
    let (last, whose) = match known.limit() {
        Some((limit, whose)) if limit < words.number => (limit, whose),
        _ => (words.number, format!(" as in line {}", words.line)),
    };
    let whose_documents = format!(" as in line {}", documents.line);
    let mut seen = 0;
    while next(&mut lines, header.market)? {
        let bytes = &lines.bytes;
        let (document, word, number) = match (first(bytes), header.pattern) {
            ([Some(document), Some(word), None, None], true) => (document, word, &b"1"[..]),
            ([Some(document), Some(word), Some(number), None], false) => (document, word, number),
            _ => return Err(lines.refuse(shown(bytes), header.holds)),
        };
        if seen == claimed.number {
            let number = numbers::entries(claimed.number);
            let expected = format!("{number} as in line {}", claimed.line);
            return Err(lines.refuse(format!("entry {}", seen + 1), expected));
        }
        seen += 1;
        let range = (1, documents.number);
        let document = id(&lines, nouns[0], document, range, &whose_documents)?;
        let word = id(&lines, nouns[1], word, (1, last), &whose)?;
        let count = count(&lines, number, header.market)?;
        if count > 0.0 {
            entries.push(&lines, (document, word, count))?;
        }
    }
    let path = &lines.path;
    if seen < claimed.number {
        let cause = format!("{seen} of {} entries", claimed.number);
        return Err(Error::damaged(path, header.format, cause));
    }
    entries.plausible(path, &format!("{}s", nouns[0]), documents)?;
    Ok(Counted {
        documents: documents.number as usize,
        words: entries.vocabulary(path, known, words)?,
        entries,
    })
}
