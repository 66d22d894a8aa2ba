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
        let read = |reference: &'a Reference| {
            let array = model.find(&reference.name.text)?;
            let any = reference.indices().any(|index| !scope.is_data(index))
                || reference.indices().next().is_none();
            let unknown = model.arrays[array].defined() && !model.data_alone[array];
            unknown.then_some((reference, array, any))
        };
        let of_line = |line: &'a super::Line| {
            let references = line.relation.expressions().flat_map(Expr::references);
            references.filter_map(read).collect()
        };
        let references = model.lines.iter().map(of_line).collect();
        Self { scope, references }
    }

    /// What a repetition reads; what cannot be told is any element.
    pub(crate) fn of(&self, line: usize, instance: usize) -> Vec<Read> {
        self.scope.enter(line, instance);
        let mut found = vec![];
        for &(reference, array, any) in &self.references[line] {
            let known = (!any).then(|| self.scope.places(reference));
            match known {
                Some(Ok((_, elements))) => {
                    let read = |element: usize| self.element((array, element));
                    found.extend(elements.into_iter().filter_map(read));
                }
                _ => found.push(Read::Any(array)),
            }
        }
        found
    }

    /// What defines an element of an array, unless it is a datum.
    pub(crate) fn element(&self, (array, element): (usize, usize)) -> Option<Read> {
        let array = &self.scope.model.arrays[array];
        let definer = array.definer(element).map(Read::One);
        definer.filter(|_| array.value(element).is_none())
    }
}
