//! Climbs with every number of topics, and keeps the best: by held-out perplexity where there is one.

use std::sync::{Mutex, PoisonError};

use collapsar::topics::{Quality, TopicsFit};
use collapsar::{Fit, Outcome, Point, Step};
use serde::Serialize;
use serde_json::{Value, json};

use super::args::FitArgs;
use super::average::Average;
use super::config::Config;
use super::curve::Curve;
use super::quality::{Measures, WORDS, warnings};
use super::score::Score;
use crate::climb::{Ascent, Ended, each};
use crate::common::Common;
use crate::text::count;

/// The best fit, and what finding it cost.
pub(crate) struct Fitted {
    pub(crate) answer: TopicsFit,
    pub(crate) quality: Quality,
    pub(crate) score: Option<Score>,
    /// The best and the others, where all are kept.
    pub(crate) average: Average,
    /// What looks wrong with the topics, a sentence each.
    pub(crate) warnings: Vec<String>,
    pub(crate) ended: Ended,
    /// One line for each number of topics.
    pub(crate) compared: Vec<Compared>,
}

/// What one number of topics led to.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Compared {
    pub(crate) topics: usize,
    pub(crate) bound: f64,
    pub(crate) perplexity: Option<f64>,
    pub(crate) measures: Measures,
    pub(crate) used: usize,
    pub(crate) iterations: u64,
    pub(crate) passes: u64,
    pub(crate) converged: bool,
}

pub(crate) fn fit(config: &Config, args: &FitArgs, common: &Common) -> anyhow::Result<Fitted> {
    let mut compared = Vec::new();
    let halves = config.held.halves();
    let (ended, (answer, quality, score, average)) = each(
        &config.plan,
        common,
        &config.topics,
        |run, topics| {
            let curve = config
                .curve
                .clone()
                .zip(halves)
                .map(|(file, halves)| Curve::begin(file, halves, line(config, args, topics)));
            let model = config.model(topics)?;
            let average = Mutex::new(Average::default());
            let watch = |step: &Step, point: &Point| {
                if let Some(curve) = &curve {
                    run.aside(|| curve.step(&model, step, point));
                }
            };
            let ended = |seed: u64, fit: &Fit| {
                if !config.average {
                    if let Some(curve) = &curve {
                        run.aside(|| curve.end(&model, fit));
                    }
                    return;
                }
                let mut average = average.lock().unwrap_or_else(PoisonError::into_inner);
                average.add(seed, fit, model.fit(&fit.point));
                // One that was cut short counts only where there is no other.
                let counts = fit.outcome != Outcome::Interrupted || average.fits.len() == 1;
                if let Some(curve) = curve.as_ref().filter(|_| counts) {
                    run.aside(|| curve.restart(&average.fits, fit));
                }
            };
            let watched = curve.is_some() && !config.average;
            let climbs = run.climbs(&Ascent {
                model: &model,
                name: count(topics, "topic"),
                start: &|seed| model.start_unless(config.start, seed, common.interrupt),
                jumps: None,
                watch: watched.then_some(&watch),
                ended: Some(&ended),
                in_turn: curve.is_some(),
            })?;
            curve.map_or(Ok(()), Curve::finish)?;
            let average = average.into_inner().unwrap_or_else(PoisonError::into_inner);
            let average = average.settle(climbs.best_seed);
            let best = climbs.restarts.best();
            let answer = model.fit(&best.point);
            let score = halves
                .map(|halves| run.aside(|| Score::of(&answer, &average.fits, halves)))
                .transpose()?;
            let quality = run.aside(|| answer.quality(&config.training, WORDS))?;
            compared.push(Compared {
                topics,
                bound: best.point.bound,
                perplexity: score.map(|score| score.perplexity),
                measures: Measures::of(&quality),
                used: quality.used,
                iterations: climbs.restarts.iterations(),
                passes: climbs.restarts.passes(),
                converged: best.outcome.converged(),
            });
            Ok((climbs, (answer, quality, score, average)))
        },
        |climbs, (_, _, score, _)| match score {
            Some(score) => -score.perplexity,
            None => climbs.restarts.best().point.bound,
        },
    )?;
    Ok(Fitted {
        warnings: warnings(args, &answer, &quality),
        answer,
        quality,
        score,
        average,
        ended,
        compared,
    })
}

/// What every line of a curve says.
fn line(config: &Config, args: &FitArgs, topics: usize) -> Value {
    json!({
        "tool": "collapsar",
        "version": env!("CARGO_PKG_VERSION"),
        "corpus": args.corpus_name(),
        "topics": topics,
        "alpha": args.alpha.record(),
        "beta": args.beta.record(),
        "seed": args.climb.seed,
        "settings": config.record(args),
    })
}
