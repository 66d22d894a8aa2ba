//! Decides which messages there are, and where each term of the log joint goes.
//!
//! A term of one block alone is part of its natural parameters. A term that a shared block is in
//! is its statistic times a slot, the product of all other atoms, and slots are messages. All
//! other terms are monomials in the means of own blocks and at most one statistic that is collapsed
//! (maths §9.4).

use std::collections::BTreeMap;

use super::blocks::Blocks;
use super::choice::{Choice, Role};
use super::kernel::RowKernel;
use super::terms::Terms;
use super::{Atom, Graph};
use collapsar_core::{Error, Result};

/// No collapsed statistic.
pub(super) const NONE: u32 = u32::MAX;

/// Rows of a sparse matrix.
#[derive(Debug, Default)]
pub(super) struct Entries {
    pub(super) starts: Vec<u32>,
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<f64>,
}

/// Products of coordinates, each with a coefficient and perhaps a collapsed statistic.
#[derive(Debug, Default)]
pub(super) struct Monomials {
    pub(super) starts: Vec<u32>,
    pub(super) factors: Vec<u32>,
    pub(super) coefficients: Vec<f64>,
    pub(super) targets: Vec<u32>,
}

impl Monomials {
    pub(super) fn len(&self) -> usize {
        self.coefficients.len()
    }

    pub(super) fn factors(&self, monomial: usize) -> &[u32] {
        &self.factors[self.starts[monomial] as usize..self.starts[monomial + 1] as usize]
    }

    fn push(&mut self, coefficient: f64, factors: &[u32], target: u32) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        self.factors.extend_from_slice(factors);
        self.starts.push(self.factors.len() as u32);
        self.coefficients.push(coefficient);
        self.targets.push(target);
    }
}

/// Where everything stands.
#[derive(Debug)]
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
    /// Natural parameters without messages: of shared, own and collapsed blocks.
    pub(super) shared_base: Vec<f64>,
    pub(super) own_base: Vec<f64>,
    pub(super) collapsed_base: Vec<f64>,
    /// From slots to the natural parameters of shared blocks.
    pub(super) sharing: Entries,
    pub(super) monomials: Monomials,
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
    /// Monomials without a slot, by term.
    free: Vec<usize>,
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
            layout: Self {
                messages: 0,
                slots: Terms::default(),
                slot_messages: 0,
                firsts: vec![],
                shared_base: vec![],
                own_base: vec![],
                collapsed_base: vec![],
                sharing: Entries::default(),
                monomials: Monomials::default(),
                rows: vec![],
            },
            sharing: vec![],
            free: vec![],
            own: vec![],
            rest: vec![],
        };
        builder.place_blocks();
        for term in 0..graph.terms.len() {
            builder.route(term)?;
        }
        for rows in rows {
            let kernel = RowKernel::new(rows, &mut builder.layout.slots);
            builder.layout.rows.push(kernel);
        }
        builder.finish()
    }
}

impl Builder<'_> {
    fn role(&self, block: u32) -> Role {
        self.choice.classes[self.choice.of[block as usize] as usize].role
    }

    fn place_blocks(&mut self) {
        self.layout.firsts = firsts(self.blocks, self.choice);
        for (index, block) in self.blocks.blocks.iter().enumerate() {
            let base = match self.role(index as u32) {
                Role::Shared => &mut self.layout.shared_base,
                Role::Own => &mut self.layout.own_base,
                Role::Collapsed => &mut self.layout.collapsed_base,
            };
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
        let atoms = self.graph.terms.atoms(term);
        let coefficient = self.graph.terms.coefficient(term);
        let source = self.graph.terms.source(term);
        let of = |atom: &Atom| self.blocks.of[atom.variable as usize];
        let first = of(&atoms[0]);
        if atoms.iter().all(|atom| of(atom) == first) {
            let (place, factor) = self.statistic(first, atoms, source)?;
            let base = match self.role(first) {
                Role::Shared => &mut self.layout.shared_base,
                Role::Own => &mut self.layout.own_base,
                Role::Collapsed => &mut self.layout.collapsed_base,
            };
            base[place as usize] += coefficient * factor;
            return Ok(());
        }
        let shared = (atoms.iter().map(of)).find(|&block| self.role(block) == Role::Shared);
        let Some(shared) = shared else {
            self.free.push(term);
            return Ok(());
        };
        self.own.clear();
        self.rest.clear();
        for atom in atoms {
            let list = if self.blocks.of[atom.variable as usize] == shared {
                &mut self.own
            } else {
                &mut self.rest
            };
            list.push(*atom);
        }
        let (place, factor) = self.statistic(shared, &self.own, source)?;
        let slot = self.layout.slots.add(&self.rest, 1.0, source) as u32;
        self.sharing.push((place, slot, coefficient * factor));
        Ok(())
    }

    /// Adds a product of statistics of own blocks and at most one that is collapsed.
    fn monomial(
        &mut self,
        coefficient: f64,
        slot: Option<u32>,
        atoms: &[Atom],
        source: u32,
    ) -> Result<()> {
        let mut coefficient = coefficient;
        let mut factors: Vec<u32> = slot.into_iter().collect();
        let mut target = NONE;
        let mut sorted = atoms.to_vec();
        sorted.sort_by_key(|atom| (self.blocks.of[atom.variable as usize], *atom));
        for together in sorted.chunk_by(|a, b| {
            self.blocks.of[a.variable as usize] == self.blocks.of[b.variable as usize]
        }) {
            let block = self.blocks.of[together[0].variable as usize];
            let (place, factor) = self.statistic(block, together, source)?;
            coefficient *= factor;
            if self.role(block) == Role::Collapsed {
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
    fn merge(&self) -> (Vec<u32>, usize) {
        let slots = self.layout.slots.len();
        let mut ends = vec![0_u32; slots + 1];
        for &(_, slot, _) in &self.sharing {
            ends[slot as usize + 1] += 1;
        }
        for slot in 0..slots {
            ends[slot + 1] += ends[slot];
        }
        // Each column's start moves to its end, which is the start of the next one.
        let mut entries = vec![(0, 0); self.sharing.len()];
        for &(place, slot, value) in &self.sharing {
            let end = &mut ends[slot as usize];
            entries[*end as usize] = (place, value.to_bits());
            *end += 1;
        }
        let start = |slot: usize| {
            slot.checked_sub(1)
                .map_or(0, |before| ends[before] as usize)
        };
        let columns = (0..slots).map(|slot| &entries[start(slot)..ends[slot] as usize]);
        // Rows look at slots one by one.
        let mut alone = vec![false; slots];
        for rows in &self.layout.rows {
            rows.each_slot(|slot| alone[slot as usize] = true);
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
        self.layout.messages = messages + self.layout.own_base.len();
        for rows in &mut self.layout.rows {
            rows.renumber(&merged);
        }
        for slot in 0..self.layout.slots.len() {
            let atoms = self.layout.slots.atoms(slot).to_vec();
            let factor = self.layout.slots.source(slot);
            self.monomial(1.0, Some(merged[slot]), &atoms, factor)?;
        }
        for term in std::mem::take(&mut self.free) {
            let coefficient = self.graph.terms.coefficient(term);
            let source = self.graph.terms.source(term);
            self.monomial(coefficient, None, self.graph.terms.atoms(term), source)?;
        }
        let mut sharing: Vec<(u32, u32, f64)> = (self.sharing.iter())
            .map(|&(row, slot, value)| (row, merged[slot as usize], value))
            .collect();
        sharing.sort_by_key(|entry| (entry.0, entry.1));
        sharing.dedup_by_key(|entry| (entry.0, entry.1));
        let entries = &mut self.layout.sharing;
        entries.starts = vec![0; self.layout.shared_base.len() + 1];
        for &(row, slot, value) in &sharing {
            entries.starts[row as usize + 1] += 1;
            entries.columns.push(slot);
            entries.values.push(value);
        }
        for row in 0..self.layout.shared_base.len() {
            entries.starts[row + 1] += entries.starts[row];
        }
        if self.layout.monomials.starts.is_empty() {
            self.layout.monomials.starts.push(0);
        }
        Ok(self.layout)
    }
}
