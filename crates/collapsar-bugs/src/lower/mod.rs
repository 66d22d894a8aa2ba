//! Decides which variables and terms of a graph a model is.
//!
//! - `barren`: what is left out: unknowns that no datum depends on
//! - `kinds`: what kind of variables a line has
//! - `joint`: which means are joint with their precision matrices
//! - `variables`: what each line that is not observed becomes
//! - `rows`: which labels are rows: those that no line ties to another label
//! - `template`: how lines of normal distributions are repeated without being derived again
//! - `emit`: how products of unknowns become terms
//! - `hidden`: which variables likelihoods bring with them
//! - `loglinear`: how rates whose logarithms are predictors become terms
//! - `logistic`: how a count whose log odds are a predictor becomes terms
//! - `products`: how the product of two polynomials becomes terms
//! - `distributions`, `counts`, `matrices`: the terms of each distribution

mod barren;
mod counts;
mod distributions;
mod emit;
mod hidden;
mod joint;
mod kinds;
mod logistic;
mod loglinear;
mod matrices;
mod products;
mod rows;
mod template;
mod variables;

use std::cell::RefCell;
use std::collections::BTreeSet;

use collapsar::graph::{Atom, Centring, Graph};

use crate::diagnostic::{Checked, Diagnostic};
use crate::distribution::Distribution;
use crate::elaborate::{Definer, Elaborated, Latent, Mode, Resolved, Sampling, Scope, Unresolved};
use crate::predict::Fixed;
use crate::quantity::{Element, Origin};
use crate::syntax::ast::{Expr, Node, Span};
use crate::value::{Scalar, Value};
use emit::{Emit, Sink};
use hidden::Hidden;

pub(crate) use variables::{LineVariables, Variables};

/// A model with its data: as a graph, and what its variables are to the lines.
#[derive(Debug)]
pub struct Prepared {
    pub(crate) model: Elaborated,
    pub(crate) graph: Graph,
    /// Where the line of each factor of the graph stands.
    pub(crate) factors: Vec<Span>,
    pub(crate) variables: Variables,
}

impl Prepared {
    pub(crate) fn new(model: Elaborated, source: &str) -> Checked<Self> {
        let mut apart = BTreeSet::new();
        let (mut centring, mut rounds) = (Centring::default(), 0);
        loop {
            match Lowered::new(&model, source, &apart, centring.clone()) {
                Ok(mut lowered) => {
                    // Derived again where numbers are far from zero: each time they are known better (maths §9.8).
                    let next = match lowered.graph.centre(&lowered.slopes) {
                        Ok(next) => next,
                        Err(error) => return Err(lowered.refused(&error)),
                    };
                    if let Some(next) = next.filter(|_| rounds < MOST_ROUNDS) {
                        centring = centring.then(&next);
                        rounds += 1;
                        continue;
                    }
                    return Ok(Self {
                        model,
                        graph: lowered.graph,
                        factors: lowered.factors,
                        variables: lowered.variables,
                    });
                }
                Err(Unresolved::Joint(line)) if apart.insert(line) => {
                    // Variables are others now.
                    (centring, rounds) = (Centring::default(), 0);
                }
                Err(unresolved) => return Err(unresolved.into()),
            }
        }
    }

    /// What the element that this repetition of a line defines is.
    pub(crate) fn origin(&self, definer: Definer) -> Origin {
        if self.model.lines[definer.line as usize].stochastic() {
            return self.variables.origin(definer);
        }
        Origin::Computed
    }
}

/// What a model became, counted from somewhere.
struct Lowered {
    graph: Graph,
    factors: Vec<Span>,
    variables: Variables,
    /// Variables that means hold times something else than one.
    slopes: BTreeSet<u32>,
}

impl Lowered {
    fn new(
        model: &Elaborated,
        source: &str,
        apart: &BTreeSet<u32>,
        centring: Centring,
    ) -> Resolved<Self> {
        let mut graph = Graph::default();
        let variables = Variables::new(model, &mut graph, apart, centring)?;
        let slopes = RefCell::default();
        let factors = lower(model, &variables, &mut graph, (source, &slopes))?;
        Ok(Self {
            graph,
            factors,
            variables,
            slopes: slopes.into_inner(),
        })
    }

    /// A refusal of the graph, by the line that it is about.
    fn refused(&self, error: &collapsar::Error) -> Diagnostic {
        let (span, message) = match error {
            collapsar::Error::Graph {
                factor,
                found,
                expected,
            } => (
                self.factors.get(factor.number as usize).copied(),
                format!("{found}, expected {expected}"),
            ),
            error => (None, error.to_string()),
        };
        Diagnostic::new(span.unwrap_or_default(), message, "in this line")
    }
}

/// Changes of variables at most: shifts take two or three, and as many more for each slope that hid others.
const MOST_ROUNDS: usize = 12;

/// Adds all terms; returns where the line of each factor stands.
fn lower(
    model: &Elaborated,
    variables: &Variables,
    graph: &mut Graph,
    (source, slopes): (&str, &RefCell<BTreeSet<u32>>),
) -> Resolved<Vec<Span>> {
    let symbols = Symbols::new(variables);
    let scope = Scope::new(model, Mode::Latent(&symbols));
    let hidden = Hidden::new(graph.variables());
    let mut factors = vec![];
    let mut lines: Vec<Option<Stochastic>> = vec![];
    for (index, line) in model.lines.iter().enumerate() {
        lines.push(line.sampling().map(|of| {
            factors.push(line.relation.span);
            Stochastic {
                scope: &scope,
                variables,
                states: &symbols.states,
                line: index,
                of,
                target: line.relation.target.span,
                source,
                factor: graph.factor(line.relation.span.of(source)),
                simplexes: RefCell::default(),
                slopes,
                hidden: &hidden,
            }
        }));
    }
    let mut done = vec![false; lines.len()];
    hidden.shared.set(true);
    for users in rows::candidates(model, variables) {
        let built = match rows::build(&users, &lines, model, variables, graph) {
            // Another label decides what is read: no rows.
            Err(Unresolved::State(_)) => false,
            built => built?,
        };
        if built {
            for user in users {
                done[user] = true;
            }
        }
    }
    hidden.shared.set(false);
    let mut sink = Sink::default();
    for stochastic in lines.iter().flatten().filter(|of| !done[of.line]) {
        if stochastic.by_templates(graph)? {
            continue;
        }
        for instance in 0..model.lines[stochastic.line].instances {
            if variables.barren.contains(stochastic.line, instance) {
                stochastic.check_prediction(instance)?;
            } else {
                stochastic.each_state(instance, graph, &mut sink)?;
            }
        }
    }
    let declared = hidden.declare(model, graph);
    declared.map_err(|error| Diagnostic::new(Span::default(), error.to_string(), "here"))?;
    Ok(factors)
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

/// One stochastic line.
struct Stochastic<'a> {
    scope: &'a Scope<'a>,
    variables: &'a Variables,
    /// Labels with the states that they are given.
    states: &'a RefCell<Vec<(u32, u32)>>,
    line: usize,
    of: Sampling<'a>,
    target: Span,
    source: &'a str,
    factor: u32,
    /// Dirichlet variables all components of which were seen together.
    simplexes: RefCell<BTreeSet<u32>>,
    /// Variables that means hold times something else than one, of all lines.
    slopes: &'a RefCell<BTreeSet<u32>>,
    /// Variables that likelihoods bring with them, of all lines.
    hidden: &'a Hidden,
}

impl Stochastic<'_> {
    /// Adds the terms of one repetition, for each state of the labels that it depends on.
    fn each_state(&self, instance: usize, graph: &mut Graph, sink: &mut Sink) -> Resolved {
        self.scope.enter(self.line, instance);
        sink.clear();
        match self.terms(instance, None, sink) {
            Err(Unresolved::State(label)) => {
                self.check_states(label, instance, sink)?;
                for state in 0..self.variables.states(label) {
                    self.states.borrow_mut().push((label, state));
                    let done = self.each_state(instance, graph, sink);
                    self.states.borrow_mut().pop();
                    done?;
                }
                return Ok(());
            }
            done => done?,
        }
        for &(variable, lower, upper) in &sink.bounds {
            graph.bound(variable, lower, upper);
        }
        for &(variable, shape) in &sink.shapes {
            graph.shape(variable, shape);
        }
        for (coefficient, atoms) in sink.terms() {
            graph.add(coefficient, atoms, self.factor);
        }
        for (coefficient, atoms, predictor) in sink.exponentials.drain(..) {
            graph.add_exponential(coefficient, &atoms, predictor, self.factor);
        }
        Ok(())
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

    /// The first element of a repetition.
    fn element(&self, instance: usize) -> Element {
        self.scope.model.first_element(self.line, instance)
    }

    /// Refuses what can never be drawn: constants that the distribution cannot have.
    fn check_prediction(&self, instance: usize) -> Resolved {
        let size = self.scope.model.lines[self.line].size;
        let scope = Scope::within(self.scope.model, Mode::Shape, self.line, instance);
        let arguments = scope.evaluate_all(self.of.arguments)?;
        let known: Option<Vec<Vec<f64>>> = arguments.iter().map(Value::numbers).collect();
        let fixed = known.map(|known| Fixed::new(self.of.distribution, &known, size));
        match fixed {
            Some(Err(bad)) => Err(bad.diagnostic(self.of, &self.element(instance)).into()),
            _ => Ok(()),
        }
    }

    /// Adds the terms of one repetition to `sink`; `target` stands for what is observed.
    fn terms(&self, instance: usize, target: Option<&[Scalar]>, sink: &mut Sink) -> Resolved {
        let target = match target {
            Some(target) => target.to_vec(),
            None => self.target(instance)?,
        };
        if let Some(p) = self.probability(&target)? {
            return self.emit(instance, sink)?.add_ln_probability(1.0, 0, &p);
        }
        let arguments = self.scope.evaluate_all(self.of.arguments)?;
        self.emit(instance, sink)?.distribution(&target, &arguments)
    }

    /// The probability of a categorical target, where it can be had without those of all states.
    fn probability(&self, target: &[Scalar]) -> Resolved<Option<Scalar>> {
        let (Distribution::Categorical, [Scalar::Known(state)]) = (self.of.distribution, target)
        else {
            return Ok(None);
        };
        let Node::Reference(reference) = &self.of.arguments[0].node else {
            return Ok(None);
        };
        let p = self.scope.pick(reference, *state as usize)?;
        // Constants are normalised, for which all are needed; components are looked at together once.
        let Some(Scalar::Polynomial(monomials)) = &p else {
            return Ok(None);
        };
        let unknown = monomials[0].unknowns.first();
        let new = |variable: u32| self.simplexes.borrow_mut().insert(variable);
        if unknown.is_some_and(|unknown| new(unknown.variable)) {
            return Ok(None);
        }
        Ok(p)
    }

    fn emit<'b>(&'b self, instance: usize, sink: &'b mut Sink) -> Resolved<Emit<'b>> {
        let states = self.states.borrow();
        let atom = |&(variable, part): &(u32, u32)| Atom { variable, part };
        Ok(Emit {
            line: self,
            instance,
            states: states.iter().map(atom).collect(),
            bounds: self.bounds()?,
            sink,
        })
    }

    /// The bounds, and whether the density is normalised within them.
    fn bounds(&self) -> Resolved<Option<(f64, f64, bool)>> {
        let Some(truncation) = self.of.truncation else {
            return Ok(None);
        };
        let end = |expr: &Option<Expr>, absent: f64| -> Resolved<f64> {
            let Some(expr) = expr else { return Ok(absent) };
            let value = self.scope.evaluate(expr)?;
            value.single().and_then(Scalar::known).ok_or_else(|| {
                Diagnostic::new(expr.span, "a bound that is not constant", "must be data").into()
            })
        };
        let lower = end(&truncation.lower, f64::NEG_INFINITY)?;
        let upper = end(&truncation.upper, f64::INFINITY)?;
        if lower.is_nan() || upper.is_nan() || lower >= upper {
            let message = format!("bounds of {lower} and {upper}");
            let label = "the lower must be below the upper";
            return Err(Diagnostic::new(truncation.span, message, label).into());
        }
        Ok(Some((lower, upper, truncation.normalised)))
    }

    fn target(&self, instance: usize) -> Resolved<Vec<Scalar>> {
        let array = self.scope.model.lines[self.line].array;
        let elements = self.scope.targets(self.line, instance)?.into_iter();
        let values = elements.map(|element| self.scope.element(array, element, self.target));
        values.collect()
    }
}

/// Unknown elements as symbols, labels as the states that they are given.
pub(crate) struct Symbols<'a> {
    variables: &'a Variables,
    states: RefCell<Vec<(u32, u32)>>,
}

impl<'a> Symbols<'a> {
    pub(crate) fn new(variables: &'a Variables) -> Self {
        let states = RefCell::default();
        Self { variables, states }
    }
}

impl Latent for Symbols<'_> {
    fn latent(&self, definer: Definer) -> Resolved<Scalar> {
        match self.variables.origin(definer) {
            Origin::Variable(variable, element) => Ok(self.variables.symbol(variable, element)),
            Origin::Zero => Ok(Scalar::Known(0.0)),
            // Nothing that is kept reads predictions; stochastic lines are not computed.
            Origin::Predicted | Origin::Computed => Ok(Scalar::Opaque),
            Origin::Label(variable, lowest) => {
                let states = self.states.borrow();
                match states.iter().find(|(label, _)| *label == variable) {
                    Some((_, state)) => Ok(Scalar::Known(f64::from(state + lowest))),
                    None => Err(Unresolved::State(variable)),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
