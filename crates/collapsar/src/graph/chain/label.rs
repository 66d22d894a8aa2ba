//! Decides which labels are drawn with all that is collapsed integrated out, and how (maths §10.7).
//!
//! A label that says whether a coefficient is in a regression hardly moves given the coefficient, nor a change-point given
//! the lines on both sides of it.

use rand::Rng;

use crate::graph::block::{BlockFamily, Placed, range_of};
use crate::graph::compiled::Compiled;
use collapsar_core::family::pick;
use collapsar_core::{Error, Result};

/// Numbers that all evaluations of a sweep may go through: beyond, drawing labels given all else is worth more.
const AFFORDABLE: usize = 50_000;

/// The own labels that are drawn so: where normal variables are collapsed and there are not too many states.
pub(super) fn marginal(model: &Compiled) -> Vec<usize> {
    let normal = |placed: &Placed| {
        matches!(
            placed.0.family,
            BlockFamily::Gaussian(_)
                | BlockFamily::GaussianGamma(_)
                | BlockFamily::NormalWishart(_)
        )
    };
    let own = model.local.blocks().1;
    let labels: Vec<usize> = (0..own.len())
        .filter(|&block| matches!(own[block].0.family, BlockFamily::Label(_)))
        .collect();
    let states: usize = labels.iter().map(|&block| own[block].0.len()).sum();
    let cost = states.saturating_mul(model.posterior.size());
    if model.posterior.blocks().iter().any(normal) && cost <= AFFORDABLE {
        labels
    } else {
        vec![]
    }
}

impl super::Chain<'_> {
    /// Draws labels one after another, each given all explicit variables and none of the collapsed ones, which are to be
    /// drawn next.
    pub(super) fn draw_labels<R: Rng + ?Sized>(&mut self, rng: &mut R) -> Result<()> {
        let (local, posterior) = (&self.model.local, &self.model.posterior);
        let work = &mut self.work;
        for &label in &self.labels {
            let placed = &local.blocks().1[label];
            let range = range_of(placed);
            let (first, states) = (local.own_first() + range.start, range.len());
            work.given.resize(posterior.statistics(), 0.0);
            work.own.clear();
            for (state, &base) in local.own_base[range].iter().enumerate() {
                let own = &mut self.statistics[first..first + states];
                own.fill(0.0);
                own[state] = 1.0;
                // A state that cannot be need not have a domain.
                let mut logit = base;
                if base > f64::NEG_INFINITY {
                    logit += posterior.write_naturals(&self.statistics, &mut work.given);
                    for placed in posterior.blocks() {
                        let range = range_of(placed);
                        work.sent.resize(range.len(), 0.0);
                        let natural = &work.given[range];
                        logit += match &placed.0.family {
                            BlockFamily::Gaussian(family) => {
                                family.ln_partition(natural, work.buffers.gaussian())?
                            }
                            _ => placed.0.evaluate(natural, &mut work.sent)?,
                        };
                    }
                }
                work.own.push(logit);
            }
            let most = work.own.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if !most.is_finite() {
                let expected = "a state that can be";
                return Err(Error::domain(
                    "label",
                    format!("log weights up to {most}"),
                    expected,
                ));
            }
            let mut total = 0.0;
            for weight in &mut work.own {
                *weight = (*weight - most).exp();
                total += *weight;
            }
            let state = pick(&work.own, total, rng);
            let own = &mut self.statistics[first..first + states];
            own.fill(0.0);
            own[state] = 1.0;
            self.numbers[self.targets[1][label][0] as usize] = state as f64;
        }
        Ok(())
    }
}
