//! Decides which variables form the vectors of a space, from the terms of the log joint alone.
//!
//! A collapsed Gaussian and a shared one that are the only Gaussians of a term belong to one column of the
//! space; columns whose products share a term belong to one pair of vectors. A shared Gaussian
//! between two collapsed ones is an entry of a matrix, whose column is that of the vector that it is
//! squared with.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::Turn;
use super::space::Builder;
use crate::graph::Graph;
use crate::graph::block::BlockFamily::{Bounded, Gaussian, GaussianGamma};
use crate::graph::blocks::{Blocks, DisjointSets};
use crate::graph::choice::{Choice, Role};
use crate::graph::layout;

/// What a variable can be to a space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Not a Gaussian.
    Other,
    /// A Gaussian that is collapsed.
    Collapsed,
    /// A Gaussian whose block shares messages.
    Shared,
    /// Another Gaussian, which does not turn.
    Fixed,
}

/// What is known of columns, vectors and matrices.
pub(super) struct Finder<'a> {
    pub(super) graph: &'a Graph,
    pub(super) blocks: &'a Blocks,
    pub(super) parts: Vec<Part>,
    pub(super) columns: DisjointSets,
    /// Whether a variable is in a column.
    pub(super) placed: Vec<bool>,
    pub(super) members: DisjointSets,
    /// For each entry of a matrix a variable of the column that it is multiplied with.
    pub(super) duals: BTreeMap<u32, u32>,
    /// The same of the column that it leads to.
    pub(super) rows: BTreeMap<u32, u32>,
    pub(super) matrices: DisjointSets,
    /// Vectors, the second of which a matrix carries to the first.
    pub(super) successions: HashSet<(u32, u32)>,
    /// Products that are no statistics of their block but would have to be.
    pub(super) missing: Vec<(u32, u32)>,
}

/// The columns of entries of matrices, or those that they lead to.
type Columns = for<'f, 'a> fn(&'f mut Finder<'a>) -> &'f mut BTreeMap<u32, u32>;

/// The Gaussians of a term: up to two that are collapsed, and up to two that are shared.
#[derive(Debug, Clone, Copy, Default)]
struct Gaussians {
    lists: [[u32; 2]; 2],
    lens: [usize; 2],
}

impl Gaussians {
    fn slices(&self) -> (&[u32], &[u32]) {
        let [collapsed, shared] = [0, 1].map(|side| &self.lists[side][..self.lens[side]]);
        (collapsed, shared)
    }
}

impl Turn {
    /// The spaces of a graph; none where there is nothing to turn or it cannot be told what
    /// turning would change. Also pairs of Gaussians that would have to be linked for more.
    pub(in crate::graph) fn new(
        graph: &Graph,
        blocks: &Blocks,
        choice: &Choice,
    ) -> (Self, Vec<(u32, u32)>) {
        // Exponentials of predictors are no forms in vectors.
        if !graph.exponentials.is_empty() {
            return Default::default();
        }
        let Some(mut finder) = Finder::new(graph, blocks, choice) else {
            return Default::default();
        };
        finder.find_columns();
        if !finder.placed.contains(&true) {
            return Default::default();
        }
        finder.find_members();
        finder.find_matrices();
        let firsts = layout::firsts(blocks, choice);
        let spaces = (finder.outlines().into_iter())
            .filter_map(|outline| Builder::new(&mut finder, &outline, choice, &firsts)?.space())
            .collect();
        (Self { spaces }, finder.missing)
    }
}

impl<'a> Finder<'a> {
    fn new(graph: &'a Graph, blocks: &'a Blocks, choice: &Choice) -> Option<Self> {
        let count = graph.variables() as usize;
        let mut parts = vec![Part::Other; count];
        for (index, block) in blocks.blocks.iter().enumerate() {
            let part = match (&block.family, choice.role(index as u32)) {
                (Gaussian(_), Role::Collapsed) => Part::Collapsed,
                (Gaussian(_), Role::Shared) => Part::Shared,
                (Gaussian(_) | GaussianGamma(_) | Bounded(_), _) => Part::Fixed,
                _ => Part::Other,
            };
            for &variable in &block.variables {
                parts[variable as usize] = part;
            }
        }
        let has = |part| parts.contains(&part);
        (has(Part::Collapsed) && has(Part::Shared)).then(|| Self {
            graph,
            blocks,
            parts,
            columns: DisjointSets::new(count),
            placed: vec![false; count],
            members: DisjointSets::new(count),
            duals: BTreeMap::new(),
            rows: BTreeMap::new(),
            matrices: DisjointSets::new(count),
            successions: HashSet::new(),
            missing: vec![],
        })
    }

    /// The Gaussians of a term where at most two are collapsed, at most two shared, and none is another.
    fn gaussians(&self, term: usize) -> Gaussians {
        let mut found = Gaussians::default();
        for atom in self.graph.terms.atoms(term) {
            let side = match self.parts[atom.variable as usize] {
                Part::Other => continue,
                Part::Collapsed => 0,
                Part::Shared => 1,
                Part::Fixed => return Gaussians::default(),
            };
            let Some(place) = found.lists[side].get_mut(found.lens[side]) else {
                return Gaussians::default();
            };
            *place = atom.variable;
            found.lens[side] += 1;
        }
        found
    }

    fn find_columns(&mut self) {
        for term in 0..self.graph.terms.len() {
            if let ([x], [w]) = self.gaussians(term).slices() {
                self.columns.join(*x, *w);
                self.placed[*x as usize] = true;
                self.placed[*w as usize] = true;
            }
        }
    }

    fn same_column(&mut self, a: u32, b: u32) -> bool {
        self.placed[a as usize]
            && self.placed[b as usize]
            && self.columns.find(a) == self.columns.find(b)
    }

    fn find_members(&mut self) {
        for term in 0..self.graph.terms.len() {
            if let ([a, b], [v, w]) = self.gaussians(term).slices() {
                let straight = self.same_column(*a, *v) && self.same_column(*b, *w);
                let crossed = self.same_column(*a, *w) && self.same_column(*b, *v);
                if straight || crossed {
                    self.members.join(*a, *b);
                    self.members.join(*v, *w);
                }
            }
        }
    }

    /// Entries of matrices and, through them, vectors that no covector meets.
    fn find_matrices(&mut self) {
        let mut terms = vec![];
        for term in 0..self.graph.terms.len() {
            let gaussians = self.gaussians(term);
            if let ([_, _], [a] | [a, _]) = gaussians.slices()
                && !self.placed[*a as usize]
            {
                terms.push(gaussians);
            }
        }
        loop {
            let before = (self.duals.len(), self.rows.len(), self.placed_count());
            for gaussians in &terms {
                match gaussians.slices() {
                    ([x, y], [a, b]) if a == b && x == y => {
                        self.learn(|finder| &mut finder.duals, *a, *x, true);
                    }
                    ([x, y], [a, b]) if a != b && x != y => self.members.join(*x, *y),
                    ([x, y], [a]) => self.match_row(*a, *x, *y),
                    _ => {}
                }
            }
            if before == (self.duals.len(), self.rows.len(), self.placed_count()) {
                break;
            }
        }
        self.join_ends(&terms);
        let mut known: HashMap<(u32, u32), u32> = HashMap::new();
        for gaussians in &terms {
            if let ([x, y], [a]) = gaussians.slices()
                && let Some((to, from)) = self.succession(*a, *x, *y)
            {
                let pair = (self.members.find(to), self.members.find(from));
                self.successions.insert(pair);
                let first = *known.entry(pair).or_insert(*a);
                self.matrices.join(first, *a);
            }
        }
        // Columns do not tell which way an entry on the diagonal leads, the others do.
        for gaussians in &terms {
            if let ([x, y], [a]) = gaussians.slices() {
                let (x, y) = (self.members.find(*x), self.members.find(*y));
                if let Some(&first) = known.get(&(x, y)).or_else(|| known.get(&(y, x))) {
                    self.matrices.join(first, *a);
                }
            }
        }
    }

    /// Elements that nothing but a matrix leads to, as at the end of a chain, are one vector where they come
    /// from one.
    fn join_ends(&mut self, terms: &[Gaussians]) {
        let sizes = self.members.sizes();
        let mut ends: HashMap<u32, u32> = HashMap::new();
        for gaussians in terms {
            if let ([x, y], [a]) = gaussians.slices()
                && let Some((to, from)) = self.succession(*a, *x, *y)
                && sizes[to as usize] == 1
            {
                let first = *ends.entry(self.members.find(from)).or_insert(to);
                self.members.join(first, to);
            }
        }
    }

    fn placed_count(&self) -> usize {
        self.placed.iter().filter(|placed| **placed).count()
    }

    /// Learns the column of an entry of a matrix from that of `x` or, where `x` is known to be on it, the other way
    /// round.
    fn learn(&mut self, columns: Columns, a: u32, x: u32, on_it: bool) {
        match (self.placed[x as usize], columns(self).get(&a).copied()) {
            (true, None) => {
                let column = self.columns.find(x);
                columns(self).insert(a, column);
            }
            (false, Some(column)) if on_it => {
                self.columns.join(x, column);
                self.placed[x as usize] = true;
            }
            _ => {}
        }
    }

    /// The entry `a` stands between `x` and `y`.
    fn match_row(&mut self, a: u32, x: u32, y: u32) {
        let Some(&column) = self.duals.get(&a) else {
            return;
        };
        let (on_x, on_y) = (self.same_column(x, column), self.same_column(y, column));
        let (to, from_it) = if on_x && !on_y { (y, on_x) } else { (x, on_y) };
        self.learn(|finder| &mut finder.rows, a, to, from_it);
    }

    /// Which of two variables an entry of a matrix leads to, and which from, where their columns tell.
    fn succession(&mut self, a: u32, x: u32, y: u32) -> Option<(u32, u32)> {
        let column = *self.duals.get(&a)?;
        match (self.same_column(x, column), self.same_column(y, column)) {
            (true, false) => Some((y, x)),
            (false, true) => Some((x, y)),
            _ => None,
        }
    }

    /// Columns that belong to one space, in order.
    fn outlines(&mut self) -> Vec<Vec<u32>> {
        let mut spaces = DisjointSets::new(self.placed.len());
        let placed = |variable: &u32| self.placed[*variable as usize];
        let variables: Vec<u32> = (0..self.placed.len() as u32).filter(placed).collect();
        for &variable in &variables {
            let member = self.members.find(variable);
            if placed(&member) {
                spaces.join(self.columns.find(variable), self.columns.find(member));
            }
        }
        for (a, &column) in &self.duals {
            if let Some(&row) = self.rows.get(a) {
                spaces.join(self.columns.find(column), self.columns.find(row));
            }
        }
        let mut found: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for variable in variables {
            if self.columns.find(variable) == variable {
                let space = spaces.find(variable);
                found.entry(space).or_default().push(variable);
            }
        }
        found.into_values().collect()
    }
}
