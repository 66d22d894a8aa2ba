//! Decides how a block is drawn: its numbers, and the statistics that others see of them.

use nalgebra::DMatrix;
use rand::Rng;

use super::block::{Block, BlockFamily};
use collapsar_core::Result;
use collapsar_core::elementary::Elementary;
use collapsar_core::family::{Family, GaussianBuffers, NetworkBuffers, NormalWishartDraw};

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
                precision[0] = ln_precision.exp_();
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
            BlockFamily::Positive(family, told) => {
                let ln_draw = family.sample(natural, rng)?;
                numbers[0] = told.number(ln_draw);
                family.statistics(&ln_draw, statistics);
            }
            BlockFamily::PolyaGamma(family) => {
                numbers[0] = family.sample(natural, rng)?;
                family.statistics(&numbers[0], statistics);
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
                let state = family.draw_into(natural, rng, statistics)?;
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

impl Block {
    /// Writes the statistics of numbers, which are those of all variables, one variable after another.
    pub(super) fn statistics_at(&self, numbers: &[f64], out: &mut [f64]) {
        // What was drawn may be too small for a number; its logarithm still is one.
        let ln = |number: f64| number.max(f64::MIN_POSITIVE).ln_();
        let matrix = |dim: usize, means: Vec<Vec<f64>>, precision: &[f64]| NormalWishartDraw {
            means,
            precision: precision.to_vec(),
            ln_determinant: ln(DMatrix::from_row_slice(dim, dim, precision).determinant()),
        };
        match &self.family {
            BlockFamily::Gaussian(family) => family.write_statistics(numbers, out),
            BlockFamily::GaussianGamma(family) => {
                let (precision, values) = numbers.split_last().unwrap_or((&1.0, &[]));
                family.write_statistics(ln(*precision), values, out);
            }
            BlockFamily::Bounded(family) => family.statistics(&numbers[0], out),
            BlockFamily::Gamma(family) => family.statistics(&ln(numbers[0]), out),
            BlockFamily::Positive(family, told) => family.statistics(&told.ln_x(numbers[0]), out),
            BlockFamily::PolyaGamma(family) => family.statistics(&numbers[0], out),
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

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::super::Told;
    use super::super::block::Block;
    use super::*;
    use collapsar_core::family::{
        Categorical, Dirichlet, Gamma, Gaussian, GaussianGamma, Network, NormalWishart, PolyaGamma,
        Positive, Table, TruncatedNormal,
    };

    /// The statistics of a draw are those of its numbers.
    #[test]
    fn statistics_of_numbers_are_those_of_the_draw() {
        let table = |scope: &[u32]| Table {
            scope: scope.to_vec(),
            support: None,
        };
        let tables = vec![table(&[0]), table(&[0, 1])];
        let network = Network::new(vec![2, 3], tables).expect("a network");
        let scopes = vec![(vec![0], 0), (vec![0, 1], 1)];
        let bounded = TruncatedNormal::new(0.0, 2.0).expect("bounds");
        let positive = Positive::new(0.1, 5.0).expect("bounds");
        let polya_gamma = PolyaGamma::new(3.0).expect("a shape");
        let cases = [
            (
                BlockFamily::Gaussian(Gaussian::new(2, &[(0, 1)])),
                vec![1.0, -2.0, 3.0, 2.0, 0.5],
                2,
            ),
            (
                BlockFamily::GaussianGamma(GaussianGamma::new(2, &[(0, 1)])),
                vec![4.0, 9.0, 1.0, -2.0, 3.0, 2.0, 0.5],
                3,
            ),
            (BlockFamily::Bounded(bounded), vec![1.0, 2.0], 1),
            (BlockFamily::Gamma(Gamma), vec![2.0, 3.0], 1),
            (
                BlockFamily::Positive(positive.with_inverse().with_square(), Told::Power(-0.5)),
                vec![-0.5, 3.0, 0.2, 0.1],
                1,
            ),
            (BlockFamily::PolyaGamma(polya_gamma), vec![0.7], 1),
            (
                BlockFamily::Wishart(NormalWishart::wishart(2)),
                vec![5.0, 2.0, 0.3, 1.0],
                1,
            ),
            (
                BlockFamily::NormalWishart(NormalWishart::new(2)),
                vec![1.0, 6.0, 0.2, -0.1, 2.0, 0.3, 1.0],
                1,
            ),
            (
                BlockFamily::Dirichlet(Dirichlet::new(3)),
                vec![1.0, 2.0, 0.5],
                1,
            ),
            (
                BlockFamily::Label(Categorical::new(3)),
                vec![0.1, 0.5, -0.3],
                1,
            ),
            (
                BlockFamily::Network(Box::new(network), scopes),
                vec![0.1, 0.5, -0.3, 0.2, 0.0, 1.0, 0.4, -0.2],
                2,
            ),
        ];
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        for (family, natural, variables) in cases {
            let block = Block {
                family,
                variables: (0..variables).collect(),
                declarations: vec![0],
                units: vec![],
            };
            assert_eq!(block.len(), natural.len(), "{}", block.family_name());
            let (mut drawn, mut found) = (vec![0.0; natural.len()], vec![0.0; natural.len()]);
            let numbers = block.draw(&natural, &mut rng, &mut drawn).expect("a draw");
            block.statistics_at(&numbers, &mut found);
            for (drawn, found) in drawn.iter().zip(&found) {
                // Logarithms of numbers in the place of numbers from logarithms, and a determinant of two rows.
                let near = 1e-12 * (1.0 + drawn.abs());
                assert!((drawn - found).abs() < near, "{}", block.family_name());
            }
        }
    }
}
