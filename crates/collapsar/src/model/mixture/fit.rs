//! Decides how a fitted mixture is described: weights, means and covariances with their uncertainty.

use serde::{Deserialize, Serialize};

use super::posterior::{Parameters, Shape};
use super::{Covariance, LevelProbabilities, Mixture, Prior, Weights};
use collapsar_core::family::{Family, StickBreaking};
use collapsar_core::{Point, Result};

/// A covariance in the shape that the fit gives it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Matrix {
    /// One variance for all directions.
    Spherical(f64),
    /// One variance for each column.
    Diagonal(Vec<f64>),
    /// A full matrix, row by row.
    Full(Vec<Vec<f64>>),
}

impl Matrix {
    fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        match self {
            Self::Spherical(x) => Self::Spherical(f(*x)),
            Self::Diagonal(x) => Self::Diagonal(x.iter().map(|&x| f(x)).collect()),
            Self::Full(rows) => Self::full(rows.len(), |i, j| f(rows[i][j])),
        }
    }

    /// Entries from those of two matrices of the same shape.
    pub(super) fn with(&self, other: &Self, f: impl Fn(f64, f64) -> f64) -> Self {
        match (self, other) {
            (Self::Spherical(x), Self::Spherical(y)) => Self::Spherical(f(*x, *y)),
            (Self::Diagonal(x), Self::Diagonal(y)) => {
                Self::Diagonal(x.iter().zip(y).map(|(x, y)| f(*x, *y)).collect())
            }
            (Self::Full(x), Self::Full(y)) => Self::full(x.len(), |i, j| f(x[i][j], y[i][j])),
            _ => self.clone(),
        }
    }

    /// A full matrix of these entries.
    pub(super) fn full(columns: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        let row = |i| (0..columns).map(|j| entry(i, j)).collect();
        Self::Full((0..columns).map(row).collect())
    }

    /// The variance of column `d`.
    pub fn variance(&self, d: usize) -> f64 {
        match self {
            Self::Spherical(x) => *x,
            Self::Diagonal(x) => x[d],
            Self::Full(rows) => rows[d][d],
        }
    }
}

/// A component's posterior, in the data's units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Component {
    /// Expected weight.
    pub weight: f64,
    /// Posterior standard deviation of the weight.
    pub weight_sd: f64,
    /// Expected number of rows.
    pub count: f64,
    /// Posterior mean of the mean.
    pub mean: Vec<f64>,
    /// Posterior standard deviation of each coordinate of the mean; absent where it is infinite.
    pub mean_sd: Option<Vec<f64>>,
    /// The inverse of the expected precision.
    pub covariance: Matrix,
    /// Posterior standard deviation of each entry of the covariance; absent where it is infinite.
    pub covariance_sd: Option<Matrix>,
    /// How many data the posterior mean is worth.
    pub mean_precision: f64,
    /// How many data the posterior scale is worth.
    pub degrees_of_freedom: f64,
    /// The posterior scale matrix: `covariance` times `degrees_of_freedom`.
    pub scale: Matrix,
    /// How many data each coordinate of the posterior mean is worth, where rows with missing values make them differ;
    /// `mean_precision` is then their mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_precisions: Option<Vec<f64>>,
    /// How many data the posterior scale of each column is worth, where they differ so; `degrees_of_freedom` is their mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column_degrees_of_freedom: Option<Vec<f64>>,
    /// What it says of each column of levels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<LevelProbabilities>,
    /// Why standard deviations are absent, where some are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
}

impl Component {
    /// How many data the posterior mean of column `d` is worth.
    pub fn mean_precision_of(&self, d: usize) -> f64 {
        let all = self.mean_precisions.as_ref();
        all.map_or(self.mean_precision, |all| all[d])
    }

    /// How many data the posterior scale of column `d` is worth.
    pub fn degrees_of_freedom_of(&self, d: usize) -> f64 {
        let all = self.column_degrees_of_freedom.as_ref();
        all.map_or(self.degrees_of_freedom, |all| all[d])
    }
}

/// A fitted mixture: all that is needed to describe it and to score new data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MixtureFit {
    /// Shape of the covariances.
    pub covariance: Covariance,
    /// Prior over the weights.
    pub weights: Weights,
    /// The hyperparameters that were used.
    pub prior: Prior,
    /// Weight of components that no row has used, under a Dirichlet process.
    pub unused_weight: f64,
    /// The components, in the order of the labels.
    pub components: Vec<Component>,
}

impl<L: Shape> Mixture<L> {
    /// The fitted mixture at `point`.
    ///
    /// # Errors
    /// Where the point's statistics are outside the families, which no converged fit's are.
    pub fn fit(&self, point: &Point) -> Result<MixtureFit> {
        let natural = |block| self.blocks.natural(block, &point.statistics);
        let (weights, sds, unused_weight) = weight_moments(self.weights, &natural(0));
        let features = self.local.features();
        let components = (0..self.components())
            .map(|k| {
                let natural = match self.parameters {
                    Parameters::Nothing => vec![],
                    _ => natural(self.block(k)),
                };
                let ordinary = self.ordinary(k, &natural)?;
                Ok(describe(Component {
                    levels: self.level_probabilities(k, point),
                    weight: weights[k],
                    weight_sd: sds[k],
                    count: point.statistics[k * features],
                    ..ordinary
                }))
            })
            .collect::<Result<_>>()?;
        Ok(MixtureFit {
            covariance: self.covariance,
            weights: self.weights,
            prior: self.prior.clone(),
            unused_weight,
            components,
        })
    }

    /// A component of rows without numbers.
    fn bare(&self) -> Component {
        let scale = match self.covariance {
            Covariance::Full | Covariance::Tied => Matrix::Full(vec![]),
            Covariance::Diagonal => Matrix::Diagonal(vec![]),
            Covariance::Spherical => Matrix::Spherical(1.0),
        };
        Component {
            mean_precision: self.prior.mean_precision,
            degrees_of_freedom: self.prior.degrees_of_freedom.max(0.0),
            ..undescribed(vec![], scale)
        }
    }

    /// Location, mean precision, degrees of freedom and scale of component `k`, in the data's units.
    fn ordinary(&self, k: usize, natural: &[f64]) -> Result<Component> {
        let columns = self.columns();
        let (shift, unit) = (&self.shift, &self.scale);
        let place = |mean: &[f64]| (0..columns).map(|d| shift[d] + unit[d] * mean[d]).collect();
        let (mean, mean_precision, degrees_of_freedom, scale) = match self.parameters {
            Parameters::Nothing => return Ok(self.bare()),
            Parameters::Columns(family) => {
                let ordinary = family.ordinary(natural)?;
                let freedoms = ordinary.degrees_of_freedom;
                let mut scales = ordinary.scales.iter().zip(unit).map(|(s, u)| s * u * u);
                let mut covariances = ordinary.scales.iter().zip(&freedoms).zip(unit);
                let mut covariance = || covariances.next().map_or(0.0, |((s, n), u)| s * u * u / n);
                let (scale, covariance) = if self.covariance == Covariance::Spherical {
                    let covariance = Matrix::Spherical(covariance());
                    (
                        Matrix::Spherical(scales.next().unwrap_or_default()),
                        covariance,
                    )
                } else {
                    let all = (0..columns).map(|_| covariance()).collect();
                    (Matrix::Diagonal(scales.collect()), Matrix::Diagonal(all))
                };
                let average = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
                return Ok(Component {
                    mean_precision: average(&ordinary.mean_precisions),
                    degrees_of_freedom: average(&freedoms),
                    covariance,
                    mean_precisions: Some(ordinary.mean_precisions),
                    column_degrees_of_freedom: (freedoms.len() == columns).then_some(freedoms),
                    ..undescribed(place(&ordinary.mean), scale)
                });
            }
            Parameters::Full(family) => {
                let ordinary = family.ordinary(natural)?;
                let which = if family.means == 1 { 0 } else { k };
                let entry =
                    |i: usize, j: usize| ordinary.scale[i * columns + j] * unit[i] * unit[j];
                (
                    place(&ordinary.means[which]),
                    ordinary.mean_precisions[which],
                    ordinary.degrees_of_freedom,
                    Matrix::full(columns, entry),
                )
            }
            Parameters::Grouped(family) => {
                let ordinary = family.ordinary(natural)?;
                let mut scales = ordinary.scales.iter().zip(unit).map(|(s, u)| s * u * u);
                let scale = if self.covariance == Covariance::Spherical {
                    Matrix::Spherical(scales.next().unwrap_or_default())
                } else {
                    Matrix::Diagonal(scales.collect())
                };
                (
                    place(&ordinary.mean),
                    ordinary.mean_precision,
                    ordinary.degrees_of_freedom,
                    scale,
                )
            }
        };
        Ok(Component {
            mean_precision,
            degrees_of_freedom,
            covariance: scale.map(|s| s / degrees_of_freedom),
            ..undescribed(mean, scale)
        })
    }
}

/// A component of which no more is known.
fn undescribed(mean: Vec<f64>, scale: Matrix) -> Component {
    Component {
        weight: 0.0,
        weight_sd: 0.0,
        count: 0.0,
        mean,
        mean_sd: None,
        covariance: scale.clone(),
        covariance_sd: None,
        mean_precision: 0.0,
        degrees_of_freedom: 0.0,
        scale,
        mean_precisions: None,
        column_degrees_of_freedom: None,
        levels: vec![],
        absent: None,
    }
}

/// Expected weights, their standard deviations, and the weight left to unused components.
fn weight_moments(weights: Weights, natural: &[f64]) -> (Vec<f64>, Vec<f64>, f64) {
    match weights {
        Weights::Dirichlet => {
            let total: f64 = natural.iter().sum();
            let mean: Vec<f64> = natural.iter().map(|a| a / total).collect();
            let sd = |p: &f64| (p * (1.0 - p) / (total + 1.0)).sqrt();
            let sds = mean.iter().map(sd).collect();
            (mean, sds, 0.0)
        }
        Weights::DirichletProcess => {
            let (mean, unused) = StickBreaking::expected_weights(natural);
            // E[π_k²] is a product over sticks as E[π_k] is: sticks are independent.
            let mut left = 1.0;
            let sd = |(stick, mean): (&[f64], &f64)| {
                let (a, b) = (stick[0], stick[1]);
                let denominator = (a + b) * (a + b + 1.0);
                let square = left * a * (a + 1.0) / denominator;
                left *= b * (b + 1.0) / denominator;
                (square - mean * mean).max(0.0).sqrt()
            };
            let sds = natural.chunks_exact(2).zip(&mean).map(sd).collect();
            (mean, sds, unused)
        }
    }
}

/// Fills in the standard deviations of mean and covariance (maths §4.6).
fn describe(mut component: Component) -> Component {
    let columns = component.mean.len();
    if columns == 0 {
        component.mean_sd = Some(vec![]);
        return component;
    }
    let dimension = if let Matrix::Full(_) = component.scale {
        columns as f64
    } else {
        1.0
    };
    let freedom = |d: usize| component.degrees_of_freedom_of(d) - dimension;
    let least = (0..columns).map(freedom).fold(f64::INFINITY, f64::min);
    // Inverse Wishart: the entry's square and the product of its diagonal entries.
    let entry = |freedom: f64, own: f64, diagonal: f64| {
        let below = freedom * (freedom - 1.0).powi(2) * (freedom - 3.0);
        (((freedom + 1.0) * own * own + (freedom - 1.0) * diagonal) / below).sqrt()
    };
    let mean_sd = (least > 1.0).then(|| {
        let precision = |d| component.mean_precision_of(d) * (freedom(d) - 1.0);
        let sd = |d| (component.scale.variance(d) / precision(d)).sqrt();
        (0..columns).map(sd).collect()
    });
    let covariance_sd = (least > 3.0).then(|| match &component.scale {
        Matrix::Full(rows) => Matrix::full(columns, |i, j| {
            entry(least, rows[i][j], rows[i][i] * rows[j][j])
        }),
        Matrix::Diagonal(scales) => {
            let each = scales.iter().enumerate();
            Matrix::Diagonal(each.map(|(d, s)| entry(freedom(d), *s, s * s)).collect())
        }
        Matrix::Spherical(s) => Matrix::Spherical(entry(least, *s, s * s)),
    });
    component.absent = covariance_sd.is_none().then(|| {
        let what = if mean_sd.is_none() {
            "mean_sd and covariance_sd are infinite"
        } else {
            "covariance_sd is infinite"
        };
        let (found, enough) = (least + dimension, [dimension + 1.0, dimension + 3.0]);
        let expected = format!(
            "expected more than {} for mean_sd and {} for covariance_sd",
            enough[0], enough[1]
        );
        format!("{what}: {found} degrees of freedom, {expected}")
    });
    (component.mean_sd, component.covariance_sd) = (mean_sd, covariance_sd);
    component
}

impl MixtureFit {
    /// Columns of numbers.
    pub fn columns(&self) -> usize {
        self.prior.location.len()
    }

    /// How many levels each column of levels has.
    pub fn level_sizes(&self) -> impl Iterator<Item = usize> + '_ {
        let first = self.components.iter().take(1);
        first.flat_map(|of| of.levels.iter().map(|column| column.probabilities.len()))
    }
}
