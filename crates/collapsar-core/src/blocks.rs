//! Collapsed blocks joined: prior plus statistics of each family, and what it sends back.

use std::fmt;

use crate::collapsed::Potential;
use crate::error::{Error, Result};
use crate::limits::ROUNDING;

/// How statistics enter the natural parameters of a block: a linear map $S$ and its transpose.
pub trait Link: fmt::Debug + Send + Sync {
    /// Adds $S \tau$ to `natural`.
    fn add(&self, statistics: &[f64], natural: &mut [f64]);

    /// Adds $S' \mu$ to `out`.
    fn pull_back(&self, mean: &[f64], out: &mut [f64]);
}

/// A link by index: statistics that are added to natural parameters, each with a factor.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IndexMap(Vec<(usize, usize, f64)>);

impl IndexMap {
    /// Statistics from `first` on, in the order of the natural parameters.
    pub fn range(first: usize, parameters: usize) -> Self {
        Self((0..parameters).map(|i| (first + i, i, 1.0)).collect())
    }

    /// Adds the statistic `statistic`, times `factor`, to the natural parameter `parameter`.
    #[must_use]
    pub fn and(mut self, statistic: usize, parameter: usize, factor: f64) -> Self {
        self.0.push((statistic, parameter, factor));
        self
    }
}

impl Link for IndexMap {
    fn add(&self, statistics: &[f64], natural: &mut [f64]) {
        for &(statistic, parameter, factor) in &self.0 {
            natural[parameter] += factor * statistics[statistic];
        }
    }

    fn pull_back(&self, mean: &[f64], out: &mut [f64]) {
        for &(statistic, parameter, factor) in &self.0 {
            out[statistic] += factor * mean[parameter];
        }
    }
}

/// The collapsed log-partition function of several blocks (maths §1.1):
///
/// $$C(\tau) = \sum_b \left[ \ln Z_b(\xi_b + S_b \tau) - \ln Z_b(\xi_b) \right]$$
///
/// Each block is a family with a prior $\xi_b$ and a link $S_b$ that says which statistics it takes.
#[derive(Debug, Default)]
pub struct Blocks {
    statistics: usize,
    joined: Vec<Block>,
    /// The log-partition functions of all priors.
    prior_value: f64,
}

struct Block {
    name: String,
    family: Box<dyn Potential + Send>,
    prior: Vec<f64>,
    link: Box<dyn Link>,
}

impl Blocks {
    /// No block yet, of so many statistics.
    pub fn new(statistics: usize) -> Self {
        Self {
            statistics,
            ..Self::default()
        }
    }

    /// Joins a block. `name` is what errors call it; `prior` are natural parameters.
    ///
    /// # Errors
    /// [`Error::Domain`] where the prior is outside of the family.
    pub fn join(
        mut self,
        name: impl Into<String>,
        family: impl Potential + Send + 'static,
        prior: Vec<f64>,
        link: impl Link + 'static,
    ) -> Result<Self> {
        let block = Block {
            name: name.into(),
            family: Box::new(family),
            prior,
            link: Box::new(link),
        };
        let mut mean = vec![0.0; block.prior.len()];
        let value = block.family.value_and_gradient(&block.prior, &mut mean);
        let value = value.map_err(|error| named(format!("prior of {}", block.name), error))?;
        if f64::EPSILON * value.abs() > ROUNDING {
            let found = format!("a log-partition function of {value:.1e}");
            let expected = "one that is known to a thousandth of a nat; widen the prior";
            return Err(Error::domain(
                format!("prior of {}", block.name),
                found,
                expected,
            ));
        }
        self.prior_value += value;
        self.joined.push(block);
        Ok(self)
    }

    /// Adds to the natural parameters of the last block what no statistic can change: a total that is
    /// the same for every q(Z).
    #[must_use]
    pub fn with_constant(mut self, constant: &[f64]) -> Self {
        let last = self.joined.last_mut().expect("a block was joined");
        crate::vector::add(&mut last.prior, 1.0, constant);
        self
    }

    /// How many blocks there are.
    pub fn count(&self) -> usize {
        self.joined.len()
    }

    /// Prior plus statistics of a block, in natural parameters.
    pub fn natural(&self, block: usize, statistics: &[f64]) -> Vec<f64> {
        let Block { prior, link, .. } = &self.joined[block];
        let mut natural = prior.clone();
        link.add(statistics, &mut natural);
        natural
    }

    /// Adds to `out` what a block sends to the statistics where these are the means, or drawn values, of its own.
    pub fn pull_back(&self, block: usize, mean: &[f64], out: &mut [f64]) {
        self.joined[block].link.pull_back(mean, out);
    }

    /// What a block adds to the Hessian between some statistics: a square matrix.
    ///
    /// # Errors
    /// [`Error::Domain`] where prior plus statistics are outside of the family.
    pub fn hessian_within(
        &self,
        block: usize,
        at: &[f64],
        statistics: &[usize],
    ) -> Result<Vec<f64>> {
        let natural = self.natural(block, at);
        let Block { family, link, .. } = &self.joined[block];
        let (mut change, mut image) = (vec![0.0; natural.len()], vec![0.0; natural.len()]);
        let (mut unit, mut column) = (vec![0.0; self.statistics], vec![0.0; self.statistics]);
        let mut out = Vec::with_capacity(statistics.len() * statistics.len());
        for &statistic in statistics {
            unit[statistic] = 1.0;
            change.fill(0.0);
            link.add(&unit, &mut change);
            unit[statistic] = 0.0;
            let product = family.hessian_product(&natural, &change, &mut image);
            product.map_err(|error| named(self.joined[block].name.clone(), error))?;
            column.fill(0.0);
            link.pull_back(&image, &mut column);
            out.extend(statistics.iter().map(|&row| column[row]));
        }
        Ok(out)
    }

    /// The log-partition function of a block, prior plus statistics.
    ///
    /// # Errors
    /// [`Error::Domain`] where they are outside of the family.
    pub fn value(&self, block: usize, statistics: &[f64]) -> Result<f64> {
        let natural = self.natural(block, statistics);
        let mut mean = vec![0.0; natural.len()];
        self.joined[block].value(&natural, &mut mean)
    }
}

impl Block {
    fn value(&self, natural: &[f64], mean: &mut [f64]) -> Result<f64> {
        let value = self.family.value_and_gradient(natural, mean);
        value.map_err(|error| named(self.name.clone(), error))
    }
}

/// Names the block in a family's error, which knows only its own numbers.
fn named(name: String, mut error: Error) -> Error {
    if let Error::Domain { block, .. } = &mut error {
        *block = name;
    }
    error
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block")
            .field("name", &self.name)
            .field("prior", &self.prior)
            .finish_non_exhaustive()
    }
}

impl Potential for Blocks {
    fn dim(&self) -> usize {
        self.statistics
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        gradient.fill(0.0);
        let mut mean = vec![];
        let mut value = -self.prior_value;
        for (index, block) in self.joined.iter().enumerate() {
            let natural = self.natural(index, at);
            mean.resize(natural.len(), 0.0);
            value += block.value(&natural, &mut mean)?;
            block.link.pull_back(&mean, gradient);
        }
        Ok(value)
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        out.fill(0.0);
        let (mut change, mut image) = (vec![], vec![]);
        for (index, block) in self.joined.iter().enumerate() {
            let natural = self.natural(index, at);
            change.clear();
            change.resize(natural.len(), 0.0);
            block.link.add(along, &mut change);
            image.resize(natural.len(), 0.0);
            let product = (block.family).hessian_product(&natural, &change, &mut image);
            product.map_err(|error| named(block.name.clone(), error))?;
            block.link.pull_back(&image, out);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{Dirichlet, Gamma};

    /// Two proportions from the first and the last statistic, and a rate from the middle ones.
    fn joined() -> Result<Blocks> {
        let counts = IndexMap::default().and(0, 0, 1.0).and(3, 1, 2.0);
        Blocks::new(4)
            .join("proportions", Dirichlet::new(2), vec![1.0, 1.0], counts)?
            .join("rate", Gamma, vec![2.0, 1.0], IndexMap::range(1, 2))
    }

    #[test]
    fn blocks_are_their_families() {
        let blocks = joined().unwrap();
        assert_eq!(blocks.natural(0, &[5.0, 0.0, 0.0, 3.0]), [6.0, 7.0]);
        assert_eq!(blocks.natural(1, &[0.0, 4.0, 0.5, 0.0]), [6.0, 1.5]);
        let mut gradient = [0.0; 4];
        let nothing = blocks.value_and_gradient(&[0.0; 4], &mut gradient).unwrap();
        assert_eq!(nothing, 0.0);
        #[cfg(feature = "laws")]
        crate::laws::conforms(&blocks, &[5.0, 4.0, 0.5, 3.0], 1).unwrap();
    }

    #[test]
    fn hessians_of_blocks_add_up_to_that_of_all() {
        let blocks = joined().unwrap();
        let (at, all) = ([5.0, 4.0, 0.5, 3.0], [0, 1, 2, 3]);
        let parts = [0, 1].map(|block| blocks.hessian_within(block, &at, &all).unwrap());
        let mut column = [0.0; 4];
        for statistic in all {
            let mut unit = [0.0; 4];
            unit[statistic] = 1.0;
            blocks.hessian_product(&at, &unit, &mut column).unwrap();
            for (row, expected) in column.iter().enumerate() {
                assert_eq!(
                    parts[0][4 * statistic + row] + parts[1][4 * statistic + row],
                    *expected
                );
            }
        }
    }

    #[test]
    fn errors_name_the_block() {
        let blocks = joined().unwrap();
        let mut gradient = [0.0; 4];
        let error = blocks
            .value_and_gradient(&[0.0, 0.0, -9.0, 0.0], &mut gradient)
            .unwrap_err();
        assert!(matches!(error, Error::Domain { block, .. } if block == "rate"));
    }
}
