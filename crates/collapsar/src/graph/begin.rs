//! Decides where a climb begins that is given values of variables: at the messages that these would send.
//!
//! What is given is a point mass to all others, and what is not is as in the usual start. A block that has a factor of
//! its own among the messages begins about its values, as wide as its neighbours make it (maths §9.6).

use std::collections::BTreeMap;

use nalgebra::DMatrix;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::PosteriorMarginal;
use super::block::{Block, BlockFamily, range_of};
use super::compiled::Compiled;
use super::kernel::RowKernel;
use super::start::{FAINT, labelled, plain};
use super::variational::marginals_of;
use collapsar_core::elementary::Elementary;
use collapsar_core::family::Family;
use collapsar_core::{Error, Result};

/// Values by variable and the place among its numbers, as a graph has them: labels are states counted from 0, matrices
/// whole, positive numbers as they are told.
pub type GivenNumbers = BTreeMap<(u32, u32), f64>;

/// Log odds of a state that is given, against any other.
const SURE: f64 = 5.0;

impl Compiled {
    /// Messages to begin from where some numbers are given, and the passes over the data that finding them took.
    ///
    /// # Errors
    /// Where the start lies outside the domain.
    pub fn start_at(&self, given: &GivenNumbers, seed: u64) -> Result<(Vec<f64>, u64)> {
        let (usual, passes) = self.start_from_data(seed)?;
        if given.is_empty() {
            return Ok((usual, passes));
        }
        let given = Given(given);
        let statistics = self.local.statistics_with(
            &usual,
            |block, natural, mean| given.send(block, natural, mean),
            FAINT,
            |rows| given.states(rows),
        )?;
        let mut messages = vec![0.0; statistics.len()];
        let (mut sent, mut refused) = (vec![], Ok(()));
        (self.posterior).value_and_means(&statistics, |naturals, means| {
            for placed in self.posterior.blocks() {
                let range = range_of(placed);
                let (natural, mean) = (&naturals[range.clone()], &mut means[range]);
                if refused.is_ok() {
                    refused = given.send(&placed.0, natural, mean);
                }
            }
            sent.extend_from_slice(means);
        })?;
        refused?;
        self.posterior.backward(&statistics, &sent, &mut messages);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        self.local
            .settle(&mut messages, |block, inside, natural: &mut [f64]| {
                if !inside {
                    plain(block, &mut rng, natural);
                }
                if given.is_about(block) {
                    // Left as it is told to be where nothing of the family is about these values.
                    if let Ok(about) = given.about(block, natural) {
                        natural.copy_from_slice(&about);
                    }
                }
            });
        Ok((messages, passes + 1))
    }
}

struct Given<'a>(&'a GivenNumbers);

impl Given<'_> {
    fn of(&self, variable: u32, number: usize) -> Option<f64> {
        self.0.get(&(variable, number as u32)).copied()
    }

    /// Whether anything is given of a block.
    fn is_about(&self, block: &Block) -> bool {
        let mut variables = block.variables.iter();
        variables
            .any(|&variable| (self.0.range((variable, 0)..=(variable, u32::MAX)).next()).is_some())
    }

    /// The state of a label of so many.
    fn state(&self, label: u32, states: usize) -> Option<usize> {
        let state = self.of(label, 0)? as usize;
        (state < states).then_some(state)
    }

    /// The states of rows, where any is given.
    fn states(&self, rows: &RowKernel) -> Option<Vec<Option<usize>>> {
        let end = rows.first + rows.count as u32;
        let any = (self.0.range((rows.first, 0)..(end, 0))).next().is_some();
        let labels = rows.first..end;
        (rows.are_labels() && any)
            .then(|| labels.map(|label| self.state(label, rows.states)).collect())
    }

    /// The numbers of a block: those that are given, and means of the others.
    fn numbers(&self, block: &Block, natural: &[f64]) -> Result<Vec<f64>> {
        let marginals = marginals_of(block, natural)?;
        let each = marginals.len() / block.variables.len().max(1);
        // Blocks of unlike variables are a field and its precision, each of one number.
        let place = |place: usize| (block.variables[place / each], place % each);
        let number = |(at, marginal): (usize, &PosteriorMarginal)| {
            let (variable, number) = place(at);
            let given = self.of(variable, number);
            given.or_else(|| marginal.mean()).unwrap_or(0.0)
        };
        Ok(marginals.iter().enumerate().map(number).collect())
    }

    /// Writes the statistics that a block sends where something of it is given.
    fn send(&self, block: &Block, natural: &[f64], mean: &mut [f64]) -> Result<()> {
        let chosen = |place: usize, states| self.state(block.variables[place], states);
        if self.is_about(block) && !labelled(block, chosen, mean) {
            block.statistics_at(&self.numbers(block, natural)?, mean);
        }
        Ok(())
    }

    /// Natural parameters about the values of a block, from others.
    fn about(&self, block: &Block, natural: &[f64]) -> Result<Vec<f64>> {
        let mut mean = vec![0.0; natural.len()];
        let chosen = |place: usize, states| self.state(block.variables[place], states);
        if labelled(block, chosen, &mut mean) {
            for mean in &mut mean {
                *mean *= SURE;
            }
            return Ok(mean);
        }
        let numbers = self.numbers(block, natural)?;
        match &block.family {
            BlockFamily::Gaussian(family) => {
                let mut about = family.ordinary(natural)?;
                about.mean = numbers;
                family.natural(&about)
            }
            BlockFamily::GaussianGamma(family) => {
                let mut about = family.ordinary(natural)?;
                let Some((precision, values)) = numbers.split_last() else {
                    return Ok(natural.to_vec());
                };
                about.field.mean = values.to_vec();
                about.rate = about.shape / precision;
                family.natural(&about)
            }
            BlockFamily::Bounded(family) => {
                family.natural(&[numbers[0], natural[1].max(f64::MIN_POSITIVE)])
            }
            BlockFamily::Gamma(_) => Ok(vec![natural[0], natural[0] / numbers[0]]),
            BlockFamily::Positive(family, told) => {
                // The density of ln x has its top where a - bx + c/x - d ln x = 0.
                let log = told.ln_x(numbers[0]);
                let x = log.exp_();
                let &[a, _, c, d] = natural else {
                    return Ok(natural.to_vec());
                };
                let rest = c / x - d * log;
                let a = a.max(1.0 - rest);
                family.natural(&[a, (a + rest) / x, c, d])
            }
            BlockFamily::Wishart(family) | BlockFamily::NormalWishart(family) => {
                let mut about = family.ordinary(natural)?;
                let dim = family.dimensions();
                let (mean, precision) = numbers.split_at(family.means * dim);
                if let Some(first) = about.means.first_mut() {
                    first.copy_from_slice(mean);
                }
                let inverse = DMatrix::from_row_slice(dim, dim, precision).try_inverse();
                let freedom = about.degrees_of_freedom;
                let scale = inverse.ok_or_else(|| {
                    Error::domain(
                        "Wishart block",
                        "a singular matrix",
                        "one that can be inverted",
                    )
                })?;
                about.scale = scale.iter().map(|entry| freedom * entry).collect();
                family.natural(&about)
            }
            BlockFamily::Dirichlet(_) => {
                let total: f64 = natural.iter().sum();
                Ok(numbers.iter().map(|share| total * share).collect())
            }
            BlockFamily::PolyaGamma(_) | BlockFamily::Label(_) | BlockFamily::Network(..) => {
                Ok(natural.to_vec())
            }
        }
    }
}
