//! Log-linear rates: the bound is below the evidence, and what is known of coefficients is what quadrature says.

mod common;

use std::fmt::Write;

use collapsar::graph::{Compiled, Demands};
use collapsar::{Fit, Point};
use collapsar_bugs::{Model, Prepared};
use common::{climb, data, demands, mean, prepared};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Evidence, and mean and deviation of each of two numbers, from a log density on a grid about them.
fn quadrature(
    centre: [f64; 2],
    spread: [f64; 2],
    density: impl Fn([f64; 2]) -> f64,
) -> (f64, [(f64, f64); 2]) {
    const HALF: i32 = 300;
    const REACH: f64 = 9.0;
    let step = [0, 1].map(|k| REACH * spread[k] / f64::from(HALF));
    let at = |k: usize, i: i32| centre[k] + f64::from(i) * step[k];
    let range = |k: usize| {
        if spread[k] == 0.0 {
            0..=0
        } else {
            -HALF..=HALF
        }
    };
    let highest = density(centre);
    let (mut mass, mut sums) = (0.0, [[0.0; 2]; 2]);
    for i in range(0) {
        for j in range(1) {
            let x = [at(0, i), at(1, j)];
            let weight = (density(x) - highest).exp();
            mass += weight;
            for k in 0..2 {
                let far = x[k] - centre[k];
                sums[k][0] += weight * far;
                sums[k][1] += weight * far * far;
            }
        }
    }
    let cell: f64 = step.iter().filter(|step| **step > 0.0).product();
    let moments = [0, 1].map(|k| {
        let far = sums[k][0] / mass;
        (centre[k] + far, (sums[k][1] / mass - far * far).sqrt())
    });
    (highest + (mass * cell).ln(), moments)
}

fn ln_poisson(y: f64, eta: f64) -> f64 {
    y * eta - eta.exp() - collapsar::special::ln_gamma(y + 1.0)
}

fn ln_normal(x: f64, precision: f64) -> f64 {
    0.5 * (precision / std::f64::consts::TAU).ln() - 0.5 * precision * x * x
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
    fn point(&self) -> &Point {
        &self.fit.point
    }

    /// Mean and deviation by linear response of a quantity.
    fn known(&self, name: &str) -> (f64, f64) {
        let posterior = self.model.variational_posterior(self.point());
        let marginals = common::marginals(&self.prepared, &posterior);
        let response = self.model.linear_response(self.point()).expect("a maximum");
        let marginal = &marginals[name];
        let sd = match marginal {
            collapsar::graph::PosteriorMarginal::Closed(marginal) => marginal.sd(),
            collapsar::graph::PosteriorMarginal::Moments { sd, .. } => *sd,
            other @ collapsar::graph::PosteriorMarginal::States(_) => panic!("{other:?}"),
        };
        let quantities = self.prepared.quantities().expect("quantities");
        let of = quantities.iter().find(|q| q.to_string() == name);
        let collapsar_bugs::Origin::Variable(variable, number) = of.expect("a quantity").origin
        else {
            panic!("{name}");
        };
        let more = response.extra_variance(&[(variable, number as usize, 1.0)]);
        let more = more.expect("a maximum").expect("a number");
        (mean(marginal), (sd * sd + more).sqrt())
    }

    fn variable(&self, name: &str) -> u32 {
        let declared = self.prepared.graph().declared().iter();
        let mut named = declared.filter(|declared| declared.names == [name]);
        named.next().expect("a variable").first
    }

    /// Mean and deviation of chains, with the standard error of the former.
    fn drawn(&self, variable: u32, sweeps: usize) -> (f64, f64, f64) {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let mut chain = self.model.chain(self.point(), &mut rng).expect("a chain");
        let mut draws = vec![];
        for _ in 0..sweeps {
            chain.sweep(&mut rng).expect("a sweep");
            draws.push(chain.numbers()[chain.place(variable)]);
        }
        let n = sweeps as f64;
        let mean = draws.iter().sum::<f64>() / n;
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
        let batch = sweeps / 40;
        let means = draws
            .chunks(batch)
            .map(|b| b.iter().sum::<f64>() / b.len() as f64);
        let error = means.map(|m| (m - mean) * (m - mean)).sum::<f64>() / (40.0 * 39.0);
        (mean, variance.sqrt(), error.sqrt())
    }
}

const Y: [f64; 8] = [0.0, 2.0, 1.0, 0.0, 4.0, 7.0, 3.0, 9.0];
const X: [f64; 8] = [-1.2, -0.4, 0.1, -0.9, 0.8, 1.3, 0.5, 1.6];
const N: [f64; 8] = [1.0, 2.0, 1.0, 3.0, 1.0, 2.0, 1.0, 2.0];

fn numbers(arrays: &[(&str, &[f64])]) -> String {
    let mut text = String::new();
    for (name, values) in arrays {
        let values: Vec<String> = values.iter().map(f64::to_string).collect();
        write!(text, "{name}={}; ", values.join(" ")).expect("a string");
    }
    text
}

/// One coefficient and an offset.
#[test]
fn one_coefficient_is_what_quadrature_says() {
    let text = "model { for (i in 1:8) { y[i] ~ dpois(n[i] * exp(b * x[i])) } b ~ dnorm(0, 0.1) }";
    let fitted = fitted(text, &numbers(&[("y", &Y), ("x", &X), ("n", &N)]));
    let density = |[b, _]: [f64; 2]| {
        let each = (0..8).map(|i| ln_poisson(Y[i], N[i].ln() + b * X[i]));
        each.sum::<f64>() + ln_normal(b, 0.1)
    };
    let (evidence, [(mean, sd), _]) = quadrature([1.0, 0.0], [0.15, 0.0], density);
    let bound = fitted.point().bound;
    assert!(
        bound <= evidence && bound > evidence - 0.01,
        "{bound} {evidence}"
    );
    let found = fitted.known("b");
    assert!((found.0 - mean).abs() < 0.02 * sd, "{found:?} {mean} {sd}");
    assert!((found.1 / sd - 1.0).abs() < 0.02, "{found:?} {mean} {sd}");
    let (drawn, spread, error) = fitted.drawn(0, 8_000);
    assert!((drawn - mean).abs() < 4.0 * error, "{drawn} {mean} {error}");
    assert!((spread / sd - 1.0).abs() < 0.05, "{spread} {sd}");
}

/// Two coefficients, one of them of a covariate far from zero, beside vague priors.
#[test]
fn two_coefficients_are_what_quadrature_says() {
    let text = "model {
      for (i in 1:8) { y[i] ~ dpois(mu[i]); log(mu[i]) <- a + b * x[i] }
      a ~ dnorm(0, 1.0E-6); b ~ dnorm(0, 1.0E-6)
    }";
    let density = |[a, b]: [f64; 2]| {
        let each = (0..8).map(|i| ln_poisson(Y[i], a + b * X[i]));
        each.sum::<f64>() + ln_normal(a, 1e-6) + ln_normal(b, 1e-6)
    };
    let (evidence, known) = quadrature([0.4, 1.1], [0.4, 0.4], density);
    let near = fitted(text, &numbers(&[("y", &Y), ("x", &X)]));
    let bound = near.point().bound;
    assert!(
        bound <= evidence && bound > evidence - 0.05,
        "{bound} {evidence}"
    );
    for (place, name) in ["a", "b"].into_iter().enumerate() {
        let (mean, sd) = known[place];
        let found = near.known(name);
        assert!(
            (found.0 - mean).abs() < 0.1 * sd,
            "{name}: {found:?} {mean} {sd}"
        );
        assert!(
            (found.1 / sd - 1.0).abs() < 0.08,
            "{name}: {found:?} {mean} {sd}"
        );
        let (drawn, spread, error) = near.drawn(place as u32, 8_000);
        assert!(
            (drawn - mean).abs() < 4.0 * error,
            "{name}: {drawn} {mean} {error}"
        );
        assert!((spread / sd - 1.0).abs() < 0.05, "{name}: {spread} {sd}");
    }
    // The intercept is a million slopes away: its prior must let it be.
    let far = X.map(|x| x + 1e6);
    let text = text.replace("a ~ dnorm(0, 1.0E-6)", "a ~ dnorm(0, 1.0E-18)");
    let far = fitted(&text, &numbers(&[("y", &Y), ("x", &far)]));
    let (mean, sd) = known[1];
    let found = far.known("b");
    assert!((found.0 - mean).abs() < 0.1 * sd, "{found:?} {mean} {sd}");
    assert!((found.1 / sd - 1.0).abs() < 0.08, "{found:?} {mean} {sd}");
}

/// Waiting times whose rates are log-linear, with and without a shape.
#[test]
fn waiting_times_are_what_quadrature_says() {
    let t = [0.3, 1.2, 2.0, 0.7, 1.9, 0.2, 0.9, 0.4];
    let cases: [(&str, f64, f64); 3] = [
        ("t[i] ~ dexp(exp(a + b * x[i]))", 1.0, 1.0),
        ("t[i] ~ dgamma(2.5, exp(a + b * x[i]))", 2.5, 1.0),
        ("t[i] ~ dweib(1.7, exp(a + b * x[i]))", 1.0, 1.7),
    ];
    for (line, shape, power) in cases {
        let text =
            format!("model {{ for (i in 1:8) {{ {line} }} a ~ dnorm(0, 0.1); b ~ dnorm(0, 0.1) }}");
        let fitted = fitted(&text, &numbers(&[("t", &t), ("x", &X)]));
        let density = |[a, b]: [f64; 2]| {
            let each = (0..8).map(|i| {
                let eta = a + b * X[i];
                let time: f64 = t[i];
                let constant = if power == 1.0 {
                    (shape - 1.0) * time.ln() - collapsar::special::ln_gamma(shape)
                } else {
                    power.ln() + (power - 1.0) * time.ln()
                };
                constant + shape * eta - eta.exp() * time.powf(power)
            });
            each.sum::<f64>() + ln_normal(a, 0.1) + ln_normal(b, 0.1)
        };
        let (evidence, known) = quadrature([0.3, 0.0], [0.45, 0.45], density);
        let bound = fitted.point().bound;
        assert!(
            bound <= evidence && bound > evidence - 0.05,
            "{line}: {bound} {evidence}"
        );
        for (name, (mean, sd)) in ["a", "b"].into_iter().zip(known) {
            let found = fitted.known(name);
            assert!(
                (found.0 - mean).abs() < 0.1 * sd,
                "{line}: {found:?} {mean} {sd}"
            );
            assert!(
                (found.1 / sd - 1.0).abs() < 0.08,
                "{line}: {found:?} {mean} {sd}"
            );
        }
    }
}

/// Nothing overflows: no counts at all, a million, and both at once.
#[test]
fn extreme_counts_are_fitted() {
    let text = "model {
      for (i in 1:8) { y[i] ~ dpois(mu[i]); log(mu[i]) <- a + b * x[i] }
      a ~ dnorm(0, 1.0E-6); b ~ dnorm(0, 1.0E-6)
    }";
    // Without a count the posterior ends where the priors do; nothing is said of it but that it is there.
    let none = numbers(&[("y", &[0.0; 8]), ("x", &X)]);
    let zeros = fitted(text, &none);
    assert!(zeros.point().bound.is_finite() && zeros.point().bound < 0.0);
    let narrow = text.replace("1.0E-6", "0.1");
    let zeros = fitted(&narrow, &none);
    let density = |[a, b]: [f64; 2]| {
        let each = (0..8).map(|i| ln_poisson(0.0, a + b * X[i]));
        each.sum::<f64>() + ln_normal(a, 0.1) + ln_normal(b, 0.1)
    };
    let (evidence, known) = quadrature([-4.0, 0.0], [3.0, 3.0], density);
    let bound = zeros.point().bound;
    assert!(
        bound <= evidence && bound > evidence - 0.3,
        "{bound} {evidence}"
    );
    let (drawn, _, error) = zeros.drawn(0, 8_000);
    assert!(
        (drawn - known[0].0).abs() < 4.0 * error,
        "{drawn} {known:?} {error}"
    );
    let large = Y.map(|y| 1e6 * y);
    let large = fitted(text, &numbers(&[("y", &large), ("x", &X)]));
    // The slope of the maximum of the likelihood, by Newton's steps.
    let (mut a, mut b) = (10.0_f64, 0.0_f64);
    for _ in 0..200 {
        let (mut g, mut h) = ([0.0; 2], [0.0; 3]);
        for i in 0..8 {
            let mu = (a + b * X[i]).exp();
            let r = 1e6 * Y[i] - mu;
            g[0] += r;
            g[1] += r * X[i];
            h[0] += mu;
            h[1] += mu * X[i];
            h[2] += mu * X[i] * X[i];
        }
        let det = h[0] * h[2] - h[1] * h[1];
        a += ((h[2] * g[0] - h[1] * g[1]) / det).clamp(-1.0, 1.0);
        b += ((h[0] * g[1] - h[1] * g[0]) / det).clamp(-1.0, 1.0);
    }
    let found = large.known("b");
    assert!((found.0 - b).abs() < 0.05 * found.1, "{found:?} {b}");
}

/// The block with exponentials is kept explicit, and `collapse` of it is refused by the line that forbids it.
#[test]
fn predictors_are_explicit() {
    let text = "model {
      for (i in 1:8) { y[i] ~ dpois(mu[i]); log(mu[i]) <- a + e[i]; e[i] ~ dnorm(0, tau) }
      a ~ dnorm(0, 1.0E-6); tau ~ dgamma(1, 1)
    }";
    let prepared = prepared(text, data(&numbers(&[("y", &Y)])));
    let model = prepared.compile(&Demands::default()).expect("a choice");
    let classes = &model.choice().classes;
    let own = classes
        .iter()
        .find(|class| class.names.contains(&"a".to_owned()));
    let own = own.expect("a class");
    assert_eq!(own.role, collapsar::graph::Role::Own);
    assert!(own.names.contains(&"e".to_owned()));
    let refused = prepared.compile(&demands("a", "")).expect_err("a conflict");
    assert!(refused.to_string().contains("dpois"), "{refused}");
}

/// Offsets and factors may be written in any way.
#[test]
fn spellings_are_the_same() {
    let fit = |lines: &str| {
        let text = format!(
            "model {{ for (i in 1:8) {{ y[i] ~ dpois(mu[i]); {lines} }} a ~ dnorm(0, 0.1); b ~ dnorm(0, 0.1) }}"
        );
        let numbers = numbers(&[("y", &Y), ("x", &X), ("n", &N)]);
        fitted(&text, &numbers).point().bound
    };
    let bound = fit("log(mu[i]) <- log(n[i]) + a + b * x[i]");
    for lines in [
        "mu[i] <- exp(log(n[i]) + a + b * x[i])",
        "mu[i] <- n[i] * exp(a) * exp(b * x[i])",
        "mu[i] <- l[i] * n[i]; log(l[i]) <- a + b * x[i]",
        "mu[i] <- n[i] / l[i]; l[i] <- exp(-a - b * x[i])",
        "mu[i] <- n[i] * sqrt(exp(2 * a + 2 * b * x[i]))",
    ] {
        assert!((fit(lines) - bound).abs() < 1e-9, "{lines}");
    }
}

/// A random effect's standard deviation, precision or gamma factor may have any prior that they have elsewhere.
#[test]
fn scales_stand_beside_predictors() {
    let text = |prior: &str| {
        format!(
            "model {{
               for (i in 1:8) {{ y[i] ~ dpois(mu[i]); log(mu[i]) <- a + b * x[i] + e[i]; e[i] ~ dnorm(0, tau) }}
               a ~ dnorm(0, 0.1); b ~ dnorm(0, 0.1); {prior}
             }}"
        )
    };
    let data = numbers(&[("y", &Y), ("x", &X)]);
    // Effects are so small that the posterior is that without them.
    let density = |[a, b]: [f64; 2]| {
        let each = (0..8).map(|i| ln_poisson(Y[i], a + b * X[i]));
        each.sum::<f64>() + ln_normal(a, 0.1) + ln_normal(b, 0.1)
    };
    let (evidence, known) = quadrature([0.4, 1.1], [0.4, 0.4], density);
    for prior in [
        "sigma ~ dunif(0, 1.0E-3); tau <- pow(sigma, -2)",
        "sigma ~ dnorm(0, 1.0E8) T(0,); tau <- 1 / (sigma * sigma)",
        "tau ~ dgamma(1.0E5, 1.0E-3)",
    ] {
        let near = fitted(&text(prior), &data);
        let bound = near.point().bound;
        // Mean field: a deviation and eight effects that follow it have factors of their own.
        assert!(
            bound <= evidence && bound > evidence - 1.5,
            "{prior}: {bound} {evidence}"
        );
        let (drawn, _, error) = near.drawn(near.variable("b"), 8_000);
        let mean = known[1].0;
        assert!(
            (drawn - mean).abs() < 4.0 * error,
            "{prior}: {drawn} {mean} {error}"
        );
    }
}

/// Counts of a log-linear mean that vary more than Poisson counts do, of a known size and of one of two.
#[test]
fn negative_binomial_counts_are_below_the_evidence() {
    let density = |size: f64, [a, b]: [f64; 2]| {
        let each = (0..8).map(|i| {
            let mu = (a + b * X[i]).exp();
            let ways = collapsar::special::ln_gamma(Y[i] + size)
                - collapsar::special::ln_gamma(size)
                - collapsar::special::ln_gamma(Y[i] + 1.0);
            ways + size * (size / (size + mu)).ln() + Y[i] * (mu / (size + mu)).ln()
        });
        each.sum::<f64>() + ln_normal(a, 0.1) + ln_normal(b, 0.1)
    };
    let text = |size: &str| {
        format!(
            "model {{
               for (i in 1:8) {{ y[i] ~ dnegbin(p[i], r); p[i] <- r / (r + mu[i]); log(mu[i]) <- a + b * x[i] }}
               a ~ dnorm(0, 0.1); b ~ dnorm(0, 0.1); {size}
             }}"
        )
    };
    let data = numbers(&[("y", &Y), ("x", &X)]);
    let (evidence, known) = quadrature([0.4, 1.1], [0.45, 0.45], |at| density(3.0, at));
    let one = fitted(&text("r <- 3"), &data);
    let bound = one.point().bound;
    assert!(
        bound <= evidence && bound > evidence - 1.0,
        "{bound} {evidence}"
    );
    for place in 0..2 {
        let (drawn, spread, error) = one.drawn(place as u32, 12_000);
        let (mean, sd) = known[place];
        assert!((drawn - mean).abs() < 4.0 * error, "{drawn} {mean} {error}");
        assert!((spread / sd - 1.0).abs() < 0.05, "{spread} {sd}");
    }
    // The same by gamma variables, where the size is looked up: weights of draws of q have the evidence as their mean.
    let same = fitted(&text("r <- 3 + 0 * k; k ~ dbern(0.4)"), &data);
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let weights = same.model.ln_weights(same.point(), 40_000, &mut rng);
    let weights = weights.expect("weights");
    let found = collapsar::special::log_sum_exp(&weights) - 40_000_f64.ln();
    assert!(
        same.point().bound <= evidence && (found - evidence).abs() < 0.3,
        "{found} {evidence}"
    );
    let two = fitted(&text("r <- 1 + 4 * k; k ~ dbern(0.4)"), &data);
    let parts = [(1.0, 0.6), (5.0, 0.4)].map(|(size, weight): (f64, f64)| {
        let (evidence, known) = quadrature([0.4, 1.1], [0.5, 0.5], |at| density(size, at));
        (weight * evidence.exp(), known)
    });
    let total = parts[0].0 + parts[1].0;
    let (evidence, bound) = (total.ln(), two.point().bound);
    // Mean field: the size and eight rates that it tells of have factors of their own.
    assert!(
        bound <= evidence && bound > evidence - 4.0,
        "{bound} {evidence}"
    );
    let mean = (parts[0].0 * parts[0].1[1].0 + parts[1].0 * parts[1].1[1].0) / total;
    let slope = two.variable("b");
    let (drawn, _, error) = two.drawn(slope, 12_000);
    assert!((drawn - mean).abs() < 4.0 * error, "{drawn} {mean} {error}");
}

/// Times that are only known to be long count by the probability of that, and are drawn beyond what they are known to be.
#[test]
fn censored_times_are_summed_out() {
    let t = [0.3, 1.2, 2.0, 0.7, f64::NAN, 0.2, 0.9, f64::NAN];
    let (cut, seen) = (1.5, [0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
    let cuts = t.map(|t| if t.is_nan() { cut } else { 100.0 });
    let seen = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| if t[i].is_nan() { seen[i] } else { 0.0 });
    for (line, shape) in [("dweib(1.7, mu[i])", 1.7), ("dexp(mu[i])", 1.0)] {
        let text = format!(
            "model {{
               for (i in 1:8) {{ c[i] ~ dinterval(t[i], cut[i]); t[i] ~ {line}; log(mu[i]) <- a + b * x[i] }}
               a ~ dnorm(0, 0.1); b ~ dnorm(0, 0.1)
             }}"
        );
        let all = numbers(&[("t", &t), ("x", &X), ("cut", &cuts), ("c", &seen)]);
        let fitted = fitted(&text, &all);
        let density = |[a, b]: [f64; 2]| {
            let each = (0..8).map(|i| {
                let (eta, time): (f64, f64) = (a + b * X[i], t[i]);
                if time.is_nan() {
                    -eta.exp() * cut.powf(shape)
                } else {
                    shape.ln() + (shape - 1.0) * time.ln() + eta - eta.exp() * time.powf(shape)
                }
            });
            each.sum::<f64>() + ln_normal(a, 0.1) + ln_normal(b, 0.1)
        };
        let (evidence, known) = quadrature([-0.2, -0.5], [0.5, 0.5], density);
        let bound = fitted.point().bound;
        assert!(
            bound <= evidence && bound > evidence - 0.1,
            "{line}: {bound} {evidence}"
        );
        let (drawn, _, error) = fitted.drawn(0, 8_000);
        let mean = known[0].0;
        assert!(
            (drawn - mean).abs() < 4.0 * error,
            "{line}: {drawn} {mean} {error}"
        );
    }
}

/// Unknown counts with log-linear rates: all values of each are summed.
#[test]
fn unknown_counts_may_have_log_linear_rates() {
    let (y, x) = ([2.0, 5.0, 1.0, 7.0], [-0.5, 0.4, -0.9, 1.0]);
    let text = "model {
      for (i in 1:4) { N[i] ~ dpois(l[i]); log(l[i]) <- a + b * x[i]; y[i] ~ dbin(0.6, N[i]) }
      a ~ dnorm(0, 0.1); b ~ dnorm(0, 0.1)
    }";
    let fitted = fitted(text, &numbers(&[("y", &y), ("x", &x)]));
    // A Poisson count of which each is seen with probability 0.6 is a Poisson count.
    let density = |[a, b]: [f64; 2]| {
        let each = (0..4).map(|i| ln_poisson(y[i], a + b * x[i] + 0.6_f64.ln()));
        each.sum::<f64>() + ln_normal(a, 0.1) + ln_normal(b, 0.1)
    };
    let (evidence, known) = quadrature([1.8, 0.9], [0.4, 0.5], density);
    let bound = fitted.point().bound;
    assert!(
        bound <= evidence && bound > evidence - 1.0,
        "{bound} {evidence}"
    );
    let slope = fitted.variable("b");
    let (drawn, _, error) = fitted.drawn(slope, 8_000);
    let mean = known[1].0;
    assert!((drawn - mean).abs() < 4.0 * error, "{drawn} {mean} {error}");
}

/// What is no linear predictor is put on a grid, one scalar at least, and refused in words where more would have to be.
#[test]
fn other_rates_take_grids() {
    for lines in [
        "mu <- exp(a * b); a ~ dnorm(0, 1)",
        "mu <- exp(a) + exp(b); a ~ dnorm(0, 1)",
        "mu <- exp(a + b); a ~ dnorm(0, 1) T(0,)",
    ] {
        let text = format!("model {{ y ~ dpois(mu); b ~ dnorm(0, 1); {lines} }}");
        let bound = fitted(&text, "y=2").point().bound;
        assert!(bound.is_finite() && bound < 0.0, "{lines}: {bound}");
    }
    let text = "model {
      y ~ dpois(mu); mu <- exp(a[1]) + exp(a[2]) + exp(a[3]) + exp(a[4]) + exp(a[5])
      for (i in 1:5) { a[i] ~ dnorm(0, 1) }
    }";
    let model = Model::parse(text).expect("a text");
    let refusal = model.with(data("y=2")).expect_err("a refusal");
    let words = refusal.render("m.bug", text);
    assert!(
        words.contains("exponential of a linear predictor"),
        "{words}"
    );
}
