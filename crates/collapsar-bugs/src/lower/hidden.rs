//! Decides which variables likelihoods bring with them that the text does not name.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use collapsar::graph::{Atom, Graph, Kind};

use super::emit::Emit;
use crate::elaborate::{Elaborated, Resolved, Unresolved};

/// A line, a repetition, states of labels, a name, and which of those that have all of these in common.
type Key = (usize, usize, Vec<Atom>, &'static str, (u32, u64));

/// The variables that likelihoods bring with them, which follow those of the text.
#[derive(Debug)]
pub(super) struct Hidden {
    /// The next of them.
    next: Cell<u32>,
    /// In the order of their numbers, lines with what their variables are called, of what kind they are, and how many.
    declared: RefCell<Vec<(usize, &'static str, Kind, usize)>>,
    /// That of a repetition of a line where labels have these states, by its name and what tells it from its like.
    known: RefCell<HashMap<Key, u32>>,
    /// Whether one repetition stands for many, which then would share one.
    pub(super) shared: Cell<bool>,
}

impl Hidden {
    pub(super) fn new(first: u32) -> Self {
        Self {
            next: Cell::new(first),
            declared: RefCell::default(),
            known: RefCell::default(),
            shared: Cell::new(false),
        }
    }

    /// Sets aside so many of a line, one after another, and returns the first.
    pub(super) fn reserve(&self, line: usize, name: &'static str, kind: Kind, count: usize) -> u32 {
        let first = self.next.get();
        self.next.set(first + count as u32);
        self.declared.borrow_mut().push((line, name, kind, count));
        first
    }

    /// Declares them all.
    pub(super) fn declare(&self, model: &Elaborated, graph: &mut Graph) -> collapsar::Result<()> {
        for &(line, name, kind, count) in &*self.declared.borrow() {
            let array = &model.arrays[model.lines[line].array].name;
            graph.declare(format!("{name} of {array}"), kind, count)?;
        }
        Ok(())
    }
}

impl Emit<'_> {
    /// The variable of this name that belongs to the repetition, given the states of labels.
    ///
    /// # Errors
    ///
    /// Where one repetition stands for many.
    pub(super) fn hidden(&self, name: &'static str, kind: Kind) -> Resolved<u32> {
        self.hidden_at(name, kind, &self.states, (self.sink.brought, 0))
    }

    /// The same, one variable for all states of labels: each state has terms that are its density.
    pub(super) fn hidden_in_any_state(&self, name: &'static str, kind: Kind) -> Resolved<u32> {
        self.hidden_at(name, kind, &[], (self.sink.brought, 0))
    }

    /// The same where a repetition has several, or one for some states of labels together.
    ///
    /// # Errors
    ///
    /// Where one repetition stands for many.
    pub(super) fn hidden_at(
        &self,
        name: &'static str,
        kind: Kind,
        states: &[Atom],
        which: (u32, u64),
    ) -> Resolved<u32> {
        let (hidden, line) = (self.line.hidden, self.line.line);
        if hidden.shared.get() {
            return Err(Unresolved::State(u32::MAX));
        }
        let mut known = hidden.known.borrow_mut();
        let next = hidden.next.get();
        let key = (line, self.instance, states.to_vec(), name, which);
        Ok(*known.entry(key).or_insert_with(|| {
            hidden.next.set(next + 1);
            let mut declared = hidden.declared.borrow_mut();
            match declared.last_mut() {
                Some((last, of, same, count)) if (*last, *of, *same) == (line, name, kind) => {
                    *count += 1;
                }
                _ => declared.push((line, name, kind, 1)),
            }
            next
        }))
    }
}
