//! Decides how a block is drawn: its numbers, and the statistics that others see of them.

use rand::Rng;

use super::block::{Block, BlockFamily};
use collapsar_core::family::{Family, GaussianBuffers, NetworkBuffers, pick};
use collapsar_core::{Potential, Result};

/// What draws are made in, kept between them.
#[derive(Debug, Clone, Default)]
pub(super) struct DrawBuffers {
    gaussian: GaussianBuffers,
    network: NetworkBuffers,
}

impl Block {
    /// How many numbers all variables are together.
    pub(super) fn numbers(&self) -> usize {
        match &self.family {
            BlockFamily::Wishart(family) => family.dimensions().pow(2),
            BlockFamily::NormalWishart(family) => family.dimensions() * (family.dimensions() + 1),
            BlockFamily::Dirichlet(family) => family.dim,
            _ => self.variables.len(),
        }
    }

    /// Draws the numbers of all variables, one variable after another, and writes their statistics.
    pub(super) fn draw<R: Rng + ?Sized>(
        &self,
        natural: &[f64],
        rng: &mut R,
        statistics: &mut [f64],
    ) -> Result<Vec<f64>> {
        let mut numbers = vec![0.0; self.numbers()];
        let mut buffers = DrawBuffers::default();
        self.draw_into(natural, rng, &mut buffers, &mut numbers, statistics)?;
        Ok(numbers)
    }

    /// As [`Block::draw`], without allocating where a family can do so.
    pub(super) fn draw_into<R: Rng + ?Sized>(
        &self,
        natural: &[f64],
        rng: &mut R,
        buffers: &mut DrawBuffers,
        numbers: &mut [f64],
        statistics: &mut [f64],
    ) -> Result<()> {
        match &self.family {
            BlockFamily::Gaussian(family) => {
                family.draw_into(natural, rng, &mut buffers.gaussian, numbers)?;
                family.write_statistics(numbers, statistics);
            }
            BlockFamily::GaussianGamma(family) => {
                let (values, precision) = numbers.split_at_mut(family.field.scalars());
                let ln_precision = family.draw_into(natural, rng, &mut buffers.gaussian, values)?;
                family.write_statistics(ln_precision, values, statistics);
                precision[0] = ln_precision.exp();
            }
            BlockFamily::Bounded(family) => {
                numbers[0] = family.sample(natural, rng)?;
                family.statistics(&numbers[0], statistics);
            }
            BlockFamily::Gamma(family) => {
                let (ln_draw, draw) = family.draw_both(natural, rng)?;
                numbers[0] = draw;
                statistics[0] = ln_draw;
                statistics[1] = -draw;
            }
            BlockFamily::Wishart(family) => {
                let draw = family.sample(natural, rng)?;
                family.statistics(&draw, statistics);
                numbers.copy_from_slice(&draw.precision);
            }
            BlockFamily::NormalWishart(family) => {
                let draw = family.sample(natural, rng)?;
                family.statistics(&draw, statistics);
                let (mean, precision) = numbers.split_at_mut(family.dimensions());
                mean.copy_from_slice(&draw.means[0]);
                precision.copy_from_slice(&draw.precision);
            }
            BlockFamily::Dirichlet(family) => {
                family.draw_into(natural, rng, numbers, statistics)?;
            }
            BlockFamily::Label(family) => {
                family.value_and_gradient(natural, statistics)?;
                let state = pick(statistics, 1.0, rng);
                family.statistics(&state, statistics);
                numbers[0] = state as f64;
            }
            BlockFamily::Network(family, _) => {
                family.draw_into(natural, rng, &mut buffers.network)?;
                let states = &buffers.network.states;
                family.statistics(states, statistics);
                for (number, state) in numbers.iter_mut().zip(states) {
                    *number = f64::from(*state);
                }
            }
        }
        Ok(())
    }
}
