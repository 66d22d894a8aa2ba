//! `collapsar topics infer`: what new documents are about, under a saved fit.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::args::{Pair, ReadArgs};
use super::corpus::{halves, library, read_like, tell, tell_outside};
use super::results::documents;
use super::saved::Saved;
use super::score::Score;
use super::summary::foreseen;
use crate::common::Common;
use crate::files::{emit, name_of};

const EXAMPLES: &str = "\
Examples:
  collapsar topics old.csv --out fit
  collapsar topics infer fit new.csv > documents.csv
  collapsar topics infer fit folder --out documents.csv
  collapsar topics infer fit --completion observed.txt,evaluated.txt
                            how well the fit foresees one file's documents from the other's

The result is CSV with
  document      its name
  words         how many of its words the fit knows
  topic_0, …    its proportions, as in the fit's documents.csv";

/// Find the topics of new documents with a saved fit
///
/// Words that the fit has not seen are left out and counted. A document without any word that it knows
/// gets the proportions of the prior.
///
/// Of a fit with --average, --completion takes the mean of all its fits. Proportions are those of the
/// best alone: topics of different fits do not correspond.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct InferArgs {
    /// Folder that collapsar topics --out wrote
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Corpus in any format that collapsar topics reads; - reads standard input
    #[arg(value_name = "CORPUS", required_unless_present = "completion")]
    corpus: Option<PathBuf>,
    /// Write to FILE instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Say how well the fit foresees documents whose halves are in two files
    #[arg(long, value_name = "OBSERVED,EVALUATED", conflicts_with = "corpus")]
    completion: Option<Pair>,
    #[command(flatten)]
    read: ReadArgs,
}

pub(crate) fn run(args: &InferArgs, common: &Common) -> anyhow::Result<ExitCode> {
    let saved = Saved::read(&args.folder)?;
    let mut options = args.read.options();
    options.tokens = saved.tokens();
    let positions = saved.about.ids_are_positions;
    if let Some(pair) = &args.completion {
        let halves = halves(pair, &saved.vocabulary, &options, positions, common)?;
        let mut all = saved.others(&args.folder)?;
        if !all.is_empty() {
            common.say(&format!(
                "foreseen by the mean of {} fits: that of topics.json and {} of an average",
                all.len() + 1,
                all.len()
            ));
            all.insert(0, saved.fit.clone());
        }
        let score = Score::of(&saved.fit, &all, &halves)?;
        emit(args.out.as_deref(), |out| {
            out.write_all(foreseen(&score).as_bytes())
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let file = args
        .corpus
        .as_deref()
        .expect("required without --completion");
    let (corpus, outside) = read_like(file, &saved.vocabulary, &options, positions)?;
    tell(&outside.report, &corpus.documents, common);
    tell_outside(&name_of(file), &outside, common);
    let proportions = if corpus.words.is_empty() {
        // The library refuses a corpus without words; here it means the prior everywhere.
        let alpha = &saved.fit.alpha;
        let sum: f64 = alpha.iter().sum();
        let prior: Vec<f64> = alpha.iter().map(|a| a / sum).collect();
        prior.repeat(corpus.documents.len())
    } else {
        saved.fit.infer(&library(&corpus)?)?.proportions
    };
    emit(args.out.as_deref(), |out| {
        documents(out, &corpus, saved.fit.topics, &proportions)
    })?;
    Ok(ExitCode::SUCCESS)
}
