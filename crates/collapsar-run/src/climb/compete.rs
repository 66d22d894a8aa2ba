//! Many starts at the price of a few climbs: each climbs a little way, the worse are abandoned, the better go on,
//! and the best of all climbs to the end.

use collapsar::{Checkpoint, Collapsed, Fit, Outcome, Step, Stop};
use rayon::prelude::*;

use super::{Ascent, Climbs, End, Run};
use crate::error::Result;

/// Starts in all, at most.
pub(crate) const MOST_STARTS: usize = 12;
/// Starts of a round at least.
const FEWEST: usize = 3;
/// A step that gains less than this many nats tells nothing of which optimum is the higher one.
const COARSE: f64 = 1e-3;
/// How far starts climb before the worse are abandoned, as shares of what the first climb took, and which
/// share of them goes on.
const LEGS: [(f64, f64); 2] = [(0.1, 0.35), (0.3, 0.5)];
/// Passes of the first leg after its first step, at least.
const SHORTEST: u64 = 1;
/// What a round may cost up to its first choice, in climbs.
const ROUND: f64 = 1.5;
/// Points of other climbs that are kept.
const RIVALS: usize = 4;

/// A start on its way.
struct Contender {
    index: usize,
    fit: Fit,
    steps: Vec<Step>,
    /// What is needed to go on.
    left: Option<Checkpoint>,
    abandoned: bool,
}

impl Contender {
    fn bound(&self) -> f64 {
        self.fit.point.bound
    }
}

impl Run<'_> {
    /// Climbs from many starts, most of which are abandoned early. What is done depends on bounds and passes
    /// alone, so that the result is the same for any number of threads.
    pub(crate) fn compete<M: Collapsed>(&self, ascent: &Ascent<'_, M>) -> Result<Climbs> {
        let first = self.leg(ascent, 0, None, Some(u64::MAX))?;
        let mut all = vec![first];
        if !self.is_over() {
            self.round(ascent, &mut all)?;
        }
        let place = (0..all.len())
            .rev()
            .max_by(|&a, &b| all[a].bound().total_cmp(&all[b].bound()));
        let best = all.swap_remove(place.expect("the first climb always begins"));
        let (level, index) = (best.bound(), best.index);
        let mut best = self.leg(ascent, index, Some(best), None)?;
        // Where the last leg had nothing to add, or time was over before it.
        if let (Some((file, _)), Some(left)) = (&self.plan.options.checkpoint, &best.left) {
            best.fit.unwritten = left.write(file).err();
        }
        self.watch.ended(&ascent.name, self.seed(index), &best.fit);
        all.push(best);
        all.sort_by_key(|contender| contender.index);
        let ends = all.iter().map(|contender| {
            Some(End {
                bound: contender.bound(),
                iterations: contender.fit.iterations,
                passes: contender.fit.passes,
                abandoned: contender.abandoned,
            })
        });
        let ends = ends.collect();
        let place = all.iter().position(|contender| contender.index == index);
        let best = all.swap_remove(place.expect("among all"));
        all.sort_by(|a, b| b.bound().total_cmp(&a.bound()).then(a.index.cmp(&b.index)));
        // From the lowest, which were the furthest from the best, in even steps.
        let step = all.len().div_ceil(RIVALS).max(1);
        let rivals = all.into_iter().rev().step_by(step);
        let rivals = rivals.map(|contender| contender.fit.point).collect();
        Ok(Climbs {
            best: best.fit,
            best_seed: self.seed(index),
            steps: best.steps,
            level,
            ends,
            rivals,
        })
    }

    /// Lets more starts climb, leg by leg; those that are left in the end are not abandoned.
    fn round<M: Collapsed>(&self, ascent: &Ascent<'_, M>, all: &mut Vec<Contender>) -> Result<()> {
        let cost = all[0].fit.passes as f64;
        // Beyond what finding a start and a first step take.
        let least = all[0].steps.first().map_or(0, |step| step.passes) + SHORTEST;
        let passes = |share: f64| ((share * cost).ceil() as u64).max(least);
        let affordable = (ROUND * cost / passes(LEGS[0].0) as f64) as usize;
        let count = affordable.clamp(FEWEST, MOST_STARTS - 1) + self.plan.given;
        let indices = all.len()..all.len() + count;
        let begin = |index: usize| {
            let over = self.is_over();
            (!over)
                .then(|| self.leg(ascent, index, None, Some(passes(LEGS[0].0))))
                .transpose()
        };
        let mut running = self.each(ascent, indices.collect(), begin)?;
        for (leg, (_, share)) in LEGS.iter().enumerate() {
            running.sort_by(|a, b| b.bound().total_cmp(&a.bound()).then(a.index.cmp(&b.index)));
            let kept = ((share * running.len() as f64).ceil() as usize).max(1);
            for mut contender in running.split_off(kept.min(running.len())) {
                contender.abandoned = true;
                contender.left = None;
                self.watch
                    .ended(&ascent.name, self.seed(contender.index), &contender.fit);
                all.push(contender);
            }
            let limit = LEGS.get(leg + 1).map_or(u64::MAX, |next| passes(next.0));
            running = self.each(ascent, running, |contender| {
                self.leg(ascent, contender.index, Some(contender), Some(limit))
                    .map(Some)
            })?;
        }
        all.append(&mut running);
        Ok(())
    }

    /// Does one thing for each, in parallel unless asked not to.
    fn each<M: Collapsed, T: Send>(
        &self,
        ascent: &Ascent<'_, M>,
        items: Vec<T>,
        work: impl Fn(T) -> Result<Option<Contender>> + Sync,
    ) -> Result<Vec<Contender>> {
        let done: Vec<Result<Option<Contender>>> = if ascent.in_turn || self.watch.in_turn() {
            items.into_iter().map(&work).collect()
        } else {
            items.into_par_iter().map(&work).collect()
        };
        done.into_iter().filter_map(Result::transpose).collect()
    }

    /// A leg of a climb, from where it was left or from its start: to so many passes, or to the end.
    fn leg<M: Collapsed>(
        &self,
        ascent: &Ascent<'_, M>,
        index: usize,
        from: Option<Contender>,
        passes: Option<u64>,
    ) -> Result<Contender> {
        let (mut steps, left) = match from {
            Some(contender) if self.is_done(&contender.fit, passes) => return Ok(contender),
            Some(mut contender) if self.is_over() => {
                contender.fit.outcome = Outcome::Interrupted;
                return Ok(contender);
            }
            Some(contender) => (contender.steps, contender.left),
            None => (vec![], None),
        };
        let stop = match passes {
            Some(passes) => Stop::Gain(COARSE) | Stop::Passes(passes) | self.plan.stop.clone(),
            None => self.plan.stop.clone(),
        };
        let mut end = None;
        let fit = self.drive(
            ascent,
            index,
            (stop, passes.is_none()),
            left,
            &mut steps,
            &mut end,
        )?;
        Ok(Contender {
            index,
            fit,
            steps,
            left: end,
            abandoned: false,
        })
    }

    /// Whether a leg would add nothing.
    fn is_done(&self, fit: &Fit, passes: Option<u64>) -> bool {
        let options = &self.plan.options;
        match &fit.outcome {
            Outcome::Stationary | Outcome::Interrupted => true,
            Outcome::Converged(_) => passes.is_some(),
            Outcome::Exhausted(_) => {
                fit.iterations >= options.max_iterations
                    || options.max_passes.is_some_and(|most| fit.passes >= most)
            }
        }
    }
}
