//! Truncated Newton: conjugate gradients on (I − FJ) d = g, one pass for each inner iteration.

use super::{Iterate, Proposal};
use crate::collapsed::Collapsed;
use crate::error::Result;
use crate::vector::{add, dot};

/// Inner iterations at most: past this a fresh point is worth more than a better direction.
const INNER: usize = 30;
/// The inner residual is brought below this fraction of the gradient's norm, times its root near the optimum.
const FORCING: f64 = 0.5;

/// Works on δτ = J d, where the equation is (J⁻¹ − F) δτ = g, preconditioned by J: each
/// vector p in statistics is kept with its twin J⁻¹p in messages, so that only the
/// preconditioner is a pass (maths §5.4).
pub(crate) fn propose(
    point: &Iterate,
    model: &impl Collapsed,
    direction: &mut Vec<f64>,
) -> Result<Proposal> {
    let dim = point.gradient.len();
    let mut residual = point.gradient.clone();
    let mut preconditioned = vec![0.0; dim];
    model.metric_product(point, &residual, &mut preconditioned)?;
    let squared_norm = dot(&residual, &preconditioned);
    direction.clear();
    direction.resize(dim, 0.0);
    let mut passes = 1;
    if squared_norm <= 0.0 {
        let gradient = Proposal::gradient(point, direction);
        return Ok(Proposal { passes, ..gradient });
    }
    let target = squared_norm * FORCING.min(squared_norm.sqrt()).powi(2);

    let (mut along, mut along_statistics) = (residual.clone(), preconditioned.clone());
    let mut image = vec![0.0; dim];
    let mut norm = squared_norm;
    for inner in 0..INNER {
        model.covariance_product(point, &along_statistics, &mut image)?;
        for (f, p) in image.iter_mut().zip(&along) {
            *f = p - *f;
        }
        let curvature = dot(&along_statistics, &image);
        // Negative curvature: the quadratic model has no maximum along here. What has been
        // gathered so far ascends; with nothing gathered the gradient is the answer.
        if curvature <= 1e-10 * dot(&along_statistics, &along) {
            if inner == 0 {
                return Ok(Proposal {
                    squared_norm: Some(squared_norm),
                    passes,
                    ..Proposal::gradient(point, direction)
                });
            }
            break;
        }
        let length = norm / curvature;
        add(direction, length, &along);
        add(&mut residual, -length, &image);
        model.metric_product(point, &residual, &mut preconditioned)?;
        passes += 1;
        let next = dot(&residual, &preconditioned);
        if next <= target || next.is_nan() {
            break;
        }
        let ratio = next / norm;
        norm = next;
        for i in 0..dim {
            along[i] = residual[i] + ratio * along[i];
            along_statistics[i] = preconditioned[i] + ratio * along_statistics[i];
        }
    }
    Ok(Proposal {
        squared_norm: Some(squared_norm),
        passes,
        ..Proposal::default()
    })
}
