//! `collapsar quant`: how abundant transcripts and genes are, from reads.
//!
//! - `args`: the flags as typed
//! - `summary`: what is printed, and what is said on the way
//! - `compare`: conditions compared, from result folders

mod args;
mod compare;
mod summary;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use collapsar_run::quant::quantify;

use crate::climb::{self, Bar};
use crate::common::{Common, INTERRUPTED, command, print};
use args::FitArgs;

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
    let args = &args.fit;
    args.page.check(args.out.as_deref())?;
    let request = args.request();
    args::check(&request)?;
    let bar = Bar::new(common, 1);
    let out = args.out.as_deref().map(|folder| (folder, command()));
    let Some(result) = quantify(&request, out, &bar)? else {
        common.warn("interrupted; nothing was written");
        return Ok(ExitCode::from(INTERRUPTED));
    };
    drop(bar);
    args.page.write(args.out.as_deref(), common)?;
    for doubt in &result.doubts {
        common.warn(&summary::doubt(doubt));
    }
    let summary = summary::of(args, &request, &result);
    print(&summary)?;
    Ok(climb::exit(
        &result.solved.outcome,
        args.require_convergence,
    ))
}
