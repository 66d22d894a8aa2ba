//! The terms of each distribution of single numbers, and who adds those of others.

use collapsar::Potential;
use collapsar::family::TruncatedNormal;
use collapsar::graph::{Atom, Kind};
use collapsar::special::{ln_beta, ln_gamma};

use super::Halt;
use super::emit::{Emit, Rate};
use crate::diagnostic::Diagnostic;
use crate::value::{Item, Product, Unknown, Value};

pub(super) const LN_2PI: f64 = 1.837_877_066_409_345_6;

/// Names of distributions with the number of their parameters.
const KNOWN: [(&str, usize); 24] = [
    ("dnorm", 2),
    ("dmnorm", 2),
    ("dgamma", 2),
    ("dexp", 1),
    ("dchisqr", 1),
    ("dchisq", 1),
    ("dwish", 2),
    ("dbeta", 2),
    ("dunif", 2),
    ("ddirch", 1),
    ("ddirich", 1),
    ("dcat", 1),
    ("dbern", 1),
    ("dbin", 2),
    ("dbinom", 2),
    ("dmulti", 2),
    ("dpois", 1),
    ("dnegbin", 2),
    ("dnbinom", 2),
    ("dweib", 2),
    ("dweibull", 2),
    ("dmultinom", 2),
    ("dnormmix", 3),
    ("dinterval", 2),
];

/// Names of JAGS and R for others of the list.
const SYNONYMS: [&str; 6] = [
    "dchisq",
    "ddirich",
    "dbinom",
    "dmultinom",
    "dnbinom",
    "dweibull",
];

/// How many parameters a distribution has.
pub(super) fn parameters(name: &str) -> Option<usize> {
    let known = KNOWN.iter().find(|(known, _)| *known == name);
    known.map(|(_, count)| *count)
}

impl Emit<'_> {
    /// Adds all terms of the line's distribution.
    pub(super) fn distribution(&mut self, x: &[Item], arguments: &[Value]) -> Result<(), Halt> {
        let name = self.distribution.text.as_str();
        self.check(name, arguments)?;
        let single = |place: usize| arguments[place].single();
        let [first, second] = [0, 1].map(|place| {
            arguments
                .get(place)
                .and_then(|_| single(place))
                .unwrap_or(&Item::Opaque)
        });
        let value = &x[0];
        if x.len() > 1
            && !matches!(
                name,
                "dmnorm" | "dwish" | "dmulti" | "dmultinom" | "ddirch" | "ddirich"
            )
        {
            return Err(Diagnostic::new(
                self.target,
                format!(
                    "{} elements for {name}, which gives a single number",
                    x.len()
                ),
                "dimension mismatch",
            )
            .into());
        }
        match name {
            "dnorm" => self.normal(value, first, second),
            "dmnorm" => self.multivariate_normal(x, &arguments[0], &arguments[1]),
            "dnormmix" => self.normal_mixture(value, arguments),
            "dinterval" => self.interval(value, first, &arguments[1]),
            "dgamma" => {
                let shape = self.positive(0, first, "shape")?;
                let rate = self.rate(1, second, "rate")?;
                self.gamma(value, shape, &rate)
            }
            "dexp" => {
                let rate = self.rate(0, first, "rate")?;
                self.gamma(value, 1.0, &rate)
            }
            "dchisqr" | "dchisq" => {
                let shape = 0.5 * self.positive(0, first, "degrees of freedom")?;
                let rate = Rate {
                    coefficient: 0.5,
                    gammas: vec![],
                };
                self.gamma(value, shape, &rate)
            }
            "dwish" => self.wishart(x, &arguments[0], second),
            "dbeta" => {
                let (a, b) = (
                    self.positive(0, first, "first shape")?,
                    self.positive(1, second, "second shape")?,
                );
                self.beta(value, a, b)
            }
            "dunif" => {
                let (low, high) = (
                    self.constant(0, first, "lower end")?,
                    self.constant(1, second, "upper end")?,
                );
                if (low, high) != (0.0, 1.0) && value.known().is_none() {
                    return Err(Diagnostic::new(
                        self.distribution.span,
                        format!("a prior dunif({low}, {high}) has no conjugate family"),
                        "not conjugate",
                    )
                    .help("dunif(0, 1) is a beta prior; for others try dnorm, dgamma or dbeta")
                    .into());
                }
                if let Item::Known(x) = value {
                    let inside = (low..=high).contains(x);
                    return self.add(
                        if inside {
                            -(high - low).ln()
                        } else {
                            f64::NEG_INFINITY
                        },
                        &[],
                    );
                }
                self.beta(value, 1.0, 1.0)
            }
            "ddirch" | "ddirich" => self.dirichlet(x, &arguments[0]),
            "dcat" => self.categorical(value, &arguments[0]),
            "dbern" => self.bernoulli(value, first),
            "dbin" | "dbinom" => self.binomial(value, first, second),
            "dmulti" | "dmultinom" => self.multinomial(x, &arguments[0], second),
            "dpois" => self.poisson(value, first),
            "dnegbin" | "dnbinom" => self.negative_binomial(value, first, second),
            _ => self.weibull(value, first, second),
        }
    }

    fn check(&self, name: &str, arguments: &[Value]) -> Result<(), Halt> {
        let Some((_, count)) = KNOWN.iter().find(|(known, _)| *known == name) else {
            let names: Vec<&str> = (KNOWN.iter().map(|(name, _)| *name))
                .filter(|name| !SYNONYMS.contains(name))
                .collect();
            return Err(Diagnostic::new(
                self.distribution.span,
                format!("{name} is not a distribution that is supported"),
                "unknown distribution",
            )
            .help(format!("supported are {}", names.join(", ")))
            .into());
        };
        if arguments.len() != *count {
            return Err(Diagnostic::new(
                self.distribution.span,
                format!(
                    "{name} takes {count} parameters, and {} are given",
                    arguments.len()
                ),
                "here",
            )
            .into());
        }
        Ok(())
    }

    pub(super) fn positive(&self, argument: usize, item: &Item, what: &str) -> Result<f64, Halt> {
        let value = self.constant(argument, item, what)?;
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
                    self.distribution.text
                ),
                "not data",
            )
            .into()),
        }
    }

    fn normal(&mut self, x: &Item, mean: &Item, precision: &Item) -> Result<(), Halt> {
        let rate = self.rate(1, precision, "precision")?;
        self.gaussian_sum(0, mean)?;
        if let Some((lower, upper, within)) = self.truncation {
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
        let cuts = cuts
            .numbers()
            .ok_or_else(|| Halt::from(self.edge(1, "dinterval's cuts must be constant")))?;
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
            let prior = self.constant(0, prior, "concentrations")?;
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
                self.distribution.text
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
