//! Which numbers of a model are summarised, and which are only left out because they are many.

use collapsar_bugs::{Prepared, Quantity, Selection, UnknownArray};

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
    /// Arrays that nobody asked for and that are left out altogether, or large.
    pub left_out: Vec<UnknownArray>,
}

impl Monitored {
    /// Chooses what is selected, or by the rule where nothing is.
    pub(super) fn new(
        prepared: &Prepared,
        source: &ModelSource,
        selections: &[Selection],
    ) -> Result<Self> {
        let arrays = prepared.unknowns();
        let of = |chosen: &dyn Fn(&str) -> bool| {
            let quantities = prepared.quantities_of(chosen);
            quantities.map_err(|diagnostic| source.refusal(diagnostic))
        };
        if selections.is_empty() {
            return Self::by_rule(&arrays, of);
        }
        let mut quantities = of(&|array| selections.iter().any(|s| s.array == array))?;
        for selection in selections {
            if !quantities.iter().any(|q| selection.contains(&q.element)) {
                return Err(unknown(selection, &arrays));
            }
        }
        quantities.retain(|q| selections.iter().any(|s| s.contains(&q.element)));
        Ok(Self {
            small: vec![true; quantities.len()],
            quantities,
            left_out: vec![],
        })
    }

    fn by_rule(
        arrays: &[UnknownArray],
        of: impl Fn(&dyn Fn(&str) -> bool) -> Result<Vec<Quantity>>,
    ) -> Result<Self> {
        let large = |array: &UnknownArray| array.elements > MANY;
        let find = |name: &str| arrays.iter().find(|array| array.name == name);
        let quantities = of(&|name| {
            find(name).is_some_and(|array| !(array.labels || (large(array) && array.computed)))
        })?;
        let left_out = arrays.iter().filter(|array| array.labels || large(array));
        Ok(Self {
            small: (quantities.iter())
                .map(|quantity| !find(&quantity.element.array).is_some_and(large))
                .collect(),
            quantities,
            left_out: left_out.cloned().collect(),
        })
    }
}

fn unknown(selection: &Selection, arrays: &[UnknownArray]) -> Error {
    let arrays: Vec<&str> = arrays.iter().map(|array| array.name.as_str()).collect();
    Error::Value {
        option: "monitor",
        value: selection.to_string(),
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
