//! A gamma distribution: a shape and a rate, with draws kept as logarithms too.

use rand::Rng;

use super::dirichlet::{gamma_draw, ln_gamma_draw};
use super::{Family, POSITIVE, check_length, is_positive, require};
use crate::collapsed::Potential;
use crate::elementary::Elementary;
use crate::error::Result;
use crate::special::{digamma, ln_gamma, trigamma};

const BLOCK: &str = "gamma block";

/// A gamma distribution; natural parameters are the shape and the rate, statistics
/// $(\ln\tau, -\tau)$.
///
/// $$p(\tau) \propto \tau^{a - 1} e^{-b\tau}, \qquad A(a, b) = \ln\Gamma(a) - a \ln b$$
///
/// A normal datum with precision $\tau$ adds $\tfrac12$ to $a$ and half its squared distance from
/// the mean to $b$.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gamma;

fn point(natural: &[f64]) -> Result<(f64, f64)> {
    check_length(BLOCK, natural, 2)?;
    for (name, value) in ["shape", "rate"].iter().zip(natural) {
        require(is_positive(*value), BLOCK, POSITIVE, || {
            format!("the {name} is {value}")
        })?;
    }
    Ok((natural[0], natural[1]))
}

impl Gamma {
    /// Draws $\ln\tau$ and $\tau$, which is zero where only its logarithm is a number.
    ///
    /// # Errors
    /// Where shape or rate are not positive.
    pub fn draw_both<R: Rng + ?Sized>(&self, natural: &[f64], rng: &mut R) -> Result<(f64, f64)> {
        let (a, b) = point(natural)?;
        if a >= 1.0 {
            let draw = gamma_draw(a, rng) / b;
            if draw >= f64::MIN_POSITIVE && draw.is_finite() {
                return Ok((draw.ln_(), draw));
            }
        }
        let ln_draw = ln_gamma_draw(a, rng) - b.ln_();
        Ok((ln_draw, ln_draw.exp_()))
    }
}

impl Potential for Gamma {
    fn dim(&self) -> usize {
        2
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let (a, b) = point(at)?;
        gradient[0] = digamma(a) - b.ln_(); // maths §3.7
        gradient[1] = -a / b;
        Ok(ln_gamma(a) - a * b.ln_())
    }

    fn value(&self, at: &[f64]) -> Result<f64> {
        let (a, b) = point(at)?;
        Ok(ln_gamma(a) - a * b.ln_())
    }

    fn contains(&self, at: &[f64]) -> bool {
        at.len() == 2 && at.iter().all(|value| is_positive(*value))
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        let (a, b) = point(at)?;
        let change = along[1] / b;
        out[0] = trigamma(a) * along[0] - change; // maths §3.7
        out[1] = (a * change - along[0]) / b;
        Ok(())
    }
}

impl Family for Gamma {
    /// The shape $a$ and the rate $b$: the mean is $a / b$.
    type Ordinary = Vec<f64>;
    /// $\ln\tau$, which is finite whatever the shape.
    type Draw = f64;

    fn natural(&self, ordinary: &Vec<f64>) -> Result<Vec<f64>> {
        self.ordinary(ordinary)
    }

    fn ordinary(&self, natural: &[f64]) -> Result<Vec<f64>> {
        point(natural)?;
        Ok(natural.to_vec())
    }

    fn sample<R: Rng + ?Sized>(&self, natural: &[f64], rng: &mut R) -> Result<f64> {
        Ok(self.draw_both(natural, rng)?.0)
    }

    fn statistics(&self, draw: &f64, out: &mut [f64]) {
        out[0] = *draw;
        out[1] = -draw.exp_();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn value_is_the_integral_of_the_density() {
        // Simpson's rule in ln τ, where both tails fall exponentially or faster.
        for (a, b) in [(0.8, 3.0), (2.5, 0.1), (40.0, 7.0)] {
            let density = |y: f64| (a * y - b * y.exp()).exp();
            let (low, high, steps) = (-60.0, 10.0, 70_000);
            let width = (high - low) / f64::from(steps);
            let sum: f64 = (0..steps)
                .map(|k| low + width * f64::from(k))
                .map(|y| density(y) + 4.0 * density(y + 0.5 * width) + density(y + width))
                .sum();
            let expected = (sum * width / 6.0).ln();
            let found = Gamma
                .value_and_gradient(&[a, b], &mut [0.0; 2])
                .expect("in the domain");
            // The cut tail of e^{-60 · 0.8}, and the rounding of 70,000 terms.
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn tiny_shapes_give_finite_statistics() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut underflows = 0;
        for _ in 0..1000 {
            let draw = Gamma.sample(&[1e-4, 2.0], &mut rng).expect("in the domain");
            assert!(draw.is_finite() && draw.exp().is_finite());
            underflows += usize::from(draw.exp() == 0.0);
        }
        // P(ln τ < -745) is about e^{-0.0745}: the logarithm is needed.
        assert!(underflows > 800, "{underflows}");
    }

    #[test]
    fn parameters_outside_the_domain_are_errors() {
        for bad in [
            &[0.0, 1.0][..],
            &[1.0, 0.0],
            &[f64::NAN, 1.0],
            &[1.0, f64::INFINITY],
            &[1.0],
        ] {
            assert!(
                Gamma.value_and_gradient(bad, &mut [0.0; 2]).is_err(),
                "{bad:?}"
            );
        }
        let bad = vec![1.0, -2.0];
        assert_eq!(
            Gamma.natural(&bad).expect_err("negative").to_string(),
            "gamma block: the rate is -2, expected a positive, finite number"
        );
    }
}
