//! Decides which variables likelihoods bring with them that the text does not name.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use collapsar::graph::{Atom, Graph, Kind};

use super::emit::Emit;
use crate::elaborate::{Elaborated, Resolved, Unresolved};

/// A line, its repetition, states of labels, and a name.
type Key = (usize, usize, Vec<Atom>, &'static str);

/// The variables that likelihoods bring with them, which follow those of the text.
#[derive(Debug)]
pub(super) struct Hidden {
    /// The first of them.
    first: u32,
    /// In the order of their numbers, lines with what their variables are called, of what kind they are, and how many.
    declared: RefCell<Vec<(usize, &'static str, Kind, usize)>>,
    /// That of a repetition of a line where labels have these states, by its name.
    known: RefCell<HashMap<Key, u32>>,
    /// Whether one repetition stands for many, which then would share one.
    pub(super) shared: Cell<bool>,
}

impl Hidden {
    pub(super) fn new(first: u32) -> Self {
        Self {
            first,
            declared: RefCell::default(),
            known: RefCell::default(),
            shared: Cell::new(false),
        }
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
        self.hidden_in(self.states.clone(), name, kind)
    }

    /// The same, one variable for all states of labels: each state has terms that are its density.
    pub(super) fn hidden_in_any_state(&self, name: &'static str, kind: Kind) -> Resolved<u32> {
        self.hidden_in(vec![], name, kind)
    }

    fn hidden_in(&self, states: Vec<Atom>, name: &'static str, kind: Kind) -> Resolved<u32> {
        let (hidden, line) = (self.line.hidden, self.line.line);
        if hidden.shared.get() {
            return Err(Unresolved::State(u32::MAX));
        }
        let mut known = hidden.known.borrow_mut();
        let next = hidden.first + known.len() as u32;
        let key = (line, self.instance, states, name);
        Ok(*known.entry(key).or_insert_with(|| {
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
