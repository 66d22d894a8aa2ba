//! Which numbers of a model are told of, and which are only left out for their number.

use std::collections::BTreeMap;

use anyhow::bail;
use collapsar_bugs::{Prepared, Quantity, Unknowns};

use super::source::Source;
use crate::text::count;

/// Arrays of more elements than this are not printed unless asked for.
const MANY: usize = 100;
/// Most rows of the table that is printed.
const ROWS: usize = 40;

/// What is told of, in the order of the model.
pub(crate) struct Chosen {
    /// What files get.
    pub(crate) quantities: Vec<Quantity>,
    /// Whether each may be printed.
    pub(crate) printed: Vec<bool>,
    /// What is left out altogether or not printed, in words.
    pub(crate) left_out: Vec<String>,
}

impl Chosen {
    /// Chooses by names of arrays or elements, or by the rule where there are none.
    pub(crate) fn of(
        prepared: &Prepared,
        source: &Source,
        names: &[String],
    ) -> anyhow::Result<Self> {
        let arrays = prepared.unknowns();
        let take = |chosen: &dyn Fn(&str) -> bool| {
            let quantities = prepared.quantities_of(chosen);
            quantities.map_err(|diagnostic| source.refusal(&diagnostic))
        };
        if names.is_empty() {
            return Self::by_rule(&arrays, take);
        }
        let array = |name: &String| name.split('[').next().unwrap_or(name).to_owned();
        let asked: Vec<String> = names.iter().map(array).collect();
        let mut quantities = take(&|name| asked.iter().any(|asked| asked == name))?;
        let asked = |q: &Quantity| names.iter().any(|name| *name == q.array || *name == q.name);
        for name in names {
            if quantities
                .iter()
                .all(|q| q.array != *name && q.name != *name)
            {
                let arrays: Vec<&str> = arrays.iter().map(|array| array.name.as_str()).collect();
                let arrays = match arrays.as_slice() {
                    [] => "nothing: all of this model is known".to_owned(),
                    _ => format!("one of {}, or an element of these", arrays.join(", ")),
                };
                bail!("--monitor {name}: nothing unknown of that name, expected {arrays}");
            }
        }
        quantities.retain(asked);
        Ok(Self {
            printed: vec![true; quantities.len()],
            quantities,
            left_out: vec![],
        })
    }

    fn by_rule(
        arrays: &[Unknowns],
        take: impl Fn(&dyn Fn(&str) -> bool) -> anyhow::Result<Vec<Quantity>>,
    ) -> anyhow::Result<Self> {
        let many = |array: &Unknowns| array.elements > MANY;
        let left_out = arrays.iter().filter(|array| array.labels || many(array));
        let find = |name: &str| arrays.iter().find(|array| array.name == name);
        let quantities = take(&|name| {
            find(name).is_some_and(|array| !(array.labels || (many(array) && array.computed)))
        })?;
        Ok(Self {
            printed: (quantities.iter())
                .map(|quantity| !find(&quantity.array).is_some_and(many))
                .collect(),
            quantities,
            left_out: left_out
                .map(|array| {
                    let noun = if array.labels { "label" } else { "number" };
                    format!("{} ({})", array.name, count(array.elements, noun))
                })
                .collect(),
        })
    }

    /// The places of what is printed: where there is too much, the smallest arrays first.
    pub(crate) fn rows(&self) -> Vec<usize> {
        let places = (0..self.printed.len()).filter(|&place| self.printed[place]);
        let mut places: Vec<usize> = places.collect();
        let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
        for &place in &places {
            *sizes.entry(&self.quantities[place].array).or_default() += 1;
        }
        places.sort_by_key(|&place| sizes[self.quantities[place].array.as_str()]);
        places.truncate(ROWS);
        places.sort_unstable();
        places
    }

    /// How many could be printed.
    pub(crate) fn printable(&self) -> usize {
        self.printed.iter().filter(|printed| **printed).count()
    }
}
