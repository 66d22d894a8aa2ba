//! Softmax: choices and counts with exponentials over their sum, against quadrature and against what they are equal to.

mod common;

use collapsar::Fit;
use collapsar::graph::{Compiled, Demands, PosteriorMarginal};
use collapsar_bugs::{Origin, Prepared};
use common::{climb, data, prepared};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// What quadrature says of two numbers.
struct Known {
    ln_evidence: f64,
    means: [f64; 2],
    sds: [f64; 2],
}

/// The trapezoidal rule, which is exact to rounding where a smooth density falls to nothing on all sides.
fn quadrature(centre: [f64; 2], reach: [f64; 2], ln_joint: impl Fn([f64; 2]) -> f64) -> Known {
    const HALF: i32 = 200;
    let step = reach.map(|reach| reach / f64::from(HALF));
    let highest = ln_joint(centre);
    let (mut mass, mut first, mut second) = (0.0, [0.0; 2], [0.0; 2]);
    for i in -HALF..=HALF {
        for j in -HALF..=HALF {
            let away = [f64::from(i) * step[0], f64::from(j) * step[1]];
            let weight = (ln_joint([centre[0] + away[0], centre[1] + away[1]]) - highest).exp();
            mass += weight;
            for k in 0..2 {
                first[k] += weight * away[k];
                second[k] += weight * away[k] * away[k];
            }
        }
    }
    Known {
        ln_evidence: highest + (mass * step[0] * step[1]).ln(),
        means: [0, 1].map(|k| centre[k] + first[k] / mass),
        sds: [0, 1].map(|k| (second[k] / mass - (first[k] / mass).powi(2)).sqrt()),
    }
}

fn ln_normal(x: f64, precision: f64) -> f64 {
    0.5 * (precision / std::f64::consts::TAU).ln() - 0.5 * precision * x * x
}

/// The logarithm of the share of a part in the sum of exponentials.
fn ln_share(part: usize, predictors: &[f64]) -> f64 {
    let highest = predictors.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = predictors.iter().map(|psi| (psi - highest).exp()).sum();
    predictors[part] - highest - sum.ln()
}

struct Fitted {
    prepared: Prepared,
    model: Compiled,
    fit: Fit,
}

fn fitted(text: &str, numbers: &str) -> Fitted {
    let prepared = prepared(text, data(numbers));
    let model = prepared.compile(&Demands::default()).expect("a choice");
    let fit = climb(&model, 1, 1e-12);
    Fitted {
        prepared,
        model,
        fit,
    }
}

impl Fitted {
    fn variable(&self, name: &str) -> (u32, usize) {
        let quantities = self.prepared.quantities().expect("quantities");
        let of = quantities.iter().find(|q| q.to_string() == name);
        match of.expect("a quantity").origin {
            Origin::Variable(variable, number) => (variable, number as usize),
            _ => panic!("{name} is no variable"),
        }
    }

    /// Mean, and deviation by linear response.
    fn known(&self, name: &str) -> (f64, f64) {
        let posterior = self.model.variational_posterior(&self.fit.point);
        let marginals = common::marginals(&self.prepared, &posterior);
        let sd = match &marginals[name] {
            PosteriorMarginal::Closed(marginal) => marginal.sd(),
            PosteriorMarginal::Moments { sd, .. } => *sd,
            other @ PosteriorMarginal::States(_) => panic!("{other:?}"),
        };
        let response = self.model.linear_response(&self.fit.point);
        let (variable, number) = self.variable(name);
        let more = (response.expect("a maximum")).extra_variance(&[(variable, number, 1.0)]);
        let more = more.expect("a maximum").expect("a number");
        (common::mean(&marginals[name]), (sd * sd + more).sqrt())
    }

    /// Bound, linear response and a chain, against quadrature.
    fn compare(&self, names: [&str; 2], known: &Known, most_below: f64) {
        let (bound, evidence) = (self.fit.point.bound, known.ln_evidence);
        assert!(
            bound <= evidence && bound > evidence - most_below,
            "{bound} {evidence}"
        );
        let places = names.map(|name| {
            let (variable, number) = self.variable(name);
            assert_eq!(number, 0, "{name}");
            variable
        });
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let mut chain = self
            .model
            .chain(&self.fit.point, &mut rng)
            .expect("a chain");
        let mut draws = [vec![], vec![]];
        for _ in 0..20_000 {
            chain.sweep(&mut rng).expect("a sweep");
            for (draws, variable) in draws.iter_mut().zip(places) {
                draws.push(chain.numbers()[chain.place(variable)]);
            }
        }
        for (k, name) in names.into_iter().enumerate() {
            let (mean, sd) = (known.means[k], known.sds[k]);
            let found = self.known(name);
            // Mean field on a handful of data, against a skew posterior.
            assert!(
                (found.0 - mean).abs() < 0.3 * sd && (found.1 / sd - 1.0).abs() < 0.25,
                "{name}: {found:?} {mean} {sd}"
            );
            for power in [1, 2] {
                let expected = if power == 1 { 0.0 } else { 1.0 };
                let each = draws[k]
                    .iter()
                    .map(|x| ((x - mean) / sd).powi(power) - expected);
                let each: Vec<f64> = each.collect();
                let (away, error) = batch_mean(&each);
                assert!(
                    away.abs() < 4.5 * error && error < 0.1,
                    "{name}, power {power}: {away} ± {error}"
                );
            }
        }
    }
}

/// The mean of a chain's numbers, with its standard error from 40 batches.
fn batch_mean(numbers: &[f64]) -> (f64, f64) {
    let mean = |numbers: &[f64]| numbers.iter().sum::<f64>() / numbers.len() as f64;
    let all = mean(numbers);
    let batches = numbers.chunks(numbers.len() / 40).map(mean);
    let spread: f64 = batches.map(|batch| (batch - all).powi(2)).sum();
    (all, (spread / (40.0 * 39.0)).sqrt())
}

/// Single choices by the traits of who chooses.
#[test]
fn choices_are_what_quadrature_says() {
    let text = "model {
      for (i in 1:6) {
        y[i] ~ dcat(p[i,1:3])
        for (k in 1:3) { p[i,k] <- phi[i,k] / sum(phi[i,1:3]); log(phi[i,k]) <- e[k] * x[i] }
      }
      e[1] <- 0; e[2] <- a; e[3] <- b; a ~ dnorm(0, 0.5); b ~ dnorm(0, 0.5)
    }";
    let (y, x) = ([0, 1, 2, 1, 2, 2], [0.5, 1.0, 2.0, -1.5, 0.7, 1.1]);
    let known = quadrature([0.0, 0.5], [9.0, 9.0], |[a, b]| {
        let each = y.iter().zip(x);
        let likelihood = each.map(|(y, x)| ln_share(*y, &[0.0, a * x, b * x]));
        likelihood.sum::<f64>() + ln_normal(a, 0.5) + ln_normal(b, 0.5)
    });
    let fitted = fitted(text, "y=1 2 3 2 3 3; x=0.5 1 2 -1.5 0.7 1.1");
    fitted.compare(["a", "b"], &known, 1.5);
}

/// Counts of choices whose traits are those of what is chosen, one of them never.
#[test]
fn counts_are_what_quadrature_says() {
    let text = "model {
      for (i in 1:2) {
        n[i,1:4] ~ dmulti(p[i,1:4], m[i])
        for (k in 1:4) { p[i,k] <- exp(a * x[i,k] + b * z[k]) / sum(exp(a * x[i,1:4] + b * z[1:4])) }
      }
      a ~ dnorm(0, 1); b ~ dnorm(0, 1)
    }";
    let counts = [[2.0, 1.0, 0.0, 4.0], [1.0, 5.0, 0.0, 0.0]];
    let x = [[0.3, -1.0, 0.2, 0.9], [0.1, 1.4, -0.6, -0.2]];
    let z = [0.0, 0.5, -1.0, 1.0];
    let known = quadrature([0.8, 0.8], [5.0, 5.0], |[a, b]| {
        let mut ln = ln_normal(a, 1.0) + ln_normal(b, 1.0);
        for (counts, x) in counts.iter().zip(&x) {
            let predictors = [0, 1, 2, 3].map(|k| a * x[k] + b * z[k]);
            ln += collapsar::special::ln_gamma(counts.iter().sum::<f64>() + 1.0);
            for (k, count) in counts.iter().enumerate() {
                ln += count * ln_share(k, &predictors) - collapsar::special::ln_gamma(count + 1.0);
            }
        }
        ln
    });
    let numbers =
        "n[2,4]=2 1 0 4 1 5 0 0; m=7 6; x[2,4]=0.3 -1 0.2 0.9 0.1 1.4 -0.6 -0.2; z=0 0.5 -1 1";
    fitted(text, numbers).compare(["a", "b"], &known, 0.5);
}

/// A common term of all predictors cancels: the bound does not, but the posterior of the rest does.
#[test]
fn far_predictors_are_as_near_ones() {
    let text = |offset: &str| {
        format!(
            "model {{
               for (i in 1:6) {{
                 y[i] ~ dcat(p[i,1:3])
                 for (k in 1:3) {{ p[i,k] <- phi[i,k] / sum(phi[i,1:3]); log(phi[i,k]) <- {offset} + e[k] * x[i] }}
               }}
               e[1] <- 0; e[2] <- a; e[3] <- b; a ~ dnorm(0, 0.5); b ~ dnorm(0, 0.5)
             }}"
        )
    };
    let numbers = "y=1 2 3 2 3 3; x=0.5 1 2 -1.5 0.7 1.1";
    let near = fitted(&text("0"), numbers);
    for offset in ["300", "-300", "12.5"] {
        let far = fitted(&text(offset), numbers);
        // Digits of the offset times the number of choices.
        let error = (far.fit.point.bound - near.fit.point.bound).abs();
        assert!(error < 1e-9, "{offset}: {error}");
        for name in ["a", "b"] {
            let [one, other] = [far.known(name), near.known(name)];
            assert!(
                (one.0 - other.0).abs() < 1e-4 && (one.1 - other.1).abs() < 1e-4,
                "{offset}: {one:?} {other:?}"
            );
        }
    }
}

/// A million trials: the coefficient at which shares are what they are, and its deviation.
#[test]
fn many_trials() {
    let text = "model {
      n[1:3] ~ dmulti(p[1:3], 1000000)
      for (k in 1:3) { p[k] <- exp(e[k]) / sum(exp(e[1:3])) }
      e[1] <- 0; e[2] <- a; e[3] <- b; a ~ dnorm(0, 0.01); b ~ dnorm(0, 0.01)
    }";
    let fitted = fitted(text, "n=200000 300000 500000");
    for (name, ratio, count) in [("a", 1.5_f64, 3e5_f64), ("b", 2.5, 5e5)] {
        let found = fitted.known(name);
        let sd = (1.0 / 2e5 + 1.0 / count).sqrt();
        assert!(
            (found.0 - ratio.ln()).abs() < 0.05 * sd,
            "{name}: {found:?} {}",
            ratio.ln()
        );
        assert!((found.1 / sd - 1.0).abs() < 0.01, "{name}: {found:?} {sd}");
    }
}

/// No trials say nothing.
#[test]
fn no_trials() {
    let text = "model {
      n[1:3] ~ dmulti(p[1:3], 0)
      for (k in 1:3) { p[k] <- exp(e[k]) / sum(exp(e[1:3])) }
      e[1] <- 0; e[2] <- a; e[3] <- b; a ~ dnorm(0, 0.25); b ~ dnorm(1, 4)
    }";
    let none = fitted(text, "n=0 0 0");
    assert!(
        none.fit.point.bound.abs() < 1e-12,
        "{}",
        none.fit.point.bound
    );
    let [a, b] = ["a", "b"].map(|name| none.known(name));
    assert!(
        (a.1 - 2.0).abs() < 1e-12 && (b.1 - 0.5).abs() < 1e-12,
        "{a:?} {b:?}"
    );
    assert!(
        a.0.abs() < 1e-12 && (b.0 - 1.0).abs() < 1e-12,
        "{a:?} {b:?}"
    );
}
