//! What a quantification is of, whichever source it came from.

use std::path::Path;

use collapsar::Hint;
use collapsar::elementary::Elementary;
use collapsar::quant::fragment::Report;
use collapsar::quant::{Reads, ReadsBuilder};
use collapsar_formats::{Class, ProbReader, Tally, read_classes};

use super::aligned;
use super::genes::Genes;
use super::request::{QuantRequest, ReadMatrix, ReadSource};
use super::transcripts::{self, Listed, Transcripts};
use super::watch::{Counter, Note, QuantWatch};
use crate::error::{Error, Result};
use crate::record::name_of;

/// Reads, the transcripts that they may come from, and what is known of both.
#[derive(Debug)]
pub struct QuantInput {
    /// The reads.
    pub reads: Reads,
    /// The transcripts.
    pub transcripts: Transcripts,
    /// Their genes, where they are known.
    pub genes: Option<Genes>,
    /// Whether the first transcript of the reads is noise, which `transcripts` does not have.
    pub noise: bool,
    /// Reads in the source, with those that could not be used.
    pub processed: u64,
    /// What alignments show beside the reads.
    pub learned: Option<Learned>,
}

/// What alignments show beside the reads.
#[derive(Debug)]
pub struct Learned {
    /// What was learned of the fragments.
    pub report: Report,
    /// What there was in the file.
    pub tally: Tally,
}

/// What all readers give; genes of other files than that of the transcripts come later.
pub(super) struct Given {
    pub(super) builder: ReadsBuilder,
    pub(super) transcripts: Transcripts,
    pub(super) processed: u64,
    pub(super) learned: Option<Learned>,
}

impl Learned {
    /// The fraction of reads that are aligned.
    pub fn aligned(&self) -> f64 {
        self.tally.aligned as f64 / self.tally.reads.max(1) as f64
    }
}

impl QuantInput {
    /// Reads everything; nothing where it was interrupted.
    ///
    /// # Errors
    /// Where a file cannot be read, or files contradict themselves or one another.
    pub fn read(request: &QuantRequest, watch: &dyn QuantWatch) -> Result<Option<Self>> {
        let given = match &request.source {
            ReadSource::Alignments(file) => aligned::read(file, request, watch)?,
            ReadSource::Prob(file) => of_prob(file, request, watch)?,
            ReadSource::Classes(file) => of_classes(file, request, watch)?,
            ReadSource::Matrix(matrix) => Some(of_matrix(matrix, request, watch)?),
        };
        let Some(mut given) = given else {
            return Ok(None);
        };
        let named = given.transcripts.genes.take();
        let names = &given.transcripts.names;
        let genes = match &request.genes {
            Some(source) => Some(Genes::find(source, names, request.naming, watch)?),
            None => named.map(|genes| Genes::new(names, &genes, true)),
        };
        Ok(Some(Self {
            reads: given.builder.finish()?,
            transcripts: given.transcripts,
            genes,
            noise: request.noise,
            processed: given.processed,
            learned: given.learned,
        }))
    }

    /// Reads that the model is about.
    pub fn used(&self) -> u64 {
        self.reads.reads() as u64
    }

    /// How many transcripts of the reads come before `transcripts`: one where it is noise.
    pub(super) fn offset(&self) -> usize {
        usize::from(self.noise)
    }

    /// Effective lengths of the transcripts of the reads.
    pub(super) fn effective(&self) -> Vec<f64> {
        let noise = self.noise.then_some(f64::INFINITY);
        let others = self.transcripts.effective.iter().copied();
        noise.into_iter().chain(others).collect()
    }
}

fn of_matrix(matrix: &ReadMatrix, request: &QuantRequest, watch: &dyn QuantWatch) -> Result<Given> {
    let number = matrix.transcripts;
    let listed = Listed {
        source: "reads",
        names: vec![],
        number,
        exactly: Some(format!("the {number} of reads")),
    };
    let transcripts = transcripts::find(listed, request, watch)?;
    let mut builder = ReadsBuilder::new(number, request.compression)?;
    let mut entries = Vec::new();
    for (range, &count) in matrix.starts.windows(2).zip(&matrix.counts) {
        let range = range[0]..range[1];
        let weights = matrix.weights[range.clone()]
            .iter()
            .map(|weight| weight.ln_());
        entries.clear();
        entries.extend(matrix.ids[range].iter().copied().zip(weights));
        builder.push(&entries, count)?;
    }
    Ok(Given {
        builder,
        transcripts,
        processed: matrix.counts.iter().sum::<f64>() as u64,
        learned: None,
    })
}

/// Reads as BitSeq's `.prob` files give them; nothing where it was interrupted.
fn of_prob(file: &Path, request: &QuantRequest, watch: &dyn QuantWatch) -> Result<Option<Given>> {
    let mut reader = ProbReader::open(file)?;
    let header = *reader.header();
    let name = name_of(file);
    let listed = Listed {
        source: &name,
        names: vec![],
        number: header.transcripts,
        exactly: Some(format!("{} as # M in {name} says", header.transcripts)),
    };
    let transcripts = transcripts::find(listed, request, watch)?;
    if header.mapped == 0 {
        let found = "no reads with alignments";
        return Err(Error::input(name, found, "at least one"));
    }
    let noise = usize::from(request.noise);
    let mut builder = ReadsBuilder::new(header.transcripts + noise, request.compression)?;
    builder.reserve(header.mapped);
    let mut counter = Counter::new(watch, Some(header.mapped));
    let mut entries = Vec::new();
    let mut only_noise = 0;
    while reader.next(&mut entries)? {
        if !request.noise {
            // BitSeq counts transcripts from 1 on, noise being 0.
            entries.retain(|entry| entry.0 > 0);
            for entry in &mut entries {
                entry.0 -= 1;
            }
        }
        if entries.is_empty() {
            only_noise += 1;
        } else {
            builder.push(&entries, 1.0)?;
        }
        if counter.count().is_break() {
            return Ok(None);
        }
    }
    if only_noise == counter.reads {
        let found = "no read fits a transcript, only noise";
        return Err(Error::input(name, found, "at least one"));
    }
    if only_noise > 0 {
        watch.note(Note::OnlyNoise(name, only_noise as usize));
    }
    if request.lengths.is_none() {
        watch.note(Note::NoLengths(&["lengths"]));
    }
    Ok(Some(Given {
        builder,
        transcripts,
        processed: header.reads,
        learned: None,
    }))
}

/// Options that give lengths.
const LENGTHS: [&str; 2] = ["lengths", "transcripts"];

/// Reads as equivalence classes give them; nothing where it was interrupted.
fn of_classes(
    file: &Path,
    request: &QuantRequest,
    watch: &dyn QuantWatch,
) -> Result<Option<Given>> {
    let name = name_of(file);
    let classes = read_classes(file)?;
    let unweighted = classes.classes.iter().any(|class| class.weights.is_none());
    let measured = request.lengths.is_some() || request.transcripts.is_some();
    if unweighted && !measured {
        let expected = "lengths of the transcripts to weigh them by";
        let error = Error::input(name, "classes without weights", expected);
        return Err(error.with_hint(Hint::Any(LENGTHS.map(Hint::give).into())));
    }
    if !measured {
        watch.note(Note::NoLengths(&LENGTHS));
    }
    let listed = Listed {
        source: &name,
        names: classes.names,
        number: classes.transcripts,
        exactly: None,
    };
    let transcripts = transcripts::find(listed, request, watch)?;
    if unweighted {
        watch.note(Note::Unweighted(name.clone()));
    }
    let mut builder = ReadsBuilder::new(transcripts.len(), request.compression)?;
    let mut counter = Counter::new(watch, Some(classes.classes.len() as u64));
    let mut reads = 0.0;
    for (number, class) in classes.classes.iter().enumerate() {
        if class.count > 0.0 {
            let pushed = builder.push(&entries(class, &transcripts), class.count);
            pushed.map_err(|error| Error::of_file(error, format!("{name}: class {number}")))?;
            reads += class.count;
        }
        if counter.count().is_break() {
            return Ok(None);
        }
    }
    if reads == 0.0 {
        let found = "no class has a read";
        return Err(Error::input(name, found, "at least one"));
    }
    Ok(Some(Given {
        builder,
        transcripts,
        processed: reads as u64,
        learned: None,
    }))
}

/// A class's transcripts and ln p(read | transcript), up to what they have in common.
fn entries(class: &Class, transcripts: &Transcripts) -> Vec<(u32, f64)> {
    let ids = class.transcripts.iter();
    match &class.weights {
        Some(weights) => (ids.zip(weights))
            .filter(|(_, weight)| **weight > 0.0)
            .map(|(&id, weight)| (id, weight.ln_()))
            .collect(),
        None => ids
            .map(|&id| (id, -transcripts.effective[id as usize].ln_()))
            .collect(),
    }
}
