//! `collapsar mixture`: fits Bayesian mixtures of Gaussians, and uses fits on new data.
//!
//! - `args`: the flags as typed
//! - `engine`: fits whose rows workers hold, by the Python package
//! - `summary`: what is printed
//! - `predict`: labels and densities of new data

mod args;
mod engine;
mod predict;
mod summary;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use collapsar_formats::{LabelColumn, Table, read_table_with_gaps, read_table_with_labels};
use collapsar_run::mixture::MixtureInput;
use collapsar_run::{RunFolder, Witness};

use crate::chains::Chains;
use crate::climb::{self, Bar};
use crate::common::{Common, command, print};
use args::FitArgs;

const EXAMPLES: &str = "\
Examples:
  collapsar mixture data.csv                        at most 10 components; unneeded ones stay empty
  collapsar mixture data.csv --columns x,y --out fit
  collapsar mixture data.csv --components 1..12 --restarts 20
                                                    fit each number, compare the bounds
  collapsar mixture data.parquet --weights dp --components 50 --covariance diag
  collapsar mixture big.npy --checkpoint run.ckpt   and, if it is stopped, again with
  collapsar mixture big.npy --resume run.ckpt       to end at the same numbers, bit for bit
  collapsar mixture counts.csv --row-weights n      rows that are there n times
  collapsar mixture data.csv --labels species       rows whose species is given stay with it
  collapsar mixture data.csv --posterior exact      uncertainty by Markov chains from the fit
  collapsar mixture predict fit new.csv             label new data with the fit in the folder fit
  collapsar mixture predict fit new.csv --impute    fill in its missing values

With --out DIR the folder gets
  components.json   weights, means and covariances with their uncertainty
  posterior.csv     name, mean, sd, q2.5, median and q97.5 of weights, means and variances
  draws.csv         with --posterior exact, a row for each draw of weights, means and covariances
  assignments.csv   for each row (from 1) its component (from 0), the probability of that, and
                    ln_density, the log of the posterior predictive density; with --labels its class
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
    args.page.check(args.out.as_deref())?;
    if let Some(engine) = &args.engine {
        return engine::run(args, engine, common);
    }
    let request = args.request()?;
    let files = [args.data().to_owned()].into_iter().chain(request.files());
    let witness = Witness::of(files);
    let (table, weights, labels) = read(args)?;
    if !table.skipped.is_empty() {
        let names = table.skipped.join(", ");
        common.say(&format!("left out row names ({names})"));
    }
    let input = MixtureInput::of(args.data(), &table, weights.as_deref());
    let run = request.prepare(input.labelled(labels.as_ref()))?;
    // Before the fit: a long run must not end in a refusal. After the data: bad input leaves no folder.
    let folder = RunFolder::asked(args.out.as_deref(), witness)?;
    let climbs = args.components.0.len() * args.climb.climbs();
    let result = run.climb(&Bar::new(common, climbs))?;
    if result.climbed.is_nothing() {
        return Ok(climb::nothing(common));
    }
    let posterior = run.posterior(&result, &Chains::new(common))?;
    if let Some(folder) = folder {
        run.write(folder, (&result, &posterior), command())?;
        args.page.write(args.out.as_deref(), common)?;
    }
    let summary = summary::of(
        args,
        (&table, weights.as_deref(), labels.as_ref()),
        &result,
        &posterior,
    );
    climb::warn(&result.climbed, common);
    if !posterior.result.mixed() {
        common.warn("the chains have not mixed: try more --draws");
    }
    print(&summary)?;
    let mut outcome = result.climbed.outcome.clone();
    outcome.converged &= posterior.result.mixed();
    Ok(climb::exit(&outcome, args.climb.require_convergence))
}

/// The table, the weights of its rows, and the labels that some of them have.
fn read(args: &FitArgs) -> anyhow::Result<(Table, Option<Vec<f64>>, Option<LabelColumn>)> {
    let mut columns = args.columns.clone();
    if let (Some(columns), Some(weights)) = (&mut columns, &args.row_weights) {
        columns.push(weights.clone());
    }
    let (mut table, labels) = match &args.labels {
        Some(labels) => {
            let found = read_table_with_labels(args.data(), columns.as_deref(), labels)?;
            (found.0, Some(found.1))
        }
        None => (read_table_with_gaps(args.data(), columns.as_deref())?, None),
    };
    let Some(column) = &args.row_weights else {
        return Ok((table, None, labels));
    };
    let index = match columns {
        // What was selected last, whatever it is called.
        Some(_) => table.columns.len() - 1,
        None => table.find(&args.data().display().to_string(), "row_weights", column)?,
    };
    let weights = table.take(index);
    Ok((table, Some(weights), labels))
}
