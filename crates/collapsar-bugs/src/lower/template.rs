//! Decides how lines of normal distributions are repeated without being derived again.
//!
//! Repetitions that read the same unknowns have the same terms, with coefficients that are
//! polynomials in the data they read. The polynomials are derived once, with symbols in the place
//! of the data; each repetition then adds its numbers.

use std::collections::HashMap;

use collapsar::graph::{Atom, Graph};

use super::Stochastic;
use super::emit::Sink;
use super::variables::PLACEHOLDER;
use crate::elaborate::{Definer, Resolved, Watch};
use crate::value::{Scalar, Value};

/// Terms with symbols for data, and the sums of their coefficients so far.
struct Template {
    leaves: usize,
    terms: Vec<Term>,
}

/// One term: a coefficient, the data it is multiplied by, its atoms, and its sum so far.
struct Term {
    coefficient: f64,
    data: Vec<u32>,
    atoms: Vec<Atom>,
    sum: f64,
}

/// After so many repetitions a line whose patterns are mostly new is given up.
const TRIAL: usize = 64;

impl Stochastic<'_> {
    /// Adds all repetitions, each by the template of the unknowns that it reads; false where the
    /// line has none.
    pub(super) fn by_templates(&self, graph: &mut Graph) -> Resolved<bool> {
        let line = &self.scope.model.lines[self.line];
        let observed = self.variables.lines[self.line].is_none();
        let normal = self.of.distribution.is_normal() && self.of.truncation.is_none();
        if !normal || !observed || line.instances < 8 {
            return Ok(false);
        }
        let mut templates: HashMap<Vec<Definer>, Template> = HashMap::new();
        let mut sink = Sink::default();
        let mut slow = vec![];
        for instance in 0..line.instances {
            if instance == TRIAL && 2 * templates.len() > TRIAL {
                return Ok(false);
            }
            if self.variables.barren.contains(self.line, instance) {
                self.check_prediction(instance)?;
                continue;
            }
            if self.read(instance, Watch::Reads).is_err() {
                return Ok(false);
            }
            // Looked up by a slice: most repetitions read what others did.
            let known = templates.contains_key(self.scope.seen.borrow().as_slice());
            if !known {
                let seen = self.scope.seen.borrow().clone();
                let leaves = self.scope.leaves.borrow().clone();
                let Some(template) = self.derive(instance, &mut sink) else {
                    return Ok(false);
                };
                templates.insert(seen.clone(), template);
                // What was read before the derivation, which reads the same in symbols.
                self.scope.seen.replace(seen);
                self.scope.leaves.replace(leaves);
            }
            let leaves = self.scope.leaves.borrow();
            match templates.get_mut(self.scope.seen.borrow().as_slice()) {
                Some(template) if template.leaves == leaves.len() => {
                    for term in &mut template.terms {
                        let data = term.data.iter().map(|&leaf| leaves[leaf as usize]);
                        term.sum += data.fold(term.coefficient, |product, datum| product * datum);
                    }
                }
                _ => slow.push(instance),
            }
        }
        // In the order of their unknowns, whatever a hash table says.
        let mut templates: Vec<(Vec<Definer>, Template)> = templates.into_iter().collect();
        templates.sort_by_key(|(seen, _)| {
            let key = |definer: &Definer| (definer.line, definer.instance, definer.offset);
            seen.iter().map(key).collect::<Vec<_>>()
        });
        for term in templates.iter().flat_map(|(_, template)| &template.terms) {
            // A sum of zero is a term all the same: what is linked must not depend on rounding.
            graph.keep(term.sum, &term.atoms, self.factor);
        }
        for instance in slow {
            self.each_state(instance, graph, &mut sink)?;
        }
        Ok(true)
    }

    /// Target and parameters under a watch.
    fn read(&self, instance: usize, watch: Watch) -> Resolved<(Vec<Scalar>, Vec<Value>)> {
        self.scope.watch(watch);
        let array = &self.scope.model.arrays[self.scope.model.lines[self.line].array];
        let read = || {
            let elements = self.scope.targets(self.line, instance)?.into_iter();
            let target = elements.map(|element| self.scope.leaf(array.number(element)));
            let target = target.collect();
            Ok((target, self.scope.evaluate_all(self.of.arguments)?))
        };
        let result = read();
        self.scope.watch(Watch::Nothing);
        result
    }

    /// The terms of a repetition with symbols for its data.
    fn derive(&self, instance: usize, sink: &mut Sink) -> Option<Template> {
        let (target, arguments) = self.read(instance, Watch::Symbols(PLACEHOLDER)).ok()?;
        let leaves = self.scope.leaves.borrow().len();
        sink.clear();
        let mut emit = self.emit(instance, sink).ok()?;
        emit.distribution(&target, &arguments).ok()?;
        let terms = sink.terms().map(|(coefficient, atoms)| {
            let (data, atoms): (Vec<Atom>, Vec<Atom>) =
                atoms.iter().partition(|atom| atom.variable >= PLACEHOLDER);
            let data = data.iter().map(|atom| atom.variable - PLACEHOLDER);
            Term {
                coefficient,
                data: data.collect(),
                atoms,
                sum: 0.0,
            }
        });
        Some(Template {
            leaves,
            terms: terms.collect(),
        })
    }
}
