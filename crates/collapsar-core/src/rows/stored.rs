//! Decides how rows that are not in memory are read: from a file, by position, a segment ahead of whoever works on them.
//!
//! A file is read by those who work on it, each its own rows: while one segment is worked on, a thread of its own reads the next.
//! Numbers come as they are in the file, and are mapped and turned into blocks as they are worked on, to the bits that rows in memory have.

use std::fs::File;
use std::io;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::BLOCK;
use crate::error::{Error, Result};

/// Bytes of the first segment that is read: small, as nothing can be done before it is there.
const FIRST: usize = 1 << 17;
/// Segments of one reader: one is worked on while the next is read.
const SEGMENTS: usize = 2;

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
    file: File,
    path: PathBuf,
    /// Length and time of the last change, when it was opened.
    stamp: (u64, Option<SystemTime>),
    layout: Layout,
    /// Columns that are read: those of data, and that of weights.
    wanted: Vec<usize>,
    /// Bytes of a segment at most.
    segment: usize,
    /// Bytes that work on the rows may keep beside segments.
    room: usize,
    spare: Mutex<Vec<Vec<u8>>>,
    bytes: AtomicU64,
    waited: AtomicU64,
    worked: AtomicU64,
}

/// What reading has cost so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// Bytes read.
    pub bytes: u64,
    /// Time that threads waited for what they read, in all.
    pub waited: Duration,
    /// Time that they spent on rows, that included.
    pub spent: Duration,
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
    /// [`Error::File`] where it cannot be opened, or is shorter than the table.
    pub fn open(path: &Path, layout: Layout, segment: usize, room: usize) -> Result<Self> {
        let refused = |error: io::Error| refusal(path, &error);
        let file = File::open(path).map_err(refused)?;
        let stamp = stamp(&file).map_err(refused)?;
        let numbers = (layout.rows as u64).checked_mul(layout.width as u64);
        let end = numbers
            .and_then(|numbers| numbers.checked_mul(layout.element.size() as u64))
            .and_then(|bytes| bytes.checked_add(layout.offset));
        if end.is_none_or(|end| end > stamp.0) {
            return Err(truncated(path, stamp.0, end));
        }
        let wanted = layout.columns.iter().chain(&layout.weights).copied();
        Ok(Self {
            file,
            path: path.to_owned(),
            stamp,
            wanted: wanted.collect(),
            layout,
            segment,
            room,
            spare: Mutex::default(),
            bytes: AtomicU64::new(0),
            waited: AtomicU64::new(0),
            worked: AtomicU64::new(0),
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
        &self.path
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
        let time = |of: &AtomicU64| Duration::from_nanos(of.load(Ordering::Relaxed));
        Reading {
            bytes: self.bytes.load(Ordering::Relaxed),
            waited: time(&self.waited),
            spent: time(&self.worked),
        }
    }

    /// Visits the blocks of `rows`, which begin at a block, in their order until `visit` says that it is enough; each number of a
    /// column is mapped by `(x - shift) / scale`, where these are given.
    ///
    /// # Errors
    /// [`Error::File`] where the file cannot be read or has changed; what `visit` has.
    pub fn each(
        &self,
        rows: Range<usize>,
        map: Option<(&[f64], &[f64])>,
        mut visit: impl FnMut(Block<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let began = Instant::now();
        let mut values = vec![0.0; self.wanted.len() * BLOCK];
        let mut work = |segment: &Range<usize>, bytes: &[u8]| -> Result<ControlFlow<()>> {
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
        let done = self.read_ahead(&self.segments(&rows), &mut work);
        add(&self.worked, began.elapsed());
        done?;
        self.check()
    }

    /// Reads segments, each while `work` has the one before.
    fn read_ahead(
        &self,
        segments: &[Range<usize>],
        work: &mut impl FnMut(&Range<usize>, &[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let buffers: Vec<Vec<u8>> = {
            let mut spare = self.spare();
            (0..SEGMENTS.min(segments.len()))
                .map(|_| spare.pop().unwrap_or_default())
                .collect()
        };
        let read = |range: &Range<usize>, mut buffer: Vec<u8>| {
            self.read(range, &mut buffer).map(|()| buffer)
        };
        let ahead = thread::scope(|scope| {
            let (full, filled) = mpsc::sync_channel(SEGMENTS);
            let (empty, emptied) = mpsc::channel::<Vec<u8>>();
            let reader = move || {
                for range in segments {
                    // Where nobody listens any more there is nothing to be done.
                    let Ok(buffer) = emptied.recv() else { return };
                    if full.send(read(range, buffer)).is_err() {
                        return;
                    }
                }
            };
            // One segment needs no second thread; nor is there one where the system has none left.
            if segments.len() < 2 || thread::Builder::new().spawn_scoped(scope, reader).is_err() {
                return None;
            }
            for buffer in buffers {
                // A reader that has ended has said why.
                let _ = empty.send(buffer);
            }
            for (place, range) in segments.iter().enumerate() {
                let began = Instant::now();
                let Ok(buffer) = filled.recv() else { break };
                add(&self.waited, began.elapsed());
                let done = buffer.and_then(|buffer| {
                    let flow = work(range, &buffer);
                    if place + SEGMENTS < segments.len() {
                        let _ = empty.send(buffer);
                    } else {
                        self.keep(buffer);
                    }
                    flow
                });
                match done {
                    Ok(ControlFlow::Continue(())) => {}
                    Ok(ControlFlow::Break(())) => return Some(Ok(())),
                    Err(error) => return Some(Err(error)),
                }
            }
            Some(Ok(()))
        });
        if let Some(done) = ahead {
            return done;
        }
        let mut buffer = self.spare().pop().unwrap_or_default();
        for range in segments {
            let began = Instant::now();
            self.read(range, &mut buffer)?;
            add(&self.waited, began.elapsed());
            if work(range, &buffer)?.is_break() {
                break;
            }
        }
        self.keep(buffer);
        Ok(())
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
        let read = match layout.order {
            Order::Blocks | Order::Rows => {
                let at = layout.offset + (rows.start * layout.width * size) as u64;
                read_at(&self.file, buffer, at)
            }
            Order::Columns => {
                let pieces = buffer.chunks_exact_mut(rows.len() * size);
                let mut pieces = pieces.zip(&self.wanted);
                pieces.try_for_each(|(piece, column)| {
                    let at = (column * layout.rows + rows.start) * size;
                    read_at(&self.file, piece, layout.offset + at as u64)
                })
            }
        };
        self.bytes.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        read.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.changed(),
            _ => refusal(&self.path, &error),
        })
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
    /// [`Error::File`].
    pub fn check(&self) -> Result<()> {
        match stamp(&self.file) {
            Ok(now) if now == self.stamp => Ok(()),
            Ok(_) => Err(self.changed()),
            Err(error) => Err(refusal(&self.path, &error)),
        }
    }

    fn changed(&self) -> Error {
        Error::File {
            path: self.path.display().to_string(),
            cause: "it was changed or cut short while its rows were read, expected a file that stays as it is; \
                    start the fit anew"
                .into(),
        }
    }

    fn spare(&self) -> std::sync::MutexGuard<'_, Vec<Vec<u8>>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, buffer: Vec<u8>) {
        self.spare().push(buffer);
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

fn add(to: &AtomicU64, time: Duration) {
    to.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
}

fn stamp(file: &File) -> io::Result<(u64, Option<SystemTime>)> {
    let metadata = file.metadata()?;
    Ok((metadata.len(), metadata.modified().ok()))
}

fn refusal(path: &Path, error: &io::Error) -> Error {
    Error::File {
        path: path.display().to_string(),
        cause: error.to_string(),
    }
}

fn truncated(path: &Path, found: u64, expected: Option<u64>) -> Error {
    let expected = expected.map_or("fewer rows".to_owned(), |end| format!("{end}"));
    Error::File {
        path: path.display().to_string(),
        cause: format!("it ends after {found} bytes, expected {expected}"),
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, at)
}

#[cfg(windows)]
fn read_at(file: &File, mut buffer: &mut [u8], mut at: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, buffer, at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                buffer = &mut buffer[read..];
                at += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
