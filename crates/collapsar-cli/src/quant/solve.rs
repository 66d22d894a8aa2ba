//! From reads to a posterior.

use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::bail;
use collapsar::quant::{Chains, Draws, Prior, Quant, Quantified, Solver};
use collapsar::{Direction, Driver, Step, Stop};

use super::args::{FitArgs, Posterior};
use super::data::{Data, Interrupted};
use crate::common::Common;
use crate::progress::Progress;
use crate::text::{count, short};

/// A quantification, and what it cost.
pub(crate) struct Solved {
    pub(crate) quantified: Quantified,
    /// Draws from the exact posterior, where asked for.
    pub(crate) draws: Option<Draws>,
    pub(crate) outcome: collapsar_formats::Outcome,
    /// Every step of a climb of all transcripts at once.
    pub(crate) steps: Vec<Step>,
    /// Seconds of climbing, and of drawing.
    pub(crate) seconds: f64,
    pub(crate) drawing: f64,
}

pub(crate) fn solve(args: &FitArgs, data: &Data, common: &Common) -> anyhow::Result<Solved> {
    let progress = Progress::new(common, None, "");
    let began = Instant::now();
    let settings = args.settings();
    let solver = Solver::new(&data.reads, &settings)?.interrupt(common.interrupt);
    let (quantified, steps) = if args.method == Direction::Auto {
        (solver.run()?, vec![])
    } else {
        let alpha = match settings.prior {
            Prior::Given(alpha) => alpha,
            Prior::Learned => solver.run()?.alpha,
        };
        climb(args, data, alpha, &progress, common)?
    };
    if quantified.interrupted || common.interrupted() {
        bail!(Interrupted);
    }
    let seconds = began.elapsed().as_secs_f64();
    progress.tell(|| "drawing from the posterior".into());
    let draws = match args.posterior {
        Posterior::Collapsed => None,
        Posterior::Exact => {
            let chains = chains(args);
            let Some(draws) = Draws::new(&data.reads, &quantified, chains, Some(common.interrupt))?
            else {
                bail!(Interrupted);
            };
            Some(draws)
        }
    };
    Ok(Solved {
        outcome: outcome(args, &quantified),
        quantified,
        draws,
        steps,
        seconds,
        drawing: began.elapsed().as_secs_f64() - seconds,
    })
}

/// How much is drawn: as much as is asked for, and enough for intervals.
pub(crate) fn chains(args: &FitArgs) -> Chains {
    let chains = Chains::default();
    Chains {
        draws: args.draws.max(chains.draws),
        seed: args.seed,
        ..chains
    }
}

/// Climbs all transcripts at once.
fn climb(
    args: &FitArgs,
    data: &Data,
    alpha: f64,
    progress: &Progress,
    common: &Common,
) -> anyhow::Result<(Quantified, Vec<Step>)> {
    let model = Quant::whole(&data.reads, alpha);
    let mut steps = Vec::new();
    let fit = Driver::new(&model, args.method)
        .stop(Stop::Gain(args.tolerance) | Stop::Iterations(args.max_iterations))
        .interrupt(common.interrupt)
        .observe(|step| {
            steps.push(*step);
            let line = || {
                format!(
                    "iteration {}, {} passes, bound {:.3}, gain {}",
                    step.iteration,
                    step.passes,
                    step.bound,
                    short(step.gain)
                )
            };
            if common.verbose {
                progress.line(&line());
            }
            progress.tell(line);
            ControlFlow::Continue(())
        })
        .run(vec![0.0; data.reads.transcripts()])?;
    Ok((Quantified::of_fit(&data.reads, alpha, &fit), steps))
}

fn outcome(args: &FitArgs, quantified: &Quantified) -> collapsar_formats::Outcome {
    let gain = format!("gain below {:e}", args.tolerance);
    let reason = match (quantified.unfinished, args.method) {
        (0, Direction::Auto) => format!("{gain} in every component"),
        (0, _) => gain,
        (unfinished, Direction::Auto) => {
            format!("{} still rising", count(unfinished, "component"))
        }
        _ => format!("stopped after {} iterations", quantified.iterations),
    };
    collapsar_formats::Outcome {
        converged: quantified.unfinished == 0,
        reason,
    }
}
