//! Decides how rows that are not in memory are read: from a file, by segments of whole blocks.
//!
//! Numbers come as they are in the file, and are mapped and turned into blocks as they are worked on, to the bits that rows in memory have.

use std::ops::{ControlFlow, Range};
use std::path::Path;

use super::BLOCK;
use crate::error::Result;
use crate::segments::{Reading, SegmentFile};

/// Bytes of the first segment that is read: small, as nothing can be done before it is there.
const FIRST: usize = 1 << 17;

/// How numbers follow one another in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// In blocks of [`BLOCK`] rows, each column by column, as rows in memory have it.
    Blocks,
    /// Row by row.
    Rows,
    /// Column by column.
    Columns,
}

/// What numbers are in a file, the lowest byte first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// Of four bytes.
    F32,
    /// Of eight bytes.
    F64,
}

impl Element {
    /// How many bytes a number has.
    pub fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

/// Where the numbers of a table are in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The byte that they begin at.
    pub offset: u64,
    /// How they follow one another.
    pub order: Order,
    /// What they are.
    pub element: Element,
    /// How many rows there are.
    pub rows: usize,
    /// How many numbers each row has in the file.
    pub width: usize,
    /// Those of them that are data, in their order.
    pub columns: Vec<usize>,
    /// The one that says how often the row is there.
    pub weights: Option<usize>,
}

/// A table in a file.
#[derive(Debug)]
pub struct Stored {
    file: SegmentFile,
    layout: Layout,
    /// Columns that are read: those of data, and that of weights.
    wanted: Vec<usize>,
    /// Bytes of a segment at most.
    segment: usize,
    /// Bytes that work on the rows may keep beside segments.
    room: usize,
}

/// Rows of a block: their numbers, column by column, and how often each is there.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    /// The first of them.
    pub first: usize,
    /// How many there are.
    pub width: usize,
    /// Their numbers.
    pub values: &'a [f64],
    /// Their weights, where there are any.
    pub weights: Option<&'a [f64]>,
}

impl Stored {
    /// The table in a file, to be read in segments of so many bytes by each of those who work on it; they may keep `room` bytes of
    /// what they make of it.
    ///
    /// # Errors
    /// [`crate::Error::File`] where it cannot be opened, or is shorter than the table.
    pub fn open(path: &Path, layout: Layout, segment: usize, room: usize) -> Result<Self> {
        let file = SegmentFile::open(path, "rows")?;
        let numbers = (layout.rows as u64).checked_mul(layout.width as u64);
        let end = numbers
            .and_then(|numbers| numbers.checked_mul(layout.element.size() as u64))
            .and_then(|bytes| bytes.checked_add(layout.offset));
        if end.is_none_or(|end| end > file.length()) {
            return Err(file.truncated(end));
        }
        let wanted = layout.columns.iter().chain(&layout.weights).copied();
        Ok(Self {
            file,
            wanted: wanted.collect(),
            layout,
            segment,
            room,
        })
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.layout.rows
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.layout.rows == 0
    }

    /// How many numbers a row has that are data.
    pub fn columns(&self) -> usize {
        self.layout.columns.len()
    }

    /// Whether rows have weights.
    pub fn is_weighted(&self) -> bool {
        self.layout.weights.is_some()
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Bytes that are read for each row.
    fn row_bytes(&self) -> usize {
        let columns = match self.layout.order {
            Order::Blocks | Order::Rows => self.layout.width,
            Order::Columns => self.wanted.len(),
        };
        columns * self.layout.element.size()
    }

    /// Bytes that one pass over all rows reads.
    pub fn pass_bytes(&self) -> u64 {
        self.row_bytes() as u64 * self.layout.rows as u64
    }

    /// Bytes that work on the rows may keep beside segments.
    pub fn room(&self) -> usize {
        self.room
    }

    /// What reading has cost so far.
    pub fn reading(&self) -> Reading {
        self.file.reading()
    }

    /// Visits the blocks of `rows`, which begin at a block, in their order until `visit` says that it is enough; each number of a
    /// column is mapped by `(x - shift) / scale`, where these are given.
    ///
    /// # Errors
    /// [`crate::Error::File`] where the file cannot be read or has changed; what `visit` has.
    pub fn each(
        &self,
        rows: Range<usize>,
        map: Option<(&[f64], &[f64])>,
        mut visit: impl FnMut(Block<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let mut values = vec![0.0; self.wanted.len() * BLOCK];
        let work = |segment: &Range<usize>, bytes: &[u8]| -> Result<ControlFlow<()>> {
            for first in segment.clone().step_by(BLOCK) {
                let width = BLOCK.min(segment.end - first);
                let values = &mut values[..self.wanted.len() * width];
                self.decode(bytes, segment, first, map, values);
                let (values, weights) = values.split_at(self.columns() * width);
                let block = Block {
                    first,
                    width,
                    values,
                    weights: self.layout.weights.is_some().then_some(weights),
                };
                if visit(block)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        };
        let read = |rows: &Range<usize>, buffer: &mut Vec<u8>| self.read(rows, buffer);
        self.file.each(&self.segments(&rows), read, work)
    }

    /// Copies one row into `out`, mapped as [`Stored::each`] maps it.
    ///
    /// # Errors
    /// As [`Stored::each`].
    pub fn row(&self, row: usize, map: Option<(&[f64], &[f64])>, out: &mut [f64]) -> Result<()> {
        let block = row - row % BLOCK;
        let rows = block..(block + BLOCK).min(self.len());
        self.each(rows, map, |block| {
            for (x, column) in out.iter_mut().zip(block.values.chunks_exact(block.width)) {
                *x = column[row - block.first];
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    /// The numbers of some rows, row by row, which begin at a block.
    ///
    /// # Errors
    /// As [`Stored::each`].
    pub fn rows(&self, rows: Range<usize>) -> Result<Vec<f64>> {
        let mut values = Vec::with_capacity(rows.len() * self.columns());
        self.each(rows, None, |block| {
            for at in 0..block.width {
                values.extend(block.values.iter().skip(at).step_by(block.width));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(values)
    }

    /// Whole blocks that are read at once, more of them from one to the next.
    fn segments(&self, rows: &Range<usize>) -> Vec<Range<usize>> {
        let most = self.segment.max(1);
        let mut bytes = FIRST.min(most);
        let (mut segments, mut first) = (vec![], rows.start);
        while first < rows.end {
            let count = (bytes / self.row_bytes().max(1) / BLOCK).max(1) * BLOCK;
            let last = rows.end.min(first.saturating_add(count));
            segments.push(first..last);
            first = last;
            bytes = (2 * bytes).min(most);
        }
        segments
    }

    /// Reads what the file has of `rows`.
    fn read(&self, rows: &Range<usize>, buffer: &mut Vec<u8>) -> Result<()> {
        let layout = &self.layout;
        let size = layout.element.size();
        // What is there is written over.
        buffer.resize(rows.len() * self.row_bytes(), 0);
        match layout.order {
            Order::Blocks | Order::Rows => {
                let at = layout.offset + (rows.start * layout.width * size) as u64;
                self.file.read(at, buffer)
            }
            Order::Columns => {
                let pieces = buffer.chunks_exact_mut(rows.len() * size);
                let mut pieces = pieces.zip(&self.wanted);
                pieces.try_for_each(|(piece, column)| {
                    let at = (column * layout.rows + rows.start) * size;
                    self.file.read(layout.offset + at as u64, piece)
                })
            }
        }
    }

    /// Makes a block of what was read of `segment`.
    fn decode(
        &self,
        bytes: &[u8],
        segment: &Range<usize>,
        first: usize,
        map: Option<(&[f64], &[f64])>,
        out: &mut [f64],
    ) {
        let (layout, size) = (&self.layout, self.layout.element.size());
        let width = out.len() / self.wanted.len().max(1);
        let before = first - segment.start;
        let each = out.chunks_exact_mut(width).zip(&self.wanted);
        for (place, (out, column)) in each.enumerate() {
            let (start, stride) = match layout.order {
                Order::Blocks => (before * layout.width + column * width, 1),
                Order::Rows => (before * layout.width + column, layout.width),
                Order::Columns => (place * segment.len() + before, 1),
            };
            let bytes = &bytes[start * size..];
            match layout.element {
                Element::F64 => numbers::<8>(bytes, stride, out, f64::from_le_bytes),
                Element::F32 => numbers::<4>(bytes, stride, out, |x| f32::from_le_bytes(x).into()),
            }
            if let (Some((shift, scale)), true) = (map, place < self.columns()) {
                let (shift, scale) = (shift[place], scale[place]);
                for x in out {
                    *x = (*x - shift) / scale;
                }
            }
        }
    }

    /// Refuses a file that is no longer what was opened.
    ///
    /// # Errors
    /// [`crate::Error::File`].
    pub fn check(&self) -> Result<()> {
        self.file.check()
    }
}

/// Writes numbers of `N` bytes, each `stride` after the one before.
fn numbers<const N: usize>(
    bytes: &[u8],
    stride: usize,
    out: &mut [f64],
    number: impl Fn([u8; N]) -> f64,
) {
    let (all, _) = bytes.as_chunks::<N>();
    if stride == 1 {
        for (x, bytes) in out.iter_mut().zip(all) {
            *x = number(*bytes);
        }
    } else {
        for (x, bytes) in out.iter_mut().zip(all.iter().step_by(stride)) {
            *x = number(*bytes);
        }
    }
}
