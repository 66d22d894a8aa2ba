//! What a quantification is of, whichever file it came from.

use std::path::Path;

use anyhow::bail;
use collapsar::quant::fragment::{Fragments, Report, Settings};
use collapsar::quant::{Reads, ReadsBuilder};
use collapsar_formats::read_lengths;

use super::args::{FitArgs, Source};
use super::genes::Genes;
use super::{alignments, classes, prob};
use crate::common::Common;
use crate::files::name_of;
use crate::progress::Progress;
use crate::text::count;

/// Reads, the transcripts that they may come from, and what is known of both.
pub(crate) struct Data {
    pub(crate) reads: Reads,
    pub(crate) transcripts: Transcripts,
    pub(crate) genes: Option<Genes>,
    /// Whether the model's first transcript is noise.
    pub(crate) noise: bool,
    /// Reads in the file, with those that could not be used.
    pub(crate) processed: u64,
    pub(crate) learned: Option<Learned>,
}

/// What alignments tell beside the reads.
pub(crate) struct Learned {
    pub(crate) report: Report,
    pub(crate) tally: collapsar_formats::Tally,
}

/// Transcripts in the order of the input.
#[derive(Debug, Default)]
pub(crate) struct Transcripts {
    pub(crate) names: Vec<String>,
    pub(crate) lengths: Vec<f64>,
    pub(crate) effective: Vec<f64>,
}

/// Ctrl-C came before there was anything to keep.
#[derive(Debug)]
pub(crate) struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// What all readers give; genes come later.
pub(crate) struct Taken {
    pub(crate) builder: ReadsBuilder,
    pub(crate) transcripts: Transcripts,
    pub(crate) processed: u64,
    /// Genes that the file of lengths names.
    pub(crate) genes: Option<Vec<Option<String>>>,
    pub(crate) learned: Option<Learned>,
}

impl Data {
    pub(crate) fn read(args: &FitArgs, common: &Common) -> anyhow::Result<Self> {
        let taken = match args.source() {
            Source::Alignments(file) => alignments::read(file, args, common)?,
            Source::Prob(file) => prob::read(file, args, common)?,
            Source::Classes(file) => classes::read(file, args, common)?,
        };
        let names = &taken.transcripts.names;
        let genes = match &args.about.gene_map {
            Some(file) => Some(Genes::read(
                file,
                names,
                args.about.ignore_versions,
                common,
            )?),
            None => taken.genes.map(|genes| Genes::new(names, &genes)),
        };
        Ok(Self {
            reads: taken.builder.finish()?,
            transcripts: taken.transcripts,
            genes,
            noise: args.fragments.noise,
            processed: taken.processed,
            learned: taken.learned,
        })
    }

    /// Reads that the model is about.
    pub(crate) fn used(&self) -> u64 {
        self.reads.reads() as u64
    }

    /// What the model's transcripts are that `quant.sf` has no line for: noise, which is first.
    pub(crate) fn offset(&self) -> usize {
        usize::from(self.noise)
    }

    /// Effective lengths of the model's transcripts.
    pub(crate) fn effective(&self) -> Vec<f64> {
        let noise = self.noise.then_some(f64::INFINITY);
        let others = self.transcripts.effective.iter().copied();
        noise.into_iter().chain(others).collect()
    }
}

impl Transcripts {
    /// Transcripts `1`, `2`, … of which nothing is known.
    pub(crate) fn unknown(number: usize) -> Self {
        Self::unmeasured((1..=number).map(|number| number.to_string()).collect())
    }

    /// Transcripts of unknown lengths.
    pub(crate) fn unmeasured(names: Vec<String>) -> Self {
        Self {
            lengths: vec![1.0; names.len()],
            effective: vec![1.0; names.len()],
            names,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }
}

/// A `.tr` file: transcripts, and genes where it names any.
pub(crate) fn lengths(
    file: &Path,
    common: &Common,
) -> anyhow::Result<(Transcripts, Option<Vec<Option<String>>>)> {
    let rows = read_lengths(file)?;
    // Room for all at once: lists that grow leave holes in memory for the rest of the run.
    let known = rows.iter().any(|row| row.gene.is_some());
    let mut transcripts = Transcripts {
        names: Vec::with_capacity(rows.len()),
        lengths: Vec::with_capacity(rows.len()),
        effective: Vec::with_capacity(rows.len()),
    };
    let mut genes = Vec::with_capacity(if known { rows.len() } else { 0 });
    let (mut short, mut missing) = (0, 0);
    for row in rows {
        let effective = row.effective.unwrap_or_else(|| {
            missing += 1;
            row.length
        });
        short += usize::from(effective < 1.0);
        transcripts.names.push(row.name);
        transcripts.lengths.push(row.length);
        transcripts.effective.push(effective.max(1.0));
        if known {
            genes.push(row.gene);
        }
    }
    let name = name_of(file);
    if short > 0 {
        let transcripts = count(short, "transcript");
        common.say(&format!(
            "{name}: {transcripts} of an effective length below 1, taken for 1"
        ));
    }
    if missing > 0 {
        let transcripts = count(missing, "transcript");
        common.say(&format!(
            "{name}: {transcripts} without an effective length, for which the length is taken"
        ));
    }
    Ok((transcripts, known.then_some(genes)))
}

/// Says that TPM needs lengths.
pub(crate) fn without_lengths(args: &FitArgs, common: &Common) {
    let which = match args.source() {
        Source::Classes(_) => "--lengths or --transcripts gives",
        _ => "--lengths gives",
    };
    common.say(&format!(
        "lengths of the transcripts are not known, so TPM are shares of the reads in millionths; {which} them"
    ));
}

/// Settings of the likelihood, as flags give them.
pub(crate) fn settings(args: &FitArgs) -> Settings {
    Settings {
        library: args.fragments.library_type,
        fragment_length: args
            .fragments
            .fragment_length
            .map(|given| (given.0, given.1)),
        longest: args.fragments.longest_fragment,
        incompatible: args.fragments.incompatible,
        sequence_bias: args.fragments.sequence_bias,
        position_bias: args.fragments.position_bias,
        ..Settings::default()
    }
}

/// Effective lengths without any fragments to learn from.
pub(crate) fn effective(lengths: &[u32], args: &FitArgs) -> anyhow::Result<Report> {
    let settings = Settings {
        fragment_length: settings(args).fragment_length,
        ..Settings::default()
    };
    Ok(Fragments::new(lengths, None, settings)?.finish(&mut |_| {})?)
}

/// Counts reads while they are read: the bar moves now and then, and Ctrl-C is heard.
pub(crate) struct Counter<'a> {
    common: &'a Common,
    progress: Progress,
    known: bool,
    reads: u64,
}

/// Reads between two looks at the clock.
const BATCH: u64 = 4096;

impl<'a> Counter<'a> {
    pub(crate) fn new(common: &'a Common, length: Option<u64>) -> Self {
        Self {
            common,
            progress: Progress::new(common, length, "reads"),
            known: length.is_some(),
            reads: 0,
        }
    }

    pub(crate) fn count(&mut self) -> anyhow::Result<()> {
        self.reads += 1;
        if self.reads.is_multiple_of(BATCH) {
            if self.common.interrupted() {
                bail!(Interrupted);
            }
            if self.known {
                self.progress.advance_by(BATCH);
            } else {
                let reads = self.reads;
                self.progress.tell(|| format!("{reads} reads"));
            }
        }
        Ok(())
    }

    pub(crate) fn reads(&self) -> u64 {
        self.reads
    }
}
