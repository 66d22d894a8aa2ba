//! What a family is: a log-partition function with ordinary parameters, draws and statistics.
//!
//! - `categorical`: a categorical distribution, logits in, probabilities out.
//! - `dirichlet`: a Dirichlet distribution, with draws kept as logarithms.
//! - `stick_breaking`: the weights of a Dirichlet process as independent sticks.
//! - `network`: discrete variables that tables tie, summed out exactly.
//! - `normal_wishart`: normal means with one full precision matrix in common, or that matrix alone.
//! - `normal_gamma`: normal means with a precision for each group of coordinates.
//! - `normal_gamma_columns`: the same where each coordinate was observed another number of times.
//! - `gamma`: a gamma distribution, with draws kept as logarithms too.
//! - `gaussian`: scalars with a precision matrix that is mostly zero.
//! - `gaussian_gamma`: the same with an unknown factor on the precision.
//! - `polya_gamma`: a Pólya-Gamma variable, which makes a logistic likelihood quadratic.
//! - `positive`: a positive number between bounds: gamma, generalised inverse Gaussian, log-normal.
//! - `truncated_normal`: a normal variable between constant bounds.
//! - `student_t`: the predictive density of a normal component.
//! - `marginal`: the distribution of one scalar: mean, standard deviation, CDF, quantiles.

mod categorical;
mod dirichlet;
mod gamma;
mod gamma_cube;
mod gaussian;
mod gaussian_gamma;
mod marginal;
mod network;
mod normal_gamma;
mod normal_gamma_columns;
mod normal_wishart;
mod polya_gamma;
mod positive;
mod stick_breaking;
mod student_t;
mod truncated_normal;

pub use categorical::Categorical;
pub use dirichlet::Dirichlet;
pub use gamma::Gamma;
pub use gamma_cube::GammaCube;
pub use gaussian::{
    Gaussian, GaussianBuffers, GaussianCache, GaussianOrdinary, GaussianPart, GaussianSampler,
    GaussianValues,
};
pub use gaussian_gamma::{GaussianGamma, GaussianGammaDraw, GaussianGammaOrdinary};
pub use marginal::Marginal;
pub use network::{Network, NetworkBuffers, Table};
pub use normal_gamma::{NormalGamma, NormalGammaDraw, NormalGammaOrdinary};
pub use normal_gamma_columns::{NormalGammaColumns, NormalGammaColumnsOrdinary};
pub use normal_wishart::{NormalWishart, NormalWishartDraw, NormalWishartOrdinary};
pub use polya_gamma::PolyaGamma;
pub use positive::{Positive, Tail};
pub use stick_breaking::StickBreaking;
pub use student_t::StudentT;
pub use truncated_normal::TruncatedNormal;

use rand::{Rng, RngExt};

use crate::collapsed::Potential;
use crate::error::{Error, Result};

/// A conjugate family in the coordinates prior plus statistics.
///
/// [`Potential::value_and_gradient`] is the log-partition function and the mean of the
/// statistics; [`Potential::hessian_product`] applies their covariance.
pub trait Family: Potential {
    /// The parameters as people write them.
    type Ordinary;
    /// What a draw is.
    type Draw;

    /// Natural parameters of `ordinary`.
    ///
    /// # Errors
    /// Where the parameters are outside the family.
    fn natural(&self, ordinary: &Self::Ordinary) -> Result<Vec<f64>>;

    /// Ordinary parameters of `natural`.
    ///
    /// # Errors
    /// Where the parameters are outside the family.
    fn ordinary(&self, natural: &[f64]) -> Result<Self::Ordinary>;

    /// One draw.
    ///
    /// # Errors
    /// Where the parameters are outside the family.
    fn sample<R: Rng + ?Sized>(&self, natural: &[f64], rng: &mut R) -> Result<Self::Draw>;

    /// Writes the statistics $u(x)$ of a draw, whose expectation is the mean.
    fn statistics(&self, draw: &Self::Draw, out: &mut [f64]);
}

const POSITIVE: &str = "a positive, finite number";

/// Refuses natural parameters of the wrong length, and families of nothing.
fn check_length(block: &str, natural: &[f64], length: usize) -> Result<()> {
    let expected = "as many parameters as the family has, one at least";
    let fits = natural.len() == length && length > 0;
    require(fits, block, expected, || {
        format!("{} parameters where the family has {length}", natural.len())
    })
}

/// Refuses what does not hold.
fn require(
    holds: bool,
    block: &str,
    expected: &'static str,
    found: impl FnOnce() -> String,
) -> Result<()> {
    if holds {
        return Ok(());
    }
    Err(Error::domain(block, found(), expected))
}

/// Refuses values that are not positive and finite.
pub fn check_positive(
    block: &str,
    what: &str,
    values: &[f64],
    expected: &'static str,
) -> Result<()> {
    let good = values.iter().take_while(|v| is_positive(**v)).count();
    require(good == values.len(), block, expected, || {
        format!(
            "{what} {} of {} is {}",
            good + 1,
            values.len(),
            values[good]
        )
    })
}

/// One of several, with probabilities in proportion to these weights, which sum to `total`.
pub fn pick<R: Rng + ?Sized>(weights: &[f64], total: f64, rng: &mut R) -> usize {
    let mut left = total * rng.random::<f64>();
    let mut chosen = 0;
    for (index, &weight) in weights.iter().enumerate() {
        // Rounding may leave a crumb after the last that can be: it is that one's.
        if weight > 0.0 {
            chosen = index;
            if left < weight {
                break;
            }
            left -= weight;
        }
    }
    chosen
}

fn is_positive(value: f64) -> bool {
    // Smaller numbers lose their digits one by one, and their inverses overflow.
    value >= f64::MIN_POSITIVE && value.is_finite()
}
