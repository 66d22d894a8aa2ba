//! Reruns the second experiment: topics of a corpus, every method from the same starts.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use collapsar::Direction;
use collapsar::topics::{Alpha, Beta, Corpus, Settings, Start, Topics};
use collapsar_formats::{CorpusOptions, prepare_folder, read_corpus};
use serde_json::{Value, json};

use super::corpus::{Size, draw, names};
use super::paired::{Measure, Paper, tables, topics};
use super::runs::{Done, Plan, Record, distinct};
use super::tables::number;
use super::{at_least_one, file_name, positive};
use crate::common::Common;
use crate::text::count;
use crate::values::named;

/// HRL12, table 2.
const PAPER: Paper = Paper {
    title: "The paper's (HRL12, table 2)",
    figures: &[
        (Measure::Seconds, "minutes", 1),
        (Measure::Iterations, "iterations", 1),
        (Measure::Bound, "bound", 0),
    ],
    rows: &[
        ("hs", &[(56.4, 18.5), (644.3, 214.5), (-1_998_780.0, 201.0)]),
        ("fr", &[(38.5, 8.7), (447.8, 100.5), (-1_998_743.0, 194.0)]),
        (
            "vbem",
            &[(370.0, 105.0), (4459.0, 1296.0), (-1_998_732.0, 241.0)],
        ),
    ],
};

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

/// What the flags mean, defaults filled in.
fn resolved(args: &Args) -> (Plan, Size) {
    let or = |given: Option<u32>, full: u32, quick: u32| {
        given.unwrap_or(if args.quick { quick } else { full }) as usize
    };
    let usual = if args.quick { 1e-3 } else { 1e-6 };
    let plan = Plan {
        methods: distinct(&args.methods),
        starts: or(args.starts, 12, 3),
        seed: args.seed,
        tolerance: args.tolerance.unwrap_or(usual),
        max_iterations: args.max_iterations,
    };
    let size = Size {
        documents: or(args.documents, 200, 100),
        words: or(args.words, 2000, 1000),
        length: or(args.length, 1700, 500),
    };
    (plan, size)
}

/// A corpus with its words' names and the files it came from.
struct Data {
    corpus: Arc<Corpus>,
    vocabulary: Vec<String>,
    files: Vec<PathBuf>,
}

impl Data {
    fn of(args: &Args, size: Size) -> Result<Self> {
        let Some(path) = &args.corpus else {
            let corpus = draw(size, args.topics as usize, args.seed)?;
            return Ok(Self {
                corpus: Arc::new(corpus),
                vocabulary: names(size.words),
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

pub(super) fn run(args: &Args, common: &Common) -> Result<()> {
    let began = Instant::now();
    let (plan, size) = resolved(args);
    let data = Data::of(args, size)?;
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
    let start = |seed| Ok(model.start_unless(args.start, seed, common.interrupt)?);
    let done = plan.climb(&model, start, None, common)?;
    let text = format!(
        "{}\n{}Largest topics of the best fit ({}), by words of highest relevance\n\n{}",
        preamble(args, &plan, &data, &done),
        tables(&PAPER, &done.names, &done.runs),
        done.best_is,
        topics(&model.fit(&done.best), &data.vocabulary)
    );
    if let Some(folder) = &args.out {
        let record = Record {
            stem: "topics",
            text: &text,
            config: config(args, &plan, &data, &done),
            files: &data.files,
            seed: args.seed,
            began,
        };
        done.write(folder, record)?;
    }
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
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
    line(plan.told(args.start.name(), done));
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

/// The settings as used.
fn config(args: &Args, plan: &Plan, data: &Data, done: &Done) -> Value {
    let corpus = &data.corpus;
    json!({
        "documents": corpus.documents(),
        "words": corpus.vocabulary(),
        "tokens": corpus.tokens(),
        "drawn": args.corpus.is_none(),
        "topics": args.topics,
        "alpha": args.alpha,
        "beta": args.beta,
        "sweeps": args.sweeps,
        "start": args.start,
        "starts": done.starts(),
        "methods": plan.methods,
        "tolerance": plan.tolerance,
        "max_iterations": args.max_iterations,
        "threads": rayon::current_num_threads(),
    })
}
