//! `--curve`: how well a fit foresees documents along the climb, against what the climb has cost.
//!
//! An observer of the driver sees steps and no points, and to stop and go on through a checkpoint would
//! write the whole state out each time. So the model is watched instead: it keeps what it last evaluated
//! where the next step is to be shown, and that is the point which the step accepts. The climb is the
//! same, bit for bit, as one that nobody watches.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use collapsar::topics::{Local, Posterior, Topics, TopicsFit};
use collapsar::{Collapsed, Fit, Point, Result, Step};
use collapsar_formats::write_atomically;
use serde_json::{Value, json};

use super::corpus::Halves;

/// Whether the curve has a point after so many steps: 1, 2, 3, 5, 8, and then 12, 20, 30, 50, 80 times
/// powers of ten.
fn is_shown(iteration: u64) -> bool {
    let mut left = iteration;
    while left >= 100 && left.is_multiple_of(10) {
        left /= 10;
    }
    matches!(left, 1 | 2 | 3 | 5 | 8) || [12, 20, 30, 50, 80].contains(&left)
}

/// A model that keeps what it last evaluated, when asked to.
pub(crate) struct Watched<'a> {
    model: &'a Topics,
    asked: AtomicBool,
    last: Mutex<Option<TopicsFit>>,
}

impl<'a> Watched<'a> {
    pub(crate) fn new(model: &'a Topics) -> Self {
        Self {
            model,
            asked: AtomicBool::new(is_shown(1)),
            last: Mutex::new(None),
        }
    }
}

impl Collapsed for Watched<'_> {
    type Local = Local;
    type Posterior = Posterior;

    fn local(&self) -> &Local {
        self.model.local()
    }

    fn posterior(&self) -> &Posterior {
        self.model.posterior()
    }

    fn evaluate(&self, point: &mut Point) -> Result<(f64, f64)> {
        let values = self.model.evaluate(point)?;
        if self.asked.load(Ordering::Relaxed) {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.model.fit(point));
        }
        Ok(values)
    }

    fn metric_product(&self, point: &Point, along: &[f64], out: &mut [f64]) -> Result<()> {
        self.model.metric_product(point, along, out)
    }

    fn covariance_product(&self, point: &Point, along: &[f64], out: &mut [f64]) -> Result<()> {
        self.model.covariance_product(point, along, out)
    }

    fn constant(&self) -> f64 {
        self.model.constant()
    }

    fn fingerprint(&self) -> String {
        self.model.fingerprint()
    }
}

/// The curve so far.
pub(crate) struct Curve<'a> {
    file: PathBuf,
    halves: &'a Halves,
    /// What every line says.
    common: Value,
    state: Mutex<State>,
}

struct State {
    lines: Vec<Value>,
    /// When the fit began, and what was spent on evaluation since.
    began: (Instant, Option<Duration>),
    apart: (Duration, Option<Duration>),
    last_iteration: u64,
    /// The first refusal, which an observer cannot report.
    refusal: Option<anyhow::Error>,
}

impl<'a> Curve<'a> {
    /// Begins to measure.
    pub(crate) fn begin(file: PathBuf, halves: &'a Halves, common: Value) -> Self {
        Self {
            file,
            halves,
            common,
            state: Mutex::new(State {
                lines: Vec::new(),
                began: (Instant::now(), cpu_time()),
                apart: (Duration::ZERO, cpu_time().map(|_| Duration::ZERO)),
                last_iteration: 0,
                refusal: None,
            }),
        }
    }

    /// Takes in a step of the watched model.
    pub(crate) fn step(&self, watched: &Watched<'_>, step: &Step) {
        if is_shown(step.iteration) {
            let last = &watched.last;
            let answer = last.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(answer) = answer {
                self.point(&answer, step.iteration, step.passes, step.bound);
            }
        }
        let next = is_shown(step.iteration + 1);
        watched.asked.store(next, Ordering::Relaxed);
    }

    /// Takes in the end.
    pub(crate) fn finish(self, model: &Topics, fit: &Fit) -> anyhow::Result<()> {
        let answer = model.fit(&fit.point);
        let last = self.lock().last_iteration;
        if last != fit.iterations {
            self.point(&answer, fit.iterations, fit.passes, fit.point.bound);
        }
        let state = self
            .state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        state.refusal.map_or(Ok(()), Err)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn point(&self, answer: &TopicsFit, iterations: u64, passes: u64, bound: f64) {
        let mut state = self.lock();
        let (now, cpu) = (Instant::now(), cpu_time());
        let wall = now
            .duration_since(state.began.0)
            .saturating_sub(state.apart.0);
        let spent = difference(difference(cpu, state.began.1), state.apart.1);
        state.last_iteration = iterations;
        if let Err(error) = self.add(&mut state, answer, wall, spent, [iterations, passes], bound) {
            state.refusal.get_or_insert(error);
        }
        state.apart.0 += now.elapsed();
        let apart = difference(cpu_time(), cpu);
        state.apart.1 = state.apart.1.zip(apart).map(|(before, more)| before + more);
    }

    fn add(
        &self,
        state: &mut State,
        answer: &TopicsFit,
        wall: Duration,
        cpu: Option<Duration>,
        [iterations, passes]: [u64; 2],
        bound: f64,
    ) -> anyhow::Result<()> {
        let completion = answer.completion(&self.halves.observed, &self.halves.evaluated)?;
        let mut line = self.common.clone();
        line["iterations"] = json!(iterations);
        line["passes"] = json!(passes);
        line["cpu_seconds"] = json!(cpu.map(|cpu| cpu.as_secs_f64()));
        line["wall_seconds"] = json!(wall.as_secs_f64());
        line["perplexity"] = json!(completion.perplexity());
        line["bound"] = json!(bound);
        state.lines.push(line);
        // Few lines, so the file is whole after each.
        write_atomically(&self.file, |out| {
            state
                .lines
                .iter()
                .try_for_each(|line| writeln!(out, "{line}"))
        })?;
        Ok(())
    }
}

fn difference(later: Option<Duration>, earlier: Option<Duration>) -> Option<Duration> {
    later
        .zip(earlier)
        .map(|(later, earlier)| later.saturating_sub(earlier))
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
    fn the_curve_grows_by_about_half_each_time() {
        let shown: Vec<u64> = (0..1300).filter(|&iteration| is_shown(iteration)).collect();
        assert_eq!(
            shown,
            [
                1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 300, 500, 800, 1200
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
