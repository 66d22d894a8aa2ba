//! Decides how factors and loadings move together: factors times a number and loadings by it, so that their products stay
//! as they are (maths §10.7).
//!
//! Factors are drawn given loadings and they given factors, so that the scale of both hardly moves. Along
//! $(s\,x, w/s)$ the likelihood is constant, and what is left are the priors: a few powers of $s$.

use std::collections::{BTreeMap, BTreeSet};

use rand::Rng;

use super::answers;
use super::scale::slice;
use crate::graph::block::{BlockFamily, Placed, range_of};
use crate::graph::variational::Numbers;
use crate::graph::{Atom, Graph, Kind, Told};
use collapsar_core::elementary::Elementary;
use collapsar_core::family::Family;

/// Powers of the scale that the log joint may have, to either side of zero.
const HIGHEST: i32 = 4;

/// Normal variables that are multiplied and others that are divided by one number.
#[derive(Debug, Clone)]
pub(in crate::graph) struct Group {
    /// Variables, and 1 or -1; the place of each one's number.
    moved: Vec<(u32, i32)>,
    places: Vec<u32>,
    /// The terms that change: coefficient and power, and the end of each one's factors.
    terms: Vec<(f64, i32, usize)>,
    /// Numbers that terms are products of, by place: a variable's, or whether a label is in a state.
    factors: Vec<Factor>,
}

#[derive(Debug, Clone, Copy)]
enum Factor {
    Value(u32),
    Logarithm(u32),
    /// The logarithm of x, x or its inverse, of a positive number that is told so.
    Positive(u32, u32, Told),
    State(u32, u32),
}

impl Group {
    /// All that a graph has: components of the variables that squares of products join, and answers with what they are
    /// answers to.
    pub(in crate::graph) fn all(graph: &Graph) -> Vec<Self> {
        // What is scaled may be in a predictor, whose exponential is no power of the scale.
        if !graph.exponentials.is_empty() {
            return vec![];
        }
        let normal = |kind: Kind| matches!(kind, Kind::Gaussian | Kind::Bounded);
        let mut joined: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for (atoms, ..) in graph.terms.each() {
            let mut four = atoms
                .iter()
                .filter(|atom| normal(graph.kind(atom.variable)));
            let four = [
                four.next(),
                four.next(),
                four.next(),
                four.next(),
                four.next(),
            ];
            if let [Some(a), Some(b), Some(c), Some(d), None] = four
                && a == b
                && c == d
                && b != c
            {
                joined.entry(a.variable).or_default().insert(c.variable);
                joined.entry(c.variable).or_default().insert(a.variable);
            }
        }
        let mut seen = BTreeMap::new();
        let mut groups = vec![];
        for &first in joined.keys() {
            if !seen.contains_key(&first) {
                let component = component(&joined, first, &mut seen);
                groups.extend(component.and_then(|moved| Self::new(graph, moved)));
            }
        }
        let answers = answers::all(graph, &seen).into_iter();
        groups.extend(answers.filter_map(|moved| Self::new(graph, moved)));
        groups
    }

    fn new(graph: &Graph, moved: Vec<(u32, i32)>) -> Option<Self> {
        // Bounds that scales do not move are zero and infinity.
        let fixed = |bound: f64| bound == 0.0 || bound.is_infinite();
        let bounds = moved
            .iter()
            .filter_map(|(variable, _)| graph.bounds.get(variable));
        if !bounds
            .into_iter()
            .all(|&(lower, upper)| fixed(lower) && fixed(upper))
        {
            return None;
        }
        let powers: BTreeMap<u32, i32> = moved.iter().copied().collect();
        let power = |atoms: &[Atom]| -> i32 {
            let powers = atoms.iter().filter_map(|atom| powers.get(&atom.variable));
            powers.sum()
        };
        let mut products = graph.rows.iter().flat_map(|rows| rows.products.each());
        if !products.all(|(atoms, ..)| power(atoms) == 0) {
            return None;
        }
        let numbers = Numbers::new(&graph.declared);
        let place = |variable: u32| numbers.places(variable).start as u32;
        let (mut terms, mut factors) = (vec![], vec![]);
        for (atoms, coefficient, _) in graph.terms.each() {
            let power = power(atoms);
            if power.abs() > HIGHEST {
                return None;
            }
            if power == 0 || coefficient == 0.0 {
                continue;
            }
            for atom in atoms {
                let place = place(atom.variable);
                factors.push(match (graph.kind(atom.variable), atom.part) {
                    (Kind::Gaussian | Kind::Bounded | Kind::PolyaGamma, _) | (Kind::Gamma, 1) => {
                        Factor::Value(place)
                    }
                    (Kind::Gamma, 0) => Factor::Logarithm(place),
                    (Kind::Positive { .. }, part @ 0..=2) => {
                        Factor::Positive(place, part, graph.told(atom.variable))
                    }
                    (Kind::Label(_), state) => Factor::State(place, state),
                    // Matrices multiply vectors, whose elements are not alone.
                    _ => return None,
                });
            }
            terms.push((coefficient, power, factors.len()));
        }
        Some(Self {
            places: moved.iter().map(|(variable, _)| place(*variable)).collect(),
            moved,
            terms,
            factors,
        })
    }

    /// The coefficients of the powers of s in the log joint, from the lowest on.
    fn powers(&self, numbers: &[f64]) -> [f64; 2 * HIGHEST as usize + 1] {
        let mut sums = [0.0; 2 * HIGHEST as usize + 1];
        let at = |place: u32| numbers[place as usize];
        let mut first = 0;
        for &(coefficient, power, end) in &self.terms {
            let mut product = 1.0;
            for factor in &self.factors[first..end] {
                product *= match *factor {
                    Factor::Value(place) => at(place),
                    Factor::Logarithm(place) => at(place).ln_(),
                    Factor::Positive(place, part, told) => {
                        let log = told.ln_x(at(place));
                        [log, log.exp_(), (-log).exp_()][part as usize]
                    }
                    Factor::State(place, state) => f64::from(u8::from(at(place) as u32 == state)),
                };
            }
            first = end;
            // A state that cannot be has the coefficient -∞.
            if product != 0.0 {
                sums[(power + HIGHEST) as usize] += coefficient * product;
            }
        }
        sums
    }
}

/// A component with 1 for one side of it and -1 for the other; nothing where it has no two sides.
fn component(
    joined: &BTreeMap<u32, BTreeSet<u32>>,
    first: u32,
    seen: &mut BTreeMap<u32, i32>,
) -> Option<Vec<(u32, i32)>> {
    let (mut found, mut left, mut sides) = (vec![], vec![first], true);
    seen.insert(first, 1);
    while let Some(variable) = left.pop() {
        let side = seen[&variable];
        found.push((variable, side));
        for &other in &joined[&variable] {
            let known = *seen.entry(other).or_insert_with(|| {
                left.push(other);
                -side
            });
            sides &= known == -side;
        }
    }
    found.sort_unstable();
    sides.then_some(found)
}

impl super::Chain<'_> {
    /// Moves each group along the line on which its products stay as they are.
    pub(super) fn regroup<R: Rng + ?Sized>(&mut self, rng: &mut R) {
        let model = self.model;
        for (number, group) in model.groups.iter().enumerate() {
            let powers = group.powers(&self.numbers);
            // Volumes grow by s for what is multiplied and fall for what is divided.
            let volume = group.moved.iter().map(|(_, side)| side).sum::<i32>();
            let density = |y: f64| {
                let s = y.exp_();
                let lowest = s.powi(-HIGHEST);
                let value = powers.iter().rev().fold(0.0, |sum, c| sum * s + c);
                f64::from(volume) * y + lowest * value
            };
            let s = slice(density, rng).exp_();
            let scaled = |side: i32| if side > 0 { s } else { 1.0 / s };
            let moved = || group.moved.iter().zip(&group.places);
            let inside = moved().all(|((_, side), &place)| {
                (self.numbers[place as usize] * scaled(*side)).is_finite()
            });
            if !(s > 0.0 && s.is_finite() && inside) {
                continue;
            }
            for ((_, side), &place) in moved() {
                self.numbers[place as usize] *= scaled(*side);
            }
            self.work.told = false;
            self.renew(number);
        }
    }

    /// Computes the statistics of own and collapsed blocks anew that hold some of a group's variables. Shared blocks are
    /// drawn next, given these.
    fn renew(&mut self, group: usize) {
        let (local, posterior) = (&self.model.local, &self.model.posterior);
        let slots = local.own_first();
        let lists = [
            (
                local.blocks().1,
                &self.targets[1],
                &mut self.statistics[slots..],
            ),
            (
                posterior.blocks(),
                &self.targets[2],
                &mut self.collapsed[..],
            ),
        ];
        for ((blocks, targets, statistics), held) in lists.into_iter().zip(&self.grouped[group]) {
            for &block in held {
                let (placed, targets) = (&blocks[block as usize], &targets[block as usize]);
                let drawn = &mut self.work.drawn;
                drawn.clear();
                drawn.extend(targets.iter().map(|&target| self.numbers[target as usize]));
                write(placed, drawn, &mut statistics[range_of(placed)]);
            }
        }
    }
}

impl Group {
    /// The blocks of a list that hold some of its variables.
    pub(super) fn held(&self, blocks: &[Placed]) -> Vec<u32> {
        let holds = |variable: &u32| self.moved.binary_search_by_key(variable, |m| m.0).is_ok();
        let blocks = (0..).zip(blocks);
        blocks
            .filter(|(_, placed)| placed.0.variables.iter().any(holds))
            .map(|(block, _)| block)
            .collect()
    }
}

/// Writes the statistics of a block that has these numbers.
fn write(placed: &Placed, numbers: &[f64], out: &mut [f64]) {
    match &placed.0.family {
        BlockFamily::Gaussian(family) => family.write_statistics(numbers, out),
        BlockFamily::GaussianGamma(family) => {
            // The precision has not moved.
            let ln_precision = out[0];
            family.write_statistics(ln_precision, &numbers[..family.field.scalars()], out);
        }
        BlockFamily::Bounded(family) => family.statistics(&numbers[0], out),
        // No other family has normal variables.
        _ => {}
    }
}
