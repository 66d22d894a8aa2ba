//! A categorical distribution: logits in, probabilities out.

use rand::Rng;

use super::{Family, check_length, pick, require};
use crate::collapsed::Potential;
use crate::elementary::Elementary;
use crate::error::Result;
use crate::special::log_sum_exp;

const BLOCK: &str = "categorical block";

/// One of `components` outcomes; natural parameters are logits, statistics the indicators.
///
/// $$A(\eta) = \ln \sum_k e^{\eta_k}$$
///
/// The logits may share any constant, so [`Family::natural`] returns the normalised ones. A logit
/// of $-\infty$ is a component that never occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Categorical {
    /// Number of components.
    pub components: usize,
}

impl Categorical {
    /// A categorical distribution over `components`.
    pub fn new(components: usize) -> Self {
        Self { components }
    }

    /// Draws as [`Family::sample`] does, with `weights` to work in: one exponential a component and no logarithm.
    ///
    /// # Errors
    /// Where no logit is finite, or one is not below infinity.
    pub fn draw_into<R: Rng + ?Sized>(
        &self,
        logits: &[f64],
        rng: &mut R,
        weights: &mut [f64],
    ) -> Result<usize> {
        check_length(BLOCK, logits, self.components)?;
        let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut total = 0.0;
        for (weight, logit) in weights.iter_mut().zip(logits) {
            // The likeliest has weight one.
            *weight = if *logit == most {
                1.0
            } else {
                (logit - most).exp_()
            };
            total += *weight;
        }
        let expected = "logits below infinity, one of them finite";
        require(most.is_finite() && !total.is_nan(), BLOCK, expected, || {
            format!("the largest logit is {most}")
        })?;
        Ok(pick(weights, total, rng))
    }
}

impl Potential for Categorical {
    fn dim(&self) -> usize {
        self.components
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let value = self.value(at)?;
        for (g, logit) in gradient.iter_mut().zip(at) {
            *g = (logit - value).exp_(); // maths §3.1
        }
        Ok(value)
    }

    fn value(&self, at: &[f64]) -> Result<f64> {
        check_length(BLOCK, at, self.components)?;
        let value = log_sum_exp(at);
        let expected = "logits below infinity, one of them finite";
        require(value.is_finite(), BLOCK, expected, || {
            format!("the logits sum to {value}")
        })?;
        Ok(value)
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        self.value_and_gradient(at, out)?;
        // maths §3.1, with the direction relative to the likeliest component: a shift of all logits
        // changes nothing, and a component with nearly all mass would leave only rounding.
        let larger = |a: usize, b: usize| if at[b] > at[a] { b } else { a };
        let origin = along[(0..at.len()).fold(0, larger)];
        let average: f64 = out.iter().zip(along).map(|(p, d)| p * (d - origin)).sum();
        for (p, d) in out.iter_mut().zip(along) {
            *p *= d - origin - average;
        }
        Ok(())
    }
}

impl Family for Categorical {
    /// Probabilities.
    type Ordinary = Vec<f64>;
    /// The component.
    type Draw = usize;

    fn natural(&self, ordinary: &Vec<f64>) -> Result<Vec<f64>> {
        check_length(BLOCK, ordinary, self.components)?;
        for p in ordinary {
            require((0.0..=1.0).contains(p), BLOCK, "0 to 1", || {
                format!("a probability is {p}")
            })?;
        }
        let sum: f64 = ordinary.iter().sum();
        // What people write with eight digits sums to one within this.
        require((sum - 1.0).abs() <= 1e-6, BLOCK, "a sum of 1", || {
            format!("the probabilities sum to {sum}")
        })?;
        Ok(ordinary.iter().map(|p| (p / sum).ln_()).collect())
    }

    fn ordinary(&self, natural: &[f64]) -> Result<Vec<f64>> {
        let mut probabilities = vec![0.0; self.components];
        self.value_and_gradient(natural, &mut probabilities)?;
        Ok(probabilities)
    }

    fn sample<R: Rng + ?Sized>(&self, natural: &[f64], rng: &mut R) -> Result<usize> {
        Ok(pick(&self.ordinary(natural)?, 1.0, rng))
    }

    fn statistics(&self, draw: &usize, out: &mut [f64]) {
        out.fill(0.0);
        out[*draw] = 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_that_never_occur_have_no_mean() {
        let family = Categorical::new(3);
        let natural = [0.0, f64::NEG_INFINITY, 0.0];
        let mut mean = [f64::NAN; 3];
        let value = family
            .value_and_gradient(&natural, &mut mean)
            .expect("in the domain");
        // Two roundings.
        assert!((value - std::f64::consts::LN_2).abs() < 1e-15);
        assert!((mean[0] - 0.5).abs() < 1e-15);
        assert_eq!(mean[1], 0.0);
    }

    #[test]
    fn logits_outside_the_domain_are_errors() {
        let family = Categorical::new(2);
        for bad in [
            &[f64::NAN, 0.0][..],
            &[f64::NEG_INFINITY; 2],
            &[f64::INFINITY, 0.0],
            &[0.0],
        ] {
            assert!(
                family.value_and_gradient(bad, &mut [0.0; 2]).is_err(),
                "{bad:?}"
            );
        }
        assert!(family.natural(&vec![0.5, 0.6]).is_err());
        assert!(family.natural(&vec![1.5, -0.5]).is_err());
    }
}
