//! How rates whose logarithms are linear predictors become terms: by exponentials of Gaussians (maths §9.14).

use collapsar::elementary::Elementary;
use collapsar::graph::{Atom, Kind, Predictor};
use collapsar::special::ln_gamma;

use super::emit::{Emit, Rate, slope};
use crate::elaborate::{Resolved, Unresolved};
use crate::value::{Inverse, Monomial, Scalar, Unknown};

/// A linear predictor as a rate has it, and about what the rate times what it is multiplied by is.
pub(super) struct LogLinear {
    offset: f64,
    slopes: Vec<(u32, f64)>,
    about: f64,
}

/// Multiplies rates of a softmax, whose sum alone matters, by one number: so that one that is known, or their mean, is about its
/// count. Then the gamma variable of the sum is near one, and a fit begins near the data, whatever the predictors are counted from.
fn scale_together(rates: &mut [Rate], counts: &[f64]) {
    let known = rates.iter().zip(counts);
    let mut known = known.filter(|(rate, _)| rate.predictor.is_none() && rate.factors.is_empty());
    let more = if let Some((rate, count)) = known.next() {
        (count + 0.5).ln_() - rate.coefficient.ln_()
    } else {
        let size = rates.len() as f64;
        let offset = |rate: &Rate| {
            rate.coefficient.ln_() + rate.predictor.as_ref().map_or(0.0, |of| of.offset)
        };
        let mean = rates.iter().map(offset).sum::<f64>() / size;
        (counts.iter().sum::<f64>() / size + 0.5).ln_() - mean
    };
    for rate in rates {
        match &mut rate.predictor {
            Some(predictor) => predictor.offset += more,
            None => rate.coefficient *= more.exp_(),
        }
    }
}

impl Emit<'_> {
    /// A rate: a constant or a product of positive variables, times the exponential of a linear predictor where there is
    /// one; a term with it is about as large as `about`.
    pub(super) fn log_rate(&self, argument: usize, rate: &Scalar, about: f64) -> Resolved<Rate> {
        let (scale, predictor) = match rate {
            Scalar::Linked(Inverse::Log, predictor) => (Scalar::Known(1.0), predictor),
            Scalar::Scaled(scale, predictor) => (scale.as_ref().clone(), predictor),
            Scalar::Linked(..) | Scalar::Pair(_) | Scalar::Share(_) | Scalar::Opaque => {
                let what = "a constant, a product of gamma variables, or either of them times the exponential of a \
                            linear predictor";
                return Err(self.must_be(argument, what).into());
            }
            _ => return self.rate(argument, rate),
        };
        // Logarithms of positive variables are factors of the rate.
        let positive = |of: &&Monomial| match of.unknowns.as_slice() {
            [unknown] => self.is_logarithm(*unknown),
            _ => false,
        };
        let (factors, rest): (Vec<&Monomial>, Vec<&Monomial>) =
            predictor.iter().partition(positive);
        let factors: Vec<Monomial> = factors.into_iter().cloned().collect();
        let scale = match Scalar::of(factors) {
            Scalar::Polynomial(factors) => scale.times(&Scalar::Linked(Inverse::Log, factors)),
            _ => scale,
        };
        let mut rate = self.rate(argument, &scale)?;
        let mut found = LogLinear {
            offset: 0.0,
            slopes: vec![],
            about,
        };
        for monomial in &rest {
            match monomial.unknowns.as_slice() {
                [] => found.offset = monomial.coefficient,
                [unknown] => {
                    let variable = self.gaussian(argument, *unknown)?;
                    found.slopes.push((variable, monomial.coefficient));
                }
                _ => {
                    let what = "log-linear predictor must be linear in Gaussian variables, and this one holds products \
                                of them";
                    return Err(self.edge_of(argument, what).into());
                }
            }
        }
        if found.offset.is_nan() || found.offset == f64::INFINITY {
            let expected = "an offset of a log-linear predictor that is a number";
            return Err(self.parameter(argument, found.offset, expected).into());
        }
        let slopes = rest.into_iter().filter_map(slope);
        self.line.slopes.borrow_mut().extend(slopes);
        if found.slopes.is_empty() {
            rate.coefficient *= found.offset.exp_();
        } else {
            rate.predictor = Some(found);
        }
        Ok(rate)
    }

    /// The variable of a number that a predictor is linear in.
    fn gaussian(&self, argument: usize, unknown: Unknown) -> Resolved<u32> {
        match self.line.variables.kind(unknown.variable) {
            Kind::Gaussian => Ok(unknown.variable),
            Kind::NormalWishart(_) => Err(self.apart(unknown.variable)),
            _ => {
                let what =
                    "log-linear predictor must be linear in Gaussian variables without bounds";
                Err(self.edge_of(argument, what).into())
            }
        }
    }

    /// A negative binomial count by a gamma variable of its own, given which it is a Poisson count: with the odds e^ω of its
    /// probability, the rate is u e^{-ω} with u ~ Gamma(size, 1) (maths §9.14).
    pub(super) fn poisson_gamma(&mut self, x: f64, size: f64, p: &Scalar) -> Resolved {
        let variable = self.hidden_in_any_state("the rates", Kind::Gamma)?;
        let [ln_u, u] = [0, 1].map(|part| Atom { variable, part });
        self.add(-ln_gamma(size), &[])?;
        self.add(size - 1.0, &[ln_u])?;
        self.add(-1.0, &[u])?;
        let odds = match p {
            Scalar::Linked(Inverse::Logit, odds) => odds,
            // A probability of one: there is nothing to count.
            Scalar::Known(1.0) if x > 0.0 => return self.impossible(),
            Scalar::Known(p) => {
                let ln_ways = ln_gamma(x + size) - ln_gamma(size) - ln_gamma(x + 1.0);
                let ln_others = if x > 0.0 { x * (-p).ln_1p_() } else { 0.0 };
                return self.add(ln_ways + size * p.ln_() + ln_others, &[]);
            }
            _ => return self.impossible(),
        };
        let odds = Scalar::Linked(Inverse::Log, odds.clone());
        let mut rate = self.log_rate(0, &Scalar::Known(1.0).over(&odds), x + 0.5)?;
        rate.factors.push((variable, false));
        self.add(-ln_gamma(x + 1.0), &[])?;
        self.add_ln(x, &rate)?;
        self.add_rate(-1.0, &rate, &Scalar::Known(1.0))
    }

    /// Counts with probabilities that are exponentials over their sum S, by a gamma variable of their own:
    /// Γ(n) S⁻ⁿ = ∫ u^{n-1} e^{-uS} du, given which they are as Poisson counts (maths §9.14).
    pub(super) fn softmax(&mut self, counts: &[f64], parts: &[&Scalar]) -> Resolved {
        let n: f64 = counts.iter().sum();
        if n == 0.0 {
            return Ok(());
        }
        let variable = self.hidden_in_any_state("the rates", Kind::Gamma)?;
        self.add(-ln_gamma(n), &[])?;
        self.add(n - 1.0, &[Atom { variable, part: 0 }])?;
        let rates = counts.iter().zip(parts);
        let mut rates: Vec<Rate> = rates
            .map(|(count, part)| self.log_rate(0, part, count + 0.5))
            .collect::<Resolved<_>>()?;
        scale_together(&mut rates, counts);
        for (count, mut rate) in counts.iter().zip(rates) {
            self.add_ln(*count, &rate)?;
            rate.factors.push((variable, false));
            self.add_rate(-1.0, &rate, &Scalar::Known(1.0))?;
        }
        Ok(())
    }

    /// Adds `power` times a predictor.
    pub(super) fn add_predictor(&mut self, power: f64, predictor: &LogLinear) -> Resolved {
        if power == 0.0 {
            return Ok(());
        }
        self.add(power * predictor.offset, &[])?;
        for &(variable, slope) in &predictor.slopes {
            self.add(power * slope, &[Atom { variable, part: 0 }])?;
        }
        Ok(())
    }

    /// Adds `coefficient` times atoms times the exponential of a predictor.
    pub(super) fn add_exponential(
        &mut self,
        coefficient: f64,
        atoms: &[Atom],
        predictor: &LogLinear,
    ) -> Resolved {
        // Rows have no exponentials.
        if self.line.hidden.shared.get() {
            return Err(Unresolved::State(u32::MAX));
        }
        let atoms = [self.states.as_slice(), atoms].concat();
        let predictor = Predictor {
            offset: predictor.offset,
            slopes: predictor.slopes.clone(),
            about: predictor.about,
        };
        self.sink.exponentials.push((coefficient, atoms, predictor));
        Ok(())
    }
}
