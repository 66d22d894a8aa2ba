//! Decides in which coordinates a block has no bounds, so that any normal or t draw of them is a draw of it (maths §10.10).
//!
//! They are chosen so that the measure by which a family's log-partition function integrates is nearly theirs: the logarithm
//! of a gamma variable, log-ratios of proportions, the Cholesky factor of a precision matrix with the logarithm of its
//! diagonal.

use nalgebra::DMatrix;

use super::block::{Block, BlockFamily};
use collapsar_core::Result;
use collapsar_core::elementary::Elementary;
use collapsar_core::family::{Family, GaussianGammaDraw, NormalWishartDraw, Positive};
use collapsar_core::special::log_sum_exp;

/// Where coordinates are under q, and what they depend on.
pub(super) struct Linearised {
    /// The coordinates of the block's mean.
    pub(super) centre: Vec<f64>,
    /// For each coordinate, the statistics of which it is a sum near the mean, with coefficients.
    pub(super) parts: Vec<Vec<(usize, f64)>>,
}

impl Block {
    /// How many coordinates it has; none where it holds labels.
    pub(super) fn coordinates(&self) -> Option<usize> {
        match &self.family {
            BlockFamily::Gaussian(family) => Some(family.scalars()),
            BlockFamily::GaussianGamma(family) => Some(family.field.scalars() + 1),
            BlockFamily::Bounded(_) | BlockFamily::Gamma(_) | BlockFamily::Positive(..) => Some(1),
            BlockFamily::Wishart(family) => Some(triangle(family.dimensions())),
            BlockFamily::NormalWishart(family) => {
                Some(family.dimensions() + triangle(family.dimensions()))
            }
            BlockFamily::Dirichlet(family) => Some(family.dim.saturating_sub(1)),
            // The density of a Pólya-Gamma variable is a series that nobody sums here.
            BlockFamily::PolyaGamma(_) | BlockFamily::Label(_) | BlockFamily::Network(..) => None,
        }
    }

    /// The numbers at coordinates, one variable after another; writes their statistics. Also the logarithm of what a
    /// density by the family's measure becomes by that of the coordinates.
    pub(super) fn at_coordinates(
        &self,
        coordinates: &[f64],
        statistics: &mut [f64],
    ) -> (Vec<f64>, f64) {
        match &self.family {
            BlockFamily::Gaussian(family) => {
                let numbers = coordinates.to_vec();
                family.statistics(&numbers, statistics);
                (numbers, 0.0)
            }
            BlockFamily::GaussianGamma(family) => {
                let (values, precision) = coordinates.split_at(family.field.scalars());
                let draw = GaussianGammaDraw {
                    ln_precision: precision[0],
                    values: values.to_vec(),
                };
                family.statistics(&draw, statistics);
                let mut numbers = draw.values;
                numbers.push(precision[0].exp_());
                (numbers, 0.0)
            }
            BlockFamily::Bounded(family) => {
                let (value, ln_slope) = between(family.bounds(), coordinates[0]);
                family.statistics(&value, statistics);
                (vec![value], ln_slope)
            }
            BlockFamily::Gamma(family) => {
                family.statistics(&coordinates[0], statistics);
                (vec![coordinates[0].exp_()], 0.0)
            }
            BlockFamily::Positive(family, told) => {
                let (log, ln_slope) = between(ln_bounds(family), coordinates[0]);
                family.statistics(&log, statistics);
                // The tail is part of the measure by which the log-partition function integrates.
                let ln_slope = ln_slope + family.tail().ln_value(log);
                (vec![told.number(log)], ln_slope)
            }
            BlockFamily::Wishart(family) | BlockFamily::NormalWishart(family) => {
                let dim = family.dimensions();
                let means = family.means * dim;
                let (precision, half_ln_determinant, ln_slope) =
                    precision(dim, &coordinates[means..]);
                let mut draw = NormalWishartDraw {
                    means: coordinates[..means]
                        .chunks(dim)
                        .map(<[f64]>::to_vec)
                        .collect(),
                    precision: precision.as_slice().to_vec(),
                    ln_determinant: 2.0 * half_ln_determinant,
                };
                family.statistics(&draw, statistics);
                let mut numbers = coordinates[..means].to_vec();
                numbers.append(&mut draw.precision);
                // The measure of each mean is |Λ|^{1/2} dμ.
                let ln_slope = ln_slope + family.means as f64 * half_ln_determinant;
                (numbers, ln_slope)
            }
            BlockFamily::Dirichlet(family) => {
                let mut logs = coordinates.to_vec();
                logs.push(0.0);
                let ln_total = log_sum_exp(&logs);
                for log in &mut logs {
                    *log -= ln_total;
                }
                family.statistics(&logs, statistics);
                (logs.into_iter().map(f64::exp_).collect(), 0.0)
            }
            // Never asked for.
            BlockFamily::PolyaGamma(_) | BlockFamily::Label(_) | BlockFamily::Network(..) => {
                (vec![], 0.0)
            }
        }
    }

    /// As [`Block::at_coordinates`], into `numbers`: without asking for memory where a family is simple.
    pub(super) fn write_at(
        &self,
        coordinates: &[f64],
        numbers: &mut [f64],
        statistics: &mut [f64],
    ) -> f64 {
        match &self.family {
            BlockFamily::Gaussian(family) => {
                numbers.copy_from_slice(coordinates);
                family.write_statistics(numbers, statistics);
                0.0
            }
            BlockFamily::GaussianGamma(family) => {
                let (values, ln_precision) = coordinates.split_at(family.field.scalars());
                family.write_statistics(ln_precision[0], values, statistics);
                numbers.copy_from_slice(coordinates);
                numbers[values.len()] = ln_precision[0].exp_();
                0.0
            }
            BlockFamily::Gamma(_) => {
                numbers[0] = coordinates[0].exp_();
                statistics.copy_from_slice(&[coordinates[0], -numbers[0]]);
                0.0
            }
            _ => {
                let (found, ln_slope) = self.at_coordinates(coordinates, statistics);
                numbers.copy_from_slice(&found);
                ln_slope
            }
        }
    }

    /// The coordinates of numbers, one variable after another.
    pub(super) fn to_coordinates(&self, numbers: &[f64]) -> Vec<f64> {
        match &self.family {
            BlockFamily::Gaussian(_) => numbers.to_vec(),
            BlockFamily::GaussianGamma(family) => {
                let mut out = numbers.to_vec();
                let last = family.field.scalars();
                out[last] = out[last].ln_();
                out
            }
            BlockFamily::Bounded(family) => vec![unbounded(family.bounds(), numbers[0]).0],
            BlockFamily::Gamma(_) => vec![numbers[0].ln_()],
            BlockFamily::Positive(family, told) => {
                vec![unbounded(ln_bounds(family), told.ln_x(numbers[0])).0]
            }
            BlockFamily::Wishart(family) | BlockFamily::NormalWishart(family) => {
                let dim = family.dimensions();
                let means = family.means * dim;
                let mut out = numbers[..means].to_vec();
                out.extend(root_coordinates(dim, &numbers[means..]));
                out
            }
            BlockFamily::Dirichlet(_) => {
                let (last, others) = numbers.split_last().unwrap_or((&1.0, &[]));
                others.iter().map(|p| p.ln_() - last.ln_()).collect()
            }
            BlockFamily::PolyaGamma(_) | BlockFamily::Label(_) | BlockFamily::Network(..) => vec![],
        }
    }

    /// Where coordinates are under q, and how they move with the means of statistics.
    pub(super) fn linearised(&self, natural: &[f64]) -> Result<Linearised> {
        let mut mean = vec![0.0; natural.len()];
        self.evaluate(natural, &mut mean)?;
        let linearised = match &self.family {
            BlockFamily::Gaussian(family) => {
                let (centre, _) = family.marginals(natural)?;
                let parts = (0..centre.len()).map(|i| vec![(i, 1.0)]).collect();
                Linearised { centre, parts }
            }
            BlockFamily::GaussianGamma(family) => {
                let (found, _) = family.marginals(natural)?;
                let precision = -mean[1];
                let mut centre = found.field.mean;
                // x = (τx) / τ, with statistics τx and −τ.
                let part =
                    |(i, x): (usize, &f64)| vec![(2 + i, 1.0 / precision), (1, x / precision)];
                let mut parts: Vec<_> = centre.iter().enumerate().map(part).collect();
                centre.push(mean[0]);
                parts.push(vec![(0, 1.0)]);
                Linearised { centre, parts }
            }
            BlockFamily::Bounded(family) => {
                let (centre, slope) = unbounded(family.bounds(), mean[0]);
                Linearised {
                    centre: vec![centre],
                    parts: vec![vec![(0, slope)]],
                }
            }
            BlockFamily::Gamma(_) => Linearised {
                centre: vec![mean[0]],
                parts: vec![vec![(0, 1.0)]],
            },
            BlockFamily::Positive(family, _) => {
                let (centre, slope) = unbounded(ln_bounds(family), mean[0]);
                Linearised {
                    centre: vec![centre],
                    parts: vec![vec![(0, slope)]],
                }
            }
            BlockFamily::Wishart(family) | BlockFamily::NormalWishart(family) => {
                let ordinary = family.ordinary(natural)?;
                matrix(family.dimensions(), &ordinary, &mean[family.means..])
            }
            BlockFamily::Dirichlet(family) => {
                let last = family.dim.saturating_sub(1);
                Linearised {
                    centre: mean[..last].iter().map(|log| log - mean[last]).collect(),
                    parts: (0..last).map(|k| vec![(k, 1.0), (last, -1.0)]).collect(),
                }
            }
            BlockFamily::PolyaGamma(_) | BlockFamily::Label(_) | BlockFamily::Network(..) => {
                Linearised {
                    centre: vec![],
                    parts: vec![],
                }
            }
        };
        Ok(linearised)
    }
}

fn triangle(dim: usize) -> usize {
    dim * (dim + 1) / 2
}

/// The bounds of the logarithm of a positive number.
fn ln_bounds(family: &Positive) -> (f64, f64) {
    let (lower, upper) = family.bounds();
    (lower.ln_(), upper.ln_())
}

/// The number between bounds at a coordinate, and the logarithm of its slope.
fn between((lower, upper): (f64, f64), at: f64) -> (f64, f64) {
    match (lower.is_finite(), upper.is_finite()) {
        (false, false) => (at, 0.0),
        (true, false) => (lower + at.exp_(), at),
        (false, true) => (upper - at.exp_(), at),
        (true, true) => {
            // ln σ(x) = −ln(1 + e^{−x})
            let ln_sigmoid = |x: f64| -((-x.abs()).exp_().ln_1p_() + (-x).max(0.0));
            let width = upper - lower;
            let ln_slope = width.ln_() + ln_sigmoid(at) + ln_sigmoid(-at);
            (lower + width * ln_sigmoid(at).exp_(), ln_slope)
        }
    }
}

/// The coordinate of a number between bounds, and its slope there.
fn unbounded((lower, upper): (f64, f64), value: f64) -> (f64, f64) {
    let (below, above) = (value - lower, upper - value);
    match (lower.is_finite(), upper.is_finite()) {
        (false, false) => (value, 1.0),
        (true, false) => (below.ln_(), 1.0 / below),
        (false, true) => (above.ln_(), -1.0 / above),
        (true, true) => ((below / above).ln_(), 1.0 / below + 1.0 / above),
    }
}

/// The matrix LL' whose factor has these coordinates, row by row with the logarithm of the diagonal; half the
/// logarithm of its determinant; and the logarithm of the measure |Λ|^{-(D+1)/2} dΛ by that of the coordinates.
fn precision(dim: usize, coordinates: &[f64]) -> (DMatrix<f64>, f64, f64) {
    let mut root = DMatrix::zeros(dim, dim);
    let mut rest = coordinates.iter();
    let (mut half, mut ln_slope) = (0.0, dim as f64 * std::f64::consts::LN_2);
    for row in 0..dim {
        for column in 0..row {
            root[(row, column)] = rest.next().copied().unwrap_or(0.0);
        }
        let log = rest.next().copied().unwrap_or(0.0);
        root[(row, row)] = log.exp_();
        half += log;
        // dΛ = 2^D Π lᵢᵢ^{D−i} dL, with i from zero, and dlᵢᵢ = lᵢᵢ d ln lᵢᵢ.
        ln_slope -= row as f64 * log;
    }
    (&root * root.transpose(), half, ln_slope)
}

/// The inverse of that; not finite where the matrix is not positive definite.
fn root_coordinates(dim: usize, numbers: &[f64]) -> Vec<f64> {
    let matrix = DMatrix::from_row_slice(dim, dim, numbers);
    let Some(factor) = matrix.cholesky() else {
        return vec![f64::NAN; triangle(dim)];
    };
    let root = factor.l();
    let mut out = Vec::with_capacity(triangle(dim));
    for row in 0..dim {
        out.extend((0..row).map(|column| root[(row, column)]));
        out.push(root[(row, row)].ln_());
    }
    out
}

/// Coordinates of a precision matrix, and of the mean beside it, near their means: statistics are those from the
/// logarithm of the determinant on.
fn matrix(
    dim: usize,
    ordinary: &collapsar_core::family::NormalWishartOrdinary,
    statistics: &[f64],
) -> Linearised {
    let shifts = ordinary.means.len() * dim;
    // Statistics of the matrix: −Λᵢᵢ/2 and −Λᵢⱼ, packed as rows of the upper triangle.
    let first = 1 + shifts;
    let mut mean = DMatrix::zeros(dim, dim);
    let mut entries = vec![];
    for row in 0..dim {
        for column in row..dim {
            let factor = if row == column { -2.0 } else { -1.0 };
            let place = first + entries.len();
            mean[(row, column)] = factor * statistics[place];
            mean[(column, row)] = mean[(row, column)];
            entries.push((row, column, ordinary.means.len() + place, factor));
        }
    }
    let centre = root_coordinates(dim, mean.as_slice());
    let Some(factor) = mean.clone().cholesky() else {
        return Linearised {
            parts: vec![vec![]; centre.len()],
            centre,
        };
    };
    let (root, inverse) = (factor.l(), factor.inverse());
    let unroot = root
        .clone()
        .try_inverse()
        .unwrap_or_else(|| DMatrix::zeros(dim, dim));
    let mut parts = vec![vec![]; shifts + centre.len()];
    for &(row, column, place, coefficient) in &entries {
        let mut change = DMatrix::zeros(dim, dim);
        change[(row, column)] = coefficient;
        change[(column, row)] = coefficient;
        // dL = L Φ(L⁻¹ dΛ L⁻ᵀ), with the lower triangle and half of the diagonal.
        let mut inner = &unroot * &change * unroot.transpose();
        for i in 0..dim {
            inner[(i, i)] *= 0.5;
            for j in i + 1..dim {
                inner[(i, j)] = 0.0;
            }
        }
        let moved = &root * inner;
        let mut at = shifts;
        for i in 0..dim {
            for j in 0..=i {
                let slope = if i == j {
                    moved[(i, i)] / root[(i, i)]
                } else {
                    moved[(i, j)]
                };
                parts[at].push((place, slope));
                at += 1;
            }
        }
        // dμ = −Λ⁻¹ dΛ μ + Λ⁻¹ d(Λμ)
        for mu in &ordinary.means {
            let turned = &inverse * &change * nalgebra::DVector::from_column_slice(mu);
            for i in 0..dim {
                parts[i].push((place, -turned[i]));
            }
        }
    }
    let mut all = ordinary.means.concat();
    for i in 0..shifts {
        for j in 0..dim {
            parts[i].push((ordinary.means.len() + 1 + j, inverse[(i, j)]));
        }
    }
    all.extend(centre);
    Linearised { centre: all, parts }
}
