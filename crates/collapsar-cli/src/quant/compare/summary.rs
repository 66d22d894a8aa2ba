//! What a comparison prints: a page that a person can read.

use collapsar::quant::compare::{Change, Comparison};
use collapsar_run::quant::compare::{CompareResult, RATE, tested};

use super::CompareArgs;
use crate::climb::kept_in;
use crate::text::{count, short, table};

pub(super) fn of(args: &CompareArgs, result: &CompareResult) -> String {
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
    let head = ["sample", "condition", "reads", "size factor", "draws"].map(String::from);
    lines.push(table(&head, &rows.collect::<Vec<_>>()));
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
    let head = [what, "log2 fold change", "95%", "wrong sign", "q"].map(String::from);
    table(&head, &rows.collect::<Vec<_>>())
}
