//! Bayesian mixtures of Gaussians: weights and component parameters collapsed, labels explicit.
//!
//! - `settings`: what a user may set, and the defaults
//! - `jumps`: jumps out of a poor optimum
//! - `posterior`: the collapsed blocks
//! - `start`: where a run begins
//! - `fit`: a fitted mixture: its components with their uncertainty
//! - `predictive`: what it predicts: densities, labels of new data, draws
//! - `chain`: exact draws
//! - `response`: linear response: how much wider than q the posterior is

mod chain;
mod fit;
mod jumps;
mod posterior;
mod predictive;
mod response;
mod settings;
mod start;

use collapsar_core::rows::{Rows, SoftmaxSum};
use collapsar_core::{Blocks, Change, Collapsed, Error, Hint, Place, Result};
use posterior::{Parameters, blocks};

pub use chain::{DrawOptions, MixtureDraws, Number};
pub use fit::{Component, Matrix, MixtureFit};
pub use posterior::Weights;
pub use predictive::{PredictiveDensity, Scores};
pub use response::{MixtureOverlaps, MixtureResponse};
pub use settings::{Covariance, Defaults, Prior, Scale, Settings};
pub use start::Start;

/// A mixture of Gaussians with its data.
#[derive(Debug)]
pub struct Mixture {
    local: SoftmaxSum,
    covariance: Covariance,
    weights: Weights,
    parameters: Parameters,
    blocks: Blocks,
    prior: Prior,
    shift: Vec<f64>,
    scale: Vec<f64>,
    constant: f64,
    fingerprint: String,
}

/// Mixtures of the same data with any number of components: what does not depend on it is found once.
#[derive(Debug)]
pub struct Mixtures<'a> {
    values: &'a [f64],
    settings: Settings,
    prior: Prior,
    shift: Vec<f64>,
    scale: Vec<f64>,
    digest: u64,
}

impl<'a> Mixtures<'a> {
    /// Mixtures of row-major `values` with `columns` numbers a row, of no more components than
    /// `settings` have.
    ///
    /// # Errors
    /// [`Error::Data`] where the data cannot be used (no rows, fewer rows than components,
    /// a number that is not finite, a constant column under the default prior);
    /// [`Error::Setting`] where a hyperparameter is out of range.
    pub fn new(values: &'a [f64], columns: usize, settings: &Settings) -> Result<Self> {
        check(values, columns, settings)?;
        let moments = settings::moments(values, columns);
        let prior = settings.prior(values, &moments)?;
        let (shift, scale) = standard(moments, settings.covariance);
        Ok(Self {
            values,
            settings: settings.clone(),
            prior,
            shift,
            scale,
            digest: digest(values),
        })
    }

    /// The one with so many components.
    ///
    /// # Errors
    /// [`Error::Setting`] where there are none, or more than there may be.
    pub fn with(&self, components: usize) -> Result<Mixture> {
        let most = self.settings.components;
        if !(1..=most).contains(&components) {
            let expected = format!("1 to {most}");
            return Err(Error::setting("components", components, expected));
        }
        let settings = Settings {
            components,
            ..self.settings.clone()
        };
        let prior = Prior {
            concentration: settings.concentration(),
            ..self.prior.clone()
        };
        let (shift, scale) = (self.shift.clone(), self.scale.clone());
        let (covariance, weights) = (settings.covariance, settings.weights);
        let columns = shift.len();
        let data = Rows::new(self.values, columns, &shift, &scale);
        let rows = data.len();
        let parameters = Parameters::new(covariance, components, columns);
        let natural = prior.natural(parameters, &shift, &scale)?;
        let blocks = blocks(&settings, parameters, natural, &data)?;
        let ln_scale: f64 = scale.iter().map(|s| s.ln()).sum();
        let half_ln_tau = 0.5 * std::f64::consts::TAU.ln();
        // The Gaussians' 2π and the change of units: maths §4.3, §4.4.
        let constant = -(rows as f64) * (columns as f64 * half_ln_tau + ln_scale);
        let fingerprint = format!(
            "a mixture of {components} {} components with {} weights on {rows} rows of {columns} columns (data {:016x}, prior {:016x})",
            covariance.name(),
            weights.name(),
            self.digest,
            digest(&prior.numbers()),
        );
        Ok(Mixture {
            local: SoftmaxSum::new(data, covariance.features(), components),
            covariance,
            weights,
            parameters,
            blocks,
            prior,
            shift,
            scale,
            constant,
            fingerprint,
        })
    }
}

impl Mixture {
    /// A model of row-major `values` with `columns` numbers a row.
    ///
    /// # Errors
    /// As [`Mixtures::new`].
    pub fn new(values: &[f64], columns: usize, settings: &Settings) -> Result<Self> {
        Mixtures::new(values, columns, settings)?.with(settings.components)
    }

    /// Rows of the data.
    pub fn rows(&self) -> usize {
        self.local.rows().len()
    }

    /// Columns of the data.
    pub fn columns(&self) -> usize {
        self.local.rows().columns()
    }

    /// Components of the mixture.
    pub fn components(&self) -> usize {
        self.local.components()
    }

    /// The prior in use, in the data's units.
    pub fn prior(&self) -> &Prior {
        &self.prior
    }

    /// Hands `visitor` each row's responsibilities at `messages`, in the order of the rows.
    ///
    /// # Errors
    /// [`Error::Datum`] where a row has no finite density.
    pub fn responsibilities(
        &self,
        messages: &[f64],
        mut visitor: impl FnMut(usize, &[f64]),
    ) -> Result<()> {
        let components = self.components();
        let mut row = vec![0.0; components];
        self.local
            .responsibilities(messages, |first, width, block| {
                for i in 0..width {
                    for k in 0..components {
                        row[k] = block[k * width + i];
                    }
                    visitor(first + i, &row);
                }
            })
    }
}

impl Collapsed for Mixture {
    type Local = SoftmaxSum;
    type Posterior = Blocks;

    fn local(&self) -> &SoftmaxSum {
        &self.local
    }

    fn posterior(&self) -> &Blocks {
        &self.blocks
    }

    fn constant(&self) -> f64 {
        self.constant
    }

    fn fingerprint(&self) -> String {
        self.fingerprint.clone()
    }
}

/// Squares of larger numbers, summed over rows, would overflow.
const LARGEST: f64 = 1e140;

fn check(values: &[f64], columns: usize, settings: &Settings) -> Result<()> {
    let refuse =
        |found: String, expected: String| Err(Error::data(Place::Whole("data"), found, expected));
    if columns == 0 || values.is_empty() {
        return refuse("no rows".into(), "at least one row of numbers".into());
    }
    if !values.len().is_multiple_of(columns) {
        let expected = format!("a multiple of {columns} columns");
        return refuse(format!("{} numbers", values.len()), expected);
    }
    let (rows, components) = (values.len() / columns, settings.components);
    if components == 0 {
        return Err(Error::setting("components", "0", "at least 1"));
    }
    if rows < components {
        let found = format!("{rows} rows for {components} components");
        let refused = refuse(found, "at least as many rows as components".into());
        let fewer = Hint::Option("components", Change::Fewer);
        return refused.map_err(|error| error.with_hint(fewer));
    }
    if let Some(bad) = values.iter().position(|x| x.is_nan() || x.abs() > LARGEST) {
        let expected = format!("a finite number no larger than {LARGEST:e}; rescale the column");
        let found = format!("{:e}", values[bad]);
        return Err(Error::data(Place::cell(bad, columns), found, expected));
    }
    Ok(())
}

/// Shift and scale that bring each column to mean 0 and standard deviation 1, or all columns to
/// a common deviation where components are spherical (maths §4.4).
fn standard(
    (shift, mut variance): (Vec<f64>, Vec<f64>),
    covariance: Covariance,
) -> (Vec<f64>, Vec<f64>) {
    if covariance == Covariance::Spherical {
        let mean = variance.iter().sum::<f64>() / shift.len() as f64;
        variance.fill(mean);
    }
    // A constant column has no scale of its own; any will do.
    let scale = variance
        .iter()
        .map(|&v| if v > 0.0 { v.sqrt() } else { 1.0 })
        .collect();
    (shift, scale)
}

/// Tells arrays of numbers apart.
fn digest(numbers: &[f64]) -> u64 {
    collapsar_core::digest(numbers.iter().flat_map(|x| x.to_bits().to_le_bytes()))
}
