//! What may be asked of a mixture, and what it means for the data at hand: files read, checked once.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use collapsar::mixture::{Mixtures, Observations, Scale, Settings, Start, Stored};
use collapsar::{Hint, Place};
use collapsar_formats::{LabelColumn, Table, read_labels, read_table};

use super::rows::gap;
use super::{Categories, CategoryNames, ClassNames, MixtureRows, MixtureRun, StoredRows};
use crate::error::{Error, Result};
use crate::fit::PosteriorOptions;
use crate::plan::{ClimbOptions, MIXTURE_TOLERANCE};
use crate::record::name_of;
use crate::verdict::PosteriorKind;

/// Mixtures, as a user asks for them.
#[derive(Debug, Clone)]
pub struct MixtureRequest {
    /// Numbers of components to fit.
    pub components: Vec<usize>,
    /// The model, but for the number of components; a location of one number is that of all columns.
    pub settings: Settings,
    /// A table that has the prior scale, instead of what the settings say.
    pub scale: Option<PathBuf>,
    /// Where climbs begin.
    pub start: StartOption,
    /// Where an earlier fit ended, and of what: climbs of the same model and data go on from there.
    pub earlier: Option<(Vec<f64>, String)>,
    /// Whether climbs try splits and merges; where it is not said, those by the method auto do.
    pub jumps: Option<bool>,
    /// How many draws from the predictive density are written.
    pub samples: Option<usize>,
    /// Which posterior results are of.
    pub posterior: PosteriorOptions,
    /// How models are climbed.
    pub climb: ClimbOptions,
}

/// Where climbs begin, as a user says.
#[derive(Debug, Clone, PartialEq)]
pub enum StartOption {
    /// At random.
    Random,
    /// By k-means.
    KMeans,
    /// By a file with a label from 0 for each row.
    Labels(PathBuf),
    /// Each climb by its own; the last is that of all further climbs.
    Each(Vec<Start>),
}

impl From<&str> for StartOption {
    fn from(text: &str) -> Self {
        match text {
            "random" => Self::Random,
            "kmeans" => Self::KMeans,
            file => Self::Labels(file.into()),
        }
    }
}

impl fmt::Display for StartOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random => f.write_str("random"),
            Self::KMeans => f.write_str("kmeans"),
            Self::Labels(file) => write!(f, "{}", file.display()),
            Self::Each(_) => f.write_str("given"),
        }
    }
}

/// Rows to fit.
#[derive(Debug, Clone, Copy)]
pub struct MixtureInput<'a> {
    /// The numbers, row by row; none where they are in a file.
    pub values: &'a [f64],
    /// The file that they are in, where they are not in memory.
    pub stored: Option<&'a Arc<Stored>>,
    /// How many there are in a row.
    pub columns: usize,
    /// Categorical columns beside them.
    pub categories: Option<&'a Categories>,
    /// How often each row is there, where that is not once.
    pub weights: Option<&'a [f64]>,
    /// The components that rows are known to be of, by their names if they have any.
    pub labels: Option<&'a LabelColumn>,
    /// The file that they were read from, and the names of its columns.
    pub file: Option<(&'a Path, &'a [String])>,
}

impl<'a> MixtureInput<'a> {
    /// The rows of a table, and their weights.
    pub fn of(file: &'a Path, table: &'a Table, weights: Option<&'a [f64]>) -> Self {
        Self {
            values: &table.values,
            stored: None,
            columns: table.columns.len(),
            categories: None,
            weights,
            labels: None,
            file: Some((file, &table.columns)),
        }
    }

    /// The same with what is known of the rows' components.
    #[must_use]
    pub fn labelled(self, labels: Option<&'a LabelColumn>) -> Self {
        Self { labels, ..self }
    }

    /// The same with categorical columns.
    #[must_use]
    pub fn beside(self, categories: &'a Categories) -> Self {
        let categories = Some(categories).filter(|of| !of.is_empty());
        Self { categories, ..self }
    }

    /// What categorical columns are called.
    pub fn category_names(&self) -> &'a [CategoryNames] {
        self.categories.map_or(&[], |of| &of.names)
    }

    /// What components are called.
    pub fn names(&self) -> ClassNames<'a> {
        ClassNames(self.labels.map_or(&[], |labels| &labels.names))
    }

    /// Rows, wherever they are.
    pub fn of_rows(file: &'a Path, rows: &'a MixtureRows) -> Self {
        match rows {
            MixtureRows::Memory {
                table,
                weights,
                labels,
                categories,
            } => Self::of(file, table, weights.as_deref())
                .labelled(labels.as_ref())
                .beside(categories),
            MixtureRows::File(StoredRows {
                stored, columns, ..
            }) => Self {
                values: &[],
                stored: Some(stored),
                columns: columns.len(),
                categories: None,
                weights: None,
                labels: None,
                file: Some((file, columns)),
            },
        }
    }

    /// Rows in memory, as a model takes them.
    fn observations(&self) -> Observations<'a> {
        Observations {
            values: self.values,
            columns: self.columns,
            weights: self.weights,
            labels: self.labels.map(|labels| &labels.labels[..]),
        }
    }

    /// How many rows there are.
    fn rows(&self) -> usize {
        match self.stored {
            Some(stored) => stored.len(),
            None if self.columns == 0 => {
                let columns = self.categories.map_or(&[][..], |of| &of.columns);
                columns.first().map_or(0, |column| column.codes.len())
            }
            None => self.values.len() / self.columns,
        }
    }

    /// A refusal of the library, with the names that the data have in their file.
    fn refused(&self, error: collapsar::Error) -> Error {
        match self.file {
            Some((file, columns)) => Error::Data {
                error: Box::new(error),
                file: (name_of(file), {
                    let levels = self.category_names().iter().map(|of| of.name.clone());
                    columns.iter().cloned().chain(levels).collect()
                }),
            },
            None => error.into(),
        }
    }
}

impl MixtureRequest {
    /// Reads the files that the request names, and checks all that can be wrong before a climb.
    pub fn prepare(mut self, input: MixtureInput<'_>) -> Result<MixtureRun<'_>> {
        self.climb.check(self.components.len(), "components")?;
        let columns = input.columns;
        if let Some([number]) = self.settings.location.as_deref() {
            self.settings.location = Some(vec![*number; columns]);
        }
        if let Some(file) = &self.scale {
            self.settings.scale = Some(scale(file, columns)?);
        }
        if input.stored.is_some() {
            self.check_stored()?;
        }
        if input.categories.is_some() && self.posterior.posterior == Some(PosteriorKind::Exact) {
            let place = Place::Named("posterior".into());
            let expected = "another posterior where columns are categorical";
            let error = collapsar::Error::data(place, "exact", expected);
            let other = Hint::set("posterior", PosteriorKind::LinearResponse.name());
            return Err(error.with_hint(other).into());
        }
        let starts = match &self.start {
            StartOption::Random => vec![Start::Random],
            StartOption::KMeans => vec![Start::KMeans],
            StartOption::Each(starts) => starts.clone(),
            StartOption::Labels(file) => {
                let rows = input.rows();
                vec![Start::Labels(labels(file, rows, &self.components)?)]
            }
        };
        check_classes(input.names(), &self.components)?;
        let plan = self.climb.plan(MIXTURE_TOLERANCE)?;
        // Whatever is wrong with the largest model is better known before the others are fitted.
        self.settings.components = self.components.iter().copied().max().unwrap_or(0);
        let mixtures = match (input.stored, input.categories) {
            (Some(stored), _) => Mixtures::stored(Arc::clone(stored), &self.settings),
            (None, Some(categories)) => {
                Mixtures::mixed(input.observations(), &categories.columns, &self.settings)
            }
            (None, None) => Mixtures::of(input.observations(), &self.settings),
        };
        let mixtures = mixtures.map_err(|error| match (&error, input.stored, input.file) {
            (
                collapsar::Error::Data {
                    place: Place::Cell { row, column },
                    found,
                    ..
                },
                Some(_),
                Some((file, names)),
            ) if found == "NaN" => gap(&name_of(file), *row, &names[*column]),
            _ => input.refused(error),
        })?;
        if self.posterior.posterior == Some(PosteriorKind::Exact) {
            let drawable = check_drawable(input.weights.unwrap_or_default());
            drawable.map_err(|error| input.refused(error))?;
        }
        let data = input.file.map(|(file, _)| file.to_owned());
        let inputs: Vec<PathBuf> = data.into_iter().chain(self.files()).collect();
        plan.prepare(&inputs)?;
        Ok(MixtureRun {
            request: self,
            input,
            mixtures,
            starts,
            plan,
        })
    }

    /// Refuses what needs all rows in memory.
    fn check_stored(&self) -> Result<()> {
        let exact = self.posterior.posterior == Some(PosteriorKind::Exact);
        let (option, value, hints) = match &self.start {
            _ if exact => {
                let other = Hint::set("posterior", PosteriorKind::LinearResponse.name());
                ("posterior", "exact", vec![other])
            }
            StartOption::Labels(_) => (
                "start",
                "labels of a file",
                vec![Hint::set("start", "kmeans")],
            ),
            StartOption::Each(_) => (
                "start",
                "responsibilities",
                vec![Hint::set("start", "kmeans")],
            ),
            StartOption::Random | StartOption::KMeans => return Ok(()),
        };
        let place = Place::Named(option.into());
        let found = format!("{value} with rows that do not fit in memory");
        let error = collapsar::Error::data(place, found, "rows in memory");
        let hints = [vec![Hint::higher("memory")], hints].concat();
        Err(error.with_hint(Hint::Any(hints)).into())
    }

    /// The files that a run of this reads, after those of its data.
    pub fn files(&self) -> Vec<PathBuf> {
        let labels = match &self.start {
            StartOption::Labels(file) => Some(file),
            _ => None,
        };
        let files = [labels, self.scale.as_ref(), self.climb.resume.as_ref()];
        files.into_iter().flatten().cloned().collect()
    }
}

/// Refuses fewer components than there are classes.
fn check_classes(names: ClassNames<'_>, components: &[usize]) -> Result<()> {
    let classes = names.0.len();
    match components.iter().copied().min() {
        Some(fewest) if fewest < classes => {
            let expected = format!("at least {classes}, one for each class of the labels");
            let error = collapsar::Error::setting("components", fewest, expected);
            Err(error.with_hint(Hint::set("components", classes)).into())
        }
        _ => Ok(()),
    }
}

/// Exact draws give each of the rows that a weight counts a component of its own.
fn check_drawable(weights: &[f64]) -> collapsar::Result<()> {
    let Some(row) = weights.iter().position(|weight| weight.fract() != 0.0) else {
        return Ok(());
    };
    let found = format!("a weight of {}", weights[row]);
    let error = collapsar::Error::data(Place::Row(row), found, "a whole number for exact draws");
    Err(error.with_hint(Hint::set("posterior", PosteriorKind::LinearResponse.name())))
}

fn scale(file: &Path, columns: usize) -> Result<Scale> {
    let matrix = read_table(file, None)?;
    if (matrix.rows, matrix.columns.len()) != (columns, columns) {
        let found = format!("a table of {} by {}", matrix.rows, matrix.columns.len());
        let expected = format!("a scale matrix of {columns} by {columns}");
        return Err(Error::input(file.display().to_string(), found, expected));
    }
    Ok(Scale::Matrix(matrix.values))
}

fn labels(file: &Path, rows: usize, components: &[usize]) -> Result<Vec<usize>> {
    let name = file.display().to_string();
    if !file.exists() {
        return Err(Error::Value {
            option: "start",
            value: name,
            found: "no such file",
            expected: "random, kmeans or a file of labels".into(),
        });
    }
    let labels = read_labels(file)?;
    if labels.len() != rows {
        let found = format!("{} labels", labels.len());
        let expected = format!("{rows}, one for each row of the data");
        return Err(Error::input(name, found, expected));
    }
    let fewest = components.iter().copied().min().unwrap_or(1);
    if let Some(row) = labels.iter().position(|&label| label >= fewest) {
        return Err(Error::input(
            format!("{name}: row {}", row + 1),
            format!("label {}", labels[row]),
            format!("0 to {} for {fewest} components", fewest - 1),
        ));
    }
    Ok(labels)
}
