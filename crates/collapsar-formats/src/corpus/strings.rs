//! Reads a Parquet column of strings as texts.

use std::fs::File;

use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::column::reader::ColumnReader;
use parquet::data_type::ByteArray;
use parquet::file::reader::FileReader;
use parquet::schema::types::ColumnDescriptor;

use crate::error::{Error, FilePlace, Result};
use crate::parquet::{Group, Values, all, batch, open, other_type, refusal, unpanicked};

use super::columns;
use super::gather::Gatherer;

/// Rows asked for at a time: texts are long, so fewer than for numbers.
const BATCH: usize = 1 << 10;

/// Guarded, because the parquet crate answers some damage by a panic.
pub(super) fn read(file: File, gatherer: &mut Gatherer<'_>) -> Result<()> {
    unpanicked(gatherer.path, || read_groups(file, gatherer))
}

fn read_groups(file: File, gatherer: &mut Gatherer<'_>) -> Result<()> {
    let path = gatherer.path;
    let (reader, names) = open(path, file)?;
    let schema = reader.metadata().file_metadata().schema_descr();
    let is_text = |index: usize| is_string(&schema.column(index));
    let (text, id) = columns::select(path, &names, gatherer.options, is_text)?;
    let refuse = |index: usize, expected: &str| {
        let found = format!("column {:?} of another type", names[index]);
        Err(Error::content(path, found, expected))
    };
    if !is_text(text) {
        return refuse(text, "strings");
    }
    if let Some(id) = id
        && !is_text(id)
        && !is_integer(&schema.column(id))
    {
        return refuse(id, "strings or whole numbers");
    }
    for group in 0..reader.num_row_groups() {
        let group = Group::open(path, &reader, group)?;
        let mut ids = None;
        if let Some(id) = id {
            let (column, highest) = group.column(id)?;
            let names = identifiers(column, highest).map_err(|error| refusal(path, error))?;
            group.check(names.len())?;
            ids = Some(names.into_iter());
        }
        let (ColumnReader::ByteArrayColumnReader(mut column), highest) = group.column(text)? else {
            return Err(refusal(path, other_type()));
        };
        let mut rows = 0;
        let mut texts: Vec<Option<ByteArray>> = Vec::new();
        while batch(&mut column, BATCH, highest, Clone::clone, &mut texts)
            .map_err(|error| refusal(path, error))?
        {
            rows += texts.len();
            for text in texts.drain(..) {
                let number = gatherer.number();
                let name = match &mut ids {
                    // There are as many as rows, which are checked below.
                    Some(ids) => ids.next().flatten().unwrap_or_default(),
                    None => number.to_string(),
                };
                // A document without content is null.
                let bytes = text.as_ref().map_or(&b""[..], ByteArray::data);
                gatherer.push_bytes(name, path, FilePlace::Row(number as u64), bytes)?;
            }
        }
        group.check(rows)?;
    }
    gatherer.some("a table without rows")
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

/// All names of a group: they are short.
fn identifiers(column: ColumnReader, highest: i16) -> Values<String> {
    match column {
        ColumnReader::ByteArrayColumnReader(reader) => all(reader, highest, |bytes| {
            String::from_utf8_lossy(bytes.data()).into_owned()
        }),
        ColumnReader::Int32ColumnReader(reader) => all(reader, highest, ToString::to_string),
        ColumnReader::Int64ColumnReader(reader) => all(reader, highest, ToString::to_string),
        _ => Err(other_type()),
    }
}
