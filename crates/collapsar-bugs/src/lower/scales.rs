//! Decides as what a positive number stands in a graph: from how the lines that read it use it (maths §9.11).
//!
//! Terms hold a precision x. A standard deviation σ that lines use as σ⁻² is told as x^{-1/2}, a variance as 1/x, a
//! logarithm of σ as -½ ln x. What is a factor of means is a number between bounds.

use std::cell::RefCell;
use std::collections::HashMap;

use collapsar::graph::Told;

use super::barren::Barren;
use crate::diagnostic::{Checked, Diagnostic};
use crate::distribution::{Distribution, Support};
use crate::elaborate::{Definer, Elaborated, Latent, Line, Mode, Resolved, Sampling, Scope};
use crate::value::{Inverse, Scalar, Unknown};

/// What the numbers of a line are.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) enum Form {
    /// What their distribution says.
    #[default]
    Plain,
    /// Real numbers between bounds.
    Bounded,
    /// Positive numbers that are told so, and whether terms hold the inverse and the squared logarithm.
    Scale(Told, bool, bool),
}

/// How the numbers of a line are used.
#[derive(Debug, Clone, Default)]
struct Uses {
    /// The powers of them that are factors of rates and precisions.
    powers: Vec<f64>,
    /// The multiples of them whose exponentials are, and whether all of these are rates of counts and of waiting times.
    logarithms: Vec<f64>,
    precision: bool,
    /// Whether they stand in means, and whether they are probabilities.
    mean: bool,
    probability: bool,
}

/// What a parameter is to a distribution.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Mean,
    Precision,
    Rate,
    Probability,
    Other,
}

fn role(distribution: Distribution, argument: usize) -> Role {
    use Distribution as D;
    match (distribution, argument) {
        (
            D::Normal
            | D::LogNormal
            | D::StudentT
            | D::Laplace
            | D::Logistic
            | D::MultivariateNormal
            | D::NormalMixture,
            0,
        ) => Role::Mean,
        (
            D::Normal
            | D::LogNormal
            | D::StudentT
            | D::Laplace
            | D::NormalMixture
            | D::GeneralisedGamma,
            1,
        )
        | (D::Pareto, 0) => Role::Precision,
        (D::Gamma | D::Weibull, 1) | (D::Exponential | D::Poisson, 0) => Role::Rate,
        (D::Bernoulli | D::Binomial | D::NegativeBinomial | D::Categorical | D::Multinomial, 0)
        | (D::NormalMixture, 2) => Role::Probability,
        _ => Role::Other,
    }
}

/// Unknown numbers as symbols, each with the line that it is of; labels in their first states.
struct Probe<'a> {
    model: &'a Elaborated,
    known: RefCell<HashMap<Definer, u32>>,
    lines: RefCell<Vec<usize>>,
}

impl Latent for Probe<'_> {
    fn latent(&self, definer: Definer) -> Resolved<Scalar> {
        let line = definer.line as usize;
        let of = self.model.lines[line].sampling();
        if let Some(Support::States(lowest)) = of.map(|of| of.distribution.support()) {
            return Ok(Scalar::Known(f64::from(lowest)));
        }
        let mut lines = self.lines.borrow_mut();
        let symbol = *self.known.borrow_mut().entry(definer).or_insert_with(|| {
            lines.push(line);
            lines.len() as u32 - 1
        });
        Ok(Scalar::unknown(symbol, 0))
    }
}

/// Repetitions of a line that are looked at: lines are seldom used otherwise in others.
const SEEN: usize = 3;

/// The form of each line.
pub(super) fn forms(model: &Elaborated, barren: &Barren) -> Checked<Vec<Form>> {
    let probe = Probe {
        model,
        known: RefCell::default(),
        lines: RefCell::default(),
    };
    let scope = Scope::new(model, Mode::Latent(&probe));
    let mut uses = vec![Uses::default(); model.lines.len()];
    for (index, line) in model.lines.iter().enumerate() {
        let Some(of) = line.sampling() else { continue };
        let step = (line.instances.saturating_sub(1) / (SEEN - 1)).max(1);
        let mut alone = false;
        for instance in 0..line.instances {
            // What is alone in an exponential here may be one of several in another repetition.
            if barren.contains(index, instance) || !(alone || instance % step == 0) {
                continue;
            }
            scope.enter(index, instance);
            for (argument, expr) in of.arguments.iter().enumerate() {
                // What cannot be evaluated is refused where terms are made.
                let Ok(value) = scope.evaluate(expr) else {
                    continue;
                };
                let role = role(of.distribution, argument);
                for element in &value.elements {
                    note(element, role, &probe.lines.borrow(), &mut uses);
                    alone |= matches!(element, Scalar::Linked(Inverse::Log, _));
                }
            }
        }
    }
    let each = model.lines.iter().zip(&uses).enumerate();
    let form = |(index, (line, uses)): (usize, (&Line, &Uses))| match line.sampling() {
        Some(of) if !model.arrays[line.array].is_data() => form(model, (index, of), uses),
        _ => Ok(Form::Plain),
    };
    each.map(form).collect()
}

/// Notes how a parameter uses what it is made of.
fn note(element: &Scalar, role: Role, lines: &[usize], uses: &mut [Uses]) {
    let mut of = |unknown: &Unknown, note: &mut dyn FnMut(&mut Uses)| {
        if let Some(&line) = lines.get(unknown.variable as usize) {
            note(&mut uses[line]);
        }
    };
    let add = |all: &mut Vec<f64>, number: f64| {
        if !all.contains(&number) {
            all.push(number);
        }
    };
    match (element, role) {
        (Scalar::Power(_, factors), Role::Precision | Role::Rate) => {
            for (unknown, power) in factors.iter() {
                of(unknown, &mut |uses| add(&mut uses.powers, *power));
            }
        }
        (Scalar::Polynomial(monomials), Role::Precision | Role::Rate) => {
            for unknown in monomials.iter().flat_map(|monomial| &monomial.unknowns) {
                let count = |all: &[Unknown]| all.iter().filter(|u| *u == unknown).count();
                let power = monomials.iter().map(|m| count(&m.unknowns)).max();
                let power = power.unwrap_or(1) as f64;
                of(unknown, &mut |uses| add(&mut uses.powers, power));
            }
        }
        (Scalar::Scaled(scale, monomials), Role::Precision | Role::Rate) => {
            for unknown in monomials.iter().flat_map(|monomial| &monomial.unknowns) {
                of(unknown, &mut |uses| uses.mean = true);
            }
            note(scale, role, lines, uses);
        }
        (Scalar::Linked(Inverse::Log, monomials), Role::Precision | Role::Rate) => {
            let mut varying = monomials.iter().filter(|m| !m.unknowns.is_empty());
            let only = varying.next().filter(|_| varying.next().is_none());
            match only.map(|one| (one.coefficient, one.unknowns.as_slice())) {
                Some((factor, [unknown])) => of(unknown, &mut |uses| {
                    add(&mut uses.logarithms, factor);
                    uses.precision |= role == Role::Precision;
                }),
                _ => {
                    for unknown in monomials.iter().flat_map(|monomial| &monomial.unknowns) {
                        of(unknown, &mut |uses| uses.mean = true);
                    }
                }
            }
        }
        (Scalar::Polynomial(monomials), Role::Probability) => {
            for unknown in monomials.iter().flat_map(|monomial| &monomial.unknowns) {
                of(unknown, &mut |uses| uses.probability = true);
            }
        }
        (Scalar::Polynomial(monomials), Role::Mean) | (Scalar::Linked(_, monomials), _) => {
            for unknown in monomials.iter().flat_map(|monomial| &monomial.unknowns) {
                of(unknown, &mut |uses| uses.mean = true);
            }
        }
        _ => {}
    }
}

/// What the numbers of a line are that are used so.
fn form(model: &Elaborated, (index, of): (usize, Sampling), uses: &Uses) -> Checked<Form> {
    use Distribution as D;
    let (mean, scale) = (uses.mean, !uses.powers.is_empty());
    let logarithm = !uses.logarithms.is_empty();
    let bounded = of.truncation.is_some();
    let complain = |message: String, label: &str, help: &str| {
        let span = model.lines[index].relation.target.span;
        Err(Diagnostic::new(span, message, label).help(help))
    };
    let name = &model.arrays[model.lines[index].array].name;
    let scales = match of.distribution {
        D::Gamma | D::Exponential | D::ChiSquared => {
            if of.distribution == D::Exponential && !bounded && mean && !scale {
                return Ok(Form::Bounded);
            }
            bounded || uses.powers.iter().any(|power| *power != 1.0)
        }
        D::Uniform => {
            if mean && !scale && !logarithm {
                return Ok(Form::Bounded);
            }
            if !scale && !logarithm {
                let unit = uses.probability || is_unit(model, index, of)?;
                return Ok(if unit { Form::Plain } else { Form::Bounded });
            }
            !uses.probability
        }
        D::Normal if logarithm && !bounded => {
            // In rates alone it may stay a normal variable (maths §9.14), and does where it is one of several.
            let alone = uses.logarithms.len() == 1 && are_known(model, index, of);
            !mean && (uses.precision || alone)
        }
        D::Normal => bounded && scale,
        D::StudentT if bounded && mean && !scale => return Ok(Form::Bounded),
        D::StudentT => bounded,
        D::LogNormal | D::Pareto | D::ScaledGamma => true,
        _ => false,
    };
    if !scales {
        return Ok(Form::Plain);
    }
    let gamma = matches!(of.distribution, D::Gamma | D::Exponential);
    let inverses = uses.powers.contains(&-1.0) && uses.powers.iter().all(|p| p.abs() == 1.0);
    if mean && gamma && inverses && !bounded && !logarithm {
        // In a mean and in the variance around it (maths §9.12).
        return Ok(Form::Scale(Told::Power(1.0), true, false));
    }
    if mean {
        let message = format!("{name} is in a mean and in a precision, expected one of them");
        let help = format!(
            "let effects have the precision themselves: theta[j] ~ dnorm(mu, pow({name}, -2)), and not mu + {name}*z[j]"
        );
        return complain(message, "in both", &help);
    }
    if scale && logarithm {
        let message = format!("{name} and its exponential are both in precisions");
        return complain(message, "in both", "use one of them");
    }
    let normal = of.distribution == D::LogNormal || of.distribution == D::Normal && !bounded;
    let all = if logarithm {
        &uses.logarithms
    } else {
        &uses.powers
    };
    // x is the power that is used; where two are, one is the inverse of the other.
    let (power, inverse) = match *all.as_slice() {
        [] => (1.0, false),
        [one] => (one, false),
        [one, other] if one == -other => (one, true),
        _ => {
            let powers: Vec<String> = all.iter().map(|p| format!("{name}^{p}")).collect();
            let message = format!("{name} stands in precisions as {}", powers.join(" and "));
            let help = "let it stand as one power of itself in all lines, or as its inverse";
            return complain(message, "as several powers", help);
        }
    };
    if logarithm {
        return Ok(Form::Scale(Told::Logarithm(1.0 / power), inverse, normal));
    }
    // Only the inverse has terms where the rate of a gamma is not known.
    let inverse = inverse || (gamma && power == -1.0);
    Ok(Form::Scale(Told::Power(1.0 / power), inverse, normal))
}

/// Whether the parameters of a line are known, as far as its first repetition tells.
fn are_known(model: &Elaborated, index: usize, of: Sampling) -> bool {
    let scope = Scope::within(model, Mode::Shape, index, 0);
    let parameters = scope.evaluate_all(of.arguments);
    parameters.is_ok_and(|all| all.iter().all(|one| one.numbers().is_some()))
}

/// Whether a uniform line is from 0 to 1.
fn is_unit(model: &Elaborated, index: usize, of: Sampling) -> Checked<bool> {
    if model.lines[index].instances == 0 {
        return Ok(false);
    }
    let scope = Scope::within(model, Mode::Shape, index, 0);
    let ends = scope.evaluate_all(of.arguments)?;
    let ends = ends.iter().map(|end| end.single().and_then(Scalar::known));
    Ok(ends.eq([Some(0.0), Some(1.0)]))
}
