//! The terms of distributions of counts and states, and of waiting times.

use collapsar::elementary::Elementary;
use collapsar::special::ln_gamma;

use super::emit::Emit;
use crate::elaborate::Resolved;
use crate::share::softmax;
use crate::value::{Scalar, Value};

impl Emit<'_> {
    /// An observed count.
    pub(super) fn count(&self, value: &Scalar) -> Resolved<f64> {
        match value {
            Scalar::Known(count) if *count >= 0.0 && count.fract() == 0.0 => Ok(*count),
            Scalar::Known(_) => Err(self.outside().into()),
            _ => Err(self.not_observed().into()),
        }
    }

    pub(super) fn categorical(&mut self, x: &Scalar, probabilities: &Value) -> Resolved {
        let Scalar::Known(state) = *x else {
            return Err(self.outside().into());
        };
        let probabilities = &probabilities.elements;
        if state.fract() != 0.0 || state < 1.0 || state as usize > probabilities.len() {
            return self.impossible();
        }
        if let Some(parts) = softmax(probabilities) {
            let mut counts = vec![0.0; parts.len()];
            counts[state as usize - 1] = 1.0;
            return self.softmax(&counts, &parts);
        }
        self.check_simplex(0, probabilities)?;
        let p = &probabilities[state as usize - 1];
        let all: Option<Vec<f64>> = probabilities.iter().map(Scalar::known).collect();
        match (p, all) {
            // Constants need not add up to one.
            (Scalar::Known(p), Some(all)) => {
                if let Some(bad) = all.iter().find(|p| p.is_nan() || **p < 0.0) {
                    let expected = "probabilities of 0 or more";
                    return Err(self.parameter(0, *bad, expected).into());
                }
                self.add((p / all.iter().sum::<f64>()).ln_(), &[])
            }
            _ => self.add_ln_probability(1.0, 0, p),
        }
    }

    pub(super) fn bernoulli(&mut self, x: &Scalar, p: &Scalar) -> Resolved {
        match x {
            Scalar::Known(x) if (*x == 0.0 || *x == 1.0) && p.is_logistic() => {
                self.logistic(*x, 1.0, p)
            }
            Scalar::Known(1.0) => self.add_ln_probability(1.0, 0, p),
            Scalar::Known(0.0) => self.add_ln_complement(1.0, p),
            _ => Err(self.outside().into()),
        }
    }

    /// Adds `times` the logarithm of 1 - p, where p is the first parameter.
    fn add_ln_complement(&mut self, times: f64, p: &Scalar) -> Resolved {
        self.add_ln_probability(times, 0, &Scalar::Known(1.0).minus(p))
    }

    /// In how many ways so many of all trials may be successes, where there is more than one trial.
    pub(super) fn ways(&mut self, x: &Scalar, trials: Option<&Scalar>) -> Resolved {
        let Some(trials) = trials else { return Ok(()) };
        let x = self.count(x)?;
        let n = self.constant(1, trials)?;
        if n.is_nan() || n < 0.0 || n.fract() != 0.0 {
            return Err(self.parameter(1, n, "a whole number of 0 or more").into());
        }
        if x > n {
            return self.impossible();
        }
        let ways = ln_gamma(n + 1.0) - ln_gamma(x + 1.0) - ln_gamma(n - x + 1.0);
        self.add(ways, &[])
    }

    pub(super) fn binomial(&mut self, x: &Scalar, p: &Scalar, trials: &Scalar) -> Resolved {
        self.ways(x, Some(trials))?;
        let (x, n) = (self.count(x)?, self.constant(1, trials)?);
        if x > n {
            return Ok(());
        }
        if p.is_logistic() {
            return self.logistic(x, n, p);
        }
        self.add_ln_probability(x, 0, p)?;
        self.add_ln_complement(n - x, p)
    }

    pub(super) fn multinomial(&mut self, x: &[Scalar], p: &Value, trials: &Scalar) -> Resolved {
        if p.elements.len() != x.len() {
            return Err(self.mismatch(x.len(), p.elements.len()));
        }
        let counts = x.iter().map(|x| self.count(x));
        let counts: Vec<f64> = counts.collect::<Resolved<_>>()?;
        let n = self.constant(1, trials)?;
        if counts.iter().sum::<f64>() != n {
            return Err(self.outside().into());
        }
        self.add(ln_gamma(n + 1.0), &[])?;
        if let Some(parts) = softmax(&p.elements) {
            let ways = counts.iter().map(|count| ln_gamma(count + 1.0));
            self.add(-ways.sum::<f64>(), &[])?;
            return self.softmax(&counts, &parts);
        }
        self.check_simplex(0, &p.elements)?;
        let total: Option<f64> = p.numbers().map(|p| p.iter().sum());
        if let ([x, _], [p, _]) = (counts.as_slice(), p.elements.as_slice())
            && p.is_logistic()
        {
            let [a, b] = [*x, n - x].map(|count| ln_gamma(count + 1.0));
            self.add(-a - b, &[])?;
            return self.logistic(*x, n, p);
        }
        for (count, p) in counts.iter().zip(&p.elements) {
            self.add(-ln_gamma(count + 1.0), &[])?;
            let p = match (p, total) {
                (Scalar::Known(p), Some(total)) => Scalar::Known(p / total),
                _ => p.clone(),
            };
            self.add_ln_probability(*count, 0, &p)?;
        }
        Ok(())
    }

    pub(super) fn poisson(&mut self, x: &Scalar, rate: &Scalar) -> Resolved {
        let x = self.count(x)?;
        if *rate == Scalar::Known(0.0) {
            return if x == 0.0 { Ok(()) } else { self.impossible() };
        }
        let rate = self.log_rate(0, rate, x + 0.5)?;
        self.add(-ln_gamma(x + 1.0), &[])?;
        self.add_ln(x, &rate)?;
        self.add_rate(-1.0, &rate, &Scalar::Known(1.0))
    }

    pub(super) fn negative_binomial(&mut self, x: &Scalar, p: &Scalar, size: &Scalar) -> Resolved {
        let x = self.count(x)?;
        let size = self.positive(1, size)?;
        // One gamma variable serves all sizes, for each of which a Pólya-Gamma variable would be another.
        // Where zeros have a label, the probability is one in its other state, or next to it as JAGS needs it.
        let certain = matches!(p, Scalar::Known(p) if *p > 0.999);
        let linear = p.is_log_odds_of_sums() || certain;
        if !self.states.is_empty() && linear {
            return self.poisson_gamma(x, size, p);
        }
        self.add(ln_gamma(x + size) - ln_gamma(size) - ln_gamma(x + 1.0), &[])?;
        if p.is_logistic() {
            return self.logistic(size, size + x, p);
        }
        self.add_ln_probability(size, 0, p)?;
        self.add_ln_complement(x, p)
    }

    pub(super) fn weibull(&mut self, x: &Scalar, shape: &Scalar, rate: &Scalar) -> Resolved {
        let shape = self.positive(0, shape)?;
        let rate = self.log_rate(1, rate, 1.0)?;
        let x = match x {
            Scalar::Known(x) if *x > 0.0 => *x,
            Scalar::Known(_) => return Err(self.outside().into()),
            _ => return Err(self.not_observed().into()),
        };
        self.add(shape.ln_() + (shape - 1.0) * x.ln_(), &[])?;
        self.add_ln(1.0, &rate)?;
        self.add_rate(-x.powf_(shape), &rate, &Scalar::Known(1.0))
    }
}
