//! Decides how exact draws are made: Markov chains that begin at the fit, and what they tell of each number.

use collapsar::diagnostics::ChainSummary;
use collapsar::graph::{Chain, Compiled, LeapingChain, Relabelling, Stage, SwitchingChain};
use collapsar::{ChainWatch, Point};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::draws::{Dependencies, Drawn};
use crate::lower::Prepared;
use crate::posterior::{PosteriorError, Summary};
use crate::quantity::Quantity;

/// How many chains there are, and how long they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainOptions {
    /// Chains.
    pub chains: usize,
    /// Sweeps of each before its first draw.
    pub warmup: usize,
    /// Draws of each, one a sweep.
    pub draws: usize,
    /// The seed of all of them.
    pub seed: u64,
}

/// Where chains begin.
#[derive(Debug, Clone, Copy)]
pub enum ChainStart<'a> {
    /// Each at a draw of the q of this point.
    Point(&'a Point),
    /// Each at numbers of its own, where labels are enumerated.
    States(&'a ChainStates<'a>),
}

/// A model for each of the states of labels that are enumerated.
#[derive(Debug)]
pub struct ChainStates<'a> {
    /// The labels.
    pub labels: Vec<u32>,
    /// Of each label, whether its states are nodes of a grid.
    pub on_grid: Vec<bool>,
    /// The models, each with the states that are given in it, and its fit.
    pub models: Vec<(&'a Compiled, &'a [u32], Point)>,
    /// Numbers that each chain begins at, laid out as those of [`collapsar::graph::Chain::numbers`].
    pub begin: Vec<Vec<f64>>,
}

/// A chain of one model, or of one for each state of some labels.
enum Moving<'a> {
    One(Box<LeapingChain<'a>>),
    Several(Box<SwitchingChain<'a>>),
}

impl<'a> Moving<'a> {
    /// A chain of one model, with the places of all numbers that are looked at and whether states of labels are alike.
    fn one(chain: Chain<'a>, seen: impl Fn(&Chain<'a>) -> (Vec<usize>, bool)) -> Self {
        let (seen, alike) = seen(&chain);
        Self::One(Box::new(LeapingChain::new(chain, &seen, alike)))
    }

    /// The chain, where it is of one model.
    fn single(&mut self) -> Option<&mut LeapingChain<'a>> {
        match self {
            Self::One(chain) => Some(chain),
            Self::Several(_) => None,
        }
    }

    /// So many sweeps before the first draw.
    fn warm_up(
        &mut self,
        sweeps: usize,
        rng: &mut ChaCha8Rng,
        goes_on: impl Fn() -> bool,
    ) -> collapsar::Result<()> {
        match self {
            Self::One(chain) => chain.warm_up(sweeps, rng, goes_on),
            Self::Several(chain) => {
                let mut left = sweeps;
                while left > 0 && goes_on() {
                    chain.sweep(rng)?;
                    left -= 1;
                }
                Ok(())
            }
        }
    }

    fn sweep(&mut self, rng: &mut ChaCha8Rng) -> collapsar::Result<()> {
        match self {
            Self::One(chain) => chain.sweep(rng),
            Self::Several(chain) => chain.sweep(rng),
        }
    }

    fn numbers(&self) -> &[f64] {
        match self {
            Self::One(chain) => chain.numbers(),
            Self::Several(chain) => chain.numbers(),
        }
    }

    fn place(&self, variable: u32) -> usize {
        match self {
            Self::One(chain) => chain.place(variable),
            Self::Several(chain) => chain.place(variable),
        }
    }
}

/// Draws of quantities.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainDraws {
    /// By chain, then by quantity.
    pub chains: Vec<Vec<Vec<f64>>>,
    /// How many draws had the states of exchangeable labels renamed, so that they are called as the fit calls them;
    /// none where there are no such labels.
    pub relabelled: Option<usize>,
    /// Whether these are all draws that were asked for: an interrupt keeps what chains had drawn by then, as many of
    /// each, without those that had hardly begun.
    pub complete: bool,
}

/// Draws of each chain that an interrupt must leave: fewer have no effective sample size.
const FEWEST: usize = 10;

/// What the draws of one number tell, and how far that may be off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChainEstimate {
    /// Mean, deviation and quantiles.
    pub summary: Summary,
    /// How well chains agree and how much their draws are worth; nothing where draws are all the same.
    pub diagnostics: Option<ChainSummary>,
}

/// How many draws a chain made, a column for each number, and which draws had states of labels renamed.
type Run = (usize, Vec<Vec<f64>>, Vec<bool>);

impl Prepared {
    /// Runs Markov chains, in parallel; their draws do not depend on the number of threads.
    ///
    /// # Errors
    /// Where a chain leaves the domain or a line cannot be computed. `None` where it was interrupted before there was
    /// something to keep.
    pub fn chains(
        &self,
        compiled: &Compiled,
        start: ChainStart<'_>,
        quantities: &[Quantity],
        options: ChainOptions,
        watch: &dyn ChainWatch,
    ) -> Result<Option<ChainDraws>, PosteriorError> {
        let needed = Dependencies::of(self, quantities);
        // Numbers to begin at are those of several fits, none of which says how states are called.
        let names = match start {
            ChainStart::Point(point) => {
                Relabelling::new(self.graph(), &compiled.variational_posterior(point))?
            }
            ChainStart::States(_) => Relabelling::default(),
        };
        let of_all = |sweeps: usize| (options.chains * sweeps) as u64;
        watch.begin(of_all(options.warmup), of_all(options.draws));
        // Asked before each sweep of the warm-up.
        let goes_on = || {
            let goes_on = watch.goes_on();
            if goes_on {
                watch.draw(false);
            }
            goes_on
        };
        let begin = |chain: usize| -> collapsar::Result<(Moving<'_>, ChaCha8Rng)> {
            let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
            rng.set_stream(1 + chain as u64);
            let one = |chain: &Chain<'_>| {
                let mut seen = needed.places(|variable| chain.place(variable));
                seen.extend(names.places());
                (seen, !names.is_empty())
            };
            let state = match start {
                ChainStart::Point(point) => Moving::one(compiled.chain(point, &mut rng)?, one),
                ChainStart::States(of) => {
                    let begin = &of.begin[chain];
                    let models = of.models.iter();
                    let models: Vec<_> = models.map(|(of, at, fit)| (*of, *at, fit)).collect();
                    match SwitchingChain::new(&models, (&of.labels, &of.on_grid), begin, &mut rng)?
                    {
                        Some(chain) => Moving::Several(Box::new(chain)),
                        None => Moving::one(compiled.chain_at(begin, &mut rng)?, one),
                    }
                }
            };
            Ok((state, rng))
        };
        let chains: Vec<_> = (0..options.chains).into_par_iter().map(begin).collect();
        let mut chains: Vec<(Moving<'_>, ChaCha8Rng)> =
            chains.into_iter().collect::<collapsar::Result<_>>()?;
        for (stage, sweeps) in Stage::all(options.warmup) {
            let warm =
                |(chain, rng): &mut (Moving<'_>, ChaCha8Rng)| chain.warm_up(sweeps, rng, goes_on);
            let warm: Vec<_> = chains.par_iter_mut().map(warm).collect();
            warm.into_iter().collect::<collapsar::Result<()>>()?;
            let mut single: Vec<_> = (chains.iter_mut())
                .filter_map(|(chain, rng)| Some((chain.single()?, rng)))
                .collect();
            LeapingChain::learn(stage, &mut single)?;
        }
        let run = |(mut state, mut rng): (Moving<'_>, ChaCha8Rng)| -> collapsar::Result<Run> {
            let places = needed.places(|variable| state.place(variable));
            let mut columns = vec![Vec::with_capacity(options.draws); places.len()];
            let (mut named, mut relabelled) = (vec![], vec![]);
            let mut drawn = 0;
            while drawn < options.draws && watch.goes_on() {
                state.sweep(&mut rng)?;
                let mut numbers = state.numbers();
                if !names.is_empty() {
                    named.clear();
                    named.extend_from_slice(numbers);
                    relabelled.push(names.apply(&mut named));
                    numbers = &named;
                }
                drawn += 1;
                watch.draw(true);
                for (column, &place) in columns.iter_mut().zip(&places) {
                    column.push(numbers[place]);
                }
            }
            Ok((drawn, columns, relabelled))
        };
        let chains: Vec<_> = chains.into_par_iter().map(run).collect();
        let chains: Vec<Run> = chains.into_iter().collect::<collapsar::Result<_>>()?;
        let complete = chains.iter().all(|run| run.0 == options.draws);
        // Those that were interrupted before they had anything to tell are left out.
        let enough = |(_, run): &(usize, Run)| run.0 >= FEWEST.min(options.draws);
        let chains: Vec<(usize, Run)> = chains.into_iter().enumerate().filter(enough).collect();
        let Some(length) = chains.iter().map(|(_, run)| run.0).min() else {
            return Ok(None);
        };
        let (mut out, mut relabelled) = (vec![], 0);
        for (chain, (_, mut columns, renamed)) in chains {
            for column in &mut columns {
                column.truncate(length);
            }
            let renamed = renamed.iter().take(length).filter(|renamed| **renamed);
            relabelled += renamed.count();
            let seed = ChaCha8Rng::seed_from_u64(options.seed ^ ((chain as u64 + 1) << 32));
            let mut predicted = vec![None; needed.predictions()];
            let random = (&seed, predicted.as_mut_slice());
            let drawn = Drawn::new(self, &needed, columns, random, 0..length);
            out.push(drawn.values(quantities));
        }
        Ok(Some(ChainDraws {
            chains: out,
            relabelled: (!names.is_empty()).then_some(relabelled),
            complete,
        }))
    }
}

impl ChainDraws {
    /// What the draws of each quantity tell.
    pub fn estimates(&self) -> Vec<ChainEstimate> {
        let quantities = self.chains.first().map_or(0, Vec::len);
        let estimate = |quantity: usize| {
            let chains: Vec<&[f64]> = self.chains.iter().map(|c| c[quantity].as_slice()).collect();
            let told = ChainSummary::with_quantiles(&chains, |quantile| {
                Summary::of_chains(&chains, quantile)
            });
            match told {
                Some((diagnostics, summary)) => ChainEstimate {
                    summary,
                    diagnostics: Some(diagnostics),
                },
                // Draws of which there are too few, or that are not finite.
                None => ChainEstimate {
                    summary: Summary::of_draws(&mut chains.concat()),
                    diagnostics: None,
                },
            }
        };
        (0..quantities).into_par_iter().map(estimate).collect()
    }
}
