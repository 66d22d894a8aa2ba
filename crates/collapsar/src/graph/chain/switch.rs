//! Decides how a chain moves between the states of labels that are enumerated: by the joint with all that can be summed
//! out summed out (maths §10.7).
//!
//! A change-point hardly moves given the coefficients on both of its sides, and neither does an indicator given its
//! coefficient. So a state is drawn given own and collapsed blocks alone, for each state the model that is given it.

use rand::Rng;

use super::Chain;
use crate::graph::block::BlockFamily;
use crate::graph::compiled::Compiled;
use crate::graph::kept::product;
use collapsar_core::family::pick;
use collapsar_core::special::log_sum_exp;
use collapsar_core::{Collapsed, Result};

/// A chain over several models of the same variables, each the same one given other states of some labels.
#[derive(Debug, Clone)]
pub struct SwitchingChain<'a> {
    chains: Vec<Chain<'a>>,
    /// The places of the labels among all numbers, and for each model their states.
    labels: Vec<usize>,
    states: Vec<Vec<f64>>,
    at: usize,
    /// For each state and each label, the states that differ from it in no other label, itself among them; empty where
    /// there are few states, all of which are looked at.
    neighbours: Vec<Vec<Vec<usize>>>,
    sweeps: usize,
    numbers: Vec<f64>,
    weights: Vec<f64>,
    messages: Vec<f64>,
}

/// States up to which all are looked at in every sweep; beyond that labels are drawn one by one.
const FEW: usize = 32;
/// Sweeps of which one looks at all states: not all that were asked for need be next to another.
const EVERY: usize = 20;

impl<'a> SwitchingChain<'a> {
    /// A chain that begins at numbers of all variables, with a sweep of the model whose states the labels have there. Each
    /// model comes with those states. None where models do not keep the same blocks, so that their joints cannot be
    /// compared.
    ///
    /// # Errors
    /// Where the numbers are outside the domain.
    pub fn new<R: Rng + ?Sized>(
        models: &[(&'a Compiled, &[u32])],
        labels: &[u32],
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
        let Some(((first, _), rest)) = models.split_first() else {
            return Ok(None);
        };
        let same = kept(first);
        if rest.iter().any(|(model, _)| kept(model) != same) {
            return Ok(None);
        }
        let chains: Vec<Chain<'a>> = (models.iter())
            .map(|(model, _)| model.chain_of(vec![0.0; model.statistics()]))
            .collect();
        let labels: Vec<usize> = labels.iter().map(|&label| chains[0].place(label)).collect();
        let states: Vec<Vec<f64>> = (models.iter())
            .map(|(_, states)| states.iter().map(|&state| f64::from(state)).collect())
            .collect();
        let here: Vec<f64> = labels.iter().map(|&place| numbers[place]).collect();
        let at = states.iter().position(|states| *states == here);
        let neighbours = if chains.len() > FEW && labels.len() > 1 {
            neighbours(&states)
        } else {
            vec![]
        };
        let mut chain = Self {
            weights: Vec::with_capacity(chains.len()),
            neighbours,
            sweeps: 0,
            chains,
            labels,
            states,
            at: at.unwrap_or(0),
            numbers: numbers.to_vec(),
            messages: vec![],
        };
        chain.enter(chain.at);
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
        if neighbours.is_empty() || self.sweeps.is_multiple_of(EVERY) {
            let all: Vec<usize> = (0..self.chains.len()).collect();
            self.draw_among(&all, rng);
        } else {
            for label in 0..self.labels.len() {
                self.draw_among(&neighbours[self.at][label], rng);
            }
        }
        self.neighbours = neighbours;
        self.sweeps += 1;
        self.chains[self.at].sweep(rng)
    }

    /// Draws one of these states, the present one among them.
    fn draw_among<R: Rng + ?Sized>(&mut self, states: &[usize], rng: &mut R) {
        self.weights.clear();
        for &state in states {
            self.enter(state);
            let ln_joint = self.chains[state].ln_joint(&mut self.messages);
            self.weights.push(ln_joint);
        }
        let total = log_sum_exp(&self.weights);
        if total.is_finite() {
            for weight in &mut self.weights {
                *weight = (*weight - total).exp();
            }
            self.at = states[pick(&self.weights, 1.0, rng)];
        }
    }

    /// All numbers of all variables.
    pub fn numbers(&self) -> &[f64] {
        self.chains[self.at].numbers()
    }

    /// The place of a variable's first number among all.
    pub fn place(&self, variable: u32) -> usize {
        self.chains[0].place(variable)
    }

    /// Puts the chain of a state where the present numbers are, but for the labels.
    fn enter(&mut self, state: usize) {
        for (&place, &label) in self.labels.iter().zip(&self.states[state]) {
            self.numbers[place] = label;
        }
        self.chains[state].enter(&self.numbers);
    }
}

/// For each state and each label, the states that differ in no other label.
fn neighbours(states: &[Vec<f64>]) -> Vec<Vec<Vec<usize>>> {
    let labels = states.first().map_or(0, Vec::len);
    let same_but = |label: usize, a: &[f64], b: &[f64]| {
        a[..label] == b[..label] && a[label + 1..] == b[label + 1..]
    };
    let of = |state: &Vec<f64>, label: usize| {
        let others = states.iter().enumerate();
        let near = others.filter(|(_, other)| same_but(label, state, other));
        near.map(|(place, _)| place).collect()
    };
    let each = |state| (0..labels).map(|label| of(state, label)).collect();
    states.iter().map(each).collect()
}

impl Compiled {
    /// How many statistics explicit variables send.
    fn statistics(&self) -> usize {
        self.local.own_first() + self.local.own_base.len()
    }
}

impl Chain<'_> {
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
