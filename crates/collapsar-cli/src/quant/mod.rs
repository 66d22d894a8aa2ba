//! `collapsar quant`: how abundant transcripts and genes are, from reads.
//!
//! - `args`: the flags as typed
//! - `data`: what a quantification is of, whichever file it came from
//! - `alignments`, `prob`, `classes`: reads as each kind of file gives them
//! - `names`: transcripts of two files, matched
//! - `genes`: which transcripts make a gene
//! - `solve`: from reads to a posterior
//! - `answer`: what it says of transcripts and genes
//! - `results`, `salmon`: the files, ours and those that salmon has too
//! - `stage`: how they appear as a whole
//! - `summary`: what is printed
//! - `compare`: conditions compared, from result folders

mod alignments;
mod answer;
mod args;
mod classes;
mod compare;
mod data;
mod genes;
mod names;
mod prob;
mod results;
mod salmon;
mod solve;
mod stage;
mod summary;

use std::io::Write;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::common::Common;
use args::FitArgs;
use data::{Data, Interrupted};
use stage::Stage;

const EXAMPLES: &str = "\
Examples:
  collapsar quant -a aligned.bam -t transcripts.fa -o sample1
  bowtie2 -k 100 -x cdna -1 r1.fq -2 r2.fq | collapsar quant -a - -t cdna.fa -o sample1
                                                 straight from the aligner
  collapsar quant -a aligned.bam -t gencode.fa --gencode -g gencode.gtf -o sample1 --draws 100
                                                 genes too, and draws for tximport and swish
  collapsar quant --prob reads.prob --lengths reads.tr --noise -o sample1
                                                 BitSeq's files, with its noise
  collapsar quant --classes eq_classes.txt --transcripts transcripts.fa -o sample1
                                                 salmon's equivalence classes
  collapsar quant compare --groups groups.tsv -o changes
                                                 what changed between conditions

With --out DIR the folder gets, as salmon has them,
  quant.sf               for each transcript its length, effective length, TPM and reads
  quant.genes.sf         the same for genes, where they are known
  aux_info/bootstrap/    with --draws, draws of the reads, for tximport and swish
  aux_info/meta_info.json, cmd_info.json, lib_format_counts.json
and beside them
  posterior.tsv          for each transcript mean, sd and 95% interval of TPM and reads
  posterior.genes.tsv    the same for genes
  run.json               version, settings, inputs with digests, outcome, cost
  trace.jsonl            every step, with a --method other than auto

Alignments are to transcripts, not to the genome, with all those of a read together: as aligners
write them, or by samtools collate. Aligners should report many of a read's places (bowtie2 -k 100).";

/// Quantify transcripts and genes from aligned reads, with uncertainty
///
/// Reads alignments, BitSeq's probabilities or equivalence classes, finds how abundant each transcript
/// is, and prints a summary. Lengths of fragments and the library type are learned unless given. The
/// bound it reports is a lower bound on ln p(reads), with all its constants.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(disable_help_subcommand = true, after_help = EXAMPLES)]
pub(crate) struct QuantArgs {
    #[command(flatten)]
    fit: FitArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Compare(compare::CompareArgs),
}

pub(crate) fn run(args: &QuantArgs, common: &Common) -> anyhow::Result<ExitCode> {
    if let Some(Command::Compare(args)) = &args.command {
        return compare::run(args, common);
    }
    match run_fit(&args.fit, common) {
        Err(error) if error.is::<Interrupted>() => {
            common.warn("interrupted; nothing was written");
            Ok(ExitCode::from(130))
        }
        done => done,
    }
}

fn run_fit(args: &FitArgs, common: &Common) -> anyhow::Result<ExitCode> {
    args.check()?;
    let mut data = Data::read(args, common)?;
    // Before the fit: a long run must not end in a refusal. After the data: bad input leaves no folder.
    let stage = args.out.as_deref().map(Stage::new).transpose()?;
    let solved = solve::solve(args, &data, common)?;
    // What is said of transcripts needs memory too, the reads no more.
    data.reads.forget_rows();
    let said = answer::of(args, &data, &solved)?;
    if common.interrupted() {
        return Err(Interrupted.into());
    }
    if let Some(stage) = stage {
        results::write(stage, args, &data, &solved, &said)?;
    }
    summary::warn(args, &data, &solved, common);
    let summary = summary::of(args, &data, &solved, &said);
    std::io::stdout().write_all(summary.as_bytes())?;
    let missed = args.require_convergence && !solved.outcome.converged;
    Ok(ExitCode::from(if missed { 3 } else { 0 }))
}
