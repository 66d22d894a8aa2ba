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

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashTable;

use super::blocks::{Blocks, DisjointSets};
use super::terms::{mix, mix_number};
use super::{Atom, Graph};
use collapsar_core::{Error, Factor, Result};

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
    /// Whether its labels are approximated one by one, as their network is too dense to be summed exactly.
    pub parted: bool,
    /// Whether it has exponentials of predictors, which keep it explicit.
    pub log_linear: bool,
}

/// What is collapsed, and what else might be.
#[derive(Debug, Clone, PartialEq, Default)]
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
        let mut search = Search {
            conflicts: &choice.conflict_table(),
            allowed: &allowed,
            costs: &costs,
            best: (usize::MAX, vec![]),
            nodes: 0,
        };
        search.go(&mut vec![], 0);
        for (class, role) in choice.classes.iter_mut().zip(search.best.1) {
            class.role = role;
        }
        choice.alternatives = choice.alternatives();
        Ok(choice)
    }

    /// Blocks that share a declaration, such as labels with and without a missing datum, are of
    /// one class, and so are blocks that share one with those.
    fn classes(graph: &Graph, blocks: &Blocks) -> Self {
        let mut sets = DisjointSets::new(graph.declared.len());
        for block in &blocks.blocks {
            for pair in block.declarations.windows(2) {
                sets.join(pair[0], pair[1]);
            }
        }
        // Classes are in the order of their declarations, arrays of rows after blocks of the same.
        let mut keys: Vec<(u32, u32)> = (blocks.blocks.iter())
            .map(|block| (sets.find(block.declarations[0]), 0))
            .collect();
        keys.extend((graph.rows.iter().zip(1..)).map(|(rows, n)| (graph.namesake(rows.first), n)));
        let ordered: BTreeSet<(u32, u32)> = keys.iter().copied().collect();
        let numbers: BTreeMap<(u32, u32), u32> = ordered.into_iter().zip(0..).collect();
        let mut of: Vec<u32> = keys.iter().map(|key| numbers[key]).collect();
        let rows = of.split_off(blocks.blocks.len());
        let none = Class {
            names: vec![],
            family: String::new(),
            blocks: 0,
            statistics: 0,
            role: Role::Own,
            parted: false,
            log_linear: false,
        };
        let mut classes = vec![none; numbers.len()];
        for (block, &class) in blocks.blocks.iter().zip(&of) {
            let class = &mut classes[class as usize];
            if class.blocks == 0 {
                class.family = block.family_name();
            }
            class.blocks += 1;
            class.statistics += block.len();
            for &declaration in &block.declarations {
                class.parted |= blocks.parted.contains(&declaration);
                for name in &graph.declared[declaration as usize].names {
                    if !class.names.contains(name) {
                        class.names.push(name.clone());
                    }
                }
            }
        }
        for (rows, &class) in graph.rows.iter().zip(&rows) {
            classes[class as usize] = Class {
                names: graph.declared[graph.declaration(rows.first)].names.clone(),
                family: if rows.are_squares() {
                    "Pólya-Gamma".into()
                } else {
                    "categorical".into()
                },
                blocks: rows.count,
                statistics: rows.count * rows.states,
                role: Role::Shared,
                parted: false,
                log_linear: false,
            };
        }
        Self {
            classes,
            of,
            rows,
            ..Self::default()
        }
    }

    /// What became of a block.
    pub(super) fn role(&self, block: u32) -> Role {
        self.classes[self.of[block as usize] as usize].role
    }

    /// Finds the conflicts; returns how many messages each class would share.
    fn meet(&mut self, graph: &Graph, blocks: &Blocks) -> Vec<[usize; 3]> {
        let mut conflicts: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        let mut meet = |classes: &[usize], factor: u32| {
            for (place, &a) in classes.iter().enumerate() {
                for &b in &classes[place + 1..] {
                    conflicts.entry((a.min(b), a.max(b))).or_insert(factor);
                }
            }
        };
        let mut messages = vec![0; self.classes.len()];
        // Slots that a class sees only together are one message: what it sees of each, digested, by
        // the slot's own digest.
        let mut seen: Vec<HashTable<(u64, u64)>> = vec![HashTable::new(); self.classes.len()];
        let (mut here, mut classes) = (vec![], vec![]);
        let find = |atoms: &[Atom], here: &mut Vec<u32>, classes: &mut Vec<usize>| {
            here.clear();
            here.extend(atoms.iter().map(|atom| blocks.holding(*atom)));
            here.sort_unstable();
            here.dedup();
            classes.clear();
            classes.extend(here.iter().map(|&block| self.of[block as usize] as usize));
        };
        let (mut own, mut rest) = (vec![], vec![]);
        for (atoms, coefficient, factor) in graph.terms.each() {
            find(atoms, &mut here, &mut classes);
            if here.len() < 2 {
                continue;
            }
            for (&block, &class) in here.iter().zip(&classes) {
                blocks.split(atoms, block, &mut own, &mut rest);
                let slot = mix(&rest);
                let sight = mix_number(mix(&own), coefficient);
                seen[class]
                    .entry(slot, |entry| entry.0 == slot, |entry| entry.0)
                    .and_modify(|entry| entry.1 = entry.1.wrapping_add(sight))
                    .or_insert((slot, sight));
            }
            meet(&classes, factor);
        }
        for (index, exponential) in (0_u64..).zip(graph.exponentials.all()) {
            find(&exponential.atoms, &mut here, &mut classes);
            for &class in &classes {
                let (slot, sight) = (mix_number(index, 0.0), mix_number(index, 1.0));
                seen[class].insert_unique(slot, (slot, sight), |entry| entry.0);
            }
            // A block with exponentials meets them in itself: it has the natural parameters of no family (maths §9.14).
            for &(variable, _) in &exponential.predictor.slopes {
                classes.extend([self.of[blocks.of[variable as usize] as usize] as usize; 2]);
            }
            meet(&classes, exponential.factor);
        }
        for (rows, &class) in graph.rows.iter().zip(&self.rows) {
            messages[class as usize] = rows.products.len();
            for (atoms, _, factor) in rows.products.each() {
                find(atoms, &mut here, &mut classes);
                classes.push(class as usize);
                meet(&classes, factor);
            }
        }
        for exponential in graph.exponentials.all() {
            for &(variable, _) in &exponential.predictor.slopes {
                let class = self.of[blocks.of[variable as usize] as usize];
                self.classes[class as usize].log_linear = true;
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
            let found = (self.classes.iter()).position(|class| class.names.contains(name));
            let expected = || format!("one of {}", self.names());
            found.ok_or_else(|| Error::setting(option, name.clone(), expected()))
        };
        for name in &demands.explicit {
            allowed[find(name, "explicit")?][0] = false;
        }
        let mut collapsed = vec![];
        for name in &demands.collapse {
            let class = find(name, "collapse")?;
            let names = &self.classes[class].names;
            if demands.explicit.iter().any(|other| names.contains(other)) {
                let expected = "a variable that is not to be explicit as well";
                return Err(Error::setting("collapse", name.clone(), expected));
            }
            collapsed.push((class, name));
            allowed[class][1..].fill(false);
        }
        for (place, &(a, first)) in collapsed.iter().enumerate() {
            for &(b, second) in &collapsed[..=place] {
                let conflict =
                    (self.conflicts.iter()).find(|c| (c.first, c.second) == (a.min(b), a.max(b)));
                if let Some(conflict) = conflict {
                    let found = if a == b && self.classes[a].log_linear {
                        format!("an exponential of {first}")
                    } else if a == b {
                        format!("two blocks of {first}")
                    } else {
                        format!("both {second} and {first}")
                    };
                    let factor = conflict.factor.clone();
                    return Err(Error::Collapse { factor, found });
                }
            }
        }
        Ok(allowed)
    }

    fn names(&self) -> String {
        let names = self.classes.iter().flat_map(|class| class.names.clone());
        names.collect::<Vec<_>>().join(", ")
    }

    /// Sets of classes without conflicts to which none can be added, but for the one chosen.
    fn alternatives(&self) -> Vec<Vec<usize>> {
        const MOST: usize = 12;
        let table = self.conflict_table();
        let classes = || 0..self.classes.len();
        let chosen: Vec<usize> = classes()
            .filter(|&class| self.classes[class].role == Role::Collapsed)
            .collect();
        let free: Vec<usize> = classes().filter(|&class| !table[class][class]).collect();
        let fits = |class: usize, set: &[usize]| set.iter().all(|&other| !table[class][other]);
        let mut found = vec![];
        let mut stack = vec![(0, vec![])];
        while let Some((next, mut set)) = stack.pop() {
            if found.len() == MOST {
                break;
            }
            let Some(&class) = free.get(next) else {
                let full = (free.iter()).all(|class| set.contains(class) || !fits(*class, &set));
                if full && set != chosen {
                    found.push(set);
                }
                continue;
            };
            stack.push((next + 1, set.clone()));
            if fits(class, &set) {
                set.push(class);
                stack.push((next + 1, set));
            }
        }
        found
    }
}

/// The search for the cheapest roles, class after class.
struct Search<'a> {
    conflicts: &'a [Vec<bool>],
    allowed: &'a [[bool; 3]],
    costs: &'a [[usize; 3]],
    best: (usize, Vec<Role>),
    nodes: usize,
}

impl Search<'_> {
    fn go(&mut self, roles: &mut Vec<Role>, cost: usize) {
        self.nodes += 1;
        if cost >= self.best.0 || (self.nodes > NODES && !self.best.1.is_empty()) {
            return;
        }
        let class = roles.len();
        if class == self.allowed.len() {
            self.best = (cost, roles.clone());
            return;
        }
        for role in [Role::Collapsed, Role::Shared, Role::Own] {
            let meets = role != Role::Own
                && (0..class).any(|other| self.conflicts[class][other] && roles[other] == role);
            if !meets && self.allowed[class][role as usize] {
                roles.push(role);
                let explicit = if role == Role::Collapsed { 0 } else { EXPLICIT };
                let more = self.costs[class][role as usize].saturating_add(explicit);
                self.go(roles, cost.saturating_add(more));
                roles.pop();
            }
        }
    }
}
