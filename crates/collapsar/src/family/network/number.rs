//! Decides what a number is to the passes: a value, or a value with its slope along a direction.

use std::ops::{Add, AddAssign, Mul, Sub};

/// What the passes need of a number.
pub(super) trait Real:
    Copy + From<f64> + Add<Output = Self> + AddAssign + Sub<Output = Self> + Mul<Output = Self>
{
    /// The number without its slope.
    fn value(self) -> f64;
    fn ln(self) -> Self;
    fn exp(self) -> Self;
    fn recip(self) -> Self;
}

impl Real for f64 {
    fn value(self) -> f64 {
        self
    }

    fn ln(self) -> Self {
        f64::ln(self)
    }

    fn exp(self) -> Self {
        f64::exp(self)
    }

    fn recip(self) -> Self {
        f64::recip(self)
    }
}

/// A value and its slope along a direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Dual {
    pub(super) value: f64,
    pub(super) slope: f64,
}

impl From<f64> for Dual {
    fn from(value: f64) -> Self {
        Dual { value, slope: 0.0 }
    }
}

impl Add for Dual {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Dual {
            value: self.value + other.value,
            slope: self.slope + other.slope,
        }
    }
}

impl AddAssign for Dual {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Dual {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Dual {
            value: self.value - other.value,
            slope: self.slope - other.slope,
        }
    }
}

impl Mul for Dual {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Dual {
            value: self.value * other.value,
            slope: self.slope * other.value + self.value * other.slope,
        }
    }
}

impl Real for Dual {
    fn value(self) -> f64 {
        self.value
    }

    fn ln(self) -> Self {
        Dual {
            value: self.value.ln(),
            slope: self.slope / self.value,
        }
    }

    fn exp(self) -> Self {
        let value = self.value.exp();
        Dual {
            value,
            slope: value * self.slope,
        }
    }

    fn recip(self) -> Self {
        let value = self.value.recip();
        Dual {
            value,
            slope: -self.slope * value * value,
        }
    }
}
