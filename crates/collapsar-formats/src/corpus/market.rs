//! Reads Matrix Market: a sparse matrix in coordinates with a document a row and a word a column.

use std::io::BufRead;

use crate::error::{Error, Result};

use super::entries::{Counted, Entries};
use super::numbers::{self, Known, Zero, count, fields, id, shown, whole};
use super::source::{At, Lines};

pub(super) fn read(mut lines: Lines<'_, impl BufRead>, known: &Known) -> Result<Counted> {
    let path = lines.path;
    let pattern = banner(&mut lines)?;
    let size = size(&mut lines, known)?;
    let (last, whose) = match known.limit() {
        Some((limit, whose)) if limit < size.columns => (limit, whose),
        _ => (size.columns, format!(" as in line {}", size.at.line)),
    };
    let whose_rows = format!(" as in line {}", size.at.line);
    let mut seen = 0;
    let mut entries = Entries::default();
    while let Some((at, bytes)) = lines.next()? {
        if skipped(bytes) {
            continue;
        }
        let mut parts = fields(bytes);
        let (row, column, value) = match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(row), Some(column), None, _) if pattern => (row, column, &b"1"[..]),
            (Some(row), Some(column), Some(value), None) if !pattern => (row, column, value),
            _ if pattern => return Err(at.refuse(shown(bytes), "a row and a column")),
            _ => return Err(at.refuse(shown(bytes), "a row, a column and a value")),
        };
        if seen == size.entries {
            return Err(at.refuse(
                format!("entry {}", seen + 1),
                format!(
                    "{} as in line {}",
                    numbers::entries(size.entries),
                    size.at.line
                ),
            ));
        }
        seen += 1;
        let document = id(at, "row", row, (1, size.rows), &whose_rows)?;
        let word = id(at, "column", column, (1, last), &whose)?;
        let count = count(at, value, Zero::Dropped)?;
        if count > 0.0 {
            entries.push(document, word, count);
        }
    }
    if seen < size.entries {
        let cause = format!("{seen} of {} entries", size.entries);
        return Err(Error::damaged(path, "Matrix Market", cause));
    }
    entries.plausible(size.at, "rows", size.rows)?;
    Ok(Counted {
        documents: size.rows as usize,
        words: entries.vocabulary(size.at, known, size.columns)?,
        entries,
    })
}

/// Whether values are left out, each entry standing for 1.
fn banner(lines: &mut Lines<'_, impl BufRead>) -> Result<bool> {
    let Some((at, bytes)) = lines.next()? else {
        return Err(Error::damaged(lines.path, "Matrix Market", "it is empty"));
    };
    let line = String::from_utf8_lossy(bytes).to_lowercase();
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    match words.as_slice() {
        [
            "%%matrixmarket",
            "matrix",
            "coordinate",
            field @ ("real" | "integer" | "pattern"),
            "general",
        ] => Ok(*field == "pattern"),
        _ => Err(at.refuse(
            shown(bytes),
            "%%MatrixMarket matrix coordinate real general (or integer or pattern)",
        )),
    }
}

fn skipped(bytes: &[u8]) -> bool {
    let bytes = bytes.trim_ascii_start();
    bytes.is_empty() || bytes.starts_with(b"%")
}

struct Size<'n> {
    at: At<'n>,
    rows: u64,
    columns: u64,
    entries: u64,
}

fn size<'n>(lines: &mut Lines<'n, impl BufRead>, known: &Known) -> Result<Size<'n>> {
    while let Some((at, bytes)) = lines.next()? {
        if skipped(bytes) {
            continue;
        }
        let numbers: Option<Vec<u64>> = fields(bytes).take(4).map(whole).collect();
        let Some(&[rows, columns, entries]) = numbers.as_deref() else {
            return Err(at.refuse(shown(bytes), "the numbers of rows, columns and entries"));
        };
        let range = 1..=u64::from(u32::MAX);
        if !range.contains(&rows) || !range.contains(&columns) {
            let found = format!("{rows} rows and {columns} columns");
            return Err(at.refuse(found, format!("from 1 to {} of each", u32::MAX)));
        }
        if let Known::File(path, size) = known
            && columns != *size as u64
        {
            let expected = format!("{size} as in {path}");
            return Err(at.refuse(format!("{columns} columns"), expected));
        }
        return Ok(Size {
            at,
            rows,
            columns,
            entries,
        });
    }
    let cause = "it ends before its size";
    Err(Error::damaged(lines.path, "Matrix Market", cause))
}
