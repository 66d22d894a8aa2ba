//! Random numbers of the usual distributions, the same on every processor.
//!
//! `rand_distr` takes logarithms and powers from the C library ([`elementary`](crate::elementary) says why that will
//! not do), so that a stream of draws parts with itself on another processor at the first comparison that comes out
//! otherwise. These take the same random bits in the same order for normal, exponential, gamma and chi-squared variates, by the
//! same methods, and return the same numbers but for rounding; a test compares them.
//!
//! - `ziggurat`: normal and exponential variates
//! - `counts`: binomial and Poisson variates

mod counts;
mod ziggurat;

pub use counts::{Binomial, Poisson};
pub use rand::distr::{Distribution, Open01, OpenClosed01};
pub use ziggurat::{Exp1, StandardNormal};

use rand::{Rng, RngExt};

use crate::elementary::Elementary;

/// A parameter that the distribution has not: not above zero, no number, or too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfRange;

impl std::fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a parameter is outside the range of its distribution")
    }
}

impl std::error::Error for OutOfRange {}

/// Ok where a parameter is above zero.
fn positive(x: f64) -> Result<f64, OutOfRange> {
    if x > 0.0 { Ok(x) } else { Err(OutOfRange) }
}

/// The gamma distribution with a shape and a scale.
#[derive(Debug, Clone, Copy)]
pub struct Gamma {
    shape: f64,
    scale: f64,
    /// The shape, raised above one where it is below, less a third.
    d: f64,
    c: f64,
}

impl Gamma {
    /// Shape and scale are positive.
    ///
    /// # Errors
    /// Where one is not.
    pub fn new(shape: f64, scale: f64) -> Result<Self, OutOfRange> {
        let (shape, scale) = (positive(shape)?, positive(scale)?);
        let raised = if shape < 1.0 { shape + 1.0 } else { shape };
        let d = raised - 1.0 / 3.0;
        Ok(Self {
            shape,
            scale,
            d,
            c: 1.0 / (9.0 * d).sqrt(),
        })
    }

    /// A variate of the raised shape, over `d`: Marsaglia and Tsang (2000), "A simple method for generating gamma
    /// variables".
    fn over_d<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        loop {
            let x: f64 = StandardNormal.sample(rng);
            let root = 1.0 + self.c * x;
            if root <= 0.0 {
                continue;
            }
            let v = root * root * root;
            let u: f64 = rng.sample(Open01);
            let square = x * x;
            if u < 1.0 - 0.0331 * square * square
                || u.ln_() < 0.5 * square + self.d * (1.0 - v + v.ln_())
            {
                return v;
            }
        }
    }
}

impl Distribution<f64> for Gamma {
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        if self.shape == f64::INFINITY || self.scale == f64::INFINITY {
            f64::INFINITY
        } else if self.shape == 1.0 {
            self.scale * Exp1.sample(rng)
        } else if self.shape < 1.0 {
            // Γ(a) = Γ(a + 1) U^(1/a)
            let u: f64 = rng.sample(Open01);
            let raised = self.over_d(rng);
            (raised * u.powf_(1.0 / self.shape) * self.d) * self.scale
        } else {
            self.over_d(rng) * (self.d * self.scale)
        }
    }
}

/// The chi-squared distribution.
#[derive(Debug, Clone, Copy)]
pub struct ChiSquared(Gamma);

impl ChiSquared {
    /// Degrees of freedom are positive.
    ///
    /// # Errors
    /// Where they are not.
    pub fn new(degrees: f64) -> Result<Self, OutOfRange> {
        Gamma::new(0.5 * degrees, 2.0).map(Self)
    }
}

impl Distribution<f64> for ChiSquared {
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        if self.0.shape == 0.5 {
            let x: f64 = StandardNormal.sample(rng);
            return x * x;
        }
        self.0.sample(rng)
    }
}

/// The beta distribution.
#[derive(Debug, Clone, Copy)]
pub struct Beta {
    shapes: [f64; 2],
    gammas: [Gamma; 2],
}

impl Beta {
    /// Both shapes are positive.
    ///
    /// # Errors
    /// Where one is not.
    pub fn new(a: f64, b: f64) -> Result<Self, OutOfRange> {
        let gamma = |shape: f64| Gamma::new(if shape < 1.0 { shape + 1.0 } else { shape }, 1.0);
        Ok(Self {
            shapes: [positive(a)?, positive(b)?],
            gammas: [gamma(a)?, gamma(b)?],
        })
    }
}

impl Distribution<f64> for Beta {
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        // The share of one of two gamma variates, in logs, since those of small shapes may be too small for numbers.
        let mut ln_gamma = |i: usize| {
            let boost = match self.shapes[i] {
                shape if shape < 1.0 => -Exp1.sample(rng) / shape,
                _ => 0.0,
            };
            self.gammas[i].sample(rng).ln_() + boost
        };
        let odds = ln_gamma(1) - ln_gamma(0);
        if odds > 0.0 {
            let inverse = (-odds).exp_();
            inverse / (1.0 + inverse)
        } else {
            1.0 / (1.0 + odds.exp_())
        }
    }
}

#[cfg(test)]
mod tests;
