//! Decides which labels are rows: those that no line ties to another label.
//!
//! A line that depends on one label has the same terms wherever all else that it reads is the
//! same, so terms are derived once for each such key. Where only observed numbers of a normal
//! distribution differ, they are derived once for all rows, as polynomials in those numbers.

use std::collections::HashMap;
use std::sync::Arc;

use collapsar::elementary::Elementary;
use collapsar::graph::{Atom, Graph, Kind, RowPart, Rows, Sums};

use super::Stochastic;
use super::emit::Sink;
use super::variables::{LineVariables, PLACEHOLDER, Variables};
use crate::diagnostic::Diagnostic;
use crate::distribution::Distribution;
use crate::elaborate::{Elaborated, Known, Resolved, Unresolved};
use crate::quantity::Element;
use crate::syntax::ast::{Expr, Index, Node, Reference};
use crate::value::Scalar;

/// Most repetitions of a line that depend on one label.
const MOST_USES: usize = 64;

/// Lines of labels that may be rows, each with the lines that depend on them after it.
pub(super) fn candidates(model: &Elaborated, variables: &Variables) -> Vec<Vec<usize>> {
    let lines = 0..model.lines.len();
    let candidate = |line: usize| {
        let array = model.lines[line].array;
        let are_labels = |of: &&LineVariables| of.are_labels();
        let labels = |line: usize| variables.lines[line].as_ref().filter(are_labels);
        let whole = labels(line)?.all() && model.arrays[array].in_order(line);
        let of_array = (lines.clone()).filter(|&line| model.lines[line].array == array);
        if !whole || of_array.filter(|&line| labels(line).is_some()).count() != 1 {
            return None;
        }
        let mut users = vec![line];
        for user in lines.clone() {
            if uses(model, variables, user, line)? && user != line {
                users.push(user);
            }
        }
        Some(users)
    };
    lines.clone().filter_map(candidate).collect()
}

/// Whether a line depends on the labels of another, or of itself; nothing where that forbids rows.
fn uses(model: &Elaborated, variables: &Variables, user: usize, line: usize) -> Option<bool> {
    let array = |name: &Reference| model.find(&name.name.text);
    let arguments = model.lines[user].relation.arguments().iter();
    let labels: Vec<&Reference> = (arguments.flat_map(Expr::references))
        .filter(|name| array(name).is_some_and(|array| variables.labels[array]))
        .collect();
    if user == line {
        return labels.is_empty().then_some(true);
    }
    let ours = |name: &&Reference| array(name) == Some(model.lines[line].array);
    let predicted = variables.barren.count(user) == model.lines[user].instances;
    if predicted || !labels.iter().any(ours) {
        return Some(false);
    }
    let same = labels.iter().all(|label| *label == labels[0]);
    let observed = variables.lines[user].is_none();
    (model.lines[user].stochastic() && same && observed).then_some(true)
}

/// The rows of a candidate, or nothing where no kernel takes them.
pub(super) fn build(
    users: &[usize],
    stochastic: &[Option<Stochastic>],
    model: &Elaborated,
    variables: &Variables,
    graph: &mut Graph,
) -> Resolved<bool> {
    let Some(LineVariables {
        first,
        kind: Kind::Label(states),
        ..
    }) = variables.lines[users[0]]
    else {
        return Ok(false);
    };
    let count = model.lines[users[0]].instances;
    let mut builder = Builder {
        rows: Rows::new(first, count, states),
        first,
        count,
        states,
        sink: Sink::default(),
    };
    for &user in users {
        let Some(line) = &stochastic[user] else {
            return Ok(false);
        };
        if !builder.line(line, users[0])? {
            return Ok(false);
        }
    }
    Ok(builder.rows.supported() && graph.add_rows(builder.rows).is_ok())
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
    fn line(&mut self, line: &Stochastic, labels: usize) -> Resolved<bool> {
        let model = line.scope.model;
        let instances = model.lines[line.line].instances;
        if line.line == labels {
            let own: Vec<usize> = (0..instances).collect();
            return self.lookups(line, None, &own);
        }
        let array = Some(model.lines[labels].array);
        let mut references = line.of.arguments.iter().flat_map(Expr::references);
        let Some(reference) = references.find(|name| model.find(&name.name.text) == array) else {
            return Ok(false);
        };
        let mut label_of = Vec::with_capacity(instances);
        for instance in 0..instances {
            line.scope.enter(line.line, instance);
            let (_, elements) = line.scope.places(reference)?;
            let [element] = elements.as_slice() else {
                return Ok(false);
            };
            label_of.push(*element);
        }
        let in_order = label_of.iter().copied().eq(0..self.count);
        if in_order && self.support(line, reference)? {
            return Ok(true);
        }
        let normal = line.of.distribution.is_normal();
        let all = !line.variables.barren.any(line.line);
        if normal && all && in_order && Self::constant(line)? {
            return self.features(line).map(|()| true);
        }
        self.lookups(line, Some(reference), &label_of)
    }

    /// Whether repetitions differ in nothing but the label and the target.
    fn constant(line: &Stochastic) -> Resolved<bool> {
        let (mut first, mut here) = (vec![], vec![]);
        line.signature(0, &mut first)?;
        for instance in 1..line.scope.model.lines[line.line].instances {
            line.signature(instance, &mut here)?;
            if here != first {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sums for each state of a label, by feature.
    fn features(&mut self, line: &Stochastic) -> Resolved {
        let columns = line.scope.model.lines[line.line].size;
        let mut values = self.values(line, columns)?;
        let from = self.counted_from(line)?;
        if from.iter().any(|from| *from != 0.0) {
            let shifted = values
                .iter()
                .zip(from.iter().cycle())
                .map(|(x, from)| x - from);
            values = Arc::new(shifted.collect());
        }
        let placeholders = (PLACEHOLDER..).zip(&from);
        let placeholders: Vec<Scalar> = placeholders
            .map(|(p, from)| Scalar::unknown(p, 0).plus(&Scalar::Known(*from)))
            .collect();
        let mut sums = Sums::default();
        self.sums(&mut sums, line, (0, 0), Some(&placeholders))?;
        self.rows.part(RowPart::Features {
            columns,
            values,
            sums,
        });
        Ok(())
    }

    /// Where the observed numbers of a row are counted from: where the means of the first state are.
    fn counted_from(&self, line: &Stochastic) -> Resolved<Vec<f64>> {
        let columns = line.scope.model.lines[line.line].size;
        if line.variables.centring.is_empty() {
            return Ok(vec![0.0; columns]);
        }
        line.scope.enter(line.line, 0);
        line.states.borrow_mut().push((self.first, 0));
        let mean = line.scope.evaluate(&line.of.arguments[0]);
        line.states.borrow_mut().pop();
        let constant = |element: &Scalar| match element {
            Scalar::Polynomial(monomials) if monomials[0].unknowns.is_empty() => {
                monomials[0].coefficient
            }
            _ => 0.0,
        };
        let found: Vec<f64> = mean?.elements.iter().map(constant).collect();
        // Shapes that do not fit are refused with the terms.
        Ok(if found.len() == columns {
            found
        } else {
            vec![0.0; columns]
        })
    }

    /// The observed numbers, row by row: the data themselves where they are in this order.
    fn values(&self, line: &Stochastic, columns: usize) -> Resolved<Arc<Vec<f64>>> {
        let model = line.scope.model;
        let array = &model.arrays[model.lines[line.line].array];
        let distribution = line.of.distribution;
        if let Known::Values(values) = &array.known
            && distribution != Distribution::LogNormal
            && array.in_order(line.line)
            && values.len() == self.count * columns
        {
            return Ok(values.clone());
        }
        let mut values = Vec::with_capacity(self.count * columns);
        for instance in 0..self.count {
            for element in line.scope.targets(line.line, instance)? {
                let counted = distribution.counted(array.number(element));
                values.push(counted.ok_or_else(|| line.outside(instance))?);
            }
        }
        Ok(Arc::new(values))
    }

    /// A key for each use of a label, and sums for each key. Lines that refer to labels have a
    /// reference.
    fn lookups(
        &mut self,
        line: &Stochastic,
        reference: Option<&Reference>,
        label_of: &[usize],
    ) -> Resolved<bool> {
        let model = line.scope.model;
        let array = &model.arrays[model.lines[line.line].array];
        let mut known: HashMap<Vec<u64>, u32> = HashMap::new();
        let mut sums = Sums::default();
        let mut keys: Vec<Vec<u32>> = vec![];
        let mut used = vec![0_u8; self.count];
        let mut here = vec![];
        for (instance, &label) in label_of.iter().enumerate() {
            if line.variables.barren.contains(line.line, instance) {
                continue;
            }
            line.signature(instance, &mut here)?;
            if reference.is_some() {
                let elements = line.scope.targets(line.line, instance)?.into_iter();
                here.extend(elements.map(|element| array.number(element).to_bits()));
            }
            let next = known.len() as u32;
            // Most repetitions have a key that is known.
            let key = known.get(&here).copied().unwrap_or(next);
            if key == next {
                known.insert(here.clone(), key);
                match self.sums(&mut sums, line, (instance, label), None) {
                    Err(Unresolved::State(_)) => return Ok(false),
                    possible => {
                        if let (false, Some(reference)) = (possible?, reference) {
                            let why = format!("{} has the probability 0", line.element(instance));
                            return Err(nothing_possible(line, instance, reference, &why));
                        }
                    }
                }
            }
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

    /// Adds sums for each state of a repetition's label, and says whether any state is possible: one
    /// sum, or one for each feature of the observed numbers that placeholders stand for.
    fn sums(
        &mut self,
        sums: &mut Sums,
        line: &Stochastic,
        (instance, label): (usize, usize),
        placeholders: Option<&[Scalar]>,
    ) -> Resolved<bool> {
        let variable = self.first + label as u32;
        let columns = placeholders.map_or(0, <[Scalar]>::len);
        let features = 1 + columns + columns * (columns + 1) / 2;
        let column = |atom: &Atom| (atom.variable - PLACEHOLDER) as usize;
        let mut possible = false;
        for state in 0..self.states {
            line.scope.enter(line.line, instance);
            self.sink.clear();
            line.states.borrow_mut().push((variable, state as u32));
            let done = line.terms(instance, placeholders, &mut self.sink);
            line.states.borrow_mut().pop();
            done?;
            // For each feature a constant, and products of atoms with coefficients.
            let mut found = vec![(0.0, vec![]); features];
            for (coefficient, atoms) in self.sink.terms() {
                let others = atoms.iter().filter(|atom| atom.variable != variable);
                let (held, rest): (Vec<Atom>, Vec<Atom>) =
                    others.partition(|atom| atom.variable >= PLACEHOLDER);
                let feature = match held.as_slice() {
                    [one] => 1 + column(one),
                    [a, b] => {
                        let (a, b) = (column(a).min(column(b)), column(a).max(column(b)));
                        1 + columns + a * columns - a * (a + 1) / 2 + b
                    }
                    _ => 0,
                };
                let (constant, products) = &mut found[feature];
                if rest.is_empty() {
                    *constant += coefficient;
                } else {
                    products.push((coefficient, rest));
                }
            }
            possible |= found[0].0 > f64::NEG_INFINITY;
            for (constant, products) in &found {
                let products = products.iter().map(|(c, atoms)| (*c, atoms.as_slice()));
                self.rows.sum(sums, *constant, products, line.factor);
            }
        }
        Ok(possible)
    }

    /// `one[n] ~ dbern(L[n, z[n]])` with data L and ones: the states that a row may have.
    fn support(&mut self, line: &Stochastic, label: &Reference) -> Resolved<bool> {
        let model = line.scope.model;
        let (Distribution::Bernoulli, Node::Reference(table)) =
            (line.of.distribution, &line.of.arguments[0].node)
        else {
            return Ok(false);
        };
        let Some([Index::At(row), Index::At(column)]) = table.indices.as_deref() else {
            return Ok(false);
        };
        let Some(array) = model.find(&table.name.text) else {
            return Ok(false);
        };
        let array = &model.arrays[array];
        let is_label = matches!(&column.node, Node::Reference(column) if column == label);
        let of_label = |name: &&Reference| name.name == label.name;
        let row_is_label = row.references().iter().any(of_label);
        let states = array.dims.get(1) == Some(&self.states);
        if !is_label || row_is_label || array.defined() || !states {
            return Ok(false);
        }
        let (mut starts, mut states, mut constants) = (vec![0], vec![], vec![]);
        let own = &model.arrays[model.lines[line.line].array];
        for instance in 0..self.count {
            let elements = line.scope.targets(line.line, instance)?;
            let row = line.scope.index(row)?;
            if own.value(elements[0]) != Some(1.0) || row < 1 || row as usize > array.dims[0] {
                return Ok(false);
            }
            let mut legal = true;
            array.each_in_row(row as usize - 1, |column, value| {
                legal &= (0.0..=1.0 + 1e-9).contains(&value);
                if value > 0.0 {
                    states.push(column as u32);
                    constants.push(value.min(1.0).ln_());
                }
            });
            if !legal {
                // The slow path has a word for it.
                return Ok(false);
            }
            if states.len() == starts[starts.len() - 1] {
                let why = format!("row {row} of {} is 0", table.name.text);
                return Err(nothing_possible(line, instance, label, &why));
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
fn nothing_possible(
    line: &Stochastic,
    instance: usize,
    label: &Reference,
    why: &str,
) -> Unresolved {
    line.scope.enter(line.line, instance);
    let model = line.scope.model;
    let name = match (model.find(&label.name.text), line.scope.places(label)) {
        (Some(array), Ok((_, elements))) if elements.len() == 1 => {
            model.arrays[array].element(elements[0])
        }
        _ => Element::scalar(&label.name.text),
    };
    let span = model.lines[line.line].relation.span;
    let message =
        format!("{why} in every state of {name}, expected one state at least that is possible");
    Diagnostic::new(span, message, "impossible under this line").into()
}

impl Stochastic<'_> {
    /// Replaces `out` by all that the parameters of a repetition read but for labels: two repetitions
    /// with the same signature have the same terms.
    fn signature(&self, instance: usize, out: &mut Vec<u64>) -> Resolved {
        out.clear();
        self.scope.enter(self.line, instance);
        let mut arguments = self.of.arguments.iter();
        arguments.try_for_each(|argument| self.sign(argument, out))
    }

    fn sign(&self, expr: &Expr, out: &mut Vec<u64>) -> Resolved {
        let model = self.scope.model;
        if let Node::Reference(reference) = &expr.node {
            let Some(array) = model.find(&reference.name.text) else {
                // A counter.
                let numbers = self.scope.evaluate(expr)?.numbers().unwrap_or_default();
                out.extend(numbers.iter().map(|number| number.to_bits()));
                return Ok(());
            };
            if self.variables.labels[array] {
                return Ok(());
            }
            let gated = reference.indices().flat_map(Expr::references).any(|name| {
                let array = model.find(&name.name.text);
                array.is_some_and(|array| self.variables.labels[array])
            });
            if !gated && !model.arrays[array].defined() {
                let (_, elements) = self.scope.places(reference)?;
                if let [element] = elements.as_slice() {
                    out.push(model.arrays[array].number(*element).to_bits());
                    return Ok(());
                }
            }
        }
        let mut parts = expr.parts().into_iter();
        parts.try_for_each(|part| self.sign(part, out))
    }
}
