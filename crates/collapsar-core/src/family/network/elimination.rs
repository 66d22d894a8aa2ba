//! Decides in which order variables are summed out, and which others each is tied to by then.
//!
//! The best order is NP-hard to find. Small networks try two rules and keep the cheaper; large ones take
//! the rule that a heap makes fast, which is exact on trees all the same.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::tree::MOST_ENTRIES;

use crate::elementary::Elementary;

/// Up to as many variables the rule of fewest new ties is tried, which looks at all of them at each step.
const SMALL: usize = 256;

/// Variables in the order in which they are summed out.
#[derive(Debug, Default)]
pub(super) struct Elimination {
    /// Each with those it is tied to at its turn, which all come later.
    pub(super) steps: Vec<(u32, Vec<u32>)>,
    /// Entries of all cliques together.
    pub(super) entries: f64,
}

/// The variables of a clique that is too large.
pub(super) type TooLarge = Vec<u32>;

/// An order for variables with so many `states`, of which those in one scope are tied; variables of one
/// state should be in no scope.
pub(super) fn eliminate(states: &[usize], scopes: &[Vec<u32>]) -> Result<Elimination, TooLarge> {
    let light = lightest_first(states, scopes);
    if states.len() > SMALL {
        return light;
    }
    match (light, fewest_ties_first(states, scopes)) {
        (Ok(light), Ok(few)) if few.entries < light.entries => Ok(few),
        (Err(_), Ok(few)) => Ok(few),
        (light, _) => light,
    }
}

/// Adds the step of one variable, if its clique may be as large.
fn push(
    elimination: &mut Elimination,
    states: &[usize],
    variable: u32,
    ties: Vec<u32>,
) -> Result<(), TooLarge> {
    let clique = ties.iter().chain([&variable]);
    // In floating point, which does not overflow and is exact where it matters.
    let entries: f64 = clique.map(|&v| states[v as usize] as f64).product();
    if entries > MOST_ENTRIES {
        let mut clique = ties;
        clique.push(variable);
        clique.sort_unstable();
        return Err(clique);
    }
    elimination.entries += entries;
    elimination.steps.push((variable, ties));
    Ok(())
}

/// The variable with the smallest clique first, found by a heap: the rule of least degree, with a
/// variable counted by its states.
fn lightest_first(states: &[usize], scopes: &[Vec<u32>]) -> Result<Elimination, TooLarge> {
    let mut ties = vec![BTreeSet::new(); states.len()];
    for scope in scopes {
        for &a in scope {
            ties[a as usize].extend(scope.iter().copied().filter(|&b| b != a));
        }
    }
    // Logarithms in fixed point: sums of them go up and down without drift.
    let weight = |v: u32| ((states[v as usize] as f64).log2_() * f64::from(1 << 20)).round() as u64;
    let variables = 0..states.len() as u32;
    let mut weights: Vec<u64> = variables
        .clone()
        .map(|v| weight(v) + ties[v as usize].iter().map(|&u| weight(u)).sum::<u64>())
        .collect();
    let mut heap: BinaryHeap<Reverse<(u64, u32)>> = variables
        .map(|v| Reverse((weights[v as usize], v)))
        .collect();
    let mut done = vec![false; states.len()];
    let mut elimination = Elimination::default();
    while let Some(Reverse((key, v))) = heap.pop() {
        // Old entries stay in the heap when a weight changes.
        if done[v as usize] || key != weights[v as usize] {
            continue;
        }
        done[v as usize] = true;
        let around: Vec<u32> = std::mem::take(&mut ties[v as usize]).into_iter().collect();
        for &a in &around {
            let of_a = &mut ties[a as usize];
            of_a.remove(&v);
            let mut sum = weights[a as usize] - weight(v);
            for &b in &around {
                if b != a && of_a.insert(b) {
                    sum += weight(b);
                }
            }
            if sum != weights[a as usize] {
                weights[a as usize] = sum;
                heap.push(Reverse((sum, a)));
            }
        }
        // No clique to come is smaller than the smallest now, so this gives up before dense graphs fill.
        push(&mut elimination, states, v, around)?;
    }
    Ok(elimination)
}

/// The variable whose summing out ties the fewest others first, on rows of bits.
fn fewest_ties_first(states: &[usize], scopes: &[Vec<u32>]) -> Result<Elimination, TooLarge> {
    let n = states.len();
    let words = n.div_ceil(64);
    let mut rows = vec![0_u64; n * words];
    let set = |rows: &mut [u64], a: usize, b: usize| rows[a * words + b / 64] |= 1 << (b % 64);
    for scope in scopes {
        for &a in scope {
            for &b in scope.iter().filter(|&&b| b != a) {
                set(&mut rows, a as usize, b as usize);
            }
        }
    }
    let mut left: Vec<usize> = (0..n).collect();
    let mut elimination = Elimination::default();
    let mut around = Vec::new();
    while !left.is_empty() {
        let mut best: Option<((u64, f64), usize)> = None;
        for (place, &v) in left.iter().enumerate() {
            neighbours(&rows[v * words..][..words], &mut around);
            let row = |u: usize| &rows[u * words..][..words];
            let common = |u: usize| {
                let pairs = row(u).iter().zip(row(v));
                pairs
                    .map(|(a, b)| u64::from((a & b).count_ones()))
                    .sum::<u64>()
            };
            // Each missing tie is counted from both its ends.
            let missing: u64 = around
                .iter()
                .map(|&u| around.len() as u64 - 1 - common(u))
                .sum();
            let size: f64 = around.iter().map(|&u| states[u] as f64).product();
            let key = (missing, size * states[v] as f64);
            if best.is_none_or(|(least, _)| key < least) {
                best = Some((key, place));
            }
        }
        let v = left.remove(best.map_or(0, |(_, place)| place));
        neighbours(&rows[v * words..][..words], &mut around);
        for &a in &around {
            for &b in around.iter().filter(|&&b| b != a) {
                set(&mut rows, a, b);
            }
            rows[a * words + v / 64] &= !(1 << (v % 64));
        }
        let ties = around.iter().map(|&u| u as u32).collect();
        push(&mut elimination, states, v as u32, ties)?;
    }
    Ok(elimination)
}

/// The bits that are set in a row.
fn neighbours(row: &[u64], into: &mut Vec<usize>) {
    into.clear();
    for (word, &bits) in row.iter().enumerate() {
        let mut bits = bits;
        while bits != 0 {
            into.push(word * 64 + bits.trailing_zeros() as usize);
            bits &= bits - 1;
        }
    }
}
