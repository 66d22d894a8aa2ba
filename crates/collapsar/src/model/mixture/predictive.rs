//! Decides what a fitted mixture predicts: the density of new data, their labels, and draws.
//!
//! - `impute`: rows with missing values: what is there, and what is not
//! - `mixed`: rows with levels beside their numbers

mod impute;
mod mixed;

use std::f64::consts::TAU;

use collapsar_core::random::{Distribution, StandardNormal};
use nalgebra::{Cholesky, DMatrix, DVector};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::settings::diagonal;
use super::{Component, Covariance, LevelProbabilities, Matrix, MixtureDraws, MixtureFit};
use collapsar_core::Result;
use collapsar_core::elementary::Elementary;
use collapsar_core::family::StudentT;
use collapsar_core::rows::{LevelColumn, LevelPlaces};
use collapsar_core::special::log_sum_exp;
pub use impute::Imputation;
pub use mixed::{Cells, LevelImputation};

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

/// Draws at most that a density is the mean of: its error is then below a thirtieth of its own spread.
const DENSITY_DRAWS: usize = 1000;

/// The posterior predictive density of a fit, ready to be evaluated: a mixture of Student-t, or of the normal
/// distributions of draws.
pub struct PredictiveDensity {
    columns: usize,
    /// Where levels are among those of all columns.
    levels: LevelPlaces,
    parts: Vec<Weighted>,
    components: usize,
    /// Whether there is a part that is no component.
    unused: bool,
}

/// A part of the density: the log of its weight, which component's it is, and its shape.
struct Weighted {
    ln_weight: f64,
    component: usize,
    part: Part,
    /// The log of the expected probability of each level of all columns.
    ln_levels: Vec<f64>,
}

/// The density of one part.
enum Part {
    /// A Student-t over all columns, or one for each.
    StudentT(Vec<StudentT>),
    /// A normal distribution: its mean, the factor of its covariance, and the log of what it is divided by.
    Normal(Vec<f64>, DMatrix<f64>, f64),
}

impl Part {
    /// Of a normal distribution; nothing where the covariance is not one.
    fn normal(mean: &[f64], covariance: &Matrix) -> Option<Self> {
        let columns = mean.len();
        let entry = |i: usize, j: usize| match covariance {
            Matrix::Full(rows) => rows[i][j],
            _ if i == j => covariance.variance(i),
            _ => 0.0,
        };
        let lower = Cholesky::new(DMatrix::from_fn(columns, columns, entry))?.unpack();
        let half_ln_determinant: f64 = lower.diagonal().iter().map(|x| x.ln_()).sum();
        let ln_scale = half_ln_determinant + 0.5 * columns as f64 * TAU.ln_();
        (ln_scale.is_finite()).then(|| Self::Normal(mean.to_vec(), lower, ln_scale))
    }

    fn ln_density(&self, y: &[f64], scratch: &mut [f64]) -> f64 {
        match self {
            Self::StudentT(parts) if parts.is_empty() => 0.0,
            Self::StudentT(parts) => {
                let columns = parts.iter().zip(y.chunks(y.len() / parts.len()));
                columns.map(|(t, y)| t.ln_density(y, scratch)).sum()
            }
            Self::Normal(mean, lower, ln_scale) => {
                let mut square = 0.0;
                for i in 0..y.len() {
                    let sent = (0..i).map(|j| lower[(i, j)] * scratch[j]).sum::<f64>();
                    scratch[i] = (y[i] - mean[i] - sent) / lower[(i, i)];
                    square += scratch[i] * scratch[i];
                }
                -0.5 * square - ln_scale
            }
        }
    }

    fn sample(&self, rng: &mut ChaCha8Rng) -> Vec<f64> {
        match self {
            Self::StudentT(parts) => parts.iter().flat_map(|t| t.sample(rng)).collect(),
            Self::Normal(mean, lower, _) => {
                let noise = DVector::from_fn(mean.len(), |_, _| StandardNormal.sample(rng));
                let moved = lower * noise;
                moved.iter().zip(mean).map(|(x, m)| x + m).collect()
            }
        }
    }
}

/// As [`part`], where columns have been observed another number of times each (maths §4.7).
fn part_of(c: &Component) -> Result<Part> {
    let Some(precisions) = &c.mean_precisions else {
        return part(&c.mean, c.mean_precision, c.degrees_of_freedom, &c.scale);
    };
    let widened = |d: usize| {
        let (kappa, freedom) = (precisions[d], c.degrees_of_freedom_of(d));
        c.scale.variance(d) * (kappa + 1.0) / (kappa * freedom)
    };
    let columns = c.mean.len();
    if let Matrix::Spherical(_) = c.scale {
        let scale = diagonal(columns, widened);
        let whole = StudentT::new(c.degrees_of_freedom, c.mean.clone(), &scale)?;
        return Ok(Part::StudentT(vec![whole]));
    }
    let one = |d: usize| StudentT::new(c.degrees_of_freedom_of(d), vec![c.mean[d]], &[widened(d)]);
    Ok(Part::StudentT(
        (0..columns).map(one).collect::<Result<_>>()?,
    ))
}

fn part(mean: &[f64], mean_precision: f64, freedom: f64, scale: &Matrix) -> Result<Part> {
    let columns = mean.len();
    if columns == 0 {
        return Ok(Part::StudentT(vec![]));
    }
    let widen = |freedom: f64| (mean_precision + 1.0) / (mean_precision * freedom);
    // maths §4.5
    let (freedom, matrix) = match scale {
        Matrix::Full(rows) => (freedom - columns as f64 + 1.0, rows.concat()),
        Matrix::Spherical(s) => (freedom, diagonal(columns, |_| *s)),
        Matrix::Diagonal(scales) => {
            let each = (mean.iter().zip(scales))
                .map(|(&m, s)| StudentT::new(freedom, vec![m], &[s * widen(freedom)]));
            return Ok(Part::StudentT(each.collect::<Result<_>>()?));
        }
    };
    let matrix: Vec<f64> = matrix.iter().map(|s| s * widen(freedom)).collect();
    let whole = StudentT::new(freedom, mean.to_vec(), &matrix)?;
    Ok(Part::StudentT(vec![whole]))
}

impl MixtureFit {
    /// The posterior predictive density.
    ///
    /// # Errors
    /// Where a saved fit has been damaged: a scale that is not positive definite.
    pub fn predictive(&self) -> Result<PredictiveDensity> {
        let mut parts = Vec::with_capacity(self.components.len() + 1);
        for (component, c) in self.components.iter().enumerate() {
            parts.push(Weighted {
                ln_weight: c.weight.ln_(),
                component,
                part: part_of(c)?,
                ln_levels: (c.levels.iter())
                    .flat_map(LevelProbabilities::ln_probabilities)
                    .collect(),
            });
        }
        self.density_of(parts)
    }

    /// The posterior predictive density as the mean of those of draws, of which every so many are taken.
    ///
    /// # Errors
    /// As [`MixtureFit::predictive`].
    pub fn predictive_of(&self, draws: &MixtureDraws) -> Result<PredictiveDensity> {
        let all = draws.chains() * draws.draws();
        let step = all.div_ceil(DENSITY_DRAWS).max(1);
        let taken = all.div_ceil(step) as f64;
        let rows = draws.rows().step_by(step);
        let parts = rows.flat_map(|(_, _, row)| {
            (0..self.components.len()).filter_map(|component| {
                let (weight, mean, covariance) = draws.component(row, component);
                Some(Weighted {
                    ln_weight: (weight / taken).ln_(),
                    component,
                    part: Part::normal(mean, &draws.matrix(covariance))?,
                    ln_levels: vec![],
                })
            })
        });
        self.density_of(parts.filter(|part| part.ln_weight.is_finite()).collect())
    }

    /// Parts with that of components that no row has used.
    fn density_of(&self, mut parts: Vec<Weighted>) -> Result<PredictiveDensity> {
        let (components, unused) = (self.components.len(), self.unused_weight > 0.0);
        let sizes: Vec<usize> = self.level_sizes().collect();
        if unused {
            let even = |levels: &usize| vec![-(*levels as f64).ln_(); *levels];
            parts.push(Weighted {
                ln_levels: sizes.iter().flat_map(even).collect(),
                ln_weight: self.unused_weight.ln_(),
                component: components,
                part: self.prior_predictive()?,
            });
        }
        Ok(PredictiveDensity {
            columns: self.columns(),
            levels: LevelPlaces::new(0, sizes),
            parts,
            components,
            unused,
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
        let each = (self.parts.iter()).map(|of| of.ln_weight + of.part.ln_density(y, &mut scratch));
        let each: Vec<f64> = each.collect();
        let ln_density = log_sum_exp(&each);
        probabilities.clear();
        probabilities.resize(self.components + usize::from(self.unused), 0.0);
        for (of, part) in self.parts.iter().zip(each) {
            probabilities[of.component] += (part - ln_density).exp_();
        }
        ln_density
    }

    /// Labels and densities of row-major `values`.
    ///
    /// # Errors
    /// [`collapsar_core::Error::Data`] where the rows have another number of columns, or a number is infinite. NaN is a
    /// value that is missing: the density is then that of the others.
    pub fn score(&self, values: &[f64], columns: usize) -> Result<Scores> {
        self.check(values, columns)?;
        if values.iter().any(|x| x.is_nan()) {
            return self.score_gaps(values);
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
            let of = &self.parts[self.drawn_part(&mut rng)];
            values.extend(of.part.sample(&mut rng));
        }
        values
    }

    /// For each row's log density, the probability that a new row's, of the same columns, is lower still: small for
    /// anomalies.
    ///
    /// From 10,000 draws, so that it is a tail probability of the fit, comparable across fits; from fewer where rows
    /// miss columns in many ways.
    pub fn tail(&self, values: &[f64], ln_density: &[f64], seed: u64) -> Vec<f64> {
        let draws = self.sample(DRAWS, seed);
        let reference = self.sorted_densities(&draws);
        let mut tail: Vec<f64> = (ln_density.iter())
            .map(|density| below(&reference, *density))
            .collect();
        if values.iter().any(|x| x.is_nan()) {
            self.tail_of_gaps(values, &draws, |row, reference| {
                tail[row] = below(reference, ln_density[row]);
            });
        }
        tail
    }

    /// What [`PredictiveDensity::tail`] says of rows without gaps, for those that come a few at a time.
    pub fn tails(&self, seed: u64) -> impl Fn(f64) -> f64 {
        let reference = self.sorted_densities(&self.sample(DRAWS, seed));
        move |density| below(&reference, density)
    }

    fn sorted_densities(&self, draws: &[f64]) -> Vec<f64> {
        let mut probabilities = Vec::new();
        let mut reference: Vec<f64> = draws
            .chunks_exact(self.columns)
            .map(|y| self.ln_density(y, &mut probabilities))
            .collect();
        reference.sort_by(f64::total_cmp);
        reference
    }
}

/// Draws behind tail probabilities.
const DRAWS: usize = 10_000;

/// How probable a lower density is than this one, by those of draws in their order.
fn below(reference: &[f64], density: f64) -> f64 {
    let below = reference.partition_point(|r| *r <= density) as f64;
    (below + 0.5) / (reference.len() as f64 + 1.0)
}
