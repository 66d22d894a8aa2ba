//! Decides that nothing depends on itself.

use super::arrays::Array;
use super::{Definer, Elaborated};
use crate::diagnostic::{Checked, Diagnostic};
use crate::syntax::ast::{Expr, Relation};

impl Elaborated {
    /// Refuses cycles.
    ///
    /// Lines whose names do not depend on themselves need no further look; in others, such as
    /// chains, repetitions are followed one by one.
    pub(super) fn order(&self) -> Checked {
        let lines = self.lines.iter();
        let parents: Vec<Vec<usize>> = lines.map(|line| self.parents(&line.relation)).collect();
        let mut above = vec![vec![]; self.arrays.len()];
        for (line, parents) in self.lines.iter().zip(&parents) {
            above[line.array].extend(parents);
        }
        let depends_on_itself = |line: &usize| {
            let mut seen = vec![false; self.arrays.len()];
            let mut stack = parents[*line].clone();
            while let Some(next) = stack.pop() {
                if !std::mem::replace(&mut seen[next], true) {
                    stack.extend(&above[next]);
                }
            }
            seen[self.lines[*line].array]
        };
        let suspects = (0..self.lines.len()).filter(depends_on_itself);
        self.follow(&suspects.collect::<Vec<usize>>())
    }

    /// Which arrays are data or computed from data alone.
    pub(super) fn find_data(&self) -> Vec<bool> {
        let mut data: Vec<bool> = self.arrays.iter().map(Array::is_data).collect();
        let computed = |array: usize, data: &[bool]| {
            let mut lines = self.lines.iter().filter(|line| line.array == array);
            self.arrays[array].defined()
                && lines.all(|line| {
                    let mut parents = self.parents(&line.relation).into_iter();
                    !line.stochastic() && parents.all(|parent| data[parent])
                })
        };
        while let Some(array) = (0..data.len()).find(|&at| !data[at] && computed(at, &data)) {
            data[array] = true;
        }
        data
    }

    /// The lines that a line depends on, through any number of others.
    pub(crate) fn lines_above(&self, line: usize) -> Vec<usize> {
        let mut seen = vec![false; self.arrays.len()];
        let mut stack = self.parents(&self.lines[line].relation);
        let mut found = vec![];
        while let Some(array) = stack.pop() {
            if std::mem::replace(&mut seen[array], true) {
                continue;
            }
            let lines = self.lines.iter().enumerate();
            for (other, above) in lines.filter(|(_, line)| line.array == array) {
                stack.extend(self.parents(&above.relation));
                found.push(other);
            }
        }
        found
    }

    fn parents(&self, relation: &Relation) -> Vec<usize> {
        let references = relation.expressions().flat_map(Expr::references);
        let arrays = references.filter_map(|reference| self.find(&reference.name.text));
        arrays.collect()
    }

    /// Walks from each repetition of the suspects to what it depends on.
    fn follow(&self, suspects: &[usize]) -> Checked {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut marks: Vec<Vec<Mark>> = vec![vec![]; self.lines.len()];
        for &line in suspects {
            marks[line] = vec![Mark::New; self.lines[line].instances];
        }
        let repetitions = |&line: &usize| (0..self.lines[line].instances).map(move |i| (line, i));
        for (line, instance) in suspects.iter().flat_map(repetitions) {
            if marks[line][instance] != Mark::New {
                continue;
            }
            let mut stack = vec![(line, instance, None::<Vec<Definer>>)];
            while let Some((line, instance, next)) = stack.pop() {
                let mut next = next.unwrap_or_else(|| {
                    marks[line][instance] = Mark::Open;
                    self.needs(line, instance)
                });
                let Some(parent) = next.pop() else {
                    marks[line][instance] = Mark::Done;
                    continue;
                };
                stack.push((line, instance, Some(next)));
                let (above, other) = (parent.line as usize, parent.instance as usize);
                match marks[above].get(other) {
                    Some(Mark::New) => stack.push((above, other, None)),
                    Some(Mark::Open) => {
                        let (first, last) = (&self.lines[above], &self.lines[line]);
                        let message =
                            format!("{} depends on itself", self.arrays[first.array].name);
                        let span = first.relation.span;
                        return Err(Diagnostic::new(span, message, "a cycle begins here")
                            .and(last.relation.span, "and comes back from here"));
                    }
                    Some(Mark::Done) | None => {}
                }
            }
        }
        Ok(())
    }

    /// What defines the elements that a repetition refers to; indices that are not known are
    /// taken to be any, which is decided by the lines that they refer to.
    fn needs(&self, line: usize, instance: usize) -> Vec<Definer> {
        let arguments = self.lines[line].relation.arguments();
        let scope = super::Scope::within(self, super::Mode::Shape, line, instance);
        let mut needs = vec![];
        for reference in arguments.iter().flat_map(Expr::references) {
            let array = self.find(&reference.name.text);
            let Some(array) = array.map(|array| &self.arrays[array]) else {
                continue;
            };
            if let (true, Ok((_, elements))) = (array.defined(), scope.places(reference)) {
                needs.extend(elements.iter().filter_map(|&at| array.definer(at)));
            }
        }
        needs
    }
}
