//! Runs of mixtures whose rows workers hold: the same climbs and files, as far as a fit without rows has them.

use collapsar::Jumps;
use collapsar::mixture::machines::{Asker, Cuts, Exchange, FarMixture, FarMixtures, FarStart};
use collapsar::mixture::{MixtureFit, Prior, Settings};
use collapsar::{Collapsed, Place};
use collapsar_text::count;
use serde_json::json;

use super::{Compared, SavedMixture};
use crate::climb::{Ascent, Climbed, Watch, each};
use crate::error::{Error, Result};
use crate::folder::RunFolder;
use crate::plan::{ClimbOptions, MIXTURE_TOLERANCE, Plan};
use crate::record::{Record, merged};
use crate::verdict::{PosteriorKind, Signs};

/// Mixtures of rows that workers hold, as a user asks for them.
#[derive(Debug, Clone)]
pub struct FarRequest {
    /// Numbers of components to fit.
    pub components: Vec<usize>,
    /// The model, but for the number of components; a location of one number is that of all columns.
    pub settings: Settings,
    /// Where climbs begin.
    pub start: FarStart,
    /// Whether climbs try splits and merges; where it is not said, those by the method auto do.
    pub jumps: Option<bool>,
    /// How models are climbed. A checkpoint is a folder, whose files are never written again.
    pub climb: ClimbOptions,
}

/// Rows that workers hold.
#[derive(Debug, Clone)]
pub struct FarInput {
    /// Files or arrays in their order, with how many rows each has.
    pub sources: Vec<(String, u64)>,
    /// Rows of a chunk.
    pub chunk_rows: u64,
    /// The names of the columns.
    pub columns: Vec<String>,
}

/// Mixtures that can be climbed.
pub struct FarRun<'a> {
    request: FarRequest,
    input: FarInput,
    mixtures: FarMixtures<'a>,
    plan: Plan,
}

/// The best fit, and what finding it cost.
pub struct FarResult {
    /// Its components.
    pub fit: MixtureFit,
    /// The climbs.
    pub climbed: Climbed,
    /// One line for each number of components.
    pub compared: Vec<Compared>,
    /// Names model and data.
    pub fingerprint: String,
    /// The prior in use.
    pub prior: Prior,
}

impl FarRequest {
    /// Checks all that can be wrong before a climb, for which workers look through their rows twice.
    pub fn prepare(mut self, input: FarInput, exchange: &dyn Exchange) -> Result<FarRun<'_>> {
        self.climb.check(self.components.len(), "components")?;
        let columns = input.columns.len();
        if let Some([number]) = self.settings.location.as_deref() {
            self.settings.location = Some(vec![*number; columns]);
        }
        if let Some((folder, _)) = &self.climb.checkpoint {
            std::fs::create_dir_all(folder)
                .map_err(|error| collapsar_formats::Error::file(folder, &error))?;
        }
        let plan = self.climb.plan(MIXTURE_TOLERANCE)?;
        // Whatever is wrong with the largest model is better known before the others are fitted.
        self.settings.components = self.components.iter().copied().max().unwrap_or(0);
        let cuts = Cuts::new(input.sources.clone(), input.chunk_rows)?;
        let asker = Asker::new(exchange, cuts);
        let mixtures = FarMixtures::new(asker, columns, &self.settings);
        let mixtures = mixtures.map_err(|error| input.refused(error))?;
        Ok(FarRun {
            request: self,
            input,
            mixtures,
            plan,
        })
    }
}

impl FarInput {
    /// A refusal of the library, with the names of columns.
    fn refused(&self, error: collapsar::Error) -> Error {
        let in_column = matches!(
            &error,
            collapsar::Error::Data {
                place: Place::Column(_),
                ..
            }
        );
        match &self.sources[..] {
            [(name, _), rest @ ..] if in_column => {
                let name = match rest.len() {
                    0 => name.clone(),
                    others => format!("{name} and {}", count(others, "other")),
                };
                Error::Data {
                    error: Box::new(error),
                    file: (name, self.columns.clone()),
                }
            }
            _ => error.into(),
        }
    }
}

impl FarRun<'_> {
    /// Climbs with every number of components, and keeps the one with the highest bound.
    pub fn climb(&self, watch: &dyn Watch) -> Result<FarResult> {
        let mut compared = Vec::new();
        let climbed = each(
            &self.plan,
            watch,
            &self.request.components,
            |run, components| {
                let model = self.mixtures.with(components)?;
                let name = count(components, "component");
                let start = self.request.start;
                let climbs = run.climbs(&Ascent {
                    jumps: self.tries_jumps().then_some(&model as &dyn Jumps),
                    // Workers do one task at a time.
                    in_turn: true,
                    ..Ascent::new(&model, name, &|_, seed| model.start(start, seed))
                })?;
                let fit = model.fit(&climbs.best.point)?;
                compared.push(Compared::of(components, &climbs, &fit));
                Ok((climbs, Self::kept(&model, fit)))
            },
            |climbs, _| climbs.best.point.bound,
        );
        let (climbed, (fit, fingerprint, prior)) = climbed.map_err(|error| self.located(error))?;
        Ok(FarResult {
            fit,
            climbed,
            compared,
            fingerprint,
            prior,
        })
    }

    /// What of a model is known after the next one was made.
    fn kept(model: &FarMixture<'_>, fit: MixtureFit) -> (MixtureFit, String, Prior) {
        (fit, model.fingerprint(), model.prior().clone())
    }

    /// An error of a row of all sources as one of a row of its file.
    fn located(&self, error: Error) -> Error {
        match error {
            Error::Library(error) => self.mixtures.asker().cuts().located(error).into(),
            error => error,
        }
    }

    fn tries_jumps(&self) -> bool {
        let auto = || self.request.climb.method == collapsar::Direction::Auto;
        self.request.jumps.unwrap_or_else(auto)
    }

    /// Writes the files of a run that need no rows: `components.json`, `trace.jsonl` and `run.json`.
    pub fn write(
        &self,
        folder: RunFolder,
        result: &FarResult,
        (command, engine): (Vec<String>, &str),
    ) -> Result<()> {
        let (request, input) = (&self.request, &self.input);
        let cuts = self.mixtures.asker().cuts();
        let columns = input.columns.clone();
        SavedMixture {
            categories: vec![],
            version: env!("CARGO_PKG_VERSION").into(),
            columns: columns.clone(),
            classes: vec![],
            rows: cuts.rows() as usize,
            bound: result.climbed.best().point.bound,
            posterior: PosteriorKind::MeanField.name().into(),
            fit: result.fit.clone(),
            draws: None,
        }
        .write(folder.path())?;
        let sources = input.sources.iter();
        // Whether others would do better nobody has looked: that takes rows.
        let (kind, signs) = (PosteriorKind::MeanField, Signs::default());
        let record = Record {
            command,
            config: merged(
                &request.climb,
                json!({
                    "components": request.components,
                    "columns": columns,
                    "covariance": request.settings.covariance,
                    "weights": request.settings.weights,
                    "prior": request.settings.defaults,
                    "hyperparameters": result.prior,
                    "jumps": self.tries_jumps(),
                    "start": name_of_start(request.start),
                    "engine": engine,
                    "chunk_rows": input.chunk_rows,
                }),
            ),
            // Digests would read everything once more: the fingerprint has one of the numbers.
            files: vec![],
            seed: request.climb.seed,
            own: json!({
                "components": result.fit.components.len(),
                "compared": result.compared,
                "posterior": kind,
                "signs": signs,
                "verdict": signs.verdict(kind, result.climbed.outcome.converged),
                "fingerprint": result.fingerprint,
                "chunks": cuts.count(),
                "sources": sources
                    .map(|(name, rows)| json!({"name": name, "rows": rows}))
                    .collect::<Vec<_>>(),
            }),
        };
        result.climbed.write(folder, record)
    }
}

/// As a user says it.
fn name_of_start(start: FarStart) -> &'static str {
    match start {
        FarStart::Random => "random",
        FarStart::KMeans => "kmeans",
        FarStart::PlusPlus => "k-means++",
        FarStart::Rows => "random_from_data",
    }
}
