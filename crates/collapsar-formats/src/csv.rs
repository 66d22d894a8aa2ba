//! Reads numbers from delimited text: finds the header, reads the selected columns, refuses what is no number by its line.

use crate::error::{Error, FilePlace, Result, shortened};
use crate::label_column::{Builder, separate};
use crate::mixed::{Kinds, MixedTable, kinds_of};
use crate::open::{ContentReader, Opened};
use crate::records::{Delimiter, Record, Records};
use crate::table::{Selection, Table, select};

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
pub(crate) struct Sheet {
    records: Records<ContentReader>,
    /// Rows read while looking for the header.
    ahead: std::vec::IntoIter<Record>,
    /// The columns' names; `1`, `2`, … where there are none.
    pub(crate) names: Vec<String>,
    /// The column of row names, if the header shows one.
    pub(crate) row_names: Option<usize>,
    pub(crate) has_header: bool,
}

impl Sheet {
    /// Text as a table.
    pub(crate) fn open(input: Opened) -> Result<Self> {
        Self::opened(input, false)
    }

    /// The same, where bytes that are not UTF-8 are replaced.
    pub(crate) fn open_replacing(input: Opened) -> Result<Self> {
        Self::opened(input, true)
    }

    fn opened(input: Opened, replacing: bool) -> Result<Self> {
        let expected = "CSV or TSV in UTF-8, or a .npy or .parquet file";
        let input = input.text(expected)?;
        let delimiter = Delimiter::guess(&input.extension, &input.head);
        let mut records = Records::new(&input.name, input.reader, delimiter);
        if replacing {
            records = records.replacing();
        }
        Sheet::of(records)?.ok_or_else(|| Error::empty(&input.name, "an empty file"))
    }

    /// Records as a table; `None` where there are none.
    pub(crate) fn of(mut records: Records<ContentReader>) -> Result<Option<Self>> {
        let (mut first, mut second) = (Record::default(), Record::default());
        if !records.next(&mut first)? {
            return Ok(None);
        }
        let mut ahead = Vec::new();
        if records.next(&mut second)? {
            ahead.push(second);
        }
        let mut names: Vec<String> = first.fields().map(str::to_owned).collect();
        let mut row_names = None;
        let has_header = is_header(&first, ahead.first());
        if has_header {
            // R's write.table puts row names in the rows and nothing above them. Only where spaces
            // separate: elsewhere a header that is one short is a mistake.
            let is_short = |row: &Record| row.len() == names.len() + 1;
            if records.delimiter == Delimiter::Spaces && ahead.first().is_some_and(is_short) {
                names.insert(0, String::new());
            }
            row_names = (names[0].is_empty() || names[0] == "rownames").then_some(0);
        } else {
            names.fill(String::new());
            ahead.insert(0, first);
        }
        for (number, name) in (1..).zip(&mut names) {
            if name.is_empty() {
                *name = format!("{number}");
            }
        }
        Ok(Some(Sheet {
            records,
            ahead: ahead.into_iter(),
            names,
            row_names,
            has_header,
        }))
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
        let (found, expected) = (row.len(), self.names.len());
        Err(Error::ragged(&self.records.path, row.line, found, expected))
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

pub(crate) fn read(input: Opened, columns: Option<&[String]>, gaps: bool) -> Result<Table> {
    let path = input.name.clone();
    let sheet = Sheet::open(input)?;
    let selected = select(&path, &sheet.names, sheet.row_names, columns)?;
    Text::new(path, sheet, selected, gaps).all(|_| ())
}

/// Reads numbers, and labels of some of their rows from a column of text.
pub(crate) fn read_with_labels(
    input: Opened,
    columns: Option<&[String]>,
    labels: &str,
) -> Result<(Table, Builder)> {
    let path = input.name.clone();
    let sheet = Sheet::open(input)?;
    let mut selected = select(&path, &sheet.names, sheet.row_names, columns)?;
    let index = separate(&path, &sheet.names, &mut selected, labels)?;
    let mut builder = Builder::default();
    let table = Text::new(path, sheet, selected, true).all(|row| {
        let text = row.get(index);
        builder.push((field(text) != Field::Missing).then_some(text));
    })?;
    Ok((table, builder))
}

/// Reads numbers and levels, and labels of some rows where there is a column of these.
pub(crate) fn read_mixed(
    input: Opened,
    columns: Option<&[String]>,
    (categorical, labels): (&[String], Option<&str>),
) -> Result<MixedTable> {
    let path = input.name.clone();
    let sheet = Sheet::open(input)?;
    let mut selected = select(&path, &sheet.names, sheet.row_names, columns)?;
    let index = match labels {
        Some(labels) => Some(separate(&path, &sheet.names, &mut selected, labels)?),
        None => None,
    };
    let kinds = kinds_of(&path, &sheet.names, &selected, categorical)?;
    let mut text = Text {
        kinds: Some(kinds),
        ..Text::new(path, sheet, selected, true)
    };
    let (mut values, mut builder) = (vec![], Builder::default());
    text.rows_until(usize::MAX, &mut values, |row| {
        if let Some(index) = index {
            let text = row.get(index);
            builder.push((field(text) != Field::Missing).then_some(text));
        }
    })?;
    let levels = text.levels(&mut values)?;
    let labels = match labels {
        Some(labels) => Some(builder.whole(&text.path, labels)?),
        None => None,
    };
    Ok(MixedTable {
        table: text.selected.table(text.rows, values),
        levels,
        labels,
    })
}

/// Text whose numbers are read some rows at a time.
pub(crate) struct Text {
    path: String,
    sheet: Sheet,
    pub(crate) selected: Selection,
    /// Whether values may be missing.
    gaps: bool,
    /// The first of each column that is no number.
    words: Vec<First>,
    /// Which columns are categorical, where some may be.
    kinds: Option<Kinds>,
    missing: Vec<First>,
    row: Record,
    rows: usize,
}

impl Text {
    /// Text whose numbers may be missing, some of whose columns may be categorical.
    pub(crate) fn open(
        input: Opened,
        columns: Option<&[String]>,
        categorical: Option<&[String]>,
    ) -> Result<Self> {
        let path = input.name.clone();
        let sheet = Sheet::open(input)?;
        let selected = select(&path, &sheet.names, sheet.row_names, columns)?;
        let kinds = categorical.map(|named| kinds_of(&path, &sheet.names, &selected, named));
        let kinds = kinds.transpose()?;
        Ok(Self {
            kinds,
            ..Self::new(path, sheet, selected, true)
        })
    }

    pub(crate) fn has_levels(&self) -> bool {
        self.kinds.as_ref().is_some_and(Kinds::any)
    }

    /// The levels of columns, of all that was read.
    pub(crate) fn levels(&mut self, values: &mut [f64]) -> Result<Vec<Option<Vec<String>>>> {
        let names = &self.selected.names;
        match self.kinds.take() {
            Some(kinds) => kinds.finish(&self.path, names, values),
            None => Ok(vec![None; names.len()]),
        }
    }

    fn new(path: String, sheet: Sheet, selected: Selection, gaps: bool) -> Self {
        let none = vec![None; selected.indices.len()];
        Self {
            path,
            sheet,
            selected,
            gaps,
            words: none.clone(),
            kinds: None,
            missing: none,
            row: Record::default(),
            rows: 0,
        }
    }

    /// All of it; `each` sees every row.
    fn all(mut self, each: impl FnMut(&Record)) -> Result<Table> {
        let mut values = Vec::new();
        self.rows_until(usize::MAX, &mut values, each)?;
        Ok(self.selected.table(self.rows, values))
    }

    /// Appends the numbers of so many rows at most; nothing where there are no more. Where there is anything else it reads
    /// to the end, to know all of it.
    pub(crate) fn next(&mut self, most: usize, values: &mut Vec<f64>) -> Result<()> {
        self.rows_until(most, values, |_| ())
    }

    fn rows_until(
        &mut self,
        most: usize,
        values: &mut Vec<f64>,
        mut each: impl FnMut(&Record),
    ) -> Result<()> {
        let (gaps, row) = (self.gaps, &mut self.row);
        let mut bad = false;
        let mut left = most;
        while left > 0 && self.sheet.next(row)? {
            self.rows += 1;
            each(row);
            for (column, &index) in self.selected.indices.iter().enumerate() {
                let text = row.get(index);
                match (field(text), &mut self.kinds) {
                    (Field::Missing, Some(kinds)) if kinds.is_named(column) => {
                        values.push(f64::NAN);
                    }
                    (_, Some(kinds)) if kinds.is_named(column) => {
                        values.push(kinds.code(column, Some(text)));
                    }
                    (Field::Number(number), Some(kinds)) => {
                        values.push(number);
                        bad |= !kinds.number(column);
                    }
                    (Field::Text, Some(kinds)) => match kinds.text(column, row.line, text) {
                        Some(code) => values.push(code),
                        None => bad = true,
                    },
                    (Field::Number(number), None) => values.push(number),
                    (Field::Missing, _) if gaps && !is_infinite(text) => values.push(f64::NAN),
                    (Field::Missing, _) => {
                        note(&mut self.missing[column], row, index);
                        bad = true;
                    }
                    (Field::Text, None) => {
                        note(&mut self.words[column], row, index);
                        bad = true;
                    }
                }
            }
            if bad {
                values.clear();
            } else {
                left -= 1;
            }
        }
        if bad {
            if let Some(kinds) = &self.kinds {
                kinds.check(&self.path, &self.selected.names)?;
            }
            refuse(
                &self.path,
                &self.selected,
                &self.words,
                std::mem::take(&mut self.missing),
            )?;
        }
        if self.rows == 0 {
            return Err(Error::empty(&self.path, "a header and no rows"));
        }
        Ok(())
    }
}

fn is_infinite(text: &str) -> bool {
    text.parse().is_ok_and(f64::is_infinite)
}

/// The first field of a column that is not a number: its line and text.
type First = Option<(u64, String)>;

fn note(first: &mut First, row: &Record, index: usize) {
    if first.is_none() {
        *first = Some((row.line, shortened(row.get(index), 40)));
    }
}

/// Refuses a table for its text or else for a number that is missing. At the end of the file: only then
/// are all text columns known, and the advice about which to select must be right the first time.
fn refuse(path: &str, selected: &Selection, text: &[First], missing: Vec<First>) -> Result<()> {
    if let Some((line, example)) = text.iter().flatten().next() {
        let found = format!("text ({example:?} in line {line})");
        return Err(selected.not_numbers(path, &found, |column| text[column].is_none()));
    }
    let first = selected.names.iter().zip(missing);
    let first = first.filter_map(|(column, found)| Some((column, found?)));
    let Some((column, (line, mut found))) = first.min_by_key(|(_, (line, _))| *line) else {
        return Ok(());
    };
    if found.is_empty() {
        found.push_str("empty");
    }
    Err(Error::missing(path, FilePlace::Line(line), column, &found))
}

#[cfg(test)]
mod tests;
