//! Which runs, and every method from every start, one run after another, for the second experiment and the third.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Instant;

use collapsar::{Collapsed, Direction, Driver, Fit, Point, Stop};
use collapsar_text::{count, duration, quoted, thousands};
use serde_json::{Map, Value, json};

use crate::measure::{Comparison, MethodRuns, RunSummary};
use crate::report::{csv, record};
use crate::{Error, Host, Report, Result, distinct};

/// Which runs an experiment makes.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The methods to compare; one that is named twice counts once.
    pub methods: Vec<Direction>,
    /// Starts of each method.
    pub starts: usize,
    /// Of the first start, and of data that are drawn.
    pub seed: u64,
    /// A run ends when a step gains less than this, or the gradient's squared norm is below it.
    pub tolerance: f64,
    /// A run ends after so many iterations in any case.
    pub max_iterations: u64,
}

/// A way to the optimum that no start decides and no driver takes: its name and how it ended, or nothing once
/// it is interrupted.
pub(crate) type OwnSolver<'a> = (&'a str, &'a dyn Fn() -> Result<Option<RunSummary>>);

/// The runs, and where the best of them ended.
#[derive(Debug)]
pub(crate) struct Climbs {
    pub(crate) comparison: Comparison,
    pub(crate) best: Point,
    /// The method and the seed of the best.
    pub(crate) best_is: String,
}

impl Plan {
    pub(crate) fn methods(&self) -> Vec<Direction> {
        distinct(self.methods.iter().copied())
    }

    pub(crate) fn seed(&self, start: usize) -> u64 {
        self.seed.wrapping_add(start as u64)
    }

    /// The paper's rule, with a limit for runs that crawl.
    pub(crate) fn stop(&self) -> Stop {
        let (gain, norm) = (Stop::Gain(self.tolerance), Stop::Norm(self.tolerance));
        gain | norm | Stop::Iterations(self.max_iterations)
    }

    /// The runs in a sentence, so that the figures can be had again.
    pub(crate) fn sentence(&self, starts: &str) -> String {
        let (seed, tolerance) = (self.seed, self.tolerance);
        format!(
            "Runs: {starts}, seeds {seed} and up, the same for every method; a run ends when a step gains less than \
             {tolerance:e} nats or the squared norm of the gradient is below {tolerance:e}, or after {} iterations",
            thousands(self.max_iterations as usize)
        )
    }

    /// Climbs by every method from every start, which is messages and the passes that they cost. Methods take
    /// turns, so that whatever else the machine does slows all of them alike, and a start counts once all have
    /// ended.
    pub(crate) fn climb<M: Collapsed>(
        &self,
        model: &M,
        start: impl Fn(u64) -> collapsar::Result<(Vec<f64>, u64)>,
        own: Option<OwnSolver<'_>>,
        host: &dyn Host,
    ) -> Result<Climbs> {
        let names = self.methods().into_iter().map(|method| method.to_string());
        let names = names.chain(own.map(|(name, _)| name.to_owned()));
        let mut methods: Vec<MethodRuns> = names.map(MethodRuns::new).collect();
        host.begin(self.starts * methods.len())?;
        let mut best: Option<(Point, String)> = None;
        for seed in (0..self.starts).map(|start| self.seed(start)) {
            let Some(fits) = self.fits(model, seed, &start, host)? else {
                break;
            };
            let mut runs: Vec<_> = fits.iter().map(|(_, fit)| RunSummary::from(fit)).collect();
            if let Some((_, solve)) = own {
                let Some(run) = solve()? else { break };
                host.advance();
                runs.push(run);
            }
            for (method, run) in methods.iter_mut().zip(runs) {
                method.runs.push(run);
            }
            for (name, Fit { point, .. }) in fits {
                if best.as_ref().is_none_or(|best| point.bound > best.0.bound) {
                    best = Some((point, name));
                }
            }
        }
        let (best, best_is) = best.ok_or(Error::PartOfStart)?;
        Ok(Climbs {
            comparison: Comparison::new(methods, None),
            best,
            best_is,
        })
    }

    /// The fits of every method from one start, each with its name; nothing once they are interrupted.
    fn fits<M: Collapsed>(
        &self,
        model: &M,
        seed: u64,
        start: impl Fn(u64) -> collapsar::Result<(Vec<f64>, u64)>,
        host: &dyn Host,
    ) -> Result<Option<Vec<(String, Fit)>>> {
        let began = Instant::now();
        let (start, passes) = start(seed)?;
        let starting = began.elapsed().as_secs_f64();
        let mut fits = Vec::new();
        for method in self.methods() {
            let name = format!("{method}, seed {seed}");
            let mut fit = Driver::new(model, method)
                .spent(passes)
                .interrupt(host.interrupt())
                .stop(self.stop())
                .observe(|step| {
                    let (iteration, bound) = (step.iteration, step.bound);
                    host.status(&|| format!("{name}: iteration {iteration}, bound {bound:.1}"));
                    ControlFlow::Continue(())
                })
                .run(start.clone())?;
            if host.interrupt().load(Ordering::Relaxed) {
                return Ok(None);
            }
            fit.seconds += starting;
            host.advance();
            host.detail(&format!(
                "{name}: bound {:.3}, {} ({} iterations, {} passes, {})",
                fit.point.bound,
                fit.outcome,
                fit.iterations,
                fit.passes,
                duration(fit.seconds)
            ));
            fits.push((name, fit));
        }
        Ok(Some(fits))
    }
}

impl Climbs {
    /// [`Plan::sentence`] of runs that may have been interrupted, from starts of some kind.
    pub(crate) fn sentence(&self, plan: &Plan, kind: &str) -> String {
        let (ended, all) = (self.comparison.methods[0].runs.len(), plan.starts);
        let rest = if ended < all {
            format!(" of the {all} asked for, before runs were interrupted")
        } else {
            String::new()
        };
        plan.sentence(&format!("{}{rest} ({kind})", count(ended, "start")))
    }

    /// The report of all runs, with what an experiment adds to the options as used.
    pub(crate) fn report(
        self,
        stem: &'static str,
        text: String,
        files: Vec<PathBuf>,
        plan: &Plan,
        mut config: Value,
        began: Instant,
    ) -> Report {
        let lines = self.comparison.runs().map(|(name, start, run)| {
            let (name, outcome) = (quoted(name), quoted(&run.outcome.to_string()));
            let (seed, numbers, seconds) = (plan.seed(start), run.numbers(), run.seconds);
            format!("{name},{seed},{numbers},{seconds},{outcome}")
        });
        let head = "method,seed,bound,iterations,passes,seconds,outcome";
        config["methods"] = json!(plan.methods());
        config["starts"] = json!(self.comparison.methods[0].runs.len());
        config["threads"] = json!(rayon::current_num_threads());
        let bound_is = format!("of {}", self.best_is);
        let extra = Map::from_iter([("bound_is".to_owned(), bound_is.into())]);
        Report {
            text,
            files,
            stem,
            csv: csv(head, lines),
            record: record(
                plan,
                &[self.comparison],
                self.best.bound,
                config,
                extra,
                began,
            ),
        }
    }
}
