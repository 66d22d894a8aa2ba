//! Decides which waiting times are censored: not observed, and above a number that is known (maths §9.14).
//!
//! The probability of that is exp(-λ aᵛ) for a Weibull variable, as log-linear in the rate as the density is. So the time
//! itself is summed out, and drawn afterwards.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::emit::Emit;
use crate::distribution::Distribution;
use crate::elaborate::{Definer, Elaborated, Latent, Mode, Resolved, Sampling, Scope};
use crate::syntax::ast::Node;
use crate::value::{Scalar, Value};

use collapsar::elementary::Elementary;

/// Repetitions of waiting times that are not observed, with the number that each is above.
#[derive(Debug, Default)]
pub(crate) struct Censored {
    lines: BTreeMap<usize, BTreeMap<usize, f64>>,
}

/// What an expression names, element by element.
pub(super) struct Names(pub(super) RefCell<Vec<Definer>>);

impl Latent for Names {
    fn latent(&self, definer: Definer) -> Resolved<Scalar> {
        let mut names = self.0.borrow_mut();
        names.push(definer);
        Ok(Scalar::unknown(names.len() as u32 - 1, 0))
    }
}

impl Censored {
    /// All lines of waiting times whose repetitions are observed or censored, every one.
    pub(super) fn find(model: &Elaborated) -> Self {
        let mut found = Self::default();
        for (index, line) in model.lines.iter().enumerate() {
            let Some(of) = line.sampling().filter(|of| has_survivor(of.distribution)) else {
                continue;
            };
            if !model.arrays[line.array].is_data()
                && let Some(times) = times(model, (index, of))
                && times.values().any(|lower| *lower > 0.0)
            {
                found.lines.insert(index, times);
            }
        }
        found
    }

    /// The lines, each with the repetitions that are not observed.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, impl Iterator<Item = usize>)> {
        let lines = self.lines.iter();
        lines.map(|(line, times)| (*line, times.keys().copied()))
    }

    /// The number that a repetition is above, where it is not observed.
    pub(crate) fn above(&self, line: usize, instance: usize) -> Option<f64> {
        self.lines.get(&line)?.get(&instance).copied()
    }

    /// Whether an array holds such times.
    fn holds(&self, model: &Elaborated, array: usize) -> bool {
        let mut lines = self.lines.keys();
        lines.any(|line| model.lines[*line].array == array)
    }
}

/// Distributions whose survivor function has the rate in its logarithm as their density has.
fn has_survivor(distribution: Distribution) -> bool {
    matches!(
        distribution,
        Distribution::Weibull | Distribution::Exponential
    )
}

/// What each repetition of a line that is not observed is above; none where one is below something too, or where
/// another line than `dinterval` reads it.
fn times(model: &Elaborated, (index, of): (usize, Sampling)) -> Option<BTreeMap<usize, f64>> {
    let line = &model.lines[index];
    let array = &model.arrays[line.array];
    let shape = Scope::new(model, Mode::Shape);
    let mut found = BTreeMap::new();
    for instance in 0..line.instances {
        shape.enter(index, instance);
        let element = *shape.targets(index, instance).ok()?.first()?;
        if array.value(element).is_some() {
            continue;
        }
        let lower = match &of.truncation {
            None => 0.0,
            Some(bounds) if bounds.normalised || bounds.upper.is_some() => return None,
            Some(bounds) => match &bounds.lower {
                Some(lower) => shape.evaluate(lower).ok()?.single()?.known()?,
                None => 0.0,
            },
        };
        found.insert(instance, lower.max(0.0));
    }
    let mut readers: BTreeSet<usize> = BTreeSet::new();
    for (other, reader) in model.lines.iter().enumerate() {
        let reads = || model.lines_above(other).contains(&index);
        if let Some(of) = reader.sampling().filter(|_| other != index && reads()) {
            if of.distribution != Distribution::Interval {
                return None;
            }
            readers.insert(other);
        }
    }
    for reader in readers {
        let of = model.lines[reader].sampling()?;
        let (Node::Reference(_), places) = (
            &of.arguments.first()?.node,
            &model.arrays[model.lines[reader].array],
        ) else {
            return None;
        };
        for instance in 0..model.lines[reader].instances {
            let names = Names(RefCell::default());
            let scope = Scope::within(model, Mode::Latent(&names), reader, instance);
            let _ = scope.evaluate(&of.arguments[0]).ok()?;
            let names = names.0.into_inner();
            let [definer] = names.as_slice() else {
                continue;
            };
            let own = definer.line as usize == index;
            let Some(lower) = found.get_mut(&(definer.instance as usize)).filter(|_| own) else {
                continue;
            };
            shape.enter(reader, instance);
            let place = places.value(*shape.targets(reader, instance).ok()?.first()?)?;
            let cuts = shape.evaluate(&of.arguments[1]).ok()?.numbers()?;
            if place as usize != cuts.len() {
                return None;
            }
            *lower = cuts.last()?.max(*lower);
        }
    }
    Some(found)
}

/// About one in two of them is as long: the rate times the time is then a little below one.
const ABOUT: f64 = 0.5;

impl Emit<'_> {
    /// The probability of a waiting time above a number.
    pub(super) fn survivor(&mut self, above: f64, arguments: &[Value]) -> Resolved {
        let single = |place: usize| {
            let value = arguments.get(place).and_then(Value::single);
            value.cloned().unwrap_or(Scalar::Opaque)
        };
        let (rate, time) = match self.line.of.distribution {
            Distribution::Weibull => {
                let shape = self.positive(0, &single(0))?;
                (self.log_rate(1, &single(1), ABOUT)?, above.powf_(shape))
            }
            _ => (self.log_rate(0, &single(0), ABOUT)?, above),
        };
        self.add_rate(-time, &rate, &Scalar::Known(1.0))
    }

    /// Whether `dinterval` is about a waiting time that has been summed out.
    pub(super) fn is_censored(&self) -> bool {
        let (model, variables) = (self.line.scope.model, self.line.variables);
        let Node::Reference(reference) = &self.line.of.arguments[0].node else {
            return false;
        };
        let array = model.find(&reference.name.text);
        array.is_some_and(|array| variables.censored.holds(model, array))
    }
}
