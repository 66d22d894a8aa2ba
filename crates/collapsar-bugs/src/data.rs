//! Decides what the data of a model are: named arrays of numbers.

use std::collections::BTreeMap;

/// An array of numbers, the last index running fastest; a number that is not there is NaN.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// Lengths; one dimension at least, and a scalar is `[1]`.
    pub dims: Vec<usize>,
    /// As many as the product of the lengths.
    pub values: Vec<f64>,
}

impl Array {
    /// A single number.
    pub fn scalar(value: f64) -> Self {
        Self {
            dims: vec![1],
            values: vec![value],
        }
    }

    /// Numbers in a row.
    pub fn vector(values: Vec<f64>) -> Self {
        Self {
            dims: vec![values.len()],
            values,
        }
    }
}

/// A matrix most of whose entries are zero, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct Sparse {
    /// Rows and columns.
    pub dims: [usize; 2],
    /// Where the entries of each row begin, and the end of the last.
    pub starts: Vec<usize>,
    /// Columns, counted from 0, rising within a row.
    pub columns: Vec<u32>,
    /// The entries.
    pub values: Vec<f64>,
}

/// What a model is given.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Data {
    /// Arrays by name.
    pub arrays: BTreeMap<String, Array>,
    /// Sparse matrices by name.
    pub sparse: BTreeMap<String, Sparse>,
    /// Names that are given something else than numbers, which is a mistake only where a model reads them: what is there.
    pub texts: BTreeMap<String, String>,
}
