//! The sum over rows: logits, responsibilities and what they send back.

use std::hash::{DefaultHasher, Hash, Hasher};

use hashbrown::HashTable;

use super::layout::Entries;
use super::rows::{RowPart, Rows, Sums};
use super::terms::Terms;
use collapsar_core::kernel::gamma::exp_below;
use collapsar_core::rows::{Features, Rows as Table, SoftmaxSum};
use collapsar_core::{Error, Potential, Result};

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

/// Responsibilities as products of a number for each key and, perhaps, a weight of the row's own.
#[derive(Debug)]
struct Product {
    lookups: Vec<Linear>,
    /// The lookup that each of a row's keys belongs to.
    uses: Vec<usize>,
    /// Keys of distinct rows, those of a row together.
    keys: Vec<u32>,
    /// How many rows are the same.
    weights: Vec<f64>,
    support: Option<Support>,
    /// What the largest weights of all rows add to the value.
    constant: f64,
    /// The distinct row of each row.
    of: Vec<u32>,
}

#[derive(Debug, Default)]
struct Support {
    starts: Vec<usize>,
    states: Vec<u32>,
    /// Relative to each row's largest.
    weights: Vec<f64>,
    /// The logarithm of that, by row, until rows are merged.
    largest: Vec<f64>,
}

/// Below this a sum of products is done again in logarithms.
const SMALLEST: f64 = 1e-250;

impl Linear {
    /// Messages stand at `slots[product]`.
    fn new(sums: &Sums, slots: &[u32]) -> Self {
        Self {
            constants: sums.constants.clone(),
            entries: Entries {
                starts: sums.starts.clone(),
                columns: sums
                    .products
                    .iter()
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
        let places: Vec<u32> = (0..rows.products.len())
            .map(|product| {
                let atoms = rows.products.atoms(product);
                slots.add(atoms, 1.0, rows.products.source(product)) as u32
            })
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

    /// Visits the slots that it looks at.
    pub(super) fn each_slot(&self, visit: impl FnMut(u32)) {
        match &self.shape {
            Shape::Features { linear, .. } => {
                linear.entries.columns.iter().copied().for_each(visit);
            }
            Shape::Product(product) => {
                let columns = product
                    .lookups
                    .iter()
                    .flat_map(|lookup| &lookup.entries.columns);
                columns.copied().for_each(visit);
            }
        }
    }

    /// Takes the numbers of messages in the place of those of slots.
    pub(super) fn renumber(&mut self, messages: &[u32]) {
        let renumber = |linear: &mut Linear| {
            for column in &mut linear.entries.columns {
                *column = messages[*column as usize];
            }
        };
        match &mut self.shape {
            Shape::Features { linear, .. } => renumber(linear),
            Shape::Product(product) => product.lookups.iter_mut().for_each(renumber),
        }
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
                let mut sums = product.zeros();
                let mut responsibilities = vec![0.0; states];
                for row in 0..self.count {
                    let merged = product.of[row] as usize;
                    // Rows that may have a few states only have those alike.
                    let filled = if let Some(support) = &product.support {
                        let possible = support.row(merged).0.len();
                        let count = if chosen[row] == NONE { faint } else { 1.0 };
                        responsibilities[..possible].fill(count / possible as f64);
                        &responsibilities[..possible]
                    } else {
                        for (state, r) in responsibilities.iter_mut().enumerate() {
                            *r = fill(row, state);
                        }
                        &responsibilities[..]
                    };
                    product.send(merged, states, filled, &mut sums);
                }
                product.gather(&sums, out);
            }
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
            Shape::Product(product) => {
                let logits: Vec<Vec<f64>> = product
                    .lookups
                    .iter()
                    .map(|lookup| lookup.at(messages))
                    .collect();
                let mut row = vec![0.0; self.states];
                for index in 0..self.count {
                    product.logits(product.of[index] as usize, &logits, &mut row);
                    normalise(index, &mut row)?;
                    visit(index, &row);
                }
                Ok(())
            }
        }
    }
}

/// Turns logits into probabilities; returns the logarithm of their sum.
fn normalise(row: usize, logits: &mut [f64]) -> Result<f64> {
    let highest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !highest.is_finite() {
        return Err(Error::Datum {
            row,
            found: highest,
        });
    }
    let mut total = 0.0;
    for logit in logits.iter_mut() {
        *logit = (*logit - highest).exp();
        total += *logit;
    }
    for weight in logits.iter_mut() {
        *weight /= total;
    }
    Ok(highest + total.ln())
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
    let table = Table::new(values, columns, &vec![0.0; columns], &vec![1.0; columns]);
    Some(Shape::Features {
        mixture: SoftmaxSum::new(table, Features::Full, rows.states),
        linear,
    })
}

impl Linear {
    /// Adds a number for each state to the first of each state's features.
    fn add_to_first(&mut self, other: &Self, features: usize, states: usize) {
        let mut entries = Entries {
            starts: vec![0],
            ..Entries::default()
        };
        let copy = |from: &Entries, row: usize, entries: &mut Entries| {
            let range = from.starts[row] as usize..from.starts[row + 1] as usize;
            entries
                .columns
                .extend_from_slice(&from.columns[range.clone()]);
            entries.values.extend_from_slice(&from.values[range]);
        };
        for place in 0..features * states {
            copy(&self.entries, place, &mut entries);
            if place % features == 0 {
                self.constants[place] += other.constants[place / features];
                copy(&other.entries, place / features, &mut entries);
            }
            entries.starts.push(entries.columns.len() as u32);
        }
        self.entries = entries;
    }
}

impl Product {
    fn new(rows: Rows, slots: &[u32]) -> Self {
        let count = rows.count;
        let all_first = |keys: Vec<u32>| {
            if keys.is_empty() {
                vec![0; count]
            } else {
                keys
            }
        };
        let (mut lookups, mut lists, mut support) = (vec![], vec![], None);
        let mut own = vec![];
        for part in rows.parts {
            match part {
                RowPart::Lookup { uses, sums } => {
                    own.resize(own.len() + uses.len(), lookups.len());
                    lookups.push(Linear::new(&sums, slots));
                    lists.extend(uses.into_iter().map(all_first));
                }
                RowPart::Support {
                    starts,
                    states,
                    constants,
                } => support = Some(Support::new(starts, states, &constants)),
                RowPart::Features { .. } => {}
            }
        }
        let mut product = Self {
            lookups,
            uses: own,
            keys: vec![],
            weights: vec![],
            support,
            constant: 0.0,
            of: vec![0; count],
        };
        product.merge(&lists);
        product
    }

    /// Finds rows that are the same, or the same up to a factor of their weights.
    fn merge(&mut self, lists: &[Vec<u32>]) {
        let mut found: HashTable<u32> = HashTable::new();
        let mut kept = Support {
            starts: vec![0],
            ..Support::default()
        };
        let (mut keys, mut hashes) = (vec![], vec![]);
        for row in 0..self.of.len() {
            keys.clear();
            keys.extend(lists.iter().map(|list| list[row]));
            let own = self.support.as_ref().map(|support| support.row(row));
            let mut hasher = DefaultHasher::new();
            keys.hash(&mut hasher);
            if let (Some((states, weights)), Some(support)) = (own, &self.support) {
                states.hash(&mut hasher);
                for weight in weights {
                    weight.to_bits().hash(&mut hasher);
                }
                self.constant += support.largest[row];
            }
            let hash = hasher.finish();
            let same = found.find(hash, |&other| {
                let other = other as usize;
                hashes[other] == hash
                    && self.keys(other) == keys
                    && own.is_none_or(|own| own == kept.row(other))
            });
            let merged = if let Some(&other) = same {
                other
            } else {
                let new = self.weights.len() as u32;
                self.keys.extend_from_slice(&keys);
                self.weights.push(0.0);
                hashes.push(hash);
                if let Some((states, weights)) = own {
                    kept.states.extend_from_slice(states);
                    kept.weights.extend_from_slice(weights);
                    kept.starts.push(kept.states.len());
                }
                found.insert_unique(hash, new, |&row| hashes[row as usize]);
                new
            };
            self.weights[merged as usize] += 1.0;
            self.of[row] = merged;
        }
        if self.support.is_some() {
            self.support = Some(kept);
        }
    }

    fn keys(&self, row: usize) -> &[u32] {
        let uses = self.uses.len();
        &self.keys[row * uses..(row + 1) * uses]
    }

    /// A row's keys, each with the table of its lookup.
    fn looked_up<'a, T>(
        &'a self,
        row: usize,
        tables: &'a [T],
    ) -> impl Iterator<Item = (usize, &'a T)> {
        let keys = self.keys(row).iter().zip(&self.uses);
        keys.map(|(&key, &lookup)| (key as usize, &tables[lookup]))
    }

    /// Adds a row's responsibilities to the sums of its keys.
    fn scatter(&self, row: usize, responsibilities: &[f64], sums: &mut [Vec<f64>]) {
        let states = responsibilities.len();
        for (&key, &lookup) in self.keys(row).iter().zip(&self.uses) {
            let sums = &mut sums[lookup][key as usize * states..][..states];
            for (sum, r) in sums.iter_mut().zip(responsibilities) {
                *sum += r;
            }
        }
    }

    /// A row's logits.
    fn logits(&self, row: usize, lookups: &[Vec<f64>], out: &mut [f64]) {
        let states = out.len();
        out.fill(0.0);
        for (key, lookup) in self.looked_up(row, lookups) {
            let part = &lookup[key * states..][..states];
            out.iter_mut()
                .zip(part)
                .for_each(|(out, part)| *out += part);
        }
        if let Some(support) = &self.support {
            let range = support.starts[row]..support.starts[row + 1];
            let mut sparse = vec![f64::NEG_INFINITY; states];
            for (&state, weight) in support.states[range.clone()]
                .iter()
                .zip(&support.weights[range])
            {
                sparse[state as usize] = out[state as usize] + weight.ln();
            }
            out.copy_from_slice(&sparse);
        }
    }

    /// Exponentials of logits relative to the largest of each key, and those.
    fn exponentials(logits: &[f64], states: usize) -> (Vec<f64>, Vec<f64>) {
        let mut out = vec![0.0; logits.len()];
        let shifts = (logits.chunks(states).zip(out.chunks_mut(states)))
            .map(|(logits, out)| {
                let shift = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                if shift.is_finite() {
                    exp_below(logits, shift, out);
                    shift
                } else {
                    0.0
                }
            })
            .collect();
        (out, shifts)
    }

    /// Visits every distinct row with its responsibilities, states of its support alone where it
    /// has one; returns the sum of log-normalisers.
    fn visit(
        &self,
        messages: &[f64],
        states: usize,
        mut each: impl FnMut(usize, &[f64]),
    ) -> Result<f64> {
        let logits: Vec<Vec<f64>> = self
            .lookups
            .iter()
            .map(|lookup| lookup.at(messages))
            .collect();
        let tables: Vec<(Vec<f64>, Vec<f64>)> = logits
            .iter()
            .map(|logits| Self::exponentials(logits, states))
            .collect();
        let mut value = self.constant;
        let mut row_weights = vec![0.0; states];
        let mut dense = vec![0.0; states];
        for row in 0..self.weights.len() {
            let keys = self.looked_up(row, &tables);
            let shift: f64 = keys.map(|(key, table)| table.1[key]).sum();
            let out: &mut [f64] = if let Some(support) = &self.support {
                let range = support.starts[row]..support.starts[row + 1];
                let out = &mut row_weights[..range.len()];
                out.copy_from_slice(&support.weights[range.clone()]);
                let list = &support.states[range];
                for (key, (table, _)) in self.looked_up(row, &tables) {
                    let part = &table[key * states..][..states];
                    for (out, &state) in out.iter_mut().zip(list) {
                        *out *= part[state as usize];
                    }
                }
                out
            } else {
                let mut parts = (self.looked_up(row, &tables))
                    .map(|(key, (table, _))| &table[key * states..][..states]);
                let out = &mut row_weights[..states];
                match parts.next() {
                    Some(part) => out.copy_from_slice(part),
                    None => out.fill(1.0),
                }
                for part in parts {
                    out.iter_mut()
                        .zip(part)
                        .for_each(|(out, part)| *out *= part);
                }
                out
            };
            let total: f64 = out.iter().sum();
            if total > SMALLEST {
                value += self.weights[row] * (shift + total.ln());
                let scale = self.weights[row] / total;
                for weight in out.iter_mut() {
                    *weight *= scale;
                }
            } else {
                self.logits(row, &logits, &mut dense);
                value += self.weights[row] * normalise(row, &mut dense)?;
                match &self.support {
                    Some(support) => {
                        let range = support.starts[row]..support.starts[row + 1];
                        for (out, &state) in out.iter_mut().zip(&support.states[range]) {
                            *out = self.weights[row] * dense[state as usize];
                        }
                    }
                    None => {
                        for (out, r) in out.iter_mut().zip(&dense) {
                            *out = self.weights[row] * r;
                        }
                    }
                }
            }
            each(row, out);
        }
        Ok(value)
    }

    fn value_and_gradient(&self, messages: &[f64], states: usize, out: &mut [f64]) -> Result<f64> {
        let mut sums = self.zeros();
        let value = self.visit(messages, states, |row, r| {
            self.send(row, states, r, &mut sums);
        })?;
        self.gather(&sums, out);
        Ok(value)
    }

    fn hessian_product(
        &self,
        messages: &[f64],
        along: &[f64],
        states: usize,
        out: &mut [f64],
    ) -> Result<()> {
        let directions: Vec<Vec<f64>> = self
            .lookups
            .iter()
            .map(|lookup| lookup.along(along))
            .collect();
        let mut sums = self.zeros();
        let mut changes = vec![0.0; states];
        self.visit(messages, states, |row, r| {
            let changes = &mut changes[..r.len()];
            changes.fill(0.0);
            for (key, direction) in self.looked_up(row, &directions) {
                let part = &direction[key * states..][..states];
                match &self.support {
                    Some(support) => {
                        let list = &support.states[support.starts[row]..support.starts[row + 1]];
                        for (change, &state) in changes.iter_mut().zip(list) {
                            *change += part[state as usize];
                        }
                    }
                    None => changes
                        .iter_mut()
                        .zip(part)
                        .for_each(|(c, part)| *c += part),
                }
            }
            let mean = changes.iter().zip(r).map(|(c, r)| c * r).sum::<f64>() / self.weights[row];
            changes
                .iter_mut()
                .zip(r)
                .for_each(|(c, r)| *c = r * (*c - mean));
            self.send(row, states, changes, &mut sums);
        })?;
        self.gather(&sums, out);
        Ok(())
    }

    fn zeros(&self) -> Vec<Vec<f64>> {
        (self.lookups.iter())
            .map(|lookup| vec![0.0; lookup.constants.len()])
            .collect()
    }

    /// Adds numbers for a row's states to the sums of its keys.
    fn send(&self, row: usize, states: usize, numbers: &[f64], sums: &mut [Vec<f64>]) {
        match &self.support {
            None => self.scatter(row, numbers, sums),
            Some(support) => {
                let list = &support.states[support.starts[row]..support.starts[row + 1]];
                for (&key, &lookup) in self.keys(row).iter().zip(&self.uses) {
                    let sums = &mut sums[lookup][key as usize * states..][..states];
                    for (&state, number) in list.iter().zip(numbers) {
                        sums[state as usize] += number;
                    }
                }
            }
        }
    }

    fn gather(&self, sums: &[Vec<f64>], out: &mut [f64]) {
        for (lookup, sums) in self.lookups.iter().zip(sums) {
            lookup.entries.multiply_transposed(sums, out);
        }
    }
}

impl Support {
    /// States and weights of a row.
    fn row(&self, row: usize) -> (&[u32], &[f64]) {
        let range = self.starts[row]..self.starts[row + 1];
        (&self.states[range.clone()], &self.weights[range])
    }

    fn new(starts: Vec<usize>, states: Vec<u32>, constants: &[f64]) -> Self {
        let mut weights = vec![0.0; constants.len()];
        let largest = (starts.windows(2))
            .map(|range| {
                let range = range[0]..range[1];
                let largest = constants[range.clone()]
                    .iter()
                    .copied()
                    .fold(f64::NEG_INFINITY, f64::max);
                for (weight, constant) in weights[range.clone()].iter_mut().zip(&constants[range]) {
                    *weight = (constant - largest).exp();
                }
                largest
            })
            .collect();
        Self {
            starts,
            states,
            weights,
            largest,
        }
    }
}
