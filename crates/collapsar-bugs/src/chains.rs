//! Decides how exact draws are made: Markov chains that begin at the fit, and what they tell of each number.

use std::sync::atomic::{AtomicBool, Ordering};

use collapsar::Point;
use collapsar::diagnostics::ChainSummary;
use collapsar::graph::{Chain, Compiled, LeapingChain, Relabelling, SwitchingChain};
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
    /// The models, each with the states that are given in it.
    pub models: Vec<(&'a Compiled, &'a [u32])>,
    /// Numbers that each chain begins at, laid out as those of [`collapsar::graph::Chain::numbers`].
    pub begin: Vec<Vec<f64>>,
}

/// A chain of one model, or of one for each state of some labels.
enum Moving<'a> {
    One(Box<LeapingChain<'a>>),
    Several(Box<SwitchingChain<'a>>),
}

/// A chain that leaps after so many sweeps, given what is looked at by the place of each variable's first number.
fn leaping<'a>(
    chain: Chain<'a>,
    warmup: usize,
    seen: impl Fn(&dyn Fn(u32) -> usize) -> Vec<usize>,
) -> Moving<'a> {
    let seen = seen(&|variable| chain.place(variable));
    Moving::One(Box::new(LeapingChain::new(chain, warmup, &seen)))
}

impl Moving<'_> {
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
        interrupt: &AtomicBool,
    ) -> Result<Option<ChainDraws>, PosteriorError> {
        let needed = Dependencies::of(self, quantities);
        // Numbers to begin at are those of several fits, none of which says how states are called.
        let names = match start {
            ChainStart::Point(point) => {
                Relabelling::new(self.graph(), &compiled.variational_posterior(point))?
            }
            ChainStart::States(_) => Relabelling::default(),
        };
        let run = |chain: usize| -> collapsar::Result<Run> {
            let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
            rng.set_stream(1 + chain as u64);
            let warmup = options.warmup;
            let seen = |place: &dyn Fn(u32) -> usize| {
                let mut seen = needed.places(place);
                seen.extend(names.places());
                seen
            };
            let mut state = match start {
                ChainStart::Point(point) => leaping(compiled.chain(point, &mut rng)?, warmup, seen),
                ChainStart::States(of) => {
                    let begin = &of.begin[chain];
                    match SwitchingChain::new(&of.models, &of.labels, begin, &mut rng)? {
                        Some(chain) => Moving::Several(Box::new(chain)),
                        None => leaping(compiled.chain_at(begin, &mut rng)?, warmup, seen),
                    }
                }
            };
            let places = needed.places(|variable| state.place(variable));
            let mut columns = vec![Vec::with_capacity(options.draws); places.len()];
            let (mut named, mut relabelled) = (vec![], vec![]);
            let mut drawn = 0;
            for sweep in 0..options.warmup + options.draws {
                if interrupt.load(Ordering::Relaxed) {
                    break;
                }
                state.sweep(&mut rng)?;
                if sweep >= options.warmup {
                    let mut numbers = state.numbers();
                    if !names.is_empty() {
                        named.clear();
                        named.extend_from_slice(numbers);
                        relabelled.push(names.apply(&mut named));
                        numbers = &named;
                    }
                    drawn += 1;
                    for (column, &place) in columns.iter_mut().zip(&places) {
                        column.push(numbers[place]);
                    }
                }
            }
            Ok((drawn, columns, relabelled))
        };
        let chains: Vec<_> = (0..options.chains).into_par_iter().map(run).collect();
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
            let drawn = Drawn::new(self, &needed, columns, random, 0..length)?;
            out.push(drawn.values(quantities)?);
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
