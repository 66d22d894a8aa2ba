//! The folders of a comparison.
//!
//! Draws of many samples at once may not fit in memory, and what they say depends on all samples' sizes.
//! So folders are read twice, and draws are gone before the next folder is read.

use anyhow::bail;
use collapsar::quant::compare::{Levels, Sample, Scale};
use collapsar_formats::{Quantification, read_quantification};

use super::groups::{Group, Groups};
use crate::common::Common;

/// Fewer draws than this tell little about variances.
const DRAWS: usize = 20;

/// What samples have in common.
#[derive(Debug)]
pub(super) struct Samples {
    /// The transcripts.
    pub(super) names: Vec<String>,
    pub(super) scale: Scale,
    /// Reads of each sample.
    pub(super) reads: Vec<f64>,
    /// Draws of each sample.
    pub(super) draws: Vec<usize>,
}

impl Samples {
    pub(super) fn read(groups: &Groups) -> anyhow::Result<Self> {
        let mut names: Option<Vec<String>> = None;
        let (mut read, mut draws) = (vec![], vec![]);
        for group in &groups.samples {
            let mut found = read_quantification(&group.folder)?;
            draws.push(std::mem::take(&mut found.draws).len());
            match &names {
                None => names = Some(std::mem::take(&mut found.names)),
                Some(names) => check(&found, names, group, &groups.samples[0])?,
            }
            found.names = vec![];
            read.push(found);
        }
        let samples = groups
            .samples
            .iter()
            .zip(&read)
            .map(|(group, found)| Sample {
                name: &group.name,
                counts: &found.counts,
                effective: &found.effective,
            });
        Ok(Self {
            names: names.unwrap_or_default(),
            scale: Scale::new(&samples.collect::<Vec<_>>())?,
            reads: read.iter().map(|found| found.counts.iter().sum()).collect(),
            draws,
        })
    }

    /// Levels of all samples on each of the scales.
    pub(super) fn levels(
        &self,
        groups: &Groups,
        scales: &[Scale],
    ) -> anyhow::Result<Vec<Vec<Levels>>> {
        let mut levels = vec![vec![]; scales.len()];
        for (sample, group) in groups.samples.iter().enumerate() {
            let draws = match self.draws[sample] {
                0 => vec![],
                _ => read_quantification(&group.folder)?.draws,
            };
            for (levels, scale) in levels.iter_mut().zip(scales) {
                levels.push(scale.levels(sample, &draws)?);
            }
        }
        Ok(levels)
    }

    /// Tells where draws are missing.
    pub(super) fn warn(&self, common: &Common) {
        let few = self.draws.iter().filter(|&&draws| draws < DRAWS).count();
        if few > 0 {
            common.warn(&format!(
                "{few} of {} samples have fewer than {DRAWS} draws: shared reads count as certain there, and too much may be found; try collapsar quant --draws 100",
                self.draws.len()
            ));
        }
    }
}

/// Refuses a folder of other transcripts than the first.
fn check(
    found: &Quantification,
    names: &[String],
    group: &Group,
    first: &Group,
) -> anyhow::Result<()> {
    let (folder, first) = (group.folder.display(), first.folder.display());
    let pairs = found.names.iter().zip(names).enumerate();
    if let Some((place, (name, expected))) = { pairs }.find(|(_, (a, b))| a != b) {
        bail!(
            "{folder}: transcript {} is {name:?}, expected {expected:?} as in {first}; quantify all samples with the same transcripts",
            place + 1
        );
    }
    if found.names.len() != names.len() {
        let (longer, place) = if found.names.len() > names.len() {
            (&found.names[..], names.len())
        } else {
            (names, found.names.len())
        };
        bail!(
            "{folder}: {} transcripts, expected {} as in {first}, the first that only one has is {:?}; quantify all samples with the same transcripts",
            found.names.len(),
            names.len(),
            longer[place]
        );
    }
    Ok(())
}
