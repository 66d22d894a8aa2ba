//! Which numbers of a model are summarised, and which are only left out because they are many.

use collapsar_bugs::{Prepared, Quantity, Unknowns};

use super::ModelSource;
use crate::error::{Error, Result};

/// Arrays of more elements than this are large.
const MANY: usize = 100;

/// What is summarised, in the order of the model.
///
/// Unless names are given, all but labels and but large arrays that are computed.
#[derive(Debug, Clone)]
pub struct Monitored {
    /// The numbers.
    pub quantities: Vec<Quantity>,
    /// Whether each was asked for by name or belongs to an array that is not large.
    pub small: Vec<bool>,
    /// Arrays that are left out altogether, or large.
    pub left_out: Vec<LeftOut>,
}

/// An array that nobody asked for and that is not small enough to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// How many of its elements are unknown.
    pub elements: usize,
    /// Whether these are labels.
    pub labels: bool,
}

impl Monitored {
    /// Chooses by names of arrays or elements, as in `mu[2,1]`, `mu[1:3]` and `mu[2,]`, or by the rule
    /// where there are none.
    pub(super) fn new(prepared: &Prepared, source: &ModelSource, names: &[String]) -> Result<Self> {
        let arrays = prepared.unknowns();
        let of = |chosen: &dyn Fn(&str) -> bool| {
            let quantities = prepared.quantities_of(chosen);
            quantities.map_err(|diagnostic| source.refusal(diagnostic))
        };
        if names.is_empty() {
            return Self::by_rule(&arrays, of);
        }
        let array = |name: &String| name.split('[').next().unwrap_or(name).to_owned();
        let asked: Vec<String> = names.iter().map(array).collect();
        let mut quantities = of(&|name| asked.iter().any(|asked| asked == name))?;
        for name in names {
            if !quantities.iter().any(|quantity| is_meant(name, quantity)) {
                return Err(unknown(name, &arrays));
            }
        }
        quantities.retain(|quantity| names.iter().any(|name| is_meant(name, quantity)));
        Ok(Self {
            small: vec![true; quantities.len()],
            quantities,
            left_out: vec![],
        })
    }

    fn by_rule(
        arrays: &[Unknowns],
        of: impl Fn(&dyn Fn(&str) -> bool) -> Result<Vec<Quantity>>,
    ) -> Result<Self> {
        let large = |array: &Unknowns| array.elements > MANY;
        let find = |name: &str| arrays.iter().find(|array| array.name == name);
        let quantities = of(&|name| {
            find(name).is_some_and(|array| !(array.labels || (large(array) && array.computed)))
        })?;
        let left_out = arrays.iter().filter(|array| array.labels || large(array));
        Ok(Self {
            small: (quantities.iter())
                .map(|quantity| !find(&quantity.array).is_some_and(large))
                .collect(),
            quantities,
            left_out: left_out
                .map(|array| LeftOut {
                    name: array.name.clone(),
                    elements: array.elements,
                    labels: array.labels,
                })
                .collect(),
        })
    }
}

fn unknown(name: &str, arrays: &[Unknowns]) -> Error {
    let arrays: Vec<&str> = arrays.iter().map(|array| array.name.as_str()).collect();
    Error::Value {
        option: "monitor",
        value: name.to_owned(),
        found: "nothing unknown of that name",
        expected: match arrays.as_slice() {
            [] => "nothing: all of this model is known".to_owned(),
            _ => format!(
                "one of {}, or elements of these such as [1], [2:3] or [,1]",
                arrays.join(", ")
            ),
        },
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
    let within = |(asked, index): (&&str, &&str)| {
        let Ok(index) = index.parse::<usize>() else {
            return false;
        };
        let (first, last) = asked.split_once(':').unwrap_or((asked, asked));
        match (first.parse::<usize>(), last.parse::<usize>()) {
            (Ok(first), Ok(last)) => (first..=last).contains(&index),
            _ => asked.is_empty(),
        }
    };
    array == own && asked.len() == indices.len() && asked.iter().zip(&indices).all(within)
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
