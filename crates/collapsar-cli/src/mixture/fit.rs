//! Climbs with every number of components, and keeps the one with the highest bound.

use collapsar::Jumps;
use collapsar::mixture::Mixture;
use collapsar_formats::Table;
use serde::Serialize;

use super::config::Config;
use crate::climb::{Ascent, Ended, each};
use crate::common::Common;
use crate::text::count;

/// A component with fewer rows than this is not in use.
pub(crate) const USED: f64 = 1.0;

/// The best fit, and what finding it cost.
pub(crate) struct Fitted {
    pub(crate) model: Mixture,
    pub(crate) ended: Ended,
    /// One line for each number of components.
    pub(crate) compared: Vec<Compared>,
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

pub(crate) fn fit(config: &Config, table: &Table, common: &Common) -> anyhow::Result<Fitted> {
    let mut compared = Vec::new();
    let (ended, model) = each(
        &config.plan,
        common,
        &config.components,
        |run, components| {
            let model = config.model(components, table)?;
            let climbs = run.climbs(&Ascent {
                model: &model,
                name: count(components, "component"),
                start: &|seed| model.start(&config.start, seed),
                jumps: config.jumps.then_some(&model as &dyn Jumps),
                watch: None,
                ended: None,
                in_turn: false,
            })?;
            let best = climbs.restarts.best();
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
            Ok((climbs, model))
        },
        |climbs, _| climbs.restarts.best().point.bound,
    )?;
    Ok(Fitted {
        model,
        ended,
        compared,
    })
}
