//! The predictive density of a normal component.

use std::f64::consts::PI;

use crate::random::{ChiSquared, Distribution, StandardNormal};
use nalgebra::DMatrix;
use rand::Rng;

use super::normal_wishart::factor;
use super::{POSITIVE, check_length, is_positive, require};
use crate::elementary::Elementary;
use crate::error::Result;
use crate::special::{ln_beta, ln_gamma};

const BLOCK: &str = "Student-t";

/// A multivariate Student-t density, its scale matrix factored once.
///
/// $$\ln p(x) = \ln\frac{\Gamma(\frac{\nu+D}2)}{\Gamma(\frac\nu2)} - \tfrac D2 \ln \nu\pi
/// - \tfrac12 \ln|\Sigma| - \tfrac{\nu+D}2 \ln\bigl(1 + \tfrac1\nu (x-m)'\Sigma^{-1}(x-m)\bigr)$$
///
/// The predictive density of a full component is a t with $\nu - D + 1$ degrees of freedom,
/// location $m$ and scale $S (\kappa + 1) / (\kappa (\nu - D + 1))$; that of a diagonal one is the
/// product over coordinates of univariate ts with $\nu$ degrees of freedom.
#[derive(Debug, Clone, PartialEq)]
pub struct StudentT {
    degrees_of_freedom: f64,
    location: Vec<f64>,
    /// Rows of the lower Cholesky factor, packed; each diagonal entry is inverted.
    factor: Vec<f64>,
    constant: f64,
}

impl StudentT {
    /// A density with this location and scale matrix, given row by row.
    ///
    /// # Errors
    /// Where the degrees of freedom are not positive or the scale is not positive definite.
    pub fn new(degrees_of_freedom: f64, location: Vec<f64>, scale: &[f64]) -> Result<Self> {
        let d = location.len();
        check_length(BLOCK, scale, d * d)?;
        require(is_positive(degrees_of_freedom), BLOCK, POSITIVE, || {
            format!("{degrees_of_freedom} degrees of freedom")
        })?;
        let scale = DMatrix::from_row_slice(d, d, scale);
        let (cholesky, ln_determinant) = factor(BLOCK, scale)?;
        let lower = cholesky.l_dirty();
        let rows = (0..d).flat_map(|i| (0..=i).map(move |j| (i, j)));
        let factor = rows.map(|(i, j)| {
            let entry = lower[(i, j)];
            if i == j { 1.0 / entry } else { entry }
        });
        let half = 0.5 * d as f64;
        // maths §3.6. The difference of log-gammas through ln B, which does not cancel when the
        // degrees of freedom are many.
        let constant = ln_gamma(half)
            - ln_beta(0.5 * degrees_of_freedom, half)
            - half * (degrees_of_freedom * PI).ln_()
            - 0.5 * ln_determinant;
        Ok(Self {
            degrees_of_freedom,
            location,
            factor: factor.collect(),
            constant,
        })
    }

    /// Length of a point.
    pub fn dim(&self) -> usize {
        self.location.len()
    }

    /// Degrees of freedom, location and scale matrix.
    pub fn parameters(&self) -> (f64, Vec<f64>, DMatrix<f64>) {
        let d = self.dim();
        let lower = DMatrix::from_fn(d, d, |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => 1.0 / self.factor[i * (i + 1) / 2 + j],
            std::cmp::Ordering::Greater => self.factor[i * (i + 1) / 2 + j],
        });
        let scale = &lower * lower.transpose();
        (self.degrees_of_freedom, self.location.clone(), scale)
    }

    /// The log density at `x`; `scratch` has the length of `x` and is overwritten.
    pub fn ln_density(&self, x: &[f64], scratch: &mut [f64]) -> f64 {
        debug_assert_eq!(x.len(), self.dim());
        let mut square = 0.0;
        let mut rest = &self.factor[..];
        // Forward substitution: scratch becomes L⁻¹ (x - m).
        for i in 0..self.dim() {
            let (row, next) = rest.split_at(i + 1);
            rest = next;
            let known: f64 = row.iter().zip(&scratch[..i]).map(|(l, y)| l * y).sum();
            scratch[i] = (x[i] - self.location[i] - known) * row[i];
            square += scratch[i] * scratch[i];
        }
        let power = 0.5 * (self.degrees_of_freedom + self.dim() as f64);
        self.constant - power * (square / self.degrees_of_freedom).ln_1p_() // maths §3.6
    }

    /// One draw: a normal vector over the root of a chi-square.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Vec<f64> {
        let chi_squared: f64 = ChiSquared::new(self.degrees_of_freedom)
            .expect("degrees of freedom were checked when this was made")
            .sample(rng);
        let widen = (self.degrees_of_freedom / chi_squared).sqrt();
        let noise: Vec<f64> = StandardNormal
            .sample_iter(&mut *rng)
            .take(self.dim())
            .collect();
        let mut rest = &self.factor[..];
        let mut draw = self.location.clone();
        for (i, x) in draw.iter_mut().enumerate() {
            let (row, next) = rest.split_at(i + 1);
            rest = next;
            let below: f64 = row[..i].iter().zip(&noise).map(|(l, z)| l * z).sum();
            *x += widen * (below + noise[i] / row[i]);
        }
        draw
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn one_degree_of_freedom_is_cauchy() {
        let t = StudentT::new(1.0, vec![2.0], &[9.0]).expect("positive");
        for x in [-1e6_f64, 0.0, 2.0, 7.5] {
            let z = (x - 2.0) / 3.0;
            let expected = -(3.0 * PI * (1.0 + z * z)).ln();
            // A handful of roundings of numbers of size thirty.
            assert!((t.ln_density(&[x], &mut [0.0]) - expected).abs() < 1e-14 * 30.0);
        }
    }

    #[test]
    fn many_degrees_of_freedom_are_normal() {
        let t = StudentT::new(1e12, vec![0.0, 1.0], &[2.0, 0.6, 0.6, 1.0]).expect("positive");
        let (x, y): (f64, f64) = (0.3, 1.9 - 1.0);
        let determinant: f64 = 2.0 - 0.36;
        let square = (x * x - 1.2 * x * y + 2.0 * y * y) / determinant;
        let expected = -(2.0 * PI).ln() - 0.5 * determinant.ln() - 0.5 * square;
        // The t differs from the normal by about square² / 4ν = 1e-12.
        assert!((t.ln_density(&[0.3, 1.9], &mut [0.0; 2]) - expected).abs() < 2e-12);
    }

    #[test]
    fn draws_have_the_covariance() {
        let t = StudentT::new(12.0, vec![1.0, -2.0], &[2.0, 0.6, 0.6, 1.0]).expect("positive");
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(3);
        let count = 100_000;
        let mut moments = [0.0; 5];
        for _ in 0..count {
            let x = t.sample(&mut rng);
            let (a, b) = (x[0] - 1.0, x[1] + 2.0);
            for (m, v) in moments.iter_mut().zip([a, b, a * a, a * b, b * b]) {
                *m += v / f64::from(count);
            }
        }
        // Covariance is scale ν/(ν − 2); the standard error of each moment is below 0.01.
        for (found, expected) in moments.iter().zip([0.0, 0.0, 2.4, 0.72, 1.2]) {
            assert!((found - expected).abs() < 0.05, "{found} {expected}");
        }
    }

    #[test]
    fn invalid_parameters_are_errors() {
        assert!(StudentT::new(0.0, vec![0.0], &[1.0]).is_err());
        assert!(StudentT::new(1.0, vec![0.0], &[-1.0]).is_err());
        assert!(StudentT::new(1.0, vec![0.0], &[1.0, 0.0]).is_err());
        assert!(StudentT::new(1.0, vec![0.0], &[f64::NAN]).is_err());
        assert!(StudentT::new(1.0, vec![], &[]).is_err());
    }
}
