//! Decides how a block is drawn: its numbers, and the statistics that others see of them.

use nalgebra::DMatrix;
use rand::Rng;

use super::block::{Block, BlockFamily};
use collapsar_core::Result;
use collapsar_core::family::{Family, GaussianGammaDraw, NormalWishartDraw};

impl Block {
    /// Draws the numbers of all variables, one variable after another, and writes their statistics.
    pub(super) fn draw<R: Rng + ?Sized>(
        &self,
        natural: &[f64],
        rng: &mut R,
        statistics: &mut [f64],
    ) -> Result<Vec<f64>> {
        Ok(match &self.family {
            BlockFamily::Gaussian(family) => draw(family, natural, rng, statistics)?,
            BlockFamily::GaussianGamma(family) => {
                let draw = draw(family, natural, rng, statistics)?;
                let mut numbers = draw.values;
                numbers.push(draw.ln_precision.exp());
                numbers
            }
            BlockFamily::Bounded(family) => vec![draw(family, natural, rng, statistics)?],
            BlockFamily::Gamma(family) => vec![draw(family, natural, rng, statistics)?.exp()],
            BlockFamily::Wishart(family) => draw(family, natural, rng, statistics)?.precision,
            BlockFamily::NormalWishart(family) => {
                let mut draw = draw(family, natural, rng, statistics)?;
                let mut numbers = draw.means.swap_remove(0);
                numbers.append(&mut draw.precision);
                numbers
            }
            BlockFamily::Dirichlet(family) => {
                let logs = draw(family, natural, rng, statistics)?;
                logs.into_iter().map(f64::exp).collect()
            }
            BlockFamily::Label(family) => vec![draw(family, natural, rng, statistics)? as f64],
            BlockFamily::Network(family, _) => {
                let states = family.sample(natural, rng)?;
                family.statistics(&states, statistics);
                states.into_iter().map(f64::from).collect()
            }
        })
    }
}

impl Block {
    /// Writes the statistics of numbers, which are those of all variables, one variable after another.
    pub(super) fn statistics_at(&self, numbers: &[f64], out: &mut [f64]) {
        // What was drawn may be too small for a number; its logarithm still is one.
        let ln = |number: f64| number.max(f64::MIN_POSITIVE).ln();
        let matrix = |dim: usize, means: Vec<Vec<f64>>, precision: &[f64]| NormalWishartDraw {
            means,
            precision: precision.to_vec(),
            ln_determinant: ln(DMatrix::from_row_slice(dim, dim, precision).determinant()),
        };
        match &self.family {
            BlockFamily::Gaussian(family) => family.statistics(&numbers.to_vec(), out),
            BlockFamily::GaussianGamma(family) => {
                let (precision, values) = numbers.split_last().unwrap_or((&1.0, &[]));
                let draw = GaussianGammaDraw {
                    ln_precision: ln(*precision),
                    values: values.to_vec(),
                };
                family.statistics(&draw, out);
            }
            BlockFamily::Bounded(family) => family.statistics(&numbers[0], out),
            BlockFamily::Gamma(family) => family.statistics(&ln(numbers[0]), out),
            BlockFamily::Wishart(family) => {
                family.statistics(&matrix(family.dimensions(), vec![], numbers), out);
            }
            BlockFamily::NormalWishart(family) => {
                let dim = family.dimensions();
                let (mean, precision) = numbers.split_at(dim);
                family.statistics(&matrix(dim, vec![mean.to_vec()], precision), out);
            }
            BlockFamily::Dirichlet(family) => {
                let logs = numbers.iter().map(|number| ln(*number)).collect();
                family.statistics(&logs, out);
            }
            BlockFamily::Label(family) => family.statistics(&(numbers[0] as usize), out),
            BlockFamily::Network(family, _) => {
                let states: Vec<u32> = numbers.iter().map(|state| *state as u32).collect();
                family.statistics(&states, out);
            }
        }
    }
}

fn draw<F: Family, R: Rng + ?Sized>(
    family: &F,
    natural: &[f64],
    rng: &mut R,
    statistics: &mut [f64],
) -> Result<F::Draw> {
    let draw = family.sample(natural, rng)?;
    family.statistics(&draw, statistics);
    Ok(draw)
}
