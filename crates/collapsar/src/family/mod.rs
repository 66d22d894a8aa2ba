//! Decides what a family is: a log-partition function with ordinary parameters, draws and statistics.

use rand::Rng;

use crate::collapsed::Potential;
use crate::error::Result;

/// A conjugate family in the coordinates prior plus statistics.
///
/// [`Potential::value_and_gradient`] is the log-partition function and the mean of the
/// statistics; [`Potential::hessian_product`] applies their covariance.
pub trait Family: Potential {
    /// The parameters as people write them.
    type Ordinary;
    /// What a draw is.
    type Draw;

    /// Natural parameters of `ordinary`.
    ///
    /// # Errors
    /// Where the parameters are outside the family.
    fn natural(&self, ordinary: &Self::Ordinary) -> Result<Vec<f64>>;

    /// Ordinary parameters of `natural`.
    ///
    /// # Errors
    /// Where the parameters are outside the family.
    fn ordinary(&self, natural: &[f64]) -> Result<Self::Ordinary>;

    /// One draw.
    ///
    /// # Errors
    /// Where the parameters are outside the family.
    fn sample<R: Rng + ?Sized>(&self, natural: &[f64], rng: &mut R) -> Result<Self::Draw>;

    /// Writes the statistics $u(x)$ of a draw, whose expectation is the mean.
    fn statistics(&self, draw: &Self::Draw, out: &mut [f64]);
}
