//! The steps of a run: what is proposed, what is taken instead where the bound would fall, when it ends.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::evaluator::Evaluator;
use super::search::Verdict;
use super::{Checkpoint, Driver, Fit, Jump, Jumps, Outcome, State, Step, Stop};
use crate::collapsed::Collapsed;
use crate::direction::{Iterate, Rule};
use crate::error::Result;
use crate::point::{Point, Warm};
use crate::vector::dot_difference;

/// Steps in a row that changes of basis may lead down before they are no longer asked for.
const MISLED: u64 = 3;
/// The shortest fraction of a VBEM step that is tried: below it a step is rounding.
const SHORTEST: f64 = 1e-9;

impl<M: Collapsed> Driver<'_, M> {
    pub(super) fn climb(mut self, mut state: State) -> Result<Fit> {
        let began = Instant::now();
        let seconds_before = state.seconds;
        let mut evaluator = Evaluator::new(self.model, state.passes);
        let mut trial = state.iterate.clone();
        let mut direction = Vec::with_capacity(trial.messages.len());
        let mut jumps = None;
        let settled = self.jumps.map_or(0.0, Jumps::settled);
        let mut unwritten = None;
        let mut at_end = self.at_end(&mut state);

        let outcome = loop {
            // A run that was taken up again, or one that no step leads on from.
            if let Some(outcome) = at_end.take()
                && let Some(outcome) =
                    self.settled(outcome, &mut state, &mut evaluator, &mut trial)?
            {
                break outcome;
            }
            let interrupt = self.interrupt.map(|flag| flag.load(Ordering::Relaxed));
            if interrupt == Some(true) {
                break Outcome::Interrupted;
            }
            if std::mem::take(&mut state.jump_due) {
                self.jump(&mut state, &mut evaluator, &mut jumps)?;
            }
            let rule = &mut state.rule;
            let proposal = rule.propose(&state.iterate, self.model, &mut direction)?;
            evaluator.passes += proposal.passes;
            let (lead, way) = (state.rule.lead(), (&direction[..], 1.0));
            let mut rises = rises(&mut evaluator, &state.iterate, way, lead, &mut trial)?;
            let fell_back = !rises && !proposal.is_gradient;
            if fell_back && state.iterate.is_turned() {
                state.misled += 1;
                if state.misled == MISLED {
                    trial.turned = None;
                }
            } else {
                state.misled = 0;
            }
            if !rises {
                rises = climb_gradient(&mut evaluator, &state.iterate, fell_back, &mut trial)?;
            }
            state.passes = evaluator.passes;
            state.seconds = seconds_before + began.elapsed().as_secs_f64();
            let before = state.iterate.bound;
            let gain = if rises { trial.bound - before } else { 0.0 };
            let verdict = state.search.judge(before + gain, gain, settled);
            state.jump_due = verdict == Verdict::Jump;
            state.iteration += u64::from(rises);
            // Where inner problems moved as well, statistics tell of them too.
            let known = rises && (proposal.is_gradient || fell_back) && trial.warm.is_empty();
            let averaged = known.then(|| averaged_norm(&state.iterate, &trial));
            let step = Step {
                iteration: state.iteration,
                passes: state.passes,
                bound: before + gain,
                gain,
                squared_norm: proposal.squared_norm.or(averaged),
                beta: proposal.beta,
                fell_back,
                trial: state.search.in_trial(),
                seconds: state.seconds,
            };
            if !rises {
                state.last = Some((step, verdict));
                state.stationary = verdict == Verdict::Finish;
                // Limits hold for those that try in vain as well.
                at_end = self.at_end(&mut state);
                continue;
            }
            let step = Step {
                bound: trial.bound,
                ..step
            };
            state.last = Some((step, verdict));
            state.fallbacks += u64::from(fell_back);
            state.rule.learn(&state.iterate, &trial, fell_back);
            std::mem::swap(&mut state.iterate, &mut trial);
            state.looked = false;
            let mut asked_to_stop = false;
            for observer in &mut self.observers {
                asked_to_stop |= observer(&step, &state.iterate).is_break();
            }
            if let Some(outcome) = self.at_end(&mut state)
                && let Some(outcome) =
                    self.settled(outcome, &mut state, &mut evaluator, &mut trial)?
            {
                break outcome;
            }
            if asked_to_stop {
                break Outcome::Interrupted;
            }
            let due = |every: u64| state.iteration.is_multiple_of(every);
            if (self.checkpoint.as_ref()).is_some_and(|(_, every)| due(*every)) {
                unwritten = self.keep(&state).err();
            }
        };
        // A disk that is full must not cost the result as well.
        if self.checkpoint.is_some() {
            unwritten = self.keep(&state).err();
        }
        if let Some(place) = self.left_at.take() {
            *place = Some(Checkpoint::new(
                &state,
                self.direction,
                self.model.fingerprint(),
            ));
        }
        let incumbent = state.search.finish();
        let last = incumbent.map_or(state.iterate, |(incumbent, _)| incumbent);
        Ok(Fit {
            point: last.point,
            outcome,
            iterations: state.iteration,
            passes: state.passes,
            fallbacks: state.fallbacks,
            jumps_tried: state.search.tried,
            jumps_taken: state.search.taken,
            seconds: state.seconds,
            unwritten,
        })
    }

    /// Whether the last step was the last of all, by the rules of this run.
    pub(super) fn at_end(&self, state: &mut State) -> Option<Outcome> {
        if state.stationary {
            return Some(Outcome::Stationary);
        }
        let (step, verdict) = state.last.as_ref()?;
        let converged = self.stop.holds(step).filter(Stop::is_convergence);
        if let Some(rule) = converged
            && *verdict == Verdict::Finish
            && !state.rule.doubts()
        {
            return Some(Outcome::Converged(rule));
        }
        self.stop.exhausted(step).map(Outcome::Exhausted)
    }

    /// Writes a checkpoint where one is asked for.
    fn keep(&self, state: &State) -> Result<()> {
        match &self.checkpoint {
            Some((path, _)) => Checkpoint::new(state, self.direction, self.model.fingerprint())
                .with_others(self.others.clone())
                .write(path),
            None => Ok(()),
        }
    }

    /// Goes to the next jump that lies in the model's domain, or back to the incumbent when none is left.
    ///
    /// `jumps` holds those of the present incumbent; a resumed run makes them again.
    fn jump(
        &self,
        state: &mut State,
        evaluator: &mut Evaluator<'_, M>,
        jumps: &mut Option<Vec<Jump>>,
    ) -> Result<()> {
        loop {
            let (index, incumbent) = state.search.next(&state.iterate, &state.rule);
            if index == 0 || jumps.is_none() {
                let found = self.jumps.map(|model| model.jumps(incumbent));
                *jumps = Some(found.transpose()?.unwrap_or_default());
            }
            let Some(jump) = jumps.as_ref().and_then(|jumps| jumps.get(index)) else {
                state.search.tried -= 1;
                if let Some((iterate, rule)) = state.search.finish() {
                    (state.iterate, state.rule) = (iterate, rule);
                }
                return Ok(());
            };
            state.iterate.point.messages.clone_from(&jump.messages);
            state.iterate.point.warm.clone_from(&incumbent.warm);
            state.rule = Rule::new(self.direction, true, &evaluator.advice);
            let landed = lands(evaluator, &mut state.iterate);
            state.passes = evaluator.passes;
            if landed? {
                return Ok(());
            }
        }
    }
}

/// Evaluates `length` times `direction` from `from` into `trial`; says whether the bound rose.
fn rises<M: Collapsed>(
    evaluator: &mut Evaluator<'_, M>,
    from: &Iterate,
    (direction, length): (&[f64], f64),
    lead: Option<(&Warm, f64)>,
    trial: &mut Iterate,
) -> Result<bool> {
    let point = &mut trial.point;
    let moved = from.messages.iter().zip(direction);
    point.messages.clear();
    point.messages.extend(moved.map(|(m, d)| m + length * d));
    point.warm.clone_from(&from.warm);
    if let (Some((before, coefficient)), Some(inner)) = (lead, evaluator.advice.inner) {
        inner.extrapolate(&mut point.warm, before, coefficient);
    }
    point.bound = f64::NAN;
    Ok(lands(evaluator, trial)? && trial.bound > from.bound)
}

/// Evaluates a point; says whether it lies in the model's domain.
pub(super) fn lands<M: Collapsed>(
    evaluator: &mut Evaluator<'_, M>,
    at: &mut Iterate,
) -> Result<bool> {
    match evaluator.evaluate(at) {
        Ok(()) => Ok(true),
        Err(error) if error.is_recoverable() => Ok(false),
        Err(error) => Err(error),
    }
}

/// The safe step: VBEM's, which cannot lower the bound where the explicit factors are independent
/// given the collapsed ones, halved where it does all the same.
///
/// `whole` says whether the whole step has not been tried yet.
fn climb_gradient<M: Collapsed>(
    evaluator: &mut Evaluator<'_, M>,
    from: &Iterate,
    whole: bool,
    trial: &mut Iterate,
) -> Result<bool> {
    let mut length = if whole { 1.0 } else { 0.5 };
    while length > SHORTEST {
        if rises(evaluator, from, (&from.gradient, length), None, trial)? {
            return Ok(true);
        }
        // Where the step promises less than the bound's own rounding, shorter ones promise nothing.
        let promise = averaged_norm(from, trial).abs();
        if trial.bound.is_finite() && promise < 1e-12 * from.bound.abs().max(1.0) {
            return Ok(false);
        }
        length *= 0.5;
    }
    Ok(false)
}

/// The squared norm of the gradient in the metric averaged along the step, times the step's
/// length (maths §6.1).
fn averaged_norm(before: &Point, after: &Point) -> f64 {
    dot_difference(&before.gradient, &after.statistics, &before.statistics)
}
