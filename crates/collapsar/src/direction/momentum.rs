//! Momentum: VBEM's step and a share of the last one, for models whose slow directions are many.

use serde::{Deserialize, Serialize};

use super::Proposal;
use crate::driver::Point;
use crate::vector::{add, dot_difference};

/// After a restart that many steps pass before a small gain is taken for convergence: the first
/// of them are short because the momentum is gone, not because the top is near.
const YOUNG: f64 = 4.0;

/// Nesterov's method with restarts (maths §5.9).
///
/// Leaps (§5.6) bring the few directions that they remember to rest at once. Where thousands are
/// slow, each on its own, momentum quickens all of them: a rate λ becomes 1 − √(1 − λ).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Momentum {
    /// Steps that are VBEM's own whatever comes.
    first: u64,
    /// Steps since a restart, but that a restart halves it: near an optimum the best share is
    /// about the same after each.
    age: f64,
    /// Whether the next step is plain, because the last went too far.
    restart: bool,
    /// Where VBEM's step from the point before the last led; empty before the second step.
    landed: Vec<f64>,
    /// Where the model's inner problems had ended there.
    warm: Vec<f64>,
    share: f64,
}

impl Momentum {
    /// Momentum after `first` of VBEM's own steps.
    pub(crate) fn new(first: u64) -> Self {
        Self {
            first,
            age: 1.0,
            restart: true,
            landed: vec![],
            warm: vec![],
            share: 0.0,
        }
    }

    pub(crate) fn propose(&mut self, point: &Point, direction: &mut Vec<f64>) -> Proposal {
        direction.clone_from(&point.gradient);
        self.share = if self.restart {
            0.0
        } else {
            (self.age - 1.0) / (self.age + 1.0)
        };
        if self.share > 0.0 {
            let now = point.messages.iter().zip(&point.gradient);
            for ((d, (m, g)), landed) in direction.iter_mut().zip(now).zip(&self.landed) {
                *d += self.share * (m + g - landed); // maths §5.9
            }
        }
        Proposal {
            is_gradient: self.share == 0.0,
            ..Proposal::default()
        }
    }

    pub(crate) fn lead(&self) -> Option<(&[f64], f64)> {
        (self.share > 0.0).then_some((&self.warm, self.share))
    }

    pub(crate) fn learn(&mut self, before: &Point, after: &Point, fell_back: bool) {
        self.landed.clone_from(&before.messages);
        add(&mut self.landed, 1.0, &before.gradient);
        self.warm.clone_from(&before.warm);
        if self.first > 0 {
            self.first -= 1;
            return;
        }
        // ⟨g, s⟩ in the metric, which carries the step s to the change of the statistics.
        let slope = dot_difference(&after.gradient, &after.statistics, &before.statistics);
        self.restart = fell_back || slope < 0.0;
        self.age = if self.restart {
            (0.5 * self.age).max(1.0)
        } else {
            self.age + 1.0
        };
    }

    pub(crate) fn doubts(&self) -> bool {
        self.restart || self.age < YOUNG
    }
}
