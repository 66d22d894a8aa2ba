//! Tables of numbers: sums over rows under a softmax, which mixtures of all kinds have in common, and over squares of predictors.
//!
//! - `features`: which functions of a row a component sees
//! - `gaps`: rows with missing numbers
//! - `known`: rows whose component is known
//! - `sum`: logits, softmax and statistics, a block of rows at a time
//! - `overlap`: the metric as a matrix, from the rows that components share
//! - `squares`: rows of Pólya-Gamma variables, each times the square of a predictor
//! - `triangle`: products that fill half of a square matrix

mod features;
mod gaps;
mod known;
mod overlap;
mod squares;
mod sum;
mod triangle;

pub use features::Features;
pub use overlap::{ComponentBlocks, Overlaps};
pub use squares::SquareSum;
pub use sum::SoftmaxSum;

/// Rows in a block: features of a 16-column block of 128 rows fill 150 kB of a processor's second
/// cache, and responsibilities for 20 components half of its first.
pub const BLOCK: usize = 128;

/// Rows stored in blocks, each block column by column, so that kernels run along the rows.
#[derive(Debug, Clone)]
pub struct Rows {
    len: usize,
    pub(super) columns: usize,
    values: Vec<f64>,
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
            values: stored,
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

    /// The blocks that hold `rows`, which begin at a block: each with its first row and width.
    pub fn within(
        &self,
        rows: std::ops::Range<usize>,
    ) -> impl Iterator<Item = (usize, usize, &[f64])> {
        rows.clone().step_by(BLOCK).map(move |first| {
            let width = BLOCK.min(rows.end - first);
            let values = first * self.columns..(first + width) * self.columns;
            (first, width, &self.values[values])
        })
    }

    /// Copies row `row` into `out`.
    pub fn row(&self, row: usize, out: &mut [f64]) {
        let first = row - row % BLOCK;
        let width = BLOCK.min(self.len - first);
        for (c, x) in out.iter_mut().enumerate() {
            *x = self.values[first * self.columns + c * width + row % BLOCK];
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
