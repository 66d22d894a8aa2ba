//! Where a run on all transcripts begins that is to be compared with others.

use collapsar_core::random::{Distribution, Gamma};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Quant;
use collapsar_core::kernel::gamma::digamma_in_place;

impl Quant<'_> {
    /// The messages of responsibilities drawn at random, as HRL12 begins; a `seed` is a start.
    ///
    /// A row of many reads is drawn as though each of them were: its proportions are Gamma variates of
    /// the shape of its count, over their sum. [`Solver`](super::Solver) needs no start, and this
    /// one is for comparisons. Standard normal messages, which move all reads of a transcript
    /// together, end some 60 nats lower where the prior is 0.01 (chr19, 200,000 reads, vbem, means
    /// of twelve starts).
    pub fn start(&self, seed: u64) -> Vec<f64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let unique = self.local.unique().iter();
        let mut messages: Vec<f64> = unique.map(|reads| reads + self.posterior.alpha).collect();
        let first = self.local.first();
        let nowhere = vec![0.0; messages.len()];
        let mut parts = vec![];
        self.local.visit_all(&nowhere, |ids, _, _, count| {
            let gamma = Gamma::new(count, 1.0).expect("a positive count");
            parts.clear();
            parts.extend(ids.iter().map(|_| gamma.sample(&mut rng)));
            let scale = count / parts.iter().sum::<f64>();
            for (&m, part) in ids.iter().zip(&parts) {
                messages[(m - first) as usize] += scale * part;
            }
        });
        digamma_in_place(&mut messages);
        messages
    }
}

#[cfg(test)]
mod tests {
    use crate::quant::{Compression, Quant, ReadsBuilder};
    use collapsar_core::special::digamma;

    #[test]
    fn a_seed_is_a_start() {
        let mut builder = ReadsBuilder::new(4, Compression::default()).unwrap();
        builder.push(&[(0, -1.0), (1, -2.0)], 10_000.0).unwrap();
        builder.push(&[(2, -1.0)], 7.0).unwrap();
        let reads = builder.finish().unwrap();
        let model = Quant::whole(&reads, 0.5);
        let start = reads.by_transcript(&model.start(3));
        assert_eq!(start, reads.by_transcript(&model.start(3)));
        assert_ne!(start, reads.by_transcript(&model.start(4)));
        // Half of the shared reads, to within five standard deviations of that many coins, 2%.
        for message in &start[..2] {
            assert!((message - digamma(5000.5)).abs() < 0.025, "{start:?}");
        }
        assert!((start[2] - digamma(7.5)).abs() < 1e-12);
        assert!((start[3] - digamma(0.5)).abs() < 1e-12);
    }
}
