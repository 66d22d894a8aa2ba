//! Many starts at the price of a few climbs: each climbs a little way, the worse are abandoned, the better go on,
//! and the best of all climbs to the end. Only this last climb has checkpoints, which tell of the others as well.

use collapsar::{
    Checkpoint, Collapsed, Error, Fit, Mismatch, Outcome, Point, Potential, Step, Stop,
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Ascent, Climbs, End, Kept, Run};
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

    fn end(&self) -> End {
        End {
            bound: self.bound(),
            iterations: self.fit.iterations,
            passes: self.fit.passes,
            abandoned: self.abandoned,
        }
    }
}

/// What is to be known of a competition while its best climbs on alone.
#[derive(Serialize, Deserialize)]
struct Others {
    /// Which start is the best one.
    best: usize,
    /// Its bound when the others ended.
    level: f64,
    /// Where the others ended, in the order of their seeds.
    ends: Vec<(usize, End)>,
    /// Where some of them were, from the highest.
    rivals: Vec<Point>,
}

impl Others {
    fn of(best: &Contender, mut rest: Vec<Contender>) -> Self {
        rest.sort_by_key(|contender| contender.index);
        let ends = rest.iter().map(|one| (one.index, one.end())).collect();
        rest.sort_by(|a, b| b.bound().total_cmp(&a.bound()).then(a.index.cmp(&b.index)));
        // From the lowest, which were the furthest from the best, in even steps.
        let step = rest.len().div_ceil(RIVALS).max(1);
        let rivals = rest.into_iter().rev().step_by(step);
        Self {
            best: best.index,
            level: best.bound(),
            ends,
            rivals: rivals.map(|contender| contender.fit.point).collect(),
        }
    }

    /// What a checkpoint tells of, where it can be of such a competition of this model.
    fn read(text: &str, messages: usize) -> Option<Self> {
        let others: Self = serde_json::from_str(text).ok()?;
        let shaped = |point: &Point| {
            let whole = [&point.messages, &point.statistics, &point.gradient];
            whole.iter().all(|vector| vector.len() == messages)
        };
        let ends = &others.ends;
        let ordered = ends.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let another = ends.iter().all(|(index, _)| *index != others.best);
        (ordered && another && others.rivals.iter().all(shaped)).then_some(others)
    }

    /// All climbs, once the best has ended.
    fn with(self, best: Contender, best_seed: u64) -> Climbs {
        let mut ends = self.ends;
        ends.push((best.index, best.end()));
        ends.sort_by_key(|(index, _)| *index);
        Climbs {
            best: best.fit,
            best_seed,
            steps: best.steps,
            level: self.level,
            ends: ends.into_iter().map(|(_, end)| Some(end)).collect(),
            rivals: self.rivals,
        }
    }
}

impl Run<'_> {
    /// Climbs from many starts, most of which are abandoned early. What is done depends on bounds and passes
    /// alone, so that the result is the same for any number of threads.
    pub(crate) fn compete<M: Collapsed>(&self, ascent: &Ascent<'_, M>) -> Result<Climbs> {
        let first = self.leg(ascent, 0, None, u64::MAX)?;
        let mut all = vec![first];
        if !self.is_over() {
            self.round(ascent, &mut all)?;
        }
        // Whoever was cut short is not where a run that nobody stops would have it.
        let whole = !self.is_over();
        let place = (0..all.len())
            .rev()
            .max_by(|&a, &b| all[a].bound().total_cmp(&all[b].bound()));
        let mut best = all.swap_remove(place.expect("the first climb always begins"));
        let others = Others::of(&best, all);
        let file = self.plan.options.checkpoint.as_ref().map(|(file, _)| file);
        if whole {
            let text = serde_json::to_string(&others).ok();
            best = self.last(ascent, best, text.clone())?;
            // Where the last leg had nothing to add.
            if let (Some(file), Some(left)) = (file, best.left.take()) {
                best.fit.unwritten = left.with_others(text).write(file).err();
            }
        } else {
            if !self.is_done(&best.fit, false) {
                best.fit.outcome = Outcome::Interrupted;
            }
            best.fit.unwritten = file.map(|file| Error::File {
                path: file.display().to_string(),
                cause: "no checkpoint was written, as starts had not been compared yet".to_owned(),
            });
        }
        self.watch
            .ended(&ascent.name, self.seed(best.index), &best.fit);
        let seed = self.seed(best.index);
        Ok(others.with(best, seed))
    }

    /// Lets the best of a competition climb on from a checkpoint, or the only climb where there was no competition.
    pub(crate) fn compete_on<M: Collapsed>(
        &self,
        ascent: &Ascent<'_, M>,
        left: &Checkpoint,
    ) -> Result<Climbs> {
        let alone = || Others {
            best: 0,
            level: f64::NEG_INFINITY,
            ends: vec![],
            rivals: vec![],
        };
        let text = left.others().map(str::to_owned);
        let others = match &text {
            Some(text) => Others::read(text, ascent.model.local().dim()).ok_or_else(|| {
                Error::Checkpoint(Mismatch::Point {
                    found: "other starts that do not belong to it".to_owned(),
                    expected: "those that it was compared with".to_owned(),
                })
            })?,
            None => alone(),
        };
        let (mut steps, mut end) = (vec![], None);
        let how = (self.plan.stop.clone(), Kept::telling(text.clone()));
        let from = Some(left.clone());
        let fit = self.drive(ascent, others.best, how, from, &mut steps, &mut end)?;
        let seed = self.seed(others.best);
        self.watch.ended(&ascent.name, seed, &fit);
        let level = match &text {
            Some(_) => others.level,
            None => fit.point.bound,
        };
        let best = Contender {
            index: others.best,
            fit,
            steps,
            left: end,
            abandoned: false,
        };
        Ok(Others { level, ..others }.with(best, seed))
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
                .then(|| self.leg(ascent, index, None, passes(LEGS[0].0)))
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
                self.leg(ascent, contender.index, Some(contender), limit)
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

    /// A leg of a climb, from where it was left or from its start: to so many passes.
    fn leg<M: Collapsed>(
        &self,
        ascent: &Ascent<'_, M>,
        index: usize,
        from: Option<Contender>,
        passes: u64,
    ) -> Result<Contender> {
        let from = match from {
            Some(contender) if self.is_done(&contender.fit, true) => return Ok(contender),
            Some(mut contender) if self.is_over() => {
                contender.fit.outcome = Outcome::Interrupted;
                return Ok(contender);
            }
            from => from,
        };
        let stop = Stop::Gain(COARSE) | Stop::Passes(passes) | self.plan.stop.clone();
        self.on(ascent, index, from, (stop, Kept::No))
    }

    /// The last leg, to the end: the one that has checkpoints.
    fn last<M: Collapsed>(
        &self,
        ascent: &Ascent<'_, M>,
        best: Contender,
        others: Option<String>,
    ) -> Result<Contender> {
        if self.is_done(&best.fit, false) {
            return Ok(best);
        }
        let how = (self.plan.stop.clone(), Kept::telling(others));
        self.on(ascent, best.index, Some(best), how)
    }

    fn on<M: Collapsed>(
        &self,
        ascent: &Ascent<'_, M>,
        index: usize,
        from: Option<Contender>,
        how: (Stop, Kept),
    ) -> Result<Contender> {
        let (mut steps, left) = match from {
            Some(contender) => (contender.steps, contender.left),
            None => (vec![], None),
        };
        let mut end = None;
        let fit = self.drive(ascent, index, how, left, &mut steps, &mut end)?;
        Ok(Contender {
            index,
            fit,
            steps,
            left: end,
            abandoned: false,
        })
    }

    /// Whether a leg would add nothing: one by coarse rules, or the last.
    fn is_done(&self, fit: &Fit, coarse: bool) -> bool {
        let options = &self.plan.options;
        match &fit.outcome {
            Outcome::Stationary | Outcome::Interrupted => true,
            Outcome::Converged(_) => coarse,
            Outcome::Exhausted(_) => {
                fit.iterations >= options.max_iterations
                    || options.max_passes.is_some_and(|most| fit.passes >= most)
            }
        }
    }
}
