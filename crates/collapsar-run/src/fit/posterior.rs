//! Which posterior the results of a fit are of, what it says of each number, and how far it may be trusted.

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

/// Products of numbers that linear response may take by default: about a second.
const AFFORDABLE: usize = 300_000_000;
/// Draws of q whose weights are looked at.
const WEIGHTS: usize = 1000;
/// The largest R-hat and the smallest effective sample size of chains that have mixed (Vehtari21).
const MIXED: (f64, f64) = (1.01, 400.0);

/// Variances of normal variables that uncertain precisions widen by more than this are not to be trusted: the
/// fits of line, equiv and dyes, whose deviations are too small by up to a half, have 1.2 to 1.7, those of rats,
/// birats and jaw, which are right, at most 1.1.
pub const GROWN: f64 = 1.15;

/// Which posterior results are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PosteriorKind {
    /// The factors of q as they are.
    MeanField,
    /// The means of q with the variances of linear response (maths §10.1).
    LinearResponse,
    /// Draws of Markov chains that begin at the fit (maths §10.4).
    Exact,
}

impl PosteriorKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::MeanField, Self::LinearResponse, Self::Exact];

    /// As a user writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::MeanField => "mean-field",
            Self::LinearResponse => "linear-response",
            Self::Exact => "exact",
        }
    }
}

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

/// Cheap signs of how far a fit may be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Signs {
    /// The largest eigenvalue of FJ: how much of the information is missing (maths §1.7).
    pub missing_information: Option<f64>,
    /// The largest factor by which uncertain precisions widen a normal variable: far from 1, the posterior is
    /// far from what linear response sees of it (maths §10.3).
    pub variance_growth: Option<f64>,
    /// The Pareto shape of the weights of q's draws (maths §10.5).
    pub k_hat: Option<f64>,
    /// An estimate of the log evidence from them, and its standard error.
    pub ln_evidence: Option<(f64, f64)>,
    /// The largest R-hat of chains.
    pub r_hat: Option<f64>,
    /// The smallest effective sample size of chains, bulk or tail.
    pub ess: Option<f64>,
}

/// How far results may be trusted, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Means and deviations.
    Trust,
    /// Means, but not deviations.
    TrustMeans,
    /// Nothing.
    Doubt,
}

impl ModelResult {
    /// How far the results may be trusted, where the climb has converged.
    pub fn verdict(&self, converged: bool) -> Verdict {
        if let Some((_, diagnostics)) = &self.chains {
            // Too few draws to tell are not mixed, unless they are all the same and there is nothing to tell.
            let mixed = self.rows.iter().zip(diagnostics).all(|(row, known)| {
                let mixed = known.and_then(|of| {
                    let ess = of.ess_bulk?.min(of.ess_tail?);
                    Some(of.r_hat? < MIXED.0 && ess > MIXED.1)
                });
                mixed.unwrap_or(row.sd == 0.0)
            });
            return if mixed {
                Verdict::Trust
            } else {
                Verdict::Doubt
            };
        }
        let k_hat = self.signs.k_hat.unwrap_or(0.0);
        let wide = self.kind == PosteriorKind::LinearResponse;
        // Nobody looked where mean field was asked for; then its deviations may be too small, as they often are.
        let missing = self.signs.missing_information.unwrap_or(0.5);
        let linear = self
            .signs
            .variance_growth
            .is_none_or(|growth| growth < GROWN);
        match (k_hat, missing) {
            _ if !converged => Verdict::Doubt,
            // Mean field leaves out what is missing, and linear response what is not linear.
            (k_hat, missing)
                if k_hat < 0.7 && linear && (missing < 0.1 || (wide && missing < 0.9)) =>
            {
                Verdict::Trust
            }
            (k_hat, missing) if k_hat < 1.0 && missing < 0.99 => Verdict::TrustMeans,
            _ => Verdict::Doubt,
        }
    }

    /// What a row says of its draws, by the names of [`DIAGNOSTICS`]: nothing where draws are all the same or too
    /// few to tell; none at all where there are no chains.
    pub fn diagnostics(&self, row: usize) -> Option<[Option<f64>; 5]> {
        let (_, diagnostics) = self.chains.as_ref()?;
        Some(diagnostics[row].map_or([None; 5], |of| {
            [of.mcse_mean, of.mcse_sd, of.ess_bulk, of.ess_tail, of.r_hat]
        }))
    }

    /// Whether all draws that were asked for were made.
    pub fn complete(&self) -> bool {
        self.chains.as_ref().is_none_or(|(draws, _)| draws.complete)
    }

    /// Whether chains have mixed; others always have.
    pub fn mixed(&self) -> bool {
        self.kind != PosteriorKind::Exact || self.verdict(true) == Verdict::Trust
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
        let known = || diagnostics.iter().flatten();
        let most = |values: Vec<f64>| values.into_iter().max_by(f64::total_cmp);
        let least = |values: Vec<f64>| values.into_iter().min_by(f64::total_cmp);
        let sizes = known().flat_map(|of| [of.ess_bulk, of.ess_tail]);
        let signs = Signs {
            r_hat: most(known().filter_map(|of| of.r_hat).collect()),
            ess: least(sizes.flatten().collect()),
            ..Signs::default()
        };
        Ok(Some(ModelResult {
            kind: PosteriorKind::Exact,
            rows: estimates.iter().map(|one| one.summary).collect(),
            draws: 0,
            chains: Some((chains, diagnostics)),
            signs,
        }))
    }
}
