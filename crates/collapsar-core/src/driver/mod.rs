//! The loop: safety, stopping, observers and checkpoints.
//!
//! - `climb`: the steps of a run
//! - `beyond`: whether it has come to rest at a saddle
//! - `evaluator`: the counted way to look at a model
//! - `stop`: when to stop
//! - `checkpoint`: how a run is written down and taken up again
//! - `ledger`: a folder of checkpoints that are never written again
//! - `resume`: whether what was written down can be believed
//! - `restart`: many starts, the best kept
//! - `search`: jumps out of poor optima

mod beyond;
mod checkpoint;
mod climb;
mod evaluator;
mod ledger;
mod restart;
mod resume;
mod search;
mod stop;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use crate::collapsed::{Collapsed, Potential};
use crate::direction::{Direction, Iterate, Rule};
use crate::error::{Error, Place, Result};
use crate::point::Point;
use evaluator::Evaluator;
use search::{Search, Verdict};

pub use checkpoint::Checkpoint;
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
    /// The coefficient of the previous direction, for conjugate rules.
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
    /// Why the last checkpoint could not be written, where it could not: the run went on without.
    pub unwritten: Option<Error>,
}

/// All that a run needs to go on: what a checkpoint holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) iterate: Iterate,
    pub(crate) rule: Rule,
    pub(crate) iteration: u64,
    pub(crate) passes: u64,
    pub(crate) fallbacks: u64,
    /// Steps in a row that followed a change of basis down.
    pub(crate) misled: u64,
    pub(crate) seconds: f64,
    pub(crate) search: Search,
    /// Whether a jump comes before the next step: a run may end between the two.
    pub(crate) jump_due: bool,
    /// The last step, for the stopping rules of whoever goes on.
    pub(crate) last: Option<(Step, Verdict)>,
    /// Whether no step raises the bound, and no jump is left.
    pub(crate) stationary: bool,
    /// Whether a look beyond the present point found nothing higher.
    #[serde(default)]
    pub(crate) looked: bool,
}

/// An observer sees every accepted step and the point that it led to, and may ask to stop.
type Observer<'a> = Box<dyn FnMut(&Step, &Point) -> ControlFlow<()> + Send + 'a>;

/// A run of one direction on one model.
///
/// The driver owns safety: no rule and no model has to know about falls, restarts or halving.
pub struct Driver<'a, M: Collapsed> {
    model: &'a M,
    direction: Direction,
    stop: Stop,
    observers: Vec<Observer<'a>>,
    checkpoint: Option<(PathBuf, u64)>,
    others: Option<String>,
    interrupt: Option<&'a AtomicBool>,
    spent: u64,
    jumps: Option<&'a dyn Jumps>,
    left_at: Option<&'a mut Option<Checkpoint>>,
}

impl<'a, M: Collapsed> Driver<'a, M> {
    /// A run that stops at a gain below 1e-6 nats or after 10,000 iterations.
    pub fn new(model: &'a M, direction: Direction) -> Self {
        Self {
            model,
            direction,
            stop: Stop::Gain(1e-6) | Stop::Iterations(10_000),
            observers: Vec::new(),
            checkpoint: None,
            others: None,
            interrupt: None,
            spent: 0,
            jumps: None,
            left_at: None,
        }
    }

    /// Puts into `place` what is needed to go on from where the run ended.
    #[must_use]
    pub fn leave(mut self, place: &'a mut Option<Checkpoint>) -> Self {
        self.left_at = Some(place);
        self
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
    pub fn observe(
        mut self,
        mut observer: impl FnMut(&Step) -> ControlFlow<()> + Send + 'a,
    ) -> Self {
        self.observers.push(Box::new(move |step, _| observer(step)));
        self
    }

    /// Shows every accepted step to `watcher`, with the point that it led to.
    #[must_use]
    pub fn watch(mut self, mut watcher: impl FnMut(&Step, &Point) + Send + 'a) -> Self {
        self.observers.push(Box::new(move |step, point| {
            watcher(step, point);
            ControlFlow::Continue(())
        }));
        self
    }

    /// Writes a checkpoint every `every` iterations and when the run ends.
    #[must_use]
    pub fn checkpoint(mut self, path: impl Into<PathBuf>, every: u64) -> Self {
        self.checkpoint = Some((path.into(), every.max(1)));
        self
    }

    /// Adds to each checkpoint what is to be known of other climbs.
    #[must_use]
    pub fn others(mut self, others: Option<String>) -> Self {
        self.others = others;
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
    /// Where the start is outside the model's domain.
    pub fn run(self, start: Vec<f64>) -> Result<Fit> {
        let expected = self.model.local().dim();
        if start.len() != expected {
            let found = format!("{} messages", start.len());
            let expected = format!("{expected}, as the model has");
            return Err(Error::data(Place::Whole("start"), found, expected));
        }
        let mut evaluator = Evaluator::new(self.model, self.spent);
        // Only `auto` goes where changes of basis lead; the others are about the gradient.
        let turns = self.direction == Direction::Auto && evaluator.advice.bases.is_some();
        let mut iterate = Iterate {
            point: Point {
                messages: start,
                ..Point::default()
            },
            turned: turns.then(Vec::new),
        };
        evaluator.evaluate(&mut iterate)?;
        let rule = Rule::new(self.direction, false, &evaluator.advice);
        let passes = evaluator.passes;
        let search = Search::new(self.jumps.is_some());
        self.climb(State {
            iterate,
            rule,
            iteration: 0,
            passes,
            fallbacks: 0,
            misled: 0,
            seconds: 0.0,
            search,
            jump_due: false,
            last: None,
            stationary: false,
            looked: false,
        })
    }

    /// Goes on from a checkpoint, to the same numbers, bit for bit, as a run that was never stopped: one that had
    /// come to its end takes no further step. What was read from a file is evaluated again, which counts as no pass.
    ///
    /// # Errors
    /// Where the checkpoint is of another model, data set or direction, or its point is not what it says.
    pub fn resume(self, checkpoint: Checkpoint) -> Result<Fit> {
        let from_file = checkpoint.is_from_file();
        let mut state = checkpoint.state_for(self.direction, &self.model.fingerprint())?;
        if from_file {
            self.believe(&mut state)?;
        } else {
            // Legs of one run judged it by other rules, and take a step at least.
            (state.last, state.stationary) = (None, false);
        }
        if self.jumps.is_none() {
            state.forget_jumps();
        }
        self.climb(state)
    }
}
