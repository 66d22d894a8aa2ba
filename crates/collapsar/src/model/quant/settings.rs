//! What a user may set, and the defaults.

use serde::{Deserialize, Serialize};

use collapsar_core::{Error, Result};

/// The prior of the fractions, the same number for every transcript.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Prior {
    /// This number.
    Given(f64),
    /// Learned by raising the bound.
    Learned,
}

impl Default for Prior {
    /// A tenth of a read.
    ///
    /// Of 0.01 to 1 it has the best estimates, and intervals that hold what they promise, on four
    /// simulations of different depth and sparsity (docs/quant.md). The bound's own choice is 0.01 to
    /// 0.04 there: right for the many transcripts that are absent, too sure of it for those with a
    /// few reads.
    fn default() -> Self {
        Self::Given(0.1)
    }
}

/// How a quantification is solved.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The prior of the fractions.
    pub prior: Prior,
    /// A component is at rest when a step raises its bound by less than this many nats.
    pub tolerance: f64,
    /// Whether transcripts without reads of their own are tried for being absent (maths §8.6).
    pub search: bool,
    /// Components of more transcripts are climbed by `auto`, others by dense Newton steps.
    pub dense: usize,
}

/// Priors outside of this range are refused: beyond it the functions of the bound lose digits.
pub(super) const RANGE: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

impl Default for Settings {
    fn default() -> Self {
        Self {
            prior: Prior::default(),
            tolerance: 1e-8,
            search: true,
            dense: 400,
        }
    }
}

impl Settings {
    pub(super) fn check(&self) -> Result<()> {
        if let Prior::Given(alpha) = self.prior
            && !RANGE.contains(&alpha)
        {
            let (least, most) = (RANGE.start(), RANGE.end());
            let expected = format!("auto or a positive number, {least:e} to {most:e}");
            return Err(Error::setting("prior", alpha, expected));
        }
        let tolerance = self.tolerance;
        if !(tolerance > 0.0 && tolerance.is_finite()) {
            let expected = "a positive number of nats";
            return Err(Error::setting("tolerance", tolerance, expected));
        }
        Ok(())
    }
}
