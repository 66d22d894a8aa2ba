//! Decides what unknown elements are to an expression: symbols, or the numbers of states that are given.

use std::cell::RefCell;

use super::grid::Trial;
use super::variables::Variables;
use crate::elaborate::{Definer, Latent, Resolved, Unresolved, inverse_logit};
use crate::quantity::Origin;
use crate::value::{Inverse, Scalar};

/// Unknown elements as symbols, labels as the states that they are given.
pub(crate) struct Symbols<'a> {
    variables: &'a Variables,
    pub(super) states: RefCell<Vec<(u32, u32)>>,
    pub(super) trial: Trial,
}

impl<'a> Symbols<'a> {
    pub(crate) fn new(variables: &'a Variables) -> Self {
        Self {
            variables,
            states: RefCell::default(),
            trial: Trial::default(),
        }
    }
}

impl Latent for Symbols<'_> {
    fn latent(&self, definer: Definer) -> Resolved<Scalar> {
        if let Some(known) = self.trial.known(definer) {
            return Ok(Scalar::Known(known));
        }
        let state = |variable: u32| {
            let states = self.states.borrow();
            let given = states.iter().find(|(label, _)| *label == variable);
            given
                .map(|(_, state)| *state)
                .ok_or(Unresolved::State(variable))
        };
        match self.variables.origin(definer) {
            Origin::Variable(variable, element) => {
                let symbol = self.variables.symbol(variable, element);
                if self.variables.in_odds(definer) {
                    return Ok(symbol.linked(Inverse::Logit, inverse_logit));
                }
                Ok(symbol)
            }
            Origin::Zero => Ok(Scalar::Known(0.0)),
            // Nothing that is kept reads predictions; stochastic lines are not computed.
            Origin::Predicted | Origin::Computed => Ok(Scalar::Opaque),
            Origin::Label(variable, lowest) => {
                Ok(Scalar::Known(f64::from(state(variable)? + lowest)))
            }
            Origin::Grid(variable) => {
                let (state, grid) = (state(variable)?, self.variables.grid(variable));
                let value = grid.and_then(|grid| grid.values.get(state as usize));
                Ok(value.map_or(Scalar::Opaque, |value| Scalar::Known(*value)))
            }
        }
    }
}
