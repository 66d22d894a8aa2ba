//! Reads a column of CSV or TSV as texts.

use crate::csv::{Field, Sheet, field};
use crate::error::{Error, FilePlace, Result};
use crate::open::Opened;
use crate::records::{Delimiter, Record, Records};

use super::columns;
use super::gather::Gatherer;
use super::options::InvalidUtf8;

/// Rows looked at to find the column of text.
const AHEAD: usize = 100;

pub(super) fn read(input: Opened, gatherer: &mut Gatherer<'_>) -> Result<()> {
    let path = &input.name;
    let delimiter = match Delimiter::guess(&input.extension, &input.head) {
        // A single column of texts has spaces too.
        Delimiter::Spaces => Delimiter::Byte(b','),
        byte @ Delimiter::Byte(_) => byte,
    };
    let records = Records::new(path, input.reader, delimiter).replacing();
    let sheet = Sheet::of(records)?;
    let mut sheet = sheet.ok_or_else(|| Error::no_documents(path, "an empty file"))?;
    let mut ahead = Vec::new();
    let mut row = Record::default();
    while ahead.len() < AHEAD && sheet.next(&mut row)? {
        ahead.push(row.clone());
    }
    let names = &sheet.names;
    let is_text = |index: usize| {
        let has_text = |row: &Record| field(row.get(index)) == Field::Text;
        Some(index) != sheet.row_names && (names.len() == 1 || ahead.iter().any(has_text))
    };
    let (text, id) = columns::select(path, names, gatherer.options, is_text)?;
    let mut take = |row: &Record| {
        if let Some((line, byte)) = row.replaced {
            if gatherer.options.invalid_utf8 == InvalidUtf8::Refuse {
                return Err(Error::not_utf8(path, FilePlace::Line(line), byte));
            }
            gatherer.note(true);
        }
        let name = match id {
            Some(id) => row.get(id).to_owned(),
            None => gatherer.number().to_string(),
        };
        gatherer.push(name, row.get(text).to_owned())
    };
    for row in &ahead {
        take(row)?;
    }
    while sheet.next(&mut row)? {
        take(&row)?;
    }
    gatherer.some("a header and no rows")
}
