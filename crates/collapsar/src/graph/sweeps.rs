//! Decides where labels that are approximated one by one begin: each in turn takes the state that raises the log
//! joint most, all that is collapsed integrated out.
//!
//! From random states all at once, nodes of a network see communities that all look alike, and a climb ends with
//! everyone in one of them.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::block::{Block, BlockFamily, range_of};
use super::compiled::Compiled;
use super::start::{guess, plain};
use collapsar_core::{Potential, Result};

/// Most sweeps over all labels; few networks need more than five before no label moves.
const SWEEPS: u64 = 10;

impl Compiled {
    /// Messages from labels with blocks of their own that have taken turns, and how often a sweep went through
    /// what a pass goes through.
    pub(super) fn swept(&self, seed: u64) -> Result<(Vec<f64>, u64)> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut row_rng = ChaCha8Rng::seed_from_u64(rng.random());
        let (own, first) = (self.local.blocks().1, self.local.own_first());
        let mut statistics = self.local.statistics_of(
            |block, mean| guess(block, 1.0, &mut rng, mean),
            1.0,
            |states| Some(row_rng.random_range(0..states)),
        );
        let mut labels: Vec<(usize, usize)> = (own.iter().enumerate())
            .filter_map(|(index, (block, _))| match &block.family {
                BlockFamily::Label(family) => Some((index, family.components)),
                _ => None,
            })
            .collect();
        let terms = self.posterior.terms_of(first, own);
        let (mut naturals, _) = self.posterior.naturals(&statistics);
        let mut passes = 0;
        for _ in 0..SWEEPS {
            labels.shuffle(&mut rng);
            let mut moved = false;
            for &(label, _) in &labels {
                let range = range_of(&own[label]);
                let base = &self.local.own_base[range.clone()];
                let places = first + range.start..first + range.end;
                moved |= self.posterior.take_best(
                    &terms[label],
                    places,
                    base,
                    &mut statistics,
                    &mut naturals,
                )?;
            }
            passes += labels.iter().map(|label| label.1 as u64).max().unwrap_or(0);
            if !moved {
                break;
            }
        }
        let mut messages = vec![0.0; statistics.len()];
        self.posterior
            .value_and_gradient(&statistics, &mut messages)?;
        self.local
            .settle(&mut messages, |block: &Block, inside, natural| {
                if !inside {
                    plain(block, &mut rng, natural);
                }
            });
        Ok((messages, passes))
    }
}
