//! Decides which repetitions of a line have the same terms.

use super::Stochastic;
use crate::elaborate::{Scope, Stop, references};
use crate::syntax::ast::{Expr, Index, Node};

/// Adds all that an expression reads but for labels: two repetitions with the same signature have
/// the same terms.
pub(super) fn signature(line: &Stochastic, expr: &Expr, out: &mut Vec<u64>) -> Result<(), Stop> {
    let scope: &Scope = line.scope;
    let model = scope.model;
    match &expr.node {
        Node::Number(_) => Ok(()),
        Node::Call { arguments, .. } => arguments
            .iter()
            .try_for_each(|argument| signature(line, argument, out)),
        Node::Negative(operand) | Node::Not(operand) => signature(line, operand, out),
        Node::Binary { left, right, .. } => {
            signature(line, left, out)?;
            signature(line, right, out)
        }
        Node::Reference(reference) => {
            let Some(array) = model.find(&reference.name.text) else {
                // A counter.
                let value = scope.evaluate(expr)?;
                out.extend(
                    value
                        .numbers()
                        .unwrap_or_default()
                        .iter()
                        .map(|v| v.to_bits()),
                );
                return Ok(());
            };
            if line.variables.label_array(array) {
                return Ok(());
            }
            let mut names = vec![];
            for index in reference.indices.iter().flatten() {
                if let Index::At(index) = index {
                    references(index, &mut names);
                }
            }
            let gated = names.iter().any(|name| {
                let array = model.find(&name.name.text);
                array.is_some_and(|array| line.variables.label_array(array))
            });
            if !gated && !model.arrays[array].defined() {
                let (_, elements) = scope.places(reference)?;
                if elements.len() == 1 {
                    let value = model.arrays[array].value(elements[0]).unwrap_or(f64::NAN);
                    out.push(value.to_bits());
                    return Ok(());
                }
            }
            for index in reference.indices.iter().flatten() {
                if let Index::At(index) = index {
                    signature(line, index, out)?;
                }
            }
            Ok(())
        }
    }
}
