//! Where in the data something is wrong, as data: a front end looks up what the user calls it.

use std::fmt;

/// A place in the data of a model. Counts are from zero; the text counts from one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// Something as a whole: `data`, `start`, `reads`.
    Whole(&'static str),
    /// Something that the user named.
    Named(String),
    /// A row of the data.
    Row(usize),
    /// A column of the data.
    Column(usize),
    /// A number in the data.
    Cell {
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
    },
    /// One of several things of a kind: a transcript, a document, a draw.
    Item {
        /// The kind, in the singular.
        kind: &'static str,
        /// Which.
        index: usize,
    },
    /// A place within another.
    Within(Box<Place>, Box<Place>),
}

impl Place {
    /// One of several things of a kind.
    pub fn item(kind: &'static str, index: usize) -> Self {
        Self::Item { kind, index }
    }

    /// The number at `index` of a row-major table with so many columns.
    pub fn cell(index: usize, columns: usize) -> Self {
        let (row, column) = (index / columns, index % columns);
        Self::Cell { row, column }
    }

    /// A place within this one.
    #[must_use]
    pub fn at(self, inner: Place) -> Self {
        Self::Within(Box::new(self), Box::new(inner))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(name) => write!(f, "{name}"),
            Self::Named(name) => write!(f, "{name}"),
            Self::Row(row) => write!(f, "row {}", row + 1),
            Self::Column(column) => write!(f, "column {}", column + 1),
            Self::Cell { row, column } => write!(f, "row {}, column {}", row + 1, column + 1),
            Self::Item { kind, index } => write!(f, "{kind} {}", index + 1),
            Self::Within(outer, inner) => write!(f, "{outer}, {inner}"),
        }
    }
}
