//! What is said of probabilities that no family takes in: by the link that they come from.

use super::emit::Emit;
use crate::diagnostic::Diagnostic;
use crate::syntax::ast::{Expr, Kind, Link, Node, Span};

/// Computed lines that are followed to the root of an expression.
const DEEPEST: usize = 20;

impl Emit<'_> {
    /// A complaint about a probability of no known form, which points to the link that it comes from, where that has no
    /// family.
    pub(super) fn not_a_probability(&self, argument: usize) -> Diagnostic {
        let expr = &self.line.of.arguments[argument];
        if let Some(root) = self.cloglog(expr, DEEPEST) {
            let child = self.line.target.of(self.line.source);
            let message = format!(
                "{child} has a probability whose complementary log-log is a predictor, which has no conjugate family"
            );
            return Diagnostic::new(root, message, "this link")
                .and(self.line.target, "the probability is that of this line")
                .help("write logit or probit in the place of cloglog");
        }
        let what = "probabilities must be constant, come from ddirch or dbeta, or have a logit or probit that is \
                    linear in normal variables";
        let found = self.edge_of(argument, what);
        if self.products_of_probabilities(expr, DEEPEST) {
            let help = "a product of two unknown probabilities is one of a label: \
                        z[i] ~ dbern(psi[i]) and y[i] ~ dbern(z[i]*p[i])";
            return found.help(help);
        }
        found
    }

    /// A complaint about cells some of which are missing.
    pub(super) fn not_all_cells(&self, argument: usize) -> Diagnostic {
        let what = "probabilities must add up to one: p and 1 - p, or normal probabilities between one cut after another";
        self.edge_of(argument, what)
    }

    /// The line, or the call, that a complementary log-log link is in.
    fn cloglog(&self, expr: &Expr, deepest: usize) -> Option<Span> {
        self.find_root(expr, deepest, &|expr, link| {
            let call =
                matches!(&expr.node, Node::Call { function, .. } if function.text == "icloglog");
            call || link == Some(Link::Cloglog)
        })
    }

    fn products_of_probabilities(&self, expr: &Expr, deepest: usize) -> bool {
        let product = |expr: &Expr, _: Option<Link>| match &expr.node {
            Node::Binary { left, right, .. } => [left, right].into_iter().all(|side| {
                side.references()
                    .iter()
                    .any(|name| self.is_defined(&name.name.text))
            }),
            _ => false,
        };
        self.find_root(expr, deepest, &product).is_some()
    }

    fn is_defined(&self, name: &str) -> bool {
        let model = self.line.scope.model;
        model
            .find(name)
            .is_some_and(|array| model.arrays[array].defined())
    }

    /// Where an expression, or a computed line that it reads, is as asked for.
    fn find_root(
        &self,
        expr: &Expr,
        deepest: usize,
        is_root: &impl Fn(&Expr, Option<Link>) -> bool,
    ) -> Option<Span> {
        if is_root(expr, None) {
            return Some(expr.span);
        }
        let model = self.line.scope.model;
        if let (Node::Reference(reference), true) = (&expr.node, deepest > 0) {
            let array = model.find(&reference.name.text);
            for line in model.lines.iter().filter(|line| Some(line.array) == array) {
                let Kind::Deterministic { link, value } = &line.relation.kind else {
                    continue;
                };
                if is_root(expr, *link) {
                    return Some(line.relation.span);
                }
                if let Some(found) = self.find_root(value, deepest - 1, is_root) {
                    return Some(found);
                }
            }
        }
        let mut parts = expr.parts().into_iter();
        parts.find_map(|part| self.find_root(part, deepest, is_root))
    }
}
