//! Decides what a name means where it is that of a counter and of an array: inside the loop the counter, elsewhere the array.

use std::collections::BTreeSet;

use super::Elaborated;
use crate::syntax::ast::{Expr, Index, Kind, Node, Reference, Relation, Statement, Truncation};

/// No name of a text has a space, so that a counter with one is like nothing else.
const OWN: char = ' ';

impl Elaborated {
    /// The same statements, with counters that are like no array.
    pub(super) fn own_counters(&self, statements: &[Statement]) -> Vec<Statement> {
        let lines = Statement::all(statements).into_iter();
        let defined = lines.filter_map(|(_, statement)| match statement {
            Statement::Relation(relation) => Some(relation.target.name.text.as_str()),
            Statement::For { .. } => None,
        });
        let arrays = self.arrays.iter().map(|array| array.name.as_str());
        let taken: BTreeSet<&str> = defined.chain(arrays).collect();
        statements.iter().map(|of| own(of, &taken)).collect()
    }
}

fn own(statement: &Statement, taken: &BTreeSet<&str>) -> Statement {
    let Statement::For { index, range, body } = statement else {
        return statement.clone();
    };
    let mut body: Vec<Statement> = body.iter().map(|of| own(of, taken)).collect();
    let mut index = index.clone();
    if taken.contains(index.text.as_str()) {
        let counter = index.text.clone();
        index.text.push(OWN);
        let mut rename = |reference: &mut Reference| {
            if reference.indices.is_none() && reference.name.text == counter {
                reference.name.text.push(OWN);
            }
        };
        for of in &mut body {
            in_statement(of, &mut rename);
        }
    }
    let range = range.clone();
    Statement::For { index, range, body }
}

/// Visits the references of a statement that are read.
fn in_statement(statement: &mut Statement, visit: &mut impl FnMut(&mut Reference)) {
    match statement {
        Statement::For { range, body, .. } => {
            in_expression(range, visit);
            for of in body {
                in_statement(of, visit);
            }
        }
        Statement::Relation(Relation { target, kind, .. }) => {
            in_indices(target, visit);
            match kind {
                Kind::Deterministic { value, .. } => in_expression(value, visit),
                Kind::Stochastic {
                    arguments,
                    truncation,
                    ..
                } => {
                    for of in arguments {
                        in_expression(of, visit);
                    }
                    if let Some(Truncation { lower, upper, .. }) = truncation {
                        let ends = lower.iter_mut().chain(upper);
                        ends.for_each(|of| in_expression(of, visit));
                    }
                }
            }
        }
    }
}

fn in_indices(reference: &mut Reference, visit: &mut impl FnMut(&mut Reference)) {
    for index in reference.indices.iter_mut().flatten() {
        if let Index::At(expr) = index {
            in_expression(expr, visit);
        }
    }
}

fn in_expression(expr: &mut Expr, visit: &mut impl FnMut(&mut Reference)) {
    match &mut expr.node {
        Node::Number(_) => {}
        Node::Reference(reference) => {
            in_indices(reference, visit);
            visit(reference);
        }
        Node::Call { arguments, .. } => {
            for of in arguments {
                in_expression(of, visit);
            }
        }
        Node::Negative(operand) | Node::Not(operand) => in_expression(operand, visit),
        Node::Binary { left, right, .. } => {
            in_expression(left, visit);
            in_expression(right, visit);
        }
    }
}
