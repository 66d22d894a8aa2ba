//! Truncated Newton: conjugate gradients on (I − FJ) d = g, one pass for each inner iteration.

use serde::{Deserialize, Serialize};

use super::{Geometry, Iterate, Proposal};
use crate::error::Result;
use crate::vector::dot;

/// Inner iterations at most: past this a fresh point is worth more than a better direction.
const INNER: usize = 30;
/// The inner residual is brought below this fraction of the gradient's norm, times its root near the optimum.
const FORCING: f64 = 0.5;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Newton {}

impl Newton {
    /// Works on δτ = J d, where the equation is (J⁻¹ − F) δτ = g, preconditioned by J: each
    /// vector p in statistics is kept with its twin J⁻¹p in messages, so that only the
    /// preconditioner is a pass (maths §5.4).
    #[allow(clippy::unused_self)] // the rules share one shape
    pub(crate) fn propose(
        &mut self,
        point: &Iterate,
        geometry: &mut dyn Geometry,
        direction: &mut Vec<f64>,
    ) -> Result<Proposal> {
        let dim = point.gradient.len();
        let mut residual = point.gradient.clone();
        let mut preconditioned = vec![0.0; dim];
        geometry.metric_product(point, &residual, &mut preconditioned)?;
        let squared_norm = dot(&residual, &preconditioned);
        direction.clear();
        direction.resize(dim, 0.0);
        if squared_norm <= 0.0 {
            return Ok(Proposal::gradient(point, direction));
        }
        let target = squared_norm * FORCING.min(squared_norm.sqrt()).powi(2);

        let (mut along, mut along_statistics) = (residual.clone(), preconditioned.clone());
        let mut image = vec![0.0; dim];
        let mut norm = squared_norm;
        for inner in 0..INNER {
            geometry.covariance_product(point, &along_statistics, &mut image)?;
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
                        ..Proposal::gradient(point, direction)
                    });
                }
                break;
            }
            let length = norm / curvature;
            for i in 0..dim {
                direction[i] += length * along[i];
                residual[i] -= length * image[i];
            }
            geometry.metric_product(point, &residual, &mut preconditioned)?;
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
            beta: None,
            squared_norm: Some(squared_norm),
            is_gradient: false,
        })
    }
}
