//! Climbs from every start, for every number of components, and keeps the best.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use collapsar::mixture::Mixture;
use collapsar::{Driver, Fit, Outcome, Restarts, Spread, Step};
use collapsar_formats::Table;
use rayon::prelude::*;
use serde::Serialize;

use super::config::Config;
use crate::common::Common;
use crate::progress::Progress;
use crate::text::{duration, short};

/// A component with fewer rows than this is not in use.
pub(crate) const USED: f64 = 1.0;

/// The best fit, and what finding it cost.
pub(crate) struct Fitted {
    pub(crate) model: Mixture,
    /// The climbs with this number of components.
    pub(crate) restarts: Restarts,
    /// Where the best climb began.
    pub(crate) best_seed: u64,
    /// Every step of the best climb.
    pub(crate) steps: Vec<Step>,
    pub(crate) outcome: collapsar_formats::Outcome,
    /// One line for each number of components.
    pub(crate) compared: Vec<Compared>,
    /// Of all climbs.
    pub(crate) iterations: u64,
    pub(crate) passes: u64,
    pub(crate) seconds: f64,
    /// Climbs that were asked for and never began, for lack of time.
    pub(crate) skipped: usize,
}

/// What one number of components led to.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Compared {
    pub(crate) components: usize,
    pub(crate) bound: f64,
    pub(crate) used: usize,
    pub(crate) iterations: u64,
    pub(crate) passes: u64,
    pub(crate) converged: bool,
}

impl Fitted {
    pub(crate) fn best(&self) -> &Fit {
        self.restarts.best()
    }

    pub(crate) fn spread(&self) -> Spread {
        self.restarts.spread()
    }

    /// Whether Ctrl-C came before there was anything to keep.
    pub(crate) fn is_nothing(&self) -> bool {
        self.best().iterations == 0 && self.best().outcome == Outcome::Interrupted
    }

    /// What to do about a fit that has not converged.
    pub(crate) fn advice(&self) -> String {
        let reason = &self.outcome.reason;
        match &self.best().outcome {
            Outcome::Exhausted(_) => {
                format!("not converged: {reason}; results are of the point reached")
            }
            _ => format!("{reason}; results are of the best point reached"),
        }
    }
}

/// The climb from one start.
struct Climb {
    seed: u64,
    fit: Fit,
    steps: Vec<Step>,
}

/// The climbs with one number of components.
struct Climbs {
    restarts: Restarts,
    best_seed: u64,
    steps: Vec<Step>,
    skipped: usize,
}

/// What all climbs share.
struct Run<'a> {
    config: &'a Config,
    common: &'a Common,
    progress: Progress,
    began: Instant,
    highest: Mutex<f64>,
}

pub(crate) fn fit(config: &Config, table: &Table, common: &Common) -> anyhow::Result<Fitted> {
    let climbs = config.restarts * config.components.len();
    let length = (climbs > 1).then_some(climbs as u64);
    let run = Run {
        config,
        common,
        progress: Progress::new(common, length, "climbs"),
        began: Instant::now(),
        highest: Mutex::new(f64::NEG_INFINITY),
    };
    let mut kept: Option<(Mixture, Climbs)> = None;
    let (mut compared, mut skipped, mut seconds_before) = (Vec::new(), 0, 0.0);
    for (index, &components) in config.components.iter().enumerate() {
        if index > 0 && run.is_over() {
            skipped += config.restarts * (config.components.len() - index);
            break;
        }
        let model = config.model(components, table)?;
        let climbs = run.climbs(&model)?;
        let best = climbs.restarts.best();
        if config.resume.is_some() {
            seconds_before = (best.seconds - run.began.elapsed().as_secs_f64()).max(0.0);
        }
        let counts = model
            .fit(&best.point)?
            .components
            .into_iter()
            .map(|c| c.count);
        compared.push(Compared {
            components,
            bound: best.point.bound,
            used: counts.filter(|&count| count >= USED).count(),
            iterations: climbs.restarts.iterations(),
            passes: climbs.restarts.passes(),
            converged: best.outcome.converged(),
        });
        skipped += climbs.skipped;
        let higher = |(_, kept): &(_, Climbs)| best.point.bound > kept.restarts.best().point.bound;
        if kept.as_ref().is_none_or(higher) {
            kept = Some((model, climbs));
        }
    }
    let (model, climbs) = kept.expect("at least one number of components");
    Ok(Fitted {
        outcome: run.outcome(&climbs.restarts.best().outcome),
        model,
        restarts: climbs.restarts,
        best_seed: climbs.best_seed,
        steps: climbs.steps,
        iterations: compared.iter().map(|line| line.iterations).sum(),
        passes: compared.iter().map(|line| line.passes).sum(),
        compared,
        seconds: seconds_before + run.began.elapsed().as_secs_f64(),
        skipped,
    })
}

impl Run<'_> {
    /// Whether no further climb should begin.
    fn is_over(&self) -> bool {
        self.common.interrupted() || self.out_of_time()
    }

    fn out_of_time(&self) -> bool {
        self.config
            .time
            .is_some_and(|time| self.began.elapsed() >= time)
    }

    /// Climbs from every start in parallel; those that find no time left do not begin.
    fn climbs(&self, model: &Mixture) -> anyhow::Result<Climbs> {
        let climb = |index: usize| {
            if index > 0 && self.is_over() {
                return Ok(None);
            }
            let done = self.climb(model, index)?;
            self.progress.advance();
            Ok(Some(done))
        };
        // Not through rayon where there is one: the passes have all threads to themselves anyway.
        let climbs: Vec<collapsar::Result<Option<Climb>>> = match self.config.restarts {
            1 => vec![climb(0)],
            many => (0..many).into_par_iter().map(climb).collect(),
        };
        let asked = climbs.len();
        let mut done = Vec::with_capacity(asked);
        for climb in climbs {
            done.extend(climb?);
        }
        let skipped = asked - done.len();
        let (mut starts, fits): (Vec<_>, Vec<_>) = done
            .into_iter()
            .map(|climb| ((climb.seed, climb.steps), climb.fit))
            .unzip();
        let restarts = Restarts::new(fits);
        let (best_seed, steps) = starts.swap_remove(restarts.best);
        Ok(Climbs {
            restarts,
            best_seed,
            steps,
            skipped,
        })
    }

    fn climb(&self, model: &Mixture, index: usize) -> collapsar::Result<Climb> {
        let config = self.config;
        let alone = config.restarts == 1;
        let seed = config.seed.wrapping_add(index as u64);
        let mut steps = Vec::new();
        let mut driver = Driver::new(model, config.direction)
            .stop(config.stop.clone())
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
        if config.jumps {
            driver = driver.search(model);
        }
        if let Some((file, every)) = &config.checkpoint {
            driver = driver.checkpoint(file, *every);
        }
        let fit = if let Some(checkpoint) = &config.resume {
            driver.resume(checkpoint.clone())?
        } else {
            let (start, passes) = model.start(&config.start, seed)?;
            driver.spent(passes).run(start)?
        };
        if !alone {
            self.report(model, seed, &fit);
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
    fn report(&self, model: &Mixture, seed: u64, fit: &Fit) {
        let bound = fit.point.bound;
        if self.common.verbose {
            self.progress.line(&format!(
                "{} components, seed {seed}: bound {bound:.3}, {} ({} iterations, {} passes, {})",
                model.components(),
                fit.outcome,
                fit.iterations,
                fit.passes,
                duration(fit.seconds),
            ));
        }
        let mut highest = self
            .highest
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        *highest = highest.max(bound);
        self.progress.tell(|| format!("best bound {:.3}", *highest));
    }

    /// How the whole run ended: that of the best climb, unless it was cut short from outside.
    fn outcome(&self, best: &Outcome) -> collapsar_formats::Outcome {
        let (converged, reason) = if self.common.interrupted() {
            (false, "interrupted".to_owned())
        } else if *best == Outcome::Interrupted {
            let time = self.config.time.unwrap_or(Duration::ZERO).as_secs_f64();
            (false, format!("stopped after {time} seconds"))
        } else {
            (best.converged(), best.to_string())
        };
        collapsar_formats::Outcome { converged, reason }
    }
}
