//! Decides which messages there are, and where each term of the log joint goes.
//!
//! A term of one block alone is part of its natural parameters. A term that a shared block is in
//! is its statistic times a slot, the product of all other atoms, and slots are messages. All
//! other terms are monomials in the means of own blocks and at most one statistic that is collapsed
//! (maths §9.4).

use std::collections::BTreeMap;

use super::blocks::Blocks;
use super::choice::{Choice, Role};
use super::exponents::Exponents;
use super::kernel::RowKernel;
use super::terms::{Starts, Terms};
use super::{Atom, Graph};
use collapsar_core::{Error, Result};

/// The first atom of layouts that stands for an exponential: they are in the place of variables there.
const EXPONENTIAL: u32 = 1 << 31;
/// No collapsed statistic.
pub(super) const NONE: u32 = u32::MAX;

/// Rows of a sparse matrix.
#[derive(Debug, Clone, Default)]
pub(super) struct Entries {
    pub(super) starts: Starts,
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<f64>,
}

/// Products of coordinates, each with a coefficient and perhaps a collapsed statistic.
#[derive(Debug, Default)]
pub(super) struct Monomials {
    starts: Starts,
    factors: Vec<u32>,
    coefficients: Vec<f64>,
    targets: Vec<u32>,
}

impl Monomials {
    /// The coefficient, the coordinates and the collapsed statistic of each.
    pub(super) fn each(&self) -> impl Iterator<Item = (f64, &[u32], u32)> {
        let others = self.coefficients.iter().zip(&self.targets);
        let factors = self.starts.ranges().map(|range| &self.factors[range]);
        let all = factors.zip(others);
        all.map(|(factors, (&coefficient, &target))| (coefficient, factors, target))
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.coefficients.len()
    }

    /// One of them.
    pub(super) fn get(&self, monomial: usize) -> (f64, &[u32], u32) {
        let factors = &self.factors[self.starts.range(monomial)];
        (self.coefficients[monomial], factors, self.targets[monomial])
    }

    fn push(&mut self, coefficient: f64, factors: &[u32], target: u32) {
        self.factors.extend_from_slice(factors);
        self.starts.end(self.factors.len());
        self.coefficients.push(coefficient);
        self.targets.push(target);
    }
}

/// The places of messages, natural parameters and terms.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// Messages: slots, then the natural parameters of own blocks.
    pub(super) messages: usize,
    /// The products of atoms that messages are about.
    pub(super) slots: Terms,
    /// Messages about slots; slots that are only seen together have one.
    pub(super) slot_messages: usize,
    /// Where each block's natural parameters begin: among those of shared blocks, among
    /// messages for own ones, among those of collapsed blocks.
    pub(super) firsts: Vec<u32>,
    /// Natural parameters without messages, by [`Role`].
    bases: [Vec<f64>; 3],
    /// From slots to the natural parameters of shared blocks.
    pub(super) sharing: Entries,
    pub(super) monomials: Monomials,
    /// Exponentials of predictors, which are coordinates of monomials after all messages.
    pub(super) exponents: Exponents,
    pub(super) rows: Vec<RowKernel>,
}

/// Where each block's natural parameters begin among those of its role.
pub(super) fn firsts(blocks: &Blocks, choice: &Choice) -> Vec<u32> {
    let mut ends = [0; 3];
    let places = blocks.blocks.iter().zip(&choice.of).map(|(block, &class)| {
        let end = &mut ends[choice.classes[class as usize].role as usize];
        let first = *end;
        *end += block.len() as u32;
        first
    });
    places.collect()
}

struct Builder<'a> {
    graph: &'a Graph,
    blocks: &'a Blocks,
    choice: &'a Choice,
    layout: Layout,
    /// Natural parameter, slot, coefficient.
    sharing: Vec<(u32, u32, f64)>,
    /// Monomials without a slot, by term, and those of exponentials.
    free: Vec<usize>,
    free_exponentials: Vec<usize>,
    /// Atoms of a term in its shared block, and the others.
    own: Vec<Atom>,
    rest: Vec<Atom>,
}

impl Layout {
    /// Places everything; takes the rows out of the graph.
    pub(super) fn new(graph: &mut Graph, blocks: &Blocks, choice: &Choice) -> Result<Self> {
        let rows = std::mem::take(&mut graph.rows);
        let graph = &*graph;
        let mut builder = Builder {
            graph,
            blocks,
            choice,
            layout: Self::default(),
            sharing: vec![],
            free: vec![],
            free_exponentials: vec![],
            own: vec![],
            rest: vec![],
        };
        builder.place_blocks();
        for term in 0..graph.terms.len() {
            builder.route(term)?;
        }
        for index in 0..graph.exponentials.all().len() {
            builder.route_exponential(index)?;
        }
        for rows in rows {
            let kernel = RowKernel::new(rows, &mut builder.layout.slots)?;
            builder.layout.rows.push(kernel);
        }
        builder.finish()
    }

    /// Natural parameters without messages of all blocks of a role.
    pub(super) fn base(&mut self, role: Role) -> &mut Vec<f64> {
        &mut self.bases[role as usize]
    }
}

impl Builder<'_> {
    fn place_blocks(&mut self) {
        self.layout.firsts = firsts(self.blocks, self.choice);
        for (index, block) in self.blocks.blocks.iter().enumerate() {
            let base = self.layout.base(self.choice.role(index as u32));
            let first = base.len();
            base.resize(first + block.len(), 0.0);
            block.base(&mut base[first..]);
        }
    }

    /// The product of a block's atoms as a place among its statistics and a factor.
    fn statistic(&self, block: u32, atoms: &[Atom], factor: u32) -> Result<(u32, f64)> {
        let found = self.blocks.blocks[block as usize].statistic(atoms);
        let (place, multiple) = found.ok_or_else(|| {
            let name = self.graph.name(atoms[0].variable);
            Error::Graph {
                factor: self.graph.named_factor(factor),
                found: format!("a product of statistics of {name} that its family does not have"),
                expected: "a conjugate-exponential model".into(),
            }
        })?;
        Ok((self.layout.firsts[block as usize] + place as u32, multiple))
    }

    fn route(&mut self, term: usize) -> Result<()> {
        let (atoms, coefficient, factor) = self.graph.terms.get(term);
        let first = self.blocks.holding(atoms[0]);
        if (atoms.iter()).all(|atom| self.blocks.holding(*atom) == first) {
            let (place, multiple) = self.statistic(first, atoms, factor)?;
            let base = self.layout.base(self.choice.role(first));
            base[place as usize] += coefficient * multiple;
            return Ok(());
        }
        let mut blocks = atoms.iter().map(|atom| self.blocks.holding(*atom));
        let Some(shared) = blocks.find(|&block| self.choice.role(block) == Role::Shared) else {
            self.free.push(term);
            return Ok(());
        };
        self.blocks
            .split(atoms, shared, &mut self.own, &mut self.rest);
        let (place, multiple) = self.statistic(shared, &self.own, factor)?;
        let slot = self.layout.slots.add(&self.rest, 1.0, factor) as u32;
        self.sharing.push((place, slot, coefficient * multiple));
        Ok(())
    }

    /// As [`Builder::route`], for a term with an exponential.
    fn route_exponential(&mut self, index: usize) -> Result<()> {
        let exponential = &self.graph.exponentials.all()[index];
        let (atoms, factor) = (&exponential.atoms, exponential.factor);
        let mut blocks = atoms.iter().map(|atom| self.blocks.holding(*atom));
        let Some(shared) = blocks.find(|&block| self.choice.role(block) == Role::Shared) else {
            self.free_exponentials.push(index);
            return Ok(());
        };
        self.blocks
            .split(atoms, shared, &mut self.own, &mut self.rest);
        let (place, multiple) = self.statistic(shared, &self.own, factor)?;
        self.rest.push(exponential_atom(index));
        let slot = self.layout.slots.add(&self.rest, 1.0, factor) as u32;
        let coefficient = exponential.coefficient * multiple;
        self.sharing.push((place, slot, coefficient));
        Ok(())
    }

    /// Adds a product of statistics of own blocks and at most one that is collapsed.
    fn monomial(
        &mut self,
        mut coefficient: f64,
        slot: Option<u32>,
        atoms: &[Atom],
        factor: u32,
    ) -> Result<()> {
        let mut factors: Vec<u32> = slot.into_iter().collect();
        let mut target = NONE;
        let holding = |atom: &Atom| self.blocks.holding(*atom);
        let (mut sorted, exponentials): (Vec<Atom>, Vec<Atom>) =
            (atoms.iter()).partition(|atom| atom.variable < EXPONENTIAL);
        let after = self.layout.messages as u32;
        factors.extend((exponentials.iter()).map(|atom| after + atom.variable - EXPONENTIAL));
        sorted.sort_by_key(|atom| (holding(atom), *atom));
        for together in sorted.chunk_by(|a, b| holding(a) == holding(b)) {
            let block = holding(&together[0]);
            let (place, multiple) = self.statistic(block, together, factor)?;
            coefficient *= multiple;
            if self.choice.role(block) == Role::Collapsed {
                target = place;
            } else {
                factors.push(self.layout.slot_messages as u32 + place);
            }
        }
        self.layout.monomials.push(coefficient, &factors, target);
        Ok(())
    }

    /// Slots that shared blocks see only together are one message about their sum: gives the
    /// message of each slot. In a factor model with complete data, sums over the data are.
    fn merge(&mut self) -> (Vec<u32>, usize) {
        let slots = self.layout.slots.len();
        let mut lengths = vec![0; slots];
        for &(_, slot, _) in &self.sharing {
            lengths[slot as usize] += 1;
        }
        let starts = Starts::of_lengths(&lengths);
        let mut entries = vec![(0, 0); self.sharing.len()];
        for &(place, slot, value) in self.sharing.iter().rev() {
            // A column fills up from its end.
            let left = &mut lengths[slot as usize];
            *left -= 1;
            entries[starts.range(slot as usize).start + *left as usize] = (place, value.to_bits());
        }
        let columns = (0..slots).map(|slot| &entries[starts.range(slot)]);
        // Rows look at slots one by one.
        let mut alone = vec![false; slots];
        for rows in &mut self.layout.rows {
            rows.slots().for_each(|slot| alone[*slot as usize] = true);
        }
        let mut found: BTreeMap<&[(u32, u64)], u32> = BTreeMap::new();
        let mut messages = 0;
        let mut merged = Vec::with_capacity(slots);
        for (column, alone) in columns.zip(alone) {
            let known = found.get(column).filter(|_| !alone);
            merged.push(known.copied().unwrap_or_else(|| {
                messages += 1;
                messages as u32 - 1
            }));
            if !alone {
                found.insert(column, merged[merged.len() - 1]);
            }
        }
        (merged, messages)
    }

    fn finish(mut self) -> Result<Layout> {
        // A statistic and a slot meet in one term only.
        (self.sharing)
            .sort_unstable_by_key(|&(place, slot, _)| u64::from(place) << 32 | u64::from(slot));
        let (merged, messages) = self.merge();
        self.layout.slot_messages = messages;
        self.layout.messages = messages + self.layout.base(Role::Own).len();
        for rows in &mut self.layout.rows {
            rows.slots().for_each(|slot| *slot = merged[*slot as usize]);
        }
        for slot in 0..self.layout.slots.len() {
            let (atoms, _, factor) = self.layout.slots.get(slot);
            let atoms = atoms.to_vec();
            self.monomial(1.0, Some(merged[slot]), &atoms, factor)?;
        }
        for term in std::mem::take(&mut self.free) {
            let (atoms, coefficient, factor) = self.graph.terms.get(term);
            self.monomial(coefficient, None, atoms, factor)?;
        }
        for index in std::mem::take(&mut self.free_exponentials) {
            let exponential = &self.graph.exponentials.all()[index];
            let mut atoms = exponential.atoms.clone();
            atoms.push(exponential_atom(index));
            self.monomial(exponential.coefficient, None, &atoms, exponential.factor)?;
        }
        let (firsts, slots) = (&self.layout.firsts, self.layout.slot_messages as u32);
        self.layout.exponents = Exponents::new(self.graph, self.blocks, firsts, slots)?;
        let mut sharing: Vec<(u32, u32, f64)> = (self.sharing.iter())
            .map(|&(row, slot, value)| (row, merged[slot as usize], value))
            .collect();
        sharing.sort_by_key(|entry| (entry.0, entry.1));
        sharing.dedup_by_key(|entry| (entry.0, entry.1));
        let mut lengths = vec![0; self.layout.base(Role::Shared).len()];
        for &(row, ..) in &sharing {
            lengths[row as usize] += 1;
        }
        self.layout.sharing = Entries {
            starts: Starts::of_lengths(&lengths),
            columns: sharing.iter().map(|entry| entry.1).collect(),
            values: sharing.iter().map(|entry| entry.2).collect(),
        };
        Ok(self.layout)
    }
}

/// What stands for an exponential among the atoms of a layout.
fn exponential_atom(index: usize) -> Atom {
    Atom {
        variable: EXPONENTIAL + index as u32,
        part: 0,
    }
}
