//! A transcriptome for the third experiment where no reads are given: isoforms that share exons, and reads from them.

use std::collections::BTreeSet;
use std::ops::Range;

use collapsar::elementary::Elementary;
use collapsar::quant::{Compression, Reads, ReadsBuilder};
use collapsar_core::random::{Distribution, StandardNormal};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// How much to simulate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimulationSize {
    /// Genes, of about five isoforms each.
    pub genes: usize,
    /// Reads.
    pub reads: usize,
}

/// Lengths of exons: those of human coding genes have a median of about 150 bases.
const EXON: (f64, f64) = (150.0, 0.6);
/// Fragments: mean, standard deviation and the longest that is kept.
const FRAGMENT: (f64, f64) = (200.0, 40.0);
const LONGEST: usize = 400;
/// Isoforms are no shorter, so that fragments fit.
const SHORTEST: usize = 250;
/// Exons and isoforms of a gene: up to so many, fewer being likelier.
const EXONS: usize = 14;
const ISOFORMS: usize = 16;
/// How often an isoform leaves out an exon between its ends.
const SKIPPED: f64 = 0.25;
/// How often a gene has exons of one before it.
const PARALOGOUS: f64 = 0.1;
/// How many isoforms are expressed, and how unevenly: the standard deviation of the log.
const EXPRESSED: f64 = 0.4;
const UNEVEN: f64 = 2.0;
/// How often a read also aligns where it does not belong, and how much less likely that is, in
/// nats: a mismatch or two.
const NEARLY: f64 = 0.1;
const MISMATCH: Range<f64> = 4.0..14.0;

/// Exons in order.
struct Isoform {
    gene: usize,
    exons: Vec<u32>,
    length: usize,
}

/// What reads come from.
struct Transcriptome {
    /// Lengths.
    exons: Vec<usize>,
    isoforms: Vec<Isoform>,
    /// The isoforms that have each exon.
    having: Vec<Vec<u32>>,
    /// The isoforms of each gene.
    genes: Vec<Range<u32>>,
    fragments: Fragments,
}

/// Reads, and what they were drawn from.
#[derive(Debug)]
pub struct Simulated {
    /// The reads, with the isoforms that each may come from.
    pub reads: Reads,
    /// How many reads of each isoform were drawn.
    pub counts: Vec<f64>,
    /// Effective lengths of the isoforms.
    pub lengths: Vec<f64>,
    /// The isoforms of each gene.
    pub genes: Vec<Range<u32>>,
}

/// Simulates it all. The same size and seed give the same reads.
///
/// # Errors
/// As [`ReadsBuilder`]: where there are no genes or no reads.
pub fn simulate(size: SimulationSize, seed: u64) -> collapsar::Result<Simulated> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let transcriptome = Transcriptome::draw(size.genes, &mut rng);
    let isoforms = transcriptome.isoforms.iter();
    let effective = |isoform: &Isoform| transcriptome.fragments.effective(isoform.length);
    let lengths: Vec<f64> = isoforms.map(effective).collect();
    let mut sum = 0.0;
    let rates = lengths.iter().map(|length| {
        if rng.random_bool(EXPRESSED) {
            sum += length * (normal((0.0, UNEVEN), &mut rng)).exp_();
        }
        sum
    });
    let mut rates: Vec<f64> = rates.collect();
    if sum == 0.0 {
        // Nobody is expressed, as happens to a gene or two: then the last isoform is.
        rates[lengths.len() - 1] = 1.0;
        sum = 1.0;
    }
    let mut builder = ReadsBuilder::new(lengths.len(), Compression::default())?;
    let mut counts = vec![0.0; lengths.len()];
    let mut alignments = vec![];
    for _ in 0..size.reads {
        let at = sum * rng.random::<f64>();
        let isoform = rates.partition_point(|&rate| rate <= at);
        transcriptome.read(isoform, &mut rng, &mut alignments);
        builder.push(&alignments, 1.0)?;
        counts[isoform] += 1.0;
    }
    Ok(Simulated {
        reads: builder.finish()?,
        counts,
        lengths,
        genes: transcriptome.genes,
    })
}

impl Transcriptome {
    fn draw(genes: usize, rng: &mut ChaCha8Rng) -> Self {
        let mut exons: Vec<usize> = vec![];
        let mut isoforms: Vec<Isoform> = vec![];
        let mut ranges = vec![];
        for gene in 0..genes {
            let mut own = vec![];
            for _ in 0..2 + few(EXONS - 2, rng) {
                own.push(exons.len() as u32);
                exons.push(normal((EXON.0.ln_(), EXON.1), rng).exp_() as usize + 1);
            }
            if gene > 0 && rng.random_bool(PARALOGOUS) {
                let other = &isoforms[rng.random_range(0..isoforms.len())].exons;
                let from = rng.random_range(0..other.len());
                own.extend(&other[from..]);
            }
            let first = isoforms.len() as u32;
            for exons_of in spliced(&own, &mut exons, rng) {
                let length = exons_of.iter().map(|&exon| exons[exon as usize]).sum();
                isoforms.push(Isoform {
                    gene,
                    exons: exons_of,
                    length,
                });
            }
            ranges.push(first..isoforms.len() as u32);
        }
        let mut having = vec![vec![]; exons.len()];
        for (index, isoform) in isoforms.iter().enumerate() {
            for &exon in &isoform.exons {
                having[exon as usize].push(index as u32);
            }
        }
        Self {
            exons,
            isoforms,
            having,
            genes: ranges,
            fragments: Fragments::new(),
        }
    }

    /// Draws a read of an isoform and writes what it may come from: isoforms and ln p(read | isoform).
    fn read(&self, isoform: usize, rng: &mut ChaCha8Rng, alignments: &mut Vec<(u32, f64)>) {
        let own = &self.isoforms[isoform];
        let length = Fragments::draw(own.length, rng);
        let start = rng.random_range(0..=own.length - length);
        let path = self.path(own, start, start + length);
        alignments.clear();
        for &other in &self.having[path[0] as usize] {
            let exons = &self.isoforms[other as usize].exons;
            let from = exons.iter().position(|&exon| exon == path[0]);
            if from.is_some_and(|from| exons[from..].starts_with(path)) {
                alignments.push((other, self.weight(other, length)));
            }
        }
        if rng.random_bool(NEARLY) {
            let range = self.genes[own.gene].clone();
            let other = rng.random_range(range);
            let fits = self.isoforms[other as usize].length >= length;
            if fits && alignments.iter().all(|&(isoform, _)| isoform != other) {
                let less = rng.random_range(MISMATCH);
                alignments.push((other, self.weight(other, length) - less));
            }
        }
    }

    /// The exons of `isoform` between two places.
    fn path<'a>(&self, isoform: &'a Isoform, start: usize, end: usize) -> &'a [u32] {
        let (mut passed, mut range) = (0, 0..0);
        for (index, &exon) in isoform.exons.iter().enumerate() {
            if passed < end {
                range.end = index + 1;
            }
            passed += self.exons[exon as usize];
            if passed <= start {
                range.start = index + 1;
            }
        }
        &isoform.exons[range]
    }

    fn weight(&self, isoform: u32, length: usize) -> f64 {
        let all = self.isoforms[isoform as usize].length;
        self.fragments.ln_probability(length, all) - ((all - length + 1) as f64).ln_()
    }
}

/// A number from 0 to `most`, half of what is left at each step being the mean.
fn few(most: usize, rng: &mut ChaCha8Rng) -> usize {
    let up = rng.random_range(0..=most);
    rng.random_range(0..=up)
}

/// Different isoforms of a gene with these exons, each long enough; the last exon grows where none is.
fn spliced(own: &[u32], exons: &mut [usize], rng: &mut ChaCha8Rng) -> Vec<Vec<u32>> {
    let total: usize = own.iter().map(|&exon| exons[exon as usize]).sum();
    if total < SHORTEST {
        exons[own[0] as usize] += SHORTEST - total;
    }
    // The whole gene is one of them.
    let mut all: BTreeSet<Vec<u32>> = BTreeSet::from([own.to_vec()]);
    for _ in 0..2 * few(ISOFORMS, rng) {
        let (mut from, mut to) = (0, own.len() - 1);
        if rng.random_bool(0.4) {
            from = rng.random_range(0..=to);
        }
        if rng.random_bool(0.4) {
            to = rng.random_range(from..=to);
        }
        let within = (from..=to).filter(|&at| at == from || at == to || !rng.random_bool(SKIPPED));
        let isoform: Vec<u32> = within.map(|at| own[at]).collect();
        if isoform.iter().map(|&e| exons[e as usize]).sum::<usize>() >= SHORTEST {
            all.insert(isoform);
        }
    }
    all.into_iter().collect()
}

/// A normal number with this mean and standard deviation.
fn normal((mean, sd): (f64, f64), rng: &mut ChaCha8Rng) -> f64 {
    let z: f64 = StandardNormal.sample(rng);
    mean + sd * z
}

/// How long fragments are.
struct Fragments {
    /// By length.
    probabilities: Vec<f64>,
    cumulative: Vec<f64>,
}

impl Fragments {
    fn new() -> Self {
        let (mean, sd) = FRAGMENT;
        let density = |length: usize| (-0.5 * ((length as f64 - mean) / sd).powi(2)).exp_();
        let mut probabilities: Vec<f64> = (0..=LONGEST).map(density).collect();
        probabilities[0] = 0.0;
        let total: f64 = probabilities.iter().sum();
        let mut sum = 0.0;
        let mut cumulative = vec![];
        for probability in &mut probabilities {
            *probability /= total;
            sum += *probability;
            cumulative.push(sum);
        }
        Self {
            probabilities,
            cumulative,
        }
    }

    /// Given that the fragment fits.
    fn ln_probability(&self, length: usize, longest: usize) -> f64 {
        (self.probabilities[length] / self.cumulative[longest.min(LONGEST)]).ln_()
    }

    /// The expected number of places of a fragment on `length` bases.
    fn effective(&self, length: usize) -> f64 {
        let longest = length.min(LONGEST);
        let places = (1..=longest).map(|l| self.probabilities[l] * (length - l + 1) as f64);
        places.sum::<f64>() / self.cumulative[longest]
    }

    fn draw(longest: usize, rng: &mut ChaCha8Rng) -> usize {
        // At least SHORTEST fits, so that nine of ten draws do.
        loop {
            let length = normal(FRAGMENT, rng).round();
            if length >= 1.0 && length <= longest.min(LONGEST) as f64 {
                return length as usize;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: SimulationSize = SimulationSize {
        genes: 60,
        reads: 3000,
    };

    #[test]
    fn a_seed_is_a_set_of_reads() {
        let reads = |seed| simulate(SIZE, seed).unwrap().reads;
        assert_eq!(reads(3), reads(3));
        assert_ne!(reads(3), reads(4));
    }

    #[test]
    fn reads_may_come_from_where_they_do() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let transcriptome = Transcriptome::draw(SIZE.genes, &mut rng);
        let (mut alignments, mut shared, mut between) = (vec![], 0, 0);
        for index in 0..SIZE.reads {
            let isoform = index % transcriptome.isoforms.len();
            transcriptome.read(isoform, &mut rng, &mut alignments);
            let own = alignments
                .iter()
                .find(|(other, _)| *other as usize == isoform);
            let own = own.expect("an alignment to its own isoform").1;
            for &(other, weight) in &alignments {
                assert!(weight.is_finite() && weight < 0.0);
                let length = transcriptome.isoforms[other as usize].length;
                // A nearly compatible one is far less likely, a shorter isoform somewhat more.
                assert!(weight < own + 5.0, "{weight} {own} {length}");
            }
            let genes = alignments
                .iter()
                .map(|a| transcriptome.isoforms[a.0 as usize].gene);
            let genes: BTreeSet<usize> = genes.collect();
            shared += usize::from(alignments.len() > 1);
            between += usize::from(genes.len() > 1);
        }
        assert!(shared > SIZE.reads / 2, "{shared}");
        assert!(between > 0 && between < SIZE.reads / 5, "{between}");
    }

    #[test]
    fn probabilities_of_an_isoforms_reads_sum_to_one() {
        let transcriptome = Transcriptome::draw(5, &mut ChaCha8Rng::seed_from_u64(1));
        for (index, isoform) in transcriptome.isoforms.iter().enumerate() {
            let longest = isoform.length.min(LONGEST);
            let of_length = |length: usize| {
                let places = (isoform.length - length + 1) as f64;
                places * transcriptome.weight(index as u32, length).exp_()
            };
            let sum: f64 = (1..=longest).map(of_length).sum();
            assert!((sum - 1.0).abs() < 1e-12, "{sum}");
        }
    }

    #[test]
    fn paths_are_the_exons_between_two_places() {
        let mut transcriptome = Transcriptome::draw(1, &mut ChaCha8Rng::seed_from_u64(1));
        transcriptome.exons = vec![10, 20, 30];
        let isoform = Isoform {
            gene: 0,
            exons: vec![0, 1, 2],
            length: 60,
        };
        let path = |start, end| transcriptome.path(&isoform, start, end).to_vec();
        assert_eq!(path(0, 10), [0]);
        assert_eq!(path(9, 11), [0, 1]);
        assert_eq!(path(10, 30), [1]);
        assert_eq!(path(29, 60), [1, 2]);
    }

    #[test]
    fn one_gene_and_one_read_will_do() {
        let one = SimulationSize { genes: 1, reads: 1 };
        for seed in 0..20 {
            let simulated = simulate(one, seed).unwrap();
            assert_eq!(simulated.counts.iter().sum::<f64>(), 1.0);
            assert_eq!(simulated.lengths.len(), simulated.reads.transcripts());
            assert!(simulated.lengths.iter().all(|&length| length >= 1.0));
        }
    }
}
