//! Decides what is said of each number: in closed form where there is one, else from draws of q.

use std::collections::HashMap;

use collapsar::graph::{PosteriorMarginal, VariationalPosterior};

use crate::diagnostic::Diagnostic;
use crate::draws::{Failure, Needs, OF_STREAM, Sampler};
use crate::exact::Exact;
use crate::model::Prepared;
use crate::quantity::{Origin, Quantity};

/// Draws that quantiles are taken from.
const DRAWS: usize = 4000;
/// Numbers that are drawn at most for them, so that models of millions of labels need fewer draws.
const NUMBERS: usize = 400_000_000;
/// Fewest draws that give quantiles worth telling.
const FEWEST: usize = 400;
/// Numbers of draws that are kept at a time.
const KEPT: usize = 40_000_000;

/// Numbers that are drawn before lines are computed from them.
const AT_ONCE: usize = 1_000_000;

/// What is said of one number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// At 2.5%, 50% and 97.5%.
    pub quantiles: [f64; 3],
}

/// Why a fit does not answer.
#[derive(Debug)]
pub enum Refusal {
    /// A line cannot be computed.
    Model(Box<Diagnostic>),
    /// The fit ended outside the domain.
    Fit(collapsar::Error),
}

impl From<Diagnostic> for Refusal {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Model(Box::new(diagnostic))
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Model(diagnostic) => Self::Model(diagnostic),
            Failure::Fit(error) => Self::Fit(error),
        }
    }
}

impl From<collapsar::Error> for Refusal {
    fn from(error: collapsar::Error) -> Self {
        Self::Fit(error)
    }
}

const SHARES: [f64; 3] = [0.025, 0.5, 0.975];

/// A fit that can be asked.
#[derive(Debug)]
pub struct Posterior<'a> {
    /// The model with its data.
    pub prepared: &'a Prepared,
    /// The factors of q.
    pub answer: &'a VariationalPosterior<'a>,
    /// The seed of draws.
    pub seed: u64,
}

impl Posterior<'_> {
    /// What is said of these, and how many draws it took.
    ///
    /// # Errors
    /// Where the fit ended outside the domain or a line cannot be computed.
    pub fn rows(&self, quantities: &[Quantity]) -> Result<(Vec<Row>, usize), Refusal> {
        let closed = |quantity: &Quantity| !drawn(quantity);
        let beliefs = if quantities.iter().any(closed) {
            Some(self.answer.marginals()?)
        } else {
            None
        };
        let mut labels = self.labels(quantities)?;
        let exact = Exact::new(&self.prepared.lowered, self.answer);
        let mut wanting = vec![];
        let mut rows: Vec<Row> = Vec::with_capacity(quantities.len());
        for (place, quantity) in quantities.iter().enumerate() {
            let belief = beliefs
                .as_ref()
                .and_then(|beliefs| self.prepared.belief(quantity, beliefs))
                .or_else(|| labels.remove(&place))
                .or_else(|| exact.belief(quantity, beliefs.as_ref()));
            rows.push(match belief {
                Some(PosteriorMarginal::Closed(marginal)) => Row {
                    mean: marginal.mean(),
                    sd: marginal.sd(),
                    quantiles: SHARES.map(|share| marginal.quantile(share)),
                },
                Some(PosteriorMarginal::States(states)) => {
                    let lowest = match quantity.origin {
                        Origin::Label(_, lowest) => f64::from(lowest),
                        _ => exact.lowest(quantity),
                    };
                    of_states(&states, lowest)
                }
                Some(PosteriorMarginal::Moments { mean, sd }) => {
                    wanting.push(place);
                    let quantiles = [f64::NAN; 3];
                    Row {
                        mean,
                        sd,
                        quantiles,
                    }
                }
                None => {
                    wanting.push(place);
                    of_draws(&mut [])
                }
            });
        }
        drop((beliefs, labels));
        if wanting.is_empty() {
            return Ok((rows, 0));
        }
        let some: Vec<Quantity> = wanting.iter().map(|&p| quantities[p].clone()).collect();
        let needs = Needs::of(&self.prepared.lowered, &some);
        let count = (NUMBERS / needs.count().max(1)).clamp(FEWEST, DRAWS);
        for places in wanting.chunks((KEPT / count).max(1)) {
            let some: Vec<Quantity> = places.iter().map(|&p| quantities[p].clone()).collect();
            let mut draws = self.draws(&some, 0..count)?;
            for (&place, values) in places.iter().zip(&mut draws) {
                let found = of_draws(values);
                if drawn(&quantities[place]) {
                    rows[place] = found;
                } else {
                    rows[place].quantiles = found.quantiles;
                }
            }
        }
        Ok((rows, count))
    }

    /// The states of labels that are kept as rows, by place.
    fn labels(
        &self,
        quantities: &[Quantity],
    ) -> Result<HashMap<usize, PosteriorMarginal>, Refusal> {
        let mut wanted = HashMap::new();
        for (place, quantity) in quantities.iter().enumerate() {
            if let Origin::Label(variable, _) = quantity.origin {
                wanted.insert(variable, place);
            }
        }
        let mut found = HashMap::new();
        if !wanted.is_empty() {
            self.answer.each_label(|variable, states| {
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
    /// As [`Posterior::rows`].
    pub fn draws(
        &self,
        quantities: &[Quantity],
        which: std::ops::Range<usize>,
    ) -> Result<Vec<Vec<f64>>, Refusal> {
        let needs = Needs::of(&self.prepared.lowered, quantities);
        let mut sampler = Sampler::new(&self.prepared.lowered, self.answer, &needs, self.seed);
        let at_once = (AT_ONCE / needs.count().max(1)).max(1);
        // Streams of random numbers cannot be entered in between.
        let begin = which.start - which.start % OF_STREAM;
        let mut all = vec![Vec::with_capacity(which.len()); quantities.len()];
        for first in (begin..which.end).step_by(at_once) {
            let some = first..which.end.min(first + at_once);
            let drawn = sampler.draws(some.clone())?;
            let early = which.start.saturating_sub(first).min(some.len());
            for (all, mut values) in all.iter_mut().zip(drawn.values(quantities)?) {
                all.extend(values.drain(early..));
            }
        }
        Ok(all)
    }
}

/// Whether only draws tell of a quantity, but for what [`Exact`] finds.
fn drawn(quantity: &Quantity) -> bool {
    matches!(quantity.origin, Origin::Computed | Origin::Predicted)
}

/// What the probabilities of a label's states say of its value.
fn of_states(states: &[f64], lowest: f64) -> Row {
    let values = || {
        states
            .iter()
            .enumerate()
            .map(|(k, p)| (lowest + k as f64, p))
    };
    let mean: f64 = values().map(|(value, p)| value * p).sum();
    let variance: f64 = values().map(|(value, p)| (value - mean).powi(2) * p).sum();
    let quantile = |share: f64| {
        let mut below = 0.0;
        let found = values().find(|(_, p)| {
            below += *p;
            below >= share
        });
        found.map_or(
            lowest + states.len().saturating_sub(1) as f64,
            |(value, _)| value,
        )
    };
    Row {
        mean,
        sd: variance.sqrt(),
        quantiles: SHARES.map(quantile),
    }
}

/// What draws say; quantiles lie between neighbours, as R's do unless told otherwise.
fn of_draws(values: &mut [f64]) -> Row {
    let count = values.len() as f64;
    if values.is_empty() {
        let quantiles = [f64::NAN; 3];
        let (mean, sd) = (f64::NAN, f64::NAN);
        return Row {
            mean,
            sd,
            quantiles,
        };
    }
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let quantile = |share: f64| {
        let place = share * (count - 1.0);
        // Only the two that are asked for are put where sorting would put them.
        let (_, low, above) = values.select_nth_unstable_by(place as usize, f64::total_cmp);
        let (low, next) = (*low, above.iter().copied().min_by(f64::total_cmp));
        let high = next.filter(|_| place.fract() > 0.0).unwrap_or(low);
        low + (high - low) * place.fract()
    };
    Row {
        mean,
        sd: (squares / (count - 1.0)).sqrt(),
        quantiles: SHARES.map(quantile),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states() {
        let row = of_states(&[0.02, 0.48, 0.5], 1.0);
        assert!((row.mean - 2.48).abs() < 1e-12);
        // E x² − (E x)² = 0.02 + 1.92 + 4.5 − 2.48².
        assert!((row.sd.powi(2) - (6.44 - 6.1504)).abs() < 1e-12);
        assert_eq!(row.quantiles, [2.0, 2.0, 3.0]);
    }

    #[test]
    fn draws() {
        // quantile(0:40, c(.025, .5, .975)) and sd(0:40) of R.
        let mut values: Vec<f64> = (0..=40).rev().map(f64::from).collect();
        let row = of_draws(&mut values);
        assert_eq!((row.mean, row.quantiles), (20.0, [1.0, 20.0, 39.0]));
        assert!((row.sd - 11.979_148_550_710_939).abs() < 1e-12);
    }
}
