//! `collapsar topics`: fits topic models (latent Dirichlet allocation), and uses fits on new documents.
//!
//! - `args`: the flags as typed
//! - `corpus`: corpora as files give them and as the library takes them
//! - `holdout`: which documents are held out, and how each is halved
//! - `config`: what the flags mean for the corpus at hand, checked once
//! - `fit`: climbs with every number of topics
//! - `curve`: `--curve`, perplexity and cost along a climb
//! - `score`: how well a fit foresees documents
//! - `quality`: measures of the topics themselves
//! - `words`: the words that describe a topic
//! - `results`: the files of a fit
//! - `saved`: `topics.json`, written and read
//! - `summary`: what is printed
//! - `infer`: topics of new documents

mod args;
mod config;
mod corpus;
mod curve;
mod fit;
mod holdout;
mod infer;
mod quality;
mod results;
mod saved;
mod score;
mod summary;
mod words;

use std::io::Write;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use collapsar_formats::prepare_folder;

use crate::climb::Ended;
use crate::common::Common;
use args::FitArgs;
use config::Config;
use corpus::Data;

const EXAMPLES: &str = "\
Examples:
  collapsar topics texts/ --topics 20                 a folder of texts, a document a file
  collapsar topics reviews.csv --text-column review --id-column id --out fit
  collapsar topics docword.nips.txt.gz --topics 5,10,20,50 --holdout 0.1
                                                      fit each number, keep what foresees best
  collapsar topics notes.txt --min-docs 5 --max-docs-share 0.5 --stop-words my.txt
                                                      a document a line, fewer words
  collapsar topics big.jsonl --checkpoint run.ckpt    and, if it is stopped, again with
  collapsar topics big.jsonl --resume run.ckpt        to end at the same numbers, bit for bit
  collapsar topics infer fit new.csv                  topics of new documents

With --out DIR the folder gets
  topics.csv      for each topic (from 0) its 1000 most probable words: rank, probability, relevance
  documents.csv   for each document its number of words and its proportions, a column a topic
  topics.json     the fit itself, for collapsar topics infer
  trace.jsonl     every step of the best climb
  run.json        version, settings, inputs with digests, what was dropped, priors, outcome, cost

A file called infer is given as ./infer.";

/// Find the topics of a corpus (latent Dirichlet allocation)
///
/// Reads texts or counts of words, gzipped or not, finds topics and what each document is about, and
/// prints a summary. The bound it reports is a lower bound on ln p(documents), with all its constants;
/// perplexity of held-out documents (--holdout) compares with other programs: lower is better.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(disable_help_subcommand = true, after_help = EXAMPLES)]
pub(crate) struct TopicsArgs {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    fit: FitArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    Infer(infer::InferArgs),
}

pub(crate) fn run(args: &TopicsArgs, common: &Common) -> anyhow::Result<ExitCode> {
    match &args.command {
        Some(Command::Infer(infer)) => infer::run(infer, common),
        None => run_fit(&args.fit, common),
    }
}

fn run_fit(args: &FitArgs, common: &Common) -> anyhow::Result<ExitCode> {
    args.check()?;
    let data = Data::read(args)?;
    corpus::tell(&data.report, &data.corpus.documents, common);
    let config = Config::resolve(args, &data, common)?;
    // Before the fit: a long run must not end in a refusal. After the data: bad input leaves no folder.
    if let Some(folder) = &args.out {
        prepare_folder(folder)?;
    }
    let fitted = fit::fit(&config, args, common)?;
    let ended = &fitted.ended;
    if ended.is_nothing() {
        return Ok(Ended::nothing(common));
    }
    if let Some(folder) = &args.out {
        results::write(folder, args, &config, &data, &fitted)?;
    }
    let summary = summary::of(args, &config, &data, &fitted);
    ended.warn(common);
    std::io::stdout().write_all(summary.as_bytes())?;
    Ok(ended.exit(&args.climb))
}
