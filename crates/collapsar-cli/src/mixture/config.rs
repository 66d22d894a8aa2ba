//! What the flags of a fit mean for the data at hand: files read, defaults filled in, checked once.

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use collapsar::mixture::{Mixture, Scale, Settings, Start};
use collapsar_formats::{Table, read_labels, read_table};
use serde_json::{Value, json};

use super::args::{FitArgs, StartArg};
use crate::climb::Plan;
use crate::terms::FileTerms;

/// A fit that can begin.
#[derive(Debug)]
pub(crate) struct Config {
    data: String,
    /// Numbers of components to fit.
    pub(crate) components: Vec<usize>,
    /// The model, but for the number of components.
    settings: Settings,
    pub(crate) start: Start,
    pub(crate) jumps: bool,
    pub(crate) plan: Plan,
}

impl Config {
    pub(crate) fn resolve(args: &FitArgs, table: &Table) -> anyhow::Result<Self> {
        let columns = table.columns.len();
        let config = Self {
            data: args.data_name(),
            components: args.components.0.clone(),
            settings: Settings {
                covariance: args.covariance,
                weights: args.weights,
                defaults: args.prior,
                concentration: args.concentration,
                location: args.location.clone().map(|given| match given.as_slice() {
                    [number] => vec![*number; columns],
                    _ => given,
                }),
                mean_precision: args.mean_precision,
                degrees_of_freedom: args.degrees_of_freedom,
                scale: args
                    .scale
                    .as_deref()
                    .map(|s| scale(s, columns))
                    .transpose()?,
                ..Settings::new(1)
            },
            start: match &args.start {
                StartArg::Random => Start::Random,
                StartArg::KMeans => Start::KMeans,
                StartArg::Labels(file) => {
                    Start::Labels(labels(file, table.rows, &args.components.0)?)
                }
            },
            jumps: args.tries_jumps(),
            plan: Plan::resolve(&args.climb, args.tolerance)?,
        };
        // Whatever is wrong with the largest model is better known before the others are fitted.
        let largest = config.components.iter().max().expect("at least one number");
        config.model(*largest, table)?;
        config.plan.prepare()?;
        Ok(config)
    }

    /// The model with so many components.
    pub(crate) fn model(&self, components: usize, table: &Table) -> anyhow::Result<Mixture> {
        let settings = Settings {
            components,
            ..self.settings.clone()
        };
        let terms = FileTerms {
            name: &self.data,
            columns: &table.columns,
        };
        let model = Mixture::new(&table.values, table.columns.len(), &settings);
        model.map_err(|error| anyhow!(error.in_terms(&terms)))
    }

    /// The settings as `run.json` has them.
    pub(crate) fn record(&self, args: &FitArgs, table: &Table, model: &Mixture) -> Value {
        let mut record = args.climb.record();
        let own = [
            ("components", json!(self.components)),
            ("columns", json!(table.columns)),
            ("covariance", json!(self.settings.covariance)),
            ("weights", json!(self.settings.weights)),
            ("prior", json!(self.settings.defaults)),
            ("hyperparameters", json!(model.prior())),
            ("jumps", json!(self.jumps)),
            ("start", json!(args.start.to_string())),
            ("tolerance", json!(args.tolerance)),
            ("samples", json!(args.samples)),
        ];
        record.extend(own.map(|(name, value)| (name.to_owned(), value)));
        Value::Object(record)
    }
}

/// The files that a fit reads.
pub(crate) fn files(args: &FitArgs) -> Vec<PathBuf> {
    let mut files = vec![args.data().to_owned()];
    if let StartArg::Labels(file) = &args.start {
        files.push(file.clone());
    }
    let scale = args.scale.as_ref().filter(|s| s.parse::<f64>().is_err());
    files.extend(scale.map(PathBuf::from));
    files.extend(args.climb.resume.clone());
    files
}

fn scale(given: &str, columns: usize) -> anyhow::Result<Scale> {
    if let Ok(number) = given.parse() {
        return Ok(Scale::Identity(number));
    }
    let matrix = read_table(Path::new(given), None)?;
    if (matrix.rows, matrix.columns.len()) != (columns, columns) {
        bail!(
            "{given}: a table of {} by {}, expected a scale matrix of {columns} by {columns}",
            matrix.rows,
            matrix.columns.len()
        );
    }
    Ok(Scale::Matrix(matrix.values))
}

fn labels(file: &Path, rows: usize, components: &[usize]) -> anyhow::Result<Vec<usize>> {
    if !file.exists() {
        bail!(
            "--start {}: no such file, expected random, kmeans or a file of labels",
            file.display()
        );
    }
    let labels = read_labels(file)?;
    if labels.len() != rows {
        bail!(
            "{}: {} labels, expected {rows}, one for each row of the data",
            file.display(),
            labels.len()
        );
    }
    let fewest = components.iter().copied().min().unwrap_or(1);
    if let Some(row) = labels.iter().position(|&label| label >= fewest) {
        bail!(
            "{}: row {}: label {}, expected 0 to {} for {fewest} components",
            file.display(),
            row + 1,
            labels[row],
            fewest - 1
        );
    }
    Ok(labels)
}
