//! Decides what a model is to the engine: two log-partition functions of one vector.

use crate::advice::Advice;
use crate::error::Result;
use crate::point::Point;

/// A smooth convex function of a vector, with first and second derivatives.
///
/// Families implement it for their log-partition function, models for the sum over their data.
pub trait Potential: Sync {
    /// Length of the vector.
    fn dim(&self) -> usize;

    /// Returns the value at `at` and writes the gradient.
    ///
    /// # Errors
    /// [`crate::Error::Domain`] where `at` is outside the domain; the driver then shortens its step.
    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64>;

    /// The value alone, which often costs less: importance weights need no gradient.
    ///
    /// # Errors
    /// As [`Potential::value_and_gradient`].
    fn value(&self, at: &[f64]) -> Result<f64> {
        self.value_and_gradient(at, &mut vec![0.0; self.dim()])
    }

    /// Whether `at` is inside the domain, which often costs less still.
    fn contains(&self, at: &[f64]) -> bool {
        self.value(at).is_ok_and(f64::is_finite)
    }

    /// Writes the Hessian at `at`, times `along`.
    ///
    /// # Errors
    /// As [`Potential::value_and_gradient`].
    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()>;
}

/// A collapsed model: the bound of HRL12 is $A(m) - \langle m, \tau\rangle + C(\tau) + \text{constant}$
/// with $\tau = \nabla A(m)$ (maths §1.1).
pub trait Collapsed: Sync {
    /// The sum over the data, a function of the messages.
    type Local: Potential;
    /// Prior plus statistics, a function of the statistics.
    type Posterior: Potential;

    /// $A$: the local log-partition function. Evaluating it is a pass over the data.
    fn local(&self) -> &Self::Local;

    /// $C$: the collapsed log-partition function, zero at zero statistics.
    fn posterior(&self) -> &Self::Posterior;

    /// Fills in the statistics at `point.messages` and the target $\nabla C(\tau)$ in place of the
    /// gradient; returns $A$ and $C$. One pass over the data.
    ///
    /// Models that solve inner problems begin them from `point.warm`, which the evaluation
    /// nearest to it left there, and stop early; the two values then make a bound all the same,
    /// and VBEM's step does not lower it (maths §7.4).
    ///
    /// # Errors
    /// As the two potentials.
    fn evaluate(&self, point: &mut Point) -> Result<(f64, f64)> {
        let local = self
            .local()
            .value_and_gradient(&point.messages, &mut point.statistics)?;
        let posterior = self
            .posterior()
            .value_and_gradient(&point.statistics, &mut point.gradient)?;
        Ok((local, posterior))
    }

    /// Writes $J a$ with the metric $J = \nabla^2 A(m)$. One pass.
    ///
    /// # Errors
    /// As [`Collapsed::local`].
    fn metric_product(&self, point: &Point, along: &[f64], out: &mut [f64]) -> Result<()> {
        self.local().hessian_product(&point.messages, along, out)
    }

    /// Writes $F a$ with $F = \nabla^2 C(\tau)$, the covariance of $u(X)$. No pass.
    ///
    /// # Errors
    /// As [`Collapsed::posterior`].
    fn covariance_product(&self, point: &Point, along: &[f64], out: &mut [f64]) -> Result<()> {
        self.posterior()
            .hessian_product(&point.statistics, along, out)
    }

    /// Writes $J$ as a square matrix by columns, and returns how many passes that took: one for each
    /// message by default.
    ///
    /// # Errors
    /// As [`Collapsed::local`].
    fn metric(&self, point: &Point, out: &mut [f64]) -> Result<u64> {
        columns(point, out, |along, out| {
            self.metric_product(point, along, out)
        })?;
        Ok(point.messages.len() as u64)
    }

    /// Writes $F$ as a square matrix by columns. No pass.
    ///
    /// # Errors
    /// As [`Collapsed::posterior`].
    fn covariance(&self, point: &Point, out: &mut [f64]) -> Result<()> {
        columns(point, out, |along, out| {
            self.covariance_product(point, along, out)
        })
    }

    /// What optimisers may want to know of the model.
    fn advice(&self) -> Advice<'_> {
        Advice::default()
    }

    /// Terms of the bound that depend on the data alone.
    fn constant(&self) -> f64;

    /// Names what the model and its data are, so that a checkpoint of another is refused.
    fn fingerprint(&self) -> String;
}

/// A matrix by its products with unit vectors.
fn columns(
    point: &Point,
    out: &mut [f64],
    product: impl Fn(&[f64], &mut [f64]) -> Result<()>,
) -> Result<()> {
    let mut unit = vec![0.0; point.messages.len()];
    for (index, column) in out.chunks_exact_mut(unit.len().max(1)).enumerate() {
        unit[index] = 1.0;
        product(&unit, column)?;
        unit[index] = 0.0;
    }
    Ok(())
}
