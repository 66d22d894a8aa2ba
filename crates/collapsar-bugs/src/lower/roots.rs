//! Decides what is to blame where a line is not conjugate, and what may be written instead.

use super::emit::Emit;
use crate::diagnostic::Diagnostic;
use crate::distribution::Distribution;
use crate::elaborate::{Definer, Scope};
use crate::syntax::ast::{Expr, Kind, Node, Reference, Span};
use crate::value::Scalar;

/// Where a parameter stops being what a distribution takes.
struct Root {
    /// The function or the line that no family takes in.
    span: Span,
    /// The unknown that it is of, and where that is defined.
    unknown: Option<(Span, usize)>,
}

/// Computed lines that are followed at most.
const DEEPEST: usize = 50;

impl Emit<'_> {
    /// A complaint about an edge that is not conjugate, by its root.
    pub(super) fn edge(&self, argument: usize, reason: &str) -> Diagnostic {
        let (source, scope) = (self.line.source, self.line.scope);
        let expr = &self.line.of.arguments[argument];
        let here = (self.line.line, self.instance);
        scope.enter(here.0, here.1);
        let root = self.opaque(expr, here, DEEPEST);
        scope.enter(here.0, here.1);
        let unknown = match &root {
            Some(root) => root.unknown,
            None => self.unknown(expr, here, DEEPEST),
        };
        scope.enter(here.0, here.1);
        let parent = unknown.map_or("its parent", |(span, _)| span.of(source));
        let child = self.line.target.of(source);
        let message = format!("edge {parent} -> {child} is not conjugate-exponential: {reason}");
        let mut complaint = match root.filter(|root| root.span != expr.span) {
            Some(root) => Diagnostic::new(root.span, message, "no family takes this in")
                .and(expr.span, "where it matters"),
            None => Diagnostic::new(expr.span, message, "this parent"),
        };
        if let Some((_, line)) = unknown.filter(|(_, line)| *line != self.line.line) {
            let prior = scope.model.lines[line].relation.span;
            complaint = complaint.and(prior, "unknown by this line");
        }
        complaint.help = Some(self.instead(argument));
        complaint
    }

    /// Where an expression becomes something that is no polynomial.
    fn opaque(&self, expr: &Expr, (line, instance): (usize, usize), depth: usize) -> Option<Root> {
        let scope = self.line.scope;
        scope.enter(line, instance);
        let value = scope.evaluate(expr).ok()?;
        let place = value.elements.iter().position(strange)?;
        if depth == 0 {
            return None;
        }
        if let Node::Reference(reference) = &expr.node {
            let definer = definer_of(scope, reference, place)?;
            let above = (definer.line as usize, definer.instance as usize);
            let of = &scope.model.lines[above.0];
            let Kind::Deterministic { link, value } = &of.relation.kind else {
                return Some(Root {
                    span: of.relation.span,
                    unknown: Some((reference.span, above.0)),
                });
            };
            let inner = self.opaque(value, above, depth - 1);
            return inner.or_else(|| {
                let span = match link {
                    Some(_) => of.relation.span,
                    None => value.span,
                };
                let unknown = self.unknown(value, above, depth - 1);
                Some(Root { span, unknown })
            });
        }
        let mut parts = expr.parts().into_iter();
        let inner = parts.find_map(|part| self.opaque(part, (line, instance), depth - 1));
        inner.or_else(|| {
            let unknown = self.unknown(expr, (line, instance), depth - 1);
            let span = expr.span;
            Some(Root { span, unknown })
        })
    }

    /// The first unknown that an expression depends on, through computed lines.
    fn unknown(
        &self,
        expr: &Expr,
        (line, instance): (usize, usize),
        depth: usize,
    ) -> Option<(Span, usize)> {
        if depth == 0 {
            return None;
        }
        let scope = self.line.scope;
        if let Node::Reference(reference) = &expr.node {
            scope.enter(line, instance);
            let array = &scope.model.arrays[scope.model.find(&reference.name.text)?];
            let (_, elements) = scope.places(reference).ok()?;
            for element in elements {
                let Some(definer) = array.definer(element) else {
                    continue;
                };
                let above = (definer.line as usize, definer.instance as usize);
                let of = &scope.model.lines[above.0];
                let found = match &of.relation.kind {
                    Kind::Deterministic { value, .. } => self.unknown(value, above, depth - 1),
                    Kind::Stochastic { .. } if array.value(element).is_some() => None,
                    Kind::Stochastic { .. } => Some((reference.span, above.0)),
                };
                if found.is_some() {
                    return found;
                }
            }
            return None;
        }
        let mut parts = expr.parts().into_iter();
        parts.find_map(|part| self.unknown(part, (line, instance), depth - 1))
    }

    /// What may be written instead of a parameter that is not taken.
    fn instead(&self, argument: usize) -> String {
        use Distribution::{
            Bernoulli, Binomial, Categorical, Exponential, Gamma, LogNormal, Multinomial,
            MultivariateNormal, NegativeBinomial, Normal, NormalMixture, Poisson, Weibull,
        };
        let name = &self.line.of.name.text;
        let help = match (self.line.of.distribution, argument) {
            (Normal | LogNormal | MultivariateNormal | NormalMixture, 0) => {
                "a mean may be any sum of products of different dnorm unknowns and constants; other functions of \
                 unknowns have no rewrite in this language, unless the unknown is a label that picks among values: \
                 k ~ dcat(w[]) and grid[k]"
            }
            (Normal | LogNormal | NormalMixture, 1) => {
                "give the precision a prior of its own: tau ~ dgamma(0.001, 0.001), with sigma <- 1/sqrt(tau)"
            }
            (MultivariateNormal, 1) => {
                "let the precision matrix be Omega[1:K,1:K] ~ dwish(R[,], K), or tau*Q[,] with a known Q"
            }
            (Poisson | Exponential, 0) | (Gamma | Weibull, 1) => {
                "a rate may be a constant times dgamma unknowns: effects of groups are factors, r[g[i]] with r[j] ~ dgamma(a, b)"
            }
            (Bernoulli | Binomial | NegativeBinomial, 0) => {
                "a probability may be a dbeta unknown, products and complements of some, or logit(p) <- a sum of products \
                 of different dnorm unknowns"
            }
            (Categorical | Multinomial, 0) => {
                "probabilities may be p[1:K] ~ ddirch(a[]), or products of dbeta and ddirch unknowns and their complements \
                 that add up to one"
            }
            _ => {
                return format!(
                    "give it as data, or let a label pick among values: k ~ dcat(w[]) and grid[k] in {name}"
                );
            }
        };
        help.to_owned()
    }
}

/// Whether a number is neither known nor a polynomial.
fn strange(element: &Scalar) -> bool {
    matches!(
        element,
        Scalar::Opaque
            | Scalar::Linked(..)
            | Scalar::Scaled(..)
            | Scalar::Pair(_)
            | Scalar::Share(_)
    )
}

/// What defines the element of a reference at a place.
fn definer_of(scope: &Scope, reference: &Reference, place: usize) -> Option<Definer> {
    let array = &scope.model.arrays[scope.model.find(&reference.name.text)?];
    let (_, elements) = scope.places(reference).ok()?;
    array.definer(*elements.get(place)?)
}
