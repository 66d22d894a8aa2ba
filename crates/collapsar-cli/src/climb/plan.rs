//! What the flags of a climb mean: files read, targets tried, checked once.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;
use collapsar::{Checkpoint, Direction, Stop};

use super::ClimbArgs;
use crate::files::check_target;

/// Climbs that can begin.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) direction: Direction,
    pub(crate) restarts: usize,
    pub(crate) seed: u64,
    pub(crate) stop: Stop,
    pub(crate) time: Option<Duration>,
    pub(crate) checkpoint: Option<(PathBuf, u64)>,
    pub(crate) resume: Option<Checkpoint>,
}

impl Plan {
    /// A plan by which a gain below `tolerance` nats means convergence.
    pub(crate) fn resolve(args: &ClimbArgs, tolerance: f64) -> anyhow::Result<Self> {
        let mut stop = Stop::Gain(tolerance) | Stop::Iterations(args.max_iterations);
        if let Some(passes) = args.max_passes {
            stop = stop | Stop::Passes(passes);
        }
        Ok(Self {
            direction: args.method,
            restarts: args.restarts as usize,
            seed: args.seed,
            stop,
            time: args.time.map(Duration::from_secs_f64),
            checkpoint: args
                .checkpoint
                .clone()
                .map(|file| (file, args.checkpoint_every)),
            resume: args.resume.as_deref().map(checkpoint).transpose()?,
        })
    }

    /// Makes sure that what is written on the way can be: once all else is known to be right.
    pub(crate) fn prepare(&self) -> anyhow::Result<()> {
        match &self.checkpoint {
            Some((file, _)) => check_target(file, "the checkpoint"),
            None => Ok(()),
        }
    }
}

fn checkpoint(file: &Path) -> anyhow::Result<Checkpoint> {
    if !file.exists() {
        bail!(
            "{}: no such file, expected one written by --checkpoint",
            file.display()
        );
    }
    Ok(Checkpoint::read(file)?)
}
