//! Decides how a Markov chain of exact draws moves: block after block, each given all others (maths §10.4).
//!
//! The log joint is a sum of coefficients times products of statistics. Put drawn statistics in the place
//! of expected ones, and what was a message is what a block's neighbours say: the functions that a climb
//! is made of are those of a blocked Gibbs sampler.
//!
//! - `scale`: how a precision and the effects that it scales move together

mod scale;

use rand::Rng;

use super::block::{Placed, range_of};
use super::compiled::Compiled;
use super::variational::Numbers;
use collapsar_core::{Point, Potential, Result};
use scale::Scale;

/// One Markov chain.
#[derive(Debug, Clone)]
pub struct Chain<'a> {
    pub(super) model: &'a Compiled,
    places: Numbers<'a>,
    /// The terms that each own block is in.
    own_terms: Vec<Vec<u32>>,
    scales: Vec<Scale>,
    /// All numbers, as [`super::VariationalPosterior::draw`] lays them out.
    numbers: Vec<f64>,
    /// What explicit variables send: slots, then the statistics of own blocks.
    pub(super) statistics: Vec<f64>,
    /// The statistics of what is collapsed in a climb.
    collapsed: Vec<f64>,
}

impl Compiled {
    /// A chain that begins at a draw of q.
    ///
    /// # Errors
    /// Where the point is outside the domain.
    pub fn chain<'a, R: Rng + ?Sized>(&'a self, point: &Point, rng: &mut R) -> Result<Chain<'a>> {
        let mut chain = self.chain_of(point.statistics.clone());
        let (_, naturals) = self.local.naturals(&point.messages);
        for placed in self.local.blocks().1 {
            chain.draw_own(placed, &naturals[range_of(placed)], rng)?;
        }
        // Slots are still those of q, and so is what is drawn given them.
        chain.draw_collapsed(rng)?;
        chain.sweep(rng)?;
        Ok(chain)
    }

    /// A chain that begins at these numbers of all variables, laid out as those of [`Chain::numbers`]: with a sweep,
    /// which draws what is explicit and shared, and each label that is kept as a row, given the others.
    ///
    /// # Errors
    /// Where the numbers are outside the domain.
    pub fn chain_at<'a, R: Rng + ?Sized>(
        &'a self,
        numbers: &[f64],
        rng: &mut R,
    ) -> Result<Chain<'a>> {
        let mut chain = self.chain_of(vec![0.0; self.local.dim()]);
        let own = self.local.own_first();
        let at = |placed: &Placed, out: &mut [f64]| {
            let places = (placed.0.variables.iter()).flat_map(|v| chain.places.places(*v));
            let numbers: Vec<f64> = places.map(|place| numbers[place]).collect();
            placed.0.statistics_at(&numbers, &mut out[range_of(placed)]);
        };
        for placed in self.local.blocks().1 {
            at(placed, &mut chain.statistics[own..]);
        }
        for placed in self.posterior.blocks() {
            at(placed, &mut chain.collapsed);
        }
        chain.sweep(rng)?;
        Ok(chain)
    }

    /// A chain without numbers.
    fn chain_of(&self, statistics: Vec<f64>) -> Chain<'_> {
        let places = Numbers::new(self.declared());
        Chain {
            model: self,
            own_terms: (self.posterior).terms_of(self.local.own_first(), self.local.blocks().1),
            scales: Scale::all(self),
            numbers: vec![0.0; places.len()],
            places,
            statistics,
            collapsed: vec![0.0; self.posterior.statistics()],
        }
    }
}

impl Chain<'_> {
    /// Draws every block once, given all others.
    ///
    /// # Errors
    /// Where what the others say of a block is outside its domain.
    pub fn sweep<R: Rng + ?Sized>(&mut self, rng: &mut R) -> Result<()> {
        self.draw_shared(rng)?;
        let model = self.model;
        let base = &model.local.own_base;
        for (block, placed) in model.local.blocks().1.iter().enumerate() {
            let range = range_of(placed);
            let mut natural = base[range.clone()].to_vec();
            let first = model.local.own_first() + range.start;
            let terms = &self.own_terms[block];
            let (statistics, collapsed) = (&self.statistics, &self.collapsed);
            (model.posterior).add_told(terms, first, statistics, collapsed, &mut natural);
            self.draw_own(placed, &natural, rng)?;
        }
        self.draw_collapsed(rng)?;
        let scales = std::mem::take(&mut self.scales);
        for scale in &scales {
            self.rescale(scale, rng);
        }
        self.scales = scales;
        Ok(())
    }

    /// All numbers of all variables.
    pub fn numbers(&self) -> &[f64] {
        &self.numbers
    }

    /// The place of a variable's first number among all.
    pub fn place(&self, variable: u32) -> usize {
        self.places.places(variable).start
    }

    /// What own and collapsed blocks tell the others, in the place of messages.
    pub(super) fn told(&self) -> Vec<f64> {
        let mut messages = vec![0.0; self.statistics.len()];
        (self.model.posterior).backward(&self.statistics, &self.collapsed, &mut messages);
        messages
    }

    /// Shared blocks and rows know of nothing but what is collapsed and own.
    pub(super) fn draw_shared<R: Rng + ?Sized>(&mut self, rng: &mut R) -> Result<()> {
        let local = &self.model.local;
        let messages = self.told();
        let slots = local.own_first();
        let (naturals, _) = local.naturals(&messages);
        self.statistics[..slots].fill(0.0);
        let mut statistics = vec![];
        for placed in local.blocks().0 {
            let range = range_of(placed);
            statistics.resize(range.len(), 0.0);
            let numbers = placed.0.draw(&naturals[range], rng, &mut statistics)?;
            self.places.put(&placed.0, numbers, &mut self.numbers);
            local.gather(placed.1, &statistics, &mut self.statistics[..slots]);
        }
        for rows in &local.rows {
            let first = self.places.places(rows.first).start;
            let labels = &mut self.numbers[first..first + rows.count];
            rows.draw(
                &messages[..slots],
                rng,
                labels,
                &mut self.statistics[..slots],
            )?;
        }
        Ok(())
    }

    pub(super) fn draw_own<R: Rng + ?Sized>(
        &mut self,
        placed: &Placed,
        natural: &[f64],
        rng: &mut R,
    ) -> Result<()> {
        let first = self.model.local.own_first() + placed.1;
        let statistics = &mut self.statistics[first..first + natural.len()];
        let numbers = placed.0.draw(natural, rng, statistics)?;
        self.places.put(&placed.0, numbers, &mut self.numbers);
        Ok(())
    }

    pub(super) fn draw_collapsed<R: Rng + ?Sized>(&mut self, rng: &mut R) -> Result<()> {
        let (naturals, _) = self.model.posterior.naturals(&self.statistics);
        for placed in self.model.posterior.blocks() {
            let range = range_of(placed);
            let statistics = &mut self.collapsed[range.clone()];
            let numbers = placed.0.draw(&naturals[range], rng, statistics)?;
            self.places.put(&placed.0, numbers, &mut self.numbers);
        }
        Ok(())
    }
}
