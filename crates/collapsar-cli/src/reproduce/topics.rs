//! Reruns the second experiment: topics of a corpus, every method from the same starts.

use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use collapsar::topics::{Alpha, Beta, Corpus, Settings, Start, Topics, TopicsFit};
use collapsar::{Direction, Driver, Fit, Point, Stop};
use collapsar_formats::{
    CorpusOptions, Outcome, Run, prepare_folder, read_corpus, write_atomically,
};
use serde_json::{Map, json};

use super::corpus::{Size, draw, names};
use super::measure::{Column, Ended};
use super::paired::{raw, tables, topics};
use super::tables::number;
use super::{file_name, positive};
use crate::common::Common;
use crate::files::inputs;
use crate::progress::Progress;
use crate::text::{count, duration};
use crate::values::named;

const LIMITS: &str = "\
The paper states neither the number of topics nor the values of its priors, \"fixed, uninformative\": \
the defaults are ours. Runs go one after another, each on all threads, so that their times compare. \
Ctrl-C ends the present run and leaves tables of the starts that every method has finished.";

/// Reruns the paper's second experiment.
#[derive(Debug, clap::Args)]
#[command(after_help = LIMITS)]
pub(super) struct Args {
    /// Counts of words or texts, as collapsar topics reads them, instead of a corpus drawn here
    #[arg(long, value_name = "DOCWORD")]
    corpus: Option<PathBuf>,
    /// Documents drawn [default: 200, as the paper's]
    #[arg(long, value_name = "D", conflicts_with = "corpus", value_parser = at_least_one())]
    documents: Option<u32>,
    /// Words of the vocabulary drawn from [default: 2000, as the paper's]
    #[arg(long, value_name = "W", conflicts_with = "corpus", value_parser = at_least_one())]
    words: Option<u32>,
    /// Tokens of a document drawn, on average [default: 1700, about the paper's]
    #[arg(long, value_name = "N", conflicts_with = "corpus", value_parser = at_least_one())]
    length: Option<u32>,
    /// Topics of the model, and of the corpus where it is drawn
    #[arg(long, short = 'k', value_name = "K", default_value = "10", value_parser = at_least_one())]
    topics: u32,
    /// Prior of the documents' proportions, for each topic
    #[arg(long, value_name = "A", default_value = "1", value_parser = positive)]
    alpha: f64,
    /// Prior of the topics, for each word
    #[arg(long, value_name = "B", default_value = "1", value_parser = positive)]
    beta: f64,
    /// Starts of each method [default: 12, as the paper's]
    #[arg(long, value_name = "R", value_parser = at_least_one())]
    starts: Option<u32>,
    /// The methods to compare: vbem, fr, pr, hs, lbfgs, newton, auto
    #[arg(long, value_delimiter = ',', default_value = "vbem,fr,hs,auto")]
    methods: Vec<Direction>,
    /// A run ends when a step gains less than this, or the gradient's squared norm is below it
    /// [default: 1e-6, as the paper's]
    #[arg(long, value_name = "T", value_parser = positive)]
    tolerance: Option<f64>,
    /// Sweeps over a document's words in each pass
    #[arg(long, value_name = "N", default_value_t = Settings::new(1).sweeps)]
    sweeps: usize,
    /// First topics
    #[arg(long, default_value_t = Start::Random, value_parser = named(Start::ALL.map(|s| (s.name(), s))))]
    start: Start,
    /// Of the corpus drawn, and of the first start
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// A run ends after so many iterations in any case
    #[arg(long, value_name = "I", default_value_t = 20_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    max_iterations: u64,
    /// See it in half a minute: 3 starts, tolerance 1e-3 and a smaller corpus, unless given
    #[arg(long)]
    quick: bool,
    /// A folder for topics.md (what is printed), topics.csv (every run) and run.json
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

fn at_least_one() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..)
}

/// What the flags mean, defaults filled in.
struct Plan {
    starts: usize,
    tolerance: f64,
    methods: Vec<Direction>,
    size: Size,
}

impl Plan {
    fn of(args: &Args) -> Self {
        let or = |given: Option<u32>, full: u32, quick: u32| {
            given.unwrap_or(if args.quick { quick } else { full }) as usize
        };
        let mut methods: Vec<Direction> = Vec::new();
        for &method in &args.methods {
            if !methods.contains(&method) {
                methods.push(method);
            }
        }
        let usual = if args.quick { 1e-3 } else { 1e-6 };
        Self {
            starts: or(args.starts, 12, 3),
            tolerance: args.tolerance.unwrap_or(usual),
            methods,
            size: Size {
                documents: or(args.documents, 200, 100),
                words: or(args.words, 2000, 1000),
                length: or(args.length, 1700, 500),
            },
        }
    }
}

/// A corpus with its words' names and the files it came from.
struct Data {
    corpus: Arc<Corpus>,
    vocabulary: Vec<String>,
    files: Vec<PathBuf>,
}

impl Data {
    fn of(args: &Args, plan: &Plan) -> Result<Self> {
        let Some(path) = &args.corpus else {
            let corpus = draw(plan.size, args.topics as usize, args.seed)?;
            return Ok(Self {
                corpus: Arc::new(corpus),
                vocabulary: names(plan.size.words),
                files: Vec::new(),
            });
        };
        let (read, report) = read_corpus(path, &CorpusOptions::default())?;
        let words = read.vocabulary.len();
        let corpus = Corpus::new(read.starts, read.words, read.counts, words);
        Ok(Self {
            corpus: Arc::new(corpus.with_context(|| path.display().to_string())?),
            vocabulary: read.vocabulary,
            files: std::iter::once(path.clone())
                .chain(report.vocabulary)
                .collect(),
        })
    }
}

/// The runs, and what the best of them found.
struct Done {
    runs: Column,
    best: TopicsFit,
    best_is: String,
}

pub(super) fn run(args: &Args, common: &Common) -> Result<()> {
    let began = Instant::now();
    let plan = Plan::of(args);
    let data = Data::of(args, &plan)?;
    let settings = Settings {
        topics: args.topics as usize,
        alpha: Alpha::Symmetric(args.alpha),
        beta: Beta::Given(args.beta),
        sweeps: args.sweeps,
    };
    let model = Topics::new(Arc::clone(&data.corpus), &settings)?;
    // Before the runs: they must not end in a refusal. After the data: bad input leaves no folder.
    if let Some(folder) = &args.out {
        prepare_folder(folder)?;
    }
    let done = climb(args, &plan, &model, common)?;
    let text = format!(
        "{}\n{}{}\n\n{}",
        preamble(args, &plan, &data, &done),
        tables(&plan.methods, &done.runs),
        format_args!(
            "Largest topics of the best fit ({}), by words of highest relevance",
            done.best_is
        ),
        topics(&done.best, &data.vocabulary)
    );
    if let Some(folder) = &args.out {
        write(folder, args, &plan, &data, &done, &text, began)?;
    }
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}

/// Every method from every start. Methods take turns, so that whatever else the machine does slows all of
/// them alike, and a start counts once all have ended.
fn climb(args: &Args, plan: &Plan, model: &Topics, common: &Common) -> Result<Done> {
    let length = plan.starts * plan.methods.len();
    let progress = Progress::new(common, Some(length as u64), "runs");
    let stop = Stop::Gain(plan.tolerance)
        | Stop::Norm(plan.tolerance)
        | Stop::Iterations(args.max_iterations);
    let mut runs: Vec<Vec<Ended>> = vec![Vec::new(); plan.methods.len()];
    let mut best: Option<(Point, String)> = None;
    'starts: for index in 0..plan.starts {
        let seed = args.seed.wrapping_add(index as u64);
        let began = Instant::now();
        let (start, passes) = model.start(args.start, seed)?;
        let starting = began.elapsed().as_secs_f64();
        let mut fits = Vec::new();
        for method in &plan.methods {
            let name = format!("{method}, seed {seed}");
            let mut fit = Driver::new(model, *method)
                .spent(passes)
                .interrupt(common.interrupt)
                .stop(stop.clone())
                .observe(|step| {
                    progress.tell(|| {
                        let (iteration, bound) = (step.iteration, step.bound);
                        format!("{name}: iteration {iteration}, bound {bound:.1}")
                    });
                    ControlFlow::Continue(())
                })
                .run(start.clone())?;
            if common.interrupted() {
                break 'starts;
            }
            fit.seconds += starting;
            progress.advance();
            if common.verbose {
                progress.line(&told(&name, &fit));
            }
            fits.push((fit, name));
        }
        for ((fit, name), runs) in fits.into_iter().zip(&mut runs) {
            runs.push(Ended::from(&fit));
            let bound = fit.point.bound;
            if best.as_ref().is_none_or(|(best, _)| bound > best.bound) {
                best = Some((fit.point, name));
            }
        }
    }
    let Some((point, best_is)) = best else {
        bail!("interrupted before every method had ended from one start; nothing was written");
    };
    Ok(Done {
        runs: Column::new(runs, None),
        best: model.fit(&point),
        best_is,
    })
}

fn told(name: &str, fit: &Fit) -> String {
    format!(
        "{name}: bound {:.3}, {} ({} iterations, {} passes, {})",
        fit.point.bound,
        fit.outcome,
        fit.iterations,
        fit.passes,
        duration(fit.seconds)
    )
}

/// What was run, so that the figures can be had again.
fn preamble(args: &Args, plan: &Plan, data: &Data, done: &Done) -> String {
    let mut text = "The paper's second experiment (HRL12, section 5.2): latent Dirichlet allocation on 200 papers of \
         NIPS 2011 with a vocabulary of 2,000 words.\n\n"
        .to_owned();
    let mut line = |words: String| writeln!(text, "- {words}").expect("a string takes all");
    let corpus = &data.corpus;
    let size = format!(
        "{} documents, {} words, {} tokens",
        number(corpus.documents() as f64, 0),
        number(corpus.vocabulary() as f64, 0),
        number(corpus.tokens(), 0)
    );
    line(match &args.corpus {
        Some(path) => format!("Data: {} ({size})", file_name(path)),
        None => format!(
            "Data: drawn from the model with seed {}, words as uneven as Zipf's law has them ({size}); \
             --corpus takes a real one",
            args.seed
        ),
    });
    line(format!(
        "Model: {}, alpha {} for each topic and beta {} for each word, both fixed",
        count(args.topics as usize, "topic"),
        args.alpha,
        args.beta
    ));
    let starts = done.runs.runs[0].len();
    let cut = if starts < plan.starts {
        format!(
            " of the {} asked for, before runs were interrupted",
            plan.starts
        )
    } else {
        String::new()
    };
    line(format!(
        "Runs: {}{cut} ({}), seeds {} and up, the same for every method; a run ends when a step gains less than \
         {:e} nats or the squared norm of the gradient is below {:e}, or after {} iterations",
        count(starts, "start"),
        args.start,
        args.seed,
        plan.tolerance,
        plan.tolerance,
        number(args.max_iterations as f64, 0)
    ));
    line(format!(
        "Costs: a pass is {} over each document's words, where a textbook update has one; passes of the start \
         and products with the metric count, and a product takes longer than a pass. Runs go one after another, \
         threads: {}",
        count(args.sweeps, "sweep"),
        rayon::current_num_threads()
    ));
    line(
        "The paper states neither the number of topics nor the values of its priors, \"fixed, uninformative\": its \
         figures are a guide"
            .to_owned(),
    );
    text
}

/// The files, each of which appears whole or not at all; `run.json` last.
fn write(
    folder: &Path,
    args: &Args,
    plan: &Plan,
    data: &Data,
    done: &Done,
    text: &str,
    began: Instant,
) -> Result<()> {
    write_atomically(&folder.join("topics.csv"), |file| {
        raw(file, &plan.methods, &done.runs, args.seed)
    })?;
    write_atomically(&folder.join("topics.md"), |file| {
        file.write_all(text.as_bytes())
    })?;
    let all = || done.runs.runs.iter().flatten();
    let unfinished = all().filter(|run| !run.outcome.converged()).count();
    let mut extra = Map::new();
    extra.insert("bound_is".into(), json!(format!("of {}", done.best_is)));
    let corpus = &data.corpus;
    Run {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: std::env::args().collect(),
        config: json!({
            "documents": corpus.documents(),
            "words": corpus.vocabulary(),
            "tokens": corpus.tokens(),
            "drawn": args.corpus.is_none(),
            "topics": args.topics,
            "alpha": args.alpha,
            "beta": args.beta,
            "sweeps": args.sweeps,
            "start": args.start,
            "starts": done.runs.runs[0].len(),
            "methods": plan.methods,
            "tolerance": plan.tolerance,
            "max_iterations": args.max_iterations,
            "threads": rayon::current_num_threads(),
        }),
        inputs: inputs(&data.files)?,
        outcome: Outcome {
            converged: unfinished == 0,
            reason: format!(
                "{unfinished} of {} runs reached the limit of iterations",
                all().count()
            ),
        },
        bound: done.runs.best,
        iterations: all().map(|run| run.iterations).sum(),
        passes: all().map(|run| run.passes).sum(),
        seconds: began.elapsed().as_secs_f64(),
        seed: args.seed,
        extra,
    }
    .write(folder)?;
    Ok(())
}
