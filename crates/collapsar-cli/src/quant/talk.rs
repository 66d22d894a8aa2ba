//! Progress of a quantification, and what is said on the way.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use collapsar::{Step, Terms};
use collapsar_run::Watch;
use collapsar_run::quant::{Note, QuantWatch, Stage};

use crate::climb::Bar;
use crate::common::Common;
use crate::progress::Progress;
use crate::terms::Flags;
use crate::text::{count, short};

/// A bar for the reads, then one for the climb.
pub(crate) struct Talk<'a> {
    common: &'a Common,
    reading: Mutex<Option<Progress>>,
    climb: Bar<'a>,
}

impl<'a> Talk<'a> {
    pub(crate) fn new(common: &'a Common) -> Self {
        Self {
            common,
            reading: Mutex::new(None),
            climb: Bar::new(common, 1),
        }
    }
}

impl Watch for Talk<'_> {
    fn interrupt(&self) -> &AtomicBool {
        self.common.interrupt
    }

    fn step(&self, climb: usize, step: &Step) -> ControlFlow<()> {
        self.climb.step(climb, step)
    }
}

impl QuantWatch for Talk<'_> {
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
                self.climb.progress.tell(drawing);
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
