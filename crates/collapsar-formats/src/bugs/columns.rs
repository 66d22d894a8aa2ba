//! Decides how the columns of a table become vectors: by the names in the header, with gaps as missing numbers.

use collapsar_bugs::Array;

use super::{Item, Items, push};
use crate::csv::{Field, Sheet, field};
use crate::error::{Error, Result, quoted};
use crate::open::Opened;
use crate::records::Record;
use crate::table::select;

pub(super) fn read(input: Opened) -> Result<Items> {
    let path = &input.name.clone();
    let mut sheet = Sheet::open(input)?;
    if !sheet.has_header {
        let expected = "a first line with the names of the columns";
        return Err(Error::content(path, "no header", expected));
    }
    let selected = select(path, &sheet.names, sheet.row_names, None)?;
    let mut columns = vec![Vec::new(); selected.indices.len()];
    let mut row = Record::default();
    while sheet.next(&mut row)? {
        for ((column, &index), name) in columns
            .iter_mut()
            .zip(&selected.indices)
            .zip(&selected.names)
        {
            let text = row.get(index);
            column.push(number(text).ok_or_else(|| {
                let found = format!("{} in column {name:?}", quoted(text));
                Error::line(path, row.line, found, "a number or NA")
            })?);
        }
    }
    let mut items = Items::new();
    for (name, values) in selected.names.into_iter().zip(columns) {
        let item = Item::Array(Array::vector(values));
        push(&mut items, path, 1, name, item)?;
    }
    Ok(items)
}

/// NaN is a number that is missing.
fn number(text: &str) -> Option<f64> {
    match field(text) {
        Field::Number(number) => Some(number),
        // Infinity has a meaning here, as the end of an interval.
        Field::Missing => Some(text.parse().unwrap_or(f64::NAN)),
        // As R writes what is true.
        Field::Text if text.eq_ignore_ascii_case("true") => Some(1.0),
        Field::Text if text.eq_ignore_ascii_case("false") => Some(0.0),
        Field::Text => None,
    }
}
