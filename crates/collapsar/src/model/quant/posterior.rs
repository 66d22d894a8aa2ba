//! The fractions, collapsed: $C(\tau) = \sum_m [\ln\Gamma(\alpha + \tau_m) - \ln\Gamma(\alpha)]$ (maths §8.2).
//!
//! The Dirichlet's other term, $-\ln\Gamma$ of all reads and priors together, is a constant.

use collapsar_core::family::check_positive;
use collapsar_core::kernel::gamma::{digamma_in_place, trigamma_in_place};
use collapsar_core::special::ln_gamma;
use collapsar_core::{Potential, Result};

/// The fractions of one component.
#[derive(Debug, Clone, Copy)]
pub struct Posterior {
    /// The prior of each transcript.
    pub(super) alpha: f64,
    pub(super) transcripts: usize,
}

impl Posterior {
    fn shifted(self, at: &[f64], out: &mut [f64]) -> Result<()> {
        for (out, count) in out.iter_mut().zip(at) {
            *out = count + self.alpha;
        }
        let expected = "positive, finite numbers";
        check_positive("fractions", "prior plus count", out, expected)
    }

    /// Writes ψ'(α + τ), the diagonal of the Hessian, which has nothing else.
    pub(super) fn variances(self, at: &[f64], out: &mut [f64]) -> Result<()> {
        self.shifted(at, out)?;
        trigamma_in_place(out);
        Ok(())
    }
}

impl Potential for Posterior {
    fn dim(&self) -> usize {
        self.transcripts
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        self.shifted(at, gradient)?;
        Ok(digamma_in_place(gradient) - self.transcripts as f64 * ln_gamma(self.alpha))
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        self.variances(at, out)?;
        for (out, along) in out.iter_mut().zip(along) {
            *out *= along;
        }
        Ok(())
    }
}
