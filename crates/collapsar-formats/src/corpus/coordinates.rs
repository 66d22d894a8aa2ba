//! Reads entries of a document, a word and a count in any order, after a header that counts them.

use crate::error::{Error, Result};
use crate::lines::{Lines, first, shown};

use super::entries::{Counted, Entries, Total};
use super::numbers::{self, Known, Zero, count, id};

/// What a header says and what its format calls it.
pub(super) struct Header {
    pub(super) format: &'static str,
    /// What documents and words are called.
    pub(super) nouns: [&'static str; 2],
    /// What an entry holds.
    pub(super) holds: &'static str,
    /// Whether counts are left out, each entry standing for 1.
    pub(super) pattern: bool,
    pub(super) zero: Zero,
    pub(super) documents: Total,
    pub(super) words: Total,
    pub(super) entries: Total,
}

/// Reads what follows a header; `skipped` lines hold no entry.
pub(super) fn read(
    mut lines: Lines,
    known: &Known,
    header: &Header,
    skipped: impl Fn(&[u8]) -> bool,
) -> Result<Counted> {
    let Header {
        documents,
        words,
        nouns,
        ..
    } = header;
    if let Known::File(path, size) = known
        && words.number != *size as u64
    {
        let found = format!("{} {}s", words.number, nouns[1]);
        let expected = format!("{size} as in {path}");
        return Err(Error::line(lines.path(), words.line, found, expected));
    }
    let (last, whose) = match known.limit() {
        Some((limit, whose)) if limit < words.number => (limit, whose),
        _ => (words.number, format!(" as in line {}", words.line)),
    };
    let whose_documents = format!(" as in line {}", documents.line);
    let claimed = header.entries.number;
    let mut seen = 0;
    let mut entries = Entries::default();
    while lines.next()? {
        let bytes = lines.bytes();
        if skipped(bytes) {
            continue;
        }
        let (document, word, number) = match (first(bytes), header.pattern) {
            ([Some(document), Some(word), None, None], true) => (document, word, &b"1"[..]),
            ([Some(document), Some(word), Some(number), None], false) => (document, word, number),
            _ => return Err(lines.refuse(shown(bytes), header.holds)),
        };
        if seen == claimed {
            let line = header.entries.line;
            let expected = format!("{} as in line {line}", numbers::entries(claimed));
            return Err(lines.refuse(format!("entry {}", seen + 1), expected));
        }
        seen += 1;
        let range = (1, documents.number);
        let document = id(&lines, nouns[0], document, range, &whose_documents)?;
        let word = id(&lines, nouns[1], word, (1, last), &whose)?;
        let count = count(&lines, number, header.zero)?;
        if count > 0.0 {
            entries.push(document, word, count);
        }
    }
    let path = lines.path();
    if seen < claimed {
        let cause = format!("{seen} of {claimed} entries");
        return Err(Error::damaged(path, header.format, cause));
    }
    entries.plausible(path, &format!("{}s", nouns[0]), *documents)?;
    Ok(Counted {
        documents: documents.number as usize,
        words: entries.vocabulary(path, known, *words)?,
        entries,
    })
}
