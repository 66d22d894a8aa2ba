//! The principal plane of data, and ellipses of components in it.

use collapsar::elementary::Elementary;
use collapsar::mixture::Matrix;
use nalgebra::{DMatrix, SymmetricEigen};

/// A plane: where it is, and two directions of unit length in columns that are divided by their deviations.
pub(crate) struct Plane {
    centre: Vec<f64>,
    /// Direction by direction.
    axes: [Vec<f64>; 2],
    /// How much of the variance of each column's standardised values it shows.
    pub(crate) share: f64,
    /// Whether it is the data's own two columns.
    pub(crate) own: bool,
}

impl Plane {
    /// The two columns themselves, or the plane of the largest variance of standardised columns. None of fewer than two.
    pub(crate) fn of(values: &[f64], columns: usize) -> Option<Self> {
        let rows = values.len() / columns.max(1);
        if columns < 2 || rows < 2 {
            return None;
        }
        if columns == 2 {
            return Some(Self::of_two_columns());
        }
        let mut centre = vec![0.0; columns];
        for row in values.chunks_exact(columns) {
            for (sum, value) in centre.iter_mut().zip(row) {
                *sum += value / rows as f64;
            }
        }
        let mut products = DMatrix::<f64>::zeros(columns, columns);
        for row in values.chunks_exact(columns) {
            for i in 0..columns {
                for j in 0..=i {
                    products[(i, j)] += (row[i] - centre[i]) * (row[j] - centre[j]);
                }
            }
        }
        Some(Self::spanned(centre, &(products / rows as f64)))
    }

    /// The same of Gaussians with these weights, means and covariances in place of rows.
    pub(crate) fn of_gaussians(gaussians: &[(f64, &[f64], &Matrix)]) -> Option<Self> {
        let columns = gaussians.first()?.1.len();
        if columns < 2 {
            return None;
        }
        if columns == 2 {
            return Some(Self::of_two_columns());
        }
        let total: f64 = gaussians.iter().map(|(weight, ..)| weight).sum();
        let mut centre = vec![0.0; columns];
        for (weight, mean, _) in gaussians {
            for (sum, value) in centre.iter_mut().zip(*mean) {
                *sum += weight / total * value;
            }
        }
        let entry = |i: usize, j: usize| {
            let parts = gaussians.iter().map(|(weight, mean, covariance)| {
                let between = (mean[i] - centre[i]) * (mean[j] - centre[j]);
                weight / total * (between + entry_of(covariance, i, j))
            });
            parts.sum()
        };
        let covariance = DMatrix::from_fn(columns, columns, |i, j| entry(i.max(j), i.min(j)));
        Some(Self::spanned(centre, &covariance))
    }

    fn of_two_columns() -> Self {
        Self {
            centre: vec![0.0; 2],
            axes: [vec![1.0, 0.0], vec![0.0, 1.0]],
            share: 1.0,
            own: true,
        }
    }

    /// The plane of the largest variance, by a covariance whose lower half is known.
    fn spanned(centre: Vec<f64>, covariance: &DMatrix<f64>) -> Self {
        let columns = centre.len();
        let deviation = |d: usize| covariance[(d, d)].sqrt();
        let scale: Vec<f64> = (0..columns)
            .map(|d| {
                if deviation(d) > 0.0 {
                    deviation(d)
                } else {
                    1.0
                }
            })
            .collect();
        let correlations = DMatrix::from_fn(columns, columns, |i, j| {
            covariance[(i.max(j), i.min(j))] / (scale[i] * scale[j])
        });
        let eigen = SymmetricEigen::new(correlations);
        let mut order: Vec<usize> = (0..columns).collect();
        order.sort_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]));
        let total: f64 = eigen.eigenvalues.iter().sum();
        let axis = |place: usize| -> Vec<f64> {
            let vector = eigen.eigenvectors.column(order[place]);
            let largest = vector
                .iter()
                .copied()
                .max_by(|a, b| a.abs().total_cmp(&b.abs()));
            // Of two opposite directions the one that points where its largest part does.
            let sign = largest.unwrap_or(1.0).signum();
            (0..columns).map(|d| sign * vector[d] / scale[d]).collect()
        };
        let kept = eigen.eigenvalues[order[0]] + eigen.eigenvalues[order[1]];
        Self {
            axes: [axis(0), axis(1)],
            centre,
            share: kept / total.max(f64::MIN_POSITIVE),
            own: false,
        }
    }

    pub(crate) fn project(&self, row: &[f64]) -> [f64; 2] {
        let along = |axis: &Vec<f64>| {
            let parts = row.iter().zip(&self.centre).zip(axis);
            parts
                .map(|((value, centre), axis)| (value - centre) * axis)
                .sum()
        };
        [along(&self.axes[0]), along(&self.axes[1])]
    }

    /// The curve that holds 95% of a Gaussian's shadow on the plane.
    pub(crate) fn ellipse(
        &self,
        mean: &[f64],
        covariance: &Matrix,
        points: usize,
    ) -> Vec<[f64; 2]> {
        // The 95% quantile of chi-squared with two degrees of freedom, -2 ln 0.05.
        let radius = (-2.0 * 0.05_f64.ln_()).sqrt();
        let [x, y] = self.project(mean);
        let entry = |i: usize, j: usize| -> f64 {
            let (a, b) = (&self.axes[i], &self.axes[j]);
            let pair = |d: usize, e: usize| a[d] * b[e] * entry_of(covariance, d, e);
            (0..a.len())
                .flat_map(|d| (0..b.len()).map(move |e| (d, e)))
                .map(|(d, e)| pair(d, e))
                .sum()
        };
        let (xx, xy, yy) = (entry(0, 0), entry(0, 1), entry(1, 1));
        // Its Cholesky factor turns a circle into it.
        let first = xx.max(0.0).sqrt();
        let across = if first > 0.0 { xy / first } else { 0.0 };
        let second = (yy - across * across).max(0.0).sqrt();
        let point = |index: usize| {
            let (sin, cos) = (std::f64::consts::TAU * index as f64 / points as f64).sin_cos_();
            [
                x + radius * first * cos,
                y + radius * (across * cos + second * sin),
            ]
        };
        (0..=points).map(point).collect()
    }
}

/// An entry of a covariance.
pub(crate) fn entry_of(matrix: &Matrix, i: usize, j: usize) -> f64 {
    match matrix {
        Matrix::Full(rows) => rows[i][j],
        _ if i == j => matrix.variance(i),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ellipses_have_the_covariance_of_their_points() {
        let plane = Plane::of(&[0.0, 0.0, 1.0, 1.0], 2).unwrap();
        let covariance = Matrix::Full(vec![vec![4.0, 1.0], vec![1.0, 2.0]]);
        let curve = plane.ellipse(&[1.0, -1.0], &covariance, 64);
        let radius = -2.0 * 0.05_f64.ln_();
        for [x, y] in curve {
            let (dx, dy) = (x - 1.0, y + 1.0);
            // The inverse of the covariance by hand.
            let distance = (2.0 * dx * dx - 2.0 * dx * dy + 4.0 * dy * dy) / 7.0;
            assert!((distance - radius).abs() < 1e-9, "{distance}");
        }
    }

    #[test]
    fn rows_and_the_gaussian_of_their_moments_have_the_same_plane() {
        let rows: Vec<f64> = (0..60)
            .flat_map(|i| {
                let (a, b, c) = (f64::from(i % 7), f64::from(i % 5), f64::from(i % 2));
                [a + c, b, 3.0 * a + 2.0 * b + c]
            })
            .collect();
        let of_rows = Plane::of(&rows, 3).unwrap();
        let mean = |d: usize| rows.iter().skip(d).step_by(3).sum::<f64>() / 60.0;
        let means: Vec<f64> = (0..3).map(mean).collect();
        let product = |i: usize, j: usize| -> f64 {
            let rows = rows.chunks_exact(3);
            rows.map(|row| (row[i] - means[i]) * (row[j] - means[j]) / 60.0)
                .sum()
        };
        let square = (0..3).map(|i| (0..3).map(|j| product(i, j)).collect());
        let covariance = Matrix::Full(square.collect());
        let of_one = Plane::of_gaussians(&[(0.3, &means, &covariance)]).unwrap();
        for (a, b) in of_rows
            .axes
            .iter()
            .flatten()
            .zip(of_one.axes.iter().flatten())
        {
            assert!((a - b).abs() < 1e-9, "{a} {b}");
        }
    }

    #[test]
    fn the_plane_of_data_on_a_plane_shows_all() {
        let rows: Vec<f64> = (0..50)
            .flat_map(|i| {
                let (a, b) = (f64::from(i % 7), f64::from(i % 5));
                [a, b, 3.0 * a + 2.0, -b]
            })
            .collect();
        let plane = Plane::of(&rows, 4).unwrap();
        assert!((plane.share - 1.0).abs() < 1e-9, "{}", plane.share);
    }
}
