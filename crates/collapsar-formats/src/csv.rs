//! Reads numbers from delimited text: finds the header, takes the columns wanted, refuses the rest by line.

use std::io::BufRead;

use crate::error::{Error, FilePlace, NotNumbers, Problem, Result, shortened};
use crate::records::{Delimiter, Record, Records};
use crate::table::{Chosen, Table, choose};

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Field {
    Number(f64),
    /// Empty, a word for a missing value, or not finite.
    Missing,
    Text,
}

pub(crate) fn field(text: &str) -> Field {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Field::Number(number),
        Ok(_) => Field::Missing,
        Err(_) => {
            // nan and inf in any case parse above; "?" is how the UCI repository writes a gap.
            let missing = ["", "na", "n/a", "<na>", "null", "none", "?"];
            if missing.iter().any(|word| text.eq_ignore_ascii_case(word)) {
                Field::Missing
            } else {
                Field::Text
            }
        }
    }
}

/// Text with its header recognised.
pub(crate) struct Sheet<R> {
    records: Records<R>,
    /// Rows read while looking for the header.
    ahead: std::vec::IntoIter<Record>,
    /// The columns' names; `1`, `2`, … where there are none.
    pub(crate) names: Vec<String>,
    /// The column of row names, if the header shows one.
    pub(crate) row_names: Option<usize>,
    pub(crate) has_header: bool,
    path: String,
}

impl<R: BufRead> Sheet<R> {
    pub(crate) fn open(path: &str, extension: &str, head: &[u8], reader: R) -> Result<Self> {
        let delimiter = Delimiter::guess(extension, head);
        let sheet = Sheet::of(Records::new(path, reader, delimiter), path, delimiter)?;
        sheet.ok_or_else(|| Error::empty(path, "an empty file"))
    }

    /// A sheet of records whose delimiter is known; `None` where there are none.
    pub(crate) fn of(
        mut records: Records<R>,
        path: &str,
        delimiter: Delimiter,
    ) -> Result<Option<Self>> {
        let (mut first, mut second) = (Record::default(), Record::default());
        if !records.next(&mut first)? {
            return Ok(None);
        }
        let ahead = if records.next(&mut second)? {
            vec![second]
        } else {
            Vec::new()
        };
        let has_header = is_header(&first, ahead.first());
        let numbered = |n: usize| (1..=n).map(|i| i.to_string()).collect::<Vec<_>>();
        let mut sheet = Sheet {
            records,
            ahead: Vec::new().into_iter(),
            names: numbered(first.len()),
            row_names: None,
            has_header,
            path: path.to_owned(),
        };
        if !has_header {
            sheet.ahead = std::iter::once(first)
                .chain(ahead)
                .collect::<Vec<_>>()
                .into_iter();
            return Ok(Some(sheet));
        }
        // R's write.table puts row names in the rows and nothing above them. Only where spaces separate:
        // elsewhere a header that is one short is a mistake.
        let short = delimiter == Delimiter::Spaces
            && ahead
                .first()
                .is_some_and(|row| row.len() == first.len() + 1);
        if short {
            sheet.names.push((first.len() + 1).to_string());
        }
        for (name, text) in sheet
            .names
            .iter_mut()
            .skip(usize::from(short))
            .zip(first.fields())
        {
            if !text.is_empty() {
                text.clone_into(name);
            }
        }
        let unnamed = short || first.get(0).is_empty() || first.get(0) == "rownames";
        sheet.row_names = unnamed.then_some(0);
        sheet.ahead = ahead.into_iter();
        Ok(Some(sheet))
    }

    /// Reads the next row, which has as many fields as there are columns; `false` at the end.
    pub(crate) fn next(&mut self, row: &mut Record) -> Result<bool> {
        match self.ahead.next() {
            Some(record) => *row = record,
            None if self.records.next(row)? => {}
            None => return Ok(false),
        }
        if row.len() == self.names.len() {
            return Ok(true);
        }
        let ragged = Problem::Ragged {
            found: row.len(),
            expected: self.names.len(),
        };
        Err(Error::at(&self.path, FilePlace::Line(row.line), ragged))
    }
}

/// A first row with text in it is a header, unless it has the fractions of a measurement beside the text
/// and the second row is alike: then it is a row like `5.1,3.5,setosa`, and taking it for a header would
/// lose it without a word.
fn is_header(first: &Record, second: Option<&Record>) -> bool {
    let kind = |text: &str| std::mem::discriminant(&field(text));
    let has_text = first.fields().any(|text| field(text) == Field::Text);
    let fraction = first
        .fields()
        .any(|text| text.contains('.') && matches!(field(text), Field::Number(_)));
    let alike = second.is_some_and(|second| first.fields().map(kind).eq(second.fields().map(kind)));
    has_text && !(fraction && alike)
}

pub(crate) fn read(
    path: &str,
    extension: &str,
    head: &[u8],
    reader: impl BufRead,
    wanted: Option<&[String]>,
) -> Result<Table> {
    let mut sheet = Sheet::open(path, extension, head, reader)?;
    let chosen = choose(path, &sheet.names, sheet.row_names, wanted)?;
    let mut values = Vec::new();
    let mut troubles = Troubles::new(chosen.indices.len());
    let mut rows = 0;
    let mut row = Record::default();
    while sheet.next(&mut row)? {
        rows += 1;
        for (column, &index) in chosen.indices.iter().enumerate() {
            match field(row.get(index)) {
                Field::Number(number) => values.push(number),
                Field::Missing => troubles.missing.note(column, &row, index),
                Field::Text => troubles.text.note(column, &row, index),
            }
        }
    }
    if rows == 0 {
        return Err(Error::empty(path, "a header and no rows"));
    }
    match troubles.into_error(path, &chosen) {
        Some(error) => Err(error),
        None => Ok(Table {
            columns: chosen.names,
            rows,
            values,
            skipped: chosen.skipped,
        }),
    }
}

/// The first field of each column that is not a number: its line and text.
struct First(Vec<Option<(u64, String)>>);

impl First {
    fn note(&mut self, column: usize, row: &Record, index: usize) {
        if self.0[column].is_none() {
            self.0[column] = Some((row.line, shortened(row.get(index), 40)));
        }
    }
}

/// What was wrong, kept until the end of the file: only then are all text columns known, and the advice
/// about which to select must be right the first time.
struct Troubles {
    text: First,
    missing: First,
}

impl Troubles {
    fn new(columns: usize) -> Self {
        Troubles {
            text: First(vec![None; columns]),
            missing: First(vec![None; columns]),
        }
    }

    fn into_error(self, path: &str, chosen: &Chosen) -> Option<Error> {
        if let Some((line, text)) = self.text.0.iter().flatten().next() {
            let names = |has_text: bool| {
                let pairs = chosen.names.iter().zip(&self.text.0);
                pairs
                    .filter(|(_, text)| text.is_some() == has_text)
                    .map(|(name, _)| name.clone())
                    .collect()
            };
            let text = Problem::Text {
                columns: names(true),
                found: NotNumbers::Text {
                    example: text.clone(),
                    line: *line,
                },
                numeric: names(false),
            };
            return Some(Error::of(path, text));
        }
        let first = chosen
            .names
            .iter()
            .zip(self.missing.0)
            .filter_map(|(name, found)| Some((name, found?)));
        let (column, (line, found)) = first.min_by_key(|(_, (line, _))| *line)?;
        let found = if found.is_empty() {
            "empty".to_owned()
        } else {
            found
        };
        let column = column.clone();
        let missing = Problem::Missing { column, found };
        Some(Error::at(path, FilePlace::Line(line), missing))
    }
}

#[cfg(test)]
mod tests;
