//! Decides how a log joint holds what is no product of statistics: exponentials of linear predictors (maths §9.14).

use std::collections::{BTreeSet, HashMap};

use super::{Atom, Graph};

use collapsar_core::elementary::Elementary;

/// A linear predictor in Gaussian variables, and where climbs may take it to be.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Predictor {
    /// What is known of it.
    pub offset: f64,
    /// Gaussian variables, each with its slope.
    pub slopes: Vec<(u32, f64)>,
    /// About what a term with its exponential is worth, without the sign: for a count, the count.
    pub about: f64,
}

/// A term: a coefficient times atoms of other variables times the exponential of a predictor.
#[derive(Debug, Clone)]
pub(super) struct Exponential {
    pub(super) coefficient: f64,
    /// Sorted; none of them Gaussian.
    pub(super) atoms: Vec<Atom>,
    /// Its slopes are sorted by variable, distinct and none of them zero.
    pub(super) predictor: Predictor,
    pub(super) factor: u32,
}

/// What terms alike have in common: atoms, and variables with the bits of their slopes.
type Key = (Vec<Atom>, Vec<(u32, u64)>);

fn key(atoms: &[Atom], slopes: &[(u32, f64)]) -> Key {
    let slopes = slopes.iter();
    let slopes = slopes.map(|&(variable, slope)| (variable, slope.to_bits()));
    (atoms.to_vec(), slopes.collect())
}

/// All such terms of a log joint, like ones together.
#[derive(Debug, Clone, Default)]
pub(super) struct Exponentials {
    all: Vec<Exponential>,
    known: HashMap<Key, u32>,
    /// Sets of variables whose pairs are linked.
    linked: BTreeSet<Vec<u32>>,
}

impl Exponentials {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn all(&self) -> &[Exponential] {
        &self.all
    }

    /// The term with these atoms and slopes, both sorted.
    pub(super) fn find(&self, atoms: &[Atom], slopes: &[(u32, f64)]) -> Option<&Exponential> {
        let place = self.known.get(&key(atoms, slopes))?;
        self.all.get(*place as usize)
    }

    fn add(&mut self, new: Exponential) {
        let next = self.all.len() as u32;
        let key = key(&new.atoms, &new.predictor.slopes);
        let known = *self.known.entry(key).or_insert(next);
        match self.all.get_mut(known as usize) {
            // c e^{b + ψ} + c' e^{b' + ψ}, counted from the larger offset, which cannot overflow.
            Some(old) => {
                let (offset, more) = (old.predictor.offset, new.predictor.offset);
                let largest = offset.max(more);
                old.coefficient *= (offset - largest).exp_();
                old.coefficient += new.coefficient * (more - largest).exp_();
                old.predictor.offset = largest;
                old.predictor.about += new.predictor.about;
            }
            None => self.all.push(new),
        }
    }
}

impl Exponential {
    /// About where the predictor without its offset is, other atoms being so much together; none where nothing
    /// can be said.
    pub(super) fn centre(&self, atoms: f64) -> Option<f64> {
        let predictor = &self.predictor;
        let about = (predictor.about / (-self.coefficient * atoms)).ln_() - predictor.offset;
        Some(about).filter(|about| about.is_finite())
    }
}

impl Graph {
    /// Adds `coefficient`, below zero, times the product of `atoms`, none of them Gaussian, times the exponential of a
    /// predictor to the log joint.
    pub fn add_exponential(
        &mut self,
        coefficient: f64,
        atoms: &[Atom],
        mut predictor: Predictor,
        factor: u32,
    ) {
        let slopes = &mut predictor.slopes;
        slopes.sort_by_key(|slope| slope.0);
        slopes.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        slopes.retain(|slope| slope.1 != 0.0);
        // An offset of -∞ is a rate of zero.
        if coefficient == 0.0 || predictor.offset == f64::NEG_INFINITY {
            return;
        }
        if slopes.is_empty() {
            self.add(coefficient * predictor.offset.exp_(), atoms, factor);
            return;
        }
        self.link(slopes.iter().map(|slope| slope.0).collect(), factor);
        let mut atoms = atoms.to_vec();
        atoms.sort_unstable();
        self.exponentials.add(Exponential {
            coefficient,
            atoms,
            predictor,
            factor,
        });
    }

    /// Variables of a predictor are one block, in which all of them meet.
    fn link(&mut self, variables: Vec<u32>, factor: u32) {
        if self.exponentials.linked.contains(&variables) {
            return;
        }
        for (place, &one) in variables.iter().enumerate() {
            for &other in &variables[place..] {
                let atoms = [one, other].map(|variable| Atom { variable, part: 0 });
                self.keep(0.0, &atoms, factor);
            }
        }
        self.exponentials.linked.insert(variables);
    }

    /// The graph with each exponential replaced by its second-order expansion where its predictor is about what the
    /// data say: near enough to find out where variables are (maths §9.8).
    pub(super) fn expanded_exponentials(&self) -> Self {
        let mut graph = self.clone();
        for exponential in std::mem::take(&mut graph.exponentials).all {
            let Some(centre) = exponential.centre(1.0) else {
                continue;
            };
            // -w (1 + (ψ - ψ₀) + ½ (ψ - ψ₀)²), times the other atoms.
            let weight = exponential.predictor.about;
            let (slopes, factor) = (&exponential.predictor.slopes, exponential.factor);
            let atom = |variable: u32| Atom { variable, part: 0 };
            for (place, &(one, slope)) in slopes.iter().enumerate() {
                let with = |own: &[Atom]| [&exponential.atoms, own].concat();
                graph.add(weight * (centre - 1.0) * slope, &with(&[atom(one)]), factor);
                graph.add(
                    -0.5 * weight * slope * slope,
                    &with(&[atom(one); 2]),
                    factor,
                );
                for &(other, next) in &slopes[place + 1..] {
                    let pair = [atom(one), atom(other)];
                    graph.add(-weight * slope * next, &with(&pair), factor);
                }
            }
        }
        graph
    }
}
