//! How a symmetric matrix of blocks, most of them zero, is factored and solved with.

use nalgebra::{Cholesky, DMatrix, DVector};
use rayon::prelude::*;

use collapsar_core::elementary::Elementary;

/// Products at most for the largest eigenvalue.
const POWER: usize = 100;

/// A symmetric matrix by blocks: row `i` has those of the columns up to `i`, where they are not zero.
#[derive(Debug)]
pub(super) struct BlockMatrix {
    pub(super) sizes: Vec<usize>,
    pub(super) rows: Vec<Vec<Option<DMatrix<f64>>>>,
}

impl BlockMatrix {
    /// The largest eigenvalue of a positive semi-definite matrix, from below.
    pub(super) fn largest_eigenvalue(&self) -> f64 {
        let mut next = 0;
        // No symmetry of a model is one of this vector.
        let mut along: Vec<DVector<f64>> = (self.sizes.iter())
            .map(|&size| {
                next += size;
                DVector::from_fn(size, |i, _| (1.7 * (next + i) as f64 + 0.3).sin_())
            })
            .collect();
        let mut value = 0.0;
        for _ in 0..POWER {
            let mut image: Vec<DVector<f64>> = self
                .sizes
                .iter()
                .map(|&size| DVector::zeros(size))
                .collect();
            for (i, row) in self.rows.iter().enumerate() {
                for (j, block) in row.iter().enumerate() {
                    let Some(block) = block else { continue };
                    image[i].gemv(1.0, block, &along[j], 1.0);
                    if i != j {
                        image[j].gemv_tr(1.0, block, &along[i], 1.0);
                    }
                }
            }
            let norm: f64 = along.iter().map(DVector::norm_squared).sum();
            let products = along.iter().zip(&image);
            let last = value;
            value = products.map(|(a, b)| a.dot(b)).sum::<f64>() / norm;
            let scale = image.iter().map(DVector::norm_squared).sum::<f64>().sqrt();
            if scale <= 0.0 || !scale.is_finite() {
                return 0.0;
            }
            along = image.into_iter().map(|part| part / scale).collect();
            if (value - last).abs() <= 1e-5 * value.abs() {
                break;
            }
        }
        value
    }

    /// $LL'$ of this matrix; none where it is not positive definite. What is zero to the left of every block stays
    /// so, and is skipped.
    pub(super) fn factor(mut self) -> Option<BlockFactor> {
        let mut inverses = Vec::with_capacity(self.sizes.len());
        for j in 0..self.sizes.len() {
            let (above, below) = self.rows.split_at_mut(j + 1);
            let row = &mut above[j];
            let (done, own) = row.split_at_mut(j);
            let size = self.sizes[j];
            let own = own[0].get_or_insert_with(|| DMatrix::zeros(size, size));
            let transposed: Vec<Option<DMatrix<f64>>> = (done.iter())
                .map(|block| block.as_ref().map(DMatrix::transpose))
                .collect();
            for (block, transposed) in done.iter().zip(&transposed) {
                if let (Some(block), Some(transposed)) = (block, transposed) {
                    own.gemm(-1.0, block, transposed, 1.0);
                }
            }
            let lower = Cholesky::new(std::mem::take(own))?.unpack();
            let identity = DMatrix::identity(size, size);
            let inverse = lower.solve_lower_triangular(&identity)?;
            *own = lower;
            let scale = inverse.transpose();
            // Rows do not meet, so threads may divide them in any way.
            below.par_iter_mut().for_each(|row| {
                let (done, rest) = row.split_at_mut(j);
                let mut left = rest[0].take();
                for (block, transposed) in done.iter().zip(&transposed) {
                    if let (Some(block), Some(transposed)) = (block, transposed) {
                        let shape = (block.nrows(), size);
                        let left = left.get_or_insert_with(|| DMatrix::zeros(shape.0, shape.1));
                        left.gemm(-1.0, block, transposed, 1.0);
                    }
                }
                rest[0] = left.map(|left| left * &scale);
            });
            inverses.push(inverse);
        }
        Some(BlockFactor {
            rows: self.rows,
            inverses,
        })
    }
}

/// The factor $L$ of a [`BlockMatrix`].
#[derive(Debug)]
pub(super) struct BlockFactor {
    rows: Vec<Vec<Option<DMatrix<f64>>>>,
    /// Of the blocks on the diagonal.
    inverses: Vec<DMatrix<f64>>,
}

impl BlockFactor {
    /// $X'X$ for $LX = B$: the inverse of the matrix between the columns of $B$, of which `given` are the blocks that
    /// are not zero.
    pub(super) fn inverse_between(&self, given: &[(usize, &DMatrix<f64>)]) -> DMatrix<f64> {
        let columns = given.first().map_or(0, |(_, block)| block.ncols());
        let mut found: Vec<Option<DMatrix<f64>>> = vec![];
        let mut out = DMatrix::zeros(columns, columns);
        for (row, inverse) in self.rows.iter().zip(&self.inverses) {
            let here = found.len();
            let mut left = (given.iter().find(|(at, _)| *at == here)).map(|(_, b)| (*b).clone());
            for (block, found) in row[..here].iter().zip(&found) {
                if let (Some(block), Some(found)) = (block, found) {
                    let size = block.nrows();
                    let left = left.get_or_insert_with(|| DMatrix::zeros(size, columns));
                    left.gemm(-1.0, block, found, 1.0);
                }
            }
            let solved = left.map(|left| inverse * left);
            if let Some(solved) = &solved {
                out += solved.transpose() * solved;
            }
            found.push(solved);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A positive definite matrix with zero blocks, and the same as one matrix.
    fn example() -> (BlockMatrix, DMatrix<f64>) {
        let sizes = vec![3, 2, 4, 2];
        let number = |i: usize, j: usize| 0.4 * (1.3 * i as f64 + 2.1 * j as f64).sin_();
        let zero = [(1, 0), (3, 1)];
        let starts = [0, 3, 5, 9];
        let mut whole = DMatrix::zeros(11, 11);
        let mut rows = vec![];
        for i in 0..4 {
            let mut row = vec![];
            for j in 0..=i {
                if zero.contains(&(i, j)) {
                    row.push(None);
                    continue;
                }
                let entry = |a: usize, b: usize| {
                    let (a, b) = (starts[i] + a, starts[j] + b);
                    let own = if a == b { 3.0 } else { 0.0 };
                    own + number(a.max(b), a.min(b))
                };
                let block = DMatrix::from_fn(sizes[i], sizes[j], entry);
                whole
                    .view_mut((starts[i], starts[j]), (sizes[i], sizes[j]))
                    .copy_from(&block);
                whole
                    .view_mut((starts[j], starts[i]), (sizes[j], sizes[i]))
                    .copy_from(&block.transpose());
                row.push(Some(block));
            }
            rows.push(row);
        }
        (BlockMatrix { sizes, rows }, whole)
    }

    #[test]
    fn solves_and_eigenvalues_are_those_of_the_whole_matrix() {
        let (blocks, whole) = example();
        let largest = whole.clone().symmetric_eigen().eigenvalues.max();
        // Rayleigh quotients end where they change by less than 1e-5 of themselves.
        assert!((blocks.largest_eigenvalue() - largest).abs() < 1e-3 * largest);
        let inverse = whole.try_inverse().expect("regular");
        let given = DMatrix::from_fn(2, 2, |i, j| 1.0 + i as f64 - 3.0 * j as f64);
        let last = DMatrix::from_fn(2, 2, |i, j| 0.5 + (i * j) as f64);
        let mut all = DMatrix::zeros(11, 2);
        all.view_mut((3, 0), (2, 2)).copy_from(&given);
        all.view_mut((9, 0), (2, 2)).copy_from(&last);
        let expected = all.transpose() * inverse * &all;
        let factor = blocks.factor().expect("positive definite");
        let found = factor.inverse_between(&[(1, &given), (3, &last)]);
        // Eleven equations, well-conditioned.
        assert!((found - expected).amax() < 1e-13);
    }

    #[test]
    fn an_indefinite_matrix_has_no_factor() {
        let (mut blocks, _) = example();
        if let Some(block) = &mut blocks.rows[3][3] {
            block[(1, 1)] = -1.0;
        }
        assert!(blocks.factor().is_none());
    }
}
