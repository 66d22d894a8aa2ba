//! Numbers as people measure them: far from zero, in large and small units, the answer is that of centred ones.

mod common;

use std::collections::BTreeMap;

use collapsar::graph::{Demands, PosteriorMarginal};
use collapsar::{Direction, Driver, Stop};
use collapsar_bugs::{Data, Prepared};
use common::{marginals, prepared, put};

/// Offsets in deviations, with what may differ in posterior deviations and nats: a double near 1e8 is known to
/// 1.5e-8, so that data and means are.
const OFFSETS: [(f64, f64); 4] = [(0.0, 1e-8), (1e3, 1e-8), (1e6, 1e-8), (1e8, 1e-6)];
const SCALES: [f64; 3] = [1.0, 1e-6, 1e6];

/// How the data of a model are measured: responses as `scale * (offset + y)`, and covariates by themselves.
#[derive(Debug, Clone, Copy, Default)]
struct Measured {
    offset: f64,
    scale: f64,
    x_offset: f64,
    x_scale: f64,
}

const PLAIN: Measured = Measured {
    offset: 0.0,
    scale: 1.0,
    x_offset: 0.0,
    x_scale: 1.0,
};

/// The bound, and the mean and the deviation of each number.
struct Answer {
    bound: f64,
    numbers: BTreeMap<String, (f64, f64)>,
}

fn moments(marginal: &PosteriorMarginal) -> (f64, f64) {
    match marginal {
        PosteriorMarginal::Closed(marginal) => (marginal.mean(), marginal.sd()),
        PosteriorMarginal::Moments { mean, sd } => (*mean, *sd),
        PosteriorMarginal::States(states) => (states[0], 1.0),
    }
}

/// Climbs to working precision: Newton's steps square what is left.
fn answer(prepared: &Prepared) -> Answer {
    let model = prepared.compile(&Demands::default()).expect("a choice");
    let start = model.start(1).expect("a start");
    let near = Driver::new(&model, Direction::Auto)
        .stop(Stop::Gain(1e-10) | Stop::Passes(100_000))
        .run(start)
        .expect("a climb");
    let fit = Driver::new(&model, Direction::Newton)
        .stop(Stop::Gain(1e-14) | Stop::Passes(400))
        .run(near.point.messages)
        .expect("a climb to the end");
    let variational = model.variational_posterior(&fit.point);
    let numbers = marginals(prepared, &variational);
    Answer {
        bound: fit.point.bound,
        numbers: (numbers.iter())
            .map(|(name, marginal)| (name.clone(), moments(marginal)))
            .collect(),
    }
}

/// Numbers on a grid of 1/256, so that adding an offset of up to 1e8 is exact.
fn noise(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut uniform = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 31) as f64
    };
    (0..count)
        .map(|_| {
            let normal: f64 = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
            (normal * 256.0).round() / 256.0
        })
        .collect()
}

impl Measured {
    fn y(self, y: &[f64]) -> Vec<f64> {
        y.iter().map(|y| self.scale * (self.offset + y)).collect()
    }

    fn x(self, x: &[f64]) -> Vec<f64> {
        x.iter()
            .map(|x| self.x_scale * (self.x_offset + x))
            .collect()
    }

    /// Constants of equivalent priors: where locations are expected, and units.
    fn constants(self, data: &mut Data) {
        put(data, "M", &[1], &[self.scale * self.offset]);
        put(data, "U", &[1], &[self.scale * self.scale]);
        put(data, "V", &[1], &[self.x_scale * self.x_scale]);
    }
}

/// Whether a number is a location, a deviation of one, a precision, a slope or none of these.
#[derive(Clone, Copy)]
enum Unit {
    Location,
    Difference,
    Precision,
    Slope,
    None,
}

/// The largest difference of two answers: of numbers in posterior deviations, of the bound in nats.
fn difference(
    plain: &Answer,
    found: &Answer,
    how: Measured,
    rows: usize,
    unit: impl Fn(&str) -> Unit,
) -> (f64, String) {
    // The density of scaled data.
    let bound = found.bound + rows as f64 * how.scale.ln();
    let mut worst = (
        (bound - plain.bound).abs() / plain.bound.abs().max(1.0),
        "bound".to_owned(),
    );
    for (name, &(mean, sd)) in &plain.numbers {
        let (place, size) = match unit(name) {
            Unit::Location => (how.scale * how.offset, how.scale),
            Unit::Difference => (0.0, how.scale),
            Unit::Precision => (0.0, how.scale.powi(-2)),
            Unit::Slope => (0.0, how.scale / how.x_scale),
            Unit::None => (0.0, 1.0),
        };
        let (other, spread) = found.numbers[name];
        let gap = ((other - place) / size - mean).abs() / sd;
        let width = (spread / (size * sd) - 1.0).abs();
        for (gap, what) in [(gap, "mean"), (width, "sd")] {
            if !(gap <= worst.0) {
                worst = (gap, format!("{what} of {name}"));
            }
        }
    }
    worst
}

/// Fits a model in all measures and compares.
fn same_everywhere(
    text: &str,
    data: impl Fn(Measured) -> Data,
    measures: impl Fn(f64, f64) -> Measured,
    rows: usize,
    unit: impl Fn(&str) -> Unit + Copy,
) {
    let plain = answer(&prepared(text, data(PLAIN)));
    for (offset, tolerance) in OFFSETS {
        for scale in SCALES {
            let how = measures(offset, scale);
            let found = answer(&prepared(text, data(how)));
            let (worst, what) = difference(&plain, &found, how, rows, unit);
            eprintln!("offset {offset:e} scale {scale:e}: {what} differs by {worst:.1e}");
            assert!(worst <= tolerance, "{how:?}: {what} differs by {worst:e}");
        }
    }
}

fn of_response(offset: f64, scale: f64) -> Measured {
    Measured {
        offset,
        scale,
        ..PLAIN
    }
}

const SAMPLE: &str = "model {
  for (i in 1:N) { y[i] ~ dnorm(mu, tau) }
  mu ~ dnorm(M, 1.0E-6 / U)
  tau ~ dgamma(0.1, 0.1 * U)
}";

#[test]
fn a_sample() {
    let y = noise(30, 1);
    let data = |how: Measured| {
        let mut data = common::data("N=30");
        put(&mut data, "y", &[30], &how.y(&y));
        how.constants(&mut data);
        data
    };
    same_everywhere(SAMPLE, data, of_response, 30, |name| match name {
        "mu" => Unit::Location,
        _ => Unit::Precision,
    });
}

const REGRESSION: &str = "model {
  for (i in 1:N) { y[i] ~ dnorm(alpha + beta * x[i], tau) }
  alpha ~ dnorm(M, 1.0E-40 / U)
  beta ~ dnorm(0, 1.0E-6 * V / U)
  tau ~ dgamma(0.1, 0.1 * U)
}";

#[test]
fn a_regression() {
    let (x, e) = (noise(40, 2), noise(40, 3));
    let y: Vec<f64> = x.iter().zip(&e).map(|(x, e)| 0.5 * x + e).collect();
    let data = |how: Measured| {
        let mut data = common::data("N=40");
        put(&mut data, "y", &[40], &how.y(&y));
        put(&mut data, "x", &[40], &how.x(&x));
        how.constants(&mut data);
        data
    };
    let both = |offset: f64, scale: f64| Measured {
        offset,
        scale,
        x_offset: offset,
        x_scale: scale.recip(),
    };
    // The intercept is elsewhere; what is seen of it is below.
    let plain = answer(&prepared(REGRESSION, data(PLAIN)));
    for (offset, tolerance) in OFFSETS {
        for scale in SCALES {
            let how = both(offset, scale);
            let mut found = answer(&prepared(REGRESSION, data(how)));
            // alpha + beta x_offset is the intercept of centred data.
            let (slope, _) = found.numbers["beta"];
            let alpha = found.numbers["alpha"];
            let mut plain = Answer {
                bound: plain.bound,
                numbers: plain.numbers.clone(),
            };
            plain.numbers.remove("alpha");
            found.numbers.remove("alpha");
            let (worst, what) = difference(&plain, &found, how, 40, |name| match name {
                "beta" => Unit::Slope,
                _ => Unit::Precision,
            });
            eprintln!(
                "offset {offset:e} scale {scale:e}: {what} differs by {worst:.1e}; {alpha:?} {slope}"
            );
            assert!(worst <= tolerance, "{how:?}: {what} differs by {worst:e}");
        }
    }
}

const RATS: &str = "model {
  for (i in 1:N) {
    for (j in 1:T) { Y[i,j] ~ dnorm(alpha[i] + beta[i] * (x[j] - x.bar), tau.c) }
    alpha[i] ~ dnorm(alpha.c, alpha.tau)
    beta[i] ~ dnorm(beta.c, beta.tau)
  }
  tau.c ~ dgamma(0.1, 0.1 * U)
  alpha.c ~ dnorm(M, 1.0E-6 / U)
  beta.c ~ dnorm(0, 1.0E-6 * V / U)
  alpha.tau ~ dgamma(0.1, 0.1 * U)
  beta.tau ~ dgamma(0.1, 0.1 * U / V)
}";

#[test]
fn rats() {
    let (effects, slopes, e) = (noise(12, 4), noise(12, 5), noise(60, 6));
    let x = [-2.0, -1.0, 0.0, 1.0, 2.0];
    let y: Vec<f64> = (0..60)
        .map(|k| 3.0 * effects[k / 5] + (1.0 + slopes[k / 5]) * x[k % 5] + e[k])
        .collect();
    let data = |how: Measured| {
        let mut data = common::data("N=12; T=5");
        put(&mut data, "Y", &[12, 5], &how.y(&y));
        put(&mut data, "x", &[5], &how.x(&x));
        put(&mut data, "x.bar", &[1], &how.x(&[0.0]));
        how.constants(&mut data);
        data
    };
    let both = |offset: f64, scale: f64| Measured {
        offset,
        scale,
        x_offset: offset,
        x_scale: scale,
    };
    same_everywhere(RATS, data, both, 60, |name| match name {
        "alpha.c" => Unit::Location,
        name if name.starts_with("alpha[") => Unit::Location,
        "tau.c" | "alpha.tau" => Unit::Precision,
        _ => Unit::None,
    });
}

const MIXTURE: &str = "model {
  for (i in 1:N) { z[i] ~ dcat(pi[])
    y[i] ~ dnorm(mu[z[i]], tau[z[i]]) }
  for (k in 1:2) { mu[k] ~ dnorm(M, 0.01 / U)
    tau[k] ~ dgamma(2, 2 * U) }
  pi[1:2] ~ ddirch(ones[])
}";

const SHARED: &str = "model {
  for (i in 1:N) { z[i] ~ dcat(pi[])
    y[i] ~ dnorm(mu[z[i]], tau) }
  for (k in 1:2) { mu[k] ~ dnorm(M, 0.01 / U) }
  tau ~ dgamma(2, 2 * U)
  pi[1:2] ~ ddirch(ones[])
}";

#[test]
fn mixtures() {
    let e = noise(60, 7);
    let y: Vec<f64> = (0..60)
        .map(|k| e[k] + if k % 3 == 0 { 5.0 } else { 0.0 })
        .collect();
    for text in [MIXTURE, SHARED] {
        let data = |how: Measured| {
            let mut data = common::data("N=60; ones=1 1");
            put(&mut data, "y", &[60], &how.y(&y));
            how.constants(&mut data);
            data
        };
        same_everywhere(text, data, of_response, 60, |name| match name {
            name if name.starts_with("mu") => Unit::Location,
            name if name.starts_with("tau") => Unit::Precision,
            _ => Unit::None,
        });
    }
}
