//! Decides how a block is drawn: its numbers, and the statistics that others see of them.

use rand::Rng;

use super::block::{Block, BlockFamily};
use collapsar_core::Result;
use collapsar_core::family::Family;

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
