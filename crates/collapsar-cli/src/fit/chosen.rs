//! Which numbers of a model are told of, and which are only left out for their number.

use std::collections::BTreeMap;

use anyhow::bail;
use collapsar_bugs::{Origin, Quantity};

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
    pub(crate) fn of(all: Vec<Quantity>, names: &[String]) -> anyhow::Result<Self> {
        if names.is_empty() {
            return Ok(Self::by_rule(all));
        }
        for name in names {
            if all.iter().all(|q| q.array != *name && q.name != *name) {
                let mut arrays: Vec<&str> = all.iter().map(|q| q.array.as_str()).collect();
                arrays.dedup();
                let arrays = match arrays.as_slice() {
                    [] => "nothing: all of this model is known".to_owned(),
                    _ => format!("one of {}, or an element of these", arrays.join(", ")),
                };
                bail!("--monitor {name}: nothing unknown of that name, expected {arrays}");
            }
        }
        let asked = |q: &Quantity| names.iter().any(|name| *name == q.array || *name == q.name);
        let quantities: Vec<Quantity> = all.into_iter().filter(asked).collect();
        Ok(Self {
            printed: vec![true; quantities.len()],
            quantities,
            left_out: vec![],
        })
    }

    fn by_rule(all: Vec<Quantity>) -> Self {
        let mut sizes: BTreeMap<String, usize> = BTreeMap::new();
        for quantity in &all {
            match sizes.get_mut(&quantity.array) {
                Some(size) => *size += 1,
                None => drop(sizes.insert(quantity.array.clone(), 1)),
            }
        }
        let mut chosen = Self {
            quantities: vec![],
            printed: vec![],
            left_out: vec![],
        };
        let mut last = String::new();
        for quantity in all {
            let size = sizes[&quantity.array];
            let label = matches!(quantity.origin, Origin::Label(..));
            let many = size > MANY;
            if (label || many) && quantity.array != last {
                let noun = if label { "label" } else { "number" };
                let name = &quantity.array;
                chosen
                    .left_out
                    .push(format!("{name} ({})", count(size, noun)));
                last.clone_from(name);
            }
            if label || (many && quantity.origin == Origin::Computed) {
                continue;
            }
            chosen.quantities.push(quantity);
            chosen.printed.push(!many);
        }
        chosen
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
