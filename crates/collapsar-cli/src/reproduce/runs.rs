//! Every method from every start, one run after another, for the second experiment and the third.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail};
use collapsar::{Collapsed, Direction, Driver, Fit, Point, Stop};
use collapsar_formats::{Outcome, Run, write_atomically};
use serde_json::{Map, Value};

use super::measure::{Column, Ended};
use super::paired::raw;
use super::tables::number;
use crate::common::Common;
use crate::files::inputs;
use crate::progress::Progress;
use crate::text::{count, duration};

/// Which runs.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) methods: Vec<Direction>,
    pub(super) starts: usize,
    /// Of the first start.
    pub(super) seed: u64,
    pub(super) tolerance: f64,
    pub(super) max_iterations: u64,
}

/// A way to the optimum that no start decides and no driver takes: its name and how it ended, or nothing once
/// it is interrupted.
pub(super) type Apart<'a> = (&'a str, &'a dyn Fn() -> Result<Option<Ended>>);

/// The runs, and where the best of them ended.
#[derive(Debug)]
pub(super) struct Done {
    /// Of the rows of `runs`.
    pub(super) names: Vec<String>,
    pub(super) runs: Column,
    pub(super) best: Point,
    pub(super) best_is: String,
}

/// Those of `methods` that did not come before.
pub(super) fn distinct(methods: &[Direction]) -> Vec<Direction> {
    let mut kept: Vec<Direction> = Vec::new();
    for &method in methods {
        if !kept.contains(&method) {
            kept.push(method);
        }
    }
    kept
}

impl Plan {
    fn stop(&self) -> Stop {
        Stop::Gain(self.tolerance)
            | Stop::Norm(self.tolerance)
            | Stop::Iterations(self.max_iterations)
    }

    /// Climbs by every method from every start, which is messages and the passes that they cost. Methods take
    /// turns, so that whatever else the machine does slows all of them alike, and a start counts once all have
    /// ended.
    pub(super) fn climb<M: Collapsed>(
        &self,
        model: &M,
        start: impl Fn(u64) -> Result<(Vec<f64>, u64)>,
        apart: Option<Apart<'_>>,
        common: &Common,
    ) -> Result<Done> {
        let mut names: Vec<String> = self.methods.iter().map(ToString::to_string).collect();
        names.extend(apart.iter().map(|(name, _)| (*name).to_owned()));
        let progress = Progress::new(common, Some((self.starts * names.len()) as u64), "runs");
        let mut runs: Vec<Vec<Ended>> = vec![Vec::new(); names.len()];
        let mut best: Option<(Point, String)> = None;
        'starts: for index in 0..self.starts {
            let seed = self.seed.wrapping_add(index as u64);
            let began = Instant::now();
            let (start, passes) = start(seed)?;
            let starting = began.elapsed().as_secs_f64();
            let mut fits = Vec::new();
            for method in &self.methods {
                let name = format!("{method}, seed {seed}");
                let mut fit = Driver::new(model, *method)
                    .spent(passes)
                    .interrupt(common.interrupt)
                    .stop(self.stop())
                    .observe(|step| {
                        progress.tell(|| {
                            let (iteration, bound) = (step.iteration, step.bound);
                            format!("{name}: iteration {iteration}, bound {bound:.1}")
                        });
                        ControlFlow::Continue(())
                    })
                    .run(start.clone())?;
                if common.interrupted() {
                    break 'starts;
                }
                fit.seconds += starting;
                progress.advance();
                if common.verbose {
                    progress.line(&told(&name, &fit));
                }
                fits.push((fit, name));
            }
            if let Some((_, run)) = apart {
                let Some(ended) = run()? else { break };
                progress.advance();
                runs[self.methods.len()].push(ended);
            }
            for ((fit, name), runs) in fits.into_iter().zip(&mut runs) {
                runs.push(Ended::from(&fit));
                let bound = fit.point.bound;
                if best.as_ref().is_none_or(|(best, _)| bound > best.bound) {
                    best = Some((fit.point, name));
                }
            }
        }
        let Some((best, best_is)) = best else {
            bail!("interrupted before every method had ended from one start; nothing was written");
        };
        Ok(Done {
            names,
            runs: Column::new(runs, None),
            best,
            best_is,
        })
    }

    /// The runs in a sentence, so that the figures can be had again; `kind` says of what kind starts are.
    pub(super) fn told(&self, kind: &str, done: &Done) -> String {
        let starts = done.starts();
        let mut text = format!("Runs: {}", count(starts, "start"));
        if starts < self.starts {
            write!(
                text,
                " of the {} asked for, before runs were interrupted",
                self.starts
            )
            .expect("a string takes all");
        }
        let Self {
            seed, tolerance, ..
        } = self;
        text + &format!(
            " ({kind}), seeds {seed} and up, the same for every method; a run ends when a step gains less than \
             {tolerance:e} nats or the squared norm of the gradient is below {tolerance:e}, or after {} iterations",
            number(self.max_iterations as f64, 0)
        )
    }
}

fn told(name: &str, fit: &Fit) -> String {
    format!(
        "{name}: bound {:.3}, {} ({} iterations, {} passes, {})",
        fit.point.bound,
        fit.outcome,
        fit.iterations,
        fit.passes,
        duration(fit.seconds)
    )
}

/// What files say beside the runs.
pub(super) struct Record<'a> {
    /// The name of the files without its ending.
    pub(super) stem: &'a str,
    pub(super) text: &'a str,
    pub(super) config: Value,
    /// Those that were read.
    pub(super) files: &'a [PathBuf],
    pub(super) seed: u64,
    pub(super) began: Instant,
}

impl Done {
    pub(super) fn starts(&self) -> usize {
        self.runs.runs[0].len()
    }

    /// Writes what was printed, every run and, last, `run.json`, each whole or not at all.
    pub(super) fn write(&self, folder: &Path, record: Record<'_>) -> Result<()> {
        let file = |ending: &str| folder.join(format!("{}.{ending}", record.stem));
        write_atomically(&file("csv"), |file| {
            raw(file, &self.names, &self.runs, record.seed)
        })?;
        write_atomically(&file("md"), |file| file.write_all(record.text.as_bytes()))?;
        let all = || self.runs.runs.iter().flatten();
        let unfinished = all().filter(|run| !run.outcome.converged()).count();
        let best_is = format!("of {}", self.best_is);
        let extra = Map::from_iter([("bound_is".to_owned(), best_is.into())]);
        Run {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: std::env::args().collect(),
            config: record.config,
            inputs: inputs(record.files)?,
            outcome: Outcome {
                converged: unfinished == 0,
                reason: format!(
                    "{unfinished} of {} runs reached the limit of iterations",
                    all().count()
                ),
            },
            bound: self.best.bound,
            iterations: all().map(|run| run.iterations).sum(),
            passes: all().map(|run| run.passes).sum::<f64>().round() as u64,
            seconds: record.began.elapsed().as_secs_f64(),
            seed: record.seed,
            extra,
        }
        .write(folder)?;
        Ok(())
    }
}
