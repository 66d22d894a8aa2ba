//! Decides what is said of each number of a BUGS model: in closed form where there is one, else from draws.

use std::collections::HashMap;
use std::ops::Range;

use collapsar::graph::{Answer, Belief};
use collapsar_bugs::{Origin, Prepared, Quantity};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::error::{Failure, Result};

/// Draws that quantiles are taken from.
const DRAWS: usize = 4000;
/// Numbers that are drawn at most for them, so that models of millions of labels need fewer draws.
const NUMBERS: usize = 400_000_000;
/// Fewest draws that give quantiles worth telling.
const FEWEST: usize = 400;
/// Numbers of draws that are kept at a time.
const KEPT: usize = 40_000_000;

const SHARES: [f64; 3] = [0.025, 0.5, 0.975];

/// Mean, standard deviation, and quantiles at 2.5%, 50% and 97.5%.
pub(crate) type Row = [f64; 5];

/// A fit that can be asked.
pub(crate) struct Posterior<'a> {
    pub(crate) source: &'a str,
    pub(crate) prepared: &'a Prepared,
    pub(crate) answer: Answer<'a>,
    pub(crate) seed: u64,
}

impl Posterior<'_> {
    /// What is said of these.
    pub(crate) fn rows(&self, quantities: &[Quantity]) -> Result<Vec<Row>> {
        let beliefs = self.answer.beliefs()?;
        let mut labels = self.labels(quantities)?;
        let mut wanting = vec![];
        let mut rows = Vec::with_capacity(quantities.len());
        for (place, quantity) in quantities.iter().enumerate() {
            let belief = self.prepared.belief(quantity, &beliefs);
            let belief = belief.or_else(|| labels.remove(&place));
            rows.push(match (belief, quantity.origin) {
                (Some(Belief::Marginal(marginal)), _) => {
                    let [low, median, high] = SHARES.map(|share| marginal.quantile(share));
                    [marginal.mean(), marginal.sd(), low, median, high]
                }
                (Some(Belief::States(states)), Origin::Label(_, lowest)) => {
                    of_states(&states, f64::from(lowest))
                }
                (Some(Belief::Moments { mean, sd }), _) => {
                    wanting.push(place);
                    [mean, sd, f64::NAN, f64::NAN, f64::NAN]
                }
                _ => {
                    wanting.push(place);
                    [f64::NAN; 5]
                }
            });
        }
        let count = (NUMBERS / self.answer.len().max(1)).clamp(FEWEST, DRAWS);
        for places in wanting.chunks((KEPT / count).max(1)) {
            let some: Vec<Quantity> = places.iter().map(|&p| quantities[p].clone()).collect();
            let draws = self.draws(&some, 0..count)?;
            for (column, &place) in places.iter().enumerate() {
                let mut values: Vec<f64> = draws.iter().map(|draw| draw[column]).collect();
                let found = of_draws(&mut values);
                if quantities[place].origin == Origin::Computed {
                    rows[place] = found;
                } else {
                    rows[place][2..].copy_from_slice(&found[2..]);
                }
            }
        }
        Ok(rows)
    }

    /// The states of labels that are kept as rows, by place.
    fn labels(&self, quantities: &[Quantity]) -> Result<HashMap<usize, Belief>> {
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
                    found.insert(place, Belief::States(states.to_vec()));
                }
            })?;
        }
        Ok(found)
    }

    /// Draws of these, a row a draw: the same, whichever are asked for.
    pub(crate) fn draws(
        &self,
        quantities: &[Quantity],
        which: Range<usize>,
    ) -> Result<Vec<Vec<f64>>> {
        let mut numbers = vec![0.0; self.answer.len()];
        let mut draw = |index: usize| {
            let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
            rng.set_stream(index as u64 + 1);
            self.answer.draw(&mut rng, &mut numbers)?;
            let mut row = vec![0.0; quantities.len()];
            let done = (self.prepared).values(quantities, &self.answer, &numbers, &mut row);
            done.map_err(|found| Failure::Model(Box::new(found), self.source.into()))?;
            Ok(row)
        };
        which.map(&mut draw).collect()
    }
}

/// What the probabilities of a label's states say of its value.
fn of_states(states: &[f64], lowest: f64) -> Row {
    let values = || (0..).map(|k| lowest + f64::from(k)).zip(states);
    let mean: f64 = values().map(|(value, p)| value * p).sum();
    let variance: f64 = values().map(|(value, p)| (value - mean).powi(2) * p).sum();
    let last = lowest + states.len().saturating_sub(1) as f64;
    let [low, median, high] = SHARES.map(|share| {
        let mut below = 0.0;
        let found = values().find(|(_, p)| {
            below += *p;
            below >= share
        });
        found.map_or(last, |(value, _)| value)
    });
    [mean, variance.sqrt(), low, median, high]
}

/// What draws say; quantiles lie between neighbours, as NumPy's do unless told otherwise.
fn of_draws(values: &mut [f64]) -> Row {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    values.sort_unstable_by(f64::total_cmp);
    let [low, median, high] = SHARES.map(|share| {
        let place = share * (count - 1.0);
        let (low, high) = (values[place as usize], values[place.ceil() as usize]);
        low + (high - low) * place.fract()
    });
    [mean, (squares / (count - 1.0)).sqrt(), low, median, high]
}
