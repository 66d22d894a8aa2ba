//! Decides what kind of variables a line has, and where their numbers are.

use collapsar::graph::Kind;

use super::variables::OBSERVED;
use crate::diagnostic::Diagnostic;
use crate::elaborate::{Elaborated, Mode, Scope, Stop};
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

/// The kind of a line's variables, and the value of a label's first state.
pub(super) fn kind(model: &Elaborated, index: usize) -> Result<(Kind, u32), Diagnostic> {
    let line = &model.lines[index];
    let ast::Kind::Stochastic {
        distribution,
        arguments,
        ..
    } = &line.relation.kind
    else {
        return Ok((Kind::Gaussian, 0));
    };
    let scope = Scope::new(model, Mode::Shape);
    // The most over repetitions, of which one is enough where none differs in length.
    let most = |of: &dyn Fn(&Value) -> usize, place: usize| -> Result<usize, Diagnostic> {
        let Some(argument) = arguments.get(place) else {
            return Ok(1);
        };
        let last = if whole(argument) {
            1.min(line.instances)
        } else {
            line.instances
        };
        let mut most = usize::from(line.instances == 0);
        for instance in 0..last {
            scope.enter(index, instance);
            most = most.max(of(&scope.evaluate(argument).map_err(Stop::diagnostic)?));
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
    Ok(match distribution.text.as_str() {
        "dgamma" | "dexp" | "dchisqr" | "dchisq" => (Kind::Gamma, 0),
        "dwish" => (Kind::Wishart(square()?), 0),
        "dbeta" | "dunif" => (Kind::Dirichlet(2), 0),
        "ddirch" | "ddirich" => (Kind::Dirichlet(line.size), 0),
        "dcat" => {
            let states = most(&|value| value.items.len(), 0)?;
            if states == 0 {
                return Err(Diagnostic::new(
                    line.relation.span,
                    "dcat without any state",
                    "no probabilities",
                ));
            }
            (Kind::Label(states), 1)
        }
        "dbern" => (Kind::Label(2), 0),
        "dbin" | "dbinom" => {
            let states = |value: &Value| {
                let trials = value.single().and_then(Item::known);
                trials
                    .filter(|n| *n >= 0.0 && *n < 1e6)
                    .map_or(2, |n| n as usize + 1)
            };
            (Kind::Label(most(&states, 1)?), 0)
        }
        _ => (Kind::Gaussian, 0),
    })
}

/// Whether an expression is a reference to whole rows, as long in every repetition.
fn whole(expr: &ast::Expr) -> bool {
    let ast::Node::Reference(reference) = &expr.node else {
        return false;
    };
    let single = |index: &ast::Index| match index {
        ast::Index::All => true,
        ast::Index::At(expr) => !matches!(
            expr.node,
            ast::Node::Binary {
                operator: ast::Operator::Range,
                ..
            }
        ),
    };
    let indices = reference.indices.as_deref().unwrap_or_default();
    indices.iter().all(single) && (indices.is_empty() || indices.contains(&ast::Index::All))
}

/// The share of each element of a Dirichlet line: those whose prior is zero have none.
pub(super) fn shares(model: &Elaborated, index: usize) -> Result<Vec<u32>, Diagnostic> {
    let line = &model.lines[index];
    let ast::Kind::Stochastic {
        distribution,
        arguments,
        ..
    } = &line.relation.kind
    else {
        return Ok(vec![]);
    };
    if !distribution.text.starts_with("ddir") {
        return Ok(vec![]);
    }
    let scope = Scope::new(model, Mode::Shape);
    let mut zeros: Option<Vec<bool>> = None;
    for instance in 0..line.instances {
        scope.enter(index, instance);
        let Some(argument) = arguments.first() else {
            break;
        };
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
