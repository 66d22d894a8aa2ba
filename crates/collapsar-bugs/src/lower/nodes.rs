//! Decides where the nodes of a grid stand: evenly in a coordinate without bounds, in which densities are smooth (maths §9.13).

use std::sync::Arc;

use collapsar::elementary::Elementary;

/// Nodes at most: a label of as many states.
pub(super) const MOST_NODES: usize = 256;
/// The largest count that is summed up to.
pub(super) const MOST_COUNTS: f64 = 2000.0;

/// In which coordinate nodes are even.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Coordinate {
    /// The number itself.
    Real,
    /// The logarithm of what it is above this.
    Above(f64),
    /// The logarithm of what it is below this.
    Below(f64),
    /// The log odds of its place between two ends.
    Between(f64, f64),
    /// Whole numbers, all of them.
    Whole,
}

impl Coordinate {
    /// The coordinate of numbers between two ends, which may be infinite.
    pub(super) fn between(lower: f64, upper: f64) -> Self {
        match (lower.is_finite(), upper.is_finite()) {
            (false, false) => Self::Real,
            (true, false) => Self::Above(lower),
            (false, true) => Self::Below(upper),
            (true, true) => Self::Between(lower, upper),
        }
    }

    /// The number at a place of the coordinate.
    pub(super) fn value(self, u: f64) -> f64 {
        match self {
            Self::Real => u,
            Self::Whole => u.round(),
            Self::Above(lower) => lower + u.exp_(),
            Self::Below(upper) => upper - u.exp_(),
            // From the nearer end, so that numbers next to it keep their digits.
            Self::Between(a, b) if u < 0.0 => a + (b - a) * (u.exp_() / (1.0 + u.exp_())),
            Self::Between(a, b) => b - (b - a) * ((-u).exp_() / (1.0 + (-u).exp_())),
        }
    }

    /// The logarithm of the derivative of the number.
    pub(super) fn ln_slope(self, u: f64) -> f64 {
        match self {
            Self::Real | Self::Whole => 0.0,
            Self::Above(_) | Self::Below(_) => u,
            Self::Between(a, b) => (b - a).ln_() - u.abs() - 2.0 * (-u.abs()).exp_().ln_1p_(),
        }
    }

    /// Whether the number falls where the coordinate rises.
    fn falls(self) -> bool {
        matches!(self, Self::Below(_))
    }
}

/// The nodes of numbers that are known on a grid only.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Grid {
    pub(super) coordinate: Coordinate,
    /// Where the first node is, and how far the next.
    pub(super) first: f64,
    pub(super) step: f64,
    /// The number at each node.
    pub(crate) values: Arc<[f64]>,
    /// The ends that the coordinate has under the prior.
    pub(super) limits: (f64, f64),
    /// By how many deviations a mean or a deviation changes, at most, where every other node is left out.
    pub(crate) error: f64,
}

impl Grid {
    /// So many nodes from one place of the coordinate to another; whole numbers are all nodes, whatever is asked.
    pub(super) fn new(
        coordinate: Coordinate,
        (low, high): (f64, f64),
        limits: (f64, f64),
        nodes: usize,
    ) -> Self {
        let (low, high) = (low.max(limits.0), high.min(limits.1));
        let (nodes, step) = match coordinate {
            Coordinate::Whole => ((high - low) as usize + 1, 1.0),
            _ => (nodes, (high - low) / (nodes - 1) as f64),
        };
        let at = |node: usize| coordinate.value(low + node as f64 * step);
        Self {
            coordinate,
            first: low,
            step,
            values: (0..nodes).map(at).collect(),
            limits,
            error: f64::INFINITY,
        }
    }

    pub(super) fn place(&self, node: usize) -> f64 {
        self.first + node as f64 * self.step
    }

    /// The logarithm of the length that a node stands for.
    pub(super) fn ln_weight(&self, node: usize) -> f64 {
        match self.coordinate {
            Coordinate::Whole => 0.0,
            coordinate => self.step.ln_() + coordinate.ln_slope(self.place(node)),
        }
    }

    /// Whether its numbers are counts.
    pub(crate) fn counts(&self) -> bool {
        self.coordinate == Coordinate::Whole
    }

    /// How many of these are each node, as a share of all.
    pub(crate) fn shares<'a>(&self, draws: impl Iterator<Item = &'a f64>) -> Vec<f64> {
        let mut shares = vec![0.0; self.values.len()];
        let mut count = 0.0;
        for draw in draws {
            let node = self.values.iter().position(|value| value == draw);
            if let Some(node) = node {
                shares[node] += 1.0;
                count += 1.0;
            }
        }
        for share in &mut shares {
            *share /= count;
        }
        shares
    }

    /// Mean and deviation under probabilities of the nodes.
    pub(crate) fn moments(&self, probabilities: &[f64]) -> (f64, f64) {
        moments(
            self.values
                .iter()
                .copied()
                .zip(probabilities.iter().copied()),
        )
    }

    /// The least number with this probability of itself or less: the density between nodes is that of a cubic through the
    /// logarithms of the four nearest.
    pub(crate) fn quantile(&self, probabilities: &[f64], probability: f64) -> f64 {
        let asked = if self.coordinate.falls() {
            1.0 - probability
        } else {
            probability
        };
        let cells = Cells::new(probabilities);
        self.coordinate
            .value(self.first + self.step * cells.quantile(asked))
    }
}

/// Mean and deviation of values with weights.
pub(super) fn moments(of: impl Iterator<Item = (f64, f64)> + Clone) -> (f64, f64) {
    let total: f64 = of.clone().map(|(_, p)| p).sum();
    let mean = of.clone().map(|(x, p)| x * p).sum::<f64>() / total;
    let variance = of.map(|(x, p)| (x - mean).powi(2) * p).sum::<f64>() / total;
    (mean, variance.sqrt())
}

/// Parts of the space between two nodes over which a density is summed.
const PARTS: usize = 16;
/// The logarithm of a density that has none.
const NOTHING: f64 = -700.0;

/// A density between nodes, by the sum of it up to each of many places.
struct Cells {
    below: Vec<f64>,
}

impl Cells {
    fn new(probabilities: &[f64]) -> Self {
        let ln: Vec<f64> = probabilities.iter().map(|p| p.ln_().max(NOTHING)).collect();
        let last = ln.len().saturating_sub(1);
        let mut below = vec![0.0];
        let mut before = ln.first().map_or(0.0, |ln| ln.exp_());
        for cell in 0..last {
            for part in 1..=PARTS {
                let t = part as f64 / PARTS as f64;
                let here = between(&ln, cell, t).exp_();
                let sum = below.last().copied().unwrap_or(0.0);
                below.push(sum + 0.5 * (before + here));
                before = here;
            }
        }
        Self { below }
    }

    /// Where the sum is this share of the whole, in nodes from the first.
    fn quantile(&self, probability: f64) -> f64 {
        let total = self.below.last().copied().unwrap_or(0.0);
        let wanted = probability * total;
        let after = self.below.partition_point(|below| *below < wanted);
        let after = after.clamp(1, self.below.len().max(2) - 1);
        let (Some(low), Some(high)) = (self.below.get(after - 1), self.below.get(after)) else {
            return 0.0;
        };
        let share = if high > low {
            (wanted - low) / (high - low)
        } else {
            0.5
        };
        (after as f64 - 1.0 + share) / PARTS as f64
    }
}

/// The cubic through the four nodes nearest to a cell, or the line through two where any of them has no density.
fn between(ln: &[f64], cell: usize, t: f64) -> f64 {
    let line = ln[cell] * (1.0 - t) + ln[cell + 1] * t;
    if ln.len() < 4 {
        return line;
    }
    let first = cell.saturating_sub(1).min(ln.len() - 4);
    let four = &ln[first..first + 4];
    if four.iter().any(|ln| *ln <= NOTHING) {
        return line;
    }
    let x = t + (cell - first) as f64;
    let basis = |i: usize| -> f64 {
        let others = (0..4).filter(|j| *j != i);
        others
            .map(|j| (x - j as f64) / (i as f64 - j as f64))
            .product()
    };
    (0..4).map(|i| four[i] * basis(i)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(grid: &Grid, mean: f64, sd: f64) -> Vec<f64> {
        let ln = |node: usize| {
            let z = (grid.values[node] - mean) / sd;
            (-0.5 * z * z + grid.ln_weight(node)).exp_()
        };
        let p: Vec<f64> = (0..grid.values.len()).map(ln).collect();
        let total: f64 = p.iter().sum();
        p.iter().map(|p| p / total).collect()
    }

    #[test]
    fn a_normal_density_is_summed_to_ten_digits() {
        let grid = Grid::new(Coordinate::Real, (-9.0, 15.0), (-1e9, 1e9), 32);
        let p = normal(&grid, 3.0, 1.5);
        let (mean, sd) = grid.moments(&p);
        assert!((mean - 3.0).abs() < 1e-10 && (sd - 1.5).abs() < 1e-10);
        for (probability, z) in [(0.025, -1.959_963_985), (0.5, 0.0), (0.975, 1.959_963_985)] {
            let found = (grid.quantile(&p, probability) - 3.0) / 1.5;
            assert!((found - z).abs() < 2e-3, "{found} {z}");
        }
    }

    #[test]
    fn slopes_are_derivatives() {
        for coordinate in [
            Coordinate::Real,
            Coordinate::Above(-2.0),
            Coordinate::Below(3.0),
            Coordinate::Between(0.5, 4.0),
        ] {
            for u in [-3.0, -0.5, 0.0, 0.3, 4.0] {
                let slope = (coordinate.value(u + 1e-6) - coordinate.value(u - 1e-6)) / 2e-6;
                let found = coordinate.ln_slope(u).exp_();
                assert!(
                    (slope.abs() - found).abs() < 1e-7 * (1.0 + found),
                    "{coordinate:?} {u}"
                );
            }
        }
    }

    #[test]
    fn uniform_quantiles_near_the_ends() {
        // A flat density on (0, 1) in its log odds.
        let grid = Grid::new(
            Coordinate::Between(0.0, 1.0),
            (-22.0, 22.0),
            (-40.0, 40.0),
            64,
        );
        let p: Vec<f64> = (0..64).map(|node| grid.ln_weight(node).exp_()).collect();
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-8);
        for probability in [0.025, 0.5, 0.975] {
            assert!((grid.quantile(&p, probability) - probability).abs() < 2e-3);
        }
        // Numbers that fall where their coordinate rises.
        let grid = Grid::new(Coordinate::Below(0.0), (-20.0, 4.0), (-40.0, 40.0), 64);
        let p: Vec<f64> = (0..64)
            .map(|node| (grid.values[node] + grid.ln_weight(node)).exp_())
            .collect();
        // e^x is uniform.
        for probability in [0.1, 0.5, 0.9] {
            let found = grid.quantile(&p, probability).exp_();
            assert!((found - probability).abs() < 2e-3, "{found}");
        }
    }

    #[test]
    fn between_nodes_is_a_cubic_or_a_line() {
        let cubic = |x: f64| 0.3 - x + 0.5 * x * x - 0.1 * x * x * x;
        let ln: Vec<f64> = (0..7).map(|node| cubic(f64::from(node))).collect();
        for cell in 0..6 {
            for t in [0.0, 0.25, 0.5, 1.0] {
                let expected = cubic(cell as f64 + t);
                assert!((between(&ln, cell, t) - expected).abs() < 1e-12);
            }
        }
        // Where one of the four has no density, and where there are no four.
        let line = 0.75 * ln[1] + 0.25 * ln[2];
        let mut none = ln.clone();
        none[3] = NOTHING;
        for some in [&none[..], &ln[..3]] {
            assert!((between(some, 1, 0.25) - line).abs() < 1e-12);
        }
    }

    #[test]
    fn shares_are_of_draws_that_are_nodes() {
        let grid = Grid::new(Coordinate::Real, (-9.0, 15.0), (-1e9, 1e9), 32);
        let nodes = &grid.values;
        let shares = grid.shares([nodes[3], nodes[5], nodes[3], 1234.5].iter());
        assert!((shares[3] - 2.0 / 3.0).abs() < 1e-15 && (shares[5] - 1.0 / 3.0).abs() < 1e-15);
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-15);
    }
}
