//! What weights, means and covariances are in terms of statistics: their covariances with these under q.

use crate::mixture::posterior::{Parameters, pairs};
use crate::mixture::{Covariance, Matrix, Mixture, Weights};
use collapsar_core::family::{Family, StickBreaking};
use collapsar_core::vector::dot;
use collapsar_core::{Point, Potential, Result};

impl Mixture {
    /// A vector over the statistics, from one over the natural parameters of a block.
    fn pulled_back(&self, block: usize, natural: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.local.dim()];
        self.blocks.pull_back(block, natural, &mut out);
        out
    }

    /// Of each weight: its mean's gradient in the natural parameters (maths §10.2, and §10.8 for sticks).
    pub(super) fn weight_tilts(&self, point: &Point) -> Vec<Vec<f64>> {
        let natural = self.blocks.natural(0, &point.statistics);
        let of = |gradient: Vec<f64>| self.pulled_back(0, &gradient);
        match self.weights {
            Weights::Dirichlet => {
                let total: f64 = natural.iter().sum();
                let gradient = |k: usize| {
                    let mean = natural[k] / total;
                    let mut gradient = vec![-mean / total; natural.len()];
                    gradient[k] += 1.0 / total;
                    gradient
                };
                (0..natural.len()).map(gradient).map(of).collect()
            }
            Weights::DirichletProcess => {
                let (means, _) = StickBreaking::expected_weights(&natural);
                let gradient = |(k, mean): (usize, &f64)| {
                    let mut gradient = vec![0.0; natural.len()];
                    let sticks = natural.chunks_exact(2).zip(gradient.chunks_exact_mut(2));
                    for (j, (shapes, out)) in sticks.enumerate().take(k + 1) {
                        out.fill(-mean / (shapes[0] + shapes[1]));
                        let taken = usize::from(j < k);
                        out[taken] += mean / shapes[taken];
                    }
                    gradient
                };
                means.iter().enumerate().map(gradient).map(of).collect()
            }
        }
    }

    /// Of each probability of a component's column of levels: its mean's gradient in the statistics (maths §10.2).
    pub(super) fn level_tilts(&self, point: &Point, k: usize, column: usize) -> Vec<Vec<f64>> {
        let block = self.level_block(k, column);
        let natural = self.blocks.natural(block, &point.statistics);
        let total: f64 = natural.iter().sum();
        let tilt = |level: usize| {
            let mut gradient = vec![-natural[level] / (total * total); natural.len()];
            gradient[level] += 1.0 / total;
            self.pulled_back(block, &gradient)
        };
        (0..natural.len()).map(tilt).collect()
    }

    /// Of each coordinate of a component's mean, in the data's units.
    pub(super) fn mean_tilts(&self, point: &Point, k: usize) -> Vec<Vec<f64>> {
        let block = self.block(k);
        let natural = self.blocks.natural(block, &point.statistics);
        let columns = self.columns();
        // Where the precision of a coordinate and its sum are.
        let places = |d: usize| match self.parameters {
            Parameters::Full(family) => {
                let which = k.min(family.means - 1);
                (which, family.means + 1 + which * columns)
            }
            Parameters::Grouped(_) => (0, 2),
            Parameters::Columns(family) => (d, columns + family.groups),
            Parameters::Nothing => (0, 0),
        };
        let tilt = |d: usize| {
            let (which, first) = places(d);
            let precision = natural[which];
            // maths §10.2
            let mut gradient = vec![0.0; natural.len()];
            gradient[which] = -self.scale[d] * natural[first + d] / (precision * precision);
            gradient[first + d] = self.scale[d] / precision;
            self.pulled_back(block, &gradient)
        };
        (0..columns).map(tilt).collect()
    }

    /// Of each entry of a component's covariance, in the data's units: the upper triangle, the diagonal or the one
    /// variance; nothing where entries have no variance.
    pub(super) fn covariance_tilts(
        &self,
        point: &Point,
        k: usize,
    ) -> Result<Option<Vec<Vec<f64>>>> {
        let block = self.block(k);
        let natural = self.blocks.natural(block, &point.statistics);
        let (columns, unit) = (self.columns(), &self.scale);
        let mut tilts = vec![];
        match self.parameters {
            Parameters::Nothing => {}
            Parameters::Full(family) => {
                let ordinary = family.ordinary(&natural)?;
                let freedom = ordinary.degrees_of_freedom - columns as f64 - 1.0;
                if freedom <= 2.0 {
                    return Ok(None);
                }
                let means = family.means;
                let packed = means + 1 + means * columns;
                for (place, (i, j)) in pairs(columns).enumerate() {
                    // maths §10.8: of (Q - Σ hh'/κ) / (ν - D - 1)
                    let factor = unit[i] * unit[j] / freedom;
                    let mut gradient = vec![0.0; natural.len()];
                    for (which, mean) in ordinary.means.iter().enumerate() {
                        let first = means + 1 + which * columns;
                        gradient[which] = factor * mean[i] * mean[j];
                        gradient[first + i] -= factor * mean[j];
                        gradient[first + j] -= factor * mean[i];
                    }
                    gradient[means] = -factor * ordinary.scale[i * columns + j] / freedom;
                    gradient[packed + place] = factor;
                    tilts.push(self.pulled_back(block, &gradient));
                }
            }
            Parameters::Columns(family) => {
                let ordinary = family.ordinary(&natural)?;
                let (sums, last) = (columns + family.groups, 2 * columns + family.groups);
                for (group, nu) in ordinary.degrees_of_freedom.iter().enumerate() {
                    let freedom = nu - 2.0;
                    if freedom <= 2.0 {
                        return Ok(None);
                    }
                    let first = group * family.size;
                    let factor = unit[first] * unit[first] / freedom;
                    let mut gradient = vec![0.0; natural.len()];
                    for d in first..first + family.size {
                        let mean = ordinary.mean[d];
                        gradient[d] = factor * mean * mean;
                        gradient[sums + d] = -2.0 * factor * mean;
                    }
                    gradient[columns + group] = -factor * ordinary.scales[group] / freedom;
                    gradient[last + group] = factor;
                    tilts.push(self.pulled_back(block, &gradient));
                }
            }
            Parameters::Grouped(family) => {
                let ordinary = family.ordinary(&natural)?;
                let freedom = ordinary.degrees_of_freedom - 2.0;
                if freedom <= 2.0 {
                    return Ok(None);
                }
                for (group, mean) in ordinary.mean.chunks_exact(family.size).enumerate() {
                    let first = group * family.size;
                    let factor = unit[first] * unit[first] / freedom;
                    let mut gradient = vec![0.0; natural.len()];
                    gradient[0] = factor * dot(mean, mean);
                    gradient[1] = -factor * ordinary.scales[group] / freedom;
                    for (d, mean) in mean.iter().enumerate() {
                        gradient[2 + first + d] = -2.0 * factor * mean;
                    }
                    gradient[2 + columns + group] = factor;
                    tilts.push(self.pulled_back(block, &gradient));
                }
            }
        }
        Ok(Some(tilts))
    }

    /// Entries in the shape that covariances have; zero where there are none.
    pub(super) fn shaped(&self, entries: &[f64]) -> Matrix {
        let columns = self.columns();
        let entry = |place: usize| entries.get(place).copied().unwrap_or(0.0);
        match self.covariance {
            Covariance::Spherical => Matrix::Spherical(entry(0)),
            Covariance::Diagonal => Matrix::Diagonal((0..columns).map(entry).collect()),
            Covariance::Full | Covariance::Tied => Matrix::full(columns, |i, j| {
                let (i, j) = (i.min(j), i.max(j));
                // Rows of the upper triangle before this one, and the place in it.
                entry(i * columns - i * i.saturating_sub(1) / 2 + j - i)
            }),
        }
    }
}
