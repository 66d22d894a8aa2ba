//! Rows of Pólya-Gamma variables, each of which multiplies the square of a predictor.

use std::sync::Arc;

use rand::Rng;

use collapsar_core::family::{Family, PolyaGamma};
use collapsar_core::parallel::{Buffers, Chunks, sum};
use collapsar_core::vector::{add, dot};
use collapsar_core::{Potential, Result};

/// The sum over rows of the log-partition functions of ω at r = ½ x'Mx, a function of the upper triangle of M, row by
/// row (maths §9.10). A pass holds nothing of the size of rows by pairs.
#[derive(Debug)]
pub(super) struct Squares {
    columns: usize,
    /// Row by row.
    values: Arc<Vec<f64>>,
    families: Vec<PolyaGamma>,
    buffers: Buffers,
}

impl Squares {
    pub(super) fn new(columns: usize, values: Arc<Vec<f64>>, families: Vec<PolyaGamma>) -> Self {
        Self {
            columns,
            values,
            families,
            buffers: Buffers::default(),
        }
    }

    fn chunks(&self) -> Chunks {
        Chunks::new(self.families.len(), 1)
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }

    /// ½ x'Mx.
    fn half_square(&self, row: usize, matrix: &[f64]) -> f64 {
        let (mut total, mut place) = (0.0, 0);
        let x = self.row(row);
        for (column, first) in x.iter().enumerate() {
            let rest = &x[column..];
            let entries = &matrix[place..place + rest.len()];
            // Entries beside the diagonal stand for two.
            total += first * (dot(entries, rest) - 0.5 * entries[0] * first);
            place += rest.len();
        }
        total
    }

    /// Adds `weight` times the gradient of ½ x'Mx.
    fn add_pairs(&self, row: usize, weight: f64, out: &mut [f64]) {
        let x = self.row(row);
        let mut place = 0;
        for (column, first) in x.iter().enumerate() {
            let rest = &x[column..];
            let out = &mut out[place..place + rest.len()];
            add(out, weight * first, rest);
            out[0] -= 0.5 * weight * first * first;
            place += rest.len();
        }
    }

    /// Statistics where every ω has its prior mean.
    pub(super) fn at_prior(&self) -> Result<Vec<f64>> {
        let mut out = vec![0.0; self.dim()];
        self.value_and_gradient(&vec![0.0; self.dim()], &mut out)?;
        Ok(out)
    }

    /// Draws all variables, and returns their statistics.
    pub(super) fn draw<R: Rng + ?Sized>(
        &self,
        matrix: &[f64],
        rng: &mut R,
        numbers: &mut [f64],
        out: &mut Vec<f64>,
    ) -> Result<()> {
        out.clear();
        out.resize(self.dim(), 0.0);
        for (row, (family, number)) in self.families.iter().zip(numbers).enumerate() {
            // A square of drawn numbers, but for rounding.
            let natural = self.half_square(row, matrix).max(0.0);
            *number = family.sample(&[natural], rng)?;
            self.add_pairs(row, -*number, out);
        }
        Ok(())
    }
}

impl Potential for Squares {
    fn dim(&self) -> usize {
        self.columns * (self.columns + 1) / 2
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        gradient.fill(0.0);
        sum(self.chunks(), &self.buffers, gradient, |rows, out| {
            let (mut value, mut slope) = (0.0, [0.0]);
            for row in rows {
                let natural = [self.half_square(row, at)];
                value += self.families[row].value_and_gradient(&natural, &mut slope)?;
                self.add_pairs(row, slope[0], out);
            }
            Ok(value)
        })
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        out.fill(0.0);
        sum(self.chunks(), &self.buffers, out, |rows, out| {
            let mut change = [0.0];
            for row in rows {
                let natural = [self.half_square(row, at)];
                let along = [self.half_square(row, along)];
                self.families[row].hessian_product(&natural, &along, &mut change)?;
                self.add_pairs(row, change[0], out);
            }
            Ok(0.0)
        })?;
        Ok(())
    }
}
