//! Decides what kind of variables a line has.

use collapsar::graph::Kind;

use super::variables::NONE;
use crate::diagnostic::{Checked, Diagnostic};
use crate::distribution::Distribution;
use crate::elaborate::{Elaborated, Mode, Sampling, Scope};
use crate::syntax::ast::{Expr, Index, Node};
use crate::value::{Scalar, Value};

/// The kind of a stochastic line's variables.
pub(super) fn kind(model: &Elaborated, index: usize, of: Sampling) -> Checked<Kind> {
    let line = &model.lines[index];
    let scope = Scope::new(model, Mode::Shape);
    // The most over repetitions, of which one is enough where none differs in length.
    let most = |argument: &Expr, of_value: fn(&Value) -> usize| -> Checked<usize> {
        let mut most = usize::from(line.instances == 0);
        let enough = if whole(argument) { 1 } else { usize::MAX };
        for instance in 0..line.instances.min(enough) {
            scope.enter(index, instance);
            let value = scope.evaluate(argument)?;
            most = most.max(of_value(&value));
        }
        Ok(most)
    };
    Ok(match of.distribution {
        Distribution::Gamma
        | Distribution::Exponential
        | Distribution::ChiSquared
        | Distribution::LogNormal
        | Distribution::ScaledGamma
        | Distribution::Pareto => Kind::Gamma,
        Distribution::Wishart => match line.dims.as_slice() {
            [] => Kind::Wishart(1),
            [rows, columns] if rows == columns => Kind::Wishart(*rows),
            dims => {
                let message = format!("a Wishart variable of lengths {dims:?}");
                let span = line.relation.target.span;
                return Err(Diagnostic::new(span, message, "expected a square matrix"));
            }
        },
        Distribution::Beta | Distribution::Uniform => Kind::Dirichlet(2),
        Distribution::Dirichlet => Kind::Dirichlet(line.size),
        Distribution::Categorical => match most(&of.arguments[0], |value| value.elements.len())? {
            0 => {
                let (span, message) = (line.relation.span, "dcat without any state");
                return Err(Diagnostic::new(span, message, "no probabilities"));
            }
            states => Kind::Label(states),
        },
        Distribution::Bernoulli => Kind::Label(2),
        Distribution::Binomial => Kind::Label(most(&of.arguments[1], |value| {
            let trials = value.single().and_then(Scalar::known);
            let trials = trials.filter(|n| *n >= 0.0 && *n < 1e6);
            trials.map_or(2, |n| n as usize + 1)
        })?),
        // From the third on there is no conjugate family: refused where terms are added.
        Distribution::Normal
        | Distribution::StudentT
        | Distribution::MultivariateNormal
        | Distribution::Multinomial
        | Distribution::Poisson
        | Distribution::NegativeBinomial
        | Distribution::Weibull
        | Distribution::NormalMixture
        | Distribution::Interval => Kind::Gaussian,
    })
}

/// Whether an expression is a reference to whole rows, as long in every repetition.
fn whole(expr: &Expr) -> bool {
    let Node::Reference(reference) = &expr.node else {
        return false;
    };
    let indices = reference.indices.as_deref().unwrap_or_default();
    reference.indices().all(|index| index.range().is_none())
        && (indices.is_empty() || indices.contains(&Index::All))
}

/// The component that each element of a Dirichlet line is: those whose prior is zero have none.
pub(super) fn components(model: &Elaborated, index: usize, of: Sampling) -> Checked<Vec<u32>> {
    if of.distribution != Distribution::Dirichlet {
        return Ok(vec![]);
    }
    let argument = &of.arguments[0];
    let scope = Scope::new(model, Mode::Shape);
    let mut zeros: Option<Vec<bool>> = None;
    for instance in 0..model.lines[index].instances {
        scope.enter(index, instance);
        let value = scope.evaluate(argument)?;
        let zero = |element: &Scalar| *element == Scalar::Known(0.0);
        let here: Vec<bool> = value.elements.iter().map(zero).collect();
        if *zeros.get_or_insert_with(|| here.clone()) != here {
            let message = "zeros of a Dirichlet prior that differ between repetitions";
            let label = "must be in the same places";
            return Err(Diagnostic::new(argument.span, message, label));
        }
    }
    let mut components = 0_u32..;
    let component = |zero: bool| if zero { None } else { components.next() };
    let found = zeros.unwrap_or_default().into_iter().map(component);
    Ok(found.map(|component| component.unwrap_or(NONE)).collect())
}
