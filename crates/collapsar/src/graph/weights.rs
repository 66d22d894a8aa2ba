//! Decides what draws are worth against the posterior: importance weights, with all that can be summed out
//! summed out (maths §10.5, §10.10).

use rand::{Rng, RngExt};

use super::block::{Placed, range_of, value_all};
use super::chain::Chain;
use super::compiled::Compiled;
use super::kept::Kept;
use super::proposal::Proposal;
use collapsar_core::diagnostics::ImportanceWeights;
use collapsar_core::{Collapsed, Point, Result};

/// The part of draws by which a proposal is mended before the others are made.
const PILOT: usize = 4;
/// Draws that a mended proposal is worth more than, for each coordinate.
const WORTH: f64 = 4.0;
/// Where a smaller part of the first draws counts, the others would not help.
const HOPELESS: f64 = 0.1;

/// Draws of a proposal with the weights that make them draws of the posterior.
#[derive(Debug)]
pub struct WeightedDraws<'a> {
    kept: Kept<'a>,
    chain: Chain<'a>,
    draws: Vec<Vec<f64>>,
    /// Smoothed, with their diagnostics and the log evidence.
    pub weights: ImportanceWeights,
    /// Sums of the weights up to each draw.
    sums: Vec<f64>,
    /// The proposal that they are of.
    pub proposal: Proposal,
}

impl<'a> Kept<'a> {
    /// So many draws of a proposal, the first of which mend it, or all that there are where hardly any of them counts. Each of `symmetries` is a permutation of all numbers that leaves the
    /// posterior as it is, with the one that moves nothing: the proposal is then its mean over them. None where weights
    /// are not finite.
    ///
    /// # Errors
    /// Where the point is outside the domain.
    pub fn weighted<R: Rng + ?Sized>(
        &self,
        point: &Point,
        mut proposal: Proposal,
        symmetries: &[Vec<usize>],
        count: usize,
        rng: &mut R,
    ) -> Result<Option<WeightedDraws<'a>>> {
        let orders = self.orders(symmetries);
        let make = |proposal: &Proposal, count: usize, rng: &mut R| {
            let draws: Vec<Vec<f64>> = (0..count).map(|_| proposal.draw(rng)).collect();
            let weigh =
                |draw: &Vec<f64>| self.ln_joint(draw) - self.ln_proposed(proposal, &orders, draw);
            let ln_weights: Vec<f64> = draws.iter().map(weigh).collect();
            let weights = ImportanceWeights::smooth(&ln_weights)?;
            Some((draws, weights))
        };
        let Some((draws, weights)) = make(&proposal, count / PILOT, rng) else {
            return Ok(None);
        };
        let few = weights.ess < HOPELESS * draws.len() as f64;
        if weights.ess > WORTH * self.len() as f64 {
            let shares: Vec<f64> = weights.ln_weights.iter().map(|w| w.exp()).collect();
            proposal = Proposal::of_draws(&draws, &shares).unwrap_or(proposal);
        }
        let (draws, weights) = if few {
            (draws, weights)
        } else {
            match make(&proposal, count, rng) {
                Some(made) => made,
                None => return Ok(None),
            }
        };
        let mut sum = 0.0;
        let sums = weights.ln_weights.iter().map(|weight| {
            sum += weight.exp();
            sum
        });
        Ok(Some(WeightedDraws {
            sums: sums.collect(),
            kept: self.clone(),
            chain: self.model.chain(point, rng)?,
            draws,
            weights,
            proposal,
        }))
    }
}

impl WeightedDraws<'_> {
    /// How many draws there are.
    pub fn len(&self) -> usize {
        self.draws.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.draws.is_empty()
    }

    /// The weight of a draw, of a sum of one.
    pub fn weight(&self, index: usize) -> f64 {
        self.weights.ln_weights[index].exp()
    }

    /// One of the draws, by their weights.
    pub fn pick<R: Rng + ?Sized>(&self, rng: &mut R) -> usize {
        let total = self.sums.last().copied().unwrap_or(1.0);
        let place = rng.random::<f64>() * total;
        let index = self.sums.partition_point(|&sum| sum <= place);
        index.min(self.draws.len().saturating_sub(1))
    }

    /// Whether a variable is known without drawing what is summed out.
    pub fn holds(&self, variable: u32) -> bool {
        self.kept.holds(variable)
    }

    /// Something that walks from draw to draw.
    pub fn walk(&self) -> WeightedWalk<'_> {
        WeightedWalk {
            of: self,
            chain: self.chain.clone(),
        }
    }
}

/// Numbers at weighted draws, one draw at a time.
#[derive(Debug)]
pub struct WeightedWalk<'a> {
    of: &'a WeightedDraws<'a>,
    chain: Chain<'a>,
}

impl WeightedWalk<'_> {
    /// All numbers at a draw; those that are summed out are drawn given the others where `rest` is asked for.
    ///
    /// # Errors
    /// Where the draw is outside the domain.
    pub fn numbers<R: Rng + ?Sized>(
        &mut self,
        index: usize,
        rest: bool,
        rng: &mut R,
    ) -> Result<&[f64]> {
        let at = &self.of.draws[index];
        self.of.kept.place(&mut self.chain, at, rest, rng)?;
        Ok(self.chain.numbers())
    }
}

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
        let ln_q = -value_all(own_blocks, &own)? - value_all(blocks, &naturals)?;
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
