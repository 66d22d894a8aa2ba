//! The conjugate rules of HRL12: the previous direction is added, times beta, to the gradient.

use serde::{Deserialize, Serialize};

use super::{Iterate, Proposal, all_of};
use crate::collapsed::Collapsed;
use crate::error::Result;
use crate::vector::{add, difference, dot};

/// How beta is found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Beta {
    #[default]
    FletcherReeves,
    PolakRibiere,
    HestenesStiefel,
}

/// The previous gradient in both coordinates, and the previous direction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Conjugate {
    beta: Beta,
    gradient: Vec<f64>,
    /// $J g$, the gradient with respect to the messages.
    dual: Vec<f64>,
    step: Vec<f64>,
    scratch: Vec<f64>,
}

impl Conjugate {
    pub(crate) fn new(beta: Beta) -> Self {
        Self {
            beta,
            ..Self::default()
        }
    }

    /// Whether all vectors have so many numbers.
    pub(crate) fn belongs(&self, messages: usize) -> bool {
        let vectors = [&self.gradient, &self.dual, &self.step, &self.scratch];
        all_of(messages, &vectors) && (self.step.is_empty() || !self.dual.is_empty())
    }

    pub(crate) fn propose(
        &mut self,
        point: &Iterate,
        model: &impl Collapsed,
        direction: &mut Vec<f64>,
    ) -> Result<Proposal> {
        let gradient = &point.gradient;
        self.scratch.resize(gradient.len(), 0.0);
        model.metric_product(point, gradient, &mut self.scratch)?;
        let dual = &self.scratch;
        let squared_norm = dot(gradient, dual);

        let mut beta = 0.0;
        if !self.step.is_empty() {
            let previous = dot(&self.gradient, &self.dual);
            // ⟨g, g−g′⟩ in the metric here and ⟨g′, g−g′⟩ in the metric at the previous point:
            // HRL12 supplement, section 1; the denominator of hs as HRL12 has it.
            let change_here = squared_norm - dot(&self.gradient, dual);
            let change_there = dot(gradient, &self.dual) - previous;
            beta = match self.beta {
                Beta::FletcherReeves => squared_norm / previous,
                Beta::PolakRibiere => change_here / previous,
                Beta::HestenesStiefel => change_here / change_there,
            };
        }
        if !(beta.is_finite() && beta > 0.0) {
            beta = 0.0;
        }
        direction.clone_from(gradient);
        if beta > 0.0 {
            add(direction, beta, &self.step);
        }
        self.gradient.clone_from(gradient);
        std::mem::swap(&mut self.dual, &mut self.scratch);
        Ok(Proposal {
            beta: Some(beta),
            squared_norm: Some(squared_norm),
            is_gradient: beta == 0.0,
            passes: 1,
        })
    }

    /// The direction carried on is the step that was taken, whether proposed or fallen back to.
    pub(crate) fn learn(&mut self, before: &Iterate, after: &Iterate) {
        difference(&after.messages, &before.messages, &mut self.step);
    }
}
