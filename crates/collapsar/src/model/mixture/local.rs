//! The sum over the data: logits, softmax and statistics of a block of rows at a time.
//!
//! `matrixmultiply` carries the two products: it picks its kernel for the processor at run time,
//! takes any strides, so that features stay in the layout that they are made in, and builds in
//! seconds. faer's `gemm` was no faster on these narrow shapes and would be the larger dependency.

use matrixmultiply::dgemm;

use super::features::{BLOCK, Blocks, Covariance};
use crate::collapsed::Potential;
use crate::error::{Error, Result};
use crate::kernel::{softmax_columns, softmax_jacobian_columns};
use crate::parallel::{Buffers, Chunks, sum};

/// $A(m) = \sum_n \ln \sum_k \exp \langle m_k, \psi(y_n) \rangle$ (maths §4.1).
#[derive(Debug)]
pub struct Local {
    pub(crate) data: Blocks,
    pub(crate) covariance: Covariance,
    pub(crate) components: usize,
    buffers: Buffers,
}

/// What a block of rows needs, in one buffer.
struct Scratch<'a> {
    features: &'a mut [f64],
    logits: &'a mut [f64],
    highest: &'a mut [f64],
    total: &'a mut [f64],
}

impl Local {
    pub(crate) fn new(data: Blocks, covariance: Covariance, components: usize) -> Self {
        Self {
            data,
            covariance,
            components,
            buffers: Buffers::default(),
        }
    }

    /// Features of a datum.
    pub(crate) fn features(&self) -> usize {
        self.covariance.features(self.data.columns)
    }

    fn chunks(&self) -> Chunks {
        Chunks::new(self.data.rows, BLOCK)
    }

    fn with_scratch<T>(&self, work: impl FnOnce(Scratch<'_>) -> T) -> T {
        let (features, logits) = (self.features() * BLOCK, self.components * BLOCK);
        self.buffers.lend(features + logits + 2 * BLOCK, |buffer| {
            let (features, rest) = buffer.split_at_mut(features);
            let (logits, rest) = rest.split_at_mut(logits);
            let (highest, total) = rest.split_at_mut(BLOCK);
            work(Scratch {
                features,
                logits,
                highest,
                total,
            })
        })
    }

    /// Visits the blocks of `rows` with their features and responsibilities, components by rows.
    ///
    /// Returns the sum of the log-normalisers.
    fn visit(
        &self,
        messages: &[f64],
        rows: std::ops::Range<usize>,
        mut block: impl FnMut(usize, usize, &[f64], &mut [f64]),
    ) -> Result<f64> {
        let (k, p) = (self.components, self.features());
        self.with_scratch(|scratch| {
            let mut value = 0.0;
            for (first, width, data) in self.data.within(rows) {
                let features = &mut scratch.features[..p * width];
                let logits = &mut scratch.logits[..k * width];
                self.covariance.expand(data, width, features);
                multiply(messages, (k, p), features, width, logits);
                let part = softmax_columns(logits, width, scratch.highest, scratch.total);
                if !part.is_finite() {
                    let (row, found) = (0..width)
                        .map(|i| (first + i, scratch.highest[i] + scratch.total[i].ln()))
                        .find(|(_, value)| !value.is_finite())
                        .unwrap_or((first, part));
                    return Err(Error::Datum { row, found });
                }
                value += part;
                block(first, width, features, logits);
            }
            Ok(value)
        })
    }

    /// Hands `visitor` the responsibilities of each block, components by rows, with its first row and width.
    pub(crate) fn responsibilities(
        &self,
        messages: &[f64],
        mut visitor: impl FnMut(usize, usize, &[f64]),
    ) -> Result<()> {
        self.visit(messages, 0..self.data.rows, |first, width, _, r| {
            visitor(first, width, r)
        })?;
        Ok(())
    }

    /// Statistics of responsibilities that `fill` writes for each block, components by rows.
    pub(crate) fn statistics_of(
        &self,
        fill: impl Fn(usize, usize, &mut [f64]) + Sync,
    ) -> Result<Vec<f64>> {
        let (k, p) = (self.components, self.features());
        let mut statistics = vec![0.0; k * p];
        sum(
            self.chunks(),
            &self.buffers,
            &mut statistics,
            |rows, partial| {
                self.with_scratch(|scratch| {
                    for (first, width, data) in self.data.within(rows) {
                        let features = &mut scratch.features[..p * width];
                        let responsibilities = &mut scratch.logits[..k * width];
                        self.covariance.expand(data, width, features);
                        fill(first, width, responsibilities);
                        accumulate(responsibilities, features, (k, p), width, partial);
                    }
                    Ok(0.0)
                })
            },
        )?;
        Ok(statistics)
    }
}

impl Potential for Local {
    fn dim(&self) -> usize {
        self.components * self.features()
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let shape = (self.components, self.features());
        gradient.fill(0.0);
        sum(self.chunks(), &self.buffers, gradient, |rows, partial| {
            self.visit(at, rows, |_, width, features, responsibilities| {
                accumulate(responsibilities, features, shape, width, partial);
            })
        })
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        let (k, p) = (self.components, self.features());
        out.fill(0.0);
        sum(self.chunks(), &self.buffers, out, |rows, partial| {
            self.buffers.lend((k + 1) * BLOCK, |scratch| {
                let (changes, mean) = scratch.split_at_mut(k * BLOCK);
                self.visit(at, rows, |_, width, features, responsibilities| {
                    let changes = &mut changes[..k * width];
                    multiply(along, (k, p), features, width, changes);
                    softmax_jacobian_columns(responsibilities, changes, width, mean);
                    accumulate(changes, features, (k, p), width, partial);
                })
            })
        })?;
        Ok(())
    }
}

/// `out` (k by width) ← `messages` (k by p) times `features` (p by width).
#[allow(unsafe_code)] // the crate's only way in; the asserts are its contract
fn multiply(
    messages: &[f64],
    (k, p): (usize, usize),
    features: &[f64],
    width: usize,
    out: &mut [f64],
) {
    assert!(messages.len() == k * p && features.len() == p * width && out.len() == k * width);
    let (row, wide) = (p as isize, width as isize);
    // SAFETY: the three slices have the sizes that the strides below walk over, checked above.
    unsafe {
        dgemm(
            k,
            p,
            width,
            1.0,
            messages.as_ptr(),
            row,
            1,
            features.as_ptr(),
            wide,
            1,
            0.0,
            out.as_mut_ptr(),
            wide,
            1,
        );
    }
}

/// `out` (k by p) += `weights` (k by width) times `features` (p by width) transposed.
#[allow(unsafe_code)] // as above
fn accumulate(
    weights: &[f64],
    features: &[f64],
    (k, p): (usize, usize),
    width: usize,
    out: &mut [f64],
) {
    assert!(weights.len() == k * width && features.len() == p * width && out.len() == k * p);
    let (row, wide) = (p as isize, width as isize);
    // SAFETY: as in `multiply`.
    unsafe {
        dgemm(
            k,
            width,
            p,
            1.0,
            weights.as_ptr(),
            wide,
            1,
            features.as_ptr(),
            1,
            wide,
            1.0,
            out.as_mut_ptr(),
            row,
            1,
        );
    }
}
