//! How distributions with heavy tails become terms: each number is normal with a weight of its own (maths §9.12).

use std::f64::consts::LN_2;

use collapsar::elementary::Elementary;
use collapsar::graph::{Atom, Kind};
use collapsar::special::ln_gamma;

use super::distributions::LN_2PI;
use super::emit::{Emit, Rate};
use super::variables::PLACEHOLDER;
use crate::density;
use crate::elaborate::Resolved;
use crate::value::{Scalar, Unknown};

/// What the weights are called.
const WEIGHTS: &str = "the weights";

impl Emit<'_> {
    /// A t distribution: normal with the precision τw, w ~ gamma(k/2, k/2).
    pub(super) fn student(&mut self, x: &Scalar, parameters: [&Scalar; 3]) -> Resolved {
        if self.bounds.is_some() {
            return self.half_student(x, parameters);
        }
        let [mean, precision, k] = parameters;
        let degrees = self.positive(2, k)?;
        let (residual, rate) = self.residual(x, mean, precision)?;
        if let (Some(r), Some(precision)) = (self.alone(&residual), rate.number()) {
            return self.add(density::student(r, precision, degrees), &[]);
        }
        let variable = self.hidden_in_any_state(WEIGHTS, Kind::Gamma)?;
        let [ln_w, w] = [0, 1].map(|part| Atom { variable, part });
        let half = 0.5 * degrees;
        let constant = half * half.ln_() - ln_gamma(half) - 0.5 * LN_2PI;
        self.add(constant, &[])?;
        self.add(half - 0.5, &[ln_w])?;
        self.add(-half, &[w])?;
        self.add_ln(0.5, &rate)?;
        self.add_weighed(&rate, w, &residual)
    }

    /// A double exponential distribution of rate r:
    /// (r/2) e^{-r|x|} = (r/2) (r/2π)^{1/2} ∫ w^{-3/2} e^{-r (x²w + 1/w)/2} dw.
    pub(super) fn laplace(&mut self, x: &Scalar, mean: &Scalar, rate: &Scalar) -> Resolved {
        let (residual, rate) = self.residual(x, mean, rate)?;
        if let Some(r) = self.alone(&residual) {
            // Linear in the rate as it is.
            self.add(-LN_2, &[])?;
            self.add_ln(1.0, &rate)?;
            return self.add_rate(-r.abs(), &rate, &Scalar::Known(1.0));
        }
        let (inverse, square) = (true, false);
        let variable = self.hidden_in_any_state(WEIGHTS, Kind::Positive { inverse, square })?;
        let [ln_w, w, inverse] = [0, 1, 2].map(|part| Atom { variable, part });
        self.add(-LN_2 - 0.5 * LN_2PI, &[])?;
        self.add(-1.5, &[ln_w])?;
        self.add_ln(1.5, &rate)?;
        let mut atoms = rate.atoms();
        atoms.push(inverse);
        self.add(-0.5 * rate.coefficient, &atoms)?;
        self.add_weighed(&rate, w, &residual)
    }

    /// A logistic distribution: with t = τ(x - μ), e^t / (1 + e^t)² = ¼ E e^{-ωt²/2}, ω ~ PG(2, 0) (PolsonEtAl13).
    pub(super) fn logistic_errors(
        &mut self,
        x: &Scalar,
        mean: &Scalar,
        scale: &Scalar,
    ) -> Resolved {
        let Some(scale) = scale.known() else {
            let found = self.must_be(1, "constant").help(
                "dt(mean, precision, 8) has tails much like those of a logistic distribution, \
                 and its precision may be a gamma variable",
            );
            return Err(found.into());
        };
        let (residual, rate) = self.residual(x, mean, &Scalar::Known(scale))?;
        if let Some(r) = self.alone(&residual) {
            return self.add(density::logistic(r, scale), &[]);
        }
        let variable = self.hidden_in_any_state(WEIGHTS, Kind::PolyaGamma)?;
        self.sink.shapes.push((variable, 2.0));
        self.add_ln(1.0, &rate)?;
        self.add(-2.0 * LN_2, &[])?;
        let atom = Atom { variable, part: 0 };
        self.add_weighed(&Rate::constant(scale * scale), atom, &residual)
    }

    /// A log-normal distribution, of whose target `x` is the logarithm.
    pub(super) fn log_normal_datum(
        &mut self,
        x: &Scalar,
        mean: &Scalar,
        precision: &Scalar,
    ) -> Resolved {
        let unknown = |unknown: &Unknown| unknown.variable < PLACEHOLDER;
        let mut monomials = x.monomials().into_iter().flatten();
        if monomials.any(|monomial| monomial.unknowns.iter().any(unknown)) {
            return Err(self.not_observed().into());
        }
        self.normal(x, mean, precision)?;
        self.add_times(-1.0, vec![], x)
    }

    /// What a location leaves of a number, and the second parameter as a rate.
    fn residual(&self, x: &Scalar, mean: &Scalar, rate: &Scalar) -> Resolved<(Scalar, Rate)> {
        let rate = self.rate(1, rate)?;
        self.check_mean(mean)?;
        Ok((x.minus(mean), rate))
    }

    /// A residual that is a number, where no other state of a label could bring a weight: a weight has its density in
    /// every state or in none.
    fn alone(&self, residual: &Scalar) -> Option<f64> {
        let alone = self.states.is_empty() || self.line.hidden.shared.get();
        residual.known().filter(|_| alone)
    }

    /// Adds half the square of a residual times a rate and a weight, less than nothing.
    fn add_weighed(&mut self, rate: &Rate, weight: Atom, residual: &Scalar) -> Resolved {
        let mut atoms = rate.atoms();
        atoms.push(weight);
        self.add_product_of(-0.5 * rate.coefficient, atoms, residual, residual)
    }
}
