//! Decides which repetitions of a line have the same terms.

use super::Stochastic;
use crate::elaborate::{Scope, Stop};
use crate::syntax::ast::{Expr, Node};

/// Adds all that an expression reads but for labels: two repetitions with the same signature have
/// the same terms.
pub(super) fn signature(line: &Stochastic, expr: &Expr, out: &mut Vec<u64>) -> Result<(), Stop> {
    let scope: &Scope = line.scope;
    let model = scope.model;
    if let Node::Reference(reference) = &expr.node {
        let Some(array) = model.find(&reference.name.text) else {
            // A counter.
            let numbers = scope.evaluate(expr)?.numbers().unwrap_or_default();
            out.extend(numbers.iter().map(|number| number.to_bits()));
            return Ok(());
        };
        if line.variables.label_array(array) {
            return Ok(());
        }
        let gated = reference.indices().flat_map(Expr::references).any(|name| {
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
    }
    let mut parts = expr.parts().into_iter();
    parts.try_for_each(|part| signature(line, part, out))
}
