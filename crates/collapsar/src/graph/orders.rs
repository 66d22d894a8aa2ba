//! Decides what coordinates become where states are exchanged: mostly those of another block, so that next to nothing is
//! computed anew (maths §10.10).

use std::collections::HashMap;

use super::block::{Block, BlockFamily};
use super::kept::Kept;
use super::proposal::Proposal;
use super::student::{LANES, in_lanes};

use collapsar_core::elementary::Elementary;

/// Orders of states, as what they do to coordinates.
#[derive(Debug)]
pub struct Orders {
    /// For each order, where the coordinates of each block come from.
    all: Vec<Vec<Source>>,
}

/// Where the coordinates of a block come from.
#[derive(Debug)]
enum Source {
    /// So many, from this place on.
    Copied(usize, usize),
    /// Log-ratios from this place on, of parts in another order.
    Parts(usize, Vec<usize>),
    /// From numbers at these places.
    Numbers(usize, Vec<usize>),
}

impl Kept<'_> {
    /// What permutations of all numbers do to coordinates. Each must leave the posterior as it is, and one of them must
    /// move nothing.
    pub fn orders(&self, symmetries: &[Vec<usize>]) -> Orders {
        let mut first = 0;
        let mut blocks: Vec<(&Block, usize, Vec<usize>)> = vec![];
        for (block, _) in self.blocks() {
            blocks.push((block, first, self.places_of(block)));
            first += block.coordinates().unwrap_or(0);
        }
        // The block that each number is in.
        let owners: HashMap<usize, usize> = (blocks.iter().enumerate())
            .flat_map(|(index, (.., places))| places.iter().map(move |&place| (place, index)))
            .collect();
        let source = |symmetry: &[usize], index: usize| {
            let (block, _, places) = &blocks[index];
            let from: Vec<usize> = places.iter().map(|&place| symmetry[place]).collect();
            let owner = from.first().and_then(|place| owners.get(place));
            if let Some((other, start, theirs)) = owner.map(|&owner| &blocks[owner])
                && is_alike(block, other)
            {
                if from == *theirs {
                    return Source::Copied(*start, block.coordinates().unwrap_or(0));
                }
                let part = |place: &usize| theirs.iter().position(|other| other == place);
                let parts: Option<Vec<usize>> = from.iter().map(part).collect();
                if let (BlockFamily::Dirichlet(_), Some(parts)) = (&block.family, parts) {
                    return Source::Parts(*start, parts);
                }
            }
            Source::Numbers(index, from)
        };
        let order = |symmetry: &Vec<usize>| {
            let sources = (0..blocks.len()).map(|index| source(symmetry, index));
            sources.collect()
        };
        Orders {
            all: symmetries.iter().map(order).collect(),
        }
    }

    /// The log densities of a proposal, or of its mean over orders of states, at several places.
    pub fn ln_proposed(
        &self,
        proposal: &Proposal,
        orders: &Orders,
        places: &[Vec<f64>],
    ) -> Vec<f64> {
        let mut out = Vec::with_capacity(places.len());
        let (mut at, mut away) = (vec![], vec![]);
        let mut moved = vec![vec![]; LANES];
        for some in places.chunks(LANES) {
            let mut ln_sums = [f64::NEG_INFINITY; LANES];
            if orders.all.len() < 2 {
                in_lanes(some, &mut at);
                proposal.add_in_lanes(&at, &mut ln_sums, &mut away);
                out.extend_from_slice(&ln_sums[..some.len()]);
                continue;
            }
            for sources in &orders.all {
                for (place, moved) in some.iter().zip(&mut moved) {
                    self.write_in_order(sources, place, moved);
                }
                in_lanes(&moved[..some.len()], &mut at);
                proposal.add_in_lanes(&at, &mut ln_sums, &mut away);
            }
            let ln_count = (orders.all.len() as f64).ln_();
            out.extend(ln_sums[..some.len()].iter().map(|sum| sum - ln_count));
        }
        out
    }

    /// Visits the coordinates in each order.
    pub(super) fn in_orders(&self, orders: &Orders, at: &[f64], mut visit: impl FnMut(&[f64])) {
        let mut moved = Vec::with_capacity(at.len());
        for sources in &orders.all {
            self.write_in_order(sources, at, &mut moved);
            visit(&moved);
        }
    }

    /// Writes the coordinates in one order.
    fn write_in_order(&self, sources: &[Source], at: &[f64], out: &mut Vec<f64>) {
        out.clear();
        for source in sources {
            self.take(source, at, out);
        }
    }

    /// Appends the coordinates of a block.
    fn take(&self, source: &Source, at: &[f64], out: &mut Vec<f64>) {
        match source {
            Source::Copied(start, len) => out.extend_from_slice(&at[*start..start + len]),
            Source::Parts(start, parts) => {
                // ln(θₖ/θ_K) = ln(θₖ/θ_L) − ln(θ_K/θ_L), with L the last before.
                let last = parts.len() - 1;
                let log = |part: usize| if part < last { at[start + part] } else { 0.0 };
                let base = log(parts[last]);
                out.extend(parts[..last].iter().map(|&part| log(part) - base));
            }
            Source::Numbers(index, from) => {
                let numbers = self.numbers(at);
                let numbers: Vec<f64> = from.iter().map(|&place| numbers[place]).collect();
                let block = self.blocks().nth(*index);
                out.extend(
                    block
                        .into_iter()
                        .flat_map(|(b, _)| b.to_coordinates(&numbers)),
                );
            }
        }
    }
}

/// Whether equal numbers of two blocks have equal coordinates.
fn is_alike(a: &Block, b: &Block) -> bool {
    match (&a.family, &b.family) {
        (BlockFamily::Bounded(a), BlockFamily::Bounded(b)) => a.bounds() == b.bounds(),
        (BlockFamily::Positive(a, _), BlockFamily::Positive(b, _)) => a.bounds() == b.bounds(),
        (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}
