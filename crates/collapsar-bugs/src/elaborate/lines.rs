//! Decides how often each line is repeated, and with which counters.

use std::collections::BTreeSet;
use std::fmt;

use collapsar::limits::{REPETITIONS, REPETITIONS_PER_NUMBER};

use super::arrays::Known;
use super::evaluate::{Mode, Scope};
use super::functions::Function;
use super::{Definer, Elaborated};
use crate::diagnostic::{Checked, Complaints, Diagnostic};
use crate::distribution::Distribution;
use crate::lower::may_be_bounded;
use crate::quantity::Element;
use crate::syntax::ast::{Expr, Kind, Loops, Name, Node, Relation, Span, Statement, Truncation};

/// A relation with its repetitions.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) relation: Relation,
    /// Of a stochastic line.
    distribution: Option<Distribution>,
    /// The names of the counters, outermost first.
    pub(crate) counters: Vec<String>,
    /// Their values in each repetition.
    values: Counters,
    /// How many repetitions there are.
    pub(crate) instances: usize,
    /// The array that is defined.
    pub(crate) array: usize,
    /// How many elements one repetition defines, and their lengths.
    pub(crate) size: usize,
    pub(crate) dims: Vec<usize>,
}

/// The right-hand side of a stochastic line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sampling<'a> {
    pub(crate) distribution: Distribution,
    /// The distribution's name as it is written.
    pub(crate) name: &'a Name,
    /// As many as the distribution has parameters.
    pub(crate) arguments: &'a [Expr],
    pub(crate) truncation: Option<&'a Truncation>,
}

impl Sampling<'_> {
    /// A complaint about the value of a parameter, for an element.
    pub(crate) fn parameter(
        &self,
        argument: usize,
        found: &impl fmt::Display,
        expected: &str,
        element: &Element,
    ) -> Diagnostic {
        let (ordinal, name) = (["first", "second", "third"][argument], &self.name.text);
        let message = format!("the {ordinal} parameter of {name} is {found}, expected {expected}");
        let span = self.arguments[argument].span;
        Diagnostic::new(span, message, format!("for {element}"))
    }
}

/// Values of counters in each repetition.
#[derive(Debug)]
enum Counters {
    /// Ranges that do not depend on one another: first values and lengths, outermost first.
    Grid(Vec<(i32, usize)>),
    /// All of them.
    List { depth: usize, values: Vec<i32> },
}

impl Counters {
    fn value(&self, instance: usize, place: usize) -> i32 {
        match self {
            Self::Grid(ranges) => {
                let inner: usize = ranges[place + 1..].iter().map(|range| range.1).product();
                let (first, length) = ranges[place];
                // No longer than the range, whose ends are of this type.
                first.wrapping_add_unsigned((instance / inner % length) as u32)
            }
            Self::List { depth, values } => values[instance * depth + place],
        }
    }
}

impl Line {
    pub(crate) fn counter(&self, instance: usize, name: &str) -> Option<i32> {
        let place = self.counters.iter().rposition(|counter| counter == name)?;
        Some(self.values.value(instance, place))
    }

    pub(crate) fn stochastic(&self) -> bool {
        self.distribution.is_some()
    }

    /// The right-hand side of a stochastic line.
    pub(crate) fn sampling(&self) -> Option<Sampling<'_>> {
        match &self.relation.kind {
            Kind::Stochastic {
                distribution: name,
                arguments,
                truncation,
            } => Some(Sampling {
                distribution: self.distribution?,
                name,
                arguments,
                truncation: truncation.as_ref(),
            }),
            Kind::Deterministic { .. } => None,
        }
    }
}

/// The distribution of a stochastic relation, with bounds only where it may have them.
pub(super) fn distribution_of(relation: &Relation) -> Checked<Option<Distribution>> {
    let Kind::Stochastic {
        distribution: name,
        arguments,
        truncation,
    } = &relation.kind
    else {
        return Ok(None);
    };
    let distribution = Distribution::named(name, arguments.len())?;
    match truncation {
        Some(truncation) if !distribution.has_bounds() && !may_be_bounded(distribution) => {
            let message = format!("bounds of {} are not supported", name.text);
            let help =
                "dnorm, dt, dgamma, dexp, dchisqr, dweib, dbeta and dunif may have constant bounds";
            Err(Diagnostic::new(truncation.span, message, "a truncation").help(help))
        }
        _ => Ok(Some(distribution)),
    }
}

/// The first of these names in an expression, but for those whose lengths alone are asked for.
fn mentions(expr: &Expr, names: &BTreeSet<String>) -> Option<String> {
    if let Node::Call { function, .. } = &expr.node
        && matches!(Function::named(&function.text), Some(Function::Lengths(_)))
    {
        return None;
    }
    if let Node::Reference(reference) = &expr.node
        && names.contains(&reference.name.text)
    {
        return Some(reference.name.text.clone());
    }
    let mut parts = expr.parts().into_iter();
    parts.find_map(|part| mentions(part, names))
}

/// Most repetitions of all lines, whatever the data: they are counted by 32 bits.
const MOST: usize = 1 << 31;

/// Refuses repetitions that would take long with nothing to show for it: each defines an element of its own.
fn check_count(count: usize, most: usize, range: &Expr) -> Checked {
    if count <= most {
        return Ok(());
    }
    let message = format!("lines are repeated more than {most} times with so few data");
    let help = format!(
        "{REPETITIONS} repetitions, and {REPETITIONS_PER_NUMBER} for each number of the data, are the most"
    );
    Err(Diagnostic::new(range.span, message, "this loop").help(help))
}

/// Refuses a range that depends on what is unknown.
fn check_range(index: &Name, range: &Expr, unknown: &BTreeSet<String>) -> Checked {
    let Some(name) = mentions(range, unknown) else {
        return Ok(());
    };
    let counter = index.text.trim_end();
    let message = format!("a loop over {counter}, whose range depends on {name}, which is unknown");
    let help =
        format!("give {name} as data, or loop over the most there may be and let labels choose");
    Err(Diagnostic::new(range.span, message, "must be data").help(help))
}

/// Refuses a counter that hides another.
pub(super) fn check_counter(index: &Name, loops: &Loops) -> Checked {
    let Name { text, span } = index;
    if loops.iter().any(|(outer, _)| *outer == index) {
        let text = text.trim_end();
        let message = format!("the counter {text} is that of an outer loop as well");
        return Err(Diagnostic::new(*span, message, "used twice")
            .help("give the inner loop another counter"));
    }
    Ok(())
}

impl Elaborated {
    /// Collects the lines of a block.
    pub(super) fn unroll(&mut self, statements: &[Statement]) -> Checked {
        self.foresee(statements);
        let statements = Statement::all(statements);
        let unknown = self.unknown_names(&statements);
        let mut complaints = Complaints::default();
        // Ranges that were refused: nothing in their loops is looked at.
        let mut unusable: Vec<Span> = vec![];
        for (loops, statement) in &statements {
            let relation = match statement {
                Statement::For { index, range, .. } => {
                    if complaints
                        .take(check_range(index, range, &unknown))
                        .is_none()
                    {
                        unusable.push(range.span);
                    }
                    continue;
                }
                Statement::Relation(relation) => relation,
            };
            if loops
                .iter()
                .any(|(_, range)| unusable.contains(&range.span))
            {
                continue;
            }
            let array = self.array_for(&relation.target.name);
            self.lines.push(Line {
                relation: relation.clone(),
                distribution: distribution_of(relation)?,
                counters: loops.iter().map(|(index, _)| index.text.clone()).collect(),
                values: Counters::Grid(vec![]),
                instances: 0,
                array,
                size: 1,
                dims: vec![],
            });
            let ranges: Vec<&Expr> = loops.iter().map(|(_, range)| *range).collect();
            let repeated = self.repeat(self.lines.len() - 1, &ranges);
            complaints.take(repeated);
        }
        complaints.end()
    }

    /// Names that lines of a block make unknown: stochastic ones without data, and what is computed
    /// from them.
    fn unknown_names(&self, statements: &[(Loops, &Statement)]) -> BTreeSet<String> {
        let mut unknown = BTreeSet::new();
        loop {
            let before = unknown.len();
            for (_, statement) in statements {
                let Statement::Relation(relation) = statement else {
                    continue;
                };
                let name = &relation.target.name.text;
                let depends = match &relation.kind {
                    Kind::Stochastic { .. } => self.find(name).is_none(),
                    Kind::Deterministic { value, .. } => mentions(value, &unknown).is_some(),
                };
                if depends {
                    unknown.insert(name.clone());
                }
            }
            if unknown.len() == before {
                return unknown;
            }
        }
    }

    /// Finds the counters' values of all repetitions, the innermost running fastest.
    fn repeat(&mut self, line: usize, ranges: &[&Expr]) -> Checked {
        if let Some(grid) = self.grid(line, ranges)? {
            let line = &mut self.lines[line];
            line.instances = grid.iter().map(|range| range.1).product();
            line.values = Counters::Grid(grid);
            return Ok(());
        }
        let most = self.most_repetitions();
        let mut values: Vec<i32> = vec![];
        let mut instances = 1;
        let counters = self.lines[line].counters.clone();
        for (depth, range) in ranges.iter().enumerate() {
            let mut next: Vec<i32> = vec![];
            let mut count = 0;
            self.lines[line].counters = counters[..depth].to_vec();
            for instance in 0..instances {
                let before = &values[instance * depth..(instance + 1) * depth];
                let values = before.to_vec();
                self.lines[line].values = Counters::List { depth, values };
                let scope = Scope::within(self, Mode::Shape, line, 0);
                for value in scope.fixed(|scope| scope.counters(range))? {
                    next.extend_from_slice(before);
                    next.push(value);
                    count += 1;
                    check_count(count, most, range)?;
                }
            }
            values = next;
            instances = count;
        }
        let depth = counters.len();
        let line = &mut self.lines[line];
        line.values = Counters::List { depth, values };
        line.counters = counters;
        line.instances = instances;
        Ok(())
    }

    /// How often one more line may be repeated, given how often those before it are.
    fn most_repetitions(&self) -> usize {
        let numbers = self
            .arrays
            .iter()
            .filter(|array| array.known != Known::Nothing);
        let numbers = numbers.fold(0, |sum: usize, array| sum.saturating_add(array.len()));
        let all = REPETITIONS.saturating_add(numbers.saturating_mul(REPETITIONS_PER_NUMBER));
        let before: usize = self.lines.iter().map(|line| line.instances).sum();
        all.min(MOST).saturating_sub(before)
    }

    /// Ranges that do not depend on outer counters, where all are of this kind.
    fn grid(&self, line: usize, ranges: &[&Expr]) -> Checked<Option<Vec<(i32, usize)>>> {
        let most = self.most_repetitions();
        let mut grid = vec![];
        let mut count = 1;
        let counters = &self.lines[line].counters;
        for range in ranges {
            let mut names = range
                .references()
                .into_iter()
                .map(|reference| &reference.name);
            let dependent = names.any(|name| counters.contains(&name.text));
            let Some((left, right)) = range.range().filter(|_| !dependent) else {
                return Ok(None);
            };
            let scope = Scope::new(self, Mode::Shape);
            let end = |expr: &Expr| scope.fixed(|scope| scope.index(expr));
            let (first, last) = (end(left)?, end(right)?);
            let length = (i64::from(last) - i64::from(first) + 1).max(0) as usize;
            count = usize::saturating_mul(count, length);
            check_count(count, most, range)?;
            grid.push((first, length));
        }
        Ok(Some(grid))
    }

    /// Finds which elements each line defines.
    pub(super) fn define(&mut self) -> Checked {
        let lines = 0..self.lines.len();
        let mut complaints = Complaints::default();
        for line in lines.clone() {
            complaints.take(self.stretch(line));
        }
        complaints.end()?;
        self.stretch_bare();
        let mut complaints = Complaints::default();
        for line in lines {
            let mut instances = 0..self.lines[line].instances;
            let defined = instances.try_for_each(|instance| self.define_instance(line, instance));
            complaints.take(defined);
        }
        complaints.end()
    }

    fn define_instance(&mut self, index: usize, instance: usize) -> Checked {
        let scope = Scope::within(self, Mode::Shape, index, instance);
        let line = &self.lines[index];
        let target = &line.relation.target;
        let (dims, elements) = scope.places(target)?;
        let (size, count, array) = (line.size, elements.len(), line.array);
        if elements.is_empty() {
            let message = "a line that defines nothing";
            return Err(Diagnostic::new(target.span, message, "an empty range"));
        }
        if instance > 0 && size != count {
            let message =
                format!("the line defines {size} elements at once, and {count} at another time");
            return Err(Diagnostic::new(target.span, message, "of varying length"));
        }
        if instance == 0 {
            self.lines[index].size = count;
            self.lines[index].dims = dims;
        }
        for (offset, element) in elements.into_iter().enumerate() {
            let definer = Definer {
                line: index as u32,
                instance: instance as u32,
                offset: offset as u32,
            };
            self.check_element(index, array, element)?;
            self.arrays[array].set_definer(element, definer, count);
        }
        Ok(())
    }

    /// Refuses a second definition, and data for what a line computes.
    fn check_element(&self, line: usize, array: usize, element: usize) -> Checked {
        let (line, array) = (&self.lines[line], &self.arrays[array]);
        let (span, name) = (line.relation.span, array.element(element));
        if let Some(before) = array.definer(element) {
            let before = self.lines[before.line as usize].relation.span;
            let message = format!("{name} is defined twice");
            return Err(
                Diagnostic::new(span, message, "defined here again").and(before, "defined here")
            );
        }
        if line.stochastic() || array.value(element).is_none() {
            return Ok(());
        }
        let message = format!("there are data for {name}, which is computed");
        Err(Diagnostic::new(span, message, "computed here")
            .help("leave it out of the data, or make it stochastic"))
    }
}
