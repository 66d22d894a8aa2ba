//! The terms of each distribution.

use collapsar::Potential;
use collapsar::family::TruncatedNormal;
use collapsar::graph::{Atom, Kind};
use collapsar::special::{ln_beta, ln_gamma, ln_multivariate_gamma};
use nalgebra::DMatrix;

use super::Halt;
use super::emit::{Emit, Precision, Rate};
use super::variables::packed;
use crate::diagnostic::Diagnostic;
use crate::value::{Item, Product, Unknown, Value};

const LN_2PI: f64 = 1.837_877_066_409_345_6;

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

    fn positive(&self, argument: usize, item: &Item, what: &str) -> Result<f64, Halt> {
        let value = self.constant(argument, item, what)?;
        if value > 0.0 && value.is_finite() {
            Ok(value)
        } else {
            Err(self.parameter(argument, value, "a positive number").into())
        }
    }

    /// An observed count.
    fn count(&self, value: &Item) -> Result<f64, Halt> {
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
        let square = residual.times(&residual);
        let products = square.products().unwrap_or_default();
        self.add(-0.5 * LN_2PI, &[])?;
        self.add_ln(0.5, &rate)?;
        self.add_times(-0.5, &rate, &products)
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

    fn categorical(&mut self, x: &Item, probabilities: &Value) -> Result<(), Halt> {
        let state = match x {
            Item::Known(state) => *state,
            _ => return Err(self.outside().into()),
        };
        let count = probabilities.items.len();
        if state.fract() != 0.0 || state < 1.0 || state as usize > count {
            return self.impossible();
        }
        self.whole_shares(0, &probabilities.items)?;
        let item = &probabilities.items[state as usize - 1];
        match (item, probabilities.numbers()) {
            // Constants need not add up to one.
            (Item::Known(p), Some(all)) => {
                if let Some(bad) = all.iter().find(|p| p.is_nan() || **p < 0.0) {
                    return Err(self.parameter(0, *bad, "probabilities of 0 or more").into());
                }
                self.add((p / all.iter().sum::<f64>()).ln(), &[])
            }
            _ => self.add_ln_share(1.0, 0, item),
        }
    }

    fn bernoulli(&mut self, x: &Item, p: &Item) -> Result<(), Halt> {
        match x {
            Item::Known(1.0) => self.add_ln_share(1.0, 0, p),
            Item::Known(0.0) => self.add_ln_share(1.0, 0, &Item::Known(1.0).minus(p)),
            _ => Err(self.outside().into()),
        }
    }

    fn binomial(&mut self, x: &Item, p: &Item, trials: &Item) -> Result<(), Halt> {
        let x = self.count(x)?;
        let n = self.constant(1, trials, "number of trials")?;
        if n.is_nan() || n < 0.0 || n.fract() != 0.0 {
            return Err(self.parameter(1, n, "a whole number of 0 or more").into());
        }
        if x > n {
            return self.impossible();
        }
        let ways = ln_gamma(n + 1.0) - ln_gamma(x + 1.0) - ln_gamma(n - x + 1.0);
        self.add(ways, &[])?;
        self.add_ln_share(x, 0, p)?;
        self.add_ln_share(n - x, 0, &Item::Known(1.0).minus(p))
    }

    fn multinomial(&mut self, x: &[Item], p: &Value, trials: &Item) -> Result<(), Halt> {
        if p.items.len() != x.len() {
            return Err(self.mismatch(x.len(), p.items.len()));
        }
        let counts = x
            .iter()
            .map(|x| self.count(x))
            .collect::<Result<Vec<f64>, Halt>>()?;
        let n = self.constant(1, trials, "number of trials")?;
        if counts.iter().sum::<f64>() != n {
            return Err(self.outside().into());
        }
        self.add(ln_gamma(n + 1.0), &[])?;
        self.whole_shares(0, &p.items)?;
        let total: Option<f64> = p.numbers().map(|p| p.iter().sum());
        for (count, p) in counts.iter().zip(&p.items) {
            self.add(-ln_gamma(count + 1.0), &[])?;
            let p = match (p, total) {
                (Item::Known(p), Some(total)) => Item::Known(p / total),
                _ => p.clone(),
            };
            self.add_ln_share(*count, 0, &p)?;
        }
        Ok(())
    }

    fn poisson(&mut self, x: &Item, rate: &Item) -> Result<(), Halt> {
        let x = self.count(x)?;
        if *rate == Item::Known(0.0) {
            return match x {
                0.0 => Ok(()),
                _ if self.states.is_empty() => Err(self.outside().into()),
                _ => self.add(f64::NEG_INFINITY, &[]),
            };
        }
        let rate = self.rate(0, rate, "rate")?;
        self.add(-ln_gamma(x + 1.0), &[])?;
        self.add_ln(x, &rate)?;
        self.add_times(-1.0, &rate, &[one()])
    }

    fn negative_binomial(&mut self, x: &Item, p: &Item, size: &Item) -> Result<(), Halt> {
        let x = self.count(x)?;
        let size = self.positive(1, size, "size")?;
        self.add(ln_gamma(x + size) - ln_gamma(size) - ln_gamma(x + 1.0), &[])?;
        self.add_ln_share(size, 0, p)?;
        self.add_ln_share(x, 0, &Item::Known(1.0).minus(p))
    }

    fn weibull(&mut self, x: &Item, shape: &Item, rate: &Item) -> Result<(), Halt> {
        let shape = self.positive(0, shape, "shape")?;
        let rate = self.rate(1, rate, "rate")?;
        let x = match x {
            Item::Known(x) if *x > 0.0 => *x,
            Item::Known(_) => return Err(self.outside().into()),
            _ => {
                return Err(Diagnostic::new(
                    self.target,
                    "dweib that is not observed has no conjugate family",
                    "not data",
                )
                .into());
            }
        };
        self.add(shape.ln() + (shape - 1.0) * x.ln(), &[])?;
        self.add_ln(1.0, &rate)?;
        self.add_times(-x.powf(shape), &rate, &[one()])
    }

    fn mismatch(&self, elements: usize, parameters: usize) -> Halt {
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

    fn wishart(&mut self, x: &[Item], scale: &Value, freedom: &Item) -> Result<(), Halt> {
        let dim = (x.len() as f64).sqrt() as usize;
        let scale = scale
            .numbers()
            .ok_or_else(|| Halt::from(self.edge(0, "dwish's scale matrix must be constant")))?;
        if scale.len() != x.len() {
            return Err(self.mismatch(x.len(), scale.len()));
        }
        let freedom = self.constant(1, freedom, "degrees of freedom")?;
        if freedom <= dim as f64 - 1.0 || freedom.is_nan() {
            let expected = format!("more than {}", dim as f64 - 1.0);
            return Err(self.parameter(1, freedom, &expected).into());
        }
        let ln_determinant = self.ln_determinant(0, &scale, dim)?;
        let size = dim as f64;
        self.add(
            0.5 * freedom * ln_determinant
                - 0.5 * freedom * size * std::f64::consts::LN_2
                - ln_multivariate_gamma(dim, 0.5 * freedom),
            &[],
        )?;
        let matrix = self.matrix(x, 0)?;
        let Precision::Multiple(_, variable) = matrix else {
            return Err(Diagnostic::new(
                self.target,
                "dwish that is observed is not supported",
                "data",
            )
            .into());
        };
        let determinant = self.determinant_part(variable);
        self.add(0.5 * (freedom - size - 1.0), &[determinant])?;
        for row in 0..dim {
            for column in row..dim {
                let twice = if row == column { 1.0 } else { 2.0 };
                let entry = self.entry(variable, dim, row, column);
                self.add(-0.5 * twice * scale[row * dim + column], &[entry])?;
            }
        }
        Ok(())
    }

    fn ln_determinant(&self, argument: usize, matrix: &[f64], dim: usize) -> Result<f64, Halt> {
        let matrix = DMatrix::from_row_slice(dim, dim, matrix);
        let symmetric = (&matrix - matrix.transpose()).amax() <= 1e-9 * matrix.amax();
        let factor = matrix.cholesky().filter(|_| symmetric).ok_or_else(|| {
            let span = self.arguments[argument].span;
            Halt::from(Diagnostic::new(
                span,
                format!(
                    "a matrix of {} that is not positive definite",
                    self.distribution.text
                ),
                format!("for {}", self.instance_name()),
            ))
        })?;
        Ok(2.0 * factor.l_dirty().diagonal().map(f64::ln).sum())
    }

    /// A matrix as a known one, or a multiple of a Wishart variable.
    fn matrix(&self, items: &[Item], argument: usize) -> Result<Precision, Halt> {
        let numbers: Option<Vec<f64>> = items.iter().map(Item::known).collect();
        if let Some(numbers) = numbers {
            return Ok(Precision::Known(numbers));
        }
        let refuse = || {
            let reason = format!(
                "{}'s precision must be constant or a multiple of a dwish variable",
                self.distribution.text
            );
            Halt::from(self.edge(argument, &reason))
        };
        let dim = (items.len() as f64).sqrt() as usize;
        let mut found: Option<(f64, u32)> = None;
        for (place, item) in items.iter().enumerate() {
            let products = item.products().ok_or_else(refuse)?;
            let [product] = products.as_slice() else {
                return Err(refuse());
            };
            let [unknown] = product.unknowns.as_slice() else {
                return Err(refuse());
            };
            let offset = match self.variables.kind(unknown.variable) {
                Kind::Wishart(size) if size == dim => 0,
                Kind::NormalWishart(size) if size == dim => dim as u32,
                _ => return Err(refuse()),
            };
            let (row, column) = (place / dim, place % dim);
            let here = (product.coefficient, unknown.variable);
            let entry = packed(dim, row.min(column), row.max(column));
            if unknown.element != offset + entry || *found.get_or_insert(here) != here {
                return Err(refuse());
            }
        }
        found
            .map(|(c, w)| Precision::Multiple(c, w))
            .ok_or_else(refuse)
    }

    fn determinant_part(&self, variable: u32) -> Atom {
        let part = match self.variables.kind(variable) {
            Kind::NormalWishart(_) => 1,
            _ => 0,
        };
        Atom { variable, part }
    }

    fn entry(&self, variable: u32, dim: usize, row: usize, column: usize) -> Atom {
        let before = match self.variables.kind(variable) {
            Kind::NormalWishart(_) => 2 + dim as u32,
            _ => 1,
        };
        Atom {
            variable,
            part: before + packed(dim, row.min(column), row.max(column)),
        }
    }

    fn multivariate_normal(
        &mut self,
        x: &[Item],
        mean: &Value,
        precision: &Value,
    ) -> Result<(), Halt> {
        let dim = x.len();
        if mean.items.len() != dim || precision.items.len() != dim * dim {
            return Err(self.mismatch(dim, mean.items.len()));
        }
        for item in &mean.items {
            self.gaussian_sum(0, item)?;
        }
        self.add(-0.5 * dim as f64 * LN_2PI, &[])?;
        let residuals: Vec<Item> = x.iter().zip(&mean.items).map(|(x, m)| x.minus(m)).collect();
        match self.matrix(&precision.items, 1)? {
            Precision::Known(matrix) => {
                let ln_determinant = self.ln_determinant(1, &matrix, dim)?;
                self.add(0.5 * ln_determinant, &[])?;
                let rate = Rate {
                    coefficient: 1.0,
                    gammas: vec![],
                };
                for (a, row) in residuals.iter().zip(matrix.chunks(dim)) {
                    for (b, &entry) in residuals.iter().zip(row) {
                        let products = a.times(b).products().unwrap_or_default();
                        self.add_times(-0.5 * entry, &rate, &products)?;
                    }
                }
                Ok(())
            }
            Precision::Multiple(c, variable) => {
                if c.is_nan() || c <= 0.0 {
                    return Err(self.parameter(1, c, "a positive multiple").into());
                }
                self.add(0.5 * dim as f64 * c.ln(), &[])?;
                let determinant = self.determinant_part(variable);
                self.add(0.5, &[determinant])?;
                self.quadratic_form(&residuals, c, variable)
            }
        }
    }

    /// Adds -c/2 r'Λr for a matrix Λ that is not known.
    fn quadratic_form(&mut self, residuals: &[Item], c: f64, variable: u32) -> Result<(), Halt> {
        let dim = residuals.len();
        let (known, sign) = self.split_mean(residuals, variable)?;
        for row in 0..dim {
            for column in row..dim {
                let twice = if row == column { 1.0 } else { 2.0 };
                let entry = self.entry(variable, dim, row, column);
                let products = known[row]
                    .times(&known[column])
                    .products()
                    .unwrap_or_default();
                for product in products {
                    let mut atoms = vec![entry];
                    for unknown in &product.unknowns {
                        atoms.push(self.factor_atom(*unknown)?);
                    }
                    self.add(-0.5 * c * twice * product.coefficient, &atoms)?;
                }
            }
        }
        if sign != 0.0 {
            // r = a + sμ: -c/2 (2s a'Λμ + μ'Λμ)
            self.add(-0.5 * c, &[Atom { variable, part: 0 }])?;
            for (place, a) in known.iter().enumerate() {
                for product in a.products().unwrap_or_default() {
                    let mut atoms = vec![Atom {
                        variable,
                        part: 2 + place as u32,
                    }];
                    for unknown in &product.unknowns {
                        atoms.push(self.factor_atom(*unknown)?);
                    }
                    self.add(-c * sign * product.coefficient, &atoms)?;
                }
            }
        }
        Ok(())
    }

    /// Residuals without the mean that is joint with the matrix, and the sign with which it is
    /// in all of them.
    fn split_mean(&self, residuals: &[Item], variable: u32) -> Result<(Vec<Item>, f64), Halt> {
        let dim = residuals.len();
        let is_mean = |unknown: &Unknown, place: usize| {
            unknown.variable == variable && unknown.element == place as u32
        };
        if !matches!(self.variables.kind(variable), Kind::NormalWishart(_)) {
            return Ok((residuals.to_vec(), 0.0));
        }
        let mut sign: Option<f64> = None;
        let mut known = Vec::with_capacity(dim);
        for (place, residual) in residuals.iter().enumerate() {
            let mut here = 0.0;
            for product in residual.products().unwrap_or_default() {
                if let [unknown] = product.unknowns.as_slice()
                    && is_mean(unknown, place)
                {
                    here = product.coefficient;
                }
            }
            if here.abs() != 1.0 && here != 0.0 || sign.is_some_and(|sign| sign != here) {
                return Err(self.apart(variable));
            }
            sign = Some(here);
            let mean = Item::unknown(variable, place as u32).times(&Item::Known(here));
            known.push(residual.minus(&mean));
        }
        Ok((known, sign.unwrap_or(0.0)))
    }
}

/// The empty product.
fn one() -> Product {
    Product {
        coefficient: 1.0,
        unknowns: vec![],
    }
}
