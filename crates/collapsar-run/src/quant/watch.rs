//! How a quantification is watched, and what may be said of its input, as data.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use crate::climb::Watch;

/// How a quantification is watched by whoever asked for it.
pub trait QuantWatch: Watch {
    /// Sees how far it is.
    fn reaches(&self, _stage: Stage) {}

    /// Hears of the input.
    fn note(&self, _note: Note) {}
}

/// How far a quantification is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// So many reads, or classes, have been read, of as many as the file says that it has.
    Reading(u64, Option<u64>),
    /// The bound is being climbed.
    Climbing,
    /// The posterior is being drawn from.
    Drawing,
}

/// What a person may want to know of the input. Files are named as in refusals.
#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    /// Lengths are not known, so TPM are fractions of the reads in millionths; these options give them.
    NoLengths(&'static [&'static str]),
    /// A file has so many effective lengths below 1, which are taken for 1.
    ShortLengths(String, usize),
    /// A file has no effective length for so many transcripts, for which the length is taken.
    NoEffectiveLengths(String, usize),
    /// Effective lengths are for fragments of this mean and standard deviation, as none were given.
    UsualFragments(f64, f64),
    /// A file has classes without weights, for which one over the effective length is taken.
    Unweighted(String),
    /// A file has so many reads that fit only noise, and are left out.
    OnlyNoise(String, usize),
    /// A file has so many transcripts that the header of these alignments does not have.
    NotAlignedTo(String, usize, String),
    /// A file has no gene for so many transcripts, the first of which is this; each is one of its own.
    NoGene(String, usize, String),
}

/// Reads between two looks at the clock.
const BATCH: u64 = 4096;

/// Counts reads while they are read: whoever watches sees it now and then, and may stop it.
pub(super) struct Counter<'a> {
    watch: &'a dyn QuantWatch,
    of: Option<u64>,
    pub(super) reads: u64,
}

impl<'a> Counter<'a> {
    pub(super) fn new(watch: &'a dyn QuantWatch, of: Option<u64>) -> Self {
        watch.reaches(Stage::Reading(0, of));
        let reads = 0;
        Self { watch, of, reads }
    }

    pub(super) fn count(&mut self) -> ControlFlow<()> {
        self.reads += 1;
        if self.reads.is_multiple_of(BATCH) {
            if self.watch.interrupt().load(Ordering::Relaxed) {
                return ControlFlow::Break(());
            }
            self.watch.reaches(Stage::Reading(self.reads, self.of));
        }
        ControlFlow::Continue(())
    }
}
