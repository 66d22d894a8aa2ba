//! Which numbers of a model are told of, and which are only left out for their number.

use std::collections::BTreeMap;

use anyhow::bail;
use collapsar_bugs::{Prepared, Quantity, Selection, UnknownArray};

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
    /// Chooses what is selected, or by the rule where nothing is.
    pub(crate) fn of(
        prepared: &Prepared,
        source: &Source,
        selections: &[Selection],
    ) -> anyhow::Result<Self> {
        let arrays = prepared.unknowns();
        let take = |chosen: &dyn Fn(&str) -> bool| {
            let quantities = prepared.quantities_of(chosen);
            quantities.map_err(|diagnostic| source.refusal(&diagnostic))
        };
        if selections.is_empty() {
            return Self::by_rule(&arrays, take);
        }
        let mut quantities = take(&|array| selections.iter().any(|s| s.array == array))?;
        for selection in selections {
            if !quantities.iter().any(|q| selection.contains(&q.element)) {
                let arrays: Vec<&str> = arrays.iter().map(|array| array.name.as_str()).collect();
                let arrays = match arrays.as_slice() {
                    [] => "nothing: all of this model is known".to_owned(),
                    _ => format!(
                        "one of {}, or elements of these such as [1], [2:3] or [,1]",
                        arrays.join(", ")
                    ),
                };
                bail!("--monitor {selection}: nothing unknown of that name, expected {arrays}");
            }
        }
        quantities.retain(|q| selections.iter().any(|s| s.contains(&q.element)));
        Ok(Self {
            printed: vec![true; quantities.len()],
            quantities,
            left_out: vec![],
        })
    }

    fn by_rule(
        arrays: &[UnknownArray],
        take: impl Fn(&dyn Fn(&str) -> bool) -> anyhow::Result<Vec<Quantity>>,
    ) -> anyhow::Result<Self> {
        let many = |array: &UnknownArray| array.elements > MANY;
        let left_out = arrays.iter().filter(|array| array.labels || many(array));
        let find = |name: &str| arrays.iter().find(|array| array.name == name);
        let quantities = take(&|name| {
            find(name).is_some_and(|array| !(array.labels || (many(array) && array.computed)))
        })?;
        Ok(Self {
            printed: (quantities.iter())
                .map(|quantity| !find(&quantity.element.array).is_some_and(many))
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
            *sizes.entry(self.array(place)).or_default() += 1;
        }
        places.sort_by_key(|&place| sizes[self.array(place)]);
        places.truncate(ROWS);
        places.sort_unstable();
        places
    }

    fn array(&self, place: usize) -> &str {
        &self.quantities[place].element.array
    }

    /// How many could be printed.
    pub(crate) fn printable(&self) -> usize {
        self.printed.iter().filter(|printed| **printed).count()
    }
}
