//! Climbs for each state of labels that are enumerated, each from where its neighbour ended, those without hope given up
//! early.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use collapsar::elementary::Elementary;
use collapsar::special::log_sum_exp;
use collapsar::{Fit, Outcome, Point, Step};

use super::ModelRun;
use super::enumerate::{Enumerated, NEGLIGIBLE};
use crate::climb::{Ascent, Climbed, Climbs, Run, Watch, each, lock};
use crate::error::Result;

/// Climbs that end so many nats below the best do not matter.
const HOPELESS: f64 = 30.0;
/// Steps at the present pace that would have to make up for more than that.
const PATIENCE: f64 = 100.0;

/// Stops climbs that end too low to matter: far below the best end of another state, and slow.
struct Impatient<'a> {
    watch: &'a dyn Watch,
    best: Mutex<f64>,
    /// The last gain of each climb of this state.
    gains: Mutex<BTreeMap<usize, f64>>,
}

impl Watch for Impatient<'_> {
    fn interrupt(&self) -> &AtomicBool {
        self.watch.interrupt()
    }

    fn in_turn(&self) -> bool {
        self.watch.in_turn()
    }

    fn step(&self, climb: usize, step: &Step) -> ControlFlow<()> {
        let flow = self.watch.step(climb, step);
        let before = lock(&self.gains).insert(climb, step.gain);
        let Some(before) = before else { return flow };
        let missing = *lock(&self.best) - HOPELESS - step.bound;
        if !step.trial && missing > PATIENCE * step.gain.max(before) {
            return ControlFlow::Break(());
        }
        flow
    }

    fn ended(&self, model: &str, seed: u64, fit: &Fit) {
        self.watch.ended(model, seed, fit);
    }
}

impl ModelRun {
    /// Climbs for each state of what is enumerated.
    pub(super) fn climb_states(&self, of: &Enumerated, watch: &dyn Watch) -> Result<Climbed> {
        let impatient = Impatient {
            watch,
            best: Mutex::new(f64::NEG_INFINITY),
            gains: Mutex::new(BTreeMap::new()),
        };
        let inits = &self.inits;
        let mut given = self.request.messages.as_deref();
        let mut ends: Vec<Fit> = vec![];
        let mut failed = None;
        let numbers: Vec<usize> = (0..of.states.len()).collect();
        let fit = |run: &Run<'_>, state: usize| {
            let state = &of.states[state];
            let first = given.map(|messages| {
                let (first, rest) = messages.split_at(state.messages());
                given = Some(rest);
                first
            });
            // Only where the layout is the same, which a higher bound makes likely enough.
            let warm = ends.last().map(|end: &Fit| end.point.messages.as_slice());
            let warm = warm.filter(|warm| warm.len() == state.messages());
            let start = |index: usize, seed: u64| -> collapsar::Result<(Vec<f64>, u64)> {
                if let Some(first) = first {
                    return Ok((first.to_vec(), 0));
                }
                if let Some(given) = inits.get(index) {
                    return state.compiled.start_at(given, seed);
                }
                let cold = state.compiled.start(seed)?;
                let Some(warm) = warm.filter(|_| index == 0) else {
                    return Ok((cold, 0));
                };
                let bound = |messages: &[f64]| state.point(messages.to_vec()).bound;
                let warmer = bound(warm) > bound(&cold);
                Ok((if warmer { warm.to_vec() } else { cold }, 2))
            };
            lock(&impatient.gains).clear();
            let name = of.name(state);
            let climbs = match run.climbs(&Ascent::new(&state.compiled, name, &start)) {
                Ok(climbs) => climbs,
                // A node of a grid may be where numbers are too large to compute with; others are not.
                Err(error) if of.labels.iter().all(|label| label.on_grid) => {
                    failed.get_or_insert(error);
                    Climbs::nowhere(vec![0.0; state.messages()])
                }
                Err(error) => return Err(error),
            };
            let bound = climbs.best.point.bound;
            let mut best = lock(&impatient.best);
            *best = best.max(bound);
            ends.push(climbs.best.clone());
            Ok((climbs, ()))
        };
        let score = |climbs: &Climbs, (): &()| climbs.best.point.bound;
        let (mut climbed, ()) = each(&self.plan, &impatient, &numbers, fit, score)?;
        let nowhere = ends.iter().all(|end| end.point.bound == f64::NEG_INFINITY);
        if let Some(error) = failed.filter(|_| nowhere) {
            return Err(error);
        }
        let mut joined = Point::default();
        let begun = ends.len();
        let mut bounds: Vec<f64> = vec![];
        for (place, state) in of.states.iter().enumerate() {
            let never = || -> Result<Point> {
                Ok(state.point(state.compiled.start(self.request.climb.seed)?))
            };
            let point = match ends.get(place) {
                Some(end) => end.point.clone(),
                None => never()?,
            };
            joined.messages.extend(point.messages);
            joined.statistics.extend(point.statistics);
            joined.gradient.extend(point.gradient);
            bounds.push(point.bound);
        }
        joined.bound = log_sum_exp(&bounds); // maths §10.6
        let matters = |end: &&Fit| end.point.bound - joined.bound > NEGLIGIBLE.ln_();
        let unfinished = |end: &&Fit| !end.outcome.converged();
        let unfinished = ends.iter().filter(matters).find(unfinished);
        if begun < of.states.len() || unfinished.is_some() {
            climbed.outcome.converged = false;
            climbed.outcome.reason =
                match (unfinished.map(|end| &end.outcome), self.plan.options.time) {
                    (Some(outcome @ Outcome::Exhausted(_)), _) => outcome.to_string(),
                    (_, Some(time)) if !watch.interrupt().load(Ordering::Relaxed) => {
                        format!("stopped after {time} seconds")
                    }
                    _ => Outcome::Interrupted.to_string(),
                };
        }
        climbed.climbs.best.point = joined;
        Ok(climbed)
    }
}
