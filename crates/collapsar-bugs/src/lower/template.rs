//! Decides how lines of normal distributions are repeated without being derived again.
//!
//! Repetitions that read the same unknowns have the same terms, with coefficients that are
//! polynomials in the data they read. The polynomials are derived once, with symbols in the place
//! of the data; each repetition then adds its numbers. Where what they add up to is small beside them, as
//! with $x_i - \bar x$ far from zero, they are added up again with twice the digits.

use std::collections::HashMap;

use collapsar::graph::{Atom, Graph, Kind};

use super::Stochastic;
use super::emit::Sink;
use super::variables::{PLACEHOLDER, Variables};
use crate::doubled::Doubled;
use crate::elaborate::{Definer, Resolved, Unresolved, Watch};
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
    sum: Doubled,
}

/// By the unknowns that are read, in order.
type Templates = Vec<(Vec<Definer>, Template)>;

/// Sums of squares that are so many times smaller than their parts have lost three digits.
const LOST: f64 = 1e3;

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
        let Some((mut templates, mut slow)) = self.sums(false)? else {
            return Ok(false);
        };
        let lost = |(_, of): &(_, Template)| of.loses_digits(self.variables);
        let doubled = templates.iter().any(lost);
        if doubled && let Some(again) = self.sums(true)? {
            (templates, slow) = again;
        }
        for (_, template) in &templates {
            if doubled {
                for (atoms, sum) in template.together() {
                    graph.keep(sum.rounded(), atoms, self.factor);
                }
            } else {
                for term in &template.terms {
                    // A sum of zero is a term all the same: what is linked must not depend on rounding.
                    graph.keep(term.sum.rounded(), &term.atoms, self.factor);
                }
            }
        }
        let mut sink = Sink::default();
        for instance in slow {
            self.each_state(instance, graph, &mut sink)?;
        }
        Ok(true)
    }

    /// The sums of all templates, with twice the digits where that is asked for, and the repetitions that
    /// have none; nothing where the line is given up.
    fn sums(&self, doubled: bool) -> Resolved<Option<(Templates, Vec<usize>)>> {
        let instances = self.scope.model.lines[self.line].instances;
        let mut templates: HashMap<Vec<Definer>, Template> = HashMap::new();
        let mut sink = Sink::default();
        let mut slow = vec![];
        for instance in 0..instances {
            if instance == TRIAL && 2 * templates.len() > TRIAL {
                return Ok(None);
            }
            if self.variables.barren.contains(self.line, instance) {
                self.check_prediction(instance)?;
                continue;
            }
            if self.read(instance, Watch::Reads).is_err() {
                return Ok(None);
            }
            // Looked up by a slice: most repetitions read what others did.
            let known = templates.contains_key(self.scope.seen.borrow().as_slice());
            if !known {
                let seen = self.scope.seen.borrow().clone();
                let leaves = self.scope.leaves.borrow().clone();
                let Some(template) = self.derive(instance, &mut sink) else {
                    return Ok(None);
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
                        if doubled {
                            let first = Doubled::from(term.coefficient);
                            term.sum = term.sum.plus(data.fold(first, Doubled::times));
                        } else {
                            let product = data.fold(term.coefficient, |product, x| product * x);
                            term.sum = (term.sum.rounded() + product).into();
                        }
                    }
                }
                _ => slow.push(instance),
            }
        }
        // In the order of their unknowns, whatever a hash table says.
        let mut templates: Templates = templates.into_iter().collect();
        templates.sort_by_key(|(seen, _)| {
            let key = |definer: &Definer| (definer.line, definer.instance, definer.offset);
            seen.iter().map(key).collect::<Vec<_>>()
        });
        Ok(Some((templates, slow)))
    }

    /// Target and parameters under a watch.
    pub(super) fn read(
        &self,
        instance: usize,
        watch: Watch,
    ) -> Resolved<(Vec<Scalar>, Vec<Value>)> {
        self.scope.watch(watch);
        let array = &self.scope.model.arrays[self.scope.model.lines[self.line].array];
        let read = || {
            let elements = self.scope.targets(self.line, instance)?.into_iter();
            let target = elements.map(|element| {
                let counted = self.of.distribution.counted(array.number(element));
                let counted = counted.ok_or_else(|| Unresolved::from(self.outside(instance)));
                counted.map(|x| self.scope.leaf(x))
            });
            let target = target.collect::<Resolved<_>>()?;
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
                sum: Doubled::default(),
            }
        });
        Some(Template {
            leaves,
            terms: terms.collect(),
        })
    }
}

impl Template {
    /// Terms with the same atoms together, in the order of the first of each.
    fn together(&self) -> Vec<(&[Atom], Doubled)> {
        let mut out: Vec<(&[Atom], Doubled)> = vec![];
        for term in &self.terms {
            match out.iter_mut().find(|(atoms, _)| *atoms == term.atoms) {
                Some((_, sum)) => *sum = sum.plus(term.sum),
                None => out.push((&term.atoms, term.sum)),
            }
        }
        out
    }

    /// Whether a sum of squares is small beside its parts.
    fn loses_digits(&self, variables: &Variables) -> bool {
        let gaussian = |atom: &&Atom| variables.kind(atom.variable) == Kind::Gaussian;
        (self.together().into_iter()).any(|(atoms, sum)| {
            let real: Vec<&Atom> = atoms.iter().filter(gaussian).collect();
            let square = match real.as_slice() {
                [] => true,
                [a, b] => a == b,
                _ => false,
            };
            let parts = self.terms.iter().filter(|term| term.atoms == atoms);
            let size: f64 = parts.map(|term| term.sum.rounded().abs()).sum();
            square && size > LOST * sum.rounded().abs()
        })
    }
}
