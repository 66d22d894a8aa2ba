//! Climbs with every number of topics, and keeps the best: by held-out perplexity where there is one.

use collapsar::topics::TopicsFit;
use serde::Serialize;
use serde_json::{Value, json};

use super::args::FitArgs;
use super::config::Config;
use super::curve::{Curve, Watched};
use super::quality::{Measure, measures};
use super::score::Score;
use crate::climb::{Ascent, Ended, each};
use crate::common::Common;
use crate::text::count;

/// A topic with fewer expected tokens than this is not in use.
pub(crate) const USED: f64 = 1.0;

/// The best fit, and what finding it cost.
pub(crate) struct Fitted {
    pub(crate) answer: TopicsFit,
    pub(crate) score: Option<Score>,
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
    pub(crate) measures: Vec<Measure>,
    pub(crate) used: usize,
    pub(crate) iterations: u64,
    pub(crate) passes: u64,
    pub(crate) converged: bool,
}

pub(crate) fn fit(config: &Config, args: &FitArgs, common: &Common) -> anyhow::Result<Fitted> {
    let mut compared = Vec::new();
    let halves = config.held.halves();
    let (ended, (answer, score)) = each(
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
            let name = count(topics, "topic");
            let start = |seed| model.start(config.start, seed);
            let climbs = if let Some(curve) = curve {
                let watched = Watched::new(&model);
                let climbs = run.climbs(&Ascent {
                    model: &watched,
                    name,
                    start: &start,
                    jumps: None,
                    watch: Some(&|step| run.aside(|| curve.step(&watched, step))),
                })?;
                run.aside(|| curve.finish(&model, climbs.restarts.best()))?;
                climbs
            } else {
                run.climbs(&Ascent {
                    model: &model,
                    name,
                    start: &start,
                    jumps: None,
                    watch: None,
                })?
            };
            let best = climbs.restarts.best();
            let answer = model.fit(&best.point);
            let score = halves.map(|halves| run.aside(|| Score::of(&answer, halves)));
            let score = score.transpose()?;
            let measures = run.aside(|| measures(&answer, &config.training));
            compared.push(Compared {
                topics,
                bound: best.point.bound,
                perplexity: score.map(|score| score.perplexity),
                measures,
                used: used(&answer),
                iterations: climbs.restarts.iterations(),
                passes: climbs.restarts.passes(),
                converged: best.outcome.converged(),
            });
            Ok((climbs, (answer, score)))
        },
        |climbs, (_, score)| match score {
            Some(score) => -score.perplexity,
            None => climbs.restarts.best().point.bound,
        },
    )?;
    Ok(Fitted {
        answer,
        score,
        ended,
        compared,
    })
}

/// How many topics are in use.
fn used(answer: &TopicsFit) -> usize {
    let counts = answer.topic_counts();
    counts.iter().filter(|&&count| count >= USED).count()
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
