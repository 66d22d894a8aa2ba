//! Decides which number of the data is to blame where a line cannot be computed because of one that is not finite.

use crate::diagnostic::Diagnostic;
use crate::elaborate::{Elaborated, Mode, Scope};
use crate::syntax::ast::Reference;

/// Elements that are looked at: an error must not take longer than what it is about.
const PATIENCE: usize = 100_000;

/// A search through what a line reads.
pub(super) struct Infinite<'a> {
    model: &'a Elaborated,
    left: usize,
}

impl<'a> Infinite<'a> {
    /// A complaint about the first infinite number among all that a repetition of a line is computed from; none where its
    /// own data are infinite, which every distribution refuses, or where there is no such number.
    pub(super) fn blame(model: &'a Elaborated, line: usize, instance: usize) -> Option<Diagnostic> {
        let mut search = Self {
            model,
            left: PATIENCE,
        };
        let target = &model.lines[line].relation.target;
        if search.number(line, instance, target).is_some() {
            return None;
        }
        let message = search.read_by(line, instance)?;
        let arguments = model.lines[line].relation.arguments();
        let span = arguments.first().map_or(target.span, |first| first.span);
        let label = format!("for {}", model.first_element(line, instance));
        Some(Diagnostic::new(span, message, label))
    }

    /// What is said of the first infinite number that a repetition reads.
    fn read_by(&mut self, line: usize, instance: usize) -> Option<String> {
        let model = self.model;
        let arguments = model.lines[line].relation.arguments();
        let references = arguments.iter().flat_map(|part| part.references());
        for reference in references {
            if let Some((name, number)) = self.number(line, instance, reference) {
                return Some(format!("{name} is {number}, expected a finite number"));
            }
            for (line, instance) in self.computed(line, instance, reference) {
                if let Some(found) = self.read_by(line, instance) {
                    return Some(found);
                }
            }
        }
        None
    }

    /// The first infinite datum of a reference.
    fn number(&mut self, line: usize, instance: usize, of: &Reference) -> Option<(String, f64)> {
        let array = &self.model.arrays[self.model.find(&of.name.text)?];
        let scope = Scope::within(self.model, Mode::Shape, line, instance);
        let (_, elements) = scope.places(of).ok()?;
        self.left = self.left.saturating_sub(elements.len().max(1));
        let mut elements = elements.into_iter();
        let infinite = |&element: &usize| array.value(element).is_some_and(f64::is_infinite);
        let element = elements.find(infinite).filter(|_| self.left > 0)?;
        Some((array.element(element).to_string(), array.number(element)))
    }

    /// The repetitions that compute the elements of a reference.
    fn computed(&mut self, line: usize, instance: usize, of: &Reference) -> Vec<(usize, usize)> {
        let scope = Scope::within(self.model, Mode::Shape, line, instance);
        let Some(array) = self.model.find(&of.name.text).filter(|_| self.left > 0) else {
            return vec![];
        };
        let array = &self.model.arrays[array];
        let Ok((_, elements)) = scope.places(of) else {
            return vec![];
        };
        let definers = elements.into_iter().filter_map(|at| array.definer(at));
        let all = definers.map(|by| (by.line as usize, by.instance as usize));
        all.filter(|(line, _)| !self.model.lines[*line].stochastic())
            .collect()
    }
}
