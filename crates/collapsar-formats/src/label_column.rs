//! Reads a table with a column of labels, which some rows have: names of classes, in words or numbers.

use std::collections::HashMap;
use std::path::Path;

use crate::error::{Error, Result};
use crate::open::Opened;
use crate::table::{Selection, Table, find_column};
use crate::{csv, npy, parquet};

/// What is no class yet.
const NONE: u32 = u32::MAX;

/// A column of names, which some rows have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelColumn {
    /// The names, each once: as numbers where all are such, else as text.
    pub names: Vec<String>,
    /// Which of these each row has.
    pub labels: Vec<Option<usize>>,
}

impl LabelColumn {
    /// How many rows have a label.
    pub fn known(&self) -> usize {
        self.labels.iter().flatten().count()
    }
}

/// Reads a table of numbers that may be missing, as [`crate::read_table_with_gaps`], and one column more of labels, by name or
/// by index from 1: it is no data. Cells that are empty, or words for what is missing, have no label.
///
/// # Errors
///
/// As [`crate::read_table_with_gaps`]; where there is no such column, none beside it, or no label in it.
pub fn read_table_with_labels(
    path: &Path,
    columns: Option<&[String]>,
    labels: &str,
) -> Result<(Table, LabelColumn)> {
    let columns = columns.filter(|columns| !columns.is_empty());
    let input = Opened::open(path)?;
    let name = input.name.clone();
    let (table, builder) = if input.is_parquet() {
        let file = std::fs::File::open(path).map_err(|error| Error::file(path, &error))?;
        parquet::read_with_labels(&name, file, columns, labels)?
    } else if input.is_npy() && input.length.is_some() {
        of_numbers(&name, npy::read(input, None, true)?, columns, labels)?
    } else {
        csv::read_with_labels(input, columns, labels)?
    };
    Ok((table, builder.whole(&name, labels)?))
}

/// Takes the column of labels out of a selection.
pub(crate) fn separate(
    path: &str,
    names: &[String],
    selected: &mut Selection,
    labels: &str,
) -> Result<usize> {
    let index = find_column(path, names, "labels", labels)?;
    if let Some(place) = selected.indices.iter().position(|of| *of == index) {
        selected.indices.remove(place);
        selected.names.remove(place);
    }
    selected.skipped.retain(|name| *name != names[index]);
    if selected.indices.is_empty() {
        let found = format!("no column but {labels:?}");
        return Err(Error::content(path, found, "columns of data beside it"));
    }
    Ok(index)
}

/// Numbers of an array, of which a column has labels.
pub(crate) fn of_numbers(
    path: &str,
    mut table: Table,
    columns: Option<&[String]>,
    labels: &str,
) -> Result<(Table, Builder)> {
    let index = table.find(path, "labels", labels)?;
    let mut builder = Builder::default();
    for number in table.values.iter().skip(index).step_by(table.columns.len()) {
        builder.push(name_of(*number).as_deref());
    }
    let mut selected = crate::table::select(path, &table.columns, None, columns)?;
    separate(path, &table.columns, &mut selected, labels)?;
    let rows = table.values.chunks_exact(table.columns.len());
    let kept = rows.flat_map(|row| selected.indices.iter().map(|&index| row[index]));
    table.values = kept.collect();
    table.columns = selected.names;
    Ok((table, builder))
}

/// What a number is called as a class; nothing where it is missing.
pub(crate) fn name_of(number: f64) -> Option<String> {
    number.is_finite().then(|| number.to_string())
}

/// Labels as they are read.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    places: HashMap<String, u32>,
    labels: Vec<u32>,
}

impl Builder {
    pub(crate) fn push(&mut self, name: Option<&str>) {
        let label = name.map_or(NONE, |name| {
            if let Some(place) = self.places.get(name) {
                return *place;
            }
            let place = self.places.len() as u32;
            self.places.insert(name.to_owned(), place);
            place
        });
        self.labels.push(label);
    }

    /// Adds the rows of another, which come after.
    pub(crate) fn append(&mut self, other: Self) {
        let mut names: Vec<(String, u32)> = other.places.into_iter().collect();
        names.sort_by_key(|(_, place)| *place);
        for label in other.labels {
            let name = names.get(label as usize).map(|(name, _)| name.as_str());
            self.push(name);
        }
    }

    /// The column, in which there is a label.
    pub(crate) fn whole(self, path: &str, labels: &str) -> Result<LabelColumn> {
        let found = self.finish();
        if found.names.is_empty() {
            let found = format!("no label in column {labels:?}");
            return Err(Error::content(path, found, "a class in some of its rows"));
        }
        Ok(found)
    }

    pub(crate) fn finish(self) -> LabelColumn {
        let (names, places) = in_order(self.places);
        let labels = self.labels.into_iter();
        LabelColumn {
            labels: labels
                .map(|label| (label != NONE).then(|| places[label as usize]))
                .collect(),
            names,
        }
    }
}

/// Names in their order: that of numbers where all are such, else of text; and where each is then that had another place.
pub(crate) fn in_order(places: HashMap<String, u32>) -> (Vec<String>, Vec<usize>) {
    let mut names: Vec<(String, u32)> = places.into_iter().collect();
    let number = |name: &str| name.parse::<f64>().ok().filter(|x| x.is_finite());
    if names.iter().all(|(name, _)| number(name).is_some()) {
        let of = |name: &str| number(name).unwrap_or_default();
        // Numbers that are the same may be written otherwise.
        names.sort_by(|(a, _), (b, _)| of(a).total_cmp(&of(b)).then_with(|| a.cmp(b)));
    } else {
        names.sort();
    }
    let mut places = vec![0; names.len()];
    for (place, (_, first)) in names.iter().enumerate() {
        places[*first as usize] = place;
    }
    (names.into_iter().map(|(name, _)| name).collect(), places)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(
        name: &str,
        text: &str,
        columns: Option<&str>,
        labels: &str,
    ) -> Result<(Table, LabelColumn)> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        let columns: Option<Vec<String>> =
            columns.map(|all| all.split(',').map(str::to_owned).collect());
        read_table_with_labels(&path, columns.as_deref(), labels)
    }

    #[test]
    fn words_and_gaps() {
        let text = "x,kind,y\n1,b,2\n3,,4\n5,a,\n7,NA,8\n9,b,1\n";
        let (table, labels) = read("a.csv", text, None, "kind").expect("a table");
        assert_eq!(table.columns, ["x", "y"]);
        assert_eq!((table.rows, table.values[4]), (5, 5.0));
        assert!(table.values[5].is_nan());
        assert_eq!(labels.names, ["a", "b"]);
        assert_eq!(labels.labels, [Some(1), None, Some(0), None, Some(1)]);
        assert_eq!(labels.known(), 3);
        let (table, again) = read("a.csv", text, Some("y"), "2").expect("a table");
        assert_eq!((table.columns, again), (vec!["y".to_owned()], labels));
    }

    #[test]
    fn numbers_are_in_their_order() {
        let (_, labels) = read("a.tsv", "x\tk\n1\t10\n2\t9\n3\t\n", None, "k").expect("a table");
        assert_eq!(labels.names, ["9", "10"]);
        assert_eq!(labels.labels, [Some(1), Some(0), None]);
    }

    #[test]
    fn row_names_may_be_labels() {
        let text = ",x,y\na,1,2\n,3,4\n";
        let (table, labels) = read("a.csv", text, None, "1").expect("a table");
        assert_eq!((table.columns.len(), table.skipped.len()), (2, 0));
        assert_eq!(labels.labels, [Some(0), None]);
    }

    #[test]
    fn refusals() {
        let of = |text: &str, columns, labels| {
            let error = read("a.csv", text, columns, labels).expect_err("refused");
            let told = error.to_string();
            told[told.find("a.csv").expect("the file")..].to_owned()
        };
        assert_eq!(
            of("x,k\n1,\n2,NA\n", None, "k"),
            "a.csv: no label in column \"k\", expected a class in some of its rows"
        );
        assert_eq!(
            of("k\na\nb\n", None, "k"),
            "a.csv: no column but \"k\", expected columns of data beside it"
        );
        assert_eq!(
            of("x,k\n1,a\n", None, "kind"),
            "a.csv: no column \"kind\", expected \"x\", \"k\" or an index from 1 to 2"
        );
        let told = of("x,k,z\n1,a,b\n2,c,d\n", None, "k");
        assert!(
            told.contains("column \"z\" has text") && told.ends_with('x'),
            "{told}"
        );
    }

    #[test]
    fn arrays_have_numbers_for_labels() {
        let table = Table {
            columns: vec!["1".into(), "2".into(), "3".into()],
            rows: 2,
            values: vec![1.0, 2.0, 3.0, 4.0, 5.0, f64::NAN],
            skipped: vec![],
        };
        let (table, builder) = of_numbers("a.npy", table, None, "3").expect("a table");
        let labels = builder.finish();
        assert_eq!(
            (table.values, labels.labels),
            (vec![1.0, 2.0, 4.0, 5.0], vec![Some(0), None])
        );
        assert_eq!(labels.names, ["3"]);
    }
}
