//! Momentum: VBEM's step and a multiple of the last one, for models whose slow directions are many.

use serde::{Deserialize, Serialize};

use super::{Iterate, Proposal, all_of};
use crate::point::Warm;
use crate::vector::{add, dot_difference};

/// After a restart that many steps pass before a small gain is taken for convergence: the first
/// of them are short because the momentum is gone, not because the top is near.
const YOUNG: f64 = 4.0;

/// What an age grows by in a step and what a restart leaves of it, where every message has its
/// own. Chosen on chr19 (200,000 reads, priors 1 and 0.01, eight starts) among growths of 1 to 4
/// and remainders of 0.5 to 0.9, which differ by a fifth; from these starts one age for all, as
/// topics have it, takes 1.4 and 1.6 times the iterations.
const GROWTH: f64 = 3.0;
const REMAINDER: f64 = 0.7;

/// Nesterov's method with restarts (maths §5.9).
///
/// Leaps (§5.6) bring the few directions that they remember to rest at once. Where thousands are
/// slow, each on its own, momentum quickens all of them: a rate λ becomes 1 − √(1 − λ).
///
/// Where messages are all that there is, each of them restarts by itself: parts of the model that
/// have nothing to do with one another need not wait for whichever went too far. Where a model
/// solves inner problems or changes its basis, they follow one coefficient, and all messages restart together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Momentum {
    /// Steps that are VBEM's own whatever comes.
    first: u64,
    /// Steps since a restart, but that a restart halves it: near an optimum the best coefficient is
    /// about the same after each.
    age: f64,
    /// Whether the next step is plain, because the last went too far.
    restart: bool,
    /// Where VBEM's step from the point before the last led; empty before the second step.
    landed: Vec<f64>,
    /// Where the model's inner problems had ended there.
    warm: Warm,
    coefficient: f64,
    /// Whether all messages restart together.
    #[serde(default)]
    together: bool,
    /// Each message's own age and coefficient; empty where one is for all.
    #[serde(default)]
    ages: Vec<f64>,
    #[serde(default)]
    coefficients: Vec<f64>,
}

impl Momentum {
    /// Momentum after `first` of VBEM's own steps.
    pub(crate) fn new(first: u64) -> Self {
        Self {
            first,
            age: 1.0,
            restart: true,
            ..Self::default()
        }
    }

    /// Whether all vectors have so many numbers.
    pub(crate) fn belongs(&self, messages: usize, inner: usize) -> bool {
        all_of(messages, &[&self.landed, &self.ages, &self.coefficients])
            && all_of(inner, &[&self.warm])
    }

    pub(crate) fn propose(&mut self, point: &Iterate, direction: &mut Vec<f64>) -> Proposal {
        point.ascent().clone_into(direction);
        self.coefficient = if self.restart {
            0.0
        } else {
            (self.age - 1.0) / (self.age + 1.0)
        };
        let one = [self.coefficient];
        let coefficients = if self.coefficients.is_empty() {
            &one[..]
        } else {
            &self.coefficients
        };
        let is_gradient = coefficients.iter().all(|&coefficient| coefficient == 0.0);
        if !is_gradient {
            let now = point.messages.iter().zip(point.ascent());
            let coefficients = coefficients.iter().cycle();
            let steps = direction.iter_mut().zip(now).zip(&self.landed);
            for (((d, (m, g)), landed), coefficient) in steps.zip(coefficients) {
                *d += coefficient * (m + g - landed); // maths §5.9
            }
        }
        Proposal {
            is_gradient: is_gradient && !point.is_turned(),
            ..Proposal::default()
        }
    }

    pub(crate) fn lead(&self) -> Option<(&Warm, f64)> {
        (self.coefficient > 0.0).then_some((&self.warm, self.coefficient))
    }

    pub(crate) fn learn(&mut self, before: &Iterate, after: &Iterate, fell_back: bool) {
        self.landed.clone_from(&before.messages);
        add(&mut self.landed, 1.0, before.ascent());
        self.warm.clone_from(&before.warm);
        if self.first > 0 {
            self.first -= 1;
            return;
        }
        // ⟨g, s⟩ in the metric, which carries the step s to the change of the statistics.
        let slope = dot_difference(after.ascent(), &after.statistics, &before.statistics);
        self.restart = fell_back || slope < 0.0;
        self.age = if self.restart {
            (0.5 * self.age).max(1.0)
        } else {
            self.age + 1.0
        };
        self.together |= before.is_turned() || !after.warm.is_empty();
        if !self.together {
            self.learn_each(before, after, fell_back);
        }
    }

    fn learn_each(&mut self, before: &Iterate, after: &Iterate, fell_back: bool) {
        self.ages.resize(after.gradient.len(), 1.0);
        self.coefficients.resize(after.gradient.len(), 0.0);
        let moved = after.statistics.iter().zip(&before.statistics);
        let slopes = (after.gradient.iter().zip(moved)).map(|(g, (now, then))| g * (now - then));
        let own = self.ages.iter_mut().zip(&mut self.coefficients);
        for ((age, coefficient), slope) in own.zip(slopes) {
            if fell_back || slope < 0.0 {
                *age = (REMAINDER * *age).max(1.0);
                *coefficient = 0.0;
            } else {
                *age += GROWTH;
                *coefficient = (*age - 1.0) / (*age + 1.0);
            }
        }
    }

    pub(crate) fn doubts(&self) -> bool {
        self.restart || self.age < YOUNG
    }
}
