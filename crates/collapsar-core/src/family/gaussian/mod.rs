//! Decides what a sparse Gaussian is: scalars with a precision matrix that is mostly zero.
//!
//! - `order`: in which order the scalars are eliminated: fewest neighbours first.
//! - `pattern`: where the factor of a sparse precision matrix has entries, once for all evaluations.
//! - `draw`: how one is drawn in buffers that are kept between draws.
//! - `value`: the log-partition function alone.
//! - `factor`: how a sparse precision matrix is factored, solved with and inverted on its pattern.

mod draw;
mod factor;
mod order;
mod pattern;
mod value;

use std::f64::consts::TAU;
use std::sync::Arc;

use crate::random::{Distribution, StandardNormal};
use rand::Rng;

pub use self::draw::{GaussianBuffers, GaussianPart};
use self::factor::{Factor, Inverse};
use self::pattern::Pattern;
pub use self::value::GaussianValues;
use super::{Family, check_length};
use crate::collapsed::Potential;
use crate::elementary::Elementary;
use crate::error::{Error, Result};
use crate::number::{Dual, Real};

const BLOCK: &str = "Gaussian block";

/// Scalars $x_1 .. x_n$ that are jointly normal, with a precision matrix $\Lambda$ that may differ
/// from zero only on its diagonal and at given pairs.
///
/// Natural parameters are $(h, \Lambda_{11} .. \Lambda_{nn}, \Lambda_{ij})$ with the pairs in the
/// order of [`Gaussian::pairs`], and $h = \Lambda m$ for the mean $m$; statistics are $x_i$,
/// $-\tfrac12 x_i^2$ and $-x_i x_j$.
///
/// $$p(x) \propto e^{h'x - \frac12 x'\Lambda x}, \qquad
/// A = \tfrac n2 \ln 2\pi - \tfrac12 \ln|\Lambda| + \tfrac12 h'\Lambda^{-1}h$$
///
/// An evaluation takes time and memory that are linear in the entries of the factor: as many as
/// the pairs for chains, trees and arrows.
#[derive(Debug, Clone)]
pub struct Gaussian {
    pairs: Arc<[(u32, u32)]>,
    pattern: Arc<Pattern>,
}

/// Ordinary parameters of [`Gaussian`].
#[derive(Debug, Clone, PartialEq)]
pub struct GaussianOrdinary {
    /// $m$.
    pub mean: Vec<f64>,
    /// The diagonal of $\Lambda$.
    pub precisions: Vec<f64>,
    /// $\Lambda_{ij}$ for each of [`Gaussian::pairs`].
    pub couplings: Vec<f64>,
}

/// The factored precision matrix and the mean.
#[derive(Debug)]
pub(super) struct Solved<'a, T> {
    factor: Factor<'a, T>,
    /// By scalar.
    pub(super) mean: Vec<T>,
    /// $h'\Lambda^{-1}h$.
    pub(super) square: T,
}

/// What the last block of a list had found out, for the next: in factor models many have the
/// same precision matrix, which is kept as natural parameters hold it.
#[derive(Debug, Default)]
pub struct GaussianCache<'a>(Option<(&'a [f64], Factor<'a, f64>, Inverse<f64>)>);

impl Gaussian {
    /// A Gaussian of `n` scalars whose precision may be nonzero at these pairs.
    ///
    /// Pairs may repeat and come in any order.
    ///
    /// # Panics
    /// Where a pair names one scalar twice or a scalar that is not there.
    pub fn new(n: usize, pairs: &[(u32, u32)]) -> Self {
        let mut pairs: Vec<_> = pairs.iter().map(|&(i, j)| (i.min(j), i.max(j))).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let valid = |&(i, j): &(u32, u32)| i < j && (j as usize) < n;
        assert!(
            pairs.iter().all(valid),
            "pairs are of two different scalars among {n}"
        );
        Self {
            pattern: Arc::new(Pattern::new(n, &pairs)),
            pairs: pairs.into(),
        }
    }

    /// Number $n$ of scalars.
    pub fn scalars(&self) -> usize {
        self.pattern.len()
    }

    /// The pairs with an entry of their own, each once, the smaller scalar first, in order.
    pub fn pairs(&self) -> &[(u32, u32)] {
        &self.pairs
    }

    /// The mean and the variance of each scalar.
    ///
    /// # Errors
    /// Where the precision matrix is not positive definite.
    pub fn marginals(&self, natural: &[f64]) -> Result<(Vec<f64>, Vec<f64>)> {
        check_length(BLOCK, natural, self.dim())?;
        let solved = self.solve(BLOCK, natural)?;
        let variances = solved.factor.by_scalar(&solved.factor.inverse().diagonal);
        Ok((solved.mean, variances))
    }

    /// The variance of each scalar, for one of a list of blocks.
    ///
    /// # Errors
    /// Where the precision matrix is not positive definite.
    pub fn variances_after<'a>(
        &'a self,
        last: &mut GaussianCache<'a>,
        natural: &'a [f64],
    ) -> Result<Vec<f64>> {
        check_length(BLOCK, natural, self.dim())?;
        let (factor, inverse) = self.factor_after(last, natural)?;
        let variances = factor.by_scalar(&inverse.diagonal);
        last.0 = Some((&natural[self.scalars()..], factor, inverse));
        Ok(variances)
    }

    /// Shifts, precisions and couplings of a vector laid out as the natural parameters are.
    fn parts<'a, T>(&self, vector: &'a [T]) -> [&'a [T]; 3] {
        let (shifts, rest) = vector.split_at(self.scalars());
        let (precisions, couplings) = rest.split_at(self.scalars());
        [shifts, precisions, couplings]
    }

    fn factor<T: Real>(
        &self,
        block: &str,
        precisions: &[T],
        couplings: &[T],
    ) -> Result<Factor<'_, T>> {
        Factor::new(&self.pattern, precisions, couplings)
            .map_err(|scalar| self.not_positive(block, scalar))
    }

    fn not_positive(&self, block: &str, scalar: u32) -> Error {
        let found = format!(
            "the precision matrix is not positive definite at scalar {} of {}",
            u64::from(scalar) + 1,
            self.scalars()
        );
        Error::domain(block, found, "a positive definite precision matrix")
    }

    /// Factors once for many draws.
    pub fn sampler(&self, natural: &[f64]) -> Result<GaussianSampler<'_>> {
        check_length(BLOCK, natural, self.dim())?;
        Ok(GaussianSampler(self.solve(BLOCK, natural)?))
    }

    /// Factors the precision matrix and solves for the mean.
    pub(super) fn solve<T: Real>(&self, block: &str, natural: &[T]) -> Result<Solved<'_, T>> {
        let [shifts, precisions, couplings] = self.parts(natural);
        Solved::new(block, self.factor(block, precisions, couplings)?, shifts)
    }

    /// As [`Potential::value_and_gradient`], for one of a list of blocks.
    pub fn evaluate_after<'a>(
        &'a self,
        last: &mut GaussianCache<'a>,
        natural: &'a [f64],
        gradient: &mut [f64],
    ) -> Result<f64> {
        check_length(BLOCK, natural, self.dim())?;
        let (factor, inverse) = self.factor_after(last, natural)?;
        let (shifts, precision) = natural.split_at(self.scalars());
        let solved = Solved::new(BLOCK, factor, shifts)?;
        let value = self.describe(&solved, &inverse, 1.0, gradient) + 0.5 * solved.square;
        last.0 = Some((precision, solved.factor, inverse));
        Ok(value)
    }

    /// The factor and the inverse of the precision matrix, which are the last block's where its matrix is the same.
    fn factor_after<'a>(
        &'a self,
        last: &mut GaussianCache<'a>,
        natural: &'a [f64],
    ) -> Result<(Factor<'a, f64>, Inverse<f64>)> {
        let [_, precisions, couplings] = self.parts(natural);
        let precision = &natural[self.scalars()..];
        if let Some((before, factor, inverse)) = last.0.take()
            && std::ptr::eq(factor.pattern, &raw const *self.pattern)
            && before == precision
        {
            return Ok((factor, inverse));
        }
        let factor = self.factor(BLOCK, precisions, couplings)?;
        let inverse = factor.inverse();
        Ok((factor, inverse))
    }

    /// Writes the mean statistics of x, those of √τ x where the precision of x has a factor τ with
    /// mean `weight`: covariances are as they are, products of means are weighted.
    ///
    /// Returns $\tfrac n2 \ln 2\pi - \tfrac12 \ln|\Lambda|$.
    pub(super) fn write<T: Real>(&self, solved: &Solved<'_, T>, weight: T, out: &mut [T]) -> T {
        self.describe(solved, &solved.factor.inverse(), weight, out)
    }

    fn describe<T: Real>(
        &self,
        solved: &Solved<'_, T>,
        inverse: &Inverse<T>,
        weight: T,
        out: &mut [T],
    ) -> T {
        let n = self.scalars();
        let (shifts, rest) = out.split_at_mut(n);
        let (squares, products) = rest.split_at_mut(n);
        let mean = &solved.mean;
        for (o, m) in shifts.iter_mut().zip(mean) {
            *o = weight * *m;
        }
        let half = T::from(0.5);
        for (&i, &variance) in self.pattern.order.iter().zip(&inverse.diagonal) {
            let i = i as usize;
            squares[i] = -half * (shifts[i] * mean[i] + variance);
        }
        let slots = self.pattern.slots.iter().zip(self.pairs.iter());
        for (o, (&slot, &(i, j))) in products.iter_mut().zip(slots) {
            *o = -(shifts[i as usize] * mean[j as usize] + inverse.below[slot]);
        }
        half * (T::from(n as f64 * TAU.ln_()) - inverse.ln_determinant)
    }

    /// The log-partition function and the mean of the statistics.
    fn evaluate<T: Real>(&self, natural: &[T], gradient: &mut [T]) -> Result<T> {
        let solved = self.solve(BLOCK, natural)?;
        let ln_volume = self.write(&solved, T::from(1.0), gradient);
        Ok(ln_volume + T::from(0.5) * solved.square) // maths §3.9
    }

    /// Ordinary parameters of natural ones that have this mean.
    pub(super) fn with_mean(&self, mean: Vec<f64>, natural: &[f64]) -> GaussianOrdinary {
        let [_, precisions, couplings] = self.parts(natural);
        GaussianOrdinary {
            mean,
            precisions: precisions.to_vec(),
            couplings: couplings.to_vec(),
        }
    }

    /// $h = \Lambda m$ of ordinary parameters that are in the domain.
    pub(super) fn shifts(&self, block: &str, ordinary: &GaussianOrdinary) -> Result<Vec<f64>> {
        check_length(block, &ordinary.mean, self.scalars())?;
        check_length(block, &ordinary.precisions, self.scalars())?;
        if !(self.pairs.is_empty() && ordinary.couplings.is_empty()) {
            check_length(block, &ordinary.couplings, self.pairs.len())?;
        }
        self.factor(block, &ordinary.precisions, &ordinary.couplings)?;
        let x = &ordinary.mean;
        let products = ordinary.precisions.iter().zip(x).map(|(p, x)| p * x);
        let mut shifts: Vec<f64> = products.collect();
        for (&(i, j), c) in self.pairs.iter().zip(&ordinary.couplings) {
            shifts[i as usize] += c * x[j as usize];
            shifts[j as usize] += c * x[i as usize];
        }
        match shifts.iter().find(|h| !h.is_finite()) {
            None => Ok(shifts),
            Some(h) => Err(not_finite(block, *h)),
        }
    }
}

impl Solved<'_, f64> {
    /// A draw of $L'^{-1} D^{-1/2} z$, which has covariance $\Lambda^{-1}$.
    pub(super) fn noise<R: Rng + ?Sized>(&self, rng: &mut R) -> Vec<f64> {
        let normals = self.factor.pivots.iter().map(|pivot| {
            let z: f64 = StandardNormal.sample(rng);
            z * pivot.sqrt().recip()
        });
        self.factor.back_substitute(normals.collect())
    }
}

impl<'a, T: Real> Solved<'a, T> {
    fn new(block: &str, factor: Factor<'a, T>, shifts: &[T]) -> Result<Self> {
        let (mean, square) = factor.solve(shifts);
        if !square.value().is_finite() {
            return Err(not_finite(block, square.value()));
        }
        Ok(Self {
            factor,
            mean,
            square,
        })
    }
}

pub(super) fn not_finite(block: &str, found: f64) -> Error {
    let found = format!("a product of the parameters is {found}");
    Error::domain(block, found, "finite parameters that are not too large")
}

impl Potential for Gaussian {
    fn dim(&self) -> usize {
        2 * self.scalars() + self.pairs.len()
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        check_length(BLOCK, at, self.dim())?;
        self.evaluate(at, gradient)
    }

    fn value(&self, at: &[f64]) -> Result<f64> {
        GaussianValues::default().value(self, at)
    }

    fn contains(&self, at: &[f64]) -> bool {
        GaussianValues::default().contains(self, at)
    }

    /// The slope of the gradient, by dual numbers.
    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        check_length(BLOCK, at, self.dim())?;
        Dual::slopes(at, along, out, |at, gradient| self.evaluate(at, gradient))
    }
}

/// Draws from one Gaussian.
#[derive(Debug)]
pub struct GaussianSampler<'a>(Solved<'a, f64>);

impl GaussianSampler<'_> {
    /// One draw.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> Vec<f64> {
        let pairs = self.0.mean.iter().zip(self.0.noise(rng));
        pairs.map(|(mean, noise)| mean + noise).collect()
    }

    /// The mean.
    pub fn mean(&self) -> &[f64] {
        &self.0.mean
    }

    /// A draw less the mean.
    pub fn noise<R: Rng + ?Sized>(&self, rng: &mut R) -> Vec<f64> {
        self.0.noise(rng)
    }

    /// $\Lambda^{-1}b$.
    pub fn solve(&self, b: &[f64]) -> Vec<f64> {
        self.0.factor.solve(b).0
    }

    /// Writes the covariance of a scalar with each statistic: a column of the Hessian, for a solution in the place of a
    /// derivative. The pairs are those of the Gaussian.
    pub fn covariances(&self, pairs: &[(u32, u32)], scalar: usize, out: &mut [f64]) {
        let mean = &self.0.mean;
        let mut unit = vec![0.0; mean.len()];
        unit[scalar] = 1.0;
        let (column, _) = self.0.factor.solve(&unit);
        let (first, rest) = out.split_at_mut(column.len());
        let (squares, products) = rest.split_at_mut(column.len());
        first.copy_from_slice(&column);
        for ((out, x), c) in squares.iter_mut().zip(mean).zip(&column) {
            *out = -x * c;
        }
        for (out, &(i, j)) in products.iter_mut().zip(pairs) {
            let (i, j) = (i as usize, j as usize);
            *out = -(mean[i] * column[j] + mean[j] * column[i]);
        }
    }

    /// The mean and the variance of the sum of all scalars with these coefficients.
    pub fn of_sum(&self, coefficients: &[f64]) -> (f64, f64) {
        let mean = self.0.mean.iter().zip(coefficients).map(|(m, c)| m * c);
        (mean.sum(), self.0.factor.solve(coefficients).1)
    }
}

impl Family for Gaussian {
    type Ordinary = GaussianOrdinary;
    /// $x$.
    type Draw = Vec<f64>;

    fn natural(&self, ordinary: &GaussianOrdinary) -> Result<Vec<f64>> {
        let mut natural = self.shifts(BLOCK, ordinary)?;
        natural.extend(&ordinary.precisions);
        natural.extend(&ordinary.couplings);
        Ok(natural)
    }

    fn ordinary(&self, natural: &[f64]) -> Result<GaussianOrdinary> {
        check_length(BLOCK, natural, self.dim())?;
        let mean = self.solve(BLOCK, natural)?.mean;
        Ok(self.with_mean(mean, natural))
    }

    fn sample<R: Rng + ?Sized>(&self, natural: &[f64], rng: &mut R) -> Result<Vec<f64>> {
        Ok(self.sampler(natural)?.draw(rng))
    }

    fn statistics(&self, draw: &Vec<f64>, out: &mut [f64]) {
        self.write_statistics(draw, out);
    }
}

#[cfg(test)]
mod tests;
