//! Decides how work is done under Python: on threads of its own, the interpreter free, Ctrl-C heard.

use std::any::Any;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender, SyncSender};
use std::thread;
use std::time::Duration;

use collapsar::Step;
use collapsar_run::{CHECKPOINT_EVERY, ClimbOptions, PosteriorKind, Watch, threads_of_jobs};
use pyo3::prelude::*;

use crate::arrays::python;
use crate::error::{Failure, Result};

/// How often signals are looked for: Ctrl-C is to be heard within a second.
const TICK: Duration = Duration::from_millis(50);

/// How to climb, as Python's dictionary says.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Plan {
    method: String,
    tolerance: Option<f64>,
    max_iter: u64,
    max_passes: Option<u64>,
    max_seconds: Option<f64>,
    seed: u64,
    pub(crate) restarts: Option<usize>,
    n_jobs: Option<isize>,
    checkpoint: Option<PathBuf>,
    resume: Option<PathBuf>,
}

impl Plan {
    /// The threads of a fit of so many numbers, where that is known.
    pub(crate) fn threads(&self, numbers: Option<usize>) -> usize {
        threads_of_jobs(self.n_jobs, numbers)
    }

    pub(crate) fn options(self) -> collapsar::Result<ClimbOptions> {
        Ok(ClimbOptions {
            method: self.method.parse()?,
            restarts: self.restarts,
            seed: self.seed,
            tolerance: self.tolerance,
            max_iterations: self.max_iter,
            max_passes: self.max_passes,
            time: self.max_seconds,
            threads: rayon::current_num_threads(),
            checkpoint: self.checkpoint.map(|file| (file, CHECKPOINT_EVERY)),
            resume: self.resume,
        })
    }
}

/// A step of a climb, and where the climb waits to hear whether it is to stop.
struct Shown {
    climb: usize,
    step: Step,
    reply: SyncSender<bool>,
}

/// What a climb is watched by.
pub(crate) struct Control {
    interrupt: AtomicBool,
    steps: Option<Sender<Shown>>,
}

impl Watch for Control {
    fn interrupt(&self) -> &AtomicBool {
        &self.interrupt
    }

    fn in_turn(&self) -> bool {
        self.steps.is_some()
    }

    fn step(&self, climb: usize, step: &Step) -> ControlFlow<()> {
        let Some(steps) = &self.steps else {
            return ControlFlow::Continue(());
        };
        let (reply, answer) = mpsc::sync_channel(1);
        let step = *step;
        // Nobody listens only where the call is over.
        let shown = steps.send(Shown { climb, step, reply }).is_ok();
        if shown && answer.recv().unwrap_or(true) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// The posterior of a name, none where none is given.
pub(crate) fn posterior_kind(name: Option<&str>) -> Result<Option<PosteriorKind>> {
    let Some(name) = name else {
        return Ok(None);
    };
    let found = PosteriorKind::ALL
        .into_iter()
        .find(|kind| kind.name() == name);
    let expected = "mean-field, linear-response, exact or None";
    match found {
        Some(kind) => Ok(Some(kind)),
        None => Err(collapsar::Error::setting("posterior", name, expected).into()),
    }
}

/// Does `work` on so many threads while the interpreter goes on; `callback(climb, step)` sees each
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
                    Ok(Shown { climb, step, reply }) => {
                        let heard = Python::attach(|py| match (&callback, &raised) {
                            (Some(callback), None) => callback
                                .bind(py)
                                .call1((climb, python(py, &step)?))?
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

/// Does work whose parts are of no use.
pub(crate) fn whole<T: Send>(
    py: Python<'_>,
    threads: usize,
    work: impl FnOnce(&Control) -> Result<T> + Send,
) -> PyResult<T> {
    match detached(py, threads, None, work)? {
        (_, Some(error)) => Err(error),
        (done, None) => Ok(done),
    }
}

/// Panics, to show that no panic reaches Python.
#[pyfunction]
pub(crate) fn panic_for_tests(py: Python<'_>) -> PyResult<()> {
    let (never, _) = detached(py, 1, None, |_| -> Result<()> { panic!("on purpose") })?;
    Ok(never)
}
