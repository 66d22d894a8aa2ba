//! What a quantification prints: a page that a person can read.

use std::fmt::Write;

use collapsar::quant::Prior;
use collapsar::quant::fragment::{Library, Strand};
use serde_json::{Value, json};

use super::answer::{Rows, Said};
use super::args::{FitArgs, Posterior};
use super::data::{Data, Learned};
use super::solve::Solved;
use crate::common::Common;
use crate::text::{count, duration, short, table};

/// A transcript with fewer reads is not there.
const THERE: f64 = 0.5;
/// Fewer aligned reads than this share are a sign of the wrong transcripts.
const FEW: f64 = 0.5;
/// A library type that fewer fragments fit is uncertain.
const FIT: f64 = 0.9;
/// An unstranded library with more of one strand is uncertain.
const SKEWED: f64 = 0.7;
/// Fragments that make a share worth a warning.
const ENOUGH: u64 = 100;

pub(crate) fn of(args: &FitArgs, data: &Data, solved: &Solved, said: &Said) -> String {
    let mut text = String::new();
    let mut line = |parts: std::fmt::Arguments<'_>| {
        writeln!(text, "{parts}").expect("strings take all text");
    };
    line(format_args!(
        "{}: {}, {}{}",
        args.name(),
        count(data.processed as usize, "read"),
        count(data.transcripts.len(), "transcript"),
        match &data.genes {
            Some(genes) => format!(", {}", count(genes.names.len(), "gene")),
            None => String::new(),
        }
    ));
    if let Some(learned) = &data.learned {
        line(format_args!("{}", fragments(learned)));
    }
    let reads = &data.reads;
    let unique = reads.unique_reads();
    let shared = reads.reads() - unique;
    let components = reads.components();
    line(format_args!(
        "{} fit one transcript, {shared} several{}",
        count(unique as usize, "read"),
        match components.first() {
            Some(largest) => format!(
                ", in {}, by {} of up to {}",
                count(reads.rows(), "row"),
                count(components.len(), "set"),
                count(largest.places.len(), "transcript")
            ),
            None => String::new(),
        }
    ));
    let quantified = &solved.quantified;
    line(format_args!(
        "prior {} ({})",
        short(quantified.alpha),
        match args.prior.0 {
            Prior::Learned => "learned",
            Prior::Given(_) => "given",
        }
    ));
    line(format_args!(
        "bound {:.3} nats, {}: {}",
        quantified.bound,
        if solved.outcome.converged {
            "converged"
        } else {
            "not converged"
        },
        solved.outcome.reason
    ));
    line(format_args!(
        "{}, {:.1} passes over the data, {}{}",
        count(quantified.iterations as usize, "iteration"),
        quantified.passes,
        duration(solved.seconds),
        match &solved.draws {
            Some(draws) => format!("; {} draws, {}", draws.len(), duration(solved.drawing)),
            None => String::new(),
        }
    ));
    if let Some(noise) = said.noise {
        line(format_args!("noise {:.3}% of the reads", 100.0 * noise));
    }
    let there = |rows: &Rows| rows.counts.iter().filter(|&&c| c >= THERE).count();
    let genes = match &said.genes {
        Some(genes) => format!(" of {}", count(there(genes), "gene")),
        None => String::new(),
    };
    line(format_args!(
        "expressed: {}{genes}",
        count(there(&said.transcripts), "transcript")
    ));
    if args.top > 0 {
        line(format_args!("\n{}", most(args, data, said)));
    }
    match &args.out {
        Some(folder) => line(format_args!("all results are in {}", folder.display())),
        None => line(format_args!("--out DIR keeps all results")),
    }
    text
}

/// The most abundant: posterior means with 95% intervals.
fn most(args: &FitArgs, data: &Data, said: &Said) -> String {
    let (what, names, rows) = match (&data.genes, &said.genes) {
        (Some(genes), Some(rows)) => ("gene", &genes.names, rows),
        _ => ("transcript", &data.transcripts.names, &said.transcripts),
    };
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by(|&a, &b| rows.tpm[b].total_cmp(&rows.tpm[a]));
    let shown = order.iter().filter(|&&m| rows.counts[m] > 0.0);
    let cells = shown.take(args.top).map(|&m| {
        let (reads, tpm) = &rows.posterior[m];
        vec![
            names[m].clone(),
            short(tpm.mean),
            format!("{} to {}", short(tpm.lower), short(tpm.upper)),
            format!("{:.1}", reads.mean),
            format!("{:.1} to {:.1}", reads.lower, reads.upper),
        ]
    });
    let rows: Vec<Vec<String>> = cells.collect();
    let head = [what, "TPM", "95%", "reads", "95%"].map(String::from);
    table(&head, &rows)
}

/// What was learned from alignments, a line each.
fn fragments(learned: &Learned) -> String {
    let Learned { report, tally } = learned;
    let mut lines = vec![format!(
        "{} aligned ({:.1}%), library type {} ({:.1}% fit it), fragment lengths {:.1} ± {:.1}",
        tally.aligned,
        100.0 * aligned(learned),
        report.library,
        100.0 * report.orientations.fraction(report.library),
        report.fragment_length.mean(),
        report.fragment_length.sd()
    )];
    let left: Vec<String> = [
        (report.counts.incompatible, "that the library type forbids"),
        (tally.split, "with mates on different transcripts"),
        (report.counts.too_long, "from fragments too long"),
    ]
    .iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, why)| format!("{number} {why}"))
    .collect();
    if !left.is_empty() {
        lines.push(format!("left out {}", left.join(", ")));
    }
    if tally.orphans > 0 {
        lines.push(format!("{} of pairs aligned by one mate", tally.orphans));
    }
    if tally.unscored > 0 {
        lines.push(format!(
            "{} taken for perfect, as they do not say what differs",
            count(tally.unscored as usize, "alignment")
        ));
    }
    lines.join("\n")
}

fn aligned(learned: &Learned) -> f64 {
    learned.tally.aligned as f64 / learned.tally.reads.max(1) as f64
}

/// The same for `run.json`.
pub(crate) fn record(learned: &Learned) -> Value {
    let Learned { report, tally } = learned;
    json!({
        "records": tally.records,
        "aligned": tally.aligned,
        "unaligned": tally.unaligned,
        "discordant": tally.split,
        "orphans": tally.orphans,
        "placements": tally.placements,
        "supplementary": tally.supplementary,
        "unscored": tally.unscored,
        "incompatible": report.counts.incompatible,
        "too_long": report.counts.too_long,
        "library_type": report.library.to_string(),
        "library_type_share": report.orientations.fraction(report.library),
        "fragment_length_mean": report.fragment_length.mean(),
        "fragment_length_sd": report.fragment_length.sd(),
    })
}

/// Warns of what makes results doubtful.
pub(crate) fn warn(args: &FitArgs, data: &Data, solved: &Solved, common: &Common) {
    if !solved.outcome.converged {
        common.warn(&format!(
            "not converged: {}; results are of the point reached",
            solved.outcome.reason
        ));
    }
    if args.draws > 0 && args.posterior == Posterior::Collapsed {
        common.warn(
            "draws of the collapsed posterior are too alike for transcripts that share reads; \
             --posterior exact draws from the posterior itself",
        );
    }
    let Some(learned) = &data.learned else {
        return;
    };
    if aligned(learned) < FEW {
        common.warn(&format!(
            "only {:.1}% of the reads are aligned; are these the transcripts that they came from?",
            100.0 * aligned(learned)
        ));
    }
    let report = &learned.report;
    let seen = &report.orientations;
    if seen.total() < ENOUGH {
        return;
    }
    let (library, share) = (report.library, seen.fraction(report.library));
    if args.fragments.library_type != Library::Auto {
        if share < FEW {
            common.warn(&format!(
                "only {:.1}% of the reads fit library type {library}; --library-type A tells it from the reads",
                100.0 * share
            ));
        }
        return;
    }
    let strands = [Strand::Forward, Strand::Reverse]
        .map(|strand| seen.fraction(collapsar::quant::fragment::LibraryType { strand, ..library }));
    let larger = strands[0].max(strands[1]) / share.max(f64::MIN_POSITIVE);
    if share < FIT {
        common.warn(&format!(
            "library type {library} is uncertain, as only {:.1}% of the reads fit it; --library-type gives it",
            100.0 * share
        ));
    } else if library.strand == Strand::Either && larger > SKEWED {
        common.warn(&format!(
            "library type {library} is uncertain, as {:.1}% of the reads are of one strand; --library-type gives it",
            100.0 * larger
        ));
    }
}
