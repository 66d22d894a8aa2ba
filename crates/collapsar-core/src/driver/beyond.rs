//! Decides whether a climb has come to rest at a saddle: moves a little and sees where VBEM's steps lead (maths §6.3).

use std::sync::atomic::Ordering;

use super::climb::lands;
use super::evaluator::Evaluator;
use super::{Driver, Outcome, State, Step};
use crate::collapsed::Collapsed;
use crate::direction::{Iterate, Rule};
use crate::error::Result;

/// Messages are moved by less than this.
const MOVE: f64 = 0.01;
/// VBEM's steps from there; and as many as that while the bound is above where it was, but not by enough.
const STEPS: u64 = 10;
const MOST_STEPS: u64 = 60;
/// A rise of fewer nats, or of so many times what the last step of the climb gained, is the rest of the same climb.
const HIGHER: f64 = 1e-4;
const TIMES: f64 = 100.0;

/// What a look found.
enum Beyond {
    /// No higher point, or none that such a look sees.
    Nothing,
    Higher,
    /// It was asked to end, or a limit was reached.
    Stopped,
}

impl<M: Collapsed> Driver<'_, M> {
    /// The outcome where a climb has ended with this one, after a look beyond where there may be a saddle; none where it goes on.
    pub(super) fn settled(
        &mut self,
        mut outcome: Outcome,
        state: &mut State,
        evaluator: &mut Evaluator<'_, M>,
        trial: &mut Iterate,
    ) -> Result<Option<Outcome>> {
        let may = evaluator.advice.saddles && state.rule.overlooks_saddles();
        while may && outcome.converged() && !state.looked {
            let Some((last, verdict)) = state.last else {
                break;
            };
            let found = self.look(state, &last, evaluator, trial)?;
            state.passes = evaluator.passes;
            match found {
                Beyond::Nothing => state.looked = true,
                Beyond::Stopped => {
                    let flag = self.interrupt.map(|flag| flag.load(Ordering::Relaxed));
                    return Ok(Some(match flag {
                        Some(true) => Outcome::Interrupted,
                        _ => outcome,
                    }));
                }
                Beyond::Higher => {
                    state.iteration += 1;
                    let step = Step {
                        iteration: state.iteration,
                        passes: state.passes,
                        bound: trial.bound,
                        gain: trial.bound - state.iterate.bound,
                        squared_norm: None,
                        beta: None,
                        fell_back: false,
                        ..last
                    };
                    std::mem::swap(&mut state.iterate, trial);
                    state.rule = Rule::new(self.direction, true, &evaluator.advice);
                    (state.last, state.stationary) = (Some((step, verdict)), false);
                    let mut asked_to_stop = false;
                    for observer in &mut self.observers {
                        asked_to_stop |= observer(&step, &state.iterate).is_break();
                    }
                    if asked_to_stop {
                        return Ok(Some(Outcome::Interrupted));
                    }
                    match self.at_end(state) {
                        Some(next) => outcome = next,
                        None => return Ok(None),
                    }
                }
            }
        }
        Ok(Some(outcome))
    }

    /// Moves away from where the climb rests and takes VBEM's steps: what was moved grows along a direction in which the bound curves
    /// upwards, and shrinks along all others, as in a power iteration on $FJ$.
    fn look(
        &self,
        state: &State,
        last: &Step,
        evaluator: &mut Evaluator<'_, M>,
        trial: &mut Iterate,
    ) -> Result<Beyond> {
        let rest = &state.iterate;
        trial.point.clone_from(&rest.point);
        for (place, message) in trial.point.messages.iter_mut().enumerate() {
            *message += MOVE * scattered(place as u64);
        }
        let wanted = rest.bound + HIGHER.max(TIMES * last.gain);
        for step in 0..MOST_STEPS {
            let stopped = (self.interrupt).is_some_and(|flag| flag.load(Ordering::Relaxed));
            let now = Step {
                passes: evaluator.passes,
                ..*last
            };
            if stopped || self.stop.exhausted(&now).is_some() {
                return Ok(Beyond::Stopped);
            }
            if !lands(evaluator, trial)? {
                return Ok(Beyond::Nothing);
            }
            if trial.bound > wanted {
                return Ok(Beyond::Higher);
            }
            if step >= STEPS && trial.bound <= rest.bound {
                break;
            }
            let point = &mut trial.point;
            for (message, gradient) in point.messages.iter_mut().zip(&point.gradient) {
                *message += gradient;
            }
        }
        Ok(Beyond::Nothing)
    }
}

/// A number between -1 and 1 for each place, always the same: the finaliser of `SplitMix64`.
fn scattered(place: u64) -> f64 {
    let mut bits = place.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^= bits >> 31;
    (bits >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}
