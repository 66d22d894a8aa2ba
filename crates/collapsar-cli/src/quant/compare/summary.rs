//! What a comparison prints: a page that a person can read.

use std::fmt::Write;

use collapsar::quant::compare::{Change, Comparison};

use super::{CompareArgs, Found};
use crate::text::{count, short, table};

/// The false discovery rate of changes that are counted.
const RATE: f64 = 0.05;

pub(super) fn of(args: &CompareArgs, found: &Found) -> String {
    let mut text = String::new();
    let mut line = |parts: std::fmt::Arguments<'_>| {
        writeln!(text, "{parts}").expect("strings take all text");
    };
    let (groups, samples) = (&found.groups, &found.samples);
    line(format_args!(
        "{}: {}, {}, {}{}\n",
        args.groups.display(),
        count(groups.samples.len(), "sample"),
        count(groups.names.len(), "condition"),
        count(samples.names.len(), "transcript"),
        match &found.genes {
            Some(genes) => format!(", {}", count(genes.names.len(), "gene")),
            None => String::new(),
        }
    ));
    let rows = groups.samples.iter().enumerate().map(|(k, sample)| {
        vec![
            sample.name.clone(),
            groups.names[sample.condition].clone(),
            format!("{:.0}", samples.reads[k]),
            format!("{:.3}", samples.scale.factors()[k]),
            samples.draws[k].to_string(),
        ]
    });
    let head = ["sample", "condition", "reads", "size factor", "draws"].map(String::from);
    line(format_args!("{}", table(&head, &rows.collect::<Vec<_>>())));
    let (from, to) = found.contrast;
    line(format_args!(
        "{} compared with {}",
        groups.names[to], groups.names[from]
    ));
    let (names, strongest) = match (&found.genes, &found.by_gene) {
        (Some(genes), Some(comparison)) => (&genes.names, comparison),
        _ => (&samples.names, &found.transcripts),
    };
    let by_gene = found.by_gene.iter().map(|comparison| ("gene", comparison));
    for (what, comparison) in [("transcript", &found.transcripts)]
        .into_iter()
        .chain(by_gene)
    {
        let [tested, up, down] = counts(comparison);
        line(format_args!(
            "{tested} of {} tested, {} changed at q < {RATE} ({up} up, {down} down); degrees of freedom {} + {} of the prior",
            count(comparison.rows.len(), what),
            up + down,
            comparison.degrees,
            short(comparison.prior_degrees)
        ));
    }
    let what = if found.genes.is_some() {
        "gene"
    } else {
        "transcript"
    };
    if args.top > 0 {
        line(format_args!("\n{}", top(args.top, what, names, strongest)));
    }
    match &args.out {
        Some(folder) => line(format_args!("all results are in {}", folder.display())),
        None => line(format_args!("--out DIR keeps all results")),
    }
    text
}

/// How many were tested, and how many are up and down.
pub(super) fn counts(comparison: &Comparison) -> [usize; 3] {
    let changes = || comparison.rows.iter().filter_map(|row| row.change);
    let changed = |up: bool| move |c: &Change| c.qvalue < RATE && (c.mean > 0.0) == up;
    [
        changes().count(),
        changes().filter(changed(true)).count(),
        changes().filter(changed(false)).count(),
    ]
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
    let head = [what, "log2 fold change", "95%", "wrong sign", "q"].map(String::from);
    table(&head, &rows.collect::<Vec<_>>())
}
