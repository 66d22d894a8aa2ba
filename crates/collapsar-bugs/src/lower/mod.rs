//! Decides which variables and terms of a graph a model is.
//!
//! - `leaves`: what is left out: unknowns that no datum depends on
//! - `kinds`: what kind of variables a line has
//! - `joint`: which means are joint with their precision matrices
//! - `variables`: what each line that is not observed becomes
//! - `rows`: which labels are rows: those that no line ties to another label
//! - `signature`: which repetitions have the same terms
//! - `template`: how lines of normal distributions are repeated without being derived again
//! - `emit`: how products of unknowns become terms
//! - `products`: how the product of two sums becomes terms
//! - `distributions`, `counts`, `matrices`: the terms of each distribution

mod counts;
mod distributions;
mod emit;
mod joint;
mod kinds;
mod leaves;
mod matrices;
mod products;
mod rows;
mod signature;
mod template;
mod variables;

use std::cell::RefCell;
use std::collections::BTreeSet;

use collapsar::graph::{Atom, Graph};

use crate::diagnostic::Diagnostic;
use crate::distribution::Distribution;
use crate::elaborate::{Definer, Elaborated, Latent, Mode, Sampling, Scope, Stop};
use crate::predict::{Drawer, Wrong};
use crate::quantity::Element;
use crate::syntax::ast::{Expr, Node, Span};
use crate::value::{Item, Value};
use emit::{Emit, Sink};

pub(crate) use variables::{Form, Variables};

/// A model as a graph, and what its variables are to the lines.
#[derive(Debug)]
pub(crate) struct Lowered {
    pub(crate) model: Elaborated,
    pub(crate) graph: Graph,
    /// Where the line of each factor of the graph stands.
    pub(crate) factors: Vec<Span>,
    pub(crate) variables: Variables,
}

/// Most states that the labels of one repetition may have together: a table of as many entries.
const MOST_STATES: f64 = 1e6;

/// A large count in words.
fn large(count: f64) -> String {
    match count {
        count if count < 1e6 => format!("{count}"),
        count if count < 1e9 => format!("{:.0} million", count / 1e6),
        count if count < 1e12 => format!("{:.0} billion", count / 1e9),
        count => format!("{count:.0e}"),
    }
}

/// A complaint about a parameter with which nothing can be drawn.
pub(crate) fn cannot_draw(of: Sampling, wrong: &Wrong, name: &Element) -> Diagnostic {
    Diagnostic::new(
        of.arguments[wrong.argument].span,
        format!(
            "{} of {} is {}, expected {}",
            emit::ordinal(wrong.argument),
            of.name.text,
            wrong.found,
            wrong.expected
        ),
        format!("for {name}"),
    )
}

/// Why lowering stopped.
pub(super) enum Halt {
    /// The state of a label is needed.
    Need(u32),
    /// A mean that was taken to be joint with its precision matrix is used in another way.
    Apart(u32),
    Complaint(Box<Diagnostic>),
}

impl From<Stop> for Halt {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Need(label) => Self::Need(label),
            Stop::Complaint(diagnostic) => Self::Complaint(diagnostic),
        }
    }
}

impl From<Diagnostic> for Halt {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Complaint(Box::new(diagnostic))
    }
}

impl Lowered {
    pub(crate) fn new(model: Elaborated, source: &str) -> Result<Self, Diagnostic> {
        let mut apart = BTreeSet::new();
        loop {
            let mut graph = Graph::default();
            let variables = Variables::new(&model, &mut graph, &apart)?;
            match lower(&model, &variables, &mut graph, source) {
                Ok(factors) => {
                    return Ok(Self {
                        model,
                        graph,
                        factors,
                        variables,
                    });
                }
                Err(Halt::Complaint(diagnostic)) => return Err(*diagnostic),
                Err(Halt::Apart(line)) if apart.insert(line) => {}
                Err(_) => {
                    return Err(Diagnostic {
                        message: "a state is needed where none is given".into(),
                        labels: vec![],
                        help: None,
                    });
                }
            }
        }
    }
}

/// Adds all terms; returns where the line of each factor stands.
fn lower(
    model: &Elaborated,
    variables: &Variables,
    graph: &mut Graph,
    source: &str,
) -> Result<Vec<Span>, Halt> {
    let states = RefCell::new(vec![]);
    let unknowns = Unknowns {
        variables,
        states: &states,
    };
    let scope = Scope::new(model, Mode::Latent(&unknowns));
    let mut lines: Vec<Option<Stochastic>> = vec![];
    let mut factors = vec![];
    for (index, line) in model.lines.iter().enumerate() {
        let Some(of) = line.sampling() else {
            lines.push(None);
            continue;
        };
        let text = &source[line.relation.span.start as usize..line.relation.span.end as usize];
        factors.push(line.relation.span);
        lines.push(Some(Stochastic {
            scope: &scope,
            variables,
            states: &states,
            line: index,
            of,
            target: line.relation.target.span,
            source,
            factor: graph.factor(text),
            whole: RefCell::default(),
        }));
    }
    let mut done = vec![false; lines.len()];
    for candidate in rows::candidates(model, variables) {
        let built = match rows::build(&candidate, &lines, model, variables, graph) {
            // Another label decides what is read: no rows.
            Err(Halt::Need(_)) => false,
            built => built?,
        };
        if built {
            candidate.users.iter().for_each(|&user| done[user] = true);
        }
    }
    let mut sink = Sink::default();
    for (stochastic, line) in lines.iter().zip(&model.lines) {
        if let Some(stochastic) = stochastic.as_ref().filter(|of| !done[of.line]) {
            if stochastic.by_templates(graph)? {
                continue;
            }
            for instance in 0..line.instances {
                if variables.leaves.contains(stochastic.line, instance) {
                    stochastic.check_leaf(instance)?;
                    continue;
                }
                stochastic.each_state(instance, graph, &mut sink)?;
            }
        }
    }
    Ok(factors)
}

/// One stochastic line.
struct Stochastic<'a> {
    scope: &'a Scope<'a>,
    variables: &'a Variables,
    states: &'a RefCell<Vec<(u32, u32)>>,
    line: usize,
    of: Sampling<'a>,
    target: Span,
    source: &'a str,
    factor: u32,
    /// Variables whose shares were seen together.
    whole: RefCell<BTreeSet<u32>>,
}

impl Stochastic<'_> {
    /// Adds the terms of one repetition, for each state of the labels that it depends on.
    fn each_state(&self, instance: usize, graph: &mut Graph, sink: &mut Sink) -> Result<(), Halt> {
        self.scope.enter(self.line, instance);
        sink.clear();
        match self.terms(instance, None, sink) {
            Err(Halt::Need(label)) => {
                self.check_states(label, instance, sink)?;
                for state in 0..self.variables.states(label) {
                    self.states.borrow_mut().push((label, state));
                    let done = self.each_state(instance, graph, sink);
                    self.states.borrow_mut().pop();
                    done?;
                }
                Ok(())
            }
            Err(halt) => Err(halt),
            Ok(()) => {
                for &(variable, lower, upper) in &sink.bounds {
                    graph.bound(variable, lower, upper);
                }
                for (coefficient, atoms) in sink.terms() {
                    graph.add(coefficient, atoms, self.factor);
                }
                Ok(())
            }
        }
    }

    /// Refuses a repetition whose labels have too many states together.
    fn check_states(&self, label: u32, instance: usize, sink: &mut Sink) -> Result<(), Halt> {
        let count = |states: &[(u32, u32)]| -> f64 {
            let each = states
                .iter()
                .map(|&(label, _)| f64::from(self.variables.states(label)));
            each.product()
        };
        let given = self.states.borrow().len();
        if count(&self.states.borrow()) * f64::from(self.variables.states(label)) <= MOST_STATES {
            return Ok(());
        }
        // All that would be asked for, were each label in its first state.
        let mut next = Some(label);
        while let Some(label) = next {
            self.states.borrow_mut().push((label, 0));
            self.scope.enter(self.line, instance);
            sink.clear();
            next = match self.terms(instance, None, sink) {
                Err(Halt::Need(label)) => Some(label),
                _ => None,
            };
        }
        let (labels, states) = (self.states.borrow().len(), count(&self.states.borrow()));
        self.states.borrow_mut().truncate(given);
        let name = self.element(instance);
        let line = &self.scope.model.lines[self.line].relation;
        Err(Diagnostic::new(
            line.span,
            format!(
                "{name} depends on {labels} labels, which have {} states together, expected {} at most",
                large(states),
                large(MOST_STATES),
            ),
            "a table of all of them",
        )
        .help("let the line read fewer labels: a running sum may be a chain, s[i] ~ dcat(step[s[i-1],x[i],])")
        .into())
    }

    /// The first element of a repetition.
    fn element(&self, instance: usize) -> Element {
        self.scope.model.first_element(self.line, instance)
    }

    /// Refuses what can never be drawn: constants that the distribution cannot have.
    fn check_leaf(&self, instance: usize) -> Result<(), Halt> {
        let line = &self.scope.model.lines[self.line];
        let scope = Scope::within(self.scope.model, Mode::Shape, self.line, instance);
        let arguments = scope.evaluate_all(self.of.arguments)?;
        let known: Option<Vec<Vec<f64>>> = arguments.iter().map(Value::numbers).collect();
        let Some(known) = known else {
            return Ok(());
        };
        match Drawer::new(self.of.distribution, &known, line.size) {
            Ok(_) => Ok(()),
            Err(wrong) => Err(cannot_draw(self.of, &wrong, &self.element(instance)).into()),
        }
    }

    /// Adds the terms of one repetition to `sink`; `target` stands for what is observed.
    fn terms(&self, instance: usize, target: Option<&[Item]>, sink: &mut Sink) -> Result<(), Halt> {
        let target = match target {
            Some(target) => target.to_vec(),
            None => self.target()?,
        };
        if let Some(share) = self.share(&target)? {
            return self.emit(instance, sink)?.add_ln_share(1.0, 0, &share);
        }
        let arguments = self.scope.evaluate_all(self.of.arguments)?;
        self.emit(instance, sink)?.distribution(&target, &arguments)
    }

    /// The probability of a categorical target, where it can be had without those of all states.
    fn share(&self, target: &[Item]) -> Result<Option<Item>, Halt> {
        let (Distribution::Categorical, [Item::Known(state)]) = (self.of.distribution, target)
        else {
            return Ok(None);
        };
        let Node::Reference(reference) = &self.of.arguments[0].node else {
            return Ok(None);
        };
        let item = self.scope.pick(reference, *state as usize)?;
        // Constants are normalised, for which all are needed; shares are looked at together once.
        let Some(Item::Sum(products)) = &item else {
            return Ok(None);
        };
        let variable = products[0].unknowns.first().map(|unknown| unknown.variable);
        let known = variable.is_none_or(|variable| self.whole.borrow().contains(&variable));
        if !known {
            self.whole.borrow_mut().extend(variable);
            return Ok(None);
        }
        Ok(item)
    }

    fn emit<'b>(&'b self, instance: usize, sink: &'b mut Sink) -> Result<Emit<'b>, Halt> {
        let states = self.states.borrow();
        let states = states
            .iter()
            .map(|&(variable, part)| Atom { variable, part });
        Ok(Emit {
            sink,
            states: states.collect(),
            variables: self.variables,
            model: self.scope.model,
            line: self.line,
            instance,
            of: self.of,
            bounds: self.bounds()?,
            target: self.target,
            source: self.source,
        })
    }

    /// The bounds, and whether the density is normalised within them.
    fn bounds(&self) -> Result<Option<(f64, f64, bool)>, Halt> {
        let Some(truncation) = self.of.truncation else {
            return Ok(None);
        };
        let end = |expr: &Option<Expr>, absent: f64| -> Result<f64, Halt> {
            let Some(expr) = expr else { return Ok(absent) };
            let value = self.scope.evaluate(expr)?;
            value.single().and_then(Item::known).ok_or_else(|| {
                Diagnostic::new(expr.span, "a bound that is not constant", "must be data").into()
            })
        };
        let lower = end(&truncation.lower, f64::NEG_INFINITY)?;
        let upper = end(&truncation.upper, f64::INFINITY)?;
        if lower.is_nan() || upper.is_nan() || lower >= upper {
            return Err(Diagnostic::new(
                truncation.span,
                format!("bounds of {lower} and {upper}"),
                "the lower must be below the upper",
            )
            .into());
        }
        Ok(Some((lower, upper, truncation.normalised)))
    }

    fn target(&self) -> Result<Vec<Item>, Stop> {
        let line = &self.scope.model.lines[self.line];
        let (_, elements) = self.scope.places(&line.relation.target)?;
        (elements.iter())
            .map(|&element| self.scope.element(line.array, element, self.target))
            .collect()
    }
}

/// Unknown elements as unknowns, labels as the states that they are given.
struct Unknowns<'a> {
    variables: &'a Variables,
    states: &'a RefCell<Vec<(u32, u32)>>,
}

impl Latent for Unknowns<'_> {
    fn latent(&self, definer: Definer) -> Result<Item, Stop> {
        match self.variables.form(definer) {
            Form::Unknown(variable, element) => Ok(Item::unknown(variable, element)),
            Form::Zero => Ok(Item::Known(0.0)),
            // Nothing that is kept reads it.
            Form::Predicted => Ok(Item::Opaque),
            Form::Label(variable, lowest) => {
                let states = self.states.borrow();
                match states.iter().find(|(label, _)| *label == variable) {
                    Some((_, state)) => Ok(Item::Known(f64::from(state + lowest))),
                    None => Err(Stop::Need(variable)),
                }
            }
        }
    }
}
