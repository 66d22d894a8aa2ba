//! Decides how products of unknowns become terms.

use collapsar::graph::{Atom, Kind};

use super::{Halt, Variables};
use crate::diagnostic::Diagnostic;
use crate::elaborate::{Elaborated, Sampling};
use crate::quantity::Element;
use crate::syntax::ast::{Expr, Node, Span};
use crate::value::{Item, Product, Unknown, Value};

/// Adds the terms of one repetition of a stochastic line, given the states of labels.
pub(super) struct Emit<'a> {
    pub(super) sink: &'a mut Sink,
    pub(super) variables: &'a Variables,
    pub(super) model: &'a Elaborated,
    /// The states that the terms hold for.
    pub(super) states: Vec<Atom>,
    pub(super) line: usize,
    pub(super) instance: usize,
    pub(super) of: Sampling<'a>,
    /// Bounds, and whether the density is normalised within them.
    pub(super) bounds: Option<(f64, f64, bool)>,
    pub(super) target: Span,
    pub(super) source: &'a str,
}

/// Terms on the way to a graph.
#[derive(Debug, Default)]
pub(super) struct Sink {
    starts: Vec<u32>,
    atoms: Vec<Atom>,
    coefficients: Vec<f64>,
    /// Variables with lower and upper bounds.
    pub(super) bounds: Vec<(u32, f64, f64)>,
}

impl Sink {
    pub(super) fn clear(&mut self) {
        self.starts.clear();
        self.atoms.clear();
        self.coefficients.clear();
        self.bounds.clear();
    }

    fn add(&mut self, coefficient: f64, states: &[Atom], atoms: &[Atom]) {
        self.starts.push(self.atoms.len() as u32);
        self.atoms.extend_from_slice(states);
        self.atoms.extend_from_slice(atoms);
        self.coefficients.push(coefficient);
    }

    /// Coefficients and atoms.
    pub(super) fn terms(&self) -> impl Iterator<Item = (f64, &[Atom])> {
        self.coefficients
            .iter()
            .enumerate()
            .map(|(term, &coefficient)| {
                let end = self
                    .starts
                    .get(term + 1)
                    .map_or(self.atoms.len(), |&end| end as usize);
                (coefficient, &self.atoms[self.starts[term] as usize..end])
            })
    }
}

/// A positive number that is a product of gamma variables with a coefficient.
pub(super) struct Rate {
    pub(super) coefficient: f64,
    pub(super) gammas: Vec<u32>,
}

impl Rate {
    pub(super) fn constant(coefficient: f64) -> Self {
        let gammas = vec![];
        Self {
            coefficient,
            gammas,
        }
    }
}

/// A symmetric matrix that is known, or a known multiple of one that is not.
pub(super) enum Precision {
    Known(Vec<f64>),
    Multiple(f64, u32),
}

impl Emit<'_> {
    /// Adds a term.
    pub(super) fn add(&mut self, coefficient: f64, atoms: &[Atom]) -> Result<(), Halt> {
        if coefficient.is_nan() || coefficient == f64::INFINITY {
            return Err(Diagnostic::new(
                self.target,
                format!("the log density is {coefficient}"),
                self.element().to_string(),
            )
            .into());
        }
        if coefficient == f64::NEG_INFINITY && self.states.is_empty() {
            return Err(self.outside().into());
        }
        let atoms = if coefficient == f64::NEG_INFINITY {
            &[]
        } else {
            atoms
        };
        if coefficient != 0.0 {
            self.sink.add(coefficient, &self.states, atoms);
        }
        Ok(())
    }

    /// Refuses a value that the distribution cannot give; a state of a label that it cannot have
    /// is only impossible.
    pub(super) fn impossible(&mut self) -> Result<(), Halt> {
        if !self.states.is_empty() {
            return self.add(f64::NEG_INFINITY, &[]);
        }
        Err(self.outside().into())
    }

    /// Refuses probabilities that are only a part of a variable's shares: they do not add up to one.
    pub(super) fn whole_shares(&self, argument: usize, items: &[Item]) -> Result<(), Halt> {
        let mut shares = vec![];
        let mut known = 0.0;
        for item in items {
            match item {
                Item::Known(value) => known += value,
                Item::Sum(products) => shares.extend(self.share(products)),
                Item::Drawn(_) | Item::Opaque => {}
            }
        }
        let Some(first) = shares.first().copied() else {
            return Ok(());
        };
        let parts = self.variables.kind(first.variable).atoms();
        shares.sort_unstable();
        shares.dedup();
        let whole = shares.len() == parts && shares.iter().all(|s| s.variable == first.variable);
        if whole && known == 0.0 && items.len() >= parts {
            return Ok(());
        }
        let reason = format!(
            "{}'s probabilities must be all shares of one ddirch or dbeta variable",
            self.of.name.text
        );
        Err(self.edge(argument, &reason).into())
    }

    /// A complaint about data that the distribution cannot give.
    pub(super) fn outside(&self) -> Diagnostic {
        Diagnostic::new(
            self.target,
            format!(
                "the data of {} are outside the support of {}",
                self.element(),
                self.of.name.text
            ),
            "impossible under this line",
        )
    }

    /// The first element of this repetition.
    pub(super) fn element(&self) -> Element {
        self.model.first_element(self.line, self.instance)
    }

    /// A part of the model's text.
    fn text(&self, span: Span) -> &str {
        &self.source[span.start as usize..span.end as usize]
    }

    /// A complaint about an edge that is not conjugate.
    pub(super) fn edge(&self, argument: usize, reason: &str) -> Diagnostic {
        let span = self.of.arguments[argument].span;
        let child = self.text(self.target);
        let parent = self.parent(&self.of.arguments[argument]);
        let parent = parent.unwrap_or_else(|| "its parent".into());
        Diagnostic::new(
            span,
            format!("edge {parent} -> {child} is not conjugate-exponential: {reason}"),
            "this parent",
        )
    }

    /// The first variable in an expression that is not data.
    fn parent(&self, expr: &Expr) -> Option<String> {
        let Node::Reference(reference) = &expr.node else {
            let mut parts = expr.parts().into_iter();
            return parts.find_map(|part| self.parent(part));
        };
        let array = self.model.find(&reference.name.text)?;
        let unknown = self.model.arrays[array].defined();
        unknown.then(|| self.text(reference.span).to_owned())
    }

    /// A complaint about a parameter's value.
    pub(super) fn parameter(&self, argument: usize, found: f64, expected: &str) -> Diagnostic {
        let span = self.of.arguments[argument].span;
        Diagnostic::new(
            span,
            format!(
                "{} of {} is {found}, expected {expected}",
                ordinal(argument),
                self.of.name.text
            ),
            format!("for {}", self.element()),
        )
    }

    /// A complaint about a parameter that is not as it must be.
    pub(super) fn must_be(&self, argument: usize, what: &str) -> Diagnostic {
        let Sampling {
            distribution, name, ..
        } = self.of;
        let parameter = distribution.parameter(argument);
        self.edge(
            argument,
            &format!("{}'s {parameter} must be {what}", name.text),
        )
    }

    /// A parameter that must be a number.
    pub(super) fn constant(&self, argument: usize, item: &Item) -> Result<f64, Halt> {
        let found = item.known();
        found.ok_or_else(|| self.must_be(argument, "constant").into())
    }

    /// A parameter that must be numbers.
    pub(super) fn constants(&self, argument: usize, value: &Value) -> Result<Vec<f64>, Halt> {
        let found = value.numbers();
        found.ok_or_else(|| self.must_be(argument, "constant").into())
    }

    /// A rate or precision: a number, or a product of gamma variables.
    pub(super) fn rate(&self, argument: usize, item: &Item) -> Result<Rate, Halt> {
        let refuse = || self.must_be(argument, "a constant or a product of gamma variables");
        let products = item.products().ok_or_else(refuse)?;
        let [product] = products.as_slice() else {
            return Err(refuse().into());
        };
        if product.coefficient.is_nan() || product.coefficient <= 0.0 {
            return Err(self
                .parameter(argument, product.coefficient, "a positive number")
                .into());
        }
        let mut gammas: Vec<u32> = vec![];
        for unknown in &product.unknowns {
            if self.variables.kind(unknown.variable) != Kind::Gamma
                || gammas.contains(&unknown.variable)
            {
                return Err(refuse().into());
            }
            gammas.push(unknown.variable);
        }
        Ok(Rate {
            coefficient: product.coefficient,
            gammas,
        })
    }

    /// Adds `power` times the logarithm of a rate.
    pub(super) fn add_ln(&mut self, power: f64, rate: &Rate) -> Result<(), Halt> {
        self.add(power * rate.coefficient.ln(), &[])?;
        for &variable in &rate.gammas {
            self.add(power, &[Atom { variable, part: 0 }])?;
        }
        Ok(())
    }

    /// Adds `factor` times a rate times a sum of products of Gaussians.
    pub(super) fn add_times(
        &mut self,
        factor: f64,
        rate: &Rate,
        products: &[Product],
    ) -> Result<(), Halt> {
        let mut atoms: Vec<Atom> = (rate.gammas.iter())
            .map(|&variable| Atom { variable, part: 1 })
            .collect();
        for product in products {
            atoms.truncate(rate.gammas.len());
            for unknown in &product.unknowns {
                atoms.push(self.factor_atom(*unknown)?);
            }
            self.add(factor * rate.coefficient * product.coefficient, &atoms)?;
        }
        Ok(())
    }

    /// The atom of an unknown that stands as a factor of a polynomial.
    pub(super) fn factor_atom(&self, unknown: Unknown) -> Result<Atom, Halt> {
        let Unknown { variable, element } = unknown;
        let part = match self.variables.kind(variable) {
            Kind::Gaussian | Kind::Bounded => 0,
            Kind::Gamma => 1,
            Kind::Wishart(_) => 1 + element,
            Kind::NormalWishart(dim) if element as usize >= dim => 2 + element,
            Kind::NormalWishart(_) => return Err(self.apart(variable)),
            _ => {
                return Err(self
                    .edge(0, "the mean must be linear in Gaussian variables")
                    .into());
            }
        };
        Ok(Atom { variable, part })
    }

    /// Gives up the joint variable of a mean and its precision matrix.
    pub(super) fn apart(&self, variable: u32) -> Halt {
        let matrix = self.variables.line(variable);
        let first = self.variables.lines[matrix].as_ref().map(|of| of.first);
        let mean = self.variables.lines.iter().position(|of| {
            of.as_ref().is_some_and(|of| {
                Some(of.first) == first && of.joint == Some(super::variables::Joint::Mean)
            })
        });
        Halt::Apart(mean.unwrap_or(matrix) as u32)
    }

    /// Refuses a mean of a normal distribution that is not a sum of products of Gaussians.
    pub(super) fn gaussian_sum(&self, argument: usize, item: &Item) -> Result<(), Halt> {
        let reason = "the mean must be linear in Gaussian variables";
        let products = match item {
            Item::Known(_) => return Ok(()),
            Item::Sum(products) => products,
            Item::Drawn(_) | Item::Opaque => return Err(self.edge(argument, reason).into()),
        };
        for unknown in products.iter().flat_map(|product| &product.unknowns) {
            match self.variables.kind(unknown.variable) {
                Kind::Gaussian | Kind::Bounded | Kind::NormalWishart(_) => {}
                _ => return Err(self.edge(argument, reason).into()),
            }
        }
        Ok(())
    }

    /// Logarithms of probabilities: numbers, or shares of one Dirichlet variable.
    pub(super) fn ln_share(
        &self,
        argument: usize,
        item: &Item,
    ) -> Result<(f64, Option<Atom>), Halt> {
        let reason = format!(
            "{}'s probabilities must be constant or come from ddirch or dbeta",
            self.of.name.text
        );
        match item {
            Item::Known(value) if (0.0..=1.0 + 1e-9).contains(value) => {
                Ok((value.min(1.0).ln(), None))
            }
            Item::Known(value) => Err(self
                .parameter(argument, *value, "probabilities from 0 to 1")
                .into()),
            Item::Drawn(_) | Item::Opaque => Err(self.edge(argument, &reason).into()),
            Item::Sum(products) => {
                let atom = self
                    .share(products)
                    .ok_or_else(|| self.edge(argument, &reason))?;
                Ok((0.0, Some(atom)))
            }
        }
    }

    /// The atom of `p`, or of `1 - p` where p is a beta variable.
    fn share(&self, products: &[Product]) -> Option<Atom> {
        let of = |product: &Product| {
            let [unknown] = product.unknowns.as_slice() else {
                return None;
            };
            match self.variables.kind(unknown.variable) {
                Kind::Dirichlet(parts) => Some((*unknown, product.coefficient, parts)),
                _ => None,
            }
        };
        match products {
            [one] => {
                let (unknown, coefficient, _) = of(one)?;
                (coefficient == 1.0).then_some(Atom {
                    variable: unknown.variable,
                    part: unknown.element,
                })
            }
            [one, less] if one.unknowns.is_empty() && one.coefficient == 1.0 => {
                let (unknown, coefficient, parts) = of(less)?;
                (coefficient == -1.0 && parts == 2).then_some(Atom {
                    variable: unknown.variable,
                    part: 1 - unknown.element,
                })
            }
            _ => None,
        }
    }

    /// Adds `times` the logarithm of a probability.
    pub(super) fn add_ln_share(
        &mut self,
        times: f64,
        argument: usize,
        item: &Item,
    ) -> Result<(), Halt> {
        if times == 0.0 {
            return Ok(());
        }
        let (ln, atom) = self.ln_share(argument, item)?;
        match atom {
            None => self.add(times * ln, &[]),
            Some(atom) => self.add(times, &[atom]),
        }
    }
}

pub(super) fn ordinal(argument: usize) -> &'static str {
    [
        "the first parameter",
        "the second parameter",
        "the third parameter",
    ]
    .get(argument)
    .unwrap_or(&"a parameter")
}
