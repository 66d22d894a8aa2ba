//! All components, each by its own means, in parallel.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::reads::Reads;
use super::search::absences;
use super::settings::{Prior, RANGE, Settings};
use super::{Quant, constant};
use collapsar_core::elementary::Elementary;
use collapsar_core::kernel::gamma::digamma_in_place;
use collapsar_core::special::{digamma, ln_gamma};
use collapsar_core::{Direction, Driver, Fit, Outcome, Result, Stop};

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
/// The limit of Newton's steps on a small component: none of the data at hand takes a fifth of it.
const MOST_DENSE: u64 = 500;
/// The limit of `auto` on a large component.
const MOST_ITERATIONS: u64 = 10_000;

/// Where a learned prior begins; a coarse look at chr19 of 0.001 to 1 has its best at 0.05.
const FIRST_PRIOR: f64 = 0.1;
/// Counts below this are as good as none, and none say nothing about the prior.
const NOTHING: f64 = 1e-9;
/// Steps of the fixed point for given counts.
const PRIOR_STEPS: usize = 20;

/// A solution: Dirichlet parameters are `alpha` plus the expected counts.
#[derive(Debug, Clone, PartialEq, Default)]
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
        let (prior, search) = (self.settings.prior, self.settings.search);
        let tolerance = self.settings.tolerance;
        let mut messages = vec![0.0; self.reads.transcripts()];
        let mut state = Quantified {
            alpha: match prior {
                Prior::Given(alpha) => alpha,
                Prior::Learned => FIRST_PRIOR,
            },
            counts: self.reads.unique.clone(),
            ..Quantified::default()
        };
        if prior == Prior::Learned {
            self.learn(&mut state, &mut messages, PLAIN)?;
            if search {
                self.round(&mut state, &mut messages, COARSE, PLAIN_AGAIN, true)?;
                self.learn(&mut state, &mut messages, PLAIN_AGAIN)?;
            }
            self.round(&mut state, &mut messages, tolerance, PLAIN_AGAIN, false)?;
        } else {
            self.round(&mut state, &mut messages, tolerance, PLAIN, search)?;
        }
        self.complete(&mut state);
        Ok(state)
    }

    /// Climbs and raises the prior in turn until it rests.
    fn learn(&self, state: &mut Quantified, messages: &mut [f64], mut plain: u64) -> Result<()> {
        for _ in 0..ROUNDS {
            self.round(state, messages, COARSE, plain, false)?;
            if state.interrupted {
                break;
            }
            plain = PLAIN_AGAIN;
            let before = state.alpha;
            state.alpha = better_prior(before, self.reads.transcripts(), &state.counts);
            if (state.alpha / before).ln_().abs() < SETTLED {
                break;
            }
        }
        Ok(())
    }

    /// Climbs all components from `messages`, after so many `plain` steps; the bound is then the sum of theirs.
    fn round(
        &self,
        state: &mut Quantified,
        mut messages: &mut [f64],
        tolerance: f64,
        plain: u64,
        search: bool,
    ) -> Result<()> {
        let reads = self.reads;
        if state.interrupted {
            return Ok(());
        }
        // Each writes its end where it stood: kept until all are done, ends are most of what a
        // run holds beside its reads.
        let mut counts = &mut state.counts[..];
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
                let model = Quant::component(reads, alpha, index);
                let end = self.climb(model, messages.to_vec(), tolerance, plain, search)?;
                Ok(end.map(|end| {
                    messages.copy_from_slice(&end.point.messages);
                    counts.copy_from_slice(&end.point.statistics);
                    let converged = end.outcome.converged();
                    (end.point.bound, converged, end.iterations, end.passes)
                }))
            })
            .collect::<Result<Vec<_>>>()?;
        (state.bound, state.unfinished) = (0.0, 0);
        let mut most = 0;
        for (component, end) in reads.components.iter().zip(ends) {
            let Some((bound, converged, iterations, passes)) = end else {
                state.interrupted = true;
                continue;
            };
            state.bound += bound;
            state.unfinished += usize::from(!converged);
            most = most.max(iterations);
            let entries = reads.starts[component.rows.end] - reads.starts[component.rows.start];
            state.passes += passes as f64 * f64::from(entries) / reads.entries() as f64;
        }
        state.iterations += most;
        Ok(())
    }

    /// Climbs one component; `None` once the run is interrupted.
    fn climb(
        &self,
        mut model: Quant<'_>,
        start: Vec<f64>,
        tolerance: f64,
        plain: u64,
        search: bool,
    ) -> Result<Option<Fit>> {
        if (self.interrupt).is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Ok(None);
        }
        if start.len() <= self.settings.dense {
            model.plain_steps = plain;
            let mut end = climb_dense(&model, start, tolerance)?;
            if search && model.posterior.alpha < 1.0 {
                model.plain_steps = 0;
                end = absences(&model, end, tolerance)?;
            }
            return Ok(Some(end));
        }
        let mut driver = Driver::new(&model, Direction::Auto)
            .stop(Stop::Gain(tolerance) | Stop::Iterations(MOST_ITERATIONS));
        if let Some(flag) = self.interrupt {
            driver = driver.interrupt(flag);
        }
        let fit = driver.run(start)?;
        Ok(Some(fit).filter(|fit| fit.outcome != Outcome::Interrupted))
    }

    /// Adds what is beside the components.
    fn complete(&self, state: &mut Quantified) {
        let (reads, alpha) = (self.reads, state.alpha);
        // Transcripts that share no read keep the prior and reads of their own.
        let alone = state.counts[reads.shared()..].iter();
        let mut own: Vec<f64> = (alone.filter(|&&count| count > 0.0))
            .map(|count| count + alpha)
            .collect();
        let alone = digamma_in_place(&mut own) - own.len() as f64 * ln_gamma(alpha);
        state.bound = state.bound + alone + constant(reads, alpha);
        state.cut_error = cut_error(reads, alpha, &state.counts);
    }
}

/// Climbs a component small enough that its metric is a square of numbers (maths §8.5).
pub(super) fn climb_dense(model: &Quant<'_>, start: Vec<f64>, tolerance: f64) -> Result<Fit> {
    Driver::new(model, Direction::Dense)
        .stop(Stop::Gain(tolerance) | Stop::Iterations(MOST_DENSE))
        .run(start)
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
    let unique = unique.map(|(cut, message)| cut * (largest - message).exp_());
    shared + unique.sum::<f64>()
}

/// The prior that makes the bound higher (maths §8.8), for `transcripts` with these expected counts, the
/// rest of which are zero.
fn better_prior(alpha: f64, transcripts: usize, counts: &[f64]) -> f64 {
    let all = transcripts as f64;
    let reads: f64 = counts.iter().sum();
    (0..PRIOR_STEPS).fold(alpha, |alpha, _| {
        let at_prior = digamma(alpha);
        let seen = counts.iter().filter(|&&count| count > NOTHING);
        let apart: f64 = seen.map(|count| digamma(alpha + count) - at_prior).sum();
        let together = all * (digamma(all * alpha + reads) - digamma(all * alpha));
        (alpha * apart / together).clamp(*RANGE.start(), *RANGE.end())
    })
}
