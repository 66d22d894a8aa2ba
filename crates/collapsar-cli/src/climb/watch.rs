//! Climbs on the progress bar: each step of the only one, each end of several.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use collapsar::{Fit, Step};
use collapsar_run::Watch;

use crate::common::Common;
use crate::progress::Progress;
use crate::text::{duration, short};

/// The progress of so many climbs.
pub(crate) struct Bar<'a> {
    common: &'a Common,
    pub(crate) progress: Progress,
    /// Whether there is one climb only.
    alone: bool,
    highest: Mutex<f64>,
}

impl<'a> Bar<'a> {
    pub(crate) fn new(common: &'a Common, climbs: usize) -> Self {
        let alone = climbs == 1;
        let length = (!alone).then_some(climbs as u64);
        Self {
            common,
            progress: Progress::new(common, length, "climbs"),
            alone,
            highest: Mutex::new(f64::NEG_INFINITY),
        }
    }
}

impl Watch for Bar<'_> {
    fn interrupt(&self) -> &AtomicBool {
        self.common.interrupt
    }

    fn step(&self, _: usize, step: &Step) -> ControlFlow<()> {
        if self.alone {
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
        ControlFlow::Continue(())
    }

    fn ended(&self, model: &str, seed: u64, fit: &Fit) {
        let bound = fit.point.bound;
        if !self.alone {
            if self.common.verbose {
                self.progress.line(&format!(
                    "{model}, seed {seed}: bound {bound:.3}, {} ({} iterations, {} passes, {})",
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
        self.progress.advance();
    }
}
