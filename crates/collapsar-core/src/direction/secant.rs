//! What the recent steps taught about curvature, for no further pass over the data.

use std::collections::VecDeque;

use nalgebra::{DMatrix, DVector, SymmetricEigen};
use serde::{Deserialize, Serialize};

use super::Iterate;
use crate::elementary::Elementary;
use crate::vector::{difference, dot};

/// Steps whose metric products are this close to dependent say nothing new beyond rounding.
const INDEPENDENT: f64 = 1e-9;
/// Below this $1 - \lambda$ the sum of the geometric series is its number of terms.
const FLAT: f64 = 1e-8;

/// An accepted step in messages, with the changes of gradient and statistics along it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Secant {
    messages: Vec<f64>,
    gradient: Vec<f64>,
    statistics: Vec<f64>,
}

/// The recent steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Secants {
    recent: VecDeque<Secant>,
    most: usize,
}

impl Secants {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            recent: VecDeque::with_capacity(most),
            most,
        }
    }

    /// Whether these are at most so many steps of so many numbers.
    pub(crate) fn belong(&self, messages: usize, most: usize) -> bool {
        let lengths = self.recent.iter().flat_map(|secant| {
            let vectors = [&secant.messages, &secant.gradient, &secant.statistics];
            vectors.map(Vec::len)
        });
        self.most == most
            && self.recent.len() <= most
            && lengths.into_iter().all(|length| length == messages)
    }

    /// Remembers the step between two points.
    pub(crate) fn remember(&mut self, before: &Iterate, after: &Iterate) {
        // The oldest step gives its memory to the newest.
        let mut secant = Secant::default();
        if self.recent.len() == self.most {
            secant = self.recent.pop_front().unwrap_or_default();
        }
        let statistics = &mut secant.statistics;
        difference(&after.messages, &before.messages, &mut secant.messages);
        difference(after.ascent(), before.ascent(), &mut secant.gradient);
        difference(&after.statistics, &before.statistics, statistics);
        // A step without length in the metric (a common shift of all components) says nothing.
        if dot(&secant.messages, &secant.statistics) > 0.0 {
            self.recent.push_back(secant);
        }
    }

    /// Writes the step that `pace` VBEM steps would make if the bound were quadratic in the span
    /// of the remembered steps, and the plain gradient outside of it; along directions in which
    /// the gradient grows, that of `growth` VBEM steps.
    ///
    /// Returns what the gradient should then be, or nothing where no step is remembered: the
    /// direction is the gradient then.
    pub(crate) fn leap(
        &self,
        point: &Iterate,
        pace: f64,
        growth: f64,
        direction: &mut Vec<f64>,
    ) -> Option<Forecast> {
        point.ascent().clone_into(direction);
        let (vectors, ritz) = self.span()?;
        // ⟨v, g⟩ in the metric, for each Ritz vector v.
        let before = vectors.tr_mul(&self.slopes(point.ascent()));
        let (mut after, mut coefficients) = (before.clone(), before.clone());
        let both = after.iter_mut().zip(&mut coefficients);
        for ((after, coefficient), &theta) in both.zip(&ritz) {
            // A VBEM step leaves λ = 1 − θ of the slope, so n of them leave λⁿ and go
            // 1 + λ + … + λⁿ⁻¹ times as far as one. The last of them is the gradient that the
            // others leave, added below. λ is in [0, 1) at a maximum; rounding and curvature
            // that changes along the steps can put it outside of [0, 2].
            let theta = theta.clamp(-1.0, 1.0);
            let steps = if theta < 0.0 { growth } else { pace };
            *after *= (1.0 - theta).powf_(steps);
            *coefficient *= if theta.abs() < FLAT {
                steps - 1.0
            } else {
                (1.0 - (1.0 - theta).powf_(steps - 1.0)) / theta
            };
        }
        let coefficients = &vectors * coefficients;
        if !coefficients.iter().all(|c| c.is_finite()) {
            return None;
        }
        for (secant, coefficient) in self.recent.iter().zip(coefficients.iter()) {
            let changes = secant.messages.iter().zip(&secant.gradient);
            for (d, (s, y)) in direction.iter_mut().zip(changes) {
                *d += coefficient * (s + y); // maths §5.5
            }
        }
        let growing = ritz.iter().any(|&theta| theta < -FLAT);
        Some(Forecast {
            vectors,
            before,
            after,
            growing,
        })
    }

    /// How wrong a forecast was, relative to the larger of what it started from and foresaw.
    ///
    /// To be asked before the step is remembered: the forecast speaks of the steps before it.
    pub(crate) fn error(&self, forecast: &Forecast, gradient: &[f64]) -> f64 {
        let found = forecast.vectors.tr_mul(&self.slopes(gradient));
        let sizes = forecast.before.iter().zip(&forecast.after);
        let size: f64 = sizes.map(|(b, a)| b.abs().max(a.abs()).powi(2)).sum();
        (found - &forecast.after).norm() / size.sqrt()
    }

    fn slopes(&self, gradient: &[f64]) -> DVector<f64> {
        let slopes = (self.recent.iter()).map(|secant| dot(&secant.statistics, gradient));
        DVector::from_iterator(self.recent.len(), slopes)
    }

    /// Ritz vectors of I − FJ in the span of the remembered steps, as coefficients of these, and Ritz values:
    /// estimates of 1 − λ, λ being VBEM's rate along the vector. None of it is from a pass:
    /// the metric carries a step in messages to one in statistics, and I − FJ carries it to the
    /// fall of the gradient (maths §5.5).
    fn span(&self) -> Option<(DMatrix<f64>, DVector<f64>)> {
        let count = self.recent.len();
        if count == 0 {
            return None;
        }
        let at = |i: usize| &self.recent[i];
        // Steps differ in length by orders of magnitude: compare directions.
        let units: Vec<f64> = self
            .recent
            .iter()
            .map(|s| dot(&s.messages, &s.statistics).sqrt().recip())
            .collect();
        let symmetric = |entry: &dyn Fn(usize, usize) -> f64| {
            let plain = DMatrix::from_fn(count, count, |i, j| entry(i, j) * units[i] * units[j]);
            (&plain + plain.transpose()) * 0.5
        };
        let metric = symmetric(&|i, j| dot(&at(i).messages, &at(j).statistics));
        let curvature = symmetric(&|i, j| -dot(&at(i).statistics, &at(j).gradient));
        // Products of steps along numbers of very different sizes may overflow, and no step is learned from then.
        if (metric.iter().chain(&curvature)).any(|entry| !entry.is_finite()) {
            return None;
        }
        let basis = SymmetricEigen::new(metric);
        let largest = basis.eigenvalues.max();
        let kept: Vec<usize> = (0..count)
            .filter(|&i| basis.eigenvalues[i] > INDEPENDENT * largest)
            .collect();
        let whiten = DMatrix::from_fn(count, kept.len(), |i, j| {
            basis.eigenvectors[(i, kept[j])] / basis.eigenvalues[kept[j]].sqrt()
        });
        let ritz = SymmetricEigen::new(whiten.tr_mul(&curvature) * &whiten);
        let mut vectors = whiten * ritz.eigenvectors;
        for (mut row, unit) in vectors.row_iter_mut().zip(&units) {
            row *= *unit;
        }
        Some((vectors, ritz.eigenvalues))
    }
}

/// What a leap should do to the gradient's slopes along the Ritz vectors.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Forecast {
    vectors: DMatrix<f64>,
    before: DVector<f64>,
    after: DVector<f64>,
    /// Whether the gradient grows along one of them: a saddle is being left.
    pub(crate) growing: bool,
}
