//! Decides how a Markov chain of exact draws moves: block after block, each given all others (maths §10.4).
//!
//! The log joint is a sum of coefficients times products of statistics. Put drawn statistics in the place
//! of expected ones, and what was a message is what a block's neighbours say: the functions that a climb
//! is made of are those of a blocked Gibbs sampler.
//!
//! - `answers`: what is scaled together with the variables behind answers
//! - `group`: how factors and loadings move together
//! - `leap`: how what is kept moves with all else summed out
//! - `matrix`: how a precision matrix and the effects that it scales move together
//! - `predictors`: how a Gaussian block with exponentials of predictors moves
//! - `relabel`: what the states of a draw's labels are called
//! - `scale`: how a precision and the effects that it scales move together
//! - `stretch`: how a precision and the effects that it scales move together in log-linear predictors
//! - `switch`: how a chain moves between the states of labels that are enumerated

mod answers;
mod group;
mod leap;
mod matrix;
mod predictors;
mod relabel;
mod scale;
mod stretch;
mod switch;

use rand::Rng;

use super::block::{BlockFamily, Placed, range_of};
use super::compiled::Compiled;
use super::draw::DrawBuffers;
use super::kernel::RowBuffers;
use super::layout::Entries;
use super::variational::Numbers;
use collapsar_core::{Point, Potential, Result};
pub(super) use group::Group;
pub use leap::{LeapingChain, Stage};
use matrix::{Matrix, MatrixBuffers};
use predictors::Predictors;
pub use relabel::Relabelling;
use scale::{Scale, ScaleBuffers};
use stretch::Stretch;
pub use switch::SwitchingChain;

/// One Markov chain.
#[derive(Debug, Clone)]
pub struct Chain<'a> {
    pub(super) model: &'a Compiled,
    pub(super) places: Numbers<'a>,
    /// The places of the numbers of each block: of shared blocks, own ones and collapsed ones.
    targets: [Vec<Vec<u32>>; 3],
    /// The terms that each own block is in.
    own_terms: Vec<Vec<u32>>,
    scales: Vec<Scale>,
    matrices: Vec<Matrix>,
    predictors: Vec<Predictors>,
    stretches: Vec<Stretch>,
    /// The own and the collapsed blocks that each group moves.
    grouped: Vec<[Vec<u32>; 2]>,
    /// What each slot is told by the statistics of shared blocks.
    gathering: Entries,
    /// All numbers, as [`super::VariationalPosterior::draw`] lays them out.
    pub(super) numbers: Vec<f64>,
    /// What explicit variables send: slots, then the statistics of own blocks.
    pub(super) statistics: Vec<f64>,
    /// The statistics of what is collapsed in a climb.
    pub(super) collapsed: Vec<f64>,
    work: Work,
}

/// What a sweep computes on its way, kept so that the next one need not ask for memory.
#[derive(Debug, Clone, Default)]
struct Work {
    messages: Vec<f64>,
    /// Natural parameters of shared blocks, and whether they are those of what was drawn last.
    shared: Vec<f64>,
    told: bool,
    /// Natural parameters of collapsed blocks, and of an own one.
    given: Vec<f64>,
    own: Vec<f64>,
    /// The exponentials of predictors, where others are told of them.
    exponentials: Vec<f64>,
    /// The numbers of a block, and the statistics of all shared ones.
    drawn: Vec<f64>,
    sent: Vec<f64>,
    buffers: DrawBuffers,
    rows: RowBuffers,
    scale: ScaleBuffers,
    matrix: MatrixBuffers,
}

impl Compiled {
    /// A chain that begins at a draw of q.
    ///
    /// # Errors
    /// Where the point is outside the domain.
    pub fn chain<'a, R: Rng + ?Sized>(&'a self, point: &Point, rng: &mut R) -> Result<Chain<'a>> {
        let mut chain = self.chain_of(point.statistics.clone());
        chain.expect_predictors(&point.statistics);
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
        chain.enter(numbers);
        let statistics = chain.statistics.clone();
        chain.expect_predictors(&statistics);
        chain.sweep(rng)?;
        Ok(chain)
    }

    /// A chain without numbers.
    fn chain_of(&self, statistics: Vec<f64>) -> Chain<'_> {
        let places = Numbers::new(self.declared());
        let (shared, own) = self.local.blocks();
        let of = |blocks: &[Placed]| -> Vec<Vec<u32>> {
            let of = |placed: &Placed| {
                let variables = placed.0.variables.iter();
                let all = variables.flat_map(|&variable| places.places(variable));
                all.map(|place| place as u32).collect()
            };
            blocks.iter().map(of).collect()
        };
        let targets = [shared, own, self.posterior.blocks()].map(of);
        Chain {
            model: self,
            own_terms: self.posterior.terms_of(self.local.own_first(), own),
            scales: Scale::all(self),
            matrices: Matrix::all(self),
            predictors: Predictors::all(self),
            stretches: Stretch::all(self),
            grouped: (self.groups.iter())
                .map(|group| [own, self.posterior.blocks()].map(|blocks| group.held(blocks)))
                .collect(),
            gathering: self.local.gathering(),
            numbers: vec![0.0; places.len()],
            places,
            targets,
            statistics,
            collapsed: vec![0.0; self.posterior.statistics()],
            work: Work::default(),
        }
    }
}

impl Chain<'_> {
    /// Takes the numbers of own and collapsed blocks from elsewhere; those of the others are still to be drawn.
    fn enter(&mut self, numbers: &[f64]) {
        let (local, posterior) = (&self.model.local, &self.model.posterior);
        let own = local.own_first();
        self.moved();
        self.statistics[..own].fill(0.0);
        let drawn = &mut self.work.drawn;
        let mut at = |placed: &Placed, targets: &[u32], out: &mut [f64]| {
            drawn.clear();
            drawn.extend(targets.iter().map(|&place| numbers[place as usize]));
            placed.0.statistics_at(drawn, &mut out[range_of(placed)]);
        };
        for (placed, targets) in local.blocks().1.iter().zip(&self.targets[1]) {
            at(placed, targets, &mut self.statistics[own..]);
        }
        for (placed, targets) in posterior.blocks().iter().zip(&self.targets[2]) {
            at(placed, targets, &mut self.collapsed);
        }
    }

    /// Draws every block once, given all others.
    ///
    /// # Errors
    /// Where what the others say of a block is outside its domain.
    pub fn sweep<R: Rng + ?Sized>(&mut self, rng: &mut R) -> Result<()> {
        self.draw_shared(rng)?;
        let model = self.model;
        let base = &model.local.own_base;
        let mut natural = std::mem::take(&mut self.work.own);
        self.see_exponentials();
        for (block, placed) in model.local.blocks().1.iter().enumerate() {
            let range = range_of(placed);
            natural.clear();
            natural.extend_from_slice(&base[range.clone()]);
            let first = model.local.own_first() + range.start;
            let terms = &self.own_terms[block];
            let (statistics, collapsed) = (&self.statistics, &self.collapsed);
            let exponentials = &self.work.exponentials;
            (model.posterior).add_told(
                terms,
                first,
                statistics,
                exponentials,
                collapsed,
                &mut natural,
            );
            if self.has_predictors(block) {
                self.turn_predictors(block, &natural, rng)?;
            } else {
                self.draw_own(placed, &natural, rng)?;
            }
        }
        self.work.own = natural;
        self.draw_collapsed(rng)?;
        self.rescale(rng);
        self.stretch(rng);
        self.respread(rng);
        self.regroup(rng);
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

    /// Forgets what was computed from statistics, which are no longer those of the last draw.
    pub(super) fn moved(&mut self) {
        self.work.told = false;
    }

    /// What own and collapsed blocks tell the others, in the place of messages.
    pub(super) fn told(&self) -> Vec<f64> {
        let mut messages = vec![0.0; self.statistics.len()];
        (self.model.posterior).backward(&self.statistics, &self.collapsed, &mut messages);
        messages
    }

    /// Sees to it that messages and natural parameters of shared blocks are those of what was drawn last.
    fn tell(&mut self) {
        let (model, work) = (self.model, &mut self.work);
        if !work.told {
            work.messages.resize(self.statistics.len(), 0.0);
            let messages = &mut work.messages;
            (model.posterior).backward(&self.statistics, &self.collapsed, messages);
            model.local.write_shared(messages, &mut work.shared);
            work.told = true;
        }
    }

    /// Shared blocks and rows know of nothing but what is collapsed and own.
    pub(super) fn draw_shared<R: Rng + ?Sized>(&mut self, rng: &mut R) -> Result<()> {
        self.draw_shared_but(|_| false, rng)
    }

    /// The same without blocks whose numbers nobody reads.
    pub(super) fn draw_shared_but<R: Rng + ?Sized>(
        &mut self,
        unread: impl Fn(&BlockFamily) -> bool,
        rng: &mut R,
    ) -> Result<()> {
        self.tell();
        let local = &self.model.local;
        let slots = local.own_first();
        let work = &mut self.work;
        work.sent.resize(work.shared.len(), 0.0);
        let blocks = local.blocks().0.iter().zip(&self.targets[0]);
        for (placed, targets) in blocks.filter(|(placed, _)| !unread(&placed.0.family)) {
            let range = range_of(placed);
            work.drawn.resize(targets.len(), 0.0);
            let (natural, sent) = (&work.shared[range.clone()], &mut work.sent[range]);
            let drawn = &mut work.drawn;
            (placed.0).draw_into(natural, rng, &mut work.buffers, drawn, sent)?;
            put(targets, drawn, &mut self.numbers);
        }
        (self.gathering).write_product(&work.sent, &mut self.statistics[..slots]);
        for rows in &local.rows {
            let first = self.places.places(rows.first).start;
            let labels = &mut self.numbers[first..first + rows.count];
            let out = &mut self.statistics[..slots];
            rows.draw(&work.messages[..slots], rng, &mut work.rows, labels, out)?;
        }
        // Own blocks are told of shared ones.
        work.told = work.told && local.own_base.is_empty();
        Ok(())
    }

    pub(super) fn draw_own<R: Rng + ?Sized>(
        &mut self,
        placed: &Placed,
        natural: &[f64],
        rng: &mut R,
    ) -> Result<()> {
        let local = &self.model.local;
        let first = local.own_first() + placed.1;
        let statistics = &mut self.statistics[first..first + natural.len()];
        let block = local.blocks().1.partition_point(|own| own.1 < placed.1);
        let (targets, work) = (&self.targets[1][block], &mut self.work);
        work.told = false;
        work.drawn.resize(targets.len(), 0.0);
        let drawn = &mut work.drawn;
        (placed.0).draw_into(natural, rng, &mut work.buffers, drawn, statistics)?;
        put(targets, drawn, &mut self.numbers);
        Ok(())
    }

    pub(super) fn draw_collapsed<R: Rng + ?Sized>(&mut self, rng: &mut R) -> Result<()> {
        self.draw_collapsed_but(|_| false, rng)
    }

    /// The same without blocks whose numbers nobody reads.
    pub(super) fn draw_collapsed_but<R: Rng + ?Sized>(
        &mut self,
        unread: impl Fn(&BlockFamily) -> bool,
        rng: &mut R,
    ) -> Result<()> {
        let (posterior, work) = (&self.model.posterior, &mut self.work);
        work.told = false;
        work.given.resize(posterior.statistics(), 0.0);
        posterior.write_naturals(&self.statistics, &mut work.given);
        let blocks = posterior.blocks().iter().zip(&self.targets[2]);
        for (placed, targets) in blocks.filter(|(placed, _)| !unread(&placed.0.family)) {
            let range = range_of(placed);
            let statistics = &mut self.collapsed[range.clone()];
            work.drawn.resize(targets.len(), 0.0);
            let (natural, drawn) = (&work.given[range], &mut work.drawn);
            (placed.0).draw_into(natural, rng, &mut work.buffers, drawn, statistics)?;
            put(targets, drawn, &mut self.numbers);
        }
        Ok(())
    }
}

/// Puts the numbers of a block in their places.
fn put(targets: &[u32], drawn: &[f64], numbers: &mut [f64]) {
    for (&target, &number) in targets.iter().zip(drawn) {
        numbers[target as usize] = number;
    }
}
