//! Decides what the states of a draw's labels are called: as the fit calls them, where they could as well be called
//! otherwise (maths §10.7).

use crate::graph::symmetry::Symmetry;
use crate::graph::variational::Numbers;
use crate::graph::{Graph, Kind, PosteriorMarginal, VariationalPosterior};
use collapsar_core::{Result, assignment};

/// Gives the states of exchangeable labels the names that a fit has for them.
#[derive(Debug, Clone, Default)]
pub struct Relabelling(Vec<Class>);

/// Labels whose states are exchangeable, with the places of numbers that move with them.
#[derive(Debug, Clone)]
struct Class {
    states: usize,
    labels: Vec<usize>,
    /// First numbers by state, how many there are of each, and whether they are parts that are states too.
    orbits: Vec<(Vec<usize>, usize, bool)>,
    /// First numbers of proportions of the states.
    parted: Vec<usize>,
    /// What states are known by: numbers by state, and mean and deviation of each under q.
    known: Vec<Known>,
}

/// Places by state, with mean and deviation of each.
type Known = (Vec<usize>, Vec<(f64, f64)>);

impl Relabelling {
    /// For the draws of a graph, by the factors of a fit of it.
    ///
    /// # Errors
    /// Where the fit ended outside the domain.
    pub fn new(graph: &Graph, fit: &VariationalPosterior) -> Result<Self> {
        let symmetries = graph.symmetries();
        if symmetries.is_empty() {
            return Ok(Self(vec![]));
        }
        let marginals = fit.marginals()?;
        let moments = |variable: u32, element: usize| match marginals.of(variable, element) {
            Some(PosteriorMarginal::Closed(marginal)) => Some((marginal.mean(), marginal.sd())),
            Some(&PosteriorMarginal::Moments { mean, sd }) => Some((mean, sd)),
            _ => None,
        };
        let numbers = Numbers::new(graph.declared());
        let of = |symmetry: &Symmetry| Class::new(graph, &numbers, symmetry, moments);
        Ok(Self(symmetries.iter().map(of).collect()))
    }

    /// Renames the states of a draw of all numbers, so that each is next to the state of its name in the fit; says whether
    /// anything changed.
    pub fn apply(&self, numbers: &mut [f64]) -> bool {
        let mut changed = false;
        for class in &self.0 {
            if let Some(order) = class.order(numbers) {
                class.rename(&order, numbers);
                changed = true;
            }
        }
        changed
    }

    /// The places of all numbers that states are known by or that move with them, but for labels.
    pub fn places(&self) -> impl Iterator<Item = usize> {
        self.0.iter().flat_map(|class| {
            let states = class.states;
            let orbits = class.orbits.iter().flat_map(|(firsts, elements, _)| {
                let elements = *elements;
                (firsts.iter()).flat_map(move |&first| first..first + elements)
            });
            let parted = (class.parted.iter()).flat_map(move |&first| first..first + states);
            orbits.chain(parted)
        })
    }

    /// Whether there is nothing to rename.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Class {
    fn new(
        graph: &Graph,
        numbers: &Numbers,
        symmetry: &Symmetry,
        moments: impl Fn(u32, usize) -> Option<(f64, f64)>,
    ) -> Self {
        let first = |variable: &u32| numbers.places(*variable).start;
        let mut known = vec![];
        let mut know = |places: Vec<usize>, of: Vec<Option<(f64, f64)>>| {
            let of: Option<Vec<(f64, f64)>> = of.into_iter().collect();
            let spread =
                |of: &Vec<(f64, f64)>| of.iter().all(|(_, sd)| *sd > 0.0 && sd.is_finite());
            known.extend(of.filter(spread).map(|of| (places, of)));
        };
        let mut orbits = vec![];
        for orbit in &symmetry.orbits {
            let elements = graph.kind(orbit[0]).elements();
            let parted = symmetry.parted.contains(&orbit[0]);
            let firsts: Vec<usize> = orbit.iter().map(first).collect();
            // Parts that move with the states say nothing of one state alone.
            for element in (0..elements).filter(|_| !parted) {
                let of = orbit.iter().map(|&variable| moments(variable, element));
                know(
                    firsts.iter().map(|first| first + element).collect(),
                    of.collect(),
                );
            }
            orbits.push((firsts, elements, parted));
        }
        let moves = |variable: &&u32| symmetry.orbits.iter().any(|orbit| orbit.contains(variable));
        let alone = symmetry.parted.iter().filter(|variable| !moves(variable));
        let mut parted = vec![];
        for variable in alone {
            debug_assert!(matches!(graph.kind(*variable), Kind::Dirichlet(_)));
            let of = (0..symmetry.states).map(|part| moments(*variable, part));
            let place = first(variable);
            know(
                (0..symmetry.states).map(|part| place + part).collect(),
                of.collect(),
            );
            parted.push(place);
        }
        Self {
            states: symmetry.states,
            labels: symmetry.labels.iter().map(first).collect(),
            orbits,
            parted,
            known,
        }
    }

    /// The drawn state that each state of the fit should have, where that is not the one of its own name: the permutation
    /// under which what was drawn is likeliest, were all numbers normal with the moments that they have under q.
    fn order(&self, numbers: &[f64]) -> Option<Vec<usize>> {
        let k = self.states;
        let mut costs = vec![0.0; k * k];
        for (places, moments) in &self.known {
            for (costs, (mean, sd)) in costs.chunks_exact_mut(k).zip(moments) {
                for (cost, &place) in costs.iter_mut().zip(places) {
                    *cost += ((numbers[place] - mean) / sd).powi(2);
                }
            }
        }
        let rows = || costs.chunks_exact(k).enumerate();
        if rows().all(|(state, costs)| costs.iter().all(|cost| costs[state] <= *cost)) {
            return None;
        }
        let order = assignment(&costs, k);
        let total = |order: &mut dyn Iterator<Item = usize>| -> f64 {
            order
                .enumerate()
                .map(|(state, drawn)| costs[state * k + drawn])
                .sum()
        };
        // What is as good as it was, rounding aside, stays.
        let better = total(&mut order.iter().copied()) < total(&mut (0..k)) * (1.0 - 1e-12);
        better.then_some(order)
    }

    fn rename(&self, order: &[usize], numbers: &mut [f64]) {
        let mut names = vec![0; self.states];
        for (state, &drawn) in order.iter().enumerate() {
            names[drawn] = state;
        }
        for &label in &self.labels {
            numbers[label] = names[numbers[label] as usize] as f64;
        }
        let mut before = vec![];
        for &first in &self.parted {
            before.clear();
            before.extend_from_slice(&numbers[first..first + self.states]);
            for (part, &drawn) in order.iter().enumerate() {
                numbers[first + part] = before[drawn];
            }
        }
        for (firsts, elements, parted) in &self.orbits {
            before.clear();
            for &first in firsts {
                before.extend_from_slice(&numbers[first..first + elements]);
            }
            for (&first, &drawn) in firsts.iter().zip(order) {
                for element in 0..*elements {
                    let from = if *parted { order[element] } else { element };
                    numbers[first + element] = before[drawn * elements + from];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_numbers() {
        let class = Class {
            states: 3,
            labels: vec![0, 1],
            orbits: vec![(vec![2, 4, 6], 2, false), (vec![11, 14, 17], 3, true)],
            parted: vec![8],
            known: vec![(vec![2, 4, 6], vec![(0.0, 1.0), (10.0, 1.0), (20.0, 1.0)])],
        };
        let all = Relabelling(vec![class]);
        let transitions = [0.0, 0.1, 0.2, 1.0, 1.1, 1.2, 2.0, 2.1, 2.2];
        let named = [0.0, 2.0, 0.3, 7.0, 9.0, 8.0, 21.0, 9.0, 0.2, 0.3, 0.5];
        let mut numbers = [&named[..], &transitions].concat();
        assert!(!all.apply(&mut numbers), "these are right");
        // State 0 is called 1, 1 is called 2 and 2 is called 0.
        let other = [1.0, 0.0, 21.0, 9.0, 0.3, 7.0, 9.0, 8.0, 0.5, 0.2, 0.3];
        let turned = [2.2, 2.0, 2.1, 0.2, 0.0, 0.1, 1.2, 1.0, 1.1];
        let mut numbers = [&other[..], &turned].concat();
        assert!(all.apply(&mut numbers));
        assert_eq!(numbers, [&named[..], &transitions].concat());
    }
}
