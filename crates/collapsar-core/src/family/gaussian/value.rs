//! Decides how the log-partition functions of many Gaussians are found without their means.
//!
//! A value needs the pivots and half of a solution; variances, which a gradient needs, cost twice that again.

use std::f64::consts::TAU;

use super::factor::refactor;
use super::pattern::Pattern;
use super::{BLOCK, Gaussian, not_finite};
use crate::collapsed::Potential;
use crate::elementary::Elementary;
use crate::error::Result;
use crate::family::check_length;

/// What the values of a list of Gaussians are found in. The last factor is kept: in factor models many have the same
/// precision matrix.
#[derive(Debug, Default)]
pub struct GaussianValues<'a> {
    last: Option<(&'a Pattern, &'a [f64])>,
    pivots: Vec<f64>,
    below: Vec<f64>,
    solution: Vec<f64>,
    ln_determinant: Option<f64>,
}

impl<'a> GaussianValues<'a> {
    /// The log-partition function of the next of the list.
    ///
    /// # Errors
    /// As [`Potential::value_and_gradient`].
    pub fn value(&mut self, family: &'a Gaussian, natural: &'a [f64]) -> Result<f64> {
        check_length(BLOCK, natural, family.dim())?;
        let (ln_volume, square) = self.next(family, BLOCK, natural)?;
        Ok(ln_volume + 0.5 * square) // maths §3.9
    }

    /// Whether the next of the list is inside the domain.
    pub fn contains(&mut self, family: &'a Gaussian, natural: &'a [f64]) -> bool {
        natural.len() == family.dim()
            && natural.iter().all(|number| number.is_finite())
            && self.factor(family, natural).is_ok()
    }

    /// $\tfrac n2 \ln 2\pi - \tfrac12 \ln|\Lambda|$ and $h'\Lambda^{-1}h$.
    pub(in crate::family) fn next(
        &mut self,
        family: &'a Gaussian,
        block: &str,
        natural: &'a [f64],
    ) -> Result<(f64, f64)> {
        (self.factor(family, natural)).map_err(|scalar| family.not_positive(block, scalar))?;
        let pattern = &*family.pattern;
        self.solution.clear();
        (self.solution).extend(pattern.order.iter().map(|i| natural[*i as usize]));
        let mut square = 0.0;
        for (j, pivot) in self.pivots.iter().enumerate() {
            let known = self.solution[j];
            for (row, l) in pattern.rows(j).iter().zip(&self.below[pattern.places(j)]) {
                self.solution[*row as usize] -= l * known;
            }
            square += known * known / pivot;
        }
        if !square.is_finite() {
            return Err(not_finite(block, square));
        }
        let pivots = &self.pivots;
        let ln_determinant = *(self.ln_determinant)
            .get_or_insert_with(|| pivots.iter().map(|pivot| pivot.ln_()).sum());
        let n = pattern.len() as f64;
        Ok((0.5 * (n * TAU.ln_() - ln_determinant), square))
    }

    /// Factors the precision matrix, unless it is the last one's; else the scalar at which it is not positive definite.
    fn factor(&mut self, family: &'a Gaussian, natural: &'a [f64]) -> std::result::Result<(), u32> {
        let [_, precisions, couplings] = family.parts(natural);
        let (pattern, precision) = (&*family.pattern, &natural[family.scalars()..]);
        let same = |(other, before): &(&Pattern, &[f64])| {
            std::ptr::eq(*other, pattern) && *before == precision
        };
        if self.last.as_ref().is_some_and(same) {
            return Ok(());
        }
        self.last = None;
        self.ln_determinant = None;
        let (pivots, below) = (&mut self.pivots, &mut self.below);
        refactor(pattern, precisions, couplings, pivots, below)?;
        self.last = Some((pattern, precision));
        Ok(())
    }
}
