//! Jumps out of a poor optimum: a component split in two, two components merged into one, and
//! under a Dirichlet process components put in the order of their size.
//!
//! All are made from the statistics alone, so proposing one costs no pass over the data.

use nalgebra::{DMatrix, SymmetricEigen};

use super::posterior::Parameters;
use super::{Covariance, Mixture, Weights};
use collapsar_core::family::Family;
use collapsar_core::vector::dot;
use collapsar_core::{Collapsed, Jump, Jumps, Point, Potential, Result};

/// A component with less than this is free to take half of another.
const FREE: f64 = 1.0;
/// The mean of half a standard normal: where the halves of a component lie, in deviations.
const HALF_NORMAL: f64 = 0.797_884_560_802_865_4;
/// Merges tried from a point: the collapsed blocks rank them well.
const MERGES: usize = 3;
/// Splits tried from a point, and from one where a merge must come first.
const SPLITS: usize = 24;
const SPLITS_AFTER_MERGE: usize = 8;

impl Jumps for Mixture {
    fn jumps(&self, point: &Point) -> Result<Vec<Jump>> {
        let statistics = &point.statistics;
        let mut jumps: Vec<Jump> = self.sorted(statistics).into_iter().collect();
        let merges = self.merges(statistics)?;
        jumps.extend(
            merges
                .iter()
                .filter_map(|(merged, name)| self.jump(merged, name.clone())),
        );
        let splits = self.splits(statistics, SPLITS);
        // With every component in use, the best merge makes room for a split.
        let room = if splits.is_empty() {
            merges.first()
        } else {
            None
        };
        jumps.extend(
            splits
                .iter()
                .filter_map(|(split, name)| self.jump(split, name.clone())),
        );
        if let Some((merged, merge)) = room {
            let splits = self.splits(merged, SPLITS_AFTER_MERGE);
            let named =
                |(split, name): &(Vec<f64>, String)| self.jump(split, format!("{merge}, {name}"));
            jumps.extend(splits.iter().filter_map(named));
        }
        Ok(jumps)
    }

    /// In proportion to the rows, as what a jump can bring is: early enough that a run need not
    /// wait for the last nats of an optimum that it will leave, late enough that structure has
    /// formed. At ten times this a run from random responsibilities jumps while all components
    /// still look alike: they merge and split again from the top, which takes half the passes but
    /// ended 15 nats below VBEM on two of six rings at R=2.
    ///
    /// Where covariances are tied the halves of a split cannot take a shape of their own, and early
    /// jumps end lower than VBEM (by 40 nats on iris): there the climb goes nearly to its end.
    fn settled(&self) -> f64 {
        match self.covariance {
            Covariance::Tied => 1e-2,
            _ => 1e-4 * self.rows() as f64,
        }
    }
}

impl Mixture {
    fn count(&self, statistics: &[f64], k: usize) -> f64 {
        statistics[k * self.local.features()]
    }

    /// Components in the order of their size, which a stick-breaking prior prefers.
    fn sorted(&self, statistics: &[f64]) -> Option<Jump> {
        if self.posterior.weights == Weights::Dirichlet {
            return None;
        }
        let features = self.local.features();
        let mut order: Vec<usize> = (0..self.components()).collect();
        order.sort_by(|&a, &b| {
            self.count(statistics, b)
                .total_cmp(&self.count(statistics, a))
        });
        let in_order: Vec<f64> = order
            .iter()
            .flat_map(|&k| &statistics[k * features..(k + 1) * features])
            .copied()
            .collect();
        (!order.is_sorted()).then(|| self.jump(&in_order, "sort components by size".into()))?
    }

    /// Statistics and names of splits of every component along its longest axes, the largest
    /// first; none where no component is free to take a half.
    fn splits(&self, from: &[f64], most: usize) -> Vec<(Vec<f64>, String)> {
        let (features, columns) = (self.local.features(), self.columns());
        let count = |k: usize| self.count(from, k);
        let emptiest = (0..self.components()).min_by(|&a, &b| count(a).total_cmp(&count(b)));
        let Some(free) = emptiest.filter(|&k| count(k) < FREE) else {
            return vec![];
        };
        let mut axes: Vec<(usize, f64, Vec<f64>)> = (0..self.components())
            .filter(|&k| count(k) > 4.0 * FREE)
            .flat_map(|k| {
                self.axes(from, k)
                    .into_iter()
                    .map(move |(v, axis)| (k, v, axis))
            })
            .collect();
        let promise = |(k, variance, _): &(usize, f64, Vec<f64>)| count(*k) * variance;
        axes.sort_by(|a, b| promise(b).total_cmp(&promise(a)));
        axes.truncate(most);
        let split = |(k, variance, axis): (usize, f64, Vec<f64>)| {
            let whole = &from[k * features..(k + 1) * features];
            let offset: Vec<f64> = axis
                .iter()
                .map(|a| a * HALF_NORMAL * variance.sqrt())
                .collect();
            let mut statistics = from.to_vec();
            for (slot, sign) in [(k, 1.0), (free, -1.0)] {
                let mean: Vec<f64> = (0..columns)
                    .map(|d| whole[1 + d] / whole[0] + sign * offset[d])
                    .collect();
                let part = &mut statistics[slot * features..(slot + 1) * features];
                self.half(whole, &mean, &offset, part);
            }
            (statistics, format!("split {}", k + 1))
        };
        axes.into_iter().map(split).collect()
    }

    /// Statistics and names of the merges that the collapsed blocks gain most from.
    fn merges(&self, from: &[f64]) -> Result<Vec<(Vec<f64>, String)>> {
        let features = self.local.features();
        let alive: Vec<usize> = (0..self.components())
            .filter(|&k| self.count(from, k) >= FREE)
            .collect();
        let merged = |a: usize, b: usize| {
            let mut statistics = from.to_vec();
            for f in 0..features {
                statistics[a * features + f] += statistics[b * features + f];
                statistics[b * features + f] = 0.0;
            }
            statistics
        };
        let mut pairs = Vec::new();
        for (i, &a) in alive.iter().enumerate() {
            for &b in &alive[i + 1..] {
                pairs.push((self.posterior.change(from, &merged(a, b), &[a, b])?, a, b));
            }
        }
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
        pairs.truncate(MERGES);
        let named = |(_, a, b)| (merged(a, b), format!("merge {} and {}", a + 1, b + 1));
        Ok(pairs.into_iter().map(named).collect())
    }

    /// The start of a run from made-up statistics; nothing where no data could have them.
    fn jump(&self, statistics: &[f64], name: String) -> Option<Jump> {
        let mut messages = vec![0.0; statistics.len()];
        self.posterior()
            .value_and_gradient(statistics, &mut messages)
            .ok()?;
        Some(Jump { messages, name })
    }

    /// Variance and direction of a component's longest axes, in standardised units.
    fn axes(&self, all: &[f64], k: usize) -> Vec<(f64, Vec<f64>)> {
        let (columns, features) = (self.columns(), self.local.features());
        let statistics = &all[k * features..(k + 1) * features];
        let n = statistics[0];
        let mean = |d: usize| statistics[1 + d] / n;
        let squares = &statistics[1 + columns..];
        let unit = |d: usize| (0..columns).map(|i| f64::from(u8::from(i == d))).collect();
        let mut axes: Vec<(f64, Vec<f64>)> = match self.covariance {
            Covariance::Full => {
                let mut covariance = DMatrix::zeros(columns, columns);
                let mut cells = squares.iter();
                for i in 0..columns {
                    for j in i..columns {
                        let value =
                            cells.next().expect("a cell for every pair") / n - mean(i) * mean(j);
                        covariance[(i, j)] = value;
                        covariance[(j, i)] = value;
                    }
                }
                principal(covariance)
            }
            Covariance::Diagonal => (0..columns)
                .map(|d| (squares[d] / n - mean(d) * mean(d), unit(d)))
                .collect(),
            // The statistics know no direction: try the columns.
            Covariance::Spherical => {
                let square: f64 = (0..columns).map(|d| mean(d) * mean(d)).sum();
                let variance = (squares[0] / n - square) / columns as f64;
                (0..columns).map(|d| (variance, unit(d))).collect()
            }
            // All components share one shape.
            Covariance::Tied => self.shared_axes(all),
        };
        axes.retain(|axis| axis.0 > 0.0);
        axes.sort_by(|a, b| b.0.total_cmp(&a.0));
        axes.truncate(if self.covariance == Covariance::Spherical {
            8
        } else {
            2
        });
        axes
    }

    /// The axes of the covariance that tied components share.
    fn shared_axes(&self, statistics: &[f64]) -> Vec<(f64, Vec<f64>)> {
        let naturals = self.posterior.naturals(statistics);
        let Parameters::Tied(family) = &self.posterior.parameters else {
            return vec![];
        };
        let Ok(shared) = family.ordinary(&naturals.blocks[0]) else {
            return vec![];
        };
        let columns = self.columns();
        let scale = DMatrix::from_row_slice(columns, columns, &shared.scale);
        principal(scale / shared.degrees_of_freedom)
    }

    /// Writes the statistics of half of a component, moved to `mean` and narrowed along `offset`.
    fn half(&self, whole: &[f64], mean: &[f64], offset: &[f64], out: &mut [f64]) {
        let (columns, half) = (mean.len(), whole[0] / 2.0);
        let centre: Vec<f64> = (0..columns).map(|d| whole[1 + d] / whole[0]).collect();
        out[0] = half;
        for d in 0..columns {
            out[1 + d] = half * mean[d];
        }
        // E[yy'] of the half is that of the whole, less its mean's square and the offset's, plus the new mean's.
        let entry = |all: f64, i: usize, j: usize| {
            half * (all / whole[0] - centre[i] * centre[j] - offset[i] * offset[j]
                + mean[i] * mean[j])
        };
        let (from, to) = (&whole[1 + columns..], &mut out[1 + columns..]);
        match self.covariance {
            Covariance::Full => {
                let pairs = (0..columns).flat_map(|i| (i..columns).map(move |j| (i, j)));
                for ((o, w), (i, j)) in to.iter_mut().zip(from).zip(pairs) {
                    *o = entry(*w, i, j);
                }
            }
            Covariance::Diagonal => {
                for d in 0..columns {
                    to[d] = entry(from[d], d, d);
                }
            }
            Covariance::Spherical => {
                to[0] = half
                    * (from[0] / whole[0] - dot(&centre, &centre) - dot(offset, offset)
                        + dot(mean, mean));
            }
            Covariance::Tied => {}
        }
    }
}

/// Eigenvalues and eigenvectors.
fn principal(covariance: DMatrix<f64>) -> Vec<(f64, Vec<f64>)> {
    let eigen = SymmetricEigen::new(covariance);
    let axis = |i: usize| eigen.eigenvectors.column(i).iter().copied().collect();
    (0..eigen.eigenvalues.len())
        .map(|i| (eigen.eigenvalues[i], axis(i)))
        .collect()
}
