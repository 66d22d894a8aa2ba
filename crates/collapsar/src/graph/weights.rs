//! Decides what a draw of q is worth against the posterior: importance weights, with all that can be summed out
//! summed out (maths §10.5).

use rand::Rng;

use super::block::{Placed, evaluate_all, range_of};
use super::compiled::Compiled;
use collapsar_core::{Collapsed, Point, Result};

impl Compiled {
    /// The logarithms of the weights of draws from q of everything but labels and shared blocks, which are summed
    /// out. Their mean is an estimate of the evidence, and their logarithm's mean is above the bound.
    ///
    /// # Errors
    /// Where the point is outside the domain.
    pub fn ln_weights<R: Rng + ?Sized>(
        &self,
        point: &Point,
        draws: usize,
        rng: &mut R,
    ) -> Result<Vec<f64>> {
        let (local, posterior) = (&self.local, &self.posterior);
        let (_, own) = local.naturals(&point.messages);
        let (naturals, _) = posterior.naturals(&point.statistics);
        let (own_blocks, blocks) = (local.blocks().1, posterior.blocks());
        let normaliser = |blocks: &[Placed], naturals: &[f64]| {
            evaluate_all(blocks, naturals, &mut vec![0.0; naturals.len()])
        };
        let ln_q = -normaliser(own_blocks, &own)? - normaliser(blocks, &naturals)?;
        let first = local.own_first();
        let mut statistics = vec![0.0; point.statistics.len()];
        let mut collapsed = vec![0.0; naturals.len()];
        let mut messages = vec![0.0; statistics.len()];
        let mut out = Vec::with_capacity(draws);
        for _ in 0..draws {
            let mut draw = |blocks: &[Placed], naturals: &[f64], out: &mut [f64]| -> Result<()> {
                for placed in blocks {
                    let range = range_of(placed);
                    let out = &mut out[range.clone()];
                    placed.0.draw(&naturals[range], rng, out)?;
                }
                Ok(())
            };
            // Slots stay at zero, so that terms with shared blocks are left out of what follows.
            draw(own_blocks, &own, &mut statistics[first..])?;
            draw(blocks, &naturals, &mut collapsed)?;
            let (alone, value) = posterior.naturals(&statistics);
            let mut ln_weight = value - ln_q
                + difference(&alone, &naturals, &collapsed)
                + difference(&local.own_base, &own, &statistics[first..]);
            posterior.backward(&statistics, &collapsed, &mut messages);
            ln_weight += local.shared_value(&messages)?;
            out.push(ln_weight + self.constant());
        }
        Ok(out)
    }
}

/// ⟨a − b, x⟩, where infinite parameters of what is not the case do not count.
fn difference(a: &[f64], b: &[f64], x: &[f64]) -> f64 {
    let terms = a.iter().zip(b).zip(x).filter(|(_, x)| **x != 0.0);
    terms.map(|((a, b), x)| (a - b) * x).sum()
}
