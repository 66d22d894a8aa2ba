//! Decides what draws are worth against the posterior: importance weights, with all that can be summed out
//! summed out (maths §10.5, §10.10).

use rand::{Rng, RngExt};

use super::block::{Placed, range_of, value_all};
use super::chain::Chain;
use super::compiled::Compiled;
use super::kept::Kept;
use super::orders::Orders;
use super::proposal::Proposal;
use super::short::ShortChain;
use collapsar_core::diagnostics::ImportanceWeights;
use collapsar_core::elementary::Elementary;
use collapsar_core::special::log_sum_exp;
use collapsar_core::{Collapsed, Point, Result};

/// The part of draws by which a proposal is mended before the others are made.
const PILOT: usize = 4;
/// Where a larger part of the first draws counts, with a light tail, and there are no labels, a proposal is as good as it need be
/// unless a chain goes elsewhere: unless more than so many of its places have weights beyond those of all draws.
const PLAIN: f64 = 0.5;
const MISSED: f64 = 0.05;
/// Where so large a part counts, three quarters of the draws are worth as much as all of them elsewhere.
const EVEN: f64 = 0.7;
/// Where a smaller part of draws counts, they may be too few.
const FEW: f64 = 0.1;
/// The k-hat below which weights have a variance, and those from which on estimates cannot be trusted and have no mean
/// (Vehtari24).
const LIGHT: f64 = 0.5;
const HEAVY: f64 = 0.7;
const NO_MEAN: f64 = 1.0;
/// Coordinates up to which a wide part beside the first costs little.
const SMALL: usize = 4;
/// How often a proposal is mended, and how often at most where tails are not heavy and yet draws are worth fewer than so many without
/// weights: of a hundred, ends of intervals have errors of a third of a deviation.
const ROUNDS: usize = 2;
const MOST_ROUNDS: usize = 6;
const ENOUGH: f64 = 200.0;

/// Sweeps of a chain that begins at a rival, for each of those of the chain that begins at the fit.
const FROM_RIVAL: f64 = 0.2;
/// The share of its places that must be beyond all draws for a proposal of their own.
const BEYOND: f64 = 0.5;

/// Where chains begin that show a proposal what it does not see.
#[derive(Debug, Clone, Copy)]
pub struct Origins<'a> {
    /// The fit.
    pub point: &'a Point,
    /// Points of climbs that were lower, or were given up: there may be other regions of the posterior near them.
    pub rivals: &'a [Point],
}

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
    /// The Pareto shape of the weights, from both sides: as draws of the proposal see it, and as a chain does (maths §10.10).
    pub k_hat: Option<f64>,
    /// Where a chain went, where one was asked.
    pub chain_went: Option<ShortChain>,
}

/// Draws of stages, each weighed against the proposals of its own stage alone (maths §10.10): a proposal that is mended by
/// draws is high where these are, and would make them too light.
#[derive(Debug, Default)]
struct Drawn {
    stages: Vec<Stage>,
}

/// Draws of proposals that none of them has changed, each weighed against all of these together.
#[derive(Debug, Default)]
struct Stage {
    /// How many draws there are of each.
    proposals: Vec<(usize, Proposal)>,
    draws: Vec<Vec<f64>>,
    ln_joint: Vec<f64>,
    /// The logarithm of the sum of all proposals, each as often as it was drawn of.
    ln_sums: Vec<f64>,
}

impl Stage {
    /// Adds so many draws of a proposal.
    fn add<R: Rng + ?Sized>(
        &mut self,
        kept: &Kept<'_>,
        (proposal, count): (&Proposal, usize),
        orders: &Orders,
        rng: &mut R,
    ) {
        let of_this = kept.ln_proposed(proposal, orders, &self.draws);
        for (of_this, ln_sum) in of_this.iter().zip(&mut self.ln_sums) {
            *ln_sum = log_sum_exp(&[*ln_sum, (count as f64).ln_() + of_this]);
        }
        self.proposals.push((count, proposal.clone()));
        let mut draws: Vec<Vec<f64>> = (0..count).map(|_| proposal.draw(rng)).collect();
        self.ln_joint.extend(kept.ln_joints(&draws));
        self.ln_sums.extend(self.ln_sums_at(kept, orders, &draws));
        self.draws.append(&mut draws);
    }

    /// The logarithms of the sum of all proposals at several places.
    fn ln_sums_at(&self, kept: &Kept<'_>, orders: &Orders, places: &[Vec<f64>]) -> Vec<f64> {
        let each = self.proposals.iter().map(|(count, one)| {
            let mut of = kept.ln_proposed(one, orders, places);
            add_to_all(&mut of, (*count as f64).ln_());
            of
        });
        sums_of_logs(each.collect())
    }

    /// The logarithms of the weights of its draws, of which the mean estimates the evidence.
    fn ln_weights(&self) -> impl Iterator<Item = f64> {
        let ln_count = (self.draws.len() as f64).ln_();
        let both = self.ln_joint.iter().zip(&self.ln_sums);
        both.map(move |(ln_joint, ln_sum)| ln_joint - ln_sum + ln_count)
    }

    /// How many draws without weights these are worth.
    fn worth(&self) -> f64 {
        let ln_weights: Vec<f64> = self.ln_weights().collect();
        let squares: Vec<f64> = ln_weights.iter().map(|ln| 2.0 * ln).collect();
        let worth = (2.0 * log_sum_exp(&ln_weights) - log_sum_exp(&squares)).exp_();
        if worth.is_finite() { worth } else { 0.0 }
    }
}

fn add_to_all(to: &mut [f64], what: f64) {
    for to in to {
        *to += what;
    }
}

/// The logarithms of sums, place by place, of lists of logarithms.
fn sums_of_logs(mut lists: Vec<Vec<f64>>) -> Vec<f64> {
    if lists.len() < 2 {
        return lists.pop().unwrap_or_default();
    }
    let mut terms = vec![0.0; lists.len()];
    let sum = |place: usize| {
        for (term, list) in terms.iter_mut().zip(&lists) {
            *term = list[place];
        }
        log_sum_exp(&terms)
    };
    (0..lists[0].len()).map(sum).collect()
}

impl Drawn {
    /// Begins a stage with so many draws of a proposal.
    fn begin<R: Rng + ?Sized>(
        &mut self,
        kept: &Kept<'_>,
        of: (&Proposal, usize),
        orders: &Orders,
        rng: &mut R,
    ) {
        let mut stage = Stage::default();
        stage.add(kept, of, orders, rng);
        self.stages.push(stage);
    }

    fn len(&self) -> usize {
        self.stages.iter().map(|stage| stage.draws.len()).sum()
    }

    /// The shares of stages in the estimate: each by what it is worth, and the same of its draws as of all draws.
    fn shares(&self) -> Vec<f64> {
        let worths: Vec<f64> = self.stages.iter().map(Stage::worth).collect();
        let total: f64 = worths.iter().sum();
        worths.iter().map(|worth| worth / total).collect()
    }

    /// The logarithms of the weights of all draws.
    fn ln_weights(&self) -> Vec<f64> {
        let all = self.len() as f64;
        let stages = self.stages.iter().zip(self.shares());
        let each = stages.flat_map(|(stage, share)| {
            let ln_share = (share * all / stage.draws.len() as f64).ln_();
            stage.ln_weights().map(move |weight| weight + ln_share)
        });
        each.collect()
    }

    fn weigh(&self) -> Option<ImportanceWeights> {
        ImportanceWeights::smooth(&self.ln_weights())
    }

    /// All draws.
    fn draws(&self) -> Vec<Vec<f64>> {
        let draws = self.stages.iter().flat_map(|stage| &stage.draws);
        draws.cloned().collect()
    }
}

/// Places that a chain went to, with the joint density of each.
#[derive(Debug, Default)]
struct Seen {
    places: Vec<Vec<f64>>,
    ln_joint: Vec<f64>,
}

impl Seen {
    /// At places that a chain visited, each in the order of states that is likeliest under a proposal.
    fn at(kept: &Kept<'_>, (proposal, orders): (&Proposal, &Orders), visited: &[Vec<f64>]) -> Self {
        let places = visited.iter();
        let places = places.map(|place| kept.nearest(proposal, orders, place));
        let places: Vec<_> = places.collect();
        Self {
            ln_joint: kept.ln_joints(&places),
            places,
        }
    }

    /// The logarithms of the weights that they would have among draws.
    fn ln_weights(&self, kept: &Kept<'_>, drawn: &Drawn, orders: &Orders) -> Vec<f64> {
        let stages = drawn.stages.iter().zip(drawn.shares());
        let each = stages.map(|(stage, share)| {
            let mut of = stage.ln_sums_at(kept, orders, &self.places);
            add_to_all(&mut of, (share / stage.draws.len() as f64).ln_());
            of
        });
        let both = self.ln_joint.iter().zip(sums_of_logs(each.collect()));
        both.map(|(ln_joint, ln_proposed)| ln_joint - ln_proposed)
            .collect()
    }

    /// The share of places that have larger weights than all draws: about that of the posterior which these do not come to.
    fn missed(&self, kept: &Kept<'_>, drawn: &Drawn, orders: &Orders) -> f64 {
        let most = (drawn.ln_weights().into_iter()).fold(f64::NEG_INFINITY, f64::max);
        let beyond = self.ln_weights(kept, drawn, orders);
        let beyond = beyond.iter().filter(|&&weight| weight > most).count();
        beyond as f64 / self.places.len().max(1) as f64
    }

    /// The Pareto shape of weights as draws of the posterior itself see it. Where draws of the proposal have a tail of shape k,
    /// those of the posterior, which are the same by their weights, have one of shape k / (1 − k) (maths §10.10).
    fn k_hat(&self, kept: &Kept<'_>, drawn: &Drawn, orders: &Orders) -> Option<f64> {
        let ln_weights = self.ln_weights(kept, drawn, orders);
        let shape = ImportanceWeights::smooth(&ln_weights)?.k_hat?;
        // A shape of one has no mean; one of minus one half or less has an end that is near.
        Some(match shape {
            f64::INFINITY => 1.0,
            shape => (shape / (1.0 + shape.max(-0.5))).max(-1.0),
        })
    }
}

impl<'a> Kept<'a> {
    /// So many draws: those of a proposal, the first of which mend it, and half as many of one that all of these mend where hardly any
    /// of them counts. A `short` chain of so many sweeps, with random numbers of its own, shows the proposal what it does not see.
    /// Each of `symmetries` is a permutation of all numbers that leaves the posterior as it is, with the one that moves nothing:
    /// the proposal is then its mean over them. None where weights are not finite.
    ///
    /// # Errors
    /// Where the point is outside the domain.
    pub fn weighted<R: Rng>(
        &self,
        Origins { point, rivals }: Origins<'_>,
        mut proposal: Proposal,
        symmetries: &[Vec<usize>],
        count: usize,
        short: Option<(usize, R)>,
        rng: &mut R,
    ) -> Result<Option<WeightedDraws<'a>>> {
        if self.len() <= SMALL {
            proposal = proposal.with_wide();
        }
        let orders = self.orders(symmetries);
        let mut drawn = Drawn::default();
        drawn.begin(self, (&proposal, count / PILOT), &orders, rng);
        let Some(mut weights) = drawn.weigh() else {
            return Ok(None);
        };
        let counts = |weights: &ImportanceWeights, part: f64| {
            weights.ess > part * weights.ln_weights.len() as f64
        };
        let below = |weights: &ImportanceWeights, most: f64| weights.k_hat.is_none_or(|k| k < most);
        let light = counts(&weights, PLAIN) && below(&weights, LIGHT);
        let plain = light && !self.model.has_labels();
        // Where there is no other region, a chain sees nothing that draws do not.
        let short = short.filter(|_| !self.is_log_concave());
        let mut short = short;
        let mut chain_went = short.as_mut().and_then(|(sweeps, rng)| {
            // Half as long a chain will do to see that it stays. One that cannot move shows nothing.
            let sweeps = if plain { *sweeps / 2 } else { *sweeps };
            (self.model.short_chain(point, sweeps, Some(self), rng)).ok()
        });
        if let Some(went) = chain_went.as_mut().filter(|_| symmetries.len() > 1) {
            for draw in &mut went.draws {
                *draw = self.renamed(&proposal, (&orders, symmetries), draw);
            }
        }
        let visited = chain_went.as_ref().map_or(&[][..], |went| &went.visited);
        let mut seen = Seen::at(self, (&proposal, &orders), visited);
        if plain && seen.missed(self, &drawn, &orders) < MISSED {
            seen = Seen::default();
        }
        let nested = (!light && !seen.places.is_empty())
            .then(|| self.nested(chain_went.as_ref().map_or(&[], |went| &went.draws)))
            .flatten();
        if let Some(other) = nested.or_else(|| proposal.fitted(&seen.places)) {
            // As many draws of either as the mixture has of both, on the average (maths §10.10).
            for stage in &mut drawn.stages {
                stage.add(self, (&other, count / PILOT), &orders, rng);
            }
            proposal = proposal.with(&other);
            match drawn.weigh() {
                Some(of_both) => weights = of_both,
                None => return Ok(None),
            }
        }
        if let Some((sweeps, of_chains)) = &mut short {
            let sweeps = (FROM_RIVAL * *sweeps as f64) as usize;
            // Fewer places than coordinates have no covariance.
            let rivals = rivals.iter().filter(|_| sweeps > self.len());
            for rival in rivals {
                let went = (self.model).short_chain(rival, sweeps, Some(self), of_chains);
                let visited = went.map_or(vec![], |went| went.visited);
                let there = Seen::at(self, (&proposal, &orders), &visited);
                if there.missed(self, &drawn, &orders) < BEYOND {
                    continue;
                }
                let Some(other) = proposal.fitted(&there.places) else {
                    continue;
                };
                for stage in &mut drawn.stages {
                    stage.add(self, (&other, count / PILOT), &orders, rng);
                }
                proposal = proposal.with(&other);
                match drawn.weigh() {
                    Some(of_all) => weights = of_all,
                    None => return Ok(None),
                }
            }
        }
        // Where hardly any draw counts and the tail is heavy, more of them would not help.
        let mut on = counts(&weights, FEW) || below(&weights, HEAVY);
        let mut more = count.saturating_sub(drawn.len()).max(count / PILOT);
        if counts(&weights, EVEN) && below(&weights, LIGHT) {
            more = more.min(count / 2);
        }
        for round in 1..=MOST_ROUNDS {
            if !on {
                break;
            }
            let shares: Vec<f64> = weights.ln_weights.iter().map(|w| w.exp_()).collect();
            proposal = proposal.mended(&drawn.draws(), &shares);
            drawn.begin(self, (&proposal, more), &orders, rng);
            match drawn.weigh() {
                Some(of_all) => weights = of_all,
                None => return Ok(None),
            }
            // So many draws mend a proposal better than the first did, where that is worth the while.
            let done = counts(&weights, FEW) && below(&weights, LIGHT);
            on = match round {
                ..ROUNDS => !done && below(&weights, NO_MEAN),
                _ => weights.ess < ENOUGH && below(&weights, HEAVY),
            };
            more = count / 2;
        }
        let mut sum = 0.0;
        let sums = weights.ln_weights.iter().map(|weight| {
            sum += weight.exp_();
            sum
        });
        let other_side = seen.k_hat(self, &drawn, &orders);
        Ok(Some(WeightedDraws {
            sums: sums.collect(),
            kept: self.clone(),
            chain: self.model.chain(point, rng)?,
            k_hat: weights.k_hat.into_iter().chain(other_side).reduce(f64::max),
            weights,
            draws: drawn.draws(),
            chain_went,
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
        self.weights.ln_weights[index].exp_()
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

/// The logarithm of a weight that no sum sees.
const WITHOUT: f64 = -600.0;

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
        let placed = self.of.kept.place(&mut self.chain, at, rest, rng);
        // Where the others cannot be computed a draw has no weight, and theirs are those of the draw before.
        if self.of.weights.ln_weights[index] > WITHOUT {
            placed?;
        }
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
