//! What is done with the rows of each set of missing columns: their normalisers, statistics, changes and draws.

#![allow(clippy::inline_always)] // wide vectors exist only where everything is inlined into the dispatch

use std::ops::Range;

use crate::random::{Distribution, StandardNormal};
use pulp::{Arch, NullaryFnOnce};
use rand::Rng;

use super::Gaps;
use super::level::{Level, messages, product};
use crate::elementary::Elementary;
use crate::error::{Error, Result};
use crate::family::pick;
use crate::kernel::product::{LANES, accumulate, gather, multiply};
use crate::kernel::softmax_columns;
use crate::number::{Dual, Real};
use crate::rows::known::Known;
use crate::rows::levels::Levels;
use crate::rows::{BLOCK, Features, Rows};

/// Rows of a set from which on whole matrices are multiplied.
const WIDE: usize = 16;
/// Rows from which on statistics are summed in lanes, which must be made and added up.
const LONG: usize = 128;

/// The rows as they are kept, how often each is there, whose component is known, and which levels they have.
#[derive(Clone, Copy)]
pub(in crate::rows) struct Table<'a> {
    pub(in crate::rows) rows: &'a Rows,
    pub(in crate::rows) weights: Option<&'a [f64]>,
    pub(in crate::rows) known: Option<&'a Known>,
    pub(in crate::rows) levels: Option<&'a Levels>,
}

impl Table<'_> {
    fn weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[row])
    }

    /// The messages about levels among all; none where rows have no levels.
    fn of_levels<'a, T>(&self, at: &'a [T]) -> &'a [T] {
        self.levels
            .map_or(&[], |levels| &at[levels.places().first().min(at.len())..])
    }
}

/// Rows of a set, at most a block of them: their features, and responsibilities, components by rows.
struct Block<'a> {
    first: usize,
    width: usize,
    features: &'a [f64],
    responsibilities: &'a mut [f64],
}

/// What the rows of a set need.
struct Scratch {
    row: Vec<f64>,
    data: Vec<f64>,
    features: Vec<f64>,
    logits: Vec<f64>,
    lane: Vec<f64>,
    highest: Vec<f64>,
    total: Vec<f64>,
    turned: Vec<f64>,
    lanes: Vec<f64>,
}

impl Scratch {
    fn new(columns: usize, components: usize) -> Self {
        let zeros = |count: usize| vec![0.0; count];
        let p = messages(columns);
        Self {
            row: zeros(columns),
            data: zeros(columns * BLOCK),
            features: zeros(p * BLOCK),
            logits: zeros(components * BLOCK),
            lane: zeros(components),
            highest: zeros(BLOCK),
            total: zeros(BLOCK),
            turned: zeros(p * components),
            lanes: vec![],
        }
    }

    /// Writes the features of the numbers that rows of a set have.
    fn expand(&mut self, columns: &[usize], table: Table, first: usize, width: usize) {
        for at in 0..width {
            table.rows.row(first + at, &mut self.row);
            for (place, column) in columns.iter().enumerate() {
                self.data[place * width + at] = self.row[*column];
            }
        }
        let (count, p) = (columns.len(), messages(columns.len()));
        let (data, out) = (&self.data[..count * width], &mut self.features[..p * width]);
        Features::Full.expand_columns(data, count, width, out);
    }

    /// Writes logits of a block, components by rows.
    fn multiply(&mut self, level: &[f64], p: usize, components: usize, width: usize) {
        let features = &self.features[..p * width];
        let logits = &mut self.logits[..components * width];
        if width >= WIDE {
            multiply(
                &self.turned[..components * p],
                (components, p),
                features,
                width,
                logits,
            );
            return;
        }
        for at in 0..width {
            Arch::new().dispatch(Logits {
                messages: level,
                features,
                place: (at, width),
                out: &mut self.lane,
            });
            for (out, x) in logits[at..].iter_mut().step_by(width).zip(&self.lane) {
                *out = *x;
            }
        }
    }
}

/// Logits of one row for all components.
struct Logits<'a> {
    messages: &'a [f64],
    features: &'a [f64],
    place: (usize, usize),
    out: &'a mut [f64],
}

impl NullaryFnOnce for Logits<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let k = self.out.len();
        let (at, width) = self.place;
        self.out.fill(0.0);
        for (f, lanes) in self.messages.chunks_exact(k).enumerate() {
            let feature = self.features[f * width + at];
            for (out, m) in self.out.iter_mut().zip(lanes) {
                *out += feature * m;
            }
        }
    }
}

/// Adds one row's features times its responsibilities, which stand side by side.
struct Statistics<'a> {
    features: &'a [f64],
    place: (usize, usize),
    responsibilities: &'a [f64],
    out: &'a mut [f64],
}

impl NullaryFnOnce for Statistics<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let (at, width) = self.place;
        let k = self.responsibilities.len();
        for (f, out) in self.out.chunks_exact_mut(k).enumerate() {
            let feature = self.features[f * width + at];
            for (out, r) in out.iter_mut().zip(self.responsibilities) {
                *out += feature * r;
            }
        }
    }
}

impl Gaps {
    /// Visits the rows of a level with their features and responsibilities, a block of them at a time; returns the
    /// sum of their log-normalisers.
    fn blocks(
        &self,
        level: &mut Level<f64>,
        (table, of_levels): (Table, &[f64]),
        rows: Range<usize>,
        scratch: &mut Scratch,
        mut visit: impl FnMut(&mut Level<f64>, Block, &mut Vec<f64>),
    ) -> Result<f64> {
        let (k, p) = (self.components, messages(level.columns.len()));
        if rows.len() >= WIDE {
            for (f, lanes) in level.messages.chunks_exact(k).enumerate() {
                for (component, message) in lanes.iter().enumerate() {
                    scratch.turned[component * p + f] = *message;
                }
            }
        }
        let mut value = 0.0;
        for first in rows.clone().step_by(BLOCK) {
            let width = BLOCK.min(rows.end - first);
            scratch.expand(&level.columns, table, first, width);
            scratch.multiply(&level.messages, p, k, width);
            let Scratch {
                features,
                logits,
                highest,
                total,
                lanes,
                ..
            } = scratch;
            let logits = &mut logits[..k * width];
            if let Some(levels) = table.levels.filter(|_| !of_levels.is_empty()) {
                levels.add(of_levels, first, width, logits);
            }
            if let Some(known) = table.known {
                known.restrict(first, width, logits);
            }
            softmax_columns(logits, width, highest, total);
            for at in 0..width {
                let found = highest[at] + total[at].ln_();
                if !found.is_finite() {
                    let row = self.row(first + at);
                    return Err(Error::Datum { row, found });
                }
                value += table.weight(first + at) * found;
            }
            let block = Block {
                first,
                width,
                features: &features[..p * width],
                responsibilities: logits,
            };
            visit(level, block, lanes);
        }
        Ok(value)
    }

    /// Adds what rows of a block are to the statistics of their level; `lanes`, where there are any, take it first.
    fn add(&self, level: &mut Level<f64>, block: &mut Block, table: Table, lanes: &mut [f64]) {
        let (k, width) = (self.components, block.width);
        for at in 0..width {
            let weight = table.weight(block.first + at);
            if weight != 1.0 {
                for r in block.responsibilities[at..].iter_mut().step_by(width) {
                    *r *= weight;
                }
            }
        }
        if !lanes.is_empty() {
            let shape = (k, block.features.len() / width);
            accumulate(block.responsibilities, block.features, shape, width, lanes);
            return;
        }
        let mut lane = [0.0; BLOCK];
        let mut many = vec![];
        let lane = if k <= BLOCK {
            &mut lane[..k]
        } else {
            many.resize(k, 0.0);
            &mut many[..]
        };
        for at in 0..width {
            let column = block.responsibilities[at..].iter().step_by(width);
            for (lane, r) in lane.iter_mut().zip(column) {
                *lane = *r;
            }
            let p = block.features.len() / width;
            Arch::new().dispatch(Statistics {
                features: block.features,
                place: (at, width),
                responsibilities: lane,
                out: &mut level.statistics[..p * k],
            });
        }
    }

    /// As [`Gaps::blocks`], with the rows' statistics left at the level, and those of their levels in `out`.
    fn leave(
        &self,
        level: &mut Level<f64>,
        (table, of_levels, out): (Table, &[f64], &mut [f64]),
        rows: Range<usize>,
        scratch: &mut Scratch,
        fill: impl Fn(&mut Block),
    ) -> Result<f64> {
        let (k, p) = (self.components, messages(level.columns.len()));
        scratch.lanes.clear();
        if rows.len() >= LONG {
            scratch.lanes.resize(p * k * LANES, 0.0);
        }
        let given = (table, of_levels);
        let value = self.blocks(level, given, rows, scratch, |level, mut block, lanes| {
            fill(&mut block);
            self.add(level, &mut block, table, lanes);
            if let Some(levels) = table.levels {
                levels.gather(block.first, block.width, block.responsibilities, out);
            }
        })?;
        if !scratch.lanes.is_empty() {
            let sums = &mut scratch.turned[..p * k];
            sums.fill(0.0);
            gather(&scratch.lanes, sums);
            for (f, lanes) in level.statistics.chunks_exact_mut(k).take(p).enumerate() {
                for (component, lane) in lanes.iter_mut().enumerate() {
                    *lane += sums[component * p + f];
                }
            }
        }
        Ok(value)
    }

    /// The sum over some rows, and its gradient where there is a place for it.
    pub(in crate::rows) fn value(
        &self,
        table: Table,
        at: &[f64],
        rows: &Range<usize>,
        gradient: Option<&mut [f64]>,
    ) -> Result<f64> {
        let mut scratch = Scratch::new(self.columns, self.components);
        let (mut value, keep) = (0.0, gradient.is_some());
        let of_levels = table.of_levels(at);
        let mut sums = vec![0.0; if keep { of_levels.len() } else { 0 }];
        let top = self.walk(self.level(at), rows, keep, |levels, _, rows| {
            let last = levels.len() - 1;
            let level = &mut levels[last];
            value += if keep {
                let given = (table, of_levels, &mut sums[..]);
                self.leave(level, given, rows, &mut scratch, |_| ())?
            } else {
                self.blocks(level, (table, of_levels), rows, &mut scratch, |_, _, _| ())?
            };
            Ok(())
        })?;
        if let Some(gradient) = gradient {
            let (numbers, levels) = gradient.split_at_mut(gradient.len() - sums.len());
            self.gather(&top, numbers, |x| x);
            crate::vector::add(levels, 1.0, &sums);
        }
        Ok(value)
    }

    /// Hands `visitor` the responsibilities of rows, components by rows, with their first and how many there are.
    pub(in crate::rows) fn visit(
        &self,
        table: Table,
        at: &[f64],
        rows: &Range<usize>,
        mut visitor: impl FnMut(usize, usize, &[f64], &mut [f64]),
    ) -> Result<f64> {
        let mut scratch = Scratch::new(self.columns, self.components);
        let mut value = 0.0;
        self.walk(self.level(at), rows, false, |levels, _, rows| {
            let last = levels.len() - 1;
            let level = &mut levels[last];
            let given = (table, table.of_levels(at));
            value += self.blocks(level, given, rows, &mut scratch, |_, block, _| {
                let (first, width) = (block.first, block.width);
                visitor(first, width, block.features, block.responsibilities);
            })?;
            Ok(())
        })?;
        Ok(value)
    }

    /// The statistics of responsibilities that `fill` writes, where `at` foresees what is missing.
    pub(in crate::rows) fn statistics(
        &self,
        table: Table,
        at: &[f64],
        rows: &Range<usize>,
        fill: impl Fn(usize, usize, &mut [f64]),
        out: &mut [f64],
    ) -> Result<()> {
        let mut scratch = Scratch::new(self.columns, self.components);
        let count = table
            .levels
            .map_or(0, |levels| levels.count(self.components));
        let (numbers, of_levels) = out.split_at_mut(out.len() - count);
        let top = self.walk(self.level(at), rows, true, |levels, _, rows| {
            let last = levels.len() - 1;
            let fill = |block: &mut Block| fill(block.first, block.width, block.responsibilities);
            // What `at` foresees is numbers: the responsibilities come from elsewhere.
            let given = (table, &[][..], &mut *of_levels);
            self.leave(&mut levels[last], given, rows, &mut scratch, fill)?;
            Ok(())
        })?;
        self.gather(&top, numbers, |x| x);
        Ok(())
    }

    /// Messages by which each component foresees a missing number from its column alone, given counts, sums and
    /// squares of what is there: maths §4.7.
    pub(in crate::rows) fn alone(&self, moments: &[f64]) -> Vec<f64> {
        let (d, k) = (self.columns, self.components);
        let mut at = vec![0.0; k * (1 + d) + self.shared()];
        if !self.shared {
            at.resize(k * messages(d), 0.0);
        }
        for (component, moments) in moments.chunks_exact(3 * d).enumerate() {
            for (column, of) in moments.chunks_exact(3).enumerate() {
                // As if one row more had the mean of all and the variance of all.
                let count = of[0] + 1.0;
                let mean = of[1] / count;
                let variance = if self.shared {
                    1.0
                } else {
                    ((of[2] + 1.0) / count - mean * mean).max(1e-6)
                };
                at[self.place(1 + column, component)] = mean / variance;
                at[self.place(product(d, column, column), component)] = -0.5 / variance;
            }
        }
        at
    }

    /// The Hessian times a direction, from rows at `at`, whose slopes are along it.
    pub(in crate::rows) fn hessian_product(
        &self,
        table: Table,
        at: &[Dual],
        rows: &Range<usize>,
        out: &mut [f64],
    ) -> Result<()> {
        let k = self.components;
        let mut scratch = Scratch::new(self.columns, k);
        let mut lane = vec![Dual::from(0.0); k];
        let of_levels = table.of_levels(at);
        let (numbers, sums) = out.split_at_mut(out.len() - of_levels.len());
        let top = self.walk(self.level(at), rows, true, |levels, _, rows| {
            let last = levels.len() - 1;
            let level = &mut levels[last];
            for row in rows {
                scratch.expand(&level.columns, table, row, 1);
                let features = &scratch.features[..messages(level.columns.len())];
                lane.fill(Dual::from(0.0));
                for (feature, lanes) in features.iter().zip(level.messages.chunks_exact(k)) {
                    for (sum, m) in lane.iter_mut().zip(lanes) {
                        *sum += Dual::from(*feature) * *m;
                    }
                }
                if let Some(levels) = table.levels {
                    levels.add_slopes(of_levels, row, &mut lane);
                }
                if let Some(known) = table.known.and_then(|known| known.of(row)) {
                    let others = lane.iter_mut().enumerate().filter(|(k, _)| *k != known);
                    others.for_each(|(_, x)| *x = Dual::from(f64::NEG_INFINITY));
                }
                let highest = lane
                    .iter()
                    .map(|x| x.value)
                    .fold(f64::NEG_INFINITY, f64::max);
                let mut total = Dual::from(0.0);
                for x in &mut lane {
                    *x = (*x - Dual::from(highest)).exp();
                    total += *x;
                }
                let weight = Dual::from(table.weight(row)) / total;
                for (feature, sums) in features.iter().zip(level.statistics.chunks_exact_mut(k)) {
                    for (sum, x) in sums.iter_mut().zip(&lane) {
                        *sum += Dual::from(*feature) * weight * *x;
                    }
                }
                if let Some(levels) = table.levels {
                    for x in &mut lane {
                        *x = weight * *x;
                    }
                    levels.gather_slopes(row, &lane, sums);
                }
            }
            Ok(())
        })?;
        self.gather(&top, numbers, |x| x.slope);
        Ok(())
    }

    /// Draws a component of each row and what is missing there; adds the statistics of these to `out`. A row of another
    /// weight than one, a whole number, is drawn so often, and its label stays as it is.
    pub(in crate::rows) fn draw<R: Rng + ?Sized>(
        &self,
        table: Table,
        at: &[f64],
        rng: &mut R,
        labels: &mut [f64],
        out: &mut [f64],
    ) -> Result<()> {
        let (k, d) = (self.components, self.columns);
        let mut scratch = Scratch::new(d, k);
        let (mut weights, mut row) = (vec![0.0; k], vec![0.0; d]);
        let rows = 0..table.rows.len();
        self.walk(self.level(at), &rows, false, |levels, places, rows| {
            let (above, last) = levels.split_at_mut(places.len());
            let mut blocks = vec![];
            let given = (table, table.of_levels(at));
            self.blocks(&mut last[0], given, rows, &mut scratch, |_, block, _| {
                let kept = block.responsibilities.to_vec();
                blocks.push((block.first, block.width, kept));
            })?;
            for (first, width, responsibilities) in blocks {
                for column in 0..width {
                    let place = first + column;
                    let of = responsibilities[column..].iter().step_by(width);
                    for (weight, r) in weights.iter_mut().zip(of) {
                        *weight = *r;
                    }
                    let count = table.weight(place);
                    for _ in 0..count as u64 {
                        let chosen = pick(&weights, 1.0, rng);
                        if count == 1.0 {
                            labels[self.row(place)] = chosen as f64;
                        }
                        table.rows.row(place, &mut row);
                        fill(above, places, (chosen, k), &mut row, rng);
                        out[self.place(0, chosen)] += 1.0;
                        for (i, y) in row.iter().enumerate() {
                            out[self.place(1 + i, chosen)] += y;
                            for (j, z) in row.iter().enumerate().skip(i) {
                                out[self.place(product(d, i, j), chosen)] += y * z;
                            }
                        }
                    }
                }
            }
            Ok(())
        })?;
        Ok(())
    }
}

/// Draws what a row misses given its component: the column that was integrated out last first.
fn fill<R: Rng + ?Sized>(
    levels: &[Level<f64>],
    places: &[usize],
    (chosen, components): (usize, usize),
    row: &mut [f64],
    rng: &mut R,
) {
    for (level, place) in levels.iter().zip(places).rev() {
        let foreseen = |at: usize| level.foreseen[at * components + chosen];
        let kept = level
            .columns
            .iter()
            .enumerate()
            .filter(|(at, _)| at != place);
        let slopes = kept
            .zip(1..)
            .map(|((_, column), at)| foreseen(at) * row[*column]);
        let noise: f64 = StandardNormal.sample(rng);
        let mean = foreseen(0) + slopes.sum::<f64>();
        row[level.columns[*place]] = mean + foreseen(level.columns.len()).sqrt() * noise;
    }
}
