//! Decides what is known of each number where a fit is one for each state of some labels (maths §10.6).

use std::collections::HashMap;
use std::ops::Range;

use collapsar::family::{Marginal, pick};
use collapsar::graph::PosteriorMarginal;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::posterior::{Known, Posterior, PosteriorError, Summary, at_a_time, draws_for, is_drawn};
use crate::quantity::{Origin, Quantity};

/// How near a quantile is to that of the mixture, as a fraction of the distance between those of its parts.
const NEAR: f64 = 1e-9;
/// Marks the stream of random numbers that picks the part of each draw.
const PICKED: u64 = 1 << 42;

/// Fits of one model for several states of its labels, each with its probability.
#[derive(Debug)]
pub struct MixedPosterior<'a> {
    /// The probability of each, which sum to one, and the fit.
    pub parts: Vec<(f64, Posterior<'a>)>,
    /// The probabilities of the states of the labels that tell the fits apart.
    pub labels: HashMap<u32, Vec<f64>>,
    /// The seed of draws.
    pub seed: u64,
}

/// What is known of a number in one part.
enum Part<'a> {
    Known(&'a Known),
    /// Sorted draws.
    Drawn(Vec<f64>),
}

impl MixedPosterior<'_> {
    /// Summaries of these, and how many draws they took.
    ///
    /// # Errors
    /// As [`Posterior::summaries`].
    pub fn summaries(
        &self,
        quantities: &[Quantity],
    ) -> Result<(Vec<Summary>, usize), PosteriorError> {
        let known = self.parts.iter().map(|(_, part)| part.known(quantities));
        let known: Vec<Vec<Known>> = known.collect::<Result<_, _>>()?;
        let mut summaries = Vec::with_capacity(quantities.len());
        let mut wanting = vec![];
        for (place, quantity) in quantities.iter().enumerate() {
            let of: Vec<&Known> = known.iter().map(|known| &known[place]).collect();
            let label = self.label(quantity).or_else(|| self.states(&of));
            summaries.push(match label {
                Some(states) => of[0].of_states(&states),
                None if of.iter().any(|known| known.wants_draws()) => {
                    wanting.push(place);
                    of[0].summary()
                }
                None => self.summary(&of.into_iter().map(Part::Known).collect::<Vec<_>>()),
            });
        }
        if wanting.is_empty() {
            return Ok((summaries, 0));
        }
        let of = |places: &[usize]| -> Vec<Quantity> {
            let places = places.iter();
            places.map(|&place| quantities[place].clone()).collect()
        };
        let count = draws_for(self.parts[0].1.prepared, &of(&wanting));
        for places in wanting.chunks(at_a_time(count + self.parts.len())) {
            let mut drawn: Vec<Vec<Option<Vec<f64>>>> = vec![];
            for ((weight, part), known) in self.parts.iter().zip(&known) {
                let wants = |place: &&usize| known[**place].wants_draws();
                let some: Vec<usize> = places.iter().filter(wants).copied().collect();
                // In proportion, and one at least.
                let draws = part.draws(&of(&some), 0..(weight * count as f64).ceil() as usize)?;
                let mut draws = draws.into_iter();
                let each = places.iter().map(|place| {
                    let mut values = some.contains(place).then(|| draws.next()).flatten()?;
                    values.sort_unstable_by(f64::total_cmp);
                    Some(values)
                });
                drawn.push(each.collect());
            }
            for (index, &place) in places.iter().enumerate() {
                let parts =
                    drawn
                        .iter_mut()
                        .zip(&known)
                        .map(|(drawn, known)| match drawn[index].take() {
                            Some(values) => Part::Drawn(values),
                            None => Part::Known(&known[place]),
                        });
                let parts: Vec<Part> = parts.collect();
                let moments = known.iter().map(|known| &known[place]);
                let moments = moments.map(|known| known.marginal.as_ref());
                let exact = moments.map(|marginal| match marginal {
                    Some(PosteriorMarginal::Moments { mean, sd }) => Some((*mean, *sd)),
                    _ => None,
                });
                let exact: Vec<Option<(f64, f64)>> = exact.collect();
                let mut summary = self.summary(&parts);
                // Moments in closed form are better than those of draws.
                if !is_drawn(&quantities[place])
                    && let Some(moments) = exact.into_iter().collect::<Option<Vec<_>>>()
                {
                    (summary.mean, summary.sd) = self.total(&moments);
                }
                summaries[place] = summary;
            }
        }
        Ok((summaries, count))
    }

    /// The probabilities of a label that tells fits apart.
    fn label(&self, quantity: &Quantity) -> Option<Vec<f64>> {
        let (Origin::Label(variable, _) | Origin::Grid(variable)) = quantity.origin else {
            return None;
        };
        self.labels.get(&variable).cloned()
    }

    /// The probabilities of states that all parts give.
    fn states(&self, known: &[&Known]) -> Option<Vec<f64>> {
        let mut sum: Vec<f64> = vec![];
        for ((weight, _), known) in self.parts.iter().zip(known) {
            let Some(PosteriorMarginal::States(states)) = &known.marginal else {
                return None;
            };
            sum.resize(sum.len().max(states.len()), 0.0);
            for (sum, p) in sum.iter_mut().zip(states) {
                *sum += weight * p;
            }
        }
        Some(sum)
    }

    /// Mean and deviation by the law of total variance.
    fn total(&self, moments: &[(f64, f64)]) -> (f64, f64) {
        let parts = || self.parts.iter().map(|(weight, _)| weight).zip(moments);
        let mean: f64 = parts().map(|(weight, (mean, _))| weight * mean).sum();
        let variance = |&(m, sd): &(f64, f64)| sd * sd + (m - mean).powi(2);
        let variance: f64 = parts().map(|(weight, of)| weight * variance(of)).sum();
        (mean, variance.sqrt())
    }

    fn summary(&self, parts: &[Part]) -> Summary {
        let moments: Vec<(f64, f64)> = parts.iter().map(Part::moments).collect();
        let (mean, sd) = self.total(&moments);
        Summary::new(mean, sd, |p| self.quantile(parts, p))
    }

    /// The least value whose probability of being exceeded is at most one minus this.
    fn quantile(&self, parts: &[Part], probability: f64) -> f64 {
        let ends = parts.iter().map(|part| part.quantile(probability));
        let ends: Vec<f64> = ends.collect();
        // A mixture's quantile lies between those of its parts.
        let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
        let high = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !(low < high && (high - low).is_finite()) {
            return if ends.iter().any(|end| end.is_nan()) {
                f64::NAN
            } else {
                low
            };
        }
        let below = |x: f64| -> f64 {
            let parts = self.parts.iter().zip(parts);
            parts.map(|((weight, _), part)| weight * part.cdf(x)).sum()
        };
        if below(low) >= probability {
            return low;
        }
        let near = NEAR * (high - low);
        let (mut low, mut high) = (low, high);
        while high - low > near {
            let middle = 0.5 * (low + high);
            if below(middle) >= probability {
                high = middle;
            } else {
                low = middle;
            }
        }
        // Where the CDF jumps, exactly there.
        let jump = parts.iter().find_map(|part| part.jump(low, high));
        jump.unwrap_or(high)
    }

    /// Draws of each of these: a state by its probability, then all numbers given it; the same, whichever are asked
    /// for.
    ///
    /// # Errors
    /// As [`Posterior::draws`].
    pub fn draws(
        &self,
        quantities: &[Quantity],
        which: Range<usize>,
    ) -> Result<Vec<Vec<f64>>, PosteriorError> {
        let weights: Vec<f64> = self.parts.iter().map(|(weight, _)| *weight).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(PICKED);
        let picked: Vec<usize> = (0..which.end)
            .map(|_| pick(&weights, 1.0, &mut rng))
            .collect();
        let mut columns = vec![vec![0.0; which.len()]; quantities.len()];
        for (part, (_, posterior)) in self.parts.iter().enumerate() {
            let before = picked[..which.start].iter().filter(|&&p| p == part).count();
            let places = picked[which.clone()].iter().enumerate();
            let places: Vec<usize> = places
                .filter_map(|(place, &p)| (p == part).then_some(place))
                .collect();
            if places.is_empty() {
                continue;
            }
            let draws = posterior.draws(quantities, before..before + places.len())?;
            for (column, values) in columns.iter_mut().zip(draws) {
                for (&place, value) in places.iter().zip(values) {
                    column[place] = value;
                }
            }
        }
        Ok(columns)
    }
}

impl Part<'_> {
    fn closed(&self) -> Option<&Marginal> {
        match self {
            Self::Known(Known {
                marginal: Some(PosteriorMarginal::Closed(marginal)),
                ..
            }) => Some(marginal),
            _ => None,
        }
    }

    fn moments(&self) -> (f64, f64) {
        match self {
            Self::Known(known) => {
                let summary = known.summary();
                (summary.mean, summary.sd)
            }
            Self::Drawn(values) => {
                let count = values.len() as f64;
                let mean = values.iter().sum::<f64>() / count;
                let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
                (mean, (squares / count).sqrt())
            }
        }
    }

    /// The probability of this value or less.
    fn cdf(&self, x: f64) -> f64 {
        match self {
            Self::Drawn(values) => {
                values.partition_point(|value| *value <= x) as f64 / values.len() as f64
            }
            Self::Known(known) => match &known.marginal {
                Some(PosteriorMarginal::Closed(marginal)) => marginal.cdf(x),
                Some(PosteriorMarginal::States(states)) => {
                    let below = (x - known.lowest).floor() + 1.0;
                    states.iter().take(below.max(0.0) as usize).sum()
                }
                _ => f64::NAN,
            },
        }
    }

    /// The least value with this probability of itself or less.
    fn quantile(&self, probability: f64) -> f64 {
        match self {
            Self::Drawn(values) => {
                let place = (probability * values.len() as f64).ceil() as usize;
                let place = place.clamp(1, values.len().max(1)) - 1;
                values.get(place).copied().unwrap_or(f64::NAN)
            }
            Self::Known(known) => match self.closed() {
                Some(marginal) => marginal.quantile(probability),
                None => match &known.marginal {
                    Some(PosteriorMarginal::States(states)) => {
                        let mut below = 0.0;
                        let place = states.iter().position(|p| {
                            below += p;
                            below >= probability
                        });
                        known.lowest + place.unwrap_or(states.len().max(1) - 1) as f64
                    }
                    _ => f64::NAN,
                },
            },
        }
    }

    /// A value above `low` and at most `high` at which the CDF jumps.
    fn jump(&self, low: f64, high: f64) -> Option<f64> {
        let inside = |value: &f64| *value > low && *value <= high;
        match self {
            Self::Drawn(values) => {
                let place = values.partition_point(|value| *value <= low);
                values.get(place).copied().filter(inside)
            }
            Self::Known(known) => match &known.marginal {
                Some(PosteriorMarginal::Closed(Marginal::Point(value))) => {
                    Some(*value).filter(inside)
                }
                Some(PosteriorMarginal::States(_)) => Some(high.floor()).filter(inside),
                _ => None,
            },
        }
    }
}
