//! Decides the posterior of each variable at the end of a fit: the factors of q, their marginals and draws.

use std::ops::Range;

use rand::Rng;

use super::block::{Block, BlockFamily};
use super::compiled::Compiled;
use super::kernel::RowKernel;
use super::{Declared, Kind, Told};
use collapsar_core::elementary::Elementary;
use collapsar_core::family::{Family, GaussianSampler, Marginal, pick};
use collapsar_core::{Point, Result};

/// The posterior of one number.
#[derive(Debug, Clone, PartialEq)]
pub enum PosteriorMarginal {
    /// A distribution with quantiles in closed form.
    Closed(Marginal),
    /// Only mean and standard deviation are in closed form.
    Moments {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        sd: f64,
    },
    /// The probabilities of a label's states.
    States(Vec<f64>),
}

impl PosteriorMarginal {
    /// The mean of a number, where it is one.
    pub fn mean(&self) -> Option<f64> {
        match self {
            Self::Closed(marginal) => Some(marginal.mean()),
            Self::Moments { mean, .. } => Some(*mean),
            Self::States(_) => None,
        }
    }

    /// The same mean with a variance that is larger by `extra`: of the same family, within the same bounds
    /// (maths §10.2).
    #[must_use]
    pub fn widened(&self, extra: f64) -> Self {
        let wider = |sd: f64| sd.hypot_(extra.max(0.0).sqrt());
        match self {
            Self::Closed(marginal) => Self::Closed(marginal.with_sd(wider(marginal.sd()))),
            &Self::Moments { mean, sd } => Self::Moments {
                mean,
                sd: wider(sd),
            },
            Self::States(_) => self.clone(),
        }
    }

    /// The same distribution, so much further.
    #[must_use]
    pub fn shifted(&self, by: f64) -> Self {
        let mut shifted = self.clone();
        match &mut shifted {
            Self::Closed(
                Marginal::Normal { mean, .. }
                | Marginal::StudentT { mean, .. }
                | Marginal::Point(mean),
            )
            | Self::Moments { mean, .. } => *mean += by,
            Self::Closed(_) | Self::States(_) => {}
        }
        shifted
    }
}

/// The posterior of each number of each variable that is not kept as a row.
#[derive(Debug, Clone, PartialEq)]
pub struct PosteriorMarginals {
    /// By declaration; empty for rows.
    declared: Vec<Vec<PosteriorMarginal>>,
    /// The first variable and the elements of each declaration.
    firsts: Vec<(u32, usize)>,
}

impl PosteriorMarginals {
    /// The posterior of a number of a variable, unless it is kept as a row.
    pub fn of(&self, variable: u32, element: usize) -> Option<&PosteriorMarginal> {
        let (declaration, place) = self.place(variable, element);
        self.declared[declaration].get(place)
    }

    /// Replaces the posterior of a number of a variable.
    pub fn set(&mut self, variable: u32, element: usize, marginal: PosteriorMarginal) {
        let (declaration, place) = self.place(variable, element);
        if let Some(old) = self.declared[declaration].get_mut(place) {
            *old = marginal;
        }
    }

    /// A declaration, and the place of a number among its own.
    fn place(&self, variable: u32, element: usize) -> (usize, usize) {
        let declaration = self.firsts.partition_point(|first| first.0 <= variable) - 1;
        let (first, elements) = self.firsts[declaration];
        let place = (variable - first) as usize * elements + element;
        (declaration, place)
    }
}

/// The factors of q at the end of a fit: explicit ones and, given them, collapsed ones.
#[derive(Debug)]
pub struct VariationalPosterior<'a> {
    blocks: Vec<(&'a Block, Vec<f64>)>,
    /// Of the Gaussian blocks, factored once for all draws.
    samplers: Vec<Option<GaussianSampler<'a>>>,
    rows: &'a [RowKernel],
    slots: Vec<f64>,
    numbers: Numbers<'a>,
}

/// The numbers of all variables in a row: where each variable's stand.
#[derive(Debug, Clone)]
pub(super) struct Numbers<'a> {
    declared: &'a [Declared],
    /// Where the numbers of each declaration begin, and the end of the last.
    starts: Vec<usize>,
}

impl<'a> Numbers<'a> {
    pub(super) fn new(declared: &'a [Declared]) -> Self {
        let mut starts = vec![0];
        for declared in declared {
            let more = declared.count as usize * declared.kind.elements();
            starts.push(starts[starts.len() - 1] + more);
        }
        Self { declared, starts }
    }

    /// How many numbers all variables are together.
    pub(super) fn len(&self) -> usize {
        self.starts[self.declared.len()]
    }

    /// The places of a variable's numbers.
    pub(super) fn places(&self, variable: u32) -> Range<usize> {
        let index = (self.declared).partition_point(|other| other.variables().end <= variable);
        let declared = &self.declared[index];
        let elements = declared.kind.elements();
        let first = self.starts[index] + (variable - declared.first) as usize * elements;
        first..first + elements
    }

    /// Puts the numbers of a block's variables, one variable after another, in their places.
    pub(super) fn put(
        &self,
        block: &Block,
        numbers: impl IntoIterator<Item = f64>,
        out: &mut [f64],
    ) {
        let mut numbers = numbers.into_iter();
        for &variable in &block.variables {
            let places = out[self.places(variable)].iter_mut();
            places
                .zip(&mut numbers)
                .for_each(|(out, number)| *out = number);
        }
    }
}

impl Kind {
    /// How many numbers a variable is: a label is one, a matrix all of its entries, row by row,
    /// after the vector that is joint with it.
    pub fn elements(self) -> usize {
        match self {
            Self::Gaussian
            | Self::Bounded
            | Self::Gamma
            | Self::Positive { .. }
            | Self::PolyaGamma
            | Self::Label(_) => 1,
            Self::Wishart(dim) => dim * dim,
            Self::NormalWishart(dim) => dim + dim * dim,
            Self::Dirichlet(parts) => parts,
        }
    }
}

impl Compiled {
    /// The factors of q at a point.
    pub fn variational_posterior(&self, point: &Point) -> VariationalPosterior<'_> {
        let mut blocks = self.local.each(&point.messages);
        blocks.append(&mut self.posterior.each(&point.statistics));
        let samplers = (blocks.iter())
            .map(|&(block, ref natural)| match &block.family {
                BlockFamily::Gaussian(family) => family.sampler(natural).ok(),
                _ => None,
            })
            .collect();
        VariationalPosterior {
            blocks,
            samplers,
            rows: &self.local.rows,
            slots: self.local.slots(&point.messages).to_vec(),
            numbers: Numbers::new(self.declared()),
        }
    }
}

impl VariationalPosterior<'_> {
    /// How many numbers all variables are together.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether there are no variables.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The place of a variable's first number among all.
    pub fn place(&self, variable: u32) -> usize {
        self.numbers.places(variable).start
    }

    /// Visits the labels that are kept as rows, which [`VariationalPosterior::marginals`] leaves
    /// out: each with the probabilities of its states.
    ///
    /// # Errors
    /// Where the fit ended outside the domain.
    pub fn each_label(&self, mut visit: impl FnMut(u32, &[f64])) -> Result<()> {
        for rows in self.rows {
            rows.responsibilities(&self.slots, |row, states| {
                visit(rows.first + row as u32, states);
            })?;
        }
        Ok(())
    }

    /// The posterior of each number; labels that are kept as rows have no states here.
    ///
    /// # Errors
    /// Where the fit ended outside the domain.
    pub fn marginals(&self) -> Result<PosteriorMarginals> {
        let is_row = |declared: &Declared| (self.rows.iter()).any(|r| r.first == declared.first);
        let unknown = |declared: &Declared| {
            let count = declared.count as usize * declared.kind.elements();
            vec![PosteriorMarginal::States(vec![]); if is_row(declared) { 0 } else { count }]
        };
        let first = |declared: &Declared| (declared.first, declared.kind.elements());
        let mut out = PosteriorMarginals {
            declared: self.numbers.declared.iter().map(unknown).collect(),
            firsts: self.numbers.declared.iter().map(first).collect(),
        };
        for (block, natural) in &self.blocks {
            let mut found = marginals_of(block, natural)?.into_iter();
            for &variable in &block.variables {
                let (declaration, place) = out.place(variable, 0);
                let elements = out.firsts[declaration].1;
                let numbers = &mut out.declared[declaration][place..place + elements];
                numbers
                    .iter_mut()
                    .zip(&mut found)
                    .for_each(|(number, found)| *number = found);
            }
        }
        Ok(out)
    }

    /// Draws all numbers from q; labels are states counted from 0.
    ///
    /// # Errors
    /// Where the fit ended outside the domain.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R, out: &mut [f64]) -> Result<()> {
        for block in 0..self.blocks.len() {
            self.draw_block(block, rng, out)?;
        }
        self.draw_labels(rng, out)
    }

    /// Draws the labels that are kept as rows, and leaves the other numbers alone.
    ///
    /// # Errors
    /// Where the fit ended outside the domain.
    pub fn draw_labels<R: Rng + ?Sized>(&self, rng: &mut R, out: &mut [f64]) -> Result<()> {
        self.each_label(|label, states| {
            out[self.place(label)] = pick(states, 1.0, rng) as f64;
        })
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The variables of a block.
    pub fn block_variables(&self, block: usize) -> &[u32] {
        &self.blocks[block].0.variables
    }

    /// Draws the numbers of one block, and leaves the others alone.
    ///
    /// # Errors
    /// Where the fit ended outside the domain.
    pub fn draw_block<R: Rng + ?Sized>(
        &self,
        index: usize,
        rng: &mut R,
        out: &mut [f64],
    ) -> Result<()> {
        let (block, natural) = &self.blocks[index];
        let numbers = match &self.samplers[index] {
            Some(sampler) => sampler.draw(rng),
            None => block.draw(natural, rng, &mut vec![0.0; natural.len()])?,
        };
        self.numbers.put(block, numbers, out);
        Ok(())
    }

    /// The mean and the variance of a sum of variables with coefficients, where all of them are
    /// of blocks that are normal; each variable once.
    pub fn of_sum(&self, terms: &[(u32, f64)]) -> Option<(f64, f64)> {
        let (mut mean, mut variance, mut found) = (0.0, 0.0, 0);
        for ((block, _), sampler) in self.blocks.iter().zip(&self.samplers) {
            let Some(sampler) = sampler else { continue };
            let mut coefficients = vec![];
            for &(variable, coefficient) in terms {
                if let Ok(place) = block.variables.binary_search(&variable) {
                    coefficients.resize(block.variables.len(), 0.0);
                    coefficients[place] = coefficient;
                    found += 1;
                }
            }
            if !coefficients.is_empty() {
                let (more, wider) = sampler.of_sum(&coefficients);
                mean += more;
                variance += wider;
            }
        }
        (found == terms.len()).then_some((mean, variance))
    }

    /// The posterior of a sum of variables with coefficients, where all of them are of blocks that are normal, or
    /// of one that is normal-gamma; each variable once.
    pub fn marginal_of_sum(&self, terms: &[(u32, f64)]) -> Option<PosteriorMarginal> {
        if let Some((mean, variance)) = self.of_sum(terms) {
            let sd = variance.sqrt();
            return Some(PosteriorMarginal::Closed(Marginal::Normal { mean, sd }));
        }
        self.blocks.iter().find_map(|(block, natural)| {
            let BlockFamily::GaussianGamma(family) = &block.family else {
                return None;
            };
            let fields = &block.variables[..family.field.scalars()];
            let mut coefficients = vec![0.0; fields.len()];
            for (variable, coefficient) in terms {
                coefficients[fields.binary_search(variable).ok()?] = *coefficient;
            }
            let (ordinary, _) = family.marginals(natural).ok()?;
            let sampler = family.field.sampler(&natural[2..]).ok()?;
            let (mean, variance) = sampler.of_sum(&coefficients);
            Some(PosteriorMarginal::Closed(Marginal::StudentT {
                mean,
                scale: (variance * ordinary.rate / ordinary.shape).sqrt(),
                degrees: 2.0 * ordinary.shape,
            }))
        })
    }
}

/// The posterior of each number of a block's variables, one variable after another.
pub(super) fn marginals_of(block: &Block, natural: &[f64]) -> Result<Vec<PosteriorMarginal>> {
    use PosteriorMarginal::{Closed, Moments, States};
    Ok(match &block.family {
        BlockFamily::Gaussian(family) => {
            let (means, variances) = family.marginals(natural)?;
            let normal = |(mean, variance): (f64, f64)| {
                let sd = variance.sqrt();
                Closed(Marginal::Normal { mean, sd })
            };
            means.into_iter().zip(variances).map(normal).collect()
        }
        BlockFamily::GaussianGamma(family) => {
            let (found, variances) = family.marginals(natural)?;
            let (shape, rate) = (found.shape, found.rate);
            let student = |(&mean, variance): (&f64, f64)| {
                Closed(Marginal::StudentT {
                    mean,
                    scale: (variance * rate / shape).sqrt(),
                    degrees: 2.0 * shape,
                })
            };
            let moments = found.field.mean.iter().zip(variances);
            let precision = Closed(Marginal::Gamma { shape, rate });
            moments.map(student).chain([precision]).collect()
        }
        BlockFamily::Bounded(family) => {
            let (mean, variance) = family.mean_and_variance(natural)?;
            let sd = variance.sqrt();
            vec![Moments { mean, sd }]
        }
        BlockFamily::Gamma(_) => {
            let (shape, rate) = (natural[0], natural[1]);
            vec![Closed(Marginal::Gamma { shape, rate })]
        }
        BlockFamily::Positive(family, told) => {
            let (mean, sd) = match *told {
                Told::Power(power) => {
                    let (mean, variance) = family.moments_of_power(natural, power)?;
                    (mean, variance.sqrt())
                }
                Told::Logarithm(factor) => {
                    let (mean, variance) = family.moments_of_logarithm(natural)?;
                    (factor * mean, factor.abs() * variance.sqrt())
                }
            };
            vec![Moments { mean, sd }]
        }
        BlockFamily::PolyaGamma(family) => {
            let (mean, variance) = family.mean_and_variance(natural)?;
            let sd = variance.sqrt();
            vec![Moments { mean, sd }]
        }
        BlockFamily::Wishart(family) => {
            let ordinary = family.ordinary(natural)?;
            entries(ordinary.degrees_of_freedom, &ordinary.scale)?
        }
        BlockFamily::NormalWishart(family) => {
            let dim = family.dimensions();
            let ordinary = family.ordinary(natural)?;
            let freedom = ordinary.degrees_of_freedom;
            let degrees = freedom - dim as f64 + 1.0;
            let student = |(element, &mean): (usize, &f64)| {
                let spread = ordinary.scale[element * (dim + 1)];
                Closed(Marginal::StudentT {
                    mean,
                    scale: (spread / (ordinary.mean_precisions[0] * degrees)).sqrt(),
                    degrees,
                })
            };
            let means = ordinary.means[0].iter().enumerate().map(student);
            means.chain(entries(freedom, &ordinary.scale)?).collect()
        }
        BlockFamily::Dirichlet(_) => {
            let total: f64 = natural.iter().sum();
            let beta = |&a: &f64| {
                Closed(match natural.len() {
                    1 => Marginal::Point(1.0),
                    _ => Marginal::Beta { a, b: total - a },
                })
            };
            natural.iter().map(beta).collect()
        }
        BlockFamily::Label(_) => {
            let mut mean = vec![0.0; natural.len()];
            block.evaluate(natural, &mut mean)?;
            vec![States(mean)]
        }
        BlockFamily::Network(family, _) => {
            family.marginals(natural)?.into_iter().map(States).collect()
        }
    })
}

/// The posterior of the entries of a Wishart matrix, row by row.
fn entries(freedom: f64, scale: &[f64]) -> Result<Vec<PosteriorMarginal>> {
    let dim = scale.len().isqrt();
    let inverse = nalgebra::DMatrix::from_row_slice(dim, dim, scale)
        .try_inverse()
        .ok_or_else(|| {
            let found = "a singular scale";
            collapsar_core::Error::domain("Wishart block", found, "one that can be inverted")
        })?;
    let one = |(row, column): (usize, usize)| {
        let entry = inverse[(row, column)];
        if row == column {
            // Λ_ii is V_ii times a chi-square variable.
            return PosteriorMarginal::Closed(Marginal::Gamma {
                shape: 0.5 * freedom,
                rate: 0.5 / entry,
            });
        }
        let spread = entry * entry + inverse[(row, row)] * inverse[(column, column)];
        PosteriorMarginal::Moments {
            mean: freedom * entry,
            sd: (freedom * spread).sqrt(),
        }
    };
    let places = (0..dim).flat_map(|row| (0..dim).map(move |column| (row, column)));
    Ok(places.map(one).collect())
}
