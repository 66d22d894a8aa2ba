//! Decides where the entries of cliques and tables lie, so that the passes only add along strides.
//!
//! Each variable has a clique: itself and those it is tied to when its turn comes to be summed out. Its
//! parent is the clique of the first of these to follow. Cliques within others are kept: together they
//! have at most as many entries as those around them, and every clique then has one variable of its own,
//! its last axis.

use std::cmp::Reverse;
use std::ops::Range;

use super::elimination::{Elimination, eliminate};
use crate::error::{Error, Place, Result};

/// Entries that a clique may have: 80 megabytes of numbers.
pub(super) const MOST_ENTRIES: f64 = 1e7;
/// Entries that all cliques may have: two gigabytes.
const MOST_IN_ALL: f64 = 2.5e8;
/// More axes of two states or more would be more entries than a clique may have.
const MOST_AXES: usize = 24;

/// One clique; positions are in the order in which variables are summed out.
#[derive(Debug, Clone)]
pub(super) struct Clique {
    /// The variable summed out, the last axis.
    pub(super) variable: u32,
    /// The clique that the message goes to.
    pub(super) parent: Option<usize>,
    /// The axes, in [`Tree::axes`] and [`Tree::dims`].
    axes: Range<usize>,
    /// The entries, in the buffer of a pass.
    pub(super) entries: Range<usize>,
    /// Where the strides of the message along the parent's axes begin.
    strides: usize,
    /// Which tables are in this clique, in [`Tree::placed`].
    tables: Range<usize>,
}

/// A junction tree, or several.
#[derive(Debug, Clone, Default)]
pub(super) struct Tree {
    pub(super) cliques: Vec<Clique>,
    /// Variables of the axes of all cliques.
    axes: Vec<u32>,
    /// Their numbers of states.
    dims: Vec<u32>,
    /// Tables in cliques: where the entries of each begin among the natural parameters, and where its
    /// strides along the clique's axes do.
    placed: Vec<(usize, usize)>,
    strides: Vec<u32>,
    /// The largest number of entries that a message has.
    pub(super) longest_message: usize,
    /// Entries of all cliques.
    pub(super) size: usize,
    /// Natural parameters of tables whose variables have one state each.
    pub(super) constants: Vec<usize>,
}

impl Tree {
    /// Builds the tree of tables given by scope and first natural parameter.
    pub(super) fn new(states: &[usize], tables: &[(&[u32], usize)]) -> Result<Self> {
        // A variable of one state ties nothing, and would make cliques without end of no entries.
        let loose = |scope: &[u32]| -> Vec<u32> {
            let several = scope.iter().copied().filter(|&v| states[v as usize] > 1);
            several.collect()
        };
        let scopes: Vec<Vec<u32>> = tables.iter().map(|(scope, _)| loose(scope)).collect();
        let elimination =
            eliminate(states, &scopes).map_err(|clique| too_large(states, &clique))?;
        if elimination.entries > MOST_IN_ALL {
            let found = format!("cliques of {} entries together", elimination.entries);
            let expected = format!("at most {MOST_IN_ALL}; fewer states or ties would help");
            return Err(Error::data(Place::Whole("network"), found, expected));
        }
        let mut position = vec![0_usize; states.len()];
        for (at, (variable, _)) in elimination.steps.iter().enumerate() {
            position[*variable as usize] = at;
        }
        let mut tree = Tree::of_cliques(states, elimination, &position);
        tree.place(states, tables, &scopes, &position);
        Ok(tree)
    }

    /// The cliques and the ways of their messages.
    fn of_cliques(states: &[usize], elimination: Elimination, position: &[usize]) -> Self {
        let mut tree = Tree {
            longest_message: 1,
            ..Tree::default()
        };
        for (variable, mut axes) in elimination.steps {
            // The last to be summed out changes slowest, so messages are read nearly in order.
            axes.sort_unstable_by_key(|&v| Reverse(position[v as usize]));
            let parent = axes.last().map(|&v| position[v as usize]);
            axes.push(variable);
            let entries: usize = axes.iter().map(|&v| states[v as usize]).product();
            let message = entries / states[variable as usize];
            tree.longest_message = tree.longest_message.max(message);
            let begin = tree.axes.len();
            tree.dims
                .extend(axes.iter().map(|&v| states[v as usize] as u32));
            tree.axes.extend(axes);
            tree.cliques.push(Clique {
                variable,
                parent,
                axes: begin..tree.axes.len(),
                entries: tree.size..tree.size + entries,
                strides: 0,
                tables: 0..0,
            });
            tree.size += entries;
        }
        for at in 0..tree.cliques.len() {
            if let Some(parent) = tree.cliques[at].parent {
                let separator = tree.separator(&tree.cliques[at]).to_vec();
                tree.cliques[at].strides = tree.strides_along(parent, &separator, states);
            }
        }
        tree
    }

    /// Puts each table into the clique of the variable of its scope that is summed out first.
    fn place(
        &mut self,
        states: &[usize],
        tables: &[(&[u32], usize)],
        scopes: &[Vec<u32>],
        position: &[usize],
    ) {
        let mut homes = Vec::with_capacity(tables.len());
        for (index, scope) in scopes.iter().enumerate() {
            match scope.iter().map(|&v| position[v as usize]).min() {
                Some(home) => homes.push((home, index)),
                None => self.constants.push(tables[index].1),
            }
        }
        homes.sort_unstable();
        for together in homes.chunk_by(|a, b| a.0 == b.0) {
            let first = self.placed.len();
            for &(home, index) in together {
                let (scope, start) = tables[index];
                let strides = self.strides_along(home, scope, states);
                self.placed.push((start, strides));
            }
            self.cliques[together[0].0].tables = first..self.placed.len();
        }
    }

    /// Notes by how much the entry of a table over `scope` changes along each axis of a clique.
    fn strides_along(&mut self, clique: usize, scope: &[u32], states: &[usize]) -> usize {
        let begin = self.strides.len();
        for axis in self.cliques[clique].axes.clone() {
            let after = scope.iter().rev().take_while(|&&v| v != self.axes[axis]);
            let stride: usize = after.clone().map(|&v| states[v as usize]).product();
            let is_in = after.count() < scope.len();
            self.strides.push(if is_in { stride as u32 } else { 0 });
        }
        begin
    }

    /// The variables before the clique's own, slowest first.
    pub(super) fn separator(&self, clique: &Clique) -> &[u32] {
        &self.axes[clique.axes.start..clique.axes.end - 1]
    }

    /// How many entries the message of a clique has.
    pub(super) fn rows(&self, clique: &Clique) -> usize {
        let own = self.dims[clique.axes.end - 1] as usize;
        clique.entries.len() / own
    }

    fn dims(&self, clique: &Clique) -> &[u32] {
        &self.dims[clique.axes.clone()]
    }

    /// Visits the entries of the parent of a clique with the entry of the message that goes with each.
    pub(super) fn along_parent(
        &self,
        clique: &Clique,
        parent: &Clique,
        visit: impl FnMut(usize, usize),
    ) {
        let strides = &self.strides[clique.strides..][..parent.axes.len()];
        walk(self.dims(parent), strides, visit);
    }

    /// Visits the entries of a clique with the natural parameter of each table that goes with each.
    pub(super) fn along_tables(&self, clique: &Clique, mut visit: impl FnMut(usize, usize)) {
        for (start, strides) in &self.placed[clique.tables.clone()] {
            let strides = &self.strides[*strides..][..clique.axes.len()];
            walk(self.dims(clique), strides, |entry, other| {
                visit(entry, start + other);
            });
        }
    }
}

/// Visits entries in order, the last axis fastest, with the index that moves by `strides`.
#[inline]
fn walk(dims: &[u32], strides: &[u32], mut visit: impl FnMut(usize, usize)) {
    let Some(last) = dims.len().checked_sub(1) else {
        return;
    };
    let (inner, step) = (dims[last] as usize, strides[last] as usize);
    let mut index = [0_u32; MOST_AXES];
    let (mut entry, mut other) = (0, 0);
    loop {
        for k in 0..inner {
            visit(entry + k, other + k * step);
        }
        entry += inner;
        let mut axis = last;
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            index[axis] += 1;
            other += strides[axis] as usize;
            if index[axis] < dims[axis] {
                break;
            }
            other -= strides[axis] as usize * dims[axis] as usize;
            index[axis] = 0;
        }
    }
}

fn too_large(states: &[usize], clique: &[u32]) -> Error {
    let entries: f64 = clique.iter().map(|&v| states[v as usize] as f64).product();
    let shown: Vec<String> = clique.iter().take(12).map(u32::to_string).collect();
    let rest = match clique.len().saturating_sub(12) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Error::data(
        Place::Whole("network"),
        format!(
            "variables {}{rest} (from 0) tied together, which is {entries:.3e} entries",
            shown.join(", ")
        ),
        format!("at most {MOST_ENTRIES:e} entries; fewer states or ties would help"),
    )
}
