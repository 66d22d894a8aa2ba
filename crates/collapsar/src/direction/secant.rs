//! Newton in the span of the recent steps: what they taught about curvature, for no further pass.

use std::collections::VecDeque;

use nalgebra::{DMatrix, DVector, SymmetricEigen};
use serde::{Deserialize, Serialize};

use crate::driver::{Point, dot};

/// Steps whose metric products are this close to dependent say nothing new beyond rounding.
const INDEPENDENT: f64 = 1e-9;

/// An accepted step in messages, with the changes of gradient and statistics along it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

    pub(crate) fn clear(&mut self) {
        self.recent.clear();
    }

    /// Remembers the step between two points.
    pub(crate) fn remember(&mut self, before: &Point, after: &Point) {
        // The oldest step gives its memory to the newest.
        let mut secant = if self.recent.len() == self.most {
            self.recent.pop_front()
        } else {
            None
        }
        .unwrap_or_else(|| Secant {
            messages: vec![],
            gradient: vec![],
            statistics: vec![],
        });
        difference(&after.messages, &before.messages, &mut secant.messages);
        difference(&after.gradient, &before.gradient, &mut secant.gradient);
        difference(
            &after.statistics,
            &before.statistics,
            &mut secant.statistics,
        );
        // A step without length in the metric (a common shift of all components) says nothing.
        if dot(&secant.messages, &secant.statistics) > 0.0 {
            self.recent.push_back(secant);
        }
    }

    /// Writes the direction of `leap` VBEM steps at once.
    pub(crate) fn direction(
        &self,
        point: &Point,
        leap: f64,
        direction: &mut Vec<f64>,
    ) -> Option<Forecast> {
        direction.clone_from(&point.gradient);
        let (shares, forecast) = self.shares(&point.gradient, leap)?;
        for (secant, share) in self.recent.iter().zip(&shares) {
            for ((d, s), y) in direction
                .iter_mut()
                .zip(&secant.messages)
                .zip(&secant.gradient)
            {
                *d += share * (s + y);
            }
        }
        Some(forecast)
    }

    /// relative error of the forecast
    pub(crate) fn error(&self, forecast: &Forecast, gradient: &[f64]) -> f64 {
        let slopes: Vec<f64> = self
            .recent
            .iter()
            .map(|s| dot(&s.statistics, gradient))
            .collect();
        let (mut wrong, mut change) = (0.0, 0.0);
        for (j, w) in forecast.weights.iter().enumerate() {
            let found: f64 = dot(w, &slopes);
            wrong += (found - forecast.after[j]).powi(2);
            change += forecast.before[j].powi(2).max(forecast.after[j].powi(2));
        }
        (wrong / change).sqrt()
    }

    fn shares(&self, gradient: &[f64], leap: f64) -> Option<(Vec<f64>, Forecast)> {
        let count = self.recent.len();
        if count == 0 {
            return None;
        }
        let at = |i: usize| &self.recent[i];
        let lengths: Vec<f64> = self
            .recent
            .iter()
            .map(|s| dot(&s.messages, &s.statistics).sqrt().recip())
            .collect();
        let symmetric = |entry: &dyn Fn(usize, usize) -> f64| {
            let plain =
                DMatrix::from_fn(count, count, |i, j| entry(i, j) * lengths[i] * lengths[j]);
            (&plain + plain.transpose()) * 0.5
        };
        let metric = symmetric(&|i, j| dot(&at(i).messages, &at(j).statistics));
        let curvature = symmetric(&|i, j| -dot(&at(i).statistics, &at(j).gradient));
        let slope = DVector::from_fn(count, |i, _| dot(&at(i).statistics, gradient) * lengths[i]);

        let basis = SymmetricEigen::new(metric);
        let largest = basis.eigenvalues.max();
        let kept: Vec<usize> = (0..count)
            .filter(|&i| basis.eigenvalues[i] > INDEPENDENT * largest)
            .collect();
        let whiten = DMatrix::from_fn(count, kept.len(), |i, j| {
            basis.eigenvectors[(i, kept[j])] / basis.eigenvalues[kept[j]].sqrt()
        });
        let ritz = SymmetricEigen::new(whiten.transpose() * curvature * &whiten);
        let vectors = whiten * ritz.eigenvectors;
        let before = vectors.transpose() * slope;
        let mut coordinates = before.clone();
        let mut after = vec![];
        for (coordinate, &theta) in coordinates.iter_mut().zip(ritz.eigenvalues.iter()) {
            // lambda in [0,1) for theta in (0,1]
            let theta = theta.clamp(-1.0, 1.0);
            let shrink = (1.0 - theta).powf(leap);
            after.push(*coordinate * shrink);
            let factor = if theta.abs() < 1e-8 {
                leap
            } else {
                (1.0 - shrink) / theta
            };
            *coordinate *= factor;
        }
        let shares = &vectors * coordinates;
        let shares: Vec<f64> = shares.iter().zip(&lengths).map(|(c, l)| c * l).collect();
        let weights = (0..kept.len())
            .map(|j| (0..count).map(|i| vectors[(i, j)] * lengths[i]).collect())
            .collect();
        shares.iter().all(|share| share.is_finite()).then_some((
            shares,
            Forecast {
                weights,
                before: before.as_slice().to_vec(),
                after,
            },
        ))
    }
}

/// What the leap should do to the gradient
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Forecast {
    weights: Vec<Vec<f64>>,
    before: Vec<f64>,
    after: Vec<f64>,
}

fn difference(after: &[f64], before: &[f64], out: &mut Vec<f64>) {
    out.clear();
    out.extend(after.iter().zip(before).map(|(a, b)| a - b));
}
