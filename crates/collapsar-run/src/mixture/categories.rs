//! Categorical columns: what they and their levels are called, and rows of other tables read by these names.

use std::collections::HashMap;

use collapsar::Place;
use collapsar::mixture::{LevelColumn, MISSING};
use collapsar_formats::{Category, MixedTable, Table};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Levels that a refusal lists.
const LISTED: usize = 12;

/// What a categorical column and its levels are called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CategoryNames {
    /// The column.
    pub name: String,
    /// Its levels, in the order of every probability.
    pub levels: Vec<String>,
}

/// Categorical columns of a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Categories {
    /// What they are called.
    pub names: Vec<CategoryNames>,
    /// Which level each row has.
    pub columns: Vec<LevelColumn>,
}

impl Categories {
    /// The numbers of a table, and its categorical columns.
    pub fn of(table: MixedTable) -> (Table, Self) {
        let (table, categories) = table.split();
        let mut all = Self::default();
        for Category {
            name,
            levels,
            column,
        } in categories
        {
            all.names.push(CategoryNames { name, levels });
            all.columns.push(column);
        }
        (table, all)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// The same columns in the order and with the levels of others, as a fit has them. A level that these do not have is refused.
    pub(super) fn like(self, names: &[CategoryNames], file: &str) -> Result<Vec<LevelColumn>> {
        let mut columns: Vec<Option<(CategoryNames, LevelColumn)>> =
            self.names.into_iter().zip(self.columns).map(Some).collect();
        let mut found = vec![];
        for (at, of) in names.iter().enumerate() {
            let named = |one: &Option<(CategoryNames, LevelColumn)>| {
                one.as_ref().is_some_and(|(names, _)| names.name == of.name)
            };
            // Those that were asked for otherwise are in the order of the fit.
            let place = columns.iter().position(named).unwrap_or(at);
            let Some((own, column)) = columns.get_mut(place).and_then(Option::take) else {
                let told = format!("no categorical column {:?}", of.name);
                return Err(Error::input(file, told, "those of the fit"));
            };
            found.push(of.codes(&own, &column, file)?);
        }
        Ok(found)
    }
}

impl CategoryNames {
    fn codes(&self, own: &Self, column: &LevelColumn, file: &str) -> Result<LevelColumn> {
        let places: HashMap<&str, u32> = self.levels.iter().map(String::as_str).zip(0..).collect();
        let place = |name: &String| places.get(name.as_str()).copied();
        let places: Vec<Option<u32>> = own.levels.iter().map(place).collect();
        let code = |(row, code): (usize, &u32)| match *code {
            MISSING => Ok(MISSING),
            code => places[code as usize].ok_or_else(|| self.unknown(own, (row, code), file)),
        };
        let codes = column.codes.iter().enumerate().map(code);
        Ok(LevelColumn {
            levels: self.levels.len(),
            codes: codes.collect::<Result<_>>()?,
        })
    }

    /// Refuses a level that the fit has not seen.
    fn unknown(&self, own: &Self, (row, code): (usize, u32), file: &str) -> Error {
        let place = Place::Named(format!("{file}: row {}", row + 1));
        let level = &own.levels[code as usize];
        let found = format!("level {level:?} of column {:?}", self.name);
        let known: Vec<String> = (self.levels.iter().take(LISTED))
            .map(|level| format!("{level:?}"))
            .collect();
        let more = match self.levels.len().saturating_sub(LISTED) {
            0 => String::new(),
            more => format!(" or {more} others"),
        };
        let expected = format!("one that the fit knows: {}{more}", known.join(", "));
        let hint = collapsar::Hint::plain("an empty field, which is a missing value");
        collapsar::Error::data(place, found, expected)
            .with_hint(hint)
            .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(name: &str, levels: &[&str]) -> CategoryNames {
        CategoryNames {
            name: name.into(),
            levels: levels.iter().map(|level| (*level).to_owned()).collect(),
        }
    }

    #[test]
    fn tables_are_read_by_the_names_of_levels() {
        let fit = [names("a", &["x", "y", "z"]), names("b", &["0", "1"])];
        let other = || Categories {
            names: vec![names("b", &["1"]), names("a", &["y", "z"])],
            columns: vec![
                LevelColumn {
                    levels: 1,
                    codes: vec![0, MISSING],
                },
                LevelColumn {
                    levels: 2,
                    codes: vec![1, 0],
                },
            ],
        };
        let columns = other().like(&fit, "new.csv").expect("known levels");
        let codes: Vec<&[u32]> = columns.iter().map(|column| &column.codes[..]).collect();
        assert_eq!(codes, [&[2, 1][..], &[1, MISSING]]);
        let mut unknown = other();
        unknown.names[1].levels[1] = "w".into();
        let told = unknown.like(&fit, "new.csv").expect_err("refused");
        assert_eq!(
            told.to_string(),
            "new.csv: row 1: level \"w\" of column \"a\", expected one that the fit knows: \"x\", \"y\", \"z\"; try an empty field, which is a missing value"
        );
    }
}
