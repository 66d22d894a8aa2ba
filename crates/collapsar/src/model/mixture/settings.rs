//! What a user may set, and the defaults.

use serde::{Deserialize, Serialize};

use super::{Covariance, Weights};
use crate::error::{Error, Hint, Place, Result};
use crate::family::{
    Family, NormalGamma, NormalGammaOrdinary, NormalWishart, NormalWishartOrdinary,
};

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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
}

impl Settings {
    /// Defaults for `components` components.
    pub fn new(components: usize) -> Self {
        Self {
            components,
            covariance: Covariance::default(),
            weights: Weights::default(),
            defaults: Defaults::default(),
            concentration: None,
            location: None,
            mean_precision: None,
            degrees_of_freedom: None,
            scale: None,
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
    pub(crate) fn prior(
        &self,
        values: &[f64],
        (mean, variance): &(Vec<f64>, Vec<f64>),
    ) -> Result<Prior> {
        let columns = mean.len();
        let d = columns as f64;
        let prior = Prior {
            concentration: self.concentration(),
            location: self.location.clone().unwrap_or_else(|| mean.clone()),
            mean_precision: self.mean_precision.unwrap_or(self.either(1.0, 1e-6)),
            degrees_of_freedom: self.degrees_of_freedom.unwrap_or(self.either(d, d + 1.0)),
            scale: match (&self.scale, self.defaults) {
                (Some(Scale::Matrix(matrix)), _) => matrix.clone(),
                (Some(Scale::Identity(s)), _) => identity(columns, *s),
                (None, Defaults::Sklearn) => {
                    default_scale(values, mean, variance, self.covariance)?
                }
                (None, Defaults::Paper) => identity(columns, 1e-3),
            },
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
}

impl Prior {
    fn check(&self, columns: usize, covariance: Covariance) -> Result<()> {
        let setting =
            |name, found: String, expected: String| Err(Error::setting(name, found, expected));
        let positive = [
            ("concentration", self.concentration),
            ("mean_precision", self.mean_precision),
        ];
        for (name, value) in positive {
            if !(value > 0.0 && value.is_finite()) {
                return setting(name, value.to_string(), "a positive number".into());
            }
        }
        let least = match covariance {
            Covariance::Full | Covariance::Tied => columns as f64 - 1.0,
            Covariance::Diagonal | Covariance::Spherical => 0.0,
        };
        if !(self.degrees_of_freedom > least && self.degrees_of_freedom.is_finite()) {
            return setting(
                "degrees_of_freedom",
                self.degrees_of_freedom.to_string(),
                format!("more than {least}"),
            );
        }
        if self.location.len() != columns || self.location.iter().any(|x| !x.is_finite()) {
            return setting(
                "location",
                format!("{} numbers", self.location.len()),
                format!("{columns} finite numbers, one for each column"),
            );
        }
        if self.scale.len() != columns * columns {
            return setting(
                "scale",
                format!("{} numbers", self.scale.len()),
                format!("a matrix of {columns} by {columns}"),
            );
        }
        let matrix = nalgebra::DMatrix::from_row_slice(columns, columns, &self.scale);
        let symmetric = (&matrix - matrix.transpose()).amax() <= 1e-10 * matrix.amax();
        if !symmetric || nalgebra::Cholesky::new(matrix).is_none() {
            return setting(
                "scale",
                "a matrix that is not a covariance's".into(),
                "a symmetric and positive definite one".into(),
            );
        }
        Ok(())
    }

    /// Natural parameters of a block in standardised units (maths §4.4).
    pub(crate) fn natural(
        &self,
        settings: &Settings,
        shift: &[f64],
        scale: &[f64],
    ) -> Result<Vec<f64>> {
        let columns = shift.len();
        let location: Vec<f64> = self
            .location
            .iter()
            .zip(shift.iter().zip(scale))
            .map(|(m, (a, b))| (m - a) / b)
            .collect();
        let standard = |i: usize, j: usize| self.scale[i * columns + j] / (scale[i] * scale[j]);
        let diagonal = (0..columns).map(|i| standard(i, i));
        let wishart = |means: usize| NormalWishartOrdinary {
            means: vec![location.clone(); means],
            mean_precisions: vec![self.mean_precision; means],
            degrees_of_freedom: self.degrees_of_freedom,
            scale: (0..columns * columns)
                .map(|c| standard(c / columns, c % columns))
                .collect(),
        };
        let gamma = |degrees_of_freedom, scales| NormalGammaOrdinary {
            mean: location.clone(),
            mean_precision: self.mean_precision,
            degrees_of_freedom,
            scales,
        };
        match settings.covariance {
            Covariance::Full => NormalWishart::new(columns).natural(&wishart(1)),
            Covariance::Tied => NormalWishart::tied(columns, settings.components)
                .natural(&wishart(settings.components)),
            Covariance::Diagonal => NormalGamma::diagonal(columns)
                .natural(&gamma(self.degrees_of_freedom, diagonal.collect())),
            // Each of the D coordinates brings its own degrees of freedom and scale.
            Covariance::Spherical => NormalGamma::spherical(columns).natural(&gamma(
                self.degrees_of_freedom * columns as f64,
                vec![diagonal.sum()],
            )),
        }
    }

    /// All hyperparameters in a row.
    pub(crate) fn numbers(&self) -> Vec<f64> {
        let scalars = [
            self.concentration,
            self.mean_precision,
            self.degrees_of_freedom,
        ];
        scalars
            .iter()
            .chain(&self.location)
            .chain(&self.scale)
            .copied()
            .collect()
    }
}

/// Mean and (population) variance of each column.
pub(crate) fn moments(values: &[f64], columns: usize) -> (Vec<f64>, Vec<f64>) {
    let rows = (values.len() / columns) as f64;
    let mut mean = vec![0.0; columns];
    for row in values.chunks_exact(columns) {
        for (m, x) in mean.iter_mut().zip(row) {
            *m += x / rows;
        }
    }
    let mut variance = vec![0.0; columns];
    for row in values.chunks_exact(columns) {
        for ((v, x), m) in variance.iter_mut().zip(row).zip(&mean) {
            *v += (x - m) * (x - m) / rows;
        }
    }
    // A constant column's mean may be off by rounding: its variance is still none.
    for ((v, m), x) in variance.iter_mut().zip(&mut mean).zip(values) {
        if *v <= (1e-14 * m.abs()).powi(2) {
            (*v, *m) = (0.0, *x);
        }
    }
    (mean, variance)
}

/// The sample covariance, its diagonal, or the mean of that times the identity.
fn default_scale(
    values: &[f64],
    mean: &[f64],
    variance: &[f64],
    covariance: Covariance,
) -> Result<Vec<f64>> {
    let columns = mean.len();
    let rows = values.len() / columns;
    let constant = |column: usize| {
        Error::data(
            Place::Column(column),
            format!("the constant {}", mean[column]),
            "a column that varies",
        )
        .with_hint(Hint::Any(vec![Hint::give("columns"), Hint::give("scale")]))
    };
    if covariance == Covariance::Spherical {
        if variance.iter().all(|&v| v == 0.0) {
            return Err(constant(0));
        }
    } else if let Some(column) = variance.iter().position(|&v| v == 0.0) {
        return Err(constant(column));
    }
    // scikit-learn divides by N - 1.
    let unbiased = rows as f64 / (rows as f64 - 1.0);
    match covariance {
        Covariance::Full | Covariance::Tied => {
            let mut matrix = vec![0.0; columns * columns];
            for row in values.chunks_exact(columns) {
                for i in 0..columns {
                    for j in 0..columns {
                        matrix[i * columns + j] +=
                            (row[i] - mean[i]) * (row[j] - mean[j]) / (rows as f64 - 1.0);
                    }
                }
            }
            Ok(matrix)
        }
        Covariance::Diagonal => {
            let mut matrix = identity(columns, 0.0);
            for (i, v) in variance.iter().enumerate() {
                matrix[i * columns + i] = v * unbiased;
            }
            Ok(matrix)
        }
        Covariance::Spherical => Ok(identity(
            columns,
            variance.iter().sum::<f64>() / columns as f64 * unbiased,
        )),
    }
}

fn identity(columns: usize, value: f64) -> Vec<f64> {
    (0..columns * columns)
        .map(|c| {
            if c / columns == c % columns {
                value
            } else {
                0.0
            }
        })
        .collect()
}
