//! Decides how responsibilities are computed where logits are sums of lookups by key: as products of exponentials.

use std::hash::{DefaultHasher, Hash, Hasher};

use hashbrown::HashTable;
use rand::Rng;

use super::Linear;
use crate::graph::rows::{RowPart, Rows};
use collapsar_core::family::pick;
use collapsar_core::kernel::gamma::exp_below;
use collapsar_core::vector::add;
use collapsar_core::{Error, Result};

/// Responsibilities as products of a number for each key and, perhaps, a weight of the row's own.
#[derive(Debug)]
pub(super) struct Product {
    pub(super) lookups: Vec<Linear>,
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

/// The states that each row may have, with weights.
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

impl Product {
    pub(super) fn new(rows: Rows, slots: &[u32]) -> Self {
        let count = rows.count;
        let (mut lookups, mut lists, mut support) = (vec![], vec![], None);
        let mut own = vec![];
        for part in rows.parts {
            match part {
                RowPart::Lookup { mut uses, sums } => {
                    own.resize(own.len() + uses.len(), lookups.len());
                    lookups.push(Linear::new(&sums, slots));
                    // An empty list is the first key for all rows.
                    for keys in &mut uses {
                        keys.resize(count, 0);
                    }
                    lists.append(&mut uses);
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

    /// The logits of all keys.
    fn logits_at(&self, messages: &[f64]) -> Vec<Vec<f64>> {
        let lookups = self.lookups.iter();
        lookups.map(|lookup| lookup.at(messages)).collect()
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

    /// A row's logits.
    fn logits(&self, row: usize, lookups: &[Vec<f64>], out: &mut [f64]) {
        let states = out.len();
        out.fill(0.0);
        for (key, lookup) in self.looked_up(row, lookups) {
            add(out, 1.0, &lookup[key * states..][..states]);
        }
        if let Some(support) = &self.support {
            let (possible, weights) = support.row(row);
            let mut sparse = vec![f64::NEG_INFINITY; states];
            for (&state, weight) in possible.iter().zip(weights) {
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
        let logits = self.logits_at(messages);
        let tables: Vec<(Vec<f64>, Vec<f64>)> = (logits.iter())
            .map(|logits| Self::exponentials(logits, states))
            .collect();
        let mut value = self.constant;
        let mut row_weights = vec![0.0; states];
        let mut dense = vec![0.0; states];
        for row in 0..self.weights.len() {
            let keys = self.looked_up(row, &tables);
            let shift: f64 = keys.map(|(key, table)| table.1[key]).sum();
            let out: &mut [f64] = if let Some(support) = &self.support {
                let (list, weights) = support.row(row);
                let out = &mut row_weights[..list.len()];
                out.copy_from_slice(weights);
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
                        for (out, &state) in out.iter_mut().zip(support.row(row).0) {
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

    pub(super) fn value_and_gradient(
        &self,
        messages: &[f64],
        states: usize,
        out: &mut [f64],
    ) -> Result<f64> {
        let mut sums = self.zeros();
        let value = self.visit(messages, states, |row, r| {
            self.send(row, states, r, &mut sums);
        })?;
        self.gather(&sums, out);
        Ok(value)
    }

    pub(super) fn hessian_product(
        &self,
        messages: &[f64],
        along: &[f64],
        states: usize,
        out: &mut [f64],
    ) -> Result<()> {
        let directions: Vec<Vec<f64>> = (self.lookups.iter())
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
                        for (change, &state) in changes.iter_mut().zip(support.row(row).0) {
                            *change += part[state as usize];
                        }
                    }
                    None => add(changes, 1.0, part),
                }
            }
            let mean = changes.iter().zip(r).map(|(c, r)| c * r).sum::<f64>() / self.weights[row];
            (changes.iter_mut().zip(r)).for_each(|(c, r)| *c = r * (*c - mean));
            self.send(row, states, changes, &mut sums);
        })?;
        self.gather(&sums, out);
        Ok(())
    }

    /// Adds the statistics of rows whose responsibilities `fill` gives; those that may have a few
    /// states only have all of these alike, with the row's `weight`.
    pub(super) fn statistics_of(
        &self,
        states: usize,
        weight: impl Fn(usize) -> f64,
        fill: impl Fn(usize, usize) -> f64,
        out: &mut [f64],
    ) {
        let mut sums = self.zeros();
        let mut responsibilities = vec![0.0; states];
        for (row, &merged) in self.of.iter().enumerate() {
            let merged = merged as usize;
            let filled = if let Some(support) = &self.support {
                let possible = support.row(merged).0.len();
                responsibilities[..possible].fill(weight(row) / possible as f64);
                &responsibilities[..possible]
            } else {
                for (state, r) in responsibilities.iter_mut().enumerate() {
                    *r = fill(row, state);
                }
                &responsibilities[..]
            };
            self.send(merged, states, filled, &mut sums);
        }
        self.gather(&sums, out);
    }

    /// Draws a state of each row, counted from 0, and adds the statistics.
    pub(super) fn draw<R: Rng + ?Sized>(
        &self,
        messages: &[f64],
        states: usize,
        rng: &mut R,
        labels: &mut [f64],
        out: &mut [f64],
    ) -> Result<()> {
        let mut sums = self.zeros();
        let mut counts = vec![0.0; states];
        // The states of distinct rows, each as often as there are rows that are the same.
        let mut drawn = Vec::with_capacity(labels.len());
        let mut starts = Vec::with_capacity(self.weights.len());
        self.visit(messages, states, |row, weights| {
            starts.push(drawn.len());
            let counts = &mut counts[..weights.len()];
            counts.fill(0.0);
            for _ in 0..self.weights[row] as usize {
                let place = pick(weights, self.weights[row], rng);
                counts[place] += 1.0;
                drawn.push(match &self.support {
                    Some(support) => support.row(row).0[place],
                    None => place as u32,
                });
            }
            self.send(row, states, counts, &mut sums);
        })?;
        for (label, &merged) in labels.iter_mut().zip(&self.of) {
            let next = &mut starts[merged as usize];
            *label = f64::from(drawn[*next]);
            *next += 1;
        }
        self.gather(&sums, out);
        Ok(())
    }

    /// Responsibilities of one row after another.
    pub(super) fn responsibilities(
        &self,
        messages: &[f64],
        states: usize,
        mut visit: impl FnMut(usize, &[f64]),
    ) -> Result<()> {
        let logits = self.logits_at(messages);
        let mut responsibilities = vec![0.0; states];
        for (row, &merged) in self.of.iter().enumerate() {
            self.logits(merged as usize, &logits, &mut responsibilities);
            normalise(row, &mut responsibilities)?;
            visit(row, &responsibilities);
        }
        Ok(())
    }

    fn zeros(&self) -> Vec<Vec<f64>> {
        (self.lookups.iter())
            .map(|lookup| vec![0.0; lookup.constants.len()])
            .collect()
    }

    /// Adds numbers for a row's states to the sums of its keys.
    fn send(&self, row: usize, states: usize, numbers: &[f64], sums: &mut [Vec<f64>]) {
        for (&key, &lookup) in self.keys(row).iter().zip(&self.uses) {
            let sums = &mut sums[lookup][key as usize * states..][..states];
            match &self.support {
                None => add(sums, 1.0, numbers),
                Some(support) => {
                    for (&state, number) in support.row(row).0.iter().zip(numbers) {
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
                let own = constants[range.clone()].iter().copied();
                let largest = own.fold(f64::NEG_INFINITY, f64::max);
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
