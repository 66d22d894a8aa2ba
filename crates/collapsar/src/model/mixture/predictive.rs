//! Decides what a fitted mixture predicts: the density of new data, their labels, and draws.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::settings::diagonal;
use super::{Covariance, Matrix, MixtureFit};
use collapsar_core::family::StudentT;
use collapsar_core::special::log_sum_exp;
use collapsar_core::{Error, Place, Result};

/// Labels and densities of new rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Scores {
    /// The most probable component of each row.
    pub labels: Vec<usize>,
    /// Its probability.
    pub certainty: Vec<f64>,
    /// The log of the posterior predictive density.
    pub ln_density: Vec<f64>,
}

/// The posterior predictive density of a fit, ready to be evaluated: a mixture of Student-t.
pub struct PredictiveDensity {
    columns: usize,
    parts: Vec<(f64, Part)>,
    components: usize,
}

/// The density of one component: a Student-t over all columns, or one for each.
type Part = Vec<StudentT>;

fn part(mean: &[f64], mean_precision: f64, freedom: f64, scale: &Matrix) -> Result<Part> {
    let columns = mean.len();
    let widen = |freedom: f64| (mean_precision + 1.0) / (mean_precision * freedom);
    // maths §4.5
    let (freedom, matrix) = match scale {
        Matrix::Full(rows) => (freedom - columns as f64 + 1.0, rows.concat()),
        Matrix::Spherical(s) => (freedom, diagonal(columns, |_| *s)),
        Matrix::Diagonal(scales) => {
            return (mean.iter().zip(scales))
                .map(|(&m, s)| StudentT::new(freedom, vec![m], &[s * widen(freedom)]))
                .collect();
        }
    };
    let matrix: Vec<f64> = matrix.iter().map(|s| s * widen(freedom)).collect();
    Ok(vec![StudentT::new(freedom, mean.to_vec(), &matrix)?])
}

impl MixtureFit {
    /// The posterior predictive density.
    ///
    /// # Errors
    /// Where a saved fit has been damaged: a scale that is not positive definite.
    pub fn predictive(&self) -> Result<PredictiveDensity> {
        let mut parts = Vec::with_capacity(self.components.len() + 1);
        for c in &self.components {
            let part = part(&c.mean, c.mean_precision, c.degrees_of_freedom, &c.scale)?;
            parts.push((c.weight.ln(), part));
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

    fn prior_predictive(&self) -> Result<Part> {
        let (prior, columns) = (&self.prior, self.columns());
        let diagonal = prior.scale.iter().step_by(columns + 1).copied();
        let mut freedom = prior.degrees_of_freedom;
        let scale = match self.covariance {
            Covariance::Full => Matrix::full(columns, |i, j| prior.scale[i * columns + j]),
            Covariance::Diagonal => Matrix::Diagonal(diagonal.collect()),
            Covariance::Spherical => {
                freedom *= columns as f64;
                Matrix::Spherical(diagonal.sum())
            }
            // An unused component shares the precision, which has seen all the data (maths §4.5).
            Covariance::Tied => {
                freedom = self.components[0].degrees_of_freedom;
                self.components[0].scale.clone()
            }
        };
        part(&prior.location, prior.mean_precision, freedom, &scale)
    }
}

impl PredictiveDensity {
    /// The log density at `y`, writing each component's probability given `y`.
    pub fn ln_density(&self, y: &[f64], probabilities: &mut Vec<f64>) -> f64 {
        let mut scratch = vec![0.0; self.columns];
        probabilities.clear();
        for (ln_weight, part) in &self.parts {
            let columns = part.iter().zip(y.chunks(self.columns / part.len()));
            let densities = columns.map(|(t, y)| t.ln_density(y, &mut scratch));
            probabilities.push(ln_weight + densities.sum::<f64>());
        }
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
            let expected = format!("{}, as the fit has", self.columns);
            let found = format!("{columns} columns");
            return Err(Error::data(Place::Whole("data"), found, expected));
        }
        if let Some(bad) = values.iter().position(|x| !x.is_finite()) {
            let (place, found) = (Place::cell(bad, columns), values[bad].to_string());
            return Err(Error::data(place, found, "a finite number"));
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
            values.extend(part.iter().flat_map(|t| t.sample(&mut rng)));
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
