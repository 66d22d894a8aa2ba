//! Decides how bounds of distributions other than the normal are met: by numbers that are known, at nodes or as data.

use collapsar::elementary::Elementary;
use collapsar::special::{beta_cdf, gamma_tails};

use super::emit::Emit;
use crate::diagnostic::Diagnostic;
use crate::distribution::Distribution;
use crate::elaborate::Resolved;
use crate::value::{Scalar, Value};

/// Whether bounds of a distribution can be met.
pub(crate) fn may_be_bounded(distribution: Distribution) -> bool {
    use Distribution::{Beta, ChiSquared, Exponential, Gamma, Normal, Uniform, Weibull};
    matches!(
        distribution,
        Normal | Beta | ChiSquared | Exponential | Gamma | Uniform | Weibull
    )
}

impl Emit<'_> {
    /// Checks that a number is within bounds, and adds what makes the density one within them.
    pub(super) fn within(&mut self, x: &Scalar, arguments: &[Value]) -> Resolved {
        let Some((lower, upper, normalised)) = self.bounds else {
            return Ok(());
        };
        let Scalar::Known(x) = *x else {
            let name = &self.line.of.name.text;
            let message = format!("bounds of {name} that is not observed have no conjugate family");
            return Err(Diagnostic::new(self.line.target, message, "not data").into());
        };
        if !(lower..=upper).contains(&x) {
            return self.impossible();
        }
        if !normalised {
            return Ok(());
        }
        let known: Vec<f64> = (arguments.iter().enumerate())
            .map(|(place, value)| self.constant(place, value.single().unwrap_or(&Scalar::Opaque)))
            .collect::<Resolved<_>>()?;
        let inside = probability(self.line.of.distribution, &known, lower, upper);
        self.add(-inside.ln_(), &[])
    }
}

/// The probability of being between two numbers, in all its digits where both are in one tail.
fn probability(distribution: Distribution, p: &[f64], lower: f64, upper: f64) -> f64 {
    let gamma = |shape: f64, low: f64, high: f64| {
        let (below, above) = (gamma_tails(shape, low), gamma_tails(shape, high));
        if below.0 > 0.5 {
            below.1 - above.1
        } else {
            above.0 - below.0
        }
    };
    let (low, high) = (lower.max(0.0), upper.max(0.0));
    match distribution {
        Distribution::Beta => {
            beta_cdf(p[0], p[1], upper.min(1.0)) - beta_cdf(p[0], p[1], lower.max(0.0))
        }
        Distribution::Gamma => gamma(p[0], p[1] * low, p[1] * high),
        Distribution::Exponential => gamma(1.0, p[0] * low, p[0] * high),
        Distribution::ChiSquared => gamma(0.5 * p[0], 0.5 * low, 0.5 * high),
        Distribution::Weibull => gamma(1.0, p[1] * low.powf_(p[0]), p[1] * high.powf_(p[0])),
        Distribution::Uniform => (upper.min(p[1]) - lower.max(p[0])) / (p[1] - p[0]),
        _ => f64::NAN,
    }
}
