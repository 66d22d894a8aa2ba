//! Decides where a climb begins: at messages that some q(Z) would send.
//!
//! Where labels are explicit, a few of them are given states at random and the others have a small
//! weight, so that states differ from the first step on: with random responsibilities for all,
//! means of many data are nearly alike and the climb begins at a saddle. Otherwise precisions begin
//! at 1, so that shrinkage depends on numbers of data, whatever the scale of the data; only where data are
//! so large or so small that nothing could be computed there, at what they are about (maths §9.8).

use collapsar_core::random::{Distribution, StandardNormal};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::block::{Block, BlockFamily, diagonal};
use super::compiled::Compiled;
use collapsar_core::elementary::Elementary;
use collapsar_core::{Potential, Result};

/// Labels that are given a state, for each state.
const SEEDS: usize = 4;
/// Of many labels, this fraction is given a state.
const FRACTION: f64 = 0.05;
/// The weight of the other labels.
pub(super) const FAINT: f64 = 0.1;
/// By how much precisions of data begin higher where factors are to explain them. A guess of factors explains
/// nothing, and the precisions that follow from it treat all of the data as noise: in their best basis, all
/// factors but one or two then shrink to zero (a state space that needs four ends 1,300 or 3,000 nats lower,
/// and so it does from ten or thirty times; from a thousand it never did).
const CLEAR: f64 = 1e3;
/// By how much the inverses of precision matrices that labels pick begin wider than their first labels say:
/// components then part the data among them before they become narrow. With 1 in its place mixtures with
/// means and precisions apart end 110 nats lower in the middle of twenty starts on crabs, 25 on BayesPy's
/// example, 2 to 38 on iris and 15 on the ring of radius 3, level on faithful and the ring of radius 1, 10 to 20 higher on olive.
const WIDE: f64 = 30.0;

impl Compiled {
    /// Messages to begin from.
    ///
    /// # Errors
    /// Where the start lies outside the domain.
    pub fn start(&self, seed: u64) -> Result<Vec<f64>> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let labels = self.local.labels();
        if labels == 0 {
            let labels = self.posterior.labels();
            let chosen = |block: &Block| fraction_of(largest_label(block), labels);
            let means = (self.posterior)
                .means_at(|block, mean| guess(block, chosen(block), &mut rng, mean));
            let mut statistics = self.local.statistics_of(
                |block, mean| guess(block, 1.0, &mut rng, mean),
                FAINT,
                |_| None,
            );
            self.begin_predictors(&mut statistics, &mut rng);
            let mut messages = vec![0.0; statistics.len()];
            self.posterior.backward(&statistics, &means, &mut messages);
            return Ok(self.settle(messages, &mut rng));
        }
        let chosen = |states: usize| fraction_of(states, labels);
        let mut row_rng = ChaCha8Rng::seed_from_u64(rng.random());
        let mut statistics = self.local.statistics_of(
            |block, mean| guess(block, chosen(largest_label(block)), &mut rng, mean),
            FAINT,
            |states| choose(states, chosen(states), &mut row_rng),
        );
        self.begin_predictors(&mut statistics, &mut rng);
        let mut messages = vec![0.0; statistics.len()];
        (self.posterior).value_and_gradient(&statistics, &mut messages)?;
        Ok(self.settle(messages, &mut rng))
    }

    /// Natural parameters of own blocks are what their neighbours' guesses make of them, unless
    /// that is outside their domain.
    fn settle(&self, mut messages: Vec<f64>, rng: &mut impl Rng) -> Vec<f64> {
        let apart = self.local.labels() > 0;
        let factors = !apart && !self.turn.is_empty();
        self.local.settle(&mut messages, |block, inside, natural| {
            if !inside {
                plain(block, rng, natural);
            }
            if let (BlockFamily::Gamma(_), true) = (&block.family, factors) {
                natural[1] /= CLEAR;
            }
            if apart {
                match &block.family {
                    // Labels chosen at random would leave precisions nearly alike.
                    BlockFamily::Gamma(_) => {
                        let spread: f64 = StandardNormal.sample(rng);
                        natural.copy_from_slice(&[1.0, spread.exp_()]);
                        block.in_units(natural);
                    }
                    BlockFamily::Positive(..) => {
                        let spread: f64 = StandardNormal.sample(rng);
                        natural[..2].copy_from_slice(&[1.0, spread.exp_()]);
                        block.in_units(natural);
                    }
                    BlockFamily::Wishart(_) => natural[1..].iter_mut().for_each(|n| *n *= WIDE),
                    _ => {}
                }
            }
        });
        messages
    }
}

/// The fraction of labels of so many states that is given a state.
fn fraction_of(states: usize, labels: usize) -> f64 {
    (SEEDS as f64 * states as f64 / labels.max(1) as f64).clamp(FRACTION, 1.0)
}

/// The most states of a block's labels.
fn largest_label(block: &Block) -> usize {
    match &block.family {
        BlockFamily::Label(family) => family.components,
        BlockFamily::Network(family, _) => family.states().iter().copied().max().unwrap_or(1),
        _ => 1,
    }
}

/// One of the states, with this probability.
fn choose(states: usize, probability: f64, rng: &mut impl Rng) -> Option<usize> {
    (rng.random::<f64>() < probability).then(|| rng.random_range(0..states))
}

/// Natural parameters in the middle of the domain.
pub(super) fn plain(block: &Block, rng: &mut impl Rng, natural: &mut [f64]) {
    natural.fill(0.0);
    let mut normal = || -> f64 { StandardNormal.sample(rng) };
    match &block.family {
        BlockFamily::Gaussian(_) | BlockFamily::Bounded(_) => {
            let n = block.variables.len();
            natural[..n].iter_mut().for_each(|h| *h = normal());
            natural[n..2 * n].fill(1.0);
        }
        BlockFamily::GaussianGamma(family) => {
            let n = family.field.scalars();
            natural[2..2 + n].iter_mut().for_each(|h| *h = normal());
            natural[2 + n..2 + 2 * n].fill(1.0);
            natural[0] = 0.5 * n as f64 + 1.0;
            natural[1] = 1.0 + 0.5 * natural[2..2 + n].iter().map(|h| h * h).sum::<f64>();
        }
        BlockFamily::Gamma(_) => natural.fill(1.0),
        BlockFamily::Positive(family, _) => {
            natural[..2].fill(1.0);
            natural[2] = f64::from(u8::from(family.has_inverse()));
        }
        BlockFamily::PolyaGamma(_) => natural[0] = 0.5,
        BlockFamily::Wishart(family) => {
            let dim = family.dimensions();
            natural[0] = dim as f64;
            diagonal(dim).for_each(|place| natural[1 + place] = dim as f64);
        }
        BlockFamily::NormalWishart(family) => {
            let dim = family.dimensions();
            natural[0] = 1.0;
            natural[1] = dim as f64;
            diagonal(dim).for_each(|place| natural[2 + dim + place] = dim as f64);
        }
        BlockFamily::Dirichlet(_) => {
            natural.fill_with(|| 5.0 * (0.3 * normal()).exp_());
        }
        BlockFamily::Label(_) | BlockFamily::Network(..) => natural.fill_with(|| 0.3 * normal()),
    }
    block.in_units(natural);
}

/// Means of a block's statistics to begin with; labels are given a state with this probability.
pub(super) fn guess(block: &Block, probability: f64, rng: &mut impl Rng, mean: &mut [f64]) {
    if labelled(block, |_, states| choose(states, probability, rng), mean) {
        return;
    }
    let mut natural = vec![0.0; block.len()];
    plain(block, rng, &mut natural);
    // Inside the domain by construction.
    if block.evaluate(&natural, mean).is_err() {
        mean.fill(0.0);
    }
}

/// Means of the statistics of labels, by their places in a block of which `chosen` gives some a state; false where it holds no
/// labels.
pub(super) fn labelled(
    block: &Block,
    mut chosen: impl FnMut(usize, usize) -> Option<usize>,
    mean: &mut [f64],
) -> bool {
    match &block.family {
        BlockFamily::Label(family) => match chosen(0, family.components) {
            Some(state) => {
                mean.fill(0.0);
                mean[state] = 1.0;
            }
            None => mean.fill(FAINT / family.components as f64),
        },
        BlockFamily::Network(family, _) => {
            let states = family.states().iter().enumerate();
            let chosen: Vec<Option<usize>> = states
                .map(|(label, &states)| chosen(label, states))
                .collect();
            for (index, table) in family.tables().iter().enumerate() {
                let faint = (table.scope.iter()).any(|&label| chosen[label as usize].is_none());
                let range = family.parameters(index);
                for (entry, mean) in mean[range].iter_mut().enumerate() {
                    let mut rest = entry;
                    *mean = if faint { FAINT } else { 1.0 };
                    for &label in table.scope.iter().rev() {
                        let states = family.states()[label as usize];
                        *mean *= match chosen[label as usize] {
                            Some(state) => f64::from(u8::from(state == rest % states)),
                            None => 1.0 / states as f64,
                        };
                        rest /= states;
                    }
                }
            }
        }
        _ => return false,
    }
    true
}
