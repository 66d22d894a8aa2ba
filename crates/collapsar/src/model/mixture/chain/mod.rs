//! Decides how exact draws of a mixture are made: Markov chains that begin at the optimum (maths §10.8).
//!
//! - `draws`: what is kept of them, and what they tell

mod draws;

use nalgebra::{Cholesky, DMatrix};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::posterior::{Parameters, pairs};
use super::{Covariance, Mixture, Weights};
use crate::ChainWatch;
use collapsar_core::elementary::Elementary;
use collapsar_core::family::{Dirichlet, Family, StickBreaking};
use collapsar_core::vector::dot;
use collapsar_core::{Collapsed, Error, Point, Potential, Result, assignment};
pub use draws::{MixtureDraws, Number};

/// Products of numbers that a draw may take before it costs more than what is done with it: small data are swept over
/// more than once for each draw.
const WORK: usize = 200_000;
/// Sweeps at most for each draw.
const SWEEPS: usize = 10;
/// Components of the fit with fewer rows than this are nobody's: whether draws exchange them does not matter.
const USED: f64 = 1.0;

/// How many chains there are, and how long they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawOptions {
    /// Chains.
    pub chains: usize,
    /// Draws of each that are not kept, before its first.
    pub warmup: usize,
    /// Draws of each.
    pub draws: usize,
    /// The seed of all of them.
    pub seed: u64,
}

impl Mixture {
    /// Runs Markov chains from an optimum, in parallel; their draws do not depend on the number of threads.
    /// Components are matched to those of the optimum. Nothing where `watch` stopped them.
    ///
    /// # Errors
    /// Where a chain leaves the domain; [`Error::Setting`] where rows have levels, of which nothing is kept.
    pub fn chains(
        &self,
        point: &Point,
        options: DrawOptions,
        watch: &dyn ChainWatch,
    ) -> Result<Option<MixtureDraws>> {
        if self.levels.columns() > 0 {
            let expected = "another posterior where columns are categorical";
            return Err(Error::setting("posterior", "exact", expected));
        }
        let of_all = |draws: usize| (options.chains * draws) as u64;
        watch.begin(of_all(options.warmup), of_all(options.draws));
        let run = |chain: usize| -> Result<Option<(Vec<f64>, usize)>> {
            let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
            rng.set_stream(1 + chain as u64);
            let mut chain = Chain::new(self, point, &mut rng)?;
            let (mut kept, mut relabelled) = (vec![], 0);
            for draw in 0..options.warmup + options.draws {
                for _ in 0..self.sweeps() {
                    if !watch.goes_on() {
                        return Ok(None);
                    }
                    chain.sweep(&mut rng)?;
                }
                let keeps = draw >= options.warmup;
                if keeps {
                    relabelled += usize::from(chain.keep(point, &mut kept));
                }
                watch.draw(keeps);
            }
            Ok(Some((kept, relabelled)))
        };
        let found: Vec<_> = (0..options.chains).into_par_iter().map(run).collect();
        let mut draws = MixtureDraws::new(self);
        for chain in found {
            let Some((kept, relabelled)) = chain? else {
                return Ok(None);
            };
            draws.add(kept, relabelled);
        }
        Ok(Some(draws))
    }

    fn is_used(&self, point: &Point, k: usize) -> bool {
        point.statistics[k * self.local.features()] >= USED
    }

    /// How many sweeps there are for each draw that is kept.
    fn sweeps(&self) -> usize {
        let work = self.rows() * self.components() * self.local.features();
        (WORK / work.max(1)).clamp(1, SWEEPS)
    }

    /// The log weights of draws of q against the evidence (maths §10.5).
    ///
    /// Components that hold less than a row send what they send on the average: the tails of a prior that nothing has
    /// narrowed say nothing of those that are in use. Where there are such, the weights are against less than the evidence.
    ///
    /// # Errors
    /// Where a draw leaves the domain.
    pub fn ln_weights<R: Rng + ?Sized>(
        &self,
        point: &Point,
        draws: usize,
        rng: &mut R,
    ) -> Result<Vec<f64>> {
        let statistics = &point.statistics;
        let mut scratch = vec![0.0; statistics.len()];
        let value = (self.blocks.value_and_gradient(statistics, &mut scratch))? + self.constant;
        let mut drawn = Drawn::new(self);
        let each = (0..draws).map(|_| {
            self.draw(statistics, rng, &mut drawn)?;
            let messages = &mut drawn.messages;
            for k in (0..self.components()).filter(|k| !self.is_used(point, *k)) {
                let own = k * self.local.features()..(k + 1) * self.local.features();
                messages[own.clone()].copy_from_slice(&point.messages[own]);
                if self.levels.columns() > 0 {
                    let own = self.levels.own(k);
                    messages[own.clone()].copy_from_slice(&point.messages[own]);
                }
            }
            let messages = &drawn.messages;
            let local = self.local().value_and_gradient(messages, &mut scratch)?;
            Ok(local - dot(messages, statistics) + value)
        });
        each.collect()
    }

    /// Draws all parameters given statistics of labels.
    fn draw<R: Rng + ?Sized>(
        &self,
        statistics: &[f64],
        rng: &mut R,
        out: &mut Drawn,
    ) -> Result<()> {
        let Drawn {
            messages,
            ln_weights,
            blocks,
        } = out;
        messages.fill(0.0);
        let natural = self.blocks.natural(0, statistics);
        let mut image = vec![0.0; natural.len()];
        match self.weights {
            Weights::Dirichlet => {
                *ln_weights = Dirichlet::new(self.components()).sample(&natural, rng)?;
                image.copy_from_slice(ln_weights);
            }
            Weights::DirichletProcess => {
                let sticks = StickBreaking::new(self.components()).sample(&natural, rng)?;
                image.copy_from_slice(sticks.as_flattened());
                let mut left = 0.0;
                ln_weights.clear();
                for [taken, rest] in sticks {
                    ln_weights.push(left + taken);
                    left += rest;
                }
            }
        }
        self.blocks.pull_back(0, &image, messages);
        blocks.clear();
        for block in 1..self.blocks_of_numbers() {
            let natural = self.blocks.natural(block, statistics);
            image.resize(natural.len(), 0.0);
            blocks.push(match self.parameters {
                Parameters::Nothing => continue,
                Parameters::Full(family) => {
                    let draw = family.sample(&natural, rng)?;
                    family.statistics(&draw, &mut image);
                    (draw.means, draw.precision)
                }
                Parameters::Columns(family) => {
                    let draw = family.sample(&natural, rng)?;
                    family.statistics(&draw, &mut image);
                    (vec![draw.mean], draw.precisions)
                }
                Parameters::Grouped(family) => {
                    let draw = family.sample(&natural, rng)?;
                    family.statistics(&draw, &mut image);
                    (vec![draw.mean], draw.precisions)
                }
            });
            self.blocks.pull_back(block, &image, messages);
        }
        for block in self.blocks_of_numbers()..self.blocks.count() {
            let natural = self.blocks.natural(block, statistics);
            let logs = Dirichlet::new(natural.len()).sample(&natural, rng)?;
            self.blocks.pull_back(block, &logs, messages);
        }
        Ok(())
    }
}

/// Parameters of all components.
struct Drawn {
    /// What they send to the rows.
    messages: Vec<f64>,
    ln_weights: Vec<f64>,
    /// Means and precisions of each block, in standard units.
    blocks: Vec<(Vec<Vec<f64>>, Vec<f64>)>,
}

impl Drawn {
    fn new(model: &Mixture) -> Self {
        Self {
            messages: vec![0.0; model.local.dim()],
            ln_weights: vec![],
            blocks: vec![],
        }
    }
}

/// A chain: statistics of drawn labels, and the parameters that the last of them were drawn by.
struct Chain<'a> {
    model: &'a Mixture,
    labels: Vec<f64>,
    statistics: Vec<f64>,
    drawn: Drawn,
}

impl<'a> Chain<'a> {
    fn new<R: Rng + ?Sized>(model: &'a Mixture, point: &Point, rng: &mut R) -> Result<Self> {
        let mut labels = vec![0.0; model.rows()];
        let statistics = model.local.draw(&point.messages, rng, &mut labels)?;
        Ok(Self {
            model,
            labels,
            statistics,
            drawn: Drawn::new(model),
        })
    }

    /// Parameters given labels, then labels given parameters.
    fn sweep<R: Rng + ?Sized>(&mut self, rng: &mut R) -> Result<()> {
        let model = self.model;
        if model.weights == Weights::DirichletProcess {
            self.exchange(rng)?;
        }
        model.draw(&self.statistics, rng, &mut self.drawn)?;
        self.statistics = (model.local).draw(&self.drawn.messages, rng, &mut self.labels)?;
        Ok(())
    }

    /// Exchanges neighbours in the order of the sticks by Metropolis' rule, all parameters integrated out: only the
    /// weights' prior tells components apart (maths §10.8).
    fn exchange<R: Rng + ?Sized>(&mut self, rng: &mut R) -> Result<()> {
        let (blocks, features) = (&self.model.blocks, self.model.local.features());
        let mut value = blocks.value(0, &self.statistics)?;
        let swap = |statistics: &mut [f64], one: usize, other: usize| {
            let (first, second) = statistics.split_at_mut(other * features);
            let first = &mut first[one * features..(one + 1) * features];
            first.swap_with_slice(&mut second[..features]);
        };
        // Not those that rows are known to be of.
        for pair in self.model.held.free().windows(2) {
            swap(&mut self.statistics, pair[0], pair[1]);
            let exchanged = blocks.value(0, &self.statistics)?;
            if rng.random::<f64>().ln_() < exchanged - value {
                value = exchanged;
            } else {
                swap(&mut self.statistics, pair[0], pair[1]);
            }
        }
        Ok(())
    }

    /// Adds the parameters in the data's units, components in the order of the fit's; whether one of these that is in
    /// use had another place.
    fn keep(&self, point: &Point, kept: &mut Vec<f64>) -> bool {
        let (model, drawn) = (self.model, &self.drawn);
        let (count, columns) = (model.components(), model.columns());
        let features = model.local.features();
        // maths §10.8: the expected log joint of the fit's component in each drawn one. What rows are known to be of is
        // matched already.
        let free = model.held.free();
        let own = |all: &'_ [f64], k: usize| all[k * features..(k + 1) * features].to_vec();
        let sent: Vec<Vec<f64>> = free.iter().map(|&k| own(&drawn.messages, k)).collect();
        let mut costs = Vec::with_capacity(free.len() * free.len());
        for &k in &free {
            let of = own(&point.statistics, k);
            costs.extend(sent.iter().map(|sent| -dot(sent, &of)));
        }
        let mut order: Vec<usize> = (0..count).collect();
        for (&place, other) in free.iter().zip(assignment(&costs, free.len())) {
            order[place] = free[other];
        }
        kept.extend(order.iter().map(|&k| drawn.ln_weights[k].exp_()));
        let place = |k: usize| match model.covariance {
            Covariance::Tied => (0, k),
            _ => (k, 0),
        };
        for &k in &order {
            let (block, which) = place(k);
            let mean = &drawn.blocks[block].0[which];
            kept.extend((0..columns).map(|d| model.shift[d] + model.scale[d] * mean[d]));
        }
        for &k in &order {
            model.covariance(&drawn.blocks[place(k).0].1, kept);
        }
        let moved = order.iter().enumerate().filter(|(place, k)| place != *k);
        moved
            .into_iter()
            .any(|(place, _)| model.is_used(point, place))
    }
}

impl Mixture {
    /// Adds what the inverse of drawn precisions is in the data's units: the upper triangle, the diagonal or the one
    /// variance.
    fn covariance(&self, precisions: &[f64], out: &mut Vec<f64>) {
        let unit = &self.scale;
        let mut grouped = |size: usize| {
            let each = precisions.iter().enumerate();
            out.extend(each.map(|(group, precision)| {
                let unit = unit[group * size];
                unit * unit / precision
            }));
        };
        match self.parameters {
            Parameters::Nothing => {}
            Parameters::Grouped(family) => grouped(family.size),
            Parameters::Columns(family) => grouped(family.size),
            Parameters::Full(_) => {
                let columns = self.columns();
                let precision = DMatrix::from_row_slice(columns, columns, precisions);
                let inverse = Cholesky::new(precision).map(|factor| factor.inverse());
                // So nearly singular that digits do not tell: as wide as can be without overflow.
                let entry = |(i, j)| inverse.as_ref().map_or(1e150, |inverse| inverse[(i, j)]);
                out.extend(pairs(columns).map(|(i, j)| entry((i, j)) * unit[i] * unit[j]));
            }
        }
    }
}
