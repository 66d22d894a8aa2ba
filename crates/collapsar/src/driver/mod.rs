//! The loop: safety, stopping, observers and checkpoints.
//!
//! - `point`: a point of the climb and the counted ways to look at the model there
//! - `stop`: when to stop
//! - `checkpoint`: how a run is written down and taken up again
//! - `restart`: many starts, the best kept
//! - `search`: jumps out of poor optima

mod checkpoint;
mod point;
mod restart;
mod search;
mod stop;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::collapsed::{Collapsed, Potential};
use crate::direction::{Direction, Rule};
use crate::error::{Error, Place, Result};
use crate::vector::dot_difference;
use search::{Search, Verdict};

pub use checkpoint::Checkpoint;
pub use point::Point;
pub(crate) use point::{Evaluator, Geometry};
pub use restart::Restarts;
pub use search::{Jump, Jumps};
pub use stop::Stop;

/// One accepted move: the same record in the trace, the progress line and Python.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Accepted steps so far.
    pub iteration: u64,
    /// Passes over the data so far, metric products included.
    pub passes: u64,
    /// The bound after the step.
    pub bound: f64,
    /// By how much the step raised it.
    pub gain: f64,
    /// Fisher norm of the gradient before the step, squared: exact where the rule computes it,
    /// for other steps along the gradient the average over the step, else absent.
    pub squared_norm: Option<f64>,
    /// The share of the previous direction, for conjugate rules.
    pub beta: Option<f64>,
    /// Whether the proposed direction lowered the bound and the VBEM step was taken instead.
    pub fell_back: bool,
    /// Whether the step belongs to the trial of a jump, which may end below the bound so far.
    pub trial: bool,
    /// Seconds since the run began.
    pub seconds: f64,
}

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A rule that means convergence holds.
    Converged(Stop),
    /// No step raises the bound in floating-point arithmetic: stationary to working precision.
    Stationary,
    /// A limit was reached first.
    Exhausted(Stop),
    /// An observer or the interrupt flag asked to stop.
    Interrupted,
}

impl Outcome {
    /// Whether the run ended at a stationary point.
    pub fn converged(&self) -> bool {
        matches!(self, Self::Converged(_) | Self::Stationary)
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Converged(stop) => write!(f, "{stop}"),
            Self::Stationary => write!(f, "stationary to working precision"),
            Self::Exhausted(stop) => write!(f, "stopped after {stop}"),
            Self::Interrupted => write!(f, "interrupted"),
        }
    }
}

/// Where a run ended and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// The last point: messages, statistics, gradient and bound.
    pub point: Point,
    /// Why the run ended.
    pub outcome: Outcome,
    /// Accepted steps.
    pub iterations: u64,
    /// Passes over the data, metric products included.
    pub passes: u64,
    /// Steps at which the VBEM step had to replace the proposed one.
    pub fallbacks: u64,
    /// Jumps that were tried.
    pub jumps_tried: u64,
    /// Jumps that led to a higher bound.
    pub jumps_taken: u64,
    /// Seconds, resumed parts included.
    pub seconds: f64,
}

/// All that a run needs to go on: what a checkpoint holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) point: Point,
    pub(crate) rule: Rule,
    pub(crate) iteration: u64,
    pub(crate) passes: u64,
    pub(crate) fallbacks: u64,
    /// Steps in a row that followed a change of basis down.
    #[serde(default)]
    pub(crate) misled: u64,
    pub(crate) seconds: f64,
    pub(crate) search: Search,
    /// Whether a jump comes before the next step: a run may end between the two.
    pub(crate) jump_due: bool,
}

/// An observer sees every accepted step and may ask to stop.
pub type Observer<'a> = Box<dyn FnMut(&Step) -> ControlFlow<()> + Send + 'a>;

/// A watcher sees every accepted step and the point that it led to.
pub type Watcher<'a> = Box<dyn FnMut(&Step, &Point) + Send + 'a>;

/// A run of one direction on one model.
///
/// The driver owns safety: no rule and no model has to know about falls, restarts or halving.
pub struct Driver<'a, M: Collapsed> {
    model: &'a M,
    direction: Direction,
    stop: Stop,
    observers: Vec<Observer<'a>>,
    watchers: Vec<Watcher<'a>>,
    checkpoint: Option<(PathBuf, u64)>,
    interrupt: Option<&'a AtomicBool>,
    spent: u64,
    jumps: Option<&'a dyn Jumps>,
}

/// Steps in a row that changes of basis may lead down before they are no longer asked for.
const MISLED: u64 = 3;
/// The shortest share of a VBEM step that is tried: below it a step is rounding.
const SHORTEST: f64 = 1e-9;

impl<'a, M: Collapsed> Driver<'a, M> {
    /// A run that stops at a gain below 1e-6 nats or after 10,000 iterations.
    pub fn new(model: &'a M, direction: Direction) -> Self {
        Self {
            model,
            direction,
            stop: Stop::Gain(1e-6) | Stop::Iterations(10_000),
            observers: Vec::new(),
            watchers: Vec::new(),
            checkpoint: None,
            interrupt: None,
            spent: 0,
            jumps: None,
        }
    }

    /// Tries the model's jumps once the climb slows down, keeps those that lead higher.
    #[must_use]
    pub fn search(mut self, jumps: &'a dyn Jumps) -> Self {
        self.jumps = Some(jumps);
        self
    }

    /// Counts passes that finding the start has cost.
    #[must_use]
    pub fn spent(mut self, passes: u64) -> Self {
        self.spent = passes;
        self
    }

    /// Stops by this rule instead.
    #[must_use]
    pub fn stop(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    /// Shows every accepted step to `observer` as well.
    #[must_use]
    pub fn observe(mut self, observer: impl FnMut(&Step) -> ControlFlow<()> + Send + 'a) -> Self {
        self.observers.push(Box::new(observer));
        self
    }

    /// Shows every accepted step to `watcher`, with the point that it led to.
    #[must_use]
    pub fn watch(mut self, watcher: impl FnMut(&Step, &Point) + Send + 'a) -> Self {
        self.watchers.push(Box::new(watcher));
        self
    }

    /// Writes a checkpoint every `every` iterations and when the run ends.
    #[must_use]
    pub fn checkpoint(mut self, path: impl Into<PathBuf>, every: u64) -> Self {
        self.checkpoint = Some((path.into(), every.max(1)));
        self
    }

    /// Ends the run after the present step once `flag` is set.
    #[must_use]
    pub fn interrupt(mut self, flag: &'a AtomicBool) -> Self {
        self.interrupt = Some(flag);
        self
    }

    /// Climbs from `start`.
    ///
    /// # Errors
    /// Where the start is outside the model's domain, or a checkpoint cannot be written.
    pub fn run(self, start: Vec<f64>) -> Result<Fit> {
        let expected = self.model.local().dim();
        if start.len() != expected {
            return Err(Error::data(
                Place::Whole("start"),
                format!("{} messages", start.len()),
                format!("{expected}, as the model has"),
            ));
        }
        let mut point = Point {
            messages: start,
            turned: self.direction.follows_turns().then(Vec::new),
            ..Point::default()
        };
        let mut evaluator = Evaluator {
            model: self.model,
            passes: self.spent,
        };
        evaluator.evaluate(&mut point)?;
        let rule = Rule::new(self.direction, false, self.model.many_slow());
        let passes = evaluator.passes;
        let search = Search::new(self.jumps.is_some());
        self.climb(State {
            point,
            rule,
            iteration: 0,
            passes,
            fallbacks: 0,
            misled: 0,
            seconds: 0.0,
            search,
            jump_due: false,
        })
    }

    /// Goes on from a checkpoint, to the same numbers, bit for bit, as a run that was never stopped.
    ///
    /// # Errors
    /// Where the checkpoint is of another model, data set or direction.
    pub fn resume(self, checkpoint: Checkpoint) -> Result<Fit> {
        let state = checkpoint.state_for(self.direction, &self.model.fingerprint())?;
        self.climb(state)
    }

    fn climb(mut self, mut state: State) -> Result<Fit> {
        let began = Instant::now();
        let seconds_before = state.seconds;
        let mut evaluator = Evaluator {
            model: self.model,
            passes: state.passes,
        };
        let mut trial = state.point.clone();
        let mut direction = Vec::with_capacity(trial.messages.len());
        let mut jumps = None;
        let settled = self.jumps.map_or(0.0, Jumps::settled);

        let outcome = loop {
            if self
                .interrupt
                .is_some_and(|flag| flag.load(Ordering::Relaxed))
            {
                break Outcome::Interrupted;
            }
            if std::mem::take(&mut state.jump_due) {
                self.jump(&mut state, &mut evaluator, &mut jumps)?;
            }
            let proposal = state
                .rule
                .propose(&state.point, &mut evaluator, &mut direction)?;
            let lead = state.rule.lead();
            let mut rises = rises(
                &mut evaluator,
                &state.point,
                (&direction, 1.0),
                lead,
                &mut trial,
            )?;
            let fell_back = !rises && !proposal.is_gradient;
            if fell_back && state.point.is_turned() {
                state.misled += 1;
                if state.misled == MISLED {
                    trial.turned = None;
                }
            } else {
                state.misled = 0;
            }
            if !rises {
                rises = climb_gradient(&mut evaluator, &state.point, fell_back, &mut trial)?;
            }
            state.passes = evaluator.passes;
            state.seconds = seconds_before + began.elapsed().as_secs_f64();
            let gain = if rises {
                trial.bound - state.point.bound
            } else {
                0.0
            };
            let verdict = state.search.judge(state.point.bound + gain, gain, settled);
            state.jump_due = verdict == Verdict::Jump;
            if rises {
                state.iteration += 1;
                state.fallbacks += u64::from(fell_back);
                // Where inner problems moved as well, statistics tell of them too.
                let known = (proposal.is_gradient || fell_back) && trial.warm.is_empty();
                let step = Step {
                    iteration: state.iteration,
                    passes: state.passes,
                    bound: trial.bound,
                    gain,
                    squared_norm: proposal
                        .squared_norm
                        .or_else(|| known.then(|| averaged_norm(&state.point, &trial))),
                    beta: proposal.beta,
                    fell_back,
                    trial: state.search.in_trial(),
                    seconds: state.seconds,
                };
                state.rule.learn(&state.point, &trial, fell_back);
                std::mem::swap(&mut state.point, &mut trial);
                let mut asked_to_stop = false;
                for observer in &mut self.observers {
                    asked_to_stop |= observer(&step).is_break();
                }
                for watcher in &mut self.watchers {
                    watcher(&step, &state.point);
                }
                let converged = self.stop.holds(&step).filter(Stop::is_convergence);
                if let Some(rule) = converged
                    && verdict == Verdict::Finish
                    && !state.rule.doubts()
                {
                    break Outcome::Converged(rule);
                }
                if let Some(limit) = self.stop.exhausted(&step) {
                    break Outcome::Exhausted(limit);
                }
                if asked_to_stop {
                    break Outcome::Interrupted;
                }
            } else if verdict == Verdict::Finish {
                break Outcome::Stationary;
            }
            if let Some((path, every)) = &self.checkpoint
                && rises
                && state.iteration.is_multiple_of(*every)
            {
                Checkpoint::new(&state, self.direction, self.model.fingerprint()).write(path)?;
            }
        };
        if let Some((path, _)) = &self.checkpoint {
            Checkpoint::new(&state, self.direction, self.model.fingerprint()).write(path)?;
        }
        let State {
            mut point,
            iteration,
            passes,
            fallbacks,
            seconds,
            mut search,
            ..
        } = state;
        if let Some((incumbent, _)) = search.finish() {
            point = incumbent;
        }
        let (jumps_tried, jumps_taken) = (search.tried, search.taken);
        Ok(Fit {
            point,
            outcome,
            iterations: iteration,
            passes,
            fallbacks,
            jumps_tried,
            jumps_taken,
            seconds,
        })
    }

    /// Goes to the next jump that lies in the model's domain, or back to the incumbent when none is left.
    ///
    /// `jumps` holds those of the present incumbent; a resumed run makes them again.
    fn jump(
        &self,
        state: &mut State,
        evaluator: &mut Evaluator<'_, M>,
        jumps: &mut Option<Vec<Jump>>,
    ) -> Result<()> {
        loop {
            let (index, incumbent) = state.search.next(&state.point, &state.rule);
            if index == 0 || jumps.is_none() {
                *jumps = Some(
                    self.jumps
                        .map_or(Ok(vec![]), |model| model.jumps(incumbent))?,
                );
            }
            let Some(jump) = jumps.as_ref().and_then(|jumps| jumps.get(index)) else {
                state.search.tried -= 1;
                if let Some((point, rule)) = state.search.finish() {
                    (state.point, state.rule) = (point, rule);
                }
                return Ok(());
            };
            state.point.messages.clone_from(&jump.messages);
            state.point.warm.clone_from(&incumbent.warm);
            state.rule = Rule::new(self.direction, true, self.model.many_slow());
            let landed = evaluator.evaluate(&mut state.point);
            state.passes = evaluator.passes;
            match landed {
                Ok(()) => return Ok(()),
                Err(error) if error.is_recoverable() => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Evaluates `length` times `direction` from `from` into `trial`; says whether the bound rose.
fn rises<M: Collapsed>(
    evaluator: &mut Evaluator<'_, M>,
    from: &Point,
    (direction, length): (&[f64], f64),
    lead: Option<(&[f64], f64)>,
    trial: &mut Point,
) -> Result<bool> {
    trial.messages.clear();
    trial.messages.extend(
        from.messages
            .iter()
            .zip(direction)
            .map(|(m, d)| m + length * d),
    );
    trial.warm.clone_from(&from.warm);
    if let Some((before, share)) = lead {
        evaluator.model.foresee(&mut trial.warm, before, share);
    }
    trial.bound = f64::NAN;
    match evaluator.evaluate(trial) {
        Ok(()) => Ok(trial.bound > from.bound),
        Err(error) if error.is_recoverable() => Ok(false),
        Err(error) => Err(error),
    }
}

/// The safe step: VBEM's, which cannot lower the bound where the explicit factors are independent
/// given the collapsed ones, halved where it does all the same.
///
/// `whole` says whether the whole step has not been tried yet.
fn climb_gradient<M: Collapsed>(
    evaluator: &mut Evaluator<'_, M>,
    from: &Point,
    whole: bool,
    trial: &mut Point,
) -> Result<bool> {
    let mut length = if whole { 1.0 } else { 0.5 };
    while length > SHORTEST {
        if rises(evaluator, from, (&from.gradient, length), None, trial)? {
            return Ok(true);
        }
        // Where the step promises less than the bound's own rounding, shorter ones promise nothing.
        let promise = averaged_norm(from, trial).abs();
        if trial.bound.is_finite() && promise < 1e-12 * from.bound.abs().max(1.0) {
            return Ok(false);
        }
        length *= 0.5;
    }
    Ok(false)
}

/// The squared norm of the gradient in the metric averaged along the step, times the step's
/// length (maths §6.1).
fn averaged_norm(before: &Point, after: &Point) -> f64 {
    dot_difference(&before.gradient, &after.statistics, &before.statistics)
}
