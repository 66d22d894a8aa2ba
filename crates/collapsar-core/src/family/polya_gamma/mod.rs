//! A Pólya-Gamma variable: what makes a logistic likelihood quadratic in its predictor.
//!
//! - `draw`: exact draws

mod draw;

use rand::Rng;

use super::{Family, POSITIVE, check_length, is_positive, require};
use crate::collapsed::Potential;
use crate::elementary::Elementary;
use crate::error::Result;

const BLOCK: &str = "Pólya-Gamma block";

/// A Pólya-Gamma variable $\omega\sim\mathrm{PG}(b, c)$; the natural parameter is $r = c^2/2$, the
/// statistic $-\omega$.
///
/// $$p(\omega) \propto e^{-r\omega}\,\mathrm{PG}(\omega; b, 0), \qquad A(r) = -b\ln\cosh(\tfrac12 c)$$
///
/// A datum with log odds $\psi$ adds $\tfrac12\psi^2$ to $r$ (PolsonEtAl13). Value, mean and variance are right to 2e-14 of themselves
/// for $c$ from 0 to 1e6 and shapes from 1e-12 to 1e5. A draw takes about as long for any $c$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PolyaGamma {
    shape: f64,
}

/// What the log-partition function of one unit of shape is, with its first two derivatives.
struct Unit {
    value: f64,
    /// The mean of ω.
    mean: f64,
    variance: f64,
}

impl PolyaGamma {
    /// A variable of this shape: the number of trials of a binomial count.
    ///
    /// # Errors
    /// Where the shape is not positive.
    pub fn new(shape: f64) -> Result<Self> {
        require(is_positive(shape), BLOCK, POSITIVE, || {
            format!("the shape is {shape}")
        })?;
        Ok(Self { shape })
    }

    /// The shape $b$.
    pub fn shape(&self) -> f64 {
        self.shape
    }

    /// The mean and the variance of ω.
    ///
    /// # Errors
    /// Outside the domain.
    pub fn mean_and_variance(&self, natural: &[f64]) -> Result<(f64, f64)> {
        let unit = unit(point(natural)?);
        Ok((self.shape * unit.mean, self.shape * unit.variance))
    }
}

/// The natural parameter, where it is in the domain: the mean is infinite from r = -π²/2 on.
fn point(natural: &[f64]) -> Result<f64> {
    check_length(BLOCK, natural, 1)?;
    let r = natural[0];
    let expected = "a finite number above -π²/2";
    let inside = r.is_finite() && r > -0.5 * std::f64::consts::PI.powi(2);
    require(inside, BLOCK, expected, || format!("the parameter is {r}"))?;
    Ok(r)
}

/// Below this c the closed forms cancel, and eight terms of the series are exact to rounding.
const SMALL: f64 = 0.2;

/// maths §3.12, for both signs of r = c²/2: hyperbolic functions of c, or circular ones of |c|.
fn unit(r: f64) -> Unit {
    let square = 2.0 * r;
    let c = square.abs().sqrt();
    if c < SMALL {
        return series(square);
    }
    if r > 0.0 {
        let half = 0.5 * c;
        // With e^{-c} in the place of hyperbolic functions nothing overflows.
        let small = (-c).exp_();
        let value = if c < 1.0 {
            -0.5 * half.sinh_().powi(2).ln_1p_()
        } else {
            -(half + small.ln_1p_() - std::f64::consts::LN_2)
        };
        let mean = half.tanh_() / (2.0 * c);
        let above = if c < 1.0 {
            2.0 * small * sinh_gap(square) * c * square
        } else {
            (1.0 - small * small) - 2.0 * c * small
        };
        let variance = above / (2.0 * c * square * (1.0 + small).powi(2));
        return Unit {
            value,
            mean,
            variance,
        };
    }
    let (sine, cosine) = (0.5 * c).sin_cos_();
    let above = if c < 1.0 {
        -c * square * sinh_gap(square)
    } else {
        c - c.sin_()
    };
    Unit {
        value: -0.5 * (-sine * sine).ln_1p_(),
        mean: sine / cosine / (2.0 * c),
        variance: above / (-4.0 * c * square * cosine * cosine),
    }
}

/// (sinh c - c) / c³ by its series in c², which is negative where c is imaginary.
fn sinh_gap(square: f64) -> f64 {
    let (mut term, mut sum) = (1.0 / 6.0, 0.0);
    for k in 2..14 {
        sum += term;
        term *= square / f64::from(2 * k * (2 * k + 1));
    }
    sum
}

/// Powers of s = c²; coefficients of −ln cosh(c/2), whose derivatives by r = s/2 the others are.
fn series(s: f64) -> Unit {
    // -ln cosh(√s / 2) = Σ a_k s^k
    const A: [f64; 8] = [
        -1.0 / 8.0,
        1.0 / 192.0,
        -1.0 / 2880.0,
        17.0 / 645_120.0,
        -31.0 / 14_515_200.0,
        691.0 / 3_832_012_800.0,
        -5461.0 / 348_713_164_800.0,
        929_569.0 / 669_529_276_416_000.0,
    ];
    let (mut value, mut slope, mut curvature) = (0.0, 0.0, 0.0);
    for (k, a) in A.iter().enumerate().rev() {
        let k = k as f64 + 1.0;
        value = (value + a) * s;
        slope = slope * s + k * a;
        if k > 1.0 {
            curvature = curvature * s + k * (k - 1.0) * a;
        }
    }
    Unit {
        value,
        mean: -2.0 * slope,
        variance: 4.0 * curvature,
    }
}

impl Potential for PolyaGamma {
    fn dim(&self) -> usize {
        1
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let unit = unit(point(at)?);
        gradient[0] = -self.shape * unit.mean;
        Ok(self.shape * unit.value)
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        out[0] = self.shape * unit(point(at)?).variance * along[0];
        Ok(())
    }
}

impl Family for PolyaGamma {
    /// The square of the tilt, $c^2$, which may be a little below zero.
    type Ordinary = f64;
    type Draw = f64;

    fn natural(&self, square: &f64) -> Result<Vec<f64>> {
        let natural = vec![0.5 * square];
        point(&natural)?;
        Ok(natural)
    }

    fn ordinary(&self, natural: &[f64]) -> Result<f64> {
        Ok(2.0 * point(natural)?)
    }

    /// Exact for $r\ge0$; beyond that, where no conditional distribution is, refused.
    fn sample<R: Rng + ?Sized>(&self, natural: &[f64], rng: &mut R) -> Result<f64> {
        let r = point(natural)?;
        let expected = "a number of 0 or more for draws";
        require(r >= 0.0, BLOCK, expected, || {
            format!("the parameter is {r}")
        })?;
        Ok(draw::draw(self.shape, (2.0 * r).sqrt(), rng))
    }

    fn statistics(&self, draw: &f64, out: &mut [f64]) {
        out[0] = -draw;
    }
}

#[cfg(test)]
mod tests;
