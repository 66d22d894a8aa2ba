//! Decides which normal variables are multiplied together with those behind answers: what an answer tells of is a sign, which
//! no scale changes (maths §10.7).
//!
//! Coefficients are drawn given the variables behind answers and these given coefficients, so that the scale of both hardly
//! moves. Along $(s\,z, s\,b)$ answers stay as they are (Liu99).

use std::collections::{BTreeMap, BTreeSet};

use crate::graph::{Graph, Kind};

/// Variables, each with the power 1: those behind answers with those that their means are linear in, one group for each
/// component. In a product of two, as an ability and a discrimination, one of them is multiplied; `sides` tells them
/// apart, and the side is taken that leaves more groups.
pub(super) fn all(graph: &Graph, sides: &BTreeMap<u32, i32>) -> Vec<Vec<(u32, i32)>> {
    let first = components(graph, sides, 1);
    let second = components(graph, sides, -1);
    if second.len() > first.len() {
        second
    } else {
        first
    }
}

/// Whether a variable is between zero and infinity, on either side, and nothing else bounds it.
fn is_answer(graph: &Graph, variable: u32) -> bool {
    let bounds = graph.bounds.get(&variable);
    bounds
        .is_some_and(|&bounds| bounds == (0.0, f64::INFINITY) || bounds == (f64::NEG_INFINITY, 0.0))
}

fn components(graph: &Graph, sides: &BTreeMap<u32, i32>, side: i32) -> Vec<Vec<(u32, i32)>> {
    let mut joined: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (atoms, ..) in graph.terms.each() {
        let normal = atoms
            .iter()
            .map(|atom| atom.variable)
            .filter(|&variable| matches!(graph.kind(variable), Kind::Gaussian | Kind::Bounded));
        let normal: Vec<u32> = normal.collect();
        // Loadings may have a bound at zero, too, but are in products.
        let answer =
            |variable: &&u32| is_answer(graph, **variable) && !sides.contains_key(*variable);
        let Some(&one) = normal.iter().find(answer) else {
            continue;
        };
        let means = normal.iter().filter(|&&other| {
            other != one
                && match sides.get(&other) {
                    Some(known) => normal.len() == 2 || *known == side,
                    None => normal.len() == 2,
                }
        });
        for &other in means {
            joined.entry(one).or_default().insert(other);
            joined.entry(other).or_default().insert(one);
        }
    }
    let mut seen = BTreeSet::new();
    let mut found = vec![];
    for &first in joined.keys() {
        let (mut component, mut left) = (vec![], vec![first]);
        while let Some(variable) = left.pop() {
            if seen.insert(variable) {
                component.push((variable, 1));
                left.extend(&joined[&variable]);
            }
        }
        if !component.is_empty() {
            component.sort_unstable();
            found.push(component);
        }
    }
    found
}
