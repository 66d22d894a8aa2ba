//! Decides how much wider than q a mixture's posterior is: the linear response of its weights, means and covariances.
//!
//! - `system`: Newton's system by blocks of components
//! - `cholesky`: how it is factored and solved
//! - `tilts`: what weights, means and covariances are in terms of statistics

mod cholesky;
mod system;
mod tilts;

use nalgebra::DMatrix;
use rayon::prelude::*;

use super::{Covariance, Matrix, Mixture, MixtureFit};
use collapsar_core::rows::Overlaps;
use collapsar_core::vector::dot;
use collapsar_core::{Error, Point, Response, Result};
use system::System;

/// Messages up to which the whole system is kept: half a gigabyte.
const MOST_MESSAGES: usize = 8000;
/// Messages up to which every entry of every covariance is answered for, and not only weights and means.
const ALL_ENTRIES: usize = 1500;

/// Smaller responsibilities count as none: left out, they move the information that a component's rows bring by about
/// this fraction, and deviations by half of that over what is not missing.
const LEAST: f64 = 1e-7;
/// The same where components share more than so many pairs of rows for each row: digits of a deviation that
/// nobody reads are not worth three times the work.
const CROWDED: (f64, f64) = (10.0, 1e-4);

/// The covariances that mean field leaves out (maths §10.8), in the data's units.
#[derive(Debug, Clone, PartialEq)]
pub struct MixtureResponse {
    /// The largest eigenvalue of $FJ$: how much of the information is missing.
    pub missing_information: f64,
    /// Between the weights, row by row.
    pub weights: Vec<f64>,
    /// Between the coordinates of each component's mean, row by row.
    pub means: Vec<Vec<f64>>,
    /// Of the entries of each component's covariance; absent where there are too many of them.
    pub covariances: Option<Vec<Matrix>>,
    /// Of the probabilities of each component's levels, column by column; absent where there are too many messages.
    pub levels: Option<Vec<Vec<Vec<f64>>>>,
}

/// Which rows components share, and what an answer from them costs.
#[derive(Debug)]
pub struct MixtureOverlaps {
    overlaps: Overlaps,
    /// Products of numbers that linear response takes, about; none where the system is too large to be kept.
    pub cost: Option<f64>,
}

impl Mixture {
    /// Which rows components share at an optimum. One pass, or two where they share many.
    ///
    /// # Errors
    /// Where a row has no finite density.
    pub fn overlaps(&self, point: &Point) -> Result<MixtureOverlaps> {
        let mut overlaps = self.local.overlaps(&point.messages, LEAST)?;
        if overlaps.pairs() as f64 > CROWDED.0 * self.rows() as f64 {
            overlaps = self.local.overlaps(&point.messages, CROWDED.1)?;
        }
        let (dim, features) = (point.messages.len() as f64, self.local.features() as f64);
        if self.levels.columns() > 0 {
            // Features have no products where levels are: the metric is made of passes, as many as there are messages.
            let pass = 4.0 * self.rows() as f64 * dim;
            let dense = point.messages.len() <= Response::<Self>::DENSE;
            let cost = dense.then_some(dim * (pass + dim * dim));
            return Ok(MixtureOverlaps { overlaps, cost });
        }
        if self.local.has_gaps() {
            // Each message is a pass with slopes. The products that components share have no block of their own.
            let pass = 8.0 * self.rows() as f64 * dim;
            let cost = (self.covariance == Covariance::Full
                && point.messages.len() <= MOST_MESSAGES)
                .then(|| dim * (pass + dim * (dim / 6.0 + 2.0 * features)));
            return Ok(MixtureOverlaps { overlaps, cost });
        }
        // Of a tied covariance's one block the factor is not made of fast products.
        let slow = if self.covariance == Covariance::Tied {
            8.0
        } else {
            1.0
        };
        let products = 0.5 * overlaps.pairs() as f64 * features * features;
        let cost = products + dim * dim * (slow * dim / 6.0 + 2.0 * features);
        Ok(MixtureOverlaps {
            overlaps,
            cost: (point.messages.len() <= MOST_MESSAGES).then_some(cost),
        })
    }

    /// The linear response at an optimum. Where the system is too large to be kept, each number is answered for by
    /// conjugate gradients, with passes over the data.
    ///
    /// # Errors
    /// [`Error::Domain`] where the point is no maximum of the bound, so that there is no response.
    pub fn linear_response(
        &self,
        point: &Point,
        overlaps: &MixtureOverlaps,
    ) -> Result<MixtureResponse> {
        if overlaps.cost.is_none() || self.levels.columns() > 0 {
            return self.answers(point, &Iterative::new(self, point)?);
        }
        let metric = if self.local.has_gaps() {
            self.local.metric_blocks_at(&point.messages)?
        } else {
            (self.local).metric_blocks(&point.messages, &overlaps.overlaps)?
        };
        self.answers(point, &System::new(self, point, &metric)?)
    }

    fn answers<A: Answers>(&self, point: &Point, answers: &A) -> Result<MixtureResponse> {
        let components = self.components();
        let weights = answers.between(None, &self.weight_tilts(point))?;
        let each = |k: usize| -> Result<_> {
            let mean = answers.between(Some(k), &self.mean_tilts(point, k))?;
            let entries = if answers.is_cheap(self) && point.messages.len() <= ALL_ENTRIES {
                match self.covariance_tilts(point, k)? {
                    Some(tilts) => Some(answers.between(Some(k), &tilts)?.diagonal()),
                    None => Some(nalgebra::DVector::zeros(0)),
                }
            } else {
                None
            };
            Ok((mean, entries))
        };
        let levels = |k: usize| -> Result<Vec<Vec<f64>>> {
            let columns = 0..self.levels.columns();
            let variances = columns.map(|c| {
                let between = answers.between(None, &self.level_tilts(point, k, c))?;
                Ok(between.diagonal().as_slice().to_vec())
            });
            variances.collect()
        };
        let levels = if answers.is_cheap(self) {
            Some((0..components).map(levels).collect::<Result<_>>()?)
        } else {
            None
        };
        let found: Vec<_> = (0..components).into_par_iter().map(each).collect();
        let (mut means, mut covariances) = (vec![], Some(vec![]));
        for found in found {
            let (mean, entries) = found?;
            means.push(by_rows(&mean));
            covariances = covariances.zip(entries).map(|(mut all, entries)| {
                all.push(self.shaped(entries.as_slice()));
                all
            });
        }
        Ok(MixtureResponse {
            missing_information: answers.missing_information()?,
            weights: by_rows(&weights),
            means,
            covariances,
            levels,
        })
    }
}

impl MixtureFit {
    /// Adds what mean field leaves out to all standard deviations that there are.
    #[must_use]
    pub fn widened(&self, response: &MixtureResponse) -> Self {
        let (columns, count) = (self.columns(), self.components.len());
        let wider = |sd: f64, variance: f64| (sd * sd + variance.max(0.0)).sqrt();
        let mut fit = self.clone();
        for (k, component) in fit.components.iter_mut().enumerate() {
            component.weight_sd = wider(component.weight_sd, response.weights[k * count + k]);
            for (d, sd) in component.mean_sd.iter_mut().flatten().enumerate() {
                *sd = wider(*sd, response.means[k][d * columns + d]);
            }
            if let (Some(sd), Some(all)) = (&mut component.covariance_sd, &response.covariances) {
                *sd = sd.with(&all[k], wider);
            }
            let variances = response.levels.iter().flat_map(|all| &all[k]);
            for (column, variances) in component.levels.iter_mut().zip(variances) {
                for (sd, variance) in column.sds.iter_mut().zip(variances) {
                    *sd = wider(*sd, *variance);
                }
            }
        }
        fit
    }
}

/// Whatever knows $a'Sa$.
trait Answers: Sync {
    /// Whether many may be asked for.
    fn is_cheap(&self, model: &Mixture) -> bool;

    /// $a'Sa$ between tilts of one component, or of the weights.
    fn between(&self, component: Option<usize>, tilts: &[Vec<f64>]) -> Result<DMatrix<f64>>;

    fn missing_information(&self) -> Result<f64>;
}

impl Answers for System {
    fn is_cheap(&self, _: &Mixture) -> bool {
        true
    }

    fn between(&self, component: Option<usize>, tilts: &[Vec<f64>]) -> Result<DMatrix<f64>> {
        System::between(self, component, tilts)
    }

    fn missing_information(&self) -> Result<f64> {
        Ok(self.missing_information)
    }
}

/// Each answer by conjugate gradients.
struct Iterative<'a>(Response<'a, Mixture>);

impl<'a> Iterative<'a> {
    fn new(model: &'a Mixture, point: &'a Point) -> Result<Self> {
        Response::new(model, point).map(Self)
    }
}

impl Answers for Iterative<'_> {
    fn is_cheap(&self, model: &Mixture) -> bool {
        model.levels.columns() > 0 && self.0.is_dense()
    }

    fn between(&self, _: Option<usize>, tilts: &[Vec<f64>]) -> Result<DMatrix<f64>> {
        let products = tilts.iter().map(|tilt| self.0.product(tilt));
        let products: Vec<Vec<f64>> = products.collect::<Result<_>>()?;
        let entry = |i: usize, j: usize| dot(&tilts[i], &products[j]);
        Ok(DMatrix::from_fn(tilts.len(), tilts.len(), entry))
    }

    fn missing_information(&self) -> Result<f64> {
        self.0.missing_information()
    }
}

fn by_rows(matrix: &DMatrix<f64>) -> Vec<f64> {
    matrix.transpose().as_slice().to_vec()
}

fn no_maximum() -> Error {
    Error::domain(
        "linear response",
        "a point that is no strict maximum of the bound",
        "a fit that has converged, or other starts",
    )
}

#[cfg(test)]
mod tests;
