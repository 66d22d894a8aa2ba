//! Tables of numbers: sums over rows under a softmax, which mixtures of all kinds have in common, and over squares of predictors.
//!
//! - `features`: which functions of a row a component sees
//! - `gaps`: rows with missing numbers
//! - `known`: rows whose component is known
//! - `levels`: columns of levels beside the numbers
//! - `sum`: logits, softmax and statistics, a block of rows at a time
//! - `overlap`: the metric as a matrix, from the rows that components share
//! - `squares`: rows of Pólya-Gamma variables, each times the square of a predictor
//! - `stored`: rows that are not in memory
//! - `triangle`: products that fill half of a square matrix

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use crate::error::Result;

pub use crate::segments::Reading;

mod features;
mod gaps;
mod known;
mod levels;
mod overlap;
mod squares;
mod stored;
mod sum;
mod triangle;

pub use features::Features;
pub use levels::{LevelColumn, LevelPlaces, MISSING};
pub use overlap::{ComponentBlocks, Overlaps};
pub use squares::SquareSum;
pub use stored::{Block, Element, Layout, Order, Stored};
pub use sum::SoftmaxSum;

/// Rows in a block: features of a 16-column block of 128 rows fill 150 kB of a processor's second
/// cache, and responsibilities for 20 components half of its first.
pub const BLOCK: usize = 128;

/// Rows stored in blocks, each block column by column, so that kernels run along the rows: in memory, or in a file that is
/// read for every pass.
#[derive(Debug, Clone)]
pub struct Rows {
    len: usize,
    pub(super) columns: usize,
    values: Values,
}

/// Where the numbers of rows are.
#[derive(Debug, Clone)]
enum Values {
    Memory(Vec<f64>),
    File(Mapped),
}

/// A table in a file, whose numbers are mapped as they are read.
#[derive(Debug, Clone)]
pub struct Mapped {
    stored: Arc<Stored>,
    shift: Vec<f64>,
    scale: Vec<f64>,
}

impl Mapped {
    /// The table.
    pub fn stored(&self) -> &Stored {
        &self.stored
    }

    fn map(&self) -> (&[f64], &[f64]) {
        (&self.shift, &self.scale)
    }

    /// Visits the blocks of `rows`, which begin at a block.
    ///
    /// # Errors
    /// As [`Stored::each`].
    pub fn each(
        &self,
        rows: Range<usize>,
        visit: impl FnMut(Block<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        self.stored.each(rows, Some(self.map()), visit)
    }

    /// Copies row `row` into `out`.
    ///
    /// # Errors
    /// As [`Stored::each`].
    pub fn row(&self, row: usize, out: &mut [f64]) -> Result<()> {
        self.stored.row(row, Some(self.map()), out)
    }
}

impl Rows {
    /// Copies row-major `values`, mapping each number by `(x - shift) / scale` of its column.
    pub fn new(values: &[f64], columns: usize, shift: &[f64], scale: &[f64]) -> Self {
        let mut stored = Vec::with_capacity(values.len());
        for block in values.chunks(BLOCK * columns) {
            for c in 0..columns {
                let column = block.iter().skip(c).step_by(columns);
                stored.extend(column.map(|x| (x - shift[c]) / scale[c]));
            }
        }
        Self {
            len: values.len() / columns,
            columns,
            values: Values::Memory(stored),
        }
    }

    /// So many rows without a number: what is known of them is elsewhere.
    pub fn bare(len: usize) -> Self {
        Self {
            len,
            columns: 0,
            values: Values::Memory(vec![]),
        }
    }

    /// Rows of a file, each number mapped by `(x - shift) / scale` of its column.
    pub fn stored(stored: Arc<Stored>, shift: &[f64], scale: &[f64]) -> Self {
        Self {
            len: stored.len(),
            columns: stored.columns(),
            values: Values::File(Mapped {
                stored,
                shift: shift.to_vec(),
                scale: scale.to_vec(),
            }),
        }
    }

    /// The file that they are in, if they are in one.
    pub fn file(&self) -> Option<&Mapped> {
        match &self.values {
            Values::Memory(_) => None,
            Values::File(mapped) => Some(mapped),
        }
    }

    /// The numbers of rows in memory.
    fn memory(&self) -> &[f64] {
        match &self.values {
            Values::Memory(values) => values,
            Values::File(_) => panic!("rows of a file are visited by Rows::each"),
        }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many numbers a row has.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The blocks that hold `rows`, which begin at a block: each with its first row and width. Of rows in memory.
    ///
    /// # Panics
    /// Where rows are in a file.
    pub(super) fn within(
        &self,
        rows: Range<usize>,
    ) -> impl Iterator<Item = (usize, usize, &[f64])> {
        let all = self.memory();
        rows.clone().step_by(BLOCK).map(move |first| {
            let width = BLOCK.min(rows.end - first);
            let values = first * self.columns..(first + width) * self.columns;
            (first, width, &all[values])
        })
    }

    /// Visits the blocks of `rows`, which begin at a block. `weights` are those of all rows where they are in memory; a file has
    /// its own.
    ///
    /// # Errors
    /// As [`Stored::each`]; what `visit` has.
    pub fn each(
        &self,
        rows: Range<usize>,
        weights: Option<&[f64]>,
        mut visit: impl FnMut(Block<'_>) -> Result<()>,
    ) -> Result<()> {
        if let Some(mapped) = self.file() {
            return mapped.each(rows, |block| visit(block).map(ControlFlow::Continue));
        }
        for (first, width, values) in self.within(rows) {
            visit(Block {
                first,
                width,
                values,
                weights: weights.map(|weights| &weights[first..first + width]),
            })?;
        }
        Ok(())
    }

    /// Copies row `row` of those in memory into `out`.
    ///
    /// # Panics
    /// Where rows are in a file.
    pub fn row(&self, row: usize, out: &mut [f64]) {
        let first = row - row % BLOCK;
        let width = BLOCK.min(self.len - first);
        let values = self.memory();
        for (c, x) in out.iter_mut().enumerate() {
            *x = values[first * self.columns + c * width + row % BLOCK];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_give_back_every_row() {
        let columns = 3;
        for rows in [1, BLOCK - 1, BLOCK, BLOCK + 1, 700] {
            let values: Vec<f64> = (0..rows * columns).map(|i| i as f64).collect();
            let blocks = Rows::new(&values, columns, &[0.0, 1.0, 2.0], &[1.0, 2.0, 4.0]);
            let mut row = [0.0; 3];
            for n in 0..rows {
                blocks.row(n, &mut row);
                let y = &values[n * columns..(n + 1) * columns];
                assert_eq!(row, [y[0], (y[1] - 1.0) / 2.0, (y[2] - 2.0) / 4.0]);
            }
        }
    }
}
