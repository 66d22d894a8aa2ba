//! What a fit says: components with their uncertainty, the predictive density, labels for new data.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::posterior::Parameters;
use super::{Covariance, Mixture, Prior, Weights};
use collapsar_core::family::{Family, StickBreaking, StudentT};
use collapsar_core::special::log_sum_exp;
use collapsar_core::{Error, Place, Point, Result};

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
            Self::Full(rows) => Self::Full(
                rows.iter()
                    .map(|r| r.iter().map(|&x| f(x)).collect())
                    .collect(),
            ),
        }
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

/// What a fit says of new rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Scores {
    /// The most probable component of each row.
    pub labels: Vec<usize>,
    /// Its probability.
    pub certainty: Vec<f64>,
    /// The log of the posterior predictive density.
    pub ln_density: Vec<f64>,
}

impl Mixture {
    /// The answers at `point`.
    ///
    /// # Errors
    /// Where the point's statistics are outside the families, which no converged fit's are.
    pub fn fit(&self, point: &Point) -> Result<MixtureFit> {
        let naturals = self.posterior.naturals(&point.statistics);
        let (weights, sds, unused_weight) =
            weight_moments(self.posterior.weights, &naturals.weights);
        let features = self.local.features();
        let block = |k: usize| &naturals.blocks[if naturals.blocks.len() == 1 { 0 } else { k }];
        let components = (0..self.components())
            .map(|k| {
                let (mean, mean_precision, degrees_of_freedom, scale) =
                    self.ordinary(k, block(k))?;
                Ok(describe(Component {
                    weight: weights[k],
                    weight_sd: sds[k],
                    count: point.statistics[k * features],
                    mean_sd: None,
                    covariance: scale.map(|s| s / degrees_of_freedom),
                    covariance_sd: None,
                    mean,
                    mean_precision,
                    degrees_of_freedom,
                    scale,
                }))
            })
            .collect::<Result<_>>()?;
        Ok(MixtureFit {
            covariance: self.covariance,
            weights: self.posterior.weights,
            prior: self.prior.clone(),
            unused_weight,
            components,
        })
    }

    /// Location, mean precision, degrees of freedom and scale of component `k`, in the data's units.
    fn ordinary(&self, k: usize, natural: &[f64]) -> Result<(Vec<f64>, f64, f64, Matrix)> {
        let columns = self.columns();
        let (shift, unit) = (&self.shift, &self.scale);
        let place = |mean: &[f64]| (0..columns).map(|d| shift[d] + unit[d] * mean[d]).collect();
        Ok(match &self.posterior.parameters {
            Parameters::Full(family) | Parameters::Tied(family) => {
                let ordinary = family.ordinary(natural)?;
                let which = if ordinary.means.len() == 1 { 0 } else { k };
                let scale = (0..columns)
                    .map(|i| {
                        (0..columns)
                            .map(|j| ordinary.scale[i * columns + j] * unit[i] * unit[j])
                            .collect()
                    })
                    .collect();
                let mean = place(&ordinary.means[which]);
                (
                    mean,
                    ordinary.mean_precisions[which],
                    ordinary.degrees_of_freedom,
                    Matrix::Full(scale),
                )
            }
            Parameters::Grouped(family) => {
                let ordinary = family.ordinary(natural)?;
                let scale = if self.covariance == Covariance::Spherical {
                    Matrix::Spherical(ordinary.scales[0] * unit[0] * unit[0])
                } else {
                    Matrix::Diagonal(
                        ordinary
                            .scales
                            .iter()
                            .zip(unit)
                            .map(|(s, u)| s * u * u)
                            .collect(),
                    )
                };
                (
                    place(&ordinary.mean),
                    ordinary.mean_precision,
                    ordinary.degrees_of_freedom,
                    scale,
                )
            }
        })
    }
}

/// Expected weights, their standard deviations, and the weight left to unused components.
fn weight_moments(weights: Weights, natural: &[f64]) -> (Vec<f64>, Vec<f64>, f64) {
    match weights {
        Weights::Dirichlet => {
            let total: f64 = natural.iter().sum();
            let mean: Vec<f64> = natural.iter().map(|a| a / total).collect();
            let sd = mean
                .iter()
                .map(|p| (p * (1.0 - p) / (total + 1.0)).sqrt())
                .collect();
            (mean, sd, 0.0)
        }
        Weights::DirichletProcess => {
            let (mean, unused) = StickBreaking::expected_weights(natural);
            // E[π_k²] is a product over sticks as E[π_k] is: sticks are independent.
            let mut left = 1.0;
            let sd = natural
                .chunks_exact(2)
                .zip(&mean)
                .map(|(stick, mean)| {
                    let (a, b) = (stick[0], stick[1]);
                    let denominator = (a + b) * (a + b + 1.0);
                    let square = left * a * (a + 1.0) / denominator;
                    left *= b * (b + 1.0) / denominator;
                    (square - mean * mean).max(0.0).sqrt()
                })
                .collect();
            (mean, sd, unused)
        }
    }
}

/// Fills in the standard deviations of mean and covariance (maths §4.6).
fn describe(mut component: Component) -> Component {
    let columns = component.mean.len();
    let dimension = if let Matrix::Full(_) = component.scale {
        columns as f64
    } else {
        1.0
    };
    let freedom = component.degrees_of_freedom - dimension;
    if freedom > 1.0 {
        let sd =
            |d| (component.scale.variance(d) / (component.mean_precision * (freedom - 1.0))).sqrt();
        component.mean_sd = Some((0..columns).map(sd).collect());
    }
    if freedom > 3.0 {
        // Inverse Wishart: the entry's square and the product of its diagonal entries.
        let below = freedom * (freedom - 1.0).powi(2) * (freedom - 3.0);
        let entry = |own: f64, diagonal: f64| {
            (((freedom + 1.0) * own * own + (freedom - 1.0) * diagonal) / below).sqrt()
        };
        component.covariance_sd = Some(match &component.scale {
            Matrix::Full(rows) => Matrix::Full(
                (0..columns)
                    .map(|i| {
                        (0..columns)
                            .map(|j| entry(rows[i][j], rows[i][i] * rows[j][j]))
                            .collect()
                    })
                    .collect(),
            ),
            diagonal => diagonal.map(|s| entry(s, s * s)),
        });
    }
    component
}

/// The predictive density of one component: a Student-t, or a product of them over columns.
enum Predictive {
    Joint(StudentT),
    Product(Vec<StudentT>),
}

impl Predictive {
    fn new(
        mean: &[f64],
        mean_precision: f64,
        degrees_of_freedom: f64,
        scale: &Matrix,
    ) -> Result<Self> {
        let columns = mean.len();
        let widen = |freedom: f64| (mean_precision + 1.0) / (mean_precision * freedom);
        // maths §4.5
        Ok(match scale {
            Matrix::Full(rows) => {
                let freedom = degrees_of_freedom - columns as f64 + 1.0;
                let matrix: Vec<f64> = rows.iter().flatten().map(|s| s * widen(freedom)).collect();
                Self::Joint(StudentT::new(freedom, mean.to_vec(), &matrix)?)
            }
            Matrix::Spherical(s) => {
                let mut matrix = vec![0.0; columns * columns];
                matrix
                    .iter_mut()
                    .step_by(columns + 1)
                    .for_each(|x| *x = s * widen(degrees_of_freedom));
                Self::Joint(StudentT::new(degrees_of_freedom, mean.to_vec(), &matrix)?)
            }
            Matrix::Diagonal(scales) => Self::Product(
                mean.iter()
                    .zip(scales)
                    .map(|(&m, s)| {
                        StudentT::new(
                            degrees_of_freedom,
                            vec![m],
                            &[s * widen(degrees_of_freedom)],
                        )
                    })
                    .collect::<Result<_>>()?,
            ),
        })
    }

    fn ln_density(&self, y: &[f64], scratch: &mut [f64]) -> f64 {
        match self {
            Self::Joint(t) => t.ln_density(y, scratch),
            Self::Product(ts) => ts
                .iter()
                .zip(y)
                .map(|(t, x)| t.ln_density(&[*x], scratch))
                .sum(),
        }
    }

    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Vec<f64> {
        match self {
            Self::Joint(t) => t.sample(rng),
            Self::Product(ts) => ts.iter().flat_map(|t| t.sample(rng)).collect(),
        }
    }
}

/// The posterior predictive density of a fit, ready to be evaluated: a mixture of Student-t.
pub struct PredictiveDensity {
    columns: usize,
    parts: Vec<(f64, Predictive)>,
    components: usize,
}

impl MixtureFit {
    /// Columns of the data.
    pub fn columns(&self) -> usize {
        self.prior.location.len()
    }

    /// The posterior predictive density.
    ///
    /// # Errors
    /// Where a saved fit has been damaged: a scale that is not positive definite.
    pub fn predictive(&self) -> Result<PredictiveDensity> {
        let mut parts = Vec::with_capacity(self.components.len() + 1);
        for component in &self.components {
            let Component {
                mean,
                mean_precision,
                degrees_of_freedom,
                scale,
                weight,
                ..
            } = component;
            parts.push((
                weight.ln(),
                Predictive::new(mean, *mean_precision, *degrees_of_freedom, scale)?,
            ));
        }
        if self.unused_weight > 0.0 {
            parts.push((self.unused_weight.ln(), self.prior_predictive()?));
        }
        Ok(PredictiveDensity {
            columns: self.columns(),
            parts,
            components: self.components.len(),
        })
    }

    fn prior_predictive(&self) -> Result<Predictive> {
        let Prior {
            location,
            mean_precision,
            degrees_of_freedom,
            scale,
            ..
        } = &self.prior;
        let columns = location.len();
        let diagonal = scale.iter().step_by(columns + 1).copied();
        let (freedom, scale) = match self.covariance {
            Covariance::Full => (
                *degrees_of_freedom,
                Matrix::Full(scale.chunks(columns).map(<[f64]>::to_vec).collect()),
            ),
            // An unused component shares the precision, which has seen all the data (maths §4.5).
            Covariance::Tied => {
                let any = &self.components[0];
                (any.degrees_of_freedom, any.scale.clone())
            }
            Covariance::Diagonal => (*degrees_of_freedom, Matrix::Diagonal(diagonal.collect())),
            Covariance::Spherical => (
                degrees_of_freedom * columns as f64,
                Matrix::Spherical(diagonal.sum()),
            ),
        };
        Predictive::new(location, *mean_precision, freedom, &scale)
    }
}

impl PredictiveDensity {
    /// The log density at `y`, writing each component's probability given `y`.
    pub fn ln_density(&self, y: &[f64], probabilities: &mut Vec<f64>) -> f64 {
        let mut scratch = vec![0.0; self.columns];
        probabilities.clear();
        probabilities.extend(
            self.parts
                .iter()
                .map(|(ln_weight, part)| ln_weight + part.ln_density(y, &mut scratch)),
        );
        let ln_density = log_sum_exp(probabilities);
        for p in probabilities.iter_mut() {
            *p = (*p - ln_density).exp();
        }
        ln_density
    }

    /// Labels and densities of row-major `values`.
    ///
    /// # Errors
    /// [`Error::Data`] where the rows have another number of columns, or a number is not finite.
    pub fn score(&self, values: &[f64], columns: usize) -> Result<Scores> {
        if columns != self.columns {
            return Err(Error::data(
                Place::Whole("data"),
                format!("{columns} columns"),
                format!("{}, as the fit has", self.columns),
            ));
        }
        if let Some(bad) = values.iter().position(|x| !x.is_finite()) {
            return Err(Error::data(
                Place::cell(bad, columns),
                values[bad].to_string(),
                "a finite number",
            ));
        }
        // Rows do not meet, so threads may divide them in any way.
        let rows: Vec<(usize, f64, f64)> = values
            .par_chunks_exact(columns)
            .with_min_len(256)
            .map_init(Vec::new, |probabilities, y| {
                let ln_density = self.ln_density(y, probabilities);
                let known = probabilities[..self.components].iter().enumerate();
                let (label, certainty) = known.fold((0, f64::NEG_INFINITY), |best, (k, &p)| {
                    if p > best.1 { (k, p) } else { best }
                });
                (label, certainty, ln_density)
            })
            .collect();
        Ok(Scores {
            labels: rows.iter().map(|r| r.0).collect(),
            certainty: rows.iter().map(|r| r.1).collect(),
            ln_density: rows.iter().map(|r| r.2).collect(),
        })
    }

    /// `count` draws, row-major.
    pub fn sample(&self, count: usize, seed: u64) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut values = Vec::with_capacity(count * self.columns);
        for _ in 0..count {
            let mut left: f64 = rng.random();
            let chosen = self.parts.iter().position(|(ln_weight, _)| {
                left -= ln_weight.exp();
                left < 0.0
            });
            let (_, part) = &self.parts[chosen.unwrap_or(self.parts.len() - 1)];
            values.extend(part.sample(&mut rng));
        }
        values
    }

    /// For each log density, the probability that a new datum's is lower still: small for anomalies.
    ///
    /// From 10,000 draws, so that it is a tail probability of the fit, comparable across fits.
    pub fn tail(&self, ln_density: &[f64], seed: u64) -> Vec<f64> {
        const DRAWS: usize = 10_000;
        let draws = self.sample(DRAWS, seed);
        let mut probabilities = Vec::new();
        let mut reference: Vec<f64> = draws
            .chunks_exact(self.columns)
            .map(|y| self.ln_density(y, &mut probabilities))
            .collect();
        reference.sort_by(f64::total_cmp);
        ln_density
            .iter()
            .map(|d| (reference.partition_point(|r| r <= d) as f64 + 0.5) / (DRAWS as f64 + 1.0))
            .collect()
    }
}
