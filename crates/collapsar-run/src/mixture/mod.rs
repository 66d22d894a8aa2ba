//! Runs of mixtures of Gaussians: a request and rows, then climbs with every number of components.
//!
//! - `categories`: categorical columns by the names of their levels
//! - `classes`: what components are called
//! - `machines`: the same where workers hold the rows
//! - `posterior`: which posterior results are of, and how far it may be trusted
//! - `request`: what may be asked for, and what it means for the data at hand
//! - `results`: the files of a run
//! - `rows`: where the rows are, in memory or in a file
//! - `scored`: labels and densities of rows, some at a time
//! - `saved`: `components.json`, written, read and used on new data

mod categories;
mod classes;
mod machines;
mod posterior;
mod request;
mod results;
mod rows;
mod saved;
mod scored;

use collapsar::Jumps;
use collapsar::mixture::{Mixture, MixtureFit, Mixtures, Start};
use collapsar_text::count;
use serde::Serialize;

use crate::climb::{Ascent, Climbed, Climbs, Watch, each};
use crate::error::Result;
use crate::plan::Plan;

pub use categories::{Categories, CategoryNames};
pub use classes::ClassNames;
pub use machines::{FarInput, FarRequest, FarResult, FarRun};
pub use posterior::{MixturePosterior, name_of_number};
pub use request::{MixtureInput, MixtureRequest, StartOption};
pub use rows::{MixtureRows, RowsOptions, Seen, StoredRows};
pub use saved::{Imputed, Prediction, SavedMixture};

/// A component with fewer rows than this is not in use.
pub const USED: f64 = 1.0;

/// Mixtures that can be climbed.
pub struct MixtureRun<'a> {
    request: MixtureRequest,
    input: MixtureInput<'a>,
    mixtures: Mixtures<'a>,
    /// The last is that of all further climbs.
    starts: Vec<Start>,
    plan: Plan,
}

/// The best fit, and what finding it cost.
pub struct MixtureResult {
    /// The model.
    pub model: Mixture,
    /// Its components.
    pub fit: MixtureFit,
    /// The climbs.
    pub climbed: Climbed,
    /// One line for each number of components.
    pub compared: Vec<Compared>,
}

/// What one number of components led to.
#[derive(Debug, Clone, Serialize)]
pub struct Compared {
    /// The number.
    pub components: usize,
    /// The bound reached.
    pub bound: f64,
    /// Components in use.
    pub used: usize,
    /// Accepted steps of all climbs.
    pub iterations: u64,
    /// Passes over the data of all climbs.
    pub passes: u64,
    /// Whether the best climb has converged.
    pub converged: bool,
}

impl Compared {
    fn of(components: usize, climbs: &Climbs, fit: &MixtureFit) -> Self {
        let best = &climbs.best;
        let used = fit.components.iter().filter(|c| c.count >= USED);
        Self {
            components,
            bound: best.point.bound,
            used: used.count(),
            iterations: climbs.iterations(),
            passes: climbs.passes(),
            converged: best.outcome.converged(),
        }
    }
}

impl MixtureRun<'_> {
    /// Climbs with every number of components, and keeps the one with the highest bound.
    pub fn climb(&self, watch: &dyn Watch) -> Result<MixtureResult> {
        let mut compared = Vec::new();
        let (climbed, (model, fit)) = each(
            &self.plan,
            watch,
            &self.request.components,
            |run, components| {
                let model = self.mixtures.with(components)?;
                let name = count(components, "component");
                let climbs = run.climbs(&Ascent {
                    jumps: self.tries_jumps().then_some(&model as &dyn Jumps),
                    // A file is read by one climb at a time: passes of several would read different parts of it at once.
                    in_turn: model.stored().is_some(),
                    ..Ascent::new(&model, name, &|index, seed| self.start(&model, index, seed))
                })?;
                let fit = model.fit(&climbs.best.point)?;
                compared.push(Compared::of(components, &climbs, &fit));
                Ok((climbs, (model, fit)))
            },
            |climbs, _| climbs.best.point.bound,
        )?;
        Ok(MixtureResult {
            model,
            fit,
            climbed,
            compared,
        })
    }

    fn start(
        &self,
        model: &Mixture,
        index: usize,
        seed: u64,
    ) -> collapsar::Result<(Vec<f64>, u64)> {
        use collapsar::Collapsed;
        match &self.request.earlier {
            Some((messages, of)) if *of == model.fingerprint() => Ok((messages.clone(), 0)),
            _ => model.start(&self.starts[index.min(self.starts.len() - 1)], seed),
        }
    }

    fn tries_jumps(&self) -> bool {
        let auto = || self.request.climb.method == collapsar::Direction::Auto;
        self.request.jumps.unwrap_or_else(auto)
    }
}
