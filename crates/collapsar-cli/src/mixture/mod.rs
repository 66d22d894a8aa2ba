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
use std::sync::Arc;
use std::time::Instant;

use clap::{Args, Subcommand};
use collapsar_run::mixture::{MixtureInput, MixtureRows, RowsOptions};
use collapsar_run::{RunFolder, Witness, default_memory};

use crate::chains::Chains;
use crate::climb::{self, Bar, ReadFrom};
use crate::common::{Common, command, print, threads};
use crate::progress::Progress;
use crate::text::{bytes, thousands};
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
  collapsar mixture huge.parquet --memory 2GB       rows that do not fit are read for every pass
  collapsar mixture counts.csv --row-weights n      rows that are there n times
  collapsar mixture cards.csv --categorical sex,class
                                                    text is categorical, numbers where they are named
  collapsar mixture data.csv --labels species       rows whose species is given stay with it
  collapsar mixture data.csv --posterior exact      uncertainty by Markov chains from the fit
  collapsar mixture predict fit new.csv             label new data with the fit in the folder fit
  collapsar mixture predict fit new.csv --impute    fill in its missing values

With --out DIR the folder gets
  components.json   weights, means, covariances and probabilities of levels with their uncertainty
  posterior.csv     name, mean, sd, q2.5, median and q97.5 of weights, means, variances and
                    probabilities of levels
  draws.csv         with --posterior exact, a row for each draw of weights, means and covariances
  assignments.csv   for each row (from 1) its component (from 0), the probability of that, and
                    ln_density, the log of the posterior predictive density; with --labels its class
  trace.jsonl       every step of the best climb
  run.json          version, settings, inputs with digests, outcome, bound, cost

A file called predict is given as ./predict.";

/// Cluster the rows of a table with a Bayesian mixture of Gaussians
///
/// Reads CSV, TSV (with header or without, gzipped or not), NPY or Parquet of any size, finds components with their
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
    let mut rows = read(args, common)?;
    if !rows.skipped().is_empty() {
        let names = rows.skipped().join(", ");
        common.say(&format!("left out row names ({names})"));
    }
    let run = request.prepare(MixtureInput::of_rows(args.data(), &rows))?;
    // Before the fit: a long run must not end in a refusal. After the data: bad input leaves no folder.
    let folder = RunFolder::asked(args.out.as_deref(), witness)?;
    let climbs = args.components.0.len() * args.climb.climbs();
    let stored = match &rows {
        MixtureRows::File(file) => Some(ReadFrom::Rows(Arc::clone(&file.stored))),
        MixtureRows::Memory { .. } => None,
    };
    let result = run.climb(&Bar::new(common, climbs).of_file(stored))?;
    if result.climbed.is_nothing() {
        return Ok(climb::nothing(common));
    }
    let posterior = run.posterior(&result, &Chains::new(common))?;
    if let Some(folder) = folder {
        run.write(folder, (&result, &posterior), command())?;
        args.page.write(args.out.as_deref(), common)?;
    }
    let summary = summary::of(args, &rows, &result, &posterior);
    drop(run);
    let going_on = args.climb.checkpoint.is_some() && !result.climbed.outcome.converged;
    if let (MixtureRows::File(file), true) = (&mut rows, going_on)
        && let Some(scratch) = &mut file.scratch
    {
        scratch.keep();
        let kept = scratch.path().display();
        common.say(&format!("{kept} keeps the rows for --resume"));
    }
    climb::warn(&result.climbed, common);
    if !posterior.result.mixed() {
        common.warn("the chains have not mixed: try more --draws");
    }
    print(&summary)?;
    let mut outcome = result.climbed.outcome.clone();
    outcome.converged &= posterior.result.mixed();
    Ok(climb::exit(&outcome, args.climb.require_convergence))
}

/// The rows, in memory or in a file, with their weights.
fn read(args: &FitArgs, common: &Common) -> anyhow::Result<MixtureRows> {
    let length = std::fs::metadata(args.data()).ok();
    let length = length.filter(std::fs::Metadata::is_file).map(|of| of.len());
    let progress = Progress::new(common, None, "rows");
    let options = RowsOptions {
        data: args.data(),
        columns: args.columns.as_deref(),
        categorical: &args.categorical,
        row_weights: args.row_weights.as_deref(),
        labels: args.labels.as_deref(),
        memory: args.memory.or_else(default_memory),
        models: args.components.0.len(),
        scratch: args.scratch(),
        threads: threads(),
    };
    let began = Instant::now();
    let rows = MixtureRows::read(&options, &mut |rows, written| {
        progress.tell(|| {
            let rate = rows as f64 / began.elapsed().as_secs_f64().max(1e-9);
            let written = written.map_or_else(String::new, |written| {
                format!(", {} written to a file", bytes(written))
            });
            let of = length.map_or_else(String::new, |length| format!(" of {}", bytes(length)));
            let rows = thousands(rows as usize);
            format!(
                "reading{of}: {rows} rows{written}, {} a second",
                thousands(rate as usize)
            )
        });
    })?;
    if let MixtureRows::File(file) = &rows {
        let (memory, place) = (bytes(file.memory), file.stored.path().display());
        let from = match &file.scratch {
            Some(scratch) if scratch.reused => format!("{place}, which an earlier run left"),
            _ => place.to_string(),
        };
        common.say(&format!(
            "rows do not fit in {memory}: each pass reads them from {from}"
        ));
    }
    Ok(rows)
}
