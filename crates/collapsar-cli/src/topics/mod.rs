//! `collapsar topics`: fits topic models (latent Dirichlet allocation), and uses fits on new documents.
//!
//! - `args`: the flags as typed
//! - `summary`: what is printed, and said of the corpus and of topics that look wrong
//! - `stream`: documents as they come
//! - `infer`: topics of new documents

mod args;
mod infer;
mod stream;
mod summary;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::{Args, Subcommand};
use collapsar_run::topics::CorpusData;
use collapsar_run::{RunFolder, Witness};

use crate::climb::{self, Bar, ReadFrom};
use crate::common::{Common, command, print};
use crate::progress::Progress;
use crate::text::{bytes, thousands};
use args::FitArgs;

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
  collapsar topics huge.jsonl --memory 2GB --out fit  what does not fit is read for every pass
  collapsar topics texts/ --restarts 4 --average --out fit
                                                      keep all four, foresee by their mean
  collapsar topics texts/ --posterior exact --out fit collapsed Gibbs sweeps from the fit, and their mean
  collapsar topics infer fit new.csv                  topics of new documents
  zcat archive/*.gz | collapsar topics --stream - --topics 100 --out fit
                                                      learn from documents as they come

With --out DIR the folder gets
  topics.csv          for each topic (from 0) its 1000 most probable words, and how relevant each is
  topics_quality.csv  for each topic its share, prior, coherence, exclusivity, typical documents
  typical_documents.csv
                      for each topic the documents that have most of it, with how their texts begin
  documents.csv       for each document its number of words and its proportions, a column a topic
  posterior.csv       mean, sd, q2.5, median and q97.5 of each topic's share of the tokens, and with
                      --documents of each document's proportions, document and topic from 0
  documents_sd.csv    standard deviations of the documents' proportions, a column a topic
  draws.csv           with --posterior exact, a column for each number of posterior.csv
  correlations.csv    how the proportions of topics go together over documents
  topics.json         the fit itself, for collapsar topics infer
  average/            with --average, the other fits, for collapsar topics infer --completion
  draws/              with --posterior exact, some draws of the topics, for the same
  trace.jsonl         every step of the best climb
  run.json            version, settings, inputs with digests, what was dropped, outcome, cost

Coherence of a topic says how its 10 most probable words meet in documents: NPMI is from -1 to 1,
UMass at most 0.69. Exclusivity is how far these words are its own, up to 1; diversity how many
of the words of all topics are distinct. More is better.

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
        None if args.fit.stream.stream => stream::run(&args.fit, common),
        None => run_fit(&args.fit, common),
    }
}

fn run_fit(args: &FitArgs, common: &Common) -> anyhow::Result<ExitCode> {
    args.page.check(args.out.as_deref())?;
    let request = args.request()?;
    let witness = Witness::of(args.files());
    let mut data = read(args, common)?;
    summary::tell(&data.report, &data.empty(summary::SHOWN)?, common);
    let run = request.prepare(&data)?;
    summary::tell_outside(run.halves(), common);
    // Before the fit: a long run must not end in a refusal. After the data: bad input leaves no folder.
    let folder = RunFolder::asked(args.out.as_deref(), witness)?;
    let climbs = args.topics.0.len() * args.climb.climbs();
    let stored =
        (data.stored.as_ref()).map(|stored| ReadFrom::Documents(Arc::clone(&stored.file.corpus)));
    let result = run.climb(&Bar::new(common, climbs).of_file(stored))?;
    if result.climbed.is_nothing() {
        return Ok(climb::nothing(common));
    }
    let doubts: Vec<String> = result.doubts.iter().map(summary::doubt).collect();
    if let Some(folder) = folder {
        run.write(folder, &result, &doubts, command())?;
        args.page.write(args.out.as_deref(), common)?;
    }
    let summary = summary::of(args, &data, &result);
    drop(run);
    let going_on = args.climb.checkpoint.is_some() && !result.climbed.outcome.converged;
    if let (Some(stored), true) = (&mut data.stored, going_on) {
        stored.scratch.keep();
        let kept = stored.scratch.path().display();
        common.say(&format!("{kept} keeps the documents for --resume"));
    }
    climb::warn(&result.climbed, common);
    if !result.posterior.mixed() {
        common.warn("the chains have not mixed: try more --draws");
    }
    for doubt in &doubts {
        common.warn(doubt);
    }
    print(&summary)?;
    let mut outcome = result.climbed.outcome.clone();
    outcome.converged &= result.posterior.mixed();
    Ok(climb::exit(&outcome, args.climb.require_convergence))
}

/// The documents, in memory or in a file.
fn read(args: &FitArgs, common: &Common) -> anyhow::Result<CorpusData> {
    let length = std::fs::metadata(args.data()).ok();
    let length = length.filter(std::fs::Metadata::is_file).map(|of| of.len());
    let progress = Progress::new(common, None, "documents");
    let began = Instant::now();
    let data = args
        .corpus()
        .read_within(&args.room(), &|documents, written| {
            progress.tell(|| {
                let rate = documents as f64 / began.elapsed().as_secs_f64().max(1e-9);
                let written = written.map_or_else(String::new, |written| {
                    format!(", {} written to a file", bytes(written))
                });
                let of = length.map_or_else(String::new, |length| format!(" of {}", bytes(length)));
                format!(
                    "reading{of}: {} documents{written}, {} a second",
                    thousands(documents as usize),
                    thousands(rate as usize)
                )
            });
        })?;
    if let Some(stored) = &data.stored {
        let (memory, place) = (bytes(stored.memory), stored.scratch.path().display());
        let from = if stored.scratch.reused {
            format!("{place}, which an earlier run left")
        } else {
            place.to_string()
        };
        common.say(&format!(
            "documents do not fit in {memory}: each pass reads them from {from}"
        ));
    }
    Ok(data)
}
