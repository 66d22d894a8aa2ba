//! A sum over rows: logits, softmax and statistics of a block of rows at a time.

use crate::random::{Binomial, Distribution};
use rand::Rng;

use super::gaps::{Gaps, Table};
use super::known::Known;
use super::{BLOCK, Features, Rows};
use crate::collapsed::Potential;
use crate::elementary::Elementary;
use crate::error::{Error, Result};
use crate::family::pick;
use crate::kernel::product::{LANES, accumulate, alignment, gather, multiply};
use crate::kernel::{softmax_columns, softmax_jacobian_columns};
use crate::number::Dual;
use crate::parallel::{Buffers, Chunks, sum};

/// $A(m) = \sum_n w_n \ln \sum_k \exp \langle m_k, \psi(y_n) \rangle$ (maths §4.1), all $w_n$ one unless weights are given.
#[derive(Debug)]
pub struct SoftmaxSum {
    rows: Rows,
    weights: Option<Vec<f64>>,
    features: Features,
    components: usize,
    /// What rows miss, where their order is that of what they miss.
    gaps: Option<Gaps>,
    /// Whose component is known, where some are.
    known: Option<Known>,
    pub(super) buffers: Buffers,
}

impl SoftmaxSum {
    /// The sum over `rows` with so many components.
    pub fn new(rows: Rows, features: Features, components: usize) -> Self {
        Self {
            rows,
            weights: None,
            features,
            components,
            gaps: None,
            known: None,
            buffers: Buffers::default(),
        }
    }

    /// The sum over rows some of whose numbers are missing, and integrated out given the component (maths §4.7):
    /// NaN in row-major `values`, which are mapped as [`Rows::new`] maps them. Features are full, or linear, where
    /// the messages about products, the same for all components, come after all others. Rows are kept in the order
    /// of what they miss: [`SoftmaxSum::row_of`] says which is which.
    ///
    /// # Panics
    /// Where features are others.
    pub fn with_gaps(
        values: &[f64],
        (shift, scale): (&[f64], &[f64]),
        features: Features,
        components: usize,
    ) -> Self {
        assert!(matches!(features, Features::Full | Features::Linear));
        let columns = shift.len();
        let shared = features == Features::Linear;
        let gaps = Gaps::find(values, columns, components, shared);
        let rows = Rows::new(&gaps.sorted(values), columns, shift, scale);
        Self {
            gaps: Some(gaps),
            ..Self::new(rows, features, components)
        }
    }

    /// The same with a weight for each row of the data: how often it is there.
    #[must_use]
    pub fn weighted(mut self, weights: Option<Vec<f64>>) -> Self {
        self.weights = match &self.gaps {
            Some(gaps) => weights.map(|weights| gaps.sorted(&weights)),
            None => weights,
        };
        self
    }

    /// The same where the components of some rows of the data are known: in place of the log of a sum, such a row has
    /// the one logit (maths §4.8).
    #[must_use]
    pub fn with_known(mut self, labels: Option<&[Option<usize>]>) -> Self {
        let sorted = labels.map(|labels| {
            let places = 0..self.rows.len();
            Known::new(places.map(|place| labels[self.row_of(place)]))
        });
        self.known = sorted;
        self
    }

    /// The component of the row that is kept at `place`, where it is known.
    pub fn known(&self, place: usize) -> Option<usize> {
        self.known.as_ref().and_then(|known| known.of(place))
    }

    /// The row of the data that is kept as row `place`.
    pub fn row_of(&self, place: usize) -> usize {
        self.gaps.as_ref().map_or(place, |gaps| gaps.row(place))
    }

    /// Whether rows have gaps that are integrated out.
    pub fn has_gaps(&self) -> bool {
        self.gaps.is_some()
    }

    /// What rows miss, and the rows.
    fn gaps(&self) -> Option<(&Gaps, Table<'_>)> {
        let table = Table {
            rows: &self.rows,
            weights: self.weights.as_deref(),
            known: self.known.as_ref(),
        };
        self.gaps.as_ref().map(|gaps| (gaps, table))
    }

    /// The weights of the rows, where they are given.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// The weight of a row.
    pub(super) fn weight(&self, row: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[row])
    }

    /// Multiplies numbers of a block, components by rows, with the weights of its rows.
    fn weigh(&self, first: usize, width: usize, block: &mut [f64]) {
        let Some(weights) = &self.weights else { return };
        let weights = &weights[first..first + width];
        for line in block.chunks_exact_mut(width) {
            for (x, weight) in line.iter_mut().zip(weights) {
                *x *= weight;
            }
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
        if let Some((gaps, table)) = self.gaps() {
            return gaps.visit(table, messages, &rows, block);
        }
        let (k, p) = (self.components, self.features());
        self.with_scratch(|[features, logits, highest, total]| {
            let mut value = 0.0;
            for (first, width, data) in self.rows.within(rows) {
                let features = &mut features[..p * width];
                let logits = &mut logits[..k * width];
                self.features.expand(data, width, features);
                multiply(messages, (k, p), features, width, logits);
                if let Some(known) = &self.known {
                    known.restrict(first, width, logits);
                }
                let part = softmax_columns(logits, width, highest, total);
                if !part.is_finite() {
                    let (row, found) = (0..width)
                        .map(|i| (first + i, highest[i] + total[i].ln_()))
                        .find(|(_, value)| !value.is_finite())
                        .unwrap_or((first, part));
                    return Err(Error::Datum { row, found });
                }
                value += match &self.weights {
                    None => part,
                    Some(weights) => {
                        let each = highest
                            .iter()
                            .zip(&*total)
                            .zip(&weights[first..first + width]);
                        each.map(|((high, total), weight)| weight * (high + total.ln_()))
                            .sum::<f64>()
                    }
                };
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

    /// Draws a component of each row, counted from 0; returns the statistics of these. A row of another weight than
    /// one, a whole number, is drawn so often, and its label stays as it is.
    pub fn draw<R: Rng + ?Sized>(
        &self,
        messages: &[f64],
        rng: &mut R,
        labels: &mut [f64],
    ) -> Result<Vec<f64>> {
        let shape = (self.components, self.features());
        let mut statistics = vec![0.0; self.dim()];
        if let Some((gaps, table)) = self.gaps() {
            gaps.draw(table, messages, rng, labels, &mut statistics)?;
            return Ok(statistics);
        }
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
                        let weight = self.weight(first + column);
                        if weight == 1.0 {
                            let chosen = pick(&row, 1.0, rng);
                            all[chosen * width + column] = 1.0;
                            labels[first + column] = chosen as f64;
                        } else {
                            let each = multinomial(weight as u64, &row, rng);
                            for (component, count) in each.into_iter().enumerate() {
                                all[component * width + column] = count as f64;
                            }
                        }
                    }
                    accumulate(all, features, shape, width, lanes);
                },
            )
        })?;
        Ok(statistics)
    }

    /// Statistics of responsibilities that `fill` writes for each block, components by rows; those of rows whose
    /// component is known are one there.
    pub fn statistics_of(
        &self,
        fill: impl Fn(usize, usize, &mut [f64]) + Sync,
    ) -> Result<Vec<f64>> {
        let (k, p) = (self.components, self.features());
        let fill = |first: usize, width: usize, block: &mut [f64]| {
            fill(first, width, block);
            if let Some(known) = &self.known {
                known.settle(first, width, block);
            }
        };
        let mut statistics = vec![0.0; self.dim()];
        let (chunks, out) = (self.chunks(), &mut statistics);
        if let Some((gaps, table)) = self.gaps() {
            let messages = gaps.alone(&self.moments_of(&fill)?);
            sum(chunks, &self.buffers, out, |rows, partial| {
                gaps.statistics(table, &messages, &rows, &fill, partial)?;
                Ok(0.0)
            })?;
            return Ok(statistics);
        }
        sum(chunks, &self.buffers, out, |rows, partial| {
            self.with_lanes(partial, |lanes| {
                self.with_scratch(|[features, responsibilities, ..]| {
                    for (first, width, data) in self.rows.within(rows) {
                        let features = &mut features[..p * width];
                        let responsibilities = &mut responsibilities[..k * width];
                        self.features.expand(data, width, features);
                        fill(first, width, responsibilities);
                        self.weigh(first, width, responsibilities);
                        accumulate(responsibilities, features, (k, p), width, lanes);
                    }
                    Ok(0.0)
                })
            })
        })?;
        Ok(statistics)
    }

    /// Count, sum and sum of squares of the numbers that are there, of each component's columns, under
    /// responsibilities that `fill` writes.
    fn moments_of(&self, fill: &(impl Fn(usize, usize, &mut [f64]) + Sync)) -> Result<Vec<f64>> {
        let (k, columns) = (self.components, self.rows.columns);
        let mut moments = vec![0.0; 3 * k * columns];
        let out = &mut moments;
        sum(self.chunks(), &self.buffers, out, |rows, partial| {
            let mut responsibilities = vec![0.0; k * BLOCK];
            for (first, width, data) in self.rows.within(rows) {
                let responsibilities = &mut responsibilities[..k * width];
                fill(first, width, responsibilities);
                self.weigh(first, width, responsibilities);
                let of = responsibilities.chunks_exact(width);
                for (partial, r) in partial.chunks_exact_mut(3 * columns).zip(of) {
                    for (sums, x) in partial.chunks_exact_mut(3).zip(data.chunks_exact(width)) {
                        for (r, x) in r.iter().zip(x).filter(|(_, x)| !x.is_nan()) {
                            sums[0] += r;
                            sums[1] += r * x;
                            sums[2] += r * x * x;
                        }
                    }
                }
            }
            Ok(0.0)
        })?;
        Ok(moments)
    }
}

/// How many of `count` draws each of several is, by their probabilities.
fn multinomial<R: Rng + ?Sized>(count: u64, probabilities: &[f64], rng: &mut R) -> Vec<u64> {
    let (mut left, mut rest) = (count, 1.0);
    let last = probabilities.iter().rposition(|p| *p > 0.0);
    let each = probabilities.iter().enumerate().map(|(index, p)| {
        let share = if Some(index) == last { 1.0 } else { p / rest };
        let drawn = match Binomial::new(left, share.clamp(0.0, 1.0)) {
            Ok(binomial) => binomial.sample(rng).min(left),
            Err(_) => 0,
        };
        left -= drawn;
        rest -= p;
        drawn
    });
    each.collect()
}

impl Potential for SoftmaxSum {
    fn dim(&self) -> usize {
        let shared = self.gaps.as_ref().map_or(0, Gaps::shared);
        self.components * self.features() + shared
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let shape = (self.components, self.features());
        gradient.fill(0.0);
        if let Some((gaps, table)) = self.gaps() {
            return sum(self.chunks(), &self.buffers, gradient, |rows, partial| {
                gaps.value(table, at, &rows, Some(partial))
            });
        }
        sum(self.chunks(), &self.buffers, gradient, |rows, partial| {
            self.with_lanes(partial, |lanes| {
                self.visit(at, rows, |first, width, features, responsibilities| {
                    self.weigh(first, width, responsibilities);
                    accumulate(responsibilities, features, shape, width, lanes);
                })
            })
        })
    }

    fn value(&self, at: &[f64]) -> Result<f64> {
        // A vector of one number in the place of statistics.
        if let Some((gaps, table)) = self.gaps() {
            return sum(self.chunks(), &self.buffers, &mut [0.0], |rows, _| {
                gaps.value(table, at, &rows, None)
            });
        }
        sum(self.chunks(), &self.buffers, &mut [0.0], |rows, _| {
            self.visit(at, rows, |_, _, _, _| ())
        })
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        let (k, p) = (self.components, self.features());
        out.fill(0.0);
        if let Some((gaps, table)) = self.gaps() {
            let pairs = at.iter().zip(along);
            let at: Vec<Dual> = pairs.map(|(v, s)| Dual::new(*v, *s)).collect();
            sum(self.chunks(), &self.buffers, out, |rows, partial| {
                gaps.hessian_product(table, &at, &rows, partial)?;
                Ok(0.0)
            })?;
            return Ok(());
        }
        sum(self.chunks(), &self.buffers, out, |rows, partial| {
            self.buffers.lend((k + 1) * BLOCK, |scratch| {
                let (changes, mean) = scratch.split_at_mut(k * BLOCK);
                self.with_lanes(partial, |lanes| {
                    self.visit(at, rows, |first, width, features, responsibilities| {
                        let changes = &mut changes[..k * width];
                        multiply(along, (k, p), features, width, changes);
                        softmax_jacobian_columns(responsibilities, changes, width, mean);
                        self.weigh(first, width, changes);
                        accumulate(changes, features, (k, p), width, lanes);
                    })
                })
            })
        })?;
        Ok(())
    }
}
