//! The functions of the language.

use std::rc::Rc;

use nalgebra::DMatrix;

use crate::diagnostic::Diagnostic;
use crate::syntax::ast::{Name, Operator, Span};
use crate::value::{Item, Value};

type Called = Result<Value, Diagnostic>;

/// A complaint about a number of arguments.
pub(super) fn arity(name: &str, expected: usize, found: usize, span: Span) -> Diagnostic {
    let noun = if expected == 1 {
        "argument"
    } else {
        "arguments"
    };
    Diagnostic::new(
        span,
        format!("{name} takes {expected} {noun}, and {found} are given"),
        "here",
    )
}

/// `left operator right`.
pub(super) fn binary(operator: Operator, left: &Value, right: &Value, span: Span) -> Called {
    let truth = |test: fn(f64, f64) -> bool| {
        move |a: &Item, b: &Item| a.map_with(b, |a, b| f64::from(u8::from(test(a, b))))
    };
    let zipped = match operator {
        Operator::Plus => left.zip(right, Item::plus),
        Operator::Minus => left.zip(right, Item::minus),
        Operator::Times => left.zip(right, Item::times),
        Operator::Over => left.zip(right, Item::over),
        Operator::Power => left.zip(right, Item::power),
        Operator::Equal => left.zip(right, truth(|a, b| a == b)),
        Operator::Unequal => left.zip(right, truth(|a, b| a != b)),
        Operator::Less => left.zip(right, truth(|a, b| a < b)),
        Operator::AtMost => left.zip(right, truth(|a, b| a <= b)),
        Operator::Greater => left.zip(right, truth(|a, b| a > b)),
        Operator::AtLeast => left.zip(right, truth(|a, b| a >= b)),
        Operator::And => left.zip(right, truth(|a, b| a != 0.0 && b != 0.0)),
        Operator::Or => left.zip(right, truth(|a, b| a != 0.0 || b != 0.0)),
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

/// Undoes a link function around a target.
pub(super) fn unlink(link: &Name, value: &Value) -> Called {
    let inverse: fn(f64) -> f64 = match link.text.as_str() {
        "log" => f64::exp,
        "logit" => |x| 1.0 / (1.0 + (-x).exp()),
        "cloglog" => |x| -(-x.exp()).exp_m1(),
        "probit" => normal_share,
        other => {
            return Err(Diagnostic::new(
                link.span,
                format!("{other} is not a link function"),
                "unknown",
            )
            .help("log, logit, cloglog and probit are"));
        }
    };
    Ok(value.map(|item| item.map(inverse)))
}

/// The standard normal distribution function.
fn normal_share(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

/// `function(arguments)`.
pub(super) fn call(function: &Name, arguments: &[Value], span: Span) -> Called {
    let name = function.text.as_str();
    let expect = |count: usize| {
        if arguments.len() == count {
            Ok(())
        } else {
            Err(arity(name, count, arguments.len(), span))
        }
    };
    if matches!(
        name,
        "inverse" | "logdet" | "rank" | "sort" | "order" | "sd" | "var" | "ifelse"
    ) && let Some(draws) = arguments.iter().find_map(Value::draws)
    {
        return by_draw(function, arguments, draws, span);
    }
    let elementwise: Option<fn(f64) -> f64> = match name {
        "sqrt" => Some(f64::sqrt),
        "log" => Some(f64::ln),
        "exp" => Some(f64::exp),
        "abs" => Some(f64::abs),
        "round" => Some(f64::round),
        "trunc" => Some(f64::trunc),
        "step" => Some(|x| f64::from(u8::from(x >= 0.0))),
        "logit" => Some(|p| (p / (1.0 - p)).ln()),
        "ilogit" => Some(|x| 1.0 / (1.0 + (-x).exp())),
        "cloglog" => Some(|p| (-(-p).ln_1p()).ln()),
        "icloglog" => Some(|x| -(-x.exp()).exp_m1()),
        "phi" => Some(normal_share),
        "loggam" => Some(collapsar::special::ln_gamma),
        "logfact" => Some(|x| collapsar::special::ln_gamma(x + 1.0)),
        "sin" => Some(f64::sin),
        "cos" => Some(f64::cos),
        "tan" => Some(f64::tan),
        _ => None,
    };
    if let Some(function) = elementwise {
        expect(1)?;
        return Ok(arguments[0].map(|item| item.map(function)));
    }
    let all = || {
        arguments
            .iter()
            .flat_map(|value| value.items.iter().cloned())
    };
    let numbers = || all().map(|item| item.known()).collect::<Option<Vec<f64>>>();
    let opaque = || Ok(Value::one(Item::Opaque));
    match name {
        "sum" => Ok(Value::one(sum(all()))),
        "mean" => {
            let count = all().count() as f64;
            Ok(Value::one(sum(all()).over(&Item::Known(count))))
        }
        "c" => Ok(Value::vector(all().collect())),
        "prod" => {
            Ok(Value::one(all().fold(Item::Known(1.0), |product, item| {
                product.times(&item)
            })))
        }
        "max" | "min" if all().any(|item| matches!(item, Item::Drawn(_))) => {
            let larger = if name == "max" { f64::max } else { f64::min };
            let folded = all().reduce(|a, b| a.map_with(&b, larger));
            folded.map_or_else(opaque, |item| Ok(Value::one(item)))
        }
        "max" => numbers().map_or_else(opaque, |v| {
            Ok(Value::number(
                v.into_iter().fold(f64::NEG_INFINITY, f64::max),
            ))
        }),
        "min" => numbers().map_or_else(opaque, |v| {
            Ok(Value::number(v.into_iter().fold(f64::INFINITY, f64::min)))
        }),
        "sd" => numbers().map_or_else(opaque, |v| Ok(Value::number(variance(&v).sqrt()))),
        "var" => numbers().map_or_else(opaque, |v| Ok(Value::number(variance(&v)))),
        "inprod" => {
            expect(2)?;
            let (a, b) = (&arguments[0], &arguments[1]);
            let products = a.zip(b, Item::times).ok_or_else(|| {
                Diagnostic::new(
                    span,
                    format!("inprod of {} and {} elements", a.items.len(), b.items.len()),
                    "dimension mismatch",
                )
            })?;
            Ok(Value::one(sum(products.items.into_iter())))
        }
        "pow" => {
            expect(2)?;
            binary(Operator::Power, &arguments[0], &arguments[1], span)
        }
        "equals" => {
            expect(2)?;
            binary(Operator::Equal, &arguments[0], &arguments[1], span)
        }
        "ifelse" => {
            expect(3)?;
            match arguments[0].single().and_then(Item::known) {
                Some(0.0) => Ok(arguments[2].clone()),
                Some(_) => Ok(arguments[1].clone()),
                None => opaque(),
            }
        }
        "t" => {
            expect(1)?;
            transpose(&arguments[0], span)
        }
        "inverse" => {
            expect(1)?;
            inverse(&arguments[0], span)
        }
        "logdet" => {
            expect(1)?;
            let matrix = square(&arguments[0], "logdet", span)?;
            Ok(matrix.map_or_else(
                || Value::one(Item::Opaque),
                |matrix| Value::number(matrix.determinant().ln()),
            ))
        }
        "rank" | "sort" | "order" => {
            expect(1)?;
            Ok(sorted(name, &arguments[0]))
        }
        "rep" => {
            expect(2)?;
            let times = arguments[1].single().and_then(Item::known).unwrap_or(0.0);
            let items = arguments[0].items.iter().cloned();
            let count = arguments[0].items.len() * times.max(0.0) as usize;
            Ok(Value::vector(items.cycle().take(count).collect()))
        }
        _ => Err(Diagnostic::new(
            function.span,
            format!("{name} is not a function that is known"),
            "unknown function",
        )
        .help(
            "known are sum, mean, inprod, %*%, t, pow, sqrt, log, exp, inverse, logdet, equals, \
             step, max, min, length, dim, abs, round, trunc, prod, sd, var, rank, sort, ifelse, \
             logit, ilogit, cloglog, phi, loggam and logfact",
        )),
    }
}

/// A function that must see all of its numbers, draw by draw.
fn by_draw(function: &Name, arguments: &[Value], draws: usize, span: Span) -> Called {
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

fn sorted(name: &str, value: &Value) -> Value {
    let Some(numbers) = value.numbers() else {
        return value.map(|_| Item::Opaque);
    };
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
    let mut out = vec![0.0; numbers.len()];
    for (rank, &place) in order.iter().enumerate() {
        match name {
            "rank" => out[place] = rank as f64 + 1.0,
            "sort" => out[rank] = numbers[place],
            _ => out[rank] = place as f64 + 1.0,
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
