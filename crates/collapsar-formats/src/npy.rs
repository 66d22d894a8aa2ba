//! Reads numbers from NumPy's .npy: one or two axes, real types, either order and endianness.

use std::io::{self, BufReader, Cursor, Read};

use collapsar::mixture::{Element, Layout};
use npyz::{DType, Deserialize, Endianness, NpyFile, NpyHeader, Order, TypeChar};

use crate::error::{Error, FilePlace, Result, shortened};
use crate::guard::guarded;
use crate::open::{ContentReader, NPY, Opened};
use crate::table::{Selection, Table, select};

/// Far beyond any header of a plain array; NumPy itself stops at 10,000.
const LONGEST_HEADER: usize = 1 << 16;
/// Brackets inside one another: records of records have five.
const DEEPEST: usize = 6;

/// Reads an array of one or two axes as a table.
pub(crate) fn read(mut input: Opened, columns: Option<&[String]>, gaps: bool) -> Result<Table> {
    let header = Header::read(&mut input)?;
    let (rows, width) = header.shape(&input.name)?;
    let path = input.name.clone();
    let stored = header.values(input)?;
    let selected = numbered(&path, width, columns)?;
    let mut values = Vec::with_capacity(rows * selected.indices.len());
    for (number, row) in (1..).zip(stored.chunks_exact(width)) {
        for &column in &selected.indices {
            let value = row[column];
            let usable = value.is_finite() || (gaps && value.is_nan());
            if !usable {
                let (place, found) = (FilePlace::Row(number), value.to_string());
                return Err(Error::missing(
                    &path,
                    place,
                    &(column + 1).to_string(),
                    &found,
                ));
            }
            values.push(value);
        }
    }
    Ok(selected.table(rows, values))
}

/// Columns that are known by their numbers.
fn numbered(path: &str, width: usize, columns: Option<&[String]>) -> Result<Selection> {
    let names: Vec<String> = (1..=width).map(|i| i.to_string()).collect();
    select(path, &names, None, columns)
}

/// An array of one or two axes that is yet to be read, in a plain file.
pub(crate) struct Array {
    pub(crate) rows: usize,
    width: usize,
    header: Header,
    input: Opened,
}

impl Array {
    pub(crate) fn open(mut input: Opened) -> Result<Self> {
        let header = Header::read(&mut input)?;
        let (rows, width) = header.shape(&input.name)?;
        let present = input.length.unwrap_or(0).saturating_sub(header.length);
        header.check(&input.name, present)?;
        Ok(Self {
            rows,
            width,
            header,
            input,
        })
    }

    pub(crate) fn select(&self, path: &str, columns: Option<&[String]>) -> Result<Selection> {
        numbered(path, self.width, columns)
    }

    /// Where these columns are in the file, if their numbers are of a kind that is read by position.
    pub(crate) fn layout(&self, columns: &[usize]) -> Option<Layout> {
        let DType::Plain(plain) = self.header.npy.dtype() else {
            return None;
        };
        let element = match (plain.type_char(), plain.size_field(), plain.endianness()) {
            (TypeChar::Float, 4, Endianness::Little) => Element::F32,
            (TypeChar::Float, 8, Endianness::Little) => Element::F64,
            _ => return None,
        };
        let order = match self.header.npy.order() {
            Order::C => collapsar::mixture::Order::Rows,
            Order::Fortran => collapsar::mixture::Order::Columns,
        };
        Some(Layout {
            offset: self.header.length,
            order,
            element,
            rows: self.rows,
            width: self.width,
            columns: columns.to_vec(),
            weights: None,
        })
    }

    /// The values in the order of the rows.
    pub(crate) fn values(self, path: &str) -> Result<Values> {
        if self.header.npy.order() == Order::Fortran && self.width > 1 {
            let found =
                "an array of integers that is stored column by column and does not fit in memory";
            let error = Error::content(path, found, "one that is stored row by row");
            return Err(error.trying("numpy.ascontiguousarray(array) before saving"));
        }
        let (_, _, stream) = decoder(path, &self.header.npy.dtype())?;
        let file = NpyFile::with_header(self.header.npy, self.input.reader);
        let values = stream(file).map_err(|error| Error::damaged(path, "NPY", error))?;
        Ok(Values {
            path: path.to_owned(),
            width: self.width,
            left: values,
        })
    }
}

/// Values of an array that are read row by row.
pub(crate) struct Values {
    path: String,
    width: usize,
    left: Stream,
}

impl Values {
    /// Appends these columns of so many rows at most; nothing where there are no more.
    pub(crate) fn next(
        &mut self,
        most: usize,
        columns: &[usize],
        batch: &mut Vec<f64>,
    ) -> Result<()> {
        let mut row = vec![0.0; self.width];
        for _ in 0..most {
            for (at, x) in row.iter_mut().enumerate() {
                match self.left.next() {
                    Some(Ok(value)) => *x = value,
                    None if at == 0 => return Ok(()),
                    Some(Err(error)) => return Err(Error::damaged(&self.path, "NPY", error)),
                    None => return Err(Error::damaged(&self.path, "NPY", "it ends in a row")),
                }
            }
            batch.extend(columns.iter().map(|&column| row[column]));
        }
        Ok(())
    }
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

    /// Rows and columns.
    fn shape(&self, path: &str) -> Result<(usize, usize)> {
        match self.npy.shape() {
            [rows] => Ok((*rows as usize, 1)),
            [rows, width] => Ok((*rows as usize, *width as usize)),
            other => {
                let found = format!("an array with {} axes", other.len());
                let error = Error::content(path, found, "1 or 2 (rows, columns)");
                Err(error.trying("array.reshape(rows, columns) before saving"))
            }
        }
    }

    /// Checks that as many bytes are there as the header claims.
    fn check(&self, path: &str, present: u64) -> Result<()> {
        let shape = self.npy.shape();
        let (size, ..) = decoder(path, &self.npy.dtype())?;
        let claimed = (shape.iter()).try_fold(size, |bytes, length| bytes.checked_mul(*length));
        let claimed = claimed.ok_or_else(|| too_large(path))?;
        if claimed > present {
            let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
            let values = format!("{} values of {size} bytes", shape.join(" by "));
            let cause = format!("{values} do not fit in {present} bytes");
            return Err(Error::damaged(path, "NPY", cause));
        }
        if claimed == 0 {
            return Err(Error::empty(path, "an array without values"));
        }
        Ok(())
    }

    /// All values, the last index running fastest. What the header claims is checked before memory is taken.
    fn values(self, input: Opened) -> Result<Vec<f64>> {
        let path = input.name.clone();
        let (_, decode, _) = decoder(&path, &self.npy.dtype())?;
        let (present, reader): (u64, ContentReader) = if let Some(length) = input.length {
            (length.saturating_sub(self.length), input.reader)
        } else {
            // Zipped data do not tell how many they are.
            let bytes = input.bytes()?;
            let length = bytes.len() as u64;
            (length, BufReader::new(Box::new(Cursor::new(bytes))))
        };
        self.check(&path, present)?;
        let shape = self.npy.shape();
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
fn decoder(path: &str, dtype: &DType) -> Result<(u64, Decoder, Streamer)> {
    /// Both of a type.
    macro_rules! of {
        ($kind:ty, $convert:expr) => {
            Some((
                (|file| values::<$kind>(file, $convert)) as Decoder,
                (|file| stream::<$kind>(file, $convert)) as Streamer,
            ))
        };
    }
    if let DType::Plain(plain) = dtype {
        let size = plain.size_field();
        let decoder: Option<(Decoder, Streamer)> = match (plain.type_char(), size) {
            (TypeChar::Float, 4) => of!(f32, f64::from),
            (TypeChar::Float, 8) => of!(f64, f64::from),
            (TypeChar::Int, 1) => of!(i8, f64::from),
            (TypeChar::Int, 2) => of!(i16, f64::from),
            (TypeChar::Int, 4) => of!(i32, f64::from),
            (TypeChar::Int, 8) => of!(i64, |value| value as f64),
            (TypeChar::Uint, 1) => of!(u8, f64::from),
            (TypeChar::Uint, 2) => of!(u16, f64::from),
            (TypeChar::Uint, 4) => of!(u32, f64::from),
            (TypeChar::Uint, 8) => of!(u64, |value| value as f64),
            (TypeChar::Bool, 1) => of!(bool, f64::from),
            _ => None,
        };
        if let Some((decoder, stream)) = decoder {
            return Ok((size, decoder, stream));
        }
    }
    let found = shortened(&format!("values of type {}", dtype.descr()), 60);
    let error = Error::content(path, found, "float32, float64, an integer type or bool");
    Err(error.trying("array.astype(\"float64\") before saving"))
}

/// Values one after the other, in the order stored.
type Stream = Box<dyn Iterator<Item = io::Result<f64>> + Send>;

/// Reads values one after the other.
type Streamer = fn(NpyFile<ContentReader>) -> io::Result<Stream>;

fn stream<T: Deserialize + 'static>(
    file: NpyFile<ContentReader>,
    convert: fn(T) -> f64,
) -> io::Result<Stream>
where
    T::TypeReader: Send + 'static,
{
    let data = file.data::<T>().map_err(io::Error::other)?;
    Ok(Box::new(data.map(move |value| value.map(convert))))
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
