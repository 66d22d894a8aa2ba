//! `collapsar quant compare`: which transcripts and genes change between conditions.
//!
//! - `groups`: which folder is of which condition
//! - `samples`: the folders, read one after the other
//! - `results`: the files of a comparison
//! - `summary`: what is printed

mod groups;
mod results;
mod samples;
mod summary;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::bail;
use clap::Args;
use collapsar::quant::compare::{Comparison, Design, compare};

use super::genes::Genes;
use super::stage::Stage;
use crate::common::Common;
use groups::Groups;
use samples::Samples;

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

/// All that was found.
#[derive(Debug)]
struct Found {
    groups: Groups,
    samples: Samples,
    /// Numbers of the two conditions.
    contrast: (usize, usize),
    genes: Option<Genes>,
    transcripts: Comparison,
    by_gene: Option<Comparison>,
    seconds: f64,
}

pub(crate) fn run(args: &CompareArgs, common: &Common) -> anyhow::Result<ExitCode> {
    let clock = Instant::now();
    let groups = Groups::read(&args.groups)?;
    let contrast = contrast(args, &groups, common)?;
    let design = Design::new(groups.conditions(), contrast)?;
    let samples = Samples::read(&groups)?;
    samples.warn(common);
    let names = &samples.names;
    let genes = match &args.gene_map {
        Some(file) => Some(Genes::read(file, names, args.ignore_versions, common)?),
        None => None,
    };
    // Before the second reading, after the first: bad input leaves no folder.
    let stage = args.out.as_deref().map(Stage::new).transpose()?;
    let by_gene = genes
        .as_ref()
        .map(|genes| samples.scale.genes(&genes.members));
    let scales: Vec<_> = [Some(samples.scale.clone()), by_gene.transpose()?]
        .into_iter()
        .flatten()
        .collect();
    let levels = samples.levels(&groups, &scales)?;
    let compared = scales
        .iter()
        .zip(&levels)
        .map(|(scale, levels)| compare(scale, levels, &design));
    let mut compared = compared.collect::<Result<Vec<_>, _>>()?.into_iter();
    let Some(transcripts) = compared.next() else {
        bail!("nothing was compared");
    };
    let found = Found {
        contrast,
        genes,
        transcripts,
        by_gene: compared.next(),
        seconds: clock.elapsed().as_secs_f64(),
        groups,
        samples,
    };
    if let Some(stage) = stage {
        results::write(stage, args, &found)?;
    }
    std::io::stdout().write_all(summary::of(args, &found).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The numbers of the two conditions to compare.
fn contrast(
    args: &CompareArgs,
    groups: &Groups,
    common: &Common,
) -> anyhow::Result<(usize, usize)> {
    let names = &groups.names;
    let Some(given) = &args.contrast else {
        if names.len() > 2 {
            common.say(&format!(
                "{} conditions; comparing {} with {}, --contrast A,B chooses others",
                names.len(),
                names[1],
                names[0]
            ));
        }
        return Ok((0, 1));
    };
    let known = || format!("two of {} with a comma between them", names.join(", "));
    let Some((from, to)) = given.split_once(',') else {
        bail!("contrast is {given:?}, expected {}", known());
    };
    let number = |name: &str| names.iter().position(|known| known == name.trim());
    match (number(from), number(to)) {
        (Some(from), Some(to)) if from != to => Ok((from, to)),
        _ => bail!("contrast is {given:?}, expected {}", known()),
    }
}
