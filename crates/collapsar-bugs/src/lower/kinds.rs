//! Decides what kind of variables a line has.

use collapsar::graph::Kind;
use collapsar::limits::STATES;

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
            states if states > STATES => {
                let message =
                    format!("an unknown label of {states} states, expected {STATES} at most");
                let span = of.arguments[0].span;
                return Err(Diagnostic::new(span, message, "too many"));
            }
            states => Kind::Label(states),
        },
        Distribution::Bernoulli => Kind::Label(2),
        Distribution::Binomial => Kind::Label(most(&of.arguments[1], |value| {
            let trials = value.single().and_then(Scalar::known);
            let trials = trials.filter(|n| *n >= 0.0 && *n < 1e6);
            trials.map_or(2, |n| n as usize + 1)
        })?),
        // From multinomial counts on there is no conjugate family: refused where terms are added.
        Distribution::Normal
        | Distribution::Flat
        | Distribution::StudentT
        | Distribution::MultivariateNormal
        | Distribution::Laplace
        | Distribution::Logistic
        | Distribution::Multinomial
        | Distribution::Poisson
        | Distribution::NegativeBinomial
        | Distribution::Weibull
        | Distribution::NormalMixture
        | Distribution::Interval
        | Distribution::GeneralisedGamma
        | Distribution::F
        | Distribution::NoncentralChiSquared
        | Distribution::BetaBinomial => Kind::Gaussian,
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

/// Which components the elements of a Dirichlet line are: [`NONE`] where the prior is zero.
#[derive(Debug, Clone, Default)]
pub(super) struct Components {
    /// Each way in which zeros are placed, by element.
    pub(super) patterns: Vec<Vec<u32>>,
    /// That of each repetition; empty where there is one for all.
    pub(super) of: Vec<u32>,
}

impl Components {
    pub(super) fn new(model: &Elaborated, index: usize, of: Sampling) -> Checked<Self> {
        let mut found = Self::default();
        if of.distribution != Distribution::Dirichlet {
            return Ok(found);
        }
        let scope = Scope::new(model, Mode::Shape);
        for instance in 0..model.lines[index].instances {
            scope.enter(index, instance);
            let value = scope.evaluate(&of.arguments[0])?;
            let mut next = 0_u32..;
            let component = |element: &Scalar| match element {
                Scalar::Known(0.0) => NONE,
                _ => next.next().unwrap_or(NONE),
            };
            let here: Vec<u32> = value.elements.iter().map(component).collect();
            let known = found.patterns.iter().position(|pattern| *pattern == here);
            found.of.push(known.unwrap_or(found.patterns.len()) as u32);
            if known.is_none() {
                found.patterns.push(here);
            }
        }
        if found.patterns.len() == 1 {
            found.of.clear();
        }
        Ok(found)
    }

    /// What the elements of a repetition are; nothing where they are what they seem.
    pub(super) fn pattern(&self, instance: usize) -> &[u32] {
        let pattern = self.of.get(instance).copied().unwrap_or(0);
        self.patterns
            .get(pattern as usize)
            .map_or(&[], Vec::as_slice)
    }

    /// How many components there are in each way.
    pub(super) fn counts(&self) -> impl Iterator<Item = usize> {
        let parts = |pattern: &Vec<u32>| pattern.iter().filter(|&&part| part != NONE).count();
        self.patterns.iter().map(parts)
    }
}
