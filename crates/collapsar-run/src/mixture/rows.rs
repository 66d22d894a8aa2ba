//! Where the rows of a mixture are: in memory, or in a file that is read for every pass.
//!
//! A table that does not fit is read once and written beside the output, in the blocks that passes read; an array of NumPy's that is
//! stored in numbers which passes can read is left where it is.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use collapsar::files::Temporary;
use collapsar::mixture::{BLOCK, Element, Layout, Order, Stored};
use collapsar::{Hint, Place};
use collapsar_formats::{
    Error as FileError, LabelColumn, MixedTable, Table, TableReader, categorical_rows,
    read_mixed_table, read_table_with_gaps,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Categories;
use crate::error::{Error, Result};
use crate::record::name_of;
use crate::scratch::{self, Scratch};
use crate::witness::stamp;

/// Bytes before the numbers of a file of blocks.
const HEADER: usize = 4096;
/// What such a file begins with, which changes when its layout does.
const MAGIC: &str = "collapsar rows 1";
/// Segments of a reader at most: many are read faster than few, and none is waited for long.
const SEGMENT: usize = 4 << 20;
/// Numbers of text have no fewer bytes than this, with what separates them: a table of so many bytes is surely small enough.
const BYTES_OF_TEXT: u64 = 2;
/// Bytes for each row, beside its numbers, that a fit in memory takes: distances and labels of starts, labels and scores of results.
const BESIDE: u64 = 56;

/// What is to be read, and how.
#[derive(Debug, Clone)]
pub struct RowsOptions<'a> {
    /// The table.
    pub data: &'a Path,
    /// Its columns, all unless given.
    pub columns: Option<&'a [String]>,
    /// Columns that are categorical, beside those that are so by their type.
    pub categorical: &'a [String],
    /// The column of weights.
    pub row_weights: Option<&'a str>,
    /// The column of labels: rows that have one are kept in memory.
    pub labels: Option<&'a str>,
    /// Bytes of memory that there are; without a limit all rows are kept in memory.
    pub memory: Option<u64>,
    /// How many models or starts are alive at once.
    pub models: usize,
    /// The file that rows are written to which do not fit.
    pub scratch: PathBuf,
    /// How many threads there are.
    pub threads: usize,
}

/// Who sees how far reading is: rows so far, and bytes of the file that they were written to, if they are written.
pub type Seen<'a> = dyn FnMut(u64, Option<u64>) + 'a;

/// The rows of a mixture.
#[derive(Debug)]
pub enum MixtureRows {
    /// In memory.
    Memory {
        /// Their numbers.
        table: Table,
        /// How often each is there, where that is not once.
        weights: Option<Vec<f64>>,
        /// The classes that some are known to be of.
        labels: Option<LabelColumn>,
        /// Their categorical columns.
        categories: Categories,
    },
    /// In a file.
    File(StoredRows),
}

/// Rows in a file.
#[derive(Debug)]
pub struct StoredRows {
    /// The table.
    pub stored: Arc<Stored>,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// Columns left out without being asked.
    pub skipped: Vec<String>,
    /// The file of blocks, where there is one.
    pub scratch: Option<Scratch>,
    /// Bytes of memory that were allowed.
    pub memory: u64,
}

/// What a file of blocks says of itself.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Header {
    /// What its input looked like, and which columns it has.
    of: u64,
    columns: Vec<String>,
    skipped: Vec<String>,
    weights: Option<usize>,
    rows: usize,
    /// Of the numbers.
    digest: u64,
}

impl MixtureRows {
    /// Reads rows into memory, or sees to it that they can be read from a file.
    pub fn read(options: &RowsOptions<'_>, seen: &mut Seen<'_>) -> Result<Self> {
        let mut asked = options.columns.map(<[String]>::to_vec);
        if let (Some(columns), Some(weights)) = (&mut asked, options.row_weights) {
            columns.push(weights.to_owned());
        }
        let columns = asked.as_deref();
        if let Some(labels) = options.labels {
            let named = options.categorical;
            let table = read_mixed_table(options.data, columns, named, Some(labels))?;
            return in_memory(options, table);
        }
        let Some(memory) = options.memory.filter(|_| !is_small(options)) else {
            return in_memory(options, mixed(options, columns)?);
        };
        if let Some((rows, width)) = categorical_rows(options.data, columns, options.categorical)? {
            if needed(options, rows, width) > memory {
                return Err(no_memory_for_levels(options.data));
            }
            return in_memory(options, mixed(options, columns)?);
        }
        let reader = TableReader::open_mixed(options.data, columns, options.categorical)?;
        let weights = match (options.row_weights, &columns) {
            (None, _) => None,
            // What was selected last, whatever it is called.
            (Some(_), Some(_)) => Some(reader.columns.len() - 1),
            (Some(column), None) => Some(reader.find("row_weights", column)?),
        };
        let fits = |rows: usize| needed(options, rows, reader.columns.len()) <= memory;
        match reader.rows {
            Some(rows) if fits(rows) && !options.categorical.is_empty() => {
                return in_memory(options, mixed(options, columns)?);
            }
            Some(_) if !options.categorical.is_empty() => {
                return Err(no_memory_for_levels(options.data));
            }
            // As it always was.
            Some(rows) if fits(rows) => {
                let table = read_table_with_gaps(options.data, columns)?;
                return in_memory(options, of_numbers(table));
            }
            Some(_) if reader.layout.is_some() => {}
            _ => {
                let of = key(options.data, columns, options.row_weights);
                if let Some(rows) = reused(options, memory, of)?
                    && !fits(rows.stored.len())
                {
                    return Ok(Self::File(rows));
                }
            }
        }
        if let Some(layout) = reader.layout.clone() {
            return array(options, memory, &reader, (layout, weights));
        }
        gather(options, memory, (reader, weights), columns, seen)
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        match self {
            Self::Memory { table, .. } => table.rows,
            Self::File(file) => file.stored.len(),
        }
    }

    /// The names of the columns of data.
    pub fn columns(&self) -> &[String] {
        match self {
            Self::Memory { table, .. } => &table.columns,
            Self::File(file) => &file.columns,
        }
    }

    /// Their categorical columns.
    pub fn categories(&self) -> Option<&Categories> {
        match self {
            Self::Memory { categories, .. } => Some(categories).filter(|of| !of.is_empty()),
            Self::File(_) => None,
        }
    }

    /// Columns left out without being asked.
    pub fn skipped(&self) -> &[String] {
        match self {
            Self::Memory { table, .. } => &table.skipped,
            Self::File(file) => &file.skipped,
        }
    }
}

/// Bytes that a fit in memory takes, about.
fn needed(options: &RowsOptions<'_>, rows: usize, columns: usize) -> u64 {
    // The table, the model's own blocks, and those of the best model so far and of the next.
    let copies = if options.models > 1 { 3 } else { 2 };
    (rows as u64).saturating_mul(8 * copies * columns as u64 + BESIDE)
}

/// Whether a file of text is so short that its table fits, whatever is in it.
fn is_small(options: &RowsOptions<'_>) -> bool {
    let metadata = fs::metadata(options.data).ok();
    let length = metadata.filter(fs::Metadata::is_file).map(|of| of.len());
    let extension = options.data.extension().unwrap_or_default();
    // Behind these names there may be more than there seems to be.
    let packed = ["gz", "npy", "parquet", "pq"]
        .iter()
        .any(|name| extension == *name);
    let Some((length, memory)) = length.zip(options.memory).filter(|_| !packed) else {
        return false;
    };
    let most = 24 + BESIDE;
    (length / BYTES_OF_TEXT).saturating_mul(most) <= memory
}

/// A table with the columns that are categorical.
fn mixed(options: &RowsOptions<'_>, columns: Option<&[String]>) -> Result<MixedTable> {
    let named = options.categorical;
    Ok(read_mixed_table(options.data, columns, named, None)?)
}

/// A table without categorical columns.
fn of_numbers(table: Table) -> MixedTable {
    MixedTable {
        levels: vec![None; table.columns.len()],
        table,
        labels: None,
    }
}

/// Refuses rows that would have to be read from a file.
fn no_memory_for_levels(data: &Path) -> Error {
    let place = Place::Named(name_of(data));
    let found = "categorical columns in rows that do not fit in memory";
    let error = collapsar::Error::data(place, found, "rows in memory");
    let hints = vec![Hint::higher("memory"), Hint::give("columns")];
    error.with_hint(Hint::Any(hints)).into()
}

fn in_memory(options: &RowsOptions<'_>, mut mixed: MixedTable) -> Result<MixtureRows> {
    let table = &mut mixed.table;
    let weights = match (options.row_weights, options.columns) {
        (None, _) => None,
        (Some(_), Some(_)) => Some(table.columns.len() - 1),
        (Some(column), None) => {
            Some(table.find(&options.data.display().to_string(), "row_weights", column)?)
        }
    };
    if let Some(index) = weights
        && mixed.levels.remove(index).is_some()
    {
        let found = format!(
            "categorical column {:?} as --row-weights",
            table.columns[index]
        );
        return Err(Error::input(name_of(options.data), found, "numbers"));
    }
    let weights = weights.map(|index| table.take(index));
    let labels = mixed.labels.take();
    let (table, categories) = Categories::of(mixed);
    Ok(MixtureRows::Memory {
        table,
        weights,
        labels,
        categories,
    })
}

/// Takes the column of weights out of names.
fn apart(columns: &[String], weights: Option<usize>) -> (Vec<usize>, Vec<String>) {
    let data = (0..columns.len()).filter(|at| Some(*at) != weights);
    let names = data.clone().map(|at| columns[at].clone());
    (data.clone().collect(), names.collect())
}

/// Bytes of the segments of each reader, so that those of all threads take no more than an eighth of the memory.
fn segment(options: &RowsOptions<'_>, memory: u64) -> usize {
    let each = memory / (16 * options.threads.max(1) as u64);
    (each as usize).clamp(1 << 16, SEGMENT)
}

/// Bytes that work on rows may keep.
fn room(memory: u64) -> usize {
    (memory / 4) as usize
}

/// An array that is read where it is.
fn array(
    options: &RowsOptions<'_>,
    memory: u64,
    reader: &TableReader,
    (mut layout, weights): (Layout, Option<usize>),
) -> Result<MixtureRows> {
    let (data, names) = apart(&reader.columns, weights);
    layout.weights = weights.map(|at| layout.columns[at]);
    layout.columns = data.into_iter().map(|at| layout.columns[at]).collect();
    let stored = Stored::open(options.data, layout, segment(options, memory), room(memory))?;
    Ok(MixtureRows::File(StoredRows {
        stored: Arc::new(stored),
        columns: names,
        skipped: reader.skipped.clone(),
        scratch: None,
        memory,
    }))
}

/// Reads a table to its end: into memory, and where it does not fit, into a file of blocks.
fn gather(
    options: &RowsOptions<'_>,
    memory: u64,
    (mut reader, weights): (TableReader, Option<usize>),
    columns: Option<&[String]>,
    seen: &mut Seen<'_>,
) -> Result<MixtureRows> {
    let before = stamp(options.data);
    let of = key(options.data, columns, options.row_weights);
    let width = reader.columns.len();
    let fits = |rows: usize| needed(options, rows, width) <= memory;
    let known = reader.rows.is_some_and(|rows| !fits(rows));
    let mut blocks = if known {
        Some(Writer::create(&options.scratch, width)?)
    } else {
        None
    };
    let (mut values, mut batch) = (vec![], vec![]);
    while reader.next(&mut batch)? {
        match &mut blocks {
            None => values.append(&mut batch),
            Some(blocks) => blocks.add(&batch, &reader)?,
        }
        if reader.has_levels() && !fits(reader.read) {
            return Err(no_memory_for_levels(options.data));
        }
        if blocks.is_none() && !fits(reader.read) {
            let mut writer = Writer::create(&options.scratch, width)?;
            writer.add(&values, &reader)?;
            values = vec![];
            blocks = Some(writer);
        }
        seen(
            reader.read as u64,
            blocks.as_ref().map(|blocks| blocks.bytes),
        );
    }
    let Some(blocks) = blocks else {
        let levels = reader.levels(&mut values)?;
        let table = Table {
            columns: reader.columns,
            rows: reader.read,
            values,
            skipped: reader.skipped,
        };
        let labels = None;
        return in_memory(
            options,
            MixedTable {
                table,
                levels,
                labels,
            },
        );
    };
    if stamp(options.data) != before {
        return Err(Error::input(
            name_of(options.data),
            "a file that changed while it was read",
            "one that stays as it is; start the fit anew",
        ));
    }
    let header = Header {
        of: of.unwrap_or_default(),
        columns: reader.columns,
        skipped: reader.skipped,
        weights,
        rows: reader.read,
        digest: blocks.digest,
    };
    blocks.finish(&header)?;
    Ok(MixtureRows::File(stored(options, memory, header, false)?))
}

/// The rows of a file of blocks.
fn stored(
    options: &RowsOptions<'_>,
    memory: u64,
    header: Header,
    reused: bool,
) -> Result<StoredRows> {
    let scratch = Scratch::new(options.scratch.clone(), reused);
    let (data, names) = apart(&header.columns, header.weights);
    let layout = Layout {
        offset: HEADER as u64,
        order: Order::Blocks,
        element: Element::F64,
        rows: header.rows,
        width: header.columns.len(),
        columns: data,
        weights: header.weights,
    };
    let stored = Stored::open(
        &options.scratch,
        layout,
        segment(options, memory),
        room(memory),
    )?;
    Ok(StoredRows {
        stored: Arc::new(stored),
        columns: names,
        skipped: header.skipped,
        scratch: Some(scratch),
        memory,
    })
}

/// What tells an input and what is taken of it apart; nothing for what cannot be looked at again.
fn key(data: &Path, columns: Option<&[String]>, weights: Option<&str>) -> Option<u64> {
    let stamp = stamp(data)?;
    let mut hasher = DefaultHasher::new();
    let version = env!("CARGO_PKG_VERSION");
    (stamp, data.canonicalize().ok(), columns, weights, version).hash(&mut hasher);
    Some(hasher.finish())
}

/// The rows that an earlier run left, if they are of the same input and whole.
fn reused(options: &RowsOptions<'_>, memory: u64, of: Option<u64>) -> Result<Option<StoredRows>> {
    let Some(header) = of.and_then(|of| whole(&options.scratch, of)) else {
        return Ok(None);
    };
    Ok(Some(stored(options, memory, header, true)?))
}

/// What a file of blocks says of itself, if all of it is true.
fn whole(path: &Path, of: u64) -> Option<Header> {
    let mut file = File::open(path).ok()?;
    let mut bytes = vec![0; HEADER];
    file.read_exact(&mut bytes).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let header: Header = serde_json::from_str(text.strip_prefix(MAGIC)?).ok()?;
    let length = (header.rows as u64).checked_mul(8 * header.columns.len() as u64)?;
    if header.of != of || file.metadata().ok()?.len() != length + HEADER as u64 {
        return None;
    }
    let (mut digest, mut buffer) = (Words::default(), vec![0; SEGMENT]);
    let mut left = length as usize;
    while left > 0 {
        let piece = &mut buffer[..left.min(SEGMENT)];
        file.read_exact(piece).ok()?;
        let (words, _) = piece.as_chunks::<8>();
        for word in words {
            digest.add(u64::from_le_bytes(*word));
        }
        left -= piece.len();
    }
    (digest.0 == header.digest).then_some(header)
}

/// Tells numbers apart, eight bytes at a time, so that a file is looked at as fast as it is read.
struct Words(u64);

impl Default for Words {
    fn default() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }
}

impl Words {
    fn add(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
        self.0 = mixed ^ (mixed >> 32);
    }
}

/// A file of blocks that is being written; it vanishes unless it is finished.
struct Writer {
    place: Temporary,
    out: BufWriter<File>,
    width: usize,
    /// Rows of a block that is not full.
    waiting: Vec<f64>,
    digest: u64,
    rows: usize,
    bytes: u64,
}

impl Writer {
    fn create(path: &Path, width: usize) -> Result<Self> {
        let refused = |error: std::io::Error| no_place(path, &error);
        let place = Temporary::create(path).map_err(refused)?;
        let file = place.file().try_clone().map_err(refused)?;
        let mut out = BufWriter::with_capacity(1 << 20, file);
        out.write_all(&[b' '; HEADER]).map_err(refused)?;
        Ok(Self {
            place,
            out,
            width,
            waiting: vec![],
            digest: Words::default().0,
            rows: 0,
            bytes: HEADER as u64,
        })
    }

    /// Adds rows, row by row; refuses those that miss a value.
    fn add(&mut self, rows: &[f64], reader: &TableReader) -> Result<()> {
        if let Some(at) = rows.iter().position(|x| x.is_nan()) {
            let (row, column) = (self.rows + at / self.width, at % self.width);
            return Err(gap(&reader.name, row, &reader.columns[column]));
        }
        self.rows += rows.len() / self.width;
        let size = BLOCK * self.width;
        let waited = std::mem::take(&mut self.waiting);
        let first = if waited.is_empty() {
            0
        } else {
            (size - waited.len()).min(rows.len())
        };
        let mut filled = waited;
        filled.extend(&rows[..first]);
        if filled.len() == size {
            self.block(&filled)?;
            filled.clear();
        }
        let mut blocks = rows[first..].chunks_exact(size);
        for block in &mut blocks {
            self.block(block)?;
        }
        filled.extend(blocks.remainder());
        self.waiting = filled;
        Ok(())
    }

    /// Writes the rows of a block column by column.
    fn block(&mut self, rows: &[f64]) -> Result<()> {
        let mut bytes = Vec::with_capacity(8 * rows.len());
        let mut digest = Words(self.digest);
        for column in 0..self.width {
            for x in rows.iter().skip(column).step_by(self.width) {
                digest.add(x.to_bits());
                bytes.extend(x.to_le_bytes());
            }
        }
        self.digest = digest.0;
        self.bytes += bytes.len() as u64;
        let written = self.out.write_all(&bytes);
        written.map_err(|error| no_place(self.place.target(), &error))
    }

    fn finish(mut self, header: &Header) -> Result<()> {
        let target = self.place.target().to_owned();
        let refused = |error: std::io::Error| no_place(&target, &error);
        let rest = std::mem::take(&mut self.waiting);
        if !rest.is_empty() {
            self.block(&rest)?;
        }
        let header = Header {
            digest: self.digest,
            columns: header.columns.clone(),
            skipped: header.skipped.clone(),
            ..*header
        };
        let text = format!("{MAGIC}{}", json!(header));
        // Where names leave no room, nobody will find the file again.
        if text.len() <= HEADER {
            self.out.seek(SeekFrom::Start(0)).map_err(refused)?;
            self.out.write_all(text.as_bytes()).map_err(refused)?;
        }
        self.out.flush().map_err(refused)?;
        drop(self.out);
        self.place.finish().map_err(refused)
    }
}

/// Refuses a row that misses a value, counted from 0.
pub(super) fn gap(name: &str, row: usize, column: &str) -> Error {
    let place = Place::Named(format!("{name}: row {}", row + 1));
    let found = format!("column {column:?} misses a value");
    let expected = "none in rows that are read from a file";
    let error = collapsar::Error::data(place, found, expected);
    error.with_hint(Hint::higher("memory")).into()
}

/// Refuses a place for blocks.
fn no_place(path: &Path, error: &std::io::Error) -> Error {
    let cause = FileError::file(path, error).to_string();
    let expected = "room for rows that do not fit in memory";
    let error = collapsar::Error::data(Place::Named("rows".into()), cause, expected);
    let hints = vec![Hint::higher("memory"), Hint::give("out")];
    error.with_hint(Hint::Any(hints)).into()
}

/// What `run.json` says of where rows were, and what reading them cost.
pub(crate) fn record(stored: Option<&Stored>) -> Value {
    let Some(stored) = stored else {
        return json!({"in": "memory"});
    };
    scratch::record(stored.path(), stored.pass_bytes(), stored.reading())
}
