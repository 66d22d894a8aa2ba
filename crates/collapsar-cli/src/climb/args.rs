//! The flags of a climb, as typed: the same for every model.

use std::path::PathBuf;

use clap::Args;
use collapsar::Direction;
use serde_json::{Map, Value, json};

use crate::common::{Usage, threads};
use crate::values::{named, not_negative};

#[derive(Debug, Args)]
pub(crate) struct ClimbArgs {
    /// How to climb the bound
    ///
    /// vbem: the classic update. fr, pr, hs: the paper's conjugate gradients. lbfgs and newton use
    /// curvature. auto: leaps along vbem's path, as long as they can be foreseen.
    #[arg(long, default_value = "auto", help_heading = "Fit")]
    #[arg(value_parser = named(Direction::ALL.map(|d| (d.name(), d))))]
    pub(crate) method: Direction,
    /// Climb from R starts in parallel, with seeds S, S+1, …, and keep the best
    #[arg(long, value_name = "R", default_value = "1", help_heading = "Fit")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) restarts: u32,
    /// Seed of every random number
    #[arg(long, value_name = "S", default_value = "0", help_heading = "Fit")]
    pub(crate) seed: u64,
    /// Stop each climb after I steps
    #[arg(long, value_name = "I", default_value = "10000", help_heading = "Fit")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_iterations: u64,
    /// Stop each climb after N passes over the data
    #[arg(long, value_name = "N", help_heading = "Fit")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_passes: Option<u64>,
    /// Stop everything after so many seconds and keep the best so far
    #[arg(long, value_name = "SECONDS", value_parser = not_negative, help_heading = "Fit")]
    pub(crate) time: Option<f64>,
    /// Exit with code 3 where the fit has not converged
    #[arg(long, help_heading = "Fit")]
    pub(crate) require_convergence: bool,
    /// Write what is needed to go on to FILE, now and then and at the end
    #[arg(long, value_name = "FILE", help_heading = "Fit")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Steps between checkpoints
    #[arg(long, value_name = "N", default_value = "50", help_heading = "Fit")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) checkpoint_every: u64,
    /// Go on from a checkpoint, with the data and settings that it was made with
    #[arg(long, value_name = "FILE", help_heading = "Fit")]
    pub(crate) resume: Option<PathBuf>,
}

impl ClimbArgs {
    /// Refuses what clap cannot know of: `numbers` of `parts` are to be fitted.
    pub(crate) fn check(&self, numbers: usize, parts: &str) -> Result<(), Usage> {
        if self.checkpoint.is_some() || self.resume.is_some() {
            return self.check_one("--checkpoint and --resume follow", numbers, parts);
        }
        Ok(())
    }

    /// Refuses more than one climb where `who` follows one.
    pub(crate) fn check_one(&self, who: &str, numbers: usize, parts: &str) -> Result<(), Usage> {
        if self.restarts == 1 && numbers == 1 {
            return Ok(());
        }
        Err(Usage(format!(
            "{who} one climb, expected one restart and one number of {parts}"
        )))
    }

    /// The flags as `run.json` has them, for its `config`.
    pub(crate) fn record(&self) -> Map<String, Value> {
        let fields = [
            ("method", json!(self.method)),
            ("restarts", json!(self.restarts)),
            ("max_iterations", json!(self.max_iterations)),
            ("max_passes", json!(self.max_passes)),
            ("time", json!(self.time)),
            ("threads", json!(threads())),
        ];
        fields
            .map(|(name, value)| (name.to_owned(), value))
            .into_iter()
            .collect()
    }
}
