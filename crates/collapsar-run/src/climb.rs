//! Climbs from every start, one number of parts after the other, under limits, and keeps the best.
//!
//! - `compete`: many starts at the price of a few climbs

mod compete;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use collapsar::{
    ChainWatch, Checkpoint, Collapsed, Driver, Fit, Jumps, Outcome, Point, Step, Stop,
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::plan::{ClimbOptions, Plan};

pub(crate) use compete::MOST_STARTS;

/// How a run is watched by whoever asked for it.
pub trait Watch: Sync {
    /// Set where everything is to end after its present step.
    fn interrupt(&self) -> &AtomicBool;

    /// Who sees the Markov chains that follow a climb.
    fn chains(&self) -> &dyn ChainWatch {
        self.interrupt()
    }

    /// Whether climbs are to follow one another, in the order of their seeds.
    fn in_turn(&self) -> bool {
        false
    }

    /// Hears how climbs will be made, and when they stop, before the first.
    fn begins(&self, _options: &ClimbOptions) {}

    /// Sees a step of a climb, which is one of several by its index, and may stop it.
    fn step(&self, _climb: usize, _step: &Step) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Sees a climb that ended, of the model of this name.
    fn ended(&self, _model: &str, _seed: u64, _fit: &Fit) {}
}

/// A start for a climb by its index and its seed, and the passes spent on it.
pub(crate) type Start<'a> = dyn Fn(usize, u64) -> collapsar::Result<(Vec<f64>, u64)> + Sync + 'a;

type AtStep<'a> = dyn Fn(&Step, &Point) + Sync + 'a;

type AtEnd<'a> = dyn Fn(u64, &Fit) + Sync + 'a;

/// A model with what its climbs need.
pub(crate) struct Ascent<'a, M> {
    /// The model.
    pub(crate) model: &'a M,
    /// What tells it from others, as in `10 components`.
    pub(crate) name: String,
    /// Where climbs begin.
    pub(crate) start: &'a Start<'a>,
    /// What is tried once a climb slows down.
    pub(crate) jumps: Option<&'a dyn Jumps>,
    /// Is shown each step, and the point that it led to.
    pub(crate) at_step: Option<&'a AtStep<'a>>,
    /// Is shown each climb that ended, by its seed: only the best keeps its point.
    pub(crate) at_end: Option<&'a AtEnd<'a>>,
    /// One climb after the other, in the order of their seeds.
    pub(crate) in_turn: bool,
}

impl<'a, M> Ascent<'a, M> {
    /// Climbs without jumps, that nobody follows.
    pub(crate) fn new(model: &'a M, name: String, start: &'a Start<'a>) -> Self {
        Self {
            model,
            name,
            start,
            jumps: None,
            at_step: None,
            at_end: None,
            in_turn: false,
        }
    }
}

/// The climbs of one model, of which only the best keeps its point.
#[derive(Debug, Clone)]
pub struct Climbs {
    /// The climb with the highest bound, the first of equals.
    pub best: Fit,
    /// Its seed.
    pub best_seed: u64,
    /// Its steps.
    pub steps: Vec<Step>,
    /// Its bound where the others ended: it may have climbed on alone.
    pub(crate) level: f64,
    /// Where each climb ended, in the order of their seeds; nothing of those that never began.
    pub ends: Vec<Option<End>>,
    /// Where some of the climbs were that competed with it and are lower, from the highest.
    pub(crate) rivals: Vec<Point>,
}

impl Climbs {
    /// A climb that could not begin: from these messages nothing can be computed.
    pub(crate) fn nowhere(messages: Vec<f64>) -> Self {
        let point = Point {
            statistics: vec![0.0; messages.len()],
            gradient: vec![0.0; messages.len()],
            messages,
            bound: f64::NEG_INFINITY,
            ..Point::default()
        };
        Self {
            best: Fit {
                point,
                outcome: Outcome::Stationary,
                iterations: 0,
                passes: 0,
                fallbacks: 0,
                jumps_tried: 0,
                jumps_taken: 0,
                seconds: 0.0,
                unwritten: None,
            },
            best_seed: 0,
            steps: vec![],
            level: f64::NEG_INFINITY,
            ends: vec![],
            rivals: vec![],
        }
    }
}

/// Where a climb ended, and what it cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// The bound reached.
    pub bound: f64,
    /// Accepted steps.
    pub iterations: u64,
    /// Passes over the data.
    pub passes: u64,
    /// Whether it was given up on the way, as others were higher.
    pub abandoned: bool,
}

/// How far apart the bounds of several climbs ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Number of climbs.
    pub starts: usize,
    /// How many of them were abandoned early, and are left out of what follows.
    pub abandoned: usize,
    /// The highest bound.
    pub highest: f64,
    /// The middle one, or the mean of the two.
    pub median: f64,
    /// The lowest.
    pub lowest: f64,
    /// How many ended within a nat of the highest.
    pub within_a_nat: usize,
}

impl Spread {
    /// How many climbed to the end.
    pub fn finished(&self) -> usize {
        self.starts - self.abandoned
    }

    /// The share of those that ended within a nat of the highest; nothing where there was only one.
    pub fn share(&self) -> Option<f64> {
        let finished = self.finished();
        (finished > 1).then(|| self.within_a_nat as f64 / finished as f64)
    }
}

impl Climbs {
    fn ended(&self) -> impl Iterator<Item = &End> {
        self.ends.iter().flatten()
    }

    /// Accepted steps of all climbs together.
    pub fn iterations(&self) -> u64 {
        self.ended().map(|end| end.iterations).sum()
    }

    /// Passes over the data of all climbs together.
    pub fn passes(&self) -> u64 {
        self.ended().map(|end| end.passes).sum()
    }

    /// The bounds of the climbs that began, in the order of their seeds.
    pub fn bounds(&self) -> Vec<f64> {
        self.ended().map(|end| end.bound).collect()
    }

    /// How far apart the bounds ended.
    pub fn spread(&self) -> Spread {
        let finished = self.ended().filter(|end| !end.abandoned);
        let mut bounds: Vec<f64> = finished.map(|end| end.bound).collect();
        bounds.sort_by(f64::total_cmp);
        let (starts, finished) = (self.ended().count(), bounds.len());
        Spread {
            starts,
            abandoned: starts - finished,
            highest: bounds[finished - 1],
            median: f64::midpoint(bounds[(finished - 1) / 2], bounds[finished / 2]),
            lowest: bounds[0],
            within_a_nat: (bounds.iter())
                .filter(|&&bound| bound > self.level - 1.0)
                .count(),
        }
    }
}

/// The best climb of the best model, and what finding it cost.
#[derive(Debug, Clone)]
pub struct Climbed {
    /// Those of the model that was kept.
    pub climbs: Climbs,
    /// How the run ended.
    pub outcome: collapsar_formats::Outcome,
    /// Accepted steps of all climbs of all models.
    pub iterations: u64,
    /// Passes over the data of all climbs of all models.
    pub passes: u64,
    /// Seconds of climbing, resumed parts included.
    pub seconds: f64,
    /// Climbs that were asked for and never began, for lack of time.
    pub skipped: usize,
}

impl Climbed {
    /// The best climb.
    pub fn best(&self) -> &Fit {
        &self.climbs.best
    }

    /// Whether the run was interrupted before there was anything to keep.
    pub fn is_nothing(&self) -> bool {
        self.best().iterations == 0 && self.best().outcome == Outcome::Interrupted
    }
}

/// Where a climb begins: as a checkpoint says, or at a start that took so many passes.
enum Begin {
    From(Box<Checkpoint>),
    At(Vec<f64>, u64),
}

/// Whether a climb writes checkpoints, and what they tell of others.
enum Kept {
    No,
    Alone,
    With(String),
}

impl Kept {
    /// With what is to be told, if anything.
    fn telling(others: Option<String>) -> Self {
        others.map_or(Self::Alone, Self::With)
    }
}

/// What all climbs of a run have in common.
pub(crate) struct Run<'a> {
    plan: &'a Plan,
    watch: &'a dyn Watch,
    began: Instant,
    /// Time that went into something else than climbing.
    aside: Mutex<Duration>,
}

/// Lets `fit` climb for each of `numbers`, and keeps what it made of the one with the highest score.
pub(crate) fn each<T>(
    plan: &Plan,
    watch: &dyn Watch,
    numbers: &[usize],
    mut fit: impl FnMut(&Run<'_>, usize) -> Result<(Climbs, T)>,
    score: impl Fn(&Climbs, &T) -> f64,
) -> Result<(Climbed, T)> {
    let run = Run::new(plan, watch);
    watch.begins(&plan.options);
    let restarts = plan.restarts();
    let mut kept: Option<(f64, Climbs, T)> = None;
    let (mut skipped, mut seconds_before) = (0, 0.0);
    let (mut iterations, mut passes) = (0, 0);
    for (index, &number) in numbers.iter().enumerate() {
        if index > 0 && run.is_over() {
            skipped += restarts * (numbers.len() - index);
            break;
        }
        let (climbs, made) = fit(&run, number)?;
        if plan.resume.is_some() {
            seconds_before = (climbs.best.seconds - run.seconds()).max(0.0);
        }
        skipped += climbs.ends.iter().filter(|end| end.is_none()).count();
        iterations += climbs.iterations();
        passes += climbs.passes();
        let score = score(&climbs, &made);
        if kept.as_ref().is_none_or(|(best, ..)| score > *best) {
            kept = Some((score, climbs, made));
        }
    }
    let (_, climbs, made) = kept.expect("at least one number");
    let climbed = Climbed {
        outcome: run.outcome(&climbs.best.outcome),
        climbs,
        iterations,
        passes,
        seconds: seconds_before + run.seconds(),
        skipped,
    };
    Ok((climbed, made))
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Run<'a> {
    /// A run that begins now.
    pub(crate) fn new(plan: &'a Plan, watch: &'a dyn Watch) -> Self {
        Self {
            plan,
            watch,
            began: Instant::now(),
            aside: Mutex::new(Duration::ZERO),
        }
    }

    /// Does something that is not climbing and does not count as such.
    pub(crate) fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let done = work();
        *lock(&self.aside) += began.elapsed();
        done
    }

    /// Seconds of climbing.
    fn seconds(&self) -> f64 {
        let aside = *lock(&self.aside);
        self.began.elapsed().saturating_sub(aside).as_secs_f64()
    }

    fn is_interrupted(&self) -> bool {
        self.watch.interrupt().load(Ordering::Relaxed)
    }

    fn is_out_of_time(&self) -> bool {
        let spent = self.began.elapsed().as_secs_f64();
        self.plan.options.time.is_some_and(|time| spent >= time)
    }

    /// Whether no further climb should begin.
    fn is_over(&self) -> bool {
        self.is_interrupted() || self.is_out_of_time()
    }

    /// Climbs from every start, in parallel unless asked not to; those that find no time left do not
    /// begin. The result does not depend on the threads.
    pub(crate) fn climbs<M: Collapsed>(&self, ascent: &Ascent<'_, M>) -> Result<Climbs> {
        if self.plan.compete {
            return match &self.plan.resume {
                Some(left) => self.compete_on(ascent, left),
                None => self.compete(ascent),
            };
        }
        let asked = self.plan.restarts();
        let best: Mutex<Option<(usize, Fit, Vec<Step>)>> = Mutex::new(None);
        let climb = |index: usize| -> collapsar::Result<Option<End>> {
            if index > 0 && self.is_over() {
                return Ok(None);
            }
            let (fit, steps) = self.climb(ascent, index)?;
            let end = End {
                bound: fit.point.bound,
                iterations: fit.iterations,
                passes: fit.passes,
                abandoned: false,
            };
            let mut best = lock(&best);
            // The first of equals, whichever ended first. A point may be as large as the data, so all
            // others lose theirs.
            let better = best.as_ref().is_none_or(|(other, fit, _)| {
                end.bound > fit.point.bound || (end.bound == fit.point.bound && index < *other)
            });
            if better {
                *best = Some((index, fit, steps));
            }
            Ok(Some(end))
        };
        // Not through rayon where there is one: the passes have all threads to themselves anyway.
        let ends: Vec<collapsar::Result<Option<End>>> =
            if asked == 1 || ascent.in_turn || self.watch.in_turn() {
                (0..asked).map(climb).collect()
            } else {
                (0..asked).into_par_iter().map(climb).collect()
            };
        let ends = ends.into_iter().collect::<collapsar::Result<_>>()?;
        let best = best.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (index, best, steps) = best.expect("the first climb always begins");
        Ok(Climbs {
            level: best.point.bound,
            best,
            best_seed: self.seed(index),
            steps,
            ends,
            rivals: vec![],
        })
    }

    fn seed(&self, index: usize) -> u64 {
        self.plan.options.seed.wrapping_add(index as u64)
    }

    fn climb<M: Collapsed>(
        &self,
        ascent: &Ascent<'_, M>,
        index: usize,
    ) -> collapsar::Result<(Fit, Vec<Step>)> {
        let (resume, mut steps) = (self.plan.resume.clone(), vec![]);
        let how = (self.plan.stop.clone(), Kept::Alone);
        let fit = self.drive(ascent, index, how, resume, &mut steps, &mut None)?;
        if let Some(at_end) = ascent.at_end {
            at_end(self.seed(index), &fit);
        }
        self.watch.ended(&ascent.name, self.seed(index), &fit);
        Ok((fit, steps))
    }

    /// Climbs from where a checkpoint says, or from a start, until `stop`; writes checkpoints where they are `kept`, with
    /// what is to be known of others, and leaves what is needed to go on in `left`.
    fn drive<M: Collapsed>(
        &self,
        ascent: &Ascent<'_, M>,
        index: usize,
        (stop, kept): (Stop, Kept),
        from: Option<Checkpoint>,
        steps: &mut Vec<Step>,
        left: &mut Option<Checkpoint>,
    ) -> collapsar::Result<Fit> {
        let plan = self.plan;
        let begin = if let Some(checkpoint) = from {
            Begin::From(Box::new(checkpoint))
        } else {
            let (start, passes) = (ascent.start)(index, self.seed(index))?;
            Begin::At(start, passes)
        };
        // A start that was cut short is another one: nobody should go on from there.
        let begun = matches!(begin, Begin::From(_)) || !self.is_interrupted();
        // A climb of no steps is one that is stopped before its first.
        let at_once = AtomicBool::new(true);
        let mut driver = Driver::new(ascent.model, plan.options.method)
            .stop(stop)
            .leave(left)
            .interrupt(match plan.options.max_iterations {
                0 => &at_once,
                _ => self.watch.interrupt(),
            })
            .observe(|step| {
                steps.push(*step);
                match self.watch.step(index, step) {
                    ControlFlow::Continue(()) if self.is_out_of_time() => ControlFlow::Break(()),
                    flow => flow,
                }
            });
        if let Some(at_step) = ascent.at_step {
            driver = driver.watch(at_step);
        }
        if let Some(jumps) = ascent.jumps {
            driver = driver.search(jumps);
        }
        let kept = match kept {
            Kept::No => None,
            Kept::Alone => Some(None),
            Kept::With(others) => Some(Some(others)),
        };
        if let (Some((file, every)), Some(others), true) = (&plan.options.checkpoint, kept, begun) {
            driver = driver.checkpoint(file, *every).others(others);
        }
        match begin {
            Begin::From(checkpoint) => driver.resume(*checkpoint),
            Begin::At(start, passes) => driver.spent(passes).run(start),
        }
    }

    /// How the whole run ended: as its best climb did, unless it was cut short from outside.
    fn outcome(&self, best: &Outcome) -> collapsar_formats::Outcome {
        let (converged, reason) = match (best, self.plan.options.time) {
            _ if self.is_interrupted() => (false, "interrupted".to_owned()),
            (Outcome::Interrupted, Some(time)) => (false, format!("stopped after {time} seconds")),
            (best, _) => (best.converged(), best.to_string()),
        };
        collapsar_formats::Outcome { converged, reason }
    }
}

#[cfg(test)]
mod tests;
