//! The collapsed blocks and the terms between explicit ones, as a function of the statistics.

use std::ops::Range;

use super::block::{
    Block, Placed, evaluate_all, fill_all, hessian_products, range_of, with_naturals,
};
use super::choice::Role;
use super::exponents::Exponents;
use super::layout::{Layout, Monomials, NONE};
use collapsar_core::parallel::Buffers;
use collapsar_core::{Error, Potential, Result};

/// $C(\tau)$: log-partition functions of the collapsed blocks, whose natural parameters are
/// multilinear in the statistics, and the terms that hold none of them (maths §9.4).
#[derive(Debug)]
pub struct Posterior {
    blocks: Vec<Placed>,
    base: Vec<f64>,
    monomials: Monomials,
    /// Coordinates of monomials after all messages.
    exponents: Exponents,
    messages: usize,
    buffers: Buffers,
}

impl Posterior {
    pub(super) fn new(blocks: Vec<Placed>, layout: &mut Layout) -> Self {
        Self {
            blocks,
            base: std::mem::take(layout.base(Role::Collapsed)),
            monomials: std::mem::take(&mut layout.monomials),
            exponents: std::mem::take(&mut layout.exponents),
            messages: layout.messages,
            buffers: Buffers::default(),
        }
    }

    /// Natural parameters of the collapsed blocks, and the sum of the other terms.
    pub(super) fn naturals(&self, statistics: &[f64]) -> (Vec<f64>, f64) {
        let mut naturals = vec![0.0; self.base.len()];
        let value = self.write_naturals(statistics, &mut naturals);
        (naturals, value)
    }

    /// Writes them, and returns that sum.
    pub(super) fn write_naturals(&self, statistics: &[f64], naturals: &mut [f64]) -> f64 {
        if self.exponents.is_empty() {
            return self.sum_naturals(statistics, naturals);
        }
        self.sum_naturals(&self.exponents.extended(statistics), naturals)
    }

    /// The same, at coordinates of monomials.
    fn sum_naturals(&self, statistics: &[f64], naturals: &mut [f64]) -> f64 {
        naturals.copy_from_slice(&self.base);
        let mut value = 0.0;
        let at = |factor: u32| statistics[factor as usize];
        for (coefficient, factors, target) in self.monomials.each() {
            let product = match *factors {
                [a] => coefficient * at(a),
                [a, b] => coefficient * at(a) * at(b),
                _ => (factors.iter()).fold(coefficient, |product, &f| product * at(f)),
            };
            match target {
                NONE => value += product,
                target => naturals[target as usize] += product,
            }
        }
        value
    }

    /// The value; `see` gets the natural parameters of the collapsed blocks and the means of their
    /// statistics.
    pub(super) fn value_and_means(
        &self,
        at: &[f64],
        see: impl FnOnce(&[f64], &mut [f64]),
    ) -> Result<f64> {
        let len = self.base.len();
        self.buffers.lend(2 * len, |buffer| {
            let (naturals, means) = buffer.split_at_mut(len);
            let value = self.write_naturals(at, naturals);
            if !self.exponents.is_empty() && !value.is_finite() {
                let found = "an exponential that is too large for a number";
                let expected = "a predictor whose exponential is finite";
                return Err(Error::domain("log-linear rate", found, expected));
            }
            let value = value + evaluate_all(&self.blocks, naturals, means)?;
            see(naturals, means);
            Ok(value)
        })
    }

    /// Exponentials of predictors.
    pub(super) fn exponents(&self) -> &Exponents {
        &self.exponents
    }

    /// What a collapsed statistic tells statistics of explicit blocks, by place, where it tells them one by one; none where
    /// it is in a product of several or with an exponential.
    pub(super) fn told_alone(&self, statistic: usize) -> Option<Vec<(usize, f64)>> {
        let held = |&(.., target): &(f64, &[u32], u32)| target as usize == statistic;
        let mut alone = self.monomials.each().filter(held);
        let mut found = vec![];
        alone.try_for_each(|(coefficient, factors, _)| match *factors {
            [place] if (place as usize) < self.messages => {
                found.push((place as usize, coefficient));
                Some(())
            }
            _ => None,
        })?;
        Some(found)
    }

    /// What each exponential is multiplied by, where statistics and collapsed ones have these values.
    pub(super) fn exponential_weights(&self, statistics: &[f64], collapsed: &[f64]) -> Vec<f64> {
        let mut weights = vec![0.0; self.exponents.len()];
        for (coefficient, factors, target) in self.monomials.each() {
            let exponential = |&factor: &u32| factor as usize >= self.messages;
            if let Some(place) = factors.iter().position(exponential) {
                let weight = &mut weights[factors[place] as usize - self.messages];
                let seed = coefficient * mean_of(target, collapsed, 1.0);
                *weight += seed * others(factors, place, statistics);
            }
        }
        weights
    }

    /// What explicit blocks are told where collapsed statistics have these means and exponentials are as the data say.
    pub(super) fn told_working(&self, statistics: &[f64], means: &[f64]) -> Vec<f64> {
        let dim = statistics.len();
        let at = self.exponents.extended(statistics);
        let mut all = vec![0.0; at.len()];
        self.sum_backward(&at, means, &mut all);
        let seeds = all.split_off(dim);
        self.exponents.add_working(&seeds, &mut all);
        all
    }

    /// How many labels are collapsed.
    pub(super) fn labels(&self) -> usize {
        self.blocks.iter().map(|(block, _)| block.labels()).sum()
    }

    /// Means of all collapsed statistics that `fill` writes, block by block.
    pub(super) fn means_at(&self, fill: impl FnMut(&Block, &mut [f64])) -> Vec<f64> {
        let mut means = vec![0.0; self.base.len()];
        fill_all(&self.blocks, &mut means, fill);
        means
    }

    /// The collapsed blocks with their natural parameters.
    pub(super) fn each(&self, statistics: &[f64]) -> Vec<(&Block, Vec<f64>)> {
        with_naturals(&self.blocks, &self.naturals(statistics).0)
    }

    /// The gradient where the collapsed statistics have these means.
    pub(super) fn backward(&self, statistics: &[f64], means: &[f64], gradient: &mut [f64]) {
        if self.exponents.is_empty() {
            self.sum_backward(statistics, means, gradient);
            return;
        }
        let at = self.exponents.extended(statistics);
        let mut all = vec![0.0; at.len()];
        self.sum_backward(&at, means, &mut all);
        let (direct, seeds) = all.split_at(statistics.len());
        gradient.copy_from_slice(direct);
        self.exponents.backward(&at, seeds, gradient);
    }

    /// The same by coordinates of monomials.
    fn sum_backward(&self, statistics: &[f64], means: &[f64], gradient: &mut [f64]) {
        gradient.fill(0.0);
        for (coefficient, factors, target) in self.monomials.each() {
            let seed = mean_of(target, means, 1.0) * coefficient;
            match *factors {
                [a] => gradient[a as usize] += seed,
                [a, b] => {
                    gradient[a as usize] += seed * statistics[b as usize];
                    gradient[b as usize] += seed * statistics[a as usize];
                }
                _ => {
                    for (place, &factor) in factors.iter().enumerate() {
                        gradient[factor as usize] += seed * others(factors, place, statistics);
                    }
                }
            }
        }
    }
}

impl Posterior {
    /// A change of statistics, and that of exponentials after it; `at` is extended.
    fn extended_along(&self, at: &[f64], along: &[f64]) -> Vec<f64> {
        let mut all = along.to_vec();
        all.resize(at.len(), 0.0);
        (self.exponents).forward(at, along, &mut all[along.len()..]);
        all
    }

    /// How the natural parameters of the collapsed blocks change where coordinates of monomials change along `along`.
    fn sum_forward(&self, statistics: &[f64], along: &[f64]) -> Vec<f64> {
        let mut changes = vec![0.0; self.base.len()];
        for (coefficient, factors, target) in self.monomials.each() {
            if target != NONE {
                let change: f64 = (factors.iter().enumerate())
                    .map(|(place, &f)| along[f as usize] * others(factors, place, statistics))
                    .sum();
                changes[target as usize] += coefficient * change;
            }
        }
        changes
    }

    /// The transpose of that: what `changes` of the collapsed statistics' means do to the target.
    pub(super) fn backward_changes(&self, statistics: &[f64], changes: &[f64], out: &mut [f64]) {
        if self.exponents.is_empty() {
            self.sum_backward_changes(statistics, changes, out);
            return;
        }
        let at = self.exponents.extended(statistics);
        let mut all = vec![0.0; at.len()];
        self.sum_backward_changes(&at, changes, &mut all);
        let (direct, seeds) = all.split_at(statistics.len());
        for (out, direct) in out.iter_mut().zip(direct) {
            *out += direct;
        }
        self.exponents.backward(&at, seeds, out);
    }

    /// The same by coordinates of monomials.
    fn sum_backward_changes(&self, statistics: &[f64], changes: &[f64], out: &mut [f64]) {
        for (coefficient, factors, target) in self.monomials.each() {
            if target == NONE || changes[target as usize] == 0.0 {
                continue;
            }
            let seed = coefficient * changes[target as usize];
            for (place, &factor) in factors.iter().enumerate() {
                out[factor as usize] += seed * others(factors, place, statistics);
            }
        }
    }

    /// The monomials that each of these blocks is in, whose statistics begin at `first`.
    pub(super) fn terms_of(&self, first: usize, blocks: &[Placed]) -> Vec<Vec<u32>> {
        let mut terms = vec![vec![]; blocks.len()];
        for (monomial, (_, factors, _)) in self.monomials.each().enumerate() {
            let own = first..self.messages;
            for &factor in factors.iter().filter(|&&f| own.contains(&(f as usize))) {
                let place = factor as usize - first;
                let block = blocks.partition_point(|placed| placed.1 <= place) - 1;
                terms[block].push(monomial as u32);
            }
        }
        terms
    }

    /// Adds what these monomials say of the statistics from `first` on, one factor of each of which is
    /// among them, where all others have these values.
    pub(super) fn add_told(
        &self,
        terms: &[u32],
        first: usize,
        statistics: &[f64],
        exponentials: &[f64],
        collapsed: &[f64],
        out: &mut [f64],
    ) {
        let at = |factor: u32| match (factor as usize).checked_sub(self.messages) {
            Some(exponential) => exponentials[exponential],
            None => statistics[factor as usize],
        };
        let own = first as u32..(first + out.len()) as u32;
        for &term in terms {
            let (coefficient, factors, target) = self.monomials.get(term as usize);
            let Some(place) = factors.iter().position(|factor| own.contains(factor)) else {
                continue;
            };
            let seed = coefficient * mean_of(target, collapsed, 1.0);
            let rest = factors[..place].iter().chain(&factors[place + 1..]);
            let rest: f64 = rest.map(|&factor| at(factor)).product();
            out[factors[place] as usize - first] += seed * rest;
        }
    }

    /// Coefficient and factors of each monomial, and the place of its statistic in its block, counted from 1; 0
    /// where it has none.
    pub(super) fn meetings(&self) -> impl Iterator<Item = (f64, &[u32], usize)> {
        self.monomials.each().map(|(coefficient, factors, target)| {
            let statistic = match target {
                NONE => 0,
                target => {
                    let target = target as usize;
                    let block = self.blocks.partition_point(|placed| placed.1 <= target) - 1;
                    target - self.blocks[block].1 + 1
                }
            };
            (coefficient, factors, statistic)
        })
    }

    /// Gives the label whose statistics are at `places`, and which these monomials hold, the state that raises the
    /// value most, `base` being what else each state is worth; says whether that is another one. `naturals` are
    /// those of the collapsed blocks, before and after.
    pub(super) fn take_best(
        &self,
        terms: &[u32],
        places: Range<usize>,
        base: &[f64],
        statistics: &mut [f64],
        naturals: &mut [f64],
    ) -> Result<bool> {
        let before = statistics[places.clone()].iter().position(|&p| p == 1.0);
        let mut touched: Vec<usize> = (terms.iter())
            .map(|&term| self.monomials.get(term as usize).2)
            .filter(|&target| target != NONE)
            .map(|target| {
                self.blocks
                    .partition_point(|placed| placed.1 <= target as usize)
                    - 1
            })
            .collect();
        touched.sort_unstable();
        touched.dedup();
        self.add_terms(terms, statistics, -1.0, naturals);
        let mut best = (f64::NEG_INFINITY, 0);
        for state in 0..places.len() {
            statistics[places.clone()].fill(0.0);
            statistics[places.start + state] = 1.0;
            let mut value = base[state] + self.add_terms(terms, statistics, 1.0, naturals);
            for &block in &touched {
                let placed = &self.blocks[block];
                let natural = &naturals[range_of(placed)];
                value += placed.0.evaluate(natural, &mut vec![0.0; natural.len()])?;
            }
            self.add_terms(terms, statistics, -1.0, naturals);
            if value > best.0 {
                best = (value, state);
            }
        }
        statistics[places.clone()].fill(0.0);
        statistics[places.start + best.1] = 1.0;
        self.add_terms(terms, statistics, 1.0, naturals);
        Ok(before != Some(best.1))
    }

    /// Adds `sign` times what these monomials say of collapsed blocks; gives the sum of the others.
    fn add_terms(&self, terms: &[u32], at: &[f64], sign: f64, naturals: &mut [f64]) -> f64 {
        let mut value = 0.0;
        for &term in terms {
            let (coefficient, factors, target) = self.monomials.get(term as usize);
            let product = (factors.iter()).fold(coefficient, |p, &f| p * at[f as usize]);
            match target {
                NONE => value += sign * product,
                target => naturals[target as usize] += sign * product,
            }
        }
        value
    }

    /// The degree of the natural parameters of the collapsed blocks as polynomials in the statistics: of how many they are
    /// products at most. None where there are exponentials in them.
    pub(super) fn degree(&self) -> Option<usize> {
        let mut degree = 0;
        for (_, factors, target) in self.monomials.each() {
            if target == NONE {
                continue;
            }
            if factors.iter().any(|&f| f as usize >= self.messages) {
                return None;
            }
            degree = degree.max(factors.len());
        }
        Some(degree)
    }

    /// About how many numbers an evaluation goes through.
    pub(super) fn size(&self) -> usize {
        self.base.len() + self.monomials.len()
    }

    /// A natural parameter of collapsed blocks without what explicit ones send.
    pub(super) fn base(&self, place: usize) -> f64 {
        self.base[place]
    }

    /// How many statistics the collapsed blocks have.
    pub(super) fn statistics(&self) -> usize {
        self.base.len()
    }

    /// The blocks, each with the place of its first natural parameter.
    pub(super) fn blocks(&self) -> &[Placed] {
        &self.blocks
    }
}

/// The mean of the collapsed statistic of a monomial, `alone` where it has none.
fn mean_of(target: u32, means: &[f64], alone: f64) -> f64 {
    match target {
        NONE => alone,
        target => means[target as usize],
    }
}

/// The product of all factors but one.
fn others(factors: &[u32], place: usize, at: &[f64]) -> f64 {
    let before = factors[..place].iter();
    before
        .chain(&factors[place + 1..])
        .map(|&factor| at[factor as usize])
        .product()
}

/// How that product changes where the factors change along `along`.
fn others_change(factors: &[u32], place: usize, at: &[f64], along: &[f64]) -> f64 {
    let mut change = 0.0;
    for (other, &factor) in factors.iter().enumerate() {
        if other != place {
            let rest = (factors.iter().enumerate())
                .filter(|(index, _)| *index != place && *index != other)
                .map(|(_, &factor)| at[factor as usize]);
            change += along[factor as usize] * rest.product::<f64>();
        }
    }
    change
}

impl Potential for Posterior {
    fn dim(&self) -> usize {
        self.messages
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        self.value_and_means(at, |_, means| self.backward(at, means, gradient))
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        if self.exponents.is_empty() {
            return self.sum_hessian(at, along, out, &mut vec![]);
        }
        let dim = at.len();
        let at = self.exponents.extended(at);
        let extended = self.extended_along(&at, along);
        let (mut all, mut means) = (vec![0.0; at.len()], vec![]);
        self.sum_hessian(&at, &extended, &mut all, &mut means)?;
        let mut gradient = vec![0.0; at.len()];
        self.sum_backward(&at, &means, &mut gradient);
        out.copy_from_slice(&all[..dim]);
        self.exponents.backward(&at, &all[dim..], out);
        (self.exponents).hessian(&at, along, &gradient[dim..], out);
        Ok(())
    }
}

impl Posterior {
    /// The Hessian times `along` at coordinates of monomials; writes the means of collapsed statistics.
    fn sum_hessian(
        &self,
        at: &[f64],
        along: &[f64],
        out: &mut [f64],
        means: &mut Vec<f64>,
    ) -> Result<()> {
        let mut naturals = vec![0.0; self.base.len()];
        self.sum_naturals(at, &mut naturals);
        means.resize(naturals.len(), 0.0);
        let changes = self.sum_forward(at, along);
        let mut mean_changes = vec![0.0; naturals.len()];
        evaluate_all(&self.blocks, &naturals, means)?;
        hessian_products(&self.blocks, &naturals, &changes, &mut mean_changes)?;
        out.fill(0.0);
        for (coefficient, factors, target) in self.monomials.each() {
            let seed = mean_of(target, means, 1.0);
            let seed_change = mean_of(target, &mean_changes, 0.0);
            for (place, &factor) in factors.iter().enumerate() {
                out[factor as usize] += coefficient
                    * (seed_change * others(factors, place, at)
                        + seed * others_change(factors, place, at, along));
            }
        }
        Ok(())
    }
}
