//! Reads as alignments give them, with p(read | transcript) learned on the way.

use std::path::Path;
use std::sync::Arc;

use collapsar::Hint;
use collapsar::quant::ReadsBuilder;
use collapsar::quant::fragment::{Fragments, Report, Sequences};
use collapsar_formats::{Alignments, Fragment, Tally, Target, read_transcripts};
use collapsar_text::count;

use super::input::{Given, Learned};
use super::matching::{Naming, matched};
use super::request::QuantRequest;
use super::transcripts::Transcripts;
use super::watch::{Counter, Note, QuantWatch};
use crate::error::{Error, Result};
use crate::record::name_of;

/// Threads that decompress: more are faster than what takes their bytes.
const WORKERS: usize = 3;

/// Reads alignments; nothing where it was interrupted.
pub(super) fn read(
    file: &Path,
    request: &QuantRequest,
    watch: &dyn QuantWatch,
) -> Result<Option<Given>> {
    let Some(fasta) = &request.transcripts else {
        return Err(Error::Library(collapsar::Error::setting(
            "transcripts",
            "None",
            "the FASTA file of the transcripts that the reads were aligned to",
        )));
    };
    let name = name_of(file);
    // One thread reads.
    let workers = request.climb.threads.saturating_sub(1).min(WORKERS);
    let mut alignments = Alignments::open(file, workers)?;
    let targets = alignments.targets().to_vec();
    let sequences = Arc::new(Targets::find(&name, &targets, fasta, request.naming)?);
    alignments.compare_with(sequences.clone())?;
    let left_out = sequences.transcripts.len() - targets.len();
    if left_out > 0 {
        watch.note(Note::NotAlignedTo(name_of(fasta), left_out, name.clone()));
    }
    let lengths: Vec<u32> = targets.iter().map(|target| target.length).collect();
    let mut fragments = Fragments::new(&lengths, Some(&*sequences), request.fragments.clone())?;
    let mut builder = ReadsBuilder::new(targets.len(), request.compression)?;
    // The stream gives entries, and takes no failures.
    let mut failed = None;
    let mut out = |entries: &[(u32, f64)]| {
        if let Err(error) = builder.push(entries, 1.0) {
            failed.get_or_insert(error);
        }
    };
    let mut counter = Counter::new(watch, None);
    let mut fragment = Fragment::default();
    while alignments.next(&mut fragment)? {
        fragments.push(&fragment.placements, &mut out)?;
        if counter.count().is_break() {
            return Ok(None);
        }
    }
    let tally = *alignments.tally();
    if tally.aligned == 0 {
        return Err(nothing(name, &tally));
    }
    let report = fragments.finish(&mut out)?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    if report.counts.used == 0 {
        return Err(unusable(name, &report));
    }
    let shown = |target: &Target| request.naming.shown(&target.name).to_owned();
    Ok(Some(Given {
        builder,
        transcripts: Transcripts {
            names: targets.iter().map(shown).collect(),
            lengths: lengths.into_iter().map(f64::from).collect(),
            effective: report.effective_lengths.clone(),
            genes: None,
        },
        processed: tally.reads,
        learned: Some(Learned { report, tally }),
    }))
}

/// Why no read has a place.
fn nothing(name: String, tally: &Tally) -> Error {
    let reads = count(tally.reads as usize, "read");
    let found = match tally.split {
        0 => format!("none of {reads} is aligned"),
        split => format!(
            "none of {reads} is aligned to one transcript ({split} with mates on different ones)"
        ),
    };
    Error::input(name, found, "at least one")
}

/// Why no aligned read can be used.
fn unusable(name: String, report: &Report) -> Error {
    let counts = &report.counts;
    let all = count(counts.fragments as usize, "aligned read");
    let (found, expected, hint) = if counts.incompatible >= counts.too_long {
        let (library, forbidden) = (report.library, counts.incompatible);
        (
            format!("library type {library} forbids {forbidden} of {all}"),
            "at least one that it allows",
            Hint::set("library_type", "A"),
        )
    } else {
        let (long, longest) = (counts.too_long, report.fragment_length.longest());
        (
            format!("{long} of {all} are from fragments of more than {longest} bases"),
            "at least one shorter",
            Hint::higher("longest_fragment"),
        )
    };
    Error::input(name, found, expected).with_hint(hint)
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

impl Targets {
    /// Finds the targets of the header among the transcripts.
    fn find(name: &str, targets: &[Target], fasta: &Path, naming: Naming) -> Result<Self> {
        let transcripts = read_transcripts(fasta)?;
        let fasta = name_of(fasta);
        let names: Vec<String> = targets.iter().map(|target| target.name.clone()).collect();
        let places = matched((name, &names), (&fasta, transcripts.names()), naming)?;
        for (target, &place) in targets.iter().zip(&places) {
            let length = transcripts.length(place as usize);
            if length != target.length as usize {
                let found = format!(
                    "transcript {:?} has {} bases in the header and {length} in {fasta}",
                    target.name, target.length
                );
                let expected = "the transcripts that the reads were aligned to";
                return Err(Error::input(name, found, expected));
            }
        }
        Ok(Self {
            transcripts,
            places,
        })
    }
}
