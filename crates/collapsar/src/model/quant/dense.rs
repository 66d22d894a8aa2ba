//! Newton's method for components small enough that their metric is a square of numbers (maths §8.5).

use nalgebra::{Cholesky, DMatrix, DVector};

use super::Quant;
use crate::driver::{Evaluator, Point};
use crate::error::{Error, Result};

/// Where a climb ended and what it cost.
pub(super) struct Climbed {
    pub(super) point: Point,
    pub(super) iterations: u64,
    pub(super) passes: u64,
    pub(super) converged: bool,
}

/// No component of the data at hand takes a fifth of it.
const MOST_ITERATIONS: u64 = 500;
/// The first trust: as if two VBEM steps were made at once.
const FIRST_TRUST: f64 = 0.5;
/// The distance of the trust from one is divided by this after a rise, multiplied after a fall.
/// Factors 2 to 10 take the same passes within a tenth.
const PACE: f64 = 4.0;
/// Trust this near to one is Newton's own; a fall from there begins here.
const NEAR: f64 = 1e-2;
/// A small gain means rest only where the step was at least ten of VBEM's.
const TRUSTED: f64 = 0.9;

/// Climbs from `start`, the first `plain` steps by VBEM.
pub(super) fn climb(
    model: &Quant<'_>,
    start: Vec<f64>,
    tolerance: f64,
    plain: u64,
) -> Result<Climbed> {
    let mut evaluator = Evaluator { model, passes: 0 };
    let mut point = Point {
        messages: start,
        ..Point::default()
    };
    evaluator.evaluate(&mut point)?;
    let mut trial = point.clone();
    let mut trust: f64 = FIRST_TRUST;
    let mut iterations = 0;
    let converged = loop {
        if iterations == MOST_ITERATIONS {
            break false;
        }
        iterations += 1;
        let mut trusted = 0.0;
        if iterations > plain {
            evaluator.passes += 1; // for the metric
            let step = leap(model, &point, trust)?;
            if let Some(step) = step
                && rises(&mut evaluator, &point, step.as_slice(), &mut trial)?
            {
                trusted = trust;
                trust = 1.0 - (1.0 - trust) / PACE;
                if 1.0 - trust < NEAR / PACE.powi(4) {
                    trust = 1.0;
                }
            } else {
                trust = (1.0 - PACE * (1.0 - trust).max(NEAR)).max(0.0);
            }
        }
        if trusted == 0.0 && !rises(&mut evaluator, &point, &point.gradient, &mut trial)? {
            break true; // stationary to working precision
        }
        let gain = trial.bound - point.bound;
        std::mem::swap(&mut point, &mut trial);
        if gain < tolerance && trusted >= TRUSTED {
            break true;
        }
    };
    Ok(Climbed {
        point,
        iterations,
        passes: evaluator.passes,
        converged,
    })
}

/// Solves $(F^{-1} - \rho J) d = F^{-1} g$: VBEM's step where the trust ρ is zero, Newton's where
/// it is one. `None` where the matrix is not positive definite, as near a saddle.
fn leap(model: &Quant<'_>, point: &Point, trust: f64) -> Result<Option<DVector<f64>>> {
    let dim = point.messages.len();
    let mut precisions = vec![0.0; dim];
    model
        .posterior
        .variances(&point.statistics, &mut precisions)?;
    let mut matrix = vec![0.0; dim * dim];
    model.local.add_metric(&point.messages, &mut matrix);
    for entry in &mut matrix {
        *entry *= -trust;
    }
    for (m, precision) in precisions.iter_mut().enumerate() {
        *precision = precision.recip();
        matrix[m * dim + m] += *precision;
    }
    let Some(factor) = Cholesky::new(DMatrix::from_vec(dim, dim, matrix)) else {
        return Ok(None);
    };
    let scaled = point.gradient.iter().zip(&precisions).map(|(g, p)| g * p);
    let step = factor.solve(&DVector::from_iterator(dim, scaled));
    Ok(step.iter().all(|d| d.is_finite()).then_some(step))
}

/// Evaluates `step` from `from` into `trial`; says whether the bound rose.
fn rises(
    evaluator: &mut Evaluator<'_, Quant<'_>>,
    from: &Point,
    step: &[f64],
    trial: &mut Point,
) -> Result<bool> {
    trial.messages.clear();
    let moved = from.messages.iter().zip(step).map(|(m, d)| m + d);
    trial.messages.extend(moved);
    match evaluator.evaluate(trial) {
        Ok(()) => Ok(trial.bound > from.bound),
        Err(Error::Domain { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
