//! Decides how the sum over rows is computed: logits, responsibilities and the statistics that follow.
//!
//! - `product`: rows whose logits are sums of lookups by key

mod product;

use rand::Rng;

use super::rows::{RowPart, Rows, Sums, features};
use super::terms::Terms;
use collapsar_core::rows::{Features, Rows as Table, SoftmaxSum, SquareSum};
use collapsar_core::vector::dot;
use collapsar_core::{Potential, Result};
use product::Product;

/// Numbers that kernels multiply at once.
const WIDE: usize = 8;
/// Products that a draw of a Pólya-Gamma variable takes the time of, and the value of a row at its predictor.
const POLYA_GAMMA: usize = 100;
const LOGISTIC: usize = 40;

/// Rows made ready: a function of logits, which are linear functions of messages.
#[derive(Debug)]
pub(super) struct RowKernel {
    pub(super) first: u32,
    pub(super) count: usize,
    pub(super) states: usize,
    /// By state and feature, or by key and state.
    logits: Sums,
    shape: Shape,
}

/// What states of rows are drawn in, kept between draws.
#[derive(Debug, Clone, Default)]
pub(super) struct RowBuffers {
    logits: Vec<f64>,
    /// Statistics by logit.
    sums: Vec<f64>,
    exponentials: Vec<f64>,
    weights: Vec<f64>,
    counts: Vec<f64>,
    drawn: Vec<u32>,
    starts: Vec<u32>,
}

#[derive(Debug)]
enum Shape {
    /// Logits of a few numbers, as in a mixture of normal distributions.
    Features(SoftmaxSum),
    Product(Product),
    /// No labels: Pólya-Gamma variables.
    Squares(SquareSum),
}

impl Sums {
    /// All sums where the products have these values.
    fn at(&self, values: &[f64]) -> Vec<f64> {
        let mut out = self.constants.clone();
        self.entries.multiply(values, &mut out);
        out
    }

    /// Appends the sum of some sums of others.
    fn push<'a>(&mut self, parts: impl IntoIterator<Item = (&'a Self, usize)>) {
        let mut constant = 0.0;
        for (Self { constants, entries }, place) in parts {
            constant += constants[place];
            let range = entries.starts.range(place);
            (self.entries.columns).extend_from_slice(&entries.columns[range.clone()]);
            (self.entries.values).extend_from_slice(&entries.values[range]);
        }
        self.constants.push(constant);
        self.entries.starts.end(self.entries.columns.len());
    }
}

impl RowKernel {
    /// Takes rows over; `slots` are the messages of products.
    ///
    /// # Errors
    /// Where the shape of a Pólya-Gamma variable is not positive.
    pub(super) fn new(rows: Rows, slots: &mut Terms) -> Result<Self> {
        let places: Vec<u32> = (rows.products.each())
            .map(|(atoms, _, factor)| slots.add(atoms, 1.0, factor) as u32)
            .collect();
        let (first, count, states) = (rows.first, rows.count, rows.states);
        let found = match with_squares(&rows)? {
            None => with_features(&rows),
            found => found,
        };
        let (logits, shape) = found.unwrap_or_else(|| {
            let (logits, product) = Product::new(rows);
            (logits, Shape::Product(product))
        });
        let mut kernel = Self {
            first,
            count,
            states,
            logits,
            shape,
        };
        (kernel.slots()).for_each(|product| *product = places[*product as usize]);
        Ok(kernel)
    }

    /// Whether rows are labels.
    pub(super) fn are_labels(&self) -> bool {
        !matches!(self.shape, Shape::Squares(_))
    }

    /// The slots that it looks at, which may be given the numbers of messages.
    pub(super) fn slots(&mut self) -> impl Iterator<Item = &mut u32> {
        self.logits.entries.columns.iter_mut()
    }

    /// Whether it looks at a slot of these.
    pub(super) fn looks_at(&self, slots: impl Fn(u32) -> bool) -> bool {
        self.logits.entries.columns.iter().any(|&slot| slots(slot))
    }

    fn potential(&self) -> &dyn Potential {
        match &self.shape {
            Shape::Features(mixture) => mixture,
            Shape::Product(product) => product,
            Shape::Squares(squares) => squares,
        }
    }

    /// Adds the statistics to `out`, which belong to slots; returns the sum of log-normalisers.
    pub(super) fn value_and_gradient(&self, messages: &[f64], out: &mut [f64]) -> Result<f64> {
        let at = self.logits.at(messages);
        let mut gradient = vec![0.0; at.len()];
        let value = self.potential().value_and_gradient(&at, &mut gradient)?;
        self.logits.entries.multiply_transposed(&gradient, out);
        Ok(value)
    }

    /// The sum of log-normalisers alone.
    pub(super) fn value(&self, messages: &[f64]) -> Result<f64> {
        self.potential().value(&self.logits.at(messages))
    }

    /// The same at several messages, each with an error of its own.
    pub(super) fn values(&self, messages: &[&[f64]]) -> Vec<Result<f64>> {
        match &self.shape {
            Shape::Squares(squares) => {
                let at: Vec<Vec<f64>> = messages.iter().map(|at| self.logits.at(at)).collect();
                squares.values(&at)
            }
            _ => messages.iter().map(|at| self.value(at)).collect(),
        }
    }

    /// About how many numbers an evaluation goes through.
    pub(super) fn size(&self) -> usize {
        match &self.shape {
            Shape::Squares(squares) => self.count * squares.columns(),
            _ => self.count * self.states,
        }
    }

    /// About how many products of numbers a draw of all rows takes.
    pub(super) fn draw_cost(&self) -> usize {
        match &self.shape {
            Shape::Squares(_) => self.size() + self.count * POLYA_GAMMA,
            _ => self.size(),
        }
    }

    /// About how many products of numbers one of several values takes, where it is less than a pass.
    pub(super) fn value_cost(&self) -> Option<usize> {
        match &self.shape {
            Shape::Squares(_) => Some((self.size() + self.count * LOGISTIC) / WIDE),
            _ => None,
        }
    }

    /// About how many products of numbers the whole Hessian takes, where it is made at once.
    pub(super) fn hessian_cost(&self) -> Option<usize> {
        match &self.shape {
            Shape::Squares(squares) => {
                let pairs = squares.dim();
                Some(self.count.saturating_mul(pairs * pairs / 2) / WIDE)
            }
            _ => None,
        }
    }

    /// Adds the whole Hessian to a square matrix that has rows of so many numbers, where it is made at once.
    pub(super) fn add_hessian(&self, messages: &[f64], size: usize, out: &mut [f64]) -> Result<()> {
        let Shape::Squares(squares) = &self.shape else {
            return Ok(());
        };
        let pairs = squares.dim();
        let mut hessian = vec![0.0; pairs * pairs];
        squares.add_hessian(&self.logits.at(messages), &mut hessian)?;
        let entries = &self.logits.entries;
        for (i, row) in hessian.chunks_exact(pairs.max(1)).enumerate() {
            for (slot, coefficient) in entries.row(i) {
                let out = &mut out[slot as usize * size..][..size];
                for (j, second) in row.iter().enumerate() {
                    for (other, factor) in entries.row(j) {
                        out[other as usize] += coefficient * factor * second;
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds the Hessian times `along` to `out`.
    pub(super) fn hessian_product(
        &self,
        messages: &[f64],
        along: &[f64],
        out: &mut [f64],
    ) -> Result<()> {
        let at = self.logits.at(messages);
        let [mut changes, mut product] = [(); 2].map(|()| vec![0.0; at.len()]);
        self.logits.entries.multiply(along, &mut changes);
        (self.potential()).hessian_product(&at, &changes, &mut product)?;
        self.logits.entries.multiply_transposed(&product, out);
        Ok(())
    }

    /// Adds the statistics of rows that `choose` gives a state, and `faint` of all others; rows that may have a few states
    /// only are in all of these alike.
    pub(super) fn statistics_of(
        &self,
        faint: f64,
        mut choose: impl FnMut(usize) -> Option<usize>,
        out: &mut [f64],
    ) {
        // Pólya-Gamma variables have no states to choose from.
        let rows = if self.are_labels() { self.count } else { 0 };
        let chosen: Vec<Option<usize>> = (0..rows).map(|_| choose(self.states)).collect();
        let weight = |row: usize| Some(if chosen[row].is_some() { 1.0 } else { faint });
        self.add_chosen(faint, &chosen, weight, out);
    }

    /// Adds the statistics of rows in these states, and `faint` of those without one.
    pub(super) fn statistics_at(&self, faint: f64, states: &[Option<usize>], out: &mut [f64]) {
        let weight = |row: usize| states[row].is_none().then_some(faint);
        self.add_chosen(faint, states, weight, out);
    }

    fn add_chosen(
        &self,
        faint: f64,
        chosen: &[Option<usize>],
        weight: impl Fn(usize) -> Option<f64>,
        out: &mut [f64],
    ) {
        let fill = |row: usize, state: usize| match chosen[row] {
            None => faint / self.states as f64,
            Some(one) => f64::from(u8::from(one == state)),
        };
        let found = match &self.shape {
            Shape::Features(mixture) => mixture.statistics_of(|first, width, out| {
                for (place, out) in out.iter_mut().enumerate() {
                    *out = fill(first + place % width, place / width);
                }
            }),
            Shape::Product(product) => Ok(product.statistics_of(weight, fill)),
            Shape::Squares(squares) => {
                // Every variable has its prior mean.
                let mut statistics = vec![0.0; squares.dim()];
                let zero = statistics.clone();
                (squares.value_and_gradient(&zero, &mut statistics)).map(|_| statistics)
            }
        };
        if let Ok(statistics) = found {
            self.logits.entries.multiply_transposed(&statistics, out);
        }
    }

    /// How often a sum over rows reads a product, for each product that it reads.
    pub(super) fn readings(&self) -> f64 {
        let products = self.logits.entries.columns.len().max(1) as f64;
        let reads = match &self.shape {
            Shape::Features(_) | Shape::Squares(_) => {
                self.count * self.logits.entries.columns.len()
            }
            Shape::Product(product) => self.count * self.states * product.uses(),
        };
        reads as f64 / products
    }

    /// What logits are made of at these messages, for [`RowKernel::logits_of`].
    pub(super) fn tables(&self, messages: &[f64]) -> Vec<f64> {
        self.logits.at(messages)
    }

    /// The logits of one row, before they are normalised.
    pub(super) fn logits_of(&self, row: usize, tables: &[f64], out: &mut [f64]) {
        match &self.shape {
            Shape::Features(mixture) => {
                let mut numbers = vec![0.0; mixture.rows().columns()];
                mixture.rows().row(row, &mut numbers);
                let features = features(&numbers);
                for (out, table) in out.iter_mut().zip(tables.chunks_exact(features.len())) {
                    *out = dot(table, &features);
                }
            }
            Shape::Product(product) => product.logits_of(row, tables, out),
            // No logits.
            Shape::Squares(_) => {}
        }
    }

    /// Adds `weight` times the statistics of one row in this state.
    pub(super) fn add_row(&self, row: usize, state: usize, weight: f64, out: &mut [f64]) {
        let entries = &self.logits.entries;
        match &self.shape {
            Shape::Features(mixture) => {
                let mut numbers = vec![0.0; mixture.rows().columns()];
                mixture.rows().row(row, &mut numbers);
                let mut features = features(&numbers);
                for feature in &mut features {
                    *feature *= weight;
                }
                entries.transposed_rows(state * features.len(), &features, out);
            }
            Shape::Product(product) => {
                for place in product.places(row, state) {
                    entries.transposed_rows(place, &[weight], out);
                }
            }
            Shape::Squares(_) => {}
        }
    }

    /// Draws a state of each row, counted from 0, and adds the statistics.
    pub(super) fn draw<R: Rng + ?Sized>(
        &self,
        messages: &[f64],
        rng: &mut R,
        buffers: &mut RowBuffers,
        labels: &mut [f64],
        out: &mut [f64],
    ) -> Result<()> {
        let RowBuffers { logits, sums, .. } = buffers;
        logits.clear();
        logits.extend_from_slice(&self.logits.constants);
        self.logits.entries.multiply(messages, logits);
        match &self.shape {
            Shape::Features(mixture) => *sums = mixture.draw(logits, rng, labels)?,
            Shape::Product(product) => product.draw(rng, buffers, labels)?,
            Shape::Squares(squares) => squares.draw(logits, rng, labels, sums)?,
        }
        self.logits.entries.multiply_transposed(&buffers.sums, out);
        Ok(())
    }

    /// Responsibilities of one row after another.
    pub(super) fn responsibilities(
        &self,
        messages: &[f64],
        mut visit: impl FnMut(usize, &[f64]),
    ) -> Result<()> {
        let logits = self.logits.at(messages);
        match &self.shape {
            Shape::Features(mixture) => {
                let mut row = vec![0.0; self.states];
                mixture.responsibilities(&logits, |first, width, all| {
                    for column in 0..width {
                        for (state, row) in row.iter_mut().enumerate() {
                            *row = all[state * width + column];
                        }
                        visit(first + column, &row);
                    }
                })
            }
            Shape::Product(product) => product.responsibilities(&logits, visit),
            Shape::Squares(_) => Ok(()),
        }
    }
}

/// The entries of a matrix of second moments, and the shape of rows that have squares.
fn with_squares(rows: &Rows) -> Result<Option<(Sums, Shape)>> {
    let [
        RowPart::Squares {
            columns,
            values,
            shapes,
            sums,
        },
    ] = rows.parts.as_slice()
    else {
        return Ok(None);
    };
    let squares = SquareSum::new(*columns, values.clone(), shapes.clone())?;
    Ok(Some((sums.clone(), Shape::Squares(squares))))
}

/// Logits and shape of rows that have features, where all else is the same for all of them.
fn with_features(rows: &Rows) -> Option<(Sums, Shape)> {
    let (columns, values, sums) = rows.parts.iter().find_map(|part| match part {
        RowPart::Features {
            columns,
            values,
            sums,
        } => Some((*columns, values, sums)),
        _ => None,
    })?;
    let lookups = rows.parts.iter().flat_map(|part| match part {
        RowPart::Lookup { uses, sums } => vec![sums; uses.len()],
        _ => vec![],
    });
    let lookups: Vec<&Sums> = lookups.collect();
    let features = Features::Full.count(columns);
    let mut logits = Sums::default();
    for place in 0..features * rows.states {
        // What is the same for all rows goes to the first of a state's features, which is 1.
        let lookups = lookups.iter().filter(|_| place % features == 0);
        let lookups = lookups.map(|&sums| (sums, place / features));
        logits.push([(sums, place)].into_iter().chain(lookups));
    }
    let blocks = Table::new(values, columns, &vec![0.0; columns], &vec![1.0; columns]);
    let mixture = SoftmaxSum::new(blocks, Features::Full, rows.states);
    Some((logits, Shape::Features(mixture)))
}

#[cfg(test)]
mod tests;
