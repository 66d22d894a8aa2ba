//! A positive number between bounds: gamma, inverse gamma, generalised inverse Gaussian and log-normal in one.
//!
//! In its logarithm the log density is concave, so that one quadrature serves every case: from its top downwards on
//! either side, as far as it is above rounding.
//!
//! - `pieces`: the density about its top, its moments and quantiles
//! - `tail`: factors of priors that are no statistics
//! - `draw`: draws

mod draw;
mod pieces;
mod tail;

use rand::Rng;

use super::{Family, check_length, require};
use crate::collapsed::Potential;
use crate::elementary::Elementary;
use crate::error::Result;
use pieces::Pieces;
pub use tail::Tail;

const BLOCK: &str = "positive block";

/// A positive number between bounds.
///
/// Natural parameters are $(a, b, c, d)$, statistics $(\ln x, -x, -1/x, -\tfrac12\ln^2x)$.
///
/// $$p(x) \propto x^{a-1} e^{-bx - c/x - \frac12 d\ln^2x}, \quad l \le x \le u, \qquad
/// A = \ln \int_l^u x^{a-1} e^{-bx - c/x - \frac12 d\ln^2x} dx$$
///
/// With $b$ alone it is a gamma variable, with $b$ and $c$ a generalised inverse Gaussian one, with $d$ alone a
/// log-normal one, each between bounds. $b$, $c$ and $d$ are not negative; an end at which the density does not fall must
/// be bounded. A [`Tail`] is one more factor.
///
/// The integral and the moments of $\ln x$ are right to 1e-11 for the extreme parameters of the tests: bounds of 1e-300 and 1e300, deep
/// tails, shapes of -1e5 and 1e5, densities that are flat over 600 orders of magnitude. So are the means of $x$ and $1/x$, unless they come
/// from where the density is below $e^{-40}$ of its top: with $a=\frac12$, $b=1$ and a lower bound of 1e-300 that of $1/x$ is not right.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Positive {
    lower: f64,
    upper: f64,
    /// Whether $1/x$ and $\ln^2x$ are statistics; where they are not, they count as zero, and so do their parameters.
    inverse: bool,
    square: bool,
    /// A factor of the density that is no statistic.
    tail: Tail,
}

impl Positive {
    /// A number between these bounds, with the statistics $\ln x$ and $x$ alone.
    ///
    /// # Errors
    /// Where the lower bound is negative or not below the upper one.
    pub fn new(lower: f64, upper: f64) -> Result<Self> {
        let expected = "a lower bound of 0 or more, below the upper one";
        require(0.0 <= lower && lower < upper, BLOCK, expected, || {
            format!("the bounds are {lower} and {upper}")
        })?;
        Ok(Self {
            lower,
            upper,
            inverse: false,
            square: false,
            tail: Tail::None,
        })
    }

    /// The same with $1/x$ among its statistics.
    #[must_use]
    pub fn with_inverse(self) -> Self {
        Self {
            inverse: true,
            ..self
        }
    }

    /// The same with $\ln^2x$ among its statistics.
    #[must_use]
    pub fn with_square(self) -> Self {
        Self {
            square: true,
            ..self
        }
    }

    /// The same with this factor of the density.
    ///
    /// # Errors
    /// Where its parameters are not what they must be.
    pub fn with_tail(self, tail: Tail) -> Result<Self> {
        let [one, other, power] = match tail {
            Tail::None => [1.0; 3],
            Tail::Exponential { rate, power } => [rate, 1.0, power],
            Tail::Student {
                weight,
                scale,
                power,
            } => [weight, scale, power],
        };
        let positive = |number: f64| number > 0.0 && number.is_finite();
        let inside = positive(one) && positive(other) && positive(power.abs());
        let expected = "positive numbers and a power that is not zero";
        require(inside, BLOCK, expected, || format!("the tail is {tail:?}"))?;
        Ok(Self { tail, ..self })
    }

    /// The factor of the density that is no statistic.
    pub fn tail(&self) -> &Tail {
        &self.tail
    }

    /// Whether $1/x$ is a statistic.
    pub fn has_inverse(&self) -> bool {
        self.inverse
    }

    /// Whether $\ln^2x$ is a statistic.
    pub fn has_square(&self) -> bool {
        self.square
    }

    /// The bounds.
    pub fn bounds(&self) -> (f64, f64) {
        (self.lower, self.upper)
    }

    /// The mean and the variance of a power of the number; infinite where there is none.
    ///
    /// # Errors
    /// Outside the domain.
    pub fn moments_of_power(&self, natural: &[f64], power: f64) -> Result<(f64, f64)> {
        let pieces = self.pieces(natural)?;
        let ln_mean = |times: f64| {
            let mut tilted = natural.to_vec();
            tilted[0] += times * power;
            self.pieces(&tilted).map_or(f64::INFINITY, |tilted| {
                tilted.moments().ln_mass - pieces.moments().ln_mass
            })
        };
        let (first, second) = (ln_mean(1.0), ln_mean(2.0));
        if first == f64::INFINITY {
            return Ok((first, f64::INFINITY));
        }
        let spread = second - 2.0 * first;
        if spread.is_finite() && spread < 1e-3 {
            // Differences of logarithms would lose the digits that central moments keep.
            return Ok(pieces.narrow_moments(power));
        }
        let mean = first.exp_();
        Ok((mean, mean * mean * spread.exp_m1_()))
    }

    /// The mean and the variance of the logarithm of the number.
    ///
    /// # Errors
    /// Outside the domain.
    pub fn moments_of_logarithm(&self, natural: &[f64]) -> Result<(f64, f64)> {
        let pieces = self.pieces(natural)?;
        let mean = pieces.of_number(&pieces.moments())[0];
        let along = [1.0, 0.0, 0.0, 0.0];
        Ok((mean, pieces.covariance_times(along, (false, false))[0]))
    }

    /// The covariance of a power of the number with each statistic: how its mean answers to natural parameters.
    ///
    /// # Errors
    /// Outside the domain.
    pub fn covariance_of_power(&self, natural: &[f64], power: f64) -> Result<[f64; 4]> {
        let mut out = self.pieces(natural)?.covariance_of_power(power);
        self.leave_out(&mut out);
        Ok(out)
    }

    /// The value that has this probability below it.
    ///
    /// # Errors
    /// Outside the domain.
    pub fn quantile(&self, natural: &[f64], probability: f64) -> Result<f64> {
        let value = self.pieces(natural)?.quantile(probability);
        Ok(value.clamp(self.lower, self.upper))
    }

    fn pieces(&self, natural: &[f64]) -> Result<Pieces> {
        check_length(BLOCK, natural, 4)?;
        let [a, b, mut c, mut d] = [0, 1, 2, 3].map(|place: usize| natural[place]);
        let finite = natural.iter().all(|number| number.is_finite());
        require(finite, BLOCK, "finite numbers", || {
            format!("the parameters are {natural:?}")
        })?;
        if !self.inverse {
            c = 0.0;
        }
        if !self.square {
            d = 0.0;
        }
        let expected = "numbers of 0 or more after the first";
        require(b >= 0.0 && c >= 0.0 && d >= 0.0, BLOCK, expected, || {
            format!("the parameters are {natural:?}")
        })?;
        let [fall_left, fall_right] = self.tail.falls();
        let left = self.lower > 0.0 || c > 0.0 || d > 0.0 || a + fall_left > 0.0;
        let right = self.upper < f64::INFINITY || b > 0.0 || d > 0.0 || a - fall_right < 0.0;
        let expected = "a density that falls towards 0 and infinity";
        require(left && right, BLOCK, expected, || {
            format!("the parameters are {natural:?}")
        })?;
        let pieces = Pieces::new([a, b, c, d], (self.lower, self.upper), &self.tail);
        let expected = "parameters that are not too large";
        require(pieces.ln_peak.is_finite(), BLOCK, expected, || {
            format!("the log density is {} at its top", pieces.ln_peak)
        })?;
        Ok(pieces)
    }
}

impl Potential for Positive {
    fn dim(&self) -> usize {
        4
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let pieces = self.pieces(at)?;
        let moments = pieces.moments();
        gradient.copy_from_slice(&pieces.of_number(&moments));
        self.leave_out(gradient);
        Ok(moments.ln_mass)
    }

    fn value(&self, at: &[f64]) -> Result<f64> {
        Ok(self.pieces(at)?.ln_mass())
    }

    /// Without the integral: what falls on both sides from a finite top has one.
    fn contains(&self, at: &[f64]) -> bool {
        self.pieces(at).is_ok()
    }

    /// Covariances of the statistics, by central moments (maths §3.13).
    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        let pieces = self.pieces(at)?;
        let mut along = [along[0], along[1], along[2], along[3]];
        self.leave_out(&mut along);
        out.copy_from_slice(&pieces.covariance_times(along, (self.inverse, self.square)));
        self.leave_out(out);
        Ok(())
    }
}

impl Positive {
    /// Zero for what is no statistic.
    fn leave_out(&self, statistics: &mut [f64]) {
        if !self.inverse {
            statistics[2] = 0.0;
        }
        if !self.square {
            statistics[3] = 0.0;
        }
    }
}

impl Family for Positive {
    /// The parameters $(a, b, c, d)$ as they are.
    type Ordinary = [f64; 4];
    /// $\ln x$.
    type Draw = f64;

    fn natural(&self, ordinary: &[f64; 4]) -> Result<Vec<f64>> {
        self.pieces(ordinary)?;
        Ok(ordinary.to_vec())
    }

    fn ordinary(&self, natural: &[f64]) -> Result<[f64; 4]> {
        self.pieces(natural)?;
        Ok([natural[0], natural[1], natural[2], natural[3]])
    }

    fn sample<R: Rng + ?Sized>(&self, natural: &[f64], rng: &mut R) -> Result<f64> {
        Ok(self.pieces(natural)?.draw(rng))
    }

    fn statistics(&self, draw: &f64, out: &mut [f64]) {
        out[0] = *draw;
        out[1] = -draw.exp_();
        out[2] = -(-draw).exp_();
        out[3] = -0.5 * draw * draw;
        self.leave_out(out);
    }
}

#[cfg(test)]
mod tests;
