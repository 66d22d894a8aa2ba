//! Reads a Parquet column of strings as texts.

use std::fs::File;

use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use crate::error::{Error, FilePlace, Problem, Result};
use crate::guard::guarded;
use crate::parquet::{batch, refusal};

use super::columns;
use super::gather::Gatherer;
use super::options::{CorpusOptions, InvalidUtf8};

/// Rows asked for at a time: texts are long, so fewer than for numbers.
const BATCH: usize = 1 << 10;

/// Guarded, because the parquet crate answers some damage by a panic.
pub(super) fn read(
    path: &str,
    file: File,
    options: &CorpusOptions,
    gatherer: &mut Gatherer<'_>,
) -> Result<()> {
    guarded(|| read_groups(path, file, options, gatherer))
        .unwrap_or_else(|| Err(Error::damaged(path, "Parquet", "it contradicts itself")))
}

fn read_groups(
    path: &str,
    file: File,
    options: &CorpusOptions,
    gatherer: &mut Gatherer<'_>,
) -> Result<()> {
    let damaged = |error: ParquetError| refusal(path, &error);
    let reader = SerializedFileReader::new(file).map_err(damaged)?;
    let schema = reader.metadata().file_metadata().schema_descr();
    let all = schema.columns();
    let names: Vec<String> = all.iter().map(|column| column.path().string()).collect();
    let is_text = |index: usize| is_string(&all[index]);
    let (text, id) = columns::choose(path, &names, options, is_text)?;
    let refuse = |index: usize, expected: &str| {
        let found = format!("column {:?} of another type", names[index]);
        Err(Error::content(path, found, expected))
    };
    if !is_text(text) {
        return refuse(text, "strings");
    }
    if let Some(id) = id
        && !is_text(id)
        && !is_integer(&all[id])
    {
        return refuse(id, "strings or whole numbers");
    }
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(damaged)?;
        let claimed = group.metadata().num_rows();
        let wrong = |found: usize| {
            let cause = format!("{found} values in a column of {claimed} rows");
            Err(Error::damaged(path, "Parquet", cause))
        };
        let ids = match id {
            Some(id) => Some(identifiers(group.as_ref(), id).map_err(damaged)?),
            None => None,
        };
        if let Some(ids) = &ids
            && i64::try_from(ids.len()) != Ok(claimed)
        {
            return wrong(ids.len());
        }
        let highest = highest(group.as_ref(), text);
        let ColumnReader::ByteArrayColumnReader(mut column) =
            group.get_column_reader(text).map_err(damaged)?
        else {
            return Err(Error::damaged(path, "Parquet", "a column changed its type"));
        };
        let mut rows = 0;
        loop {
            let mut texts: Vec<Option<ByteArray>> = Vec::new();
            if !batch(&mut column, BATCH, highest, Clone::clone, &mut texts).map_err(damaged)? {
                break;
            }
            for text in texts {
                let number = gatherer.len() + 1;
                let name = match ids.as_ref().map(|ids| ids.get(rows)) {
                    Some(Some(name)) => name.clone(),
                    Some(None) => return wrong(rows + 1),
                    None => number.to_string(),
                };
                rows += 1;
                // A document without content is null.
                let bytes = text.as_ref().map_or(&b""[..], ByteArray::data);
                let text = match std::str::from_utf8(bytes) {
                    Ok(text) => text.to_owned(),
                    Err(_) if gatherer.invalid == InvalidUtf8::Replace => {
                        gatherer.note(true);
                        String::from_utf8_lossy(bytes).into_owned()
                    }
                    Err(error) => {
                        let byte = error.valid_up_to() as u64 + 1;
                        let place = FilePlace::Row(number as u64);
                        return Err(Error::at(path, place, Problem::Utf8 { byte }));
                    }
                };
                gatherer.push(name, text)?;
            }
        }
        if i64::try_from(rows) != Ok(claimed) {
            return wrong(rows);
        }
    }
    if gatherer.len() == 0 {
        return Err(Error::no_documents(path, "a table without rows"));
    }
    Ok(())
}

fn is_string(column: &ColumnDescriptor) -> bool {
    column.max_rep_level() == 0
        && column.physical_type() == Type::BYTE_ARRAY
        && (matches!(column.logical_type_ref(), Some(LogicalType::String))
            || column.converted_type() == ConvertedType::UTF8)
}

fn is_integer(column: &ColumnDescriptor) -> bool {
    column.max_rep_level() == 0 && matches!(column.physical_type(), Type::INT32 | Type::INT64)
}

fn highest(group: &dyn RowGroupReader, index: usize) -> i16 {
    let column = group.metadata().column(index);
    column.column_descr().max_def_level()
}

/// All names of a group: they are short.
fn identifiers(
    group: &dyn RowGroupReader,
    index: usize,
) -> std::result::Result<Vec<String>, ParquetError> {
    let highest = highest(group, index);
    match group.get_column_reader(index)? {
        ColumnReader::ByteArrayColumnReader(reader) => names(reader, highest, |bytes| {
            String::from_utf8_lossy(bytes.data()).into_owned()
        }),
        ColumnReader::Int32ColumnReader(reader) => names(reader, highest, ToString::to_string),
        ColumnReader::Int64ColumnReader(reader) => names(reader, highest, ToString::to_string),
        _ => Err(ParquetError::General(
            "a column changed its type".to_owned(),
        )),
    }
}

fn names<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    highest: i16,
    convert: impl Fn(&T::T) -> String,
) -> std::result::Result<Vec<String>, ParquetError> {
    let mut out = Vec::new();
    while batch(&mut reader, BATCH, highest, &convert, &mut out)? {}
    Ok(out.into_iter().map(Option::unwrap_or_default).collect())
}
