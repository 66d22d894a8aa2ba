//! Which numbers of a model are summarised, and which are only left out because they are many.

use collapsar_bugs::{Quantity, Selection, UnknownArray};

use super::ModelRun;
use crate::error::{Error, Result};

/// Arrays of more elements than this are large.
const MANY: usize = 100;

/// What is summarised, in the order of the model.
///
/// Unless names are given, all but labels that are not enumerated and but large arrays that are computed.
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
    pub(super) fn new(run: &ModelRun, selections: &[Selection]) -> Result<Self> {
        let arrays = run.prepared.unknowns();
        let labels = |array: &UnknownArray| array.labels && !run.is_enumerated(&array.name);
        let large = |array: &UnknownArray| array.elements > MANY;
        let find = |name: &str| arrays.iter().find(|array| array.name == name);
        let by_rule = |array: &UnknownArray| !(labels(array) || (large(array) && array.computed));
        let quantities = run.prepared.quantities_of(|name: &str| match selections {
            [] => find(name).is_some_and(by_rule),
            _ => selections.iter().any(|s| s.array == name),
        });
        let mut quantities = quantities.map_err(|diagnostic| run.source.refusal(diagnostic))?;
        if selections.is_empty() {
            let small = |q: &Quantity| !find(&q.element.array).is_some_and(large);
            let left_out = arrays.iter().filter(|array| labels(array) || large(array));
            return Ok(Self {
                small: quantities.iter().map(small).collect(),
                quantities,
                left_out: left_out.cloned().collect(),
            });
        }
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
