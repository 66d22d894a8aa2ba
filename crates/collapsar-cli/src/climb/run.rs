//! Climbs from every start, one number of parts after the other, and keeps the best.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use collapsar::{Collapsed, Driver, Fit, Jumps, Outcome, Point, Restarts, Step};
use rayon::prelude::*;

use super::{Ended, Plan};
use crate::common::Common;
use crate::progress::Progress;
use crate::text::{duration, short};

/// A start for a seed, and the passes spent on it.
type Start<'a> = dyn Fn(u64) -> collapsar::Result<(Vec<f64>, u64)> + Sync + 'a;

/// Is shown a step, and the point that it led to.
type Watch<'a> = dyn Fn(&Step, &Point) + Sync + 'a;

/// Is shown a climb that ended, by its seed.
type AtEnd<'a> = dyn Fn(u64, &Fit) + Sync + 'a;

/// A model with what its climbs need.
pub(crate) struct Ascent<'a, M> {
    pub(crate) model: &'a M,
    /// What tells it from others, as in `10 components`.
    pub(crate) name: String,
    pub(crate) start: &'a Start<'a>,
    pub(crate) jumps: Option<&'a dyn Jumps>,
    pub(crate) watch: Option<&'a Watch<'a>>,
    /// The only place that sees the points of all climbs: only the best's is kept.
    pub(crate) ended: Option<&'a AtEnd<'a>>,
    /// One climb after the other, in the order of their seeds.
    pub(crate) in_turn: bool,
}

/// The climbs of one model. Only the best has a point.
pub(crate) struct Climbs {
    pub(crate) restarts: Restarts,
    pub(crate) best_seed: u64,
    /// Every step of the best climb.
    pub(crate) steps: Vec<Step>,
    /// Climbs that were asked for and never began, for lack of time.
    pub(crate) skipped: usize,
}

/// The climb from one start.
struct Climb {
    seed: u64,
    fit: Fit,
    steps: Vec<Step>,
}

/// What all climbs share.
pub(crate) struct Run<'a> {
    plan: &'a Plan,
    common: &'a Common,
    progress: Progress,
    began: Instant,
    /// Time that went into something else than climbing.
    aside: Mutex<Duration>,
    highest: Mutex<f64>,
}

/// Lets `fit` climb for each of `numbers`, and keeps what it made of the one with the highest score.
pub(crate) fn each<T>(
    plan: &Plan,
    common: &Common,
    numbers: &[usize],
    mut fit: impl FnMut(&Run<'_>, usize) -> anyhow::Result<(Climbs, T)>,
    score: impl Fn(&Climbs, &T) -> f64,
) -> anyhow::Result<(Ended, T)> {
    let climbs = plan.restarts * numbers.len();
    let length = (climbs > 1).then_some(climbs as u64);
    let run = Run {
        plan,
        common,
        progress: Progress::new(common, length, "climbs"),
        began: Instant::now(),
        aside: Mutex::new(Duration::ZERO),
        highest: Mutex::new(f64::NEG_INFINITY),
    };
    let mut kept: Option<(f64, Climbs, T)> = None;
    let (mut skipped, mut seconds_before) = (0, 0.0);
    let (mut iterations, mut passes) = (0, 0);
    for (index, &number) in numbers.iter().enumerate() {
        if index > 0 && run.is_over() {
            skipped += plan.restarts * (numbers.len() - index);
            break;
        }
        let (climbs, made) = fit(&run, number)?;
        if plan.resume.is_some() {
            seconds_before = (climbs.restarts.best().seconds - run.seconds()).max(0.0);
        }
        skipped += climbs.skipped;
        iterations += climbs.restarts.iterations();
        passes += climbs.restarts.passes();
        let score = score(&climbs, &made);
        if kept.as_ref().is_none_or(|(best, ..)| score > *best) {
            kept = Some((score, climbs, made));
        }
    }
    let (_, climbs, made) = kept.expect("at least one number");
    let ended = Ended {
        outcome: run.outcome(&climbs.restarts.best().outcome),
        climbs,
        iterations,
        passes,
        seconds: seconds_before + run.seconds(),
        skipped,
    };
    Ok((ended, made))
}

impl Run<'_> {
    /// Does something that is not climbing and does not count as such.
    pub(crate) fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let done = work();
        *self.aside.lock().unwrap_or_else(PoisonError::into_inner) += began.elapsed();
        done
    }

    /// Seconds of climbing.
    fn seconds(&self) -> f64 {
        let aside = *self.aside.lock().unwrap_or_else(PoisonError::into_inner);
        self.began.elapsed().saturating_sub(aside).as_secs_f64()
    }

    /// Whether no further climb should begin.
    fn is_over(&self) -> bool {
        self.common.interrupted() || self.out_of_time()
    }

    fn out_of_time(&self) -> bool {
        self.plan
            .time
            .is_some_and(|time| self.began.elapsed() >= time)
    }

    /// Climbs from every start, in parallel unless asked not to; those that find no time left do not
    /// begin.
    pub(crate) fn climbs<M: Collapsed>(&self, ascent: &Ascent<'_, M>) -> anyhow::Result<Climbs> {
        let asked = self.plan.restarts;
        let kept = Mutex::new(Kept {
            climbs: std::iter::repeat_with(|| None).take(asked).collect(),
            best: None,
        });
        let climb = |index: usize| {
            if index == 0 || !self.is_over() {
                let done = self.climb(ascent, index)?;
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.take(index, done);
                self.progress.advance();
            }
            Ok(())
        };
        // Not through rayon where there is one: the passes have all threads to themselves anyway.
        let ends: Vec<collapsar::Result<()>> = if asked == 1 || ascent.in_turn {
            (0..asked).map(climb).collect()
        } else {
            (0..asked).into_par_iter().map(climb).collect()
        };
        ends.into_iter().collect::<collapsar::Result<()>>()?;
        let kept = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (mut starts, fits): (Vec<_>, Vec<_>) = kept
            .climbs
            .into_iter()
            .flatten()
            .map(|climb| ((climb.seed, climb.steps), climb.fit))
            .unzip();
        let skipped = asked - fits.len();
        let restarts = Restarts::new(fits);
        let (best_seed, steps) = starts.swap_remove(restarts.best);
        Ok(Climbs {
            restarts,
            best_seed,
            steps,
            skipped,
        })
    }

    fn climb<M: Collapsed>(
        &self,
        ascent: &Ascent<'_, M>,
        index: usize,
    ) -> collapsar::Result<Climb> {
        let plan = self.plan;
        let alone = plan.restarts == 1;
        let seed = plan.seed.wrapping_add(index as u64);
        let mut steps = Vec::new();
        let mut driver = Driver::new(ascent.model, plan.direction)
            .stop(plan.stop.clone())
            .interrupt(self.common.interrupt)
            .observe(|step| {
                steps.push(*step);
                if alone {
                    self.show(step);
                }
                if self.out_of_time() {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
        if let Some(watch) = ascent.watch {
            driver = driver.watch(watch);
        }
        if let Some(jumps) = ascent.jumps {
            driver = driver.search(jumps);
        }
        if let Some((file, every)) = &plan.checkpoint {
            driver = driver.checkpoint(file, *every);
        }
        let fit = if let Some(checkpoint) = &plan.resume {
            driver.resume(checkpoint.clone())?
        } else {
            let (start, passes) = (ascent.start)(seed)?;
            driver.spent(passes).run(start)?
        };
        if let Some(ended) = ascent.ended {
            ended(seed, &fit);
        }
        if !alone {
            self.report(&ascent.name, seed, &fit);
        }
        Ok(Climb { seed, fit, steps })
    }

    /// Shows a step of the only climb.
    fn show(&self, step: &Step) {
        let line = || {
            format!(
                "iteration {}, {} passes, bound {:.3}, gain {}{}",
                step.iteration,
                step.passes,
                step.bound,
                short(step.gain),
                if step.trial { ", trying a jump" } else { "" },
            )
        };
        if self.common.verbose {
            self.progress.line(&line());
        }
        self.progress.tell(line);
    }

    /// Reports a climb that ended, one of several.
    fn report(&self, name: &str, seed: u64, fit: &Fit) {
        let bound = fit.point.bound;
        if self.common.verbose {
            self.progress.line(&format!(
                "{name}, seed {seed}: bound {bound:.3}, {} ({} iterations, {} passes, {})",
                fit.outcome,
                fit.iterations,
                fit.passes,
                duration(fit.seconds),
            ));
        }
        let mut highest = self.highest.lock().unwrap_or_else(PoisonError::into_inner);
        *highest = highest.max(bound);
        self.progress.tell(|| format!("best bound {:.3}", *highest));
    }

    /// How the whole run ended: that of the best climb, unless it was cut short from outside.
    fn outcome(&self, best: &Outcome) -> collapsar_formats::Outcome {
        let (converged, reason) = if self.common.interrupted() {
            (false, "interrupted".to_owned())
        } else if *best == Outcome::Interrupted {
            let time = self.plan.time.unwrap_or(Duration::ZERO).as_secs_f64();
            (false, format!("stopped after {time} seconds"))
        } else {
            (best.converged(), best.to_string())
        };
        collapsar_formats::Outcome { converged, reason }
    }
}

/// Climbs that ended, by index. A point may be as large as the data, so only the best keeps its own.
struct Kept {
    climbs: Vec<Option<Climb>>,
    best: Option<usize>,
}

impl Kept {
    fn take(&mut self, index: usize, climb: Climb) {
        let bound = climb.fit.point.bound;
        self.climbs[index] = Some(climb);
        let worse = match self.best {
            None => None,
            // The first of equals, whichever ended first.
            Some(best)
                if bound > self.bound(best) || (bound == self.bound(best) && index < best) =>
            {
                Some(best)
            }
            Some(_) => Some(index),
        };
        if worse != Some(index) {
            self.best = Some(index);
        }
        if let Some(climb) = worse.and_then(|index| self.climbs[index].as_mut()) {
            climb.steps = Vec::new();
            climb.fit.point = Point {
                bound: climb.fit.point.bound,
                ..Point::default()
            };
        }
    }

    fn bound(&self, index: usize) -> f64 {
        let climb = self.climbs[index].as_ref();
        climb.map_or(f64::NEG_INFINITY, |climb| climb.fit.point.bound)
    }
}
