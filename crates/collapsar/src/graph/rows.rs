//! Decides how labels that know of no other label are kept: as rows, all at once.
//!
//! A row's logits are sums of parts. A lookup's part depends on a key, such as the word and the
//! document of a token; features are products of a row's numbers, the same for all states; a
//! support lists the states that a row may have with a constant each.

use std::ops::Range;
use std::sync::Arc;

use super::layout::Entries;
use super::terms::Terms;
use super::{Atom, Graph};
use collapsar_core::{Error, Place, Result};

/// Sums of products of atoms with coefficients and a constant, by place.
#[derive(Debug, Clone, Default)]
pub struct Sums {
    pub(super) constants: Vec<f64>,
    /// A row for each sum, a column for each product.
    pub(super) entries: Entries,
}

impl Sums {
    /// How many sums there are.
    pub fn len(&self) -> usize {
        self.constants.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.constants.is_empty()
    }
}

/// A part of a row's logits.
#[derive(Debug, Clone)]
pub enum RowPart {
    /// A logit for each state that depends on a key.
    Lookup {
        /// The key of each row, as often as rows look something up; a list is empty where there is
        /// only one key.
        uses: Vec<Vec<u32>>,
        /// A sum for each key and state, states fastest.
        sums: Sums,
    },
    /// Logits that are linear in 1, the row's numbers and their products.
    Features {
        /// Numbers of a row.
        columns: usize,
        /// The rows' numbers, row by row.
        values: Arc<Vec<f64>>,
        /// A sum for each state and feature, features fastest: 1, the numbers, and the products
        /// of each with itself and those after it.
        sums: Sums,
    },
    /// Rows of Pólya-Gamma variables instead of labels: each times -½ the square of a sum of the row's numbers, each
    /// times something unknown.
    Squares {
        /// Numbers of a row.
        columns: usize,
        /// The rows' numbers, row by row.
        values: Arc<Vec<f64>>,
        /// The shape of each variable.
        shapes: Vec<f64>,
        /// A sum for each pair of columns: what is unknown of one times that of the other, the second column running
        /// fastest from the first on.
        sums: Sums,
    },
    /// The states that a row may have.
    Support {
        /// Where each row's states begin, and the end of the last.
        starts: Vec<usize>,
        /// States.
        states: Vec<u32>,
        /// A constant part of each state's logit.
        constants: Vec<f64>,
    },
}

/// Labels that know of no other label.
#[derive(Debug, Clone)]
pub struct Rows {
    pub(super) first: u32,
    pub(super) count: usize,
    pub(super) states: usize,
    pub(super) parts: Vec<RowPart>,
    /// The products that sums are made of.
    pub(super) products: Terms,
}

impl Rows {
    /// Rows for `count` labels of `states` states, the first of which is `first`.
    pub fn new(first: u32, count: usize, states: usize) -> Self {
        Self {
            first,
            count,
            states,
            parts: vec![],
            products: Terms::default(),
        }
    }

    /// Adds a sum: a constant, which may be negative infinity, and products with coefficients.
    pub fn sum<'a>(
        &mut self,
        sums: &mut Sums,
        constant: f64,
        products: impl IntoIterator<Item = (f64, &'a [Atom])>,
        factor: u32,
    ) {
        let mut sorted = vec![];
        for (coefficient, atoms) in products {
            sorted.clear();
            sorted.extend_from_slice(atoms);
            sorted.sort_unstable();
            let product = self.products.add(&sorted, 1.0, factor);
            sums.entries.columns.push(product as u32);
            sums.entries.values.push(coefficient);
        }
        sums.constants.push(constant);
        sums.entries.starts.end(sums.entries.columns.len());
    }

    /// Adds a part of the logits.
    pub fn part(&mut self, part: RowPart) {
        self.parts.push(part);
    }

    /// Visits the products that a row's logits are sums of.
    pub(super) fn each_product(&self, row: usize, mut visit: impl FnMut(&[Atom])) {
        let mut each = |sums: &Sums, places: Range<usize>| {
            for place in places {
                for &product in &sums.entries.columns[sums.entries.starts.range(place)] {
                    visit(self.products.atoms(product as usize));
                }
            }
        };
        for part in &self.parts {
            match part {
                RowPart::Lookup { uses, sums } => {
                    for keys in uses {
                        let key = keys.get(row).map_or(0, |&key| key as usize);
                        each(sums, key * self.states..(key + 1) * self.states);
                    }
                }
                RowPart::Features { sums, .. } | RowPart::Squares { sums, .. } => {
                    each(sums, 0..sums.len());
                }
                RowPart::Support { .. } => {}
            }
        }
    }

    /// Whether they are Pólya-Gamma variables and not labels.
    pub(super) fn are_squares(&self) -> bool {
        let squares = |part: &RowPart| matches!(part, RowPart::Squares { .. });
        self.parts.iter().any(squares)
    }

    /// Whether a kernel is there for these parts: lookups and at most one support, features with lookups that have one
    /// key, or squares by themselves.
    pub fn supported(&self) -> bool {
        if self.are_squares() {
            return self.parts.len() == 1;
        }
        let count =
            |kind: fn(&RowPart) -> bool| self.parts.iter().filter(|part| kind(part)).count();
        let features = count(|part| matches!(part, RowPart::Features { .. }));
        let supports = count(|part| matches!(part, RowPart::Support { .. }));
        match (features, supports) {
            (0, supports) => supports <= 1,
            (1, 0) => self.parts.iter().all(|part| match part {
                RowPart::Lookup { sums, .. } => sums.len() == self.states,
                _ => true,
            }),
            _ => false,
        }
    }
}

impl Graph {
    /// Adds the terms of many labels at once, which no other term may hold.
    ///
    /// # Errors
    /// [`Error::Data`] where no kernel is there for the parts.
    pub fn add_rows(&mut self, rows: Rows) -> Result<()> {
        if !rows.supported() {
            return Err(Error::data(
                Place::Whole("rows"),
                "parts that no kernel takes together",
                "lookups with at most one support, features with constant lookups, or squares alone",
            ));
        }
        self.rows.push(rows);
        Ok(())
    }

    /// The same graph with a term for each product of each state of each of the rows that are `chosen`: what
    /// rows mean.
    pub(super) fn expanded(&self, chosen: impl Fn(&Rows) -> bool) -> Self {
        let mut graph = self.clone();
        let mut atoms = vec![];
        let (expanded, kept): (Vec<Rows>, Vec<Rows>) = graph.rows.drain(..).partition(chosen);
        graph.rows = kept;
        for rows in expanded {
            for row in 0..rows.count {
                rows.each(row, |state, coefficient, product| {
                    atoms.clear();
                    atoms.push(Atom {
                        variable: rows.first + row as u32,
                        part: state as u32,
                    });
                    let product = product.map(|product| rows.products.get(product));
                    let (others, _, factor) = product.unwrap_or_default();
                    atoms.extend_from_slice(others);
                    graph.add(coefficient, &atoms, factor);
                });
            }
        }
        graph
    }
}

impl Rows {
    /// The coefficient of each product, summed over all rows, where all states of each are as probable.
    pub(super) fn mean_coefficients(&self) -> Vec<f64> {
        let mut out = vec![0.0; self.products.len()];
        let weight = 1.0 / self.states as f64;
        let mut add = |sums: &Sums, place: usize, factor: f64| {
            for (product, coefficient) in sums.entries.row(place) {
                out[product as usize] += weight * factor * coefficient;
            }
        };
        for part in &self.parts {
            match part {
                RowPart::Lookup { uses, sums } => {
                    let mut counts = vec![0.0; sums.len() / self.states];
                    for keys in uses {
                        match keys.as_slice() {
                            [] => counts[0] += self.count as f64,
                            keys => keys.iter().for_each(|&key| counts[key as usize] += 1.0),
                        }
                    }
                    for place in 0..sums.len() {
                        add(sums, place, counts[place / self.states]);
                    }
                }
                RowPart::Features {
                    columns,
                    values,
                    sums,
                } => {
                    let mut totals = vec![0.0; sums.len() / self.states];
                    for row in values.chunks(*columns) {
                        let here = features(row);
                        totals.iter_mut().zip(here).for_each(|(sum, x)| *sum += x);
                    }
                    for place in 0..sums.len() {
                        add(sums, place, totals[place % totals.len()]);
                    }
                }
                RowPart::Squares {
                    columns,
                    values,
                    shapes,
                    sums,
                } => {
                    let mut totals = vec![0.0; sums.len()];
                    for (row, shape) in values.chunks(*columns).zip(shapes) {
                        // The mean of a variable that nothing is known of is a quarter of its shape.
                        let pairs = totals.iter_mut().zip(pairs(row));
                        pairs.for_each(|(sum, x)| *sum -= 0.125 * shape * x);
                    }
                    for (place, &total) in totals.iter().enumerate() {
                        add(sums, place, total);
                    }
                }
                RowPart::Support { .. } => {}
            }
        }
        out
    }

    /// Visits all terms of a row: state, coefficient, and the product if it is not constant.
    pub(super) fn each(&self, row: usize, mut visit: impl FnMut(usize, f64, Option<usize>)) {
        let mut sum = |sums: &Sums, place: usize, state: usize, factor: f64| {
            if sums.constants[place] != 0.0 {
                visit(state, factor * sums.constants[place], None);
            }
            for (product, coefficient) in sums.entries.row(place) {
                visit(state, factor * coefficient, Some(product as usize));
            }
        };
        let mut support = vec![];
        for part in &self.parts {
            match part {
                RowPart::Lookup { uses, sums } => {
                    for keys in uses {
                        let key = keys.get(row).map_or(0, |&key| key as usize);
                        for state in 0..self.states {
                            sum(sums, key * self.states + state, state, 1.0);
                        }
                    }
                }
                RowPart::Features {
                    columns,
                    values,
                    sums,
                } => {
                    let features = features(&values[row * columns..(row + 1) * columns]);
                    for state in 0..self.states {
                        for (feature, &value) in features.iter().enumerate() {
                            sum(sums, state * features.len() + feature, state, value);
                        }
                    }
                }
                RowPart::Squares {
                    columns,
                    values,
                    sums,
                    ..
                } => {
                    let row = &values[row * columns..(row + 1) * columns];
                    for (place, x) in pairs(row).enumerate() {
                        sum(sums, place, 0, -0.5 * x);
                    }
                }
                RowPart::Support {
                    starts,
                    states,
                    constants,
                } => {
                    let range = starts[row]..starts[row + 1];
                    support.resize(self.states, f64::NEG_INFINITY);
                    for (&state, &constant) in states[range.clone()].iter().zip(&constants[range]) {
                        support[state as usize] = constant;
                    }
                }
            }
        }
        for (state, &constant) in support.iter().enumerate() {
            visit(state, constant, None);
        }
    }
}

/// Products of each number with itself and twice those with the ones after it: the terms of the square of a sum.
fn pairs(values: &[f64]) -> impl Iterator<Item = f64> {
    values.iter().enumerate().flat_map(move |(place, a)| {
        let rest = values[place..].iter().enumerate();
        rest.map(move |(after, b)| if after == 0 { a * b } else { 2.0 * a * b })
    })
}

/// 1, the numbers, and the products of each with itself and those after it.
pub(super) fn features(values: &[f64]) -> Vec<f64> {
    let mut features = vec![1.0];
    features.extend_from_slice(values);
    for (place, a) in values.iter().enumerate() {
        features.extend(values[place..].iter().map(|b| a * b));
    }
    features
}
