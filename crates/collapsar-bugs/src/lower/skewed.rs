//! How a normal number becomes terms whose mean and variance share a positive unknown (maths §9.12).

use std::rc::Rc;

use collapsar::graph::{Atom, Kind};

use super::distributions::LN_2PI;
use super::emit::{Emit, Rate};
use crate::elaborate::Resolved;
use crate::value::{Monomial, Scalar};

impl Emit<'_> {
    /// Whether a mean holds a positive unknown that has an inverse.
    pub(super) fn is_skewed(&self, mean: &Scalar) -> bool {
        let Scalar::Polynomial(monomials) = mean else {
            return false;
        };
        monomials.iter().any(|monomial| self.shared(monomial) > 0)
    }

    /// How many factors of a product are positive unknowns that have an inverse.
    fn shared(&self, monomial: &Monomial) -> usize {
        let unknowns = monomial.unknowns.iter();
        let shared = unknowns.filter(|unknown| self.has_inverse(unknown.variable));
        shared.count()
    }

    fn has_inverse(&self, variable: u32) -> bool {
        let kind = self.line.variables.kind(variable);
        matches!(kind, Kind::Positive { inverse: true, .. })
    }

    /// A normal number with the mean μ + θw and a precision that is divided by w: its terms hold w, 1/w or neither.
    pub(super) fn skewed(&mut self, x: &Scalar, mean: &Scalar, rate: &Rate) -> Resolved {
        let monomials = mean.monomials().unwrap_or_default().into_iter();
        let (held, others): (Vec<_>, Vec<_>) = monomials.partition(|one| self.shared(one) > 0);
        self.check_mean(&Scalar::Polynomial(Rc::new(others)))?;
        let mut divided = rate.factors.iter().filter(|(_, inverse)| *inverse);
        let divided = divided.next().map(|(variable, _)| *variable);
        let divided = divided.filter(|&w| {
            let only = |one: &Monomial| one.unknowns.iter().map(|unknown| unknown.variable).eq([w]);
            held.iter().all(only)
        });
        let (Some(variable), None) = (divided, self.bounds) else {
            return Err(self.not_linear());
        };
        self.add(-0.5 * LN_2PI, &[])?;
        self.add_ln(0.5, rate)?;
        let mut given = rate.atoms();
        given.retain(|atom| atom.variable != variable);
        let residual = x.minus(mean);
        for mut product in residual.times(&residual).monomials().unwrap_or_default() {
            let all = product.unknowns.len();
            product
                .unknowns
                .retain(|unknown| unknown.variable != variable);
            let mut atoms = given.clone();
            match all - product.unknowns.len() {
                0 => atoms.push(Atom { variable, part: 2 }),
                1 => {}
                _ => atoms.push(Atom { variable, part: 1 }),
            }
            let coefficient = -0.5 * rate.coefficient * product.coefficient;
            self.add_products(coefficient, atoms, [(1.0, product.unknowns)])?;
        }
        Ok(())
    }
}
