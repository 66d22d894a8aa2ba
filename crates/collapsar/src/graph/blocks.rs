//! Decides which variables have one joint factor of q.
//!
//! Gaussians whose terms are quadratic in them together are one block, so are labels that share a
//! term, and a Gaussian block all of whose terms hold the same precision is one block with it.

use std::collections::{BTreeMap, BTreeSet};

use super::block::{Block, BlockFamily};
use super::{Atom, Graph, Kind};
use collapsar_core::family::{Gaussian, GaussianGamma, Network, Table};
use collapsar_core::{Error, Place, Result};

/// The factors of q.
#[derive(Debug)]
#[expect(
    clippy::struct_field_names,
    reason = "a list of what it is called after"
)]
pub(super) struct Blocks {
    pub(super) blocks: Vec<Block>,
    /// The block of each variable, [`ALONE`] for labels that are in none.
    pub(super) of: Vec<u32>,
    /// Declarations of labels that are blocks of their own as their network is too dense to be summed.
    pub(super) parted: BTreeSet<u32>,
}

/// The block of a label that knows of no other label: one of many rows.
pub(super) const ALONE: u32 = u32::MAX;

/// Disjoint sets of numbers, each known by its smallest.
pub(super) struct DisjointSets {
    parents: Vec<u32>,
}

impl DisjointSets {
    pub(super) fn new(len: usize) -> Self {
        Self {
            parents: (0..len as u32).collect(),
        }
    }

    pub(super) fn find(&mut self, mut item: u32) -> u32 {
        while self.parents[item as usize] != item {
            let next = self.parents[self.parents[item as usize] as usize];
            self.parents[item as usize] = next;
            item = next;
        }
        item
    }

    pub(super) fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        // The smaller number stays, so that blocks do not depend on the order of the terms.
        self.parents[a.max(b) as usize] = a.min(b);
    }

    /// How many are in the set that each number stands for.
    pub(super) fn sizes(&mut self) -> Vec<usize> {
        let mut sizes = vec![0; self.parents.len()];
        for item in 0..self.parents.len() as u32 {
            sizes[self.find(item) as usize] += 1;
        }
        sizes
    }
}

impl Blocks {
    pub(super) fn new(graph: &Graph) -> Result<Self> {
        let mut blocks = Self {
            blocks: vec![],
            of: vec![ALONE; graph.variables() as usize],
            parted: BTreeSet::new(),
        };
        // Until blocks are known, a Gaussian's declaration stands in the place of its block.
        for (index, declared) in graph.declared.iter().enumerate() {
            if declared.kind == Kind::Gaussian {
                for variable in declared.variables() {
                    blocks.of[variable as usize] = index as u32;
                }
            }
        }
        let gaussians = gaussian_components(graph, &blocks.of)?;
        blocks.add_gaussians(graph, gaussians);
        blocks.add_labels(graph)?;
        for declared in &graph.declared {
            if graph.rows.iter().any(|rows| rows.first == declared.first) {
                continue;
            }
            for variable in declared.variables() {
                if blocks.of[variable as usize] == ALONE {
                    let family = BlockFamily::single(declared.kind, variable, graph)?;
                    blocks.push(graph, family, vec![variable]);
                }
            }
        }
        Ok(blocks)
    }

    /// The block of an atom's variable.
    pub(super) fn holding(&self, atom: Atom) -> u32 {
        self.of[atom.variable as usize]
    }

    /// Parts the atoms of a block from the others of a term.
    pub(super) fn split(
        &self,
        atoms: &[Atom],
        block: u32,
        own: &mut Vec<Atom>,
        rest: &mut Vec<Atom>,
    ) {
        own.clear();
        rest.clear();
        for atom in atoms {
            let list = if self.holding(*atom) == block {
                &mut *own
            } else {
                &mut *rest
            };
            list.push(*atom);
        }
    }

    fn push(&mut self, graph: &Graph, family: BlockFamily, variables: Vec<u32>) {
        let mut declarations = vec![];
        for &variable in &variables {
            self.of[variable as usize] = self.blocks.len() as u32;
            declarations.push(graph.namesake(variable));
        }
        declarations.sort_unstable();
        declarations.dedup();
        let units = |&variable: &u32| {
            let of = graph.units.range((variable, 0)..=(variable, u32::MAX));
            of.map(|(_, unit)| *unit).collect()
        };
        let units = if graph.units.is_empty() {
            vec![]
        } else {
            variables.iter().map(units).collect()
        };
        self.blocks.push(Block {
            family,
            variables,
            declarations,
            units,
        });
    }

    /// Blocks of Gaussians, with the precision that all of a block's terms hold, if there is one.
    fn add_gaussians(&mut self, graph: &Graph, mut components: DisjointSets) {
        let mut members: Vec<Members> = vec![];
        for declared in graph.declared.iter().filter(|d| d.kind == Kind::Gaussian) {
            for variable in declared.variables() {
                // The first of a component is its root, so that members come in the order of roots.
                let root = components.find(variable);
                if root == variable {
                    self.of[variable as usize] = members.len() as u32;
                    members.push(Members::default());
                }
                let place = self.of[root as usize];
                self.of[variable as usize] = place;
                members[place as usize].variables.push(variable);
            }
        }
        let (mut here, mut precisions) = (vec![], vec![]);
        for (atoms, ..) in graph.products() {
            gather(atoms, &self.of, &mut here);
            if (here.iter()).any(|(place, _)| members[*place as usize].may_hold()) {
                let held = (atoms.iter())
                    .filter(|atom| atom.part == 1 && graph.kind(atom.variable) == Kind::Gamma);
                precisions.clear();
                precisions.extend(held.map(|atom| atom.variable));
                for (place, _) in &here {
                    members[*place as usize].hold(&precisions);
                }
            }
            here.sort_unstable();
            for pair in here.windows(2) {
                let [(place, variable), (next, other)] = [pair[0], pair[1]];
                if place == next && variable != other {
                    members[place as usize].pairs.push((variable, other));
                }
            }
        }
        members.iter_mut().for_each(Members::sort_pairs);
        // Blocks that share a precision in this way are one, unlinked but for it.
        let mut shared: BTreeMap<u32, Members> = BTreeMap::new();
        // Blocks alike have one pattern, ordered once.
        let mut families: BTreeMap<(usize, Vec<(u32, u32)>), Gaussian> = BTreeMap::new();
        for block in members {
            if let Some(&precision) = block.precisions.as_ref().and_then(|held| held.first()) {
                let together = shared.entry(precision).or_default();
                together.variables.extend(block.variables);
                together.pairs.extend(block.pairs);
            } else {
                let (n, pairs) = block.numbered();
                let family = (families.entry((n, pairs)))
                    .or_insert_with_key(|(n, pairs)| Gaussian::new(*n, pairs));
                let family = BlockFamily::Gaussian(family.clone());
                self.push(graph, family, block.variables);
            }
        }
        for (precision, mut block) in shared {
            block.variables.sort_unstable();
            block.sort_pairs();
            let (n, pairs) = block.numbered();
            let family = BlockFamily::GaussianGamma(GaussianGamma::new(n, &pairs));
            block.variables.push(precision);
            self.push(graph, family, block.variables);
        }
    }

    /// Blocks of labels that share terms; declarations none of whose labels do are left alone, and so are labels
    /// of networks too dense to be summed (maths §9.9).
    fn add_labels(&mut self, graph: &Graph) -> Result<()> {
        let label = |kind: Kind| matches!(kind, Kind::Label(_));
        if !(graph.declared.iter()).any(|declared| label(declared.kind)) {
            return Ok(());
        }
        let mut sets = DisjointSets::new(graph.variables() as usize);
        let mut tied = BTreeSet::new();
        let mut scopes: BTreeSet<Vec<u32>> = BTreeSet::new();
        let mut impossible: BTreeMap<Vec<u32>, Vec<Vec<u32>>> = BTreeMap::new();
        let mut scope = vec![];
        for (atoms, coefficient, _) in graph.terms.each() {
            scope.clear();
            let variables = atoms.iter().map(|atom| atom.variable);
            scope.extend(variables.filter(|&variable| label(graph.kind(variable))));
            for pair in scope.windows(2) {
                sets.join(pair[0], pair[1]);
            }
            if coefficient == f64::NEG_INFINITY {
                let states = atoms.iter().map(|atom| atom.part);
                let zeros = impossible.entry(scope.clone()).or_default();
                zeros.push(states.collect());
            }
            if scope.len() > 1 {
                tied.extend(scope.iter().map(|&variable| graph.declaration(variable)));
                if !scopes.contains(&scope) {
                    scopes.insert(scope.clone());
                }
            }
        }
        let mut components: BTreeMap<u32, (Vec<u32>, Vec<Vec<u32>>)> = BTreeMap::new();
        for declaration in tied {
            for variable in graph.declared[declaration].variables() {
                let (variables, tables) = components.entry(sets.find(variable)).or_default();
                variables.push(variable);
                tables.push(vec![variable]);
            }
        }
        for scope in scopes {
            let component = components.entry(sets.find(scope[0])).or_default();
            component.1.push(scope);
        }
        for (mut variables, scopes) in components.into_values() {
            variables.sort_unstable();
            let place = |variable: &u32| place_of(*variable, &variables);
            let tables = scopes.iter().map(|scope| Table {
                scope: scope.iter().map(place).collect(),
                support: (impossible.get(scope)).map(|zeros| support(graph, scope, zeros)),
            });
            // What cannot be is a product of labels, which labels apart could not exclude.
            let possible = || (scopes.iter()).all(|s| s.len() < 2 || !impossible.contains_key(s));
            let family = match Network::new(graph.states(&variables), tables.collect()) {
                Err(error) if is_dense(&error) && possible() => {
                    let parted = variables.iter().map(|&variable| graph.namesake(variable));
                    self.parted.extend(parted);
                    continue;
                }
                family => family?,
            };
            let mut scopes: Vec<_> = scopes.into_iter().zip(0..).collect();
            scopes.sort_unstable();
            let family = BlockFamily::Network(Box::new(family), scopes);
            self.push(graph, family, variables);
        }
        Ok(())
    }
}

/// Whether a network was refused as a whole.
fn is_dense(error: &Error) -> bool {
    matches!(
        error,
        Error::Data {
            place: Place::Whole(_),
            ..
        }
    )
}

/// The place of a variable among sorted ones.
fn place_of(variable: u32, sorted: &[u32]) -> u32 {
    sorted.binary_search(&variable).unwrap_or_default() as u32
}

/// The variables of a term that are in some class, each after its class.
fn gather(atoms: &[Atom], classes: &[u32], here: &mut Vec<(u32, u32)>) {
    let each = atoms
        .iter()
        .map(|atom| (classes[atom.variable as usize], atom.variable));
    here.clear();
    here.extend(each.filter(|(class, _)| *class != ALONE));
}

/// Which entries of a table are possible.
fn support(graph: &Graph, scope: &[u32], zeros: &[Vec<u32>]) -> Vec<bool> {
    let states = graph.states(scope);
    let mut support = vec![true; states.iter().product()];
    for zero in zeros {
        let entry = (zero.iter().zip(&states))
            .fold(0, |entry, (state, states)| entry * states + *state as usize);
        support[entry] = false;
    }
    support
}

/// A block of Gaussians on the way.
#[derive(Default)]
struct Members {
    variables: Vec<u32>,
    /// Sorted and distinct once all are known.
    pairs: Vec<(u32, u32)>,
    /// Precisions that all terms so far hold, sorted; `None` before the first term.
    precisions: Option<Vec<u32>>,
}

impl Members {
    /// Whether there may be a precision that all terms hold.
    fn may_hold(&self) -> bool {
        self.precisions.as_ref().is_none_or(|held| !held.is_empty())
    }

    /// Takes the precisions of a term, sorted, into account.
    fn hold(&mut self, precisions: &[u32]) {
        match &mut self.precisions {
            None => self.precisions = Some(precisions.to_vec()),
            Some(held) => held.retain(|precision| precisions.contains(precision)),
        }
    }

    fn sort_pairs(&mut self) {
        self.pairs.sort_unstable();
        self.pairs.dedup();
    }

    /// How many they are, and their pairs by place in the block.
    fn numbered(&self) -> (usize, Vec<(u32, u32)>) {
        let place = |variable: u32| place_of(variable, &self.variables);
        let pairs = self.pairs.iter().map(|&(a, b)| (place(a), place(b)));
        (self.variables.len(), pairs.collect())
    }
}

/// Which Gaussians belong together, by variable.
///
/// Declarations whose elements are added to one another in a mean are joined while no term is more than
/// quadratic in what is joined; of the joins that exclude one another, that with the smaller
/// blocks comes first. `declarations` are those of Gaussians by variable, [`ALONE`] for others.
fn gaussian_components(graph: &Graph, declarations: &[u32]) -> Result<DisjointSets> {
    let mut patterns: BTreeMap<Vec<usize>, u32> = BTreeMap::new();
    let (mut here, mut pattern, mut last) = (vec![], vec![], vec![]);
    for (atoms, _, factor) in graph.products() {
        gather(atoms, declarations, &mut here);
        pattern.clear();
        pattern.extend(here.iter().map(|&(declaration, _)| declaration as usize));
        // Terms alike follow one another.
        if pattern.len() > 1 && pattern != last {
            if !patterns.contains_key(&pattern) {
                patterns.insert(pattern.clone(), factor);
            }
            last.clone_from(&pattern);
        }
    }
    let mut classes: Vec<usize> = (0..graph.declared.len()).collect();
    // A pattern with more than two declarations of one class.
    let crowded = |classes: &[usize]| {
        patterns.keys().find(|pattern| {
            let of = |class: usize| pattern.iter().filter(|&&d| classes[d] == class).count();
            pattern.iter().any(|&d| of(classes[d]) > 2)
        })
    };
    if let Some(pattern) = crowded(&classes) {
        let name = graph.declared[pattern[0]].name();
        return Err(Error::Graph {
            factor: graph.named_factor(patterns[pattern]),
            found: format!("a term of more than the second degree in {name}"),
            expected: "terms that are linear or quadratic in Gaussians".into(),
        });
    }
    let mut candidates = BTreeSet::new();
    for pattern in patterns.keys() {
        for (place, &a) in pattern.iter().enumerate() {
            let others = pattern[place + 1..].iter().filter(|&&b| b != a);
            candidates.extend(others.map(|&b| (a, b)));
        }
    }
    let mut candidates: Vec<(usize, usize)> = candidates.into_iter().collect();
    loop {
        candidates.retain(|&(a, b)| {
            classes[a] != classes[b] && crowded(&joined(&classes, a, b)).is_none()
        });
        let several = candidates.len() > 1;
        // By the size of the largest block.
        let best = (candidates.iter().map(|&(a, b)| joined(&classes, a, b))).min_by_key(|joined| {
            let sizes = several.then(|| components(graph, declarations, joined).sizes());
            sizes.into_iter().flatten().max()
        });
        match best {
            Some(joined) => classes = joined,
            None => return Ok(components(graph, declarations, &classes)),
        }
    }
}

/// The classes of declarations once those of two are one.
fn joined(classes: &[usize], a: usize, b: usize) -> Vec<usize> {
    let (kept, gone) = (classes[a], classes[b]);
    let replace = |&class: &usize| if class == gone { kept } else { class };
    classes.iter().map(replace).collect()
}

/// Variables joined by terms that hold several of one class.
fn components(graph: &Graph, declarations: &[u32], classes: &[usize]) -> DisjointSets {
    let mut sets = DisjointSets::new(graph.variables() as usize);
    let mut here = vec![];
    for (atoms, ..) in graph.products() {
        gather(atoms, declarations, &mut here);
        for (declaration, _) in &mut here {
            *declaration = classes[*declaration as usize] as u32;
        }
        here.sort_unstable();
        for pair in here.windows(2) {
            if pair[0].0 == pair[1].0 {
                sets.join(pair[0].1, pair[1].1);
            }
        }
    }
    sets
}
