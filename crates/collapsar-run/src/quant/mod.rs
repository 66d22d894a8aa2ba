//! Quantification: from a request and its files to estimates of transcripts and genes, and their files.
//!
//! - `request`: what is asked for, and the defaults
//! - `watch`: how it is watched, and what may be said of the input
//! - `input`: reads, transcripts and genes, whichever source they came from
//! - `aligned`: reads as alignments give them
//! - `transcripts`: which transcripts there are, and their lengths
//! - `matching`: which transcripts of two files are the same
//! - `genes`: which transcripts make a gene
//! - `solve`: from reads to a posterior
//! - `estimates`: what it knows of transcripts and genes
//! - `doubts`: what makes it doubtful
//! - `results`: the files, ours and those that salmon has too
//! - `compare`: conditions compared, from result folders

mod aligned;
pub mod compare;
mod doubts;
mod estimates;
mod genes;
mod input;
mod matching;
mod request;
mod results;
mod solve;
mod transcripts;
mod watch;

use std::path::Path;
use std::sync::atomic::Ordering;

pub use doubts::Doubt;
use estimates::without;
pub use estimates::{QuantEstimates, QuantTable};
pub use genes::Genes;
pub use input::{Learned, QuantInput};
pub use matching::Naming;
pub use request::{GeneSource, Lengths, QuantRequest, ReadMatrix, ReadSource};
pub use solve::Solved;
pub use transcripts::Transcripts;
pub use watch::{Note, QuantWatch, Stage};

use crate::error::{Error, Result};
use crate::folder::RunFolder;
use crate::witness::Witness;

/// A quantification that ended.
#[derive(Debug)]
pub struct QuantResult {
    /// What it is of. The rows of its reads are gone.
    pub input: QuantInput,
    /// The posterior.
    pub solved: Solved,
    /// What it knows of transcripts and genes.
    pub estimates: QuantEstimates,
    /// What makes it doubtful.
    pub doubts: Vec<Doubt>,
}

/// A folder for results, made if need be, and the command line as typed, or what stands for it.
pub type QuantOut<'a> = (&'a Path, Vec<String>);

impl QuantResult {
    /// The draws of reads that were asked for, one after the other, each in the order of the transcripts.
    pub fn draws(&self, request: &QuantRequest) -> Box<dyn Iterator<Item = Vec<f64>> + '_> {
        let (input, Some(exact)) = (&self.input, &self.solved.draws) else {
            return Box::new(self.estimates.draws.iter().cloned());
        };
        let counts = move |index| without(input.offset(), exact.counts(&input.reads, index));
        Box::new(request.kept_draws().map(counts))
    }
}

/// Quantifies, and writes results where asked to; nothing where it was interrupted, before anything is
/// written.
///
/// # Errors
/// Where options or files cannot be used, or results cannot be written.
pub fn quantify(
    request: &QuantRequest,
    out: Option<QuantOut<'_>>,
    watch: &dyn QuantWatch,
) -> Result<Option<QuantResult>> {
    let witness = Witness::of(request.files());
    let Some(mut input) = QuantInput::read(request, watch)? else {
        return Ok(None);
    };
    // Before the fit: a long run must not end in a refusal. After the data: bad input leaves no folder.
    let folder = begin(out)?;
    let folder = folder
        .map(|(folder, command)| Ok::<_, Error>((folder.after(witness)?, command)))
        .transpose()?;
    let Some(solved) = Solved::new(request, &input, watch)? else {
        return Ok(None);
    };
    // Estimates need memory too, the reads no more.
    input.reads.forget_rows();
    let estimates = QuantEstimates::new(request, &input, &solved)?;
    if watch.interrupt().load(Ordering::Relaxed) {
        return Ok(None);
    }
    let doubts = doubts::doubts(request, &input, &solved);
    let result = QuantResult {
        input,
        solved,
        estimates,
        doubts,
    };
    if let Some((folder, command)) = folder {
        results::write(folder, request, &result, command)?;
    }
    Ok(Some(result))
}

/// Makes sure that results can be written, if any are to be.
fn begin(out: Option<QuantOut<'_>>) -> Result<Option<(RunFolder, Vec<String>)>> {
    out.map(|(folder, command)| Ok((RunFolder::begin(folder)?, command)))
        .transpose()
}
