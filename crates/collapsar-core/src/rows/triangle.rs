//! Decides how products that fill a triangle are made: a few rows of it at a time, each group from its first column on.

use std::ops::Range;

use crate::kernel::product::{LANES, accumulate, gather};

/// Rows of a group: those that kernels keep sums of in registers.
const GROUP: usize = 10;

/// The upper triangle of a square matrix, which is kept row by row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Triangle {
    columns: usize,
}

impl Triangle {
    pub(super) fn new(columns: usize) -> Self {
        Self { columns }
    }

    pub(super) fn columns(self) -> usize {
        self.columns
    }

    /// Numbers of the triangle.
    pub(super) fn len(self) -> usize {
        self.columns * (self.columns + 1) / 2
    }

    /// Visits groups: the first row, how many there are, and the places of their entries, from the column of the first row on.
    pub(super) fn each(self, mut visit: impl FnMut(usize, usize, Range<usize>)) {
        let mut place = 0;
        for first in (0..self.columns).step_by(GROUP) {
            let count = GROUP.min(self.columns - first);
            let size = count * (self.columns - first);
            visit(first, count, place..place + size);
            place += size;
        }
    }

    /// Entries of all groups.
    fn entries(self) -> usize {
        let mut entries = 0;
        self.each(|_, _, places| entries = places.end);
        entries
    }

    /// Numbers that [`Triangle::accumulate`] adds to.
    pub(super) fn lanes(self) -> usize {
        self.entries() * LANES
    }

    /// Row, column and place of each number of the triangle.
    pub(super) fn each_entry(self, mut visit: impl FnMut(usize, usize, usize)) {
        let mut place = 0;
        for row in 0..self.columns {
            for column in row..self.columns {
                visit(row, column, place);
                place += 1;
            }
        }
    }

    /// Where row and column of the triangle are among the entries of groups.
    fn entry(self, row: usize, column: usize) -> usize {
        let first = row - row % GROUP;
        // All groups before are full: Σ GROUP (columns − first).
        let groups = first / GROUP;
        let before = first * self.columns - GROUP * GROUP * (groups * groups.saturating_sub(1) / 2);
        before + (row - first) * (self.columns - first) + column - first
    }

    /// The matrix L of groups for which x'Lx is ½ x'Mx: halves of the diagonal, zeros below it.
    pub(super) fn left(self, matrix: &[f64]) -> Vec<f64> {
        let mut left = vec![0.0; self.entries()];
        self.each_entry(|row, column, place| {
            let half = if row == column { 0.5 } else { 1.0 };
            left[self.entry(row, column)] = half * matrix[place];
        });
        left
    }

    /// Adds `weighted` times `features` transposed, both with a row of numbers for each column, in lanes.
    pub(super) fn accumulate(self, weighted: &[f64], features: &[f64], lanes: &mut [f64]) {
        let width = features.len() / self.columns.max(1);
        self.each(|first, count, places| {
            accumulate(
                &weighted[first * width..(first + count) * width],
                &features[first * width..],
                (count, self.columns - first),
                width,
                &mut lanes[places.start * LANES..places.end * LANES],
            );
        });
    }

    /// Visits the sums of lanes: the place in the triangle, and whether it is on the diagonal.
    pub(super) fn gather(self, lanes: &[f64], mut visit: impl FnMut(usize, bool, f64)) {
        let mut sums = vec![0.0; self.entries()];
        gather(lanes, &mut sums);
        self.each_entry(|row, column, place| {
            visit(place, row == column, sums[self.entry(row, column)]);
        });
    }

    /// The gradient of ½ x'Mx for each row of a block: products of its columns, a half of squares.
    pub(super) fn pairs(self, x: &[f64], width: usize, out: &mut [f64]) {
        let column = |column: usize| &x[column * width..(column + 1) * width];
        let mut rows = out.chunks_exact_mut(width.max(1));
        self.each_entry(|i, j, _| {
            let half = if i == j { 0.5 } else { 1.0 };
            let Some(out) = rows.next() else { return };
            for ((out, a), b) in out.iter_mut().zip(column(i)).zip(column(j)) {
                *out = half * a * b;
            }
        });
    }

    /// The vector c for which the matrix is cc', where there is one but for so much of its diagonal.
    pub(super) fn vector_of(self, matrix: &[f64], tolerance: f64) -> Option<Vec<f64>> {
        let n = self.columns;
        let place = |row: usize, column: usize| row * (2 * n - row + 1) / 2 + column - row;
        let diagonal = |row: usize| matrix[place(row, row)];
        let largest = (0..n).max_by(|&a, &b| diagonal(a).total_cmp(&diagonal(b)))?;
        let root = diagonal(largest).sqrt();
        if root == 0.0 {
            let zero = matrix.iter().all(|entry| *entry == 0.0);
            return zero.then(|| vec![0.0; n]);
        }
        let entry = |column: usize| matrix[place(column.min(largest), column.max(largest))];
        let vector: Vec<f64> = (0..n).map(|column| entry(column) / root).collect();
        let mut near = vector.iter().all(|c| c.is_finite());
        self.each_entry(|row, column, place| {
            let size = (diagonal(row).abs() * diagonal(column).abs()).sqrt();
            let off = (matrix[place] - vector[row] * vector[column]).abs();
            near &= off <= tolerance * size;
        });
        near.then_some(vector)
    }
}
