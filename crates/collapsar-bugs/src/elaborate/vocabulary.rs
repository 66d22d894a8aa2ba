//! Decides which words of a text mean nothing: distributions, functions and names that there are not, told all at once.

use std::collections::{BTreeMap, BTreeSet};

use super::Elaborated;
use super::functions::Function;
use super::lines::{check_counter, distribution_of};
use crate::diagnostic::{Complaints, Diagnostic};
use crate::syntax::ast::{Expr, Node, Program, Reference, Statement};

/// Complaints about distributions and functions of a text, which need no data.
pub(crate) fn unknown_words(program: &Program) -> Complaints {
    let mut complaints = Complaints::default();
    for (loops, statement) in Statement::all(&program.data)
        .into_iter()
        .chain(Statement::all(&program.model))
    {
        match statement {
            Statement::For { index, range, .. } => {
                complaints.take(check_counter(index, &loops));
                calls(range, &mut complaints);
            }
            Statement::Relation(relation) => {
                complaints.take(distribution_of(relation));
                let right = relation.expressions();
                right
                    .chain(relation.target.indices())
                    .for_each(|expr| calls(expr, &mut complaints));
            }
        }
    }
    complaints
}

/// Looks at all calls of an expression.
fn calls(expr: &Expr, complaints: &mut Complaints) {
    if let Node::Call {
        function,
        arguments,
    } = &expr.node
    {
        complaints.take(Function::of(function, arguments.len(), expr.span));
    }
    expr.parts()
        .into_iter()
        .for_each(|part| calls(part, complaints));
}

impl Elaborated {
    /// Complaints about names in a block that are neither data, nor defined, nor counters: each once.
    pub(super) fn unknown_names_in(
        &self,
        statements: &[Statement],
        texts: &BTreeMap<String, String>,
        complaints: &mut Complaints,
    ) {
        let all = Statement::all(statements);
        let defined = all.iter().filter_map(|(_, statement)| match statement {
            Statement::Relation(relation) => Some(relation.target.name.text.as_str()),
            Statement::For { .. } => None,
        });
        let mut known: BTreeSet<&str> = defined.collect();
        for (loops, statement) in &all {
            let read: Vec<&Reference> = match statement {
                Statement::For { range, .. } => range.references(),
                Statement::Relation(relation) => {
                    let indices = relation.target.indices();
                    let all = relation.expressions().chain(indices);
                    all.flat_map(Expr::references).collect()
                }
            };
            for reference in read {
                let name = reference.name.text.as_str();
                let counts = loops.iter().any(|(counter, _)| counter.text == name);
                if counts || self.find(name).is_some() || !known.insert(name) {
                    continue;
                }
                let counter = all.iter().any(|(_, statement)| {
                    matches!(statement, Statement::For { index, .. } if index.text == name)
                });
                let message = match texts.get(name) {
                    Some(found) => format!("{name} is not numbers: {found}"),
                    None => format!("{name} is neither data nor defined by the model"),
                };
                let complaint = Diagnostic::new(reference.name.span, message, "not known");
                let help = if texts.contains_key(name) {
                    "give numbers, such as 1, 2, ... for the levels of a factor"
                } else if counter {
                    "a counter is known inside its loop only"
                } else {
                    "define it in the model, or give it as data"
                };
                complaints.take::<()>(Err(complaint.help(help)));
            }
        }
    }
}
