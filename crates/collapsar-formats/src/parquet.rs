//! Reads numbers from Parquet columns, without Arrow.

use std::fs::File;

use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use collapsar::Hint;

use crate::error::{Error, FilePlace, NotNumbers, Problem, Result};
use crate::guard::guarded;
use crate::table::{Chosen, Table, choose};

/// Rows asked for at a time, so that memory follows what the file holds, not what it claims.
const BATCH: usize = 1 << 16;

/// Guarded, because the parquet crate answers some damage by a panic.
pub(crate) fn read(path: &str, file: File, wanted: Option<&[String]>) -> Result<Table> {
    guarded(|| read_groups(path, file, wanted))
        .unwrap_or_else(|| Err(Error::damaged(path, "Parquet", "it contradicts itself")))
}

fn read_groups(path: &str, file: File, wanted: Option<&[String]>) -> Result<Table> {
    let damaged = |error: ParquetError| refusal(path, &error);
    let reader = SerializedFileReader::new(file).map_err(damaged)?;
    let schema = reader.metadata().file_metadata().schema_descr();
    let names: Vec<String> = schema
        .columns()
        .iter()
        .map(|column| column.path().string())
        .collect();
    // pandas keeps an index that is not 0, 1, … under this name.
    let row_names = names
        .iter()
        .position(|name| name.starts_with("__index_level_") || name == "rownames");
    let chosen = choose(path, &names, row_names, wanted)?;
    let numbers = numbers(path, schema.columns(), &chosen)?;
    let width = chosen.indices.len();
    let mut values = Vec::new();
    let mut rows = 0;
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(damaged)?;
        let claimed = group.metadata().num_rows();
        for (position, &index) in chosen.indices.iter().enumerate() {
            let column = column(group.as_ref(), index, numbers[position]).map_err(damaged)?;
            if i64::try_from(column.len()) != Ok(claimed) {
                let cause = format!("{} values in a column of {claimed} rows", column.len());
                return Err(Error::damaged(path, "Parquet", cause));
            }
            if position == 0 {
                values.resize((rows + column.len()) * width, 0.0);
            }
            for (row, value) in column.iter().enumerate() {
                let row = rows + row;
                match value {
                    Some(value) if value.is_finite() => values[row * width + position] = *value,
                    _ => {
                        let found = value.map(|value| value.to_string());
                        let missing = Problem::Missing {
                            column: chosen.names[position].clone(),
                            found: found.unwrap_or_else(|| "null".to_owned()),
                        };
                        return Err(Error::at(path, FilePlace::Row(row as u64 + 1), missing));
                    }
                }
            }
        }
        rows += usize::try_from(claimed).unwrap_or(0);
    }
    if rows == 0 || width == 0 {
        return Err(Error::empty(path, "a table without rows"));
    }
    Ok(Table {
        columns: chosen.names,
        rows,
        values,
        skipped: chosen.skipped,
    })
}

/// A codec left out of the build is not damage.
pub(crate) fn refusal(path: &str, error: &ParquetError) -> Error {
    let text = error.to_string();
    if matches!(error, ParquetError::NYI(_)) || text.contains("feature") {
        let found = "a compression or encoding that is not supported";
        let expected = "Parquet with snappy, zstd, gzip or no compression";
        let hint = Hint::plain("df.to_parquet(path, compression=\"zstd\")");
        return Error::content(path, found, expected).with_hint(hint);
    }
    Error::damaged(path, "Parquet", text)
}

/// What a stored number stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Number {
    Plain,
    Unsigned,
    /// An integer in units of this power of ten.
    Decimal(i32),
}

/// What each chosen column's numbers stand for, or an error that names those that have none.
fn numbers(
    path: &str,
    columns: &[std::sync::Arc<ColumnDescriptor>],
    chosen: &Chosen,
) -> Result<Vec<Number>> {
    let numbers: Vec<Option<Number>> = chosen
        .indices
        .iter()
        .map(|&index| number(&columns[index]))
        .collect();
    if numbers.iter().all(Option::is_some) {
        return Ok(numbers.into_iter().flatten().collect());
    }
    let names = |numeric: bool| {
        let pairs = chosen.names.iter().zip(&numbers);
        pairs
            .filter(|(_, number)| number.is_some() == numeric)
            .map(|(name, _)| name.clone())
            .collect()
    };
    let pairs = chosen.indices.iter().zip(&numbers);
    let mut kinds: Vec<String> = pairs
        .filter(|(_, number)| number.is_none())
        .map(|(&index, _)| kind(&columns[index]))
        .collect();
    kinds.sort();
    kinds.dedup();
    let text = Problem::Text {
        columns: names(false),
        found: NotNumbers::Types(kinds),
        numeric: names(true),
    };
    Err(Error::of(path, text))
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

type Column = std::result::Result<Vec<Option<f64>>, ParquetError>;

fn column(group: &dyn RowGroupReader, index: usize, number: Number) -> Column {
    let scale = match number {
        Number::Decimal(scale) => 10f64.powi(scale),
        _ => 1.0,
    };
    let highest = group
        .metadata()
        .column(index)
        .column_descr()
        .max_def_level();
    let unsigned = number == Number::Unsigned;
    match group.get_column_reader(index)? {
        ColumnReader::BoolColumnReader(reader) => {
            all(reader, highest, |value| f64::from(u8::from(value)))
        }
        ColumnReader::Int32ColumnReader(reader) if unsigned => {
            all(reader, highest, |value| f64::from(value.cast_unsigned()))
        }
        ColumnReader::Int32ColumnReader(reader) => {
            all(reader, highest, |value| f64::from(value) / scale)
        }
        ColumnReader::Int64ColumnReader(reader) if unsigned => {
            all(reader, highest, |value| value.cast_unsigned() as f64)
        }
        ColumnReader::Int64ColumnReader(reader) => {
            all(reader, highest, |value| value as f64 / scale)
        }
        ColumnReader::FloatColumnReader(reader) => all(reader, highest, f64::from),
        ColumnReader::DoubleColumnReader(reader) => all(reader, highest, |value| value),
        _ => Err(ParquetError::General(
            "a column changed its type".to_owned(),
        )),
    }
}

/// Every value of a column, nulls in their places.
fn all<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    highest: i16,
    convert: impl Fn(T::T) -> f64,
) -> Column
where
    T::T: Copy,
{
    let mut out = Vec::new();
    while batch(
        &mut reader,
        BATCH,
        highest,
        |&value| convert(value),
        &mut out,
    )? {}
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
        let value = if level == highest {
            present.next()
        } else {
            None
        };
        out.push(value.map(&convert));
    }
    Ok(read > 0)
}

#[cfg(test)]
mod tests;
