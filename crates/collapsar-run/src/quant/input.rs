//! What a quantification is of, whichever source it came from.

use collapsar::quant::fragment::Report;
use collapsar::quant::{Reads, ReadsBuilder};
use collapsar_formats::Tally;

use super::genes::Genes;
use super::request::{QuantRequest, ReadMatrix, ReadSource};
use super::transcripts::{self, GeneNames, Listed, Transcripts};
use super::watch::QuantWatch;
use super::{aligned, classes, prob};
use crate::error::Result;

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

/// What all readers give; genes of other files come later.
pub(super) struct Given {
    pub(super) builder: ReadsBuilder,
    pub(super) transcripts: Transcripts,
    pub(super) genes: GeneNames,
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
            ReadSource::Prob(file) => prob::read(file, request, watch)?,
            ReadSource::Classes(file) => classes::read(file, request, watch)?,
            ReadSource::Matrix(matrix) => Some(of_matrix(matrix, request, watch)?),
        };
        let Some(given) = given else { return Ok(None) };
        let names = &given.transcripts.names;
        let genes = match &request.genes {
            Some(source) => Some(Genes::find(source, names, request.naming, watch)?),
            None => given.genes.map(|genes| Genes::new(names, &genes, true)),
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
    let (transcripts, genes) = transcripts::find(listed, request, watch)?;
    let mut builder = ReadsBuilder::new(number, request.compression)?;
    let mut entries = Vec::new();
    for (range, &count) in matrix.starts.windows(2).zip(&matrix.counts) {
        let range = range[0]..range[1];
        let weights = matrix.weights[range.clone()]
            .iter()
            .map(|weight| weight.ln());
        entries.clear();
        entries.extend(matrix.ids[range].iter().copied().zip(weights));
        builder.push(&entries, count)?;
    }
    Ok(Given {
        builder,
        transcripts,
        genes,
        processed: matrix.counts.iter().sum::<f64>() as u64,
        learned: None,
    })
}
