//! Which functions of a datum a component sees: the features, one file of data in blocks of rows.

use serde::{Deserialize, Serialize};

/// How the covariances of the components are related and shaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Covariance {
    /// Each component its own full matrix.
    #[default]
    Full,
    /// Each component its own diagonal.
    #[serde(rename = "diag")]
    Diagonal,
    /// Each component its own variance, the same in every direction.
    Spherical,
    /// One full matrix for all components.
    Tied,
}

impl Covariance {
    /// Every kind, in the order of the documentation.
    pub const ALL: [Self; 4] = [Self::Full, Self::Diagonal, Self::Spherical, Self::Tied];

    /// The name, as `--covariance` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Diagonal => "diag",
            Self::Spherical => "spherical",
            Self::Tied => "tied",
        }
    }

    /// How many features a datum of `columns` numbers has (maths §4.1).
    pub(crate) fn features(self, columns: usize) -> usize {
        match self {
            Self::Full => 1 + columns + columns * (columns + 1) / 2,
            Self::Diagonal => 1 + 2 * columns,
            Self::Spherical => 2 + columns,
            Self::Tied => 1 + columns,
        }
    }

    /// Writes the features of a block, a row each: `block` holds the block's columns, each of
    /// `width` numbers, and so do both sides' rows.
    pub(crate) fn expand(self, block: &[f64], width: usize, out: &mut [f64]) {
        let columns = block.len() / width;
        out[..width].fill(1.0);
        out[width..width + block.len()].copy_from_slice(block);
        let squares = &mut out[width + block.len()..];
        match self {
            Self::Full => {
                let mut rows = squares.chunks_exact_mut(width);
                for i in 0..columns {
                    let left = &block[i * width..(i + 1) * width];
                    for j in i..columns {
                        let right = &block[j * width..(j + 1) * width];
                        let row = rows.next().expect("a row for every pair of columns");
                        for ((p, a), b) in row.iter_mut().zip(left).zip(right) {
                            *p = a * b;
                        }
                    }
                }
            }
            Self::Diagonal => {
                for (p, a) in squares.iter_mut().zip(block) {
                    *p = a * a;
                }
            }
            Self::Spherical => {
                let row = &mut squares[..width];
                row.fill(0.0);
                for column in block.chunks_exact(width) {
                    for (p, a) in row.iter_mut().zip(column) {
                        *p += a * a;
                    }
                }
            }
            Self::Tied => {}
        }
    }
}

/// Rows in a block: features of a 16-column block of 128 rows fill 150 kB of a processor's second
/// cache, and responsibilities for 20 components half of its first.
pub(crate) const BLOCK: usize = 128;

/// Rows stored in blocks, each block column by column, so that kernels run along the rows.
#[derive(Debug, Clone)]
pub(crate) struct Blocks {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    values: Vec<f64>,
}

impl Blocks {
    /// Copies row-major `values`, mapping each number by `(x - shift) / scale` of its column.
    pub(crate) fn new(values: &[f64], columns: usize, shift: &[f64], scale: &[f64]) -> Self {
        let rows = values.len() / columns;
        let mut stored = Vec::with_capacity(values.len());
        for block in values.chunks(BLOCK * columns) {
            for c in 0..columns {
                stored.extend(
                    block
                        .iter()
                        .skip(c)
                        .step_by(columns)
                        .map(|x| (x - shift[c]) / scale[c]),
                );
            }
        }
        Self {
            rows,
            columns,
            values: stored,
        }
    }

    /// The blocks that hold `rows`, which begin at a block: each with its first row and width.
    pub(crate) fn within(
        &self,
        rows: std::ops::Range<usize>,
    ) -> impl Iterator<Item = (usize, usize, &[f64])> {
        rows.clone().step_by(BLOCK).map(move |first| {
            let width = BLOCK.min(rows.end - first);
            (
                first,
                width,
                &self.values[first * self.columns..(first + width) * self.columns],
            )
        })
    }

    /// Copies row `row` into `out`.
    pub(crate) fn row(&self, row: usize, out: &mut [f64]) {
        let first = row - row % BLOCK;
        let width = BLOCK.min(self.rows - first);
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
            let blocks = Blocks::new(&values, columns, &[0.0, 1.0, 2.0], &[1.0, 2.0, 4.0]);
            let mut row = [0.0; 3];
            for n in 0..rows {
                blocks.row(n, &mut row);
                let y = &values[n * columns..(n + 1) * columns];
                assert_eq!(row, [y[0], (y[1] - 1.0) / 2.0, (y[2] - 2.0) / 4.0]);
            }
        }
    }

    #[test]
    fn features_are_what_maths_says() {
        let block = [2.0, 5.0, 3.0, 7.0]; // two rows (2,3) and (5,7), column by column
        let expand = |kind: Covariance| {
            let mut out = vec![f64::NAN; kind.features(2) * 2];
            kind.expand(&block, 2, &mut out);
            out
        };
        assert_eq!(expand(Covariance::Tied), [1., 1., 2., 5., 3., 7.]);
        assert_eq!(
            expand(Covariance::Spherical),
            [1., 1., 2., 5., 3., 7., 13., 74.]
        );
        assert_eq!(
            expand(Covariance::Diagonal),
            [1., 1., 2., 5., 3., 7., 4., 25., 9., 49.]
        );
        assert_eq!(
            expand(Covariance::Full),
            [1., 1., 2., 5., 3., 7., 4., 25., 6., 35., 9., 49.]
        );
    }
}
