//! What a few exact draws say where weighted draws are not believed, or hardly: chains that are short enough for every fit, asked about each
//! number for itself (maths §10.10).

use collapsar::elementary::Elementary;
use collapsar::{ChainWatch, Point};
use collapsar_bugs::{ChainEstimate, ChainOptions, Origin, Quantity, Summary};

use super::ModelRun;
use super::posterior::affordable;
use crate::error::Result;

/// Chains, the draws of each at most, and the fewest that are worth it.
const CHAINS: usize = 2;
const DRAWS: usize = 500;
const FEWEST: usize = 100;
/// Sweeps before the first draw, as a part of the draws.
const WARMUP: usize = 4;
/// The stream of their seeds: other random numbers than those of exact draws.
const SEED: u64 = 0x5eed_a5ce_d0c4_a125;

/// What draws of a number are worth at least, and the largest R-hat, to be asked about it: a mean is then known to a seventh of
/// a deviation.
const WORTH: f64 = 50.0;
const AGREED: f64 = 1.05;
/// Errors by which they must differ from what is told to take its place, and the difference that they must have at least: of a mean
/// in deviations, and of the logarithm of a deviation.
const SIGNIFICANT: f64 = 2.0;
const LARGE: f64 = 0.1;

impl ModelRun {
    /// Takes the means and deviations of chains where they differ from those that are told by more than their error. What is told may
    /// be that of weighted draws that are `worth` so many. Returns for how many numbers.
    pub(super) fn ask_chains(
        &self,
        point: &Point,
        (quantities, rows): (&[Quantity], &mut [Summary]),
        worth: Option<f64>,
        watch: &dyn ChainWatch,
    ) -> Result<usize> {
        let fits = match &self.enumerated {
            Some(enumerated) => enumerated.at(point)?.kept().len(),
            None => 1,
        };
        let sweeps = affordable(&self.compiled) * fits / self.compiled.sweep_cost().max(1);
        let draws = (sweeps / CHAINS * WARMUP / (WARMUP + 1)).min(DRAWS);
        if draws < FEWEST {
            return Ok(0);
        }
        let options = ChainOptions {
            chains: CHAINS,
            warmup: draws / WARMUP,
            draws,
            seed: self.request.climb.seed ^ SEED,
        };
        // Chains that cannot move say nothing, nor do those that may have exchanged states.
        let Ok(Some(chains)) = self.chains_of(point, quantities, options, watch) else {
            return Ok(0);
        };
        if !chains.complete || chains.relabelled.is_some() {
            return Ok(0);
        }
        let mut taken = 0;
        for (place, estimate) in chains.estimates().iter().enumerate() {
            let quantity = &quantities[place];
            if matches!(quantity.origin, Origin::Label(..) | Origin::Zero)
                || !differs(&rows[place], worth, estimate)
            {
                continue;
            }
            let draws = chains.chains.iter().flat_map(|chain| &chain[place]);
            rows[place] = (self.prepared).between_nodes(quantity, draws, estimate.summary);
            taken += 1;
        }
        Ok(taken)
    }
}

/// Whether draws that have mixed say something else than is told, by more than their error. Against weighted draws they must be
/// worth more, and a smaller deviation is then no sign: it may be that of fewer draws of a tail.
fn differs(told: &Summary, worth: Option<f64>, drawn: &ChainEstimate) -> bool {
    let known = drawn.diagnostics.and_then(|of| {
        let mixed = of.r_hat? < AGREED && of.ess_bulk? > worth.map_or(WORTH, |of| of.max(WORTH));
        mixed.then_some((of.mcse_mean?, of.mcse_sd?))
    });
    let Some((mean_error, sd_error)) = known else {
        return false;
    };
    let Summary { mean, sd, .. } = drawn.summary;
    let away = (mean - told.mean).abs() / sd;
    let more = (sd / told.sd).ln_();
    let more = if worth.is_some() { more } else { more.abs() };
    away > LARGE.max(SIGNIFICANT * mean_error / sd)
        || (more.is_finite() && more > LARGE.max(SIGNIFICANT * sd_error / sd))
}

#[cfg(test)]
mod tests {
    use super::*;
    use collapsar::diagnostics::ChainSummary;

    #[test]
    fn what_differs_by_more_than_errors() {
        let of = |mean: f64, sd: f64| Summary {
            mean,
            sd,
            quantiles: [mean - 2.0 * sd, mean, mean + 2.0 * sd],
        };
        let drawn = |ess: f64, r_hat: f64| ChainEstimate {
            summary: of(3.0, 2.0),
            diagnostics: Some(ChainSummary {
                mean: 3.0,
                sd: 2.0,
                r_hat: Some(r_hat),
                ess_bulk: Some(ess),
                ess_tail: Some(ess),
                mcse_mean: Some(2.0 / ess.sqrt()),
                mcse_sd: Some(2.0 / (2.0 * ess).sqrt()),
            }),
        };
        // Errors of a tenth of a deviation for a mean, and of seven hundredths of a deviation for itself.
        let known = drawn(100.0, 1.0);
        assert!(!differs(&of(3.0, 2.0), None, &known));
        assert!(!differs(&of(2.65, 2.0), None, &known));
        assert!(differs(&of(2.55, 2.0), None, &known));
        assert!(!differs(&of(3.0, 1.76), None, &known));
        assert!(differs(&of(3.0, 1.7), None, &known));
        assert!(differs(&of(3.0, 2.4), None, &known));
        // Weighted draws that are worth less give way, but for a deviation that is larger than that of chains.
        assert!(differs(&of(2.55, 2.0), Some(90.0), &known));
        assert!(differs(&of(3.0, 1.7), Some(90.0), &known));
        assert!(!differs(&of(3.0, 2.4), Some(90.0), &known));
        assert!(!differs(&of(2.55, 2.0), Some(110.0), &known));
        // However well they are known, small differences are left.
        assert!(!differs(&of(2.85, 1.9), None, &drawn(1e6, 1.0)));
        // What has not mixed says nothing.
        assert!(!differs(&of(-7.0, 1.0), None, &drawn(100.0, 1.06)));
        assert!(!differs(&of(-7.0, 1.0), None, &drawn(40.0, 1.0)));
        let constant = ChainEstimate {
            summary: of(3.0, 0.0),
            diagnostics: None,
        };
        assert!(!differs(&of(-7.0, 1.0), None, &constant));
    }
}
