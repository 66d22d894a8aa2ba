//! How a count whose log odds are a predictor becomes terms: by a Pólya-Gamma variable of its own (maths §9.10).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use collapsar::graph::{Atom, Graph, Kind};

use super::emit::Emit;
use crate::elaborate::{Elaborated, Resolved, Unresolved};
use crate::value::{Inverse, Scalar};

/// A line, its repetition, the states of labels, and which of several.
type Owner = (usize, usize, Vec<Atom>, u32);

/// The variables that likelihoods bring with them, which follow those of the text.
#[derive(Debug)]
pub(super) struct Hidden {
    /// The first of them.
    first: u32,
    /// Lines that have some, in order, of which kind, and how many.
    lines: RefCell<Vec<(usize, Kind, u32)>>,
    /// That of a repetition of a line where labels have these states, and which of several.
    known: RefCell<HashMap<Owner, u32>>,
    /// Whether one repetition stands for many, which then would share one.
    pub(super) shared: Cell<bool>,
}

impl Hidden {
    pub(super) fn new(first: u32) -> Self {
        Self {
            first,
            lines: RefCell::default(),
            known: RefCell::default(),
            shared: Cell::new(false),
        }
    }

    /// That of a repetition of a line, given the states of labels.
    pub(super) fn variable(
        &self,
        (line, instance): (usize, usize),
        states: &[Atom],
        kind: Kind,
        which: u32,
    ) -> u32 {
        let mut known = self.known.borrow_mut();
        let next = self.first + known.len() as u32;
        let key = (line, instance, states.to_vec(), which);
        *known.entry(key).or_insert_with(|| {
            let mut lines = self.lines.borrow_mut();
            match lines.last_mut() {
                Some((last, of, count)) if (*last, *of) == (line, kind) => *count += 1,
                _ => lines.push((line, kind, 1)),
            }
            next
        })
    }

    /// Declares them all.
    pub(super) fn declare(&self, model: &Elaborated, graph: &mut Graph) -> collapsar::Result<()> {
        for &(line, kind, count) in &*self.lines.borrow() {
            let array = &model.arrays[model.lines[line].array].name;
            let name = match kind {
                Kind::Label(_) => format!("the terms of {array}"),
                _ => format!("the Pólya-Gamma variables of {array}"),
            };
            graph.declare(name, kind, count as usize)?;
        }
        Ok(())
    }
}

impl Emit<'_> {
    /// Adds ln of p^x (1 - p)^{n - x}, where p is the first parameter and has a polynomial of Gaussians as its log odds:
    /// κψ - ωψ²/2 - n ln 2 with κ = x - n/2 (PolsonEtAl13).
    pub(super) fn logistic(&mut self, x: f64, n: f64, p: &Scalar) -> Resolved {
        let Scalar::Linked(Inverse::Logit, predictor) = p else {
            return Ok(());
        };
        if n == 0.0 {
            return Ok(());
        }
        let hidden = self.line.hidden;
        if hidden.shared.get() {
            return Err(Unresolved::State(u32::MAX));
        }
        let predictor = Scalar::Polynomial(Rc::clone(predictor));
        self.check_mean(&predictor)?;
        let place = (self.line.line, self.instance);
        let variable = hidden.variable(place, &self.states, Kind::PolyaGamma, 0);
        self.sink.shapes.push((variable, n));
        self.add(-n * std::f64::consts::LN_2, &[])?;
        self.add_times(x - 0.5 * n, vec![], &predictor)?;
        let omega = Atom { variable, part: 0 };
        self.add_product_of(-0.5, vec![omega], &predictor, &predictor)
    }
}
