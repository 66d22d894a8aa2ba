//! A model in the BUGS language: text, then data, then a graph.

use collapsar::Factor;
use collapsar::graph::{Compiled, Demands, Graph, Kind, PosteriorMarginal, PosteriorMarginals};

use crate::data::Data;
use crate::diagnostic::Diagnostic;
use crate::elaborate::{Elaborated, Line, Mode, Scope, Stop, on_wide_stack};
use crate::lower::{Form, Lowered};
use crate::outline::Outline;
use crate::quantity::{Origin, Quantity};
use crate::syntax::ast::{Program, Span};
use crate::syntax::parse;
use crate::unused;
use crate::value::Item;

/// The text of a model that was read.
#[derive(Debug, Clone)]
pub struct Model {
    source: String,
    program: Program,
}

/// A model with its data.
#[derive(Debug)]
pub struct Prepared {
    pub(crate) lowered: Lowered,
}

/// An array that is not data, or not all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknowns {
    /// Its name.
    pub name: String,
    /// How many of its elements are not data.
    pub elements: usize,
    /// Whether it holds labels.
    pub labels: bool,
    /// Whether it is computed.
    pub computed: bool,
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

    /// Puts data in and finds variables and terms.
    ///
    /// # Errors
    /// Whatever the model or its data lack, and the first edge that is not conjugate.
    pub fn with(&self, data: Data) -> Result<Prepared, Diagnostic> {
        on_wide_stack(|| {
            let elaborated = Elaborated::new(&self.program, data)?;
            let lowered = Lowered::new(elaborated, &self.source)?;
            Ok(Prepared { lowered })
        })
    }
}

impl Prepared {
    /// The model as variables and terms.
    pub fn graph(&self) -> &Graph {
        &self.lowered.graph
    }

    /// Decides what is collapsed and derives the bound.
    ///
    /// # Errors
    /// As [`Compiled::new`].
    pub fn compile(&self, demands: &Demands) -> collapsar::Result<Compiled> {
        Compiled::new(self.lowered.graph.clone(), demands)
    }

    /// Where the line of a factor of the graph stands.
    pub fn factor(&self, factor: &Factor) -> Span {
        self.lowered.factors[factor.number as usize]
    }

    /// A complaint of the graph with the line that it is about, where there is one.
    pub fn complaint(&self, error: &collapsar::Error) -> Option<Diagnostic> {
        let collapsar::Error::Graph {
            factor,
            found,
            expected,
        } = error
        else {
            return None;
        };
        let message = format!("{found}, expected {expected}");
        Some(Diagnostic::new(
            self.factor(factor),
            message,
            "in this line",
        ))
    }

    /// The arrays that are not data, in the order of the model's lines.
    pub fn unknowns(&self) -> Vec<Unknowns> {
        let model = &self.lowered.model;
        let lowest = |line: &Line| line.sampling()?.distribution.lowest_state();
        let counted = |line: &Line| lowest(line).is_some();
        let mut out: Vec<Unknowns> = vec![];
        for (index, line) in model.lines.iter().enumerate() {
            let of = self.lowered.variables.lines[index].as_ref();
            let leaves = self.lowered.variables.leaves.count(index);
            if line.stochastic() && of.is_none() && leaves == 0 {
                continue;
            }
            let name = &model.arrays[line.array].name;
            let fitted = match of {
                Some(of) => of.elements(line.instances),
                None if line.stochastic() => 0,
                None => line.instances * line.size,
            };
            let elements = fitted + leaves * line.size;
            match out.iter_mut().find(|unknowns| unknowns.name == *name) {
                Some(unknowns) => unknowns.elements += elements,
                None => out.push(Unknowns {
                    name: name.clone(),
                    elements,
                    labels: of.is_some_and(|of| matches!(of.kind, Kind::Label(_)))
                        || (leaves > 0 && counted(line)),
                    computed: !line.stochastic(),
                }),
            }
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
        let model = &self.lowered.model;
        let mut seen = vec![false; model.arrays.len()];
        let mut out = vec![];
        let scope = Scope::new(model, Mode::Shape);
        for line in &model.lines {
            if std::mem::replace(&mut seen[line.array], true) {
                continue;
            }
            let array = &model.arrays[line.array];
            if !chosen(&array.name) {
                continue;
            }
            for element in 0..array.dims.iter().product() {
                let Some(definer) = array.definer(element) else {
                    continue;
                };
                if array.value(element).is_some() {
                    continue;
                }
                let origin = if model.lines[definer.line as usize].stochastic() {
                    match self.lowered.variables.form(definer) {
                        Form::Unknown(variable, element) => {
                            let kind = self.lowered.variables.kind(variable);
                            Origin::Variable(variable, number(kind, element))
                        }
                        Form::Label(variable, lowest) => Origin::Label(variable, lowest),
                        Form::Zero => Origin::Zero,
                        Form::Predicted => Origin::Predicted,
                    }
                } else {
                    let span = model.lines[definer.line as usize].relation.span;
                    let looked = scope.looked();
                    match scope.element(line.array, element, span) {
                        // A constant is no quantity, unless a label picks it.
                        Ok(Item::Known(_)) if looked == scope.looked() => continue,
                        Err(Stop::Complaint(diagnostic)) => return Err(*diagnostic),
                        _ => Origin::Computed,
                    }
                };
                out.push(Quantity {
                    element: array.element(element),
                    origin,
                    place: (line.array, element),
                });
            }
        }
        Ok(out)
    }

    /// What q says of a quantity, unless it is computed or a label that is kept as a row
    /// ([`collapsar::graph::VariationalPosterior::each_label`]).
    pub fn belief(
        &self,
        quantity: &Quantity,
        beliefs: &PosteriorMarginals,
    ) -> Option<PosteriorMarginal> {
        match quantity.origin {
            Origin::Variable(variable, element) => beliefs.of(variable, element as usize).cloned(),
            Origin::Label(variable, _) => beliefs.of(variable, 0).cloned(),
            Origin::Zero => Some(PosteriorMarginal::Closed(
                collapsar::family::Marginal::Point(0.0),
            )),
            Origin::Computed | Origin::Predicted => None,
        }
    }
}

/// The number of a variable that an unknown is: matrices are whole among numbers and triangles
/// among unknowns.
pub(crate) fn number(kind: Kind, element: u32) -> u32 {
    let (dim, before) = match kind {
        Kind::Wishart(dim) => (dim as u32, 0),
        Kind::NormalWishart(dim) if element >= dim as u32 => (dim as u32, dim as u32),
        _ => return element,
    };
    let (mut place, mut row) = (element - before, 0);
    while place >= dim - row {
        place -= dim - row;
        row += 1;
    }
    before + row * dim + row + place
}

impl Model {
    /// Names in the data that the text never mentions, each with one of the text that is like it
    /// and that the data lack.
    pub fn unused(&self, data: &Data) -> Vec<(String, Option<String>)> {
        unused::names(&self.program, data)
    }

    /// The model as a picture would show it; the data say which arrays are observed.
    pub fn outline(&self, data: &Data) -> Outline {
        Outline::new(&self.program, &self.source, data)
    }
}

impl Prepared {
    /// Arrays with elements that are left out of the fit and predicted, and how many those are.
    pub fn predicted(&self) -> Vec<(String, usize)> {
        let model = &self.lowered.model;
        let mut found: Vec<(String, usize)> = vec![];
        for (index, line) in model.lines.iter().enumerate() {
            let elements = self.lowered.variables.leaves.count(index) * line.size;
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
        let model = &self.lowered.model;
        let mut counts = vec![0; model.arrays.len()];
        let mut order = vec![];
        for line in &model.lines {
            if line.stochastic() && !order.contains(&line.array) {
                order.push(line.array);
                let array = &model.arrays[line.array];
                let elements = 0..array.dims.iter().product();
                let observed = elements.filter(|&element| {
                    array.value(element).is_some()
                        && (array.definer(element))
                            .is_some_and(|by| model.lines[by.line as usize].stochastic())
                });
                counts[line.array] = observed.count();
            }
        }
        let observed = order.into_iter().filter(|&array| counts[array] > 0);
        observed
            .map(|array| (model.arrays[array].name.clone(), counts[array]))
            .collect()
    }
}
