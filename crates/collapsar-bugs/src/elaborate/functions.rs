//! The functions of the language.

#![allow(
    clippy::unnecessary_wraps,
    reason = "the functions of a table have one shape"
)]

use std::rc::Rc;

use collapsar::special::ln_gamma;
use nalgebra::DMatrix;

use super::operators::{binary, sum, truth};
use crate::diagnostic::Diagnostic;
use crate::syntax::ast::{Link, Name, Operator, Span};
use crate::value::{Scalar, Value};

type Called = Result<Value, Diagnostic>;

/// What a function is computed from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Function {
    /// Each number by itself.
    Elementwise(fn(f64) -> f64),
    /// The lengths of an array, without its elements.
    Lengths(fn(&[usize]) -> Value),
    /// As many values as it takes, known or not.
    Values(fn(&[Value], Span) -> Called),
    /// The same, of one draw at a time where there are many.
    OneDraw(fn(&[Value], Span) -> Called),
}

use Function::{Elementwise, Lengths, OneDraw, Values};

/// Names, and how many arguments there are where that is fixed.
const FUNCTIONS: [(&str, Option<usize>, Function); 40] = [
    ("sqrt", Some(1), Elementwise(f64::sqrt)),
    ("log", Some(1), Elementwise(f64::ln)),
    ("exp", Some(1), Elementwise(f64::exp)),
    ("abs", Some(1), Elementwise(f64::abs)),
    ("round", Some(1), Elementwise(f64::round)),
    ("trunc", Some(1), Elementwise(f64::trunc)),
    ("step", Some(1), Elementwise(|x| truth(x >= 0.0))),
    ("logit", Some(1), Elementwise(|p| (p / (1.0 - p)).ln())),
    ("ilogit", Some(1), Elementwise(inverse_logit)),
    ("cloglog", Some(1), Elementwise(|p| (-(-p).ln_1p()).ln())),
    ("icloglog", Some(1), Elementwise(inverse_cloglog)),
    ("phi", Some(1), Elementwise(normal_cdf)),
    ("loggam", Some(1), Elementwise(ln_gamma)),
    ("logfact", Some(1), Elementwise(|x| ln_gamma(x + 1.0))),
    ("sin", Some(1), Elementwise(f64::sin)),
    ("cos", Some(1), Elementwise(f64::cos)),
    ("tan", Some(1), Elementwise(f64::tan)),
    (
        "length",
        Some(1),
        Lengths(|dims| count(dims.iter().product())),
    ),
    ("dim", Some(1), Lengths(dimensions)),
    ("nrow", Some(1), Lengths(|dims| length(dims, 0))),
    ("ncol", Some(1), Lengths(|dims| length(dims, 1))),
    (
        "pow",
        Some(2),
        Values(|v, span| binary(Operator::Power, &v[0], &v[1], span)),
    ),
    (
        "equals",
        Some(2),
        Values(|v, span| binary(Operator::Equal, &v[0], &v[1], span)),
    ),
    (
        "max",
        None,
        Values(|v, _| fold(v, f64::NEG_INFINITY, |a, b| a.map_with(b, f64::max))),
    ),
    (
        "min",
        None,
        Values(|v, _| fold(v, f64::INFINITY, |a, b| a.map_with(b, f64::min))),
    ),
    ("prod", None, Values(|v, _| fold(v, 1.0, Scalar::times))),
    ("sum", None, Values(|v, _| Ok(Value::one(sum(all(v)))))),
    ("mean", None, Values(mean)),
    ("inprod", Some(2), Values(inner_product)),
    (
        "c",
        None,
        Values(|v, _| Ok(Value::vector(all(v).collect()))),
    ),
    ("rep", Some(2), Values(repetition)),
    ("t", Some(1), Values(transpose)),
    (
        "sd",
        None,
        OneDraw(|v, _| of_numbers(v, |numbers| variance(numbers).sqrt())),
    ),
    ("var", None, OneDraw(|v, _| of_numbers(v, variance))),
    (
        "rank",
        Some(1),
        OneDraw(|v, _| ordered(&v[0], |_, place, rank| (place, rank as f64 + 1.0))),
    ),
    (
        "sort",
        Some(1),
        OneDraw(|v, _| ordered(&v[0], |number, _, rank| (rank, number))),
    ),
    (
        "order",
        Some(1),
        OneDraw(|v, _| ordered(&v[0], |_, place, rank| (rank, place as f64 + 1.0))),
    ),
    ("ifelse", Some(3), OneDraw(choice)),
    ("inverse", Some(1), OneDraw(inverse)),
    ("logdet", Some(1), OneDraw(ln_determinant)),
];

impl Function {
    /// The function of a name.
    pub(super) fn named(name: &str) -> Option<Self> {
        let found = FUNCTIONS.iter().find(|(known, ..)| *known == name);
        found.map(|(_, _, function)| *function)
    }

    /// The function of a name, with so many arguments.
    pub(super) fn of(name: &Name, arguments: usize, span: Span) -> Result<Self, Diagnostic> {
        let Name { text, span: at } = name;
        let Some((_, count, function)) = FUNCTIONS.iter().find(|(known, ..)| known == text) else {
            let message = format!("{text} is not a function that is known");
            return Err(Diagnostic::new(*at, message, "unknown function").help(
                "known are sum, mean, inprod, %*%, t, pow, sqrt, log, exp, inverse, logdet, equals, \
                 step, max, min, length, dim, abs, round, trunc, prod, sd, var, rank, sort, ifelse, \
                 logit, ilogit, cloglog, phi, loggam and logfact",
            ));
        };
        match count {
            Some(count) if *count != arguments => {
                let noun = if *count == 1 { "argument" } else { "arguments" };
                let message = format!("{text} takes {count} {noun}, and {arguments} are given");
                Err(Diagnostic::new(span, message, "here"))
            }
            _ => Ok(*function),
        }
    }

    /// The function of as many arguments as it takes.
    pub(super) fn call(self, arguments: &[Value], span: Span) -> Called {
        match self {
            Elementwise(function) => Ok(arguments[0].map(|element| element.map(function))),
            Lengths(function) => Ok(function(&arguments[0].dims)),
            Values(function) => function(arguments, span),
            OneDraw(function) => match arguments.iter().find_map(Value::draws) {
                Some(draws) => by_draw(function, arguments, draws, span),
                None => function(arguments, span),
            },
        }
    }
}

/// A function that must see the numbers of one draw together.
fn by_draw(
    function: fn(&[Value], Span) -> Called,
    arguments: &[Value],
    draws: usize,
    span: Span,
) -> Called {
    let mut dims = vec![];
    let mut columns: Vec<Vec<f64>> = vec![];
    for draw in 0..draws {
        let of_draw = arguments.iter().map(|value| value.of_draw(draw));
        let value = function(&of_draw.collect::<Vec<Value>>(), span)?;
        columns.resize_with(value.elements.len(), || Vec::with_capacity(draws));
        for (column, element) in columns.iter_mut().zip(&value.elements) {
            column.push(element.known().unwrap_or(f64::NAN));
        }
        dims = value.dims;
    }
    let columns = columns.into_iter();
    let elements = columns.map(|column| Scalar::Draws(Rc::new(column)));
    let elements = elements.collect();
    Ok(Value { dims, elements })
}

fn inverse_logit(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn inverse_cloglog(x: f64) -> f64 {
    -(-x.exp()).exp_m1()
}

fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

/// What undoes the function around a target.
pub(super) fn inverse_link(link: Link) -> fn(f64) -> f64 {
    match link {
        Link::Log => f64::exp,
        Link::Logit => inverse_logit,
        Link::Cloglog => inverse_cloglog,
        Link::Probit => normal_cdf,
    }
}

fn count(length: usize) -> Value {
    Value::number(length as f64)
}

fn length(dims: &[usize], place: usize) -> Value {
    count(dims.get(place).copied().unwrap_or(1))
}

fn dimensions(dims: &[usize]) -> Value {
    let lengths = dims.iter().map(|&length| Scalar::Known(length as f64));
    Value::vector(lengths.collect())
}

/// The elements of all values.
fn all(values: &[Value]) -> impl Iterator<Item = Scalar> {
    values
        .iter()
        .flat_map(|value| value.elements.iter().cloned())
}

fn fold(values: &[Value], first: f64, function: fn(&Scalar, &Scalar) -> Scalar) -> Called {
    let first = Scalar::Known(first);
    Ok(Value::one(all(values).fold(first, |a, b| function(&a, &b))))
}

fn mean(values: &[Value], _: Span) -> Called {
    let count = Scalar::Known(all(values).count() as f64);
    Ok(Value::one(sum(all(values)).over(&count)))
}

fn of_numbers(values: &[Value], function: fn(&[f64]) -> f64) -> Called {
    let numbers: Option<Vec<f64>> = all(values).map(|element| element.known()).collect();
    let found = numbers.map(|numbers| Scalar::Known(function(&numbers)));
    Ok(Value::one(found.unwrap_or(Scalar::Opaque)))
}

fn variance(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean).powi(2));
    squares.sum::<f64>() / (count - 1.0)
}

fn inner_product(values: &[Value], span: Span) -> Called {
    let products = values[0].zip(&values[1], Scalar::times).ok_or_else(|| {
        let [a, b] = [0, 1].map(|place: usize| values[place].elements.len());
        let message = format!("inprod of {a} and {b} elements");
        Diagnostic::new(span, message, "dimension mismatch")
    })?;
    Ok(Value::one(sum(products.elements.into_iter())))
}

fn repetition(values: &[Value], _: Span) -> Called {
    let times = values[1].single().and_then(Scalar::known).unwrap_or(0.0);
    let elements = values[0].elements.iter().cloned();
    let count = values[0].elements.len() * times.max(0.0) as usize;
    Ok(Value::vector(elements.cycle().take(count).collect()))
}

fn choice(values: &[Value], _: Span) -> Called {
    Ok(match values[0].single().and_then(Scalar::known) {
        Some(0.0) => values[2].clone(),
        Some(_) => values[1].clone(),
        None => Value::one(Scalar::Opaque),
    })
}

/// Puts what is told of each number, its place and its rank where it belongs.
fn ordered(value: &Value, tell: fn(f64, usize, usize) -> (usize, f64)) -> Called {
    let Some(numbers) = value.numbers() else {
        return Ok(value.map(|_| Scalar::Opaque));
    };
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
    let mut out = vec![Scalar::Opaque; numbers.len()];
    for (rank, &place) in order.iter().enumerate() {
        let (at, told) = tell(numbers[place], place, rank);
        out[at] = Scalar::Known(told);
    }
    Ok(Value::vector(out))
}

fn transpose(values: &[Value], span: Span) -> Called {
    let value = &values[0];
    let (rows, columns) = value.matrix().ok_or_else(|| {
        let message = format!("t of an array of lengths {:?}", value.dims);
        Diagnostic::new(span, message, "expected a matrix")
    })?;
    let places = (0..columns).flat_map(|column| (0..rows).map(move |row| row * columns + column));
    let elements = places.map(|place| value.elements[place].clone()).collect();
    let dims = vec![columns, rows];
    Ok(Value { dims, elements })
}

/// A square matrix of numbers; `None` where some are not known.
fn square(value: &Value, name: &str, span: Span) -> Result<Option<DMatrix<f64>>, Diagnostic> {
    let Some((rows, columns)) = value.matrix().filter(|(rows, columns)| rows == columns) else {
        let message = format!("{name} of an array of lengths {:?}", value.dims);
        return Err(Diagnostic::new(span, message, "expected a square matrix"));
    };
    let matrix = |numbers: Vec<f64>| DMatrix::from_row_slice(rows, columns, &numbers);
    Ok(value.numbers().map(matrix))
}

fn ln_determinant(values: &[Value], span: Span) -> Called {
    let matrix = square(&values[0], "logdet", span)?;
    let found = matrix.map(|matrix| Scalar::Known(matrix.determinant().ln()));
    Ok(Value::one(found.unwrap_or(Scalar::Opaque)))
}

fn inverse(values: &[Value], span: Span) -> Called {
    let value = &values[0];
    let Some(matrix) = square(value, "inverse", span)? else {
        return Ok(value.map(|_| Scalar::Opaque));
    };
    let inverse = matrix
        .try_inverse()
        .ok_or_else(|| Diagnostic::new(span, "inverse of a singular matrix", "has no inverse"))?;
    let entries = inverse.transpose();
    let elements = entries.iter().map(|&entry| Scalar::Known(entry)).collect();
    let dims = value.dims.clone();
    Ok(Value { dims, elements })
}
