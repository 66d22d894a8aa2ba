//! Decides from what draws are proposed: a t distribution of coordinates without bounds (maths §10.10).

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};
use rand::Rng;
use rand_distr::{ChiSquared, Distribution, StandardNormal};

use super::block::{Block, BlockFamily};
use super::kept::Kept;
use super::response::LinearResponse;
use collapsar_core::Result;
use collapsar_core::special::{digamma, ln_gamma, trigamma};
use collapsar_core::vector::{add, dot};

/// Degrees of freedom: tails heavier than those of a posterior in these coordinates, which fall at least as an exponential.
const DEGREES: f64 = 6.0;

/// A t distribution of a vector.
#[derive(Debug, Clone)]
pub struct Proposal {
    centre: DVector<f64>,
    root: Cholesky<f64, Dyn>,
    ln_height: f64,
}

impl Proposal {
    /// With this centre and covariance; none where that is not positive definite.
    pub fn new(centre: Vec<f64>, mut covariance: DMatrix<f64>) -> Option<Self> {
        let dim = centre.len();
        let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        if !finite(&centre) || !finite(covariance.as_slice()) {
            return None;
        }
        // Directions that are known exactly but for rounding.
        for i in 0..dim {
            covariance[(i, i)] *= 1.0 + 1e-9;
        }
        // The covariance of a t is its scale times d / (d − 2).
        let root = Cholesky::new(covariance * ((DEGREES - 2.0) / DEGREES))?;
        let ln_determinant: f64 = root.l_dirty().diagonal().iter().map(|x| x.ln()).sum();
        let half = 0.5 * dim as f64;
        let ln_height = ln_gamma(0.5 * DEGREES + half)
            - ln_gamma(0.5 * DEGREES)
            - half * (DEGREES * std::f64::consts::PI).ln()
            - ln_determinant;
        Some(Self {
            centre: DVector::from_vec(centre),
            root,
            ln_height,
        })
    }

    /// With the mean and the covariance of draws that have weights, which sum to one.
    pub fn of_draws(draws: &[Vec<f64>], weights: &[f64]) -> Option<Self> {
        let dim = draws.first()?.len();
        let mut centre = DVector::<f64>::zeros(dim);
        for (draw, &weight) in draws.iter().zip(weights) {
            centre.axpy(weight, &DVector::from_column_slice(draw), 1.0);
        }
        let mut covariance = DMatrix::zeros(dim, dim);
        for (draw, &weight) in draws.iter().zip(weights) {
            let away = DVector::from_column_slice(draw) - &centre;
            covariance.ger(weight, &away, &away, 1.0);
        }
        Self::new(centre.as_slice().to_vec(), covariance)
    }

    /// One draw.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> Vec<f64> {
        let normal: Vec<f64> = (0..self.centre.len())
            .map(|_| StandardNormal.sample(rng))
            .collect();
        let chi = ChiSquared::new(DEGREES).map_or(DEGREES, |chi| chi.sample(rng));
        let wide = (DEGREES / chi).sqrt();
        let mut draw = self.centre.as_slice().to_vec();
        for (column, normal) in normal.iter().enumerate() {
            add(&mut draw[column..], wide * normal, self.column(column));
        }
        draw
    }

    /// The log density.
    pub fn ln_density(&self, at: &[f64]) -> f64 {
        let away = at.iter().zip(&self.centre);
        let mut away: Vec<f64> = away.map(|(at, centre)| at - centre).collect();
        let mut square = 0.0;
        for column in 0..away.len() {
            let below = self.column(column);
            let normal = away[column] / below[0];
            square += normal * normal;
            add(&mut away[column..], -normal, below);
        }
        self.ln_height - 0.5 * (DEGREES + self.centre.len() as f64) * (square / DEGREES).ln_1p()
    }

    /// A column of the root, from the diagonal on.
    fn column(&self, column: usize) -> &[f64] {
        let dim = self.centre.len();
        &self.root.l_dirty().as_slice()[column * dim + column..(column + 1) * dim]
    }
}

impl LinearResponse<'_> {
    /// A proposal for what is kept, with the covariance of linear response; none where there is no such.
    ///
    /// # Errors
    /// Where the point is outside the domain.
    pub fn proposal(&self, kept: &Kept<'_>) -> Result<Option<Proposal>> {
        let mut coordinates = vec![];
        let mut centre = vec![];
        for (block, _) in kept.blocks() {
            let Some((index, natural)) = self.block_of(block) else {
                return Ok(None);
            };
            let mut linearised = block.linearised(natural)?;
            // The logarithm of the precision is the last coordinate.
            let gamma = matches!(
                block.family,
                BlockFamily::Gamma(_) | BlockFamily::GaussianGamma(_)
            );
            let first = coordinates.len();
            for parts in &linearised.parts {
                let mut along = vec![0.0; natural.len()];
                for &(place, part) in parts {
                    along[place] += part;
                }
                let mut changes = vec![0.0; natural.len()];
                (block.potential()).hessian_product(natural, &along, &mut changes)?;
                coordinates.push(Coordinate {
                    index,
                    along,
                    changes,
                    scale: 1.0,
                });
            }
            if gamma {
                let place = linearised.centre.len() - 1;
                let (scale, shift) = self.wider_gamma(block, natural, index)?;
                coordinates[first + place].scale = scale;
                linearised.centre[place] += shift;
            }
            centre.append(&mut linearised.centre);
        }
        let covariance = self.covariance_of(&coordinates)?;
        Ok(Proposal::new(centre, covariance))
    }

    /// By what factor the deviation of the logarithm of a precision is larger than linear response of that logarithm says,
    /// and how far its mean is off, where the gamma distribution is that with the corrected mean and variance of the precision
    /// itself: exact where the precision is that of a normal sample (maths §10.2).
    fn wider_gamma(&self, block: &Block, natural: &[f64], index: usize) -> Result<(f64, f64)> {
        let mut mean = vec![0.0; natural.len()];
        block.evaluate(natural, &mut mean)?;
        let of = |statistic: usize| -> Result<(f64, f64)> {
            let mut along = vec![0.0; natural.len()];
            along[statistic] = 1.0;
            let mut changes = vec![0.0; natural.len()];
            (block.potential()).hessian_product(natural, &along, &mut changes)?;
            let before = changes[statistic];
            let one = Coordinate {
                index,
                along,
                changes,
                scale: 1.0,
            };
            Ok((before, self.covariance_of(&[one])?[(0, 0)]))
        };
        let ((_, of_log), (before, after)) = (of(0)?, of(1)?);
        let square = mean[1] * mean[1];
        let (shape, corrected) = (square / before, square / after);
        let scale = (trigamma(corrected) / of_log).sqrt().max(1.0);
        let shift = (digamma(corrected) - corrected.ln()) - (digamma(shape) - shape.ln());
        let sane = scale.is_finite() && shift.is_finite();
        Ok(if sane { (scale, shift) } else { (1.0, 0.0) })
    }

    /// Covariances of coordinates by linear response (maths (10.1) and (10.2)).
    fn covariance_of(&self, coordinates: &[Coordinate]) -> Result<DMatrix<f64>> {
        let mut answers = Vec::with_capacity(coordinates.len());
        for coordinate in coordinates {
            let changes = [(coordinate.index, coordinate.changes.clone())].into();
            answers.push(self.answer(&changes)?);
        }
        let entry = |i: usize, j: usize| {
            let (a, b) = (&coordinates[i], &coordinates[j]);
            let own = if a.index == b.index {
                dot(&a.along, &b.changes)
            } else {
                0.0
            };
            (own + answers[i].with(&answers[j])) * a.scale * b.scale
        };
        let size = coordinates.len();
        let mut out = DMatrix::zeros(size, size);
        for i in 0..size {
            for j in 0..=i {
                let value = 0.5 * (entry(i, j) + entry(j, i));
                out[(i, j)] = value;
                out[(j, i)] = value;
            }
        }
        Ok(out)
    }
}

/// A coordinate of a block: its sum of statistics, and its covariance with them.
struct Coordinate {
    index: usize,
    along: Vec<f64>,
    changes: Vec<f64>,
    /// By which its deviation is multiplied.
    scale: f64,
}
