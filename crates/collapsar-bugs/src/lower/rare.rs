//! The terms of distributions that data have and unknowns do not, most of them with constant parameters alone.

use collapsar::elementary::Elementary;
use collapsar::special::ln_gamma;

use super::emit::Emit;
use crate::density;
use crate::elaborate::Resolved;
use crate::value::Scalar;

impl Emit<'_> {
    /// An observed positive number.
    fn positive_datum(&self, x: &Scalar) -> Resolved<f64> {
        match x {
            Scalar::Known(x) if *x > 0.0 => Ok(*x),
            Scalar::Known(_) => Err(self.outside().into()),
            _ => Err(self.not_observed().into()),
        }
    }

    /// α c^α x^{-α-1} above c: in α as an exponential distribution of ln(x/c).
    pub(super) fn pareto(&mut self, x: &Scalar, shape: &Scalar, lower: &Scalar) -> Resolved {
        let lower = self.positive(1, lower)?;
        let shape = self.rate(0, shape)?;
        let x = self.positive_datum(x)?;
        if x < lower {
            return self.impossible();
        }
        self.add(-x.ln_(), &[])?;
        self.add_ln(1.0, &shape)?;
        self.add_rate((lower / x).ln_(), &shape, &Scalar::Known(1.0))
    }

    /// With the power 1, a gamma distribution.
    pub(super) fn generalised_gamma(
        &mut self,
        x: &Scalar,
        [shape, rate, power]: [&Scalar; 3],
    ) -> Resolved {
        let (shape, power) = (self.positive(0, shape)?, self.positive(2, power)?);
        let x = self.positive_datum(x)?;
        if power == 1.0 {
            let rate = self.rate(1, rate)?;
            self.add((shape - 1.0) * x.ln_() - ln_gamma(shape), &[])?;
            self.add_ln(shape, &rate)?;
            return self.add_rate(-x, &rate, &Scalar::Known(1.0));
        }
        let rate = self.positive(1, rate)?;
        self.add(density::generalised_gamma(x, [shape, rate, power]), &[])
    }

    pub(super) fn f(&mut self, x: &Scalar, n: &Scalar, m: &Scalar) -> Resolved {
        let (n, m) = (self.positive(0, n)?, self.positive(1, m)?);
        let x = self.positive_datum(x)?;
        self.add(density::f(x, n, m), &[])
    }

    pub(super) fn noncentral_chi_squared(
        &mut self,
        x: &Scalar,
        degrees: &Scalar,
        noncentrality: &Scalar,
    ) -> Resolved {
        let degrees = self.positive(0, degrees)?;
        let noncentrality = self.constant(1, noncentrality)?;
        if !(noncentrality >= 0.0 && noncentrality.is_finite()) {
            let expected = "a number of 0 or more";
            return Err(self.parameter(1, noncentrality, expected).into());
        }
        let x = self.positive_datum(x)?;
        let density = density::noncentral_chi_squared(x, degrees, noncentrality);
        self.add(density, &[])
    }

    pub(super) fn beta_binomial(&mut self, x: &Scalar, [a, b, n]: [&Scalar; 3]) -> Resolved {
        let (a, b) = (self.positive(0, a)?, self.positive(1, b)?);
        let x = self.count(x)?;
        let n = self.constant(2, n)?;
        if n.is_nan() || n < 0.0 || n.fract() != 0.0 {
            return Err(self.parameter(2, n, "a whole number of 0 or more").into());
        }
        if x > n {
            return self.impossible();
        }
        self.add(density::beta_binomial(x, [a, b, n]), &[])
    }
}
