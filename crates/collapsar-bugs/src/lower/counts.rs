//! The terms of distributions of counts and states, and of waiting times.

use collapsar::special::ln_gamma;

use super::Halt;
use super::distributions::one;
use super::emit::Emit;
use crate::diagnostic::Diagnostic;
use crate::value::{Item, Value};

impl Emit<'_> {
    pub(super) fn categorical(&mut self, x: &Item, probabilities: &Value) -> Result<(), Halt> {
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

    pub(super) fn bernoulli(&mut self, x: &Item, p: &Item) -> Result<(), Halt> {
        match x {
            Item::Known(1.0) => self.add_ln_share(1.0, 0, p),
            Item::Known(0.0) => self.add_ln_share(1.0, 0, &Item::Known(1.0).minus(p)),
            _ => Err(self.outside().into()),
        }
    }

    pub(super) fn binomial(&mut self, x: &Item, p: &Item, trials: &Item) -> Result<(), Halt> {
        let x = self.count(x)?;
        let n = self.constant(1, trials)?;
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

    pub(super) fn multinomial(&mut self, x: &[Item], p: &Value, trials: &Item) -> Result<(), Halt> {
        if p.items.len() != x.len() {
            return Err(self.mismatch(x.len(), p.items.len()));
        }
        let counts = x
            .iter()
            .map(|x| self.count(x))
            .collect::<Result<Vec<f64>, Halt>>()?;
        let n = self.constant(1, trials)?;
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

    pub(super) fn poisson(&mut self, x: &Item, rate: &Item) -> Result<(), Halt> {
        let x = self.count(x)?;
        if *rate == Item::Known(0.0) {
            return match x {
                0.0 => Ok(()),
                _ if self.states.is_empty() => Err(self.outside().into()),
                _ => self.add(f64::NEG_INFINITY, &[]),
            };
        }
        let rate = self.rate(0, rate)?;
        self.add(-ln_gamma(x + 1.0), &[])?;
        self.add_ln(x, &rate)?;
        self.add_times(-1.0, &rate, &[one()])
    }

    pub(super) fn negative_binomial(
        &mut self,
        x: &Item,
        p: &Item,
        size: &Item,
    ) -> Result<(), Halt> {
        let x = self.count(x)?;
        let size = self.positive(1, size)?;
        self.add(ln_gamma(x + size) - ln_gamma(size) - ln_gamma(x + 1.0), &[])?;
        self.add_ln_share(size, 0, p)?;
        self.add_ln_share(x, 0, &Item::Known(1.0).minus(p))
    }

    pub(super) fn weibull(&mut self, x: &Item, shape: &Item, rate: &Item) -> Result<(), Halt> {
        let shape = self.positive(0, shape)?;
        let rate = self.rate(1, rate)?;
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
}
