//! Decides how often each line is repeated, and with which counters.

use std::collections::BTreeSet;

use super::evaluate::{Mode, Scope, Stop};
use super::functions::Function;
use super::{Definer, Elaborated};
use crate::diagnostic::Diagnostic;
use crate::distribution::Distribution;
use crate::syntax::ast::{Expr, Kind, Name, Node, Relation, Statement, Truncation};

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
    /// A counter's value.
    pub(crate) fn counter(&self, instance: usize, name: &str) -> Option<i32> {
        let place = self.counters.iter().rposition(|counter| counter == name)?;
        Some(self.values.value(instance, place))
    }

    /// Whether the line is stochastic.
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
fn distribution_of(relation: &Relation) -> Result<Option<Distribution>, Diagnostic> {
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
        Some(truncation) if distribution != Distribution::Normal => Err(Diagnostic::new(
            truncation.span,
            format!("bounds of {} are not supported", name.text),
            "a truncation",
        )
        .help("dnorm may have constant bounds")),
        _ => Ok(Some(distribution)),
    }
}

/// Loops around a line.
struct Nest<'a> {
    counters: Vec<String>,
    ranges: Vec<&'a Expr>,
    /// Names that are not data.
    unknown: BTreeSet<String>,
}

/// All relations of a block, those in loops as well.
fn relations_of<'a>(statements: &'a [Statement], out: &mut Vec<&'a Relation>) {
    for statement in statements {
        match statement {
            Statement::For { body, .. } => relations_of(body, out),
            Statement::Relation(relation) => out.push(relation),
        }
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

/// Most repetitions of a line.
const MOST: usize = 1 << 31;
/// The same where ranges depend on one another, and all counters are kept.
const MOST_KEPT: usize = 1 << 25;

fn check_count(count: usize, most: usize, range: &Expr) -> Result<(), Diagnostic> {
    if count > most {
        return Err(Diagnostic::new(
            range.span,
            format!("a line is repeated more than {most} times"),
            "this loop",
        ));
    }
    Ok(())
}

impl Elaborated {
    /// Collects the lines of a block.
    pub(super) fn unroll(&mut self, statements: &[Statement]) -> Result<(), Diagnostic> {
        let mut nest = Nest {
            counters: vec![],
            ranges: vec![],
            unknown: self.unknown_names(statements),
        };
        self.unroll_within(statements, &mut nest)
    }

    /// Names that lines of a block make unknown: stochastic ones without data, and what is computed
    /// from them.
    fn unknown_names(&self, statements: &[Statement]) -> BTreeSet<String> {
        let mut relations = vec![];
        relations_of(statements, &mut relations);
        let mut unknown = BTreeSet::new();
        loop {
            let before = unknown.len();
            for relation in &relations {
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

    fn unroll_within<'a>(
        &mut self,
        statements: &'a [Statement],
        nest: &mut Nest<'a>,
    ) -> Result<(), Diagnostic> {
        for statement in statements {
            match statement {
                Statement::For { index, range, body } => {
                    self.check_counter(index, nest)?;
                    if let Some(name) = mentions(range, &nest.unknown) {
                        return Err(Diagnostic::new(
                            range.span,
                            format!("a loop over {}, whose range depends on {name}, which is unknown", index.text),
                            "must be data",
                        )
                        .help(format!(
                            "give {name} as data, or loop over the most there may be and let labels choose"
                        )));
                    }
                    nest.counters.push(index.text.clone());
                    nest.ranges.push(range);
                    self.unroll_within(body, nest)?;
                    nest.counters.pop();
                    nest.ranges.pop();
                }
                Statement::Relation(relation) => {
                    let distribution = distribution_of(relation)?;
                    let array = self.array_for(&relation.target.name);
                    self.lines.push(Line {
                        relation: relation.clone(),
                        distribution,
                        counters: nest.counters.clone(),
                        values: Counters::Grid(vec![]),
                        instances: 0,
                        array,
                        size: 1,
                        dims: vec![],
                    });
                    let line = self.lines.len() - 1;
                    self.repeat(line, &nest.ranges)?;
                }
            }
        }
        Ok(())
    }

    fn check_counter(&self, index: &Name, nest: &Nest) -> Result<(), Diagnostic> {
        if nest.counters.contains(&index.text) {
            return Err(Diagnostic::new(
                index.span,
                format!(
                    "the counter {} is that of an outer loop as well",
                    index.text
                ),
                "used twice",
            )
            .help("give the inner loop another counter"));
        }
        if self.find(&index.text).is_some() {
            return Err(Diagnostic::new(
                index.span,
                format!("{} is both data and a counter", index.text),
                "a counter here",
            )
            .help("give the loop another counter"));
        }
        Ok(())
    }

    /// Finds the counters' values of all repetitions, the innermost running fastest.
    fn repeat(&mut self, line: usize, ranges: &[&Expr]) -> Result<(), Diagnostic> {
        if let Some(grid) = self.grid(line, ranges)? {
            let line = &mut self.lines[line];
            line.instances = grid.iter().map(|range| range.1).product();
            line.values = Counters::Grid(grid);
            return Ok(());
        }
        let mut values: Vec<i32> = vec![];
        let mut instances = 1;
        let counters = self.lines[line].counters.clone();
        for (depth, range) in ranges.iter().enumerate() {
            let mut next: Vec<i32> = vec![];
            let mut count = 0;
            self.lines[line].counters = counters[..depth].to_vec();
            for instance in 0..instances {
                let before = values[instance * depth..(instance + 1) * depth].to_vec();
                self.lines[line].values = Counters::List {
                    depth,
                    values: before.clone(),
                };
                let scope = Scope::within(self, Mode::Shape, line, 0);
                for value in scope.fixed(range).map_err(Stop::diagnostic)? {
                    next.extend_from_slice(&before);
                    next.push(value);
                    count += 1;
                    check_count(count, MOST_KEPT, range)?;
                }
            }
            values = next;
            instances = count;
        }
        let line = &mut self.lines[line];
        line.values = Counters::List {
            depth: counters.len(),
            values,
        };
        line.counters = counters;
        line.instances = instances;
        Ok(())
    }

    /// Ranges that do not depend on outer counters, where all are of this kind.
    fn grid(&self, line: usize, ranges: &[&Expr]) -> Result<Option<Vec<(i32, usize)>>, Diagnostic> {
        let mut grid = vec![];
        let mut count = 1;
        for range in ranges {
            let counters = &self.lines[line].counters;
            let names = range.references();
            let mut names = names.iter().map(|reference| &reference.name.text);
            let Some((left, right)) = range.range() else {
                return Ok(None);
            };
            if names.any(|name| counters.contains(name)) {
                return Ok(None);
            }
            let scope = Scope::new(self, Mode::Shape);
            let (first, last) = (scope.end(left), scope.end(right));
            let (first, last) = (
                first.map_err(Stop::diagnostic)?,
                last.map_err(Stop::diagnostic)?,
            );
            let length = (i64::from(last) - i64::from(first) + 1).max(0) as usize;
            count = usize::saturating_mul(count, length);
            check_count(count, MOST, range)?;
            grid.push((first, length));
        }
        Ok(Some(grid))
    }

    /// Finds which elements each line defines.
    pub(super) fn define(&mut self) -> Result<(), Diagnostic> {
        for line in 0..self.lines.len() {
            self.stretch(line)?;
        }
        for line in 0..self.lines.len() {
            self.define_line(line)?;
        }
        Ok(())
    }

    fn define_line(&mut self, index: usize) -> Result<(), Diagnostic> {
        let instances = self.lines[index].instances;
        for instance in 0..instances {
            let scope = Scope::within(self, Mode::Shape, index, instance);
            let target = &self.lines[index].relation.target;
            let (dims, elements) = scope.places(target).map_err(Stop::diagnostic)?;
            if elements.is_empty() {
                return Err(Diagnostic::new(
                    target.span,
                    "a line that defines nothing",
                    "an empty range",
                ));
            }
            if instance == 0 {
                self.lines[index].size = elements.len();
                self.lines[index].dims = dims;
            } else if self.lines[index].size != elements.len() {
                return Err(Diagnostic::new(
                    target.span,
                    format!(
                        "the line defines {} elements at once, and {} at another time",
                        self.lines[index].size,
                        elements.len()
                    ),
                    "of varying length",
                ));
            }
            let array = self.lines[index].array;
            for (offset, &element) in elements.iter().enumerate() {
                let definer = Definer {
                    line: index as u32,
                    instance: instance as u32,
                    offset: offset as u32,
                };
                if let Some(before) = self.arrays[array].definer(element) {
                    let name = self.arrays[array].element(element);
                    return Err(Diagnostic::new(
                        self.lines[index].relation.span,
                        format!("{name} is defined twice"),
                        "defined here again",
                    )
                    .and(
                        self.lines[before.line as usize].relation.span,
                        "defined here",
                    ));
                }
                self.check_data(index, array, element)?;
                let size = self.lines[index].size;
                self.arrays[array].set_definer(element, definer, size);
            }
        }
        Ok(())
    }

    /// Refuses data for what a line computes.
    fn check_data(&self, line: usize, array: usize, element: usize) -> Result<(), Diagnostic> {
        if self.lines[line].stochastic() || self.arrays[array].value(element).is_none() {
            return Ok(());
        }
        let name = self.arrays[array].element(element);
        Err(Diagnostic::new(
            self.lines[line].relation.span,
            format!("there are data for {name}, which is computed"),
            "computed here",
        )
        .help("leave it out of the data, or make it stochastic"))
    }
}
