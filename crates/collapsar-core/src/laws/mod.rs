//! Decides what every potential must satisfy, as checks that others can run on theirs.
//!
//! Each law returns `Err` with a sentence that names the law and by how much it failed. Laws of
//! families are in [`family`], those of collapsed models and of directions on them in [`model`].
//!
//! Derivatives are checked by slope and not by one tolerance at one step: the error of a
//! first-order model must fall with the square of the step, down to the rounding of the function
//! itself. Steps are measured in the Fisher length of the direction, $\sqrt{d' H d}$, the length
//! at which a log-partition function changes appreciably, so directions may have any scale.

pub mod family;
pub mod model;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::Potential;
use crate::elementary::Elementary;
use crate::vector::{absolute_dot, dot};

/// What a law says: nothing, or which law failed and by how much.
pub type Verdict = Result<(), String>;

/// Steps are this part of a Fisher length, then halved again and again. An eighth stays inside
/// the domain of every log-gamma and log-determinant.
const FIRST_STEP: f64 = 0.125;
/// How often the step is halved. The square of the last step is below rounding.
const HALVINGS: i32 = 28;
/// Further halvings, whose errors are nothing but rounding and show how large it is.
const ROUNDING_HALVINGS: i32 = 12;
/// An error this many times the rounding level is known to about three per cent, which moves a
/// slope by less than 0.02.
const ABOVE_ROUNDING: f64 = 32.0;
/// The slope is fitted to the smallest steps whose errors are above rounding, where the next term
/// of the series matters least.
const FITTED: usize = 4;
/// How far a slope may be from 2. A missing or wrong derivative has slope 1; the third-order term
/// and rounding together move a slope by less than this.
const SLOPE_TOLERANCE: f64 = 0.2;

/// The gradient is the slope of the value: $f(x + td) - f(x) - t\langle g, d\rangle$ falls as $t^2$.
///
/// # Errors
/// Where it does not, or where the potential cannot be evaluated at `at`.
pub fn gradient_is_slope(potential: &impl Potential, at: &[f64], along: &[f64]) -> Verdict {
    let law = "gradient is the slope of the value";
    let value_and_slope = |at: &[f64]| {
        let (value, gradient) = evaluate(potential, at)?;
        Ok((vec![value], vec![dot(&gradient, along)]))
    };
    falls(law, TWO, potential, value_and_slope, at, along)
}

/// The Hessian product is the slope of the gradient: $g(x + td) - g(x) - tHd$ falls as $t^2$ or
/// faster (as $t^3$ where the third derivative along $d$ is zero).
///
/// # Errors
/// Where it does not, or where the potential cannot be evaluated at `at`.
pub fn hessian_is_slope(potential: &impl Potential, at: &[f64], along: &[f64]) -> Verdict {
    let law = "Hessian product is the slope of the gradient";
    let gradient_and_slopes =
        |at: &[f64]| Ok((evaluate(potential, at)?.1, product(potential, at, along)?));
    let function = gradient_and_slopes;
    falls(law, TWO_OR_MORE, potential, function, at, along)
}

/// A slope in words, and how much it may be.
type Slope = (&'static str, f64);

const TWO: Slope = ("2", 2.0 + SLOPE_TOLERANCE);
const TWO_OR_MORE: Slope = ("2 or more", f64::INFINITY);

/// Judges the slope with which the error of the first-order model of a function falls; the potential is
/// the one in whose Fisher length steps are measured.
fn falls(
    law: &str,
    (expected, most): Slope,
    potential: &impl Potential,
    function: impl Fn(&[f64]) -> Result<(Vec<f64>, Vec<f64>), String>,
    at: &[f64],
    along: &[f64],
) -> Verdict {
    let first = first_step(potential, at, along)?;
    let fitted = model_slope(function, at, along, first)?.unwrap_or(2.0);
    holds((2.0 - SLOPE_TOLERANCE..=most).contains(&fitted), || {
        format!("{law}: the error falls with slope {fitted:.3}, expected {expected}")
    })
}

/// What a law says that holds, or fails in these words.
fn holds(law: bool, failure: impl FnOnce() -> String) -> Verdict {
    if law { Ok(()) } else { Err(failure()) }
}

/// The Hessian is symmetric: $a'Hb = b'Ha$.
///
/// # Errors
/// Where it is not, or where the potential cannot be evaluated at `at`.
pub fn hessian_is_symmetric(
    potential: &impl Potential,
    at: &[f64],
    a: &[f64],
    b: &[f64],
) -> Verdict {
    let (product_a, product_b) = (product(potential, at, a)?, product(potential, at, b)?);
    let (left, right) = (dot(a, &product_b), dot(b, &product_a));
    // The terms of both sums, and what a and b could have had in common: an ill-conditioned point
    // loses digits in the products themselves, half of which must be left.
    let size = absolute_dot(a, &product_b) + absolute_dot(b, &product_a);
    let error = (left - right).abs();
    holds(error <= 1e-8 * size, || {
        let part = error / size;
        format!("Hessian is symmetric: {left:e} and {right:e} differ by {part:e} of their terms")
    })
}

/// The Hessian is non-negative: $d'Hd \ge 0$.
///
/// # Errors
/// Where it is not, or where the potential cannot be evaluated at `at`.
pub fn hessian_is_nonnegative(potential: &impl Potential, at: &[f64], along: &[f64]) -> Verdict {
    let product = product(potential, at, along)?;
    let (square, size) = (dot(along, &product), absolute_dot(along, &product));
    // A direction of no curvature may come out negative by the rounding of its terms; as above,
    // half the digits of an ill-conditioned point may be lost.
    holds(square >= -1e-8 * size, || {
        format!("Hessian is non-negative: {square:e} along a direction with terms of {size:e}")
    })
}

/// Runs every law of a potential at `at`, along random directions.
///
/// # Errors
/// The first law that fails.
pub fn conforms(potential: &impl Potential, at: &[f64], seed: u64) -> Verdict {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let diagonal = hessian_diagonal(potential, at)?;
    conforms_along(potential, at, || Ok(direction(&diagonal, &mut rng)))
}

/// The value alone is that beside the gradient, and a point that has one is inside the domain.
///
/// # Errors
/// Where it is not.
pub fn value_is_the_same(potential: &impl Potential, at: &[f64]) -> Verdict {
    let law = "the value alone is the value";
    let (with, _) = evaluate(potential, at)?;
    let alone = potential.value(at).map_err(|e| format!("{law}: {e}"))?;
    // Sums of the same terms in another order.
    holds((with - alone).abs() <= 1e-12 * (1.0 + with.abs()), || {
        format!("{law}: {alone} and {with}")
    })?;
    holds(potential.contains(at), || {
        format!("{law}: a point that has one is outside the domain")
    })
}

fn conforms_along(
    potential: &impl Potential,
    at: &[f64],
    mut direction: impl FnMut() -> Result<Vec<f64>, String>,
) -> Verdict {
    value_is_the_same(potential, at)?;
    let mut previous = direction()?;
    for _ in 0..3 {
        let along = direction()?;
        gradient_is_slope(potential, at, &along)?;
        hessian_is_slope(potential, at, &along)?;
        hessian_is_symmetric(potential, at, &along, &previous)?;
        hessian_is_nonnegative(potential, at, &along)?;
        previous = along;
    }
    Ok(())
}

/// A random direction whose coordinates matter equally: each is scaled by its own curvature.
fn direction(diagonal: &[f64], rng: &mut impl Rng) -> Vec<f64> {
    let mut one = |curvature: &f64| {
        let x: f64 = rng.random_range(-1.0..1.0);
        if *curvature > 0.0 {
            x / curvature.sqrt()
        } else {
            x
        }
    };
    diagonal.iter().map(&mut one).collect()
}

fn hessian_diagonal(potential: &impl Potential, at: &[f64]) -> Result<Vec<f64>, String> {
    let mut unit = vec![0.0; at.len()];
    let mut diagonal = vec![0.0; at.len()];
    for i in 0..at.len() {
        unit[i] = 1.0;
        diagonal[i] = product(potential, at, &unit)?[i];
        unit[i] = 0.0;
    }
    Ok(diagonal)
}

/// Points that differ from `at` by a few units in the last place: how much the function differs
/// there is its rounding level.
fn neighbours(at: &[f64]) -> impl Iterator<Item = Vec<f64>> {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    (0..8).map(move |_| {
        let mut nudge = |x: &f64| x * (1.0 + rng.random_range(-4.0..4.0) * f64::EPSILON);
        at.iter().map(&mut nudge).collect()
    })
}

/// A step of [`FIRST_STEP`] Fisher lengths, halved until it is inside the domain; 1 along a
/// direction of no curvature.
fn first_step(potential: &impl Potential, at: &[f64], along: &[f64]) -> Result<f64, String> {
    let length = dot(along, &product(potential, at, along)?).max(0.0).sqrt();
    let mut step = if length > 0.0 {
        FIRST_STEP / length
    } else {
        1.0
    };
    while evaluate(potential, &moved(at, along, step)).is_err() {
        step *= 0.5;
        if moved(at, along, step) == at {
            return Err("no step along the direction is inside the domain".to_owned());
        }
    }
    Ok(step)
}

/// The log-log slope of the error of a first-order model of a function, given its values and
/// their slopes along a direction; `None` where the error is at rounding level.
fn model_slope(
    function: impl Fn(&[f64]) -> Result<(Vec<f64>, Vec<f64>), String>,
    at: &[f64],
    along: &[f64],
    first: f64,
) -> Result<Option<f64>, String> {
    let (values, slopes) = function(at)?;
    let step = |k: i32| first * 0.5_f64.powi(k);
    // Rounding of values and slopes: of the numbers themselves, of the point they are taken at,
    // and of sums that cancel inside the function, which only steps too small for anything else
    // show.
    let own = |v: &f64| 4.0 * f64::EPSILON * v.abs();
    let mut value_rounding: Vec<f64> = values.iter().map(own).collect();
    let mut slope_rounding: Vec<f64> = slopes.iter().map(own).collect();
    let tiny = (HALVINGS..HALVINGS + ROUNDING_HALVINGS).map(step);
    let tiny = tiny.map(|step| (step, moved(at, along, step)));
    for (step, point) in neighbours(at).map(|point| (0.0, point)).chain(tiny) {
        let (there, slopes_there) = function(&point)?;
        for i in 0..values.len() {
            let error = there[i] - values[i] - step * slopes[i];
            value_rounding[i] = value_rounding[i].max(error.abs());
            slope_rounding[i] = slope_rounding[i].max((slopes_there[i] - slopes[i]).abs());
        }
    }
    let rounding = |i: usize, step: f64| value_rounding[i] + step * slope_rounding[i];
    let mut errors = Vec::new();
    for k in 0..HALVINGS {
        let step = step(k);
        let (there, _) = function(&moved(at, along, step))?;
        let (mut error, mut floor) = (0.0, 0.0);
        for i in 0..values.len() {
            // Coordinates may differ by many orders of magnitude: each is measured in its rounding.
            let unit = rounding(i, first).max(f64::MIN_POSITIVE);
            error += ((there[i] - values[i] - step * slopes[i]) / unit).powi(2);
            floor += (rounding(i, step) / unit).powi(2);
        }
        // Written so that a NaN counts as an error.
        if error <= ABOVE_ROUNDING * ABOVE_ROUNDING * floor {
            break;
        }
        errors.push((step, error.sqrt()));
    }
    Ok(fitted_slope(&errors))
}

/// The log-log slope over the smallest steps; `None` for too few to fit.
fn fitted_slope(errors: &[(f64, f64)]) -> Option<f64> {
    let last = &errors[errors.len().checked_sub(FITTED)?..];
    let logs: Vec<_> = last.iter().map(|(step, e)| (step.ln_(), e.ln_())).collect();
    let n = logs.len() as f64;
    let (x, y) = logs
        .iter()
        .fold((0.0, 0.0), |sum, l| (sum.0 + l.0 / n, sum.1 + l.1 / n));
    let covariance: f64 = logs.iter().map(|l| (l.0 - x) * (l.1 - y)).sum();
    let variance: f64 = logs.iter().map(|l| (l.0 - x) * (l.0 - x)).sum();
    Some(covariance / variance)
}

fn evaluate(potential: &impl Potential, at: &[f64]) -> Result<(f64, Vec<f64>), String> {
    let mut gradient = vec![f64::NAN; at.len()];
    let value = potential.value_and_gradient(at, &mut gradient)?;
    Ok((value, gradient))
}

fn product(potential: &impl Potential, at: &[f64], along: &[f64]) -> Result<Vec<f64>, String> {
    let mut out = vec![f64::NAN; at.len()];
    potential.hessian_product(at, along, &mut out)?;
    Ok(out)
}

fn moved(at: &[f64], along: &[f64], step: f64) -> Vec<f64> {
    at.iter().zip(along).map(|(x, d)| x + step * d).collect()
}

#[cfg(test)]
mod tests;
