//! Decides which repetitions of a line have the same terms.

use super::Stochastic;
use crate::elaborate::Resolved;
use crate::syntax::ast::{Expr, Node};

impl Stochastic<'_> {
    /// Replaces `out` by all that the parameters of a repetition read but for labels: two repetitions
    /// with the same signature have the same terms.
    pub(super) fn signature(&self, instance: usize, out: &mut Vec<u64>) -> Resolved {
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
