//! The terms of priors of positive numbers that stand in another scale than the text's (maths §9.11).

use collapsar::Potential;
use collapsar::elementary::Elementary;
use collapsar::family::{Positive, Tail};
use collapsar::graph::{Atom, Kind, Told};
use collapsar::special::ln_gamma;

use super::distributions::LN_2PI;
use super::emit::{Emit, Rate};
use super::within::may_be_bounded;
use crate::diagnostic::Diagnostic;
use crate::distribution::Distribution;
use crate::elaborate::Resolved;
use crate::value::{Scalar, Value};

/// A prior $v^{a-1}e^{-bv}$ with a tail, between bounds.
struct Prior {
    shape: f64,
    rate: f64,
    tail: Tail,
    lower: f64,
    upper: f64,
    /// How many times the whole line's mass is that of the positive half.
    whole: f64,
}

impl Emit<'_> {
    /// Adds the terms of a number that is positive, where its line has such a number or bounds of one; whether it has.
    pub(super) fn scale(&mut self, x: &Scalar, arguments: &[Value]) -> Resolved<bool> {
        let variable = match x {
            Scalar::Known(_) => None,
            // What is counted from elsewhere is a sum, and no positive number.
            x => self.own(x, "a number").ok().map(|own| own.variable),
        };
        let kind = variable.map(|variable| self.line.variables.kind(variable));
        let distribution = self.line.of.distribution;
        let normal = matches!(distribution, Distribution::Normal | Distribution::Uniform);
        match (variable, kind) {
            (Some(variable), Some(Kind::Positive { .. })) => {
                let told = self.line.variables.told(variable);
                self.scale_prior(variable, told, arguments)?;
                Ok(true)
            }
            (None, _) if self.bounds.is_some() && !normal && !may_be_bounded(distribution) => {
                self.bounded_datum(x, arguments)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn scale_prior(&mut self, variable: u32, told: Told, arguments: &[Value]) -> Resolved {
        if !self.states.is_empty() {
            let reason = "a prior that a label decides about must be that of a gamma variable";
            return Err(self.edge(0, reason).into());
        }
        let single = |place: usize| arguments.get(place).and_then(Value::single);
        let [first, second] = [0, 1].map(|place| single(place).unwrap_or(&Scalar::Opaque));
        let (ln_x, distribution) = (Atom { variable, part: 0 }, self.line.of.distribution);
        let bounded = self.bounds.is_some();
        match (told, distribution) {
            (Told::Logarithm(factor), Distribution::Uniform) => {
                let (low, high) = self.ends(first, second)?;
                // dv = |g| dx / x
                self.add(factor.abs().ln_() - (high - low).ln_(), &[])?;
                self.add(-1.0, &[ln_x])?;
                self.bound_between(variable, (low / factor).exp_(), (high / factor).exp_());
                Ok(())
            }
            (Told::Logarithm(factor), _) => self.log_normal(variable, factor, first, second),
            (Told::Power(power), Distribution::LogNormal) if !bounded => {
                self.log_normal(variable, power, first, second)
            }
            (Told::Power(power), Distribution::Gamma | Distribution::Exponential) if !bounded => {
                let (argument, shape) = match distribution {
                    Distribution::Gamma => (1, self.positive(0, first)?),
                    _ => (0, 1.0),
                };
                let rate = self.rate(argument, [first, second][argument])?;
                if rate.factors.is_empty() && power.abs() != 1.0 {
                    return self.constant_prior(variable, power, arguments);
                }
                let part = match power {
                    1.0 => 1,
                    -1.0 => 2,
                    _ => return Err(self.must_be(argument, "constant").into()),
                };
                self.add(power.abs().ln_() - ln_gamma(shape), &[])?;
                self.add_ln(shape, &rate)?;
                self.add(shape * power - 1.0, &[ln_x])?;
                let mut atoms = rate.atoms();
                atoms.push(Atom { variable, part });
                self.add(-rate.coefficient, &atoms)
            }
            (Told::Power(power), _) => self.constant_prior(variable, power, arguments),
        }
    }

    /// A prior all of whose parameters are constant.
    fn constant_prior(&mut self, variable: u32, power: f64, arguments: &[Value]) -> Resolved {
        let prior = self.prior(arguments)?;
        self.add(power.abs().ln_() - self.ln_mass(&prior)?, &[])?;
        self.add(prior.shape * power - 1.0, &[Atom { variable, part: 0 }])?;
        let mut tail = match prior.tail {
            Tail::None => Tail::None,
            Tail::Exponential { rate, power: q } => Tail::Exponential {
                rate,
                power: q * power,
            },
            Tail::Student {
                weight,
                scale,
                power: q,
            } => Tail::Student {
                weight,
                scale,
                power: q * power,
            },
        };
        if prior.rate > 0.0 {
            if power == 1.0 {
                self.add(-prior.rate, &[Atom { variable, part: 1 }])?;
            } else {
                tail = Tail::Exponential {
                    rate: prior.rate,
                    power,
                };
            }
        }
        if tail != Tail::None {
            self.sink.tails.push((variable, tail));
        }
        let exponent = 1.0 / power;
        self.bound_between(
            variable,
            prior.lower.powf_(exponent),
            prior.upper.powf_(exponent),
        );
        Ok(())
    }

    /// ln v is normal with this mean and this precision, where it is a multiple of ln x.
    fn log_normal(
        &mut self,
        variable: u32,
        factor: f64,
        mean: &Scalar,
        precision: &Scalar,
    ) -> Resolved {
        let rate = self.rate(1, precision)?;
        self.check_mean(mean)?;
        self.add(factor.abs().ln_() - 0.5 * LN_2PI, &[])?;
        self.add_ln(0.5, &rate)?;
        let [ln_x, square] = [0, 3].map(|part| Atom { variable, part });
        self.add(-1.0, &[ln_x])?;
        let with = |atom: Atom| {
            let mut atoms = rate.atoms();
            atoms.push(atom);
            atoms
        };
        self.add(-0.5 * factor * factor * rate.coefficient, &with(square))?;
        self.add_times(factor * rate.coefficient, with(ln_x), mean)?;
        self.add_product(-0.5, &rate, mean, mean)
    }

    /// A datum between bounds.
    fn bounded_datum(&mut self, x: &Scalar, arguments: &[Value]) -> Resolved {
        let prior = self.prior(arguments)?;
        let x = self.constant(0, x)?;
        if x <= 0.0 || x < prior.lower || x > prior.upper {
            return Err(self.outside().into());
        }
        let value = (prior.shape - 1.0) * x.ln_() - prior.rate * x + prior.tail.ln_value(x.ln_());
        self.add(value - self.ln_mass(&prior)?, &[])
    }

    /// The density of a line with constant parameters.
    fn prior(&self, arguments: &[Value]) -> Resolved<Prior> {
        let single = |place: usize| arguments.get(place).and_then(Value::single);
        let number = |place: usize| self.constant(place, single(place).unwrap_or(&Scalar::Opaque));
        let positive =
            |place: usize| self.positive(place, single(place).unwrap_or(&Scalar::Opaque));
        let centred = || -> Resolved {
            if number(0)? == 0.0 {
                return Ok(());
            }
            Err(self
                .parameter(0, number(0)?, "0 where a standard deviation has this prior")
                .into())
        };
        let (mut shape, mut rate, mut tail) = (1.0, 0.0, Tail::None);
        let (mut lower, mut upper) = (0.0_f64, f64::INFINITY);
        let mut both = false;
        match self.line.of.distribution {
            Distribution::Uniform => {
                (lower, upper) = (number(0)?, number(1)?);
                let inside = 0.0 <= lower && lower < upper && upper.is_finite();
                if !inside {
                    let expected = "0 or more where it is a standard deviation or a precision";
                    return Err(self.parameter(0, lower, expected).into());
                }
            }
            Distribution::Gamma => (shape, rate) = (positive(0)?, positive(1)?),
            Distribution::Exponential => rate = positive(0)?,
            Distribution::ChiSquared => (shape, rate) = (0.5 * positive(0)?, 0.5),
            Distribution::Normal => {
                centred()?;
                both = true;
                tail = Tail::Exponential {
                    rate: 0.5 * positive(1)?,
                    power: 2.0,
                };
            }
            Distribution::StudentT => {
                centred()?;
                both = true;
                let freedom = positive(2)?;
                tail = Tail::Student {
                    weight: 0.5 * (freedom + 1.0),
                    scale: positive(1)? / freedom,
                    power: 2.0,
                };
            }
            Distribution::ScaledGamma => {
                // τ^{-1/2} is that of a half-t: dσ = ½ τ^{-3/2} dτ.
                let (scale, freedom) = (positive(0)?, positive(1)?);
                shape = -0.5;
                tail = Tail::Student {
                    weight: 0.5 * (freedom + 1.0),
                    scale: 1.0 / (scale * scale * freedom),
                    power: -1.0,
                };
            }
            Distribution::Pareto => {
                shape = -positive(0)?;
                lower = positive(1)?;
            }
            _ => {
                let message = "bounds of dlnorm are not supported";
                return Err(Diagnostic::new(self.line.target, message, "here").into());
            }
        }
        let whole = match self.bounds {
            Some((_, _, false)) if both => 2.0,
            _ => 1.0,
        };
        if let Some((low, high, _)) = self.bounds {
            if both && low < 0.0 {
                let expected = "bounds of 0 or more, as in T(0,)";
                return Err(self.parameter(0, low, expected).into());
            }
            (lower, upper) = (lower.max(low), upper.min(high));
        }
        if lower >= upper {
            let message = format!("bounds of {lower} and {upper}");
            return Err(Diagnostic::new(self.line.target, message, "nothing is between").into());
        }
        Ok(Prior {
            shape,
            rate,
            tail,
            lower,
            upper,
            whole,
        })
    }

    /// The logarithm of the mass that a prior is divided by: within its bounds, or without them where they only say
    /// that a number is there.
    fn ln_mass(&self, prior: &Prior) -> Resolved<f64> {
        let cut = !matches!(self.bounds, Some((_, _, false)));
        let (lower, upper) = match self.line.of.distribution {
            Distribution::Uniform | Distribution::Pareto => (prior.lower, prior.upper),
            _ if cut => (prior.lower, prior.upper),
            _ => (0.0, f64::INFINITY),
        };
        let natural = [prior.shape, prior.rate, 0.0, 0.0];
        let mass = Positive::new(lower, upper)
            .and_then(|family| family.with_tail(prior.tail))
            .and_then(|family| family.value_and_gradient(&natural, &mut [0.0; 4]));
        let mass =
            mass.map_err(|error| Diagnostic::new(self.line.target, error.to_string(), "no prior"))?;
        Ok(mass + prior.whole.ln_())
    }

    /// Bounds a variable by two numbers, whichever is the smaller.
    fn bound_between(&mut self, variable: u32, one: f64, other: f64) {
        let (lower, upper) = (one.min(other), one.max(other));
        self.sink.bounds.push((variable, lower, upper));
    }

    /// The ends of a uniform distribution.
    pub(super) fn ends(&self, low: &Scalar, high: &Scalar) -> Resolved<(f64, f64)> {
        let (low, high) = (self.constant(0, low)?, self.constant(1, high)?);
        if low < high && (high - low).is_finite() {
            return Ok((low, high));
        }
        let expected = "an upper end above the lower";
        Err(self.parameter(1, high, expected).into())
    }

    /// A half-t variable that stands in means: normal given a gamma variable, between bounds.
    pub(super) fn half_student(
        &mut self,
        x: &Scalar,
        [mean, precision, freedom]: [&Scalar; 3],
    ) -> Resolved {
        let (precision, half) = (
            self.positive(1, precision)?,
            0.5 * self.positive(2, freedom)?,
        );
        let bounds = self.bounds;
        let (Some((0.0, f64::INFINITY, normalised)), Some(0.0)) = (bounds, mean.known()) else {
            let reason =
                "a dt prior of what stands in means must have the mean 0 and the bounds T(0,)";
            return Err(self.edge(0, reason).into());
        };
        let own = self.own(x, "a number")?.variable;
        self.sink.bounds.push((own, 0.0, f64::INFINITY));
        let weight = self.hidden("the weights", Kind::Gamma)?;
        let rate = Rate {
            coefficient: precision,
            factors: vec![(weight, false)],
            predictor: None,
        };
        let twice = if normalised { 2.0_f64.ln_() } else { 0.0 };
        self.add(twice - 0.5 * LN_2PI, &[])?;
        self.add_ln(0.5, &rate)?;
        self.add_product(-0.5, &rate, x, x)?;
        self.add(half * half.ln_() - ln_gamma(half), &[])?;
        let [ln_weight, weight] = [0, 1].map(|part| Atom {
            variable: weight,
            part,
        });
        self.add(half - 1.0, &[ln_weight])?;
        self.add(-half, &[weight])
    }
}
