//! Estimates of transcripts and genes, and what the posterior knows of them.

use collapsar::quant::{Abundances, Origins, Summary};

use super::input::QuantInput;
use super::request::QuantRequest;
use super::solve::Solved;
use crate::error::Result;

/// Estimates and posterior of transcripts, or of genes, a row each.
#[derive(Debug, Default)]
pub struct QuantTable {
    /// Lengths; of a gene the mean by abundance.
    pub lengths: Vec<f64>,
    /// Effective lengths; of a gene the mean by abundance.
    pub effective: Vec<f64>,
    /// Transcripts per million.
    pub tpm: Vec<f64>,
    /// Reads.
    pub counts: Vec<f64>,
    /// The posterior of reads, then of TPM.
    pub posterior: Vec<(Summary, Summary)>,
}

/// All estimates of a quantification.
#[derive(Debug)]
pub struct QuantEstimates {
    /// Of the transcripts.
    pub transcripts: QuantTable,
    /// Of the genes, where they are known.
    pub genes: Option<QuantTable>,
    /// The fraction of the reads that is noise.
    pub noise: Option<f64>,
    /// Draws of reads to keep where there are none of the exact posterior, in the order of the transcripts.
    pub(super) draws: Vec<Vec<f64>>,
}

impl QuantEstimates {
    pub(super) fn new(request: &QuantRequest, input: &QuantInput, solved: &Solved) -> Result<Self> {
        let effective = input.effective();
        let origins = match &solved.draws {
            Some(draws) => Origins::Exact(draws),
            None => Origins::Collapsed(&solved.quantified),
        };
        let made = request.chains();
        let abundances =
            Abundances::new(&input.reads, origins, &effective, (made.draws, made.seed))?;
        let first = input.offset();
        let estimates = abundances.estimates();
        let noise = (input.noise).then(|| estimates.counts[0] / input.reads.reads());
        let transcripts = QuantTable {
            lengths: input.transcripts.lengths.clone(),
            effective: input.transcripts.effective.clone(),
            tpm: without(first, estimates.tpm),
            counts: without(first, estimates.counts),
            posterior: without(first, abundances.transcripts()),
        };
        let genes = input.genes.as_ref().map(|genes| {
            let shifted: Vec<Vec<u32>> = (genes.members.iter())
                .map(|members| members.iter().map(|id| id + first as u32).collect())
                .collect();
            QuantTable {
                posterior: abundances.groups(&shifted),
                ..together(&transcripts, &genes.members)
            }
        });
        let draws = match &solved.draws {
            Some(_) => vec![],
            None => abundances.count_draws(request.kept_draws()),
        };
        let draws = draws.into_iter().map(|draw| without(first, draw));
        Ok(Self {
            genes,
            noise,
            draws: draws.collect(),
            transcripts,
        })
    }
}

/// All but the first few, in the same memory.
pub(super) fn without<T>(first: usize, mut values: Vec<T>) -> Vec<T> {
    values.drain(..first);
    values
}

/// Rows of genes: sums, and mean lengths by abundance, plain where a gene has none.
fn together(transcripts: &QuantTable, members: &[Vec<u32>]) -> QuantTable {
    let mut rows = QuantTable::default();
    for members in members {
        let sum = |values: &[f64]| members.iter().map(|&m| values[m as usize]).sum::<f64>();
        let tpm = sum(&transcripts.tpm);
        let mean = |values: &[f64]| {
            let weighted = members
                .iter()
                .map(|&m| values[m as usize] * transcripts.tpm[m as usize]);
            let mean = if tpm > 0.0 {
                weighted.sum::<f64>() / tpm
            } else {
                sum(values) / members.len() as f64
            };
            // As many digits as salmon writes.
            (1e3 * mean).round() / 1e3
        };
        rows.lengths.push(mean(&transcripts.lengths));
        rows.effective.push(mean(&transcripts.effective));
        rows.tpm.push(tpm);
        rows.counts.push(sum(&transcripts.counts));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn genes_have_the_mean_length_of_what_is_there() {
        let transcripts = QuantTable {
            lengths: vec![100.0, 400.0, 1000.0, 3000.0],
            effective: vec![50.0, 350.0, 900.0, 2900.0],
            tpm: vec![3.0, 1.0, 0.0, 0.0],
            counts: vec![2.0, 5.0, 0.0, 0.0],
            posterior: vec![],
        };
        let genes = together(&transcripts, &[vec![0, 1], vec![2, 3]]);
        assert_eq!(genes.lengths, [175.0, 2000.0]);
        assert_eq!(genes.effective, [125.0, 1900.0]);
        assert_eq!(genes.tpm, [4.0, 0.0]);
        assert_eq!(genes.counts, [7.0, 0.0]);
    }
}
