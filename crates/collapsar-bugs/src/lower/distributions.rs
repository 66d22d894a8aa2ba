//! The terms of each distribution of single numbers, and who adds those of others.

use collapsar::Potential;
use collapsar::family::TruncatedNormal;
use collapsar::graph::{Atom, Kind};
use collapsar::special::{ln_beta, ln_gamma};

use super::Halt;
use super::emit::{Emit, Rate};
use crate::diagnostic::Diagnostic;
use crate::distribution::Distribution;
use crate::elaborate::Sampling;
use crate::value::{Item, Product, Unknown, Value};

pub(super) const LN_2PI: f64 = 1.837_877_066_409_345_6;

impl Emit<'_> {
    /// Adds all terms of the line's distribution.
    pub(super) fn distribution(&mut self, x: &[Item], arguments: &[Value]) -> Result<(), Halt> {
        let Sampling {
            distribution, name, ..
        } = self.of;
        if x.len() > 1 && !distribution.is_multivariate() {
            let (count, name) = (x.len(), &name.text);
            return Err(Diagnostic::new(
                self.target,
                format!("{count} elements for {name}, which gives a single number"),
                "dimension mismatch",
            )
            .into());
        }
        let value = &x[0];
        let single = |place: usize| arguments.get(place).and_then(Value::single);
        let [first, second] = [0, 1].map(|place| single(place).unwrap_or(&Item::Opaque));
        match distribution {
            Distribution::Normal => self.normal(value, first, second),
            Distribution::MultivariateNormal => {
                self.multivariate_normal(x, &arguments[0], &arguments[1])
            }
            Distribution::NormalMixture => self.normal_mixture(value, arguments),
            Distribution::Interval => self.interval(value, first, &arguments[1]),
            Distribution::Gamma => {
                let shape = self.positive(0, first)?;
                let rate = self.rate(1, second)?;
                self.gamma(value, shape, &rate)
            }
            Distribution::Exponential => {
                let rate = self.rate(0, first)?;
                self.gamma(value, 1.0, &rate)
            }
            Distribution::ChiSquared => {
                let shape = 0.5 * self.positive(0, first)?;
                self.gamma(value, shape, &Rate::constant(0.5))
            }
            Distribution::Wishart => self.wishart(x, &arguments[0], second),
            Distribution::Beta => {
                let (a, b) = (self.positive(0, first)?, self.positive(1, second)?);
                self.beta(value, a, b)
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
        }
    }

    pub(super) fn positive(&self, argument: usize, item: &Item) -> Result<f64, Halt> {
        let value = self.constant(argument, item)?;
        if value > 0.0 && value.is_finite() {
            Ok(value)
        } else {
            Err(self.parameter(argument, value, "a positive number").into())
        }
    }

    /// An observed count.
    pub(super) fn count(&self, value: &Item) -> Result<f64, Halt> {
        match value {
            Item::Known(count) if *count >= 0.0 && count.fract() == 0.0 => Ok(*count),
            Item::Known(_) => Err(self.outside().into()),
            _ => Err(Diagnostic::new(
                self.target,
                format!(
                    "{} that is not observed has no conjugate family",
                    self.of.name.text
                ),
                "not data",
            )
            .into()),
        }
    }

    fn normal(&mut self, x: &Item, mean: &Item, precision: &Item) -> Result<(), Halt> {
        let rate = self.rate(1, precision)?;
        self.gaussian_sum(0, mean)?;
        if let Some((lower, upper, within)) = self.bounds {
            self.truncate(x, mean, &rate, (lower, upper), within)?;
        }
        let residual = x.minus(mean);
        self.add(-0.5 * LN_2PI, &[])?;
        self.add_ln(0.5, &rate)?;
        self.add_product(-0.5, &rate, &residual, &residual)
    }

    /// Bounds a normal variable, or checks that an observed one is within bounds.
    fn truncate(
        &mut self,
        x: &Item,
        mean: &Item,
        rate: &Rate,
        (lower, upper): (f64, f64),
        within: bool,
    ) -> Result<(), Halt> {
        match x {
            Item::Known(x) if (lower..=upper).contains(x) => {}
            Item::Known(_) => return Err(self.outside().into()),
            item => {
                let variable = self.own(item, "a number")?.variable;
                self.sink.bounds.push((variable, lower, upper));
            }
        }
        if within {
            let (Some(mean), true) = (mean.known(), rate.gammas.is_empty()) else {
                let argument = usize::from(mean.known().is_some());
                let reason = "a truncated normal's mean and precision must be constant";
                return Err(self.edge(argument, reason).into());
            };
            let natural = [rate.coefficient * mean, rate.coefficient];
            let log_partition = TruncatedNormal::new(lower, upper)
                .and_then(|family| family.value_and_gradient(&natural, &mut [0.0; 2]))
                .map_err(|error| Diagnostic::new(self.target, error.to_string(), "truncated"))?;
            // Against that of the whole line.
            let whole = 0.5 * (LN_2PI - rate.coefficient.ln() + rate.coefficient * mean * mean);
            self.add(whole - log_partition, &[])?;
        }
        Ok(())
    }

    /// A mixture of normal distributions with a hidden label.
    fn normal_mixture(&mut self, x: &Item, arguments: &[Value]) -> Result<(), Halt> {
        let states = arguments[0].items.len();
        let (Some(variable), Item::Known(_)) = (self.variables.hidden(self.line, self.instance), x)
        else {
            return Err(Diagnostic::new(
                self.target,
                "dnormmix that is not observed is not supported",
                "not data",
            )
            .help("write the label out: z[i] ~ dcat(pi[]) and x[i] ~ dnorm(mu[z[i]], tau[z[i]])")
            .into());
        };
        if arguments[1].items.len() != states || arguments[2].items.len() != states {
            return Err(self.mismatch(states, arguments[2].items.len()));
        }
        for state in 0..states {
            self.states.push(Atom {
                variable,
                part: state as u32,
            });
            self.add_ln_share(1.0, 2, &arguments[2].items[state])?;
            self.normal(x, &arguments[0].items[state], &arguments[1].items[state])?;
            self.states.pop();
        }
        Ok(())
    }

    /// An interval that a number is in: its lower end is open, its upper closed.
    fn interval(&mut self, place: &Item, x: &Item, cuts: &Value) -> Result<(), Halt> {
        let place = self.count(place)? as usize;
        let cuts = self.constants(1, cuts)?;
        if place > cuts.len() {
            return Err(self.outside().into());
        }
        let lower = if place == 0 {
            f64::NEG_INFINITY
        } else {
            cuts[place - 1]
        };
        let upper = cuts.get(place).copied().unwrap_or(f64::INFINITY);
        match x {
            Item::Known(x) if *x > lower && *x <= upper => Ok(()),
            Item::Known(_) => Err(self.outside().into()),
            item => {
                let reason = "dinterval must see a normal variable that is not observed";
                let unknown = self.own(item, "a number");
                let unknown = unknown.map_err(|_| Halt::from(self.edge(0, reason)))?;
                if self.variables.kind(unknown.variable) != Kind::Bounded {
                    return Err(self.edge(0, reason).into());
                }
                self.sink.bounds.push((unknown.variable, lower, upper));
                Ok(())
            }
        }
    }

    fn gamma(&mut self, x: &Item, shape: f64, rate: &Rate) -> Result<(), Halt> {
        self.add(-ln_gamma(shape), &[])?;
        self.add_ln(shape, rate)?;
        match x {
            Item::Known(x) if *x > 0.0 => {
                self.add((shape - 1.0) * x.ln(), &[])?;
                self.add_times(-x, rate, &[one()])
            }
            Item::Known(_) => Err(self.outside().into()),
            item => {
                let variable = self.own(item, "positive")?.variable;
                self.add(shape - 1.0, &[Atom { variable, part: 0 }])?;
                self.add_times(-1.0, rate, &item.products().unwrap_or_default())
            }
        }
    }

    /// The unknown that the target is.
    fn own(&self, item: &Item, what: &str) -> Result<Unknown, Halt> {
        let products = item.products().unwrap_or_default();
        match products.as_slice() {
            [product] if product.unknowns.len() == 1 => Ok(product.unknowns[0]),
            _ => Err(
                Diagnostic::new(self.target, format!("a target that is not {what}"), "here").into(),
            ),
        }
    }

    fn uniform(&mut self, x: &Item, low: &Item, high: &Item) -> Result<(), Halt> {
        let (low, high) = (self.constant(0, low)?, self.constant(1, high)?);
        match x {
            Item::Known(x) if (low..=high).contains(x) => self.add(-(high - low).ln(), &[]),
            Item::Known(_) => self.add(f64::NEG_INFINITY, &[]),
            item if (low, high) == (0.0, 1.0) => self.beta(item, 1.0, 1.0),
            _ => Err(Diagnostic::new(
                self.of.name.span,
                format!("a prior dunif({low}, {high}) has no conjugate family"),
                "not conjugate",
            )
            .help("dunif(0, 1) is a beta prior; for others try dnorm, dgamma or dbeta")
            .into()),
        }
    }

    fn beta(&mut self, x: &Item, a: f64, b: f64) -> Result<(), Halt> {
        self.add(-ln_beta(a, b), &[])?;
        match x {
            Item::Known(x) if *x > 0.0 && *x < 1.0 => {
                self.add((a - 1.0) * x.ln() + (b - 1.0) * (-x).ln_1p(), &[])
            }
            Item::Known(_) => Err(self.outside().into()),
            item => {
                let variable = self.own(item, "a share")?.variable;
                self.add(a - 1.0, &[Atom { variable, part: 0 }])?;
                self.add(b - 1.0, &[Atom { variable, part: 1 }])
            }
        }
    }

    fn dirichlet(&mut self, x: &[Item], prior: &Value) -> Result<(), Halt> {
        if prior.items.len() != x.len() {
            return Err(self.mismatch(x.len(), prior.items.len()));
        }
        let mut total = 0.0;
        for (x, prior) in x.iter().zip(&prior.items) {
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
                Item::Known(x) if *x > 0.0 => self.add((prior - 1.0) * x.ln(), &[])?,
                Item::Known(_) => return Err(self.outside().into()),
                item => {
                    let unknown = self.own(item, "a share")?;
                    let atom = Atom {
                        variable: unknown.variable,
                        part: unknown.element,
                    };
                    self.add(prior - 1.0, &[atom])?;
                }
            }
        }
        if total == 0.0 {
            return Err(self
                .parameter(0, 0.0, "one positive concentration at least")
                .into());
        }
        self.add(ln_gamma(total), &[])
    }

    pub(super) fn mismatch(&self, elements: usize, parameters: usize) -> Halt {
        Diagnostic::new(
            self.target,
            format!(
                "{elements} elements with {parameters} parameters of {}",
                self.of.name.text
            ),
            "dimension mismatch",
        )
        .into()
    }
}

/// The empty product.
pub(super) fn one() -> Product {
    Product {
        coefficient: 1.0,
        unknowns: vec![],
    }
}
