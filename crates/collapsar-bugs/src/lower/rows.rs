//! Decides which labels are rows: those that no line ties to another label.
//!
//! A line that depends on one label has the same terms wherever all else that it reads is the
//! same, so terms are derived once for each such key. Where only observed numbers of a normal
//! distribution differ, they are derived once for all rows, as polynomials in those numbers.

use std::collections::HashMap;
use std::sync::Arc;

use collapsar::graph::{Atom, Graph, Kind, RowPart, Rows, Sums};

use super::emit::Sink;
use super::signature::signature;
use super::{Halt, Stochastic};
use crate::diagnostic::Diagnostic;
use crate::distribution::Distribution;
use crate::elaborate::{Elaborated, Known};
use crate::quantity::Element;
use crate::syntax::ast::{Expr, Index, Node, Reference};
use crate::value::Item;

use super::variables::{OfLine, PLACEHOLDER, Variables};

/// Labels of one line, and the lines that depend on them.
pub(super) struct Candidate {
    pub(super) line: usize,
    /// The line itself first.
    pub(super) users: Vec<usize>,
}

/// A constant, and products of atoms with coefficients.
type StateSum = (f64, Vec<(f64, Vec<Atom>)>);

/// Most repetitions of a line that depend on one label.
const MOST_USES: usize = 64;

/// Label lines that may be rows.
pub(super) fn candidates(model: &Elaborated, variables: &Variables) -> Vec<Candidate> {
    let is_label = |line: usize| {
        let of = variables.lines[line].as_ref();
        of.is_some_and(|of| matches!(of.kind, Kind::Label(_)))
    };
    let mut found = vec![];
    for line in (0..model.lines.len()).filter(|&line| is_label(line)) {
        let array = model.lines[line].array;
        let all = variables.lines[line].as_ref().is_some_and(OfLine::all);
        let whole = all && model.arrays[array].in_order(line);
        let lines = (0..model.lines.len()).filter(|&line| model.lines[line].array == array);
        let alone = lines.filter(|&line| is_label(line)).count() == 1;
        if !whole || !alone {
            continue;
        }
        let users = (0..model.lines.len())
            .map(|user| {
                let arguments = model.lines[user].relation.arguments().iter();
                let labels: Vec<&Reference> = (arguments.flat_map(Expr::references))
                    .filter(|name| {
                        let array = model.find(&name.name.text);
                        array.is_some_and(|array| variables.label_array(array))
                    })
                    .collect();
                let ours = |name: &&Reference| model.find(&name.name.text) == Some(array);
                if user == line {
                    return labels.is_empty().then_some(true);
                }
                if !labels.iter().any(ours) {
                    return Some(false);
                }
                let same = labels.iter().all(|label| *label == labels[0]);
                if variables.leaves.count(user) == model.lines[user].instances {
                    return Some(false);
                }
                let observed = variables.lines[user].is_none();
                (model.lines[user].stochastic() && same && observed).then_some(true)
            })
            .collect::<Option<Vec<bool>>>();
        if let Some(users) = users {
            let others = (0..users.len()).filter(|&user| users[user] && user != line);
            found.push(Candidate {
                line,
                users: [line].into_iter().chain(others).collect(),
            });
        }
    }
    found
}

/// The rows of a candidate, or nothing where no kernel takes them.
pub(super) fn build(
    candidate: &Candidate,
    stochastic: &[Option<Stochastic>],
    model: &Elaborated,
    variables: &Variables,
    graph: &mut Graph,
) -> Result<bool, Halt> {
    let Some(of) = &variables.lines[candidate.line] else {
        return Ok(false);
    };
    let Kind::Label(states) = of.kind else {
        return Ok(false);
    };
    let count = model.lines[candidate.line].instances;
    let mut builder = Builder {
        rows: Rows::new(of.first, count, states),
        first: of.first,
        count,
        states,
        sink: Sink::default(),
    };
    for &user in &candidate.users {
        let Some(line) = &stochastic[user] else {
            return Ok(false);
        };
        if !builder.line(line, candidate.line)? {
            return Ok(false);
        }
    }
    if !builder.rows.supported() {
        return Ok(false);
    }
    let added = graph.add_rows(builder.rows);
    Ok(added.is_ok())
}

struct Builder {
    rows: Rows,
    first: u32,
    count: usize,
    states: usize,
    sink: Sink,
}

impl Builder {
    /// Adds the parts of one line; false where they have no shape that is known.
    fn line(&mut self, line: &Stochastic, labels: usize) -> Result<bool, Halt> {
        let model = line.scope.model;
        let own = line.line == labels;
        let instances = model.lines[line.line].instances;
        let mut label_of: Vec<u32> = Vec::with_capacity(if own { 0 } else { instances });
        let reference = label_reference(line, model.lines[labels].array);
        if !own {
            let Some(reference) = reference else {
                return Ok(false);
            };
            for instance in 0..instances {
                line.scope.enter(line.line, instance);
                let (_, elements) = line.scope.places(reference)?;
                let [element] = elements.as_slice() else {
                    return Ok(false);
                };
                label_of.push(*element as u32);
            }
        }
        let label = |instance: usize| label_of.get(instance).map_or(instance, |&l| l as usize);
        if !own && self.support(line, reference, &label_of)? {
            return Ok(true);
        }
        let normal = line.of.distribution.is_normal();
        let in_order = (0..instances).all(|instance| label(instance) == instance);
        let all = !line.variables.leaves.any(line.line);
        if normal && !own && all && in_order && instances == self.count && Self::constant(line)? {
            return self.features(line).map(|()| true);
        }
        self.lookups(line, own, reference, label, instances)
    }

    /// Whether repetitions differ in nothing but the label and the target.
    fn constant(line: &Stochastic) -> Result<bool, Halt> {
        let instances = line.scope.model.lines[line.line].instances;
        let mut first = vec![];
        let mut here = vec![];
        for instance in 0..instances {
            here.clear();
            line.scope.enter(line.line, instance);
            for argument in line.of.arguments {
                signature(line, argument, &mut here)?;
            }
            if instance == 0 {
                first.clone_from(&here);
            } else if here != first {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sums for each state of a label, by feature.
    fn features(&mut self, line: &Stochastic) -> Result<(), Halt> {
        let columns = line.scope.model.lines[line.line].size;
        let values = self.values(line, columns)?;
        let features = 1 + columns + columns * (columns + 1) / 2;
        let placeholders: Vec<Item> = (0..columns as u32)
            .map(|column| Item::unknown(PLACEHOLDER + column, 0))
            .collect();
        let mut sums = Sums::default();
        for state in 0..self.states {
            self.capture(line, 0, 0, state, Some(&placeholders))?;
            let mut by_feature: Vec<StateSum> = vec![(0.0, vec![]); features];
            for (coefficient, atoms) in self.sink.terms() {
                let (held, rest): (Vec<Atom>, Vec<Atom>) =
                    atoms.iter().partition(|atom| atom.variable >= PLACEHOLDER);
                let rest: Vec<Atom> = rest
                    .into_iter()
                    .filter(|atom| atom.variable != self.first)
                    .collect();
                let column = |atom: &Atom| (atom.variable - PLACEHOLDER) as usize;
                let feature = match held.as_slice() {
                    [one] => 1 + column(one),
                    [a, b] => {
                        let (a, b) = (column(a).min(column(b)), column(a).max(column(b)));
                        1 + columns + a * columns - a * (a + 1) / 2 + b
                    }
                    _ => 0,
                };
                if rest.is_empty() {
                    by_feature[feature].0 += coefficient;
                } else {
                    by_feature[feature].1.push((coefficient, rest));
                }
            }
            for (constant, products) in by_feature {
                let products = products.iter().map(|(c, atoms)| (*c, atoms.as_slice()));
                self.rows.sum(&mut sums, constant, products, line.factor);
            }
        }
        self.rows.part(RowPart::Features {
            columns,
            values,
            sums,
        });
        Ok(())
    }

    /// The observed numbers, row by row: the data themselves where they are in this order.
    fn values(&self, line: &Stochastic, columns: usize) -> Result<Arc<Vec<f64>>, Halt> {
        let model = line.scope.model;
        let array = &model.arrays[model.lines[line.line].array];
        if let Known::Values(values) = &array.known
            && array.in_order(line.line)
            && values.len() == self.count * columns
        {
            return Ok(values.clone());
        }
        let mut values = Vec::with_capacity(self.count * columns);
        for instance in 0..self.count {
            line.scope.enter(line.line, instance);
            let relation = &model.lines[line.line].relation;
            let (_, elements) = line.scope.places(&relation.target)?;
            values.extend(
                elements
                    .iter()
                    .map(|&element| array.value(element).unwrap_or(f64::NAN)),
            );
        }
        Ok(Arc::new(values))
    }

    /// Terms of one repetition where its label has a state.
    fn capture(
        &mut self,
        line: &Stochastic,
        instance: usize,
        label: usize,
        state: usize,
        target: Option<&[Item]>,
    ) -> Result<(), Halt> {
        line.scope.enter(line.line, instance);
        self.sink.clear();
        line.states
            .borrow_mut()
            .push((self.first + label as u32, state as u32));
        let done = line.terms(instance, target, &mut self.sink);
        line.states.borrow_mut().pop();
        done
    }

    /// A key for each use of a label, and sums for each key.
    fn lookups(
        &mut self,
        line: &Stochastic,
        own: bool,
        reference: Option<&Reference>,
        label: impl Fn(usize) -> usize,
        instances: usize,
    ) -> Result<bool, Halt> {
        let model = line.scope.model;
        let mut known: HashMap<Vec<u64>, u32> = HashMap::new();
        let mut sums = Sums::default();
        let mut keys: Vec<Vec<u32>> = vec![];
        let mut used = vec![0_u8; self.count];
        let mut here = vec![];
        for instance in 0..instances {
            if line.variables.leaves.contains(line.line, instance) {
                continue;
            }
            here.clear();
            line.scope.enter(line.line, instance);
            for argument in line.of.arguments {
                signature(line, argument, &mut here)?;
            }
            if !own {
                let target = &model.lines[line.line].relation.target;
                let (_, elements) = line.scope.places(target)?;
                let array = &model.arrays[model.lines[line.line].array];
                here.extend(
                    elements
                        .iter()
                        .map(|&e| array.value(e).unwrap_or(f64::NAN).to_bits()),
                );
            }
            let label = label(instance);
            let key = if let Some(&key) = known.get(&here) {
                key
            } else {
                let key = known.len() as u32;
                known.insert(here.clone(), key);
                let mut possible = false;
                for state in 0..self.states {
                    match self.capture(line, instance, label, state, None) {
                        Err(Halt::Need(_)) => return Ok(false),
                        done => done?,
                    }
                    let mut constant = 0.0;
                    let mut products: Vec<(f64, Vec<Atom>)> = vec![];
                    let variable = self.first + label as u32;
                    for (coefficient, atoms) in self.sink.terms() {
                        let rest: Vec<Atom> = (atoms.iter().copied())
                            .filter(|atom| atom.variable != variable)
                            .collect();
                        if rest.is_empty() {
                            constant += coefficient;
                        } else {
                            products.push((coefficient, rest));
                        }
                    }
                    let products = products.iter().map(|(c, atoms)| (*c, atoms.as_slice()));
                    self.rows.sum(&mut sums, constant, products, line.factor);
                    possible |= constant > f64::NEG_INFINITY;
                }
                if let (false, Some(reference)) = (possible, reference) {
                    let name = format!("{} has the probability 0", line.element(instance));
                    return Err(nothing_possible(line, instance, reference, &name));
                }
                key
            };
            let use_index = used[label] as usize;
            if use_index == MOST_USES {
                return Ok(false);
            }
            used[label] += 1;
            if keys.len() == use_index {
                keys.push(vec![u32::MAX; self.count]);
            }
            keys[use_index][label] = key;
        }
        if known.len() == 1 && keys.len() == 1 && keys[0].iter().all(|&key| key == 0) {
            keys[0] = vec![];
        }
        if keys.iter().any(|keys| keys.contains(&u32::MAX)) {
            // Labels with fewer uses than others look up nothing.
            let nothing = known.len() as u32;
            for _ in 0..self.states {
                self.rows.sum(&mut sums, 0.0, [], line.factor);
            }
            for key in keys.iter_mut().flatten().filter(|key| **key == u32::MAX) {
                *key = nothing;
            }
        }
        self.rows.part(RowPart::Lookup { uses: keys, sums });
        Ok(true)
    }

    /// `one[n] ~ dbern(L[n, z[n]])` with data L and ones: the states that a row may have.
    fn support(
        &mut self,
        line: &Stochastic,
        label: Option<&Reference>,
        label_of: &[u32],
    ) -> Result<bool, Halt> {
        let model = line.scope.model;
        let (Distribution::Bernoulli, Node::Reference(table)) =
            (line.of.distribution, &line.of.arguments[0].node)
        else {
            return Ok(false);
        };
        let (Some(array), Some(label)) = (model.find(&table.name.text), label) else {
            return Ok(false);
        };
        let Some([Index::At(row), Index::At(column)]) = table.indices.as_deref() else {
            return Ok(false);
        };
        let is_label = matches!(&column.node, Node::Reference(r) if r == label);
        let data = !model.arrays[array].defined();
        let each_once = label_of.len() == self.count
            && label_of
                .iter()
                .enumerate()
                .all(|(place, &label)| place == label as usize);
        if !is_label || !data || !each_once || mentions(row, label) {
            return Ok(false);
        }
        let dims = &model.arrays[array].dims;
        if dims.get(1) != Some(&self.states) {
            return Ok(false);
        }
        let (mut starts, mut states, mut constants) = (vec![0], vec![], vec![]);
        let own = &model.lines[line.line];
        for instance in 0..own.instances {
            line.scope.enter(line.line, instance);
            let (_, elements) = line.scope.places(&own.relation.target)?;
            if model.arrays[own.array].value(elements[0]) != Some(1.0) {
                return Ok(false);
            }
            let row = line.scope.index(row)?;
            if row < 1 || row as usize > dims[0] {
                return Ok(false);
            }
            let mut legal = true;
            model.arrays[array].each_in_row(row as usize - 1, |column, value| {
                legal &= (0.0..=1.0 + 1e-9).contains(&value);
                if value > 0.0 {
                    states.push(column as u32);
                    constants.push(value.min(1.0).ln());
                }
            });
            if !legal {
                // The slow path has a word for it.
                return Ok(false);
            }
            if states.len() == starts[starts.len() - 1] {
                let name = format!("row {row} of {} is 0", table.name.text);
                return Err(nothing_possible(line, instance, label, &name));
            }
            starts.push(states.len());
        }
        self.rows.part(RowPart::Support {
            starts,
            states,
            constants,
        });
        Ok(true)
    }
}

/// A complaint about data that no state of a label allows.
fn nothing_possible(line: &Stochastic, instance: usize, label: &Reference, why: &str) -> Halt {
    line.scope.enter(line.line, instance);
    let model = line.scope.model;
    let name = match (model.find(&label.name.text), line.scope.places(label)) {
        (Some(array), Ok((_, elements))) if elements.len() == 1 => {
            model.arrays[array].element(elements[0])
        }
        _ => Element::scalar(&label.name.text),
    };
    let span = model.lines[line.line].relation.span;
    Diagnostic::new(
        span,
        format!("{why} in every state of {name}, expected one state at least that is possible"),
        "impossible under this line",
    )
    .into()
}

/// The reference to labels in a line's parameters.
fn label_reference<'a>(line: &'a Stochastic, labels: usize) -> Option<&'a Reference> {
    let model = line.scope.model;
    let mut references = line.of.arguments.iter().flat_map(Expr::references);
    references.find(|reference| model.find(&reference.name.text) == Some(labels))
}

fn mentions(expr: &Expr, reference: &Reference) -> bool {
    let mut names = expr.references().into_iter();
    names.any(|name| name.name.text == reference.name.text)
}
