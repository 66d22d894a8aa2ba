//! Decides that nothing depends on itself.

use super::{Definer, Elaborated};
use crate::diagnostic::Diagnostic;
use crate::syntax::ast::{Expr, Relation};

impl Elaborated {
    /// Refuses cycles.
    ///
    /// Lines whose names do not depend on themselves need no further look; in others, such as
    /// chains, repetitions are followed one by one.
    pub(super) fn order(&self) -> Result<(), Diagnostic> {
        let parents: Vec<Vec<usize>> = self
            .lines
            .iter()
            .map(|line| self.parents(&line.relation))
            .collect();
        let defining: Vec<Vec<usize>> = (0..self.arrays.len())
            .map(|array| {
                (0..self.lines.len())
                    .filter(|&line| self.lines[line].array == array)
                    .collect()
            })
            .collect();
        let suspects: Vec<usize> = (0..self.lines.len())
            .filter(|&line| {
                let array = self.lines[line].array;
                let mut seen = vec![false; self.arrays.len()];
                let mut stack = parents[line].clone();
                while let Some(next) = stack.pop() {
                    if next == array {
                        return true;
                    }
                    if !seen[next] {
                        seen[next] = true;
                        for &other in &defining[next] {
                            stack.extend(&parents[other]);
                        }
                    }
                }
                false
            })
            .collect();
        self.follow(&suspects)
    }

    /// Which arrays are data or computed from data alone.
    pub(super) fn find_data(&self) -> Vec<bool> {
        let mut data: Vec<bool> = self
            .arrays
            .iter()
            .map(super::arrays::Array::is_data)
            .collect();
        loop {
            let computed = |array: usize, data: &[bool]| {
                let mut lines = self
                    .lines
                    .iter()
                    .filter(|line| line.array == array)
                    .peekable();
                lines.peek().is_some()
                    && lines.all(|line| {
                        let parents = self.parents(&line.relation);
                        !line.stochastic() && parents.iter().all(|&parent| data[parent])
                    })
            };
            let more = (0..data.len()).find(|&array| !data[array] && computed(array, &data));
            match more {
                Some(array) => data[array] = true,
                None => return data,
            }
        }
    }

    fn parents(&self, relation: &Relation) -> Vec<usize> {
        let references = relation.expressions().flat_map(Expr::references);
        references
            .filter_map(|reference| self.find(&reference.name.text))
            .collect()
    }

    /// Walks from each repetition of the suspects to what it depends on.
    fn follow(&self, suspects: &[usize]) -> Result<(), Diagnostic> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut marks: Vec<Vec<Mark>> = (self.lines.iter().enumerate())
            .map(|(index, line)| {
                let count = if suspects.contains(&index) {
                    line.instances
                } else {
                    0
                };
                vec![Mark::New; count]
            })
            .collect();
        for &line in suspects {
            for instance in 0..self.lines[line].instances {
                if marks[line][instance] != Mark::New {
                    continue;
                }
                let mut stack = vec![(line, instance, None::<Vec<Definer>>)];
                while let Some((line, instance, next)) = stack.pop() {
                    let mut next = if let Some(next) = next {
                        next
                    } else {
                        marks[line][instance] = Mark::Open;
                        self.needs(line, instance)
                    };
                    let Some(parent) = next.pop() else {
                        marks[line][instance] = Mark::Done;
                        continue;
                    };
                    stack.push((line, instance, Some(next)));
                    let (above, other) = (parent.line as usize, parent.instance as usize);
                    match marks[above].get(other) {
                        Some(Mark::New) => stack.push((above, other, None)),
                        Some(Mark::Open) => {
                            let name = &self.arrays[self.lines[above].array].name;
                            return Err(Diagnostic::new(
                                self.lines[above].relation.span,
                                format!("{name} depends on itself"),
                                "a cycle begins here",
                            )
                            .and(self.lines[line].relation.span, "and comes back from here"));
                        }
                        _ => {}
                    }
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
            let Some(array) = self.find(&reference.name.text) else {
                continue;
            };
            if !self.arrays[array].defined() {
                continue;
            }
            if let Ok((_, elements)) = scope.places(reference) {
                needs.extend(
                    elements
                        .iter()
                        .filter_map(|&e| self.arrays[array].definer(e)),
                );
            }
        }
        needs
    }
}
