//! Reruns the paper's experiments, each from one command.
//!
//! - `mixture`: the first experiment, five Gaussians and many restarts
//! - `ring`: the data of that experiment
//! - `measure`: what its runs add up to, in the paper's measure
//! - `tables`: that measure in tables, the paper's figures beside ours
//! - `topics`: the second experiment, topics of papers
//! - `corpus`: a corpus for it where none is given
//! - `quant`: the third experiment, reads and their transcripts
//! - `simulate`: reads for it where none are given
//! - `runs`: every method from every start, for these two
//! - `paired`: what their runs add up to, in tables, the paper's beside ours
//! - `curvature`: the paper's figure 1(b), computed
//! - `line`: the two bounds along a line
//! - `svg`: curves as a picture

mod corpus;
mod curvature;
mod line;
mod measure;
mod mixture;
mod paired;
mod quant;
mod ring;
mod runs;
pub(crate) mod simulate;
mod svg;
mod tables;
mod topics;

use std::path::Path;
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
    /// The second experiment: topics of 200 papers, every method from the same starts
    Topics(topics::Args),
    /// The third experiment: reads and the transcripts that they come from, four starts of every method
    Quant(quant::Args),
    /// The figure of the two bounds along a line, computed on a small mixture
    Curvature(curvature::Args),
}

/// Runs what was asked for.
pub(crate) fn run(args: &ReproduceArgs, common: &Common) -> Result<ExitCode> {
    match &args.what {
        What::Mixture(args) => mixture::run(args, common)?,
        What::Topics(args) => topics::run(args, common)?,
        What::Quant(args) => quant::run(args, common)?,
        What::Curvature(args) => curvature::run(args, common)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value),
        _ => Err("expected a positive number".to_owned()),
    }
}

fn at_least_one() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..)
}

/// Only the name: tables should not depend on where the data lie.
fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
