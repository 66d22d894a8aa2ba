//! The flags of a climb, as typed: the same for every model.

use std::path::PathBuf;

use clap::Args;
use collapsar::Direction;
use collapsar_run::{CHECKPOINT_EVERY, ClimbOptions, MAX_ITERATIONS};

use crate::common::threads;
use crate::values::{named, not_negative};

#[derive(Debug, Args)]
#[command(next_help_heading = "Fit")]
pub(crate) struct ClimbArgs {
    /// How to climb the bound
    ///
    /// vbem: the classic update. fr, pr, hs: the paper's conjugate gradients. lbfgs and newton use
    /// curvature. auto: leaps along vbem's path, as long as they can be foreseen.
    #[arg(long, default_value = "auto")]
    #[arg(value_parser = named(Direction::ALL.map(|d| (d.name(), d))))]
    pub(crate) method: Direction,
    /// Climb from R starts in parallel, with seeds S, S+1, …, and keep the best
    #[arg(long, value_name = "R", default_value = "1")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) restarts: u32,
    /// Seed of every random number
    #[arg(long, value_name = "S", default_value = "0")]
    pub(crate) seed: u64,
    /// Stop each climb after I steps
    #[arg(long, value_name = "I", default_value_t = MAX_ITERATIONS)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_iterations: u64,
    /// Stop each climb after N passes over the data
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_passes: Option<u64>,
    /// Stop everything after so many seconds and keep the best so far
    #[arg(long, value_name = "SECONDS", value_parser = not_negative)]
    pub(crate) time: Option<f64>,
    /// Exit with code 3 where the fit has not converged
    #[arg(long)]
    pub(crate) require_convergence: bool,
    /// Write what is needed to go on to FILE, now and then and at the end
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Steps between checkpoints
    #[arg(long, value_name = "N", default_value_t = CHECKPOINT_EVERY)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) checkpoint_every: u64,
    /// Go on from a checkpoint, with the data and settings that it was made with
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
}

impl ClimbArgs {
    /// What the flags ask for, with this tolerance, where `numbers` of `parts` are to be fitted.
    pub(crate) fn options(
        &self,
        tolerance: Option<f64>,
        numbers: usize,
        parts: &'static str,
    ) -> anyhow::Result<ClimbOptions> {
        let checkpoint = self.checkpoint.clone();
        let options = ClimbOptions {
            method: self.method,
            restarts: self.restarts as usize,
            seed: self.seed,
            tolerance,
            max_iterations: self.max_iterations,
            max_passes: self.max_passes,
            time: self.time,
            threads: threads(),
            checkpoint: checkpoint.map(|file| (file, self.checkpoint_every)),
            resume: self.resume.clone(),
        };
        options.check(numbers, parts)?;
        Ok(options)
    }
}
