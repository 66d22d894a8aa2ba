//! Decides which variables and terms of a graph a model is.
//!
//! - `barren`: what is left out: unknowns that no datum depends on
//! - `kinds`: what kind of variables a line has
//! - `joint`: which means are joint with their precision matrices
//! - `variables`: what each line that is not observed becomes
//! - `rows`: which labels are rows: those that no line ties to another label
//! - `scales`: as what a positive number stands in a graph
//! - `priors`: the terms of its prior there
//! - `symbols`: what unknown elements are to an expression
//! - `states`: how a line that reads labels is derived for each of their states
//! - `predictors`: which counts with logistic predictors are rows, all at once
//! - `template`: how lines of normal distributions are repeated without being derived again
//! - `grid`: which scalars are put on a grid
//! - `nodes`: where the nodes of a grid stand
//! - `place`: where grids are refined
//! - `effort`: how much is derived for them
//! - `emit`: how products of unknowns become terms
//! - `infinite`: which number of the data is to blame where nothing finite comes out
//! - `hidden`: which variables likelihoods bring with them
//! - `loglinear`: how rates whose logarithms are predictors become terms
//! - `logistic`: how a count whose log odds are a predictor becomes terms
//! - `roots`: what is to blame where a line is not conjugate, and what to write instead
//! - `probit`: the same by normal variables, where a normal probability is of a predictor
//! - `odds`: which probabilities are counted in log odds
//! - `links`: what is said of probabilities that no family takes in
//! - `shares`: which probabilities within bounds are summed out
//! - `censored`: which waiting times are summed out, as they are only known to be long
//! - `within`: how bounds of distributions other than the normal are met
//! - `products`: how the product of two polynomials becomes terms
//! - `cells`: how a probability that is computed from others becomes terms
//! - `robust`: how distributions with heavy tails become terms
//! - `skewed`: the same of normal numbers whose mean and variance share a positive unknown
//! - `distributions`, `counts`, `matrices`, `rare`: the terms of each distribution

mod barren;
mod cells;
mod censored;
mod counts;
mod distributions;
mod effort;
mod emit;
mod grid;
mod hidden;
mod infinite;
mod joint;
mod kinds;
mod links;
mod logistic;
mod loglinear;
mod matrices;
mod nodes;
mod odds;
mod place;
mod predictors;
mod priors;
mod probit;
mod products;
mod rare;
mod robust;
mod roots;
mod rows;
mod scales;
mod shares;
mod skewed;
mod states;
mod symbols;
mod template;
mod variables;
mod within;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use collapsar::graph::{Atom, Centring, Graph};

use crate::diagnostic::{Checked, Complaints, Diagnostic};
use crate::distribution::Distribution;
use crate::elaborate::{Definer, Elaborated, Mode, Resolved, Sampling, Scope, Unresolved};
use crate::predict::Fixed;
use crate::quantity::{Element, Origin};
use crate::syntax::ast::{Expr, Node, Span};
use crate::value::{Scalar, Value};
use effort::Effort;
use emit::{Emit, Sink};
use grid::Trial;
use hidden::Hidden;
use place::{Looked, Work};
use variables::Grids;

pub(crate) use nodes::Grid;
pub(crate) use shares::Share;
pub(crate) use symbols::Symbols;
pub(crate) use variables::{LineVariables, Variables};
pub(crate) use within::may_be_bounded;

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
        let mut work = Work::of(&model);
        Self::within(model, source, &mut work)
    }

    /// The same with so much work on where grids are; notes what was spent.
    fn within(model: Elaborated, source: &str, work: &mut Work) -> Checked<Self> {
        let (mut apart, mut grids) = (BTreeSet::new(), Grids::new());
        let (mut centring, mut rounds) = (Centring::default(), 0);
        let (mut placed, mut spent) = (0, 0);
        // What serves where better grids would take too long.
        let mut last: Option<(Lowered, Grids)> = None;
        let found = loop {
            let effort = match &last {
                Some(_) => Effort::left(spent),
                None => Effort::default(),
            };
            let lowered = Lowered::new(&model, source, (&apart, &grids), centring.clone(), &effort);
            spent += effort.spent();
            match lowered {
                Ok(mut lowered) => {
                    // Derived again where numbers are far from zero: each time they are known better (maths §9.8).
                    let next = match lowered.graph.centre(&lowered.slopes) {
                        Ok(next) => next,
                        Err(error) => return Err(lowered.refused(&error)),
                    };
                    let more = rounds < most_rounds(&grids) && effort.again(spent);
                    if let Some(next) = next.filter(|_| more) {
                        centring = centring.then(&next);
                        rounds += 1;
                        continue;
                    }
                    let placing = lowered.place(&mut grids, work, last.is_some());
                    lowered.variables.note(&grids);
                    let better = match (placing, last.take()) {
                        (Placing::Better(better), _) => better,
                        (Placing::TooMuch, Some((lowered, grids))) => {
                            effort::check(&model, &grids, &lowered.variables)?;
                            break lowered;
                        }
                        _ => break lowered,
                    };
                    let may = placed < MOST_PLACES && work.is_left();
                    if !may || !Effort::left(spent).any() {
                        effort::check(&model, &grids, &lowered.variables)?;
                        break lowered;
                    }
                    placed += 1;
                    last = Some((lowered, std::mem::replace(&mut grids, better)));
                }
                Err(Unresolved::Invalid(_)) if effort.exceeded() && last.is_some() => {
                    let Some((lowered, grids)) = last else {
                        continue;
                    };
                    effort::check(&model, &grids, &lowered.variables)?;
                    break lowered;
                }
                Err(Unresolved::Joint(line)) if apart.insert(line) => {
                    // Variables are others now.
                    (centring, rounds) = (Centring::default(), 0);
                }
                Err(Unresolved::Grid(lines)) if !lines.is_empty() => {
                    (centring, rounds, placed) = (Centring::default(), 0, 0);
                    grids.extend(lines);
                    last = None;
                }
                Err(unresolved) => return Err(unresolved.into()),
            }
        };
        Ok(Self {
            model,
            graph: found.graph,
            factors: found.factors,
            variables: found.variables,
        })
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
        apart: (&BTreeSet<u32>, &Grids),
        centring: Centring,
        effort: &Effort,
    ) -> Resolved<Self> {
        let mut graph = Graph::default();
        let variables = Variables::new(model, &mut graph, apart, centring)?;
        let slopes = RefCell::default();
        let factors = lower(model, &variables, &mut graph, (source, &slopes), effort)?;
        Ok(Self {
            graph,
            factors,
            variables,
            slopes: slopes.into_inner(),
        })
    }

    /// Looks for grids that serve better than those that are here; notes the errors of these.
    fn place(&self, grids: &mut Grids, work: &mut Work, again: bool) -> Placing {
        if grids.is_empty() {
            return Placing::Serve;
        }
        let masses = match place::look(&self.graph, &self.variables, work, again) {
            Looked::At(masses) => masses,
            Looked::Nothing => return Placing::Serve,
            Looked::TooMuch => return Placing::TooMuch,
        };
        // All grids are brought to where the posterior is before any becomes finer.
        let better = [place::Look::Where, place::Look::HowFine]
            .into_iter()
            .find_map(|look| {
                let (mut better, mut moved) = (grids.clone(), false);
                for mass in &masses {
                    let Some(grid) = grids.get_mut(&mass.line) else {
                        continue;
                    };
                    if let Some(other) = place::refined(grid, mass, look) {
                        better.insert(mass.line, other);
                        moved = true;
                    }
                }
                moved.then_some(better)
            });
        better.map_or(Placing::Serve, Placing::Better)
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

/// What is to be done about grids.
enum Placing {
    /// These serve better.
    Better(Grids),
    /// Those that are here serve, or there is no saying.
    Serve,
    /// To look at them would take more than is left: those before them serve.
    TooMuch,
}

/// Changes of variables at most: shifts take two or three, and as many more for each slope that hid others.
const MOST_ROUNDS: usize = 12;
/// The same where tables over grids are derived again as well.
const MOST_WITH_GRIDS: usize = 4;

fn most_rounds(grids: &Grids) -> usize {
    if grids.is_empty() {
        MOST_ROUNDS
    } else {
        MOST_WITH_GRIDS
    }
}

/// Refinements of grids at most.
const MOST_PLACES: usize = 30;

/// Adds all terms; returns where the line of each factor stands.
fn lower(
    model: &Elaborated,
    variables: &Variables,
    graph: &mut Graph,
    (source, slopes): (&str, &RefCell<BTreeSet<u32>>),
    effort: &Effort,
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
                trial: &symbols.trial,
                line: index,
                of,
                target: line.relation.target.span,
                source,
                factor: graph.factor(line.relation.span.of(source)),
                simplexes: RefCell::default(),
                slopes,
                hidden: &hidden,
                effort,
                looks: Cell::new(0),
            }
        }));
    }
    let mut done = vec![false; lines.len()];
    let mut refused = Refused::default();
    hidden.shared.set(true);
    for users in rows::candidates(model, variables) {
        let built = match rows::build(&users, &lines, model, variables, graph) {
            // Another label decides what is read: no rows.
            Err(Unresolved::State(_)) => false,
            Err(Unresolved::Invalid(complaint)) => {
                // Unless a grid helps, for which each line is looked at by itself.
                let mut alone = users.iter().filter_map(|&user| lines[user].as_ref());
                if let Some(grids) = alone.find_map(|line| line.grids(0)) {
                    return Err(Unresolved::Grid(grids));
                }
                let at = complaint.labels.first().map_or(0, |(span, _)| span.start);
                let holds = |user: &&usize| model.lines[**user].relation.span.holds(at);
                let line = users.iter().find(holds).or(users.last()).copied();
                refused.0.push((line.unwrap_or(0), *complaint));
                true
            }
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
        let added = stochastic.add(graph, &mut sink);
        refused.take(stochastic.line, added)?;
        // The line that was too much is the one to name.
        if effort.exceeded() {
            break;
        }
    }
    refused.end(model)?;
    variables.weigh_nodes(graph, |line| lines[line].as_ref().map_or(0, |of| of.factor));
    let declared = hidden.declare(model, graph);
    declared.map_err(|error| Diagnostic::new(Span::default(), error.to_string(), "here"))?;
    Ok(factors)
}

/// Lines that were refused, with the reasons.
#[derive(Default)]
struct Refused(Vec<(usize, Diagnostic)>);

impl Refused {
    /// Keeps a complaint about a line.
    fn take(&mut self, line: usize, added: Resolved) -> Resolved {
        match added {
            Err(Unresolved::Invalid(complaint)) => {
                self.0.push((line, *complaint));
                Ok(())
            }
            added => added,
        }
    }

    /// All complaints but those about lines that depend on others that are refused.
    fn end(self, model: &Elaborated) -> Checked {
        let refused: BTreeSet<usize> = self.0.iter().map(|(line, _)| *line).collect();
        let follows = |line: usize| {
            let above = model.lines_above(line);
            above
                .iter()
                .any(|other| *other != line && refused.contains(other))
        };
        let alone = self.0.iter().all(|(line, _)| follows(*line));
        let mut complaints = Complaints::default();
        for (line, complaint) in self.0 {
            if alone || !follows(line) {
                complaints.take::<()>(Err(complaint));
            }
        }
        complaints.end()
    }
}

/// One stochastic line.
struct Stochastic<'a> {
    scope: &'a Scope<'a>,
    variables: &'a Variables,
    /// Labels with the states that they are given.
    states: &'a RefCell<Vec<(u32, u32)>>,
    /// Numbers that are taken to be known, to see what follows.
    trial: &'a Trial,
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
    /// What tables over grids have taken so far, of all lines.
    effort: &'a Effort,
    /// How often there was reason to look for scalars to put on grids.
    looks: Cell<u64>,
}

impl Stochastic<'_> {
    /// Adds the terms of all repetitions.
    fn add(&self, graph: &mut Graph, sink: &mut Sink) -> Resolved {
        if self.by_templates(graph)? || self.by_predictors(graph) {
            return Ok(());
        }
        let spent = self.effort.spent();
        for instance in 0..self.scope.model.lines[self.line].instances {
            let predicted = self.variables.barren.contains(self.line, instance);
            if predicted {
                self.check_prediction(instance)?;
            }
            let censored = self.variables.censored.above(self.line, instance);
            let summed = self.variables.shares.of(self.line, instance);
            if !predicted || summed.is_some() || censored.is_some_and(|above| above > 0.0) {
                self.each_state(instance, graph, sink)?;
                self.foresee_effort(spent, instance + 1)?;
            }
        }
        Ok(())
    }

    /// A complaint about data that the distribution cannot give, or about an infinite number that it is given.
    fn outside(&self, instance: usize) -> Diagnostic {
        if let Some(infinite) = infinite::Infinite::blame(self.scope.model, self.line, instance) {
            return infinite;
        }
        let (data, name) = (self.element(instance), &self.of.name.text);
        let message = format!("the data of {data} are outside the support of {name}");
        Diagnostic::new(self.target, message, "impossible under this line")
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
        if let Some(above) = self.variables.censored.above(self.line, instance) {
            let arguments = self.scope.evaluate_all(self.of.arguments)?;
            return self.emit(instance, sink)?.survivor(above, &arguments);
        }
        if let Some(share) = self.variables.shares.of(self.line, instance) {
            let arguments = self.scope.evaluate_all(self.of.arguments)?;
            return self.emit(instance, sink)?.share(share, &arguments);
        }
        let target = match target {
            Some(target) => target.to_vec(),
            None => self.target(instance)?,
        };
        if self.variables.shares.counts(self.line) {
            // A line of counts is left with the ways in which they may come about.
            let trials = self.of.arguments.get(1);
            let trials = trials
                .map(|trials| self.scope.evaluate(trials))
                .transpose()?;
            let trials = trials.as_ref().and_then(Value::single);
            return self.emit(instance, sink)?.ways(&target[0], trials);
        }
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
            trials: 0,
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
        let values = elements.map(|element| {
            let value = self.scope.element(array, element, self.target)?;
            let Scalar::Known(x) = value else {
                return Ok(value);
            };
            let counted = self.of.distribution.counted(x).map(Scalar::Known);
            counted.ok_or_else(|| self.outside(instance).into())
        });
        values.collect()
    }
}

#[cfg(test)]
mod tests;
