//! Reruns the first experiment: the same random starts for every method, in the paper's measure.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use collapsar::mixture::{Defaults, Mixture, Settings, Start};
use collapsar::{Direction, Driver, Restarts, Stop};
use collapsar_formats::{Input, Outcome, Run, prepare_folder, read_table, write_atomically};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Map, json};

use super::measure::{Column, Ended, Row};
use super::ring::ring;
use super::tables::{number, raw, tables};
use super::{file_name, positive};
use crate::common::Common;

/// Reruns the paper's first experiment.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Tables with columns x and y, one for each R in order, instead of data drawn here
    files: Vec<PathBuf>,
    /// Random starts of each method on each data set
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..))]
    restarts: u64,
    /// Rows drawn for each R
    #[arg(long, default_value_t = 500, conflicts_with = "files")]
    rows: usize,
    /// Components of the mixture
    #[arg(long, default_value_t = 8)]
    components: usize,
    /// Whose hyperparameters: scikit-learn's defaults, or the paper's uninformative ones
    #[arg(long, value_enum, default_value_t = Prior::Sklearn)]
    prior: Prior,
    /// Of the data, and of the first start
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// A run ends when a step gains less than this, or the gradient's squared norm is below it
    #[arg(long, default_value_t = 1e-6, value_parser = positive)]
    tolerance: f64,
    /// A run ends after so many iterations in any case
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    max_iterations: u64,
    /// The methods to compare
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "pr,hs,fr,vbem,lbfgs,newton,auto"
    )]
    methods: Vec<Direction>,
    /// Bounds known from elsewhere, one for each R, where they may be higher than those found
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    best: Vec<f64>,
    /// A folder for mixture.md (what is printed), mixture.csv (every run) and run.json
    #[arg(long)]
    out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Prior {
    Sklearn,
    Paper,
}

/// R of the data drawn here.
const RADII: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 5.0];

pub(super) fn run(args: &Args, common: &Common) -> Result<()> {
    let began = Instant::now();
    if let Some(folder) = &args.out {
        prepare_folder(folder)?;
    }
    let models = models(args)?;
    if !args.best.is_empty() && args.best.len() != models.len() {
        bail!(
            "best is {} numbers, expected {}, one for each data set",
            args.best.len(),
            models.len()
        );
    }
    let rows = Row::all(&args.methods);
    let bar = progress(args, common, models.len() * rows.len());
    let mut columns = Vec::new();
    for (index, model) in models.iter().enumerate() {
        let mut runs = Vec::new();
        for &row in &rows {
            bar.set_message(format!("R={} {}", index + 1, row.name()));
            runs.push(restarts(args, common, model, row, &bar)?);
            if common.verbose {
                let seconds = began.elapsed().as_secs_f64();
                bar.suspend(|| eprintln!("R={} {}: {seconds:.1} s", index + 1, row.name()));
            }
        }
        columns.push(Column::new(runs, args.best.get(index).copied()));
    }
    bar.finish_and_clear();
    let text = preamble(args, &models, &columns) + "\n" + &tables(&rows, &columns);
    if let Some(folder) = &args.out {
        write_atomically(&folder.join("mixture.csv"), |file| {
            raw(file, &rows, &columns)
        })?;
        write_atomically(&folder.join("mixture.md"), |file| {
            file.write_all(text.as_bytes())
        })?;
        record(args, &models, &columns, began)?.write(folder)?;
    }
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}

/// One model for each data set.
fn models(args: &Args) -> Result<Vec<Mixture>> {
    let mut settings = Settings::new(args.components);
    settings.defaults = match args.prior {
        Prior::Sklearn => Defaults::Sklearn,
        Prior::Paper => Defaults::Paper,
    };
    if args.files.is_empty() {
        let drawn = RADII.map(|radius| ring(args.rows, radius, args.seed));
        let models = drawn.iter().map(|data| Mixture::new(data, 2, &settings));
        return Ok(models.collect::<collapsar::Result<_>>()?);
    }
    let names = ["x".to_owned(), "y".to_owned()];
    let read = |path: &PathBuf| -> Result<Mixture> {
        let table = read_table(path, Some(&names))?;
        Mixture::new(&table.values, 2, &settings).with_context(|| path.display().to_string())
    };
    args.files.iter().map(read).collect()
}

fn progress(args: &Args, common: &Common, batches: usize) -> ProgressBar {
    if common.quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs, {eta} left  {msg}")
        .expect("a fixed template");
    ProgressBar::new(args.restarts * batches as u64).with_style(style)
}

/// All restarts of one row on one data set.
fn restarts(
    args: &Args,
    common: &Common,
    model: &Mixture,
    row: Row,
    bar: &ProgressBar,
) -> Result<Vec<Ended>> {
    let interrupted = common.interrupt;
    // The paper's rule, with a limit for runs that crawl.
    let stop = Stop::Gain(args.tolerance)
        | Stop::Norm(args.tolerance)
        | Stop::Iterations(args.max_iterations);
    let fits = Restarts::run(args.restarts as usize, |index| {
        let (start, passes) = model.start(&Start::Random, args.seed.wrapping_add(index as u64))?;
        let mut driver = Driver::new(model, row.direction)
            .spent(passes)
            .interrupt(interrupted)
            .stop(stop.clone());
        if row.jumps {
            driver = driver.search(model);
        }
        let fit = driver.run(start);
        bar.inc(1);
        fit
    })?;
    if interrupted.load(Ordering::Relaxed) {
        bar.finish_and_clear();
        bail!(
            "interrupted before all runs had ended; a table of some would mislead, so nothing was written"
        );
    }
    Ok(fits.fits.iter().map(Ended::from).collect())
}

/// What was run, so that the figures can be had again.
fn preamble(args: &Args, models: &[Mixture], columns: &[Column]) -> String {
    let mut text = format!(
        "The paper's first experiment (HRL12, section 5.1): five unit Gaussians at (0,0) and (±R,±R), \
         a mixture of {} components with full covariances.\n\n",
        args.components
    );
    let mut line = |words: String| writeln!(text, "- {words}").expect("a string takes all");
    if args.files.is_empty() {
        line(format!(
            "Data: N = {} rows for each R, drawn with seed {}",
            args.rows, args.seed
        ));
    } else {
        let names = args.files.iter().zip(models);
        let names =
            names.map(|(path, model)| format!("{} (N = {})", file_name(path), model.rows()));
        line(format!("Data: {}", names.collect::<Vec<_>>().join(", ")));
    }
    let first = models[0].prior();
    let (whose, scale) = match args.prior {
        Prior::Sklearn => (
            "data-driven, scikit-learn's defaults",
            "the data's covariance",
        ),
        Prior::Paper => ("uninformative, the paper's", "0.001 times the identity"),
    };
    line(format!(
        "Prior ({whose}): weights Dirichlet with concentration {} for each component; means around the \
         data's mean with mean precision {}; precisions Wishart with {} degrees of freedom and scale {scale}",
        first.concentration, first.mean_precision, first.degrees_of_freedom
    ));
    for (index, model) in models.iter().enumerate() {
        let prior = model.prior();
        let (m, s) = (&prior.location, &prior.scale);
        line(format!(
            "Prior at R={}: location ({:.4}, {:.4}), scale ({:.4} {:.4}; {:.4} {:.4})",
            index + 1,
            m[0],
            m[1],
            s[0],
            s[1],
            s[2],
            s[3]
        ));
    }
    line(format!(
        "Runs: {} restarts from random responsibilities, seeds {} and up, the same for every method; a run ends \
         when a step gains less than {:e} nats or the squared norm of the gradient is below {:e}, or after {} iterations",
        args.restarts,
        args.seed,
        args.tolerance,
        args.tolerance,
        number(args.max_iterations as f64, 0)
    ));
    line(
        "The paper states neither N nor the values of its priors: its figures are a guide"
            .to_owned(),
    );
    let best: Vec<String> = columns.iter().map(|c| format!("{:.3}", c.best)).collect();
    line(format!("Best known bounds: {}", best.join(", ")));
    line("Jumps: components split and merged when a climb slows down, as `collapsar mixture` does under `auto`; \
          their iterations and passes count".to_owned());
    text
}

/// The common record; its bound is the best known one of the last data set.
fn record(args: &Args, models: &[Mixture], columns: &[Column], began: Instant) -> Result<Run> {
    let runs = || {
        columns
            .iter()
            .flat_map(|column| column.runs.iter().flatten())
    };
    let unfinished = runs().filter(|run| !run.outcome.converged()).count();
    let inputs: collapsar_formats::Result<Vec<Input>> =
        args.files.iter().map(|path| Input::of(path)).collect();
    let best: Vec<f64> = columns.iter().map(|column| column.best).collect();
    let mut extra = Map::new();
    extra.insert("best_bounds".into(), json!(best));
    extra.insert(
        "bound_is".into(),
        json!(format!("the best known at R={}", columns.len())),
    );
    Ok(Run {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: std::env::args().collect(),
        config: json!({
            "components": args.components,
            "rows": models.iter().map(Mixture::rows).collect::<Vec<_>>(),
            "restarts": args.restarts,
            "prior": models.iter().map(Mixture::prior).collect::<Vec<_>>(),
            "methods": args.methods,
            "tolerance": args.tolerance,
            "max_iterations": args.max_iterations,
            "best": args.best,
        }),
        inputs: inputs?,
        outcome: Outcome {
            converged: unfinished == 0,
            reason: format!(
                "{unfinished} of {} runs reached the limit of iterations",
                runs().count()
            ),
        },
        bound: best[best.len() - 1],
        iterations: runs().map(|run| run.iterations).sum(),
        passes: runs().map(|run| run.passes).sum::<f64>() as u64,
        seconds: began.elapsed().as_secs_f64(),
        seed: args.seed,
        extra,
    })
}
