//! A sum over rows: logits, softmax and statistics of a block of rows at a time.

use rand::Rng;

use super::{BLOCK, Features, Rows};
use crate::collapsed::Potential;
use crate::error::{Error, Result};
use crate::family::pick;
use crate::kernel::product::{LANES, accumulate, alignment, gather, multiply};
use crate::kernel::{softmax_columns, softmax_jacobian_columns};
use crate::parallel::{Buffers, Chunks, sum};

/// $A(m) = \sum_n \ln \sum_k \exp \langle m_k, \psi(y_n) \rangle$ (maths §4.1).
#[derive(Debug)]
pub struct SoftmaxSum {
    rows: Rows,
    features: Features,
    components: usize,
    pub(super) buffers: Buffers,
}

impl SoftmaxSum {
    /// The sum over `rows` with so many components.
    pub fn new(rows: Rows, features: Features, components: usize) -> Self {
        Self {
            rows,
            features,
            components,
            buffers: Buffers::default(),
        }
    }

    /// The rows.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// How many components there are.
    pub fn components(&self) -> usize {
        self.components
    }

    /// How many features a row has.
    pub fn features(&self) -> usize {
        self.features.count(self.rows.columns)
    }

    /// Which functions of a row its features are.
    pub(super) fn kind(&self) -> Features {
        self.features
    }

    fn chunks(&self) -> Chunks {
        Chunks::new(self.rows.len(), BLOCK)
    }

    /// Lends `work` what a block of rows needs: features, logits, their highest and total for each row.
    fn with_scratch<T>(&self, work: impl FnOnce([&mut [f64]; 4]) -> T) -> T {
        let (features, logits) = (self.features() * BLOCK, self.components * BLOCK);
        let all = features + logits + 2 * BLOCK;
        self.buffers.lend(all + LANES, |buffer| {
            let start = alignment(buffer);
            let buffer = &mut buffer[start..start + all];
            let (features, rest) = buffer.split_at_mut(features);
            let (logits, rest) = rest.split_at_mut(logits);
            let (highest, total) = rest.split_at_mut(BLOCK);
            work([features, logits, highest, total])
        })
    }

    /// Lends `work` the sums of statistics, a lane each, and gathers them into `partial`.
    fn with_lanes<T>(
        &self,
        partial: &mut [f64],
        work: impl FnOnce(&mut [f64]) -> Result<T>,
    ) -> Result<T> {
        let all = partial.len() * LANES;
        self.buffers.lend(all + LANES, |buffer| {
            let start = alignment(buffer);
            let lanes = &mut buffer[start..start + all];
            let result = work(lanes)?;
            gather(lanes, partial);
            Ok(result)
        })
    }

    /// Visits the blocks of `rows` with their features and responsibilities, components by rows.
    ///
    /// Returns the sum of the log-normalisers.
    pub(super) fn visit(
        &self,
        messages: &[f64],
        rows: std::ops::Range<usize>,
        mut block: impl FnMut(usize, usize, &[f64], &mut [f64]),
    ) -> Result<f64> {
        let (k, p) = (self.components, self.features());
        self.with_scratch(|[features, logits, highest, total]| {
            let mut value = 0.0;
            for (first, width, data) in self.rows.within(rows) {
                let features = &mut features[..p * width];
                let logits = &mut logits[..k * width];
                self.features.expand(data, width, features);
                multiply(messages, (k, p), features, width, logits);
                let part = softmax_columns(logits, width, highest, total);
                if !part.is_finite() {
                    let (row, found) = (0..width)
                        .map(|i| (first + i, highest[i] + total[i].ln()))
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
    pub fn responsibilities(
        &self,
        messages: &[f64],
        mut visitor: impl FnMut(usize, usize, &[f64]),
    ) -> Result<()> {
        self.visit(messages, 0..self.rows.len(), |first, width, _, r| {
            visitor(first, width, r);
        })?;
        Ok(())
    }

    /// Draws a component of each row, counted from 0; returns the statistics of these.
    pub fn draw<R: Rng + ?Sized>(
        &self,
        messages: &[f64],
        rng: &mut R,
        labels: &mut [f64],
    ) -> Result<Vec<f64>> {
        let shape = (self.components, self.features());
        let mut statistics = vec![0.0; shape.0 * shape.1];
        let mut row = vec![0.0; shape.0];
        self.with_lanes(&mut statistics, |lanes| {
            self.visit(
                messages,
                0..self.rows.len(),
                |first, width, features, all| {
                    for column in 0..width {
                        for (component, weight) in row.iter_mut().enumerate() {
                            *weight = std::mem::take(&mut all[component * width + column]);
                        }
                        let chosen = pick(&row, 1.0, rng);
                        all[chosen * width + column] = 1.0;
                        labels[first + column] = chosen as f64;
                    }
                    accumulate(all, features, shape, width, lanes);
                },
            )
        })?;
        Ok(statistics)
    }

    /// Statistics of responsibilities that `fill` writes for each block, components by rows.
    pub fn statistics_of(
        &self,
        fill: impl Fn(usize, usize, &mut [f64]) + Sync,
    ) -> Result<Vec<f64>> {
        let (k, p) = (self.components, self.features());
        let mut statistics = vec![0.0; k * p];
        let (chunks, out) = (self.chunks(), &mut statistics);
        sum(chunks, &self.buffers, out, |rows, partial| {
            self.with_lanes(partial, |lanes| {
                self.with_scratch(|[features, responsibilities, ..]| {
                    for (first, width, data) in self.rows.within(rows) {
                        let features = &mut features[..p * width];
                        let responsibilities = &mut responsibilities[..k * width];
                        self.features.expand(data, width, features);
                        fill(first, width, responsibilities);
                        accumulate(responsibilities, features, (k, p), width, lanes);
                    }
                    Ok(0.0)
                })
            })
        })?;
        Ok(statistics)
    }
}

impl Potential for SoftmaxSum {
    fn dim(&self) -> usize {
        self.components * self.features()
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let shape = (self.components, self.features());
        gradient.fill(0.0);
        sum(self.chunks(), &self.buffers, gradient, |rows, partial| {
            self.with_lanes(partial, |lanes| {
                self.visit(at, rows, |_, width, features, responsibilities| {
                    accumulate(responsibilities, features, shape, width, lanes);
                })
            })
        })
    }

    fn value(&self, at: &[f64]) -> Result<f64> {
        // A vector of one number in the place of statistics.
        sum(self.chunks(), &self.buffers, &mut [0.0], |rows, _| {
            self.visit(at, rows, |_, _, _, _| ())
        })
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        let (k, p) = (self.components, self.features());
        out.fill(0.0);
        sum(self.chunks(), &self.buffers, out, |rows, partial| {
            self.buffers.lend((k + 1) * BLOCK, |scratch| {
                let (changes, mean) = scratch.split_at_mut(k * BLOCK);
                self.with_lanes(partial, |lanes| {
                    self.visit(at, rows, |_, width, features, responsibilities| {
                        let changes = &mut changes[..k * width];
                        multiply(along, (k, p), features, width, changes);
                        softmax_jacobian_columns(responsibilities, changes, width, mean);
                        accumulate(changes, features, (k, p), width, lanes);
                    })
                })
            })
        })?;
        Ok(())
    }
}
