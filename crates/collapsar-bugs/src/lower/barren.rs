//! Decides what is left out of a fit: barren nodes, unknowns that no datum depends on.
//!
//! They integrate to one, so that the bound and all else are the same without them. What is known
//! of them is what their parents say.

use std::collections::BTreeSet;

use super::censored::Censored;
use super::shares::Shares;
use crate::distribution::Support::{PositiveDefinite, States, Vectors};
use crate::elaborate::{Elaborated, Known, Mode, Read, Reads, Scope};

/// Repetitions of lines that are left out.
#[derive(Debug, Default)]
pub(crate) struct Barren {
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

struct Search<'a> {
    model: &'a Elaborated,
    reads: Reads<'a>,
    marks: Vec<Vec<Mark>>,
    /// Lines of which all repetitions are kept or none: labels, which are rows, and what may be joint,
    /// where none is observed.
    together: Vec<bool>,
    /// Arrays any element of which has been read.
    read: Vec<bool>,
    unseen: usize,
    stack: Vec<(usize, usize)>,
}

impl Barren {
    /// What is summed out is left out as well, once what it depends on is kept: waiting times that are censored, and
    /// probabilities.
    pub(super) fn find(
        model: &Elaborated,
        bounded: &BTreeSet<usize>,
        (censored, shares): (&Censored, &Shares),
    ) -> Self {
        let mut found = Self::search(model, bounded);
        for (line, instances) in censored.lines() {
            found.lines.resize(model.lines.len(), vec![]);
            let marks = &mut found.lines[line];
            marks.resize(model.lines[line].instances, false);
            instances.for_each(|instance| marks[instance] = true);
        }
        for (line, instances) in shares.lines() {
            found.lines.resize(model.lines.len(), vec![]);
            found.lines[line] = vec![true; instances];
        }
        found
    }

    fn search(model: &Elaborated, bounded: &BTreeSet<usize>) -> Self {
        let count = model.lines.len();
        let mut search = Search {
            model,
            reads: Reads::new(model),
            marks: vec![vec![]; count],
            together: vec![false; count],
            read: vec![false; model.arrays.len()],
            unseen: 0,
            stack: vec![],
        };
        let mut any_data = false;
        for line in 0..count {
            any_data |= search.prepare(line, bounded);
        }
        if !any_data {
            return Self::default();
        }
        for line in (0..count).filter(|&line| model.lines[line].stochastic()) {
            for instance in 0..model.lines[line].instances {
                if search.unseen == 0 {
                    return Self::default();
                }
                if search.is_kept(line, instance) {
                    search.follow(line, instance);
                }
            }
        }
        let left_out = |marks: &Vec<Mark>| -> Vec<bool> {
            let any = marks.contains(&Mark::Unseen);
            let marks = marks.iter().filter(|_| any);
            marks.map(|mark| *mark == Mark::Unseen).collect()
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
    fn prepare(&mut self, index: usize, bounded: &BTreeSet<usize>) -> bool {
        let line = &self.model.lines[index];
        let Some(of) = line.sampling() else {
            self.marks[index] = vec![Mark::Computed; line.instances];
            return false;
        };
        if self.model.arrays[line.array].is_data() {
            return line.instances > 0;
        }
        let observed = self.observed(index);
        let any = observed.contains(&true);
        // Other lines are roots of the search, observed or not.
        let free = of.truncation.is_none() && !bounded.contains(&line.array);
        if free && of.distribution.is_predicted() {
            let support = of.distribution.support();
            self.together[index] =
                !any && matches!(support, States(_) | Vectors | PositiveDefinite);
            let mark = |observed: &bool| if *observed { Mark::Kept } else { Mark::Unseen };
            self.marks[index] = observed.iter().map(mark).collect();
            self.unseen += observed.iter().filter(|observed| !**observed).count();
        }
        any
    }

    /// Whether each repetition of a line has data.
    fn observed(&self, index: usize) -> Vec<bool> {
        let line = &self.model.lines[index];
        let array = &self.model.arrays[line.array];
        if array.known == Known::Nothing {
            return vec![false; line.instances];
        }
        let scope = Scope::new(self.model, Mode::Shape);
        let observed = |instance: usize| {
            let elements = scope.targets(index, instance).unwrap_or_default();
            (elements.iter()).any(|&element| array.value(element).is_some())
        };
        (0..line.instances).map(observed).collect()
    }

    /// Keeps all that a repetition depends on.
    fn follow(&mut self, line: usize, instance: usize) {
        self.stack.push((line, instance));
        while let Some((line, instance)) = self.stack.pop() {
            for read in self.reads.of(line, instance) {
                match read {
                    Read::One(definer) => {
                        self.keep(definer.line as usize, definer.instance as usize);
                    }
                    Read::Any(array) if std::mem::replace(&mut self.read[array], true) => {}
                    Read::Any(array) => {
                        let lines = self.model.lines.iter().enumerate();
                        for (line, _) in lines.filter(|(_, line)| line.array == array) {
                            self.keep_all(line);
                        }
                    }
                }
            }
        }
    }

    fn is_kept(&self, line: usize, instance: usize) -> bool {
        let mark = self.marks[line].get(instance);
        mark.is_none_or(|mark| *mark == Mark::Kept)
    }

    fn keep(&mut self, line: usize, instance: usize) {
        if self.is_kept(line, instance) {
            return;
        }
        if self.together[line] {
            self.keep_all(line);
        } else {
            self.keep_one(line, instance);
        }
    }

    fn keep_all(&mut self, line: usize) {
        for instance in 0..self.marks[line].len() {
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
