//! Decides how the alignments of a file become reads of the model, with p(read | transcript) learned on the way.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use collapsar::Hint;
use collapsar::quant::fragment::{Fragments, Layout, Placement, Report, Sequences, Settings};
use collapsar::quant::{ReadsBuilder, Thrift};

use super::fasta::{Transcripts, read_transcripts};
use super::matching::{Named, Naming, matched};
use crate::alignments::{self, Alignments, Bases, Fragment, Tally, Target};
use crate::error::{Error, Result, count};
use crate::open::name_of;

/// How alignments are read.
#[derive(Debug, Clone)]
pub struct AlignedOptions<'a> {
    /// Sequences of the transcripts that the reads were aligned to, in FASTA.
    pub transcripts: &'a Path,
    /// What of the transcripts' names counts.
    pub naming: Naming,
    /// How likely fragments are.
    pub fragments: Settings,
    /// What of the reads is kept.
    pub thrift: Thrift,
    /// Threads that decompress, beside the one that reads.
    pub workers: usize,
}

/// Reads of a SAM, BAM or CRAM file.
#[derive(Debug)]
pub struct AlignedReads {
    /// The reads.
    pub builder: ReadsBuilder,
    /// Names of the transcripts, in the order of the header.
    pub names: Vec<String>,
    /// Their lengths.
    pub lengths: Vec<u32>,
    /// What was learned of the fragments, with effective lengths.
    pub report: Report,
    /// What there was in the file.
    pub tally: Tally,
}

/// A file of alignments whose transcripts have been found.
pub struct AlignedReader<'a> {
    name: String,
    alignments: Alignments,
    targets: Vec<Target>,
    sequences: Arc<Targets>,
    options: AlignedOptions<'a>,
}

impl<'a> AlignedReader<'a> {
    /// Opens a file, `-` being standard input, and looks up the transcripts of its header.
    ///
    /// # Errors
    /// Where a file cannot be read, or the transcripts are not those that the reads were aligned to.
    pub fn open(file: &Path, options: AlignedOptions<'a>) -> Result<Self> {
        let name = name_of(file);
        let mut alignments = Alignments::open(file, options.workers)?;
        let targets = alignments.targets().to_vec();
        let sequences = Targets::find(&name, &targets, &options)?;
        let sequences = Arc::new(sequences);
        alignments.compare_with(Arc::clone(&sequences) as Arc<dyn Bases>)?;
        Ok(Self {
            name,
            alignments,
            targets,
            sequences,
            options,
        })
    }

    /// Transcripts of the FASTA file that the header does not have.
    pub fn left_out(&self) -> usize {
        self.sequences.transcripts.len() - self.targets.len()
    }

    /// Reads everything; `each` is called after each read and may stop it, which gives nothing.
    ///
    /// # Errors
    /// Where the file is damaged, or no read of it can be used.
    pub fn read(
        mut self,
        mut each: impl FnMut() -> ControlFlow<()>,
    ) -> Result<Option<AlignedReads>> {
        let lengths: Vec<u32> = self.targets.iter().map(|target| target.length).collect();
        let settings = self.options.fragments;
        let mut fragments = Fragments::new(&lengths, Some(&*self.sequences), settings)?;
        let mut builder = ReadsBuilder::new(self.targets.len(), self.options.thrift)?;
        // The stream tells of fragments, and cannot be told of failures.
        let mut failed = None;
        let mut out = |entries: &[(u32, f64)]| {
            if let Err(error) = builder.push(entries, 1.0) {
                failed.get_or_insert(error);
            }
        };
        let mut fragment = Fragment::default();
        let mut placements = Vec::new();
        while self.alignments.next(&mut fragment)? {
            placements.clear();
            placements.extend(fragment.placements.iter().map(placement));
            fragments.push(&placements, &mut out)?;
            if each().is_break() {
                return Ok(None);
            }
        }
        let tally = *self.alignments.tally();
        if tally.aligned == 0 {
            return Err(nothing(self.name, &tally));
        }
        let report = fragments.finish(&mut out)?;
        if let Some(error) = failed {
            return Err(error.into());
        }
        if report.counts.used == 0 {
            return Err(unusable(self.name, &report));
        }
        let naming = self.options.naming;
        let names = self.targets.iter();
        let names = names.map(|target| naming.shown(&target.name).to_owned());
        Ok(Some(AlignedReads {
            builder,
            names: names.collect(),
            lengths,
            report,
            tally,
        }))
    }
}

/// Why no read has a place.
fn nothing(path: String, tally: &Tally) -> Error {
    let reads = count(tally.reads as usize, "read");
    let found = match tally.split {
        0 => format!("none of {reads} is aligned"),
        split => format!(
            "none of {reads} is aligned to one transcript ({split} with mates on different ones)"
        ),
    };
    Error::content(path, found, "at least one")
}

/// Why no aligned read can be used.
fn unusable(path: String, report: &Report) -> Error {
    let counts = &report.counts;
    let all = count(counts.fragments as usize, "aligned read");
    let (found, expected, hint) = if counts.incompatible >= counts.too_long {
        (
            format!(
                "library type {} forbids {} of {all}",
                report.library, counts.incompatible
            ),
            "at least one that it allows",
            Hint::set("library_type", "A"),
        )
    } else {
        (
            format!(
                "{} of {all} are from fragments of more than {} bases",
                counts.too_long,
                report.fragment_length.longest()
            ),
            "at least one shorter",
            Hint::higher("longest_fragment"),
        )
    };
    Error::content(path, found, expected).with_hint(hint)
}

/// The sequences of the targets.
struct Targets {
    transcripts: Transcripts,
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

impl Targets {
    /// Finds the targets of the header among the transcripts.
    fn find(name: &str, targets: &[Target], options: &AlignedOptions<'_>) -> Result<Self> {
        let transcripts = read_transcripts(options.transcripts)?;
        let fasta = name_of(options.transcripts);
        let names: Vec<String> = targets.iter().map(|target| target.name.clone()).collect();
        let wanted = Named {
            file: name,
            names: &names,
        };
        let known = Named {
            file: &fasta,
            names: transcripts.names(),
        };
        let places = matched(wanted, known, options.naming)?;
        for (target, &place) in targets.iter().zip(&places) {
            let length = transcripts.length(place as usize);
            if length != target.length as usize {
                let found = format!(
                    "transcript {:?} has {} bases in the header and {length} in {fasta}",
                    target.name, target.length
                );
                let expected = "the transcripts that the reads were aligned to";
                return Err(Error::content(name, found, expected));
            }
        }
        Ok(Self {
            transcripts,
            places,
        })
    }
}

/// A place in the library's words.
fn placement(at: &alignments::Placement) -> Placement {
    use alignments::Layout as Given;
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
