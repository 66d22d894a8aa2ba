//! The program: parses the command line, runs a subcommand and turns its outcome into an exit code.
//!
//! - `common`: flags that every subcommand has, talk on standard error, and what errors speak of
//! - `values`: values that flags of several subcommands take
//! - `climb`: how any model is climbed, from flags to how it ended
//! - `posterior`: which posterior results are to be of
//! - `pace`: how fast a climb is, and how long it will take
//! - `chains`: how far Markov chains are, and how long they will take
//! - `progress`: bars for anything over a second
//! - `fit`: fits any conjugate model in the BUGS language
//! - `check`: tells and draws what such a model is
//! - `compare`: puts the evidence and the bounds of several runs side by side
//! - `report`: a page with pictures of a run, or of several
//! - `mixture`: fits and uses Bayesian mixtures of Gaussians
//! - `topics`: fits and uses topic models
//! - `quant`: quantifies transcripts and genes
//! - `tour`: a first look that needs no data
//! - `reproduce`: reruns the experiments of HRL12
//! - `verdict`: how far results may be trusted, in words
//! - `shell`: completions and manual pages
//! - `signals`: how Ctrl-C and its like are heard

mod chains;
mod check;
mod climb;
mod common;
mod compare;
mod fit;
mod memory;
mod mixture;
mod pace;
mod posterior;
mod progress;
mod quant;
mod report;
mod reproduce;
mod shell;
mod signals;
mod topics;
mod tour;
mod values;
mod verdict;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use collapsar_text as text;

use common::{Common, Flags, Usage, complain};

const NEXT: &str = "\
Begin with:
  collapsar tour                               a fit of real data in a second, explained
  collapsar mixture data.csv                   cluster the rows of a table
  collapsar mixture data.csv --out fit         the same, with all results in the folder fit
  collapsar mixture predict fit new.csv        label new rows with that fit
  collapsar topics texts/ --topics 20          find the topics of a folder of texts
  collapsar topics infer fit new.txt           find those of new documents with a saved fit
  collapsar quant -a a.bam -t cdna.fa -o fit   how abundant are transcripts, and how sure is it?
  collapsar fit rats.bug --data rats.json      fit your own model, in the BUGS language
  collapsar check rats.bug --data rats.json    what of it can be collapsed, and why
  collapsar compare fit1 fit2                  which of two models the data favour
  collapsar report fit                         a page with pictures of a run, for the browser

Results go to standard output or files, talk to standard error. Exit codes: 0 done, 1 error,
2 wrong usage, 3 not converged under --require-convergence, 130 stopped by Ctrl-C, SIGTERM or SIGHUP
(what a fit had reached is kept, and a checkpoint goes on from there).";

/// Collapsed variational inference: Bayesian models fitted in fewer passes over the data.
#[derive(Debug, Parser)]
#[command(name = "collapsar", version, max_term_width = 100, after_help = NEXT)]
#[command(subcommand_required = true, arg_required_else_help = true)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Tour(tour::TourArgs),
    Mixture(Box<mixture::MixtureArgs>),
    Topics(Box<topics::TopicsArgs>),
    Quant(Box<quant::QuantArgs>),
    Fit(Box<fit::FitArgs>),
    Check(check::CheckArgs),
    Compare(compare::CompareArgs),
    Report(report::ReportArgs),
    /// Rerun the experiments of the paper that the method comes from.
    Reproduce(reproduce::ReproduceArgs),
    Completions(shell::CompletionsArgs),
    Man(shell::ManArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let common = &cli.common;
    let done = common.install().and_then(|()| match &cli.command {
        Command::Tour(args) => tour::run(args, common),
        Command::Mixture(args) => mixture::run(args, common),
        Command::Topics(args) => topics::run(args, common),
        Command::Quant(args) => quant::run(args, common),
        Command::Fit(args) => fit::run(args, common),
        Command::Check(args) => check::run(args, common),
        Command::Compare(args) => compare::run(args, common),
        Command::Report(args) => report::run(args, common),
        Command::Reproduce(args) => reproduce::run(args, common),
        Command::Completions(args) => shell::completions(args),
        Command::Man(args) => shell::man(args),
    });
    match done {
        Ok(code) => code,
        // The reader has seen enough, as in `collapsar … | head`.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain("error", &worded(&error, common.quiet));
            ExitCode::from(if is_usage(&error) { 2 } else { 1 })
        }
    }
}

/// An error and what led to it, in the program's terms; what is wrong with a model in one line where asked to
/// be quiet.
fn worded(error: &anyhow::Error, quiet: bool) -> String {
    use collapsar_run::Error;
    let words = |cause: &(dyn std::error::Error + 'static)| {
        if let Some(error) = cause.downcast_ref::<Error>() {
            match error {
                Error::Model {
                    diagnostic,
                    file,
                    source,
                } if quiet => diagnostic.brief(file, source),
                error => error.in_terms(&Flags),
            }
        } else if let Some(error) = cause.downcast_ref::<collapsar::Error>() {
            error.in_terms(&Flags)
        } else if let Some(error) = cause.downcast_ref::<collapsar_formats::Error>() {
            error.in_terms(&Flags)
        } else if let Some(error) = cause.downcast_ref::<collapsar_report::Error>() {
            error.in_terms(&Flags)
        } else {
            cause.to_string()
        }
    };
    let all: Vec<String> = error.chain().map(words).collect();
    all.join(": ")
}

/// Whether flags do not go together.
fn is_usage(error: &anyhow::Error) -> bool {
    let ours = error.downcast_ref::<collapsar_run::Error>();
    error.is::<Usage>() || ours.is_some_and(collapsar_run::Error::is_usage)
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;
    use clap::CommandFactory;
    use collapsar::Hint;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }

    #[test]
    fn errors_of_all_layers_speak_of_flags() {
        let library = collapsar::Error::setting("min_docs", 0, "a number from 1");
        let hint = Hint::set("library_type", "A");
        let file = collapsar_formats::Error::content("a.bam", "none", "some").with_hint(hint);
        let told = [library.into(), file.into()].map(|error: anyhow::Error| {
            let error: anyhow::Result<()> = Err(error).context("a.txt");
            super::worded(&error.unwrap_err(), false)
        });
        assert_eq!(
            told,
            [
                "a.txt: --min-docs is 0, expected a number from 1",
                "a.txt: a.bam: none, expected some; try --library-type A"
            ]
        );
    }
}
