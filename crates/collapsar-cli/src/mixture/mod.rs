//! `collapsar mixture`: fits Bayesian mixtures of Gaussians, and uses fits on new data.
//!
//! - `args`: the flags as typed
//! - `config`: what they mean for the data at hand, checked once
//! - `fit`: climbs with every number of components
//! - `results`: the files of a fit
//! - `saved`: `components.json`, written and read
//! - `summary`: what is printed
//! - `predict`: labels and densities of new data

mod args;
mod config;
mod fit;
mod predict;
mod results;
mod saved;
mod summary;

use std::io::Write;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use collapsar_formats::{prepare_folder, read_table};

use crate::climb::Ended;
use crate::common::Common;
use args::FitArgs;
use config::Config;

const EXAMPLES: &str = "\
Examples:
  collapsar mixture data.csv                        at most 10 components; unneeded ones stay empty
  collapsar mixture data.csv --columns x,y --out fit
  collapsar mixture data.csv --components 1..12 --restarts 20
                                                    fit each number, compare the bounds
  collapsar mixture data.parquet --weights dp --components 50 --covariance diag
  collapsar mixture big.npy --checkpoint run.ckpt   and, if it is stopped, again with
  collapsar mixture big.npy --resume run.ckpt       to end at the same numbers, bit for bit
  collapsar mixture predict fit new.csv             label new data with the fit in the folder fit

With --out DIR the folder gets
  components.json   weights, means and covariances with their uncertainty
  assignments.csv   for each row (from 1) its component (from 0), the probability of that, and
                    ln_density, the log of the posterior predictive density
  trace.jsonl       every step of the best climb
  run.json          version, settings, inputs with digests, outcome, bound, cost

A file called predict is given as ./predict.";

/// Cluster the rows of a table with a Bayesian mixture of Gaussians
///
/// Reads CSV, TSV (with header or without, gzipped or not), NPY or Parquet, finds components with their
/// uncertainty and prints a summary. The bound it reports is a lower bound on ln p(data), with all its
/// constants, and may be compared across settings: higher is better.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(disable_help_subcommand = true, after_help = EXAMPLES)]
pub(crate) struct MixtureArgs {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    fit: FitArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    Predict(predict::PredictArgs),
}

pub(crate) fn run(args: &MixtureArgs, common: &Common) -> anyhow::Result<ExitCode> {
    match &args.command {
        Some(Command::Predict(predict)) => predict::run(predict),
        None => run_fit(&args.fit, common),
    }
}

fn run_fit(args: &FitArgs, common: &Common) -> anyhow::Result<ExitCode> {
    args.check()?;
    let table = read_table(args.data(), args.columns())?;
    if !table.skipped.is_empty() {
        common.say(&format!(
            "left out row names ({})",
            table.skipped.join(", ")
        ));
    }
    let config = Config::resolve(args, &table)?;
    // Before the fit: a long run must not end in a refusal. After the data: bad input leaves no folder.
    if let Some(folder) = &args.out {
        prepare_folder(folder)?;
    }
    let fitted = fit::fit(&config, &table, common)?;
    let ended = &fitted.ended;
    if ended.is_nothing() {
        return Ok(Ended::nothing(common));
    }
    let answer = fitted.model.fit(&ended.best().point)?;
    if let Some(folder) = &args.out {
        results::write(folder, args, &config, &table, &fitted, &answer)?;
    }
    let summary = summary::of(args, &table, &fitted, &answer);
    ended.warn(common);
    std::io::stdout().write_all(summary.as_bytes())?;
    Ok(ended.exit(&args.climb))
}
