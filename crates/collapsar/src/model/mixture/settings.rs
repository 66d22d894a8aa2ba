//! What a user may set, and the defaults.

use nalgebra::{Cholesky, DMatrix};
use serde::{Deserialize, Serialize};

use super::Weights;
use super::data::Data;
use super::posterior::Parameters;
use collapsar_core::family::{
    Family, NormalGammaColumnsOrdinary, NormalGammaOrdinary, NormalWishartOrdinary,
};
use collapsar_core::rows::Features;
use collapsar_core::{Error, Result};

/// Where the hyperparameters that are not set come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Defaults {
    /// From the data, as scikit-learn's `BayesianGaussianMixture` takes them: concentration 1/K,
    /// location the mean, mean precision 1, D degrees of freedom, scale the covariance.
    #[default]
    Sklearn,
    /// Uninformative, as the authors of HRL12 set them: concentration 1, location the mean,
    /// mean precision 1e-6, D + 1 degrees of freedom, scale 1e-3 times the identity.
    Paper,
}

/// How the covariances of the components are related and shaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Covariance {
    /// Each component its own full matrix.
    #[default]
    Full,
    /// Each component its own diagonal.
    #[serde(rename = "diag")]
    Diagonal,
    /// Each component its own variance, the same in every direction.
    Spherical,
    /// One full matrix for all components.
    Tied,
}

impl Covariance {
    /// Every kind, in the order of the documentation.
    pub const ALL: [Self; 4] = [Self::Full, Self::Diagonal, Self::Spherical, Self::Tied];

    /// The name, as `--covariance` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Diagonal => "diag",
            Self::Spherical => "spherical",
            Self::Tied => "tied",
        }
    }

    /// What a component sees of a row (maths §4.1), in data with missing values or without (maths §4.7).
    pub(crate) fn features(self, gaps: bool) -> Features {
        match self {
            Self::Diagonal if gaps => Features::DiagonalWithGaps,
            Self::Spherical if gaps => Features::SphericalWithGaps,
            Self::Full => Features::Full,
            Self::Diagonal => Features::Diagonal,
            Self::Spherical => Features::Spherical,
            Self::Tied => Features::Linear,
        }
    }
}

/// The prior scale: what the inverse Wishart's scale matrix is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scale {
    /// A number times the identity.
    Identity(f64),
    /// A symmetric positive definite matrix, row-major.
    Matrix(Vec<f64>),
}

/// A mixture as its user describes it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Settings {
    /// Number of components.
    pub components: usize,
    /// Shape of the covariances.
    pub covariance: Covariance,
    /// Prior over the weights.
    pub weights: Weights,
    /// Where unset hyperparameters come from.
    pub defaults: Defaults,
    /// Of the weights' prior: each component's, or the Dirichlet process's.
    pub concentration: Option<f64>,
    /// Prior mean of the components' means.
    pub location: Option<Vec<f64>>,
    /// How many data the prior mean is worth.
    pub mean_precision: Option<f64>,
    /// How many data the prior scale is worth (for each coordinate where spherical).
    pub degrees_of_freedom: Option<f64>,
    /// Prior scale matrix; its diagonal, or the mean of that, where covariances are.
    pub scale: Option<Scale>,
    /// Of the prior of the probabilities of levels: how many rows each level is worth beforehand.
    #[serde(default)]
    pub level_concentration: Option<f64>,
}

impl Settings {
    /// Defaults for `components` components.
    pub fn new(components: usize) -> Self {
        Self {
            components,
            ..Self::default()
        }
    }

    fn either(&self, sklearn: f64, paper: f64) -> f64 {
        match self.defaults {
            Defaults::Sklearn => sklearn,
            Defaults::Paper => paper,
        }
    }

    /// That of the weights' prior, which alone depends on the number of components.
    pub(crate) fn concentration(&self) -> f64 {
        let default = || self.either(1.0 / self.components as f64, 1.0);
        self.concentration.unwrap_or_else(default)
    }

    /// Fills in what is not set, from mean and variance of each column.
    pub(super) fn prior(&self, data: &Data, moments: &(Vec<f64>, Vec<f64>)) -> Result<Prior> {
        let prior = self.prior_of(&moments.0, || data.default_scale(moments, self.covariance))?;
        // Jeffreys' prior, which for two levels is worth a row as the prior of means is. Less, such as a row over all levels, would
        // send a level that a component has not seen yet a message of about minus their number, which no start gets over.
        let concentration = self.level_concentration.unwrap_or(self.either(0.5, 1.0));
        if !(concentration > 0.0 && concentration.is_finite()) {
            let expected = "a positive number";
            return Err(Error::setting(
                "level_concentration",
                concentration,
                expected,
            ));
        }
        Ok(Prior {
            levels: vec![concentration; data.categories.len()],
            ..prior
        })
    }

    /// Fills in what is not set, from the mean of each column and a default scale.
    pub(super) fn prior_of(
        &self,
        mean: &[f64],
        scale: impl FnOnce() -> Result<Vec<f64>>,
    ) -> Result<Prior> {
        let columns = mean.len();
        let d = columns as f64;
        let prior = Prior {
            concentration: self.concentration(),
            location: self.location.clone().unwrap_or_else(|| mean.to_vec()),
            mean_precision: self.mean_precision.unwrap_or(self.either(1.0, 1e-6)),
            degrees_of_freedom: self.degrees_of_freedom.unwrap_or(self.either(d, d + 1.0)),
            scale: match (&self.scale, self.defaults) {
                (Some(Scale::Matrix(matrix)), _) => matrix.clone(),
                (Some(Scale::Identity(s)), _) => diagonal(columns, |_| *s),
                (None, Defaults::Sklearn) => scale()?,
                (None, Defaults::Paper) => diagonal(columns, |_| 1e-3),
            },
            levels: vec![],
        };
        prior.check(columns, self.covariance)?;
        Ok(prior)
    }
}

/// The hyperparameters in use, in the data's units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prior {
    /// Of the weights' prior.
    pub concentration: f64,
    /// Prior mean of the components' means.
    pub location: Vec<f64>,
    /// How many data the prior mean is worth.
    pub mean_precision: f64,
    /// How many data the prior scale is worth.
    pub degrees_of_freedom: f64,
    /// Prior scale matrix, row-major.
    pub scale: Vec<f64>,
    /// For each column of levels, how many rows each of them is worth beforehand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<f64>,
}

impl Prior {
    fn check(&self, columns: usize, covariance: Covariance) -> Result<()> {
        let above = |value: f64, least: f64| value > least && value.is_finite();
        let least = match covariance {
            // Nothing has it.
            _ if columns == 0 => -1.0,
            Covariance::Full | Covariance::Tied => columns as f64 - 1.0,
            Covariance::Diagonal | Covariance::Spherical => 0.0,
        };
        let numbers = |values: &[f64]| format!("{} numbers", values.len());
        let finite = self.location.iter().all(|x| x.is_finite());
        let positive = "a positive number".to_owned();
        let (name, found, expected) = if !above(self.concentration, 0.0) {
            ("concentration", self.concentration.to_string(), positive)
        } else if !above(self.mean_precision, 0.0) {
            ("mean_precision", self.mean_precision.to_string(), positive)
        } else if !above(self.degrees_of_freedom, least) {
            let found = self.degrees_of_freedom.to_string();
            ("degrees_of_freedom", found, format!("more than {least}"))
        } else if self.location.len() != columns || !finite {
            let expected = format!("{columns} finite numbers, one for each column");
            ("location", numbers(&self.location), expected)
        } else if self.scale.len() != columns * columns {
            let expected = format!("a matrix of {columns} by {columns}");
            ("scale", numbers(&self.scale), expected)
        } else if columns == 0 {
            return Ok(());
        } else {
            let matrix = DMatrix::from_row_slice(columns, columns, &self.scale);
            let symmetric = (&matrix - matrix.transpose()).amax() <= 1e-10 * matrix.amax();
            if symmetric && Cholesky::new(matrix).is_some() {
                return Ok(());
            }
            let found = "a matrix that is not a covariance's".to_owned();
            let expected = "a symmetric and positive definite one".to_owned();
            ("scale", found, expected)
        };
        Err(Error::setting(name, found, expected))
    }

    /// Natural parameters of a block in standardised units (maths §4.4).
    pub(crate) fn natural(
        &self,
        parameters: Parameters,
        shift: &[f64],
        scale: &[f64],
    ) -> Result<Vec<f64>> {
        let columns = shift.len();
        let standard = (self.location.iter()).zip(shift.iter().zip(scale));
        let location: Vec<f64> = standard.map(|(m, (a, b))| (m - a) / b).collect();
        let cells = (0..columns * columns).map(|c| {
            let (i, j) = (c / columns, c % columns);
            self.scale[c] / (scale[i] * scale[j])
        });
        match parameters {
            Parameters::Nothing => Ok(vec![]),
            Parameters::Full(family) => family.natural(&NormalWishartOrdinary {
                means: vec![location; family.means],
                mean_precisions: vec![self.mean_precision; family.means],
                degrees_of_freedom: self.degrees_of_freedom,
                scale: cells.collect(),
            }),
            // Each coordinate of a group brings its own degrees of freedom and scale.
            Parameters::Grouped(family) => {
                let mut diagonal = cells.step_by(columns + 1);
                let group = |_| diagonal.by_ref().take(family.size).sum();
                family.natural(&NormalGammaOrdinary {
                    mean: location,
                    mean_precision: self.mean_precision,
                    degrees_of_freedom: self.degrees_of_freedom * family.size as f64,
                    scales: (0..family.groups).map(group).collect(),
                })
            }
            Parameters::Columns(family) => {
                let mut diagonal = cells.step_by(columns + 1);
                let group = |_| diagonal.by_ref().take(family.size).sum();
                let freedom = self.degrees_of_freedom * family.size as f64;
                family.natural(&NormalGammaColumnsOrdinary {
                    mean: location,
                    mean_precisions: vec![self.mean_precision; columns],
                    degrees_of_freedom: vec![freedom; family.groups],
                    scales: (0..family.groups).map(group).collect(),
                })
            }
        }
    }

    /// All hyperparameters in a row.
    pub(crate) fn numbers(&self) -> Vec<f64> {
        let scalars = [
            self.concentration,
            self.mean_precision,
            self.degrees_of_freedom,
        ];
        [&scalars, &self.location[..], &self.scale, &self.levels].concat()
    }
}

/// A diagonal matrix.
pub(super) fn diagonal(columns: usize, entry: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut matrix = vec![0.0; columns * columns];
    for i in 0..columns {
        matrix[i * columns + i] = entry(i);
    }
    matrix
}
