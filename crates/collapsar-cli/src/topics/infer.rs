//! `collapsar topics infer`: what new documents are about, under a saved fit.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use collapsar_run::topics::{SavedTopics, write_documents};
use collapsar_run::{check_apart, name_of};

use super::args::{ReadArgs, pair};
use super::summary::{SHOWN, foreseen, tell, tell_outside, tell_outside_of};
use crate::common::{Common, emit};

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
/// Of a fit with --average, --completion takes the mean of all its fits, of exact draws that of those
/// in draws/. Proportions are those of the best alone: topics of different fits do not correspond.
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
    #[arg(long, value_name = "OBSERVED,EVALUATED", conflicts_with = "corpus", value_parser = pair)]
    completion: Option<[PathBuf; 2]>,
    #[command(flatten)]
    read: ReadArgs,
}

pub(crate) fn run(args: &InferArgs, common: &Common) -> anyhow::Result<ExitCode> {
    if let Some(out) = &args.out {
        let pair = args.completion.iter().flatten();
        let files = args.corpus.iter().chain(pair).cloned();
        let files: Vec<PathBuf> = files.chain([args.folder.join("topics.json")]).collect();
        check_apart(out, "the proportions", &files)?;
    }
    let saved = SavedTopics::read(&args.folder)?;
    if let Some(pair) = &args.completion {
        let halves = saved.halves(pair, args.read.options())?;
        tell_outside(Some(&halves), common);
        let score = saved.score(&args.folder, &halves)?;
        if score.fits > 1 && !score.draws {
            common.say(&format!(
                "foreseen by the mean of {} fits: that of topics.json and {} of an average",
                score.fits,
                score.fits - 1
            ));
        }
        emit(args.out.as_deref(), |out| {
            out.write_all(foreseen(&score).as_bytes())
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let file = args.corpus.as_deref();
    let file = file.expect("required without --completion");
    let found = saved.infer(file, args.read.options())?;
    let report = &found.outside.report;
    let empty = report.empty.iter().take(SHOWN);
    let empty: Vec<String> = empty.map(|&d| found.corpus.documents[d].clone()).collect();
    tell(report, &empty, common);
    tell_outside_of(&name_of(file), &found.outside, common);
    emit(args.out.as_deref(), |out| {
        write_documents(out, &found.corpus, saved.fit.topics, &found.proportions)
    })?;
    Ok(ExitCode::SUCCESS)
}
