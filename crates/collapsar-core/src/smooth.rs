//! Potentials whose Hessian product nobody has to derive: it is the slope of their gradient.

use crate::collapsed::Potential;
use crate::error::Result;
use crate::number::{Dual, Real};

/// A smooth convex function whose value and gradient are written once, for numbers of any kind.
pub trait Smooth: Sync {
    /// Length of the vector.
    fn dim(&self) -> usize;

    /// Returns the value at `at` and writes the gradient.
    ///
    /// # Errors
    /// As [`Potential::value_and_gradient`].
    fn value_and_gradient<T: Real>(&self, at: &[T], gradient: &mut [T]) -> Result<T>;
}

/// A [`Potential`] from a [`Smooth`] function: with [`Dual`] numbers its gradient becomes its Hessian
/// product, at about three times the cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Differentiated<S>(pub S);

impl<S: Smooth> Potential for Differentiated<S> {
    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        self.0.value_and_gradient(at, gradient)
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        Dual::slopes(at, along, out, |at, out| self.0.value_and_gradient(at, out))
    }
}
