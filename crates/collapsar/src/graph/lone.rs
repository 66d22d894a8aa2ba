//! Decides which labels are enumerated: those that most of a model meets.
//!
//! A label of a datum picks what one datum depends on, and many such labels average out. A change-point or a
//! model's indicator changes what all of them say at once: given one state of it the parameters are elsewhere
//! than given another, and a q in which they do not depend on it is far from any posterior.

use std::collections::BTreeSet;

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
    /// Two labels of a mixture have no term together, nor have the first and the third state of a chain, so that
    /// neither is taken for what it is not where there are few data.
    pub fn lone_labels(&self, most: usize) -> Vec<LoneLabels> {
        let of = (self.declared.iter())
            .filter(|declared| !matches!(declared.kind, Kind::Label(_)))
            .map(|declared| declared.count as usize)
            .sum();
        let mut found = self.small_arrays(most, of);
        let mut met: Vec<Vec<BTreeSet<u32>>> = (found.iter())
            .map(|array| vec![BTreeSet::new(); array.variables.len()])
            .collect();
        let mut meet = |label: u32, atoms: &[Atom]| {
            for (array, met) in found.iter().zip(&mut met) {
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
        // Rows of more than one label have no terms together, so that only single ones matter.
        for rows in self.rows.iter().filter(|rows| rows.count == 1) {
            for (atoms, ..) in rows.products.each() {
                meet(rows.first, atoms);
            }
        }
        for (array, met) in found.iter_mut().zip(&met) {
            let all = |met: &BTreeSet<u32>| {
                let alone = array.variables.len() == 1;
                alone || array.variables.iter().all(|label| met.contains(label))
            };
            let others = |met: &BTreeSet<u32>| {
                let label = |variable: &&u32| matches!(self.kind(**variable), Kind::Label(_));
                met.len() - met.iter().filter(label).count()
            };
            if met.iter().all(all) {
                array.meets = met.iter().map(others).min().unwrap_or(0);
            }
        }
        found.retain(|array| 2 * array.meets > of);
        found
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
