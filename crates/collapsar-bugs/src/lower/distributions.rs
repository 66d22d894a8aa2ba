//! The terms of each distribution of single numbers, and who adds those of others.

use collapsar::Potential;
use collapsar::elementary::Elementary;
use collapsar::family::TruncatedNormal;
use collapsar::graph::{Atom, Kind};
use collapsar::special::{ln_beta, ln_gamma};

use super::emit::{Emit, Rate};
use super::within::may_be_bounded;
use crate::diagnostic::Diagnostic;
use crate::distribution::Distribution;
use crate::elaborate::{Resolved, Unresolved};
use crate::value::{Scalar, Unknown, Value};

pub(super) const LN_2PI: f64 = 1.837_877_066_409_345_6;

impl Emit<'_> {
    /// Adds all terms of the line's distribution.
    pub(super) fn distribution(&mut self, x: &[Scalar], arguments: &[Value]) -> Resolved {
        let distribution = self.line.of.distribution;
        let expanded: Vec<Value>;
        let arguments = if distribution.has_probabilities() {
            arguments
        } else {
            expanded = arguments.iter().map(multiplied_out).collect();
            &expanded
        };
        if x.len() > 1 && !distribution.is_multivariate() {
            let (count, name) = (x.len(), &self.line.of.name.text);
            let message = format!("{count} elements for {name}, which gives a single number");
            return Err(Diagnostic::new(self.line.target, message, "dimension mismatch").into());
        }
        let many = |value: &Value| value.elements.len() != 1;
        if distribution.takes_single_numbers()
            && let Some(place) = arguments.iter().position(many)
        {
            let (count, name) = (arguments[place].elements.len(), &self.line.of.name.text);
            let message = format!("{count} elements where {name} takes one number");
            let span = self.line.of.arguments[place].span;
            return Err(Diagnostic::new(span, message, "dimension mismatch").into());
        }
        let value = &x[0];
        let single = |place: usize| arguments.get(place).and_then(Value::single);
        let all = [0, 1, 2].map(|place| single(place).unwrap_or(&Scalar::Opaque));
        let [first, second, _] = all;
        if !distribution.is_multivariate() && self.scale(value, arguments)? {
            return Ok(());
        }
        if distribution != Distribution::Normal && may_be_bounded(distribution) {
            self.within(value, arguments)?;
        }
        match distribution {
            Distribution::Normal => self.normal(value, first, second),
            // Improper: the logarithm of its density is taken to be 0.
            Distribution::Flat => self.check_flat(),
            // Positive numbers that are not known have been seen to.
            Distribution::LogNormal => self.log_normal_datum(value, first, second),
            Distribution::Pareto => self.pareto(value, first, second),
            Distribution::ScaledGamma => Err(self.not_prior().into()),
            Distribution::StudentT => self.student(value, all),
            Distribution::MultivariateNormal => {
                self.multivariate_normal(x, &arguments[0], &arguments[1])
            }
            Distribution::NormalMixture => self.normal_mixture(value, arguments),
            Distribution::Interval => self.interval(value, first, &arguments[1]),
            Distribution::Gamma => {
                let shape = self.positive(0, first)?;
                self.gamma(value, shape, &self.log_rate(1, second, shape)?)
            }
            Distribution::Exponential => self.gamma(value, 1.0, &self.log_rate(0, first, 1.0)?),
            Distribution::ChiSquared => {
                let shape = 0.5 * self.positive(0, first)?;
                self.gamma(value, shape, &Rate::constant(0.5))
            }
            Distribution::Wishart => self.wishart(x, &arguments[0], second),
            Distribution::Beta => {
                self.beta(value, self.positive(0, first)?, self.positive(1, second)?)
            }
            Distribution::Uniform => self.uniform(value, first, second),
            Distribution::Dirichlet => self.dirichlet(x, &arguments[0]),
            Distribution::Categorical => self.categorical(value, &arguments[0]),
            Distribution::Bernoulli => self.bernoulli(value, first),
            Distribution::Binomial => self.binomial(value, first, second),
            Distribution::Multinomial => self.multinomial(x, &arguments[0], second),
            Distribution::Poisson => self.poisson(value, first),
            Distribution::NegativeBinomial => self.negative_binomial(value, first, second),
            Distribution::Weibull => self.weibull(value, first, second),
            Distribution::Laplace => self.laplace(value, first, second),
            Distribution::Logistic => self.logistic_errors(value, first, second),
            Distribution::GeneralisedGamma => self.generalised_gamma(value, all),
            Distribution::F => self.f(value, first, second),
            Distribution::NoncentralChiSquared => self.noncentral_chi_squared(value, first, second),
            Distribution::BetaBinomial => self.beta_binomial(value, all),
        }
    }

    pub(super) fn normal(&mut self, x: &Scalar, mean: &Scalar, precision: &Scalar) -> Resolved {
        let rate = self.rate(1, precision)?;
        if self.is_skewed(mean) {
            return self.skewed(x, mean, &rate);
        }
        self.check_mean(mean)?;
        if let Some((lower, upper, normalised)) = self.bounds {
            self.truncate(x, mean, &rate, (lower, upper), normalised)?;
        }
        let residual = x.minus(mean);
        self.add(-0.5 * LN_2PI, &[])?;
        self.add_ln(0.5, &rate)?;
        self.add_product(-0.5, &rate, &residual, &residual)
    }

    /// Refuses an improper prior of what no other line is about: there is no posterior.
    fn check_flat(&self) -> Resolved {
        let model = self.line.scope.model;
        let about = |other: &usize| {
            model.lines[*other].stochastic() && model.lines_above(*other).contains(&self.line.line)
        };
        if self.instance > 0 || (0..model.lines.len()).any(|other| about(&other)) {
            return Ok(());
        }
        let name = self.line.element(self.instance);
        let message = format!("no other line is about {name}, whose prior dflat() is improper");
        let help = "give it a proper prior, such as dnorm(0, 1.0E-6)";
        let complaint = Diagnostic::new(self.line.of.name.span, message, "no distribution");
        Err(complaint.help(help).into())
    }

    /// Bounds a normal variable, or checks that an observed one is within bounds.
    fn truncate(
        &mut self,
        x: &Scalar,
        mean: &Scalar,
        rate: &Rate,
        (lower, upper): (f64, f64),
        normalised: bool,
    ) -> Resolved {
        match x {
            Scalar::Known(x) if (lower..=upper).contains(x) => {}
            Scalar::Known(_) => return Err(self.outside().into()),
            x => {
                let variable = self.own(x, "a number")?.variable;
                self.sink.bounds.push((variable, lower, upper));
            }
        }
        if !normalised {
            return Ok(());
        }
        let (Some(mean), true) = (mean.known(), rate.factors.is_empty()) else {
            let argument = usize::from(mean.known().is_some());
            let reason = "a truncated normal's mean and precision must be constant";
            return Err(self.edge(argument, reason).into());
        };
        let natural = [rate.coefficient * mean, rate.coefficient];
        let log_partition = TruncatedNormal::new(lower, upper)
            .and_then(|family| family.value_and_gradient(&natural, &mut [0.0; 2]))
            .map_err(|error| Diagnostic::new(self.line.target, error.to_string(), "truncated"))?;
        // Against that of the whole line.
        let whole = 0.5 * (LN_2PI - rate.coefficient.ln_() + rate.coefficient * mean * mean);
        self.add(whole - log_partition, &[])
    }

    /// A mixture of normal distributions with a hidden label.
    fn normal_mixture(&mut self, x: &Scalar, arguments: &[Value]) -> Resolved {
        let label = self.line.variables.hidden(self.line.line, self.instance);
        let (Some(variable), Scalar::Known(_)) = (label, x) else {
            let message = "dnormmix that is not observed is not supported";
            let help =
                "write the label out: z[i] ~ dcat(pi[]) and x[i] ~ dnorm(mu[z[i]], tau[z[i]])";
            return Err(Diagnostic::new(self.line.target, message, "not data")
                .help(help)
                .into());
        };
        let [means, precisions, weights] = [0, 1, 2].map(|place: usize| &arguments[place].elements);
        if precisions.len() != means.len() || weights.len() != means.len() {
            return Err(self.mismatch(means.len(), weights.len()));
        }
        for (state, mean) in means.iter().enumerate() {
            let part = state as u32;
            self.states.push(Atom { variable, part });
            self.add_ln_probability(1.0, 2, &weights[state])?;
            self.normal(x, mean, &precisions[state])?;
            self.states.pop();
        }
        Ok(())
    }

    /// An interval that a number is in: its lower end is open, its upper closed.
    fn interval(&mut self, place: &Scalar, x: &Scalar, cuts: &Value) -> Resolved {
        let place = self.count(place)? as usize;
        let cuts = self.constants(1, cuts)?;
        if place > cuts.len() {
            return Err(self.outside().into());
        }
        let below = place.checked_sub(1);
        let lower = below.map_or(f64::NEG_INFINITY, |below| cuts[below]);
        let upper = cuts.get(place).copied().unwrap_or(f64::INFINITY);
        match x {
            Scalar::Known(x) if *x > lower && *x <= upper => Ok(()),
            Scalar::Known(_) => Err(self.outside().into()),
            Scalar::Opaque if self.is_censored() => Ok(()),
            x => {
                let own = self.own(x, "a number").ok();
                let bounded = |x: &Unknown| self.line.variables.kind(x.variable) == Kind::Bounded;
                let Some(x) = own.filter(bounded) else {
                    let reason = "dinterval must see a normal variable that is not observed";
                    return Err(self.edge(0, reason).into());
                };
                self.sink.bounds.push((x.variable, lower, upper));
                Ok(())
            }
        }
    }

    fn gamma(&mut self, x: &Scalar, shape: f64, rate: &Rate) -> Resolved {
        self.add(-ln_gamma(shape), &[])?;
        self.add_ln(shape, rate)?;
        match x {
            Scalar::Known(x) if *x > 0.0 => {
                self.add((shape - 1.0) * x.ln_(), &[])?;
                self.add_rate(-x, rate, &Scalar::Known(1.0))
            }
            Scalar::Known(_) => Err(self.outside().into()),
            x => {
                let variable = self.own(x, "positive")?.variable;
                if self.line.variables.kind(variable) == Kind::Bounded {
                    // An exponential variable that stands in means.
                    self.sink.bounds.push((variable, 0.0, f64::INFINITY));
                } else {
                    self.add(shape - 1.0, &[Atom { variable, part: 0 }])?;
                }
                self.add_rate(-1.0, rate, x)
            }
        }
    }

    /// A complaint about a distribution that is one of standard deviations and precisions alone.
    fn not_prior(&self) -> Diagnostic {
        let name = &self.line.of.name.text;
        let message =
            format!("{name} is supported as a prior of a standard deviation or a precision only");
        let help = "let it be the prior of what stands in a precision: y[i] ~ dnorm(mu, tau)";
        Diagnostic::new(self.line.of.name.span, message, "not such a prior").help(help)
    }

    /// The unknown that the target is.
    pub(super) fn own(&self, target: &Scalar, what: &str) -> Resolved<Unknown> {
        let own = match target {
            Scalar::Power(_, factors) => factors.first().map(|(unknown, _)| *unknown),
            target => target.multiple().map(|(_, unknown)| unknown),
        };
        own.ok_or_else(|| {
            let message = format!("a target that is not {what}");
            Diagnostic::new(self.line.target, message, "here").into()
        })
    }

    fn uniform(&mut self, x: &Scalar, low: &Scalar, high: &Scalar) -> Resolved {
        let (low, high) = self.ends(low, high)?;
        match x {
            Scalar::Known(x) if (low..=high).contains(x) => self.add(-(high - low).ln_(), &[]),
            Scalar::Known(_) => self.impossible(),
            x if self.is_bounded(x) => {
                let variable = self.own(x, "a number")?.variable;
                self.sink.bounds.push((variable, low, high));
                self.add(-(high - low).ln_(), &[])
            }
            x if (low, high) == (0.0, 1.0) => self.beta(x, 1.0, 1.0),
            _ => {
                let message = format!(
                    "a prior dunif({low}, {high}) of a probability has no conjugate family"
                );
                let help = "a probability may have the prior dunif(0, 1) or dbeta";
                let found = Diagnostic::new(self.line.of.name.span, message, "not conjugate");
                Err(found.help(help).into())
            }
        }
    }

    /// Whether a target is a real number between bounds.
    fn is_bounded(&self, x: &Scalar) -> bool {
        let own = x.multiple().map(|(_, unknown)| unknown.variable);
        own.is_some_and(|variable| self.line.variables.kind(variable) == Kind::Bounded)
    }

    fn beta(&mut self, x: &Scalar, a: f64, b: f64) -> Resolved {
        self.add(-ln_beta(a, b), &[])?;
        match x {
            Scalar::Known(x) if *x > 0.0 && *x < 1.0 => {
                self.add((a - 1.0) * x.ln_() + (b - 1.0) * (-x).ln_1p_(), &[])
            }
            Scalar::Known(_) => Err(self.outside().into()),
            // Counted in log odds, whose density is p^a (1 - p)^b (maths §9.10).
            odds if odds.is_logistic() => self.logistic(a, a + b, odds),
            x => {
                let variable = self.own(x, "a probability")?.variable;
                self.add(a - 1.0, &[Atom { variable, part: 0 }])?;
                self.add(b - 1.0, &[Atom { variable, part: 1 }])
            }
        }
    }

    fn dirichlet(&mut self, x: &[Scalar], prior: &Value) -> Resolved {
        if prior.elements.len() != x.len() {
            return Err(self.mismatch(x.len(), prior.elements.len()));
        }
        let mut total = 0.0;
        for (x, prior) in x.iter().zip(&prior.elements) {
            let prior = self.constant(0, prior)?;
            if prior == 0.0 {
                continue;
            }
            if prior.is_nan() || prior < 0.0 || prior.is_infinite() {
                return Err(self.parameter(0, prior, "positive concentrations").into());
            }
            total += prior;
            self.add(-ln_gamma(prior), &[])?;
            match x {
                Scalar::Known(x) if *x > 0.0 => self.add((prior - 1.0) * x.ln_(), &[])?,
                Scalar::Known(_) => return Err(self.outside().into()),
                x => {
                    let own = self.own(x, "a probability")?;
                    let (variable, part) = (own.variable, own.element);
                    self.add(prior - 1.0, &[Atom { variable, part }])?;
                }
            }
        }
        if total == 0.0 {
            let expected = "one positive concentration at least";
            return Err(self.parameter(0, 0.0, expected).into());
        }
        self.add(ln_gamma(total), &[])
    }

    pub(super) fn mismatch(&self, elements: usize, parameters: usize) -> Unresolved {
        let name = &self.line.of.name.text;
        let message = format!("{elements} elements with {parameters} parameters of {name}");
        Diagnostic::new(self.line.target, message, "dimension mismatch").into()
    }
}

/// The same with polynomials for products.
fn multiplied_out(value: &Value) -> Value {
    value.map(|element| match element {
        Scalar::Product(product) => product.expanded().unwrap_or(Scalar::Opaque),
        element => element.clone(),
    })
}
