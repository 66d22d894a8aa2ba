//! Decides which objects of JSON are sparse matrices: rows one after another, or entries in any order.
//!
//! `{"sparse": "csr", "dim": [rows, columns], "row_ptr": [...], "col": [...], "value": [...]}` has the
//! entries row by row, and `row_ptr` counts those before each row, from 0 to all of them.
//! `{"sparse": "coo", "dim": ..., "row": [...], "col": [...], "value": [...]}` has them in any order.
//! Rows and columns count from 1, as the indices of the language do.

use collapsar::limits::ELEMENTS;
use std::collections::BTreeMap;

use collapsar_bugs::{Array, Sparse};

use crate::error::quoted;

/// What was found and what was expected.
pub(super) type Refusal = (String, String);

/// The parts of an object as they come.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) layout: Option<String>,
    arrays: BTreeMap<String, Array>,
}

impl Parts {
    /// Takes one part.
    pub(super) fn give(&mut self, key: &str, array: Array) -> Result<(), Refusal> {
        if !["dim", "row_ptr", "row", "col", "value"].contains(&key) {
            let expected = "a sparse matrix with \"sparse\", \"dim\", \"row_ptr\" or \"row\", \"col\", \"value\"";
            return Err(refusal(format!("an object with {}", quoted(key)), expected));
        }
        match self.arrays.insert(key.to_owned(), array) {
            Some(_) => Err(refusal(
                format!("{key:?} for the second time"),
                "each name once",
            )),
            None => Ok(()),
        }
    }

    /// The numbers of a part.
    fn vector(&mut self, key: &str) -> Result<Vec<f64>, Refusal> {
        let Some(array) = self.arrays.remove(key) else {
            let found = format!("a sparse matrix without {key:?}");
            return Err(refusal(found, "a list of that name"));
        };
        if array.dims.len() > 1 {
            return Err(refusal(
                format!("{key:?} as nested lists"),
                "one list of numbers",
            ));
        }
        Ok(array.values)
    }

    /// Refuses a part that the layout has no use for.
    fn unused(&self, key: &str, layout: &str) -> Result<(), Refusal> {
        if !self.arrays.contains_key(key) {
            return Ok(());
        }
        let found = format!("{key:?} beside \"sparse\": {layout:?}");
        Err(refusal(
            found,
            "\"row_ptr\" for \"csr\" and \"row\" for \"coo\"",
        ))
    }

    /// The matrix that the parts make.
    pub(super) fn matrix(mut self) -> Result<Sparse, Refusal> {
        let Some(layout) = self.layout.take() else {
            let found = "an object without \"sparse\"";
            return Err(refusal(found, "\"sparse\": \"csr\" or \"coo\""));
        };
        if layout != "csr" && layout != "coo" {
            let found = format!("an object with \"sparse\": {}", quoted(&layout));
            return Err(refusal(found, "\"csr\" or \"coo\""));
        }
        let dims = self.vector("dim")?;
        let &[rows, columns] = dims.as_slice() else {
            let found = format!("\"dim\" with {} numbers", dims.len());
            return Err(refusal(found, "rows and columns"));
        };
        let limit = f64::from(u32::MAX);
        let dims = [
            whole(rows, "dim", 0.0, limit)?,
            whole(columns, "dim", 0.0, limit)?,
        ];
        let col = self.vector("col")?;
        let values = self.vector("value")?;
        if col.len() != values.len() {
            let found = format!("{} of \"col\" and {} of \"value\"", col.len(), values.len());
            return Err(refusal(found, "as many of both"));
        }
        let mut entries = Vec::with_capacity(values.len());
        for (column, value) in col.into_iter().zip(values) {
            // Below 2^32, as the number of columns is.
            entries.push((whole(column, "col", 1.0, dims[1] as f64)? as u32 - 1, value));
        }
        let starts = if layout == "csr" {
            self.unused("row", &layout)?;
            starts_of(self.vector("row_ptr")?, dims[0], entries.len())?
        } else {
            self.unused("row_ptr", &layout)?;
            sorted_by_row(self.vector("row")?, dims[0], &mut entries)?
        };
        for (row, ends) in starts.windows(2).enumerate() {
            let entries = &mut entries[ends[0]..ends[1]];
            entries.sort_by_key(|entry| entry.0);
            if let Some(pair) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                let (row, column) = (row + 1, pair[0].0 + 1);
                let found = format!("the entry of row {row} and column {column} twice");
                return Err(refusal(found, "each entry once"));
            }
        }
        Ok(Sparse {
            dims,
            starts,
            columns: entries.iter().map(|entry| entry.0).collect(),
            values: entries.iter().map(|entry| entry.1).collect(),
        })
    }
}

fn refusal(found: impl Into<String>, expected: impl Into<String>) -> Refusal {
    (found.into(), expected.into())
}

fn whole(number: f64, key: &str, low: f64, high: f64) -> Result<usize, Refusal> {
    if number.fract() == 0.0 && (low..=high).contains(&number) {
        return Ok(number as usize);
    }
    let expected = format!("whole numbers from {low} to {high}");
    Err(refusal(format!("{number} in {key:?}"), expected))
}

/// Where rows begin, as they are given.
fn starts_of(row_ptr: Vec<f64>, rows: usize, entries: usize) -> Result<Vec<usize>, Refusal> {
    if row_ptr.len() != rows + 1 {
        let found = format!("{} numbers in \"row_ptr\"", row_ptr.len());
        return Err(refusal(found, format!("one more than the {rows} rows")));
    }
    let mut starts = Vec::with_capacity(row_ptr.len());
    let mut before = 0;
    for number in row_ptr {
        let start = whole(number, "row_ptr", before as f64, entries as f64)?;
        starts.push(start);
        before = start;
    }
    if starts[0] != 0 || before != entries {
        let found = format!("\"row_ptr\" from {} to {before}", starts[0]);
        return Err(refusal(found, format!("0 to the {entries} entries")));
    }
    Ok(starts)
}

/// Sorts the entries by row and finds where rows begin.
fn sorted_by_row(
    row: Vec<f64>,
    rows: usize,
    entries: &mut Vec<(u32, f64)>,
) -> Result<Vec<usize>, Refusal> {
    if row.len() != entries.len() {
        let (rows, values) = (row.len(), entries.len());
        let found = format!("{rows} of \"row\" and {values} of \"value\"");
        return Err(refusal(found, "as many of both"));
    }
    if rows > ELEMENTS {
        let expected = format!("{ELEMENTS} at most");
        return Err(refusal(format!("{rows} rows"), expected));
    }
    let mut starts = vec![0; rows + 1];
    let mut order = Vec::with_capacity(row.len());
    for (at, number) in row.into_iter().enumerate() {
        let row = whole(number, "row", 1.0, rows as f64)? - 1;
        starts[row + 1] += 1;
        order.push((row, at));
    }
    for row in 0..rows {
        starts[row + 1] += starts[row];
    }
    order.sort_unstable();
    *entries = order.iter().map(|&(_, at)| entries[at]).collect();
    Ok(starts)
}
