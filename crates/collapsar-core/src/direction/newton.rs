//! Truncated Newton: conjugate gradients on (I − FJ) d = g, one pass for each inner iteration.

use serde::{Deserialize, Serialize};

use super::{Iterate, Proposal};
use crate::collapsed::Collapsed;
use crate::error::Result;
use crate::vector::{add, dot};

/// Inner iterations at most: past this a fresh point is worth more than a better direction.
const INNER: usize = 30;
/// The inner residual is brought below this fraction of the gradient's norm, times its root near the optimum.
const FORCING: f64 = 0.5;
/// How many times as long as VBEM's a step is at most, at first: what long steps from a start undo, VBEM's do not bring back where
/// optima are many.
const FIRST_REACH: f64 = 2.0;
/// By how much that grows with each step that rises, and how far it falls with one that does not.
const PACE: f64 = 4.0;
/// A reach beyond this is none at all.
const FAR: f64 = 1e6;

/// Truncated Newton, with the reach that its steps have been found to be worth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Newton {
    #[serde(default = "first_reach")]
    reach: f64,
}

fn first_reach() -> f64 {
    FIRST_REACH
}

impl Default for Newton {
    fn default() -> Self {
        Self { reach: FIRST_REACH }
    }
}

impl Newton {
    /// Whether the reach is one that steps lead to.
    pub(crate) fn belongs(&self) -> bool {
        (1.0..=FAR).contains(&self.reach)
    }

    pub(crate) fn propose(
        &self,
        point: &Iterate,
        model: &impl Collapsed,
        direction: &mut Vec<f64>,
    ) -> Result<Proposal> {
        propose(point, model, self.reach, direction)
    }

    pub(crate) fn learn(&mut self, fell_back: bool) {
        let change = if fell_back { 1.0 / PACE } else { PACE };
        self.reach = (self.reach * change).clamp(1.0, FAR);
    }
}

/// Works on δτ = J d, where the equation is (J⁻¹ − F) δτ = g, preconditioned by J: each
/// vector p in statistics is kept with its twin J⁻¹p in messages, so that only the
/// preconditioner is a pass (maths §5.4).
fn propose(
    point: &Iterate,
    model: &impl Collapsed,
    reach: f64,
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
    // The squared norm that a step may have, that of what has been gathered, its product with the next direction, and that one's
    // squared norm: conjugate gradients end where they reach so far (maths §5.4).
    let farthest = reach * reach * squared_norm;
    let (mut gathered, mut with_along, mut of_along) = (0.0, 0.0, squared_norm);
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
        let longer = gathered + length * (2.0 * with_along + length * of_along);
        if reach < FAR && longer >= farthest {
            let half = with_along / of_along;
            let rest = (half * half + (farthest - gathered).max(0.0) / of_along).sqrt() - half;
            add(direction, rest, &along);
            break;
        }
        gathered = longer;
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
        // Residuals are conjugate to all directions before them.
        with_along = ratio * (with_along + length * of_along);
        of_along = next + ratio * ratio * of_along;
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
