//! Decides how the columns of a table become vectors: by the names in the header, with gaps as missing numbers, and texts left aside.

use collapsar_bugs::Array;

use super::{Item, Items, push};
use crate::csv::{Field, Sheet, field};
use crate::error::{Error, Result, quoted};
use crate::open::Opened;
use crate::records::Record;
use crate::table::select;

pub(super) fn read(input: Opened) -> Result<Items> {
    let path = &input.name.clone();
    let mut sheet = Sheet::open_replacing(input)?;
    if !sheet.has_header {
        let expected = "a first line with the names of the columns";
        return Err(Error::content(path, "no header", expected));
    }
    let selected = select(path, &sheet.names, sheet.row_names, None)?;
    let mut columns = vec![Vec::new(); selected.indices.len()];
    // What is no number is refused where a model reads it.
    let mut texts = vec![None; selected.indices.len()];
    let mut row = Record::default();
    while sheet.next(&mut row)? {
        for (place, &index) in selected.indices.iter().enumerate() {
            let text = row.get(index);
            columns[place].push(number(text).unwrap_or_else(|| {
                let found = || format!("{} in line {} of {path}", quoted(text), row.line);
                texts[place].get_or_insert_with(found);
                f64::NAN
            }));
        }
    }
    let mut items = Items::new();
    if columns.iter().all(Vec::is_empty) || texts.iter().all(Option::is_some) {
        let found = texts.into_iter().flatten().next();
        let found = found.unwrap_or_else(|| "no rows".to_owned());
        return Err(Error::content(path, found, "a column of numbers at least"));
    }
    for ((name, values), text) in selected.names.into_iter().zip(columns).zip(texts) {
        let item = match text {
            Some(found) => Item::Text(found),
            None => Item::Array(Array::vector(values)),
        };
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
