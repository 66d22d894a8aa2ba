//! Jumps out of a poor optimum: a component split in two, two components merged into one, and
//! under a Dirichlet process components put in the order of their size.
//!
//! All are made from the statistics alone, so proposing one costs no pass over the data.

use nalgebra::{DMatrix, SymmetricEigen};

use super::posterior::{Parameters, Shape, pairs};
use super::{Covariance, Mixture, Weights};
use collapsar_core::family::Family;
use collapsar_core::vector::dot;
use collapsar_core::{Jump, Jumps, Point, Potential, Result};

/// What a component is split along.
enum Cut {
    /// A direction.
    Axis(Vec<f64>),
    /// Who has a level of a column, and who has not.
    Level(usize, usize),
}

/// Statistics to go on from, and what the jump is called.
type Proposal = (Vec<f64>, String);

/// A component with less than this is free to take half of another.
const FREE: f64 = 1.0;
/// The mean of half a standard normal: where the halves of a component lie, in deviations.
const HALF_NORMAL: f64 = 0.797_884_560_802_865_4;
/// Merges tried from a point: the collapsed blocks rank them well.
const MERGES: usize = 3;
/// Splits tried from a point, and from one where a merge must come first.
const SPLITS: usize = 24;
const SPLITS_AFTER_MERGE: usize = 8;

impl<L: Shape> Jumps for Mixture<L> {
    fn jumps(&self, point: &Point) -> Result<Vec<Jump>> {
        let statistics = &point.statistics;
        let mut proposals: Vec<Proposal> = self.sorted(statistics).into_iter().collect();
        let merges = self.merges(statistics)?;
        let mut splits = self.splits(statistics, SPLITS);
        // With every component in use, the best merge makes room for a split.
        if let (true, Some((merged, merge))) = (splits.is_empty(), merges.first()) {
            splits = self.splits(merged, SPLITS_AFTER_MERGE);
            for (_, name) in &mut splits {
                *name = format!("{merge}, {name}");
            }
        }
        proposals.extend(merges.into_iter().chain(splits));
        let jumps = proposals.into_iter();
        Ok(jumps.filter_map(|proposal| self.jump(proposal)).collect())
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
            _ => 1e-4 * self.total,
        }
    }
}

impl<L: Shape> Mixture<L> {
    /// The statistics of component `k`: count, sums, squares.
    fn own<'a>(&self, statistics: &'a [f64], k: usize) -> &'a [f64] {
        let features = self.local.features();
        &statistics[k * features..(k + 1) * features]
    }

    /// Components in the order of their size, which a stick-breaking prior prefers.
    fn sorted(&self, statistics: &[f64]) -> Option<Proposal> {
        if self.weights == Weights::Dirichlet {
            return None;
        }
        let own = |k: usize| self.own(statistics, k);
        // Components that rows are known to be of stay where they are.
        let free = self.held.free();
        let mut sorted = free.clone();
        sorted.sort_by(|&a, &b| own(b)[0].total_cmp(&own(a)[0]));
        let mut order: Vec<usize> = (0..self.components()).collect();
        for (place, k) in free.into_iter().zip(sorted) {
            order[place] = k;
        }
        let mut in_order: Vec<f64> = order.iter().flat_map(|&k| own(k)).copied().collect();
        in_order.extend(&statistics[in_order.len()..]);
        if self.levels.columns() > 0 {
            for (place, &k) in order.iter().enumerate() {
                in_order[self.levels.own(place)].copy_from_slice(&statistics[self.levels.own(k)]);
            }
        }
        (!order.is_sorted()).then(|| (in_order, "sort components by size".into()))
    }

    /// Statistics and names of splits of every component along its longest axes, or by a level, the largest
    /// first; none where no component is free to take a half.
    fn splits(&self, from: &[f64], most: usize) -> Vec<Proposal> {
        let (features, columns) = (self.local.features(), self.columns());
        let count = |k: usize| self.own(from, k)[0];
        let free = self.held.free().into_iter();
        let emptiest = free.min_by(|&a, &b| count(a).total_cmp(&count(b)));
        let Some(free) = emptiest.filter(|&k| count(k) < FREE) else {
            return vec![];
        };
        let own_axes = |k: usize| {
            let axes = self.axes(from, k).into_iter();
            let axes = axes.map(move |(variance, axis)| (k, variance, Cut::Axis(axis)));
            axes.chain(self.cuts(from, k))
        };
        let mut axes: Vec<(usize, f64, Cut)> = (0..self.components())
            .filter(|&k| count(k) > 4.0 * FREE)
            .flat_map(own_axes)
            .collect();
        let promise = |(k, variance, _): &(usize, f64, Cut)| count(*k) * variance;
        axes.sort_by(|a, b| promise(b).total_cmp(&promise(a)));
        axes.truncate(most);
        let split = |(k, variance, cut): (usize, f64, Cut)| {
            let axis = match cut {
                Cut::Axis(axis) => axis,
                Cut::Level(column, level) => {
                    return self.split_by_level(from, (k, free), (column, level));
                }
            };
            let whole = self.own(from, k);
            let length = variance.sqrt();
            let mut offset: Vec<f64> = axis.iter().map(|a| a * HALF_NORMAL * length).collect();
            // The half that rows are known to be of stays with them.
            if let Some(known) = self.held.mean(k) {
                let side = |d: usize| offset[d] * (known[d] - self.mean_of(whole, d));
                if (0..columns).map(side).sum::<f64>() < 0.0 {
                    for x in &mut offset {
                        *x = -*x;
                    }
                }
            }
            let mut statistics = from.to_vec();
            for (slot, sign) in [(k, 1.0), (free, -1.0)] {
                let mean: Vec<f64> = (0..columns)
                    .map(|d| self.mean_of(whole, d) + sign * offset[d])
                    .collect();
                let part = &mut statistics[slot * features..(slot + 1) * features];
                self.half(whole, &mean, &offset, part);
            }
            // Halves have the same levels until rows say otherwise.
            self.divide_levels(from, &mut statistics, (k, free), |_, _| 0.5);
            (statistics, format!("split {}", k + 1))
        };
        axes.into_iter().map(split).collect()
    }

    /// The levels that a component may be split by: for each column the two that come nearest to halving it, each with the variance of having
    /// it, times four: one where half of the rows do, as much as a whole axis.
    fn cuts(&self, from: &[f64], k: usize) -> Vec<(usize, f64, Cut)> {
        let whole = self.own(from, k)[0];
        let of_column = |c: usize| {
            let counts = &from[self.levels.of(k, c)];
            let total: f64 = counts.iter().sum();
            let fraction = |count: &f64| count / total.max(f64::MIN_POSITIVE);
            let each = counts.iter().map(fraction).enumerate();
            let large = |p: f64| whole * p.min(1.0 - p) > 2.0 * FREE;
            let mut each: Vec<(usize, f64)> = each.filter(|(_, p)| large(*p)).collect();
            each.sort_by(|a, b| (a.1 - 0.5).abs().total_cmp(&(b.1 - 0.5).abs()));
            // Of two levels each is what the other is not.
            each.truncate(if counts.len() == 2 { 1 } else { 2 });
            let cut =
                move |(level, p): (usize, f64)| (k, 4.0 * p * (1.0 - p), Cut::Level(c, level));
            each.into_iter().map(cut)
        };
        (0..self.levels.columns()).flat_map(of_column).collect()
    }

    /// Gives two components parts of the levels of the first, by the fraction that this one keeps of each.
    fn divide_levels(
        &self,
        from: &[f64],
        to: &mut [f64],
        (k, free): (usize, usize),
        kept: impl Fn(usize, usize) -> f64,
    ) {
        for c in 0..self.levels.columns() {
            let (own, other) = (self.levels.of(k, c), self.levels.of(free, c));
            for (level, (own, other)) in own.zip(other).enumerate() {
                let kept = kept(c, level);
                (to[own], to[other]) = (kept * from[own], (1.0 - kept) * from[own]);
            }
        }
    }

    /// Statistics and name of a split of `k` by who has a level; all else is divided in proportion. The larger part stays, or that of rows
    /// which are known to be of it.
    fn split_by_level(
        &self,
        from: &[f64],
        (k, free): (usize, usize),
        (column, level): (usize, usize),
    ) -> Proposal {
        let features = self.local.features();
        let counts = &from[self.levels.of(k, column)];
        let has = counts[level] / counts.iter().sum::<f64>();
        let known = self.held.mean(k).map(|known| {
            let place = self.columns() + self.levels.within(column).start + level;
            known[place] >= has
        });
        let stays = known.unwrap_or(has >= 0.5);
        let kept_part = if stays { has } else { 1.0 - has };
        let mut statistics = from.to_vec();
        for f in 0..features {
            let whole = from[k * features + f];
            statistics[k * features + f] = kept_part * whole;
            statistics[free * features + f] = (1.0 - kept_part) * whole;
        }
        self.divide_levels(from, &mut statistics, (k, free), |c, l| match c {
            _ if c != column => kept_part,
            _ => f64::from(u8::from((l == level) == stays)),
        });
        (statistics, format!("split {}", k + 1))
    }

    /// Statistics and names of the merges that the collapsed blocks gain most from.
    fn merges(&self, from: &[f64]) -> Result<Vec<Proposal>> {
        let features = self.local.features();
        let alive: Vec<usize> = (0..self.components())
            .filter(|&k| self.own(from, k)[0] >= FREE)
            .collect();
        let merged = |a: usize, b: usize| {
            let mut statistics = from.to_vec();
            for f in 0..features {
                statistics[a * features + f] += statistics[b * features + f];
                statistics[b * features + f] = 0.0;
            }
            if self.levels.columns() > 0 {
                for (to, of) in self.levels.own(a).zip(self.levels.own(b)) {
                    statistics[to] += std::mem::take(&mut statistics[of]);
                }
            }
            statistics
        };
        let mut pairs = Vec::new();
        for (i, &a) in alive.iter().enumerate() {
            for &b in &alive[i + 1..] {
                // One that rows are known to be of takes in the other, never another such.
                let (a, b) = match (self.held.is_free(a), self.held.is_free(b)) {
                    (false, false) => continue,
                    (true, false) => (b, a),
                    _ => (a, b),
                };
                pairs.push((self.change(from, &merged(a, b), &[a, b])?, a, b));
            }
        }
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
        pairs.truncate(MERGES);
        let named = |(_, a, b)| (merged(a, b), format!("merge {} and {}", a + 1, b + 1));
        Ok(pairs.into_iter().map(named).collect())
    }

    /// The start of a run from made-up statistics; nothing where no data could have them.
    fn jump(&self, (statistics, name): Proposal) -> Option<Jump> {
        let mut messages = vec![0.0; statistics.len()];
        let value = self.blocks.value_and_gradient(&statistics, &mut messages);
        value.ok().map(|_| Jump { messages, name })
    }

    /// Variance and direction of a component's longest axes, in standardised units.
    fn axes(&self, all: &[f64], k: usize) -> Vec<(f64, Vec<f64>)> {
        let (columns, statistics) = (self.columns(), self.own(all, k));
        if columns == 0 {
            return vec![];
        }
        let n = statistics[0];
        let (there, mean) = (
            |d: usize| self.there(statistics, d),
            |d: usize| self.mean_of(statistics, d),
        );
        let squares = &statistics[self.sums() + columns..];
        let unit = |d: usize| (0..columns).map(|i| f64::from(u8::from(i == d))).collect();
        let mut axes: Vec<(f64, Vec<f64>)> = match self.covariance {
            Covariance::Full => {
                let mut covariance = DMatrix::zeros(columns, columns);
                for ((i, j), square) in pairs(columns).zip(squares) {
                    let value = square / n - mean(i) * mean(j);
                    covariance[(i, j)] = value;
                    covariance[(j, i)] = value;
                }
                principal(covariance)
            }
            Covariance::Diagonal => (0..columns)
                .map(|d| (squares[d] / there(d) - mean(d) * mean(d), unit(d)))
                .collect(),
            // The statistics know no direction: try the columns.
            Covariance::Spherical => {
                let square: f64 = (0..columns).map(|d| there(d) / n * mean(d) * mean(d)).sum();
                let all: f64 = (0..columns).map(|d| there(d) / n).sum();
                let variance = (squares[0] / n - square) / all.max(f64::MIN_POSITIVE);
                (0..columns).map(|d| (variance, unit(d))).collect()
            }
            // All components share one shape.
            Covariance::Tied => self.shared_axes(all),
        };
        axes.retain(|axis| axis.0 > 0.0);
        axes.sort_by(|a, b| b.0.total_cmp(&a.0));
        let spherical = self.covariance == Covariance::Spherical;
        axes.truncate(if spherical { 8 } else { 2 });
        axes
    }

    /// The axes of the covariance that tied components share.
    fn shared_axes(&self, statistics: &[f64]) -> Vec<(f64, Vec<f64>)> {
        if let Parameters::Full(family) = self.parameters
            && let Ok(shared) = family.ordinary(&self.blocks.natural(1, statistics))
        {
            let columns = self.columns();
            let scale = DMatrix::from_row_slice(columns, columns, &shared.scale);
            return principal(scale / shared.degrees_of_freedom);
        }
        vec![]
    }

    /// Where the sums of a component's statistics begin.
    fn sums(&self) -> usize {
        match self.parameters {
            Parameters::Columns(family) => 1 + family.dimensions(),
            _ => 1,
        }
    }

    /// How many rows of a component have column `d`.
    fn there(&self, own: &[f64], d: usize) -> f64 {
        match self.parameters {
            Parameters::Columns(_) => own[1 + d].max(f64::MIN_POSITIVE),
            _ => own[0],
        }
    }

    /// The mean of a component's rows in column `d`.
    fn mean_of(&self, own: &[f64], d: usize) -> f64 {
        own[self.sums() + d] / self.there(own, d)
    }

    /// As [`Mixture::half`], where columns have rows of their own.
    fn half_by_columns(&self, whole: &[f64], mean: &[f64], offset: &[f64], out: &mut [f64]) {
        let (columns, sums) = (mean.len(), self.sums());
        out[0] = whole[0] / 2.0;
        let squares = sums + columns;
        out[squares..].copy_from_slice(&whole[squares..]);
        for square in &mut out[squares..] {
            *square /= 2.0;
        }
        for d in 0..columns {
            let (half, centre) = (whole[1 + d] / 2.0, self.mean_of(whole, d));
            out[1 + d] = half;
            out[sums + d] = half * mean[d];
            let moved = mean[d] * mean[d] - centre * centre - offset[d] * offset[d];
            let place = match self.covariance {
                Covariance::Diagonal => d,
                _ => 0,
            };
            out[squares + place] += half * moved;
        }
    }

    /// Writes the statistics of half of a component, moved to `mean` and narrowed along `offset`.
    fn half(&self, whole: &[f64], mean: &[f64], offset: &[f64], out: &mut [f64]) {
        if matches!(self.parameters, Parameters::Columns(_)) {
            return self.half_by_columns(whole, mean, offset, out);
        }
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
                for ((o, w), (i, j)) in to.iter_mut().zip(from).zip(pairs(columns)) {
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
