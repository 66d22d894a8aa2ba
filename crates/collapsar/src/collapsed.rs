//! Decides what a model is to the engine: two log-partition functions of one vector.

use crate::error::Result;

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

    /// Terms of the bound that depend on the data alone.
    fn constant(&self) -> f64;

    /// Names what the model and its data are, so that a checkpoint of another is refused.
    fn fingerprint(&self) -> String;
}
