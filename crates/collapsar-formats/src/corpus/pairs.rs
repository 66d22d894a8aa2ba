//! Reads documents as lines of `word:count` pairs: LDA-C, with their number before them and words from
//! 0, and SVMlight, with a label before them, comments behind them and words from 1.

use crate::error::{Error, Result};
use crate::lines::{Lines, fields, shown, whole};

use super::entries::{Counted, Entries, Total};
use super::numbers::{Known, count, id};

pub(super) fn lda_c<'a>(
    mut lines: Lines,
    known: &Known,
    entries: Entries<'a>,
) -> Result<Counted<'a>> {
    let mut reader = Reader::new(known, 0, entries);
    // Empty lines are no documents (those say 0), so only the end of the file may have some.
    let mut blank = None;
    while lines.next()? {
        let mut parts = fields(&lines.bytes);
        let Some(first) = parts.next() else {
            blank = blank.or(Some(lines.line));
            continue;
        };
        if let Some(line) = blank {
            let expected = "0 for a document without words";
            return Err(Error::line(&lines.path, line, "an empty line", expected));
        }
        let expected = "the number of word:count pairs that follow";
        let claimed = whole(first).ok_or_else(|| lines.refuse(shown(first), expected))?;
        let mut pairs = 0u64;
        for part in parts {
            reader.pair(&lines, part)?;
            pairs += 1;
        }
        if pairs != claimed {
            let expected = format!("{claimed} as the line begins with");
            return Err(lines.refuse(format!("{pairs} word:count pairs"), expected));
        }
        reader.documents += 1;
    }
    reader.finish(&lines.path)
}

pub(super) fn svm_light<'a>(
    mut lines: Lines,
    known: &Known,
    entries: Entries<'a>,
) -> Result<Counted<'a>> {
    let mut reader = Reader::new(known, 1, entries);
    while lines.next()? {
        let bytes = &lines.bytes;
        let bytes = bytes.split(|&byte| byte == b'#').next().unwrap_or(bytes);
        let mut parts = fields(bytes);
        let Some(label) = parts.next() else {
            continue;
        };
        if label.contains(&b':') {
            return Err(lines.refuse(shown(label), "a label before the first word:count pair"));
        }
        for part in parts.filter(|part| !part.starts_with(b"qid:")) {
            reader.pair(&lines, part)?;
        }
        reader.documents += 1;
    }
    reader.finish(&lines.path)
}

struct Reader<'k, 'a> {
    known: &'k Known,
    /// The first and the last id.
    range: (u64, u64),
    whose: String,
    /// The largest id and the line it is in.
    largest: Option<(u32, u64)>,
    documents: usize,
    entries: Entries<'a>,
}

impl<'k, 'a> Reader<'k, 'a> {
    fn new(known: &'k Known, first: u64, entries: Entries<'a>) -> Self {
        let (size, whose) = (known.limit()).unwrap_or((u64::from(u32::MAX), String::new()));
        Reader {
            known,
            range: (first, (size + first).saturating_sub(1)),
            whose,
            largest: None,
            documents: 0,
            entries,
        }
    }

    fn pair(&mut self, lines: &Lines, part: &[u8]) -> Result<()> {
        let Ok(document) = u32::try_from(self.documents) else {
            return Err(lines.refuse("one more document", format!("at most {}", u32::MAX)));
        };
        let Some(colon) = part.iter().position(|&byte| byte == b':') else {
            return Err(lines.refuse(shown(part), "a word:count pair"));
        };
        let svm_light = self.range.0 == 1;
        if svm_light && &part[..colon] == b"0" {
            // The default of scikit-learn's writer.
            let error = lines.refuse("word \"0\"", "words from 1");
            return Err(error.trying("dump_svmlight_file with zero_based=False"));
        }
        let word = id(lines, "word", &part[..colon], self.range, &self.whose)?;
        let count = count(lines, &part[colon + 1..], svm_light)?;
        if self.largest.is_none_or(|(largest, _)| word > largest) {
            self.largest = Some((word, lines.line));
        }
        if count > 0.0 {
            self.entries.push(lines, (document, word, count))?;
        }
        Ok(())
    }

    fn finish(self, path: &str) -> Result<Counted<'a>> {
        if self.documents == 0 {
            return Err(Error::no_documents(path, "lines without content"));
        }
        let size = |(word, line): (u32, u64)| (u64::from(word) + 1, line);
        let (number, line) = self.largest.map_or((0, 1), size);
        let total = Total { number, line };
        Ok(Counted {
            documents: self.documents,
            words: self.entries.vocabulary(path, self.known, total)?,
            entries: self.entries,
        })
    }
}
