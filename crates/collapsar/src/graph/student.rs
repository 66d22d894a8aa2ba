//! A t distribution of a vector, of which proposals are made (maths §10.10).

use collapsar_core::random::{ChiSquared, Distribution, StandardNormal};
use nalgebra::{Cholesky, DMatrix, DVector, Dyn};
use rand::Rng;

use collapsar_core::elementary::Elementary;
use collapsar_core::special::ln_gamma;
use collapsar_core::vector::add;

/// Degrees of freedom: tails heavier than those of a posterior in these coordinates, which fall at least as an exponential.
const DEGREES: f64 = 6.0;
/// Those of normal variables given precisions, whose density falls as a normal one does or nearly so.
pub(super) const NARROW: f64 = 20.0;

/// Places at which densities are computed together: a column of the root is then read once for all of them.
pub(super) const LANES: usize = 8;

/// A number for each of some places.
pub(super) type Lanes = [f64; LANES];

/// Writes places, at most as many as there are lanes, coordinate by coordinate; the last place fills the lanes that are left.
pub(super) fn in_lanes(places: &[Vec<f64>], out: &mut Vec<Lanes>) {
    let dim = places.first().map_or(0, Vec::len);
    let last = places.len().saturating_sub(1);
    out.clear();
    out.extend((0..dim).map(|i| std::array::from_fn(|lane| places[lane.min(last)][i])));
}

/// A t distribution of a vector.
#[derive(Debug, Clone)]
pub(super) struct Student {
    centre: DVector<f64>,
    root: Cholesky<f64, Dyn>,
    ln_height: f64,
    degrees: f64,
}

impl Student {
    /// With this centre and covariance; none where that is not positive definite.
    pub(super) fn new(centre: Vec<f64>, covariance: DMatrix<f64>) -> Option<Self> {
        Self::with_degrees(centre, covariance, DEGREES)
    }

    /// With so many degrees of freedom.
    pub(super) fn with_degrees(
        centre: Vec<f64>,
        mut covariance: DMatrix<f64>,
        degrees: f64,
    ) -> Option<Self> {
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
        let root = Cholesky::new(covariance * ((degrees - 2.0) / degrees))?;
        let ln_determinant: f64 = root.l_dirty().diagonal().iter().map(|x| x.ln_()).sum();
        let half = 0.5 * dim as f64;
        let ln_height = ln_gamma(0.5 * degrees + half)
            - ln_gamma(0.5 * degrees)
            - half * (degrees * std::f64::consts::PI).ln_()
            - ln_determinant;
        Some(Self {
            centre: DVector::from_vec(centre),
            root,
            ln_height,
            degrees,
        })
    }

    /// With the mean and the covariance of draws that have weights, which sum to one.
    pub(super) fn of_draws(draws: &[Vec<f64>], weights: &[f64]) -> Option<Self> {
        let (centre, covariance) = Self::mean_and_covariance(draws, weights)?;
        Self::new(centre.as_slice().to_vec(), covariance)
    }

    /// With the mean of draws that have weights, which sum to one, and the mean of their covariance and of its own, which counts
    /// `prior` times as much.
    pub(super) fn moved(&self, draws: &[Vec<f64>], weights: &[f64], prior: f64) -> Option<Self> {
        let (centre, mut covariance) = Self::mean_and_covariance(draws, weights)?;
        if prior > 0.0 {
            covariance += self.covariance() * prior;
            covariance /= 1.0 + prior;
        }
        Self::new(centre.as_slice().to_vec(), covariance)
    }

    /// The mean and the covariance of draws that have weights, which sum to one; none without draws.
    fn mean_and_covariance(
        draws: &[Vec<f64>],
        weights: &[f64],
    ) -> Option<(DVector<f64>, DMatrix<f64>)> {
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
        Some((centre, covariance))
    }

    /// With deviations that are so many times as large.
    pub(super) fn scaled(&self, factor: f64) -> Option<Self> {
        let covariance = self.covariance() * (factor * factor);
        Self::with_degrees(self.centre.as_slice().to_vec(), covariance, self.degrees)
    }

    /// How many numbers it has.
    pub(super) fn dim(&self) -> usize {
        self.centre.len()
    }

    /// The covariance.
    fn covariance(&self) -> DMatrix<f64> {
        let root = self.root.l();
        &root * root.transpose() * (self.degrees / (self.degrees - 2.0))
    }

    /// One draw.
    pub(super) fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> Vec<f64> {
        let normal: Vec<f64> = (0..self.centre.len())
            .map(|_| StandardNormal.sample(rng))
            .collect();
        let chi = ChiSquared::new(self.degrees).map_or(self.degrees, |chi| chi.sample(rng));
        let wide = (self.degrees / chi).sqrt();
        let mut draw = self.centre.as_slice().to_vec();
        for (column, normal) in normal.iter().enumerate() {
            add(&mut draw[column..], wide * normal, self.column(column));
        }
        draw
    }

    /// The log density; none where it is below a floor, which is seen before all of it is computed.
    pub(super) fn ln_density_above(&self, at: &[f64], floor: f64) -> Option<f64> {
        let power = 0.5 * (self.degrees + self.centre.len() as f64);
        let most = self.degrees * ((self.ln_height - floor) / power).exp_m1_();
        let away = at.iter().zip(&self.centre);
        let mut away: Vec<f64> = away.map(|(at, centre)| at - centre).collect();
        let mut square = 0.0;
        for column in 0..away.len() {
            let below = self.column(column);
            let normal = away[column] / below[0];
            square += normal * normal;
            if square > most {
                return None;
            }
            add(&mut away[column..], -normal, below);
        }
        Some(self.ln_height - power * (square / self.degrees).ln_1p_())
    }

    /// The same at several places, by the same operations. All of it is computed where one place is not below its floor;
    /// `away` is room.
    pub(super) fn ln_densities_above(
        &self,
        at: &[Lanes],
        floors: &Lanes,
        away: &mut Vec<Lanes>,
    ) -> [Option<f64>; LANES] {
        let power = 0.5 * (self.degrees + self.centre.len() as f64);
        let most = floors.map(|floor| self.degrees * ((self.ln_height - floor) / power).exp_m1_());
        away.clear();
        away.extend((at.iter().zip(&self.centre)).map(|(at, centre)| at.map(|at| at - centre)));
        let mut squares = [0.0; LANES];
        for column in 0..away.len() {
            let below = self.column(column);
            let normals = away[column].map(|away| away / below[0]);
            for (square, normal) in squares.iter_mut().zip(normals) {
                *square += normal * normal;
            }
            if squares
                .iter()
                .zip(&most)
                .all(|(square, most)| square > most)
            {
                return [None; LANES];
            }
            for (away, below) in away[column..].iter_mut().zip(below) {
                for (away, normal) in away.iter_mut().zip(normals) {
                    *away += -normal * below;
                }
            }
        }
        std::array::from_fn(|lane| {
            let ln_density = || self.ln_height - power * (squares[lane] / self.degrees).ln_1p_();
            let is_below = squares[lane] > most[lane];
            (!is_below).then(ln_density)
        })
    }

    /// A column of the root, from the diagonal on.
    fn column(&self, column: usize) -> &[f64] {
        let dim = self.centre.len();
        &self.root.l_dirty().as_slice()[column * dim + column..(column + 1) * dim]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_places() {
        let covariance = DMatrix::from_fn(5, 5, |i, j| {
            if i == j {
                2.0
            } else {
                0.3 / (1.0 + (i + j) as f64)
            }
        });
        let one = Student::new(vec![0.1, -3.0, 2.5, 7.0, 0.0], covariance).expect("a t");
        let places: Vec<Vec<f64>> = (0..7)
            .map(|k| {
                (0..5)
                    .map(|i| (1.7 * f64::from(k * i) + 0.3).sin() * 4.0)
                    .collect()
            })
            .collect();
        let mut lanes = vec![];
        in_lanes(&places, &mut lanes);
        let alone: Vec<f64> = (places.iter())
            .filter_map(|at| one.ln_density_above(at, f64::NEG_INFINITY))
            .collect();
        let middle = alone.iter().sum::<f64>() / alone.len() as f64;
        let mut below = 0;
        for floor in [f64::NEG_INFINITY, middle, 10.0] {
            let together = one.ln_densities_above(&lanes, &[floor; LANES], &mut vec![]);
            for (lane, found) in together.into_iter().enumerate() {
                let expected = one.ln_density_above(&places[lane.min(6)], floor);
                assert_eq!(
                    found.map(f64::to_bits),
                    expected.map(f64::to_bits),
                    "{floor}"
                );
                below += usize::from(found.is_none());
            }
        }
        // Some at the floor in the middle, and all at the highest.
        assert!((LANES + 1..2 * LANES).contains(&below), "{below}");
    }
}
