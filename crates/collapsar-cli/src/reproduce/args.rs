//! What was typed after `collapsar reproduce`, and the request that it makes.

use std::path::PathBuf;

use clap::builder::RangedI64ValueParser;
use collapsar::Direction;
use collapsar::mixture::Defaults;
use collapsar::topics::{Settings, Start};
use collapsar_reproduce::{
    CorpusSize, MixtureRequest, Plan, QuantRequest, SimulationSize, TopicsRequest,
};

use crate::values::named;

/// What to rerun.
#[derive(Debug, clap::Args)]
pub(crate) struct ReproduceArgs {
    #[command(subcommand)]
    pub(super) what: What,
}

#[derive(Debug, clap::Subcommand)]
pub(super) enum What {
    /// The first experiment: five Gaussians, eight components, many restarts of every method
    Mixture(MixtureArgs),
    /// The second experiment: topics of 200 papers, every method from the same starts
    Topics(TopicsArgs),
    /// The third experiment: reads and the transcripts that they come from, four starts of every method
    Quant(QuantArgs),
    /// The figure of the two bounds along a line, computed on a small mixture
    Curvature(CurvatureArgs),
}

/// Reruns the paper's first experiment.
#[derive(Debug, clap::Args)]
pub(super) struct MixtureArgs {
    /// Tables with columns x and y, one for each R in order, instead of data drawn here
    pub(super) files: Vec<PathBuf>,
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
    #[arg(long, default_value = "sklearn")]
    #[arg(value_parser = named([("sklearn", Defaults::Sklearn), ("paper", Defaults::Paper)]))]
    prior: Defaults,
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
    pub(super) out: Option<PathBuf>,
}

impl MixtureArgs {
    pub(super) fn request(&self) -> MixtureRequest {
        MixtureRequest {
            files: self.files.clone(),
            rows: self.rows,
            components: self.components,
            defaults: self.prior,
            best: self.best.clone(),
            plan: Plan {
                methods: self.methods.clone(),
                starts: self.restarts as usize,
                seed: self.seed,
                tolerance: self.tolerance,
                max_iterations: self.max_iterations,
            },
        }
    }
}

const TOPICS_NOTES: &str = "\
The paper states neither the number of topics nor the values of its priors, \"fixed, uninformative\": \
the defaults are ours. Runs go one after another, each on all threads, so that their times compare. \
Ctrl-C ends the present run and leaves tables of the starts that every method has finished.";

/// Reruns the paper's second experiment.
#[derive(Debug, clap::Args)]
#[command(after_help = TOPICS_NOTES)]
pub(super) struct TopicsArgs {
    /// Counts of words or texts, as collapsar topics reads them, instead of a corpus drawn here
    #[arg(long, value_name = "DOCWORD")]
    pub(super) corpus: Option<PathBuf>,
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
    pub(super) out: Option<PathBuf>,
}

impl TopicsArgs {
    pub(super) fn request(&self) -> TopicsRequest {
        let or = |given: Option<u32>, full: u32, quick: u32| {
            given.unwrap_or(if self.quick { quick } else { full }) as usize
        };
        let tolerance = if self.quick { 1e-3 } else { 1e-6 };
        TopicsRequest {
            corpus: self.corpus.clone(),
            size: CorpusSize {
                documents: or(self.documents, 200, 100),
                words: or(self.words, 2000, 1000),
                length: or(self.length, 1700, 500),
            },
            topics: self.topics as usize,
            alpha: self.alpha,
            beta: self.beta,
            sweeps: self.sweeps,
            start: self.start,
            plan: Plan {
                methods: self.methods.clone(),
                starts: or(self.starts, 12, 3),
                seed: self.seed,
                tolerance: self.tolerance.unwrap_or(tolerance),
                max_iterations: self.max_iterations,
            },
        }
    }
}

const QUANT_NOTES: &str = "\
The paper does not state its prior: 1 for each transcript is BitSeq's. Below 1 there are several \
optima, and the last table tells whether a method ends lower than vbem does. Runs go one after another, each on all \
threads, so that their times compare. Ctrl-C ends the present run and leaves tables of the starts that every method \
has finished.";

/// Reruns the paper's third experiment.
#[derive(Debug, clap::Args)]
#[command(after_help = QUANT_NOTES)]
pub(super) struct QuantArgs {
    /// Probabilities of reads, as BitSeq's parseAlignment writes them, instead of reads simulated here
    #[arg(long, value_name = "FILE")]
    pub(super) prob: Option<PathBuf>,
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
    pub(super) out: Option<PathBuf>,
}

impl QuantArgs {
    pub(super) fn request(&self) -> QuantRequest {
        QuantRequest {
            prob: self.prob.clone(),
            noise: self.noise,
            size: SimulationSize {
                genes: self.genes.unwrap_or(1000) as usize,
                reads: self.reads.unwrap_or(100_000) as usize,
            },
            prior: self.prior,
            plan: Plan {
                methods: self.methods.clone(),
                starts: self.starts as usize,
                seed: self.seed,
                tolerance: self.tolerance,
                max_iterations: self.max_iterations,
            },
        }
    }
}

/// Draws the figure.
#[derive(Debug, clap::Args)]
pub(super) struct CurvatureArgs {
    /// The picture to write
    #[arg(long, value_name = "FILE", default_value = "curvature.svg")]
    pub(super) out: PathBuf,
    /// Of the data and of the start
    #[arg(long, default_value_t = 0)]
    pub(super) seed: u64,
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value),
        _ => Err("expected a positive number".to_owned()),
    }
}

fn at_least_one() -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..)
}
