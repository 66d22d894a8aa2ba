//! Decides in which scale a positive number is told: as a power of what the terms hold, or as its logarithm.

use collapsar_core::elementary::Elementary;

/// What the number of a [`super::Kind::Positive`] variable is to those who ask, where its terms hold $x$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Told {
    /// $x^g$: a standard deviation is the precision to the power of -1/2.
    Power(f64),
    /// $g \ln x$.
    Logarithm(f64),
}

impl Default for Told {
    fn default() -> Self {
        Self::Power(1.0)
    }
}

impl Told {
    /// The number, from $\ln x$.
    pub fn number(self, ln_x: f64) -> f64 {
        match self {
            Self::Power(power) => (power * ln_x).exp_(),
            Self::Logarithm(factor) => factor * ln_x,
        }
    }

    /// $\ln x$, from the number; one that is too small for a double still has a logarithm.
    pub fn ln_x(self, number: f64) -> f64 {
        match self {
            Self::Power(power) => number.clamp(f64::MIN_POSITIVE, f64::MAX).ln_() / power,
            Self::Logarithm(factor) => number / factor,
        }
    }
}
