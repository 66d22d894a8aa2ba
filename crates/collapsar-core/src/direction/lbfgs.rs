//! Limited-memory BFGS in the Fisher metric: two loops over recent steps, started from the natural gradient.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{Iterate, Proposal};
use crate::collapsed::Collapsed;
use crate::error::Result;
use crate::vector::{add, difference, dot};

/// Pairs beyond ten did not save iterations on the mixtures and cost memory.
const MEMORY: usize = 10;

/// A step and the fall of the gradient along it, in both coordinates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Pair {
    step: Vec<f64>,
    fall: Vec<f64>,
    fall_dual: Vec<f64>,
    curvature: f64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Lbfgs {
    pairs: VecDeque<Pair>,
    /// The step just taken and the gradients before it, until the next dual gradient completes the pair.
    pending: Option<(Vec<f64>, Vec<f64>, Vec<f64>)>,
    dual: Vec<f64>,
}

impl Lbfgs {
    /// Whether all vectors have so many numbers.
    pub(crate) fn belongs(&self, messages: usize) -> bool {
        let pairs = self.pairs.iter().flat_map(|pair| {
            let vectors = [&pair.step, &pair.fall, &pair.fall_dual];
            vectors.map(Vec::len)
        });
        let pending = (self.pending.iter()).flat_map(|(a, b, c)| [a.len(), b.len(), c.len()]);
        let dual = Some(self.dual.len()).filter(|&length| length > 0);
        (pairs.chain(pending).chain(dual)).all(|length| length == messages)
            && self.pairs.len() <= MEMORY
    }

    pub(crate) fn propose(
        &mut self,
        point: &Iterate,
        model: &impl Collapsed,
        direction: &mut Vec<f64>,
    ) -> Result<Proposal> {
        let gradient = &point.gradient;
        self.dual.resize(gradient.len(), 0.0);
        model.metric_product(point, gradient, &mut self.dual)?;
        let squared_norm = dot(gradient, &self.dual);
        self.complete_pair(gradient);

        // The two-loop recursion of NocedalWright06 (7.4) with H₀ = J⁻¹: `dual` plays the gradient, and
        // `direction` is J⁻¹ dual, known because the pairs are kept in both coordinates (maths §5.3).
        direction.clone_from(gradient);
        let mut dual = self.dual.clone();
        let mut coefficients = Vec::with_capacity(self.pairs.len());
        for pair in self.pairs.iter().rev() {
            let coefficient = dot(&pair.step, &dual) / pair.curvature;
            add(&mut dual, -coefficient, &pair.fall_dual);
            add(direction, -coefficient, &pair.fall);
            coefficients.push(coefficient);
        }
        for (pair, coefficient) in self.pairs.iter().zip(coefficients.iter().rev()) {
            let correction = dot(&pair.fall_dual, direction) / pair.curvature;
            add(direction, coefficient - correction, &pair.step);
        }
        // The metric is not the same everywhere, so the product need not be an ascent direction.
        let ascends = dot(direction, &self.dual) > 0.0 && direction.iter().all(|d| d.is_finite());
        if !ascends {
            self.pairs.clear();
            direction.clone_from(gradient);
        }
        Ok(Proposal {
            beta: None,
            squared_norm: Some(squared_norm),
            is_gradient: self.pairs.is_empty(),
            passes: 1,
        })
    }

    fn complete_pair(&mut self, gradient: &[f64]) {
        let Some((step, mut fall, mut fall_dual)) = self.pending.take() else {
            return;
        };
        add(&mut fall, -1.0, gradient);
        add(&mut fall_dual, -1.0, &self.dual);
        let curvature = dot(&step, &fall_dual);
        // Where the bound curves upwards along the step there is no quadratic model to learn from.
        if curvature > 1e-12 * dot(&step, &step).sqrt() * dot(&fall_dual, &fall_dual).sqrt() {
            if self.pairs.len() == MEMORY {
                self.pairs.pop_front();
            }
            self.pairs.push_back(Pair {
                step,
                fall,
                fall_dual,
                curvature,
            });
        }
    }

    pub(crate) fn learn(&mut self, before: &Iterate, after: &Iterate, fell_back: bool) {
        if fell_back {
            self.pairs.clear();
        }
        let mut step = vec![];
        difference(&after.messages, &before.messages, &mut step);
        self.pending = Some((step, before.gradient.clone(), self.dual.clone()));
    }
}
