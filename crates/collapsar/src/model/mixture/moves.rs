//! Jumps out of a poor optimum: a component split in two, two components merged into one.
//!
//! Both are made from the statistics alone, so proposing one costs no pass over the data.

use nalgebra::{DMatrix, SymmetricEigen};

use super::{Covariance, Mixture};
use crate::collapsed::{Collapsed, Potential};
use crate::driver::{Move, Moves, Point, dot};
use crate::error::Result;

/// A component with less than this is free to take half of another.
const FREE: f64 = 1.0;
/// The mean of half a standard normal: where the halves of a component lie, in deviations.
const HALF_NORMAL: f64 = 0.797_884_560_802_865_4;

/// Merges tried from a point: the collapsed blocks rank them well.
const MERGES: usize = 3;

impl Moves for Mixture {
    fn moves(&self, point: &Point) -> Result<Vec<Move>> {
        let mut moves = self.merges(point)?;
        moves.truncate(MERGES);
        moves.extend(self.splits(point)?);
        Ok(moves.into_iter().map(|(_, jump)| jump).collect())
    }

    /// In proportion to the rows, as what a jump can bring is. So large a share sends a run from
    /// random responsibilities to its jumps while all components still look alike: they merge
    /// and split again from the top, which takes fewer passes than waiting for the symmetry to
    /// break, and ends higher.
    fn settled(&self) -> f64 {
        1e-3 * self.rows() as f64
    }
}

impl Mixture {
    /// Splits of every component along its longest axes, the largest first.
    fn splits(&self, point: &Point) -> Result<Vec<(f64, Move)>> {
        let (features, columns) = (self.local.features(), self.columns());
        let count = |k: usize| point.statistics[k * features];
        let emptiest = (0..self.components()).min_by(|&a, &b| count(a).total_cmp(&count(b)));
        let Some(free) = emptiest.filter(|&k| count(k) < FREE) else {
            return Ok(vec![]);
        };
        let mut moves = Vec::new();
        for k in (0..self.components()).filter(|&k| count(k) > 4.0 * FREE) {
            let whole = &point.statistics[k * features..(k + 1) * features];
            for (variance, axis) in self.axes(whole) {
                let half = count(k) / 2.0;
                let offset: Vec<f64> = axis
                    .iter()
                    .map(|a| a * HALF_NORMAL * variance.sqrt())
                    .collect();
                let mut statistics = point.statistics.clone();
                for (slot, sign) in [(k, 1.0), (free, -1.0)] {
                    let mean: Vec<f64> = (0..columns)
                        .map(|d| whole[1 + d] / whole[0] + sign * offset[d])
                        .collect();
                    let part = &mut statistics[slot * features..(slot + 1) * features];
                    self.half(whole, &mean, &offset, half, part);
                }
                let promise = count(k) * variance;
                moves.push((promise, self.jump(&statistics, format!("split {}", k + 1))?));
            }
        }
        moves.sort_by(|a, b| b.0.total_cmp(&a.0));
        Ok(moves)
    }

    /// Merges of every pair, by what the collapsed blocks alone gain.
    fn merges(&self, point: &Point) -> Result<Vec<(f64, Move)>> {
        let features = self.local.features();
        let count = |k: usize| point.statistics[k * features];
        let alive: Vec<usize> = (0..self.components())
            .filter(|&k| count(k) >= FREE)
            .collect();
        let mut scratch = vec![0.0; point.statistics.len()];
        let now = self
            .posterior()
            .value_and_gradient(&point.statistics, &mut scratch)?;
        let mut moves = Vec::new();
        for (i, &a) in alive.iter().enumerate() {
            for &b in &alive[i + 1..] {
                let mut statistics = point.statistics.clone();
                for f in 0..features {
                    statistics[a * features + f] += statistics[b * features + f];
                    statistics[b * features + f] = 0.0;
                }
                let promise = self
                    .posterior()
                    .value_and_gradient(&statistics, &mut scratch)?
                    - now;
                moves.push((
                    promise,
                    self.jump(&statistics, format!("merge {} and {}", a + 1, b + 1))?,
                ));
            }
        }
        moves.sort_by(|a, b| b.0.total_cmp(&a.0));
        Ok(moves)
    }

    fn jump(&self, statistics: &[f64], name: String) -> Result<Move> {
        let mut messages = vec![0.0; statistics.len()];
        self.posterior()
            .value_and_gradient(statistics, &mut messages)?;
        Ok(Move { messages, name })
    }

    /// Variance and direction of a component's longest axes, in standardised units.
    fn axes(&self, statistics: &[f64]) -> Vec<(f64, Vec<f64>)> {
        let columns = self.columns();
        let n = statistics[0];
        let mean = |d: usize| statistics[1 + d] / n;
        let squares = &statistics[1 + columns..];
        let unit = |d: usize| (0..columns).map(|i| f64::from(u8::from(i == d))).collect();
        let mut axes: Vec<(f64, Vec<f64>)> = match self.local.covariance {
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
                let eigen = SymmetricEigen::new(covariance);
                (0..columns)
                    .map(|i| {
                        (
                            eigen.eigenvalues[i],
                            eigen.eigenvectors.column(i).iter().copied().collect(),
                        )
                    })
                    .collect()
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
            Covariance::Tied => (0..columns).map(|d| (1.0, unit(d))).collect(),
        };
        axes.retain(|axis| axis.0 > 0.0);
        axes.sort_by(|a, b| b.0.total_cmp(&a.0));
        axes.truncate(2);
        axes
    }

    /// Writes the statistics of `half` data of a component, moved to `mean` and narrowed along `offset`.
    fn half(&self, whole: &[f64], mean: &[f64], offset: &[f64], half: f64, out: &mut [f64]) {
        let columns = mean.len();
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
        match self.local.covariance {
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
