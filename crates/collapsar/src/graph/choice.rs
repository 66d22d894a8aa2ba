//! Decides which classes of blocks are collapsed, and why.
//!
//! Blocks of the same declarations are one class and are treated alike. Two classes conflict
//! where a term holds blocks of both; a class conflicts with itself where a term holds two of its
//! blocks. What is collapsed must not conflict (maths §9.3). Of the explicit classes, those that
//! do not conflict with one another receive messages about what they meet, which they share; the
//! others keep their own natural parameters (maths §9.4). The choice with the fewest own statistics
//! is taken, of those the one with the most classes collapsed, of those the one with the fewest messages.
//! Principal components of 20 by 100 numbers take 236 passes with factors and scales collapsed, and
//! 809 with loadings alone, which have fewer messages.

use std::collections::BTreeMap;

use hashbrown::HashTable;

use super::Graph;
use super::blocks::{Blocks, Union};
use super::terms::{mix, mix_number};
use crate::error::{Error, Factor, Result};

/// What becomes of a class of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Integrated out.
    Collapsed,
    /// A factor of q that is the same function of shared messages in each of its blocks.
    Shared,
    /// A factor of q with natural parameters of its own.
    Own,
}

/// A factor of the joint that two classes have a term in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// One class.
    pub first: usize,
    /// The other, or the same where it meets itself.
    pub second: usize,
    /// The factor, as [`Graph::factor`] numbered and named it.
    pub factor: Factor,
}

/// A class of blocks: what it is called and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// The names that were declared, in order.
    pub names: Vec<String>,
    /// The family of its blocks.
    pub family: String,
    /// How many blocks there are.
    pub blocks: usize,
    /// How many statistics they have together.
    pub statistics: usize,
    /// What became of it.
    pub role: Role,
}

/// What is collapsed, and what else might be.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The classes.
    pub classes: Vec<Class>,
    /// Which of them meet, and where.
    pub conflicts: Vec<Conflict>,
    /// Other sets of classes that might be collapsed instead, to which none can be added.
    pub alternatives: Vec<Vec<usize>>,
    /// The class of each block.
    pub(super) of: Vec<u32>,
    /// The class of each array of rows.
    rows: Vec<u32>,
}

/// What the user insists on, by declared names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Demands {
    /// To be collapsed.
    pub collapse: Vec<String>,
    /// Not to be collapsed.
    pub explicit: Vec<String>,
}

/// What each statistic of an own factor costs: they make the climb one of blocks that wait for one
/// another.
const OWN: usize = 1 << 44;
/// What each class costs that is not collapsed: the more is collapsed, the less is left to climb.
const EXPLICIT: usize = 1 << 36;
/// Most nodes of the search for the cheapest roles.
const NODES: usize = 1_000_000;

impl Choice {
    pub(super) fn new(graph: &Graph, blocks: &Blocks, demands: &Demands) -> Result<Self> {
        let mut choice = Self::classes(graph, blocks);
        let costs = choice.meet(graph, blocks);
        let mut allowed = choice.allowed(demands)?;
        for &class in &choice.rows {
            allowed[class as usize] = [false, true, false];
        }
        let search = Search {
            conflicts: &choice.conflict_table(),
            allowed: &allowed,
            costs: &costs,
        };
        let roles = search.best();
        for (class, role) in choice.classes.iter_mut().zip(&roles) {
            class.role = *role;
        }
        choice.alternatives = choice.alternatives();
        Ok(choice)
    }

    /// Blocks that share a declaration, such as labels with and without a missing datum, are of
    /// one class, and so are blocks that share one with those.
    fn classes(graph: &Graph, blocks: &Blocks) -> Self {
        let mut union = Union::new(graph.declared.len());
        for block in &blocks.blocks {
            for pair in block.declarations.windows(2) {
                union.join(pair[0], pair[1]);
            }
        }
        let mut found: BTreeMap<u32, u32> = BTreeMap::new();
        let mut choice = Self {
            classes: vec![],
            conflicts: vec![],
            alternatives: vec![],
            of: vec![],
            rows: vec![],
        };
        for block in &blocks.blocks {
            let root = union.find(block.declarations[0]);
            let class = *found.entry(root).or_insert_with(|| {
                choice.classes.push(Class {
                    names: vec![],
                    family: block.family_name(),
                    blocks: 0,
                    statistics: 0,
                    role: Role::Own,
                });
                choice.classes.len() as u32 - 1
            });
            choice.of.push(class);
            let class = &mut choice.classes[class as usize];
            class.blocks += 1;
            class.statistics += block.len();
            for &declaration in &block.declarations {
                for name in &graph.declared[declaration as usize].names {
                    if !class.names.contains(name) {
                        class.names.push(name.clone());
                    }
                }
            }
        }
        let mut places: Vec<u32> = vec![0; choice.classes.len()];
        for (root, class) in found {
            places[class as usize] = root;
        }
        for rows in &graph.rows {
            choice.rows.push(choice.classes.len() as u32);
            places.push(graph.namesake(rows.first));
            choice.classes.push(Class {
                names: graph.declared[graph.declaration(rows.first)].names.clone(),
                family: "categorical".into(),
                blocks: rows.count,
                statistics: rows.count * rows.states,
                role: Role::Shared,
            });
        }
        choice.sort(&places);
        choice
    }

    /// Puts classes into the order of their declarations.
    fn sort(&mut self, places: &[u32]) {
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by_key(|&class| places[class]);
        let mut ranks = vec![0; order.len()];
        for (rank, &class) in order.iter().enumerate() {
            ranks[class] = rank as u32;
        }
        self.classes = order
            .iter()
            .map(|&class| self.classes[class].clone())
            .collect();
        for class in self.of.iter_mut().chain(&mut self.rows) {
            *class = ranks[*class as usize];
        }
    }

    /// Finds the conflicts; returns how many messages each class would share.
    fn meet(&mut self, graph: &Graph, blocks: &Blocks) -> Vec<[usize; 3]> {
        let mut conflicts: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        let mut messages = vec![0; self.classes.len()];
        // Slots that a class sees only together are one message: what it sees of each, digested, by
        // the slot's own digest.
        let mut seen: Vec<HashTable<(u64, u64)>> = vec![HashTable::new(); self.classes.len()];
        let (mut here, mut own, mut rest) = (vec![], vec![], vec![]);
        for term in 0..graph.terms.len() {
            let atoms = graph.terms.atoms(term);
            here.clear();
            here.extend(atoms.iter().map(|atom| blocks.of[atom.variable as usize]));
            here.sort_unstable();
            here.dedup();
            if here.len() < 2 {
                continue;
            }
            for (place, &a) in here.iter().enumerate() {
                let class = self.of[a as usize];
                own.clear();
                rest.clear();
                for atom in atoms {
                    if blocks.of[atom.variable as usize] == a {
                        own.push(*atom);
                    } else {
                        rest.push(*atom);
                    }
                }
                let slot = mix(&rest);
                let sight = mix_number(mix(&own), graph.terms.coefficient(term));
                seen[class as usize]
                    .entry(slot, |entry| entry.0 == slot, |entry| entry.0)
                    .and_modify(|entry| entry.1 = entry.1.wrapping_add(sight))
                    .or_insert((slot, sight));
                for &b in &here[place + 1..] {
                    let (a, b) = (class as usize, self.of[b as usize] as usize);
                    conflicts
                        .entry((a.min(b), a.max(b)))
                        .or_insert(graph.terms.source(term));
                }
            }
        }
        for (rows, &class) in graph.rows.iter().zip(&self.rows) {
            let class = class as usize;
            messages[class] = rows.products.len();
            for product in 0..rows.products.len() {
                let atoms = rows.products.atoms(product);
                here.clear();
                here.extend(atoms.iter().map(|atom| blocks.of[atom.variable as usize]));
                here.sort_unstable();
                here.dedup();
                let mut classes: Vec<usize> = here
                    .iter()
                    .map(|&block| self.of[block as usize] as usize)
                    .collect();
                classes.push(class);
                for (place, &a) in classes.iter().enumerate() {
                    for &b in &classes[place + 1..] {
                        conflicts
                            .entry((a.min(b), a.max(b)))
                            .or_insert(rows.products.source(product));
                    }
                }
            }
        }
        self.conflicts = (conflicts.into_iter())
            .map(|((first, second), factor)| Conflict {
                first,
                second,
                factor: graph.named_factor(factor),
            })
            .collect();
        (self.classes.iter().zip(messages).zip(&seen))
            .map(|((class, messages), seen)| {
                let mut sights: Vec<u64> = seen.iter().map(|entry| entry.1).collect();
                sights.sort_unstable();
                sights.dedup();
                let messages = messages + sights.len();
                [0, messages, OWN.saturating_mul(class.statistics)]
            })
            .collect()
    }

    fn conflict_table(&self) -> Vec<Vec<bool>> {
        let n = self.classes.len();
        let mut table = vec![vec![false; n]; n];
        for conflict in &self.conflicts {
            table[conflict.first][conflict.second] = true;
            table[conflict.second][conflict.first] = true;
        }
        table
    }

    /// Which roles each class may have.
    fn allowed(&self, demands: &Demands) -> Result<Vec<[bool; 3]>> {
        let mut allowed = vec![[true; 3]; self.classes.len()];
        for conflict in self.conflicts.iter().filter(|c| c.first == c.second) {
            allowed[conflict.first] = [false, false, true];
        }
        let find = |name: &String, option: &'static str| {
            (self.classes.iter())
                .position(|class| class.names.contains(name))
                .ok_or_else(|| {
                    Error::setting(option, name.clone(), format!("one of {}", self.names()))
                })
        };
        for name in &demands.explicit {
            allowed[find(name, "explicit")?][0] = false;
        }
        let mut collapsed = vec![];
        for name in &demands.collapse {
            let class = find(name, "collapse")?;
            if demands
                .explicit
                .iter()
                .any(|other| self.classes[class].names.contains(other))
            {
                return Err(Error::setting(
                    "collapse",
                    name.clone(),
                    "a variable that is not to be explicit as well",
                ));
            }
            collapsed.push((class, name));
            allowed[class][1] = false;
            allowed[class][2] = false;
        }
        for (place, &(a, first)) in collapsed.iter().enumerate() {
            for &(b, second) in &collapsed[..=place] {
                let conflict =
                    (self.conflicts.iter()).find(|c| (c.first, c.second) == (a.min(b), a.max(b)));
                if let Some(conflict) = conflict {
                    let found = if a == b {
                        format!("two blocks of {first}")
                    } else {
                        format!("both {second} and {first}")
                    };
                    return Err(Error::Collapse {
                        factor: conflict.factor.clone(),
                        found,
                    });
                }
            }
        }
        Ok(allowed)
    }

    fn names(&self) -> String {
        let names: Vec<&str> = (self.classes.iter())
            .flat_map(|class| class.names.iter().map(String::as_str))
            .collect();
        names.join(", ")
    }

    /// Sets of classes without conflicts to which none can be added, but for the one chosen.
    fn alternatives(&self) -> Vec<Vec<usize>> {
        const MOST: usize = 12;
        let table = self.conflict_table();
        let chosen: Vec<usize> = (0..self.classes.len())
            .filter(|&class| self.classes[class].role == Role::Collapsed)
            .collect();
        let free: Vec<usize> = (0..self.classes.len())
            .filter(|&class| !table[class][class])
            .collect();
        let mut found = vec![];
        let mut stack = vec![(0, vec![])];
        while let Some((next, set)) = stack.pop() {
            if found.len() == MOST {
                break;
            }
            if next == free.len() {
                let fits = |class: usize| set.iter().all(|&other: &usize| !table[class][other]);
                let full = (free.iter()).all(|&class| set.contains(&class) || !fits(class));
                if full && set != chosen {
                    found.push(set);
                }
                continue;
            }
            let class = free[next];
            stack.push((next + 1, set.clone()));
            if set.iter().all(|&other| !table[class][other]) {
                let mut with = set;
                with.push(class);
                stack.push((next + 1, with));
            }
        }
        found
    }
}

struct Search<'a> {
    conflicts: &'a [Vec<bool>],
    allowed: &'a [[bool; 3]],
    costs: &'a [[usize; 3]],
}

const ROLES: [Role; 3] = [Role::Collapsed, Role::Shared, Role::Own];

impl Search<'_> {
    fn best(&self) -> Vec<Role> {
        let mut best = (usize::MAX, vec![]);
        let mut nodes = 0;
        self.go(&mut vec![], 0, &mut best, &mut nodes);
        best.1
    }

    fn go(
        &self,
        roles: &mut Vec<Role>,
        cost: usize,
        best: &mut (usize, Vec<Role>),
        nodes: &mut usize,
    ) {
        *nodes += 1;
        if cost >= best.0 || (*nodes > NODES && !best.1.is_empty()) {
            return;
        }
        let class = roles.len();
        if class == self.allowed.len() {
            *best = (cost, roles.clone());
            return;
        }
        for (place, role) in ROLES.into_iter().enumerate() {
            let meets = role != Role::Own
                && (0..class).any(|other| self.conflicts[class][other] && roles[other] == role);
            if !meets && self.allowed[class][place] {
                roles.push(role);
                let explicit = if role == Role::Collapsed { 0 } else { EXPLICIT };
                let more = self.costs[class][place].saturating_add(explicit);
                self.go(roles, cost.saturating_add(more), best, nodes);
                roles.pop();
            }
        }
    }
}
