//! Reads a table some rows at a time, so that it need not fit in memory, and folders of Parquet files as one table.

use std::fs::File;
use std::path::{Path, PathBuf};

use collapsar::mixture::{BLOCK, Layout, Stored};

use crate::corpus::files;
use crate::csv;
use crate::error::{Error, FilePlace, Result};
use crate::npy::{self, Values};
use crate::open::Opened;
use crate::parquet::{Part, Parts};
use crate::table::{Table, find_column};

/// Bytes of numbers that are read at a time, and rows at most.
const BATCH: usize = 1 << 21;
const ROWS: usize = 1 << 14;

/// A table that is read from its first row to its last. NaN is a value that is missing.
pub struct TableReader {
    /// The columns' names; `1`, `2`, … where the file gives none.
    pub columns: Vec<String>,
    /// Columns left out without being asked: row names, which are not data.
    pub skipped: Vec<String>,
    /// How many rows there are, where that is known before they are read.
    pub rows: Option<usize>,
    /// Where the numbers are in the file, if they can be read from there by position.
    pub layout: Option<Layout>,
    /// The name that refusals have for it.
    pub name: String,
    /// Rows read so far.
    pub read: usize,
    source: Source,
}

enum Source {
    Text(Box<csv::Text>),
    Stored(Box<Stored>),
    Npy(Values, Vec<usize>),
    Parquet(Box<Parquet>),
}

/// Parquet files, one after the other.
struct Parquet {
    parts: Parts,
    /// What is left of the file that is read.
    part: Option<Part>,
}

impl TableReader {
    /// A table in CSV, TSV, NPY or Parquet, or a folder of Parquet files; `-` reads CSV from standard input. Columns are taken as
    /// [`crate::read_table`] takes them.
    ///
    /// # Errors
    /// A file that cannot be read, or has no such columns.
    pub fn open(path: &Path, columns: Option<&[String]>) -> Result<Self> {
        Self::open_with(path, columns, None)
    }

    /// The same where columns of text are categorical, and those that are named, if the table is text: their cells are places of levels,
    /// which [`TableReader::levels`] knows in the end. Other tables have numbers.
    ///
    /// # Errors
    /// As [`TableReader::open`].
    pub fn open_mixed(
        path: &Path,
        columns: Option<&[String]>,
        categorical: &[String],
    ) -> Result<Self> {
        Self::open_with(path, columns, Some(categorical))
    }

    fn open_with(
        path: &Path,
        columns: Option<&[String]>,
        categorical: Option<&[String]>,
    ) -> Result<Self> {
        let columns = columns.filter(|columns| !columns.is_empty());
        if path.is_dir() {
            let parts = Parts::open(path.display().to_string(), tables_in(path)?, columns)?;
            return Ok(Self::of_parquet(parts));
        }
        let input = Opened::open(path)?;
        if input.is_parquet() {
            let parts = Parts::open(input.name, vec![path.to_owned()], columns)?;
            return Ok(Self::of_parquet(parts));
        }
        if input.is_npy() && input.length.is_some() {
            return Self::of_npy(path, input, columns);
        }
        let name = input.name.clone();
        let text = csv::Text::open(input, columns, categorical)?;
        let selected = &text.selected;
        Ok(Self {
            columns: selected.names.clone(),
            skipped: selected.skipped.clone(),
            rows: None,
            layout: None,
            name,
            read: 0,
            source: Source::Text(Box::new(text)),
        })
    }

    fn of_parquet(parts: Parts) -> Self {
        Self {
            columns: parts.names.clone(),
            skipped: parts.skipped.clone(),
            rows: Some(parts.rows),
            layout: None,
            name: parts.name.clone(),
            read: 0,
            source: Source::Parquet(Box::new(Parquet { parts, part: None })),
        }
    }

    fn of_npy(path: &Path, input: Opened, columns: Option<&[String]>) -> Result<Self> {
        let name = input.name.clone();
        let array = npy::Array::open(input)?;
        let selected = array.select(&name, columns)?;
        let rows = array.rows;
        let layout = array.layout(&selected.indices);
        let source = match &layout {
            Some(layout) => Source::Stored(Box::new(Stored::open(path, layout.clone(), BATCH, 0)?)),
            None => Source::Npy(array.values(&name)?, selected.indices.clone()),
        };
        Ok(Self {
            columns: selected.names,
            skipped: selected.skipped,
            rows: Some(rows),
            layout,
            name,
            read: 0,
            source,
        })
    }

    /// Which column an option means, by name or by index from 1, of those that are read.
    ///
    /// # Errors
    /// Where there is no such column, or no other that would be left.
    pub fn find(&self, option: &'static str, column: &str) -> Result<usize> {
        let index = find_column(&self.name, &self.columns, option, column)?;
        if self.columns.len() == 1 {
            let found = format!("no column but {column:?}");
            return Err(Error::content(
                &self.name,
                found,
                "columns of data beside it",
            ));
        }
        Ok(index)
    }

    /// Reads some rows in the place of what `batch` holds, row by row; `false` where there are no more.
    ///
    /// # Errors
    /// A file that is damaged, or holds anything but numbers.
    pub fn next(&mut self, batch: &mut Vec<f64>) -> Result<bool> {
        batch.clear();
        let width = self.columns.len();
        let most = (BATCH / 8 / width.max(1))
            .clamp(1, ROWS)
            .next_multiple_of(BLOCK);
        match &mut self.source {
            Source::Text(text) => text.next(most, batch)?,
            Source::Stored(stored) => {
                let rows = self.read..stored.len().min(self.read + most);
                *batch = stored.rows(rows)?;
                finite(&self.name, &self.columns, self.read, batch)?;
            }
            Source::Npy(values, columns) => {
                values.next(most, columns, batch)?;
                finite(&self.name, &self.columns, self.read, batch)?;
            }
            Source::Parquet(parquet) => parquet.next(most, batch)?,
        }
        self.read += batch.len() / width.max(1);
        Ok(!batch.is_empty())
    }

    /// Whether some of what was read so far is categorical.
    pub fn has_levels(&self) -> bool {
        matches!(&self.source, Source::Text(text) if text.has_levels())
    }

    /// The levels of each column that is categorical, at the end of the table; brings the cells of `values`, all that was read, into their
    /// order.
    ///
    /// # Errors
    /// Where a column that should be categorical is none.
    pub fn levels(&mut self, values: &mut [f64]) -> Result<Vec<Option<Vec<String>>>> {
        match &mut self.source {
            Source::Text(text) => text.levels(values),
            _ => Ok(vec![None; self.columns.len()]),
        }
    }

    /// Reads all that is left as a table in memory.
    pub(crate) fn table(mut self, gaps: bool) -> Result<Table> {
        let (mut values, mut batch) = (vec![], vec![]);
        while self.next(&mut batch)? {
            let gap = batch.iter().position(|x| x.is_nan());
            if let (false, Some(at)) = (gaps, gap) {
                let width = self.columns.len();
                let row = (values.len() + at) / width + 1;
                let column = &self.columns[at % width];
                let place = FilePlace::Row(row as u64);
                return Err(Error::missing(&self.name, place, column, "missing"));
            }
            values.append(&mut batch);
        }
        Ok(Table {
            rows: self.read,
            columns: self.columns,
            values,
            skipped: self.skipped,
        })
    }
}

impl Parquet {
    fn next(&mut self, most: usize, batch: &mut Vec<f64>) -> Result<()> {
        while batch.is_empty() {
            let part = match &mut self.part {
                Some(part) => part,
                none => match self.parts.next()? {
                    Some(part) => none.insert(part),
                    None => return Ok(()),
                },
            };
            if !part.next(most, batch)? {
                self.part = None;
            }
        }
        Ok(())
    }
}

/// Refuses what is neither a number nor missing.
fn finite(name: &str, columns: &[String], read: usize, batch: &[f64]) -> Result<()> {
    let Some(at) = batch.iter().position(|x| x.is_infinite()) else {
        return Ok(());
    };
    let (row, column) = (read + at / columns.len() + 1, &columns[at % columns.len()]);
    let place = FilePlace::Row(row as u64);
    Err(Error::missing(name, place, column, &batch[at].to_string()))
}

/// The Parquet files of a folder, in the order of their names.
pub(crate) fn tables_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = files(folder)?;
    files.retain(|file| {
        let extension = file.extension().unwrap_or_default().to_ascii_lowercase();
        // What Spark and others leave beside their tables.
        let name = file.file_name().unwrap_or_default();
        (extension == "parquet" || extension == "pq") && !name.as_encoded_bytes().starts_with(b"_")
    });
    if files.is_empty() {
        let found = "a folder without .parquet files";
        return Err(Error::content(
            folder.display().to_string(),
            found,
            "a table, or a folder of Parquet files",
        ));
    }
    Ok(files)
}

/// Opens a file that refusals name.
pub(crate) fn opened(path: &Path) -> Result<File> {
    File::open(path).map_err(|error| Error::file(path, &error))
}

#[cfg(test)]
mod tests;
