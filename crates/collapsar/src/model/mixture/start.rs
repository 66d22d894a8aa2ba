//! Where a run begins: responsibilities, turned into messages by one VBEM step. Rows of known component are its own in all of them.

use std::borrow::Cow;
use std::ops::ControlFlow;

use collapsar_core::random::StandardNormal;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::Mixture;
use super::known::fractions;
use collapsar_core::kernel::softmax_columns;
use collapsar_core::rows::{BLOCK, Block, LevelColumn, LevelPlaces, Mapped, SoftmaxSum};
use collapsar_core::{Error, Place, Potential, Result};

/// How the first responsibilities are made.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Start {
    /// Logits from a standard normal, as HRL12's authors start.
    #[default]
    Random,
    /// Centres by k-means++ and a few rounds of k-means, then each row wholly to the nearest. Components that rows are
    /// known to be of begin at the centre of these.
    KMeans,
    /// Each row wholly to the component given.
    Labels(Vec<usize>),
    /// Each row to every component in proportion to the numbers given, row by row.
    Responsibilities(Vec<f64>),
}

/// Rounds of k-means after seeding: the fit itself does the rest.
const ROUNDS: usize = 5;

impl Mixture {
    /// Messages to start from, and the passes over the data spent on them.
    ///
    /// # Errors
    /// [`Error::Data`] where labels or responsibilities do not fit the data or the number of
    /// components.
    pub fn start(&self, start: &Start, seed: u64) -> Result<(Vec<f64>, u64)> {
        let (statistics, passes) = self.first_statistics(start, seed)?;
        let mut messages = vec![0.0; statistics.len()];
        self.blocks.value_and_gradient(&statistics, &mut messages)?;
        Ok((messages, passes))
    }

    /// Statistics of the first responsibilities, and the passes over the data spent on them.
    pub(super) fn first_statistics(&self, start: &Start, seed: u64) -> Result<(Vec<f64>, u64)> {
        Ok(match start {
            Start::Random => (self.random(seed)?, 1),
            Start::KMeans => {
                if let Some(mapped) = self.local.rows().file() {
                    // Counted as those of rows in memory, so that a climb stops at the same step.
                    (self.k_means_read(mapped, seed)?, 2 + ROUNDS as u64)
                } else {
                    let (labels, passes) = self.k_means(seed);
                    (self.statistics_of_labels(&labels)?, passes + 1)
                }
            }
            Start::Labels(labels) => (self.statistics_of_labels(labels)?, 1),
            Start::Responsibilities(given) => (self.statistics_of_weights(given)?, 1),
        })
    }

    fn random(&self, seed: u64) -> Result<Vec<f64>> {
        self.local.statistics_of(|first, width, block| {
            // One stream for each block: the same numbers whichever thread draws them.
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            if self.local.has_gaps() {
                // Rows meet others here than where they are visited again: one stream for each.
                for i in 0..width {
                    rng.set_stream((first + i) as u64);
                    rng.set_word_pos(0);
                    let row = block[i..].iter_mut().step_by(width);
                    row.for_each(|x| *x = rng.sample(StandardNormal));
                }
            } else {
                rng.set_stream((first / BLOCK) as u64);
                block.fill_with(|| rng.sample(StandardNormal));
            }
            softmax_columns(block, width, &mut [0.0; BLOCK], &mut [0.0; BLOCK]);
        })
    }

    fn statistics_of_labels(&self, labels: &[usize]) -> Result<Vec<f64>> {
        let start = Place::Whole("start");
        if labels.len() != self.rows() {
            let expected = format!("{}, one for each row of the data", self.rows());
            let found = format!("{} labels", labels.len());
            return Err(Error::data(start, found, expected));
        }
        if let Some(row) = labels.iter().position(|&k| k >= self.components()) {
            let expected = format!("0 to {}", self.components() - 1);
            let found = format!("label {}", labels[row]);
            return Err(Error::data(start.at(Place::Row(row)), found, expected));
        }
        self.local.statistics_of(|first, width, block| {
            block.fill(0.0);
            for i in 0..width {
                block[labels[self.local.row_of(first + i)] * width + i] = 1.0;
            }
        })
    }

    fn statistics_of_weights(&self, given: &[f64]) -> Result<Vec<f64>> {
        let (rows, components) = (self.rows(), self.components());
        let start = Place::Whole("start");
        if given.len() != rows * components {
            let expected = format!("{rows} rows of {components}, one for each component");
            let found = format!("{} responsibilities", given.len());
            return Err(Error::data(start, found, expected));
        }
        let total = |weights: &[f64]| weights.iter().sum::<f64>();
        let usable = |weights: &[f64]| {
            let sum = total(weights);
            weights.iter().all(|&weight| weight >= 0.0) && sum.is_finite() && sum > 0.0
        };
        let mut each = given.chunks_exact(components).enumerate();
        if let Some((row, weights)) = each.find(|(_, weights)| !usable(weights)) {
            let expected = "finite responsibilities of at least 0, one of them more";
            let place = start.at(Place::Row(row));
            return Err(Error::data(place, format!("{weights:?}"), expected));
        }
        self.local.statistics_of(|first, width, block| {
            for i in 0..width {
                let row = self.local.row_of(first + i);
                let weights = &given[row * components..(row + 1) * components];
                let total = total(weights);
                for (k, weight) in weights.iter().enumerate() {
                    block[k * width + i] = weight / total;
                }
            }
        })
    }

    /// Labels of the nearest centre, in standardised units, by the columns that a row has.
    fn k_means(&self, seed: u64) -> (Vec<usize>, u64) {
        let (rows, columns, components) = (self.rows(), self.columns(), self.components());
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut centres = vec![0.0; components * columns];
        let mut levels = LevelCentres::new(&self.local);
        let mut nearest = vec![f64::INFINITY; rows];
        let mut labels = vec![0; rows];
        // Components that rows are known to be of come first, and begin at the mean of these.
        let mut order: Vec<usize> = (0..components).collect();
        order.sort_by_key(|k| self.held.is_free(*k));
        for (place, k) in order.into_iter().enumerate() {
            let centre = &mut centres[k * columns..(k + 1) * columns];
            if let Some(mean) = self.held.mean(k) {
                centre.copy_from_slice(&mean[..columns]);
                levels.set(k, &mean[columns..]);
            } else {
                let row = match place {
                    0 if self.local.weights().is_none() => rng.random_range(0..rows),
                    0 => draw(self.local.weights().unwrap_or_default(), &mut rng),
                    _ => draw(&self.weighed(&nearest), &mut rng),
                };
                self.local.rows().row(row, centre);
                levels.set_row(k, row);
            }
            // The mean of the column.
            centre
                .iter_mut()
                .filter(|x| x.is_nan())
                .for_each(|x| *x = 0.0);
            self.each_row(|n, y| {
                // Nobody else's, nor a centre of their own.
                if let Some(known) = self.local.known(n) {
                    (nearest[n], labels[n]) = (0.0, known);
                    return;
                }
                let distance = levels.squared_distance((n, y), (k, centre));
                if distance < nearest[n] {
                    (nearest[n], labels[n]) = (distance, k);
                }
            });
        }
        for _ in 0..ROUNDS {
            let mut counts = vec![0.0; components * columns];
            centres.fill(0.0);
            levels.clear();
            self.each_row(|n, y| {
                let weight = self.local.weights().map_or(1.0, |weights| weights[n]);
                let own = labels[n] * columns;
                let sums = centres[own..].iter_mut().zip(&mut counts[own..]);
                for ((c, count), x) in sums.zip(y).filter(|(_, x)| !x.is_nan()) {
                    *c += weight * x;
                    *count += weight;
                }
                levels.count(labels[n], n, weight);
            });
            for (c, count) in centres.iter_mut().zip(&counts) {
                *c /= if *count > 0.0 { *count } else { 1.0 };
            }
            levels.settle();
            self.each_row(|n, y| {
                if self.local.known(n).is_some() {
                    return;
                }
                let closest = if levels.columns.is_empty() {
                    let distances = centres
                        .chunks_exact(columns)
                        .map(|centre| squared_distance(y, centre));
                    distances.enumerate().min_by(|a, b| a.1.total_cmp(&b.1))
                } else {
                    let distances = (0..components).map(|k| {
                        let centre = &centres[k * columns..(k + 1) * columns];
                        levels.mixed_distance((n, y), (k, centre))
                    });
                    distances.enumerate().min_by(|a, b| a.1.total_cmp(&b.1))
                };
                labels[n] = closest.map_or(0, |(k, _)| k);
            });
        }
        let mut of_data = vec![0; rows];
        for (place, label) in labels.into_iter().enumerate() {
            of_data[self.local.row_of(place)] = label;
        }
        (of_data, 1 + ROUNDS as u64)
    }

    /// The statistics of the labels that [`Mixture::k_means`] finds, of rows that are read: nothing is kept for each row, so that what
    /// was known of it is found again in every pass.
    fn k_means_read(&self, mapped: &Mapped, seed: u64) -> Result<Vec<f64>> {
        let (rows, columns, components) = (self.rows(), self.columns(), self.components());
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut centres: Vec<f64> = Vec::with_capacity(components * columns);
        let mut centre = vec![0.0; columns];
        for k in 0..components {
            let row = if k == 0 && !self.local.is_weighted() {
                rng.random_range(0..rows)
            } else {
                draw_read(mapped, &centres, &mut rng)?
            };
            mapped.row(row, &mut centre)?;
            centres.extend(&centre);
        }
        let mut near = Near::default();
        for _ in 0..ROUNDS {
            let mut counts = vec![0.0; components * columns];
            let mut sums = vec![0.0; components * columns];
            mapped.each(0..rows, |block| {
                near.find(block, &centres, columns);
                for (at, label) in near.labels.iter().enumerate() {
                    let weight = block.weights.map_or(1.0, |weights| weights[at]);
                    let own = label * columns;
                    let sums = sums[own..].iter_mut().zip(&mut counts[own..]);
                    let numbers = block.values.iter().skip(at).step_by(block.width);
                    for ((sum, count), x) in sums.zip(numbers) {
                        *sum += weight * x;
                        *count += weight;
                    }
                }
                Ok(ControlFlow::Continue(()))
            })?;
            for (sum, count) in sums.iter_mut().zip(&counts) {
                *sum /= if *count > 0.0 { *count } else { 1.0 };
            }
            centres = sums;
        }
        self.local.statistics_by(|block, all| {
            let mut near = Near::default();
            near.find(block, &centres, columns);
            all.fill(0.0);
            for (at, label) in near.labels.iter().enumerate() {
                all[label * block.width + at] = 1.0;
            }
        })
    }

    /// Numbers of rows times the weights of these.
    fn weighed<'a>(&self, numbers: &'a [f64]) -> Cow<'a, [f64]> {
        match self.local.weights() {
            None => numbers.into(),
            Some(weights) => weights.iter().zip(numbers).map(|(a, b)| a * b).collect(),
        }
    }

    fn each_row(&self, mut visit: impl FnMut(usize, &[f64])) {
        let mut y = vec![0.0; self.columns()];
        for n in 0..self.rows() {
            self.local.rows().row(n, &mut y);
            visit(n, &y);
        }
    }
}

/// Of a row from a centre; where the row has gaps, the mean of its columns in their place.
fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    let all: f64 = a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum();
    if !all.is_nan() {
        return all;
    }
    let there = a.iter().zip(b).filter(|(x, _)| !x.is_nan());
    let (count, sum) = there.fold((0, 0.0), |(count, sum), (x, y)| {
        (count + 1, sum + (x - y) * (x - y))
    });
    sum * a.len() as f64 / f64::from(count.max(1))
}

/// Centres in columns of levels: the fraction of rows that have each. Two rows of different levels are as far from each other as two rows of a
/// column of numbers are on the average, however rare the levels are: squared distances are those of indicators, unscaled.
struct LevelCentres<'a> {
    columns: &'a [LevelColumn],
    places: LevelPlaces,
    /// Fractions, or counts while rows are counted, by components; and what each level is away from the centre, squared.
    fractions: Vec<f64>,
    squares: Vec<f64>,
}

impl<'a> LevelCentres<'a> {
    fn new(local: &'a SoftmaxSum) -> Self {
        let columns = local.levels();
        let places = LevelPlaces::new(0, columns.iter().map(|column| column.levels));
        let count = local.components() * places.levels();
        Self {
            columns,
            places,
            fractions: vec![0.0; count],
            squares: vec![0.0; count],
        }
    }

    fn clear(&mut self) {
        self.fractions.fill(0.0);
    }

    /// Counts a row to a component.
    fn count(&mut self, k: usize, row: usize, weight: f64) {
        for (c, column) in self.columns.iter().enumerate() {
            let own = &mut self.fractions[self.places.of(k, c)];
            if let Some(count) = own.get_mut(column.codes[row] as usize) {
                *count += weight;
            }
        }
    }

    /// Makes fractions of counts.
    fn settle(&mut self) {
        for k in 0..self.fractions.len() / self.places.levels().max(1) {
            self.settle_one(k);
        }
    }

    fn settle_one(&mut self, k: usize) {
        for c in 0..self.columns.len() {
            let place = self.places.of(k, c);
            let own = &mut self.fractions[place.clone()];
            fractions(own);
            let square: f64 = own.iter().map(|q| q * q).sum();
            for (out, q) in self.squares[place].iter_mut().zip(&*own) {
                *out = 1.0 - 2.0 * q + square;
            }
        }
    }

    /// A centre of these fractions.
    fn set(&mut self, k: usize, given: &[f64]) {
        self.fractions[self.places.own(k)].copy_from_slice(given);
        self.settle_one(k);
    }

    /// A centre at a row.
    fn set_row(&mut self, k: usize, row: usize) {
        self.fractions[self.places.own(k)].fill(0.0);
        self.count(k, row, 1.0);
        self.settle_one(k);
    }

    /// Of a row from a centre.
    fn squared_distance(&self, (row, y): (usize, &[f64]), (k, centre): (usize, &[f64])) -> f64 {
        if self.columns.is_empty() {
            return squared_distance(y, centre);
        }
        self.mixed_distance((row, y), (k, centre))
    }

    /// As [`squared_distance`], with levels. Apart, so that rows of numbers do not pay for a call.
    #[inline(never)]
    fn mixed_distance(&self, (row, y): (usize, &[f64]), (k, centre): (usize, &[f64])) -> f64 {
        let (mut there, mut sum) = (0, 0.0);
        for (x, c) in y.iter().zip(centre).filter(|(x, _)| !x.is_nan()) {
            sum += (x - c) * (x - c);
            there += 1;
        }
        for (c, column) in self.columns.iter().enumerate() {
            let own = &self.squares[self.places.of(k, c)];
            if let Some(square) = own.get(column.codes[row] as usize) {
                sum += square;
                there += 1;
            }
        }
        sum * (y.len() + self.columns.len()) as f64 / f64::from(there.max(1))
    }
}

/// The nearest centre of each row of a block, and how far it is, squared.
#[derive(Default)]
struct Near {
    labels: Vec<usize>,
    distances: Vec<f64>,
    sums: Vec<f64>,
}

impl Near {
    /// The first of the nearest centres, as [`squared_distance`] measures.
    fn find(&mut self, block: Block<'_>, centres: &[f64], columns: usize) {
        self.labels.clear();
        self.labels.resize(block.width, 0);
        self.distances.clear();
        self.distances.resize(block.width, f64::INFINITY);
        for (k, centre) in centres.chunks_exact(columns).enumerate() {
            self.sums.clear();
            self.sums.resize(block.width, 0.0);
            for (column, c) in block.values.chunks_exact(block.width).zip(centre) {
                for (sum, x) in self.sums.iter_mut().zip(column) {
                    *sum += (x - c) * (x - c);
                }
            }
            let nearest = self.distances.iter_mut().zip(&mut self.labels);
            for ((distance, label), sum) in nearest.zip(&self.sums) {
                if sum < distance {
                    (*distance, *label) = (*sum, k);
                }
            }
        }
    }

    /// Writes how much each row of a block counts in [`draw`]: its distance times its weight, or its weight where there is no centre.
    fn weigh(&mut self, block: Block<'_>, centres: &[f64]) -> &[f64] {
        match (block.weights, centres.is_empty()) {
            (Some(weights), true) => {
                self.distances.clear();
                self.distances.extend(weights);
            }
            (weights, _) => {
                self.find(block, centres, block.values.len() / block.width);
                for (distance, weight) in
                    self.distances.iter_mut().zip(weights.into_iter().flatten())
                {
                    *distance *= weight;
                }
            }
        }
        &self.distances
    }
}

/// As [`draw`], by the weighted distances of rows that are read from the nearest of the centres so far: once for their sum, and
/// again to where the row is.
fn draw_read(mapped: &Mapped, centres: &[f64], rng: &mut impl Rng) -> Result<usize> {
    let rows = mapped.stored().len();
    let (mut near, mut total) = (Near::default(), 0.0);
    mapped.each(0..rows, |block| {
        for weight in near.weigh(block, centres) {
            total += weight;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    if total <= 0.0 {
        return Ok(rng.random_range(0..rows));
    }
    let mut left = rng.random::<f64>() * total;
    let mut found = rows - 1;
    mapped.each(0..rows, |block| {
        let place = near.weigh(block, centres).iter().position(|weight| {
            left -= weight;
            left < 0.0
        });
        Ok(match place {
            Some(place) => {
                found = block.first + place;
                ControlFlow::Break(())
            }
            None => ControlFlow::Continue(()),
        })
    })?;
    Ok(found)
}

/// A row with probability in proportion to its weight; any row where all weights are zero.
fn draw(weights: &[f64], rng: &mut impl Rng) -> usize {
    let total: f64 = weights.iter().sum();
    if total <= 0.0 {
        return rng.random_range(0..weights.len());
    }
    let mut left = rng.random::<f64>() * total;
    let row = weights.iter().position(|weight| {
        left -= weight;
        left < 0.0
    });
    row.unwrap_or(weights.len() - 1)
}
