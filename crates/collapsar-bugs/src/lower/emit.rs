//! Decides how products of unknowns become terms.

use std::ops::Range;

use collapsar::elementary::Elementary;
use collapsar::family::Tail;
use collapsar::graph::{Atom, Kind, Predictor, Told};

use super::Stochastic;
use super::loglinear::LogLinear;
use super::variables::{LineVariables, PLACEHOLDER};
use crate::diagnostic::Diagnostic;
use crate::distribution::Support;
use crate::elaborate::{Resolved, Unresolved};
use crate::value::{Inverse, Monomial, Scalar, Unknown, Value};

/// Adds the terms of one repetition of a stochastic line, given the states of labels.
pub(super) struct Emit<'a> {
    pub(super) line: &'a Stochastic<'a>,
    pub(super) instance: usize,
    /// The states that the terms hold for.
    pub(super) states: Vec<Atom>,
    /// Bounds, and whether the density is normalised within them.
    pub(super) bounds: Option<(f64, f64, bool)>,
    /// Trials so far whose probability is a sum, each with a label of its own.
    pub(super) trials: u32,
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
    /// How many variables the repetition has brought with it so far.
    pub(super) brought: u32,
    /// Positive variables with factors of their densities that are no terms.
    pub(super) tails: Vec<(u32, Tail)>,
    /// Exponentials of predictors with their coefficients and other atoms.
    pub(super) exponentials: Vec<(f64, Vec<Atom>, Predictor)>,
}

impl Sink {
    pub(super) fn clear(&mut self) {
        self.terms.clear();
        self.atoms.clear();
        self.bounds.clear();
        self.shapes.clear();
        self.brought = 0;
        self.tails.clear();
        self.exponentials.clear();
    }

    pub(super) fn add(&mut self, coefficient: f64, states: &[Atom], atoms: &[Atom]) {
        let start = self.atoms.len();
        self.atoms.extend_from_slice(states);
        self.atoms.extend_from_slice(atoms);
        self.terms.push((coefficient, start..self.atoms.len()));
    }

    /// How many terms there are.
    pub(super) fn len(&self) -> usize {
        self.terms.len() + self.exponentials.len()
    }

    /// Coefficients and atoms.
    pub(super) fn terms(&self) -> impl Iterator<Item = (f64, &[Atom])> {
        let terms = self.terms.iter();
        terms.map(|(coefficient, atoms)| (*coefficient, &self.atoms[atoms.clone()]))
    }
}

/// A positive number that is a product of positive variables, or of inverses of them, with a coefficient, and perhaps the
/// exponential of a predictor.
pub(super) struct Rate {
    pub(super) coefficient: f64,
    /// The variables, and whether it is the inverse that is a factor.
    pub(super) factors: Vec<(u32, bool)>,
    pub(super) predictor: Option<LogLinear>,
}

impl Rate {
    pub(super) fn constant(coefficient: f64) -> Self {
        let factors = vec![];
        Self {
            coefficient,
            factors,
            predictor: None,
        }
    }

    /// The number that it is where it is one.
    pub(super) fn number(&self) -> Option<f64> {
        self.factors.is_empty().then_some(self.coefficient)
    }

    /// The variables as factors of a term.
    pub(super) fn atoms(&self) -> Vec<Atom> {
        let atom = |&(variable, inverse): &(u32, bool)| Atom {
            variable,
            part: if inverse { 2 } else { 1 },
        };
        self.factors.iter().map(atom).collect()
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
        self.add(power * rate.coefficient.ln_(), &[])?;
        if let Some(predictor) = &rate.predictor {
            self.add_predictor(power, predictor)?;
        }
        let mut factors = rate.factors.iter();
        factors.try_for_each(|&(variable, inverse)| {
            let power = if inverse { -power } else { power };
            self.add(power, &[Atom { variable, part: 0 }])
        })
    }

    /// A rate or precision: a number, or a product of positive variables and of inverses that terms hold.
    pub(super) fn rate(&self, argument: usize, rate: &Scalar) -> Resolved<Rate> {
        let refuse = || self.must_be(argument, "a constant or a product of gamma variables");
        let (coefficient, factors) = self.rate_factors(rate).ok_or_else(refuse)?;
        if coefficient.is_nan() || coefficient < f64::MIN_POSITIVE {
            let expected = positive_words(coefficient);
            return Err(self.parameter(argument, coefficient, expected).into());
        }
        let mut found: Vec<(u32, bool)> = vec![];
        for (Unknown { variable, .. }, power) in factors {
            let inverse = match (self.line.variables.kind(variable), power) {
                (Kind::Gamma | Kind::Positive { .. }, 1.0) => false,
                (Kind::Positive { inverse: true, .. }, -1.0) => true,
                _ => return Err(refuse().into()),
            };
            found.push((variable, inverse));
        }
        Ok(Rate {
            coefficient,
            factors: found,
            predictor: None,
        })
    }

    /// A coefficient and powers of unknowns; the exponential of a multiple of ln x is a power of x.
    fn rate_factors(&self, rate: &Scalar) -> Option<(f64, Vec<(Unknown, f64)>)> {
        let ((mut coefficient, mut factors), predictor) = match rate {
            Scalar::Linked(Inverse::Log, predictor) => ((1.0, vec![]), predictor),
            Scalar::Scaled(scale, predictor) => (scale.powers()?, predictor),
            rate => return rate.powers(),
        };
        for monomial in predictor.iter() {
            match monomial.unknowns.as_slice() {
                [] => coefficient *= monomial.coefficient.exp_(),
                &[unknown] if self.is_logarithm(unknown) => {
                    factors.push((unknown, monomial.coefficient));
                }
                _ => return None,
            }
        }
        Some((coefficient, factors))
    }

    /// Whether an unknown stands for the logarithm of its variable.
    pub(super) fn is_logarithm(&self, unknown: Unknown) -> bool {
        matches!(
            self.line.variables.told(unknown.variable),
            Told::Logarithm(_)
        )
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
        if value >= f64::MIN_POSITIVE && value.is_finite() {
            return Ok(value);
        }
        let expected = positive_words(value);
        Err(self.parameter(argument, value, expected).into())
    }

    /// The atom of an unknown that stands as a factor of a polynomial.
    pub(super) fn factor_atom(&self, unknown: Unknown) -> Resolved<Atom> {
        let Unknown { variable, element } = unknown;
        let entry = |dim: usize, place: usize| packed(dim, place / dim, place % dim);
        let place = element as usize;
        let part = match self.line.variables.kind(variable) {
            Kind::Gaussian | Kind::Bounded | Kind::PolyaGamma => 0,
            Kind::Positive { .. } if self.is_logarithm(unknown) => 0,
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

    pub(super) fn not_linear(&self) -> Unresolved {
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
        self.line.outside(self.instance)
    }

    /// A complaint about a target that must be observed.
    pub(super) fn not_observed(&self) -> Diagnostic {
        let name = &self.line.of.name.text;
        let message = format!("{name} that is not observed has no conjugate family");
        let help = "unknown counts are labels with a range: dbin(p, n) with a constant n, or k ~ dcat(w[]) and k - 1 in its place";
        let complaint = Diagnostic::new(self.line.target, message, "not data");
        match self.line.of.distribution.support() {
            Support::Counts => complaint.help(help),
            _ => complaint,
        }
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

/// What is expected instead of a number that is not positive, or so near to zero that it has lost its digits.
fn positive_words(found: f64) -> &'static str {
    if found > 0.0 && found.is_finite() {
        "a number that is not so near to zero"
    } else {
        "a positive number"
    }
}
