//! The folders of a comparison.
//!
//! Draws of many samples at once may not fit in memory, and what they say depends on all samples' sizes.
//! So folders are read twice, and draws are gone before the next folder is read.

use collapsar::quant::compare::{Levels, Sample, Scale};
use collapsar_formats::read_quantification;

use super::groups::{Group, Groups};
use crate::error::{Error, Result};

/// Fewer draws than this tell little about variances.
const DRAWS: usize = 20;

/// What samples have in common.
#[derive(Debug)]
pub struct Samples {
    /// The transcripts.
    pub names: Vec<String>,
    /// Counts at common lengths, and how deep samples are.
    pub scale: Scale,
    /// Reads of each sample.
    pub reads: Vec<f64>,
    /// Draws of each sample.
    pub draws: Vec<usize>,
}

impl Samples {
    pub(super) fn read(groups: &Groups) -> Result<Self> {
        let mut names: Option<Vec<String>> = None;
        let (mut read, mut draws) = (vec![], vec![]);
        for group in &groups.samples {
            let mut found = read_quantification(&group.folder)?;
            draws.push(std::mem::take(&mut found.draws).len());
            let own = std::mem::take(&mut found.names);
            match &names {
                None => names = Some(own),
                Some(names) => check(&own, names, group, &groups.samples[0])?,
            }
            read.push(found);
        }
        let pairs = groups.samples.iter().zip(&read);
        let samples = pairs.map(|(group, found)| Sample {
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
    pub(super) fn levels(&self, groups: &Groups, scales: &[Scale]) -> Result<Vec<Vec<Levels>>> {
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

    /// How many samples have too few draws, which are fewer than the second number: shared reads count as
    /// certain there, and too much may be found.
    pub fn few_draws(&self) -> (usize, usize) {
        let few = self.draws.iter().filter(|&&draws| draws < DRAWS);
        (few.count(), DRAWS)
    }
}

/// Refuses a folder of other transcripts than the first.
fn check(own: &[String], names: &[String], group: &Group, first: &Group) -> Result<()> {
    let first = first.folder.display();
    let (found, expected) = if let Some(place) = own.iter().zip(names).position(|(a, b)| a != b) {
        (
            format!("transcript {} is {:?}", place + 1, own[place]),
            format!("{:?} as in {first}", names[place]),
        )
    } else if own.len() != names.len() {
        let longer = if own.len() > names.len() { own } else { names };
        let place = own.len().min(names.len());
        (
            format!("{} transcripts", own.len()),
            format!(
                "{} as in {first}, the first that only one has is {:?}",
                names.len(),
                longer[place]
            ),
        )
    } else {
        return Ok(());
    };
    let expected = format!("{expected}; quantify all samples with the same transcripts");
    let folder = group.folder.display().to_string();
    Err(Error::input(folder, found, expected))
}
