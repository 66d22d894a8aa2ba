//! Decides how an optimum answers to small changes of the model: linear response (maths §10.1).
//!
//! Mean field is too sure of itself because explicit and collapsed variables do not see each other's
//! uncertainty. The response of the optimum to a tilt of the log joint sees it, and its covariances are
//! those of the tilted statistics: what complete data would tell, less what is missing.

use nalgebra::{DMatrix, DVector, SymmetricEigen};

use crate::collapsed::Collapsed;
use crate::elementary::Elementary;
use crate::error::{Error, Result};
use crate::point::Point;
use crate::vector::dot;

/// Where the residual is below this fraction of where it began, conjugate gradients stop.
const TOLERANCE: f64 = 1e-10;
/// Products at most for one answer.
const PRODUCTS: usize = 500;
/// Eigenvalues of $FJ$ nearer to one than this are those of directions in which the bound is flat: a climb ends where its
/// gain is 1e-8 or so, which leaves a slope of 1e-4 and curvatures uncertain by as much.
const FLAT: f64 = 1e-3;
/// Products at most for the largest eigenvalue.
const POWER: usize = 60;

/// The linear response of a model at its optimum.
///
/// With the metric $J = \nabla^2 A(m)$ and the covariance $F = \nabla^2 C(\tau)$ of what is collapsed, the
/// statistics that the explicit variables send have the covariance $S = J(I - FJ)^{-1}$, where mean field
/// says $J$, and those of the collapsed variables $F + FSF$, where it says $F$.
#[derive(Debug)]
pub struct Response<'a, M> {
    model: &'a M,
    point: &'a Point,
    dense: Option<Dense>,
}

#[derive(Debug)]
struct Dense {
    statistics: DMatrix<f64>,
    covariance: DMatrix<f64>,
    rate: f64,
    flat: usize,
}

impl<'a, M: Collapsed> Response<'a, M> {
    /// Messages up to which the whole matrix is kept: a third power of them is then below a second.
    pub const DENSE: usize = 400;

    /// At an optimum; makes the whole matrix where there are few messages.
    ///
    /// # Errors
    /// [`Error::Domain`] where the point is no maximum of the bound, so that there is no response.
    pub fn new(model: &'a M, point: &'a Point) -> Result<Self> {
        let dim = point.messages.len();
        let dense = if dim <= Self::DENSE {
            Some(Dense::new(model, point)?)
        } else {
            None
        };
        Ok(Self {
            model,
            point,
            dense,
        })
    }

    /// Whether the whole matrix is kept, so that answers cost no passes.
    pub fn is_dense(&self) -> bool {
        self.dense.is_some()
    }

    /// In how many directions the bound is flat, so that the response there is that of mean field.
    pub fn flat(&self) -> usize {
        self.dense.as_ref().map_or(0, |dense| dense.flat)
    }

    /// $S$ as a square matrix, where it is kept.
    pub fn statistics(&self) -> Option<&DMatrix<f64>> {
        self.dense.as_ref().map(|dense| &dense.statistics)
    }

    /// $Sa$: the covariance of the explicit variables' statistics, times `along`.
    ///
    /// # Errors
    /// As [`Response::new`].
    pub fn product(&self, along: &[f64]) -> Result<Vec<f64>> {
        match &self.dense {
            Some(dense) => {
                let product = &dense.statistics * DVector::from_column_slice(along);
                Ok(product.as_slice().to_vec())
            }
            None => self.conjugate_gradients(along),
        }
    }

    /// $Fa$: the covariance of the collapsed variables' statistics under mean field, times `along`.
    ///
    /// # Errors
    /// Where the point is outside the domain.
    pub fn covariance_product(&self, along: &[f64]) -> Result<Vec<f64>> {
        if let Some(dense) = &self.dense {
            let product = &dense.covariance * DVector::from_column_slice(along);
            return Ok(product.as_slice().to_vec());
        }
        let mut out = vec![0.0; along.len()];
        (self.model).covariance_product(self.point, along, &mut out)?;
        Ok(out)
    }

    /// The largest eigenvalue of $FJ$, from below: the fraction of the information that is missing.
    ///
    /// # Errors
    /// Where the point is outside the domain.
    pub fn missing_information(&self) -> Result<f64> {
        match &self.dense {
            Some(dense) => Ok(dense.rate),
            None => power(self.point.messages.len(), |along, statistics, out| {
                (self.model).metric_product(self.point, along, statistics)?;
                (self.model).covariance_product(self.point, statistics, out)
            }),
        }
    }

    /// Solves $(I - FJ)x = a$ in the metric, in which it is symmetric, and returns $Jx$: each vector is
    /// kept with its image under $J$, so that a step takes one product with each matrix (maths §5.4).
    fn conjugate_gradients(&self, along: &[f64]) -> Result<Vec<f64>> {
        let dim = along.len();
        let mut out = vec![0.0; dim];
        let mut residual = along.to_vec();
        let mut image = vec![0.0; dim];
        (self.model).metric_product(self.point, &residual, &mut image)?;
        let mut norm = dot(&residual, &image);
        let goal = TOLERANCE * TOLERANCE * norm;
        let (mut along, mut along_image) = (residual.clone(), image.clone());
        let mut product = vec![0.0; dim];
        for _ in 0..PRODUCTS {
            if norm <= goal {
                break;
            }
            (self.model).covariance_product(self.point, &along_image, &mut product)?;
            for (product, along) in product.iter_mut().zip(&along) {
                *product = along - *product;
            }
            let curvature = dot(&along_image, &product);
            if curvature <= 1e-12 * dot(&along_image, &along) {
                return Err(no_maximum());
            }
            let length = norm / curvature;
            for i in 0..dim {
                out[i] += length * along_image[i];
                residual[i] -= length * product[i];
            }
            (self.model).metric_product(self.point, &residual, &mut image)?;
            let next = dot(&residual, &image);
            let ratio = next / norm;
            norm = next;
            for i in 0..dim {
                along[i] = residual[i] + ratio * along[i];
                along_image[i] = image[i] + ratio * along_image[i];
            }
        }
        Ok(out)
    }
}

impl Dense {
    fn new<M: Collapsed>(model: &M, point: &Point) -> Result<Self> {
        let dim = point.messages.len();
        let mut metric = DMatrix::zeros(dim, dim);
        let mut covariance = DMatrix::zeros(dim, dim);
        if dim > 0 {
            model.metric(point, metric.as_mut_slice())?;
            model.covariance(point, covariance.as_mut_slice())?;
        }
        // S' = (I - FJ)'⁻¹ J
        let system = DMatrix::identity(dim, dim) - &metric * &covariance;
        let solved = system.lu().solve(&metric);
        let solved = solved.map(|solved| (&solved + solved.transpose()) * 0.5);
        // Where the point is a maximum, variances are no smaller than mean field's.
        let grown = |solved: &DMatrix<f64>| {
            (0..dim).all(|i| solved[(i, i)] >= (1.0 - 1e-9) * metric[(i, i)])
                && solved.iter().all(|entry| entry.is_finite())
        };
        let Some(statistics) = solved.filter(grown) else {
            return Self::flat(&metric, covariance).ok_or_else(no_maximum);
        };
        let rate = power(dim, |along, statistics, out| {
            let along = DVector::from_column_slice(along);
            let image = &metric * along;
            statistics.copy_from_slice(image.as_slice());
            out.copy_from_slice((&covariance * image).as_slice());
            Ok(())
        })?;
        Ok(Self {
            statistics,
            covariance,
            rate,
            flat: 0,
        })
    }

    /// As mean field has it along directions in which the bound does not fall, such as turns of factors, whose eigenvalues are one but
    /// for what the climb left (maths §10.1); none where it rises in some.
    fn flat(metric: &DMatrix<f64>, covariance: DMatrix<f64>) -> Option<Self> {
        let finite = |matrix: &DMatrix<f64>| matrix.iter().all(|entry| entry.is_finite());
        if !finite(metric) || !finite(&covariance) {
            return None;
        }
        // J = RR', and R'FR has the eigenvalues of FJ.
        let SymmetricEigen {
            eigenvectors: mut root,
            eigenvalues,
        } = SymmetricEigen::new(metric.clone());
        for (mut column, value) in root.column_iter_mut().zip(&eigenvalues) {
            column *= value.max(0.0).sqrt();
        }
        let inner = root.transpose() * &covariance * &root;
        let inner = (&inner + inner.transpose()) * 0.5;
        let SymmetricEigen {
            eigenvectors,
            eigenvalues,
        } = SymmetricEigen::new(inner);
        let mut along = root * eigenvectors;
        let (mut flat, mut rate) = (0, 0.0_f64);
        for (mut column, value) in along.column_iter_mut().zip(&eigenvalues) {
            if *value > 1.0 + FLAT {
                return None;
            }
            if *value > 1.0 - FLAT {
                flat += 1;
            } else {
                column /= (1.0 - value).sqrt();
                rate = rate.max(*value);
            }
        }
        let statistics = &along * along.transpose();
        finite(&statistics).then_some(Self {
            statistics,
            covariance,
            rate,
            flat,
        })
    }
}

/// The largest eigenvalue of $FJ$ by Rayleigh quotients in the metric; `product` writes $Ja$ and $FJa$.
fn power(
    dim: usize,
    product: impl Fn(&[f64], &mut [f64], &mut [f64]) -> Result<()>,
) -> Result<f64> {
    // No symmetry of a model is one of this vector.
    let mut along: Vec<f64> = (0..dim).map(|i| (1.7 * i as f64 + 0.3).sin_()).collect();
    let (mut statistics, mut image) = (vec![0.0; dim], vec![0.0; dim]);
    let mut rate = 0.0;
    for _ in 0..POWER {
        product(&along, &mut statistics, &mut image)?;
        let norm = dot(&along, &statistics);
        if norm <= 0.0 || !norm.is_finite() {
            return Ok(0.0);
        }
        let last = rate;
        rate = dot(&statistics, &image) / norm;
        if (rate - last).abs() <= 1e-6 * rate.abs() {
            break;
        }
        let scale = image.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        if scale <= 0.0 || !scale.is_finite() {
            return Ok(0.0);
        }
        along.clear();
        along.extend(image.iter().map(|x| x / scale));
    }
    Ok(rate)
}

fn no_maximum() -> Error {
    Error::domain(
        "linear response",
        "a point that is no strict maximum of the bound",
        "a fit that has converged, or other starts",
    )
}
