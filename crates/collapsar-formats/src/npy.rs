//! Reads numbers from NumPy's .npy: one or two axes, real types, either order and endianness.

use std::io::{self, BufReader, Cursor, Read};

use npyz::{DType, Deserialize, NpyFile, NpyHeader, Order, TypeChar};

use crate::error::{Error, FilePlace, Result, shortened};
use crate::guard::guarded;
use crate::open::{ContentReader, NPY, Opened};
use crate::table::{Table, select};

/// Far beyond any header of a plain array; NumPy itself stops at 10,000.
const LONGEST_HEADER: usize = 1 << 16;
/// Brackets inside one another: records of records have five.
const DEEPEST: usize = 6;

/// Reads an array of one or two axes as a table.
pub(crate) fn read(mut input: Opened, columns: Option<&[String]>, gaps: bool) -> Result<Table> {
    let header = Header::read(&mut input)?;
    let (rows, width) = match header.npy.shape() {
        [rows] => (*rows as usize, 1),
        [rows, width] => (*rows as usize, *width as usize),
        other => {
            let found = format!("an array with {} axes", other.len());
            let error = Error::content(input.name, found, "1 or 2 (rows, columns)");
            return Err(error.trying("array.reshape(rows, columns) before saving"));
        }
    };
    let path = input.name.clone();
    let stored = header.values(input)?;
    let names: Vec<String> = (1..=width).map(|i| i.to_string()).collect();
    let selected = select(&path, &names, None, columns)?;
    let mut values = Vec::with_capacity(rows * selected.indices.len());
    for (number, row) in (1..).zip(stored.chunks_exact(width)) {
        for &column in &selected.indices {
            let value = row[column];
            let usable = value.is_finite() || (gaps && value.is_nan());
            if !usable {
                let (place, found) = (FilePlace::Row(number), value.to_string());
                return Err(Error::missing(&path, place, &names[column], &found));
            }
            values.push(value);
        }
    }
    Ok(selected.table(rows, values))
}

/// Reads an array of any number of axes: lengths, and numbers with the last index running fastest. NaN
/// stands for a number that is not there.
pub(crate) fn read_array(mut input: Opened) -> Result<(Vec<usize>, Vec<f64>)> {
    let header = Header::read(&mut input)?;
    let path = input.name.clone();
    let shape = header.npy.shape().iter();
    let mut dims: Vec<usize> = shape.map(|&length| length as usize).collect();
    let values = header.values(input)?;
    if let Some(place) = values.iter().position(|value| value.is_infinite()) {
        let (place, found) = (FilePlace::Row(place as u64 + 1), values[place].to_string());
        return Err(Error::missing(&path, place, "1", &found));
    }
    if dims.is_empty() {
        dims.push(1);
    }
    Ok((dims, values))
}

/// Numbers whose first index runs fastest, with the last running fastest.
pub(crate) fn row_major(dims: &[usize], stored: Vec<f64>) -> Vec<f64> {
    if dims.len() < 2 {
        return stored;
    }
    let strides = dims.iter().scan(1, |next, length| {
        let stride = *next;
        *next *= length;
        Some(stride)
    });
    let strides: Vec<usize> = strides.collect();
    let mut values = Vec::with_capacity(stored.len());
    let (mut index, mut from) = (vec![0; dims.len()], 0);
    while values.len() < stored.len() {
        values.push(stored[from]);
        for axis in (0..dims.len()).rev() {
            index[axis] += 1;
            from += strides[axis];
            if index[axis] < dims[axis] {
                break;
            }
            from -= strides[axis] * dims[axis];
            index[axis] = 0;
        }
    }
    values
}

/// What stands before the data.
struct Header {
    npy: NpyHeader,
    /// Its length in bytes.
    length: u64,
}

impl Header {
    fn read(input: &mut Opened) -> Result<Self> {
        let path = &input.name;
        let bytes = header_bytes(path, &mut input.reader)?;
        // npyz multiplies the shape without a check, which panics where overflow is checked.
        let npy = guarded(|| NpyHeader::from_reader(bytes.as_slice()))
            .ok_or_else(|| too_large(path))?
            .map_err(|error| Error::damaged(path, "NPY", error))?;
        let length = bytes.len() as u64;
        Ok(Self { npy, length })
    }

    /// All values, the last index running fastest. What the header claims is checked before memory is taken.
    fn values(self, input: Opened) -> Result<Vec<f64>> {
        let path = input.name.clone();
        let shape = self.npy.shape();
        let (size, decode) = decoder(&path, &self.npy.dtype())?;
        let claimed = (shape.iter()).try_fold(size, |bytes, length| bytes.checked_mul(*length));
        let claimed = claimed.ok_or_else(|| too_large(&path))?;
        let (present, reader): (u64, ContentReader) = if let Some(length) = input.length {
            (length.saturating_sub(self.length), input.reader)
        } else {
            // Zipped data do not tell how many they are.
            let bytes = input.bytes()?;
            let length = bytes.len() as u64;
            (length, BufReader::new(Box::new(Cursor::new(bytes))))
        };
        if claimed > present {
            let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
            let values = format!("{} values of {size} bytes", shape.join(" by "));
            let cause = format!("{values} do not fit in {present} bytes");
            return Err(Error::damaged(&path, "NPY", cause));
        }
        if claimed == 0 {
            return Err(Error::empty(&path, "an array without values"));
        }
        let dims: Vec<usize> = shape.iter().map(|&length| length as usize).collect();
        let order = self.npy.order();
        let stored = decode(NpyFile::with_header(self.npy, reader))
            .map_err(|error| Error::damaged(&path, "NPY", error))?;
        Ok(match order {
            Order::C => stored,
            Order::Fortran => row_major(&dims, stored),
        })
    }
}

fn too_large(path: &str) -> Error {
    Error::damaged(path, "NPY", "the shape is too large")
}

/// Everything before the data, checked before the parser sees it: its length is a claim of the file, and
/// nesting is refused because the parser recurses, and no guard catches a stack that overflows.
fn header_bytes(path: &str, reader: &mut ContentReader) -> Result<Vec<u8>> {
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
    if !bytes.starts_with(NPY) {
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
    let dictionaries = bytes.split(|&byte| byte == b'{').count() - 1;
    // A plain array opens two: the dictionary and the shape. Records, which we refuse anyway, open more. The parser
    // looks at each further level three times, so that twenty of them would take an hour.
    if opened > 64 || dictionaries > 1 || depth(&bytes) > DEEPEST {
        return Err(damaged("the header is nested too deeply"));
    }
    Ok(bytes)
}

/// How deep brackets are inside one another.
fn depth(text: &[u8]) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    for byte in text {
        match byte {
            b'(' | b'[' | b'{' => now += 1,
            b')' | b']' | b'}' => now = now.saturating_sub(1),
            _ => {}
        }
        most = most.max(now);
    }
    most
}

/// Reads every value in the order stored.
type Decoder = fn(NpyFile<ContentReader>) -> io::Result<Vec<f64>>;

/// Bytes of one value and what reads them, if the type is one we read. Integers beyond 2^53 are rounded, as
/// they are when NumPy makes them float64.
fn decoder(path: &str, dtype: &DType) -> Result<(u64, Decoder)> {
    if let DType::Plain(plain) = dtype {
        let size = plain.size_field();
        let decoder: Option<Decoder> = match (plain.type_char(), size) {
            (TypeChar::Float, 4) => Some(|file| values::<f32>(file, f64::from)),
            (TypeChar::Float, 8) => Some(|file| values::<f64>(file, f64::from)),
            (TypeChar::Int, 1) => Some(|file| values::<i8>(file, f64::from)),
            (TypeChar::Int, 2) => Some(|file| values::<i16>(file, f64::from)),
            (TypeChar::Int, 4) => Some(|file| values::<i32>(file, f64::from)),
            (TypeChar::Int, 8) => Some(|file| values::<i64>(file, |value| value as f64)),
            (TypeChar::Uint, 1) => Some(|file| values::<u8>(file, f64::from)),
            (TypeChar::Uint, 2) => Some(|file| values::<u16>(file, f64::from)),
            (TypeChar::Uint, 4) => Some(|file| values::<u32>(file, f64::from)),
            (TypeChar::Uint, 8) => Some(|file| values::<u64>(file, |value| value as f64)),
            (TypeChar::Bool, 1) => Some(|file| values::<bool>(file, f64::from)),
            _ => None,
        };
        if let Some(decoder) = decoder {
            return Ok((size, decoder));
        }
    }
    let found = shortened(&format!("values of type {}", dtype.descr()), 60);
    let error = Error::content(path, found, "float32, float64, an integer type or bool");
    Err(error.trying("array.astype(\"float64\") before saving"))
}

fn values<T: Deserialize>(
    file: NpyFile<ContentReader>,
    convert: impl Fn(T) -> f64,
) -> io::Result<Vec<f64>> {
    let data = file.data::<T>().map_err(io::Error::other)?;
    data.map(|value| value.map(&convert)).collect()
}

#[cfg(test)]
mod tests;
