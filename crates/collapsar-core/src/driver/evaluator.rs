//! The counted way to look at a model.

use crate::advice::Advice;
use crate::collapsed::Collapsed;
use crate::direction::Iterate;
use crate::error::{Error, Result};
use crate::limits::ROUNDING;
use crate::vector::{absolute_dot, add, dot};

/// Relative rounding error of a bound that can still be compared with another.
const WORST_ROUNDING: f64 = 1e-10;

/// The model seen through a counter: a value with its gradient is a pass.
pub(super) struct Evaluator<'a, M: Collapsed> {
    model: &'a M,
    pub(super) advice: Advice<'a>,
    pub(super) passes: u64,
}

impl<'a, M: Collapsed> Evaluator<'a, M> {
    /// A model of which `passes` have been made.
    pub(super) fn new(model: &'a M, passes: u64) -> Self {
        Self {
            model,
            advice: model.advice(),
            passes,
        }
    }

    /// Looks at the messages of `at`: fills in the rest. One pass.
    pub(super) fn evaluate(&mut self, at: &mut Iterate) -> Result<()> {
        let Iterate { point, turned } = at;
        let dim = point.messages.len();
        point.statistics.resize(dim, 0.0);
        point.gradient.resize(dim, 0.0);
        self.passes += 1;
        let (local, posterior) = match (&mut *turned, self.advice.bases) {
            (Some(turned), Some(bases)) => bases.evaluate_turned(point, turned)?,
            _ => self.model.evaluate(point)?,
        };
        add(&mut point.gradient, -1.0, &point.messages); // maths §1.2
        if let Some(turned) = turned {
            add(turned, -1.0, &point.messages);
        }
        // HRL12 (4), as maths §1.1 writes it.
        point.bound =
            local - dot(&point.messages, &point.statistics) + posterior + self.model.constant();
        // Messages far from any posterior's make the bound a small difference of huge terms,
        // and its rounding would pass for a rise.
        let size = absolute_dot(&point.messages, &point.statistics);
        let rounding = f64::EPSILON * (local.abs() + size);
        let enough = WORST_ROUNDING * point.bound.abs().max(1.0);
        // So do a normaliser and its inverse where a prior is worth more data than there can be.
        let of_parts = f64::EPSILON * (posterior.abs() + self.model.constant().abs());
        let known = rounding <= enough && of_parts <= enough.max(ROUNDING);
        let rounding = rounding.max(of_parts);
        if !known || point.gradient.iter().any(|g| !g.is_finite()) {
            let found = format!("{} with rounding errors of {rounding:.0e}", point.bound);
            let expected = "a number known to ten digits; rescale the data or widen the prior";
            return Err(Error::domain("bound", found, expected));
        }
        Ok(())
    }
}
