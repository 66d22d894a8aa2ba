//! Decides how responsibilities are computed where logits are sums of lookups by key: as products of exponentials.

use std::hash::{DefaultHasher, Hash, Hasher};

use hashbrown::HashTable;
use rand::Rng;

use super::RowBuffers;
use crate::graph::rows::{RowPart, Rows, Sums};
use collapsar_core::elementary::Elementary;
use collapsar_core::family::pick;
use collapsar_core::kernel::gamma::exp_below;
use collapsar_core::vector::add;
use collapsar_core::{Error, Potential, Result};

/// Responsibilities as products of a number for each key and, perhaps, a weight of the row's own.
#[derive(Debug)]
pub(super) struct Product {
    states: usize,
    /// How many logits there are: one for each state of each key.
    logits: usize,
    /// How many keys a row has.
    uses: usize,
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
}

/// Below this a sum of products is done again in logarithms.
const SMALLEST: f64 = 1e-250;

impl Product {
    /// Takes rows over; also returns the sums that are their logits, states fastest.
    pub(super) fn new(rows: Rows) -> (Sums, Self) {
        let Rows { count, states, .. } = rows;
        let (mut logits, mut lists, mut support) = (Sums::default(), vec![], None);
        for part in rows.parts {
            match part {
                RowPart::Lookup { mut uses, sums } => {
                    let first = (logits.len() / states) as u32;
                    (0..sums.len()).for_each(|place| logits.push([(&sums, place)]));
                    for keys in &mut uses {
                        // An empty list is the first key for all rows.
                        keys.resize(count, 0);
                        for key in keys {
                            *key += first;
                        }
                    }
                    lists.append(&mut uses);
                }
                RowPart::Support {
                    starts,
                    states,
                    constants,
                } => support = Some((starts, states, constants)),
                RowPart::Features { .. } | RowPart::Squares { .. } => {}
            }
        }
        let mut product = Self {
            states,
            logits: logits.len(),
            uses: lists.len(),
            keys: vec![],
            weights: vec![],
            support: support.is_some().then(|| Support {
                starts: vec![0],
                ..Support::default()
            }),
            constant: 0.0,
            of: vec![0; count],
        };
        product.merge(&lists, support.as_ref());
        (logits, product)
    }

    /// Finds rows that are the same, or the same up to a factor of their weights; a support is where each row's
    /// states begin, states, and constant parts of logits.
    fn merge(&mut self, lists: &[Vec<u32>], support: Option<&(Vec<usize>, Vec<u32>, Vec<f64>)>) {
        let mut found: HashTable<u32> = HashTable::new();
        let (mut keys, mut weights, mut hashes) = (vec![], vec![], vec![]);
        for row in 0..self.of.len() {
            keys.clear();
            keys.extend(lists.iter().map(|list| list[row]));
            let mut hasher = DefaultHasher::new();
            keys.hash(&mut hasher);
            let mut own = None;
            if let Some((starts, states, constants)) = support {
                let range = starts[row]..starts[row + 1];
                let constants = constants[range.clone()].iter();
                let largest = constants.clone().copied().fold(f64::NEG_INFINITY, f64::max);
                weights.clear();
                weights.extend(constants.map(|constant| (constant - largest).exp_()));
                states[range.clone()].hash(&mut hasher);
                for weight in &weights {
                    weight.to_bits().hash(&mut hasher);
                }
                self.constant += largest;
                own = Some((&states[range], &weights[..]));
            }
            let hash = hasher.finish();
            let same = found.find(hash, |&other| {
                let other = other as usize;
                let kept = self.support.as_ref().map(|support| support.row(other));
                hashes[other] == hash && self.keys(other) == keys && own == kept
            });
            let merged = if let Some(&other) = same {
                other
            } else {
                let new = self.weights.len() as u32;
                self.keys.extend_from_slice(&keys);
                self.weights.push(0.0);
                hashes.push(hash);
                if let (Some(kept), Some((states, weights))) = (&mut self.support, own) {
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
    }

    /// How many keys a row has.
    pub(super) fn uses(&self) -> usize {
        self.uses
    }

    /// The logits of a row before distinct rows were found.
    pub(super) fn logits_of(&self, row: usize, logits: &[f64], out: &mut [f64]) {
        self.logits(self.of[row] as usize, logits, out);
    }

    /// The logits that a row in this state reads.
    pub(super) fn places(&self, row: usize, state: usize) -> impl Iterator<Item = usize> {
        let keys = self.keys(self.of[row] as usize).iter();
        keys.map(move |&key| key as usize * self.states + state)
    }

    fn keys(&self, row: usize) -> &[u32] {
        &self.keys[row * self.uses..(row + 1) * self.uses]
    }

    /// What a table has for the states of each of a row's keys.
    fn looked_up<'a>(&'a self, row: usize, table: &'a [f64]) -> impl Iterator<Item = &'a [f64]> {
        let keys = self.keys(row).iter();
        keys.map(|&key| &table[key as usize * self.states..][..self.states])
    }

    /// Changes numbers of the states that a row may have by those of all states.
    fn change(&self, row: usize, numbers: &mut [f64], all: &[f64], by: impl Fn(&mut f64, f64)) {
        match &self.support {
            Some(support) => {
                for (number, &state) in numbers.iter_mut().zip(support.row(row).0) {
                    by(number, all[state as usize]);
                }
            }
            None => (numbers.iter_mut().zip(all)).for_each(|(number, &one)| by(number, one)),
        }
    }

    /// A row's logits.
    fn logits(&self, row: usize, logits: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for part in self.looked_up(row, logits) {
            add(out, 1.0, part);
        }
        if let Some(support) = &self.support {
            let (possible, weights) = support.row(row);
            let mut sparse = vec![f64::NEG_INFINITY; out.len()];
            for (&state, weight) in possible.iter().zip(weights) {
                sparse[state as usize] = out[state as usize] + weight.ln_();
            }
            out.copy_from_slice(&sparse);
        }
    }

    /// Exponentials of logits relative to the largest of each key, and those.
    fn exponentials(&self, logits: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (mut out, mut shifts) = (vec![0.0; logits.len()], vec![]);
        self.write_exponentials(logits, &mut out, |shift| shifts.push(shift));
        (out, shifts)
    }

    fn write_exponentials(&self, logits: &[f64], out: &mut [f64], mut see: impl FnMut(f64)) {
        for (logits, out) in logits.chunks(self.states).zip(out.chunks_mut(self.states)) {
            let shift = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if shift.is_finite() {
                exp_below(logits, shift, out);
                see(shift);
            } else {
                out.fill(0.0);
                see(0.0);
            }
        }
    }

    /// Products of the exponentials of a row's keys, for the states of its support alone where it has one.
    fn weigh<'a>(&self, row: usize, exponentials: &[f64], out: &'a mut [f64]) -> &'a mut [f64] {
        let mut parts = self.looked_up(row, exponentials);
        let first = match &self.support {
            Some(support) => Some(support.row(row).1),
            None => parts.next(),
        };
        let out = &mut out[..first.map_or(self.states, <[f64]>::len)];
        match first {
            Some(first) => out.copy_from_slice(first),
            None => out.fill(1.0),
        }
        for part in parts {
            self.change(row, out, part, |out, part| *out *= part);
        }
        out
    }

    /// Visits every distinct row with its responsibilities, states of its support alone where it
    /// has one; returns the sum of log-normalisers.
    fn visit(&self, logits: &[f64], mut each: impl FnMut(usize, &[f64])) -> Result<f64> {
        let (exponentials, shifts) = self.exponentials(logits);
        let mut value = self.constant;
        let mut row_weights = vec![0.0; self.states];
        let mut dense = vec![0.0; self.states];
        for row in 0..self.weights.len() {
            let keys = self.keys(row).iter();
            let shift: f64 = keys.map(|&key| shifts[key as usize]).sum();
            let out = self.weigh(row, &exponentials, &mut row_weights);
            let total: f64 = out.iter().sum();
            if total > SMALLEST {
                value += self.weights[row] * (shift + total.ln_());
                let scale = self.weights[row] / total;
                for weight in out.iter_mut() {
                    *weight *= scale;
                }
            } else {
                self.logits(row, logits, &mut dense);
                value += self.weights[row] * normalise(row, &mut dense)?;
                self.change(row, out, &dense, |out, r| *out = self.weights[row] * r);
            }
            each(row, out);
        }
        Ok(value)
    }

    /// The statistics of rows whose responsibilities `fill` gives; those that may have a few
    /// states only have all of these alike, with the row's `weight`, where it has one.
    pub(super) fn statistics_of(
        &self,
        weight: impl Fn(usize) -> Option<f64>,
        fill: impl Fn(usize, usize) -> f64,
    ) -> Vec<f64> {
        let mut sums = vec![0.0; self.logits];
        let mut responsibilities = vec![0.0; self.states];
        for (row, &merged) in self.of.iter().enumerate() {
            let merged = merged as usize;
            let filled = if let Some(support) = &self.support {
                let possible = support.row(merged).0;
                let out = &mut responsibilities[..possible.len()];
                match weight(row) {
                    Some(weight) => out.fill(weight / possible.len() as f64),
                    None => (out.iter_mut().zip(possible))
                        .for_each(|(r, &state)| *r = fill(row, state as usize)),
                }
                &responsibilities[..possible.len()]
            } else {
                for (state, r) in responsibilities.iter_mut().enumerate() {
                    *r = fill(row, state);
                }
                &responsibilities[..]
            };
            self.send(merged, filled, &mut sums);
        }
        sums
    }

    /// Draws a state of each row, counted from 0, and leaves the statistics of these among the buffers, which
    /// hold the logits.
    pub(super) fn draw<R: Rng + ?Sized>(
        &self,
        rng: &mut R,
        buffers: &mut RowBuffers,
        labels: &mut [f64],
    ) -> Result<()> {
        let states = self.states;
        let RowBuffers {
            logits,
            sums,
            exponentials,
            weights,
            counts,
            drawn,
            starts,
        } = buffers;
        sums.clear();
        sums.resize(self.logits, 0.0);
        exponentials.resize(self.logits, 0.0);
        weights.resize(states, 0.0);
        counts.resize(states, 0.0);
        drawn.clear();
        starts.clear();
        self.write_exponentials(logits, exponentials, |_| ());
        for row in 0..self.weights.len() {
            let weights = self.weigh(row, exponentials, weights);
            let mut total: f64 = weights.iter().sum();
            if total <= SMALLEST {
                let mut dense = vec![0.0; states];
                self.logits(row, logits, &mut dense);
                normalise(row, &mut dense)?;
                self.change(row, weights, &dense, |out, r| *out = r);
                total = 1.0;
            }
            // The states of distinct rows, each as often as there are rows that are the same.
            starts.push(drawn.len() as u32);
            let counts = &mut counts[..weights.len()];
            counts.fill(0.0);
            for _ in 0..self.weights[row] as usize {
                let place = pick(weights, total, rng);
                counts[place] += 1.0;
                drawn.push(match &self.support {
                    Some(support) => support.row(row).0[place],
                    None => place as u32,
                });
            }
            self.send(row, counts, sums);
        }
        for (label, &merged) in labels.iter_mut().zip(&self.of) {
            let next = &mut starts[merged as usize];
            *label = f64::from(drawn[*next as usize]);
            *next += 1;
        }
        Ok(())
    }

    /// Responsibilities of one row after another.
    pub(super) fn responsibilities(
        &self,
        logits: &[f64],
        mut visit: impl FnMut(usize, &[f64]),
    ) -> Result<()> {
        let mut responsibilities = vec![0.0; self.states];
        for (row, &merged) in self.of.iter().enumerate() {
            self.logits(merged as usize, logits, &mut responsibilities);
            normalise(row, &mut responsibilities)?;
            visit(row, &responsibilities);
        }
        Ok(())
    }

    /// Adds numbers for a row's states to the sums of its keys.
    fn send(&self, row: usize, numbers: &[f64], sums: &mut [f64]) {
        for &key in self.keys(row) {
            let sums = &mut sums[key as usize * self.states..][..self.states];
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
}

impl Potential for Product {
    fn dim(&self) -> usize {
        self.logits
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        gradient.fill(0.0);
        self.visit(at, |row, r| self.send(row, r, gradient))
    }

    fn value(&self, at: &[f64]) -> Result<f64> {
        self.visit(at, |_, _| ())
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        out.fill(0.0);
        let mut changes = vec![0.0; self.states];
        self.visit(at, |row, r| {
            let changes = &mut changes[..r.len()];
            changes.fill(0.0);
            for part in self.looked_up(row, along) {
                self.change(row, changes, part, |change, part| *change += part);
            }
            let mean = changes.iter().zip(r).map(|(c, r)| c * r).sum::<f64>() / self.weights[row];
            (changes.iter_mut().zip(r)).for_each(|(c, r)| *c = r * (*c - mean));
            self.send(row, changes, out);
        })?;
        Ok(())
    }
}

impl Support {
    /// States and weights of a row.
    fn row(&self, row: usize) -> (&[u32], &[f64]) {
        let range = self.starts[row]..self.starts[row + 1];
        (&self.states[range.clone()], &self.weights[range])
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
        *logit = (*logit - highest).exp_();
        total += *logit;
    }
    for weight in logits.iter_mut() {
        *weight /= total;
    }
    Ok(highest + total.ln_())
}
