//! Reruns the paper's experiments, each from one command.
//!
//! - `mixture`: the first experiment, five Gaussians and many restarts
//! - `ring`: the data of that experiment
//! - `measure`: what its runs add up to, in the paper's measure
//! - `tables`: that measure in tables, the paper's figures beside ours
//! - `curvature`: the paper's figure 1(b), computed
//! - `line`: the two bounds along a line
//! - `svg`: curves as a picture

mod curvature;
mod line;
mod measure;
mod mixture;
mod ring;
mod svg;
mod tables;

use std::process::ExitCode;

use anyhow::Result;

use crate::common::Common;

/// What to rerun.
#[derive(Debug, clap::Args)]
pub(crate) struct ReproduceArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// The first experiment: five Gaussians, eight components, many restarts of every method
    Mixture(mixture::Args),
    /// The figure of the two bounds along a line, computed on a small mixture
    Curvature(curvature::Args),
}

/// Runs what was asked for.
pub(crate) fn run(args: &ReproduceArgs, common: &Common) -> Result<ExitCode> {
    match &args.what {
        What::Mixture(args) => mixture::run(args, common)?,
        What::Curvature(args) => curvature::run(args, common)?,
    }
    Ok(ExitCode::SUCCESS)
}
