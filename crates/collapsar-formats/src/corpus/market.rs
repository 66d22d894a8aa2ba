//! Reads Matrix Market: a sparse matrix in coordinates with a document a row and a word a column.

use crate::error::{Error, Result};
use crate::lines::{Lines, fields, shown, whole};

use super::coordinates::{self, Header};
use super::entries::{Counted, Total};
use super::numbers::{Known, Zero};

const FORMAT: &str = "Matrix Market";

pub(super) fn read(mut lines: Lines, known: &Known) -> Result<Counted> {
    let pattern = banner(&mut lines)?;
    let [documents, words, entries] = size(&mut lines)?;
    let header = Header {
        format: FORMAT,
        nouns: ["row", "column"],
        holds: if pattern {
            "a row and a column"
        } else {
            "a row, a column and a value"
        },
        pattern,
        zero: Zero::Dropped,
        documents,
        words,
        entries,
    };
    coordinates::read(lines, known, &header, skipped)
}

/// Whether values are left out, each entry standing for 1.
fn banner(lines: &mut Lines) -> Result<bool> {
    if !lines.next()? {
        return Err(Error::damaged(lines.path(), FORMAT, "it is empty"));
    }
    let line = String::from_utf8_lossy(lines.bytes()).to_lowercase();
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
            shown(lines.bytes()),
            "%%MatrixMarket matrix coordinate real general (or integer or pattern)",
        )),
    }
}

fn skipped(bytes: &[u8]) -> bool {
    let bytes = bytes.trim_ascii_start();
    bytes.is_empty() || bytes.starts_with(b"%")
}

/// The numbers of rows, columns and entries.
fn size(lines: &mut Lines) -> Result<[Total; 3]> {
    while lines.next()? {
        let bytes = lines.bytes();
        if skipped(bytes) {
            continue;
        }
        let numbers: Option<Vec<u64>> = fields(bytes).take(4).map(whole).collect();
        let Some(&[rows, columns, entries]) = numbers.as_deref() else {
            return Err(lines.refuse(shown(bytes), "the numbers of rows, columns and entries"));
        };
        let range = 1..=u64::from(u32::MAX);
        if !range.contains(&rows) || !range.contains(&columns) {
            let found = format!("{rows} rows and {columns} columns");
            return Err(lines.refuse(found, format!("from 1 to {} of each", u32::MAX)));
        }
        let line = lines.line();
        return Ok([rows, columns, entries].map(|number| Total { number, line }));
    }
    let cause = "it ends before its size";
    Err(Error::damaged(lines.path(), FORMAT, cause))
}
