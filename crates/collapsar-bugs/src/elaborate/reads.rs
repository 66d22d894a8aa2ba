//! Decides what a repetition of a line reads, whatever the states of labels.

use super::evaluate::{Mode, Scope};
use super::{Definer, Elaborated};
use crate::syntax::ast::{Expr, Reference};

/// What is read of an array that is not data alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    /// What one repetition of a line defines.
    One(Definer),
    /// Any element of an array.
    Any(usize),
}

/// What all lines read.
pub(crate) struct Reads<'a> {
    scope: Scope<'a>,
    /// By line, with arrays and whether any element may be meant.
    references: Vec<Vec<(&'a Reference, usize, bool)>>,
}

impl<'a> Reads<'a> {
    pub(crate) fn new(model: &'a Elaborated) -> Self {
        let scope = Scope::new(model, Mode::Shape);
        let of_line = |line: &'a super::Line| {
            let mut found = vec![];
            for reference in line.relation.expressions().flat_map(Expr::references) {
                let Some(array) = model.find(&reference.name.text) else {
                    continue;
                };
                if !model.arrays[array].defined() || model.data_alone[array] {
                    continue;
                }
                let any = reference.indices().any(|index| !scope.is_data(index))
                    || reference.indices().next().is_none();
                found.push((reference, array, any));
            }
            found
        };
        let references = model.lines.iter().map(of_line).collect();
        Self { scope, references }
    }

    /// Visits what a repetition reads; what cannot be told is any element.
    pub(crate) fn each(&self, line: usize, instance: usize, mut visit: impl FnMut(Read)) {
        self.scope.enter(line, instance);
        for &(reference, array, any) in &self.references[line] {
            let places = if any {
                None
            } else {
                self.scope.places(reference).ok()
            };
            let Some((_, elements)) = places else {
                visit(Read::Any(array));
                continue;
            };
            for element in elements {
                self.element(array, element, &mut visit);
            }
        }
    }

    /// Visits what defines an element that is not a datum.
    pub(crate) fn element(&self, array: usize, element: usize, visit: &mut impl FnMut(Read)) {
        let array = &self.scope.model.arrays[array];
        if array.value(element).is_none()
            && let Some(definer) = array.definer(element)
        {
            visit(Read::One(definer));
        }
    }
}
