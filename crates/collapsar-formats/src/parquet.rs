//! Reads numbers from Parquet columns, without Arrow.

mod footer;

use std::fs::File;
use std::path::{Path, PathBuf};

use parquet::basic::{Compression, ConvertedType, LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use crate::error::{Error, FilePlace, Result};
use crate::guard::guarded;
use crate::label_column::{Builder, name_of, separate};
use crate::mixed::{MixedTable, kinds_of};
use crate::table::{Selection, Table, select};

/// Rows asked for at a time, so that memory follows what the file holds, not what it claims.
const BATCH: usize = 1 << 16;

/// Guarded, because the parquet crate answers some damage by a panic.
pub(crate) fn read(
    path: &str,
    file: File,
    columns: Option<&[String]>,
    gaps: bool,
) -> Result<Table> {
    unpanicked(path, || {
        let (reader, names) = open(path, file)?;
        let selected = select(path, &names, row_names(&names), columns)?;
        read_groups(path, &reader, selected, gaps)
    })
}

/// Reads numbers, and labels of some of their rows from a column of text or numbers.
pub(crate) fn read_with_labels(
    path: &str,
    file: File,
    columns: Option<&[String]>,
    labels: &str,
) -> Result<(Table, Builder)> {
    unpanicked(path, || {
        let (reader, names) = open(path, file)?;
        let mut selected = select(path, &names, row_names(&names), columns)?;
        let index = separate(path, &names, &mut selected, labels)?;
        let found = labels_of(path, &reader, index)?;
        Ok((read_groups(path, &reader, selected, true)?, found))
    })
}

/// Reads numbers and levels, and labels of some rows where there is a column of these, of files with the same columns.
pub(crate) fn read_mixed(
    path: &str,
    files: &[PathBuf],
    columns: Option<&[String]>,
    (categorical, labels): (&[String], Option<&str>),
) -> Result<MixedTable> {
    let mut taken: Option<(Vec<String>, Vec<String>)> = None;
    let (mut kinds, mut builder) = (None, Builder::default());
    let (mut values, mut rows) = (vec![], 0);
    for file in files {
        let name = file.display().to_string();
        unpanicked(&name, || {
            let (reader, names) = open(&name, crate::rows::opened(file)?)?;
            let columns = taken.as_ref().map(|(names, _)| &names[..]).or(columns);
            let mut selected = select(&name, &names, row_names(&names), columns)?;
            if let Some(labels) = labels {
                let index = separate(&name, &names, &mut selected, labels)?;
                builder.append(labels_of(&name, &reader, index)?);
            }
            let kinds = match &mut kinds {
                Some(kinds) => kinds,
                none => none.insert(kinds_of(&name, &names, &selected, categorical)?),
            };
            let columns = reader.metadata().file_metadata().schema_descr().columns();
            let stored = kinds_stored(&name, columns, &selected, |at| kinds.is_named(at))?;
            let width = selected.indices.len();
            for group in 0..reader.num_row_groups() {
                let group = Group::open(&name, &reader, group)?;
                let start = values.len();
                for (position, &index) in selected.indices.iter().enumerate() {
                    let (column, highest) = group.column(index)?;
                    let cells = match stored[position] {
                        Stored::Numbers(number) => numbers_with_gaps(
                            (&name, &selected.names[position], rows),
                            floats(column, highest, number),
                        )?,
                        of => {
                            let names = level_names(&name, (column, highest), of)?;
                            let code =
                                |level: Option<String>| kinds.code(position, level.as_deref());
                            names.into_iter().map(code).collect()
                        }
                    };
                    group.check(cells.len())?;
                    if position == 0 {
                        values.resize(start + cells.len() * width, 0.0);
                    }
                    let places = values[start..].iter_mut().skip(position).step_by(width);
                    for (place, cell) in places.zip(cells) {
                        *place = cell;
                    }
                }
                rows += group.rows;
            }
            taken.get_or_insert((selected.names, selected.skipped));
            Ok(())
        })?;
    }
    let (Some((names, skipped)), Some(kinds)) = (taken.filter(|_| rows > 0), kinds) else {
        return Err(Error::empty(path, "a table without rows"));
    };
    let levels = kinds.finish(path, &names, &mut values)?;
    let labels = match labels {
        Some(labels) => Some(builder.whole(path, labels)?),
        None => None,
    };
    let table = Table {
        columns: names,
        rows,
        values,
        skipped,
    };
    Ok(MixedTable {
        table,
        levels,
        labels,
    })
}

/// How many rows files with categorical columns have; nothing where none is such.
pub(crate) fn categorical_rows(
    path: &str,
    files: &[PathBuf],
    columns: Option<&[String]>,
    categorical: &[String],
) -> Result<Option<(usize, usize)>> {
    let Some(first) = files.first() else {
        return Err(Error::empty(path, "a table without rows"));
    };
    let name = first.display().to_string();
    let (any, width) = unpanicked(&name, || {
        let (reader, names) = open(&name, crate::rows::opened(first)?)?;
        let selected = select(&name, &names, row_names(&names), columns)?;
        let columns = reader.metadata().file_metadata().schema_descr().columns();
        let mut indices = selected.indices.iter();
        let of = |index: &usize| is_text(&columns[*index]) || is_boolean(&columns[*index]);
        let any = !categorical.is_empty() || indices.any(of);
        Ok((any, selected.indices.len()))
    })?;
    if !any {
        return Ok(None);
    }
    let mut rows = 0_usize;
    for file in files {
        let name = file.display().to_string();
        rows = rows.saturating_add(unpanicked(&name, || {
            let (reader, _) = open(&name, crate::rows::opened(file)?)?;
            Ok(reader.metadata().file_metadata().num_rows().max(0) as usize)
        })?);
    }
    Ok(Some((rows, width)))
}

/// What a column of a mixed table is stored as.
#[derive(Debug, Clone, Copy)]
enum Stored {
    Numbers(Number),
    Text,
    /// Numbers that are names.
    Names(Number),
    Booleans,
}

fn is_text(column: &ColumnDescriptor) -> bool {
    let plain = matches!(
        column.converted_type(),
        ConvertedType::UTF8 | ConvertedType::NONE | ConvertedType::ENUM
    );
    plain && column.max_rep_level() == 0 && column.physical_type() == Type::BYTE_ARRAY
}

fn is_boolean(column: &ColumnDescriptor) -> bool {
    column.max_rep_level() == 0 && column.physical_type() == Type::BOOLEAN
}

/// What each selected column is stored as, or an error that names those that are neither numbers nor levels.
fn kinds_stored(
    path: &str,
    columns: &[std::sync::Arc<ColumnDescriptor>],
    selected: &Selection,
    is_named: impl Fn(usize) -> bool,
) -> Result<Vec<Stored>> {
    let kind_of = |(at, &index): (usize, &usize)| {
        let column = &columns[index];
        match number(column) {
            _ if is_boolean(column) => Some(Stored::Booleans),
            Some(number) if is_named(at) => Some(Stored::Names(number)),
            Some(number) => Some(Stored::Numbers(number)),
            None => is_text(column).then_some(Stored::Text),
        }
    };
    let found: Vec<Option<Stored>> = selected.indices.iter().enumerate().map(kind_of).collect();
    let others = selected.indices.iter().zip(&found);
    let others = others.filter(|(_, of)| of.is_none());
    let mut types: Vec<String> = others.map(|(&index, _)| kind(&columns[index])).collect();
    if types.is_empty() {
        return Ok(found.into_iter().flatten().collect());
    }
    types.sort();
    types.dedup();
    Err(selected.not_numbers(path, &types.join(" and "), |at| found[at].is_some()))
}

/// The names of a column's levels, none where one is missing.
fn level_names(
    path: &str,
    (column, highest): (ColumnReader, i16),
    stored: Stored,
) -> Result<Vec<Option<String>>> {
    let mut bad = false;
    let names = match (column, stored) {
        (ColumnReader::ByteArrayColumnReader(column), Stored::Text) => {
            let text = all(column, highest, |bytes| {
                std::str::from_utf8(bytes.data()).ok().map(str::to_owned)
            });
            text.map(|all| {
                let each = all.into_iter().map(|of| {
                    bad |= of == Some(None);
                    of.flatten().filter(|name| !name.trim().is_empty())
                });
                each.collect()
            })
        }
        (column, Stored::Booleans) => floats(column, highest, Number::Plain).map(|all| {
            let name = |x: f64| if x == 0.0 { "false" } else { "true" }.to_owned();
            all.into_iter().map(|of| of.map(name)).collect()
        }),
        (column, Stored::Names(number)) => floats(column, highest, number).map(|all| {
            let each = all.into_iter();
            each.map(|of| of.and_then(name_of)).collect()
        }),
        _ => Err(other_type()),
    };
    if bad {
        let found = "text that is not UTF-8";
        return Err(Error::content(path, found, "levels in UTF-8"));
    }
    names.map_err(|error| refusal(path, error))
}

/// Numbers of a column, NaN where one is missing; refuses those that are not finite.
fn numbers_with_gaps(
    (path, column, rows): (&str, &str, usize),
    numbers: Values<f64>,
) -> Result<Vec<f64>> {
    let numbers = numbers.map_err(|error| refusal(path, error))?;
    let numbers = numbers.into_iter().map(|x| x.unwrap_or(f64::NAN));
    let numbers: Vec<f64> = numbers.collect();
    match numbers.iter().position(|x| x.is_infinite()) {
        None => Ok(numbers),
        Some(at) => {
            let place = FilePlace::Row((rows + at) as u64 + 1);
            Err(Error::missing(
                path,
                place,
                column,
                &numbers[at].to_string(),
            ))
        }
    }
}

/// pandas keeps an index that is not 0, 1, … under this name.
fn row_names(names: &[String]) -> Option<usize> {
    let is_index = |name: &String| name.starts_with("__index_level_") || name == "rownames";
    names.iter().position(is_index)
}

/// A column as names of classes.
fn labels_of(path: &str, reader: &SerializedFileReader<File>, index: usize) -> Result<Builder> {
    let schema = reader.metadata().file_metadata().schema_descr();
    let column = &schema.columns()[index];
    let number = number(column);
    let is_text = column.max_rep_level() == 0 && column.physical_type() == Type::BYTE_ARRAY;
    let refused = || {
        let found = format!("column {:?} has {}", column.path().string(), kind(column));
        Error::content(path, found, "labels: text or numbers")
    };
    if number.is_none() && !is_text {
        return Err(refused());
    }
    let mut builder = Builder::default();
    for group in 0..reader.num_row_groups() {
        let group = Group::open(path, reader, group)?;
        let (column, highest) = group.column(index)?;
        let names = match (column, number) {
            (ColumnReader::ByteArrayColumnReader(column), _) => all(column, highest, |bytes| {
                std::str::from_utf8(bytes.data()).ok().map(str::to_owned)
            }),
            (column, Some(number)) => floats(column, highest, number).map(|numbers| {
                let name = |number: Option<f64>| number.map(name_of);
                numbers.into_iter().map(name).collect()
            }),
            (_, None) => Err(other_type()),
        };
        let names = names.map_err(|error| refusal(path, error))?;
        group.check(names.len())?;
        for name in names {
            // What is there and no text is not UTF-8.
            let name = match name {
                Some(None) if is_text => return Err(refused()),
                other => other.flatten(),
            };
            builder.push(name.as_deref().filter(|name| !name.trim().is_empty()));
        }
    }
    Ok(builder)
}

/// What `read` gives; a panic in it is damage.
pub(crate) fn unpanicked<T>(path: &str, read: impl FnOnce() -> Result<T>) -> Result<T> {
    guarded(read).unwrap_or_else(|| Err(Error::damaged(path, "Parquet", "it contradicts itself")))
}

fn read_groups(
    path: &str,
    reader: &SerializedFileReader<File>,
    selected: Selection,
    gaps: bool,
) -> Result<Table> {
    let schema = reader.metadata().file_metadata().schema_descr();
    let numbers = numbers(path, schema.columns(), &selected)?;
    let width = selected.indices.len();
    let mut values = Vec::new();
    let mut rows = 0;
    for group in 0..reader.num_row_groups() {
        let group = Group::open(path, reader, group)?;
        for (position, &index) in selected.indices.iter().enumerate() {
            let (column, highest) = group.column(index)?;
            let column = floats(column, highest, numbers[position]);
            let column = column.map_err(|error| refusal(path, error))?;
            group.check(column.len())?;
            if position == 0 {
                values.resize((rows + column.len()) * width, 0.0);
            }
            for (row, value) in (rows..).zip(column) {
                let value = if gaps {
                    value.or(Some(f64::NAN))
                } else {
                    value
                };
                let usable = |value: &f64| value.is_finite() || (gaps && value.is_nan());
                if let Some(value) = value.filter(usable) {
                    values[row * width + position] = value;
                    continue;
                }
                let (place, column) = (FilePlace::Row(row as u64 + 1), &selected.names[position]);
                let found = value.map_or_else(|| "null".to_owned(), |value| value.to_string());
                return Err(Error::missing(path, place, column, &found));
            }
        }
        rows += group.rows;
    }
    if rows == 0 || width == 0 {
        return Err(Error::empty(path, "a table without rows"));
    }
    Ok(selected.table(rows, values))
}

/// A reader of row groups, and the columns' names.
pub(crate) fn open(path: &str, file: File) -> Result<(SerializedFileReader<File>, Vec<String>)> {
    let held = |bounded: std::io::Result<bool>| match bounded {
        Ok(true) => Ok(()),
        Ok(false) => Err(Error::damaged(
            path,
            "Parquet",
            "it claims more than it holds",
        )),
        Err(error) => Err(Error::file(path, &error)),
    };
    held(footer::is_bounded(&file))?;
    let again = file
        .try_clone()
        .map_err(|error| Error::file(path, &error))?;
    let reader = SerializedFileReader::new(file).map_err(|error| refusal(path, error))?;
    let groups = reader.metadata().row_groups().iter();
    let columns = groups.flat_map(RowGroupMetaData::columns);
    let ranges = columns.map(ColumnChunkMetaData::byte_range);
    held(footer::pages_are_bounded(&again, ranges))?;
    let schema = reader.metadata().file_metadata().schema_descr();
    let columns = schema.columns().iter();
    let names = columns.map(|column| column.path().string()).collect();
    Ok((reader, names))
}

/// A row group.
pub(crate) struct Group<'a> {
    path: &'a str,
    reader: Box<dyn RowGroupReader + 'a>,
    /// How many rows it claims to have.
    rows: usize,
}

impl<'a> Group<'a> {
    pub(crate) fn open(
        path: &'a str,
        file: &'a SerializedFileReader<File>,
        index: usize,
    ) -> Result<Self> {
        let reader = file.get_row_group(index);
        let reader = reader.map_err(|error| refusal(path, error))?;
        let rows = usize::try_from(reader.metadata().num_rows()).unwrap_or(0);
        Ok(Self { path, reader, rows })
    }

    /// A column, and the level of values that are present.
    pub(crate) fn column(&self, index: usize) -> Result<(ColumnReader, i16)> {
        let column = self.reader.metadata().column(index);
        // Those that this build can read.
        match column.compression() {
            Compression::UNCOMPRESSED
            | Compression::SNAPPY
            | Compression::GZIP(_)
            | Compression::ZSTD(_) => {}
            _ => return Err(unsupported(self.path)),
        }
        let reader = self.reader.get_column_reader(index);
        let reader = reader.map_err(|error| refusal(self.path, error))?;
        Ok((reader, column.column_descr().max_def_level()))
    }

    /// Refuses a column that has another number of values than there are rows.
    pub(crate) fn check(&self, found: usize) -> Result<()> {
        if found == self.rows {
            return Ok(());
        }
        let cause = format!("{found} values in a column of {} rows", self.rows);
        Err(Error::damaged(self.path, "Parquet", cause))
    }
}

fn unsupported(path: &str) -> Error {
    let found = "a compression or encoding that is not supported";
    let expected = "Parquet with snappy, zstd, gzip or no compression";
    Error::content(path, found, expected).trying("df.to_parquet(path, compression=\"zstd\")")
}

/// What is not supported is not damage.
pub(crate) fn refusal(path: &str, error: ParquetError) -> Error {
    let cause = match error {
        ParquetError::NYI(_) => return unsupported(path),
        ParquetError::General(cause) | ParquetError::EOF(cause) => cause,
        ParquetError::External(cause) => cause.to_string(),
        other => other.to_string(),
    };
    Error::damaged(path, "Parquet", cause)
}

/// What a stored number stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Number {
    Plain,
    Unsigned,
    /// An integer in units of this power of ten.
    Decimal(i32),
}

/// What each selected column's numbers stand for, or an error that names those that have none.
fn numbers(
    path: &str,
    columns: &[std::sync::Arc<ColumnDescriptor>],
    selected: &Selection,
) -> Result<Vec<Number>> {
    let indices = selected.indices.iter();
    let numbers: Vec<Option<Number>> = indices.map(|&index| number(&columns[index])).collect();
    let pairs = selected.indices.iter().zip(&numbers);
    let others = pairs.filter(|(_, number)| number.is_none());
    let mut types: Vec<String> = others.map(|(&index, _)| kind(&columns[index])).collect();
    if types.is_empty() {
        return Ok(numbers.into_iter().flatten().collect());
    }
    types.sort();
    types.dedup();
    let is_numeric = |position: usize| numbers[position].is_some();
    Err(selected.not_numbers(path, &types.join(" and "), is_numeric))
}

fn kind(column: &ColumnDescriptor) -> String {
    if column.max_rep_level() > 0 {
        return "lists".to_owned();
    }
    match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Timestamp(_)), _) => "timestamps".to_owned(),
        (_, ConvertedType::UTF8) => "text".to_owned(),
        (_, ConvertedType::NONE) => format!("{} values", column.physical_type()),
        (_, other) => format!("{other} values"),
    }
}

/// `None` for what is not a number: text, dates and times, lists.
fn number(column: &ColumnDescriptor) -> Option<Number> {
    use ConvertedType as Old;
    match column.physical_type() {
        _ if column.max_rep_level() > 0 => None,
        Type::BOOLEAN | Type::FLOAT | Type::DOUBLE => Some(Number::Plain),
        // Old writers give only the converted type, new ones both.
        Type::INT32 | Type::INT64 => match (column.logical_type_ref(), column.converted_type()) {
            (Some(LogicalType::Decimal(decimal)), _) => Some(Number::Decimal(decimal.scale)),
            (Some(LogicalType::Integer(integer)), _) if integer.is_signed => Some(Number::Plain),
            (Some(LogicalType::Integer(_)), _) => Some(Number::Unsigned),
            (None, Old::DECIMAL) => Some(Number::Decimal(column.type_scale())),
            (None, Old::UINT_8 | Old::UINT_16 | Old::UINT_32 | Old::UINT_64) => {
                Some(Number::Unsigned)
            }
            (None, Old::NONE | Old::INT_8 | Old::INT_16 | Old::INT_32 | Old::INT_64) => {
                Some(Number::Plain)
            }
            _ => None,
        },
        Type::INT96 | Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY => None,
    }
}

/// The numbers of a column, nulls in their places.
fn floats(mut column: ColumnReader, highest: i16, number: Number) -> Values<f64> {
    let mut out = Vec::new();
    while some_floats(&mut column, BATCH, highest, number, &mut out)? {}
    Ok(out)
}

/// Appends the next numbers of a column, at most `rows`, nulls in their places; `false` at the end.
fn some_floats(
    column: &mut ColumnReader,
    rows: usize,
    highest: i16,
    number: Number,
    out: &mut Vec<Option<f64>>,
) -> std::result::Result<bool, ParquetError> {
    let scale = match number {
        Number::Decimal(scale) => 10f64.powi(scale),
        _ => 1.0,
    };
    let unsigned = number == Number::Unsigned;
    match column {
        ColumnReader::BoolColumnReader(of) => {
            batch(of, rows, highest, |&value| f64::from(value), out)
        }
        ColumnReader::Int32ColumnReader(of) if unsigned => {
            let number = |value: &i32| f64::from(value.cast_unsigned());
            batch(of, rows, highest, number, out)
        }
        ColumnReader::Int32ColumnReader(of) => {
            batch(of, rows, highest, |&value| f64::from(value) / scale, out)
        }
        ColumnReader::Int64ColumnReader(of) if unsigned => {
            let number = |value: &i64| value.cast_unsigned() as f64;
            batch(of, rows, highest, number, out)
        }
        ColumnReader::Int64ColumnReader(of) => {
            batch(of, rows, highest, |&value| value as f64 / scale, out)
        }
        ColumnReader::FloatColumnReader(of) => {
            batch(of, rows, highest, |&value| f64::from(value), out)
        }
        ColumnReader::DoubleColumnReader(of) => batch(of, rows, highest, |&value| value, out),
        _ => Err(other_type()),
    }
}

/// Files with the same columns that are one table.
pub(crate) struct Parts {
    pub(crate) name: String,
    pub(crate) names: Vec<String>,
    pub(crate) skipped: Vec<String>,
    /// How many rows all claim to have.
    pub(crate) rows: usize,
    files: std::vec::IntoIter<PathBuf>,
}

impl Parts {
    /// The first file says which columns are taken; all are looked at.
    pub(crate) fn open(
        name: String,
        files: Vec<PathBuf>,
        columns: Option<&[String]>,
    ) -> Result<Self> {
        let mut taken: Option<(Vec<String>, Vec<String>)> = None;
        let mut rows = 0;
        for file in &files {
            let columns = taken.as_ref().map(|(names, _)| &names[..]).or(columns);
            let part = Part::open(file, columns)?;
            rows += part.all_rows();
            taken.get_or_insert((part.selected.names, part.selected.skipped));
        }
        let Some((names, skipped)) = taken.filter(|(names, _)| rows > 0 && !names.is_empty())
        else {
            return Err(Error::empty(&name, "a table without rows"));
        };
        Ok(Self {
            name,
            names,
            skipped,
            rows,
            files: files.into_iter(),
        })
    }

    /// The next file.
    pub(crate) fn next(&mut self) -> Result<Option<Part>> {
        let file = self.files.next();
        file.map(|file| Part::open(&file, Some(&self.names)))
            .transpose()
    }
}

/// A file that is read some rows at a time.
pub(crate) struct Part {
    path: String,
    reader: SerializedFileReader<File>,
    selected: Selection,
    numbers: Vec<Number>,
    /// The row group that is next.
    group: usize,
    /// Columns of the one that is read, with the levels of values that are present.
    columns: Vec<(ColumnReader, i16)>,
    /// Rows that are left in it.
    left: usize,
    /// Rows read.
    read: usize,
}

impl Part {
    fn open(path: &Path, columns: Option<&[String]>) -> Result<Self> {
        let name = path.display().to_string();
        unpanicked(&name, || {
            let (reader, names) = open(&name, crate::rows::opened(path)?)?;
            let selected = select(&name, &names, row_names(&names), columns)?;
            let schema = reader.metadata().file_metadata().schema_descr();
            let numbers = numbers(&name, schema.columns(), &selected)?;
            Ok(Self {
                path: name.clone(),
                reader,
                selected,
                numbers,
                group: 0,
                columns: vec![],
                left: 0,
                read: 0,
            })
        })
    }

    fn all_rows(&self) -> usize {
        let groups = self.reader.metadata().row_groups().iter();
        let rows = groups.map(|group| usize::try_from(group.num_rows()).unwrap_or(0));
        rows.fold(0, usize::saturating_add)
    }

    /// Appends so many rows at most, NaN where a value is missing; `false` where there are no more.
    pub(crate) fn next(&mut self, most: usize, batch: &mut Vec<f64>) -> Result<bool> {
        let path = self.path.clone();
        unpanicked(&path, || self.some(most, batch))
    }

    fn some(&mut self, most: usize, out: &mut Vec<f64>) -> Result<bool> {
        while self.left == 0 {
            if self.group == self.reader.num_row_groups() {
                return Ok(false);
            }
            let group = Group::open(&self.path, &self.reader, self.group)?;
            let columns = self.selected.indices.iter();
            self.columns = columns
                .map(|index| group.column(*index))
                .collect::<Result<_>>()?;
            self.left = group.rows;
            self.group += 1;
        }
        let (width, rows) = (self.columns.len(), most.min(self.left));
        let start = out.len();
        out.resize(start + rows * width, 0.0);
        let mut values = vec![];
        for (position, (column, highest)) in self.columns.iter_mut().enumerate() {
            values.clear();
            let number = self.numbers[position];
            while values.len() < rows {
                let wanted = rows - values.len();
                let more = some_floats(column, wanted, *highest, number, &mut values);
                if !more.map_err(|error| refusal(&self.path, error))? {
                    break;
                }
            }
            if values.len() != rows {
                let cause = format!("{} values where there are {rows} rows", values.len());
                return Err(Error::damaged(&self.path, "Parquet", cause));
            }
            for (row, value) in values.iter().enumerate() {
                let value = value.unwrap_or(f64::NAN);
                if value.is_infinite() {
                    let place = FilePlace::Row((self.read + row) as u64 + 1);
                    let column = &self.selected.names[position];
                    let found = value.to_string();
                    return Err(Error::missing(&self.path, place, column, &found));
                }
                out[start + row * width + position] = value;
            }
        }
        self.left -= rows;
        self.read += rows;
        Ok(true)
    }
}

pub(crate) fn other_type() -> ParquetError {
    ParquetError::General("a column changed its type".to_owned())
}

/// Values of a column, nulls in their places.
pub(crate) type Values<V> = std::result::Result<Vec<Option<V>>, ParquetError>;

/// Every value of a column.
pub(crate) fn all<T: DataType, V>(
    mut reader: ColumnReaderImpl<T>,
    highest: i16,
    convert: impl Fn(&T::T) -> V,
) -> Values<V> {
    let mut out = Vec::new();
    while batch(&mut reader, BATCH, highest, &convert, &mut out)? {}
    Ok(out)
}

/// Appends the next values of a column, at most `rows`, nulls in their places; `false` at the end.
/// Without lists a value is present exactly where its level is `highest`.
pub(crate) fn batch<T: DataType, V>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    highest: i16,
    convert: impl Fn(&T::T) -> V,
    out: &mut Vec<Option<V>>,
) -> std::result::Result<bool, ParquetError> {
    let mut stored = Vec::new();
    let mut levels = Vec::new();
    let (read, ..) = reader.read_records(rows, Some(&mut levels), None, &mut stored)?;
    if highest == 0 {
        out.extend(stored.iter().map(|value| Some(convert(value))));
        return Ok(read > 0);
    }
    let mut present = stored.iter();
    for &level in &levels {
        let value = (level == highest).then(|| present.next()).flatten();
        out.push(value.map(&convert));
    }
    Ok(read > 0)
}

#[cfg(test)]
mod tests;
