//! Decides what chains say of the evidence: bridge sampling against a proposal that is fitted to half of them (maths §10.10).

use rand::Rng;

use super::exchange::Exchange;
use super::kept::Kept;
use super::orders::Orders;
use super::proposal::Proposal;
use collapsar_core::diagnostics::{Bridge, bridge};
use collapsar_core::{Point, Result};

impl Kept<'_> {
    /// The log evidence from so many chains of so many draws, which begin at draws of q, and the orders of states that it
    /// counts; none where the draws have no spread.
    ///
    /// # Errors
    /// Where a chain leaves the domain.
    pub fn bridged<R: Rng + ?Sized>(
        &self,
        point: &Point,
        (chains, draws): (usize, usize),
        rng: &mut R,
    ) -> Result<Option<(Bridge, Option<Exchange>)>> {
        let mut all = Vec::with_capacity(chains);
        for _ in 0..chains {
            let mut chain = self.model.chain(point, rng)?;
            let mut one = Vec::with_capacity(draws);
            // A fifth of the sweeps forgets where q was wrong.
            for sweep in 0..draws + draws / 5 {
                chain.sweep(rng)?;
                if sweep >= draws / 5 {
                    one.push(self.coordinates(chain.numbers()));
                }
            }
            all.push(one);
        }
        let finite = |draw: &Vec<f64>| draw.iter().all(|x| x.is_finite());
        if !all.iter().flatten().all(finite) {
            return Ok(None);
        }
        let Some(first) = all.first().and_then(|one| one.last()) else {
            return Ok(None);
        };
        let exchange = self.exchange(first);
        let symmetries = exchange.as_ref().map(|exchange| exchange.orders.as_slice());
        let orders = self.orders(symmetries.unwrap_or_default());
        // The first half of each chain gives the proposal, the second half is the sample.
        let half = draws / 2;
        let mut fitted: Vec<Vec<f64>> = all.iter().flat_map(|one| one[..half].to_vec()).collect();
        let shares = vec![1.0 / fitted.len().max(1) as f64; fitted.len()];
        let Some(mut proposal) = Proposal::of_draws(&fitted, &shares) else {
            return Ok(None);
        };
        if symmetries.is_some_and(|all| all.len() > 1) {
            // Where chains went from one order to another, all draws are taken to the order of the first that they are nearest to.
            let near = &all[0][..half.min(20)];
            let shares = vec![1.0 / near.len().max(1) as f64; near.len()];
            let wide = Proposal::of_draws(near, &shares);
            let mut reference = wide.unwrap_or_else(|| proposal.clone());
            for _ in 0..3 {
                for draw in &mut fitted {
                    *draw = self.nearest(&reference, &orders, draw);
                }
                let shares = vec![1.0 / fitted.len() as f64; fitted.len()];
                if let Some(better) = Proposal::of_draws(&fitted, &shares) {
                    reference = better;
                }
            }
            proposal = reference;
        }
        let ratios = |places: &[Vec<f64>]| -> Vec<f64> {
            let ln_proposed = self.ln_proposed(&proposal, &orders, places);
            let both = self.ln_joints(places).into_iter().zip(ln_proposed);
            both.map(|(joint, proposed)| joint - proposed).collect()
        };
        let sample: Vec<Vec<f64>> = all.iter().map(|one| ratios(&one[half..])).collect();
        let proposed: Vec<Vec<f64>> = (0..chains * draws).map(|_| proposal.draw(rng)).collect();
        let proposed = ratios(&proposed);
        let sample: Vec<&[f64]> = sample.iter().map(Vec::as_slice).collect();
        let found = bridge(&sample, &proposed).map(|mut found| {
            found.ln_evidence += exchange.as_ref().map_or(0.0, Exchange::ln_left_out);
            found
        });
        Ok(found.map(|found| (found, exchange)))
    }

    /// All numbers in the order of states that is most likely under a proposal.
    pub(super) fn renamed(
        &self,
        proposal: &Proposal,
        (orders, symmetries): (&Orders, &[Vec<usize>]),
        numbers: &[f64],
    ) -> Vec<f64> {
        let (mut best, mut index) = ((f64::NEG_INFINITY, 0), 0);
        self.in_orders(orders, &self.coordinates(numbers), |moved| {
            let ln_density = proposal.ln_density(moved);
            if ln_density > best.0 {
                best = (ln_density, index);
            }
            index += 1;
        });
        match symmetries.get(best.1) {
            Some(order) => order.iter().map(|&place| numbers[place]).collect(),
            None => numbers.to_vec(),
        }
    }

    /// The coordinates in the order of states that is most likely under a proposal.
    pub(super) fn nearest(&self, proposal: &Proposal, orders: &Orders, at: &[f64]) -> Vec<f64> {
        let mut best = (f64::NEG_INFINITY, at.to_vec());
        self.in_orders(orders, at, |moved| {
            let ln_density = proposal.ln_density(moved);
            if ln_density >= best.0 {
                best = (ln_density, moved.to_vec());
            }
        });
        best.1
    }
}
