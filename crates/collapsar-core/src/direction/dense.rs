//! Newton's method with whole matrices, between VBEM's step and Newton's as far as it is trusted (maths §8.5).

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};
use serde::{Deserialize, Serialize};

use super::{Iterate, Proposal};
use crate::collapsed::Collapsed;
use crate::error::Result;

/// The first trust: as if two VBEM steps were made at once.
const FIRST_TRUST: f64 = 0.5;
/// The distance of the trust from one is divided by this after a rise, multiplied after a fall.
/// Factors 2 to 10 take the same passes within a tenth.
const PACE: f64 = 4.0;
/// Trust this near to one is Newton's own; a fall from there begins here.
const NEAR: f64 = 1e-2;
/// A small gain means rest only where the step was at least ten of VBEM's.
const TRUSTED: f64 = 0.9;

/// Newton's method, damped by trust.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Dense {
    /// VBEM's own steps that are left.
    plain_steps: u64,
    trust: f64,
    /// The trust that the proposed step was made with; absent for steps that are VBEM's own whatever
    /// the trust.
    used: Option<f64>,
}

impl Dense {
    pub(crate) fn new(plain_steps: u64) -> Self {
        Self {
            plain_steps,
            trust: FIRST_TRUST,
            used: None,
        }
    }

    /// Whether trust is a share.
    pub(crate) fn belongs(&self) -> bool {
        (0.0..=1.0).contains(&self.trust)
    }

    pub(crate) fn propose(
        &mut self,
        point: &Iterate,
        model: &impl Collapsed,
        direction: &mut Vec<f64>,
    ) -> Result<Proposal> {
        self.used = None;
        if self.plain_steps > 0 {
            self.plain_steps -= 1;
            return Ok(Proposal::gradient(point, direction));
        }
        if self.trust == 0.0 {
            self.used = Some(0.0);
            return Ok(Proposal::gradient(point, direction));
        }
        let (step, passes) = damped(point, model, self.trust)?;
        let Some(step) = step else {
            self.distrust();
            let gradient = Proposal::gradient(point, direction);
            return Ok(Proposal { passes, ..gradient });
        };
        self.used = Some(self.trust);
        step.as_slice().clone_into(direction);
        Ok(Proposal {
            passes,
            ..Proposal::default()
        })
    }

    pub(crate) fn learn(&mut self, fell_back: bool) {
        if fell_back {
            self.used = None;
            self.distrust();
        } else if self.used.is_some() {
            self.trust = 1.0 - (1.0 - self.trust) / PACE;
            if 1.0 - self.trust < NEAR / PACE.powi(4) {
                self.trust = 1.0;
            }
        }
    }

    fn distrust(&mut self) {
        self.trust = (1.0 - PACE * (1.0 - self.trust).max(NEAR)).max(0.0);
    }

    /// Whether the last step was too short for a small gain to mean anything.
    pub(crate) fn doubts(&self) -> bool {
        self.used.is_none_or(|trust| trust < TRUSTED)
    }
}

/// Solves $(I - \rho F J) d = g$: VBEM's step where the trust ρ is zero, Newton's where it is one.
/// `None` where the system is not positive definite, as near a saddle; with the passes that it took.
fn damped(
    point: &Iterate,
    model: &impl Collapsed,
    trust: f64,
) -> Result<(Option<DVector<f64>>, u64)> {
    let dim = point.messages.len();
    let mut covariance = DMatrix::zeros(dim, dim);
    model.covariance(point, covariance.as_mut_slice())?;
    let mut metric = DMatrix::zeros(dim, dim);
    let passes = model.metric(point, metric.as_mut_slice())?;
    let gradient = DVector::from_column_slice(&point.gradient);
    let step = if is_diagonal(&covariance) {
        solve_diagonal(&covariance, metric, trust, &gradient)
    } else {
        solve_full(covariance, &metric, trust, &gradient)
    };
    let step = step.filter(|step| step.iter().all(|d| d.is_finite()));
    Ok((step, passes))
}

fn is_diagonal(matrix: &DMatrix<f64>) -> bool {
    let order = matrix.nrows();
    (0..order).all(|j| (0..order).all(|i| i == j || matrix[(i, j)] == 0.0))
}

/// $(F^{-1} - \rho J) d = F^{-1} g$.
fn solve_diagonal(
    covariance: &DMatrix<f64>,
    metric: DMatrix<f64>,
    trust: f64,
    gradient: &DVector<f64>,
) -> Option<DVector<f64>> {
    let precisions = covariance.diagonal().map(f64::recip);
    let mut matrix = metric * -trust;
    for (i, precision) in precisions.iter().enumerate() {
        matrix[(i, i)] += precision;
    }
    Some(Cholesky::new(matrix)?.solve(&gradient.component_mul(&precisions)))
}

/// With $F = L L'$: $(I - \rho L' J L) y = L^{-1} g$ and $d = L y$.
fn solve_full(
    covariance: DMatrix<f64>,
    metric: &DMatrix<f64>,
    trust: f64,
    gradient: &DVector<f64>,
) -> Option<DVector<f64>> {
    let factor: DMatrix<f64> = Cholesky::<f64, Dyn>::new(covariance)?.unpack();
    let mut matrix = factor.tr_mul(&(metric * &factor)) * -trust;
    for i in 0..matrix.nrows() {
        matrix[(i, i)] += 1.0;
    }
    let scaled = factor.solve_lower_triangular(gradient)?;
    Some(factor * Cholesky::new(matrix)?.solve(&scaled))
}
