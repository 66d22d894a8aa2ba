//! Reads a column of CSV or TSV as texts.

use std::io::BufRead;

use crate::csv::{Field, Sheet, field};
use crate::error::{Error, Place, Result};
use crate::records::{Delimiter, Record, Records};

use super::columns;
use super::gather::Gatherer;
use super::options::{CorpusOptions, InvalidUtf8};

/// Rows looked at to find the column of text.
const AHEAD: usize = 100;

pub(super) fn read(
    path: &str,
    extension: &str,
    head: &[u8],
    reader: impl BufRead,
    options: &CorpusOptions,
    gatherer: &mut Gatherer<'_>,
) -> Result<()> {
    let delimiter = match Delimiter::guess(extension, head) {
        // A single column of texts has spaces too.
        Delimiter::Spaces => Delimiter::Byte(b','),
        byte @ Delimiter::Byte(_) => byte,
    };
    let records = Records::new(path, reader, delimiter).replacing();
    let mut sheet = Sheet::of(records, path, delimiter).map_err(|error| match error {
        Error::Empty { path, found } => Error::NoDocuments { path, found },
        other => other,
    })?;
    let mut ahead = Vec::new();
    let mut row = Record::default();
    while ahead.len() < AHEAD && sheet.next(&mut row)? {
        ahead.push(row.clone());
    }
    let names = &sheet.names;
    let wanted = |column: &Option<String>| {
        let found = column
            .as_deref()
            .map(|name| columns::named(path, names, name));
        found.transpose()
    };
    let id = wanted(&options.id_column)?;
    let is_text = |index: usize| {
        let has_text = |row: &Record| field(row.get(index)) == Field::Text;
        Some(index) != sheet.row_names && (names.len() == 1 || ahead.iter().any(has_text))
    };
    let text = match wanted(&options.text_column)? {
        Some(text) => text,
        None => columns::text(path, "column", names, is_text, id)?,
    };
    let mut take = |row: &Record| {
        if let Some((line, byte)) = row.replaced {
            if gatherer.invalid == InvalidUtf8::Refuse {
                return Err(Error::Utf8 {
                    path: path.to_owned(),
                    place: Place::Line(line),
                    byte,
                });
            }
            gatherer.note(true);
        }
        let name = match id {
            Some(id) => row.get(id).to_owned(),
            None => (gatherer.len() + 1).to_string(),
        };
        gatherer.push(name, row.get(text).to_owned())
    };
    for row in &ahead {
        take(row)?;
    }
    while sheet.next(&mut row)? {
        take(&row)?;
    }
    if gatherer.len() == 0 {
        return Err(Error::NoDocuments {
            path: path.to_owned(),
            found: "a header and no rows",
        });
    }
    Ok(())
}
