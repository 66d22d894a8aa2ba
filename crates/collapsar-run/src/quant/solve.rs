//! From reads to a posterior.

use std::sync::atomic::Ordering;
use std::time::Instant;

use collapsar::quant::{Draws, Prior, Quant, Quantified, Solver};
use collapsar::{Direction, Step};
use collapsar_formats::Outcome;
use collapsar_text::count;

use super::input::QuantInput;
use super::request::QuantRequest;
use super::watch::{QuantWatch, Stage};
use crate::climb::{Ascent, Run};
use crate::error::Result;

/// A posterior, and what it cost.
#[derive(Debug)]
pub struct Solved {
    /// The collapsed posterior.
    pub quantified: Quantified,
    /// Draws from the exact posterior, where asked for.
    pub draws: Option<Draws>,
    /// How the climb ended.
    pub outcome: Outcome,
    /// Every step of a climb of all transcripts at once.
    pub steps: Vec<Step>,
    /// Seconds of climbing.
    pub seconds: f64,
    /// Seconds of drawing.
    pub drawing: f64,
}

impl Solved {
    /// Climbs, and draws where asked to; nothing where it was interrupted.
    pub(super) fn new(
        request: &QuantRequest,
        input: &QuantInput,
        watch: &dyn QuantWatch,
    ) -> Result<Option<Self>> {
        watch.reaches(Stage::Climbing);
        let began = Instant::now();
        let (reads, settings) = (&input.reads, &request.settings);
        let solver = Solver::new(reads, settings)?.interrupt(watch.interrupt());
        let (quantified, steps) = if request.climb.method == Direction::Auto {
            (solver.run()?, vec![])
        } else {
            let alpha = match settings.prior {
                Prior::Given(alpha) => alpha,
                Prior::Learned => solver.run()?.alpha,
            };
            climb(request, input, alpha, watch)?
        };
        if quantified.interrupted || watch.interrupt().load(Ordering::Relaxed) {
            return Ok(None);
        }
        let seconds = began.elapsed().as_secs_f64();
        let mut draws = None;
        if request.exact {
            watch.reaches(Stage::Drawing);
            let interrupt = Some(watch.interrupt());
            draws = Draws::new(reads, &quantified, request.chains(), interrupt)?;
            if draws.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(Self {
            outcome: outcome(request, &quantified),
            quantified,
            draws,
            steps,
            seconds,
            drawing: began.elapsed().as_secs_f64() - seconds,
        }))
    }
}

/// Climbs all transcripts at once.
fn climb(
    request: &QuantRequest,
    input: &QuantInput,
    alpha: f64,
    watch: &dyn QuantWatch,
) -> Result<(Quantified, Vec<Step>)> {
    let model = Quant::whole(&input.reads, alpha);
    let plan = request.climb.clone().plan(request.settings.tolerance)?;
    let start = |_, _| Ok((vec![0.0; input.reads.transcripts()], 0));
    let ascent = Ascent::new(&model, "all transcripts".to_owned(), &start);
    let climbs = Run::new(&plan, watch).climbs(&ascent)?;
    let quantified = Quantified::of_fit(&input.reads, alpha, &climbs.best);
    Ok((quantified, climbs.steps))
}

fn outcome(request: &QuantRequest, quantified: &Quantified) -> Outcome {
    let gain = format!("gain below {:e}", request.settings.tolerance);
    let reason = match (quantified.unfinished, request.climb.method) {
        (0, Direction::Auto) => format!("{gain} in every component"),
        (0, _) => gain,
        (unfinished, Direction::Auto) => {
            format!("{} still rising", count(unfinished, "component"))
        }
        _ => format!("stopped after {} iterations", quantified.iterations),
    };
    Outcome {
        converged: quantified.unfinished == 0,
        reason,
    }
}
