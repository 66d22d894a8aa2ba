//! Decides how the mean of a number answers to natural parameters: its covariance with the statistics of its block.

use super::Told;
use super::block::{Block, BlockFamily, diagonal};
use collapsar_core::Result;
use collapsar_core::family::{Family, GaussianSampler};

impl Block {
    /// Writes the covariance under q of a number with each statistic, which is the gradient of its mean;
    /// `number` counts the numbers of all variables of the block, one variable after another. Whether there
    /// is one: labels have probabilities, not means. Normal ones need the block's [`Block::field`].
    pub(super) fn sensitivity(
        &self,
        natural: &[f64],
        field: Option<&GaussianSampler<'_>>,
        number: usize,
        out: &mut [f64],
    ) -> Result<bool> {
        out.fill(0.0);
        match &self.family {
            BlockFamily::Gaussian(family) => {
                let Some(field) = field else { return Ok(false) };
                field.covariances(family.pairs(), number, out);
            }
            BlockFamily::Bounded(_) => self.of_statistic(natural, number, 1.0, out)?,
            BlockFamily::GaussianGamma(family) => {
                if number == family.field.scalars() {
                    self.of_statistic(natural, 1, -1.0, out)?;
                } else {
                    // Given its precision the field has the mean of the plain Gaussian with these parameters.
                    let Some(field) = field else { return Ok(false) };
                    field.covariances(family.field.pairs(), number, &mut out[2..]);
                }
            }
            BlockFamily::Gamma(_) => self.of_statistic(natural, 1, -1.0, out)?,
            BlockFamily::Positive(family, told) => match *told {
                Told::Power(power) => {
                    out.copy_from_slice(&family.covariance_of_power(natural, power)?);
                }
                Told::Logarithm(factor) => self.of_statistic(natural, 0, factor, out)?,
            },
            BlockFamily::PolyaGamma(_) => self.of_statistic(natural, 0, -1.0, out)?,
            BlockFamily::Wishart(family) => {
                self.of_entry(natural, number, family.dimensions(), 1, out)?;
            }
            BlockFamily::NormalWishart(family) => {
                let dim = family.dimensions();
                if number >= dim {
                    self.of_entry(natural, number - dim, dim, 2 + dim, out)?;
                } else {
                    // The mean is (κm) / κ.
                    let ordinary = family.ordinary(natural)?;
                    let kappa = ordinary.mean_precisions[0];
                    out[0] = -ordinary.means[0][number] / kappa;
                    out[2 + number] = 1.0 / kappa;
                }
            }
            BlockFamily::Dirichlet(_) => {
                let total: f64 = natural.iter().sum();
                let mean = natural[number] / total;
                out.fill(-mean / total);
                out[number] += mean / natural[number];
            }
            BlockFamily::Label(_) | BlockFamily::Network(..) => return Ok(false),
        }
        Ok(true)
    }

    /// The normal field of the block, factored.
    ///
    /// # Errors
    /// Where its precision matrix is not positive definite.
    pub(super) fn field(&self, natural: &[f64]) -> Result<Option<GaussianSampler<'_>>> {
        Ok(match &self.family {
            BlockFamily::Gaussian(family) => Some(family.sampler(natural)?),
            BlockFamily::GaussianGamma(family) => Some(family.field.sampler(&natural[2..])?),
            _ => None,
        })
    }

    /// The covariance of `factor` times a statistic with all.
    fn of_statistic(
        &self,
        natural: &[f64],
        statistic: usize,
        factor: f64,
        out: &mut [f64],
    ) -> Result<()> {
        let mut along = vec![0.0; natural.len()];
        along[statistic] = factor;
        self.potential().hessian_product(natural, &along, out)
    }

    /// The covariance of an entry of a precision matrix, counted row by row, with all statistics; those of
    /// the upper triangle begin at `first`.
    fn of_entry(
        &self,
        natural: &[f64],
        number: usize,
        dim: usize,
        first: usize,
        out: &mut [f64],
    ) -> Result<()> {
        let (row, column) = (number / dim, number % dim);
        let (row, column) = (row.min(column), row.max(column));
        let start = diagonal(dim).nth(row).unwrap_or(0);
        let factor = if row == column { -2.0 } else { -1.0 };
        self.of_statistic(natural, first + start + column - row, factor, out)
    }
}
