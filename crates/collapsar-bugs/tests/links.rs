//! Logit and probit links: bounds below the evidence, chains at the posterior, one model however it is written.

mod common;

use std::sync::atomic::AtomicBool;

use collapsar::laws::model as laws;
use collapsar::special::ln_gamma;
use collapsar_bugs::{ChainOptions, ChainStart, Data, Model};
use common::{best_bound, climb, compiled, data, demands, marginals, mean, prepared, put};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// A grid from -`far` to `far`.
fn grid(far: f64, count: i32) -> impl Iterator<Item = f64> + Clone {
    (-count..=count).map(move |k| far * f64::from(k) / f64::from(count))
}

/// ln of the integral of e^f over the plane, and the means of the two numbers: smooth tails, so that a grid is exact.
fn plane(far: f64, f: impl Fn(f64, f64) -> f64) -> (f64, [f64; 2]) {
    let count = 400;
    let step = far / f64::from(count);
    let (mut sum, mut first, mut second) = (0.0, 0.0, 0.0);
    for a in grid(far, count) {
        for b in grid(far, count) {
            let density = f(a, b).exp();
            sum += density;
            first += density * a;
            second += density * b;
        }
    }
    ((sum * step * step).ln(), [first / sum, second / sum])
}

fn normal(x: f64, mean: f64, precision: f64) -> f64 {
    0.5 * (precision.ln() - (2.0 * std::f64::consts::PI).ln())
        - 0.5 * precision * (x - mean).powi(2)
}

/// ln of the probability of a count with these log odds.
fn binomial(x: f64, n: f64, odds: f64) -> f64 {
    let ways = ln_gamma(n + 1.0) - ln_gamma(x + 1.0) - ln_gamma(n - x + 1.0);
    let soft = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
    ways + x * odds - n * soft(odds)
}

/// Means of chains by name, each of so many draws.
fn chain_means(text: &str, data: Data, names: &[&str]) -> Vec<(f64, f64)> {
    let prepared = prepared(text, data);
    let model = prepared.compile(&demands("", "")).expect("a choice");
    let fit = climb(&model, 1, 1e-8);
    let quantities = prepared.quantities().expect("quantities");
    let chosen: Vec<_> = (names.iter())
        .map(|name| {
            let found = quantities.iter().find(|q| q.to_string() == **name);
            found.unwrap_or_else(|| panic!("{name}")).clone()
        })
        .collect();
    let options = ChainOptions {
        chains: 2,
        warmup: 500,
        draws: 20_000,
        seed: 7,
    };
    let start = ChainStart::Point(&fit.point);
    let never = AtomicBool::new(false);
    let draws = prepared.chains(&model, start, &chosen, options, &never);
    let draws = draws.expect("chains").expect("not interrupted");
    (0..chosen.len())
        .map(|place| {
            let all: Vec<f64> = draws.chains.iter().flat_map(|c| c[place].clone()).collect();
            let batches: Vec<f64> = (all.chunks(500))
                .map(|batch| batch.iter().sum::<f64>() / batch.len() as f64)
                .collect();
            let count = batches.len() as f64;
            let mean = batches.iter().sum::<f64>() / count;
            let spread: f64 = batches.iter().map(|x| (x - mean).powi(2)).sum();
            (mean, (spread / (count * (count - 1.0))).sqrt())
        })
        .collect()
}

fn assert_means(found: &[(f64, f64)], exact: &[f64]) {
    for ((mean, error), exact) in found.iter().zip(exact) {
        assert!((mean - exact).abs() < 4.5 * error, "{found:?} {exact}");
    }
}

/// The bound of Jaakkola and Jordan for one coefficient, by their own updates of ξ (PolsonEtAl13 have the same ω).
#[test]
fn the_bound_is_that_of_jaakkola_and_jordan() {
    let (x, y) = ([0.5_f64, -1.0, 2.0, 0.3, -4.0], [1.0, 0.0, 1.0, 1.0, 0.0]);
    let (m0, t0) = (0.3, 0.5);
    let mut xi = [1.0_f64; 5];
    let (mut m, mut v) = (0.0, 1.0);
    let lambda = |xi: f64| (0.5 * xi).tanh() / (4.0 * xi);
    for _ in 0..5000 {
        let precision: f64 = t0
            + (0..5)
                .map(|i| 2.0 * lambda(xi[i]) * x[i] * x[i])
                .sum::<f64>();
        let linear: f64 = t0 * m0 + (0..5).map(|i| (y[i] - 0.5) * x[i]).sum::<f64>();
        v = 1.0 / precision;
        m = v * linear;
        for i in 0..5 {
            xi[i] = (x[i] * x[i] * (m * m + v)).sqrt();
        }
    }
    let each = |xi: f64| -(1.0 + (-xi).exp()).ln() - 0.5 * xi + lambda(xi) * xi * xi;
    let expected = xi.iter().map(|xi| each(*xi)).sum::<f64>()
        + 0.5 * (v * t0).ln()
        + 0.5 * (m * m / v - t0 * m0 * m0);
    let text = "model { for (i in 1:5) { y[i] ~ dbern(p[i]); logit(p[i]) <- b*x[i] } b ~ dnorm(0.3, 0.5) }";
    let model = compiled(text, data("x=0.5 -1 2 0.3 -4; y=1 0 1 1 0"));
    let bound = best_bound(&model);
    assert!((bound - expected).abs() < 1e-9, "{bound} {expected}");

    let joint = |b: f64| {
        let rows = x.iter().zip(&y).map(|(x, y)| binomial(*y, 1.0, b * x));
        rows.sum::<f64>() + normal(b, m0, t0)
    };
    let step = 30.0 / 4000.0;
    let evidence = (grid(30.0, 4000).map(|b| joint(b).exp()).sum::<f64>() * step).ln();
    assert!(bound < evidence, "{bound} {evidence}");
}

/// Counts with n = 0, x = 0 and x = n among them, and a known offset: bound, mean field's means and chains.
#[test]
fn counts_with_two_coefficients() {
    let text = "model {
        for (i in 1:5) { y[i] ~ dbin(p[i], n[i]); logit(p[i]) <- a + b*x[i] + off[i] }
        a ~ dnorm(0, 0.5); b ~ dnorm(0, 0.5)
    }";
    let numbers = "y=0 4 0 7 3; n=0 4 6 20 9; x=1 -0.5 2 0.3 -1; off=0 1 -1 0 0.5";
    let (y, n) = ([0.0, 4.0, 0.0, 7.0, 3.0], [0.0, 4.0, 6.0, 20.0, 9.0]);
    let (x, off) = ([1.0, -0.5, 2.0, 0.3, -1.0], [0.0, 1.0, -1.0, 0.0, 0.5]);
    let (evidence, exact) = plane(10.0, |a, b| {
        let rows = (0..5).map(|i| binomial(y[i], n[i], a + b * x[i] + off[i]));
        rows.sum::<f64>() + normal(a, 0.0, 0.5) + normal(b, 0.0, 0.5)
    });
    let prepared = prepared(text, data(numbers));
    let model = prepared.compile(&demands("", "")).expect("a choice");
    let fit = climb(&model, 1, 1e-12);
    let bound = fit.point.bound;
    assert!(
        bound < evidence && evidence < bound + 0.3,
        "{bound} {evidence}"
    );
    let found = marginals(&prepared, &model.variational_posterior(&fit.point));
    for (name, exact) in ["a", "b"].iter().zip(exact) {
        let mean = mean(&found[*name]);
        assert!((mean - exact).abs() < 0.05, "{name}: {mean} {exact}");
    }
    assert_means(&chain_means(text, data(numbers), &["a", "b"]), &exact);
}

/// One model, however it is written.
#[test]
fn spellings_of_a_logistic_predictor_are_one_model() {
    let with = |line: &str| {
        format!("model {{ for (i in 1:4) {{ {line} }} a ~ dnorm(0, 0.5); b ~ dnorm(0, 0.5) }}")
    };
    let numbers = "y=1 0 3 2; n=1 2 3 5; x=1 -0.5 2 0.3";
    let bound = |line: &str| best_bound(&compiled(&with(line), data(numbers)));
    let first = bound("y[i] ~ dbin(p[i], n[i]); logit(p[i]) <- a + b*x[i]");
    for line in [
        "y[i] ~ dbin(p[i], n[i]); p[i] <- ilogit(a + b*x[i])",
        "y[i] ~ dbin(ilogit(a + b*x[i]), n[i])",
        "y[i] ~ dbin(p[i], n[i]); p[i] <- 1/(1 + exp(-(a + b*x[i])))",
        "y[i] ~ dbin(p[i], n[i]); p[i] <- 1/(1 + exp(-a - b*x[i]))",
        "y[i] ~ dbin(p[i], n[i]); e[i] <- exp(a + b*x[i]); p[i] <- e[i]/(1 + e[i])",
        "y[i] ~ dbin(p[i], n[i]); p[i] <- 1 - q[i]; logit(q[i]) <- -a - b*x[i]",
        "y[i] ~ dbin(1 * p[i], n[i]); logit(p[i]) <- logit(q[i]); q[i] <- ilogit(a + b*x[i])",
        "y[i] ~ dbin(p[i], n[i]); log(o[i]) <- a + b*x[i]; p[i] <- o[i]/(1 + o[i])",
    ] {
        let found = bound(line);
        assert!((found - first).abs() < 1e-9, "{line}: {found} {first}");
    }
}

/// A uniform prior on a probability whose logit is an intercept: reported as the probability, by quadrature.
#[test]
fn log_odds_of_a_beta_variable() {
    let text = "model {
        mean.p ~ dunif(0, 1)
        a <- logit(mean.p)
        for (i in 1:5) { y[i] ~ dbin(p[i], 4); logit(p[i]) <- a + b*x[i] }
        b ~ dnorm(0, 0.5)
        k ~ dbin(mean.p, 3)
    }";
    let numbers = "y=1 0 4 2 3; x=1 -0.5 2 0.3 -1; k=2";
    let (y, x) = ([1.0, 0.0, 4.0, 2.0, 3.0], [1.0, -0.5, 2.0, 0.3, -1.0]);
    let joint = |a: f64, b: f64| {
        let rows = (0..5).map(|i| binomial(y[i], 4.0, a + b * x[i]));
        // The density of the log odds of a uniform number.
        let prior = binomial(1.0, 2.0, a) - 2.0_f64.ln();
        rows.sum::<f64>() + binomial(2.0, 3.0, a) + prior + normal(b, 0.0, 0.5)
    };
    let (evidence, exact) = plane(12.0, joint);
    let (mut sum, mut of_p) = (0.0, 0.0);
    for a in grid(12.0, 400) {
        let density: f64 = grid(12.0, 400).map(|b| joint(a, b).exp()).sum();
        sum += density;
        of_p += density / (1.0 + (-a).exp());
    }
    let bound = best_bound(&compiled(text, data(numbers)));
    assert!(
        bound < evidence && evidence < bound + 0.5,
        "{bound} {evidence}"
    );
    let found = chain_means(text, data(numbers), &["a", "b", "mean.p"]);
    assert_means(&found, &[exact[0], exact[1], of_p / sum]);
}

/// Sites that are occupied or not, each with a logistic probability, and visits that may miss what is there.
#[test]
fn occupancy_with_two_predictors() {
    let text = "model {
        for (i in 1:6) {
            z[i] ~ dbern(psi[i]); logit(psi[i]) <- a
            for (j in 1:3) { y[i,j] ~ dbern(mu.p[i,j]); mu.p[i,j] <- z[i]*p[i,j]; logit(p[i,j]) <- b*x[i,j] }
        }
        a ~ dnorm(0, 0.5); b ~ dnorm(0, 0.5)
    }";
    let numbers = "y[6,3]=1 0 1 0 0 0 0 1 0 0 0 0 1 1 1 0 0 0; \
                   x[6,3]=1 -0.5 2 0.3 -1 0.2 0.5 1 1.5 -0.5 0 0.4 1 2 0.1 -0.3 0.2 1";
    let given = data(numbers);
    let (y, x) = (&given.arrays["y"].values, &given.arrays["x"].values);
    let joint = |a: f64, b: f64| {
        let site = |i: usize| {
            let seen = |j: usize| binomial(y[3 * i + j], 1.0, b * x[3 * i + j]);
            let there = binomial(1.0, 1.0, a) + (0..3).map(seen).sum::<f64>();
            let none = (0..3).all(|j| y[3 * i + j] == 0.0);
            let absent = if none {
                binomial(0.0, 1.0, a).exp()
            } else {
                0.0
            };
            (there.exp() + absent).ln()
        };
        (0..6).map(site).sum::<f64>() + normal(a, 0.0, 0.5) + normal(b, 0.0, 0.5)
    };
    let (evidence, exact) = plane(10.0, joint);
    let model = compiled(text, data(numbers));
    let bound = best_bound(&model);
    assert!(
        bound < evidence && evidence < bound + 1.0,
        "{bound} {evidence}"
    );
    assert_means(&chain_means(text, data(numbers), &["a", "b"]), &exact);
}

/// Capture and recapture: an animal lives on with one logistic probability and is seen with another.
#[test]
fn survival_of_marked_animals() {
    let text = "model {
        for (i in 1:4) {
            z[i,1] <- 1
            for (t in 2:4) {
                z[i,t] ~ dbern(alive[i,t]); alive[i,t] <- phi.t[t]*z[i,t-1]
                y[i,t] ~ dbern(p*z[i,t])
            }
        }
        for (t in 2:4) { logit(phi.t[t]) <- a }
        logit(p) <- b
        a ~ dnorm(1, 0.5); b ~ dnorm(0, 0.5)
    }";
    let numbers = "y[4,4]=1 1 0 1 1 0 0 0 1 1 1 0 1 0 1 0";
    let y = data(numbers).arrays["y"].values.clone();
    let joint = |a: f64, b: f64| {
        let animal = |i: usize| {
            // Forward: alive or not after each year.
            let (mut alive, mut dead) = (1.0, 0.0);
            for t in 1..4 {
                let lives = binomial(1.0, 1.0, a).exp();
                let next = alive * lives * binomial(y[4 * i + t], 1.0, b).exp();
                dead = (dead + alive * (1.0 - lives)) * (1.0 - y[4 * i + t]);
                alive = next;
            }
            (alive + dead).ln()
        };
        (0..4).map(animal).sum::<f64>() + normal(a, 1.0, 0.5) + normal(b, 0.0, 0.5)
    };
    let (evidence, exact) = plane(10.0, joint);
    let bound = best_bound(&compiled(text, data(numbers)));
    assert!(
        bound < evidence && evidence < bound + 1.5,
        "{bound} {evidence}"
    );
    assert_means(&chain_means(text, data(numbers), &["a", "b"]), &exact);
}

/// Probits are the hidden normal variables that a text may write out.
#[test]
fn probits_are_hidden_normal_variables() {
    let cases = [
        (
            "for (i in 1:5) { y[i] ~ dbern(p[i]); probit(p[i]) <- a + b*x[i] }",
            "for (i in 1:5) { y[i] ~ dinterval(h[i], 0); h[i] ~ dnorm(a + b*x[i], 1) }",
            "y=1 0 1 1 0; x=0.5 -1 2 0.3 -0.2",
        ),
        (
            "for (i in 1:5) { y[i] ~ dbern(phi(a + b*x[i])) }",
            "for (i in 1:5) { y[i] ~ dinterval(h[i], 0); h[i] ~ dnorm(a + b*x[i], 1) }",
            "y=1 0 1 1 0; x=0.5 -1 2 0.3 -0.2",
        ),
        (
            "for (i in 1:5) {
                p[i,1] <- phi(cut[1] - a - b*x[i])
                p[i,2] <- phi(cut[2] - a - b*x[i]) - phi(cut[1] - a - b*x[i])
                p[i,3] <- 1 - phi(cut[2] - a - b*x[i])
                y[i] ~ dcat(p[i,])
            }",
            "for (i in 1:5) { y0[i] ~ dinterval(h[i], cut[]); h[i] ~ dnorm(a + b*x[i], 1) }",
            "y=1 3 2 2 1; y0=0 2 1 1 0; x=0.5 -1 2 0.3 -0.2; cut=-0.5 0.8",
        ),
        (
            "for (i in 1:2) { y[i] ~ dbin(phi(a + b*x[i]), 2) }",
            "for (i in 1:2) { for (j in 1:2) { d[i,j] ~ dinterval(h[i,j], 0); h[i,j] ~ dnorm(a + b*x[i], 1) } }",
            "y=1 2; d[2,2]=1 0 1 1; x=0.5 -1",
        ),
    ];
    for (linked, written, numbers) in cases {
        let text =
            |lines: &str| format!("model {{ {lines} a ~ dnorm(0, 0.5); b ~ dnorm(0, 0.5) }}");
        let bound = |lines: &str| best_bound(&compiled(&text(lines), data(numbers)));
        let (found, expected) = (bound(linked), bound(written));
        // Two trials may be answered in one order or the other.
        let ways = if numbers.contains("d[2,2]") {
            2.0_f64.ln()
        } else {
            0.0
        };
        assert!(
            (found - ways - expected).abs() < 1e-9,
            "{linked}: {found} {expected}"
        );
    }
}

/// A probit under a label: in states that say nothing of it, a hidden number has a density of its own.
#[test]
fn probits_of_labels() {
    let text = "model {
        for (i in 1:4) { z[i] ~ dbern(phi(a)); y[i] ~ dbern(z[i]*p); }
        p <- phi(b)
        a ~ dnorm(0, 0.5); b ~ dnorm(0, 0.5)
    }";
    let numbers = "y=1 0 0 1";
    let phi = |x: f64| 0.5 * libm_erfc(-x / std::f64::consts::SQRT_2);
    let (evidence, exact) = plane(10.0, |a, b| {
        let one = phi(a) * phi(b);
        2.0 * one.ln() + 2.0 * (1.0 - one).ln() + normal(a, 0.0, 0.5) + normal(b, 0.0, 0.5)
    });
    let bound = best_bound(&compiled(text, data(numbers)));
    assert!(
        bound < evidence && evidence < bound + 2.0,
        "{bound} {evidence}"
    );
    assert_means(&chain_means(text, data(numbers), &["a", "b"]), &exact);
}

/// erfc by the continued fraction and the series that meet at 2: to 1e-10 here.
fn libm_erfc(x: f64) -> f64 {
    if x < 0.0 {
        return 2.0 - libm_erfc(-x);
    }
    if x > 2.0 {
        let fraction = (1..=60)
            .rev()
            .fold(x, |down, k| x + 0.5 * f64::from(k) / down);
        return (-x * x).exp() / (fraction * std::f64::consts::PI.sqrt());
    }
    let (mut term, mut sum) = (x, 0.0);
    for k in 1..80 {
        sum += term / f64::from(2 * k - 1);
        term *= -x * x / f64::from(k);
    }
    1.0 - 2.0 / std::f64::consts::PI.sqrt() * sum
}

/// Data that a line separates, a hundred thousand trials, and a covariate a million away: all finite, the last as
/// though it were centred.
#[test]
fn extreme_data() {
    let text = "model {
        for (i in 1:4) { y[i] ~ dbin(p[i], n[i]); logit(p[i]) <- a + b*x[i] }
        a ~ dnorm(0, 1.0E-4); b ~ dnorm(0, 1.0E-4)
    }";
    for numbers in [
        "y=0 0 1 1; n=1 1 1 1; x=-2 -1 1 2",
        "y=30000 52000 50 100000; n=100000 100000 100 100000; x=-1 0 0.1 8",
        "y=1 1 1 1; n=1 1 1 1; x=1e5 2e5 -1e5 3",
    ] {
        let prepared = prepared(text, data(numbers));
        let model = prepared.compile(&demands("", "")).expect("a choice");
        let fit = climb(&model, 1, 1e-10);
        assert!(fit.point.bound.is_finite(), "{numbers}");
        let found = marginals(&prepared, &model.variational_posterior(&fit.point));
        assert!(found.values().all(|m| mean(m).is_finite()), "{numbers}");
    }
    let slope = |offset: f64| {
        let mut given = data("y=1 0 3 5; n=4 5 6 6");
        let x = [-1.0, -0.5, 0.5, 1.0].map(|x| x + offset);
        put(&mut given, "x", &[4], &x);
        let text = "model {
            for (i in 1:4) { y[i] ~ dbin(p[i], n[i]); logit(p[i]) <- a + b*x[i] }
            a ~ dnorm(0, 1.0E-20); b ~ dnorm(0, 1.0E-2)
        }";
        let prepared = prepared(text, given);
        let model = prepared.compile(&demands("", "")).expect("a choice");
        let fit = climb(&model, 1, 1e-12);
        let found = marginals(&prepared, &model.variational_posterior(&fit.point));
        mean(&found["b"])
    };
    let (near, far) = (slope(0.0), slope(1e6));
    assert!((near - far).abs() < 1e-4 * near.abs(), "{near} {far}");
}

/// Forty counts with three coefficients and an offset.
fn forty() -> (&'static str, Data) {
    let text = "model {
        for (i in 1:N) { y[i] ~ dbin(p[i], n[i]); logit(p[i]) <- a + inprod(X[i,], b[]) + 0.1*off[i] }
        a ~ dnorm(0, 0.5)
        for (j in 1:2) { b[j] ~ dnorm(0, 0.5) }
    }";
    let n: Vec<f64> = (0..40).map(|i| f64::from(i % 4)).collect();
    let y: Vec<f64> = (n.iter().enumerate())
        .map(|(i, n)| (n * (i % 3) as f64 / 2.0).floor())
        .collect();
    let x: Vec<f64> = (0..80).map(|i| (f64::from(i) * 0.7).sin()).collect();
    let off: Vec<f64> = (0..40).map(|i| f64::from(i % 5) - 2.0).collect();
    let mut given = data("");
    put(&mut given, "N", &[1], &[40.0]);
    for (name, values) in [("n", &n), ("y", &y), ("off", &off)] {
        put(&mut given, name, &[40], values);
    }
    put(&mut given, "X", &[40, 2], &x);
    (text, given)
}

/// Repetitions that read the same coefficients are rows, and mean what their terms do: with the Pólya-Gamma variables
/// collapsed, rows are written out.
#[test]
fn rows_of_predictors_are_the_terms_that_they_stand_for() {
    let (text, given) = forty();
    let prepared = prepared(text, given);
    let of = |collapse: &str| {
        let mut demands = demands("", "");
        demands
            .collapse
            .extend((!collapse.is_empty()).then(|| collapse.to_owned()));
        let model = prepared.compile(&demands).expect("a choice");
        let fit = climb(&model, 1, 1e-13);
        let response = model.linear_response(&fit.point).expect("a maximum");
        let found = marginals(&prepared, &model.variational_posterior(&fit.point));
        let extra = response
            .extra_variance(&[(0, 0, 1.0)])
            .expect("inside")
            .expect("a number");
        (
            fit.point.bound,
            mean(&found["a"]),
            mean(&found["b[2]"]),
            extra,
        )
    };
    let (rows, terms) = (of(""), of("the Pólya-Gamma variables of y"));
    assert!((rows.0 - terms.0).abs() < 1e-9, "{rows:?} {terms:?}");
    assert!((rows.1 - terms.1).abs() < 1e-6, "{rows:?} {terms:?}");
    assert!((rows.2 - terms.2).abs() < 1e-6, "{rows:?} {terms:?}");
    assert!((rows.3 / terms.3 - 1.0).abs() < 1e-4, "{rows:?} {terms:?}");
}

/// Laws of potentials on rows of predictors, at points beside a start.
#[test]
fn rows_of_predictors_obey_the_laws() {
    let (text, given) = forty();
    let model = compiled(text, given);
    let messages = climb(&model, 1, 1e-2).point.messages;
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for _ in 0..3 {
        let along = laws::direction(&model, &messages, &mut rng).expect("a direction");
        laws::gradient_is_slope_of_bound(&model, &messages, &along).expect("a law");
        laws::gradient_has_curvature(&model, &messages, &along).expect("a law");
    }
    laws::potentials_conform(&model, &messages, 3).expect("a law");
}

/// Chains over rows have the posterior, by quadrature.
#[test]
fn chains_over_rows_of_predictors() {
    let text = "model {
        for (i in 1:40) { y[i] ~ dbern(p[i]); logit(p[i]) <- a + b*x[i] }
        a ~ dnorm(0, 0.5); b ~ dnorm(0, 0.5)
    }";
    let x: Vec<f64> = (0..40).map(|i| (f64::from(i) * 0.7).sin()).collect();
    let y: Vec<f64> = (0..40).map(|i| f64::from(u8::from(i % 3 != 0))).collect();
    let mut given = data("");
    put(&mut given, "x", &[40], &x);
    put(&mut given, "y", &[40], &y);
    let (evidence, exact) = plane(10.0, |a, b| {
        let rows = x.iter().zip(&y).map(|(x, y)| binomial(*y, 1.0, a + b * x));
        rows.sum::<f64>() + normal(a, 0.0, 0.5) + normal(b, 0.0, 0.5)
    });
    let bound = best_bound(&compiled(text, given.clone()));
    assert!(
        bound < evidence && evidence < bound + 0.3,
        "{bound} {evidence}"
    );
    assert_means(&chain_means(text, given, &["a", "b"]), &exact);
}

/// What has no family is refused where it comes from.
#[test]
fn refusals_name_the_link() {
    let refused = |text: &str, numbers: &str| {
        let parsed = Model::parse(text).map(|model| model.with(data(numbers)));
        let (Ok(Err(complaint)) | Err(complaint)) = parsed else {
            panic!("{text} is taken");
        };
        complaint.render("m.bug", text)
    };
    let complaint = refused(
        "model { for (i in 1:2) { y[i] ~ dbern(p[i]); cloglog(p[i]) <- a + sum(b[]) } a ~ dnorm(0, 1); b[1:3] ~ dmnorm(m[], T[,]) }",
        "y=1 0; m=0 0 0; T[3,3]=1 0 0 0 1 0 0 0 1",
    );
    assert!(complaint.contains("complementary log-log"), "{complaint}");
    assert!(
        complaint.contains("cloglog(p[i]) <- a + sum(b[])"),
        "{complaint}"
    );
    let complaint = refused(
        "model { y ~ dbern(p*w); logit(p) <- sum(a[]); logit(w) <- sum(b[]); a[1:2] ~ dmnorm(m[], T[,]); b[1:2] ~ dmnorm(m[], T[,]) }",
        "y=1; m=0 0; T[2,2]=1 0 0 1",
    );
    assert!(complaint.contains("dbern(z[i]*p[i])"), "{complaint}");
    let complaint = refused(
        "model {
            q[1] <- phi(c[1] - a); q[K+1] <- 1 - phi(c[K] - a)
            for (k in 2:K) { q[k] <- phi(c[k] - a) - phi(c[k-1] - a) }
            y ~ dcat(q[]); a ~ dnorm(0, 1); for (k in 1:K) { c[k] ~ dnorm(0, 1) }
        }",
        "y=2; K=5",
    );
    assert!(complaint.contains("give the cuts as data"), "{complaint}");
    let complaint = refused(
        "model { y ~ dbin(phi(sum(a[])), 100000); for (k in 1:4) { a[k] ~ dnorm(0, 1) } }",
        "y=2",
    );
    assert!(complaint.contains("write logit"), "{complaint}");
}
