//! A model in the BUGS language: text, then data, then a graph.

use collapsar::Factor;
use collapsar::family::Marginal;
use collapsar::graph::{
    Compiled, Demands, Graph, PosteriorMarginal, PosteriorMarginals, VariationalPosterior,
};

use crate::data::Data;
use crate::diagnostic::Diagnostic;
use crate::elaborate::{
    Definer, Elaborated, Line, Mode, Scope, Unresolved, on_wide_stack, unknown_words,
};
use crate::lower::{Grid, LineVariables, Prepared};
use crate::outline::Outline;
use crate::posterior::Summary;
use crate::quantity::{Origin, Quantity};
use crate::syntax::ast::{Program, Span};
use crate::syntax::parse;
use crate::value::Scalar;

/// The text of a model that was read.
#[derive(Debug, Clone)]
pub struct Model {
    source: String,
    pub(crate) program: Program,
}

/// What q says of each variable of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Marginals(pub(crate) PosteriorMarginals);

/// An array that is not data, or not all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownArray {
    /// Its name.
    pub name: String,
    /// How many of its elements are not data.
    pub elements: usize,
    /// Whether it holds labels.
    pub labels: bool,
    /// Whether it is computed.
    pub computed: bool,
}

/// A grid that the elements of an array are on.
#[derive(Debug, Clone, PartialEq)]
pub struct UsedGrid {
    /// The array's name.
    pub name: String,
    /// How many numbers an element may be.
    pub nodes: usize,
    /// The first of them and the last.
    pub ends: (f64, f64),
    /// By how many standard deviations means and deviations change at most where every other node is left out; none for
    /// counts, which are all summed.
    pub error: Option<f64>,
}

impl Model {
    /// Reads a model.
    ///
    /// # Errors
    /// The first thing in the text that is not BUGS.
    pub fn parse(source: impl Into<String>) -> Result<Self, Diagnostic> {
        let source = source.into();
        let program = parse(&source)?;
        Ok(Self { source, program })
    }

    /// The text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Looks for what is wrong with the text whatever the data are: distributions and functions that there are not.
    ///
    /// # Errors
    /// All that was found.
    pub fn check(&self) -> Result<(), Diagnostic> {
        unknown_words(&self.program).end()
    }

    /// Puts data in and finds variables and terms.
    ///
    /// # Errors
    /// Whatever the model or its data lack, and all edges that are not conjugate.
    pub fn with(&self, data: Data) -> Result<Prepared, Diagnostic> {
        on_wide_stack(|| {
            let elaborated = Elaborated::new(&self.program, data)?;
            Prepared::new(elaborated, &self.source)
        })
    }

    /// The model as a picture would show it; the data say which arrays are observed.
    pub fn outline(&self, data: &Data) -> Outline {
        Outline::new(&self.program, &self.source, data)
    }
}

impl Prepared {
    /// The model as variables and terms.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Decides what is collapsed and derives the bound.
    ///
    /// # Errors
    /// As [`Compiled::new`].
    pub fn compile(&self, demands: &Demands) -> collapsar::Result<Compiled> {
        Compiled::new(self.graph.clone(), demands)
    }

    /// Where the line of a factor of the graph stands.
    pub fn factor(&self, factor: &Factor) -> Span {
        self.factors[factor.number as usize]
    }

    /// An error of the graph with the line that it is about, where there is one.
    pub fn diagnostic(&self, error: &collapsar::Error) -> Option<Diagnostic> {
        let collapsar::Error::Graph {
            factor,
            found,
            expected,
        } = error
        else {
            return None;
        };
        let message = format!("{found}, expected {expected}");
        let span = self.factor(factor);
        Some(Diagnostic::new(span, message, "in this line"))
    }

    /// The arrays that are not data, in the order of the model's lines.
    pub fn unknowns(&self) -> Vec<UnknownArray> {
        let (model, variables) = (&self.model, &self.variables);
        let mut out: Vec<UnknownArray> = vec![];
        for (index, line) in model.lines.iter().enumerate() {
            let own = variables.lines[index].as_ref();
            let predicted = variables.barren.count(index) * line.size;
            let of = line.sampling();
            let elements = match (own, of) {
                (None, Some(_)) if predicted == 0 => continue,
                (None, Some(_)) => predicted,
                (None, None) => line.instances * line.size,
                (Some(own), _) => own.elements(line.instances) + predicted,
            };
            let name = &model.arrays[line.array].name;
            if let Some(known) = out.iter_mut().find(|known| known.name == *name) {
                known.elements += elements;
                continue;
            }
            let counted = of.is_some_and(|of| of.distribution.lowest_state().is_some());
            out.push(UnknownArray {
                name: name.clone(),
                elements,
                labels: own.is_some_and(LineVariables::are_labels) || (predicted > 0 && counted),
                computed: of.is_none(),
            });
        }
        out
    }

    /// All numbers that are not data, in the order of the model's lines.
    ///
    /// # Errors
    /// Where a computed line cannot be computed.
    pub fn quantities(&self) -> Result<Vec<Quantity>, Diagnostic> {
        self.quantities_of(|_| true)
    }

    /// The numbers that are not data of the arrays that `chosen` takes.
    ///
    /// # Errors
    /// Where a computed line cannot be computed.
    pub fn quantities_of(
        &self,
        chosen: impl Fn(&str) -> bool,
    ) -> Result<Vec<Quantity>, Diagnostic> {
        let model = &self.model;
        let mut seen = vec![false; model.arrays.len()];
        let mut out = vec![];
        let scope = Scope::new(model, Mode::Shape);
        for index in model.lines.iter().map(|line| line.array) {
            let array = &model.arrays[index];
            if std::mem::replace(&mut seen[index], true) || !chosen(&array.name) {
                continue;
            }
            for element in (0..array.len()).filter(|&element| array.value(element).is_none()) {
                let Some(definer) = array.definer(element) else {
                    continue;
                };
                let origin = match self.origin(definer) {
                    // What is asked for is the probability, which is computed from the log odds.
                    Origin::Variable(..) if self.variables.in_odds(definer) => Origin::Computed,
                    origin => origin,
                };
                if origin == Origin::Computed {
                    let span = model.lines[definer.line as usize].relation.span;
                    let looked = scope.looked.get();
                    match scope.element(index, element, span) {
                        // A constant is no quantity, unless a label picks it.
                        Ok(Scalar::Known(_)) if looked == scope.looked.get() => continue,
                        Err(Unresolved::Invalid(diagnostic)) => return Err(*diagnostic),
                        _ => {}
                    }
                }
                out.push(Quantity {
                    element: array.element(element),
                    origin,
                    place: (index, element),
                });
            }
        }
        Ok(out)
    }

    /// What q says of each variable, counted as the model's text does and not from where the graph counts.
    ///
    /// # Errors
    /// Where the fit ended outside the domain.
    pub fn marginals(&self, variational: &VariationalPosterior) -> collapsar::Result<Marginals> {
        let mut marginals = variational.marginals()?;
        for ((variable, number), moved) in self.variables.centring.each() {
            let restored = if moved.follows.is_empty() {
                marginals.of(variable, number as usize).cloned()
            } else {
                variational.marginal_of_sum(&moved.terms(variable))
            };
            if let Some(restored) = restored {
                let shifted = restored.shifted(moved.constant);
                marginals.set(variable, number as usize, shifted);
            }
        }
        Ok(Marginals(marginals))
    }

    /// What q says of a quantity, unless it is computed or a label that is kept as a row
    /// ([`collapsar::graph::VariationalPosterior::each_label`]).
    pub fn marginal(
        &self,
        quantity: &Quantity,
        marginals: &Marginals,
    ) -> Option<PosteriorMarginal> {
        let marginals = &marginals.0;
        match quantity.origin {
            Origin::Variable(variable, number) => marginals.of(variable, number as usize).cloned(),
            Origin::Label(variable, _) | Origin::Grid(variable) => {
                marginals.of(variable, 0).cloned()
            }
            Origin::Zero => Some(PosteriorMarginal::Closed(Marginal::Point(0.0))),
            Origin::Computed | Origin::Predicted => None,
        }
    }

    /// The grid of a quantity whose states are nodes.
    pub(crate) fn grid(&self, quantity: &Quantity) -> Option<&Grid> {
        match quantity.origin {
            Origin::Grid(variable) => self.variables.grid(variable),
            _ => None,
        }
    }

    /// The numbers that the states of a label stand for, where they are nodes of a grid.
    pub fn nodes(&self, label: u32) -> Option<&[f64]> {
        let grid = self.variables.grid(label)?;
        (!grid.counts()).then_some(&grid.values)
    }

    /// Draws of a quantity in short, with quantiles between the nodes where it is on a grid.
    pub fn between_nodes<'a>(
        &self,
        quantity: &Quantity,
        draws: impl Iterator<Item = &'a f64>,
        summary: Summary,
    ) -> Summary {
        let Some(grid) = self.grid(quantity) else {
            return summary;
        };
        let shares = grid.shares(draws);
        Summary::new(summary.mean, summary.sd, |p| grid.quantile(&shares, p))
    }

    /// The grids that unknowns are on.
    pub fn grids(&self) -> Vec<UsedGrid> {
        let lines = self.model.lines.iter().zip(&self.variables.lines);
        let grid = |(line, of): (&Line, &Option<LineVariables>)| {
            let grid = of.as_ref()?.grid.as_ref()?;
            Some(UsedGrid {
                name: self.model.arrays[line.array].name.clone(),
                nodes: grid.values.len(),
                ends: (grid.values[0], grid.values[grid.values.len() - 1]),
                error: (!grid.counts()).then_some(grid.error),
            })
        };
        lines.filter_map(grid).collect()
    }

    /// Arrays with elements that are left out of the fit and predicted, and how many those are.
    pub fn predicted(&self) -> Vec<(String, usize)> {
        self.left_out(|line| !self.is_summed(line))
    }

    /// The same of elements that data do depend on: they are summed out, and drawn afterwards.
    pub fn summed(&self) -> Vec<(String, usize)> {
        self.left_out(|line| self.is_summed(line))
    }

    fn is_summed(&self, line: usize) -> bool {
        let lines = 0..self.model.lines[line].instances;
        let (shares, censored) = (&self.variables.shares, &self.variables.censored);
        lines.into_iter().any(|instance| {
            shares.of(line, instance).is_some() || censored.above(line, instance).is_some()
        })
    }

    fn left_out(&self, of: impl Fn(usize) -> bool) -> Vec<(String, usize)> {
        let model = &self.model;
        let mut found: Vec<(String, usize)> = vec![];
        for (index, line) in model.lines.iter().enumerate().filter(|(line, _)| of(*line)) {
            let elements = self.variables.barren.count(index) * line.size;
            let name = &model.arrays[line.array].name;
            match found.iter_mut().find(|(known, _)| known == name) {
                Some((_, count)) => *count += elements,
                None if elements > 0 => found.push((name.clone(), elements)),
                None => {}
            }
        }
        found
    }

    /// Arrays of stochastic lines that have observed elements, and how many elements those are.
    pub fn observed(&self) -> Vec<(String, usize)> {
        let model = &self.model;
        let stochastic = |definer: Definer| model.lines[definer.line as usize].stochastic();
        let mut seen = vec![false; model.arrays.len()];
        let mut found = vec![];
        for line in model.lines.iter().filter(|line| line.stochastic()) {
            let array = &model.arrays[line.array];
            let observed = (0..array.len()).filter(|&element| {
                array.value(element).is_some() && array.definer(element).is_some_and(stochastic)
            });
            if !std::mem::replace(&mut seen[line.array], true) {
                found.push((array.name.clone(), observed.count()));
            }
        }
        found.retain(|(_, count)| *count > 0);
        found
    }
}
