//! How models are climbed: what may be asked for, the defaults of every front end, and what is checked once.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use collapsar::{Checkpoint, Direction, Stop};
use serde::Serialize;

use crate::climb::MOST_STARTS;
use crate::error::{Error, Result};
use crate::record::{check_apart, check_target};

/// Steps after which a climb stops, unless another number is given.
pub const MAX_ITERATIONS: u64 = 10_000;

/// Steps between checkpoints, unless another number is given.
pub const CHECKPOINT_EVERY: u64 = 50;

/// The gain that means convergence of a mixture, in nats.
pub const MIXTURE_TOLERANCE: f64 = 1e-6;

/// Fewer numbers than this are done before a second thread has begun.
const FEW: usize = 50_000;

/// The gain that means convergence of topics, in nats, to two digits, which is all that it can mean.
///
/// A corpus of a million tokens has converged when a step raises its bound by less than 0.1 nats, far
/// below what tells two fits apart.
pub fn topics_tolerance(tokens: f64) -> f64 {
    let tolerance = 1e-7 * tokens;
    format!("{tolerance:.1e}").parse().unwrap_or(tolerance)
}

/// The gain that means convergence of a model in the BUGS language, in nats.
pub fn model_tolerance(data: usize) -> f64 {
    (data as f64 / 1e10).max(1e-8)
}

/// How many threads there are: as many as asked for, else as `RAYON_NUM_THREADS` says, else as processors.
///
/// Asking rayon would start them, which costs more than a small fit.
pub fn threads(asked: Option<NonZeroUsize>) -> usize {
    let given = std::env::var("RAYON_NUM_THREADS").ok();
    let given = given.and_then(|given| given.parse().ok());
    let processors = || std::thread::available_parallelism().ok();
    asked
        .or(given)
        .or_else(processors)
        .map_or(1, NonZeroUsize::get)
}

/// Threads for `jobs` as joblib counts them, zero being as many as there are processors: `None` and -1
/// are all, -2 all but one. `None` is one thread where there are few `numbers` to go through.
pub fn threads_of_jobs(jobs: Option<isize>, numbers: Option<usize>) -> usize {
    match jobs {
        None if numbers.is_some_and(|numbers| numbers < FEW) => 1,
        None | Some(-1) => 0,
        Some(jobs) if jobs < 0 => (threads(None) + 1)
            .saturating_sub(jobs.unsigned_abs())
            .max(1),
        Some(jobs) => jobs.unsigned_abs().max(1),
    }
}

/// How a model is to be climbed, as a user says; as JSON, what `run.json` says of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClimbOptions {
    /// How the bound is climbed.
    pub method: Direction,
    /// Climbs, with seeds in a row, of which the best is kept; where it is not given, one, or what the model
    /// deserves.
    pub restarts: Option<usize>,
    /// Seed of the first climb.
    #[serde(skip)]
    pub seed: u64,
    /// A climb has converged when a step raises the bound by less than this many nats; where it is not
    /// given, it depends on the model and on how many data there are.
    pub tolerance: Option<f64>,
    /// Steps after which each climb stops.
    pub max_iterations: u64,
    /// Passes over the data after which each climb stops.
    pub max_passes: Option<u64>,
    /// Seconds after which everything stops.
    pub time: Option<f64>,
    /// How many threads there are, which changes no result.
    pub threads: usize,
    /// Where to write what is needed to go on, and after how many steps.
    #[serde(skip)]
    pub checkpoint: Option<(PathBuf, u64)>,
    /// The checkpoint to go on from.
    #[serde(skip)]
    pub resume: Option<PathBuf>,
}

impl Default for ClimbOptions {
    fn default() -> Self {
        Self {
            method: Direction::Auto,
            restarts: None,
            seed: 0,
            tolerance: None,
            max_iterations: MAX_ITERATIONS,
            max_passes: None,
            time: None,
            threads: threads(None),
            checkpoint: None,
            resume: None,
        }
    }
}

impl ClimbOptions {
    /// Refuses a checkpoint of several climbs, where `numbers` of `parts` are to be fitted.
    pub fn check(&self, numbers: usize, parts: &'static str) -> Result<()> {
        if self.restarts == Some(0) {
            return Err(collapsar::Error::setting("restarts", 0, "at least 1").into());
        }
        if self.checkpoint.is_some() || self.resume.is_some() {
            return self.check_one(&["checkpoint", "resume"], numbers, parts);
        }
        Ok(())
    }

    /// Refuses more than one climb where `options` follow one.
    pub fn check_one(
        &self,
        options: &'static [&'static str],
        numbers: usize,
        parts: &'static str,
    ) -> Result<()> {
        if self.restarts.unwrap_or(1) == 1 && numbers == 1 {
            return Ok(());
        }
        Err(Error::OneClimb { options, parts })
    }

    /// Fills in a tolerance and one climb where none is given, and reads the checkpoint to go on from.
    pub fn plan(&mut self, tolerance: f64) -> Result<Plan> {
        self.restarts.get_or_insert(1);
        let tolerance = *self.tolerance.get_or_insert(tolerance);
        let mut stop = Stop::Gain(tolerance) | Stop::Iterations(self.max_iterations);
        if let Some(passes) = self.max_passes {
            stop = stop | Stop::Passes(passes);
        }
        let resume = match &self.resume {
            Some(file) if !file.exists() => {
                return Err(Error::Written {
                    name: file.display().to_string(),
                    found: "no such file".into(),
                    expected: "one",
                    command: None,
                    option: "checkpoint",
                });
            }
            file => file.as_deref().map(Checkpoint::read).transpose()?,
        };
        Ok(Plan {
            options: self.clone(),
            stop,
            resume,
            compete: false,
            given: 0,
        })
    }
}

/// Climbs that can begin.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(crate) options: ClimbOptions,
    pub(crate) stop: Stop,
    pub(crate) resume: Option<Checkpoint>,
    /// Whether many starts compete for one climb to the end, as `restarts` was not given.
    pub(crate) compete: bool,
    /// How many starts are given, beside those.
    pub(crate) given: usize,
}

impl Plan {
    /// How many climbs were asked for.
    pub(crate) fn restarts(&self) -> usize {
        self.options.restarts.unwrap_or(1)
    }

    /// How many starts there are at most.
    pub(crate) fn starts(&self) -> usize {
        if self.compete {
            MOST_STARTS + self.given
        } else {
            self.restarts()
        }
    }

    /// Makes sure that what is written on the way can be, and is none of the `inputs`: once all else is known to be
    /// right. The checkpoint that a run goes on from may be replaced by its own.
    pub fn prepare(&self, inputs: &[PathBuf]) -> Result<()> {
        let Some((file, _)) = &self.options.checkpoint else {
            return Ok(());
        };
        let resumed = self.options.resume.as_ref();
        let others: Vec<PathBuf> = (inputs.iter())
            .filter(|input| Some(*input) != resumed)
            .cloned()
            .collect();
        check_apart(file, "the checkpoint", &others)?;
        check_target(file, "the checkpoint")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerances_grow_with_the_data() {
        assert_eq!(topics_tolerance(1e6), 0.1);
        assert_eq!(topics_tolerance(123_456.0), 0.012);
        assert_eq!(model_tolerance(10), 1e-8);
        assert_eq!(model_tolerance(1_000_000), 1e-4);
    }

    #[test]
    fn jobs_are_threads() {
        assert_eq!(threads_of_jobs(None, Some(10)), 1);
        assert_eq!(threads_of_jobs(None, Some(FEW)), 0);
        assert_eq!(threads_of_jobs(None, None), 0);
        assert_eq!(threads_of_jobs(Some(-1), Some(10)), 0);
        assert_eq!(threads_of_jobs(Some(3), Some(10)), 3);
        assert_eq!(threads_of_jobs(Some(0), None), 1);
        assert_eq!(threads_of_jobs(Some(-1000), None), 1);
    }
}
