//! Decides how products of unknowns become terms.

use std::ops::Range;

use collapsar::graph::{Atom, Kind, Predictor};

use super::Stochastic;
use super::loglinear::LogLinear;
use super::variables::{LineVariables, PLACEHOLDER};
use crate::diagnostic::Diagnostic;
use crate::elaborate::{Resolved, Unresolved};
use crate::syntax::ast::{Expr, Node, Span};
use crate::value::{Monomial, Scalar, Unknown, Value};

/// Adds the terms of one repetition of a stochastic line, given the states of labels.
pub(super) struct Emit<'a> {
    pub(super) line: &'a Stochastic<'a>,
    pub(super) instance: usize,
    /// The states that the terms hold for.
    pub(super) states: Vec<Atom>,
    /// Bounds, and whether the density is normalised within them.
    pub(super) bounds: Option<(f64, f64, bool)>,
    pub(super) sink: &'a mut Sink,
}

/// Terms on the way to a graph.
#[derive(Debug, Default)]
pub(super) struct Sink {
    /// Coefficients, and where atoms are.
    terms: Vec<(f64, Range<usize>)>,
    atoms: Vec<Atom>,
    /// Variables with lower and upper bounds.
    pub(super) bounds: Vec<(u32, f64, f64)>,
    /// Pólya-Gamma variables with their shapes.
    pub(super) shapes: Vec<(u32, f64)>,
    /// Exponentials of predictors with their coefficients and other atoms.
    pub(super) exponentials: Vec<(f64, Vec<Atom>, Predictor)>,
}

impl Sink {
    pub(super) fn clear(&mut self) {
        self.terms.clear();
        self.atoms.clear();
        self.bounds.clear();
        self.shapes.clear();
        self.exponentials.clear();
    }

    fn add(&mut self, coefficient: f64, states: &[Atom], atoms: &[Atom]) {
        let start = self.atoms.len();
        self.atoms.extend_from_slice(states);
        self.atoms.extend_from_slice(atoms);
        self.terms.push((coefficient, start..self.atoms.len()));
    }

    /// Coefficients and atoms.
    pub(super) fn terms(&self) -> impl Iterator<Item = (f64, &[Atom])> {
        let terms = self.terms.iter();
        terms.map(|(coefficient, atoms)| (*coefficient, &self.atoms[atoms.clone()]))
    }
}

/// A positive number that is a product of gamma variables with a coefficient, and perhaps the exponential of a predictor.
pub(super) struct Rate {
    pub(super) coefficient: f64,
    pub(super) gammas: Vec<u32>,
    pub(super) predictor: Option<LogLinear>,
}

impl Rate {
    pub(super) fn constant(coefficient: f64) -> Self {
        let gammas = vec![];
        Self {
            coefficient,
            gammas,
            predictor: None,
        }
    }

    /// The gamma variables as factors of a term.
    pub(super) fn atoms(&self) -> Vec<Atom> {
        let gammas = self.gammas.iter();
        gammas.map(|&variable| Atom { variable, part: 1 }).collect()
    }
}

/// The place of an entry in a packed upper triangle.
pub(super) fn packed(dim: usize, row: usize, column: usize) -> u32 {
    (row * dim - row * (row + 1) / 2 + column) as u32
}

impl Emit<'_> {
    pub(super) fn add(&mut self, coefficient: f64, atoms: &[Atom]) -> Resolved {
        if coefficient.is_nan() || coefficient == f64::INFINITY {
            let message = format!("the log density is {coefficient}");
            let element = self.line.element(self.instance).to_string();
            return Err(Diagnostic::new(self.line.target, message, element).into());
        }
        let impossible = coefficient == f64::NEG_INFINITY;
        if impossible && self.states.is_empty() {
            return Err(self.outside().into());
        }
        if coefficient != 0.0 {
            let atoms = if impossible { &[] } else { atoms };
            self.sink.add(coefficient, &self.states, atoms);
        }
        Ok(())
    }

    /// Refuses a value that the distribution cannot give; a state of a label that it cannot have
    /// is only impossible.
    pub(super) fn impossible(&mut self) -> Resolved {
        self.add(f64::NEG_INFINITY, &[])
    }

    /// Adds products of unknowns, each times `factor` and the atoms.
    pub(super) fn add_products<U: IntoIterator<Item = Unknown>>(
        &mut self,
        factor: f64,
        mut atoms: Vec<Atom>,
        products: impl IntoIterator<Item = (f64, U)>,
    ) -> Resolved {
        let given = atoms.len();
        for (coefficient, unknowns) in products {
            atoms.truncate(given);
            for unknown in unknowns {
                atoms.push(self.factor_atom(unknown)?);
            }
            self.add(factor * coefficient, &atoms)?;
        }
        Ok(())
    }

    /// Adds a polynomial times `factor` and the atoms.
    pub(super) fn add_times(&mut self, factor: f64, atoms: Vec<Atom>, times: &Scalar) -> Resolved {
        let monomials = times.monomials().unwrap_or_default().into_iter();
        let products = monomials.map(|monomial| (monomial.coefficient, monomial.unknowns));
        self.add_products(factor, atoms, products)
    }

    /// Adds a polynomial times `factor` and a rate.
    pub(super) fn add_rate(&mut self, factor: f64, rate: &Rate, times: &Scalar) -> Resolved {
        let (coefficient, mut atoms) = (factor * rate.coefficient, rate.atoms());
        let Some(predictor) = &rate.predictor else {
            return self.add_times(coefficient, atoms, times);
        };
        let Some(times) = times.monomial() else {
            return Err(self.not_linear());
        };
        for &unknown in &times.unknowns {
            atoms.push(self.factor_atom(unknown)?);
        }
        self.add_exponential(coefficient * times.coefficient, &atoms, predictor)
    }

    /// Adds `power` times the logarithm of a rate.
    pub(super) fn add_ln(&mut self, power: f64, rate: &Rate) -> Resolved {
        self.add(power * rate.coefficient.ln(), &[])?;
        if let Some(predictor) = &rate.predictor {
            self.add_predictor(power, predictor)?;
        }
        let mut gammas = rate.gammas.iter();
        gammas.try_for_each(|&variable| self.add(power, &[Atom { variable, part: 0 }]))
    }

    /// Adds `times` the logarithm of a probability: a number, or a component of a Dirichlet variable.
    pub(super) fn add_ln_probability(
        &mut self,
        times: f64,
        argument: usize,
        p: &Scalar,
    ) -> Resolved {
        if times == 0.0 {
            return Ok(());
        }
        let component = match p {
            Scalar::Known(p) if (0.0..=1.0 + 1e-9).contains(p) => {
                return self.add(times * p.min(1.0).ln(), &[]);
            }
            Scalar::Known(p) => {
                let expected = "probabilities from 0 to 1";
                return Err(self.parameter(argument, *p, expected).into());
            }
            p => self.component(p),
        };
        if let Some(atom) = component {
            return self.add(times, &[atom]);
        }
        let what = "probabilities must be constant or come from ddirch or dbeta";
        Err(self.edge_of(argument, what).into())
    }

    /// The atom of `p`, or of `1 - p` where p is a beta variable.
    fn component(&self, p: &Scalar) -> Option<Atom> {
        let (coefficient, Unknown { variable, element }, complement) =
            p.multiple_or_complement()?;
        let part = match (self.line.variables.kind(variable), complement) {
            (Kind::Dirichlet(_), false) if coefficient == 1.0 => element,
            (Kind::Dirichlet(2), true) if coefficient == -1.0 => 1 - element,
            _ => return None,
        };
        Some(Atom { variable, part })
    }

    /// Refuses probabilities that are only some components of a variable: they do not add up to one.
    pub(super) fn check_simplex(&self, argument: usize, probabilities: &[Scalar]) -> Resolved {
        let mut components = vec![];
        let mut known = 0.0;
        for p in probabilities {
            match p {
                Scalar::Known(value) => known += value,
                p => components.extend(self.component(p)),
            }
        }
        let Some(first) = components.first().copied() else {
            return Ok(());
        };
        let parts = self.line.variables.kind(first.variable).atoms();
        components.sort_unstable();
        components.dedup();
        let mut variables = components.iter().map(|atom| atom.variable);
        let whole = components.len() == parts && variables.all(|other| other == first.variable);
        if whole && known == 0.0 && probabilities.len() >= parts {
            return Ok(());
        }
        let what = "probabilities must be all components of one ddirch or dbeta variable";
        Err(self.edge_of(argument, what).into())
    }

    /// A rate or precision: a number, or a product of gamma variables.
    pub(super) fn rate(&self, argument: usize, rate: &Scalar) -> Resolved<Rate> {
        let refuse = || self.must_be(argument, "a constant or a product of gamma variables");
        let product = rate.monomial().ok_or_else(refuse)?;
        let coefficient = product.coefficient;
        if coefficient.is_nan() || coefficient <= 0.0 {
            let expected = "a positive number";
            return Err(self.parameter(argument, coefficient, expected).into());
        }
        let mut gammas: Vec<u32> = vec![];
        for &Unknown { variable, .. } in &product.unknowns {
            if self.line.variables.kind(variable) != Kind::Gamma || gammas.contains(&variable) {
                return Err(refuse().into());
            }
            gammas.push(variable);
        }
        Ok(Rate {
            coefficient,
            gammas,
            predictor: None,
        })
    }

    /// A parameter that must be a number.
    pub(super) fn constant(&self, argument: usize, parameter: &Scalar) -> Resolved<f64> {
        let found = parameter.known();
        found.ok_or_else(|| self.must_be(argument, "constant").into())
    }

    /// A parameter that must be numbers.
    pub(super) fn constants(&self, argument: usize, parameter: &Value) -> Resolved<Vec<f64>> {
        let found = parameter.numbers();
        found.ok_or_else(|| self.must_be(argument, "constant").into())
    }

    /// A parameter that must be a positive number.
    pub(super) fn positive(&self, argument: usize, parameter: &Scalar) -> Resolved<f64> {
        let value = self.constant(argument, parameter)?;
        if value > 0.0 && value.is_finite() {
            return Ok(value);
        }
        Err(self.parameter(argument, value, "a positive number").into())
    }

    /// The atom of an unknown that stands as a factor of a polynomial.
    pub(super) fn factor_atom(&self, unknown: Unknown) -> Resolved<Atom> {
        let Unknown { variable, element } = unknown;
        let entry = |dim: usize, place: usize| packed(dim, place / dim, place % dim);
        let place = element as usize;
        let part = match self.line.variables.kind(variable) {
            Kind::Gaussian | Kind::Bounded | Kind::PolyaGamma => 0,
            Kind::Gamma | Kind::Positive { .. } => 1,
            Kind::Wishart(dim) => 1 + entry(dim, place),
            Kind::NormalWishart(dim) if place >= dim => 2 + dim as u32 + entry(dim, place - dim),
            Kind::NormalWishart(_) => return Err(self.apart(variable)),
            Kind::Dirichlet(_) | Kind::Label(_) => return Err(self.not_linear()),
        };
        Ok(Atom { variable, part })
    }

    /// Refuses a mean of a normal distribution that is not a polynomial in Gaussians.
    pub(super) fn check_mean(&self, mean: &Scalar) -> Resolved {
        let gaussian = |unknown: &Unknown| match self.line.variables.kind(unknown.variable) {
            Kind::Gaussian | Kind::Bounded | Kind::NormalWishart(_) => true,
            Kind::Gamma
            | Kind::Positive { .. }
            | Kind::PolyaGamma
            | Kind::Wishart(_)
            | Kind::Dirichlet(_)
            | Kind::Label(_) => false,
        };
        let linear = |monomial: &Monomial| monomial.unknowns.iter().all(gaussian);
        match mean {
            Scalar::Known(_) => Ok(()),
            Scalar::Polynomial(monomials) if monomials.iter().all(linear) => {
                self.line
                    .slopes
                    .borrow_mut()
                    .extend(monomials.iter().filter_map(slope));
                Ok(())
            }
            _ => Err(self.not_linear()),
        }
    }

    fn not_linear(&self) -> Unresolved {
        let reason = "the mean must be linear in Gaussian variables";
        self.edge(0, reason).into()
    }

    /// Gives up the joint variable of a mean and its precision matrix.
    pub(super) fn apart(&self, variable: u32) -> Unresolved {
        let matrix = self.line.variables.line(variable);
        let lines = &self.line.variables.lines;
        let first = lines[matrix].as_ref().map(|of| of.first);
        let is_mean = |of: &LineVariables| Some(of.first) == first && of.is_mean;
        let mean = lines.iter().position(|of| of.as_ref().is_some_and(is_mean));
        Unresolved::Joint(mean.unwrap_or(matrix) as u32)
    }

    /// A complaint about data that the distribution cannot give.
    pub(super) fn outside(&self) -> Diagnostic {
        let (data, name) = (self.line.element(self.instance), &self.line.of.name.text);
        let message = format!("the data of {data} are outside the support of {name}");
        Diagnostic::new(self.line.target, message, "impossible under this line")
    }

    /// A complaint about a target that must be observed.
    pub(super) fn not_observed(&self) -> Diagnostic {
        let name = &self.line.of.name.text;
        let message = format!("{name} that is not observed has no conjugate family");
        Diagnostic::new(self.line.target, message, "not data")
    }

    /// A complaint about a parameter's value.
    pub(super) fn parameter(&self, argument: usize, found: f64, expected: &str) -> Diagnostic {
        let element = self.line.element(self.instance);
        self.line.of.parameter(argument, &found, expected, &element)
    }

    /// A complaint about a parameter that is not as it must be.
    pub(super) fn must_be(&self, argument: usize, what: &str) -> Diagnostic {
        let parameter = self.line.of.distribution.parameter(argument);
        self.edge_of(argument, &format!("{parameter} must be {what}"))
    }

    /// The same, for a reason that begins with what it is that the distribution has.
    pub(super) fn edge_of(&self, argument: usize, what: &str) -> Diagnostic {
        let name = &self.line.of.name.text;
        self.edge(argument, &format!("{name}'s {what}"))
    }

    /// A complaint about an edge that is not conjugate.
    pub(super) fn edge(&self, argument: usize, reason: &str) -> Diagnostic {
        let argument = &self.line.of.arguments[argument];
        let parent = self
            .parent(argument)
            .map(|parent| parent.of(self.line.source));
        let parent = parent.unwrap_or("its parent");
        let child = self.line.target.of(self.line.source);
        let message = format!("edge {parent} -> {child} is not conjugate-exponential: {reason}");
        Diagnostic::new(argument.span, message, "this parent")
    }

    /// The first variable in an expression that is not data.
    fn parent(&self, expr: &Expr) -> Option<Span> {
        let Node::Reference(reference) = &expr.node else {
            let mut parts = expr.parts().into_iter();
            return parts.find_map(|part| self.parent(part));
        };
        let array = self.line.scope.model.find(&reference.name.text)?;
        (self.line.scope.model.arrays[array].defined()).then_some(reference.span)
    }
}

/// The only variable of a product, where it is multiplied by something else than one: a number, or data.
pub(super) fn slope(monomial: &Monomial) -> Option<u32> {
    let (data, unknowns): (Vec<u32>, Vec<u32>) = (monomial.unknowns.iter())
        .map(|unknown| unknown.variable)
        .partition(|&variable| variable >= PLACEHOLDER);
    let times = !data.is_empty() || monomial.coefficient.abs() != 1.0;
    match unknowns.as_slice() {
        [one] if times => Some(*one),
        _ => None,
    }
}
