//! Some states of a chain, spread evenly over its sweeps: what draws foresee is the mean of what each of them does.
//!
//! The mean of counts foresees less well: a topic that wanders is blurred by it, while a mixture of predictions has each
//! place that it was at. On ap with K = 50 ten states of eighty sweeps have a perplexity of 2494 and the mean of all of
//! them one of 2531; segments' means in the place of states are between the two.

use super::chain::{Chain, Priors, unpadded};
use super::fit::TopicsFit;

/// States that all chains keep together. From ten to twenty, perplexity falls by less than it differs between seeds.
const MOST: usize = 24;
/// Numbers that all kept states have together, half a gigabyte as a fit has them: of larger models fewer are kept.
const ROOM: usize = 1 << 26;

/// States that each of so many chains keeps, of so many counts each; fewer than two are none.
pub(super) fn share(chains: usize, counts: usize) -> usize {
    MOST.min(ROOM / counts.max(1)) / chains
}

/// Counts of words in topics after some sweeps.
pub(super) struct Kept {
    most: usize,
    sweeps: usize,
    /// Sweeps from one state to the next.
    stride: usize,
    /// Those after one stride, two, and so on; padded rows.
    states: Vec<Vec<f32>>,
}

impl Kept {
    /// Keeps at most so many.
    pub(super) fn new(most: usize) -> Self {
        // Whenever there is no more room every second goes, so an even number stays evenly spread.
        Self {
            most: most & !1,
            sweeps: 0,
            stride: 1,
            states: Vec::new(),
        }
    }

    pub(super) fn sweeps(&self) -> usize {
        self.sweeps
    }

    /// Takes in the present state of a chain.
    pub(super) fn add(&mut self, chain: &Chain<'_>) {
        self.sweeps += 1;
        if self.is_due() {
            self.states.push(chain.words.clone());
        }
    }

    /// Whether the present sweep's state is kept; makes room for it.
    fn is_due(&mut self) -> bool {
        if self.most == 0 || !self.sweeps.is_multiple_of(self.stride) {
            return false;
        }
        if self.states.len() == self.most {
            let mut place = 0_usize;
            self.states.retain(|_| {
                place += 1;
                place.is_multiple_of(2)
            });
            self.stride *= 2;
        }
        self.sweeps.is_multiple_of(self.stride)
    }

    /// The states after more than `sweeps` sweeps, each as a fit without documents, which predictions do not need.
    pub(super) fn fits(&self, sweeps: usize, priors: &Priors) -> Vec<TopicsFit> {
        let topics = priors.alpha.len();
        let fit = |words: &Vec<f32>| TopicsFit {
            topics,
            alpha: priors.alpha.clone(),
            beta: priors.beta,
            word_counts: unpadded(words, topics, f64::from),
            document_counts: Vec::new(),
            drawn: true,
        };
        let first = sweeps / self.stride;
        self.states.iter().skip(first).map(fit).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_spread_evenly_over_all_sweeps() {
        let mut kept = Kept::new(7);
        for sweep in 1..=1000 {
            kept.sweeps = sweep;
            if kept.is_due() {
                kept.states.push(vec![sweep as f32]);
            }
            let expected = (1..=kept.states.len()).map(|place| vec![(place * kept.stride) as f32]);
            assert!(expected.eq(kept.states.iter().cloned()));
            assert!(kept.states.len() <= 6 && kept.states.len() >= sweep.min(3));
            assert!(sweep - kept.states.len() * kept.stride < kept.stride);
        }
    }

    #[test]
    fn early_states_are_left_out() {
        let priors = Priors {
            alpha: vec![0.1],
            beta: 0.1,
        };
        let kept = Kept {
            most: 6,
            sweeps: 11,
            stride: 2,
            states: (1..=5).map(|place| vec![2.0 * place as f32; 8]).collect(),
        };
        let left = |sweeps| -> Vec<f64> {
            let fits = kept.fits(sweeps, &priors);
            fits.iter().map(|fit| fit.word_counts[0]).collect()
        };
        assert_eq!(left(0), [2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(left(3), [4.0, 6.0, 8.0, 10.0]);
        assert_eq!(left(4), [6.0, 8.0, 10.0]);
    }

    #[test]
    fn large_models_keep_few() {
        assert_eq!(share(1, 100_000), 24);
        assert_eq!(share(4, 100_000), 6);
        assert_eq!(share(1, ROOM / 5), 5);
        assert_eq!(share(1, 2 * ROOM), 0);
        assert!(
            Kept::new(1)
                .fits(
                    0,
                    &Priors {
                        alpha: vec![0.1],
                        beta: 0.1
                    }
                )
                .is_empty()
        );
    }
}
