//! Bayesian mixtures of Gaussians, with columns of levels beside their numbers: weights and component parameters collapsed, labels explicit.
//!
//! - `data`: rows, checked, with how often each is there
//! - `settings`: what a user may set, and the defaults
//! - `known`: what known labels say of components
//! - `levels`: columns of levels
//! - `jumps`: jumps out of a poor optimum
//! - `online`: learning from batches
//! - `posterior`: the collapsed blocks
//! - `start`: where a run begins
//! - `fit`: a fitted mixture: its components with their uncertainty
//! - `predictive`: what it predicts: densities, labels of new data, draws
//! - `chain`: exact draws
//! - `response`: linear response: how much wider than q the posterior is
//! - `machines`: the same model of rows that workers hold

mod chain;
mod data;
mod fit;
mod jumps;
mod known;
mod levels;
pub mod machines;
mod online;
mod posterior;
mod predictive;
mod response;
mod settings;
mod start;

use std::ops::Range;
use std::sync::Arc;

use collapsar_core::elementary::Elementary;
use collapsar_core::rows::{Features, LevelPlaces, Mapped, Rows, SoftmaxSum};
use collapsar_core::{Blocks, Collapsed, Error, Result};
use data::{Data, Source, digest};
pub use data::{Gaps, Observations};
use known::{Held, check_components};
use posterior::{Parameters, blocks};

pub use chain::{DrawOptions, MixtureDraws, Number};
/// Tables in files, which mixtures need not have in memory.
pub use collapsar_core::rows::{BLOCK, Element, Layout, Order, Reading, Stored};
/// Columns of levels beside numbers.
pub use collapsar_core::rows::{LevelColumn, MISSING};
pub use fit::{Component, Matrix, MixtureFit};
pub use levels::LevelProbabilities;
pub use online::{BatchScore, OnlineMixture, OnlineOptions};
pub use posterior::{Shape, Weights};
pub use predictive::{Cells, Imputation, LevelImputation, PredictiveDensity, Scores};
pub use response::{MixtureOverlaps, MixtureResponse};
pub use settings::{Covariance, Defaults, Prior, Scale, Settings};
pub use start::Start;

/// A mixture of Gaussians with its data, or with a sum over data that others hold.
#[derive(Debug)]
pub struct Mixture<L = SoftmaxSum> {
    local: L,
    covariance: Covariance,
    weights: Weights,
    parameters: Parameters,
    blocks: Blocks,
    prior: Prior,
    shift: Vec<f64>,
    scale: Vec<f64>,
    /// How many rows there are, by their weights.
    total: f64,
    gaps: Gaps,
    /// Components that rows are known to be of.
    held: Held,
    /// Where statistics of levels are.
    levels: LevelPlaces,
    constant: f64,
    fingerprint: String,
}

/// Mixtures of the same data with any number of components: what does not depend on it is found once.
#[derive(Debug)]
pub struct Mixtures<'a> {
    data: Data<'a>,
    settings: Settings,
    prior: Prior,
    shift: Vec<f64>,
    scale: Vec<f64>,
    digest: u64,
    /// Whether statistics are those of rows that may miss values.
    gappy: bool,
    /// How many rows there are in all, where these are a batch of them.
    rows: Option<f64>,
}

impl<'a> Mixtures<'a> {
    /// Mixtures of row-major `values` with `columns` numbers a row, of no more components than
    /// `settings` have.
    ///
    /// # Errors
    /// [`Error::Data`] where the data cannot be used (no rows, fewer rows than components,
    /// a number that is not finite, a constant column under the default prior);
    /// [`Error::Setting`] where a hyperparameter is out of range.
    pub fn new(values: &'a [f64], columns: usize, settings: &Settings) -> Result<Self> {
        Self::weighted(values, columns, None, settings)
    }

    /// The same with a weight for each row: how often it is there. Weights need not be whole numbers.
    ///
    /// # Errors
    /// As [`Mixtures::new`]; [`Error::Data`] where a weight is negative or not finite, or all are zero.
    pub fn weighted(
        values: &'a [f64],
        columns: usize,
        weights: Option<&'a [f64]>,
        settings: &Settings,
    ) -> Result<Self> {
        let labels = None;
        let given = Observations {
            values,
            columns,
            weights,
            labels,
        };
        Self::of(given, settings)
    }

    /// Mixtures of rows of which components may be known.
    ///
    /// # Errors
    /// As [`Mixtures::weighted`]; [`Error::Data`] where there are not as many labels as rows; [`Error::Setting`] where
    /// there are fewer components than labels need.
    pub fn of(given: Observations<'a>, settings: &Settings) -> Result<Self> {
        Self::from(Data::new(given), settings)
    }

    /// Mixtures of rows that have levels beside their numbers, in columns of their own; there may be no numbers at all, in rows of
    /// no columns. A cell that is [`MISSING`] says nothing.
    ///
    /// # Errors
    /// As [`Mixtures::of`]; [`Error::Data`] where a column of levels has another number of rows, a level that it says it has not, or
    /// no value, or where there are more levels than can be kept.
    pub fn mixed(
        given: Observations<'a>,
        categories: &'a [LevelColumn],
        settings: &Settings,
    ) -> Result<Self> {
        Self::from(Data::mixed(given, categories), settings)
    }

    /// Mixtures of rows in a file, which are read for every pass, to the same bits as those of rows in memory. Values may not be
    /// missing.
    ///
    /// # Errors
    /// As [`Mixtures::weighted`]; [`Error::File`] where the file cannot be read, or changes.
    pub fn stored(stored: Arc<Stored>, settings: &Settings) -> Result<Self> {
        Self::from(Data::stored(stored, settings)?, settings)
    }

    fn from(data: Data<'a>, settings: &Settings) -> Result<Self> {
        data.check(settings)?;
        let moments = data.moments()?;
        let prior = settings.prior(&data, &moments)?;
        let (shift, scale) = Data::standard(moments, settings.covariance);
        Ok(Self {
            digest: data.digest(),
            gappy: data.gaps.any(),
            rows: None,
            data,
            settings: settings.clone(),
            prior,
            shift,
            scale,
        })
    }

    /// The one with so many components.
    ///
    /// # Errors
    /// [`Error::Setting`] where there are none, or more than there may be.
    pub fn with(&self, components: usize) -> Result<Mixture> {
        let most = self.settings.components;
        if !(1..=most).contains(&components) {
            let expected = format!("1 to {most}");
            return Err(Error::setting("components", components, expected));
        }
        check_components(self.data.labels.unwrap_or_default(), components)?;
        let settings = Settings {
            components,
            ..self.settings.clone()
        };
        let prior = Prior {
            concentration: settings.concentration(),
            ..self.prior.clone()
        };
        let (shift, scale) = (self.shift.clone(), self.scale.clone());
        let (covariance, weights) = (settings.covariance, settings.weights);
        let columns = shift.len();
        let gaps = self.gappy;
        let row_weights = self.data.weights.as_deref().map(<[f64]>::to_vec);
        // Without numbers, one feature is left: that a row is there.
        let features = if columns == 0 {
            Features::Linear
        } else {
            covariance.features(gaps)
        };
        // maths §4.7: what a full or tied covariance foresees of missing values, components differ in.
        let integrates = match covariance {
            Covariance::Full => self.data.gaps.any(),
            Covariance::Tied => gaps,
            Covariance::Diagonal | Covariance::Spherical => false,
        };
        let local = match &self.data.source {
            Source::Memory(_) if columns == 0 => {
                SoftmaxSum::new(Rows::bare(self.data.rows()), features, components)
            }
            Source::Memory(values) if integrates => {
                SoftmaxSum::with_gaps(values, (&shift, &scale), features, components)
            }
            Source::Memory(values) => {
                let data = Rows::new(values, columns, &shift, &scale);
                SoftmaxSum::new(data, features, components)
            }
            Source::File(stored) => {
                let data = Rows::stored(Arc::clone(stored), &shift, &scale);
                SoftmaxSum::new(data, features, components)
            }
        };
        let local = local.weighted(row_weights).with_known(self.data.labels);
        let local = local.with_levels(self.data.categories);
        let levels = local.level_places();
        let held = match self.data.labels {
            Some(_) => Held::new(&local),
            None => Held::none(components),
        };
        let (rows, total) = (local.rows().len(), self.data.total());
        let parameters = Parameters::new(covariance, components, columns, gaps);
        let natural = prior.natural(parameters, &shift, &scale)?;
        let blocks = blocks(&settings, parameters, natural, (&local, self.rows))?;
        let blocks = levels::join(blocks, &levels, (components, &prior.levels))?;
        let half_ln_tau = 0.5 * std::f64::consts::TAU.ln_();
        // The Gaussians' 2π and the change of units: maths §4.3, §4.4, §4.7.
        let constant = if gaps {
            let observed = self.data.observed()?;
            let units = observed.iter().zip(&scale).map(|(n, s)| n * s.ln_());
            let numbers = match parameters {
                Parameters::Columns(_) => observed.iter().sum(),
                _ => total * columns as f64,
            };
            -numbers * half_ln_tau - units.sum::<f64>()
        } else {
            let ln_scale: f64 = scale.iter().map(|s| s.ln_()).sum();
            -total * (columns as f64 * half_ln_tau + ln_scale)
        };
        let beside = match self.data.categories.len() {
            0 => String::new(),
            count => format!(" and {count} of levels"),
        };
        let fingerprint = format!(
            "a mixture of {components} {} components with {} weights on {rows} rows of {columns} columns{beside} (data {:016x}, prior {:016x})",
            covariance.name(),
            weights.name(),
            self.digest,
            digest(&prior.numbers()),
        );
        Ok(Mixture {
            local,
            covariance,
            weights,
            parameters,
            blocks,
            prior,
            shift,
            scale,
            total,
            gaps: self.data.missing,
            held,
            levels,
            constant,
            fingerprint,
        })
    }
}

impl Mixture {
    /// A model of row-major `values` with `columns` numbers a row.
    ///
    /// # Errors
    /// As [`Mixtures::new`].
    pub fn new(values: &[f64], columns: usize, settings: &Settings) -> Result<Self> {
        Mixtures::new(values, columns, settings)?.with(settings.components)
    }

    /// The same with a weight for each row: how often it is there.
    ///
    /// # Errors
    /// As [`Mixtures::weighted`].
    pub fn weighted(
        values: &[f64],
        columns: usize,
        weights: &[f64],
        settings: &Settings,
    ) -> Result<Self> {
        let mixtures = Mixtures::weighted(values, columns, Some(weights), settings)?;
        mixtures.with(settings.components)
    }

    /// A model of rows of which components may be known.
    ///
    /// # Errors
    /// As [`Mixtures::of`].
    pub fn of(given: Observations, settings: &Settings) -> Result<Self> {
        Mixtures::of(given, settings)?.with(settings.components)
    }

    /// A model of rows that have levels beside their numbers.
    ///
    /// # Errors
    /// As [`Mixtures::mixed`].
    pub fn mixed(
        given: Observations,
        categories: &[LevelColumn],
        settings: &Settings,
    ) -> Result<Self> {
        Mixtures::mixed(given, categories, settings)?.with(settings.components)
    }

    /// Rows of the data.
    pub fn rows(&self) -> usize {
        self.local.rows().len()
    }

    /// The file that rows are in, if they are in one.
    pub fn stored(&self) -> Option<&Stored> {
        self.local.rows().file().map(Mapped::stored)
    }

    /// The sum of the weights: how many rows there are in effect.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// How much of the data is missing.
    pub fn gaps(&self) -> Gaps {
        self.gaps
    }

    /// Hands `visitor` each row with its responsibilities at `messages`, in the order of the rows where no values are missing.
    ///
    /// # Errors
    /// [`Error::Datum`] where a row has no finite density.
    pub fn responsibilities(
        &self,
        messages: &[f64],
        visitor: impl FnMut(usize, &[f64]),
    ) -> Result<()> {
        self.responsibilities_of(messages, 0..self.rows(), visitor)
    }

    /// The same of some rows, which begin at a multiple of [`collapsar_core::rows::BLOCK`].
    ///
    /// # Errors
    /// As [`Mixture::responsibilities`].
    pub fn responsibilities_of(
        &self,
        messages: &[f64],
        rows: Range<usize>,
        mut visitor: impl FnMut(usize, &[f64]),
    ) -> Result<()> {
        let components = self.components();
        let mut row = vec![0.0; components];
        self.local
            .responsibilities_of(messages, rows, |first, width, block| {
                for i in 0..width {
                    for k in 0..components {
                        row[k] = block[k * width + i];
                    }
                    visitor(self.local.row_of(first + i), &row);
                }
            })
    }
}

impl<L: Shape> Mixture<L> {
    /// Columns of the data.
    pub fn columns(&self) -> usize {
        self.local.columns()
    }

    /// Columns of levels.
    pub fn level_columns(&self) -> usize {
        self.levels.columns()
    }

    /// Components of the mixture.
    pub fn components(&self) -> usize {
        self.local.components()
    }

    /// The prior in use, in the data's units.
    pub fn prior(&self) -> &Prior {
        &self.prior
    }
}

impl<L: Shape> Collapsed for Mixture<L> {
    type Local = L;
    type Posterior = Blocks;

    fn local(&self) -> &L {
        &self.local
    }

    fn posterior(&self) -> &Blocks {
        &self.blocks
    }

    fn constant(&self) -> f64 {
        self.constant
    }

    fn fingerprint(&self) -> String {
        self.fingerprint.clone()
    }
}
