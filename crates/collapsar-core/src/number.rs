//! Decides what a number is to code that also differentiates: a plain one, or one with its slope.
//!
//! Code that is generic over [`Real`] gives values with `f64`, and with [`Dual`] the values and
//! their exact derivative along a direction. The Hessian product of a family whose gradient is a
//! long computation is the slope of that gradient, without a second derivation.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use crate::elementary::Elementary;
use crate::special;

/// The operations that generic numerical code needs.
pub trait Real:
    Copy
    + Debug
    + From<f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + Send
    + Sync
{
    /// The number itself, without its slope.
    fn value(self) -> f64;

    /// $f(x)$, given $f$ at the value, and $f'$ for numbers that have a slope.
    #[must_use]
    fn chain(self, value: f64, derivative: impl FnOnce() -> f64) -> Self;

    /// The natural logarithm.
    #[must_use]
    fn ln(self) -> Self {
        let x = self.value();
        self.chain(x.ln_(), || x.recip())
    }

    /// $1 / x$.
    #[must_use]
    fn recip(self) -> Self {
        let value = self.value().recip();
        self.chain(value, || -value * value)
    }

    /// The square root.
    #[must_use]
    fn sqrt(self) -> Self {
        let value = self.value().sqrt();
        self.chain(value, || 0.5 / value)
    }

    /// $e^x$.
    #[must_use]
    fn exp(self) -> Self {
        let value = self.value().exp_();
        self.chain(value, || value)
    }

    /// $\ln\Gamma(x)$.
    #[must_use]
    fn ln_gamma(self) -> Self {
        let x = self.value();
        self.chain(special::ln_gamma(x), || special::digamma(x))
    }

    /// $\frac{d}{dx} \ln\Gamma(x)$.
    #[must_use]
    fn digamma(self) -> Self {
        let x = self.value();
        self.chain(special::digamma(x), || special::trigamma(x))
    }
}

impl Real for f64 {
    fn value(self) -> f64 {
        self
    }

    fn chain(self, value: f64, _derivative: impl FnOnce() -> f64) -> Self {
        value
    }
}

/// A number and its derivative along one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dual {
    /// The number.
    pub value: f64,
    /// Its derivative.
    pub slope: f64,
}

impl Dual {
    /// A number with this derivative.
    pub fn new(value: f64, slope: f64) -> Self {
        Self { value, slope }
    }

    /// Writes the slopes of a gradient that `evaluate` computes with dual numbers: the Hessian at `at`,
    /// times `along`.
    ///
    /// # Errors
    /// Those of `evaluate`.
    pub fn slopes<E>(
        at: &[f64],
        along: &[f64],
        out: &mut [f64],
        evaluate: impl FnOnce(&[Self], &mut [Self]) -> Result<Self, E>,
    ) -> Result<(), E> {
        let pairs = at.iter().zip(along);
        let at: Vec<Self> = pairs.map(|(v, s)| Self::new(*v, *s)).collect();
        let mut gradient = vec![Self::from(0.0); out.len()];
        evaluate(&at, &mut gradient)?;
        for (out, dual) in out.iter_mut().zip(gradient) {
            *out = dual.slope;
        }
        Ok(())
    }
}

impl From<f64> for Dual {
    fn from(value: f64) -> Self {
        Self::new(value, 0.0)
    }
}

impl Add for Dual {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::new(self.value + other.value, self.slope + other.slope)
    }
}

impl Sub for Dual {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self::new(self.value - other.value, self.slope - other.slope)
    }
}

impl Mul for Dual {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let slope = self.value * other.slope + self.slope * other.value;
        Self::new(self.value * other.value, slope)
    }
}

impl Div for Dual {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        let value = self.value / other.value;
        Self::new(value, (self.slope - value * other.slope) / other.value)
    }
}

impl Neg for Dual {
    type Output = Self;

    fn neg(self) -> Self {
        Self::new(-self.value, -self.slope)
    }
}

impl AddAssign for Dual {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Dual {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Real for Dual {
    fn value(self) -> f64 {
        self.value
    }

    fn chain(self, value: f64, derivative: impl FnOnce() -> f64) -> Self {
        Self::new(value, derivative() * self.slope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that the trait offers, in one expression.
    fn everything<T: Real>(x: T, y: T) -> T {
        let mut sum = (x * y + x / y - y.recip()).exp();
        sum += (x + y).ln() * -y.sqrt();
        sum -= x.ln_gamma() / y.digamma();
        sum
    }

    #[test]
    fn slopes_are_central_differences() {
        for (x, y) in [(0.3, 1.7), (2.0, 0.4), (1.1, 5.0)] {
            for (dx, dy) in [(1.0, 0.0), (0.0, 1.0), (0.7, -0.2)] {
                let found = everything(Dual::new(x, dx), Dual::new(y, dy));
                assert_eq!(found.value, everything(x, y));
                let step = 1e-5;
                let above = everything(x + step * dx, y + step * dy);
                let below = everything(x - step * dx, y - step * dy);
                let expected = (above - below) / (2.0 * step);
                // Third derivatives of size a thousand times the step's square over six, and
                // rounding over the step.
                let error = (found.slope - expected).abs() / expected.abs().max(1.0);
                assert!(error < 1e-7, "{found:?} {expected}");
            }
        }
    }
}
