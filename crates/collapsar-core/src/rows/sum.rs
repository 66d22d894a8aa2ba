//! A sum over rows: logits, softmax and statistics of a block of rows at a time.

use std::ops::Range;

use crate::random::{Binomial, Distribution};
use rand::Rng;

use super::gaps::{Gaps, Table};
use super::known::Known;
use super::levels::Levels;
use super::{BLOCK, Block, Features, LevelColumn, LevelPlaces, Mapped, Rows, Stored};
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
    /// Which levels rows have, beside their numbers.
    levels: Option<Levels>,
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
            levels: None,
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

    /// The same of rows that have levels beside their numbers: given the component, a level adds its message to the logit, and one
    /// that is missing adds nothing (maths §4.10). Messages about levels come after all others: [`SoftmaxSum::level_places`].
    #[must_use]
    pub fn with_levels(mut self, columns: &[LevelColumn]) -> Self {
        if columns.is_empty() {
            return self;
        }
        let sorted = columns.iter().map(|column| LevelColumn {
            levels: column.levels,
            codes: (0..self.rows.len())
                .map(|place| column.codes[self.row_of(place)])
                .collect(),
        });
        self.levels = Some(Levels::new(sorted.collect(), self.numeric()));
        self
    }

    /// Where the messages about levels are, if there are any.
    pub fn level_places(&self) -> LevelPlaces {
        let places = self.levels.as_ref().map(Levels::places);
        places.cloned().unwrap_or_default()
    }

    /// The columns of levels, in the order in which rows are kept.
    pub fn levels(&self) -> &[LevelColumn] {
        self.levels.as_ref().map_or(&[], Levels::columns)
    }

    /// How many messages are not about levels.
    fn numeric(&self) -> usize {
        let shared = self.gaps.as_ref().map_or(0, Gaps::shared);
        self.components * self.features() + shared
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
            levels: self.levels.as_ref(),
        };
        self.gaps.as_ref().map(|gaps| (gaps, table))
    }

    /// The weights of rows in memory, where they are given; a file has its own.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// Whether rows have weights.
    pub fn is_weighted(&self) -> bool {
        let stored = self.rows.file().map(Mapped::stored);
        self.weights.is_some() || stored.is_some_and(Stored::is_weighted)
    }

    /// The sum of all weights, in the order of the rows: how many there are in effect.
    ///
    /// # Errors
    /// Where a file cannot be read.
    pub fn total(&self) -> Result<f64> {
        if let Some(weights) = &self.weights {
            return Ok(weights.iter().sum());
        }
        if !self.is_weighted() {
            return Ok(self.rows.len() as f64);
        }
        let mut total = 0.0;
        self.each(0..self.rows.len(), |block| {
            for weight in block.weights.into_iter().flatten() {
                total += weight;
            }
            Ok(())
        })?;
        Ok(total)
    }

    /// Visits the blocks of `rows`, which begin at a block, with their weights.
    ///
    /// # Errors
    /// As [`Rows::each`].
    pub fn each(
        &self,
        rows: Range<usize>,
        visit: impl FnMut(Block<'_>) -> Result<()>,
    ) -> Result<()> {
        self.rows.each(rows, self.weights.as_deref(), visit)
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
        rows: Range<usize>,
        mut visit: impl FnMut(Block<'_>, &[f64], &mut [f64]),
    ) -> Result<f64> {
        if let Some((gaps, table)) = self.gaps() {
            // There the numbers of a row are not all that is known of it.
            return gaps.visit(table, messages, &rows, |first, width, features, all| {
                let weights = self.weights.as_ref();
                let block = Block {
                    first,
                    width,
                    values: &[],
                    weights: weights.map(|weights| &weights[first..first + width]),
                };
                visit(block, features, all);
            });
        }
        let (k, p) = (self.components, self.features());
        self.with_scratch(|[features, logits, highest, total]| {
            let mut value = 0.0;
            self.each(rows, |block| {
                let (first, width) = (block.first, block.width);
                let features = &mut features[..p * width];
                let logits = &mut logits[..k * width];
                self.features.expand(block.values, width, features);
                multiply(&messages[..k * p], (k, p), features, width, logits);
                if let Some(levels) = &self.levels {
                    levels.add(&messages[k * p..], first, width, logits);
                }
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
                value += match block.weights {
                    None => part,
                    Some(weights) => {
                        let each = highest.iter().zip(&*total).zip(weights);
                        each.map(|((high, total), weight)| weight * (high + total.ln_()))
                            .sum::<f64>()
                    }
                };
                visit(block, features, logits);
                Ok(())
            })?;
            Ok(value)
        })
    }

    /// Hands `visitor` the responsibilities of each block, components by rows, with its first row and width.
    pub fn responsibilities(
        &self,
        messages: &[f64],
        visitor: impl FnMut(usize, usize, &[f64]),
    ) -> Result<()> {
        self.responsibilities_of(messages, 0..self.rows.len(), visitor)
    }

    /// The same of some rows, which begin at a block.
    ///
    /// # Errors
    /// As [`SoftmaxSum::responsibilities`].
    pub fn responsibilities_of(
        &self,
        messages: &[f64],
        rows: Range<usize>,
        mut visitor: impl FnMut(usize, usize, &[f64]),
    ) -> Result<()> {
        self.visit(messages, rows, |block, _, r| {
            visitor(block.first, block.width, r);
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
        let (numbers, of_levels) = statistics.split_at_mut(shape.0 * shape.1);
        self.with_lanes(numbers, |lanes| {
            self.visit(
                messages,
                0..self.rows.len(),
                |Block {
                     first,
                     width,
                     weights,
                     ..
                 },
                 features,
                 all| {
                    for column in 0..width {
                        for (component, weight) in row.iter_mut().enumerate() {
                            *weight = std::mem::take(&mut all[component * width + column]);
                        }
                        let weight = weights.map_or(1.0, |weights| weights[column]);
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
                    if let Some(levels) = &self.levels {
                        levels.gather(first, width, all, of_levels);
                    }
                },
            )
        })?;
        Ok(statistics)
    }

    /// Statistics of responsibilities that `fill` writes for each block, components by rows; those of rows whose
    /// component is known are one there. The numbers of the block are those of its rows, but for rows with gaps, which have none.
    ///
    /// # Errors
    /// Where a file cannot be read.
    pub fn statistics_by(&self, fill: impl Fn(Block<'_>, &mut [f64]) + Sync) -> Result<Vec<f64>> {
        let (k, p) = (self.components, self.features());
        let fill = |block: Block<'_>, all: &mut [f64]| {
            let (first, width) = (block.first, block.width);
            fill(block, all);
            if let Some(known) = &self.known {
                known.settle(first, width, all);
            }
        };
        let mut statistics = vec![0.0; self.dim()];
        let (chunks, out) = (self.chunks(), &mut statistics);
        if let Some((gaps, table)) = self.gaps() {
            let fill = |first: usize, width: usize, all: &mut [f64]| {
                let block = Block {
                    first,
                    width,
                    values: &[],
                    weights: None,
                };
                fill(block, all);
            };
            let messages = gaps.alone(&self.moments_of(&fill)?);
            sum(chunks, &self.buffers, out, |rows, partial| {
                gaps.statistics(table, &messages, &rows, fill, partial)?;
                Ok(0.0)
            })?;
            return Ok(statistics);
        }
        sum(chunks, &self.buffers, out, |rows, partial| {
            let (partial, of_levels) = partial.split_at_mut(k * p);
            self.with_lanes(partial, |lanes| {
                self.with_scratch(|[features, responsibilities, ..]| {
                    self.each(rows, |block| {
                        let width = block.width;
                        let features = &mut features[..p * width];
                        let responsibilities = &mut responsibilities[..k * width];
                        self.features.expand(block.values, width, features);
                        fill(block, responsibilities);
                        weigh(block, responsibilities);
                        accumulate(responsibilities, features, (k, p), width, lanes);
                        if let Some(levels) = &self.levels {
                            levels.gather_block(block, responsibilities, of_levels);
                        }
                        Ok(())
                    })?;
                    Ok(0.0)
                })
            })
        })?;
        Ok(statistics)
    }

    /// The same, where `fill` knows rows by their numbers.
    ///
    /// # Errors
    /// As [`SoftmaxSum::statistics_by`].
    pub fn statistics_of(
        &self,
        fill: impl Fn(usize, usize, &mut [f64]) + Sync,
    ) -> Result<Vec<f64>> {
        self.statistics_by(|block, all| fill(block.first, block.width, all))
    }

    /// Count, sum and sum of squares of the numbers that are there, of each component's columns, under
    /// responsibilities that `fill` writes.
    fn moments_of(&self, fill: &(impl Fn(usize, usize, &mut [f64]) + Sync)) -> Result<Vec<f64>> {
        let (k, columns) = (self.components, self.rows.columns);
        let mut moments = vec![0.0; 3 * k * columns];
        let out = &mut moments;
        sum(self.chunks(), &self.buffers, out, |rows, partial| {
            let mut responsibilities = vec![0.0; k * BLOCK];
            self.each(rows, |block| {
                let (width, data) = (block.width, block.values);
                let responsibilities = &mut responsibilities[..k * width];
                fill(block.first, width, responsibilities);
                weigh(block, responsibilities);
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
                Ok(())
            })?;
            Ok(0.0)
        })?;
        Ok(moments)
    }
}

/// Multiplies numbers of a block, components by rows, with the weights of its rows.
fn weigh(block: Block<'_>, all: &mut [f64]) {
    let Some(weights) = block.weights else { return };
    for line in all.chunks_exact_mut(block.width) {
        for (x, weight) in line.iter_mut().zip(weights) {
            *x *= weight;
        }
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
        let levels = self.levels.as_ref();
        self.numeric() + levels.map_or(0, |levels| levels.count(self.components))
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
            let (partial, of_levels) = partial.split_at_mut(shape.0 * shape.1);
            self.with_lanes(partial, |lanes| {
                self.visit(at, rows, |block, features, responsibilities| {
                    weigh(block, responsibilities);
                    accumulate(responsibilities, features, shape, block.width, lanes);
                    if let Some(levels) = &self.levels {
                        levels.gather_block(block, responsibilities, of_levels);
                    }
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
            self.visit(at, rows, |_, _, _| ())
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
                let (partial, of_levels) = partial.split_at_mut(k * p);
                self.with_lanes(partial, |lanes| {
                    self.visit(at, rows, |block, features, responsibilities| {
                        let width = block.width;
                        let changes = &mut changes[..k * width];
                        multiply(&along[..k * p], (k, p), features, width, changes);
                        if let Some(levels) = &self.levels {
                            levels.add(&along[k * p..], block.first, width, changes);
                        }
                        softmax_jacobian_columns(responsibilities, changes, width, mean);
                        weigh(block, changes);
                        accumulate(changes, features, (k, p), width, lanes);
                        if let Some(levels) = &self.levels {
                            levels.gather_block(block, changes, of_levels);
                        }
                    })
                })
            })
        })?;
        Ok(())
    }
}
