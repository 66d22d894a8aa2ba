//! Decides how a climb runs under Python: on threads of its own, the interpreter free, Ctrl-C heard.

use std::any::Any;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use collapsar::{Collapsed, Direction, Driver, Fit, Jumps, Step, Stop};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::error::{Failure, Result};

/// How often signals are looked for: Ctrl-C is to be heard within a second.
const TICK: Duration = Duration::from_millis(50);

/// How to climb, as Python's dictionary says.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Plan {
    method: String,
    tolerance: f64,
    max_iter: u64,
    pub(crate) seed: u64,
    restarts: usize,
    /// Threads; zero for as many as there are processors.
    pub(crate) threads: usize,
}

/// A step of a climb, and where the climb waits to hear whether it is to stop.
struct Shown {
    run: usize,
    step: Step,
    reply: SyncSender<bool>,
}

/// What a climb is watched by.
pub(crate) struct Control {
    interrupt: AtomicBool,
    steps: Option<Sender<Shown>>,
}

impl Control {
    /// Shows a step to whoever watches, and says whether the climb is to stop.
    fn shows(&self, run: usize, step: Step) -> bool {
        let Some(steps) = &self.steps else {
            return false;
        };
        let (reply, answer) = mpsc::sync_channel(1);
        // Nobody listens only where the call is over.
        steps.send(Shown { run, step, reply }).is_ok() && answer.recv().unwrap_or(true)
    }
}

impl collapsar_run::Watch for Control {
    fn interrupt(&self) -> &AtomicBool {
        &self.interrupt
    }
}

/// The best of several climbs.
pub(crate) struct Climbed {
    pub(crate) fit: Fit,
    pub(crate) steps: Vec<Step>,
    /// The bounds that all climbs ended at, in the order of their seeds.
    pub(crate) bounds: Vec<f64>,
    index: usize,
}

/// Does `work` on so many threads while the interpreter goes on; `callback(run, step)` sees each
/// step and may return True to stop.
///
/// The second answer is what stopped the work early: an exception that is to be raised once the
/// first has been put away, so that an interrupted estimator can be used.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    threads: usize,
    callback: Option<Py<PyAny>>,
    work: impl FnOnce(&Control) -> Result<T> + Send,
) -> PyResult<(T, Option<PyErr>)> {
    let (sender, receiver) = mpsc::channel();
    let (outcome, raised) = py.detach(move || {
        thread::scope(|scope| {
            let mut raised = None;
            let control = Control {
                interrupt: AtomicBool::new(false),
                steps: callback.is_some().then(|| sender.clone()),
            };
            // The worker's is the only one that keeps it alive: with it goes the last sender.
            let control = Arc::new(control);
            let watched = Arc::downgrade(&control);
            let worker = scope.spawn(move || {
                // Kept to the end: the receiver learns of the end by its being dropped.
                let _alive = sender;
                on_threads(threads, || work(&control))
            });
            loop {
                let (heard, reply) = match receiver.recv_timeout(TICK) {
                    Ok(Shown { run, step, reply }) => {
                        let heard = Python::attach(|py| match (&callback, &raised) {
                            (Some(callback), None) => callback
                                .bind(py)
                                .call1((run, record(py, &step)?))?
                                .is_truthy(),
                            _ => Ok(false),
                        });
                        (heard, Some(reply))
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        let heard = Python::attach(|py| py.check_signals().map(|()| false));
                        (heard, None)
                    }
                    Err(RecvTimeoutError::Disconnected) => break,
                };
                let stops = !matches!(heard, Ok(false));
                if let Err(error) = heard {
                    raised.get_or_insert(error);
                }
                if stops && let Some(control) = watched.upgrade() {
                    control.interrupt.store(true, Ordering::Relaxed);
                }
                if let Some(reply) = reply {
                    // A climb that no longer waits has ended.
                    let _ = reply.send(stops);
                }
            }
            let panicked = |panic: Box<dyn Any + Send>| Err(Failure::Panic(words(panic.as_ref())));
            (worker.join().unwrap_or_else(panicked), raised)
        })
    });
    Ok((outcome?, raised))
}

/// Does `work` on a pool of its own: a shared one would not survive a fork of the process.
fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Failure::Panic(error.to_string()))?;
    pool.install(work)
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without words".into())
}

/// A step as callbacks see it.
fn record<'py>(py: Python<'py>, step: &Step) -> PyResult<Bound<'py, PyAny>> {
    let record = pyo3::types::PyDict::new(py);
    record.set_item("iteration", step.iteration)?;
    record.set_item("passes", step.passes)?;
    record.set_item("bound", step.bound)?;
    record.set_item("gain", step.gain)?;
    record.set_item("squared_norm", step.squared_norm)?;
    record.set_item("beta", step.beta)?;
    record.set_item("fell_back", step.fell_back)?;
    record.set_item("trial", step.trial)?;
    record.set_item("seconds", step.seconds)?;
    Ok(record.into_any())
}

/// A start for a seed, and the passes spent on it.
pub(crate) type Start<'a> = dyn Fn(u64) -> collapsar::Result<(Vec<f64>, u64)> + Sync + 'a;

impl Plan {
    /// The tolerance of models of any kind, where none was given.
    pub(crate) fn tolerance_for(&mut self, data: usize) {
        self.tolerance = (data as f64 / 1e10).max(1e-8);
    }

    /// Climbs from every start and keeps the best; in turn where each step is watched.
    pub(crate) fn climb<M: Collapsed>(
        &self,
        model: &M,
        start: &Start<'_>,
        jumps: Option<&dyn Jumps>,
        control: &Control,
    ) -> Result<Climbed> {
        let direction: Direction = self.method.parse()?;
        let best: Mutex<Option<Climbed>> = Mutex::new(None);
        let climb = |index: usize| -> collapsar::Result<f64> {
            if index > 0 && control.interrupt.load(Ordering::Relaxed) {
                return Ok(f64::NEG_INFINITY);
            }
            let climbed = self.one(model, direction, start, jumps, control, index)?;
            let bound = climbed.fit.point.bound;
            let mut best = best.lock().unwrap_or_else(PoisonError::into_inner);
            // The first of equals, whichever ended first.
            let better = best.as_ref().is_none_or(|best| {
                let other = best.fit.point.bound;
                bound > other || (bound == other && index < best.index)
            });
            if better {
                *best = Some(climbed);
            }
            Ok(bound)
        };
        let bounds: collapsar::Result<Vec<f64>> = if self.restarts == 1 || control.steps.is_some() {
            (0..self.restarts).map(climb).collect()
        } else {
            (0..self.restarts).into_par_iter().map(climb).collect()
        };
        let bounds = bounds?;
        let best = best.into_inner().unwrap_or_else(PoisonError::into_inner);
        let best = best.ok_or_else(|| collapsar::Error::setting("restarts", 0, "at least 1"))?;
        Ok(Climbed { bounds, ..best })
    }

    fn one<M: Collapsed>(
        &self,
        model: &M,
        direction: Direction,
        start: &Start<'_>,
        jumps: Option<&dyn Jumps>,
        control: &Control,
        index: usize,
    ) -> collapsar::Result<Climbed> {
        let mut steps = Vec::new();
        // A climb of no steps is one that is stopped before its first.
        let at_once = AtomicBool::new(true);
        let interrupt = match self.max_iter {
            0 => &at_once,
            _ => &control.interrupt,
        };
        let mut driver = Driver::new(model, direction)
            .stop(Stop::Gain(self.tolerance) | Stop::Iterations(self.max_iter))
            .interrupt(interrupt)
            .observe(|step| {
                steps.push(*step);
                if control.shows(index, *step) {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
        if let Some(jumps) = jumps {
            driver = driver.search(jumps);
        }
        let (start, passes) = start(self.seed.wrapping_add(index as u64))?;
        let fit = driver.spent(passes).run(start)?;
        Ok(Climbed {
            fit,
            steps,
            bounds: vec![],
            index,
        })
    }
}

/// Panics, to show that no panic reaches Python.
#[pyfunction]
pub(crate) fn panic_for_tests(py: Python<'_>) -> PyResult<()> {
    let (never, _) = detached(py, 1, None, |_| -> Result<()> { panic!("on purpose") })?;
    Ok(never)
}
