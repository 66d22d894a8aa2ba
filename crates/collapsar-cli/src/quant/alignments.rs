//! Reads as SAM, BAM or CRAM files give them.

use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use collapsar::quant::ReadsBuilder;
use collapsar::quant::fragment::{Fragments, Layout, Placement, Report, Sequences};
use collapsar_formats::{Alignments, Bases, Fragment, Tally, Target, read_transcripts};

use super::args::FitArgs;
use super::classes::naming;
use super::data::{Counter, Learned, Taken, Transcripts, settings};
use super::names::{Named, matched};
use crate::common::Common;
use crate::files::name_of;
use crate::text::count;

/// Threads that decompress: more are faster than what takes their bytes.
const WORKERS: usize = 3;

pub(crate) fn read(file: &Path, args: &FitArgs, common: &Common) -> anyhow::Result<Taken> {
    let name = name_of(file);
    let mut alignments = Alignments::open(file, workers(common))?;
    let targets = alignments.targets().to_vec();
    let fasta = args.about.transcripts.as_deref().unwrap_or(Path::new("-"));
    let sequences = Arc::new(sequences(&name, &targets, fasta, args, common)?);
    alignments.compare_with(Arc::clone(&sequences) as Arc<dyn Bases>)?;

    let lengths: Vec<u32> = targets.iter().map(|target| target.length).collect();
    let mut fragments = Fragments::new(&lengths, Some(&*sequences), settings(args))?;
    let mut builder = ReadsBuilder::new(targets.len(), args.thrift())?;
    // The stream tells of fragments, and cannot be told of failures.
    let mut failed = None;
    let mut out = |entries: &[(u32, f64)]| {
        if let Err(error) = builder.push(entries, 1.0) {
            failed.get_or_insert(error);
        }
    };
    let mut counter = Counter::new(common, None);
    let mut fragment = Fragment::default();
    let mut placements = Vec::new();
    while alignments.next(&mut fragment)? {
        placements.clear();
        placements.extend(fragment.placements.iter().map(placement));
        fragments.push(&placements, &mut out)?;
        counter.count()?;
    }
    let tally = *alignments.tally();
    if tally.aligned == 0 {
        bail!("{name}: {}, expected at least one", nothing(&tally));
    }
    let report = fragments.finish(&mut out)?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    if report.counts.used == 0 {
        bail!("{name}: {}", unusable(&report));
    }
    let naming = naming(args);
    let names = (targets.iter()).map(|target| naming.shown(&target.name).to_owned());
    Ok(Taken {
        builder,
        transcripts: Transcripts {
            names: names.collect(),
            lengths: lengths.iter().map(|&length| f64::from(length)).collect(),
            effective: report.effective_lengths.clone(),
        },
        processed: tally.reads,
        genes: None,
        learned: Some(Learned { report, tally }),
    })
}

/// Threads beside the one that reads.
fn workers(common: &Common) -> usize {
    let threads = match common.threads {
        Some(threads) => threads.get(),
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    (threads - 1).min(WORKERS)
}

/// Why no read has a place.
fn nothing(tally: &Tally) -> String {
    let reads = count(tally.reads as usize, "read");
    match tally.split {
        0 => format!("none of {reads} is aligned"),
        split => format!(
            "none of {reads} is aligned to one transcript ({split} with mates on different ones)"
        ),
    }
}

/// Why no aligned read can be used.
fn unusable(report: &Report) -> String {
    let counts = &report.counts;
    let all = count(counts.fragments as usize, "aligned read");
    if counts.incompatible >= counts.too_long {
        return format!(
            "library type {} forbids {} of {all}, expected at least one that it allows; try \
             --library-type A",
            report.library, counts.incompatible
        );
    }
    format!(
        "{} of {all} are from fragments of more than {} bases, expected at least one shorter; try a \
         higher --longest-fragment",
        counts.too_long,
        report.fragment_length.longest()
    )
}

/// The sequences of the targets.
struct Targets {
    transcripts: collapsar_formats::Transcripts,
    places: Vec<u32>,
}

impl Sequences for Targets {
    fn sequence(&self, transcript: u32) -> &[u8] {
        let place = self.places[transcript as usize];
        self.transcripts.sequence(place as usize)
    }
}

impl Bases for Targets {
    fn bases(&self, target: usize) -> Option<&[u8]> {
        let place = *self.places.get(target)?;
        Some(self.transcripts.sequence(place as usize))
    }
}

/// Finds the targets of the header among the transcripts.
fn sequences(
    name: &str,
    targets: &[Target],
    fasta: &Path,
    args: &FitArgs,
    common: &Common,
) -> anyhow::Result<Targets> {
    let transcripts = read_transcripts(fasta)?;
    let fasta = name_of(fasta);
    let names: Vec<String> = targets.iter().map(|target| target.name.clone()).collect();
    let wanted = Named {
        file: name,
        names: &names,
    };
    let known = Named {
        file: &fasta,
        names: transcripts.names(),
    };
    let places = matched(wanted, known, naming(args))?;
    for (target, &place) in targets.iter().zip(&places) {
        let length = transcripts.length(place as usize);
        if length != target.length as usize {
            bail!(
                "{name}: transcript {:?} has {} bases in the header and {length} in {fasta}, expected the \
                 transcripts that the reads were aligned to",
                target.name,
                target.length
            );
        }
    }
    let others = transcripts.len() - targets.len();
    if others > 0 {
        common.say(&format!(
            "{fasta}: left out {} that the header of {name} does not have",
            count(others, "transcript")
        ));
    }
    Ok(Targets {
        transcripts,
        places,
    })
}

/// A place in the library's words.
fn placement(at: &collapsar_formats::Placement) -> Placement {
    use collapsar_formats::Layout as Given;
    Placement {
        transcript: at.target,
        start: at.start,
        end: at.end,
        layout: match at.layout {
            Given::Pair {
                first_forward,
                second_forward,
                first_left,
            } => Layout::Pair {
                first_forward,
                second_forward,
                first_left,
            },
            Given::Single { forward } => Layout::Single { forward },
            Given::Orphan { first, forward } => Layout::Orphan { first, forward },
        },
        log_odds: at.log_odds,
    }
}
