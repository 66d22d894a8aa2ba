//! `collapsar quant compare`: which transcripts and genes change between conditions.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use collapsar::quant::compare::{Change, Comparison};
use collapsar_run::quant::compare::{CompareRequest, CompareResult, RATE, tested};

use super::summary::words;
use crate::climb::kept_in;
use crate::common::{Common, command, print};
use crate::report::PageArgs;
use crate::text::{count, short, table};

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
    #[command(flatten)]
    page: PageArgs,
}

pub(crate) fn run(args: &CompareArgs, common: &Common) -> anyhow::Result<ExitCode> {
    args.page.check(args.out.as_deref())?;
    let request = CompareRequest {
        groups: args.groups.clone(),
        contrast: args.contrast.clone(),
        genes: args.gene_map.clone(),
        ignore_versions: args.ignore_versions,
    };
    let out = args.out.as_deref().map(|folder| (folder, command()));
    let result = request.run(out)?;
    args.page.write(args.out.as_deref(), common)?;
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
    print(&summary(args, &result))?;
    Ok(ExitCode::SUCCESS)
}

/// What is printed: a page that a person can read.
fn summary(args: &CompareArgs, result: &CompareResult) -> String {
    let (groups, samples) = (&result.groups, &result.samples);
    let mut head = vec![
        count(groups.samples.len(), "sample"),
        count(groups.names.len(), "condition"),
        count(samples.names.len(), "transcript"),
    ];
    let genes = result.genes.as_ref().map(|(genes, _)| &genes.names);
    head.extend(genes.map(|names| count(names.len(), "gene")));
    let mut lines = vec![format!("{}: {}\n", args.groups.display(), head.join(", "))];
    let rows = groups.samples.iter().enumerate().map(|(k, sample)| {
        vec![
            sample.name.clone(),
            groups.names[sample.condition].clone(),
            format!("{:.0}", samples.reads[k]),
            format!("{:.3}", samples.scale.factors()[k]),
            samples.draws[k].to_string(),
        ]
    });
    let head = ["sample", "condition", "reads", "size factor", "draws"];
    lines.push(table(0, &head, rows));
    let (from, to) = result.contrast;
    lines.push(format!(
        "{} compared with {}",
        groups.names[to], groups.names[from]
    ));
    let mut strongest = ("transcript", &samples.names, &result.transcripts);
    lines.push(changed(strongest.0, &result.transcripts));
    if let (Some(names), Some(by_gene)) = (genes, &result.by_gene) {
        strongest = ("gene", names, by_gene);
        lines.push(changed("gene", by_gene));
    }
    if args.top > 0 {
        let (what, names, comparison) = strongest;
        lines.push(format!("\n{}", top(args.top, what, names, comparison)));
    }
    lines.push(kept_in(args.out.as_deref()));
    lines.join("\n")
}

/// How many were tested, and how many changed.
fn changed(what: &str, comparison: &Comparison) -> String {
    let [tested, up, down] = tested(comparison);
    format!(
        "{tested} of {} tested, {} changed at q < {RATE} ({up} up, {down} down); degrees of freedom {} + {} of the prior",
        count(comparison.rows.len(), what),
        up + down,
        comparison.degrees,
        short(comparison.prior_degrees)
    )
}

/// The changes whose signs are surest.
fn top(most: usize, what: &str, names: &[String], comparison: &Comparison) -> String {
    let pairs = names.iter().zip(&comparison.rows);
    let mut changes: Vec<(&String, Change)> = pairs
        .filter_map(|(name, row)| Some((name, row.change?)))
        .collect();
    changes.sort_by(|a, b| a.1.false_sign.total_cmp(&b.1.false_sign));
    let rows = changes.iter().take(most).map(|(name, change)| {
        vec![
            (*name).clone(),
            format!("{:.2}", change.mean),
            format!("{:.2} to {:.2}", change.lower, change.upper),
            short(change.false_sign),
            short(change.qvalue),
        ]
    });
    let head = [what, "log2 fold change", "95%", "wrong sign", "q"];
    table(0, &head, rows)
}
