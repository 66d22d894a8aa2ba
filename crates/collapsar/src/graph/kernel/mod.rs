//! Decides how the sum over rows is computed: logits, responsibilities and the statistics that follow.
//!
//! - `product`: rows whose logits are sums of lookups by key

mod product;

use rand::Rng;

use super::layout::Entries;
use super::rows::{RowPart, Rows, Sums};
use super::terms::Terms;
use collapsar_core::rows::{Features, Rows as Table, SoftmaxSum};
use collapsar_core::{Potential, Result};
use product::Product;

/// Rows made ready: their logits as linear functions of messages.
#[derive(Debug)]
pub(super) struct RowKernel {
    pub(super) first: u32,
    pub(super) count: usize,
    pub(super) states: usize,
    shape: Shape,
}

#[derive(Debug)]
enum Shape {
    /// Logits of a few numbers, as in a mixture of normal distributions.
    Features {
        mixture: SoftmaxSum,
        linear: Linear,
    },
    Product(Product),
}

/// A linear function of messages with a constant.
#[derive(Debug)]
struct Linear {
    constants: Vec<f64>,
    entries: Entries,
}

impl Linear {
    /// Messages stand at `slots[product]`.
    fn new(sums: &Sums, slots: &[u32]) -> Self {
        Self {
            constants: sums.constants.clone(),
            entries: Entries {
                starts: sums.starts.clone(),
                columns: (sums.products.iter())
                    .map(|&product| slots[product as usize])
                    .collect(),
                values: sums.coefficients.clone(),
            },
        }
    }

    fn at(&self, messages: &[f64]) -> Vec<f64> {
        let mut out = self.constants.clone();
        self.entries.multiply(messages, &mut out);
        out
    }

    fn along(&self, direction: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.constants.len()];
        self.entries.multiply(direction, &mut out);
        out
    }
}

impl RowKernel {
    /// Takes rows over; `slots` are the messages of products.
    pub(super) fn new(rows: Rows, slots: &mut Terms) -> Self {
        let places: Vec<u32> = (rows.products.each())
            .map(|(atoms, factor)| slots.add(atoms, 1.0, factor) as u32)
            .collect();
        let (first, count, states) = (rows.first, rows.count, rows.states);
        let shape = feature_shape(&rows, &places)
            .unwrap_or_else(|| Shape::Product(Product::new(rows, &places)));
        Self {
            first,
            count,
            states,
            shape,
        }
    }

    /// The slots that it looks at, which may be given the numbers of messages.
    pub(super) fn slots(&mut self) -> impl Iterator<Item = &mut u32> {
        let linears = match &mut self.shape {
            Shape::Features { linear, .. } => std::slice::from_mut(linear),
            Shape::Product(product) => &mut product.lookups,
        };
        linears
            .iter_mut()
            .flat_map(|linear| &mut linear.entries.columns)
    }

    /// Adds the statistics to `out`, which belong to slots; returns the sum of log-normalisers.
    pub(super) fn value_and_gradient(&self, messages: &[f64], out: &mut [f64]) -> Result<f64> {
        match &self.shape {
            Shape::Features { mixture, linear } => {
                let at = linear.at(messages);
                let mut gradient = vec![0.0; at.len()];
                let value = mixture.value_and_gradient(&at, &mut gradient)?;
                linear.entries.multiply_transposed(&gradient, out);
                Ok(value)
            }
            Shape::Product(product) => product.value_and_gradient(messages, self.states, out),
        }
    }

    /// Adds the Hessian times `along` to `out`.
    pub(super) fn hessian_product(
        &self,
        messages: &[f64],
        along: &[f64],
        out: &mut [f64],
    ) -> Result<()> {
        match &self.shape {
            Shape::Features { mixture, linear } => {
                let (at, along) = (linear.at(messages), linear.along(along));
                let mut product = vec![0.0; at.len()];
                mixture.hessian_product(&at, &along, &mut product)?;
                linear.entries.multiply_transposed(&product, out);
                Ok(())
            }
            Shape::Product(product) => product.hessian_product(messages, along, self.states, out),
        }
    }

    /// Adds the statistics of rows that `choose` gives a state, and `faint` of all others.
    pub(super) fn statistics_of(
        &self,
        faint: f64,
        mut choose: impl FnMut(usize) -> Option<usize>,
        out: &mut [f64],
    ) {
        const NONE: u32 = u32::MAX;
        let states = self.states;
        let chosen: Vec<u32> = (0..self.count)
            .map(|_| choose(states).map_or(NONE, |state| state as u32))
            .collect();
        let fill = |row: usize, state: usize| match chosen[row] {
            NONE => faint / states as f64,
            one => f64::from(u8::from(one as usize == state)),
        };
        match &self.shape {
            Shape::Features { mixture, linear } => {
                let found = mixture.statistics_of(|first, width, out| {
                    for (place, out) in out.iter_mut().enumerate() {
                        *out = fill(first + place % width, place / width);
                    }
                });
                if let Ok(statistics) = found {
                    linear.entries.multiply_transposed(&statistics, out);
                }
            }
            Shape::Product(product) => {
                let weight = |row: usize| if chosen[row] == NONE { faint } else { 1.0 };
                product.statistics_of(states, weight, fill, out);
            }
        }
    }

    /// Draws a state of each row, counted from 0, and adds the statistics.
    pub(super) fn draw<R: Rng + ?Sized>(
        &self,
        messages: &[f64],
        rng: &mut R,
        labels: &mut [f64],
        out: &mut [f64],
    ) -> Result<()> {
        match &self.shape {
            Shape::Features { mixture, linear } => {
                let statistics = mixture.draw(&linear.at(messages), rng, labels)?;
                linear.entries.multiply_transposed(&statistics, out);
                Ok(())
            }
            Shape::Product(product) => product.draw(messages, self.states, rng, labels, out),
        }
    }

    /// Responsibilities of one row after another.
    pub(super) fn responsibilities(
        &self,
        messages: &[f64],
        mut visit: impl FnMut(usize, &[f64]),
    ) -> Result<()> {
        match &self.shape {
            Shape::Features { mixture, linear } => {
                let mut row = vec![0.0; self.states];
                mixture.responsibilities(&linear.at(messages), |first, width, all| {
                    for column in 0..width {
                        for (state, row) in row.iter_mut().enumerate() {
                            *row = all[state * width + column];
                        }
                        visit(first + column, &row);
                    }
                })
            }
            Shape::Product(product) => product.responsibilities(messages, self.states, visit),
        }
    }
}

/// The shape of rows that have features, where all else is the same for all of them.
fn feature_shape(rows: &Rows, slots: &[u32]) -> Option<Shape> {
    let (columns, values, sums) = rows.parts.iter().find_map(|part| match part {
        RowPart::Features {
            columns,
            values,
            sums,
        } => Some((*columns, values, sums)),
        _ => None,
    })?;
    let mut linear = Linear::new(sums, slots);
    for part in &rows.parts {
        if let RowPart::Lookup { uses, sums } = part {
            let lookup = Linear::new(sums, slots);
            for _ in uses {
                let features = Features::Full.count(columns);
                linear.add_to_first(&lookup, features, rows.states);
            }
        }
    }
    let blocks = Table::new(values, columns, &vec![0.0; columns], &vec![1.0; columns]);
    Some(Shape::Features {
        mixture: SoftmaxSum::new(blocks, Features::Full, rows.states),
        linear,
    })
}

impl Linear {
    /// Adds a number for each state to the first of each state's features.
    fn add_to_first(&mut self, other: &Self, features: usize, states: usize) {
        let mut entries = Entries::default();
        let copy = |from: &Entries, row: usize, entries: &mut Entries| {
            let range = from.starts.range(row);
            (entries.columns).extend_from_slice(&from.columns[range.clone()]);
            entries.values.extend_from_slice(&from.values[range]);
        };
        for place in 0..features * states {
            copy(&self.entries, place, &mut entries);
            if place % features == 0 {
                self.constants[place] += other.constants[place / features];
                copy(&other.entries, place / features, &mut entries);
            }
            entries.starts.end(entries.columns.len());
        }
        self.entries = entries;
    }
}
