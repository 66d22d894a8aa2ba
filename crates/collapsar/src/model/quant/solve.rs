//! All components, each by its own means, in parallel.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::dense::{Climbed, climb};
use super::prior;
use super::reads::Reads;
use super::search::absences;
use super::settings::{Prior, Settings};
use super::{Quant, constant};
use crate::direction::Direction;
use crate::driver::{Driver, Fit, Outcome, Stop};
use crate::error::Result;
use crate::kernel::gamma::digamma_in_place;
use crate::special::ln_gamma;

/// VBEM's steps before the first of Newton's: they choose between optima.
const PLAIN: u64 = 5;
/// The same, from where a nearby prior ended.
const PLAIN_AGAIN: u64 = 1;
/// While the prior is learned, components rest at this gain.
const COARSE: f64 = 1e-4;
/// A prior that moves by less than this part of itself is learned.
const SETTLED: f64 = 1e-3;
/// Rounds of climbs and better priors; ten do for the data at hand.
const ROUNDS: usize = 50;
/// The limit of `auto` on a large component.
const MOST_ITERATIONS: u64 = 10_000;

/// A solution: Dirichlet parameters are `alpha` plus the expected counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantified {
    /// The prior of each transcript.
    pub alpha: f64,
    /// The collapsed bound on the log evidence.
    pub bound: f64,
    /// What the alignments that were cut could add to it, at most (maths §8.4).
    pub cut_error: f64,
    /// The most iterations that a component took.
    pub iterations: u64,
    /// Passes over the data, metrics included, each component's by its fraction of all weights.
    pub passes: f64,
    /// Components that were still rising when their iterations were up.
    pub unfinished: usize,
    /// Whether the run was stopped from outside.
    pub interrupted: bool,
    /// Expected counts by place.
    pub(super) counts: Vec<f64>,
}

impl Quantified {
    /// The expected number of reads of each transcript, in the order of the input.
    pub fn counts(&self, reads: &Reads) -> Vec<f64> {
        reads.by_transcript(&self.counts)
    }

    /// The end of a run of a [`Driver`] on [`Quant::whole`].
    pub fn of_fit(reads: &Reads, alpha: f64, fit: &Fit) -> Self {
        Self {
            alpha,
            bound: fit.point.bound,
            cut_error: cut_error(reads, alpha, &fit.point.statistics),
            iterations: fit.iterations,
            passes: fit.passes as f64,
            unfinished: usize::from(!fit.outcome.converged()),
            interrupted: fit.outcome == Outcome::Interrupted,
            counts: fit.point.statistics.clone(),
        }
    }
}

/// Solves a quantification.
#[derive(Debug)]
pub struct Solver<'a> {
    reads: &'a Reads,
    settings: Settings,
    interrupt: Option<&'a AtomicBool>,
}

/// How the components are climbed in one round.
#[derive(Clone, Copy)]
struct Way {
    tolerance: f64,
    plain: u64,
    search: bool,
}

/// How the climb of a component ended.
struct End {
    bound: f64,
    converged: bool,
    iterations: u64,
    passes: u64,
}

/// The state of the climbs, and what they have cost.
struct State {
    alpha: f64,
    messages: Vec<f64>,
    counts: Vec<f64>,
    /// The sum over components.
    bound: f64,
    iterations: u64,
    passes: f64,
    unfinished: usize,
    interrupted: bool,
}

impl<'a> Solver<'a> {
    /// A solver of `reads`.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] where a setting is out of range.
    pub fn new(reads: &'a Reads, settings: &Settings) -> Result<Self> {
        settings.check()?;
        Ok(Self {
            reads,
            settings: *settings,
            interrupt: None,
        })
    }

    /// Stops between components once `flag` is set.
    #[must_use]
    pub fn interrupt(mut self, flag: &'a AtomicBool) -> Self {
        self.interrupt = Some(flag);
        self
    }

    /// Solves every component.
    ///
    /// # Errors
    /// Where a component's bound is not a number.
    pub fn run(&self) -> Result<Quantified> {
        let Settings {
            prior,
            tolerance,
            search,
            ..
        } = self.settings;
        let first = match prior {
            Prior::Given(alpha) => alpha,
            Prior::Learned => prior::FIRST,
        };
        let mut state = State::new(self.reads, first);
        if prior == Prior::Learned {
            self.learn(&mut state, PLAIN)?;
            if search {
                self.round(
                    &mut state,
                    Way {
                        tolerance: COARSE,
                        plain: PLAIN_AGAIN,
                        search,
                    },
                )?;
                self.learn(&mut state, PLAIN_AGAIN)?;
            }
            self.round(
                &mut state,
                Way {
                    tolerance,
                    plain: PLAIN_AGAIN,
                    search: false,
                },
            )?;
        } else {
            self.round(
                &mut state,
                Way {
                    tolerance,
                    plain: PLAIN,
                    search,
                },
            )?;
        }
        Ok(self.gather(state))
    }

    /// Climbs and raises the prior in turn until it rests.
    fn learn(&self, state: &mut State, mut plain: u64) -> Result<()> {
        for _ in 0..ROUNDS {
            let way = Way {
                tolerance: COARSE,
                plain,
                search: false,
            };
            self.round(state, way)?;
            if state.interrupted {
                break;
            }
            plain = PLAIN_AGAIN;
            let before = state.alpha;
            state.alpha = prior::better(before, self.reads.transcripts(), &state.counts);
            if (state.alpha / before).ln().abs() < SETTLED {
                break;
            }
        }
        Ok(())
    }

    /// Climbs all components from where they state.
    fn round(&self, state: &mut State, way: Way) -> Result<()> {
        let reads = self.reads;
        if state.interrupted {
            return Ok(());
        }
        // Each writes its end where it stood: kept until all are done, ends are most of what a
        // run holds beside its reads.
        let (mut messages, mut counts) = (&mut state.messages[..], &mut state.counts[..]);
        let mut places = Vec::with_capacity(reads.components.len());
        for component in &reads.components {
            let size = component.places.len();
            places.push((
                messages.split_off_mut(..size).unwrap_or_default(),
                counts.split_off_mut(..size).unwrap_or_default(),
            ));
        }
        let alpha = state.alpha;
        let ends = (places.into_par_iter().enumerate())
            .with_max_len(1)
            .map(|(index, (messages, counts))| {
                let end = self.climb(index, alpha, messages, way)?;
                Ok(end.map(|end| {
                    messages.copy_from_slice(&end.point.messages);
                    counts.copy_from_slice(&end.point.statistics);
                    End {
                        bound: end.point.bound,
                        converged: end.converged,
                        iterations: end.iterations,
                        passes: end.passes,
                    }
                }))
            })
            .collect::<Result<Vec<Option<End>>>>()?;
        state.bound = 0.0;
        state.unfinished = 0;
        let mut most = 0;
        for (component, end) in reads.components.iter().zip(ends) {
            let Some(end) = end else {
                state.interrupted = true;
                continue;
            };
            state.bound += end.bound;
            state.unfinished += usize::from(!end.converged);
            most = most.max(end.iterations);
            let entries = reads.starts[component.rows.end] - reads.starts[component.rows.start];
            state.passes += end.passes as f64 * f64::from(entries) / reads.entries() as f64;
        }
        state.iterations += most;
        Ok(())
    }

    /// Climbs one component; `None` once the run is interrupted.
    fn climb(
        &self,
        index: usize,
        alpha: f64,
        messages: &[f64],
        way: Way,
    ) -> Result<Option<Climbed>> {
        if self
            .interrupt
            .is_some_and(|flag| flag.load(Ordering::Relaxed))
        {
            return Ok(None);
        }
        let model = Quant::component(self.reads, alpha, index);
        let start = messages.to_vec();
        if start.len() <= self.settings.dense {
            let end = climb(&model, start, way.tolerance, way.plain)?;
            return if way.search && alpha < 1.0 {
                absences(&model, end, way.tolerance).map(Some)
            } else {
                Ok(Some(end))
            };
        }
        let mut driver = Driver::new(&model, Direction::Auto)
            .stop(Stop::Gain(way.tolerance) | Stop::Iterations(MOST_ITERATIONS));
        if let Some(flag) = self.interrupt {
            driver = driver.interrupt(flag);
        }
        let fit = driver.run(start)?;
        Ok((fit.outcome != Outcome::Interrupted).then(|| Climbed {
            converged: fit.outcome.converged(),
            iterations: fit.iterations,
            passes: fit.passes,
            point: fit.point,
        }))
    }

    fn gather(&self, state: State) -> Quantified {
        let State {
            alpha,
            counts,
            bound,
            iterations,
            passes,
            unfinished,
            interrupted,
            ..
        } = state;
        let reads = self.reads;
        // Transcripts that share no read keep the prior and reads of their own.
        let mut own: Vec<f64> = counts[reads.shared()..]
            .iter()
            .filter(|&&count| count > 0.0)
            .map(|count| count + alpha)
            .collect();
        let alone = digamma_in_place(&mut own) - own.len() as f64 * ln_gamma(alpha);
        Quantified {
            alpha,
            bound: bound + alone + constant(reads, alpha),
            cut_error: cut_error(reads, alpha, &counts),
            iterations,
            passes,
            unfinished,
            interrupted,
            counts,
        }
    }
}

impl State {
    fn new(reads: &Reads, alpha: f64) -> Self {
        Self {
            alpha,
            messages: vec![0.0; reads.transcripts()],
            counts: reads.unique.clone(),
            bound: 0.0,
            iterations: 0,
            passes: 0.0,
            unfinished: 0,
            interrupted: false,
        }
    }
}

/// The sum over reads of the probability that all cut alignments would have, had each of them the
/// largest message of all.
fn cut_error(reads: &Reads, alpha: f64, counts: &[f64]) -> f64 {
    let mut messages: Vec<f64> = counts.iter().map(|count| count + alpha).collect();
    digamma_in_place(&mut messages);
    let largest = messages.iter().copied().fold(f64::MIN, f64::max);
    let shared: f64 = (reads.components.iter())
        .map(|component| {
            let local = super::Local::new(reads, component);
            local.cut(&messages[component.places.clone()], largest)
        })
        .sum();
    let unique = reads.unique_cut.iter().zip(&messages);
    shared
        + unique
            .map(|(cut, message)| cut * (largest - message).exp())
            .sum::<f64>()
}
