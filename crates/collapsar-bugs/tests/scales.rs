//! Priors of standard deviations, variances and precisions as people write them: evidence and moments are those of
//! quadrature.

mod common;

use collapsar::graph::Demands;
use collapsar_bugs::{Posterior, Prepared, Quantity, Summary};
use common::{best_bound, climb, data, prepared};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const Y: [f64; 6] = [1.3, -0.4, 2.2, 0.7, -1.9, 0.8];

fn numbers() -> String {
    let y: Vec<String> = Y.iter().map(f64::to_string).collect();
    format!("y={}", y.join(" "))
}

/// A sum over a grid of the logarithm of sigma: to rounding, for densities that are smooth and end far inside.
fn integral(density: impl Fn(f64) -> f64) -> f64 {
    between(-12.0, 12.0, density)
}

/// The same between two logarithms, to 1e-9 of it.
fn between(low: f64, high: f64, density: impl Fn(f64) -> f64) -> f64 {
    let count = 240_000;
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
        share: 1.0,
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
type Prior = (&'static str, &'static str, Density, fn(f64) -> f64);

/// Lines of a prior with the name that is reported, the density of sigma under it, and the number by sigma.
fn priors() -> Vec<Prior> {
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

/// Between bounds, as standard deviation, variance and precision, and with the logarithm uniform.
#[test]
fn uniform_priors_are_those_of_quadrature() {
    type Case = (
        &'static str,
        &'static str,
        f64,
        f64,
        fn(f64) -> f64,
        fn(f64) -> f64,
    );
    let same: fn(f64) -> f64 = |sigma| sigma;
    let cases: [Case; 6] = [
        (
            "sigma ~ dunif(0, 5); tau <- pow(sigma, -2)",
            "sigma",
            0.0,
            5.0,
            |_| 0.2,
            same,
        ),
        (
            "sigma ~ dunif(0.5, 1.5); tau <- pow(sigma, -2)",
            "sigma",
            0.5,
            1.5,
            |_| 1.0,
            same,
        ),
        (
            "v ~ dunif(1, 4); tau <- 1/v",
            "v",
            1.0,
            2.0,
            |s| 2.0 * s / 3.0,
            |s| s * s,
        ),
        (
            "tau ~ dunif(0.25, 1)",
            "tau",
            1.0,
            2.0,
            |s| 2.0 / s.powi(3) / 0.75,
            |s| s.powi(-2),
        ),
        (
            "ls ~ dunif(0, 1); log(sigma) <- ls; tau <- 1/(sigma*sigma)",
            "ls",
            1.0,
            std::f64::consts::E,
            |s| 1.0 / s,
            f64::ln,
        ),
        (
            "tau ~ dgamma(2, 3) T(0.25, 1)",
            "tau",
            1.0,
            2.0,
            // The gamma's mass between its bounds by its own antiderivative -(1 + 3t) e^{-3t}.
            |s| {
                let below = |t: f64| -(1.0 + 3.0 * t) * (-3.0 * t).exp();
                let t = s.powi(-2);
                9.0 * t * (-3.0 * t).exp() / (below(1.0) - below(0.25)) * 2.0 / s.powi(3)
            },
            |s| s.powi(-2),
        ),
    ];
    for (lines, name, low, high, density, number) in cases {
        let text = format!("model {{ for (i in 1:6) {{ y[i] ~ dnorm(0, tau) }}\n {lines} }}");
        let prepared = prepared(&text, data(&numbers()));
        let model = prepared.compile(&Demands::default()).expect("a choice");
        let low = if low == 0.0 { -12.0 } else { f64::ln(low) };
        let sum = |of: &dyn Fn(f64) -> f64| {
            between(low, high.ln(), |s| of(s) * density(s) * likelihood(s))
        };
        let evidence = sum(&|_| 1.0);
        let bound = best_bound(&model);
        assert!(
            (bound - evidence.ln()).abs() < 1e-8,
            "{lines}: {bound} {}",
            evidence.ln()
        );
        let mean = sum(&number) / evidence;
        let variance = sum(&|s| (number(s) - mean).powi(2)) / evidence;
        let found = of(name, &summaries(&prepared, true));
        assert!(
            (found.mean - mean).abs() < 1e-7,
            "{lines}: {} {mean}",
            found.mean
        );
        assert!(
            (found.sd - variance.sqrt()).abs() < 1e-6,
            "{lines}: {} {variance}",
            found.sd
        );
        // Quantiles are from 4000 draws, whose error is 0.008.
        if name == "sigma" {
            let middle = found.quantiles[1].ln();
            let below = between(low, middle, |s| density(s) * likelihood(s)) / evidence;
            assert!((below - 0.5).abs() < 0.04, "{lines}: {below}");
        }
    }
}

/// Moments of sigma, mu and the evidence of a sample with both unknown, by quadrature over sigma: given it, mu is normal.
fn by_quadrature(density: impl Fn(f64) -> f64, p: f64) -> [f64; 5] {
    let (n, total) = (Y.len() as f64, Y.iter().sum::<f64>());
    let squares: f64 = Y.iter().map(|y| y * y).sum();
    let given = |s: f64| {
        let tau = s.powi(-2);
        let precision = p + n * tau;
        let mean = tau * total / precision;
        let ln = -0.5 * n * (2.0 * std::f64::consts::PI / tau).ln() + 0.5 * (p / precision).ln()
            - 0.5 * tau * squares
            + 0.5 * precision * mean * mean;
        (density(s) * ln.exp(), mean, 1.0 / precision)
    };
    let evidence = integral(|s| given(s).0);
    let mean = |of: &dyn Fn(f64) -> f64| integral(|s| of(s) * given(s).0) / evidence;
    let sigma = mean(&|s| s);
    let mu = mean(&|s| given(s).1);
    let sd = mean(&|s| (s - sigma).powi(2)).sqrt();
    let spread = mean(&|s| given(s).2 + (given(s).1 - mu).powi(2)).sqrt();
    [evidence.ln(), sigma, sd, mu, spread]
}

/// With an unknown mean the bound is below the evidence; linear response and exact draws have the right moments.
#[test]
fn bounds_responses_and_chains() {
    let cases: [(&str, Density); 3] = [
        ("dt(0, 0.25, 3) T(0,)", Box::new(|s| student(0.5 * s, 3.0))),
        ("dexp(0.5)", Box::new(|s| 0.5 * (-0.5 * s).exp())),
        (
            "dunif(0, 1000)",
            Box::new(|s| if s < 1000.0 { 1e-3 } else { 0.0 }),
        ),
    ];
    for (prior, density) in cases {
        let text = format!(
            "model {{ for (i in 1:6) {{ y[i] ~ dnorm(mu, pow(sigma, -2)) }}\n mu ~ dnorm(0, 0.1); sigma ~ {prior} }}"
        );
        let [evidence, sigma, sd, mu, spread] = by_quadrature(density, 0.1);
        let prepared = prepared(&text, data(&numbers()));
        let model = prepared.compile(&Demands::default()).expect("a choice");
        let bound = best_bound(&model);
        assert!(
            bound < evidence && bound > evidence - 0.3,
            "{prior}: {bound} {evidence}"
        );
        let found = summaries(&prepared, true);
        let (s, m) = (of("sigma", &found), of("mu", &found));
        // Linear response corrects mean field to the first order, here with six numbers.
        assert!(
            (s.mean - sigma).abs() < 0.2 * sd && (s.sd / sd - 1.0).abs() < 0.2,
            "{prior}: {s:?} {sigma} {sd}"
        );
        assert!(
            (m.mean - mu).abs() < 0.05 * spread && (m.sd / spread - 1.0).abs() < 0.1,
            "{prior}: {m:?} {mu} {spread}"
        );
        let fit = climb(&model, 1, 1e-10);
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        let mut chain = model.chain(&fit.point, &mut rng).expect("a chain");
        let places = ["sigma", "mu"].map(|name| {
            let quantities = prepared.quantities().expect("quantities");
            let quantity = quantities
                .into_iter()
                .find(|q| q.to_string() == name)
                .expect("there");
            match quantity.origin {
                collapsar_bugs::Origin::Variable(variable, _) => chain.place(variable),
                other => panic!("{other:?}"),
            }
        });
        let mut sums = [[0.0; 2]; 2];
        let sweeps = 60_000;
        for _ in 0..sweeps {
            chain.sweep(&mut rng).expect("inside");
            for (sums, &place) in sums.iter_mut().zip(&places) {
                let x = chain.numbers()[place];
                sums[0] += x;
                sums[1] += x * x;
            }
        }
        for (sums, (mean, sd)) in sums.iter().zip([(sigma, sd), (mu, spread)]) {
            let [first, second] = sums.map(|sum| sum / f64::from(sweeps));
            // A sweep or two are worth an independent draw; tails of sigma are heavy.
            assert!(
                (first - mean).abs() < 0.03 * sd,
                "{prior}: {first} {mean} {sd}"
            );
            assert!(
                ((second - first * first).sqrt() / sd - 1.0).abs() < 0.06,
                "{prior}: {second} {first} {sd}"
            );
        }
    }
}

/// Data far from zero, and in other units, give the same answers.
#[test]
fn offsets_and_units_do_not_matter() {
    let fitted = |shift: f64, unit: f64| {
        let y: Vec<String> = (Y.iter()).map(|y| (unit * y + shift).to_string()).collect();
        let text = format!(
            "model {{
               for (i in 1:6) {{ y[i] ~ dnorm(theta[g[i]], 1/(sigma*sigma)) }}
               for (j in 1:3) {{ theta[j] ~ dnorm(mu, pow(omega, -2)) }}
               mu ~ dnorm({shift}, {})
               sigma ~ dunif(0, {}); omega ~ dt(0, {}, 2) T(0,)
             }}",
            0.01 / (unit * unit),
            50.0 * unit,
            0.5 / (unit * unit),
        );
        let numbers = format!("y={}; g=1 1 2 2 3 3", y.join(" "));
        let prepared = prepared(&text, data(&numbers));
        let bound = best_bound(&prepared.compile(&Demands::default()).expect("a choice"));
        let found = summaries(&prepared, true);
        let [sigma, omega, mu] = ["sigma", "omega", "mu"].map(|name| of(name, &found));
        // The density of six numbers in another unit.
        let bound = bound + 6.0 * unit.ln();
        let scaled = [sigma, omega].map(|of| [of.mean / unit, of.sd / unit]);
        (bound, scaled.concat(), (mu.mean - shift) / unit)
    };
    let (bound, scales, mu) = fitted(0.0, 1.0);
    for (shift, unit) in [
        (1_048_576.0, 1.0),
        (0.0, 65536.0),
        (0.0, 1.0 / 1_048_576.0),
        (50000.0, 8192.0),
    ] {
        let (other, others, place) = fitted(shift, unit);
        // Data of sixteen digits that are up to a million deviations from zero.
        assert!(
            (bound - other).abs() < 1e-6,
            "{shift} {unit}: {bound} {other}"
        );
        assert!((mu - place).abs() < 1e-5, "{shift} {unit}: {mu} {place}");
        for (a, b) in scales.iter().zip(&others) {
            assert!(
                (a / b - 1.0).abs() < 1e-5,
                "{shift} {unit}: {scales:?} {others:?}"
            );
        }
    }
}
