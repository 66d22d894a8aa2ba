//! The functions of the language.

#![allow(
    clippy::unnecessary_wraps,
    reason = "the functions of a table have one shape"
)]

use std::rc::Rc;

use collapsar::elementary::Elementary;
use collapsar::limits::ELEMENTS;
use collapsar::special::ln_gamma;
use nalgebra::DMatrix;

use super::laws::{self, Asked, Law};
use super::operators::{binary, sum, truth};
use crate::diagnostic::{Checked, Diagnostic};
use crate::syntax::ast::{Link, Name, Operator, Span};
use crate::value::{Inverse, Scalar, Value};

/// What a function is computed from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Function {
    /// Each number by itself.
    Elementwise(fn(f64) -> f64),
    /// The same, of what is not known too.
    Each(fn(&Scalar) -> Scalar),
    /// Each number, with a name that is kept where the number is not known.
    Linked(Inverse, fn(f64) -> f64),
    /// What undoes such a function.
    Unlinked(Inverse, fn(f64) -> f64),
    /// The lengths of an array, without its elements.
    Lengths(fn(&[usize]) -> Value),
    /// Two values, by an operator.
    Operation(Operator),
    /// All elements one after another, after a first number.
    Folded(f64, fn(&Scalar, &Scalar) -> Scalar),
    /// As many values as it takes, where that is fixed, known or not.
    Values(Option<usize>, fn(&[Value], Span) -> Checked<Value>),
    /// The same, of one draw at a time where there are many.
    OneDraw(Option<usize>, fn(&[Value], Span) -> Checked<Value>),
    /// All numbers of one draw.
    Numbers(fn(&[f64]) -> f64),
    /// What is told of each number of one draw, its place and its rank, and where that belongs.
    Ordered(fn(f64, usize, usize) -> (usize, f64)),
    /// A density, a distribution function or a quantile.
    Told(&'static Law, Asked),
}

use Function::{
    Each, Elementwise, Folded, Lengths, Linked, Numbers, OneDraw, Operation, Ordered, Told,
    Unlinked, Values,
};

const FUNCTIONS: [(&str, Function); 51] = [
    ("sqrt", Each(Scalar::root)),
    ("log", Unlinked(Inverse::Log, f64::ln_)),
    ("exp", Linked(Inverse::Log, f64::exp_)),
    ("abs", Elementwise(f64::abs)),
    ("round", Elementwise(f64::round)),
    ("trunc", Elementwise(f64::trunc)),
    ("step", Elementwise(|x| truth(x >= 0.0))),
    ("logit", Unlinked(Inverse::Logit, |p| (p / (1.0 - p)).ln_())),
    ("ilogit", Linked(Inverse::Logit, inverse_logit)),
    ("cloglog", Elementwise(|p| (-(-p).ln_1p_()).ln_())),
    ("icloglog", Elementwise(inverse_cloglog)),
    ("phi", Linked(Inverse::Probit, normal_cdf)),
    ("loggam", Elementwise(ln_gamma)),
    ("logfact", Elementwise(|x| ln_gamma(x + 1.0))),
    ("sin", Elementwise(f64::sin_)),
    ("cos", Elementwise(f64::cos_)),
    ("tan", Elementwise(f64::tan_)),
    ("arcsin", Elementwise(f64::asin_)),
    ("arccos", Elementwise(f64::acos_)),
    ("arctan", Elementwise(f64::atan_)),
    ("sinh", Elementwise(f64::sinh_)),
    ("cosh", Elementwise(f64::cosh_)),
    ("tanh", Elementwise(f64::tanh_)),
    ("arcsinh", Elementwise(f64::asinh_)),
    ("arccosh", Elementwise(f64::acosh_)),
    ("arctanh", Elementwise(f64::atanh_)),
    ("probit", Elementwise(normal_quantile)),
    ("interp.lin", OneDraw(Some(3), interpolation)),
    ("length", Lengths(|dims| count(dims.iter().product()))),
    ("dim", Lengths(dimensions)),
    ("nrow", Lengths(|dims| length(dims, 0))),
    ("ncol", Lengths(|dims| length(dims, 1))),
    ("pow", Operation(Operator::Power)),
    ("equals", Operation(Operator::Equal)),
    (
        "max",
        Folded(f64::NEG_INFINITY, |a, b| a.map_with(b, f64::max)),
    ),
    ("min", Folded(f64::INFINITY, |a, b| a.map_with(b, f64::min))),
    ("prod", Folded(1.0, Scalar::times)),
    ("sum", Values(None, |v, _| Ok(Value::one(sum(all(v)))))),
    ("mean", Values(None, mean)),
    ("inprod", Values(Some(2), inner_product)),
    (
        "c",
        Values(None, |v, _| Ok(Value::vector(all(v).collect()))),
    ),
    ("rep", Values(Some(2), repetition)),
    ("t", Values(Some(1), transpose)),
    ("sd", Numbers(|numbers| variance(numbers).sqrt())),
    ("var", Numbers(variance)),
    ("rank", Ordered(|_, place, rank| (place, rank as f64 + 1.0))),
    ("sort", Ordered(|number, _, rank| (rank, number))),
    (
        "order",
        Ordered(|_, place, rank| (rank, place as f64 + 1.0)),
    ),
    ("ifelse", OneDraw(Some(3), choice)),
    ("inverse", OneDraw(Some(1), inverse)),
    ("logdet", OneDraw(Some(1), ln_determinant)),
];

impl Function {
    pub(super) fn named(name: &str) -> Option<Self> {
        let found = FUNCTIONS.iter().find(|(known, _)| *known == name);
        let law = || laws::named(name).map(|(law, asked)| Told(law, asked));
        found.map(|(_, function)| *function).or_else(law)
    }

    /// How many arguments there are, where that is fixed.
    fn count(self) -> Option<usize> {
        match self {
            Elementwise(_) | Each(_) | Linked(..) | Unlinked(..) | Lengths(_) | Ordered(_) => {
                Some(1)
            }
            Operation(_) => Some(2),
            Folded(..) | Numbers(_) => None,
            Values(count, _) | OneDraw(count, _) => count,
            Told(law, _) => Some(law.arguments()),
        }
    }

    /// The function of a name, with so many arguments.
    pub(super) fn of(name: &Name, arguments: usize, span: Span) -> Checked<Self> {
        let Name { text, span: at } = name;
        let Some(function) = Self::named(text) else {
            let message = format!("{text} is not a function that is known");
            return Err(Diagnostic::new(*at, message, "unknown function").help(unknown(text)));
        };
        match function.count() {
            Some(count) if count != arguments => {
                let noun = if count == 1 { "argument" } else { "arguments" };
                let message = format!("{text} takes {count} {noun}, and {arguments} are given");
                Err(Diagnostic::new(span, message, "here"))
            }
            _ => Ok(function),
        }
    }

    /// The function of as many arguments as it takes.
    pub(super) fn call(self, arguments: &[Value], span: Span) -> Checked<Value> {
        match self {
            Elementwise(function) => Ok(arguments[0].map(|element| element.map(function))),
            Each(function) => Ok(arguments[0].map(function)),
            Linked(inverse, function) => {
                Ok(arguments[0].map(|element| element.linked(inverse, function)))
            }
            Unlinked(inverse, function) => {
                Ok(arguments[0].map(|element| element.unlinked(inverse, function)))
            }
            Lengths(function) => Ok(function(&arguments[0].dims)),
            Operation(operator) => binary(operator, &arguments[0], &arguments[1], span),
            Folded(first, function) => {
                let first = Scalar::Known(first);
                let folded = all(arguments).fold(first, |a, b| function(&a, &b));
                Ok(Value::one(folded))
            }
            Values(_, function) => function(arguments, span),
            OneDraw(_, function) => by_draw(arguments, |values| function(values, span)),
            Numbers(function) => by_draw(arguments, |values| Ok(of_numbers(values, function))),
            Ordered(tell) => by_draw(arguments, |values| Ok(ordered(&values[0], tell))),
            Told(law, asked) => by_draw(arguments, |values| told((law, asked), values, span)),
        }
    }
}

/// What to write for a function that there is not.
fn unknown(name: &str) -> String {
    let instead = match name {
        "ln" => "log(x) is the natural logarithm",
        "log10" => "log(x)/log(10) is the decimal logarithm",
        "log2" => "log(x)/log(2) is the logarithm to the base 2",
        "floor" | "ceiling" | "ceil" => "trunc(x) drops what follows the point",
        "expit" | "inv.logit" | "plogit" => "ilogit(x) is the inverse of logit",
        "Phi" => "phi(x) is the distribution function of the standard normal",
        "gamma" => "exp(loggam(x)) is the gamma function",
        "lgamma" => "loggam(x) is the logarithm of the gamma function",
        "factorial" => "exp(logfact(x)) is the factorial",
        "square" => "x^2 is the square",
        "solve" => "inverse(A) is the inverse of a matrix",
        "det" => "exp(logdet(A)) is a determinant",
        "seq" => "a range is written 1:n",
        "cumsum" => "sum(x[1:i]) is the sum up to i, in a loop",
        "cumprod" => "prod(x[1:i]) is the product up to i, in a loop",
        "ranked" => "name the sorted vector first: s[1:N] <- sort(x[])",
        "cut" => "there is no cut(): all of the model informs all of it",
        "dot" | "crossprod" => "inprod(a[], b[]) is the inner product",
        _ => return format!("known are {}", known().join(", ")),
    };
    instead.to_owned()
}

/// The names of all functions, those of distributions by example.
fn known() -> Vec<&'static str> {
    let names = FUNCTIONS.iter().map(|(name, _)| *name);
    names
        .chain(["dnorm(x, mu, tau)", "pnorm", "qnorm and the like"])
        .collect()
}

/// A function that must see the numbers of one draw together.
fn by_draw(arguments: &[Value], function: impl Fn(&[Value]) -> Checked<Value>) -> Checked<Value> {
    let Some(draws) = arguments.iter().find_map(Value::draws) else {
        return function(arguments);
    };
    let mut dims = vec![];
    let mut columns: Vec<Vec<f64>> = vec![];
    for draw in 0..draws {
        let of_draw = arguments.iter().map(|value| value.of_draw(draw));
        let value = function(&of_draw.collect::<Vec<Value>>())?;
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

pub(crate) fn inverse_logit(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp_())
}

fn inverse_cloglog(x: f64) -> f64 {
    -(-x.exp_()).exp_m1_()
}

/// A function of a law for each element, single arguments with all of the others.
fn told((law, asked): (&Law, Asked), values: &[Value], span: Span) -> Checked<Value> {
    let longest = values.iter().max_by_key(|value| value.elements.len());
    let shape = longest.map_or_else(|| Value::number(f64::NAN), Clone::clone);
    let count = shape.elements.len();
    if let Some(other) = values
        .iter()
        .find(|v| ![1, count].contains(&v.elements.len()))
    {
        let message = format!("arguments of {count} and {} elements", other.elements.len());
        return Err(Diagnostic::new(span, message, "dimension mismatch"));
    }
    let element = |place: usize| {
        let number = |value: &Value| value.elements[place % value.elements.len()].known();
        let numbers: Option<Vec<f64>> = values.iter().map(number).collect();
        numbers.map_or(Scalar::Opaque, |numbers| {
            Scalar::Known(law.tell(asked, &numbers))
        })
    };
    let elements = (0..count).map(element).collect();
    let dims = shape.dims;
    Ok(Value { dims, elements })
}

fn normal_quantile(p: f64) -> f64 {
    let law = laws::named("qnorm");
    law.map_or(f64::NAN, |(law, asked)| law.tell(asked, &[p, 0.0, 1.0]))
}

/// The height at a place of a line through points, which is level before the first and after the last.
fn interpolation(values: &[Value], span: Span) -> Checked<Value> {
    let [at, x, y] = [0, 1, 2].map(|place: usize| values[place].numbers());
    let (Some(at), Some(x), Some(y)) = (at, x, y) else {
        return Ok(values[0].map(|_| Scalar::Opaque));
    };
    if x.len() != y.len() || x.len() < 2 || x.windows(2).any(|pair| pair[0] >= pair[1]) {
        let message = "interp.lin of points that do not rise from left to right";
        return Err(Diagnostic::new(
            span,
            message,
            "expected two or more, and as many heights",
        ));
    }
    let height = |at: f64| {
        if at <= x[0] {
            return y[0];
        }
        let Some(next) = x.iter().position(|x| at < *x) else {
            return y[y.len() - 1];
        };
        let share = (at - x[next - 1]) / (x[next] - x[next - 1]);
        y[next - 1] + share * (y[next] - y[next - 1])
    };
    let elements = at.into_iter().map(|at| Scalar::Known(height(at))).collect();
    let dims = values[0].dims.clone();
    Ok(Value { dims, elements })
}

pub(super) fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

/// Undoes the function around a target.
pub(super) fn without_link(link: Link, element: &Scalar) -> Scalar {
    match link {
        Link::Log => element.linked(Inverse::Log, f64::exp_),
        Link::Logit => element.linked(Inverse::Logit, inverse_logit),
        Link::Cloglog => element.map(inverse_cloglog),
        Link::Probit => element.linked(Inverse::Probit, normal_cdf),
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
    let elements = values.iter().flat_map(|value| &value.elements);
    elements.cloned()
}

fn mean(values: &[Value], _: Span) -> Checked<Value> {
    let count = Scalar::Known(all(values).count() as f64);
    Ok(Value::one(sum(all(values)).over(&count)))
}

fn of_numbers(values: &[Value], function: fn(&[f64]) -> f64) -> Value {
    let numbers: Option<Vec<f64>> = all(values).map(|element| element.known()).collect();
    let found = numbers.map(|numbers| Scalar::Known(function(&numbers)));
    Value::one(found.unwrap_or(Scalar::Opaque))
}

fn variance(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean).powi(2));
    squares.sum::<f64>() / (count - 1.0)
}

fn inner_product(values: &[Value], span: Span) -> Checked<Value> {
    let products = values[0].zip(&values[1], Scalar::times).ok_or_else(|| {
        let [a, b] = [0, 1].map(|place: usize| values[place].elements.len());
        let message = format!("inprod of {a} and {b} elements");
        Diagnostic::new(span, message, "dimension mismatch")
    })?;
    Ok(Value::one(sum(products.elements.into_iter())))
}

fn repetition(values: &[Value], span: Span) -> Checked<Value> {
    let times = values[1].single().and_then(Scalar::known).unwrap_or(0.0);
    let elements = values[0].elements.iter().cloned();
    let count = values[0].elements.len() as f64 * times.max(0.0).trunc();
    // Also what is not a number.
    if !(0.0..=ELEMENTS as f64).contains(&count) {
        let message = format!("rep of {count} elements, expected {ELEMENTS} at most");
        return Err(Diagnostic::new(span, message, "too long"));
    }
    let count = count as usize;
    Ok(Value::vector(elements.cycle().take(count).collect()))
}

fn choice(values: &[Value], _: Span) -> Checked<Value> {
    Ok(match values[0].single().and_then(Scalar::known) {
        Some(0.0) => values[2].clone(),
        Some(_) => values[1].clone(),
        None => Value::one(Scalar::Opaque),
    })
}

/// Puts what is told of each number, its place and its rank where it belongs.
fn ordered(value: &Value, tell: fn(f64, usize, usize) -> (usize, f64)) -> Value {
    let Some(numbers) = value.numbers() else {
        return value.map(|_| Scalar::Opaque);
    };
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
    let mut out = vec![Scalar::Opaque; numbers.len()];
    for (rank, &place) in order.iter().enumerate() {
        let (at, told) = tell(numbers[place], place, rank);
        out[at] = Scalar::Known(told);
    }
    Value::vector(out)
}

fn transpose(values: &[Value], span: Span) -> Checked<Value> {
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
fn square(value: &Value, name: &str, span: Span) -> Checked<Option<DMatrix<f64>>> {
    let Some((rows, columns)) = value.matrix().filter(|(rows, columns)| rows == columns) else {
        let message = format!("{name} of an array of lengths {:?}", value.dims);
        return Err(Diagnostic::new(span, message, "expected a square matrix"));
    };
    let matrix = |numbers: Vec<f64>| DMatrix::from_row_slice(rows, columns, &numbers);
    Ok(value.numbers().map(matrix))
}

fn ln_determinant(values: &[Value], span: Span) -> Checked<Value> {
    let matrix = square(&values[0], "logdet", span)?;
    let found = matrix.map(|matrix| Scalar::Known(matrix.determinant().ln_()));
    Ok(Value::one(found.unwrap_or(Scalar::Opaque)))
}

fn inverse(values: &[Value], span: Span) -> Checked<Value> {
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
