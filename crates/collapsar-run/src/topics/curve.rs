//! How well a fit foresees documents along the climb, against what the climb has cost.
//!
//! Of an average the curve has a point after each climb instead of some steps; exact draws have points after some sweeps.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use collapsar::topics::{Topics, TopicsFit, completion};
use collapsar::{Fit, Point, Step};
use collapsar_formats::write_atomically;
use serde_json::{Value, json};

use super::Halves;
use crate::climb::lock;
use crate::error::Result;
use crate::record::merged;

/// Whether the curve has a point after so many steps: 1 to 6, 8, and then 10, 12, 15, 20, 25, 30, 40, 50, 60, 80 times
/// powers of ten.
fn is_shown(iteration: u64) -> bool {
    let mut left = iteration;
    while left >= 100 && left.is_multiple_of(10) {
        left /= 10;
    }
    [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80].contains(&left)
}

/// Sweeps before which a chain, whose documents begin with nothing, foresees less well than the climb before it.
const FIRST_SWEEPS: u64 = 5;

/// The curve so far.
pub(super) struct Curve<'a> {
    file: PathBuf,
    halves: &'a Halves,
    /// What every line says.
    common: Value,
    began: (Instant, Option<Duration>),
    state: Mutex<State>,
}

struct State {
    lines: Vec<Value>,
    /// Wall clock and processor time that went into evaluation.
    apart: (Duration, Duration),
    /// Of the last point.
    cost: Cost,
    /// The first refusal, which whoever sees a step cannot report.
    outcome: Result<()>,
}

/// Iterations and passes that led to a point, and how high it lies.
type Cost = (u64, u64, f64);

impl<'a> Curve<'a> {
    /// Begins to measure: before anything that a fit needs is made.
    pub(super) fn begin(file: PathBuf, halves: &'a Halves, common: Value) -> Self {
        Self {
            file,
            halves,
            common,
            began: (Instant::now(), cpu_time()),
            state: Mutex::new(State {
                lines: Vec::new(),
                apart: (Duration::ZERO, Duration::ZERO),
                cost: (0, 0, f64::NEG_INFINITY),
                outcome: Ok(()),
            }),
        }
    }

    /// Takes in a step of the only climb.
    pub(super) fn step(&self, model: &Topics, step: &Step, point: &Point) {
        if is_shown(step.iteration) {
            let cost = (step.iteration, step.passes, step.bound);
            self.point(&[model.fit(point)], |_| cost);
        }
    }

    /// Takes in the end of the only climb.
    pub(super) fn end(&self, model: &Topics, fit: &Fit) {
        let (last, ..) = lock(&self.state).cost;
        if last != fit.iterations {
            let cost = (fit.iterations, fit.passes, fit.point.bound);
            self.point(&[model.fit(&fit.point)], |_| cost);
        }
    }

    /// Takes in a sweep of the only chain, which began where a climb ended; `fits` are some of its states.
    pub(super) fn sweep(&self, climb: &Fit, sweep: usize, fits: &dyn Fn() -> Vec<TopicsFit>) {
        let sweep = sweep as u64;
        if sweep >= FIRST_SWEEPS && is_shown(sweep) {
            let (iterations, passes) = (climb.iterations + sweep, climb.passes + sweep);
            let cost = (iterations, passes, climb.point.bound);
            self.point_of(1, fits, |_| cost);
        }
    }

    /// Takes in the end of one climb of several, and of the chains that follow it; `fits` are those so far.
    pub(super) fn restart(&self, fits: &[TopicsFit], fit: &Fit, sweeps: u64) {
        self.point(fits, |(iterations, passes, bound)| {
            let bound = bound.max(fit.point.bound);
            let (steps, over) = (fit.iterations + sweeps, fit.passes + sweeps);
            (iterations + steps, passes + over, bound)
        });
    }

    /// The first refusal on the way.
    pub(super) fn finish(self) -> Result<()> {
        let state = self.state.into_inner();
        state.unwrap_or_else(PoisonError::into_inner).outcome
    }

    fn point(&self, fits: &[TopicsFit], cost: impl Fn(Cost) -> Cost) {
        self.point_of(fits.len(), || fits, cost);
    }

    /// The fits are made while the clocks stand still; `restarts` is how many starts they are from.
    fn point_of<F: AsRef<[TopicsFit]>>(
        &self,
        restarts: usize,
        fits: impl FnOnce() -> F,
        cost: impl Fn(Cost) -> Cost,
    ) {
        let mut state = lock(&self.state);
        let (now, cpu) = (Instant::now(), cpu_time());
        let wall = (now - self.began.0).saturating_sub(state.apart.0);
        let spent = since(self.began.1, cpu).map(|spent| spent.saturating_sub(state.apart.1));
        let process = cpu.map(|cpu| cpu.saturating_sub(state.apart.1));
        state.cost = cost(state.cost);
        let spent = [Some(wall), spent, process];
        let added = self.add(&mut state, (restarts, fits().as_ref()), spent);
        if state.outcome.is_ok() {
            state.outcome = added;
        }
        state.apart.0 += now.elapsed();
        state.apart.1 += since(cpu, cpu_time()).unwrap_or_default();
    }

    fn add(
        &self,
        state: &mut State,
        (restarts, fits): (usize, &[TopicsFit]),
        spent: [Option<Duration>; 3],
    ) -> Result<()> {
        let foreseen = completion(fits, &self.halves.observed, &self.halves.evaluated)?;
        let (iterations, passes, bound) = state.cost;
        let [wall, cpu, process] = spent.map(|spent| spent.map(|spent| spent.as_secs_f64()));
        let own = json!({
            "restarts": restarts,
            "fits": fits.len(),
            "iterations": iterations,
            "passes": passes,
            "cpu_seconds": cpu,
            "process_seconds": process,
            "wall_seconds": wall,
            "perplexity": foreseen.perplexity(),
            "bound": bound,
        });
        state.lines.push(merged(&self.common, own));
        // Few lines, so the file is whole after each.
        Ok(write_atomically(&self.file, |out| {
            let mut lines = state.lines.iter();
            lines.try_for_each(|line| writeln!(out, "{line}"))
        })?)
    }
}

fn since(earlier: Option<Duration>, later: Option<Duration>) -> Option<Duration> {
    Some(later?.saturating_sub(earlier?))
}

/// Processor time of all threads of this process so far, where the system tells it.
#[cfg(unix)]
fn cpu_time() -> Option<Duration> {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(now).ok()
}

#[cfg(not(unix))]
fn cpu_time() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_grows_by_about_a_quarter_each_time() {
        let shown: Vec<u64> = (0..1300).filter(|&iteration| is_shown(iteration)).collect();
        assert_eq!(
            shown,
            [
                1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 150, 200,
                250, 300, 400, 500, 600, 800, 1000, 1200
            ]
        );
    }

    #[cfg(unix)]
    #[test]
    fn processor_time_passes() {
        let before = cpu_time().expect("told here");
        let mut sum = 0_u64;
        while cpu_time().expect("told here") == before {
            sum = std::hint::black_box(sum + 1);
        }
    }
}
