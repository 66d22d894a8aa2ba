//! Which posterior the results of a fit are of, what it says of each number, and what signs say of it.

use std::sync::atomic::AtomicBool;

use collapsar::diagnostics::{ChainSummary, ImportanceWeights};
use collapsar::graph::LinearResponse;
use collapsar::{Collapsed, Point, Potential};
use collapsar_bugs::{ChainDraws, ChainOptions, Posterior, Quantity, Summary};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::ModelRun;
use crate::error::Result;
use crate::verdict::{PosteriorKind, Signs, Verdict};

/// Products of numbers that linear response may take by default: about a second.
const AFFORDABLE: usize = 300_000_000;
/// Draws of q whose weights are looked at.
const WEIGHTS: usize = 1000;
/// Which posterior is asked for, and how many draws of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PosteriorOptions {
    /// Which; linear response where it costs little, unless it is given.
    pub posterior: Option<PosteriorKind>,
    /// How many draws are written, or made by each chain.
    pub draws: Option<usize>,
    /// Markov chains, for exact draws.
    pub chains: usize,
    /// Sweeps of each before its first draw; a quarter of the draws, unless it is given.
    pub warmup: Option<usize>,
}

impl Default for PosteriorOptions {
    fn default() -> Self {
        Self {
            posterior: None,
            draws: None,
            chains: 4,
            warmup: None,
        }
    }
}

/// What tables of exact draws have beside the columns of all posteriors.
pub const DIAGNOSTICS: [&str; 5] = ["mcse_mean", "mcse_sd", "ess_bulk", "ess_tail", "r_hat"];

/// Draws of each chain, unless another number is given.
pub const CHAIN_DRAWS: usize = 1000;

/// What is known of the numbers that are asked for.
#[derive(Debug)]
pub struct ModelResult {
    /// Which posterior it is.
    pub kind: PosteriorKind,
    /// Means, deviations and quantiles.
    pub rows: Vec<Summary>,
    /// How many draws of q what has no closed form is from.
    pub draws: usize,
    /// What chains drew, and what that says of each number's draws.
    pub chains: Option<(ChainDraws, Vec<Option<ChainSummary>>)>,
    /// Cheap signs of how far the fit may be trusted.
    pub signs: Signs,
}

impl ModelResult {
    /// How far the results may be trusted, where the climb has converged.
    pub fn verdict(&self, converged: bool) -> Verdict {
        self.signs.verdict(self.kind, converged)
    }

    /// What a row says of its draws, by the names of [`DIAGNOSTICS`]: nothing where draws are all the same or too
    /// few to tell; none at all where there are no chains.
    pub fn diagnostics(&self, row: usize) -> Option<[Option<f64>; 5]> {
        let (_, diagnostics) = self.chains.as_ref()?;
        Some(diagnostics[row].map_or([None; 5], |of| {
            [of.mcse_mean, of.mcse_sd, of.ess_bulk, of.ess_tail, of.r_hat]
        }))
    }

    /// Whether chains have mixed; others always have.
    pub fn mixed(&self) -> bool {
        self.signs.mixed != Some(false)
    }
}

impl ModelRun {
    /// What is known of quantities at a point; none where it was interrupted.
    pub fn result(
        &self,
        point: &Point,
        quantities: &[Quantity],
        interrupt: &AtomicBool,
    ) -> Result<Option<ModelResult>> {
        let options = &self.request.posterior;
        if options.posterior == Some(PosteriorKind::Exact) {
            return self.sampled(point, quantities, interrupt);
        }
        let response = self.response(point)?;
        let variational = self.compiled.variational_posterior(point);
        let posterior = Posterior {
            prepared: &self.prepared,
            variational: &variational,
            response: response.as_ref(),
            seed: self.request.climb.seed,
        };
        let (rows, draws) =
            (posterior.summaries(quantities)).map_err(|refusal| self.source.no_answer(refusal))?;
        let mut signs = self.weighed(point)?;
        if let Some(response) = &response {
            signs.missing_information = Some(response.missing_information()?);
            let growth = posterior.variance_growth()?;
            let most = growth.and_then(|growth| growth.values().copied().max_by(f64::total_cmp));
            signs.variance_growth = most;
        }
        Ok(Some(ModelResult {
            kind: match response {
                Some(_) => PosteriorKind::LinearResponse,
                None => PosteriorKind::MeanField,
            },
            rows,
            draws,
            chains: None,
            signs,
        }))
    }

    /// The linear response at a point, where it is asked for or costs little.
    pub(super) fn response<'a>(&'a self, point: &'a Point) -> Result<Option<LinearResponse<'a>>> {
        match self.request.posterior.posterior {
            Some(PosteriorKind::LinearResponse) => Ok(Some(self.compiled.linear_response(point)?)),
            // A fit that ended at a saddle has no response; that is for the verdict to say.
            None if self.response_cost() <= AFFORDABLE => {
                Ok(self.compiled.linear_response(point).ok())
            }
            _ => Ok(None),
        }
    }

    /// About how many products of numbers linear response takes.
    fn response_cost(&self) -> usize {
        let messages = self.compiled.local().dim();
        let pass = 10 * self.compiled.size();
        messages
            .saturating_mul(pass)
            .saturating_add(messages.saturating_pow(3))
    }

    /// What weights of draws of q say.
    fn weighed(&self, point: &Point) -> Result<Signs> {
        let cost = self.compiled.size().saturating_mul(WEIGHTS);
        if cost > AFFORDABLE {
            return Ok(Signs::default());
        }
        let mut rng = ChaCha8Rng::seed_from_u64(self.request.climb.seed);
        let weights = self.compiled.ln_weights(point, WEIGHTS, &mut rng)?;
        let smoothed = ImportanceWeights::smooth(&weights);
        Ok(Signs {
            k_hat: smoothed.as_ref().and_then(|weights| weights.k_hat),
            ln_evidence: smoothed.map(|weights| (weights.ln_mean, weights.mcse_ln_mean)),
            ..Signs::default()
        })
    }

    /// So many exact draws of each chain, with this seed; none where it was interrupted.
    pub fn chains(
        &self,
        point: &Point,
        quantities: &[Quantity],
        (draws, seed): (usize, u64),
        interrupt: &AtomicBool,
    ) -> Result<Option<ChainDraws>> {
        let options = ChainOptions {
            chains: self.request.posterior.chains,
            draws,
            warmup: self.request.posterior.warmup.unwrap_or(draws / 4),
            seed,
        };
        (self.prepared)
            .chains(&self.compiled, point, quantities, options, interrupt)
            .map_err(|refusal| self.source.no_answer(refusal))
    }

    fn sampled(
        &self,
        point: &Point,
        quantities: &[Quantity],
        interrupt: &AtomicBool,
    ) -> Result<Option<ModelResult>> {
        let draws = self.request.posterior.draws.unwrap_or(CHAIN_DRAWS);
        let length = (draws, self.request.climb.seed);
        let Some(chains) = self.chains(point, quantities, length, interrupt)? else {
            return Ok(None);
        };
        let estimates = chains.estimates();
        let diagnostics: Vec<_> = estimates.iter().map(|one| one.diagnostics).collect();
        let deviations = estimates.iter().map(|one| one.summary.sd);
        let numbers: Vec<_> = deviations.zip(diagnostics.iter().copied()).collect();
        let signs = Signs::of_chains(&numbers);
        Ok(Some(ModelResult {
            kind: PosteriorKind::Exact,
            rows: estimates.iter().map(|one| one.summary).collect(),
            draws: 0,
            chains: Some((chains, diagnostics)),
            signs,
        }))
    }
}
