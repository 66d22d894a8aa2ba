//! Decides what is known of a place of the blocks that are kept: the joint density there, and what it says of the rest.

use super::rest::{Fields, Rest};
use crate::graph::block::{Placed, range_of};
use crate::graph::chain::{Chain, put};
use crate::graph::choice::Role;
use crate::graph::kept::{Kept, product};
use collapsar_core::Result;
use collapsar_core::vector::dot;

/// A place.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// The coordinates without correlation, and those of the blocks.
    pub(super) white: Vec<f64>,
    pub(super) coordinates: Vec<f64>,
    /// The logarithm of the joint density by that of the proposal.
    pub(super) ln_ratio: f64,
    /// The numbers of the blocks, one block after another.
    numbers: Vec<f64>,
    /// Slots and the statistics of own blocks, and those of the others that are kept.
    explicit: Vec<f64>,
    others: Vec<f64>,
    /// Natural parameters of collapsed blocks without what shared ones send.
    alone: Vec<f64>,
    pub(super) messages: Vec<f64>,
    /// Natural parameters of the blocks that are summed out, and the factors of their fields.
    pub(super) naturals: Vec<f64>,
    pub(super) fields: Fields,
}

impl Place {
    pub(super) fn new(kept: &Kept<'_>) -> Self {
        let (local, posterior) = (&kept.model.local, &kept.model.posterior);
        let explicit = local.own_first() + local.own_base.len();
        Self {
            white: vec![0.0; kept.len()],
            coordinates: vec![0.0; kept.len()],
            ln_ratio: f64::NEG_INFINITY,
            numbers: vec![0.0; kept.blocks().map(|placed| placed.0.numbers()).sum()],
            explicit: vec![0.0; explicit],
            others: vec![0.0; kept.others.last().map_or(0, |last| range_of(last).end)],
            alone: vec![0.0; posterior.statistics()],
            messages: vec![0.0; explicit],
            naturals: vec![0.0; posterior.statistics()],
            fields: vec![],
        }
    }

    /// Finds the density at the coordinates, which were proposed with this one.
    pub(super) fn evaluate(&mut self, kept: &Kept<'_>, rest: &Rest<'_>, ln_proposed: f64) {
        self.ln_ratio = f64::NEG_INFINITY;
        if !(ln_proposed.is_finite() && self.coordinates.iter().all(|x| x.is_finite())) {
            return;
        }
        let ln_slope = self.visit(kept);
        let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        if !(finite(&self.explicit) && finite(&self.others)) {
            return;
        }
        // Places outside the domain are not taken.
        let ln_joint = self.ln_joint(kept, rest).unwrap_or(f64::NEG_INFINITY);
        let ln_ratio = ln_joint + ln_slope - ln_proposed;
        if !ln_ratio.is_nan() {
            self.ln_ratio = ln_ratio;
        }
    }

    /// Writes numbers and statistics of all blocks; returns the logarithm of their measures by those of the coordinates.
    fn visit(&mut self, kept: &Kept<'_>) -> f64 {
        let own = kept.model.local.own_first();
        let (mut first, mut number, mut ln_slope) = (0, 0, 0.0);
        let mut each = |placed: &Placed, statistics: &mut [f64]| {
            let block = &placed.0;
            let (len, numbers) = (block.coordinates().unwrap_or(0), block.numbers());
            let at = &self.coordinates[first..first + len];
            let out = &mut self.numbers[number..number + numbers];
            ln_slope += block.write_at(at, out, &mut statistics[range_of(placed)]);
            first += len;
            number += numbers;
        };
        for placed in kept.own {
            each(placed, &mut self.explicit[own..]);
        }
        for placed in kept.others {
            each(placed, &mut self.others);
        }
        ln_slope
    }

    /// As [`Kept::ln_joint`], but for the constant and the measures, leaving all natural parameters behind (maths §10.5).
    fn ln_joint(&mut self, kept: &Kept<'_>, rest: &Rest<'_>) -> Result<f64> {
        let (local, posterior) = (&kept.model.local, &kept.model.posterior);
        let slots = local.own_first();
        let own = product(&local.own_base, &self.explicit[slots..]);
        if kept.role == Role::Collapsed {
            self.explicit[..slots].fill(0.0);
            let value = posterior.write_naturals(&self.explicit, &mut self.alone);
            posterior.backward(&self.explicit, &self.others, &mut self.messages);
            local.write_shared(&self.messages, &mut self.naturals);
            let mut summed = rest.value(&self.naturals, &mut self.fields)?;
            for rows in &local.rows {
                summed += rows.value(&self.messages[..slots])?;
            }
            return Ok(own + value + product(&self.alone, &self.others) + summed);
        }
        self.explicit[..slots].fill(0.0);
        local.gather(0, &self.others, &mut self.explicit[..slots]);
        let value = posterior.write_naturals(&self.explicit, &mut self.naturals);
        let summed = rest.value(&self.naturals, &mut self.fields)?;
        Ok(own + value + summed + dot(local.shared_base(), &self.others))
    }

    /// Gives a chain the numbers of what is kept.
    pub(super) fn show(&self, kept: &Kept<'_>, chain: &mut Chain<'_>) {
        let others = match kept.role {
            Role::Collapsed => &chain.targets[2],
            _ => &chain.targets[0],
        };
        let mut first = 0;
        for targets in chain.targets[1].iter().chain(others) {
            let numbers = &self.numbers[first..first + targets.len()];
            put(targets, numbers, &mut chain.numbers);
            first += targets.len();
        }
    }
}
