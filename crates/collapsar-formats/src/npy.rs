//! Reads numbers from NumPy's .npy: one or two axes, real types, either order and endianness.

use std::io::{BufRead, Read};

use npyz::{DType, NpyFile, NpyHeader, Order, TypeChar};

use collapsar::Hint;

use crate::error::{Error, FilePlace, Problem, Result};
use crate::guard::guarded;
use crate::table::{Table, choose};

/// Far beyond any header of a plain array; NumPy itself stops at 10,000.
const LONGEST_HEADER: usize = 1 << 16;

/// Reads an array from a file of `length` bytes.
pub(crate) fn read(
    path: &str,
    mut reader: impl BufRead,
    length: u64,
    wanted: Option<&[String]>,
) -> Result<Table> {
    let too_large = || Error::damaged(path, "NPY", "the shape is too large");
    let bytes = header_bytes(path, &mut reader)?;
    // npyz multiplies the shape without a check, which panics where overflow is checked.
    let header = guarded(|| NpyHeader::from_reader(bytes.as_slice()))
        .ok_or_else(too_large)?
        .map_err(|error| Error::damaged(path, "NPY", error))?;
    let (rows, width) = shape(path, header.shape())?;
    let size = item_size(path, &header.dtype())?;
    let present = length.saturating_sub(bytes.len() as u64);
    let claimed = rows
        .checked_mul(width)
        .and_then(|values| values.checked_mul(size))
        .ok_or_else(too_large)?;
    if claimed > present {
        let cause =
            format!("{rows} by {width} values of {size} bytes do not fit in {present} bytes");
        return Err(Error::damaged(path, "NPY", cause));
    }
    if rows == 0 || width == 0 {
        return Err(Error::empty(path, "an array without values"));
    }
    let (rows, width) = (rows as usize, width as usize);
    let names: Vec<String> = (1..=width).map(|i| i.to_string()).collect();
    let chosen = choose(path, &names, None, wanted)?;
    let order = header.order();
    let stored = stored_values(path, NpyFile::with_header(header, reader))?;
    let mut values = Vec::with_capacity(rows * chosen.indices.len());
    for row in 0..rows {
        for &column in &chosen.indices {
            let value = match order {
                Order::C => stored[row * width + column],
                Order::Fortran => stored[column * rows + row],
            };
            if !value.is_finite() {
                let place = FilePlace::Row(row as u64 + 1);
                let missing = Problem::Missing {
                    column: names[column].clone(),
                    found: value.to_string(),
                };
                return Err(Error::at(path, place, missing));
            }
            values.push(value);
        }
    }
    Ok(Table {
        columns: chosen.names,
        rows,
        values,
        skipped: chosen.skipped,
    })
}

/// Reads an array of any number of axes from a file of `length` bytes: lengths, and numbers with the
/// last index running fastest. NaN stands for a number that is not there.
pub(crate) fn read_array(
    path: &str,
    mut reader: impl BufRead,
    length: u64,
) -> Result<(Vec<usize>, Vec<f64>)> {
    let too_large = || Error::damaged(path, "NPY", "the shape is too large");
    let bytes = header_bytes(path, &mut reader)?;
    let header = guarded(|| NpyHeader::from_reader(bytes.as_slice()))
        .ok_or_else(too_large)?
        .map_err(|error| Error::damaged(path, "NPY", error))?;
    let shape = header.shape().to_vec();
    let size = item_size(path, &header.dtype())?;
    let present = length.saturating_sub(bytes.len() as u64);
    let count = (shape.iter()).try_fold(1_u64, |count, length| count.checked_mul(*length));
    let claimed = count.and_then(|count| count.checked_mul(size));
    let claimed = claimed.ok_or_else(too_large)?;
    if claimed > present {
        let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
        let shape = shape.join(" by ");
        let cause = format!("{shape} values of {size} bytes do not fit in {present} bytes");
        return Err(Error::damaged(path, "NPY", cause));
    }
    if claimed == 0 {
        return Err(Error::empty(path, "an array without values"));
    }
    let order = header.order();
    let stored = stored_values(path, NpyFile::with_header(header, reader))?;
    if let Some(place) = stored.iter().position(|value| value.is_infinite()) {
        let missing = Problem::Missing {
            column: "1".to_owned(),
            found: stored[place].to_string(),
        };
        return Err(Error::at(path, FilePlace::Row(place as u64 + 1), missing));
    }
    let mut dims: Vec<usize> = shape.iter().map(|&length| length as usize).collect();
    let values = match order {
        Order::C => stored,
        Order::Fortran => from_columns(&dims, &stored),
    };
    if dims.is_empty() {
        dims.push(1);
    }
    Ok((dims, values))
}

/// Numbers whose first index runs fastest, with the last running fastest.
fn from_columns(dims: &[usize], stored: &[f64]) -> Vec<f64> {
    let mut strides = vec![1; dims.len()];
    for axis in 1..dims.len() {
        strides[axis] = strides[axis - 1] * dims[axis - 1];
    }
    let mut index = vec![0; dims.len()];
    let mut values = Vec::with_capacity(stored.len());
    for _ in 0..stored.len() {
        let place: usize = index.iter().zip(&strides).map(|(i, s)| i * s).sum();
        values.push(stored[place]);
        for axis in (0..dims.len()).rev() {
            index[axis] += 1;
            if index[axis] < dims[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    values
}

/// Everything before the data, checked before the parser sees it: its length is a claim of the file, and
/// nesting is refused because the parser recurses, and no guard catches a stack that overflows.
fn header_bytes(path: &str, reader: &mut impl BufRead) -> Result<Vec<u8>> {
    let damaged = |cause: &str| Error::damaged(path, "NPY", cause);
    let mut take = |bytes: &mut Vec<u8>, n: usize| {
        let read = reader
            .by_ref()
            .take(n as u64)
            .read_to_end(bytes)
            .map_err(|error| Error::file(path, &error))?;
        if read < n {
            Err(damaged("it ends in the header"))
        } else {
            Ok(())
        }
    };
    let mut bytes = Vec::new();
    take(&mut bytes, 8)?;
    if !bytes.starts_with(b"\x93NUMPY") {
        return Err(damaged("it does not begin as NPY files do"));
    }
    let short = bytes[6] == 1;
    take(&mut bytes, if short { 2 } else { 4 })?;
    let text = bytes[8..]
        .iter()
        .rev()
        .fold(0, |n, &byte| n << 8 | usize::from(byte));
    if text > LONGEST_HEADER {
        return Err(damaged("the header is too long"));
    }
    take(&mut bytes, text)?;
    let opened = bytes.iter().filter(|byte| b"([{".contains(byte)).count();
    // A plain array opens two: the dictionary and the shape. Records, which we refuse anyway, open more.
    if opened > 64 {
        return Err(damaged("the header is nested too deeply"));
    }
    Ok(bytes)
}

fn refused(path: &str, found: String, expected: &str, hint: &str) -> Error {
    Error::content(path, found, expected).with_hint(Hint::plain(hint))
}

/// Rows and columns; one axis is one column.
fn shape(path: &str, shape: &[u64]) -> Result<(u64, u64)> {
    match shape {
        [rows] => Ok((*rows, 1)),
        [rows, columns] => Ok((*rows, *columns)),
        other => Err(refused(
            path,
            format!("an array with {} axes", other.len()),
            "1 or 2 (rows, columns)",
            "array.reshape(rows, columns) before saving",
        )),
    }
}

/// Bytes of one value, if its type is one we read.
fn item_size(path: &str, dtype: &DType) -> Result<u64> {
    if let DType::Plain(plain) = dtype {
        let size = plain.size_field();
        match (plain.type_char(), size) {
            (TypeChar::Float, 4 | 8)
            | (TypeChar::Int | TypeChar::Uint, 1 | 2 | 4 | 8)
            | (TypeChar::Bool, 1) => {
                return Ok(size);
            }
            _ => {}
        }
    }
    let found = crate::error::shortened(&format!("values of type {}", dtype.descr()), 60);
    Err(refused(
        path,
        found,
        "float32, float64, an integer type or bool",
        "array.astype(\"float64\") before saving",
    ))
}

/// Every value in the order stored.
fn stored_values<R: Read>(path: &str, file: NpyFile<R>) -> Result<Vec<f64>> {
    let DType::Plain(plain) = file.header().dtype() else {
        return Err(Error::damaged(path, "NPY", "the type is not plain"));
    };
    // Integers beyond 2^53 are rounded, as they are when NumPy makes them float64.
    macro_rules! values {
        ($type:ty, $convert:expr) => {
            file.data::<$type>()
                .map_err(std::io::Error::other)
                .and_then(|data| data.map(|value| value.map($convert)).collect())
        };
    }
    let values: std::io::Result<Vec<f64>> = match (plain.type_char(), plain.size_field()) {
        (TypeChar::Float, 4) => values!(f32, f64::from),
        (TypeChar::Int, 1) => values!(i8, f64::from),
        (TypeChar::Int, 2) => values!(i16, f64::from),
        (TypeChar::Int, 4) => values!(i32, f64::from),
        (TypeChar::Int, _) => values!(i64, |value| value as f64),
        (TypeChar::Uint, 1) => values!(u8, f64::from),
        (TypeChar::Uint, 2) => values!(u16, f64::from),
        (TypeChar::Uint, 4) => values!(u32, f64::from),
        (TypeChar::Uint, _) => values!(u64, |value| value as f64),
        (TypeChar::Bool, _) => values!(bool, f64::from),
        _ => values!(f64, |value| value),
    };
    values.map_err(|error| Error::damaged(path, "NPY", error))
}

#[cfg(test)]
mod tests;
