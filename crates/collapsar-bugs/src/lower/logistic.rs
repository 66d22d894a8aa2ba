//! How a count whose log odds are a predictor becomes terms: by a Pólya-Gamma variable of its own (maths §9.10).

use std::rc::Rc;

use collapsar::graph::{Atom, Kind};

use super::emit::Emit;
use crate::elaborate::{Definer, Resolved};
use crate::quantity::Origin;
use crate::value::{Inverse, Scalar};

/// What the variables are called.
pub(super) const NAME: &str = "the Pólya-Gamma variables";

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
        let predictor = Scalar::Polynomial(Rc::clone(predictor));
        self.check_mean(&predictor)?;
        // One for all states of labels: ω has the same prior in each, and the bound is higher than with one for each.
        let which = (self.sink.brought, n.to_bits());
        let variable = self.hidden_at(NAME, Kind::PolyaGamma, &[], which)?;
        self.sink.brought += 1;
        self.sink.shapes.push((variable, n));
        self.add_times(x - 0.5 * n, vec![], &predictor)?;
        let Some(others) = self.but_own_state()? else {
            return Ok(());
        };
        let states = std::mem::replace(&mut self.states, others);
        self.add(-n * std::f64::consts::LN_2, &[])?;
        let omega = Atom { variable, part: 0 };
        let done = self.add_product_of(-0.5, vec![omega], &predictor, &predictor);
        self.states = states;
        done
    }

    /// The states of labels without that of the target, where it is one of them; nothing but for its first state, so
    /// that what is the same in all of them is added once.
    fn but_own_state(&self) -> Resolved<Option<Vec<Atom>>> {
        let own = self.own_label()?;
        let place = self.states.iter().position(|at| Some(at.variable) == own);
        let mut others = self.states.clone();
        match place {
            Some(place) if others[place].part > 0 => return Ok(None),
            Some(place) => drop(others.remove(place)),
            None => {}
        }
        Ok(Some(others))
    }

    /// The label that the target is, where it is not observed.
    fn own_label(&self) -> Resolved<Option<u32>> {
        let (line, instance) = (self.line.line, self.instance);
        let (scope, variables) = (self.line.scope, self.line.variables);
        let array = &scope.model.arrays[scope.model.lines[line].array];
        let element = scope.targets(line, instance)?[0];
        if variables.lines[line].is_none() || array.value(element).is_some() {
            return Ok(None);
        }
        let definer = Definer {
            line: line as u32,
            instance: instance as u32,
            offset: 0,
        };
        Ok(match variables.origin(definer) {
            Origin::Label(variable, _) => Some(variable),
            _ => None,
        })
    }
}
