//! Decides what format a table is in, which reader gets it and which of its columns are taken.

use std::fs::File;
use std::path::Path;

use collapsar::{Change, Hint};

use crate::error::{Error, Problem, Result, count, listed};
use crate::open::Opened;
use crate::rows::TableReader;
use crate::{csv, npy, parquet};

/// A table of finite numbers, and NaN where it was read with gaps.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The columns' names; `1`, `2`, … where the file gives none.
    pub columns: Vec<String>,
    /// How many rows.
    pub rows: usize,
    /// The values, row by row: `rows` times `columns.len()`.
    pub values: Vec<f64>,
    /// Columns left out without being asked: row names, which are not data.
    pub skipped: Vec<String>,
}

impl Table {
    /// Which column an option means, by name or by index from 1, of the table that `path` has.
    ///
    /// # Errors
    /// Where there is no such column, or no other that would be left.
    pub fn find(&self, path: &str, option: &'static str, column: &str) -> Result<usize> {
        let index = find_column(path, &self.columns, option, column)?;
        if self.columns.len() == 1 {
            let found = format!("no column but {column:?}");
            return Err(Error::content(path, found, "columns of data beside it"));
        }
        Ok(index)
    }

    /// Takes a column out of the table.
    pub fn take(&mut self, column: usize) -> Vec<f64> {
        let width = self.columns.len();
        let taken = self.values.iter().skip(column).step_by(width);
        let taken = taken.copied().collect();
        let mut place = 0;
        self.values.retain(|_| {
            place += 1;
            (place - 1) % width != column
        });
        self.columns.remove(column);
        taken
    }
}

/// Reads a table of numbers from CSV, TSV, NPY or Parquet, or a folder of Parquet files; `-` reads CSV from standard input.
///
/// `columns` selects by name or by index from 1, in the order given; a name wins over an index. Without
/// it every column is taken and must be numeric, except row names: a first column that is unnamed or
/// named `rownames`, and the index that pandas writes into Parquet.
///
/// # Errors
///
/// A file that cannot be read, is damaged, or holds anything but finite numbers in those columns.
pub fn read_table(path: &Path, columns: Option<&[String]>) -> Result<Table> {
    read_as(path, columns, false)
}

/// The same where values may be missing, which are NaN then: empty fields and words such as NA in CSV, nulls and NaN in
/// Parquet, NaN in NPY.
///
/// # Errors
///
/// As [`read_table`].
pub fn read_table_with_gaps(path: &Path, columns: Option<&[String]>) -> Result<Table> {
    read_as(path, columns, true)
}

fn read_as(path: &Path, columns: Option<&[String]>, gaps: bool) -> Result<Table> {
    let columns = columns.filter(|columns| !columns.is_empty());
    if path.is_dir() {
        return TableReader::open(path, columns)?.table(gaps);
    }
    let input = Opened::open(path)?;
    if input.is_parquet() {
        let file = File::open(path).map_err(|error| Error::file(path, &error))?;
        return parquet::read(&input.name, file, columns, gaps);
    }
    if input.is_npy() && input.length.is_some() {
        return npy::read(input, columns, gaps);
    }
    csv::read(input, columns, gaps)
}

/// The columns to take from a file, and those left out without being asked.
#[derive(Debug)]
pub(crate) struct Selection {
    /// Zero-based, in the order asked for.
    pub(crate) indices: Vec<usize>,
    /// Their names.
    pub(crate) names: Vec<String>,
    pub(crate) skipped: Vec<String>,
}

impl Selection {
    /// The table of these columns.
    pub(crate) fn table(self, rows: usize, values: Vec<f64>) -> Table {
        Table {
            columns: self.names,
            rows,
            values,
            skipped: self.skipped,
        }
    }

    /// Refuses a file for columns that hold what was found in place of numbers.
    pub(crate) fn not_numbers(
        &self,
        path: &str,
        found: &str,
        is_numeric: impl Fn(usize) -> bool,
    ) -> Error {
        let names = |numeric: bool| -> Vec<String> {
            let columns = (0..self.names.len()).filter(|&at| is_numeric(at) == numeric);
            columns.map(|at| self.names[at].clone()).collect()
        };
        let (columns, numeric) = (names(false), names(true));
        let found = match columns.len() {
            1 => format!("column {} has {found}", listed(&columns)),
            _ => format!("columns {} have {found}", listed(&columns)),
        };
        let error = Error::content(path, found, "numbers");
        match numeric.len() {
            0 => error,
            1..=24 => error.with_hint(Hint::set("columns", numeric.join(","))),
            n => {
                let few = numeric[..3].join(",");
                let words = format!("some of the {n} numeric columns, such as {few}");
                error.with_hint(Hint::Option("columns", Change::With(words.into())))
            }
        }
    }
}

/// Chooses among the columns `names`; `row_names` is the one that is not data.
pub(crate) fn select(
    path: &str,
    names: &[String],
    row_names: Option<usize>,
    columns: Option<&[String]>,
) -> Result<Selection> {
    let mut indices = Vec::new();
    // A table of row names only is taken for data.
    let skipped = row_names.filter(|_| columns.is_none() && names.len() > 1);
    if let Some(columns) = columns {
        for column in columns {
            let index = find_column(path, names, "columns", column)?;
            if indices.contains(&index) {
                let found = format!("column {:?} was selected twice", names[index]);
                return Err(Error::content(path, found, "each column once"));
            }
            indices.push(index);
        }
    } else {
        indices.extend((0..names.len()).filter(|&index| Some(index) != skipped));
    }
    let name = |index: usize| names[index].clone();
    Ok(Selection {
        names: indices.iter().copied().map(name).collect(),
        indices,
        skipped: skipped.into_iter().map(name).collect(),
    })
}

/// The column that an option names, or numbers from 1.
pub(crate) fn find_column(
    path: &str,
    names: &[String],
    option: &'static str,
    column: &str,
) -> Result<usize> {
    let named: Vec<usize> = (0..names.len()).filter(|&i| names[i] == column).collect();
    match (named.as_slice(), column.parse().ok()) {
        (&[index], _) => Ok(index),
        ([], Some(number)) if (1..=names.len()).contains(&number) => Ok(number - 1),
        ([], _) => {
            let (column, columns) = (column.to_owned(), names.to_vec());
            Err(Error::of(path, Problem::NoColumn { column, columns }))
        }
        (several, _) => {
            let found = format!("{} are named {column:?}", count(several.len(), "column"));
            let hints = several.iter().map(|index| Hint::set(option, index + 1));
            let error = Error::content(path, found, "one");
            Err(error.with_hint(Hint::Any(hints.collect())))
        }
    }
}
