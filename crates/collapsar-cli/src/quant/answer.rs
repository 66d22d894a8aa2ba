//! What a quantification says of transcripts and genes.

use collapsar::quant::{Abundances, Origins, Summary};

use super::args::FitArgs;
use super::data::Data;
use super::solve::{Solved, chains};

/// Best guesses and what the posterior says, a row each.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) lengths: Vec<f64>,
    pub(crate) effective: Vec<f64>,
    pub(crate) tpm: Vec<f64>,
    pub(crate) counts: Vec<f64>,
    /// Reads, then TPM.
    pub(crate) posterior: Vec<(Summary, Summary)>,
}

/// All of it.
pub(crate) struct Said {
    pub(crate) transcripts: Rows,
    pub(crate) genes: Option<Rows>,
    /// The share of the reads that is noise.
    pub(crate) noise: Option<f64>,
    /// Draws of reads to write where there are none of the exact posterior, in the order of the transcripts.
    pub(crate) draws: Vec<Vec<f64>>,
}

pub(crate) fn of(args: &FitArgs, data: &Data, solved: &Solved) -> anyhow::Result<Said> {
    let effective = data.effective();
    let origins = match &solved.draws {
        Some(draws) => Origins::Exact(draws),
        None => Origins::Collapsed(&solved.quantified),
    };
    let made = chains(args);
    let abundances = Abundances::new(&data.reads, origins, &effective, (made.draws, made.seed))?;
    let first = data.offset();
    let estimates = abundances.estimates();
    let noise = data.noise.then(|| estimates.counts[0] / data.reads.reads());
    let transcripts = Rows {
        lengths: data.transcripts.lengths.clone(),
        effective: data.transcripts.effective.clone(),
        tpm: without(first, estimates.tpm),
        counts: without(first, estimates.counts),
        posterior: without(first, abundances.transcripts()),
    };
    let genes = data.genes.as_ref().map(|genes| {
        let shifted: Vec<Vec<u32>> = (genes.members.iter())
            .map(|members| members.iter().map(|id| id + first as u32).collect())
            .collect();
        Rows {
            posterior: abundances.groups(&shifted),
            ..together(&transcripts, &genes.members)
        }
    });
    let draws = match &solved.draws {
        Some(_) => vec![],
        None => abundances.count_draws(chosen(args)),
    };
    Ok(Said {
        genes,
        noise,
        draws: (draws.into_iter())
            .map(|draw| without(first, draw))
            .collect(),
        transcripts,
    })
}

/// All but the first few, in the same memory.
fn without<T>(first: usize, mut values: Vec<T>) -> Vec<T> {
    values.drain(..first);
    values
}

/// Which draws are written: evenly over all that were made, where fewer are asked for.
pub(crate) fn chosen(args: &FitArgs) -> impl Iterator<Item = usize> {
    let (asked, made) = (args.draws, chains(args).draws);
    (0..asked).map(move |index| index * made / asked)
}

/// Rows of genes: sums, and mean lengths by abundance, plain where a gene has none.
fn together(transcripts: &Rows, members: &[Vec<u32>]) -> Rows {
    let mut rows = Rows::default();
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
        let transcripts = Rows {
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
