//! Decides how a chain moves between the states of labels that are enumerated: by the joint with all that can be summed
//! out summed out (maths §10.7).
//!
//! A change-point hardly moves given the coefficients on both of its sides, and neither does an indicator given its
//! coefficient. So a state is drawn given own and collapsed blocks alone, for each state the model that is given it. In
//! every other sweep these stay as far from where the fits of states have them as they are: where a shape goes up, so do
//! the rates that go with it.

use std::cmp::Ordering;

use collapsar_core::random::{Distribution, Exp1};
use rand::{Rng, RngExt};

use super::Chain;
use crate::graph::Told;
use crate::graph::block::{BlockFamily, Placed, range_of};
use crate::graph::compiled::Compiled;
use crate::graph::kept::product;
use collapsar_core::elementary::Elementary;
use collapsar_core::family::{Tail, pick};
use collapsar_core::special::log_sum_exp;
use collapsar_core::{Collapsed, Point, Result};

/// A chain over several models of the same variables, each the same one given other states of some labels.
#[derive(Debug, Clone)]
pub struct SwitchingChain<'a> {
    chains: Vec<Chain<'a>>,
    /// The places of the labels among all numbers, and for each model their states.
    labels: Vec<usize>,
    states: Vec<Vec<f64>>,
    at: usize,
    /// For each state and each label, the states that differ from it in no other label, itself among them, in the order of that
    /// label; empty where all states are looked at.
    neighbours: Vec<Vec<Vec<usize>>>,
    /// For each label, whether its states are nodes of a grid: next to a likely one there are others.
    on_grid: Vec<bool>,
    sweeps: usize,
    numbers: Vec<f64>,
    /// The places of numbers that are moved with the state, and whether by a factor; for each state, where its fit has
    /// them, as logarithms where it is by a factor.
    moved: Vec<(u32, bool)>,
    centres: Vec<Vec<f64>>,
    /// Whether statistics are the same at all states where numbers are.
    alike: bool,
    /// Numbers at another state.
    there: Vec<f64>,
    weights: Vec<f64>,
    messages: Vec<f64>,
}

/// States up to which all are looked at in every sweep; beyond that labels are drawn one by one.
const FEW: usize = 32;
/// Sweeps of which one looks at all states: not all that were asked for need be next to another.
const EVERY: usize = 20;
/// Nodes of a grid beyond which only some are looked at, and how many of them a slice is extended by.
const LONG: usize = 16;
const STEP: usize = 6;

impl<'a> SwitchingChain<'a> {
    /// A chain that begins at numbers of all variables, with a sweep of the model whose states the labels have there. Each
    /// model comes with those states and its fit, each label with whether its states are nodes of a grid. None where models do not
    /// keep the same blocks, so that their joints cannot be compared.
    ///
    /// # Errors
    /// Where the numbers are outside the domain.
    pub fn new<R: Rng + ?Sized>(
        models: &[(&'a Compiled, &[u32], &Point)],
        (labels, on_grid): (&[u32], &[bool]),
        numbers: &[f64],
        rng: &mut R,
    ) -> Result<Option<Self>> {
        let kept = |model: &Compiled| -> Vec<(Vec<u32>, std::mem::Discriminant<BlockFamily>)> {
            let blocks = model
                .local
                .blocks()
                .1
                .iter()
                .chain(model.posterior.blocks());
            let known = |variables: &[u32]| variables.iter().all(|v| labels.contains(v));
            blocks
                .filter(|(block, _)| !known(&block.variables))
                .map(|(block, _)| {
                    (
                        block.variables.clone(),
                        std::mem::discriminant(&block.family),
                    )
                })
                .collect()
        };
        let Some(((first, ..), rest)) = models.split_first() else {
            return Ok(None);
        };
        let same = kept(first);
        if rest.iter().any(|(model, ..)| kept(model) != same) {
            return Ok(None);
        }
        let (mut chains, mut moved, mut centres) = (vec![], vec![], vec![]);
        for (model, _, point) in models {
            let mut chain = model.chain_of(vec![0.0; model.statistics()]);
            chain.expect_predictors(&point.statistics);
            let (places, values): (Vec<(u32, bool)>, Vec<f64>) =
                chain.centres(&point.statistics)?.into_iter().unzip();
            chains.push(chain);
            centres.push(values);
            moved.push(places);
        }
        // Nothing moves where states differ in what may.
        let alike = moved.windows(2).all(|pair| pair[0] == pair[1]);
        let moved = moved.pop().filter(|_| alike).unwrap_or_default();
        let labels: Vec<usize> = labels.iter().map(|&label| chains[0].place(label)).collect();
        let states: Vec<Vec<f64>> = (models.iter())
            .map(|(_, states, _)| states.iter().map(|&state| f64::from(state)).collect())
            .collect();
        let here: Vec<f64> = labels.iter().map(|&place| numbers[place]).collect();
        let at = states.iter().position(|states| *states == here);
        let one_by_one = chains.len() > FEW && labels.len() > 1;
        let sliced = chains.len() > LONG && on_grid.contains(&true);
        let neighbours = if one_by_one || sliced {
            neighbours(&states)
        } else {
            vec![]
        };
        let mut chain = Self {
            weights: Vec::with_capacity(chains.len()),
            neighbours,
            on_grid: on_grid.to_vec(),
            sweeps: 0,
            chains,
            labels,
            states,
            at: at.unwrap_or(0),
            numbers: numbers.to_vec(),
            moved,
            centres,
            alike: models
                .windows(2)
                .all(|pair| are_alike(pair[0].0, pair[1].0)),
            there: vec![],
            messages: vec![],
        };
        chain.chains[chain.at].enter(numbers);
        chain.chains[chain.at].sweep(rng)?;
        Ok(Some(chain))
    }

    /// Draws a state given what own and collapsed blocks are, and then every block once.
    ///
    /// # Errors
    /// Where what the others say of a block is outside its domain.
    pub fn sweep<R: Rng + ?Sized>(&mut self, rng: &mut R) -> Result<()> {
        self.numbers.copy_from_slice(self.chains[self.at].numbers());
        let neighbours = std::mem::take(&mut self.neighbours);
        let moves = self.sweeps.is_multiple_of(2);
        if neighbours.is_empty() || self.sweeps.is_multiple_of(EVERY) {
            let all: Vec<usize> = (0..self.chains.len()).collect();
            self.draw_among(&all, moves, rng);
        } else {
            for label in 0..self.labels.len() {
                let line = &neighbours[self.at][label];
                if self.on_grid[label] && line.len() > LONG {
                    self.draw_along(line, moves, rng);
                } else {
                    self.draw_among(line, moves, rng);
                }
            }
        }
        self.neighbours = neighbours;
        self.sweeps += 1;
        self.chains[self.at].sweep(rng)
    }

    /// Draws one of these states, the present one among them; numbers may move with it.
    fn draw_among<R: Rng + ?Sized>(&mut self, states: &[usize], moves: bool, rng: &mut R) {
        self.weights.clear();
        for &state in states {
            let ln_joint = self.ln_joint(state, moves);
            self.weights.push(ln_joint);
        }
        let total = log_sum_exp(&self.weights);
        if total.is_finite() {
            for weight in &mut self.weights {
                *weight = (*weight - total).exp_();
            }
            self.settle(states[pick(&self.weights, 1.0, rng)], moves);
        }
    }

    /// Moves to a state along a line of nodes, the present one among them: a slice of the line, extended by steps and then
    /// shrunk (Neal03). It leaves the same distribution as a draw among all of them, and looks at a few.
    fn draw_along<R: Rng + ?Sized>(&mut self, line: &[usize], moves: bool, rng: &mut R) {
        let Some(here) = line.iter().position(|&state| state == self.at) else {
            return;
        };
        let fall: f64 = Exp1.sample(rng);
        let level = self.ln_joint(self.at, moves) - fall;
        if !level.is_finite() {
            return;
        }
        // Ends are steps apart, wherever in the slice it was begun: nothing is likely beyond those of the line.
        let offset = rng.random_range(0..STEP);
        let mut first = here.checked_sub(offset);
        while let Some(at) = first
            && self.ln_joint(line[at], moves) > level
        {
            first = at.checked_sub(STEP);
        }
        let mut last = here + STEP - offset;
        while last < line.len() && self.ln_joint(line[last], moves) > level {
            last += STEP;
        }
        let (mut first, mut last) = (first.unwrap_or(0), last.min(line.len() - 1));
        loop {
            let next = rng.random_range(first..=last);
            if next == here || self.ln_joint(line[next], moves) > level {
                return self.settle(line[next], moves);
            }
            if next < here {
                first = next + 1;
            } else {
                last = next - 1;
            }
        }
    }

    /// The log joint at a state.
    fn ln_joint(&mut self, state: usize, moves: bool) -> f64 {
        self.enter(state, moves);
        self.chains[state].ln_joint(&mut self.messages)
    }

    /// Goes to a state whose joint was looked at: its chain is there already.
    fn settle(&mut self, state: usize, moves: bool) {
        self.see(state, moves);
        std::mem::swap(&mut self.numbers, &mut self.there);
        self.at = state;
    }

    /// All numbers of all variables.
    pub fn numbers(&self) -> &[f64] {
        self.chains[self.at].numbers()
    }

    /// The place of a variable's first number among all.
    pub fn place(&self, variable: u32) -> usize {
        self.chains[0].place(variable)
    }

    /// Puts the chain of a state where the present numbers are, but for the labels and for what moves with them. The
    /// measures of families are those of what is moved: dx, and dx/x where it is by a factor.
    fn enter(&mut self, state: usize, moves: bool) {
        if self.alike && !moves {
            // The chain of the present state is where the present numbers are.
            let (below, above) = self.chains.split_at_mut(state.max(self.at));
            match (state.cmp(&self.at), above.first_mut()) {
                (Ordering::Less, Some(here)) => below[state].enter_as(here),
                (Ordering::Greater, Some(there)) => there.enter_as(&below[self.at]),
                (_, here) => here.into_iter().for_each(Chain::leave_slots),
            }
            return;
        }
        self.see(state, moves);
        self.chains[state].enter(&self.there);
    }

    /// The numbers that there are at another state.
    fn see(&mut self, state: usize, moves: bool) {
        self.there.clear();
        self.there.extend_from_slice(&self.numbers);
        for (&place, &label) in self.labels.iter().zip(&self.states[state]) {
            self.there[place] = label;
        }
        if moves && state != self.at {
            let (here, there) = (&self.centres[self.at], &self.centres[state]);
            for ((&(place, factor), here), there) in self.moved.iter().zip(here).zip(there) {
                let number = &mut self.there[place as usize];
                if factor {
                    *number *= (there - here).exp_();
                } else {
                    *number += there - here;
                }
            }
        }
    }
}

/// For each state and each label, the states that differ in no other label, in the order of that one.
fn neighbours(states: &[Vec<f64>]) -> Vec<Vec<Vec<usize>>> {
    let labels = states.first().map_or(0, Vec::len);
    let same_but = |label: usize, a: &[f64], b: &[f64]| {
        a[..label] == b[..label] && a[label + 1..] == b[label + 1..]
    };
    let of = |state: &Vec<f64>, label: usize| {
        let others = states.iter().enumerate();
        let near = others.filter(|(_, other)| same_but(label, state, other));
        let mut near: Vec<usize> = near.map(|(place, _)| place).collect();
        near.sort_by(|&a, &b| states[a][label].total_cmp(&states[b][label]));
        near
    };
    let each = |state| (0..labels).map(|label| of(state, label)).collect();
    states.iter().map(each).collect()
}

/// Whether two models count the same statistics of what they keep, in the same places.
fn are_alike(a: &Compiled, b: &Compiled) -> bool {
    let same = |(a, first): &Placed, (b, other): &Placed| {
        let family = match (&a.family, &b.family) {
            (BlockFamily::Gaussian(a), BlockFamily::Gaussian(b)) => a.pairs() == b.pairs(),
            (BlockFamily::Gamma(_), BlockFamily::Gamma(_))
            | (BlockFamily::PolyaGamma(_), BlockFamily::PolyaGamma(_)) => true,
            _ => false,
        };
        family && first == other && a.variables == b.variables
    };
    let all =
        |a: &[Placed], b: &[Placed]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b));
    a.local.own_first() == b.local.own_first()
        && all(a.local.blocks().1, b.local.blocks().1)
        && all(a.posterior.blocks(), b.posterior.blocks())
}

impl Compiled {
    /// How many statistics explicit variables send.
    fn statistics(&self) -> usize {
        self.local.own_first() + self.local.own_base.len()
    }
}

impl Chain<'_> {
    /// Leaves out what shared blocks send, so that they are summed out.
    fn leave_slots(&mut self) {
        self.moved();
        self.statistics[..self.model.local.own_first()].fill(0.0);
    }

    /// Takes the statistics of own and collapsed blocks from a chain whose model counts the same ones.
    fn enter_as(&mut self, other: &Self) {
        let own = self.model.local.own_first();
        self.statistics[own..].copy_from_slice(&other.statistics[own..]);
        self.collapsed.copy_from_slice(&other.collapsed);
        self.leave_slots();
    }

    /// Numbers that may move with a state: their places, whether by a factor, and where a fit has them, as logarithms where it
    /// is by a factor. Those that have bounds or factors of their densities beside the terms are left out.
    fn centres(&self, statistics: &[f64]) -> Result<Vec<((u32, bool), f64)>> {
        let (local, posterior) = (&self.model.local, &self.model.posterior);
        let mut found = vec![];
        let mut look = |placed: &Placed, targets: &[u32], means: &[f64]| {
            let means = &means[range_of(placed)];
            match &placed.0.family {
                BlockFamily::Gaussian(family) => {
                    let each = targets.iter().zip(&means[..family.scalars()]);
                    found.extend(each.map(|(&place, &mean)| ((place, false), mean)));
                }
                BlockFamily::Gamma(_) => found.push(((targets[0], true), means[0])),
                BlockFamily::Positive(family, told)
                    if family.bounds() == (0.0, f64::INFINITY) && *family.tail() == Tail::None =>
                {
                    found.push(match told {
                        Told::Power(power) => ((targets[0], true), power * means[0]),
                        Told::Logarithm(multiple) => ((targets[0], false), multiple * means[0]),
                    });
                }
                _ => {}
            }
        };
        for (placed, targets) in local.blocks().1.iter().zip(&self.targets[1]) {
            look(placed, targets, &statistics[local.own_first()..]);
        }
        posterior.value_and_means(statistics, |_, means| {
            for (placed, targets) in posterior.blocks().iter().zip(&self.targets[2]) {
                look(placed, targets, means);
            }
        })?;
        Ok(found)
    }

    /// The log joint of data and what was entered, all else summed out, by the measures of the families: $-\infty$ where that
    /// is outside the domain (maths §10.5).
    fn ln_joint(&self, messages: &mut Vec<f64>) -> f64 {
        let model = self.model;
        let own = &self.statistics[model.local.own_first()..];
        let others = model.ln_joint_of_collapsed(&self.statistics, &self.collapsed, messages);
        let ln_joint = others.unwrap_or(f64::NEG_INFINITY)
            + product(&model.local.own_base, own)
            + model.constant();
        if ln_joint.is_nan() {
            f64::NEG_INFINITY
        } else {
            ln_joint
        }
    }
}
