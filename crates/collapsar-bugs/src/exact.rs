//! Decides what of computed and predicted numbers is known without draws: sums of normal variables,
//! multiples of others, and what has constant parameters.

use collapsar::family::Marginal;
use collapsar::graph::{Kind, PosteriorMarginal};

use crate::distribution::Distribution;
use crate::elaborate::{Definer, Mode, Scope};
use crate::lower::Symbols;
use crate::model::Marginals;
use crate::posterior::Posterior;
use crate::predict::Fixed;
use crate::quantity::{Origin, Quantity};
use crate::syntax::ast::Span;
use crate::value::{Scalar, Value};

impl Posterior<'_> {
    /// What is known of a computed or predicted quantity, if anything.
    pub(crate) fn exact(
        &self,
        quantity: &Quantity,
        marginals: Option<&Marginals>,
    ) -> Option<PosteriorMarginal> {
        match quantity.origin {
            Origin::Computed => {}
            Origin::Predicted => return self.predicted(self.definer(quantity)?),
            Origin::Variable(..) | Origin::Label(..) | Origin::Grid(_) | Origin::Zero => {
                return None;
            }
        }
        // What depends on labels or on predictions has no symbols.
        let symbols = Symbols::new(&self.prepared.variables);
        let scope = Scope::new(&self.prepared.model, Mode::Latent(&symbols));
        let (array, element) = quantity.place;
        let value = scope.element(array, element, Span::default()).ok()?;
        match self.sum(&value) {
            Some((mean, variance)) => normal(mean, variance),
            None => self.multiple(&value, marginals?),
        }
    }

    fn predicted(&self, definer: Definer) -> Option<PosteriorMarginal> {
        let (line, instance) = (definer.line as usize, definer.instance as usize);
        let (model, variables) = (&self.prepared.model, &self.prepared.variables);
        if variables.censored.above(line, instance).is_some()
            || variables.shares.of(line, instance).is_some()
        {
            return None;
        }
        let of = model.lines[line].sampling()?;
        let symbols = Symbols::new(variables);
        let scope = Scope::within(model, Mode::Latent(&symbols), line, instance);
        let values = scope.evaluate_all(of.arguments).ok()?;
        let numbers: Option<Vec<_>> = values.iter().map(Value::numbers).collect();
        if let Some(numbers) = numbers {
            let fixed = Fixed::new(of.distribution, &numbers, model.lines[line].size);
            return fixed.ok()??.marginal(definer.offset as usize);
        }
        let (Distribution::Normal, [mean, precision]) = (of.distribution, values.as_slice()) else {
            return None;
        };
        let precision = precision.single()?.known().filter(|known| *known > 0.0)?;
        let (mean, variance) = self.sum(mean.single()?)?;
        normal(mean, variance + precision.recip())
    }

    /// The value of the first state of a predicted label.
    pub(crate) fn lowest(&self, quantity: &Quantity) -> f64 {
        let line = |definer: Definer| &self.prepared.model.lines[definer.line as usize];
        let line = self.definer(quantity).map(line);
        let lowest = line.and_then(|line| line.sampling()?.distribution.lowest_state());
        f64::from(lowest.unwrap_or(0))
    }

    fn definer(&self, quantity: &Quantity) -> Option<Definer> {
        let (array, element) = quantity.place;
        self.prepared.model.arrays[array].definer(element)
    }

    /// Mean and variance of a sum of normal variables with coefficients.
    fn sum(&self, value: &Scalar) -> Option<(f64, f64)> {
        let Scalar::Polynomial(monomials) = value else {
            return None;
        };
        let (mut constant, mut terms) = (0.0, vec![]);
        for monomial in monomials.iter() {
            match monomial.unknowns.as_slice() {
                [] => constant = monomial.coefficient,
                [one] if self.prepared.variables.kind(one.variable) == Kind::Gaussian => {
                    terms.push((one.variable, monomial.coefficient));
                }
                _ => return None,
            }
        }
        let (mean, variance) = self.variational.of_sum(&terms)?;
        let terms: Vec<(u32, usize, f64)> = terms.iter().map(|&(v, c)| (v, 0, c)).collect();
        let extra = match self.response {
            Some(response) => response.extra_variance(&terms).ok()??,
            None => 0.0,
        };
        Some((constant + mean, variance + extra))
    }

    /// What is known of a positive multiple of one number, or of one minus a probability.
    fn multiple(&self, value: &Scalar, marginals: &Marginals) -> Option<PosteriorMarginal> {
        let (c, unknown, less) = value.multiple_or_complement()?;
        let (variable, number) = (unknown.variable, unknown.element as usize);
        let marginal = marginals.0.of(variable, number)?;
        let PosteriorMarginal::Closed(marginal) =
            self.widened(marginal, &[(variable, number, 1.0)]).ok()?
        else {
            return None;
        };
        Some(PosteriorMarginal::Closed(match (marginal, less) {
            (Marginal::Gamma { shape, rate }, false) if c > 0.0 => {
                let rate = rate / c;
                Marginal::Gamma { shape, rate }
            }
            (Marginal::Beta { a, b }, false) if c == 1.0 => Marginal::Beta { a, b },
            (Marginal::Beta { a, b }, true) if c == -1.0 => Marginal::Beta { a: b, b: a },
            _ => return None,
        }))
    }
}

fn normal(mean: f64, variance: f64) -> Option<PosteriorMarginal> {
    let sd = variance.sqrt();
    sd.is_finite()
        .then_some(PosteriorMarginal::Closed(Marginal::Normal { mean, sd }))
}
