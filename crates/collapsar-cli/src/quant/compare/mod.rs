//! `collapsar quant compare`: which transcripts and genes change between conditions.
//!
//! - `summary`: what is printed

mod summary;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use collapsar_run::quant::compare::CompareRequest;

use super::talk::words;
use crate::common::{Common, command};

const EXAMPLES: &str = "\
Examples:
  collapsar quant compare --groups groups.tsv --out changes
  collapsar quant compare --groups groups.tsv --contrast control,treated -g genes.gtf

groups.tsv has a line for each sample: its folder, as collapsar quant or salmon wrote it, and its
condition, between tabs, commas or spaces. Folders are looked for beside the file:
  folder    condition
  sample1   control
  sample2   control
  sample3   treated
  sample4   treated

With --out DIR the folder gets
  compare.tsv         for each transcript log2 TPM over all samples and in each condition, the
                      log2 fold change with sd and 95% interval, P.positive, the probability that
                      it is positive, lfsr, that of the wrong sign, qvalue, the false discovery
                      rate, and inferentialSd; NA for transcripts with fewer than 5 reads in all
  compare.genes.tsv   the same for genes, where they are known
  run.json            version, settings, inputs with digests, size factors, what was found

Folders should have draws (--draws 100 of collapsar quant, --numGibbsSamples 100 of salmon): without
them nothing is known of how uncertain shared reads make a transcript, and more is found than is there.";

/// Compare conditions: which transcripts and genes change, with replicates
///
/// Reads result folders of collapsar quant or salmon and finds the posterior of each transcript's log2
/// fold change. The variance between replicates is learned from all transcripts by their counts, and
/// transcripts that share their reads have more of it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompareArgs {
    /// The samples: a folder and a condition a line
    #[arg(long, value_name = "FILE")]
    groups: PathBuf,
    /// Compare B with A (the second condition of the file with the first unless given)
    #[arg(long, value_name = "A,B")]
    contrast: Option<String>,
    /// Genes of the transcripts: a table of two columns, GTF or GFF3
    #[arg(long, short, value_name = "FILE")]
    gene_map: Option<PathBuf>,
    /// Compare names with those of the gene map without their versions
    #[arg(long, requires = "gene_map")]
    ignore_versions: bool,
    /// Write all results into DIR, made if need be
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the N strongest changes
    #[arg(long, value_name = "N", default_value = "10")]
    top: usize,
}

pub(crate) fn run(args: &CompareArgs, common: &Common) -> anyhow::Result<ExitCode> {
    let request = CompareRequest {
        groups: args.groups.clone(),
        contrast: args.contrast.clone(),
        genes: args.gene_map.clone(),
        ignore_versions: args.ignore_versions,
    };
    let out = args.out.as_deref().map(|folder| (folder, command()));
    let result = request.run(out)?;
    let names = &result.groups.names;
    if args.contrast.is_none() && names.len() > 2 {
        common.say(&format!(
            "{} conditions; comparing {} with {}, --contrast A,B chooses others",
            names.len(),
            names[1],
            names[0]
        ));
    }
    let (few, least) = result.samples.few_draws();
    if few > 0 {
        common.warn(&format!(
            "{few} of {} samples have fewer than {least} draws: shared reads count as certain there, and too much may be found; try collapsar quant --draws 100",
            result.samples.draws.len()
        ));
    }
    let note = result.genes.iter().filter_map(|(_, note)| note.as_ref());
    note.for_each(|note| common.say(&words(note)));
    std::io::stdout().write_all(summary::of(args, &result).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
