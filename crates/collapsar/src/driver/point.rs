//! A point of the climb, and the counted ways to look at the model there.

use serde::{Deserialize, Serialize};

use crate::collapsed::Collapsed;
use crate::error::{Error, Result};
use crate::vector::dot;

/// Messages with everything that one pass over the data tells about them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// $m$: the coordinates that are optimised.
    pub messages: Vec<f64>,
    /// $\tau = \nabla A(m)$: the statistics that they imply.
    pub statistics: Vec<f64>,
    /// $g = \nabla C(\tau) - m$: the natural gradient.
    pub gradient: Vec<f64>,
    /// The collapsed bound.
    pub bound: f64,
    /// Where the model's inner problems ended, for those nearby to begin from; empty where it has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warm: Vec<f64>,
    /// As [`Point::gradient`], to where VBEM's step leads after a change of basis (maths §9.7); empty where
    /// the model has none, and absent where the climb does not ask for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turned: Option<Vec<f64>>,
}

impl Point {
    /// Where VBEM's step leads, after a change of basis where there is one.
    pub(crate) fn ascent(&self) -> &[f64] {
        match &self.turned {
            Some(turned) if !turned.is_empty() => turned,
            _ => &self.gradient,
        }
    }

    /// Whether [`Point::ascent`] is not the gradient.
    pub(crate) fn is_turned(&self) -> bool {
        self.turned
            .as_ref()
            .is_some_and(|turned| !turned.is_empty())
    }
}

/// Relative rounding error of a bound that can still be compared with another.
const WORST_ROUNDING: f64 = 1e-10;

/// The model seen through a counter: a value with its gradient is a pass, a metric product is another.
pub(crate) struct Evaluator<'a, M: Collapsed> {
    pub(crate) model: &'a M,
    pub(crate) passes: u64,
}

impl<M: Collapsed> Evaluator<'_, M> {
    /// Looks at `point.messages`: fills in the rest. One pass.
    pub(crate) fn evaluate(&mut self, point: &mut Point) -> Result<()> {
        let dim = point.messages.len();
        point.statistics.resize(dim, 0.0);
        point.gradient.resize(dim, 0.0);
        self.passes += 1;
        let (local, posterior) = self.model.evaluate(point)?;
        for (target, message) in point.gradient.iter_mut().zip(&point.messages) {
            *target -= message; // maths §1.2
        }
        if let Some(turned) = &mut point.turned {
            for (target, message) in turned.iter_mut().zip(&point.messages) {
                *target -= message;
            }
        }
        // HRL12 (4), as maths §1.1 writes it.
        point.bound =
            local - dot(&point.messages, &point.statistics) + posterior + self.model.constant();
        // Messages far from any posterior's make the bound a small difference of huge terms,
        // and its rounding would pass for a rise.
        let size = point
            .messages
            .iter()
            .zip(&point.statistics)
            .map(|(m, t)| (m * t).abs())
            .sum::<f64>();
        let rounding = f64::EPSILON * (local.abs() + size);
        let known = rounding <= WORST_ROUNDING * point.bound.abs().max(1.0);
        if !known || point.gradient.iter().any(|g| !g.is_finite()) {
            return Err(Error::Domain {
                block: "bound".into(),
                found: format!("{} with rounding errors of {rounding:.0e}", point.bound),
                expected: "a number known to ten digits; rescale the data or widen the prior",
            });
        }
        Ok(())
    }
}

/// The two linear maps at a point that directions may ask for.
pub(crate) trait Geometry {
    /// Writes $J a$ with the metric $J = \nabla^2 A(m)$. One pass.
    fn metric_product(&mut self, point: &Point, along: &[f64], out: &mut [f64]) -> Result<()>;
    /// Writes $F a$ with $F = \nabla^2 C(\tau)$, the covariance of $u(X)$. No pass.
    fn covariance_product(&mut self, point: &Point, along: &[f64], out: &mut [f64]) -> Result<()>;
}

impl<M: Collapsed> Geometry for Evaluator<'_, M> {
    fn metric_product(&mut self, point: &Point, along: &[f64], out: &mut [f64]) -> Result<()> {
        self.passes += 1;
        self.model.metric_product(point, along, out)
    }

    fn covariance_product(&mut self, point: &Point, along: &[f64], out: &mut [f64]) -> Result<()> {
        self.model.covariance_product(point, along, out)
    }
}
