//! Errors and priors with heavy tails: the bound, answers and draws against quadrature.

mod common;

use collapsar::graph::{Compiled, Demands};
use common::{climb, compiled, data, marginals, means, prepared, put};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::f64::consts::PI;

/// The logarithm of an integral over the real line, by the trapezoidal rule after x = sinh(t).
fn ln_integral(f: impl Fn(f64) -> f64) -> f64 {
    let h = 1.0 / 128.0;
    let logs: Vec<f64> = (-1500..=1500)
        .map(|i| f64::from(i) * h)
        .map(|t| f(t.sinh()) + t.cosh().ln() + h.ln())
        .collect();
    collapsar::special::log_sum_exp(&logs)
}

fn ln_normal(x: f64, mean: f64, precision: f64) -> f64 {
    0.5 * (precision / (2.0 * PI)).ln() - 0.5 * precision * (x - mean).powi(2)
}

/// ln of the density of gamma(a, b).
fn ln_gamma_density(x: f64, a: f64, b: f64) -> f64 {
    a * b.ln() - collapsar::special::ln_gamma(a) + (a - 1.0) * x.ln() - b * x
}

/// ln of a t density, by its textbook formula.
fn ln_t(x: f64, mean: f64, precision: f64, k: f64) -> f64 {
    let ln_gamma = collapsar::special::ln_gamma;
    ln_gamma(0.5 * (k + 1.0)) - ln_gamma(0.5 * k) + 0.5 * (precision / (k * PI)).ln()
        - 0.5 * (k + 1.0) * (1.0 + precision * (x - mean).powi(2) / k).ln()
}

fn ln_laplace(x: f64, mean: f64, rate: f64) -> f64 {
    (0.5 * rate).ln() - rate * (x - mean).abs()
}

fn ln_logistic(x: f64, mean: f64, rate: f64) -> f64 {
    let t = (rate * (x - mean)).abs();
    rate.ln() - t - 2.0 * (1.0 + (-t).exp()).ln()
}

const Y: [f64; 5] = [1.0, 1.2, 0.7, 6.0, 1.1];

type Density = fn(f64, f64) -> f64;
/// The same with a rate.
type OfRate = fn(f64, f64, f64) -> f64;

/// Distributions around mu, with the density of a datum.
const AROUND: &[(&str, Density)] = &[
    ("dt(mu, 2, 4)", |y, mu| ln_t(y, mu, 2.0, 4.0)),
    ("dt(mu, 2, 1)", |y, mu| ln_t(y, mu, 2.0, 1.0)),
    ("dt(mu, 0.5, 30)", |y, mu| ln_t(y, mu, 0.5, 30.0)),
    ("ddexp(mu, 1.5)", |y, mu| ln_laplace(y, mu, 1.5)),
    ("dlogis(mu, 1.5)", |y, mu| ln_logistic(y, mu, 1.5)),
];

fn text(distribution: &str) -> String {
    format!("model {{ for (i in 1:5) {{ y[i] ~ {distribution} }} mu ~ dnorm(0.5, 0.25) }}")
}

fn of_y() -> collapsar_bugs::Data {
    let mut data = collapsar_bugs::Data::default();
    put(&mut data, "y", &[5], &Y);
    data
}

/// Weights average to the evidence that quadrature finds, and so the terms with the weights of each datum
/// integrate to its density; the bound is below it.
#[test]
fn weights_integrate_to_the_density() {
    for (distribution, density) in AROUND {
        let joint =
            |mu: f64| ln_normal(mu, 0.5, 0.25) + Y.iter().map(|y| density(*y, mu)).sum::<f64>();
        let evidence = ln_integral(joint);
        let model = compiled(&text(distribution), of_y());
        let fit = climb(&model, 1, 1e-10);
        assert!(fit.point.bound < evidence, "{distribution}");
        // Mean field misses some tenths of a nat for each datum far away.
        assert!(
            fit.point.bound > evidence - 1.5,
            "{distribution}: {} {evidence}",
            fit.point.bound
        );
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let ln_weights = model
            .ln_weights(&fit.point, 20_000, &mut rng)
            .expect("weights");
        let found = collapsar::special::log_sum_exp(&ln_weights) - 20_000_f64.ln();
        // Weights of a spread of about one: 1%, and five times that for the tails.
        assert!(
            (found - evidence).abs() < 0.05,
            "{distribution}: {found} {evidence}"
        );
    }
}

/// Chains have the mean and the deviation that quadrature finds.
#[test]
fn chains_agree_with_quadrature() {
    for (distribution, density) in AROUND {
        let joint =
            |mu: f64| ln_normal(mu, 0.5, 0.25) + Y.iter().map(|y| density(*y, mu)).sum::<f64>();
        let evidence = ln_integral(joint);
        // Positive functions of mu, whose means are ratios of integrals.
        let moment = |power: i32| {
            let shifted = |mu: f64| joint(mu) + f64::from(power) * (mu + 50.0).max(1e-300).ln();
            (ln_integral(shifted) - evidence).exp()
        };
        let (first, second) = (moment(1), moment(2));
        let (mean, sd) = (first - 50.0, (second - first * first).sqrt());
        let model = compiled(&text(distribution), of_y());
        let fit = climb(&model, 1, 1e-8);
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut chain = model.chain(&fit.point, &mut rng).expect("a chain");
        let draws: Vec<f64> = (0..60_000)
            .map(|_| {
                chain.sweep(&mut rng).expect("a sweep");
                chain.numbers()[0]
            })
            .collect();
        let n = draws.len() as f64;
        let found = draws.iter().sum::<f64>() / n;
        let spread = (draws.iter().map(|x| (x - found).powi(2)).sum::<f64>() / n).sqrt();
        // Ten thousand effective draws at least: 1% of a deviation, four times.
        assert!(
            (found - mean).abs() < 0.04 * sd,
            "{distribution}: {found} {mean}"
        );
        assert!(
            (spread / sd - 1.0).abs() < 0.04,
            "{distribution}: {spread} {sd}"
        );
    }
}

/// Where everything is known, or all but a rate that is conjugate, the bound is the evidence.
#[test]
fn known_residuals_are_exact() {
    let exact = |text: &str, evidence: f64| {
        let model = compiled(text, of_y());
        let bound = common::best_bound(&model);
        assert!(
            (bound - evidence).abs() < 1e-9,
            "{text}: {bound} {evidence}"
        );
    };
    for (distribution, density) in AROUND {
        let known = distribution.replace("mu", "0.3");
        // A model needs an unknown that a datum depends on.
        let text = format!(
            "model {{ for (i in 1:4) {{ y[i] ~ {known} }} y[5] ~ dnorm(a, 1); a ~ dnorm(0, 1) }}"
        );
        let evidence =
            Y[..4].iter().map(|y| density(*y, 0.3)).sum::<f64>() + ln_normal(Y[4], 0.0, 0.5);
        exact(&text, evidence);
    }
    let ln_gamma = collapsar::special::ln_gamma;
    let away: f64 = Y.iter().map(|y| (y - 0.3).abs()).sum();
    exact(
        "model { for (i in 1:5) { y[i] ~ ddexp(0.3, r) } r ~ dgamma(2, 3) }",
        2.0 * 3_f64.ln() - ln_gamma(2.0) + ln_gamma(7.0)
            - 7.0 * (3.0 + away).ln()
            - 5.0 * 2_f64.ln(),
    );
    let above: f64 = Y.iter().map(|y| (y / 0.5).ln()).sum();
    let logs: f64 = Y.iter().map(|y| y.ln()).sum();
    exact(
        "model { for (i in 1:5) { y[i] ~ dpar(a, 0.5) } a ~ dgamma(2, 3) }",
        2.0 * 3_f64.ln() - ln_gamma(2.0) + ln_gamma(7.0) - 7.0 * (3.0 + above).ln() - logs,
    );
    exact(
        "model { for (i in 1:5) { y[i] ~ dgen.gamma(2, r, 1) } r ~ dgamma(2, 3) }",
        2.0 * 3_f64.ln() - ln_gamma(2.0) + ln_gamma(12.0)
            - 12.0 * (3.0 + Y.iter().sum::<f64>()).ln()
            + logs,
    );
}

/// A rate that is unknown too: quadrature in two dimensions.
#[test]
fn unknown_rates_agree_with_quadrature() {
    let cases: [(&str, OfRate); 2] = [
        ("dt(mu, r, 4)", |y, mu, r| ln_t(y, mu, r, 4.0)),
        ("ddexp(mu, r)", ln_laplace),
    ];
    for (distribution, density) in cases {
        let text = format!(
            "model {{ for (i in 1:5) {{ y[i] ~ {distribution} }}
               mu ~ dnorm(0.5, 0.25); r ~ dgamma(2, 1.5) }}"
        );
        let given_r = |r: f64| {
            ln_integral(|mu| {
                let data: f64 = Y.iter().map(|y| density(*y, mu, r)).sum();
                ln_normal(mu, 0.5, 0.25) + data
            })
        };
        let joint = |u: f64| {
            let r = u.exp();
            ln_gamma_density(r, 2.0, 1.5) + u + given_r(r)
        };
        let (h, places) = (0.05, -160..=80);
        let logs: Vec<f64> = places.clone().map(|i| joint(f64::from(i) * h)).collect();
        let evidence = collapsar::special::log_sum_exp(&logs) + h.ln();
        let mean: f64 = places
            .zip(&logs)
            .map(|(i, log)| (f64::from(i) * h).exp() * (log + h.ln() - evidence).exp())
            .sum();
        let model = compiled(&text, of_y());
        let fit = climb(&model, 1, 1e-10);
        assert!(fit.point.bound < evidence, "{distribution}");
        assert!(fit.point.bound > evidence - 2.0, "{distribution}");
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let mut chain = model.chain(&fit.point, &mut rng).expect("a chain");
        let place = chain.place(1);
        let mut sum = 0.0;
        let draws = 60_000;
        for _ in 0..draws {
            chain.sweep(&mut rng).expect("a sweep");
            sum += chain.numbers()[place];
        }
        let found = sum / f64::from(draws);
        // Five thousand effective draws at least of a number whose deviation is about its half.
        assert!(
            (found / mean - 1.0).abs() < 0.04,
            "{distribution}: {found} {mean}"
        );
    }
}

/// A log-normal number is a normal logarithm with a Jacobian, however the line is derived.
#[test]
fn log_normal_data_are_normal_logarithms() {
    let values: Vec<f64> = (1..=12).map(|i| f64::from(i * i % 7) + 0.5).collect();
    let jacobian: f64 = values.iter().map(|y| y.ln()).sum();
    let lines = [
        (
            "y[i] ~ DIST(a + b * i, tau)",
            "a ~ dnorm(0, 0.1); b ~ dnorm(0, 1)",
        ),
        (
            "z[i] ~ dcat(w[]); y[i] ~ DIST(m[z[i]], tau)",
            "w[1:2] ~ ddirch(one[]); for (k in 1:2) { m[k] ~ dnorm(k, 1) }",
        ),
    ];
    for (line, rest) in lines {
        let text = format!("model {{ for (i in 1:12) {{ {line} }} {rest}; tau ~ dgamma(2, 1) }}");
        let bound = |distribution: &str, values: &[f64]| {
            let mut data = data("one=1 1");
            put(&mut data, "y", &[12], values);
            let model = compiled(&text.replace("DIST", distribution), data);
            climb(&model, 1, 1e-12).point.bound
        };
        let logs: Vec<f64> = values.iter().map(|y| y.ln()).collect();
        let (found, expected) = (bound("dlnorm", &values), bound("dnorm", &logs) - jacobian);
        assert!(
            (found - expected).abs() < 1e-8,
            "{line}: {found} {expected}"
        );
    }
}

/// Data that are far from zero are answered as data near it are.
#[test]
fn data_far_away_give_the_same_answer() {
    let x: Vec<f64> = (0..30).map(|i| f64::from(i % 10)).collect();
    let noise = |i: usize| ((i * 37 % 17) as f64 - 8.0) / 10.0;
    let y: Vec<f64> = (0..30)
        .map(|i| 1.0 + 0.5 * x[i] + noise(i) + if i == 7 { 20.0 } else { 0.0 })
        .collect();
    for distribution in [
        "dt(a + b * x[i], tau, 4)",
        "ddexp(a + b * x[i], tau)",
        "dlogis(a + b * x[i], 3)",
    ] {
        let answer = |shift: f64| {
            let text = format!(
                "model {{ for (i in 1:30) {{ y[i] ~ {distribution} }}
                   a ~ dnorm({shift}, 0.01); b ~ dnorm(0, 0.01); tau ~ dgamma(2, 1) }}"
            );
            let mut data = collapsar_bugs::Data::default();
            put(&mut data, "x", &[30], &x);
            let moved: Vec<f64> = y.iter().map(|y| y + shift).collect();
            put(&mut data, "y", &[30], &moved);
            let prepared = prepared(&text, data);
            let model = prepared.compile(&Demands::default()).expect("a choice");
            let fit = climb(&model, 1, 1e-13);
            let means = means(&prepared, &model, &fit);
            (fit.point.bound, means["a"] - shift, means["b"])
        };
        let (near, far) = (answer(0.0), answer(1e6));
        // Data themselves are rounded to 1e-10 at a million.
        assert!(
            (near.0 - far.0).abs() < 1e-6,
            "{distribution}: {near:?} {far:?}"
        );
        assert!(
            (near.1 - far.1).abs() < 1e-6,
            "{distribution}: {near:?} {far:?}"
        );
        assert!(
            (near.2 - far.2).abs() < 1e-6,
            "{distribution}: {near:?} {far:?}"
        );
        // The outlier does not matter much: without it a slope of about 0.5 is left.
        assert!((near.2 - 0.5).abs() < 0.1, "{distribution}: {near:?}");
    }
}

/// Degrees of freedom that a label picks: the evidence is a sum of quadratures.
#[test]
fn degrees_of_freedom_may_depend_on_a_label() {
    let text = "model {
        for (i in 1:5) { y[i] ~ dt(mu, 2, k[z]) }
        mu ~ dnorm(0.5, 0.25); z ~ dcat(p[])
    }";
    let k = [1.0, 3.0, 20.0];
    let evidences: Vec<f64> = k
        .iter()
        .map(|&k| {
            let joint = |mu: f64| {
                let data: f64 = Y.iter().map(|&y| ln_t(y, mu, 2.0, k)).sum();
                ln_normal(mu, 0.5, 0.25) + data
            };
            ln_integral(joint) - 3_f64.ln()
        })
        .collect();
    let evidence = collapsar::special::log_sum_exp(&evidences);
    let mut data = of_y();
    put(&mut data, "k", &[3], &k);
    put(&mut data, "p", &[3], &[1.0 / 3.0; 3]);
    let prepared = prepared(text, data);
    let model = Compiled::new(prepared.graph().clone(), &Demands::default()).expect("a model");
    let fit = climb(&model, 1, 1e-10);
    assert!(fit.point.bound < evidence);
    assert!(
        fit.point.bound > evidence - 2.0,
        "{} {evidence}",
        fit.point.bound
    );
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let mut chain = model.chain(&fit.point, &mut rng).expect("a chain");
    let place = chain.place(1);
    let mut counts = [0_u32; 3];
    let draws = 100_000;
    for _ in 0..draws {
        chain.sweep(&mut rng).expect("a sweep");
        counts[chain.numbers()[place] as usize] += 1;
    }
    for (count, ln_share) in counts.iter().zip(&evidences) {
        let (found, expected) = (
            f64::from(*count) / f64::from(draws),
            (ln_share - evidence).exp(),
        );
        // The label waits for five weights and they for it: a thousand effective draws or so.
        assert!((found - expected).abs() < 0.04, "{counts:?} {evidences:?}");
    }
    assert!(!marginals(&prepared, &model.variational_posterior(&fit.point)).is_empty());
}

/// Two spellings of a double exponential prior, and one of an asymmetric one, have the evidence of quadrature.
#[test]
fn mixtures_that_the_text_spells_out_are_known() {
    let laplace = |x: f64| ln_integral(|b| ln_normal(x, b, 2.0) + ln_laplace(b, 0.0, 1.5));
    // p(1 - p)τ e^{-τ(x - μ)(p - [x < μ])}, whose p quantile is μ.
    let asymmetric = |x: f64| {
        let (p, tau) = (0.25_f64, 1.5);
        ln_integral(|mu| {
            let check = (x - mu) * if x < mu { p - 1.0 } else { p };
            (p * (1.0 - p) * tau).ln() - tau * check + ln_normal(mu, 0.5, 0.25)
        })
    };
    let cases = [
        ("y ~ dnorm(b, 2); b ~ ddexp(0, 1.5)", laplace(1.3)),
        (
            "y ~ dnorm(b, 2); b ~ dnorm(0, 1 / v); v ~ dexp(1.5 * 1.5 / 2)",
            laplace(1.3),
        ),
        (
            "w ~ dexp(1.5); me <- (1 - 2 * p) / (p * (1 - p)) * w + mu
             pe <- (p * (1 - p) * 1.5) / (2 * w)
             y ~ dnorm(me, pe); mu ~ dnorm(0.5, 0.25)",
            asymmetric(1.3),
        ),
    ];
    for (lines, evidence) in cases {
        let model = compiled(&format!("model {{ {lines} }}"), data("y=1.3; p=0.25"));
        let fit = climb(&model, 1, 1e-10);
        assert!(fit.point.bound < evidence, "{lines}");
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let ln_weights = model
            .ln_weights(&fit.point, 40_000, &mut rng)
            .expect("weights");
        let found = collapsar::special::log_sum_exp(&ln_weights) - 40_000_f64.ln();
        // Weights of a spread of about one: half a per cent, and ten times that for the tails.
        assert!(
            (found - evidence).abs() < 0.05,
            "{lines}: {found} {evidence}"
        );
    }
}

/// A line through sixty readings of which six are far off. JAGS 4.3.1 has these means and deviations, of two chains of 20,000
/// draws after 2,000; its slopes are worth 3,300 independent draws.
#[test]
fn a_robust_line_is_that_of_jags_and_mixes() {
    let text = "model {
       for (n in 1:60) { y[n] ~ dt(a + b*x[n], tau, 4) }
       a ~ dnorm(0, 0.001); b ~ dnorm(0, 0.001); tau ~ dgamma(0.1, 0.1)
    }";
    let y = "2.77 2.8 1.79 1.67 2.75 3.34 3.05 2.55 3.19 4.32 3.07 4.44 4.34 4.48 4.78 4.29 4.66 5.78 4.85 4.99 \
             4.66 5.29 6.05 6.46 6.32 6.48 16.61 16.65 7.14 16.73 7.5 -2.91 6.49 6.81 7.51 7.54 7.32 7.7 -1.67 8.6 \
             8.98 8.29 9.07 9.56 9.38 10.24 9.29 9.68 9.93 9.8 10.14 10.44 20.47 10.39 10.58 10.92 10.37 11.37 10.9 11.48";
    let mut data = data(&format!("y={y}"));
    let x: Vec<f64> = (1..=60).map(|n| 0.2 * f64::from(n)).collect();
    put(&mut data, "x", &[60], &x);
    let prepared = prepared(text, data);
    let model = prepared.compile(&Demands::default()).expect("a choice");
    let fit = climb(&model, 1, 1e-10);
    let found = means(&prepared, &model, &fit);
    let jags = [
        ("a", 2.094, 0.187),
        ("b", 0.7849, 0.0257),
        ("tau", 2.713, 0.809),
    ];
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let mut chain = model.chain(&fit.point, &mut rng).expect("a chain");
    let mut draws: [Vec<f64>; 3] = Default::default();
    for _ in 0..10_000 {
        chain.sweep(&mut rng).expect("a sweep");
        for (variable, draws) in (0..).zip(&mut draws) {
            draws.push(chain.numbers()[chain.place(variable)]);
        }
    }
    for ((name, mean, sd), draws) in jags.into_iter().zip(&draws) {
        let n = draws.len() as f64;
        let average = draws.iter().sum::<f64>() / n;
        let spread = (draws.iter().map(|x| (x - average).powi(2)).sum::<f64>() / n).sqrt();
        let halves: Vec<&[f64]> = draws.chunks(5_000).collect();
        let effective = collapsar::diagnostics::ess_bulk(&halves).expect("draws");
        // Errors of JAGS's means are up to 2% of a deviation, ours about as much; deviations are known to 2%.
        assert!(
            (average - mean).abs() < 0.08 * sd,
            "{name}: {average} {mean}"
        );
        assert!((spread / sd - 1.0).abs() < 0.06, "{name}: {spread} {sd}");
        assert!(
            (found[name] - mean).abs() < 0.15 * sd,
            "{name}: {} {mean}",
            found[name]
        );
        // Slopes are worth 7,100, the precision 2,200: it waits for sixty weights and they for it.
        assert!(effective > 1_500.0, "{name}: {effective}");
    }
}

#[test]
fn a_logistic_scale_of_many_unknowns_is_refused_with_help() {
    let text = "model { y ~ dlogis(mu, sum(s[])); mu ~ dnorm(0, 1); for (k in 1:4) { s[k] ~ dgamma(1, 1) } }";
    let model = collapsar_bugs::Model::parse(text).expect("a text");
    let refused = model
        .with(data("y=1"))
        .expect_err("a refusal")
        .render("m.bug", text);
    assert!(
        refused.contains("dlogis's rate must be constant"),
        "{refused}"
    );
    assert!(refused.contains("dt(mean, precision, 8)"), "{refused}");
}
