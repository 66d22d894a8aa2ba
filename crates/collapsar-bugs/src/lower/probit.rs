//! How normal probabilities of predictors become terms: by hidden normal variables between bounds (maths §9.10).

use std::rc::Rc;

use collapsar::Potential;
use collapsar::family::TruncatedNormal;
use collapsar::graph::{Atom, Kind};

use super::distributions::LN_2PI;
use super::emit::Emit;
use crate::diagnostic::Diagnostic;
use crate::elaborate::Resolved;
use crate::mass::Mass;
use crate::value::{Monomial, Scalar};

/// Most answers of one count, each of which is a variable.
const MOST_ANSWERS: f64 = 1000.0;

/// A constant, and what a polynomial is without it.
fn split(monomials: &[Monomial]) -> (f64, &[Monomial]) {
    match monomials {
        [first, rest @ ..] if first.unknowns.is_empty() => (first.coefficient, rest),
        all => (0.0, all),
    }
}

impl Emit<'_> {
    /// Adds `times` the logarithm of the probability that a standard normal number is between two predictors which
    /// differ by a constant.
    pub(super) fn normal_mass(&mut self, times: f64, argument: usize, mass: &Mass) -> Resolved {
        let [lower, upper] =
            [&mass.lower, &mass.upper].map(|end| end.as_deref().map(|end| split(end)));
        let follows = match (lower, upper) {
            (Some((_, a)), Some((_, b))) if a != b => {
                return Err(self.cuts_unknown(argument).into());
            }
            (Some((_, rest)), _) | (None, Some((_, rest))) => rest,
            (None, None) => return Ok(()),
        };
        let lower = lower.map_or(f64::NEG_INFINITY, |end| end.0);
        let upper = upper.map_or(f64::INFINITY, |end| end.0);
        if lower >= upper {
            return self.impossible();
        }
        if times.fract() != 0.0 || times > MOST_ANSWERS {
            return Err(self.too_many_answers(argument, times).into());
        }
        // A number between c + f and d + f is one between c and d that is counted from -f.
        let mean = Scalar::Polynomial(Rc::new(follows.to_vec())).times(&Scalar::Known(-1.0));
        self.check_mean(&mean)?;
        // What such a number has as its density in states of labels that say nothing of it.
        let log_mass = TruncatedNormal::new(lower, upper)
            .and_then(|family| family.value_and_gradient(&[0.0, 1.0], &mut [0.0; 2]))
            .map_err(|error| Diagnostic::new(self.line.target, error.to_string(), "truncated"))?;
        for _ in 0..times as u32 {
            let variable = self.hidden("the normal variables", Kind::Bounded)?;
            self.sink.brought += 1;
            self.sink.bounds.push((variable, lower, upper));
            let number = Atom { variable, part: 0 };
            self.sink.add(-log_mass, &[], &[]);
            self.sink.add(-0.5, &[], &[number, number]);
            self.add(log_mass - 0.5 * LN_2PI, &[])?;
            self.add_times(1.0, vec![number], &mean)?;
            self.add_product_of(-0.5, vec![], &mean, &mean)?;
        }
        Ok(())
    }

    fn too_many_answers(&self, argument: usize, times: f64) -> Diagnostic {
        let what = format!(
            "probit probability is taken {times} times, expected a whole number of {MOST_ANSWERS} at most"
        );
        let help = "each trial is a hidden normal variable: write logit in the place of probit";
        self.edge_of(argument, &what).help(help)
    }

    fn cuts_unknown(&self, argument: usize) -> Diagnostic {
        let what = "cells must be normal probabilities between cuts that differ by known numbers";
        let help = "give the cuts as data, and let an intercept and a precision be unknown";
        self.edge_of(argument, what).help(help)
    }
}
