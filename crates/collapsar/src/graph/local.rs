//! The sum over explicit blocks: from messages to natural parameters to means.

use super::block::{
    Block, Placed, evaluate_all, fill_all, hessian_products, range_of, value_all, with_naturals,
};
use super::choice::Role;
use super::kernel::RowKernel;
use super::layout::{Entries, Layout};
use super::terms::Starts;
use collapsar_core::parallel::Buffers;
use collapsar_core::{Error, Potential, Result};

/// $A(m)$: log-partition functions of the explicit blocks (maths §9.4).
#[derive(Debug)]
pub struct Local {
    shared: Vec<Placed>,
    own: Vec<Placed>,
    /// Labels that are rows.
    pub(super) rows: Vec<RowKernel>,
    shared_base: Vec<f64>,
    /// The natural parameters of own blocks that receive no messages.
    pub(super) own_base: Vec<f64>,
    sharing: Entries,
    slots: usize,
    buffers: Buffers,
}

impl Entries {
    /// Columns and values of a row.
    #[inline]
    pub(super) fn row(&self, row: usize) -> impl Iterator<Item = (u32, f64)> {
        let range = self.starts.range(row);
        let columns = self.columns[range.clone()].iter().copied();
        columns.zip(self.values[range].iter().copied())
    }

    /// Adds this matrix times `x` to `out`.
    pub(super) fn multiply(&self, x: &[f64], out: &mut [f64]) {
        for (row, out) in out.iter_mut().enumerate() {
            let terms = self
                .row(row)
                .map(|(column, value)| value * x[column as usize]);
            *out += terms.sum::<f64>();
        }
    }

    /// Writes this matrix times `x`, a long row in four sums that need not wait for one another.
    pub(super) fn write_product(&self, x: &[f64], out: &mut [f64]) {
        const LANES: usize = 4;
        for (row, out) in out.iter_mut().enumerate() {
            let range = self.starts.range(row);
            let (columns, rest) = self.columns[range.clone()].as_chunks::<LANES>();
            let (values, last) = self.values[range].as_chunks::<LANES>();
            let mut sums = [0.0; LANES];
            for (columns, values) in columns.iter().zip(values) {
                for lane in 0..LANES {
                    sums[lane] += values[lane] * x[columns[lane] as usize];
                }
            }
            let rest = rest.iter().zip(last);
            let rest = rest.map(|(column, value)| value * x[*column as usize]);
            *out = (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest.sum::<f64>();
        }
    }

    /// The transpose, which has so many rows.
    fn transposed(&self, rows: usize) -> Self {
        let mut lengths = vec![0; rows];
        for column in &self.columns {
            lengths[*column as usize] += 1;
        }
        let starts = Starts::of_lengths(&lengths);
        let mut next: Vec<usize> = (0..rows).map(|row| starts.range(row).start).collect();
        let (mut columns, mut values) = (self.columns.clone(), self.values.clone());
        for row in 0..self.starts.lists() {
            for (column, value) in self.row(row) {
                let place = &mut next[column as usize];
                (columns[*place], values[*place]) = (row as u32, value);
                *place += 1;
            }
        }
        Self {
            starts,
            columns,
            values,
        }
    }

    /// Adds its transpose times `x` to `out`.
    pub(super) fn multiply_transposed(&self, x: &[f64], out: &mut [f64]) {
        self.transposed_rows(0, x, out);
    }

    /// Adds the transpose of its rows from `first` on, as many as `x` has numbers, times `x`.
    pub(super) fn transposed_rows(&self, first: usize, x: &[f64], out: &mut [f64]) {
        for (row, &x) in x.iter().enumerate() {
            for (column, value) in self.row(first + row) {
                out[column as usize] += value * x;
            }
        }
    }
}

impl Local {
    pub(super) fn new(shared: Vec<Placed>, own: Vec<Placed>, layout: &mut Layout) -> Self {
        Self {
            shared,
            own,
            rows: std::mem::take(&mut layout.rows),
            shared_base: std::mem::take(layout.base(Role::Shared)),
            own_base: std::mem::take(layout.base(Role::Own)),
            sharing: std::mem::take(&mut layout.sharing),
            slots: layout.slot_messages,
            buffers: Buffers::default(),
        }
    }

    /// Natural parameters of all shared blocks, then of all own ones.
    pub(super) fn naturals(&self, messages: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut shared = self.shared_base.clone();
        self.sharing.multiply(&messages[..self.slots], &mut shared);
        let own = self.own_base.iter().zip(&messages[self.slots..]);
        (shared, own.map(|(base, message)| base + message).collect())
    }

    /// Writes the natural parameters of all shared blocks.
    pub(super) fn write_shared(&self, messages: &[f64], out: &mut Vec<f64>) {
        let slots = &messages[..self.slots];
        out.clear();
        let row = |(row, base): (usize, &f64)| {
            let range = self.sharing.starts.range(row);
            let values = &self.sharing.values[range.clone()];
            // Most rows have one entry or two, for which a chain of iterators costs more than the products.
            let columns = &self.sharing.columns[range];
            let mut sum = *base;
            for (column, value) in columns.iter().zip(values) {
                sum += value * slots[*column as usize];
            }
            sum
        };
        out.extend(self.shared_base.iter().enumerate().map(row));
    }

    /// The statistics of explicit blocks whose means `fill` writes, block by block, and of rows
    /// to some of which `choose` gives one of so many states; the others count `faint`.
    pub(super) fn statistics_of(
        &self,
        mut fill: impl FnMut(&Block, &mut [f64]),
        faint: f64,
        mut choose: impl FnMut(usize) -> Option<usize>,
    ) -> Vec<f64> {
        let mut means = vec![0.0; self.shared_base.len()];
        let mut out = vec![0.0; self.dim()];
        fill_all(&self.shared, &mut means, &mut fill);
        let (slots, rest) = out.split_at_mut(self.slots);
        self.sharing.multiply_transposed(&means, slots);
        for rows in &self.rows {
            rows.statistics_of(faint, &mut choose, slots);
        }
        fill_all(&self.own, rest, fill);
        out
    }

    /// The statistics at messages, but for blocks whose means `change` changes, and rows some of which `states` gives states:
    /// the others of these count `faint`.
    pub(super) fn statistics_with(
        &self,
        messages: &[f64],
        mut change: impl FnMut(&Block, &[f64], &mut [f64]) -> Result<()>,
        faint: f64,
        states: impl Fn(&RowKernel) -> Option<Vec<Option<usize>>>,
    ) -> Result<Vec<f64>> {
        let (shared, own) = self.naturals(messages);
        let mut means = vec![0.0; shared.len()];
        let mut out = vec![0.0; self.dim()];
        let (slots, rest) = out.split_at_mut(self.slots);
        for (blocks, naturals, means) in [
            (&self.shared, &shared, &mut means[..]),
            (&self.own, &own, rest),
        ] {
            evaluate_all(blocks, naturals, means)?;
            for placed in blocks {
                let range = range_of(placed);
                change(&placed.0, &naturals[range.clone()], &mut means[range])?;
            }
        }
        self.sharing.multiply_transposed(&means, slots);
        for rows in &self.rows {
            match states(rows) {
                Some(states) => rows.statistics_at(faint, &states, slots),
                None => {
                    rows.value_and_gradient(&messages[..self.slots], slots)?;
                }
            }
        }
        Ok(out)
    }

    /// The messages that rows look at.
    pub(super) fn slots<'a>(&self, messages: &'a [f64]) -> &'a [f64] {
        &messages[..self.slots]
    }

    /// About how many numbers an evaluation goes through.
    pub(super) fn size(&self) -> usize {
        let rows: usize = self.rows.iter().map(RowKernel::size).sum();
        rows + self.shared_base.len() + self.own_base.len() + self.sharing.values.len()
    }

    /// About how many products of numbers a draw of all explicit variables takes, what an evaluation goes through counted once.
    pub(super) fn draw_cost(&self) -> usize {
        let rows: usize = self
            .rows
            .iter()
            .map(|rows| rows.draw_cost() - rows.size())
            .sum();
        self.size() + rows
    }

    /// The shared blocks and the own ones, each with the place of its first natural parameter.
    pub(super) fn blocks(&self) -> (&[Placed], &[Placed]) {
        (&self.shared, &self.own)
    }

    /// What statistics of shared blocks do to those of slots, slot by slot.
    pub(super) fn gathering(&self) -> Entries {
        self.sharing.transposed(self.slots)
    }

    /// What a change of the shared blocks' statistics from `first` on does to those of slots.
    pub(super) fn gather(&self, first: usize, changes: &[f64], out: &mut [f64]) {
        self.sharing.transposed_rows(first, changes, out);
    }

    /// The natural parameters of shared blocks that receive no messages.
    pub(super) fn shared_base(&self) -> &[f64] {
        &self.shared_base
    }

    /// What messages about slots do to the natural parameters of shared blocks.
    pub(super) fn spread(&self, messages: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.shared_base.len()];
        self.sharing.multiply(messages, &mut out);
        out
    }

    /// Natural parameters of shared blocks from `first` on, which are `out.len()` in a row.
    pub(super) fn natural_at(&self, first: usize, messages: &[f64], out: &mut [f64]) {
        for (row, out) in (first..).zip(out) {
            let terms = self.sharing.row(row);
            let told = terms.map(|(column, value)| value * messages[column as usize]);
            *out = self.shared_base[row] + told.sum::<f64>();
        }
    }

    /// The slots that a natural parameter of shared blocks hears of.
    pub(super) fn slots_at(&self, place: usize) -> impl Iterator<Item = u32> {
        self.sharing.row(place).map(|(slot, _)| slot)
    }

    /// The place of the first statistic of own blocks.
    pub(super) fn own_first(&self) -> usize {
        self.slots
    }

    /// How many labels are explicit.
    pub(super) fn labels(&self) -> usize {
        let blocks = self.shared.iter().chain(&self.own);
        let rows = self.rows.iter().filter(|rows| rows.are_labels());
        let rows: usize = rows.map(|rows| rows.count).sum();
        rows + blocks.map(|(block, _)| block.labels()).sum::<usize>()
    }

    /// Lets `change` change the natural parameters of own blocks, telling it whether they are
    /// inside the domain.
    pub(super) fn settle(
        &self,
        messages: &mut [f64],
        mut change: impl FnMut(&Block, bool, &mut [f64]),
    ) {
        for placed in &self.own {
            let (block, range) = (&placed.0, range_of(placed));
            let own = &mut messages[self.slots..][range.clone()];
            let base = &self.own_base[range];
            let sums = own.iter().zip(base).map(|(own, base)| own + base);
            let mut natural: Vec<f64> = sums.collect();
            let mut mean = vec![0.0; natural.len()];
            let inside = (block.evaluate(&natural, &mut mean)).is_ok_and(f64::is_finite)
                && mean.iter().all(|mean| mean.is_finite());
            change(block, inside, &mut natural);
            for ((message, natural), base) in own.iter_mut().zip(&natural).zip(base) {
                // States that cannot be have an infinite base, whatever the message.
                *message = if base.is_finite() {
                    natural - base
                } else {
                    0.0
                };
            }
        }
    }

    /// Writes the means of own blocks, where their messages are inside the domain, over their statistics.
    pub(super) fn follow(&self, messages: &[f64], statistics: &mut [f64]) {
        for placed in &self.own {
            let range = range_of(placed);
            let base = self.own_base[range.clone()].iter();
            let told = &messages[self.slots..][range.clone()];
            let natural: Vec<f64> = base.zip(told).map(|(base, told)| base + told).collect();
            let mut mean = vec![0.0; natural.len()];
            let inside = placed.0.evaluate(&natural, &mut mean);
            if inside.is_ok_and(f64::is_finite) && mean.iter().all(|mean| mean.is_finite()) {
                statistics[self.slots..][range].copy_from_slice(&mean);
            }
        }
    }

    /// The explicit blocks with their natural parameters.
    pub(super) fn each(&self, messages: &[f64]) -> Vec<(&Block, Vec<f64>)> {
        let (shared, own) = self.naturals(messages);
        let mut all = with_naturals(&self.shared, &shared);
        all.append(&mut with_naturals(&self.own, &own));
        all
    }

    /// As [`Potential::value_and_gradient`]; `see` gets the means of shared blocks' statistics.
    pub(super) fn value_and_means(
        &self,
        at: &[f64],
        gradient: &mut [f64],
        see: impl FnOnce(&[f64]),
    ) -> Result<f64> {
        let (slots, rest) = gradient.split_at_mut(self.slots);
        let mut value = self.shared_value_and_means(at, slots, see)?;
        value += self.buffers.lend(self.own_base.len(), |naturals| {
            let messages = self.own_base.iter().zip(&at[self.slots..]);
            for (natural, (base, message)) in naturals.iter_mut().zip(messages) {
                *natural = base + message;
            }
            evaluate_all(&self.own, naturals, rest)
        })?;
        Ok(value)
    }

    /// The sum over shared blocks and rows alone.
    pub(super) fn shared_value(&self, at: &[f64]) -> Result<f64> {
        let slots = &at[..self.slots];
        let mut value = self.buffers.lend(self.shared_base.len(), |naturals| {
            naturals.copy_from_slice(&self.shared_base);
            self.sharing.multiply(slots, naturals);
            value_all(&self.shared, naturals)
        })?;
        for rows in &self.rows {
            value += rows.value(slots)?;
        }
        Ok(value)
    }

    /// The same at several messages: rows that can are read once for many of them.
    pub(super) fn shared_values(&self, at: &[Vec<f64>]) -> Vec<Result<f64>> {
        let slots: Vec<&[f64]> = at.iter().map(|at| &at[..self.slots]).collect();
        let blocks = slots.iter().map(|slots| {
            self.buffers.lend(self.shared_base.len(), |naturals| {
                naturals.copy_from_slice(&self.shared_base);
                self.sharing.multiply(slots, naturals);
                value_all(&self.shared, naturals)
            })
        });
        let mut values: Vec<Result<f64>> = blocks.collect();
        for rows in &self.rows {
            for (value, more) in values.iter_mut().zip(rows.values(&slots)) {
                match (&mut *value, more) {
                    (Ok(value), Ok(more)) => *value += more,
                    (Ok(_), Err(error)) => *value = Err(error),
                    (Err(_), _) => {}
                }
            }
        }
        values
    }

    /// About how many products of numbers one of several values takes.
    pub(super) fn value_cost(&self) -> usize {
        let rows = self
            .rows
            .iter()
            .map(|rows| rows.value_cost().unwrap_or(rows.size()));
        self.shared_base.len()
            + self.own_base.len()
            + self.sharing.values.len()
            + rows.sum::<usize>()
    }

    /// About how many products of numbers the whole Hessian takes, with so many for each number that a product with one vector goes
    /// through; none where rows have no Hessian of their own.
    pub(super) fn hessian_cost(&self, products: usize) -> Option<usize> {
        let rows: Option<usize> = self.rows.iter().map(RowKernel::hessian_cost).sum();
        let other = self.shared_base.len() + self.own_base.len() + self.sharing.values.len();
        let each = products.saturating_mul(other).saturating_mul(self.dim());
        rows.filter(|_| !self.rows.is_empty())
            .map(|rows| rows.saturating_add(each))
    }

    /// Writes the whole Hessian as a square matrix: rows that can at once, all else by products with unit vectors. Returns how many
    /// passes that takes.
    pub(super) fn hessian(&self, at: &[f64], out: &mut [f64]) -> Result<u64> {
        let (dim, slots) = (self.dim(), &at[..self.slots]);
        let (at_once, others): (Vec<_>, Vec<_>) =
            (self.rows.iter()).partition(|rows| rows.hessian_cost().is_some());
        let mut unit = vec![0.0; dim];
        for (index, column) in out.chunks_exact_mut(dim.max(1)).enumerate() {
            unit[index] = 1.0;
            self.blocks_hessian_product(at, &unit, column)?;
            for rows in &others {
                rows.hessian_product(slots, &unit[..self.slots], &mut column[..self.slots])?;
            }
            unit[index] = 0.0;
        }
        for rows in &at_once {
            rows.add_hessian(slots, dim, out)?;
        }
        let whole = at_once.is_empty() || !others.is_empty();
        Ok(if whole { dim as u64 } else { 1 })
    }

    /// The Hessian of all but rows, times `along`.
    fn blocks_hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        let (shared, own) = self.naturals(at);
        let mut changes = vec![0.0; shared.len()];
        self.sharing.multiply(&along[..self.slots], &mut changes);
        let mut means = vec![0.0; shared.len()];
        hessian_products(&self.shared, &shared, &changes, &mut means)?;
        let (slots, rest) = out.split_at_mut(self.slots);
        slots.fill(0.0);
        self.sharing.multiply_transposed(&means, slots);
        hessian_products(&self.own, &own, &along[self.slots..], rest)
    }

    fn shared_value_and_means(
        &self,
        at: &[f64],
        slots: &mut [f64],
        see: impl FnOnce(&[f64]),
    ) -> Result<f64> {
        let shared = self.shared_base.len();
        let mut value = self.buffers.lend(2 * shared, |buffer| {
            let (naturals, means) = buffer.split_at_mut(shared);
            naturals.copy_from_slice(&self.shared_base);
            self.sharing.multiply(&at[..self.slots], naturals);
            let value = evaluate_all(&self.shared, naturals, means)?;
            slots.fill(0.0);
            self.sharing.multiply_transposed(means, slots);
            see(means);
            Ok::<f64, Error>(value)
        })?;
        for rows in &self.rows {
            value += rows.value_and_gradient(&at[..self.slots], slots)?;
        }
        Ok(value)
    }
}

impl Potential for Local {
    fn dim(&self) -> usize {
        self.slots + self.own_base.len()
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        self.value_and_means(at, gradient, |_| ())
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        self.blocks_hessian_product(at, along, out)?;
        for rows in &self.rows {
            rows.hessian_product(
                &at[..self.slots],
                &along[..self.slots],
                &mut out[..self.slots],
            )?;
        }
        Ok(())
    }
}
