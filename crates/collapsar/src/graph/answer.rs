//! Decides what a fit says about each variable.

use rand::{Rng, RngExt};

use super::block::{Block, BlockFamily};
use super::compiled::Compiled;
use super::kernel::RowKernel;
use super::{Declared, Kind};
use collapsar_core::family::{Family, GaussianSampler, Marginal};
use collapsar_core::{Point, Result};

/// What q says about one number.
#[derive(Debug, Clone, PartialEq)]
pub enum Belief {
    /// A distribution with quantiles in closed form.
    Marginal(Marginal),
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

/// What q says about each number of each variable that is not kept as a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Beliefs {
    /// By declaration; empty for rows.
    declared: Vec<Vec<Belief>>,
    /// The first variable and the elements of each declaration.
    firsts: Vec<(u32, usize)>,
}

impl Beliefs {
    /// What q says about a number of a variable, unless it is kept as a row.
    pub fn of(&self, variable: u32, element: usize) -> Option<&Belief> {
        let declaration = self.firsts.partition_point(|first| first.0 <= variable) - 1;
        let (first, elements) = self.firsts[declaration];
        self.declared[declaration].get((variable - first) as usize * elements + element)
    }

    fn put(&mut self, variable: u32, element: usize, belief: Belief) {
        let declaration = self.firsts.partition_point(|first| first.0 <= variable) - 1;
        let (first, elements) = self.firsts[declaration];
        self.declared[declaration][(variable - first) as usize * elements + element] = belief;
    }
}

/// The factors of q at the end of a fit: explicit ones and, given them, collapsed ones.
#[derive(Debug)]
pub struct Answer<'a> {
    blocks: Vec<(&'a Block, Vec<f64>)>,
    /// Of the Gaussian blocks, factored once for all draws.
    samplers: Vec<Option<GaussianSampler<'a>>>,
    declared: &'a [Declared],
    rows: &'a [RowKernel],
    slots: Vec<f64>,
    /// Where the elements of each declaration begin, and the end of the last.
    starts: Vec<usize>,
}

impl Kind {
    /// How many numbers a variable is: a label is one, a matrix all of its entries, row by row,
    /// after the vector that is joint with it.
    pub fn elements(self) -> usize {
        match self {
            Self::Gaussian | Self::Bounded | Self::Gamma | Self::Label(_) => 1,
            Self::Wishart(dim) => dim * dim,
            Self::NormalWishart(dim) => dim + dim * dim,
            Self::Dirichlet(parts) => parts,
        }
    }
}

impl Compiled {
    /// The factors of q at a point.
    pub fn answer(&self, point: &Point) -> Answer<'_> {
        let mut blocks = self.local.each(&point.messages);
        blocks.append(&mut self.posterior.each(&point.statistics));
        let samplers = (blocks.iter())
            .map(|&(block, ref natural)| sampler_of(block, natural))
            .collect();
        let mut starts = vec![0];
        for declared in self.declared() {
            let more = declared.count as usize * declared.kind.elements();
            starts.push(starts[starts.len() - 1] + more);
        }
        Answer {
            blocks,
            samplers,
            declared: self.declared(),
            rows: self.local.rows(),
            slots: self.local.slots(&point.messages).to_vec(),
            starts,
        }
    }
}

impl Answer<'_> {
    /// How many numbers all variables are together.
    pub fn len(&self) -> usize {
        self.starts[self.declared.len()]
    }

    /// Whether there are no variables.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The place of a variable's first number among all.
    pub fn place(&self, variable: u32) -> usize {
        let index =
            (self.declared).partition_point(|declared| declared.first + declared.count <= variable);
        let declared = &self.declared[index];
        self.starts[index] + (variable - declared.first) as usize * declared.kind.elements()
    }

    /// Visits the labels that are kept as rows, which [`Answer::beliefs`] leaves out: each with
    /// the probabilities of its states.
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

    /// What q says about each number; labels that are kept as rows have no states here.
    ///
    /// # Errors
    /// Where the fit ended outside the domain.
    pub fn beliefs(&self) -> Result<Beliefs> {
        let is_row =
            |declared: &Declared| self.rows.iter().any(|rows| rows.first == declared.first);
        let mut out = Beliefs {
            declared: (self.declared.iter())
                .map(|declared| {
                    let count = if is_row(declared) {
                        0
                    } else {
                        declared.count as usize
                    };
                    vec![Belief::States(vec![]); count * declared.kind.elements()]
                })
                .collect(),
            firsts: (self.declared.iter())
                .map(|declared| (declared.first, declared.kind.elements()))
                .collect(),
        };
        for (block, natural) in &self.blocks {
            let mut put = |variable: u32, element: usize, belief: Belief| {
                out.put(variable, element, belief);
            };
            let normal = |mean: f64, variance: f64| {
                Belief::Marginal(Marginal::Normal {
                    mean,
                    sd: variance.sqrt(),
                })
            };
            let first = block.variables[0];
            match &block.family {
                BlockFamily::Gaussian(family) => {
                    let (means, variances) = family.marginals(natural)?;
                    let moments = means.into_iter().zip(variances);
                    for (&variable, (mean, variance)) in block.variables.iter().zip(moments) {
                        put(variable, 0, normal(mean, variance));
                    }
                }
                BlockFamily::GaussianGamma(family) => {
                    let found = family.marginals(natural)?;
                    let moments = found.means.iter().zip(&found.variances);
                    for (&variable, (&mean, variance)) in block.variables.iter().zip(moments) {
                        let belief = Marginal::StudentT {
                            mean,
                            scale: (variance * found.rate / found.shape).sqrt(),
                            degrees: 2.0 * found.shape,
                        };
                        put(variable, 0, Belief::Marginal(belief));
                    }
                    let precision = block.variables[block.variables.len() - 1];
                    let (shape, rate) = (found.shape, found.rate);
                    put(
                        precision,
                        0,
                        Belief::Marginal(Marginal::Gamma { shape, rate }),
                    );
                }
                BlockFamily::Bounded(family) => {
                    let (mean, variance) = family.mean_and_variance(natural)?;
                    let sd = variance.sqrt();
                    put(first, 0, Belief::Moments { mean, sd });
                }
                BlockFamily::Gamma(_) => {
                    let (shape, rate) = (natural[0], natural[1]);
                    put(first, 0, Belief::Marginal(Marginal::Gamma { shape, rate }));
                }
                BlockFamily::Wishart(family) => {
                    let ordinary = family.ordinary(natural)?;
                    let entries = entries(ordinary.degrees_of_freedom, &ordinary.scale)?;
                    for (element, belief) in entries.into_iter().enumerate() {
                        put(first, element, belief);
                    }
                }
                BlockFamily::NormalWishart(family) => {
                    let dim = family.dimensions();
                    let ordinary = family.ordinary(natural)?;
                    let freedom = ordinary.degrees_of_freedom;
                    let degrees = freedom - dim as f64 + 1.0;
                    for (element, &mean) in ordinary.means[0].iter().enumerate() {
                        let spread = ordinary.scale[element * (dim + 1)];
                        let scale = (spread / (ordinary.mean_precisions[0] * degrees)).sqrt();
                        let belief = Marginal::StudentT {
                            mean,
                            scale,
                            degrees,
                        };
                        put(first, element, Belief::Marginal(belief));
                    }
                    let entries = entries(freedom, &ordinary.scale)?;
                    for (element, belief) in entries.into_iter().enumerate() {
                        put(first, dim + element, belief);
                    }
                }
                BlockFamily::Dirichlet(_) => {
                    let total: f64 = natural.iter().sum();
                    for (element, &a) in natural.iter().enumerate() {
                        let belief = if natural.len() == 1 {
                            Marginal::Point(1.0)
                        } else {
                            Marginal::Beta { a, b: total - a }
                        };
                        put(first, element, Belief::Marginal(belief));
                    }
                }
                BlockFamily::Label(_) => {
                    let mut mean = vec![0.0; natural.len()];
                    block.evaluate(natural, &mut mean)?;
                    put(first, 0, Belief::States(mean));
                }
                BlockFamily::Network(family, _) => {
                    let marginals = family.marginals(natural)?;
                    for (&variable, states) in block.variables.iter().zip(marginals) {
                        put(variable, 0, Belief::States(states));
                    }
                }
            }
        }
        Ok(out)
    }

    /// Draws all numbers from q; labels are states counted from 0.
    ///
    /// # Errors
    /// Where the fit ended outside the domain.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R, out: &mut [f64]) -> Result<()> {
        self.draw_blocks(rng, out)?;
        self.draw_labels(rng, out)
    }

    /// Draws the labels that are kept as rows, and leaves the other numbers alone.
    ///
    /// # Errors
    /// Where the fit ended outside the domain.
    pub fn draw_labels<R: Rng + ?Sized>(&self, rng: &mut R, out: &mut [f64]) -> Result<()> {
        let places = |variable| self.place(variable);
        for rows in self.rows {
            rows.responsibilities(&self.slots, |row, states| {
                let mut left: f64 = rng.random();
                let state = states.iter().position(|p| {
                    left -= p;
                    left < 0.0
                });
                let last = states.len() - 1;
                out[places(rows.first + row as u32)] = state.unwrap_or(last) as f64;
            })?;
        }
        Ok(())
    }

    /// Draws all numbers but labels that are kept as rows.
    ///
    /// # Errors
    /// Where the fit ended outside the domain.
    pub fn draw_blocks<R: Rng + ?Sized>(&self, rng: &mut R, out: &mut [f64]) -> Result<()> {
        for block in 0..self.blocks.len() {
            self.draw_block(block, rng, out)?;
        }
        Ok(())
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
        let first = self.place(block.variables[0]);
        let mut put = |values: &[f64]| out[first..first + values.len()].copy_from_slice(values);
        match &block.family {
            BlockFamily::Gaussian(family) => {
                let draw = match &self.samplers[index] {
                    Some(sampler) => sampler.draw(rng),
                    None => family.sample(natural, rng)?,
                };
                for (&variable, value) in block.variables.iter().zip(draw) {
                    out[self.place(variable)] = value;
                }
            }
            BlockFamily::GaussianGamma(family) => {
                let draw = family.sample(natural, rng)?;
                let values = draw.values.iter().copied().chain([draw.ln_precision.exp()]);
                for (&variable, value) in block.variables.iter().zip(values) {
                    out[self.place(variable)] = value;
                }
            }
            BlockFamily::Bounded(family) => put(&[family.sample(natural, rng)?]),
            BlockFamily::Gamma(family) => put(&[family.sample(natural, rng)?.value]),
            BlockFamily::Wishart(family) => put(&family.sample(natural, rng)?.precision),
            BlockFamily::NormalWishart(family) => {
                let mut draw = family.sample(natural, rng)?;
                let mut values = draw.means.swap_remove(0);
                values.append(&mut draw.precision);
                put(&values);
            }
            BlockFamily::Dirichlet(family) => {
                let mut draw = family.sample(natural, rng)?;
                for ln in &mut draw {
                    *ln = ln.exp();
                }
                put(&draw);
            }
            BlockFamily::Label(family) => put(&[family.sample(natural, rng)? as f64]),
            BlockFamily::Network(family, _) => {
                let draw = family.sample(natural, rng)?;
                for (&variable, state) in block.variables.iter().zip(draw) {
                    out[self.place(variable)] = f64::from(state);
                }
            }
        }
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
}

fn sampler_of<'a>(block: &'a Block, natural: &[f64]) -> Option<GaussianSampler<'a>> {
    match &block.family {
        BlockFamily::Gaussian(family) => family.sampler(natural).ok(),
        _ => None,
    }
}

/// Beliefs about the entries of a Wishart matrix, row by row.
fn entries(freedom: f64, scale: &[f64]) -> Result<Vec<Belief>> {
    let dim = scale.len().isqrt();
    let inverse = nalgebra::DMatrix::from_row_slice(dim, dim, scale)
        .try_inverse()
        .ok_or_else(|| {
            collapsar_core::Error::domain(
                "Wishart block",
                "a singular scale",
                "one that can be inverted",
            )
        })?;
    let mut beliefs = Vec::with_capacity(scale.len());
    for row in 0..dim {
        for column in 0..dim {
            let entry = inverse[(row, column)];
            beliefs.push(if row == column {
                // Λ_ii is V_ii times a chi-square variable.
                Belief::Marginal(Marginal::Gamma {
                    shape: 0.5 * freedom,
                    rate: 0.5 / entry,
                })
            } else {
                let spread = entry * entry + inverse[(row, row)] * inverse[(column, column)];
                Belief::Moments {
                    mean: freedom * entry,
                    sd: (freedom * spread).sqrt(),
                }
            });
        }
    }
    Ok(beliefs)
}
