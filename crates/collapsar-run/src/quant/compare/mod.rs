//! Conditions compared: which transcripts and genes change, from result folders of quantifications.
//!
//! - `groups`: which folder is of which condition
//! - `samples`: the folders, read one after the other
//! - `results`: the files of a comparison

mod groups;
mod results;
mod samples;

use std::path::PathBuf;
use std::time::Instant;

use collapsar::quant::compare::{Change, Comparison, Design, compare};

use super::{Genes, Note, QuantOut, begin};
use crate::error::{Error, Result};
pub use groups::{Group, Groups};
pub use samples::Samples;

/// The false discovery rate of changes that are counted.
pub const RATE: f64 = 0.05;

/// A comparison as its user describes it.
#[derive(Debug, Clone)]
pub struct CompareRequest {
    /// The samples: a folder and a condition a line.
    pub groups: PathBuf,
    /// Two conditions with a comma between them; the first two of the file where they are not given.
    pub contrast: Option<String>,
    /// Genes of the transcripts: a table of two columns, GTF or GFF3.
    pub genes: Option<PathBuf>,
    /// Names of the genes' file are compared without their versions.
    pub ignore_versions: bool,
}

/// A comparison that ended.
#[derive(Debug)]
pub struct CompareResult {
    /// The samples and their conditions.
    pub groups: Groups,
    /// What was read of them.
    pub samples: Samples,
    /// Numbers of the two conditions.
    pub contrast: (usize, usize),
    /// The genes, where they are known, and what may be said of their file.
    pub genes: Option<(Genes, Option<Note>)>,
    /// The changes of the transcripts.
    pub transcripts: Comparison,
    /// The changes of the genes.
    pub by_gene: Option<Comparison>,
    /// Time taken.
    pub seconds: f64,
}

impl CompareRequest {
    /// Compares, and writes results where asked to.
    ///
    /// # Errors
    /// Where files cannot be used, do not fit one another, or results cannot be written.
    pub fn run(&self, out: Option<QuantOut<'_>>) -> Result<CompareResult> {
        let clock = Instant::now();
        let groups = Groups::read(&self.groups)?;
        let contrast = self.contrast(&groups.names)?;
        let design = Design::new(groups.conditions(), contrast)?;
        let samples = Samples::read(&groups)?;
        let genes = self.genes.as_ref();
        let genes = genes.map(|file| Genes::read(file, &samples.names, self.ignore_versions));
        let genes = genes.transpose()?;
        // Before the second reading, after the first: bad input leaves no folder.
        let folder = begin(out)?;
        let by_gene = genes.iter();
        let by_gene = by_gene.map(|(genes, _)| samples.scale.genes(&genes.members));
        let scales = [Ok(samples.scale.clone())].into_iter().chain(by_gene);
        let scales = scales.collect::<std::result::Result<Vec<_>, _>>()?;
        let levels = samples.levels(&groups, &scales)?;
        let compared = |index: usize| compare(&scales[index], &levels[index], &design);
        let result = CompareResult {
            contrast,
            transcripts: compared(0)?,
            by_gene: genes.is_some().then(|| compared(1)).transpose()?,
            genes,
            seconds: clock.elapsed().as_secs_f64(),
            groups,
            samples,
        };
        if let Some((folder, command)) = folder {
            results::write(folder, self, &result, &command)?;
        }
        Ok(result)
    }

    /// The numbers of the two conditions to compare.
    fn contrast(&self, names: &[String]) -> Result<(usize, usize)> {
        let Some(given) = &self.contrast else {
            return Ok((0, 1));
        };
        let number = |name: &str| names.iter().position(|known| known == name.trim());
        let pair = given.split_once(',');
        match pair.map(|(from, to)| (number(from), number(to))) {
            Some((Some(from), Some(to))) if from != to => Ok((from, to)),
            _ => Err(Error::Library(collapsar::Error::setting(
                "contrast",
                format!("{given:?}"),
                format!("two of {} with a comma between them", names.join(", ")),
            ))),
        }
    }
}

/// How many were tested, and how many are up and down.
pub fn tested(comparison: &Comparison) -> [usize; 3] {
    let changes: Vec<Change> = (comparison.rows.iter())
        .filter_map(|row| row.change)
        .collect();
    let changed = |up| {
        changes
            .iter()
            .filter(move |c| c.qvalue < RATE && (c.mean > 0.0) == up)
    };
    [changes.len(), changed(true).count(), changed(false).count()]
}
