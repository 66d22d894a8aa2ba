//! `components.json`: a fit on disk, which whoever reads it must not have to trust, used on new data.

use std::path::Path;

use collapsar::mixture::{
    Cells, Covariance, Imputation, LevelColumn, LevelImputation, Matrix, MixtureDraws, MixtureFit,
    PredictiveDensity, Scores,
};
use collapsar_formats::{
    Error as FileError, Problem, Table, TableReader, read_mixed_table, read_table,
    read_table_with_gaps,
};
use collapsar_text::count;
use serde::{Deserialize, Serialize};

use super::{Categories, CategoryNames, ClassNames};
use crate::error::{Error, Result};
use crate::record::{SavedFile, write_json};
use crate::verdict::PosteriorKind;

const FILE: SavedFile = SavedFile {
    name: "components.json",
    command: "mixture",
};

/// The file of exact draws.
pub(super) const DRAWS: &str = "draws.csv";

/// Of the draws behind the tail probabilities: the same for everyone, so that two people with the
/// same fit and row see the same number.
const SEED: u64 = 0;

/// A fit with the names of its columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedMixture {
    /// The version of the program that wrote it.
    pub version: String,
    /// The columns of the data, in the order of every mean and covariance below.
    pub columns: Vec<String>,
    /// The categorical columns, in the order of every component's levels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<CategoryNames>,
    /// What the first components are called, where labels of some rows were known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// How many rows were fitted.
    pub rows: usize,
    /// A lower bound on ln p(data).
    pub bound: f64,
    /// Which posterior its means and standard deviations are of, by its name.
    #[serde(default = "mean_field")]
    pub posterior: String,
    /// The fit.
    #[serde(flatten)]
    pub fit: MixtureFit,
    /// Exact draws, which have a file of their own.
    #[serde(skip)]
    pub draws: Option<MixtureDraws>,
}

/// What fits were before they could be anything else.
fn mean_field() -> String {
    PosteriorKind::MeanField.name().into()
}

/// What a fit says of new rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// Labels and densities.
    pub scores: Scores,
    /// For each row, the probability that a new one has a lower density still.
    pub tail: Vec<f64>,
}

/// A table with what was missing filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Imputed {
    /// The numbers as they were read, NaN where one was missing.
    pub table: Table,
    /// What is there now, and how uncertain it is.
    pub numbers: Imputation,
    /// The categorical columns as they were read.
    pub categories: Vec<LevelColumn>,
    /// The level of each row now and its probability, column by column.
    pub levels: Vec<(Vec<u32>, Vec<f64>)>,
}

impl SavedMixture {
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        write_json(&folder.join(FILE.name), self)
    }

    /// Reads the fit in a folder.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = FILE.find(folder)?;
        let mut saved: Self = FILE.read(&path)?;
        saved.check().map_err(|cause| FILE.damaged(&path, &cause))?;
        if saved.posterior == PosteriorKind::Exact.name() {
            let file = path.with_file_name(DRAWS);
            let table = read_table(&file, None)?;
            // After chain and draw: the density does not ask which chain a draw is of.
            let width = table.columns.len().max(1);
            let rows = table.values.chunks_exact(width);
            let numbers = rows.flat_map(|row| &row[row.len().min(2)..]).copied();
            let draws = MixtureDraws::of(&saved.fit, vec![numbers.collect()]);
            let draws = draws.filter(|draws| draws.width() + 2 == width && draws.draws() > 0);
            let cause = "draws of other components than the fit has";
            saved.draws = Some(draws.ok_or_else(|| FILE.damaged(&file, cause))?);
        }
        Ok(saved)
    }

    /// What components are called.
    pub fn names(&self) -> ClassNames<'_> {
        ClassNames(&self.classes)
    }

    /// Reads rows of the columns that the fit has: those given, else those of the same names, else all
    /// where the fit or the data have no names; and says what the fit makes of them.
    pub fn predict(&self, data: &Path, columns: Option<&[String]>) -> Result<Prediction> {
        if !self.categories.is_empty() {
            let (table, levels) = self.cells_of(data, columns)?;
            let (cells, density) = (self.cells(&table, &levels), self.density()?);
            let scores = density.score_cells(cells)?;
            let tail = density.tail_of_cells(cells, &scores.ln_density, SEED)?;
            return Ok(Prediction { scores, tail });
        }
        let table = self.rows_of(data, columns)?;
        let density = self.density()?;
        let scores = density.score(&table.values, self.columns.len())?;
        let tail = density.tail(&table.values, &scores.ln_density, SEED);
        Ok(Prediction { scores, tail })
    }

    /// The same in pieces, in the order of the rows, where they do not fit in so many bytes of memory: `visit` has the first row of
    /// each and what the fit makes of it. Rows that do fit are one piece.
    pub fn predict_each(
        &self,
        data: &Path,
        columns: Option<&[String]>,
        memory: Option<u64>,
        mut visit: impl FnMut(usize, Prediction) -> Result<()>,
    ) -> Result<()> {
        let Some(memory) = memory.filter(|memory| !fits(data, *memory)) else {
            return visit(0, self.predict(data, columns)?);
        };
        if !self.categories.is_empty() {
            let short = std::fs::metadata(data).is_ok_and(|of| !of.is_file() || of.len() <= memory);
            if !short {
                let place = collapsar::Place::Named(data.display().to_string());
                let found = "categorical columns in rows that do not fit in memory";
                let error = collapsar::Error::data(place, found, "rows in memory");
                return Err(error.with_hint(collapsar::Hint::higher("memory")).into());
            }
            return visit(0, self.predict(data, columns)?);
        }
        let mut reader = self.reader_of(data, columns)?;
        let width = reader.columns.len();
        let density = self.density()?;
        let most = (memory / (8 * width as u64 + BESIDE)) as usize;
        let (mut values, mut batch) = (vec![], vec![]);
        while reader.read <= most && reader.next(&mut batch)? {
            values.append(&mut batch);
        }
        if reader.read <= most {
            let scores = density.score(&values, width)?;
            let tail = density.tail(&values, &scores.ln_density, SEED);
            return visit(0, Prediction { scores, tail });
        }
        let tails = density.tails(SEED);
        let mut first = 0;
        loop {
            for part in values.chunks(width << 14) {
                if let Some(at) = part.iter().position(|x| x.is_nan()) {
                    let (row, column) = (first + at / width, &reader.columns[at % width]);
                    return Err(super::rows::gap(&reader.name, row, column));
                }
                let scores = density.score(part, width)?;
                let tail = scores.ln_density.iter().map(|of| tails(*of)).collect();
                visit(first, Prediction { scores, tail })?;
                first += part.len() / width;
            }
            // Rows of the beginning have taken all memory that there is.
            values = vec![];
            if !reader.next(&mut values)? {
                return Ok(());
            }
        }
    }

    fn reader_of(&self, data: &Path, columns: Option<&[String]>) -> Result<TableReader> {
        let reader = match columns {
            Some(columns) => TableReader::open(data, Some(columns))?,
            None => like(data, &self.columns, |columns: Option<&[String]>| {
                TableReader::open(data, columns)
            })?,
        };
        self.check_columns(data, reader.columns.len())?;
        Ok(reader)
    }

    /// Reads rows as [`SavedMixture::predict`] does, and fills in what is missing: the rows with expected values, and
    /// how uncertain these are.
    pub fn impute(&self, data: &Path, columns: Option<&[String]>) -> Result<Imputed> {
        if !self.categories.is_empty() {
            let (table, categories) = self.cells_of(data, columns)?;
            let density = self.density()?;
            let LevelImputation {
                numbers,
                levels,
                probabilities,
            } = density.impute_cells(self.cells(&table, &categories))?;
            return Ok(Imputed {
                table,
                numbers,
                categories,
                levels: levels.into_iter().zip(probabilities).collect(),
            });
        }
        let table = self.rows_of(data, columns)?;
        let numbers = self.density()?.impute(&table.values, self.columns.len())?;
        Ok(Imputed {
            table,
            numbers,
            categories: vec![],
            levels: vec![],
        })
    }

    /// Rows as the density takes them.
    fn cells<'a>(&self, table: &'a Table, categories: &'a [LevelColumn]) -> Cells<'a> {
        Cells {
            values: &table.values,
            columns: self.columns.len(),
            categories,
        }
    }

    /// Reads rows with categorical columns: by the names of the fit's, or by those given in the order of these, numbers first.
    fn cells_of(
        &self,
        data: &Path,
        columns: Option<&[String]>,
    ) -> Result<(Table, Vec<LevelColumn>)> {
        let own = self.categories.iter().map(|of| of.name.clone());
        let own: Vec<String> = self.columns.iter().cloned().chain(own).collect();
        let asked = columns.unwrap_or(&own);
        let count = self.columns.len();
        if asked.len() != own.len() {
            let (name, found) = (data.display().to_string(), count_of(asked.len()));
            let expected = format!("{} as the fit has ({})", own.len(), own.join(", "));
            return Err(Error::input(name, found, expected));
        }
        let table = read_mixed_table(data, Some(asked), &asked[count..], None)?;
        let name = data.display().to_string();
        if let Some(place) = table.levels[..count].iter().position(Option::is_some) {
            let found = format!("column {:?} has text", table.table.columns[place]);
            return Err(Error::input(name, found, "numbers, as the fit has"));
        }
        let (table, categories) = Categories::of(table);
        let levels = categories.like(&self.categories, &name)?;
        Ok((table, levels))
    }

    fn density(&self) -> Result<PredictiveDensity> {
        Ok(match &self.draws {
            Some(draws) => self.fit.predictive_of(draws)?,
            None => self.fit.predictive()?,
        })
    }

    fn rows_of(&self, data: &Path, columns: Option<&[String]>) -> Result<Table> {
        let table = match columns {
            Some(columns) => read_table_with_gaps(data, Some(columns))?,
            None => like(data, &self.columns, |columns: Option<&[String]>| {
                read_table_with_gaps(data, columns)
            })?,
        };
        self.check_columns(data, table.columns.len())?;
        Ok(table)
    }

    fn check_columns(&self, data: &Path, found: usize) -> Result<()> {
        let expected = self.columns.len();
        if found != expected {
            let (name, found) = (data.display().to_string(), count(found, "column"));
            let expected = format!("{expected} as the fit has ({})", self.columns.join(", "));
            return Err(Error::input(name, found, expected));
        }
        Ok(())
    }

    /// Sizes and signs that the library takes for granted.
    fn check(&self) -> std::result::Result<(), String> {
        let (fit, columns) = (&self.fit, self.columns.len());
        let prior = &fit.prior;
        if fit.components.is_empty() || columns + self.categories.len() == 0 {
            return Err("no components or no columns".into());
        }
        if prior.location.len() != columns || prior.scale.len() != columns * columns {
            return Err(format!("a prior of another size than {columns} columns"));
        }
        if self.classes.len() > fit.components.len() {
            return Err("more classes than components".into());
        }
        let fits = |matrix: &Matrix| match (matrix, fit.covariance) {
            // Without numbers nothing looks at it.
            _ if columns == 0 => true,
            (Matrix::Full(rows), Covariance::Full | Covariance::Tied) => {
                rows.len() == columns && rows.iter().all(|row| row.len() == columns)
            }
            (Matrix::Diagonal(entries), Covariance::Diagonal) => entries.len() == columns,
            (Matrix::Spherical(_), Covariance::Spherical) => true,
            _ => false,
        };
        for (k, component) in fit.components.iter().enumerate() {
            let mut matrices = [&component.scale, &component.covariance]
                .into_iter()
                .chain(&component.covariance_sd);
            let mean_sd = component.mean_sd.as_ref();
            if component.mean.len() != columns
                || mean_sd.is_some_and(|sds| sds.len() != columns)
                || !matrices.all(fits)
            {
                return Err(format!(
                    "component {k} of another size than {columns} columns"
                ));
            }
            let several = [
                &component.mean_precisions,
                &component.column_degrees_of_freedom,
            ];
            if several
                .iter()
                .any(|of| of.as_ref().is_some_and(|of| of.len() != columns))
            {
                return Err(format!(
                    "component {k} of another size than {columns} columns"
                ));
            }
            let sizes = self.categories.iter().map(|of| of.levels.len());
            let own = component.levels.iter();
            let fits = |of: &collapsar::mixture::LevelProbabilities, size: usize| {
                let numbers = [&of.concentrations, &of.probabilities, &of.sds];
                let usable = numbers.iter().all(|all| all.len() == size && size > 0);
                usable && of.concentrations.iter().all(|a| *a > 0.0 && a.is_finite())
            };
            if own.len() != self.categories.len()
                || !own.zip(sizes).all(|(of, size)| fits(of, size))
            {
                return Err(format!(
                    "component {k} of other levels than the columns have"
                ));
            }
            let mut numbers = vec![
                component.weight,
                component.mean_precision,
                component.degrees_of_freedom,
            ];
            numbers.extend(several.into_iter().flatten().flatten());
            if numbers.iter().any(|x| !(*x >= 0.0 && x.is_finite())) {
                return Err(format!(
                    "component {k} has a negative weight, precision or freedom"
                ));
            }
        }
        Ok(())
    }
}

fn count_of(columns: usize) -> String {
    count(columns, "column")
}

/// Bytes for each row, beside its numbers, that its scores take.
const BESIDE: u64 = 40;

/// Whether a file is so short that what is in it surely fits: each number has a byte and another between it and the next.
fn fits(data: &Path, memory: u64) -> bool {
    let metadata = std::fs::metadata(data).ok();
    let length = metadata
        .filter(std::fs::Metadata::is_file)
        .map(|of| of.len());
    let extension = data.extension().unwrap_or_default();
    let packed = extension == "gz" || extension == "parquet" || extension == "pq";
    length.is_some_and(|length| !packed && (length / 2).saturating_mul(8 + BESIDE) <= memory)
}

/// Reads the columns that a fit has, by name; all of them where the fit or the data have no names.
fn like<T>(
    data: &Path,
    names: &[String],
    read: impl Fn(Option<&[String]>) -> collapsar_formats::Result<T>,
) -> Result<T> {
    if is_nameless(names) {
        return Ok(read(None)?);
    }
    match read(Some(names)) {
        // Standard input cannot be read twice: there, columns by number say what is meant.
        Err(FileError::File { problem, .. })
            if matches!(&*problem, Problem::NoColumn { columns, .. } if is_nameless(columns))
                && data != Path::new("-") =>
        {
            Ok(read(None)?)
        }
        other => Ok(other?),
    }
}

/// Whether a file's columns are known by their numbers only.
fn is_nameless(columns: &[String]) -> bool {
    let mut numbered = (1..).zip(columns);
    numbered.all(|(number, name): (usize, _)| *name == number.to_string())
}
