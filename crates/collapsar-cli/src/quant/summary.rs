//! What a quantification prints: a page that a person can read.

use collapsar::quant::Prior;
use collapsar_run::quant::{Doubt, Learned, QuantRequest, QuantResult, QuantTable};

use super::args::FitArgs;
use crate::climb::kept_in;
use crate::text::{count, duration, short, table};

/// A transcript with fewer reads is not there.
const THERE: f64 = 0.5;

pub(crate) fn of(args: &FitArgs, request: &QuantRequest, result: &QuantResult) -> String {
    let (input, solved, estimates) = (&result.input, &result.solved, &result.estimates);
    let (reads, quantified) = (&input.reads, &solved.quantified);
    let name = request.source.name();
    let mut head = vec![format!(
        "{name}: {}",
        count(input.processed as usize, "read")
    )];
    head.push(count(input.transcripts.names.len(), "transcript"));
    head.extend(
        input
            .genes
            .iter()
            .map(|genes| count(genes.names.len(), "gene")),
    );
    let mut lines = vec![head.join(", ")];
    lines.extend(input.learned.as_ref().map(fragments));
    let (unique, components) = (reads.unique_reads(), reads.components());
    let mut fit = vec![
        format!("{} fit one transcript", count(unique as usize, "read")),
        format!("{} several", reads.reads() - unique),
    ];
    if let Some(largest) = components.first() {
        let (rows, sets) = (count(reads.rows(), "row"), count(components.len(), "set"));
        let largest = count(largest.places.len(), "transcript");
        fit.push(format!("in {rows}, by {sets} of up to {largest}"));
    }
    lines.push(fit.join(", "));
    let origin = match args.prior {
        Prior::Learned => "learned",
        Prior::Given(_) => "given",
    };
    lines.push(format!("prior {} ({origin})", short(quantified.alpha)));
    let (bound, reason) = (quantified.bound, &solved.outcome.reason);
    let not = if solved.outcome.converged { "" } else { "not " };
    lines.push(format!("bound {bound:.3} nats, {not}converged: {reason}"));
    let iterations = count(quantified.iterations as usize, "iteration");
    let (passes, time) = (quantified.passes, duration(solved.seconds));
    let drawing = solved.draws.as_ref();
    let drawing = drawing.map(|draws| (draws.len(), duration(solved.drawing)));
    let drawing = drawing.map(|(draws, time)| format!("; {draws} draws, {time}"));
    let drawing = drawing.unwrap_or_default();
    lines.push(format!(
        "{iterations}, {passes:.1} passes over the data, {time}{drawing}"
    ));
    let noise = estimates.noise.map(|noise| 100.0 * noise);
    lines.extend(noise.map(|percent| format!("noise {percent:.3}% of the reads")));
    let there = |rows: &QuantTable, what| {
        let there = rows.counts.iter().filter(|&&reads| reads >= THERE);
        count(there.count(), what)
    };
    let of_genes = estimates.genes.as_ref();
    let of_genes = of_genes.map(|genes| format!(" of {}", there(genes, "gene")));
    let transcripts = there(&estimates.transcripts, "transcript");
    lines.push(format!(
        "expressed: {transcripts}{}",
        of_genes.unwrap_or_default()
    ));
    if args.top > 0 {
        lines.push(format!("\n{}", most(args.top, result)));
    }
    lines.push(kept_in(args.out.as_deref()));
    lines.join("\n")
}

/// The most abundant: posterior means with 95% intervals.
fn most(top: usize, result: &QuantResult) -> String {
    let (input, estimates) = (&result.input, &result.estimates);
    let (what, names, rows) = match (&input.genes, &estimates.genes) {
        (Some(genes), Some(rows)) => ("gene", &genes.names, rows),
        _ => (
            "transcript",
            &input.transcripts.names,
            &estimates.transcripts,
        ),
    };
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by(|&a, &b| rows.tpm[b].total_cmp(&rows.tpm[a]));
    let shown = order.iter().filter(|&&m| rows.counts[m] > 0.0);
    let cells = shown.take(top).map(|&m| {
        let (reads, tpm) = &rows.posterior[m];
        vec![
            names[m].clone(),
            short(tpm.mean),
            format!("{} to {}", short(tpm.lower), short(tpm.upper)),
            format!("{:.1}", reads.mean),
            format!("{:.1} to {:.1}", reads.lower, reads.upper),
        ]
    });
    let head = [what, "TPM", "95%", "reads", "95%"].map(String::from);
    table(&head, &cells.collect::<Vec<_>>())
}

/// What was learned from alignments, a line each.
fn fragments(learned: &Learned) -> String {
    let Learned { report, tally } = learned;
    let lengths = &report.fragment_length;
    let mut lines = vec![format!(
        "{} aligned ({}), library type {} ({} fit it), fragment lengths {:.1} ± {:.1}",
        tally.aligned,
        percent(learned.aligned()),
        report.library,
        percent(report.orientations.fraction(report.library)),
        lengths.mean(),
        lengths.sd()
    )];
    let left_out: Vec<String> = [
        (report.counts.incompatible, "that the library type forbids"),
        (tally.split, "with mates on different transcripts"),
        (report.counts.too_long, "from fragments too long"),
    ]
    .iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, why)| format!("{number} {why}"))
    .collect();
    if !left_out.is_empty() {
        lines.push(format!("left out {}", left_out.join(", ")));
    }
    if tally.orphans > 0 {
        lines.push(format!("{} of pairs aligned by one mate", tally.orphans));
    }
    if tally.unscored > 0 {
        let alignments = count(tally.unscored as usize, "alignment");
        lines.push(format!(
            "{alignments} taken for perfect, as they do not say what differs"
        ));
    }
    lines.join("\n")
}

/// A reason to doubt the result, in words.
pub(crate) fn doubt(doubt: &Doubt) -> String {
    match doubt {
        Doubt::NotConverged(reason) => {
            format!("not converged: {reason}; results are of the point reached")
        }
        Doubt::CollapsedDraws => "draws of the collapsed posterior are too alike for transcripts \
            that share reads; --posterior exact draws from the posterior itself"
            .to_owned(),
        Doubt::FewAligned(fraction) => format!(
            "only {} of the reads are aligned; are these the transcripts that they came from?",
            percent(*fraction)
        ),
        Doubt::FewFit(library, fraction) => format!(
            "only {} of the reads fit library type {library}; --library-type A tells it from the reads",
            percent(*fraction)
        ),
        Doubt::UncertainFit(library, fraction) => format!(
            "library type {library} is uncertain, as only {} of the reads fit it; --library-type gives it",
            percent(*fraction)
        ),
        Doubt::UncertainStrand(library, fraction) => format!(
            "library type {library} is uncertain, as {} of the reads are of one strand; --library-type gives it",
            percent(*fraction)
        ),
    }
}

fn percent(fraction: f64) -> String {
    format!("{:.1}%", 100.0 * fraction)
}
