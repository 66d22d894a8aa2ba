//! Decides which labels are enumerated: those that most of a model meets.
//!
//! A label of a datum picks what one datum depends on, and many such labels average out. A change-point or a
//! model's indicator changes what all of them say at once: given one state of it the parameters are elsewhere
//! than given another, and a q in which they do not depend on it is far from any posterior.

use std::collections::{BTreeMap, BTreeSet};

use super::{Atom, Graph, Kind};

/// An array of labels, each of which most of the model meets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoneLabels {
    /// The array.
    pub name: String,
    /// Its labels.
    pub variables: Vec<u32>,
    /// How many states they have together.
    pub states: usize,
    /// How many variables that are no labels the one that meets fewest has a term with.
    pub meets: usize,
    /// How many there are.
    pub of: usize,
}

impl Graph {
    /// Arrays of labels that most of the model meets, in the order of declaration: each label has a term with more
    /// than half of all variables that are no labels, and with every other label of its array, and together they
    /// have at most `most` states.
    ///
    /// What has a term with a normal variable that a label meets is met as well: the indicator of a coefficient changes
    /// what is said of all coefficients. Two such labels are together where the normal variables that they meet are others, which
    /// have a term together. Two labels of a mixture meet the same variables, and so do the first and the third state of a chain,
    /// so that neither is taken for what it is not where there are few data.
    pub fn lone_labels(&self, most: usize) -> Vec<LoneLabels> {
        let of = (self.declared.iter())
            .filter(|declared| !matches!(declared.kind, Kind::Label(_)))
            .map(|declared| declared.count as usize)
            .sum();
        let mut found = self.small_arrays(most, of);
        if found.is_empty() {
            return found;
        }
        let met = self.met_by(&found);
        let normal = |variable: &&u32| self.kind(**variable) == Kind::Gaussian;
        let normals = met.iter().flatten().flatten().filter(normal).copied();
        let near = self.near(normals.collect());
        for (array, met) in found.iter_mut().zip(&met) {
            let own: Vec<BTreeSet<u32>> = (met.iter())
                .map(|met| met.iter().filter(normal).copied().collect())
                .collect();
            let tied = |a: &BTreeSet<u32>, b: &BTreeSet<u32>| {
                a.is_disjoint(b) && a.iter().any(|x| !near[x].is_disjoint(b))
            };
            let together = |a: usize, b: usize| {
                a == b || met[a].contains(&array.variables[b]) || tied(&own[a], &own[b])
            };
            let labels = 0..array.variables.len();
            if !labels
                .clone()
                .all(|a| labels.clone().all(|b| together(a, b)))
            {
                continue;
            }
            let others = |(met, own): (&BTreeSet<u32>, &BTreeSet<u32>)| {
                let far = own.iter().flat_map(|x| &near[x]);
                let all: BTreeSet<u32> = met.iter().chain(far).copied().collect();
                let label = |variable: &&u32| matches!(self.kind(**variable), Kind::Label(_));
                all.len() - all.iter().filter(label).count()
            };
            array.meets = met.iter().zip(&own).map(others).min().unwrap_or(0);
        }
        found.retain(|array| 2 * array.meets > of);
        found
    }

    /// The variables that each label of arrays has a term with.
    fn met_by(&self, arrays: &[LoneLabels]) -> Vec<Vec<BTreeSet<u32>>> {
        let mut met: Vec<Vec<BTreeSet<u32>>> = (arrays.iter())
            .map(|array| vec![BTreeSet::new(); array.variables.len()])
            .collect();
        let mut meet = |label: u32, atoms: &[Atom]| {
            for (array, met) in arrays.iter().zip(&mut met) {
                if let Ok(place) = array.variables.binary_search(&label) {
                    met[place].extend(atoms.iter().map(|atom| atom.variable));
                }
            }
        };
        let is_label = |atom: &Atom| matches!(self.kind(atom.variable), Kind::Label(_));
        for (atoms, ..) in self.terms.each() {
            for label in atoms.iter().filter(|atom| is_label(atom)) {
                meet(label.variable, atoms);
            }
        }
        let listed = |label: u32| {
            let holds = |array: &LoneLabels| array.variables.binary_search(&label).is_ok();
            arrays.iter().any(holds)
        };
        for rows in self.rows.iter().filter(|rows| listed(rows.first)) {
            for row in 0..rows.count {
                rows.each_product(row, |atoms| meet(rows.first + row as u32, atoms));
            }
        }
        met
    }

    /// The variables that each of these has a term with, labels or not.
    fn near(&self, of: BTreeSet<u32>) -> BTreeMap<u32, BTreeSet<u32>> {
        let mut near: BTreeMap<u32, BTreeSet<u32>> =
            of.into_iter().map(|x| (x, BTreeSet::new())).collect();
        for (atoms, ..) in self.terms.each() {
            for atom in atoms {
                if let Some(near) = near.get_mut(&atom.variable) {
                    near.extend(atoms.iter().map(|atom| atom.variable));
                }
            }
        }
        near
    }

    /// Arrays of labels with at most so many states together, which meet nothing yet.
    fn small_arrays(&self, most: usize, of: usize) -> Vec<LoneLabels> {
        let mut found: Vec<LoneLabels> = vec![];
        for declared in &self.declared {
            let Kind::Label(states) = declared.kind else {
                continue;
            };
            let states = states.saturating_pow(declared.count);
            let name = declared.name();
            match found.iter_mut().find(|array| array.name == name) {
                Some(array) => {
                    array.states = array.states.saturating_mul(states);
                    // Beyond the most there is no need of a list.
                    if array.states <= most {
                        array.variables.extend(declared.variables());
                    }
                }
                None => found.push(LoneLabels {
                    name,
                    variables: declared.variables().take(most).collect(),
                    states,
                    meets: 0,
                    of,
                }),
            }
        }
        found.retain(|array| (2..=most).contains(&array.states));
        found
    }
}
