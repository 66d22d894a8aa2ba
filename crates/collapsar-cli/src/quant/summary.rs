//! What a quantification prints, a page that a person can read, and what it says and shows on the way.

use std::sync::PoisonError;

use collapsar::Terms;
use collapsar::quant::Prior;
use collapsar_run::quant::{
    Doubt, Learned, Note, QuantRequest, QuantResult, QuantTable, QuantWatch, Stage,
};

use super::args::FitArgs;
use crate::climb::{Bar, kept_in, state};
use crate::common::Flags;
use crate::progress::Progress;
use crate::text::{count, duration, short, table};

/// A transcript with fewer reads is not there.
const THERE: f64 = 0.5;

pub(crate) fn of(args: &FitArgs, request: &QuantRequest, result: &QuantResult) -> String {
    let (input, solved, estimates) = (&result.input, &result.solved, &result.estimates);
    let (reads, quantified) = (&input.reads, &solved.quantified);
    let reads_in = count(input.processed as usize, "read");
    let mut head = vec![format!("{}: {reads_in}", request.source.name())];
    head.push(count(input.transcripts.names.len(), "transcript"));
    let genes = input.genes.iter();
    head.extend(genes.map(|genes| count(genes.names.len(), "gene")));
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
    let (bound, state, reason) = (
        quantified.bound,
        state(&solved.outcome),
        &solved.outcome.reason,
    );
    lines.push(format!("bound {bound:.3} nats, {state}: {reason}"));
    let iterations = count(quantified.iterations as usize, "iteration");
    let (passes, time) = (quantified.passes, duration(solved.seconds));
    let drawing = solved.draws.as_ref().map_or_else(String::new, |draws| {
        format!("; {} draws, {}", draws.len(), duration(solved.drawing))
    });
    lines.push(format!(
        "{iterations}, {passes:.1} passes over the data, {time}{drawing}"
    ));
    let noise = estimates.noise.map(|noise| 100.0 * noise);
    lines.extend(noise.map(|percent| format!("noise {percent:.3}% of the reads")));
    let there = |rows: &QuantTable, what| {
        let there = rows.counts.iter().filter(|&&reads| reads >= THERE);
        count(there.count(), what)
    };
    let mut expressed = vec![there(&estimates.transcripts, "transcript")];
    expressed.extend(estimates.genes.as_ref().map(|genes| there(genes, "gene")));
    lines.push(format!("expressed: {}", expressed.join(" of ")));
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
    table(0, &[what, "TPM", "95%", "reads", "95%"], cells)
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
    let mut left_out = vec![];
    for (number, why) in [
        (report.counts.incompatible, "that the library type forbids"),
        (tally.split, "with mates on different transcripts"),
        (report.counts.too_long, "from fragments too long"),
    ] {
        left_out.extend((number > 0).then(|| format!("{number} {why}")));
    }
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

/// A bar for the reads, then one for the climb.
impl QuantWatch for Bar<'_> {
    fn reaches(&self, stage: Stage) {
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        match (stage, &*reading) {
            (Stage::Reading(reads, Some(_)), Some(bar)) => bar.reach(reads),
            (Stage::Reading(reads, None), Some(bar)) => bar.tell(|| format!("{reads} reads")),
            (Stage::Reading(_, of), None) => {
                *reading = Some(Progress::new(self.common, of, "reads"));
            }
            (Stage::Climbing, _) => *reading = None,
            (Stage::Drawing, _) => {
                let drawing = || "drawing from the posterior".to_owned();
                self.progress.tell(drawing);
            }
        }
    }

    fn note(&self, note: Note) {
        self.common.say(&words(&note));
    }
}

/// What may be said of the input.
pub(crate) fn words(note: &Note) -> String {
    let many = |transcripts: &usize| count(*transcripts, "transcript");
    match note {
        Note::NoLengths(options) => {
            let flags: Vec<String> = options.iter().map(|name| Flags.option(name)).collect();
            let flags = flags.join(" or ");
            format!(
                "lengths of the transcripts are not known, so TPM are fractions of the reads in millionths; {flags} gives them"
            )
        }
        Note::ShortLengths(file, number) => {
            let number = many(number);
            format!("{file}: {number} of an effective length below 1, taken for 1")
        }
        Note::NoEffectiveLengths(file, number) => {
            let number = many(number);
            format!("{file}: {number} without an effective length, for which the length is taken")
        }
        Note::UsualFragments(mean, sd) => format!(
            "effective lengths are for fragments of {} ± {} bases; --fragment-length gives others",
            short(*mean),
            short(*sd)
        ),
        Note::Unweighted(file) => format!(
            "{file}: classes without weights, for which one over the effective length is taken"
        ),
        Note::OnlyNoise(file, reads) => {
            let reads = count(*reads, "read");
            format!("{file}: left out {reads} that fit no transcript, only noise")
        }
        Note::NotAlignedTo(file, number, alignments) => {
            let number = many(number);
            format!("{file}: left out {number} that the header of {alignments} does not have")
        }
        Note::NoGene(file, number, first) => format!(
            "{file}: no gene for {}, the first {first:?}, which count as genes of their own",
            many(number)
        ),
    }
}
