//! A Dirichlet distribution: concentrations, with draws kept as logarithms.

use crate::random::{Distribution, Exp1, Gamma};
use rand::Rng;

use super::{Family, check_length, check_positive, is_positive};
use crate::collapsed::Potential;
use crate::elementary::Elementary;
use crate::error::Result;
use crate::special::{
    digamma, digamma_gap, ln_beta, ln_gamma, log_sum_exp, trigamma, trigamma_gap,
};

const BLOCK: &str = "Dirichlet block";

/// A Dirichlet distribution; natural parameters are concentrations, statistics log-probabilities.
///
/// $$A(a) = \sum_k \ln\Gamma(a_k) - \ln\Gamma\Bigl(\sum_k a_k\Bigr)$$
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dirichlet {
    /// Number of components.
    pub dim: usize,
}

impl Dirichlet {
    /// A Dirichlet distribution over `components`.
    pub fn new(components: usize) -> Self {
        Self { dim: components }
    }

    fn check(self, natural: &[f64]) -> Result<()> {
        check_length(BLOCK, natural, self.dim)?;
        let expected = "positive, finite concentrations";
        check_positive(BLOCK, "concentration", natural, expected)
    }
}

impl Dirichlet {
    /// Draws probabilities and their logarithms, which are the statistics.
    ///
    /// # Errors
    /// Where a concentration is not positive.
    pub fn draw_into<R: Rng + ?Sized>(
        &self,
        natural: &[f64],
        rng: &mut R,
        probabilities: &mut [f64],
        logs: &mut [f64],
    ) -> Result<()> {
        self.check(natural)?;
        if natural.iter().all(|a| *a >= 1.0) {
            // Nothing underflows, so that logarithms are of what is drawn and no exponentials are needed.
            let mut total = 0.0;
            for (draw, a) in probabilities.iter_mut().zip(natural) {
                *draw = gamma_draw(*a, rng);
                total += *draw;
            }
            for (draw, ln) in probabilities.iter_mut().zip(logs) {
                *draw /= total;
                *ln = draw.ln_();
            }
            return Ok(());
        }
        for (ln, a) in logs.iter_mut().zip(natural) {
            *ln = ln_gamma_draw(*a, rng);
        }
        let total = log_sum_exp(logs);
        for (draw, ln) in probabilities.iter_mut().zip(logs) {
            *ln -= total;
            *draw = ln.exp_();
        }
        Ok(())
    }
}

/// The place of the largest concentration, and the sum of all others.
///
/// A component that holds nearly all counts has a mean near zero, a difference of two digammas
/// that are nearly equal; what separates them is this sum, which must not come from a difference.
fn largest_and_others(natural: &[f64]) -> (usize, f64) {
    let larger = |a: usize, b: usize| if natural[b] > natural[a] { b } else { a };
    let largest = (0..natural.len()).fold(0, larger);
    let others = natural[..largest]
        .iter()
        .chain(&natural[largest + 1..])
        .sum();
    (largest, others)
}

impl Potential for Dirichlet {
    fn dim(&self) -> usize {
        self.dim
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        self.check(at)?;
        if self.dim == 1 {
            gradient.fill(0.0);
            return Ok(0.0);
        }
        let (largest, others) = largest_and_others(at);
        let shift = digamma(at[largest] + others);
        // maths §3.2, with lnΓ(a) - lnΓ(Σ) of the largest as lnB(a, others) - lnΓ(others).
        let mut value = ln_beta(at[largest], others) - ln_gamma(others);
        for (k, (g, a)) in gradient.iter_mut().zip(at).enumerate() {
            if k == largest {
                *g = -digamma_gap(*a, others);
            } else {
                value += ln_gamma(*a);
                *g = digamma(*a) - shift;
            }
        }
        Ok(value)
    }

    fn value(&self, at: &[f64]) -> Result<f64> {
        self.check(at)?;
        if self.dim == 1 {
            return Ok(0.0);
        }
        let (largest, others) = largest_and_others(at);
        let rest = at.iter().enumerate().filter(|(k, _)| *k != largest);
        let first = ln_beta(at[largest], others) - ln_gamma(others);
        Ok(rest.fold(first, |value, (_, a)| value + ln_gamma(*a)))
    }

    fn contains(&self, at: &[f64]) -> bool {
        at.len() == self.dim && at.iter().all(|a| is_positive(*a))
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        self.check(at)?;
        let (largest, others) = largest_and_others(at);
        let shared = trigamma(at[largest] + others);
        let others_along: f64 = along[..largest].iter().chain(&along[largest + 1..]).sum();
        let shift = shared * (along[largest] + others_along);
        for ((o, a), d) in out.iter_mut().zip(at).zip(along) {
            *o = trigamma(*a) * d - shift; // maths §3.2
        }
        out[largest] = trigamma_gap(at[largest], others) * along[largest] - shared * others_along;
        Ok(())
    }
}

impl Family for Dirichlet {
    /// Concentrations.
    type Ordinary = Vec<f64>;
    /// Log-probabilities: with concentrations near zero the probabilities themselves underflow.
    type Draw = Vec<f64>;

    fn natural(&self, ordinary: &Vec<f64>) -> Result<Vec<f64>> {
        self.ordinary(ordinary)
    }

    fn ordinary(&self, natural: &[f64]) -> Result<Vec<f64>> {
        self.check(natural)?;
        Ok(natural.to_vec())
    }

    fn sample<R: Rng + ?Sized>(&self, natural: &[f64], rng: &mut R) -> Result<Vec<f64>> {
        let mut logs = vec![0.0; natural.len()];
        self.draw_into(natural, rng, &mut vec![0.0; natural.len()], &mut logs)?;
        Ok(logs)
    }

    fn statistics(&self, draw: &Vec<f64>, out: &mut [f64]) {
        out.copy_from_slice(draw);
    }
}

/// The logarithm of a Gamma(shape, 1) draw, for a positive shape.
///
/// A draw with a small shape underflows, so it is made from one with shape + 1 and a power of a
/// uniform, in logarithms: ln u / shape is minus an exponential over the shape.
pub(super) fn ln_gamma_draw<R: Rng + ?Sized>(shape: f64, rng: &mut R) -> f64 {
    if shape >= 1.0 {
        return gamma_draw(shape, rng).ln_();
    }
    let ln_draw = gamma_draw(shape + 1.0, rng).ln_();
    let exponential: f64 = Exp1.sample(rng);
    ln_draw - exponential / shape
}

/// A sum of so many Gamma(shape, 1) draws, each with its weight.
pub(super) fn gammas<R: Rng + ?Sized>(shape: f64, weights: &[f64], rng: &mut R) -> f64 {
    let gamma = Gamma::new(shape, 1.0).expect("a positive shape");
    weights
        .iter()
        .map(|weight| weight * gamma.sample(rng))
        .sum()
}

/// A Gamma(shape, 1) draw, for a shape of one or more.
pub(super) fn gamma_draw<R: Rng + ?Sized>(shape: f64, rng: &mut R) -> f64 {
    let gamma = Gamma::new(shape, 1.0);
    gamma.expect("a positive shape").sample(rng)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn tiny_concentrations_give_finite_statistics() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let natural = [1e-3; 5];
        for _ in 0..1000 {
            let draw = Dirichlet::new(5)
                .sample(&natural, &mut rng)
                .expect("in the domain");
            assert!(draw.iter().all(|x| x.is_finite()), "{draw:?}");
        }
    }

    #[test]
    fn concentrations_outside_the_domain_are_errors() {
        for bad in [
            &[0.0, 1.0][..],
            &[-1.0, 1.0],
            &[f64::NAN, 1.0],
            &[f64::INFINITY, 1.0],
            &[1.0],
        ] {
            assert!(
                Dirichlet::new(2)
                    .value_and_gradient(bad, &mut [0.0; 2])
                    .is_err(),
                "{bad:?}"
            );
        }
        let error = Dirichlet::new(2)
            .natural(&vec![1.0, -0.5])
            .expect_err("negative");
        assert_eq!(
            error.to_string(),
            "Dirichlet block: concentration 2 of 2 is -0.5, expected positive, finite concentrations"
        );
    }
}
