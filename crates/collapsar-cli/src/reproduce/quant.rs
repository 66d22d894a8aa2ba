//! Reruns the third experiment: reads and the transcripts that they come from, every method from the same starts.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use collapsar::quant::{Compression, Prior, Quant, Reads, ReadsBuilder, Settings, Solver};
use collapsar::{Direction, Outcome, Stop};
use collapsar_formats::{ProbReader, prepare_folder};
use serde_json::{Value, json};

use super::measure::Ended;
use super::paired::{Measure, Paper, tables};
use super::runs::{Done, Plan, Record, distinct};
use super::simulate::{Size, simulate};
use super::tables::number;
use super::{at_least_one, file_name, positive};
use crate::common::Common;
use crate::text::count;

/// HRL12, section 5.3, in the text.
const PAPER: Paper = Paper {
    title: "The paper's (HRL12, section 5.3)",
    figures: &[(Measure::Iterations, "iterations", 0)],
    rows: &[
        ("vbem", &[(4600.0, 20.0)]),
        ("fr", &[(268.0, 4.0)]),
        ("hs", &[(265.0, 1.0)]),
    ],
};

/// The row of the library's own solver.
const COMPONENTS: &str = "by components";

const LIMITS: &str = "\
The paper does not state its prior: 1 for each transcript is BitSeq's. Below 1 there are several \
optima, and the last table tells whether a method ends lower than vbem does. Runs go one after another, each on all \
threads, so that their times compare. Ctrl-C ends the present run and leaves tables of the starts that every method \
has finished.";

/// Reruns the paper's third experiment.
#[derive(Debug, clap::Args)]
#[command(after_help = LIMITS)]
pub(super) struct Args {
    /// Probabilities of reads, as BitSeq's parseAlignment writes them, instead of reads simulated here
    #[arg(long, value_name = "FILE")]
    prob: Option<PathBuf>,
    /// Keep the file's noise, as one more transcript
    #[arg(long, requires = "prob")]
    noise: bool,
    /// Genes simulated, of about five isoforms each [default: 1000]
    #[arg(long, value_name = "G", conflicts_with = "prob", value_parser = at_least_one())]
    genes: Option<u32>,
    /// Reads simulated [default: 100000]
    #[arg(long, value_name = "N", conflicts_with = "prob", value_parser = at_least_one())]
    reads: Option<u32>,
    /// Prior of the fractions, for each transcript
    #[arg(long, value_name = "A", default_value = "1", value_parser = positive)]
    prior: f64,
    /// Starts of each method, as many as the paper's unless given
    #[arg(long, value_name = "R", default_value = "4", value_parser = at_least_one())]
    starts: u32,
    /// The methods to compare: vbem, fr, pr, hs, lbfgs, newton, auto
    #[arg(long, value_delimiter = ',', default_value = "vbem,fr,hs,auto")]
    methods: Vec<Direction>,
    /// A run ends when a step gains less than this, or the gradient's squared norm is below it
    #[arg(long, value_name = "T", default_value = "1e-6", value_parser = positive)]
    tolerance: f64,
    /// Of the reads simulated, and of the first start
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// A run ends after so many iterations in any case
    #[arg(long, value_name = "I", default_value_t = 50_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    max_iterations: u64,
    /// A folder for quant.md (what is printed), quant.csv (every run) and run.json
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &Args, common: &Common) -> Result<()> {
    let began = Instant::now();
    let plan = Plan {
        methods: distinct(&args.methods),
        starts: args.starts as usize,
        seed: args.seed,
        tolerance: args.tolerance,
        max_iterations: args.max_iterations,
    };
    let (reads, data) = read(args)?;
    let settings = Settings {
        prior: Prior::Given(args.prior),
        tolerance: args.tolerance.min(Settings::default().tolerance),
        search: false,
        ..Settings::default()
    };
    let solver = Solver::new(&reads, &settings)?.interrupt(common.interrupt);
    // Before the runs: they must not end in a refusal. After the data: bad input leaves no folder.
    if let Some(folder) = &args.out {
        prepare_folder(folder)?;
    }
    let model = Quant::whole(&reads, args.prior);
    let apart = || solved(&solver, &settings);
    let start = |seed| Ok((model.start(seed), 0));
    let done = plan.climb(&model, start, Some((COMPONENTS, &apart)), common)?;
    let text = format!(
        "{}\n{}{}",
        preamble(args, &plan, &data, &done),
        tables(&PAPER, &done.names, &done.runs),
        spread(&done)
    );
    if let Some(folder) = &args.out {
        let files: Vec<PathBuf> = args.prob.iter().cloned().collect();
        let record = Record {
            stem: "quant",
            text: &text,
            config: config(args, &plan, &reads, &done),
            files: &files,
            seed: args.seed,
            began,
        };
        done.write(folder, record)?;
    }
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}

/// The reads, and what they are in words.
fn read(args: &Args) -> Result<(Reads, String)> {
    if let Some(path) = &args.prob {
        let reads = probabilities(path, args.noise)?;
        let words = format!("{} ({})", file_name(path), size(&reads));
        return Ok((reads, words));
    }
    let genes = args.genes.unwrap_or(1000) as usize;
    let reads = args.reads.unwrap_or(100_000) as usize;
    let reads = simulate(Size { genes, reads }, args.seed)?.reads;
    let words = format!(
        "simulated with seed {}, {} genes whose isoforms share exons ({}); --prob takes real ones",
        args.seed,
        number(genes as f64, 0),
        size(&reads)
    );
    Ok((reads, words))
}

/// How much there is to do.
fn size(reads: &Reads) -> String {
    let largest = reads.components().first();
    let largest = largest.map_or(0, |component| component.places.len());
    let whole = |n: usize| number(n as f64, 0);
    format!(
        "{} reads of {} transcripts, {} of them unique; the others are {} different rows in {}, the largest of {}",
        number(reads.reads(), 0),
        whole(reads.transcripts()),
        number(reads.unique_reads(), 0),
        whole(reads.rows()),
        count(reads.components().len(), "component"),
        count(largest, "transcript"),
    )
}

fn probabilities(path: &Path, noise: bool) -> Result<Reads> {
    let mut file = ProbReader::open(path)?;
    let transcripts = file.header().transcripts + usize::from(noise);
    let mut builder = ReadsBuilder::new(transcripts, Compression::default())?;
    let mut entries = Vec::new();
    while file.next(&mut entries)? {
        if !noise {
            entries.retain(|&(transcript, _)| transcript > 0);
            for entry in &mut entries {
                entry.0 -= 1;
            }
        }
        // A read that noise alone explains.
        if !entries.is_empty() {
            builder
                .push(&entries, 1.0)
                .with_context(|| format!("{}:{}", path.display(), file.line()))?;
        }
    }
    builder.finish().with_context(|| path.display().to_string())
}

/// One run of the library's solver; nothing once it is interrupted.
fn solved(solver: &Solver<'_>, settings: &Settings) -> Result<Option<Ended>> {
    let began = Instant::now();
    let solved = solver.run()?;
    if solved.interrupted {
        return Ok(None);
    }
    let outcome = if solved.unfinished == 0 {
        Outcome::Converged(Stop::Gain(settings.tolerance))
    } else {
        Outcome::Exhausted(Stop::Iterations(solved.iterations))
    };
    Ok(Some(Ended {
        bound: solved.bound,
        iterations: solved.iterations,
        passes: solved.passes,
        seconds: began.elapsed().as_secs_f64(),
        outcome,
    }))
}

/// What was run, so that the figures can be had again.
fn preamble(args: &Args, plan: &Plan, data: &str, done: &Done) -> String {
    let mut text = "The paper's third experiment (HRL12, section 5.3): which transcripts RNA-seq reads come from, \
         six million latent variables, four starts.\n\n"
        .to_owned();
    let mut line = |words: String| writeln!(text, "- {words}").expect("a string takes all");
    line(format!("Data: {data}"));
    line(format!(
        "Model: the fractions of all transcripts collapsed, prior {} for each{}",
        args.prior,
        if args.noise {
            ", noise one of them"
        } else {
            ""
        }
    ));
    line(plan.told("responsibilities at random", done));
    line(format!(
        "Costs: a pass is a look at every row; products with the metric count. Runs go one after another, threads: {}",
        rayon::current_num_threads()
    ));
    line(format!(
        "\"{COMPONENTS}\" is what collapsar quant does, but for its search, and without a random start: each \
         component alone, Newton's steps where it is small. Its iterations are the most of any component, its passes the components' by their share of \
         the data"
    ));
    line(
        "The paper's reads are others (Xu et al. 2010) and it does not state its prior: its figures are a guide"
            .to_owned(),
    );
    text
}

/// How far apart runs ended.
fn spread(done: &Done) -> String {
    let bounds = || done.runs.runs.iter().flatten().map(|run| run.bound);
    let least = bounds().fold(f64::INFINITY, f64::min);
    format!(
        "All bounds lie within {:.2} nats of the best; the paper's within 60.\n",
        done.runs.best - least
    )
}

/// The settings as used.
fn config(args: &Args, plan: &Plan, reads: &Reads, done: &Done) -> Value {
    json!({
        "transcripts": reads.transcripts(),
        "reads": reads.reads(),
        "alignments": reads.alignments(),
        "rows": reads.rows(),
        "simulated": args.prob.is_none(),
        "noise": args.noise,
        "prior": args.prior,
        "starts": done.starts(),
        "methods": plan.methods,
        "tolerance": plan.tolerance,
        "max_iterations": args.max_iterations,
        "threads": rayon::current_num_threads(),
    })
}
