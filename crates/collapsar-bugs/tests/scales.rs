//! Priors of standard deviations, variances and precisions as people write them: evidence and moments are those of
//! quadrature, whatever the spelling.

mod common;

use collapsar::graph::Demands;
use collapsar_bugs::{Posterior, Prepared, Quantity, Summary};
use common::{best_bound, climb, compiled, data, prepared};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const Y: [f64; 6] = [1.3, -0.4, 2.2, 0.7, -1.9, 0.8];

fn numbers() -> String {
    let y: Vec<String> = Y.iter().map(f64::to_string).collect();
    format!("y={}", y.join(" "))
}

/// A sum over a grid of the logarithm of sigma: to rounding, for densities that are smooth and end far inside.
fn integral(density: impl Fn(f64) -> f64) -> f64 {
    let (low, high, count) = (-12.0, 12.0, 240_000);
    let step = (high - low) / f64::from(count);
    let at = |k: i32| {
        let sigma = (low + (f64::from(k) + 0.5) * step).exp();
        density(sigma) * sigma
    };
    (0..count).map(at).sum::<f64>() * step
}

/// The density of the data given sigma, the mean being zero.
fn likelihood(sigma: f64) -> f64 {
    let squares: f64 = Y.iter().map(|y| y * y).sum();
    let n = Y.len() as f64;
    (-0.5 * n * (2.0 * std::f64::consts::PI).ln()
        - n * sigma.ln()
        - 0.5 * squares / (sigma * sigma))
        .exp()
}

fn ln_gamma(x: f64) -> f64 {
    collapsar::special::ln_gamma(x)
}

/// The density of a standard t.
fn student(t: f64, k: f64) -> f64 {
    let ln = ln_gamma(0.5 * (k + 1.0)) - ln_gamma(0.5 * k) - 0.5 * (k * std::f64::consts::PI).ln();
    (ln - 0.5 * (k + 1.0) * (t * t / k).ln_1p()).exp()
}

/// Summaries by name, without and with linear response.
fn summaries(prepared: &Prepared, response: bool) -> Vec<(String, Summary)> {
    let model = prepared.compile(&Demands::default()).expect("a choice");
    let fit = climb(&model, 1, 1e-13);
    let variational = model.variational_posterior(&fit.point);
    let linear = model.linear_response(&fit.point).expect("a response");
    let posterior = Posterior {
        prepared,
        variational: &variational,
        response: response.then_some(&linear),
        weighted: None,
        seed: 1,
    };
    let quantities: Vec<Quantity> = prepared.quantities().expect("quantities");
    let (found, _) = posterior.summaries(&quantities).expect("summaries");
    let names = quantities.iter().map(Quantity::to_string);
    names.zip(found).collect()
}

fn of(name: &str, all: &[(String, Summary)]) -> Summary {
    all.iter()
        .find(|(known, _)| known == name)
        .expect("a summary")
        .1
}

type Density = Box<dyn Fn(f64) -> f64>;

/// Lines of a prior with the name that is reported, the density of sigma under it, and the number by sigma.
fn priors() -> Vec<(&'static str, &'static str, Density, fn(f64) -> f64)> {
    let within = |low: f64, high: f64, x: f64| if x > low && x < high { 1.0 } else { 0.0 };
    let same: fn(f64) -> f64 = |sigma| sigma;
    let precision: fn(f64) -> f64 = |sigma| sigma.powi(-2);
    let variance: fn(f64) -> f64 = |sigma| sigma * sigma;
    // Densities of precisions and variances times their slopes by sigma.
    let by_precision = |sigma: f64| 2.0 * sigma.powi(-3);
    vec![
        (
            "sigma ~ dt(0, 0.25, 1) T(0,); tau <- pow(sigma, -2)",
            "sigma",
            Box::new(|s| student(0.5 * s, 1.0)),
            same,
        ),
        (
            "sigma ~ dt(0, 0.25, 4) I(0,); tau <- 1/sigma^2",
            "sigma",
            Box::new(|s| 0.5 * student(0.5 * s, 4.0)),
            same,
        ),
        (
            "sigma ~ dnorm(0, 0.25) T(0,); tau <- sigma^-2",
            "sigma",
            Box::new(|s| (2.0 / std::f64::consts::PI).sqrt() * 0.5 * (-0.125 * s * s).exp()),
            same,
        ),
        (
            "sigma ~ dexp(0.7); tau <- 1/(sigma*sigma)",
            "sigma",
            Box::new(|s| 0.7 * (-0.7 * s).exp()),
            same,
        ),
        (
            "sigma ~ dgamma(2, 1.5); tau <- 1/(sigma*sigma)",
            "sigma",
            Box::new(|s| 2.25 * s * (-1.5 * s).exp()),
            same,
        ),
        (
            "sigma ~ dlnorm(0.3, 2); tau <- 1/sigma/sigma",
            "sigma",
            Box::new(|s: f64| {
                (1.0 / std::f64::consts::PI).sqrt() / s * (-(s.ln() - 0.3).powi(2)).exp()
            }),
            same,
        ),
        (
            "ls ~ dnorm(0.3, 2); log(sigma) <- ls; tau <- pow(sigma, -2)",
            "ls",
            Box::new(|s: f64| {
                (1.0 / std::f64::consts::PI).sqrt() / s * (-(s.ln() - 0.3).powi(2)).exp()
            }),
            f64::ln,
        ),
        (
            "tau ~ dlnorm(0.3, 2); sigma <- 1/sqrt(tau)",
            "tau",
            Box::new(move |s: f64| {
                let t = s.powi(-2);
                (1.0 / std::f64::consts::PI).sqrt() / t
                    * (-(t.ln() - 0.3).powi(2)).exp()
                    * by_precision(s)
            }),
            precision,
        ),
        (
            "v ~ dgamma(2, 1.5); tau <- 1/v",
            "v",
            Box::new(|s| 2.25 * s * s * (-1.5 * s * s).exp() * 2.0 * s),
            variance,
        ),
        (
            "tau ~ dscaled.gamma(2, 3)",
            "tau",
            Box::new(|s| student(0.5 * s, 3.0)),
            precision,
        ),
    ]
    .into_iter()
    .map(|(text, name, density, number)| {
        let density: Density = density;
        // Those with I(0,) have the mass of the whole line.
        let twice = if text.contains("T(0,)") && text.contains("dt(") || text.contains("scaled") {
            1.0
        } else {
            0.5
        };
        let scale = move |s: f64| {
            let t = if text.contains("dt(") || text.contains("scaled") {
                0.5 * 2.0 * twice
            } else {
                1.0
            };
            t * density(s) * within(0.0, f64::INFINITY, s)
        };
        (text, name, Box::new(scale) as Density, number)
    })
    .collect()
}

#[test]
fn evidence_and_moments_are_those_of_quadrature() {
    for (lines, name, density, number) in priors() {
        let text = format!("model {{ for (i in 1:6) {{ y[i] ~ dnorm(0, tau) }}\n {lines} }}");
        let prepared = prepared(&text, data(&numbers()));
        let model = prepared.compile(&Demands::default()).expect("a choice");
        let joint = |s: f64| density(s) * likelihood(s);
        let evidence = integral(joint);
        let bound = best_bound(&model);
        assert!(
            (bound - evidence.ln()).abs() < 1e-9,
            "{lines}: {bound} {}",
            evidence.ln()
        );
        let mean = integral(|s| number(s) * joint(s)) / evidence;
        let variance = integral(|s| (number(s) - mean).powi(2) * joint(s)) / evidence;
        let found = of(name, &summaries(&prepared, false));
        assert!(
            (found.mean / mean - 1.0).abs() < 1e-8,
            "{lines}: {} {mean}",
            found.mean
        );
        assert!(
            (found.sd / variance.sqrt() - 1.0).abs() < 1e-7,
            "{lines}: {} {variance}",
            found.sd
        );
    }
}
