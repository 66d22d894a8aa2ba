//! Decides how rows of Pólya-Gamma variables are summed, each of which multiplies the square of a predictor.

use std::ops::Range;
use std::sync::Arc;

use rand::Rng;

use super::BLOCK;
use super::triangle::Triangle;
use crate::collapsed::Potential;
use crate::error::Result;
use crate::family::{Family, PolyaGamma};
use crate::kernel::logistic::{add_values, scale, sum_of_products, values_and_means, variances};
use crate::kernel::product::{LANES, alignment, multiply};
use crate::parallel::{Buffers, Chunks, sum};

/// Predictors that a block of rows is read for at a time: with them it stays in a processor's first cache or second.
const AT_ONCE: usize = 40;
/// Parts of a table whose matrices of second derivatives are summed side by side: each has one of its own.
const PARTS: usize = 8;
/// How far a matrix may be from that of one vector, as a fraction of its diagonal: some roundings of its entries.
const RANK_ONE: f64 = 1e-12;

/// The sum over rows of the log-partition functions of ω at $r=\frac12x^\top Mx$, a function of the upper triangle of $M$, row
/// by row (maths §9.10). A pass holds nothing of the size of rows by pairs.
#[derive(Debug)]
pub struct SquareSum {
    columns: usize,
    /// Row by row: tables are large and may be shared, and blocks are turned over as they are read.
    values: Arc<Vec<f64>>,
    shapes: Vec<f64>,
    buffers: Buffers,
}

/// A block of rows, column by column, and room for what is made of it.
struct Block<'a> {
    first: usize,
    x: &'a [f64],
    naturals: &'a mut [f64],
    /// As large as `x` and as `naturals`.
    products: &'a mut [f64],
    room: &'a mut [f64],
}

impl SquareSum {
    /// Over rows of so many numbers each, with the shapes of their variables.
    ///
    /// # Errors
    /// Where a shape is not positive.
    pub fn new(columns: usize, values: Arc<Vec<f64>>, shapes: Vec<f64>) -> Result<Self> {
        for &shape in &shapes {
            PolyaGamma::new(shape)?;
        }
        Ok(Self {
            columns,
            values,
            shapes,
            buffers: Buffers::default(),
        })
    }

    /// How many numbers a row has.
    pub fn columns(&self) -> usize {
        self.columns
    }

    fn chunks(&self) -> Chunks {
        Chunks::new(self.shapes.len(), BLOCK)
    }

    fn shapes_of(&self, block: &Block<'_>) -> &[f64] {
        &self.shapes[block.first..][..block.naturals.len()]
    }

    /// Visits rows, a block at a time.
    fn visit(
        &self,
        rows: Range<usize>,
        mut work: impl FnMut(Block<'_>) -> Result<()>,
    ) -> Result<()> {
        let (columns, size) = (self.columns, self.columns * BLOCK);
        let all = 2 * size + 2 * BLOCK;
        self.buffers.lend(all + LANES, |buffer| {
            let start = alignment(buffer);
            let (x, rest) = buffer[start..start + all].split_at_mut(size);
            let (products, rest) = rest.split_at_mut(size);
            let (naturals, room) = rest.split_at_mut(BLOCK);
            for first in rows.clone().step_by(BLOCK) {
                let width = BLOCK.min(rows.end - first);
                let x = &mut x[..columns * width];
                let table = &self.values[first * columns..(first + width) * columns];
                for (row, numbers) in table.chunks_exact(columns.max(1)).enumerate() {
                    for (column, number) in numbers.iter().enumerate() {
                        x[column * width + row] = *number;
                    }
                }
                work(Block {
                    first,
                    x,
                    naturals: &mut naturals[..width],
                    products: &mut products[..columns * width],
                    room: &mut room[..width],
                })?;
            }
            Ok(())
        })
    }

    /// Writes ½ x'Mx of each row of a block to `out`; `left` is [`Triangle::left`] of M.
    fn half_squares(triangle: Triangle, left: &[f64], block: &mut Block<'_>, changes: bool) {
        let width = block.naturals.len();
        triangle.each(|first, count, entries| {
            let rest = triangle.columns() - first;
            let out = &mut block.products[first * width..(first + count) * width];
            let x = &block.x[first * width..];
            multiply(&left[entries], (count, rest), x, width, out);
        });
        let out = if changes {
            &mut *block.room
        } else {
            &mut *block.naturals
        };
        sum_of_products(block.x, block.products, out);
    }

    /// Whether the functions of many variables at once are for this block: naturals below zero are for the family to take or refuse.
    fn is_plain(block: &Block<'_>) -> bool {
        let inside = |r: &f64| (0.0..f64::INFINITY).contains(r);
        block.naturals.iter().all(inside)
    }

    /// The values of a block; writes the means of statistics over its naturals.
    fn evaluate(&self, block: &mut Block<'_>) -> Result<f64> {
        let shapes = self.shapes_of(block);
        if Self::is_plain(block) {
            return Ok(values_and_means(block.naturals, shapes, block.room));
        }
        let (mut value, mut mean) = (0.0, [0.0]);
        for (natural, &shape) in block.naturals.iter_mut().zip(shapes) {
            let family = PolyaGamma::new(shape)?;
            value += family.value_and_gradient(&[*natural], &mut mean)?;
            *natural = mean[0];
        }
        Ok(value)
    }

    /// Writes the variances of a block over its naturals.
    fn vary(&self, block: &mut Block<'_>) -> Result<()> {
        let shapes = self.shapes_of(block);
        if Self::is_plain(block) {
            variances(block.naturals, shapes);
            return Ok(());
        }
        for (natural, &shape) in block.naturals.iter_mut().zip(shapes) {
            let family = PolyaGamma::new(shape)?;
            *natural = family.mean_and_variance(&[*natural])?.1;
        }
        Ok(())
    }

    /// Sums over rows: `weigh` writes, over the naturals of a block, by what the gradients of ½ x'Mx are multiplied, and returns a value.
    fn weighted_pairs(
        &self,
        rows: Range<usize>,
        out: &mut [f64],
        mut weigh: impl FnMut(&Triangle, &mut Block<'_>) -> Result<f64>,
    ) -> Result<f64> {
        let triangle = Triangle::new(self.columns);
        let mut value = 0.0;
        self.buffers.lend(triangle.lanes() + LANES, |lanes| {
            let start = alignment(lanes);
            let lanes = &mut lanes[start..start + triangle.lanes()];
            self.visit(rows, |mut block| {
                value += weigh(&triangle, &mut block)?;
                scale(block.x, block.naturals, block.products);
                triangle.accumulate(block.products, block.x, lanes);
                Ok(())
            })?;
            triangle.gather(lanes, |place, diagonal, sum| {
                out[place] += if diagonal { 0.5 * sum } else { sum };
            });
            Ok(value)
        })
    }

    /// Draws all variables, and returns their statistics.
    ///
    /// # Errors
    /// Outside the domain.
    pub fn draw<R: Rng + ?Sized>(
        &self,
        matrix: &[f64],
        rng: &mut R,
        numbers: &mut [f64],
        out: &mut Vec<f64>,
    ) -> Result<()> {
        out.clear();
        out.resize(self.dim(), 0.0);
        let left = Triangle::new(self.columns).left(matrix);
        self.weighted_pairs(0..self.shapes.len(), out, |triangle, block| {
            Self::half_squares(*triangle, &left, block, false);
            let numbers = &mut numbers[block.first..];
            for (row, (natural, number)) in block.naturals.iter_mut().zip(numbers).enumerate() {
                let family = PolyaGamma::new(self.shapes[block.first + row])?;
                // A square of drawn numbers, but for rounding.
                *number = family.sample(&[natural.max(0.0)], rng)?;
                *natural = -*number;
            }
            Ok(0.0)
        })?;
        Ok(())
    }

    /// The values at several matrices. Those of one vector each, as draws have, are taken together: a row is then read once
    /// for many of them, and has a predictor for each in the place of a form.
    pub fn values(&self, matrices: &[Vec<f64>]) -> Vec<Result<f64>> {
        let triangle = Triangle::new(self.columns);
        let vectors: Vec<Option<Vec<f64>>> = (matrices.iter())
            .map(|matrix| triangle.vector_of(matrix, RANK_ONE))
            .collect();
        let left: Vec<&Vec<f64>> = vectors.iter().flatten().collect();
        let mut together = Vec::with_capacity(left.len());
        for some in left.chunks(AT_ONCE) {
            together.extend(self.values_of_vectors(some));
        }
        let mut together = together.into_iter();
        let each = matrices.iter().zip(&vectors);
        each.map(|(matrix, vector)| match vector {
            Some(_) => Ok(together.next().unwrap_or(f64::NAN)),
            None => self.value_and_gradient(matrix, &mut vec![0.0; matrix.len()]),
        })
        .collect()
    }

    fn values_of_vectors(&self, vectors: &[&Vec<f64>]) -> Vec<f64> {
        let (columns, count) = (self.columns, vectors.len());
        let left: Vec<f64> = vectors
            .iter()
            .flat_map(|vector| vector.iter().copied())
            .collect();
        let mut out = vec![0.0; count];
        let summed = sum(self.chunks(), &self.buffers, &mut out, |rows, out| {
            self.buffers.lend(count * BLOCK + LANES, |predictors| {
                let start = alignment(predictors);
                self.visit(rows, |block| {
                    let width = block.naturals.len();
                    let predictors = &mut predictors[start..start + count * width];
                    multiply(&left, (count, columns), block.x, width, predictors);
                    add_values(predictors, self.shapes_of(&block), out);
                    Ok(())
                })?;
                Ok(0.0)
            })
        });
        debug_assert!(summed.is_ok(), "predictors are in the domain");
        out
    }

    /// Adds the whole matrix of second derivatives, a function of the upper triangle of M, to `out`, which holds both of its halves.
    ///
    /// # Errors
    /// Outside the domain.
    pub fn add_hessian(&self, matrix: &[f64], out: &mut [f64]) -> Result<()> {
        let (own, pairs) = (Triangle::new(self.columns), Triangle::new(self.dim()));
        let left = own.left(matrix);
        let rows = self.shapes.len();
        // Few parts, as each has a matrix of its own.
        let chunks = Chunks::new(rows, rows.div_ceil(PARTS).next_multiple_of(BLOCK));
        let mut upper = vec![0.0; pairs.len()];
        sum(chunks, &self.buffers, &mut upper, |rows, out| {
            let room = 2 * pairs.columns() * BLOCK;
            self.buffers.lend(pairs.lanes() + room + LANES, |buffer| {
                let start = alignment(buffer);
                let (lanes, room) = buffer[start..].split_at_mut(pairs.lanes());
                self.visit(rows, |mut block| {
                    Self::half_squares(own, &left, &mut block, false);
                    self.vary(&mut block)?;
                    let width = block.naturals.len();
                    let size = pairs.columns() * width;
                    let (features, rest) = room.split_at_mut(size);
                    let weighted = &mut rest[..size];
                    own.pairs(block.x, width, features);
                    scale(features, block.naturals, weighted);
                    pairs.accumulate(weighted, features, lanes);
                    Ok(())
                })?;
                pairs.gather(lanes, |place, _, sum| out[place] += sum);
                Ok(0.0)
            })
        })?;
        pairs.each_entry(|row, column, place| {
            out[row * pairs.columns() + column] += upper[place];
            if row != column {
                out[column * pairs.columns() + row] += upper[place];
            }
        });
        Ok(())
    }
}

impl Potential for SquareSum {
    fn dim(&self) -> usize {
        self.columns * (self.columns + 1) / 2
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        gradient.fill(0.0);
        let left = Triangle::new(self.columns).left(at);
        sum(self.chunks(), &self.buffers, gradient, |rows, out| {
            self.weighted_pairs(rows, out, |triangle, block| {
                Self::half_squares(*triangle, &left, block, false);
                self.evaluate(block)
            })
        })
    }

    fn value(&self, at: &[f64]) -> Result<f64> {
        let mut values = self.values(&[at.to_vec()]);
        values.pop().unwrap_or(Ok(0.0))
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        out.fill(0.0);
        let triangle = Triangle::new(self.columns);
        let (left, changes) = (triangle.left(at), triangle.left(along));
        sum(self.chunks(), &self.buffers, out, |rows, out| {
            self.weighted_pairs(rows, out, |triangle, block| {
                Self::half_squares(*triangle, &left, block, false);
                self.vary(block)?;
                Self::half_squares(*triangle, &changes, block, true);
                for (natural, change) in block.naturals.iter_mut().zip(&*block.room) {
                    *natural *= change;
                }
                Ok(0.0)
            })
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
