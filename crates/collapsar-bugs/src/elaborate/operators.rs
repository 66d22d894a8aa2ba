//! The operators of the language.

use crate::diagnostic::{Checked, Diagnostic};
use crate::syntax::ast::{Operator, Span};
use crate::value::{Scalar, Value};

/// 1 where something holds, else 0.
pub(super) fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// `left operator right`.
pub(super) fn binary(
    operator: Operator,
    left: &Value,
    right: &Value,
    span: Span,
) -> Checked<Value> {
    let tested = |test: fn(f64, f64) -> bool| {
        move |a: &Scalar, b: &Scalar| a.map_with(b, |a, b| truth(test(a, b)))
    };
    let zipped = match operator {
        Operator::Plus => left.zip(right, Scalar::plus),
        Operator::Minus => left.zip(right, Scalar::minus),
        Operator::Times => left.zip(right, Scalar::times),
        Operator::Over => left.zip(right, Scalar::over),
        Operator::Power => left.zip(right, Scalar::power),
        Operator::Equal => left.zip(right, tested(|a, b| a == b)),
        Operator::Unequal => left.zip(right, tested(|a, b| a != b)),
        Operator::Less => left.zip(right, tested(|a, b| a < b)),
        Operator::AtMost => left.zip(right, tested(|a, b| a <= b)),
        Operator::Greater => left.zip(right, tested(|a, b| a > b)),
        Operator::AtLeast => left.zip(right, tested(|a, b| a >= b)),
        Operator::And => left.zip(right, tested(|a, b| a != 0.0 && b != 0.0)),
        Operator::Or => left.zip(right, tested(|a, b| a != 0.0 || b != 0.0)),
        Operator::Product => {
            return product(left, right).ok_or_else(|| {
                let message = format!("a product of lengths {:?} and {:?}", left.dims, right.dims);
                Diagnostic::new(span, message, "dimension mismatch")
            });
        }
        Operator::Range => None,
    };
    zipped.ok_or_else(|| {
        let (a, b) = (left.elements.len(), right.elements.len());
        let message = format!("operands of {a} and {b} elements");
        Diagnostic::new(span, message, "dimension mismatch")
            .help("both sides need the same lengths, or one of them a single number")
    })
}

/// The matrix product; a vector on the left of a matrix is a row.
fn product(left: &Value, right: &Value) -> Option<Value> {
    let (mut rows, mut inner) = left.matrix()?;
    let (height, columns) = right.matrix()?;
    if left.dims.len() == 1 && inner != height {
        (rows, inner) = (inner, rows);
    }
    if inner != height {
        return None;
    }
    let mut elements = Vec::with_capacity(rows * columns);
    for row in 0..rows {
        for column in 0..columns {
            let terms = (0..inner).map(|place| {
                let (a, b) = (row * inner + place, place * columns + column);
                left.elements[a].times(&right.elements[b])
            });
            elements.push(sum(terms));
        }
    }
    let dims = match (rows, columns) {
        (1, 1) => vec![],
        (length, 1) | (1, length) => vec![length],
        _ => vec![rows, columns],
    };
    Some(Value { dims, elements })
}

/// The sum of all; numbers are added as numbers.
pub(super) fn sum(terms: impl Iterator<Item = Scalar>) -> Scalar {
    let mut known = 0.0;
    let mut rest: Option<Scalar> = None;
    for term in terms {
        match (term, rest.take()) {
            (Scalar::Known(value), before) => {
                known += value;
                rest = before;
            }
            (term, None) => rest = Some(term),
            (term, Some(before)) => rest = Some(before.plus(&term)),
        }
    }
    match rest {
        None => Scalar::Known(known),
        Some(rest) if known == 0.0 => rest,
        Some(rest) => rest.plus(&Scalar::Known(known)),
    }
}
