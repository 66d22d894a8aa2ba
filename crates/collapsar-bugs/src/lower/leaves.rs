//! Decides what is left out of a fit: unknowns that no datum depends on.
//!
//! They integrate to one, so that the bound and all else are the same without them. What is known
//! of them is what their parents say.

use std::collections::BTreeSet;

use crate::distribution::Support;
use crate::elaborate::{Elaborated, Mode, Read, Reads, Sampling, Scope};

/// Repetitions of lines that are left out.
#[derive(Debug, Default)]
pub(crate) struct Leaves {
    /// By line and repetition; empty where none is.
    lines: Vec<Vec<bool>>,
}

/// What a repetition is to the search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// Unknown, and nothing that depends on it has been seen yet.
    Unseen,
    /// Computed, and nothing that depends on it has been seen yet.
    Computed,
    /// In the fit.
    Kept,
}

/// What has no family of its own, or has bounds, is never left out.
fn may_be_left_out(model: &Elaborated, line: usize, bounded: &BTreeSet<usize>) -> bool {
    let line = &model.lines[line];
    let free = |of: Sampling| of.distribution.is_predicted() && of.truncation.is_none();
    line.sampling().is_some_and(free) && !bounded.contains(&line.array)
}

/// Lines of which all repetitions are kept or none: labels, which are rows, and what may be joint.
fn together(model: &Elaborated, line: usize) -> bool {
    let Some(of) = model.lines[line].sampling() else {
        return false;
    };
    match of.distribution.support() {
        Support::States(_) | Support::Vectors | Support::PositiveDefinite => true,
        Support::Reals
        | Support::Positive
        | Support::Bounded
        | Support::Simplex
        | Support::Counts
        | Support::CountVectors => false,
    }
}

struct Search<'a> {
    model: &'a Elaborated,
    reads: Reads<'a>,
    marks: Vec<Vec<Mark>>,
    /// Whether no repetition of a line is observed.
    hidden: Vec<bool>,
    /// Arrays any element of which has been read.
    read: Vec<bool>,
    unseen: usize,
    stack: Vec<(usize, usize)>,
}

impl Leaves {
    pub(super) fn find(model: &Elaborated, bounded: &BTreeSet<usize>) -> Self {
        let count = model.lines.len();
        let mut search = Search {
            model,
            reads: Reads::new(model),
            marks: vec![vec![]; count],
            hidden: vec![false; count],
            read: vec![false; model.arrays.len()],
            unseen: 0,
            stack: vec![],
        };
        let may: Vec<bool> = (0..count)
            .map(|line| may_be_left_out(model, line, bounded))
            .collect();
        let any_data = (0..count).map(|line| search.prepare(line, may[line]));
        // Collected, so that all lines are prepared.
        let any_data = any_data.collect::<Vec<bool>>().contains(&true);
        if !any_data {
            return Self::default();
        }
        for line in (0..count).filter(|&line| model.lines[line].stochastic()) {
            for instance in 0..model.lines[line].instances {
                if search.unseen == 0 {
                    return Self::default();
                }
                let mark = search.marks[line].get(instance);
                if mark.is_none_or(|mark| *mark == Mark::Kept) {
                    search.follow(line, instance);
                }
            }
        }
        let left_out = |marks: &Vec<Mark>| -> Vec<bool> {
            if marks.contains(&Mark::Unseen) {
                marks.iter().map(|mark| *mark == Mark::Unseen).collect()
            } else {
                vec![]
            }
        };
        Self {
            lines: search.marks.iter().map(left_out).collect(),
        }
    }

    /// Whether a repetition is left out.
    pub(crate) fn contains(&self, line: usize, instance: usize) -> bool {
        let line = self.lines.get(line);
        line.is_some_and(|line| line.get(instance).copied().unwrap_or(false))
    }

    /// How many repetitions of a line are left out.
    pub(crate) fn count(&self, line: usize) -> usize {
        let line = self.lines.get(line);
        line.map_or(0, |line| line.iter().filter(|left_out| **left_out).count())
    }

    /// Whether a line has repetitions that are left out.
    pub(crate) fn any(&self, line: usize) -> bool {
        self.lines.get(line).is_some_and(|line| !line.is_empty())
    }
}

impl Search<'_> {
    /// Marks a line's repetitions before the search, and says whether any is observed.
    fn prepare(&mut self, index: usize, may: bool) -> bool {
        let line = &self.model.lines[index];
        let array = &self.model.arrays[line.array];
        if !line.stochastic() {
            self.marks[index] = vec![Mark::Computed; line.instances];
            return false;
        }
        if array.is_data() {
            return line.instances > 0;
        }
        if !may {
            // Roots of the search all the same; whether they are data does not matter.
            return self.observed(index).contains(&true);
        }
        let observed = self.observed(index);
        let any = observed.contains(&true);
        self.hidden[index] = !any;
        let mark = |observed: &bool| if *observed { Mark::Kept } else { Mark::Unseen };
        self.marks[index] = observed.iter().map(mark).collect();
        self.unseen += observed.iter().filter(|observed| !**observed).count();
        any
    }

    /// Whether each repetition of a line has data.
    fn observed(&self, index: usize) -> Vec<bool> {
        let line = &self.model.lines[index];
        let array = &self.model.arrays[line.array];
        if array.has_no_data() {
            return vec![false; line.instances];
        }
        let scope = Scope::new(self.model, Mode::Shape);
        (0..line.instances)
            .map(|instance| {
                scope.enter(index, instance);
                let places = scope.places(&line.relation.target);
                places.is_ok_and(|(_, elements)| {
                    (elements.iter()).any(|&element| array.value(element).is_some())
                })
            })
            .collect()
    }

    /// Keeps all that a repetition depends on.
    fn follow(&mut self, line: usize, instance: usize) {
        self.stack.push((line, instance));
        let mut found = vec![];
        while let Some((line, instance)) = self.stack.pop() {
            found.clear();
            self.reads.each(line, instance, |read| found.push(read));
            for &read in &found {
                match read {
                    Read::One(definer) => {
                        self.keep(definer.line as usize, definer.instance as usize);
                    }
                    Read::Any(array) => {
                        if std::mem::replace(&mut self.read[array], true) {
                            continue;
                        }
                        for line in 0..self.model.lines.len() {
                            if self.model.lines[line].array == array {
                                self.keep_all(line);
                            }
                        }
                    }
                }
            }
        }
    }

    fn keep_all(&mut self, line: usize) {
        for instance in 0..self.marks[line].len() {
            self.keep_one(line, instance);
        }
    }

    fn keep(&mut self, line: usize, instance: usize) {
        if self.marks[line]
            .get(instance)
            .is_none_or(|mark| *mark == Mark::Kept)
        {
            return;
        }
        if self.hidden[line] && together(self.model, line) {
            self.keep_all(line);
        } else {
            self.keep_one(line, instance);
        }
    }

    fn keep_one(&mut self, line: usize, instance: usize) {
        match std::mem::replace(&mut self.marks[line][instance], Mark::Kept) {
            Mark::Kept => return,
            Mark::Unseen => self.unseen -= 1,
            Mark::Computed => {}
        }
        self.stack.push((line, instance));
    }
}
