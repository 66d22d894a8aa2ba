//! Whether what was written down can be believed: a checkpoint is taken up only where the model finds its point to be
//! what it says.

use super::evaluator::Evaluator;
use super::{Driver, State, Verdict};
use crate::advice::InnerProblems;
use crate::collapsed::{Collapsed, Potential};
use crate::direction::{Iterate, Rule};
use crate::error::{Error, Mismatch, Result};

/// How far a bound may be from what it is on another processor, relatively: a bound is known to ten digits.
const SAME: f64 = 1e-9;
/// Inner problems go on where they stopped when a point is looked at again, which raises its bound, relatively, by no
/// more than this, and lowers it by less: steps of learned priors are not all uphill.
const SETTLING: f64 = 0.5;
const UNSETTLED: f64 = 1e-3;
/// Counts beyond this are nobody's.
const MOST: u64 = 1 << 53;

impl State {
    /// Goes on without jumps, from the best point so far.
    pub(super) fn forget_jumps(&mut self) {
        self.jump_due = false;
        if let Some((iterate, rule)) = self.search.finish() {
            (self.iterate, self.rule) = (iterate, rule);
            (self.last, self.stationary) = (None, false);
        }
        if let Some((_, verdict)) = &mut self.last {
            *verdict = Verdict::Finish;
        }
    }
}

impl<M: Collapsed> Driver<'_, M> {
    /// Refuses a state that no run of this model can have left; what a checkpoint does not keep of a point is made again.
    pub(super) fn believe(&self, state: &mut State) -> Result<()> {
        let counts = [state.iteration, state.passes, state.fallbacks, state.misled];
        let searched = [state.search.tried, state.search.taken];
        let possible = counts.iter().chain(&searched).all(|count| *count < MOST)
            && state.iteration <= state.passes
            && state.seconds.is_finite()
            && state.seconds >= 0.0;
        if !possible {
            let found = format!(
                "{} iterations of {} passes in {} seconds",
                state.iteration, state.passes, state.seconds
            );
            return Err(mismatch(found, "numbers that a run can have"));
        }
        if let Some(again) = self.believe_point(&state.iterate, &state.rule)? {
            // Its inner problems begin as those of a start do, and so does the rule: what it remembers is of others.
            state.rule = Rule::new(self.direction, false, &self.model.advice());
            state.iterate = again;
            (state.last, state.stationary) = (None, false);
        }
        if let Some((incumbent, rule, index)) = state.search.trial() {
            if index as u64 >= MOST {
                return Err(mismatch(
                    format!("jump {index}"),
                    "a number that a run can have",
                ));
            }
            self.believe_point(incumbent, rule)?;
        }
        Ok(())
    }

    /// Refuses a point that is not what it says; returns it as the model finds it, where the checkpoint does not have all of it.
    fn believe_point(&self, iterate: &Iterate, rule: &Rule) -> Result<Option<Iterate>> {
        let mut evaluator = Evaluator::new(self.model, 0);
        let advice = &evaluator.advice;
        let messages = self.model.local().dim();
        let inner_problems = advice.inner;
        let inner = inner_problems.map_or(0, InnerProblems::numbers);
        let point = &iterate.point;
        let whole = [&point.messages, &point.statistics, &point.gradient];
        let turned = iterate.turned.as_ref().is_none_or(|turned| {
            advice.bases.is_some() && (turned.is_empty() || turned.len() == messages)
        });
        let fresh = Rule::new(self.direction, false, advice);
        let shaped = whole.iter().all(|vector| vector.len() == messages)
            && point.warm.len() == inner
            && turned
            && rule.belongs(&fresh, messages, inner);
        if !shaped {
            let found = format!("a point of {} messages", point.messages.len());
            let expected = format!("one of {messages}, with all that belongs to it");
            return Err(mismatch(found, expected));
        }
        let mut again = iterate.clone();
        let said = format!("a bound of {} nats", point.bound);
        if let Err(error) = evaluator.evaluate(&mut again) {
            return Err(mismatch(
                said,
                format!("a point of the model, and not that {error}"),
            ));
        }
        let size = again.bound.abs().max(1.0);
        let whole = inner_problems.is_none_or(|of| of.is_whole(&point.warm));
        let (below, above) = if !whole {
            (SETTLING, SETTLING)
        } else if inner > 0 {
            (UNSETTLED, SETTLING)
        } else {
            (SAME, SAME)
        };
        let rise = (again.bound - point.bound) / size;
        // What is not a number is in no range.
        if !(-below..=above).contains(&rise) {
            return Err(mismatch(
                said,
                format!("{} nats, as its messages have it", again.bound),
            ));
        }
        Ok((!whole).then_some(again))
    }
}

fn mismatch(found: String, expected: impl Into<String>) -> Error {
    Error::Checkpoint(Mismatch::Point {
        found,
        expected: expected.into(),
    })
}
