//! The functions of the language.

use std::rc::Rc;

use collapsar::special::ln_gamma;
use nalgebra::DMatrix;

use crate::diagnostic::Diagnostic;
use crate::syntax::ast::{Link, Name, Operator, Span};
use crate::value::{Item, Value};

type Called = Result<Value, Diagnostic>;

/// What a function does.
#[derive(Debug, Clone, Copy)]
pub(super) enum Function {
    /// The same to each number.
    Elementwise(fn(f64) -> f64),
    /// What is known of an array without its elements.
    Lengths(Lengths),
    /// What an operator does.
    Operator(Operator),
    /// The largest or the smallest of all, and that of none.
    Extreme(fn(f64, f64) -> f64, f64),
    /// Something of the order of numbers.
    Ordered(Ordered),
    Sum,
    Mean,
    Product,
    Deviation,
    Variance,
    Concatenation,
    Repetition,
    InnerProduct,
    Choice,
    Transpose,
    Inverse,
    LogDeterminant,
}

/// Lengths of an array.
#[derive(Debug, Clone, Copy)]
pub(super) enum Lengths {
    Total,
    Each,
    Rows,
    Columns,
}

/// What is told of the order of numbers.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ordered {
    Ranks,
    Values,
    Places,
}

/// Names, numbers of arguments, where that is fixed, and what is done.
const FUNCTIONS: [(&str, Option<usize>, Function); 40] = [
    ("sqrt", Some(1), Function::Elementwise(f64::sqrt)),
    ("log", Some(1), Function::Elementwise(f64::ln)),
    ("exp", Some(1), Function::Elementwise(f64::exp)),
    ("abs", Some(1), Function::Elementwise(f64::abs)),
    ("round", Some(1), Function::Elementwise(f64::round)),
    ("trunc", Some(1), Function::Elementwise(f64::trunc)),
    ("step", Some(1), Function::Elementwise(|x| truth(x >= 0.0))),
    ("logit", Some(1), Function::Elementwise(logit)),
    ("ilogit", Some(1), Function::Elementwise(inverse_logit)),
    ("cloglog", Some(1), Function::Elementwise(cloglog)),
    ("icloglog", Some(1), Function::Elementwise(inverse_cloglog)),
    ("phi", Some(1), Function::Elementwise(normal_cdf)),
    ("loggam", Some(1), Function::Elementwise(ln_gamma)),
    ("logfact", Some(1), Function::Elementwise(ln_factorial)),
    ("sin", Some(1), Function::Elementwise(f64::sin)),
    ("cos", Some(1), Function::Elementwise(f64::cos)),
    ("tan", Some(1), Function::Elementwise(f64::tan)),
    ("length", Some(1), Function::Lengths(Lengths::Total)),
    ("dim", Some(1), Function::Lengths(Lengths::Each)),
    ("nrow", Some(1), Function::Lengths(Lengths::Rows)),
    ("ncol", Some(1), Function::Lengths(Lengths::Columns)),
    ("pow", Some(2), Function::Operator(Operator::Power)),
    ("equals", Some(2), Function::Operator(Operator::Equal)),
    ("max", None, Function::Extreme(f64::max, f64::NEG_INFINITY)),
    ("min", None, Function::Extreme(f64::min, f64::INFINITY)),
    ("rank", Some(1), Function::Ordered(Ordered::Ranks)),
    ("sort", Some(1), Function::Ordered(Ordered::Values)),
    ("order", Some(1), Function::Ordered(Ordered::Places)),
    ("sum", None, Function::Sum),
    ("mean", None, Function::Mean),
    ("prod", None, Function::Product),
    ("sd", None, Function::Deviation),
    ("var", None, Function::Variance),
    ("c", None, Function::Concatenation),
    ("rep", Some(2), Function::Repetition),
    ("inprod", Some(2), Function::InnerProduct),
    ("ifelse", Some(3), Function::Choice),
    ("t", Some(1), Function::Transpose),
    ("inverse", Some(1), Function::Inverse),
    ("logdet", Some(1), Function::LogDeterminant),
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

    /// Whether it must see the numbers of one draw together.
    fn is_by_draw(self) -> bool {
        match self {
            Self::Ordered(_)
            | Self::Deviation
            | Self::Variance
            | Self::Choice
            | Self::Inverse
            | Self::LogDeterminant => true,
            Self::Elementwise(_)
            | Self::Lengths(_)
            | Self::Operator(_)
            | Self::Extreme(..)
            | Self::Sum
            | Self::Mean
            | Self::Product
            | Self::Concatenation
            | Self::Repetition
            | Self::InnerProduct
            | Self::Transpose => false,
        }
    }
}

impl Lengths {
    /// Lengths of an array of these dimensions.
    pub(super) fn of(self, dims: &[usize]) -> Value {
        let length = |place: usize| dims.get(place).copied().unwrap_or(1);
        match self {
            Self::Total => Value::number(dims.iter().product::<usize>() as f64),
            Self::Each => {
                let lengths = dims.iter().map(|&length| Item::Known(length as f64));
                Value::vector(lengths.collect())
            }
            Self::Rows => Value::number(length(0) as f64),
            Self::Columns => Value::number(length(1) as f64),
        }
    }
}

fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

fn logit(p: f64) -> f64 {
    (p / (1.0 - p)).ln()
}

fn inverse_logit(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn cloglog(p: f64) -> f64 {
    (-(-p).ln_1p()).ln()
}

fn inverse_cloglog(x: f64) -> f64 {
    -(-x.exp()).exp_m1()
}

fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

fn ln_factorial(x: f64) -> f64 {
    ln_gamma(x + 1.0)
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

/// A function of as many arguments as it takes.
pub(super) fn call(function: Function, arguments: &[Value], span: Span) -> Called {
    if function.is_by_draw()
        && let Some(draws) = arguments.iter().find_map(Value::draws)
    {
        return by_draw(function, arguments, draws, span);
    }
    let all = || {
        arguments
            .iter()
            .flat_map(|value| value.items.iter().cloned())
    };
    let of_numbers = |of: fn(&[f64]) -> f64| {
        let numbers = all().map(|item| item.known()).collect::<Option<Vec<f64>>>();
        Value::one(numbers.map_or(Item::Opaque, |numbers| Item::Known(of(&numbers))))
    };
    Ok(match function {
        Function::Elementwise(function) => arguments[0].map(|item| item.map(function)),
        Function::Lengths(lengths) => lengths.of(&arguments[0].dims),
        Function::Operator(operator) => binary(operator, &arguments[0], &arguments[1], span)?,
        Function::Extreme(more, none) => {
            Value::one(all().fold(Item::Known(none), |most, item| most.map_with(&item, more)))
        }
        Function::Ordered(ordered) => order(ordered, &arguments[0]),
        Function::Sum => Value::one(sum(all())),
        Function::Mean => Value::one(sum(all()).over(&Item::Known(all().count() as f64))),
        Function::Product => {
            Value::one(all().fold(Item::Known(1.0), |product, item| product.times(&item)))
        }
        Function::Deviation => of_numbers(|numbers| variance(numbers).sqrt()),
        Function::Variance => of_numbers(variance),
        Function::Concatenation => Value::vector(all().collect()),
        Function::Repetition => {
            let times = arguments[1].single().and_then(Item::known).unwrap_or(0.0);
            let items = arguments[0].items.iter().cloned();
            let count = arguments[0].items.len() * times.max(0.0) as usize;
            Value::vector(items.cycle().take(count).collect())
        }
        Function::InnerProduct => {
            let (a, b) = (&arguments[0], &arguments[1]);
            let products = a.zip(b, Item::times).ok_or_else(|| {
                let message = format!("inprod of {} and {} elements", a.items.len(), b.items.len());
                Diagnostic::new(span, message, "dimension mismatch")
            })?;
            Value::one(sum(products.items.into_iter()))
        }
        Function::Choice => match arguments[0].single().and_then(Item::known) {
            Some(0.0) => arguments[2].clone(),
            Some(_) => arguments[1].clone(),
            None => Value::one(Item::Opaque),
        },
        Function::Transpose => transpose(&arguments[0], span)?,
        Function::Inverse => inverse(&arguments[0], span)?,
        Function::LogDeterminant => {
            let matrix = square(&arguments[0], "logdet", span)?;
            Value::one(matrix.map_or(Item::Opaque, |matrix| {
                Item::Known(matrix.determinant().ln())
            }))
        }
    })
}

/// A function that must see all of its numbers, draw by draw.
fn by_draw(function: Function, arguments: &[Value], draws: usize, span: Span) -> Called {
    let mut dims = vec![];
    let mut columns: Vec<Vec<f64>> = vec![];
    for draw in 0..draws {
        let of_draw = arguments.iter().map(|value| value.of_draw(draw));
        let value = call(function, &of_draw.collect::<Vec<_>>(), span)?;
        columns.resize_with(value.items.len(), || Vec::with_capacity(draws));
        for (column, item) in columns.iter_mut().zip(&value.items) {
            column.push(item.known().unwrap_or(f64::NAN));
        }
        dims = value.dims;
    }
    Ok(Value {
        dims,
        items: columns
            .into_iter()
            .map(|column| Item::Drawn(Rc::new(column)))
            .collect(),
    })
}

fn variance(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / (count - 1.0)
}

fn order(ordered: Ordered, value: &Value) -> Value {
    let Some(numbers) = value.numbers() else {
        return value.map(|_| Item::Opaque);
    };
    let mut places: Vec<usize> = (0..numbers.len()).collect();
    places.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
    let mut out = vec![0.0; numbers.len()];
    for (rank, &place) in places.iter().enumerate() {
        match ordered {
            Ordered::Ranks => out[place] = rank as f64 + 1.0,
            Ordered::Values => out[rank] = numbers[place],
            Ordered::Places => out[rank] = place as f64 + 1.0,
        }
    }
    Value::vector(out.into_iter().map(Item::Known).collect())
}

fn transpose(value: &Value, span: Span) -> Called {
    let (rows, columns) = value.matrix().ok_or_else(|| {
        Diagnostic::new(
            span,
            format!("t of an array of lengths {:?}", value.dims),
            "expected a matrix",
        )
    })?;
    let items = (0..columns)
        .flat_map(|column| (0..rows).map(move |row| value.items[row * columns + column].clone()));
    Ok(Value {
        dims: vec![columns, rows],
        items: items.collect(),
    })
}

/// A square matrix of numbers; `None` where some are not known.
fn square(value: &Value, name: &str, span: Span) -> Result<Option<DMatrix<f64>>, Diagnostic> {
    match value.matrix() {
        Some((rows, columns)) if rows == columns => Ok(value
            .numbers()
            .map(|numbers| DMatrix::from_row_slice(rows, rows, &numbers))),
        _ => Err(Diagnostic::new(
            span,
            format!("{name} of an array of lengths {:?}", value.dims),
            "expected a square matrix",
        )),
    }
}

fn inverse(value: &Value, span: Span) -> Called {
    let Some(matrix) = square(value, "inverse", span)? else {
        return Ok(value.map(|_| Item::Opaque));
    };
    let inverse = matrix
        .try_inverse()
        .ok_or_else(|| Diagnostic::new(span, "inverse of a singular matrix", "has no inverse"))?;
    let items = inverse
        .transpose()
        .iter()
        .map(|&value| Item::Known(value))
        .collect();
    Ok(Value {
        dims: value.dims.clone(),
        items,
    })
}

/// `left operator right`.
pub(super) fn binary(operator: Operator, left: &Value, right: &Value, span: Span) -> Called {
    let tested = |test: fn(f64, f64) -> bool| {
        move |a: &Item, b: &Item| a.map_with(b, |a, b| truth(test(a, b)))
    };
    let zipped = match operator {
        Operator::Plus => left.zip(right, Item::plus),
        Operator::Minus => left.zip(right, Item::minus),
        Operator::Times => left.zip(right, Item::times),
        Operator::Over => left.zip(right, Item::over),
        Operator::Power => left.zip(right, Item::power),
        Operator::Equal => left.zip(right, tested(|a, b| a == b)),
        Operator::Unequal => left.zip(right, tested(|a, b| a != b)),
        Operator::Less => left.zip(right, tested(|a, b| a < b)),
        Operator::AtMost => left.zip(right, tested(|a, b| a <= b)),
        Operator::Greater => left.zip(right, tested(|a, b| a > b)),
        Operator::AtLeast => left.zip(right, tested(|a, b| a >= b)),
        Operator::And => left.zip(right, tested(|a, b| a != 0.0 && b != 0.0)),
        Operator::Or => left.zip(right, tested(|a, b| a != 0.0 || b != 0.0)),
        Operator::Product => return product(left, right, span),
        Operator::Range => None,
    };
    zipped.ok_or_else(|| {
        Diagnostic::new(
            span,
            format!(
                "operands of {} and {} elements",
                left.items.len(),
                right.items.len()
            ),
            "dimension mismatch",
        )
        .help("both sides need the same lengths, or one of them a single number")
    })
}

/// The matrix product; a vector on the left of a matrix is a row.
fn product(left: &Value, right: &Value, span: Span) -> Called {
    let mismatch = || {
        Diagnostic::new(
            span,
            format!("a product of lengths {:?} and {:?}", left.dims, right.dims),
            "dimension mismatch",
        )
    };
    let (mut rows, mut inner) = left.matrix().ok_or_else(mismatch)?;
    let (height, columns) = right.matrix().ok_or_else(mismatch)?;
    if left.dims.len() == 1 && inner != height {
        (rows, inner) = (inner, rows);
    }
    if inner != height {
        return Err(mismatch());
    }
    let mut items = Vec::with_capacity(rows * columns);
    for row in 0..rows {
        for column in 0..columns {
            let terms = (0..inner).map(|place| {
                left.items[row * inner + place].times(&right.items[place * columns + column])
            });
            items.push(sum(terms));
        }
    }
    let dims = match (rows, columns) {
        (1, 1) => vec![],
        (length, 1) | (1, length) => vec![length],
        _ => vec![rows, columns],
    };
    Ok(Value { dims, items })
}

/// The sum of items; numbers are added as numbers.
pub(crate) fn sum(items: impl Iterator<Item = Item>) -> Item {
    let mut known = 0.0;
    let mut rest: Option<Item> = None;
    for item in items {
        match item {
            Item::Known(value) => known += value,
            item => rest = Some(rest.map_or_else(|| item.clone(), |sum: Item| sum.plus(&item))),
        }
    }
    match rest {
        None => Item::Known(known),
        Some(rest) if known == 0.0 => rest,
        Some(rest) => rest.plus(&Item::Known(known)),
    }
}
