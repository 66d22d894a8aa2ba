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
        let asked = |q: &Quantity| names.iter().any(|name| is_meant(name, q));
        for name in names {
            if !quantities.iter().any(|q| is_meant(name, q)) {
                let arrays: Vec<&str> = arrays.iter().map(|array| array.name.as_str()).collect();
                let arrays = match arrays.as_slice() {
                    [] => "nothing: all of this model is known".to_owned(),
                    _ => format!(
                        "one of {}, or elements of these such as [1], [2:3] or [,1]",
                        arrays.join(", ")
                    ),
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

/// Whether a name with or without brackets means a quantity: indices may be numbers, ranges or nothing.
fn is_meant(name: &str, quantity: &Quantity) -> bool {
    name == quantity.array || matches(name, &quantity.name)
}

fn matches(name: &str, element: &str) -> bool {
    fn parts(text: &str) -> Option<(&str, Vec<&str>)> {
        let (array, indices) = text.strip_suffix(']')?.split_once('[')?;
        Some((array, indices.split(',').collect()))
    }
    if name == element {
        return true;
    }
    let (Some((array, asked)), Some((own, indices))) = (parts(name), parts(element)) else {
        return false;
    };
    let within = |asked: &str, index: &str| {
        let Ok(index) = index.parse::<usize>() else {
            return false;
        };
        let (first, last) = asked.split_once(':').unwrap_or((asked, asked));
        match (first.parse::<usize>(), last.parse::<usize>()) {
            (Ok(first), Ok(last)) => (first..=last).contains(&index),
            _ => asked.is_empty(),
        }
    };
    array == own
        && asked.len() == indices.len()
        && asked
            .iter()
            .zip(&indices)
            .all(|(asked, index)| within(asked, index))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn ranges_and_empty_indices() {
        for (name, element, meant) in [
            ("mu[1:3]", "mu[3]", true),
            ("mu[1:3]", "mu[4]", false),
            ("mu[2,]", "mu[2,7]", true),
            ("mu[2,]", "mu[1,7]", false),
            ("mu[,2:3]", "mu[9,2]", true),
            ("mu[]", "mu[5]", true),
            ("mu[]", "mu[5,1]", false),
            ("mu[1:3]", "nu[1]", false),
            ("mu[a:3]", "mu[1]", false),
            ("mu[x]", "mu[1]", false),
            ("tau", "tau", true),
        ] {
            assert_eq!(matches(name, element), meant, "{name} {element}");
        }
    }
}
