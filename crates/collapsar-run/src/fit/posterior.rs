//! Which posterior the results of a fit are of, what it says of each number, and what signs say of it.

use collapsar::diagnostics::{ChainSummary, k_hat_threshold};
use collapsar::graph::{
    Compiled, Exchange, Kept, LinearResponse, Origins, ShortChain, WeightedDraws,
};
use collapsar::{ChainWatch, Point};
use collapsar_bugs::{Asked, ChainDraws, ChainOptions, ChainStart, Posterior, Quantity, Summary};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::ModelRun;
use crate::error::Result;
use crate::verdict::{PosteriorKind, Signs, Verdict, has_mean};

/// Products of numbers that a pass takes for each number that it goes through.
pub(super) const PRODUCTS: usize = 10;
/// Passes of a fit: those of bench/bugs take 5 to 650, half of them more than this.
const PASSES: usize = 30;
/// Products that signs may take however quick the fit was: some hundredths of a second, as reading a model takes.
const AT_LEAST: usize = 30_000_000;
/// Draws whose weights are looked at, and the fewest that are worth it: a half to a third of them counts.
pub(super) const WEIGHTS: usize = 1000;
const FEWEST_WEIGHTS: usize = 400;
/// Numbers of which proposals are made at most: beyond that weights cannot be believed.
const PROPOSED: usize = 100;
/// The part of draws that a posterior gets whose weighted draws are not believed: errors of a twelfth of a deviation in an end of an
/// interval are then the least of it.
const IN_DOUBT: f64 = 0.25;
/// The effective size of weighted draws that are believed, at least.
const ENOUGH: f64 = 100.0;
/// The stream of random numbers of proposals.
const PROPOSALS: u64 = 1 << 42;
/// Sweeps of the chain that looks whether means stay, and the fewest that tell anything.
const SWEEPS: usize = 100;
const FEWEST: usize = 20;
/// Chains from which the evidence is bridged: how many, and the draws of each.
const BRIDGE: (usize, usize) = (4, 250);

/// Sweeps before the first draw, at most, unless another number is given: chains begin at draws of an optimum's q, which
/// longer runs forget no later than shorter ones.
const LONGEST_WARMUP: usize = 1000;

/// Which posterior is asked for, and how many draws of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PosteriorOptions {
    /// Which; linear response where it costs little, unless it is given.
    pub posterior: Option<PosteriorKind>,
    /// How many draws are written, or made by each chain.
    pub draws: Option<usize>,
    /// Markov chains, for exact draws.
    pub chains: usize,
    /// Sweeps of each before its first draw; a quarter of the draws, for models a thousand at most, unless it is given.
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

/// Products of numbers that linear response may take by default: as many as a fit, or some hundredths of a second.
pub(super) fn affordable(compiled: &Compiled) -> usize {
    (compiled.size().saturating_mul(PRODUCTS * PASSES)).max(AT_LEAST)
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

    /// Whether all draws that were asked for were made.
    pub fn complete(&self) -> bool {
        self.chains.as_ref().is_none_or(|(draws, _)| draws.complete)
    }

    /// What is missing where draws were interrupted, as a sentence.
    pub fn interrupted(&self) -> Option<String> {
        let (draws, _) = self.chains.as_ref().filter(|_| !self.complete())?;
        let of_each = draws.chains.iter().flatten().map(Vec::len).min();
        Some(format!(
            "interrupted: results are of the first {} draws of {} chains",
            of_each.unwrap_or(0),
            draws.chains.len()
        ))
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
        watch: &dyn ChainWatch,
    ) -> Result<Option<ModelResult>> {
        let mut result = self.result_of_kind(point, quantities, watch)?;
        if let Some(result) = &mut result {
            let errors = self
                .prepared
                .grids()
                .into_iter()
                .filter_map(|grid| grid.error);
            result.signs.grid = errors.max_by(f64::total_cmp);
        }
        Ok(result)
    }

    fn result_of_kind(
        &self,
        point: &Point,
        quantities: &[Quantity],
        watch: &dyn ChainWatch,
    ) -> Result<Option<ModelResult>> {
        let options = &self.request.posterior;
        if options.posterior == Some(PosteriorKind::Exact) {
            return self.sampled(point, quantities, watch);
        }
        if let Some(enumerated) = &self.enumerated {
            let mut result = self.result_of_states(enumerated, point, quantities)?;
            if result.kind == PosteriorKind::LinearResponse
                && result.verdict(true) != Verdict::Trust
            {
                let known = (quantities, result.rows.as_mut_slice());
                result.signs.taken = self.ask_chains(point, known, None, watch)?;
            }
            return Ok(Some(result));
        }
        let (response, saddle) = self.response(&self.compiled, point, 1);
        let weighted = self.weighted(point, response.as_ref())?;
        let mut signs = self.weighed(point, weighted.as_ref())?;
        signs.saddle = saddle;
        signs.starts = self.agreed.get().copied();
        let believed = weighted.as_ref().filter(|weighted| weighted.believed());
        let variational = self.compiled.variational_posterior(point);
        let longer = response.is_some();
        let went = self.short_chain(point, weighted.as_ref(), (longer, &signs));
        let posterior = Posterior {
            prepared: &self.prepared,
            variational: &variational,
            response: response.as_ref(),
            weighted: believed.map(|weighted| &weighted.draws),
            share: if weighted.is_some() && believed.is_none() {
                IN_DOUBT
            } else {
                1.0
            },
            seed: self.request.climb.seed,
        };
        let (mut rows, draws, shift) = (posterior.summaries_and_shift(quantities))
            .map_err(|refusal| self.source.no_answer(refusal))?;
        signs.shift = shift.map(|shift| shift.most);
        signs.moved = shift.map_or(0, |shift| shift.moved);
        if let Some(response) = &response {
            signs.missing_information = Some(response.missing_information()?);
            signs.flat = response.flat();
            if believed.is_none() {
                let growth = posterior.variance_growth()?;
                signs.variance_growth =
                    growth.and_then(|growth| growth.values().copied().max_by(f64::total_cmp));
            }
        }
        let known = (quantities, rows.as_slice());
        // A chain may exchange states that are alike, which is no drift; weights that are believed have looked at means themselves.
        let alike = believed.is_some_and(|weighted| weighted.exchange.is_some());
        signs.drift = (went.as_ref().filter(|_| !alike)).map(|went| posterior.drift(went, known));
        if let (Some(went), None, Some(response)) = (&went, believed, &response)
            && let Some(asked) = self.asked(weighted.as_ref(), response.flat())
        {
            signs.widened = (posterior.widen(went, asked, quantities, &mut rows))
                .map_err(|refusal| self.source.no_answer(refusal))?;
        }
        let trusted = signs.verdict(PosteriorKind::LinearResponse, true) == Verdict::Trust;
        // Chains that may exchange states would be asked for nothing.
        let apart = (self.asked(weighted.as_ref(), 0)).is_some_and(|asked| asked.held.is_none());
        if response.is_some() && !trusted && apart && signs.flat == 0 {
            let worth = believed.map(|weighted| weighted.draws.weights.ess);
            let known = (quantities, rows.as_mut_slice());
            signs.taken = self.ask_chains(point, known, worth, watch)?;
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

    /// Which numbers a chain may be asked about, of weighted draws that are not believed: none where it may have exchanged states that
    /// nothing tells apart.
    fn asked<'a>(&self, weighted: Option<&'a Weighted<'_>>, flat: usize) -> Option<Asked<'a>> {
        let exchange = weighted.and_then(|weighted| weighted.exchange.as_ref());
        let known = weighted.is_some() || !self.compiled.has_labels();
        let told_apart = exchange.is_none_or(|exchange| exchange.ln_left_out() < 0.5);
        (known && told_apart).then(|| Asked {
            held: (weighted.filter(|_| exchange.is_some())).map(|weighted| &weighted.draws),
            turning: flat > 0,
        })
    }

    /// Where a short chain went: the one that weighted draws asked or, where there is none and they are not believed, one of its own,
    /// twice as long where deviations may be taken from it.
    fn short_chain(
        &self,
        point: &Point,
        weighted: Option<&Weighted<'_>>,
        (longer, signs): (bool, &Signs),
    ) -> Option<ShortChain> {
        let asked = weighted.and_then(|weighted| weighted.draws.chain_went.clone());
        let believed = weighted.is_some_and(Weighted::believed);
        let sweeps = self.sweeps();
        if asked.is_some() || believed || signs.exact || sweeps == 0 {
            return asked;
        }
        let mut rng = stream(self.request.climb.seed, PROPOSALS + 1);
        let sweeps = if longer { 2 * sweeps } else { sweeps };
        // A chain that cannot move says nothing.
        (self.compiled.short_chain(point, sweeps, None, &mut rng)).ok()
    }

    /// Sweeps of the chain that looks whether means stay: none where there would be too few to tell.
    fn sweeps(&self) -> usize {
        let sweeps = (AT_LEAST / self.compiled.sweep_cost().max(1)).min(SWEEPS);
        if sweeps < FEWEST { 0 } else { sweeps }
    }

    /// Draws with weights that make them draws of the posterior, where there are few enough numbers to propose.
    pub(super) fn weighted<'a>(
        &'a self,
        point: &Point,
        response: Option<&LinearResponse<'a>>,
    ) -> Result<Option<Weighted<'a>>> {
        let kept = self.compiled.kept().filter(|kept| kept.len() <= PROPOSED);
        let (Some(response), Some(kept)) = (response, kept) else {
            return Ok(None);
        };
        // Fewer draws where each is dear: a part of what the fit took.
        let draws = (affordable(&self.compiled) / kept.cost().max(1)).min(WEIGHTS);
        if kept.is_empty() || draws < FEWEST_WEIGHTS {
            return Ok(None);
        }
        let Some(proposal) = response.proposal(&kept)? else {
            return Ok(None);
        };
        let mut rng = stream(self.request.climb.seed, PROPOSALS);
        let exchange = kept.exchange(&proposal.draw(&mut rng));
        let orders = exchange
            .as_ref()
            .map_or(&[][..], |exchange| &exchange.orders);
        // As long as a chain that the verdict would ask, or twice that where the proposal is to learn from it.
        let short = Some((
            2 * self.sweeps(),
            stream(self.request.climb.seed, PROPOSALS + 1),
        ));
        let short = short.filter(|(sweeps, _)| *sweeps > 0);
        let rivals = self.rivals.get().map_or(&[][..], Vec::as_slice);
        let from = Origins { point, rivals };
        let draws = kept.weighted(from, proposal, orders, draws, short, &mut rng)?;
        Ok(draws.map(|draws| Weighted { draws, exchange }))
    }

    /// The linear response at a point of a model that is one of `several`, where it is asked for or costs little, and whether
    /// there is none because the bound has no strict maximum there: that is for the verdict to say.
    pub(super) fn response<'a>(
        &self,
        compiled: &'a Compiled,
        point: &'a Point,
        several: usize,
    ) -> (Option<LinearResponse<'a>>, bool) {
        let asked = match self.request.posterior.posterior {
            Some(kind) => kind == PosteriorKind::LinearResponse,
            None => {
                (compiled.response_cost(PRODUCTS)).saturating_mul(several) <= affordable(compiled)
            }
        };
        if !asked {
            return (None, false);
        }
        let response = compiled.linear_response(point).ok();
        let saddle = response.is_none();
        (response, saddle)
    }

    /// What weights say: of draws of a proposal, or else of draws of q.
    fn weighed(&self, point: &Point, weighted: Option<&Weighted<'_>>) -> Result<Signs> {
        if let Some(weighted) = weighted {
            return Ok(weighted.signs());
        }
        if let Some(kept) = self.compiled.kept().filter(Kept::is_empty) {
            // Everything is summed out: the bound is the evidence.
            return Ok(Signs {
                exact: true,
                ln_evidence: Some((kept.ln_joint(&[]), 0.0)),
                ..Signs::default()
            });
        }
        let cost = self.compiled.size().saturating_mul(WEIGHTS);
        if cost > affordable(&self.compiled) {
            return Ok(Signs::default());
        }
        let mut rng = ChaCha8Rng::seed_from_u64(self.request.climb.seed);
        let weights = self.compiled.ln_weights(point, WEIGHTS, &mut rng)?;
        Ok(Signs::of_weights(&weights))
    }

    /// An estimate of the log evidence from short chains and a proposal that is fitted to them, with its error.
    fn bridged(&self, point: &Point) -> Result<Signs> {
        let Some(kept) = self.compiled.kept().filter(|kept| kept.len() <= PROPOSED) else {
            return Ok(Signs::default());
        };
        if kept.is_empty() {
            return self.weighed(point, None);
        }
        let mut rng = stream(self.request.climb.seed, PROPOSALS);
        let found = kept.bridged(point, BRIDGE, &mut rng)?;
        Ok(
            found.map_or_else(Signs::default, |(bridge, exchange)| Signs {
                ln_evidence: Some((bridge.ln_evidence, bridge.error)),
                orders: exchange.as_ref().map(orders),
                ..Signs::default()
            }),
        )
    }

    /// So many exact draws of each chain, with this seed; none where it was interrupted.
    pub fn chains(
        &self,
        point: &Point,
        quantities: &[Quantity],
        (draws, seed): (usize, u64),
        watch: &dyn ChainWatch,
    ) -> Result<Option<ChainDraws>> {
        let options = ChainOptions {
            chains: self.request.posterior.chains,
            draws,
            warmup: (self.request.posterior.warmup).unwrap_or((draws / 4).min(LONGEST_WARMUP)),
            seed,
        };
        self.chains_of(point, quantities, options, watch)
    }

    /// Exact draws of chains that begin at a point; none where they were interrupted.
    pub(super) fn chains_of(
        &self,
        point: &Point,
        quantities: &[Quantity],
        options: ChainOptions,
        watch: &dyn ChainWatch,
    ) -> Result<Option<ChainDraws>> {
        let states = (self.enumerated.as_ref())
            .map(|of| of.chain_states(point, (options.chains, options.seed)))
            .transpose()?;
        let start = (states.as_ref()).map_or(ChainStart::Point(point), ChainStart::States);
        (self.prepared)
            .chains(&self.compiled, start, quantities, options, watch)
            .map_err(|refusal| self.source.no_answer(refusal))
    }

    fn sampled(
        &self,
        point: &Point,
        quantities: &[Quantity],
        watch: &dyn ChainWatch,
    ) -> Result<Option<ModelResult>> {
        let draws = self.request.posterior.draws.unwrap_or(CHAIN_DRAWS);
        let length = (draws, self.request.climb.seed);
        let Some(chains) = self.chains(point, quantities, length, watch)? else {
            return Ok(None);
        };
        let estimates = chains.estimates();
        let diagnostics: Vec<_> = estimates.iter().map(|one| one.diagnostics).collect();
        let rows = quantities.iter().zip(&estimates).enumerate();
        let rows = rows.map(|(place, (quantity, one))| {
            let draws = chains.chains.iter().flat_map(|chain| &chain[place]);
            self.prepared.between_nodes(quantity, draws, one.summary)
        });
        let rows = rows.collect();
        let deviations = estimates.iter().map(|one| one.summary.sd);
        let numbers: Vec<_> = deviations.zip(diagnostics.iter().copied()).collect();
        let evidence = match &self.enumerated {
            Some(enumerated) => self.weights_of_states(enumerated, point)?,
            None => self.bridged(point)?,
        };
        let signs = Signs {
            ln_evidence: evidence.ln_evidence,
            orders: evidence.orders,
            ..Signs::of_chains(&numbers)
        };
        Ok(Some(ModelResult {
            kind: PosteriorKind::Exact,
            rows,
            draws: 0,
            chains: Some((chains, diagnostics)),
            signs,
        }))
    }
}

/// Draws of a proposal with their weights, and the orders of states that are alike.
#[derive(Debug)]
pub(super) struct Weighted<'a> {
    pub(super) draws: WeightedDraws<'a>,
    exchange: Option<Exchange>,
}

impl Weighted<'_> {
    /// Whether deviations may be taken from them.
    pub(super) fn believed(&self) -> bool {
        let (weights, size) = (&self.draws.weights, self.draws.len());
        // Where half of the draws count, no tail can matter: k-hat would be that of a shoulder.
        let light = |k_hat: f64| k_hat < k_hat_threshold(size) || weights.ess > 0.5 * size as f64;
        self.draws.k_hat.is_none_or(light) && weights.ess > ENOUGH
    }

    fn signs(&self) -> Signs {
        let weights = &self.draws.weights;
        let left_out = self.exchange.as_ref().map_or(0.0, Exchange::ln_left_out);
        let believed = self.believed();
        let ln_evidence = (weights.ln_mean + left_out, weights.mcse_ln_mean);
        Signs {
            k_hat: self.draws.k_hat,
            weighted: Some(believed),
            ln_evidence: (believed || has_mean(weights)).then_some(ln_evidence),
            orders: self.exchange.as_ref().map(orders),
            ..Signs::default()
        }
    }
}

/// A stream of random numbers.
fn stream(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}

/// How many orders of states are alike.
fn orders(exchange: &Exchange) -> f64 {
    (1..=exchange.states).map(|k| k as f64).product()
}
