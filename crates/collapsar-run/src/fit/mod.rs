//! Runs of models in the BUGS language: text and data, then a graph that is climbed, then posteriors.
//!
//! - `source`: the text of a model, and how complaints about it are kept
//! - `beside`: what other posteriors say of the same numbers
//! - `begins`: what is wrong with a model before it climbs
//! - `ascents`: a climb for each state of labels that are enumerated
//! - `enumerate`: which labels are enumerated
//! - `inits`: where climbs begin that are given initial values
//! - `monitor`: which numbers are summarised
//! - `posterior`: which posterior results are of, and what signs say of it
//! - `results`: the files of a run
//! - `states`: what is known of numbers where labels are enumerated

mod ascents;
mod asked;
mod begins;
mod beside;
mod enumerate;
mod inits;
mod monitor;
mod posterior;
mod results;
mod source;
mod states;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use collapsar::graph::{Compiled, Demands, GivenNumbers};
use collapsar::{Collapsed, Point, Potential};
use collapsar_bugs::{Data, Posterior, Prepared, Quantity, Selection};
use serde::{Serialize, Serializer};

use crate::climb::{Ascent, Climbed, Watch, each};
use crate::error::Result;
use crate::plan::{ClimbOptions, Plan, model_tolerance};

pub use enumerate::{Enumerated, EnumeratedLabel, EnumeratedState, States};
pub use monitor::Monitored;
pub use posterior::{CHAIN_DRAWS, DIAGNOSTICS, ModelResult, PosteriorOptions};
pub use source::{ModelSource, class_name, class_names, one_line, parted};

/// A fit of a model, as a user asks for it; as JSON, what `run.json` says of it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ModelRequest {
    /// Arrays to be collapsed.
    pub collapse: Vec<String>,
    /// Arrays not to be collapsed.
    pub explicit: Vec<String>,
    /// Arrays of labels to be enumerated; unless they are given, those that most of the model meets.
    pub enumerate: Option<Vec<String>>,
    /// Arrays, or elements of them, to be summarised; by the rule of [`Monitored`] where there are none.
    #[serde(serialize_with = "as_texts")]
    pub monitor: Vec<Selection>,
    /// Which posterior results are of.
    #[serde(flatten)]
    pub posterior: PosteriorOptions,
    /// How the model is climbed.
    #[serde(flatten)]
    pub climb: ClimbOptions,
    /// Initial values, each with what it is called: the first climbs begin there.
    #[serde(skip)]
    pub inits: Vec<(String, Data)>,
    /// Where to begin, instead of where seeds say.
    #[serde(skip)]
    pub messages: Option<Vec<f64>>,
    /// The model's file and those of its data, for the record.
    #[serde(skip)]
    pub files: (PathBuf, Vec<PathBuf>),
    /// The files of initial values, for the record.
    #[serde(skip)]
    pub init_files: Vec<PathBuf>,
}

fn as_texts<S: Serializer>(
    selections: &[Selection],
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_seq(selections.iter().map(Selection::to_string))
}

/// A model with its data that can be climbed.
#[derive(Debug)]
pub struct ModelRun {
    /// The text.
    pub source: Arc<ModelSource>,
    /// The text with its data.
    pub prepared: Prepared,
    /// The whole model: what is climbed, unless labels are enumerated.
    pub compiled: Compiled,
    /// What is climbed where labels are enumerated.
    pub enumerated: Option<Enumerated>,
    /// Observed arrays, and how many numbers of each are.
    pub observed: Vec<(String, usize)>,
    /// What was asked for.
    pub request: ModelRequest,
    /// Initial values that have no effect, each in a sentence.
    pub idle_inits: Vec<String>,
    /// Values that the first climbs begin at.
    inits: Vec<GivenNumbers>,
    plan: Plan,
    /// Starts that climbed to the end, and how many of them ended within a nat of the best.
    agreed: OnceLock<(usize, usize)>,
    /// Where climbs were that competed with the best and are lower.
    rivals: OnceLock<Vec<Point>>,
}

impl ModelRequest {
    /// Decides what is collapsed, and checks all that can be wrong before a climb.
    pub fn prepare(mut self, source: Arc<ModelSource>, prepared: Prepared) -> Result<ModelRun> {
        self.climb.check(1, "models")?;
        let demands = Demands {
            collapse: self.collapse.clone(),
            explicit: self.explicit.clone(),
        };
        let compiled = source.compile(&prepared, &demands)?;
        let enumerated = Enumerated::new(&self, &source, &prepared, (&demands, &compiled))?;
        let observed = prepared.observed();
        let data = observed.iter().map(|(_, count)| count).sum();
        let (inits, idle_inits) = self.initial(&prepared, (&compiled, enumerated.as_ref()))?;
        let given = self.climb.restarts;
        let compete = given.is_none()
            && enumerated.is_none()
            && compiled.explicit_labels() > 0
            && compiled.local().dim() > 0
            && self.climb.max_iterations > 0
            && self.messages.is_none();
        self.restart_from(inits.len(), compete)?;
        let mut plan = self.climb.plan(model_tolerance(data))?;
        (plan.compete, plan.given) = (compete, inits.len());
        if plan.compete {
            self.climb.restarts = None;
        }
        plan.prepare(&self.inputs())?;
        Ok(ModelRun {
            source,
            prepared,
            compiled,
            enumerated,
            observed,
            request: self,
            idle_inits,
            inits,
            plan,
            agreed: OnceLock::new(),
            rivals: OnceLock::new(),
        })
    }
}

impl ModelRequest {
    /// All files that a run of this reads.
    pub fn inputs(&self) -> Vec<PathBuf> {
        let (model, data) = &self.files;
        let resume = self.climb.resume.iter();
        let files = [model].into_iter().chain(data).chain(&self.init_files);
        files.chain(resume).cloned().collect()
    }
}

impl ModelRun {
    /// How many numbers are observed.
    pub fn data(&self) -> usize {
        self.observed.iter().map(|(_, count)| count).sum()
    }

    /// How many starts there are at most, of all states that are enumerated.
    pub fn starts(&self) -> usize {
        let states = self.enumerated.as_ref().map_or(1, |of| of.states.len());
        states * self.plan.starts()
    }

    /// How many messages are climbed by.
    pub fn messages(&self) -> usize {
        match &self.enumerated {
            Some(enumerated) => enumerated.messages(),
            None => self.compiled.local().dim(),
        }
    }

    /// The classes that are collapsed at a point, or those that are not, but for labels that are enumerated.
    pub fn class_names(&self, point: &Point, collapsed: bool) -> Vec<String> {
        let mut names = class_names(self.climbed(point), collapsed);
        names.retain(|name| !self.is_enumerated(name));
        names
    }

    /// What is climbed; where labels are enumerated, for the likeliest of their states at this point.
    pub fn climbed(&self, point: &Point) -> &Compiled {
        let states = self.enumerated.as_ref();
        let likeliest = states.and_then(|of| Some((of, of.at(point).ok()?.likeliest())));
        likeliest.map_or(&self.compiled, |(of, state)| &of.states[state].compiled)
    }

    /// Whether an array of this name is enumerated.
    pub fn is_enumerated(&self, name: &str) -> bool {
        let mut arrays = self.enumerated.iter().flat_map(|of| &of.arrays);
        arrays.any(|array| array.name == name)
    }

    /// What is summarised where these are selected.
    pub fn monitor(&self, selections: &[Selection]) -> Result<Monitored> {
        Monitored::new(self, selections)
    }

    /// Climbs from every start.
    pub fn climb(&self, watch: &dyn Watch) -> Result<Climbed> {
        if let Some(enumerated) = &self.enumerated {
            return self.climb_states(enumerated, watch);
        }
        let (compiled, messages, inits) = (&self.compiled, &self.request.messages, &self.inits);
        let start = |index: usize, seed| match (messages, inits.get(index)) {
            (Some(messages), _) => Ok((messages.clone(), 0)),
            (None, Some(given)) => compiled.start_at(given, seed),
            (None, None) => compiled.start_from_data(seed),
        };
        let ascent = Ascent::new(compiled, self.source.name.clone(), &start);
        let (climbed, ()) = each(
            &self.plan,
            watch,
            &[1],
            |run, _| Ok((run.climbs(&ascent)?, ())),
            |climbs, ()| climbs.best.point.bound,
        )?;
        let spread = climbed.climbs.spread();
        let _ = self.agreed.set((spread.finished(), spread.within_a_nat));
        let _ = self.rivals.set(climbed.climbs.rivals.clone());
        Ok(climbed)
    }

    /// Draws at a point: for each quantity those of the range.
    pub fn draws(
        &self,
        point: &Point,
        quantities: &[Quantity],
        seed: u64,
        draws: Range<usize>,
    ) -> Result<Vec<Vec<f64>>> {
        if let Some(enumerated) = &self.enumerated {
            return self.draws_of_states(enumerated, point, quantities, (seed, draws));
        }
        let variational = self.compiled.variational_posterior(point);
        let (response, _) = self.response(&self.compiled, point, 1);
        let weighted = self.weighted(point, response.as_ref())?;
        let posterior = Posterior {
            prepared: &self.prepared,
            variational: &variational,
            response: response.as_ref(),
            weighted: (weighted.as_ref())
                .filter(|weighted| weighted.believed())
                .map(|weighted| &weighted.draws),
            share: 1.0,
            seed,
        };
        (posterior.draws(quantities, draws)).map_err(|refusal| self.source.no_answer(refusal))
    }
}
