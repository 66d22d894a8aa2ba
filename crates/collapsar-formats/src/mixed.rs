//! Which columns of a table are categorical: by their type or because someone says so; their levels, and what is no column of levels.

use std::collections::HashMap;
use std::path::Path;

use collapsar::mixture::{LevelColumn, MISSING};
use collapsar::{Change, Hint};

use crate::error::{Error, Result, count};
use crate::label_column::{LabelColumn, in_order, name_of};
use crate::open::Opened;
use crate::rows::tables_in;
use crate::table::{Selection, Table, find_column};
use crate::{csv, npy, parquet};

/// Levels of a column at most.
const MOST: usize = 10_000;
/// Columns of text with more levels than this are names where rows hardly share them.
const FEW: usize = 20;

/// A table some of whose columns are categorical: their cells are the places of levels, and NaN where there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct MixedTable {
    /// All columns.
    pub table: Table,
    /// The levels of each that is categorical.
    pub levels: Vec<Option<Vec<String>>>,
    /// The classes that rows are known to be of, where a column of these was asked for.
    pub labels: Option<LabelColumn>,
}

/// A categorical column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Category {
    /// Its name.
    pub name: String,
    /// Its levels: in the order of numbers where all are such, else of text.
    pub levels: Vec<String>,
    /// Which of these each row has.
    pub column: LevelColumn,
}

impl MixedTable {
    /// The numbers, and the categorical columns.
    pub fn split(self) -> (Table, Vec<Category>) {
        let (table, levels) = (self.table, self.levels);
        if levels.iter().all(Option::is_none) {
            return (table, vec![]);
        }
        let width = table.columns.len();
        let numeric = |at: &usize| levels[*at].is_none();
        let kept: Vec<usize> = (0..width).filter(numeric).collect();
        let rows = table.values.chunks_exact(width);
        let values = rows.flat_map(|row| kept.iter().map(|at| row[*at]));
        let numbers = Table {
            columns: kept.iter().map(|at| table.columns[*at].clone()).collect(),
            rows: table.rows,
            values: values.collect(),
            skipped: table.skipped.clone(),
        };
        let of = |(at, levels): (usize, Option<Vec<String>>)| {
            let levels = levels?;
            let cells = table.values.iter().skip(at).step_by(width);
            let code = |x: &f64| if x.is_nan() { MISSING } else { *x as u32 };
            Some(Category {
                name: table.columns[at].clone(),
                column: LevelColumn {
                    levels: levels.len(),
                    codes: cells.map(code).collect(),
                },
                levels,
            })
        };
        let categories = levels.into_iter().enumerate().filter_map(of).collect();
        (numbers, categories)
    }
}

/// Reads a table of numbers that may be missing, as [`crate::read_table_with_gaps`], some of whose columns are categorical: those
/// named in `categorical`, and those of text in CSV or Parquet, or of booleans in Parquet. Cells that are empty, or words for what is
/// missing, have no level. `labels` is a column of classes that some rows have, which is no data.
///
/// # Errors
///
/// As [`crate::read_table_with_gaps`] and [`crate::read_table_with_labels`]; where a column has numbers and text and is not named, where
/// it has a level for nearly every row and is not named, and where it has more than 10,000.
pub fn read_mixed_table(
    path: &Path,
    columns: Option<&[String]>,
    categorical: &[String],
    labels: Option<&str>,
) -> Result<MixedTable> {
    let columns = columns.filter(|columns| !columns.is_empty());
    if path.is_dir() {
        let name = path.display().to_string();
        return parquet::read_mixed(&name, &tables_in(path)?, columns, (categorical, labels));
    }
    let input = Opened::open(path)?;
    if input.is_parquet() {
        let name = input.name.clone();
        let files = [path.to_owned()];
        return parquet::read_mixed(&name, &files, columns, (categorical, labels));
    }
    if input.is_npy() && input.length.is_some() {
        return of_numbers(&input.name.clone(), input, columns, (categorical, labels));
    }
    csv::read_mixed(input, columns, (categorical, labels))
}

/// How many rows, and columns, there are in Parquet files with categorical columns; nothing for other files, and those without.
///
/// # Errors
///
/// A file that cannot be read, or has no such columns.
pub fn categorical_rows(
    path: &Path,
    columns: Option<&[String]>,
    categorical: &[String],
) -> Result<Option<(usize, usize)>> {
    let columns = columns.filter(|columns| !columns.is_empty());
    // What is no file can be read once only.
    let is_file = || std::fs::metadata(path).is_ok_and(|of| of.is_file());
    let files = if path.is_dir() {
        tables_in(path)?
    } else if is_file() && Opened::open(path)?.is_parquet() {
        vec![path.to_owned()]
    } else {
        return Ok(None);
    };
    parquet::categorical_rows(&path.display().to_string(), &files, columns, categorical)
}

/// An array, of which named columns are categorical.
fn of_numbers(
    path: &str,
    input: Opened,
    columns: Option<&[String]>,
    (categorical, labels): (&[String], Option<&str>),
) -> Result<MixedTable> {
    let (mut table, labels) = match labels {
        None => (npy::read(input, columns, true)?, None),
        Some(labels) => {
            let all = npy::read(input, None, true)?;
            let (table, builder) = crate::label_column::of_numbers(path, all, columns, labels)?;
            (table, Some(builder.whole(path, labels)?))
        }
    };
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let names = table.columns.clone();
    let mut kinds = Kinds::new(path, &names, &names, &all, categorical)?;
    let width = names.len();
    let named: Vec<usize> = (0..width).filter(|at| kinds.is_named(*at)).collect();
    for row in table.values.chunks_exact_mut(width) {
        for &at in &named {
            row[at] = kinds.code(at, name_of(row[at]).as_deref());
        }
    }
    let levels = kinds.finish(path, &names, &mut table.values)?;
    Ok(MixedTable {
        table,
        levels,
        labels,
    })
}

/// What is known of the columns of a table that is read.
#[derive(Debug)]
pub(crate) struct Kinds(Vec<Kind>);

/// What is known of one.
#[derive(Debug, Default)]
struct Kind {
    named: bool,
    /// Whether it had a number, as what is not named may.
    numbers: bool,
    places: HashMap<String, u32>,
    /// Cells that have a level.
    present: usize,
    /// The first text, with its line, where it is not named.
    text: Option<(u64, String)>,
}

impl Kinds {
    /// Of the columns `selected`, which are called `names`, of a file that has those of `all`; some are named as categorical.
    pub(crate) fn new(
        path: &str,
        all: &[String],
        names: &[String],
        selected: &[usize],
        categorical: &[String],
    ) -> Result<Self> {
        let mut kinds: Vec<Kind> = names.iter().map(|_| Kind::default()).collect();
        for column in categorical {
            let index = find_column(path, all, "categorical", column)?;
            let Some(place) = selected.iter().position(|of| *of == index) else {
                let found = format!("categorical column {column:?} is not among the columns taken");
                let error = Error::content(path, found, "one of those");
                return Err(error.with_hint(Hint::give("columns")));
            };
            kinds[place].named = true;
        }
        Ok(Self(kinds))
    }

    pub(crate) fn is_named(&self, column: usize) -> bool {
        self.0[column].named
    }

    /// Whether a column has levels so far.
    pub(crate) fn any(&self) -> bool {
        self.0.iter().any(Kind::is_categorical)
    }

    /// Notes a number in a column that is not named; whether that may be.
    pub(crate) fn number(&mut self, column: usize) -> bool {
        let kind = &mut self.0[column];
        kind.numbers = true;
        kind.text.is_none()
    }

    /// Notes text in a column that is not named; its place among levels, if it may be one.
    pub(crate) fn text(&mut self, column: usize, line: u64, text: &str) -> Option<f64> {
        let kind = &mut self.0[column];
        let first = || (line, crate::error::shortened(text, 40));
        kind.text.get_or_insert_with(first);
        (!kind.numbers).then(|| self.code(column, Some(text)))
    }

    /// The place of a level among those of a column, NaN where there is none.
    pub(crate) fn code(&mut self, column: usize, level: Option<&str>) -> f64 {
        let kind = &mut self.0[column];
        let Some(level) = level else { return f64::NAN };
        kind.present += 1;
        if let Some(place) = kind.places.get(level) {
            return f64::from(*place);
        }
        // One more than there may be is enough to know.
        if kind.places.len() > MOST {
            return f64::NAN;
        }
        let place = kind.places.len() as u32;
        kind.places.insert(level.to_owned(), place);
        f64::from(place)
    }

    /// The levels of columns, in whose order cells are brought; refuses what cannot be one. `values` are row by row.
    pub(crate) fn finish(
        self,
        path: &str,
        names: &[String],
        values: &mut [f64],
    ) -> Result<Vec<Option<Vec<String>>>> {
        self.check(path, names)?;
        let width = names.len();
        let mut all = vec![];
        for (column, kind) in self.0.into_iter().enumerate() {
            if !kind.is_categorical() {
                all.push(None);
                continue;
            }
            let (levels, places) = in_order(kind.places);
            for cell in values.iter_mut().skip(column).step_by(width) {
                if !cell.is_nan() {
                    *cell = places[*cell as usize] as f64;
                }
            }
            all.push(Some(levels));
        }
        Ok(all)
    }

    /// Refuses columns that are neither numbers nor levels.
    pub(crate) fn check(&self, path: &str, names: &[String]) -> Result<()> {
        let each = || self.0.iter().zip(names);
        let mixed = each().filter(|(kind, _)| kind.numbers);
        if let Some((name, (line, text))) = mixed
            .into_iter()
            .find_map(|(kind, name)| Some((name, kind.text.as_ref()?)))
        {
            let found = format!("column {name:?} has numbers and text ({text:?} in line {line})");
            let error = Error::content(path, found, "numbers, or a column named as categorical");
            return Err(error.with_hint(Hint::set("categorical", name)));
        }
        let Some((kind, name)) = each().find(|(kind, _)| kind.is_no_category()) else {
            return Ok(());
        };
        let levels = match kind.places.len() {
            some if some > MOST => format!("more than {MOST} levels"),
            some => count(some, "level"),
        };
        let found = format!(
            "column {name:?} has {levels} in {}",
            count(kind.present, "row")
        );
        let error = Error::content(path, found, "levels that rows share");
        let others = each().filter(|(kind, _)| !kind.is_no_category());
        let others: Vec<&str> = others.map(|(_, name)| name.as_str()).collect();
        let without = match others.len() {
            0 => Hint::give("columns"),
            1..=24 => Hint::set("columns", others.join(",")),
            n => {
                let words = format!("the {n} other columns");
                Hint::Option("columns", Change::With(words.into()))
            }
        };
        let hints = if kind.named || kind.places.len() > MOST {
            without
        } else {
            Hint::Any(vec![without, Hint::set("categorical", name)])
        };
        Err(error.with_hint(hints))
    }
}

impl Kind {
    fn is_categorical(&self) -> bool {
        self.named || !self.places.is_empty()
    }

    /// Whether what should be levels is none: a name for nearly every row, nothing, or too many.
    fn is_no_category(&self) -> bool {
        if !self.is_categorical() {
            return false;
        }
        let levels = self.places.len();
        let each = levels == self.present && levels > 1;
        let most = levels > FEW && 2 * levels > self.present;
        levels > MOST || (!self.named && (each || most))
    }
}

/// Columns of a Parquet file or an array by their names.
pub(crate) fn kinds_of(
    path: &str,
    all: &[String],
    selected: &Selection,
    categorical: &[String],
) -> Result<Kinds> {
    Kinds::new(path, all, &selected.names, &selected.indices, categorical)
}

#[cfg(test)]
mod tests;
