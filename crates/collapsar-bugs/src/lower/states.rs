//! Decides how a line that reads labels becomes terms: it is derived for each of their states.

use collapsar::graph::{Atom, Graph};

use super::Stochastic;
use super::emit::Sink;
use crate::diagnostic::Diagnostic;
use crate::elaborate::{Resolved, Unresolved};

/// Most states that the labels of one repetition may have together: a table of as many entries.
const MOST_STATES: f64 = 1e6;

/// A large count in words.
pub(super) fn large(count: f64) -> String {
    match count {
        count if count < 1e6 => format!("{count}"),
        count if count < 1e9 => format!("{:.0} million", count / 1e6),
        count if count < 1e12 => format!("{:.0} billion", count / 1e9),
        count => format!("{count:.0e}"),
    }
}

impl Stochastic<'_> {
    /// Adds the terms of one repetition, for each state of the labels that it depends on, and says whether any of these is one
    /// that its parameters allow.
    pub(super) fn each_state(
        &self,
        instance: usize,
        graph: &mut Graph,
        sink: &mut Sink,
    ) -> Resolved<bool> {
        if self.states.borrow().is_empty() {
            self.scope.enter(self.line, instance);
        } else {
            self.scope.enter_again(self.line, instance);
        }
        sink.clear();
        let steps = self.scope.steps.get();
        let derived = self.terms(instance, None, sink);
        self.count_effort(steps, sink.len(), instance)?;
        match derived {
            Err(Unresolved::State(label)) => {
                self.check_states(label, instance, sink)?;
                let mut allowed = false;
                for state in 0..self.variables.states(label) {
                    self.states.borrow_mut().push((label, state));
                    let done = self.each_state(instance, graph, sink);
                    self.states.borrow_mut().pop();
                    allowed |= done?;
                }
                let why = self.trial.refused.take();
                return match why {
                    Some(why) if !allowed && self.states.borrow().is_empty() => {
                        Err(Unresolved::Invalid(why))
                    }
                    why => {
                        self.trial.refused.replace(why);
                        Ok(allowed)
                    }
                };
            }
            Err(Unresolved::Invalid(why)) => {
                // A node that the line cannot have may be refused for many others: not each is a reason to look.
                self.looks.set(self.looks.get() + 1);
                if self.looks.get().is_power_of_two()
                    && let Some(grids) = self.grids(instance)
                {
                    return Err(Unresolved::Grid(grids));
                }
                return self.no_node(why, graph);
            }
            done => done?,
        }
        for &(variable, lower, upper) in &sink.bounds {
            graph.bound(variable, lower, upper);
        }
        for &(variable, shape) in &sink.shapes {
            graph.shape(variable, shape);
        }
        for &(variable, tail) in &sink.tails {
            graph.tail(variable, tail);
        }
        for (coefficient, atoms) in sink.terms() {
            graph.add(coefficient, atoms, self.factor);
        }
        for (coefficient, atoms, predictor) in sink.exponentials.drain(..) {
            graph.add_exponential(coefficient, &atoms, predictor, self.factor);
        }
        Ok(true)
    }

    /// Nodes that a line cannot have are impossible; without a grid the line is refused.
    fn no_node(&self, why: Box<Diagnostic>, graph: &mut Graph) -> Resolved<bool> {
        let states = self.states.borrow();
        let continuous = |label: u32| {
            self.variables
                .grid(label)
                .is_some_and(|grid| !grid.counts())
        };
        if !states.iter().any(|&(label, _)| continuous(label)) {
            return Err(Unresolved::Invalid(why));
        }
        let atom = |&(variable, part): &(u32, u32)| Atom { variable, part };
        let atoms: Vec<Atom> = states.iter().map(atom).collect();
        graph.add(f64::NEG_INFINITY, &atoms, self.factor);
        self.trial.refused.replace(Some(why));
        Ok(false)
    }

    /// Refuses a repetition whose labels have too many states together.
    fn check_states(&self, label: u32, instance: usize, sink: &mut Sink) -> Resolved {
        let states = |label: u32| f64::from(self.variables.states(label));
        let count = || -> f64 {
            let given = self.states.borrow();
            given.iter().map(|&(label, _)| states(label)).product()
        };
        if count() * states(label) <= MOST_STATES {
            return Ok(());
        }
        // All that would be asked for, were each label in its first state.
        let given = self.states.borrow().len();
        let mut next = Some(label);
        while let Some(label) = next {
            self.states.borrow_mut().push((label, 0));
            self.scope.enter(self.line, instance);
            sink.clear();
            next = match self.terms(instance, None, sink) {
                Err(Unresolved::State(label)) => Some(label),
                _ => None,
            };
        }
        let (labels, found) = (self.states.borrow().len(), large(count()));
        self.states.borrow_mut().truncate(given);
        let (name, most) = (self.element(instance), large(MOST_STATES));
        let message = format!(
            "{name} depends on {labels} labels, which have {found} states together, expected {most} at most"
        );
        let help = "let the line read fewer labels: a running sum may be a chain, \
                    s[i] ~ dcat(step[s[i-1],x[i],])";
        let span = self.scope.model.lines[self.line].relation.span;
        Err(Diagnostic::new(span, message, "a table of all of them")
            .help(help)
            .into())
    }
}
