//! Decides what kind of variables a line has, and where their numbers are.

use collapsar::graph::Kind;

use super::variables::OBSERVED;
use crate::diagnostic::Diagnostic;
use crate::distribution::Distribution;
use crate::elaborate::{Elaborated, Mode, Sampling, Scope, Stop};
use crate::syntax::ast;
use crate::value::{Item, Value};

/// The upper triangle's entry, row by row, of an entry of a symmetric matrix.
pub(super) fn triangle(offset: usize, dim: usize) -> u32 {
    let (row, column) = (offset / dim, offset % dim);
    packed(dim, row.min(column), row.max(column))
}

/// The place of an entry in a packed upper triangle.
pub(super) fn packed(dim: usize, row: usize, column: usize) -> u32 {
    (row * dim - row * (row + 1) / 2 + column) as u32
}

/// The kind of a stochastic line's variables.
pub(super) fn kind(model: &Elaborated, index: usize, of: Sampling) -> Result<Kind, Diagnostic> {
    let line = &model.lines[index];
    let scope = Scope::new(model, Mode::Shape);
    // The most over repetitions, of which one is enough where none differs in length.
    let most = |of_value: &dyn Fn(&Value) -> usize, place: usize| -> Result<usize, Diagnostic> {
        let argument = &of.arguments[place];
        let last = if whole(argument) {
            1.min(line.instances)
        } else {
            line.instances
        };
        let mut most = usize::from(line.instances == 0);
        for instance in 0..last {
            scope.enter(index, instance);
            most = most.max(of_value(
                &scope.evaluate(argument).map_err(Stop::diagnostic)?,
            ));
        }
        Ok(most)
    };
    let square = || match line.dims.as_slice() {
        [] => Ok(1),
        [rows, columns] if rows == columns => Ok(*rows),
        dims => Err(Diagnostic::new(
            line.relation.target.span,
            format!("a Wishart variable of lengths {dims:?}"),
            "expected a square matrix",
        )),
    };
    Ok(match of.distribution {
        Distribution::Gamma | Distribution::Exponential | Distribution::ChiSquared => Kind::Gamma,
        Distribution::Wishart => Kind::Wishart(square()?),
        Distribution::Beta | Distribution::Uniform => Kind::Dirichlet(2),
        Distribution::Dirichlet => Kind::Dirichlet(line.size),
        Distribution::Categorical => {
            let states = most(&|value| value.items.len(), 0)?;
            if states == 0 {
                return Err(Diagnostic::new(
                    line.relation.span,
                    "dcat without any state",
                    "no probabilities",
                ));
            }
            Kind::Label(states)
        }
        Distribution::Bernoulli => Kind::Label(2),
        Distribution::Binomial => {
            let states = |value: &Value| {
                let trials = value.single().and_then(Item::known);
                trials
                    .filter(|n| *n >= 0.0 && *n < 1e6)
                    .map_or(2, |n| n as usize + 1)
            };
            Kind::Label(most(&states, 1)?)
        }
        // From the third on there is no conjugate family: refused where terms are added.
        Distribution::Normal
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
fn whole(expr: &ast::Expr) -> bool {
    let ast::Node::Reference(reference) = &expr.node else {
        return false;
    };
    let single = |index: &ast::Index| match index {
        ast::Index::All => true,
        ast::Index::At(expr) => expr.range().is_none(),
    };
    let indices = reference.indices.as_deref().unwrap_or_default();
    indices.iter().all(single) && (indices.is_empty() || indices.contains(&ast::Index::All))
}

/// The share of each element of a Dirichlet line: those whose prior is zero have none.
pub(super) fn shares(
    model: &Elaborated,
    index: usize,
    of: Sampling,
) -> Result<Vec<u32>, Diagnostic> {
    let line = &model.lines[index];
    if of.distribution != Distribution::Dirichlet {
        return Ok(vec![]);
    }
    let argument = &of.arguments[0];
    let scope = Scope::new(model, Mode::Shape);
    let mut zeros: Option<Vec<bool>> = None;
    for instance in 0..line.instances {
        scope.enter(index, instance);
        let value = scope.evaluate(argument).map_err(Stop::diagnostic)?;
        let here: Vec<bool> = value
            .items
            .iter()
            .map(|item| *item == Item::Known(0.0))
            .collect();
        if *zeros.get_or_insert_with(|| here.clone()) != here {
            return Err(Diagnostic::new(
                argument.span,
                "zeros of a Dirichlet prior that differ between repetitions",
                "must be in the same places",
            ));
        }
    }
    let mut next = 0;
    Ok((zeros.unwrap_or_default().iter())
        .map(|&zero| {
            if zero {
                OBSERVED
            } else {
                next += 1;
                next - 1
            }
        })
        .collect())
}
