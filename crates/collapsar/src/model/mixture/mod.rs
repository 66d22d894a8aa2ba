//! Bayesian mixtures of Gaussians: weights and component parameters collapsed, labels explicit.
//!
//! - `settings`: what a user may set, and the defaults
//! - `features`: what a component sees of a datum
//! - `local`: the sum over the data
//! - `jumps`: jumps out of a poor optimum
//! - `posterior`: the collapsed blocks
//! - `start`: where a run begins
//! - `answer`: what a fit says about components, densities and new data

mod answer;
mod features;
mod jumps;
mod local;
mod posterior;
mod settings;
mod start;

use crate::collapsed::Collapsed;
use crate::error::{Change, Error, Hint, Place, Result};
use crate::vector::dot;

pub use answer::{Component, Matrix, MixtureFit, PredictiveDensity, Scores};
pub(crate) use features::Blocks;
pub use features::Covariance;
pub use local::Local;
pub use posterior::{Posterior, Weights};
pub use settings::{Defaults, Prior, Scale, Settings};
pub use start::Start;

/// A mixture of Gaussians with its data.
#[derive(Debug)]
pub struct Mixture {
    local: Local,
    posterior: Posterior,
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
        let columns = shift.len();
        let rows = self.values.len() / columns;
        let data = Blocks::new(self.values, columns, &shift, &scale);
        let scatter = if settings.covariance == Covariance::Tied {
            scatter(&data)
        } else {
            vec![]
        };
        let posterior = Posterior::new(
            (settings.components, columns),
            settings.covariance,
            settings.weights,
            prior.concentration,
            prior.natural(&settings, &shift, &scale)?,
            (rows as f64, &scatter),
        )?;
        let ln_scale: f64 = scale.iter().map(|s| s.ln()).sum();
        let half_ln_tau = 0.5 * std::f64::consts::TAU.ln();
        // The Gaussians' 2π and the change of units: maths §4.3, §4.4.
        let constant = -(rows as f64) * (columns as f64 * half_ln_tau + ln_scale);
        let fingerprint = format!(
            "a mixture of {} {} components with {} weights on {rows} rows of {columns} columns (data {:016x}, prior {:016x})",
            settings.components,
            settings.covariance.name(),
            settings.weights.name(),
            self.digest,
            digest(&prior.numbers()),
        );
        let local = Local::new(data, settings.covariance, settings.components);
        Ok(Mixture {
            local,
            posterior,
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
        self.local.data.rows
    }

    /// Columns of the data.
    pub fn columns(&self) -> usize {
        self.local.data.columns
    }

    /// Components of the mixture.
    pub fn components(&self) -> usize {
        self.local.components
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
    type Local = Local;
    type Posterior = Posterior;

    fn local(&self) -> &Local {
        &self.local
    }

    fn posterior(&self) -> &Posterior {
        &self.posterior
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
    let data = || Place::Whole("data");
    if columns == 0 || values.is_empty() {
        return Err(Error::data(
            data(),
            "no rows",
            "at least one row of numbers",
        ));
    }
    if !values.len().is_multiple_of(columns) {
        let found = format!("{} numbers", values.len());
        let expected = format!("a multiple of {columns} columns");
        return Err(Error::data(data(), found, expected));
    }
    let rows = values.len() / columns;
    if settings.components == 0 {
        return Err(Error::setting("components", "0", "at least 1"));
    }
    if rows < settings.components {
        let found = format!("{rows} rows for {} components", settings.components);
        let error = Error::data(data(), found, "at least as many rows as components");
        return Err(error.with_hint(Hint::Option("components", Change::Fewer)));
    }
    if let Some(bad) = values.iter().position(|x| x.is_nan() || x.abs() > LARGEST) {
        return Err(Error::data(
            Place::cell(bad, columns),
            format!("{:e}", values[bad]),
            format!("a finite number no larger than {LARGEST:e}; rescale the column"),
        ));
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

/// The upper triangle of the sum of y y', row by row.
fn scatter(data: &Blocks) -> Vec<f64> {
    let columns = data.columns;
    let mut packed = vec![0.0; columns * (columns + 1) / 2];
    for (_, width, block) in data.within(0..data.rows) {
        let mut cells = packed.iter_mut();
        for i in 0..columns {
            for j in i..columns {
                let (a, b) = (
                    &block[i * width..(i + 1) * width],
                    &block[j * width..(j + 1) * width],
                );
                *cells.next().expect("a cell for every pair") += dot(a, b);
            }
        }
    }
    packed
}

/// Tells arrays of numbers apart.
fn digest(numbers: &[f64]) -> u64 {
    crate::digest::digest(numbers.iter().flat_map(|x| x.to_bits().to_le_bytes()))
}
