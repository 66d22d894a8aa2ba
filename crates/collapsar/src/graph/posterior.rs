//! The collapsed blocks and the terms between explicit ones, as a function of the statistics.

use super::block::{Block, evaluate_all};
use super::layout::{Layout, Monomials, NONE};
use collapsar_core::parallel::Buffers;
use collapsar_core::{Potential, Result};

/// $C(\tau)$: log-partition functions of the collapsed blocks, whose natural parameters are
/// multilinear in the statistics, and the terms that hold none of them (maths §9.4).
#[derive(Debug)]
pub struct Posterior {
    blocks: Vec<(Block, usize)>,
    base: Vec<f64>,
    monomials: Monomials,
    messages: usize,
    buffers: Buffers,
}

impl Posterior {
    pub(super) fn new(blocks: Vec<(Block, usize)>, layout: &mut Layout) -> Self {
        Self {
            blocks,
            base: std::mem::take(&mut layout.collapsed_base),
            monomials: std::mem::take(&mut layout.monomials),
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

    fn write_naturals(&self, statistics: &[f64], naturals: &mut [f64]) -> f64 {
        naturals.copy_from_slice(&self.base);
        let mut value = 0.0;
        let at = |factor: u32| statistics[factor as usize];
        for monomial in 0..self.monomials.len() {
            let coefficient = self.monomials.coefficients[monomial];
            let product = match *self.monomials.factors(monomial) {
                [a] => coefficient * at(a),
                [a, b] => coefficient * at(a) * at(b),
                ref factors => (factors.iter()).fold(coefficient, |product, &f| product * at(f)),
            };
            match self.monomials.targets[monomial] {
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
            let value = value + evaluate_all(&self.blocks, naturals, means)?;
            see(naturals, means);
            Ok(value)
        })
    }

    /// How many labels are collapsed.
    pub(super) fn labels(&self) -> usize {
        self.blocks.iter().map(|(block, _)| block.labels()).sum()
    }

    /// Means of all collapsed statistics that `fill` writes, block by block.
    pub(super) fn means_at(&self, mut fill: impl FnMut(&Block, &mut [f64])) -> Vec<f64> {
        let mut means = vec![0.0; self.base.len()];
        for (block, first) in &self.blocks {
            fill(block, &mut means[*first..first + block.len()]);
        }
        means
    }

    /// The collapsed blocks with their natural parameters.
    pub(super) fn each(&self, statistics: &[f64]) -> Vec<(&Block, Vec<f64>)> {
        let (naturals, _) = self.naturals(statistics);
        (self.blocks.iter())
            .map(|(block, first)| (block, naturals[*first..first + block.len()].to_vec()))
            .collect()
    }

    /// The gradient where the collapsed statistics have these means.
    pub(super) fn backward(&self, statistics: &[f64], means: &[f64], gradient: &mut [f64]) {
        gradient.fill(0.0);
        for monomial in 0..self.monomials.len() {
            let seed = self.seed(monomial, means, 1.0) * self.monomials.coefficients[monomial];
            match *self.monomials.factors(monomial) {
                [a] => gradient[a as usize] += seed,
                [a, b] => {
                    gradient[a as usize] += seed * statistics[b as usize];
                    gradient[b as usize] += seed * statistics[a as usize];
                }
                ref factors => {
                    for (place, &factor) in factors.iter().enumerate() {
                        gradient[factor as usize] += seed * others(factors, place, statistics);
                    }
                }
            }
        }
    }

    /// The mean of the collapsed statistic of a monomial, `alone` where it has none.
    fn seed(&self, monomial: usize, means: &[f64], alone: f64) -> f64 {
        match self.monomials.targets[monomial] {
            NONE => alone,
            target => means[target as usize],
        }
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

/// How the product of all factors but those at two places changes.
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
        let (naturals, _) = self.naturals(at);
        let mut means = vec![0.0; naturals.len()];
        let mut changes = vec![0.0; naturals.len()];
        for monomial in 0..self.monomials.len() {
            let target = self.monomials.targets[monomial];
            if target != NONE {
                let factors = self.monomials.factors(monomial);
                let change: f64 = (factors.iter().enumerate())
                    .map(|(place, &factor)| along[factor as usize] * others(factors, place, at))
                    .sum();
                changes[target as usize] += self.monomials.coefficients[monomial] * change;
            }
        }
        let mut mean_changes = vec![0.0; naturals.len()];
        for (block, first) in &self.blocks {
            let range = *first..first + block.len();
            block.evaluate(&naturals[range.clone()], &mut means[range.clone()])?;
            block.potential().hessian_product(
                &naturals[range.clone()],
                &changes[range.clone()],
                &mut mean_changes[range],
            )?;
        }
        out.fill(0.0);
        for monomial in 0..self.monomials.len() {
            let coefficient = self.monomials.coefficients[monomial];
            let seed = self.seed(monomial, &means, 1.0);
            let seed_change = self.seed(monomial, &mean_changes, 0.0);
            let factors = self.monomials.factors(monomial);
            for (place, &factor) in factors.iter().enumerate() {
                out[factor as usize] += coefficient
                    * (seed_change * others(factors, place, at)
                        + seed * others_change(factors, place, at, along));
            }
        }
        Ok(())
    }
}
