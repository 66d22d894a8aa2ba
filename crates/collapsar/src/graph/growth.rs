//! Decides by what factor the variances of normal variables grow where the precisions that they depend on are uncertain
//! (maths §10.3).

use std::collections::HashMap;

use rand::Rng;

use super::block::{BlockFamily, Placed, range_of};
use super::corrected::CorrectedDraws;
use collapsar_core::Result;
use collapsar_core::family::GaussianCache;

/// Draws over which variances are averaged at least, and the error of an average that is small enough: that of a deviation is
/// half of it, as large as that of deviations from a thousand draws.
const FEWEST: usize = 32;
const SHARP: f64 = 0.04;

/// How the variance of a variable grows: sums over draws, relative to what it is at the fit.
struct Growth {
    variable: u32,
    variance: f64,
    sum: f64,
    squares: f64,
}

impl Growth {
    fn new(variable: u32, variance: f64) -> Self {
        Self {
            variable,
            variance,
            sum: 0.0,
            squares: 0.0,
        }
    }

    fn add(&mut self, variance: f64) {
        let ratio = variance / self.variance;
        self.sum += ratio;
        self.squares += ratio * ratio;
    }

    /// The standard error of the mean of so many.
    fn error(&self, count: usize) -> f64 {
        let count = count as f64;
        let mean = self.sum / count;
        ((self.squares / count - mean * mean).max(0.0) / count).sqrt()
    }
}

impl CorrectedDraws<'_> {
    /// By what factor the variances of normal variables grow, on the average of at most so many draws of what they
    /// depend on, fewer where the average is known well: what is normal given a precision is not where that is
    /// uncertain.
    ///
    /// # Errors
    /// Where the fit ended outside the domain.
    pub fn variance_growth<R: Rng + ?Sized>(
        &mut self,
        draws: usize,
        rng: &mut R,
    ) -> Result<HashMap<u32, f64>> {
        let model = self.chain.model;
        let variances = |statistics: &[f64], messages: &[f64], visit: &mut dyn FnMut(u32, f64)| {
            let given = model.posterior.naturals(statistics).0;
            each_normal(model.posterior.blocks(), &given, &mut *visit)?;
            let told = model.local.naturals(messages).0;
            each_normal(model.local.blocks().0, &told, visit)
        };
        let mut grown: Vec<Growth> = vec![];
        let (statistics, messages) = (&self.point.statistics, &self.point.messages);
        variances(statistics, messages, &mut |variable, variance| {
            grown.push(Growth::new(variable, variance));
        })?;
        let mut made = 0;
        while made < draws && !grown.is_empty() {
            self.draw_collapsed(rng)?;
            made += 1;
            let mut all = grown.iter_mut();
            let (statistics, messages) = (&self.chain.statistics, self.chain.told());
            variances(statistics, &messages, &mut |_, variance| {
                all.next().into_iter().for_each(|one| one.add(variance));
            })?;
            let known = |one: &Growth| one.error(made) < SHARP;
            if made >= FEWEST && made.is_power_of_two() && grown.iter().all(known) {
                break;
            }
        }
        let mean = |one: &Growth| (one.variable, one.sum / made as f64);
        Ok(grown.iter().map(mean).collect())
    }
}

/// Visits the variables of normal blocks with their variances.
fn each_normal(blocks: &[Placed], naturals: &[f64], mut visit: impl FnMut(u32, f64)) -> Result<()> {
    let mut last = GaussianCache::default();
    for placed in blocks {
        if let BlockFamily::Gaussian(family) = &placed.0.family {
            let variances = family.variances_after(&mut last, &naturals[range_of(placed)])?;
            (placed.0.variables.iter().zip(variances))
                .for_each(|(&v, variance)| visit(v, variance));
        }
    }
    Ok(())
}
