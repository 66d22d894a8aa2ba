//! Decides what a model's lines mean for its data: which elements of which arrays each defines.
//!
//! - `lines`: how often each line is repeated, and with which counters
//! - `arrays`: how long arrays are, what of them is data and what defines the rest
//! - `evaluate`: what an expression is worth in one repetition of a line
//! - `counters`: what a name means where it is that of a counter and of an array
//! - `foresee`: what is computed before loops are unrolled
//! - `indices`: which elements a reference means
//! - `operators`, `functions`, `laws`: what those of the language do
//! - `order`: that nothing depends on itself
//! - `reads`: what a repetition of a line reads
//! - `vocabulary`: which words of a text mean nothing

mod arrays;
mod counters;
mod evaluate;
mod foresee;
mod functions;
mod indices;
mod laws;
mod lines;
mod operators;
mod order;
mod reads;
mod vocabulary;

use std::collections::HashMap;
use std::sync::Arc;

use crate::data::Data;
use crate::diagnostic::{Checked, Complaints, Diagnostic};
use crate::quantity::Element;
use crate::syntax::ast::{Program, Statement};

pub(crate) use arrays::{Definer, Known};
pub(crate) use evaluate::{Latent, Mode, Resolved, Scope, Unresolved, Watch, on_wide_stack};
pub(crate) use functions::inverse_logit;
pub(crate) use lines::{Line, Sampling};
pub(crate) use reads::{Read, Reads};
pub(crate) use vocabulary::unknown_words;

/// A model's lines with their repetitions, and all arrays.
#[derive(Debug)]
pub(crate) struct Elaborated {
    pub(crate) lines: Vec<Line>,
    pub(crate) arrays: Vec<arrays::Array>,
    /// Where each name is among the arrays.
    places: HashMap<String, usize>,
    /// Which arrays are data or computed from data alone.
    data_alone: Vec<bool>,
}

impl Elaborated {
    pub(crate) fn new(program: &Program, data: Data) -> Checked<Self> {
        let mut model = Self {
            lines: vec![],
            arrays: vec![],
            places: HashMap::new(),
            data_alone: vec![],
        };
        let texts = data.texts.clone();
        model.take_data(data);
        let mut complaints = unknown_words(program);
        model.unknown_names_in(&program.data, &texts, &mut complaints);
        complaints.end()?;
        model.declare(&program.vars)?;
        model.prepare(&model.own_counters(&program.data))?;
        let mut complaints = Complaints::default();
        model.unknown_names_in(&program.model, &texts, &mut complaints);
        complaints.end()?;
        model.unroll(&model.own_counters(&program.model))?;
        model.define()?;
        model.order()?;
        model.data_alone = model.find_data();
        Ok(model)
    }

    /// Computes the arrays of the `data` block.
    fn prepare(&mut self, statements: &[Statement]) -> Checked {
        if statements.is_empty() {
            return Ok(());
        }
        self.unroll(statements)?;
        self.define()?;
        self.order()?;
        let mut computed = vec![];
        for (index, array) in self.arrays.iter().enumerate() {
            if array.defined() {
                computed.push((index, self.compute(index)?));
            }
        }
        for (index, values) in computed {
            self.arrays[index].become_data(Known::Values(Arc::new(values)));
        }
        self.lines.clear();
        Ok(())
    }

    /// All elements of an array of which only data are known to be needed.
    fn compute(&self, index: usize) -> Checked<Vec<f64>> {
        let array = &self.arrays[index];
        let scope = Scope::new(self, Mode::Shape);
        let value = |element: usize| {
            let Some(definer) = array.definer(element) else {
                return Ok(array.number(element));
            };
            let span = self.lines[definer.line as usize].relation.span;
            scope.element(index, element, span)?.known().ok_or_else(|| {
                let name = &array.name;
                let message = format!("{name} is computed from something that is not data");
                Diagnostic::new(span, message, "in a data block")
            })
        };
        (0..array.len()).map(value).collect()
    }

    /// The first element that a repetition of a line defines.
    pub(crate) fn first_element(&self, line: usize, instance: usize) -> Element {
        let array = &self.arrays[self.lines[line].array];
        match Scope::new(self, Mode::Shape).targets(line, instance) {
            Ok(elements) => array.element(elements[0]),
            Err(_) => Element::scalar(&array.name),
        }
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }
}
