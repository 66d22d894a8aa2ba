//! Decides what is known of each number: in closed form where there is one, else from draws of q.

use std::collections::HashMap;
use std::ops::Range;

use collapsar::elementary::Elementary;
use collapsar::graph::{
    Kind, LinearResponse, PosteriorMarginal, VariationalPosterior, WeightedDraws,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::diagnostic::Diagnostic;
use crate::draws::{Dependencies, Drawn, OF_STREAM, Sampler};
use crate::lower::{Grid, Prepared};
use crate::quantity::{Origin, Quantity};

/// Draws that quantiles are taken from.
const DRAWS: usize = 4000;
/// Numbers that are drawn at most for them, so that models of millions of labels need fewer draws.
const NUMBERS: usize = 400_000_000;
/// Fewest draws that give quantiles worth telling.
const FEWEST: usize = 400;
/// Numbers of draws that are kept at a time.
const KEPT: usize = 40_000_000;

/// Draws that show whether a line can be computed at all.
const TRIAL: usize = 20;
/// Numbers that are drawn before lines are computed from them.
const AT_ONCE: usize = 1_000_000;

/// The posterior of one number in short.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// At 2.5%, 50% and 97.5%.
    pub quantiles: [f64; 3],
}

/// How means of weighted draws differ from those of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Shift {
    /// By how many deviations at most, over all numbers that are variables.
    pub most: f64,
    /// Numbers whose mean is that of the draws, as it differs by more than their error.
    pub moved: usize,
}

/// Why there is no posterior.
#[derive(Debug)]
pub enum PosteriorError {
    /// A line cannot be computed.
    Model(Box<Diagnostic>),
    /// The fit ended outside the domain.
    Fit(collapsar::Error),
}

impl From<Diagnostic> for PosteriorError {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Model(Box::new(diagnostic))
    }
}

impl From<collapsar::Error> for PosteriorError {
    fn from(error: collapsar::Error) -> Self {
        Self::Fit(error)
    }
}

/// Draws of precisions over which the variances of normal variables are averaged: their error is then a few
/// hundredths of what uncertain precisions add. And the fewest, of a posterior that counts for little.
const GROWTH: usize = 256;
const FEWEST_GROWTH: usize = 16;
/// Marks the streams of random numbers of draws of everything at once.
const JOINT: u64 = 1 << 41;

/// Errors by which the logarithm of a deviation from weighted draws must differ from that of linear response to take its
/// place, and the difference that it must have at least: a smaller one is no better than linear response is.
pub(crate) const SIGNIFICANT: f64 = 2.0;
pub(crate) const LARGE: f64 = 0.1;

/// Errors by which a mean of weighted draws must differ from that of the fit to take its place, where the difference is large as well.
const MOVING: f64 = 3.0;

const PROBABILITIES: [f64; 3] = [0.025, 0.5, 0.975];

/// A fit that can be asked.
#[derive(Debug, Clone, Copy)]
pub struct Posterior<'a> {
    /// The model with its data.
    pub prepared: &'a Prepared,
    /// The factors of q.
    pub variational: &'a VariationalPosterior<'a>,
    /// How they answer to small changes of the model, where variances are to be those of linear response.
    pub response: Option<&'a LinearResponse<'a>>,
    /// Draws with weights that make them draws of the posterior, where these can be believed.
    pub weighted: Option<&'a WeightedDraws<'a>>,
    /// How many draws are made of it, as a part of those of a posterior that is told alone and believed: its probability where it
    /// is one of several, less than one where errors of draws are not the largest.
    pub share: f64,
    /// The seed of draws.
    pub seed: u64,
}

impl Posterior<'_> {
    /// Summaries of these, and how many draws they took.
    ///
    /// # Errors
    /// Where the fit ended outside the domain or a line cannot be computed.
    pub fn summaries(
        &self,
        quantities: &[Quantity],
    ) -> Result<(Vec<Summary>, usize), PosteriorError> {
        let (summaries, draws, _) = self.summaries_and_shift(quantities)?;
        Ok((summaries, draws))
    }

    /// The same, and how the means of weighted draws differ from those of the fit, where there are weighted draws.
    ///
    /// # Errors
    /// As [`Posterior::summaries`].
    pub fn summaries_and_shift(
        &self,
        quantities: &[Quantity],
    ) -> Result<(Vec<Summary>, usize, Option<Shift>), PosteriorError> {
        let (mut summaries, wanting) = self.closed(quantities)?;
        if let Some(weighted) = self.weighted {
            let shift = self.reweigh(weighted, quantities, &mut summaries)?;
            return Ok((summaries, weighted.len(), Some(shift)));
        }
        if wanting.is_empty() {
            return Ok((summaries, 0, None));
        }
        let of = |places: &[usize]| -> Vec<Quantity> {
            let places = places.iter();
            places.map(|&place| quantities[place].clone()).collect()
        };
        let count = draws_for(self.prepared, &of(&wanting));
        let count = ((self.share * count as f64) as usize).max(FEWEST);
        for places in wanting.chunks(at_a_time(count)) {
            let mut draws = self.draws(&of(places), 0..count)?;
            for (&place, values) in places.iter().zip(&mut draws) {
                let found = Summary::of_draws(values);
                if is_drawn(&quantities[place]) {
                    summaries[place] = found;
                } else {
                    summaries[place].quantiles = found.quantiles;
                }
            }
        }
        Ok((summaries, count, None))
    }

    /// Takes from weighted draws what has no closed form, and the means and deviations that differ from those of linear
    /// response by more than the errors of the draws.
    fn reweigh(
        &self,
        weighted: &WeightedDraws<'_>,
        quantities: &[Quantity],
        summaries: &mut [Summary],
    ) -> Result<Shift, PosteriorError> {
        let mut shift = Shift::default();
        let drawn = |place: &usize| match quantities[*place].origin {
            Origin::Variable(..) | Origin::Grid(_) | Origin::Computed | Origin::Predicted => true,
            Origin::Label(..) | Origin::Zero => summaries[*place].mean.is_nan(),
        };
        let places: Vec<usize> = (0..quantities.len()).filter(drawn).collect();
        let weights: Vec<f64> = (0..weighted.len()).map(|i| weighted.weight(i)).collect();
        for places in places.chunks((KEPT / weighted.len().max(1)).max(1)) {
            let some: Vec<Quantity> = places.iter().map(|&p| quantities[p].clone()).collect();
            let draws = self.of_weighted(&some, weighted, 0..weighted.len(), false)?;
            for (&place, values) in places.iter().zip(&draws) {
                let found = WeightedMoments::of(values, &weights);
                let (mean, sd) = (found.mean, found.sd);
                let known = &mut summaries[place];
                let away = (mean - known.mean).abs() / sd;
                if matches!(quantities[place].origin, Origin::Variable(..)) && sd > 0.0 {
                    shift.most = shift.most.max(away);
                }
                let moves = away > LARGE.max(MOVING * found.mean_error);
                let differs = moves
                    || (sd / known.sd).ln_().abs() > LARGE.max(SIGNIFICANT * found.ln_sd_error);
                shift.moved += usize::from(moves);
                if known.mean.is_nan() || moves {
                    known.mean = mean;
                }
                if known.sd.is_nan() || differs {
                    known.sd = sd;
                }
                // Sorting costs more than all the rest, and most numbers need none.
                if known.quantiles[0].is_nan() || differs {
                    known.quantiles = weighted_quantiles(values, &weights);
                }
            }
        }
        Ok(shift)
    }

    /// Values at weighted draws: those of a range as they are, or so many that are picked by their weights.
    fn of_weighted(
        &self,
        quantities: &[Quantity],
        weighted: &WeightedDraws<'_>,
        which: Range<usize>,
        picked: bool,
    ) -> Result<Vec<Vec<f64>>, PosteriorError> {
        let needed = Dependencies::of(self.prepared, quantities);
        let rest = !needed.variables().all(|variable| weighted.holds(variable));
        let mut walk = weighted.walk();
        self.jointly(quantities, &needed, which, |draw, rng| {
            let index = if picked { weighted.pick(rng) } else { draw };
            walk.numbers(index, rest, rng).map(<[f64]>::to_vec)
        })
    }

    /// What is known without draws, of numbers of which all is.
    ///
    /// # Errors
    /// Where the fit ended outside the domain.
    pub fn in_closed_form(
        &self,
        quantities: &[Quantity],
    ) -> Result<Vec<Option<Summary>>, PosteriorError> {
        let known = self.known(quantities)?;
        let all = |known: &Known| (!known.wants_draws()).then(|| known.summary());
        Ok(known.iter().map(all).collect())
    }

    /// What is known in closed form, and the places of quantities that need draws.
    fn closed(
        &self,
        quantities: &[Quantity],
    ) -> Result<(Vec<Summary>, Vec<usize>), PosteriorError> {
        let known = self.known(quantities)?;
        let wanting = |&place: &usize| known[place].wants_draws();
        let wanting = (0..known.len()).filter(wanting).collect();
        Ok((known.iter().map(Known::summary).collect(), wanting))
    }

    /// What is known of each number without draws.
    pub(crate) fn known(&self, quantities: &[Quantity]) -> Result<Vec<Known>, PosteriorError> {
        let all_drawn = quantities.iter().all(is_drawn);
        let marginals = (!all_drawn).then(|| self.prepared.marginals(self.variational));
        let marginals = marginals.transpose()?;
        let normal = |quantity: &Quantity| match quantity.origin {
            Origin::Variable(variable, _) => {
                self.prepared.variables.kind(variable) == Kind::Gaussian
            }
            _ => false,
        };
        // Beside weighted draws too, whose own errors are larger.
        let growth = if quantities.iter().any(normal) {
            self.variance_growth()?
        } else {
            None
        };
        let mut labels = self.labels(quantities)?;
        let mut known = Vec::with_capacity(quantities.len());
        for (place, quantity) in quantities.iter().enumerate() {
            let mut marginal = marginals
                .as_ref()
                .and_then(|marginals| self.prepared.marginal(quantity, marginals));
            if let (Origin::Variable(variable, number), Some(marginal)) =
                (quantity.origin, &mut marginal)
            {
                let moved = self.prepared.variables.centring.of(variable, number);
                let follows = moved.map_or(&[][..], |moved| &moved.follows);
                let mut terms = vec![(variable, number as usize, 1.0)];
                terms.extend(follows.iter().map(|&(other, t)| (other, 0, t)));
                let wider = self.widened(marginal, &terms)?;
                let grown = growth.map(|growth| self.grown(growth, &terms, marginal));
                *marginal = match grown.filter(|grown| *grown != 0.0) {
                    Some(grown) => wider.widened(grown),
                    None => wider,
                };
            }
            let marginal = marginal
                .or_else(|| labels.remove(&place))
                .or_else(|| self.exact(quantity, marginals.as_ref()));
            known.push(Known {
                grid: self.prepared.grid(quantity).cloned(),
                lowest: match quantity.origin {
                    Origin::Label(_, lowest) => f64::from(lowest),
                    _ => self.lowest(quantity),
                },
                marginal,
            });
        }
        Ok(known)
    }

    /// By what factor uncertain precisions widen each normal variable, where linear response is asked for and has
    /// draws; found once for a response.
    ///
    /// # Errors
    /// Where the fit ended outside the domain.
    pub fn variance_growth(&self) -> collapsar::Result<Option<&HashMap<u32, f64>>> {
        let Some(response) = self.response else {
            return Ok(None);
        };
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(JOINT - 1);
        let draws = (self.share * GROWTH as f64).ceil() as usize;
        response.variance_growth(draws.max(FEWEST_GROWTH), &mut rng)
    }

    /// What uncertain precisions add to the variance of a sum of normal variables; those that follow others are
    /// next to independent of them, as they were made to be.
    fn grown(
        &self,
        growth: &HashMap<u32, f64>,
        terms: &[(u32, usize, f64)],
        marginal: &PosteriorMarginal,
    ) -> f64 {
        let PosteriorMarginal::Closed(marginal) = marginal else {
            return 0.0;
        };
        let variance = |variable: u32| match terms {
            [_] => marginal.sd().powi(2),
            _ => (self.variational.of_sum(&[(variable, 1.0)])).map_or(0.0, |found| found.1),
        };
        let more = |&(variable, _, t): &(u32, usize, f64)| {
            let growth = growth.get(&variable)?;
            Some((growth - 1.0) * t * t * variance(variable))
        };
        terms.iter().filter_map(more).sum()
    }

    /// The marginal of a number as wide as linear response says, where that is asked for.
    pub(crate) fn widened(
        &self,
        marginal: &PosteriorMarginal,
        terms: &[(u32, usize, f64)],
    ) -> collapsar::Result<PosteriorMarginal> {
        let extra = match self.response {
            Some(response) => response.extra_variance(terms)?,
            None => None,
        };
        Ok(match extra {
            Some(extra) => marginal.widened(extra),
            None => marginal.clone(),
        })
    }

    /// The states of labels that are kept as rows, by place.
    fn labels(
        &self,
        quantities: &[Quantity],
    ) -> Result<HashMap<usize, PosteriorMarginal>, PosteriorError> {
        let label = |(place, quantity): (usize, &Quantity)| match quantity.origin {
            Origin::Label(variable, _) | Origin::Grid(variable) => Some((variable, place)),
            _ => None,
        };
        let wanted: HashMap<u32, usize> = quantities.iter().enumerate().filter_map(label).collect();
        let mut found = HashMap::new();
        if !wanted.is_empty() {
            self.variational.each_label(|variable, states| {
                if let Some(&place) = wanted.get(&variable) {
                    found.insert(place, PosteriorMarginal::States(states.to_vec()));
                }
            })?;
        }
        Ok(found)
    }

    /// Draws of each of these: the same, whichever are asked for.
    ///
    /// # Errors
    /// As [`Posterior::summaries`].
    pub fn draws(
        &self,
        quantities: &[Quantity],
        which: Range<usize>,
    ) -> Result<Vec<Vec<f64>>, PosteriorError> {
        if let Some(weighted) = self.weighted {
            return self.of_weighted(quantities, weighted, which, true);
        }
        let needed = Dependencies::of(self.prepared, quantities);
        if let Some(response) = self.response
            && let Some(draws) = self.corrected(quantities, &needed, response, which.clone())?
        {
            return Ok(draws);
        }
        let mut sampler = Sampler::new(self, &needed);
        in_batches(quantities, &needed, which, |some| sampler.draws(some))
    }

    /// Refuses lines that cannot be computed, or predicted, from any of a few draws of q: what a fit would have nothing to say of.
    ///
    /// # Errors
    /// The first such line.
    pub fn trial(&self, quantities: &[Quantity]) -> Result<(), PosteriorError> {
        let needed = Dependencies::of(self.prepared, quantities);
        let drawn = Sampler::new(self, &needed).draws(0..TRIAL)?;
        drawn.values(quantities);
        Ok(drawn.failed()?)
    }

    /// Draws with the covariance of linear response, unless there are too many messages for it.
    fn corrected(
        &self,
        quantities: &[Quantity],
        needed: &Dependencies,
        response: &LinearResponse<'_>,
        which: Range<usize>,
    ) -> Result<Option<Vec<Vec<f64>>>, PosteriorError> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let Some(mut source) = response.draws(&mut rng)? else {
            return Ok(None);
        };
        let first = |variable| response.is_drawn_first(variable);
        let explicit = !needed.variables().all(first);
        let draws = self.jointly(quantities, needed, which, |_, rng| {
            source.draw(explicit, rng).map(<[f64]>::to_vec)
        });
        draws.map(Some)
    }

    /// Values where `draw` gives all numbers of a draw.
    pub(crate) fn jointly(
        &self,
        quantities: &[Quantity],
        needed: &Dependencies,
        which: Range<usize>,
        mut draw: impl FnMut(usize, &mut ChaCha8Rng) -> collapsar::Result<Vec<f64>>,
    ) -> Result<Vec<Vec<f64>>, PosteriorError> {
        let seed = ChaCha8Rng::seed_from_u64(self.seed);
        let mut rng = seed.clone();
        let places = needed.places(|variable| self.variational.place(variable));
        let mut predicted = vec![None; needed.predictions()];
        in_batches(quantities, needed, which, |some: Range<usize>| {
            let mut columns = vec![Vec::with_capacity(some.len()); places.len()];
            for index in some.clone() {
                // A stream for each draw, so that draws are the same wherever a range begins.
                rng.set_stream(JOINT + index as u64);
                rng.set_word_pos(0);
                let numbers = draw(index, &mut rng)?;
                for (column, &place) in columns.iter_mut().zip(&places) {
                    column.push(numbers[place]);
                }
            }
            let random = (&seed, predicted.as_mut_slice());
            Ok(Drawn::new(self.prepared, needed, columns, random, some))
        })
    }
}

/// How many draws of these quantities are worth their cost.
pub(crate) fn draws_for(prepared: &Prepared, quantities: &[Quantity]) -> usize {
    let needed = Dependencies::of(prepared, quantities);
    (NUMBERS / needed.count().max(1)).clamp(FEWEST, DRAWS)
}

/// Of how many quantities so many draws are kept at a time.
pub(crate) fn at_a_time(draws: usize) -> usize {
    (KEPT / draws).max(1)
}

/// Values of quantities from draws that `batch` makes, so many at a time.
fn in_batches<'a>(
    quantities: &[Quantity],
    needed: &Dependencies,
    which: Range<usize>,
    mut batch: impl FnMut(Range<usize>) -> Result<Drawn<'a>, PosteriorError>,
) -> Result<Vec<Vec<f64>>, PosteriorError> {
    let at_once = (AT_ONCE / needed.count().max(1)).max(1);
    // Streams of random numbers cannot be entered in between.
    let begin = which.start - which.start % OF_STREAM;
    let mut all = vec![Vec::with_capacity(which.len()); quantities.len()];
    for first in (begin..which.end).step_by(at_once) {
        let some = first..which.end.min(first + at_once);
        let drawn = batch(some.clone())?;
        let early = which.start.saturating_sub(first).min(some.len());
        for (all, mut values) in all.iter_mut().zip(drawn.values(quantities)) {
            all.extend(values.drain(early..));
        }
    }
    Ok(all)
}

/// What is known of a number without draws.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) marginal: Option<PosteriorMarginal>,
    /// The value of the first state, where there are states.
    pub(crate) lowest: f64,
    /// What states stand for, where they are nodes.
    pub(crate) grid: Option<Grid>,
}

impl Known {
    /// Whether it needs draws.
    pub(crate) fn wants_draws(&self) -> bool {
        matches!(
            self.marginal,
            None | Some(PosteriorMarginal::Moments { .. })
        )
    }

    /// The summary of something with these probabilities of its states.
    pub(crate) fn of_states(&self, states: &[f64]) -> Summary {
        match &self.grid {
            Some(grid) => {
                let (mean, sd) = grid.moments(states);
                Summary::new(mean, sd, |p| grid.quantile(states, p))
            }
            None => Summary::of_states(states, self.lowest),
        }
    }

    /// The summary, without what needs draws.
    pub(crate) fn summary(&self) -> Summary {
        match &self.marginal {
            Some(PosteriorMarginal::Closed(marginal)) => {
                Summary::new(marginal.mean(), marginal.sd(), |p| marginal.quantile(p))
            }
            Some(PosteriorMarginal::States(states)) => self.of_states(states),
            &Some(PosteriorMarginal::Moments { mean, sd }) => Summary::new(mean, sd, |_| f64::NAN),
            None => Summary::new(f64::NAN, f64::NAN, |_| f64::NAN),
        }
    }
}

/// Whether only draws tell of a quantity, but for what [`Posterior::exact`] finds.
pub(crate) fn is_drawn(quantity: &Quantity) -> bool {
    matches!(quantity.origin, Origin::Computed | Origin::Predicted)
}

impl Summary {
    pub(crate) fn new(mean: f64, sd: f64, quantile: impl FnMut(f64) -> f64) -> Self {
        Self {
            mean,
            sd,
            quantiles: PROBABILITIES.map(quantile),
        }
    }

    /// A label's value, by the probabilities of its states.
    pub(crate) fn of_states(states: &[f64], lowest: f64) -> Self {
        let values = || (0..).map(|k: u32| lowest + f64::from(k)).zip(states);
        let mean: f64 = values().map(|(value, p)| value * p).sum();
        let variance: f64 = values().map(|(value, p)| (value - mean).powi(2) * p).sum();
        let highest = lowest + states.len().saturating_sub(1) as f64;
        let quantile = |probability: f64| {
            let mut below = 0.0;
            let found = values().find(|(_, p)| {
                below += *p;
                below >= probability
            });
            found.map_or(highest, |(value, _)| value)
        };
        Self::new(mean, variance.sqrt(), quantile)
    }

    /// Draws that have been sorted elsewhere, which knows their quantiles.
    pub(crate) fn of_chains(chains: &[&[f64]], quantile: impl FnMut(f64) -> f64) -> Self {
        let all = || chains.iter().copied().flatten();
        let count = all().count() as f64;
        let mean = all().sum::<f64>() / count;
        let squares: f64 = all().map(|value| (value - mean).powi(2)).sum();
        Self::new(mean, (squares / (count - 1.0)).sqrt(), quantile)
    }

    /// Draws; quantiles lie between neighbours, as R's do unless told otherwise. Nothing is told of a number that some draws
    /// do not have.
    pub(crate) fn of_draws(values: &mut [f64]) -> Self {
        let count = values.len() as f64;
        if values.is_empty() || values.iter().any(|value| value.is_nan()) {
            return Self::new(f64::NAN, f64::NAN, |_| f64::NAN);
        }
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let quantile = |probability: f64| {
            let place = probability * (count - 1.0);
            // Only the two that are asked for are put where sorting would put them.
            let (_, low, above) = values.select_nth_unstable_by(place as usize, f64::total_cmp);
            let (low, next) = (*low, above.iter().copied().min_by(f64::total_cmp));
            let high = next.filter(|_| place.fract() > 0.0).unwrap_or(low);
            low + (high - low) * place.fract()
        };
        Self::new(mean, (squares / (count - 1.0)).sqrt(), quantile)
    }
}

/// What draws with weights of a sum of one say of a number.
struct WeightedMoments {
    mean: f64,
    sd: f64,
    /// The standard error of the mean, in deviations.
    mean_error: f64,
    /// That of the logarithm of the deviation.
    ln_sd_error: f64,
}

impl WeightedMoments {
    fn of(values: &[f64], weights: &[f64]) -> Self {
        let both = || values.iter().zip(weights);
        let mean: f64 = both().map(|(value, weight)| value * weight).sum();
        let variance: f64 = both().map(|(v, w)| w * (v - mean).powi(2)).sum();
        // By the delta method, from the terms of the mean and of the variance.
        let mean_off: f64 = both().map(|(v, w)| (w * (v - mean)).powi(2)).sum();
        let off = |(v, w): (&f64, &f64)| (w * ((v - mean).powi(2) / variance - 1.0)).powi(2);
        Self {
            mean,
            sd: variance.sqrt(),
            mean_error: (mean_off / variance).sqrt(),
            ln_sd_error: 0.5 * both().map(off).sum::<f64>().sqrt(),
        }
    }
}

/// Their quantiles.
fn weighted_quantiles(values: &[f64], weights: &[f64]) -> [f64; 3] {
    // By value, then by place: whole numbers in that order are sorted faster than places by the values there.
    let keys = values.iter().enumerate();
    let mut order: Vec<u128> = keys
        .map(|(place, value)| u128::from(rank(*value)) << 64 | place as u128)
        .collect();
    order.sort_unstable();
    let place = |key: &u128| *key as u64 as usize;
    PROBABILITIES.map(|probability| {
        let mut below = 0.0;
        let found = order.iter().find(|key| {
            below += weights[place(key)];
            below >= probability
        });
        found
            .or(order.last())
            .map_or(f64::NAN, |key| values[place(key)])
    })
}

/// Whole numbers in the order of `total_cmp`.
fn rank(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 0 {
        bits | 1 << 63
    } else {
        !bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_in_order() {
        let values = [
            f64::NEG_INFINITY,
            -7.5,
            -1e-310,
            -0.0,
            0.0,
            5e-324,
            3.0,
            f64::INFINITY,
            f64::NAN,
        ];
        assert!(values.is_sorted_by(|a, b| rank(*a) < rank(*b)));
        let weights = [0.2, 0.5, 0.02, 0.28];
        assert_eq!(
            weighted_quantiles(&[3.0, -1.0, -8.0, 1.0], &weights),
            [-1.0, -1.0, 3.0]
        );
    }

    #[test]
    fn states() {
        let summary = Summary::of_states(&[0.02, 0.48, 0.5], 1.0);
        assert!((summary.mean - 2.48).abs() < 1e-12);
        // E x² − (E x)² = 0.02 + 1.92 + 4.5 − 2.48².
        assert!((summary.sd.powi(2) - (6.44 - 6.1504)).abs() < 1e-12);
        assert_eq!(summary.quantiles, [2.0, 2.0, 3.0]);
    }

    #[test]
    fn draws() {
        // quantile(0:40, c(.025, .5, .975)) and sd(0:40) of R.
        let mut values: Vec<f64> = (0..=40).rev().map(f64::from).collect();
        let summary = Summary::of_draws(&mut values);
        assert_eq!((summary.mean, summary.quantiles), (20.0, [1.0, 20.0, 39.0]));
        assert!((summary.sd - 11.979_148_550_710_939).abs() < 1e-12);
    }
}
