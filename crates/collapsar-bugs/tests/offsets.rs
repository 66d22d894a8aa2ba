//! Numbers as people measure them: far from zero, in large and small units, the answer is that of centred ones.

mod common;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use collapsar::graph::{Compiled, Demands};
use collapsar::{Collapsed, Direction, Driver, Point, Stop};
use collapsar_bugs::{ChainOptions, ChainStart, Data, Posterior, Prepared, Quantity, Summary};
use common::{prepared, put};

/// Offsets in deviations, with what may differ in posterior deviations and nats: a double near 1e8 is known to
/// 1.5e-8, so that data and means are.
const OFFSETS: [(f64, f64); 4] = [(0.0, 1e-8), (1e3, 1e-8), (1e6, 1e-8), (1e8, 1e-6)];
const SCALES: [f64; 3] = [1.0, 1e-6, 1e6];

/// How the data of a model are measured: responses as `scale * (offset + y)`, and covariates by themselves.
#[derive(Debug, Clone, Copy)]
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

impl Measured {
    fn y(self, y: &[f64]) -> Vec<f64> {
        y.iter().map(|y| self.scale * (self.offset + y)).collect()
    }

    fn x(self, x: &[f64]) -> Vec<f64> {
        let x = x.iter();
        x.map(|x| self.x_scale * (self.x_offset + x)).collect()
    }

    /// Constants of equivalent priors: where locations are expected, where covariates are, and units.
    fn constants(self, data: &mut Data) {
        for (name, value) in [
            ("M", self.scale * self.offset),
            ("X0", self.x_scale * self.x_offset),
            ("U", self.scale * self.scale),
            ("V", self.x_scale * self.x_scale),
        ] {
            put(data, name, &[1], &[value]);
        }
    }

    fn response(offset: f64, scale: f64) -> Self {
        Self {
            offset,
            scale,
            ..PLAIN
        }
    }

    /// Covariates in units of their own.
    fn both(offset: f64, scale: f64) -> Self {
        Self {
            offset,
            scale,
            x_offset: offset,
            x_scale: scale.recip(),
        }
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
    let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
    (0..count)
        .map(|_| (normal() * 256.0).round() / 256.0)
        .collect()
}

/// What a number is, which says how it is measured.
#[derive(Clone, Copy)]
enum Unit {
    Location,
    Precision,
    Slope,
    SlopePrecision,
    Free,
    /// Another number in each measure, such as an intercept where the covariate is zero.
    Elsewhere,
}

/// The bound, and the mean and the deviation of each number, without and with linear response.
struct Answer {
    bound: f64,
    /// Whether linear response found a maximum, which for some mixtures depends on rounding.
    response: bool,
    numbers: BTreeMap<String, [(f64, f64); 2]>,
}

/// Climbs until the bound shows no difference, which is some 1e-7 deviations from the end, and then follows
/// VBEM's updates to where they end.
fn climb(model: &Compiled) -> Point {
    let from = |seed: u64| {
        let start = model.start(seed).expect("a start");
        let fit = Driver::new(model, Direction::Auto)
            .stop(Stop::Gain(1e-12) | Stop::Passes(100_000))
            .run(start);
        fit.expect("a climb").point
    };
    let best = (1..4).map(from);
    let best = best.reduce(|a, b| if b.bound > a.bound + 1e-3 { b } else { a });
    let mut point = best.expect("three climbs");
    let bound = point.bound;
    for _ in 0..3000 {
        model.evaluate(&mut point).expect("inside the domain");
        point.messages.clone_from(&point.gradient);
    }
    let (local, posterior) = model.evaluate(&mut point).expect("inside the domain");
    let products = point.messages.iter().zip(&point.statistics);
    let sent: f64 = products.map(|(m, tau)| m * tau).sum();
    point.bound = local - sent + posterior + model.constant();
    assert!((point.bound - bound).abs() < 1e-8 * bound.abs(), "{bound}");
    point
}

fn quantities(prepared: &Prepared) -> Vec<Quantity> {
    let all = prepared.quantities().expect("quantities").into_iter();
    // Labels of rows are as many as data.
    all.filter(|quantity| quantity.element.array != "z")
        .collect()
}

fn answer(prepared: &Prepared) -> Answer {
    let model = prepared.compile(&Demands::default()).expect("a choice");
    let point = climb(&model);
    let variational = model.variational_posterior(&point);
    let response = model.linear_response(&point).ok();
    let quantities = quantities(prepared);
    let summaries = |response| -> Vec<Summary> {
        let posterior = Posterior {
            prepared,
            variational: &variational,
            response,
            weighted: None,
            share: 1.0,
            seed: 1,
        };
        posterior.summaries(&quantities).expect("summaries").0
    };
    let found = summaries(None)
        .into_iter()
        .zip(summaries(response.as_ref()));
    let names = quantities.iter().map(Quantity::to_string);
    Answer {
        bound: point.bound,
        response: response.is_some(),
        numbers: names
            .zip(found.map(|(a, b)| [(a.mean, a.sd), (b.mean, b.sd)]))
            .collect(),
    }
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
    let gap = (bound - plain.bound).abs() / plain.bound.abs().max(1.0);
    let mut worst = (gap, "bound".to_owned());
    for (name, both) in &plain.numbers {
        let slope = how.scale / how.x_scale;
        let (place, size) = match unit(name) {
            Unit::Location => (how.scale * how.offset, how.scale),
            Unit::Precision => (0.0, how.scale.powi(-2)),
            Unit::Slope => (0.0, slope),
            Unit::SlopePrecision => (0.0, slope.powi(-2)),
            Unit::Free => (0.0, 1.0),
            Unit::Elsewhere => continue,
        };
        for (which, (&(mean, sd), other)) in both.iter().zip(found.numbers[name]).enumerate() {
            let gap = ((other.0 - place) / size - mean).abs() / sd;
            let mut width = (other.1 / (size * sd) - 1.0).abs();
            // What precisions add to a deviation is an average over 256 draws: in other units, or where data have
            // lost digits, they are others.
            let same_draws = how.scale == 1.0 && how.offset < 1e7;
            if which == 1 && !(plain.response && found.response) {
                continue;
            }
            if which == 1 && !same_draws && width < 0.05 {
                width = 0.0;
            }
            for (gap, what) in [(gap, "mean"), (width, "deviation")] {
                if gap > worst.0 || gap.is_nan() {
                    worst = (gap, format!("{what} {which} of {name}"));
                }
            }
        }
    }
    worst
}

/// Fits a model in all measures and compares with centred data.
fn same_everywhere(
    text: &str,
    data: impl Fn(Measured) -> Data,
    measures: impl Fn(f64, f64) -> Measured,
    rows: usize,
    unit: impl Fn(&str) -> Unit + Copy,
) {
    let with = |how: Measured| {
        let mut data = data(how);
        how.constants(&mut data);
        answer(&prepared(text, data))
    };
    let plain = with(PLAIN);
    let mut failed = vec![];
    for (offset, tolerance) in OFFSETS {
        for scale in SCALES {
            let how = measures(offset, scale);
            let (worst, what) = difference(&plain, &with(how), how, rows, unit);
            let line = format!("offset {offset:e}, scale {scale:e}: {what} differs by {worst:.1e}");
            if worst.is_nan() || worst > tolerance {
                failed.push(line);
            }
        }
    }
    assert!(failed.is_empty(), "{text}\n{}", failed.join("\n"));
}

const SAMPLE: &str = "model {
  for (i in 1:N) { y[i] ~ dnorm(mu, tau) }
  mu ~ dnorm(M, 1.0E-6 / U)
  tau ~ dgamma(0.1, 0.1 * U)
  unused <- X0 + V
}";

fn sample(how: Measured) -> Data {
    let mut data = common::data("N=30");
    put(&mut data, "y", &[30], &how.y(&noise(30, 1)));
    data
}

#[test]
fn a_sample() {
    same_everywhere(SAMPLE, sample, Measured::response, 30, |name| match name {
        "mu" => Unit::Location,
        _ => Unit::Precision,
    });
}

/// Mean and precision in one factor.
#[test]
fn a_sample_with_a_joint_prior() {
    let text = SAMPLE.replace("1.0E-6 / U", "0.01 * tau");
    same_everywhere(&text, sample, Measured::response, 30, |name| match name {
        "mu" => Unit::Location,
        _ => Unit::Precision,
    });
}

const REGRESSION: &str = "model {
  for (i in 1:N) { y[i] ~ dnorm(alpha + beta * x[i] + gamma * w[i], tau) }
  alpha ~ dnorm(M, 1.0E-40 / U)
  beta ~ dnorm(0, 1.0E-6 * V / U)
  gamma ~ dnorm(0, 1.0E-6 * V / U)
  tau ~ dgamma(0.1, 0.1 * U)
  level <- alpha + beta * X0 + gamma * X0
}";

fn regression(how: Measured) -> Data {
    let (x, w, e) = (noise(40, 2), noise(40, 8), noise(40, 3));
    let y: Vec<f64> = (0..40).map(|i| 0.5 * x[i] - w[i] + e[i]).collect();
    let mut data = common::data("N=40");
    put(&mut data, "y", &[40], &how.y(&y));
    put(&mut data, "x", &[40], &how.x(&x));
    put(&mut data, "w", &[40], &how.x(&w));
    data
}

#[test]
fn a_regression() {
    let unit = |name: &str| match name {
        "level" => Unit::Location,
        "beta" | "gamma" => Unit::Slope,
        "alpha" => Unit::Elsewhere,
        _ => Unit::Precision,
    };
    same_everywhere(REGRESSION, regression, Measured::both, 40, unit);
    // A column of ones in the place of an intercept.
    let text = "model {
  for (i in 1:N) { y[i] ~ dnorm(inprod(X[i,], b[]), tau) }
  b[1] ~ dnorm(M, 1.0E-40 / U)
  b[2] ~ dnorm(0, 1.0E-6 * V / U)
  tau ~ dgamma(0.1, 0.1 * U)
  level <- b[1] + b[2] * X0
}";
    let columns = |how: Measured| {
        let mut data = regression(how);
        let x = data.arrays.remove("x").expect("x").values;
        data.arrays.remove("w");
        let rows: Vec<f64> = x.iter().flat_map(|x| [1.0, *x]).collect();
        put(&mut data, "X", &[40, 2], &rows);
        data
    };
    let unit = |name: &str| match name {
        "level" => Unit::Location,
        "b[2]" => Unit::Slope,
        "b[1]" => Unit::Elsewhere,
        _ => Unit::Precision,
    };
    same_everywhere(text, columns, Measured::both, 40, unit);
}

/// A number and its square, which far from zero is next to a multiple of it.
#[test]
fn a_parabola() {
    let text = "model {
  for (i in 1:N) { y[i] ~ dnorm(a + b * x[i] + c * x[i] * x[i], tau) }
  a ~ dnorm(M, 1.0E-60)
  b ~ dnorm(0, 1.0E-40)
  c ~ dnorm(0, 1.0E-6)
  tau ~ dgamma(0.1, 0.1)
  slope <- b + 2 * c * X0
  level <- a + b * X0 + c * X0 * X0
  unused <- U + V
}";
    let (x, e) = (noise(40, 2), noise(40, 3));
    let y: Vec<f64> = (0..40).map(|i| 0.5 * x[i] - x[i] * x[i] + e[i]).collect();
    let fit = |how: Measured| {
        let mut data = common::data("N=40");
        put(&mut data, "y", &[40], &how.y(&y));
        put(&mut data, "x", &[40], &how.x(&x));
        how.constants(&mut data);
        answer(&prepared(text, data))
    };
    let plain = fit(PLAIN);
    for offset in [1e3, 1e5] {
        let how = Measured::both(offset, 1.0);
        let unit = |name: &str| match name {
            "level" => Unit::Location,
            "slope" | "c" => Unit::Slope,
            "tau" => Unit::Precision,
            _ => Unit::Elsewhere,
        };
        let (worst, what) = difference(&plain, &fit(how), how, 40, unit);
        // The level is a sum of parts of 1e10 deviations, each known to 1e-16 of itself.
        assert!(worst < 1e-5, "{offset:e}: {what} differs by {worst:e}");
    }
}

/// A column twice: the sum of the two slopes is known, and nothing but their priors tells of each.
#[test]
fn a_column_twice() {
    let text = "model {
  for (i in 1:N) { y[i] ~ dnorm(b * x[i] + c * x[i], 1) }
  b ~ dnorm(0, 1.0E-20)
  c ~ dnorm(0, 1.0E-20)
  sum <- b + c
}";
    let (x, y) = (noise(30, 2), noise(30, 1));
    let mut data = common::data("N=30");
    put(&mut data, "y", &[30], &y);
    put(&mut data, "x", &[30], &x);
    let found = answer(&prepared(text, data));
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let [(mean, sd), _] = found.numbers["sum"];
    // The prior of the sum has half the precision of each.
    let precision = dot(&x, &x) + 0.5e-20;
    assert!(
        (mean - dot(&x, &y) / precision).abs() < 1e-12 * sd,
        "{mean}"
    );
    assert!((sd * precision.sqrt() - 1.0).abs() < 1e-12, "{sd}");
    let [(_, sd), _] = found.numbers["b"];
    // Given the sum, b has twice the precision, and the sum adds nothing that shows.
    assert!((sd * 2e-20_f64.sqrt() - 1.0).abs() < 1e-12, "{sd}");
}

/// More columns than are looked at, one of them twice.
#[test]
fn what_cannot_be_told_apart_is_refused() {
    let text = "model {
  for (i in 1:N) { y[i] ~ dnorm(inprod(X[i,], b[]), tau) }
  for (k in 1:70) { b[k] ~ dnorm(0, 1.0E-20) }
  tau ~ dgamma(1, 1)
}";
    let mut data = common::data("N=100");
    let mut columns = noise(7000, 2);
    for row in columns.chunks_mut(70) {
        row[69] = row[68];
    }
    put(&mut data, "y", &[100], &noise(100, 1));
    put(&mut data, "X", &[100, 70], &columns);
    let model = collapsar_bugs::Model::parse(text).expect("a model");
    let refusal = model.with(data).expect_err("inseparable");
    let refusal = refusal.render("m.bug", text);
    let expected = "cannot be told from other coefficients";
    assert!(refusal.contains(expected), "{refusal}");
    assert!(refusal.contains("y[i] ~ dnorm"), "{refusal}");
}

const RATS: &str = "model {
  for (i in 1:N) {
    for (j in 1:T) { Y[i,j] ~ dnorm(alpha[i] + beta[i] * (x[j] - X0), tau.c) }
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
        data
    };
    same_everywhere(RATS, data, Measured::both, 60, |name| match name {
        "tau.c" | "alpha.tau" => Unit::Precision,
        "beta.tau" => Unit::SlopePrecision,
        name if name.starts_with("beta") => Unit::Slope,
        _ => Unit::Location,
    });
}

const EFFECTS: &str = "model {
  for (i in 1:N) { y[i] ~ dnorm(a[g[i]] + b * x[i], tau) }
  for (j in 1:6) { a[j] ~ dnorm(mu, s)
    here[j] <- a[j] + b * X0 }
  mu ~ dnorm(M, 1.0E-40 / U)
  b ~ dnorm(0, 1.0E-6 * V / U)
  tau ~ dgamma(0.1, 0.1 * U)
  s ~ dgamma(0.1, 0.1 * U)
  centre <- mu + b * X0
}";

#[test]
fn random_effects() {
    let (x, e, effects) = (noise(48, 9), noise(48, 10), noise(6, 11));
    let y: Vec<f64> = (0..48)
        .map(|i| 2.0 * effects[i % 6] + 0.7 * x[i] + e[i])
        .collect();
    let groups: Vec<f64> = (0..48_u32).map(|i| f64::from(1 + i % 6)).collect();
    let data = |how: Measured| {
        let mut data = common::data("N=48");
        put(&mut data, "y", &[48], &how.y(&y));
        put(&mut data, "x", &[48], &how.x(&x));
        put(&mut data, "g", &[48], &groups);
        data
    };
    same_everywhere(EFFECTS, data, Measured::both, 48, |name| match name {
        "tau" | "s" => Unit::Precision,
        "b" => Unit::Slope,
        "mu" => Unit::Elsewhere,
        name if name.starts_with("a[") => Unit::Elsewhere,
        _ => Unit::Location,
    });
}

const MIXTURE: &str = "model {
  for (i in 1:N) { z[i] ~ dcat(pi[])
    y[i] ~ dnorm(mu[z[i]], tau[z[i]]) }
  for (k in 1:2) { mu[k] ~ dnorm(M, 0.01 / U)
    tau[k] ~ dgamma(2, 2 * U) }
  pi[1:2] ~ ddirch(ones[])
  unused <- X0 + V
}";

const SHARED: &str = "model {
  for (i in 1:N) { z[i] ~ dcat(pi[])
    y[i] ~ dnorm(mu[z[i]], tau) }
  for (k in 1:2) { mu[k] ~ dnorm(M, 0.01 / U) }
  tau ~ dgamma(2, 2 * U)
  pi[1:2] ~ ddirch(ones[])
  unused <- X0 + V
}";

#[test]
fn mixtures() {
    let e = noise(60, 7);
    let of = |k: usize| if k.is_multiple_of(3) { 5.0 } else { 0.0 };
    let y: Vec<f64> = (0..60).map(|k| e[k] + of(k)).collect();
    let data = |how: Measured| {
        let mut data = common::data("N=60; ones=1 1");
        put(&mut data, "y", &[60], &how.y(&y));
        data
    };
    for text in [MIXTURE, SHARED] {
        same_everywhere(text, data, Measured::response, 60, |name| match name {
            name if name.starts_with("mu") => Unit::Location,
            name if name.starts_with("tau") => Unit::Precision,
            _ => Unit::Free,
        });
    }
}

const VECTORS: &str = "model {
  for (i in 1:N) { z[i] ~ dcat(pi[])
    y[i,1:2] ~ dmnorm(mu[z[i],], L[z[i],,]) }
  for (k in 1:2) {
    mu[k,1:2] ~ dmnorm(m[], K[k,,])
    L[k,1:2,1:2] ~ dwish(R[,], 4)
    for (i in 1:2) { for (j in 1:2) { K[k,i,j] <- 0.1 * L[k,i,j] } }
  }
  pi[1:2] ~ ddirch(ones[])
  unused <- M + X0 + U + V
}";

#[test]
fn a_mixture_of_vectors() {
    let e = noise(160, 12);
    let of = |k: usize| if k.is_multiple_of(3) { 5.0 } else { 0.0 };
    let y: Vec<f64> = (0..160).map(|k| e[k] + of(k / 2)).collect();
    let data = |how: Measured| {
        let mut data = common::data("N=80; ones=1 1");
        put(&mut data, "y", &[80, 2], &how.y(&y));
        put(&mut data, "m", &[2], &how.y(&[0.0, 0.0]));
        let unit = how.scale * how.scale;
        put(&mut data, "R", &[2, 2], &[unit, 0.0, 0.0, unit]);
        data
    };
    same_everywhere(VECTORS, data, Measured::response, 160, |name| match name {
        name if name.starts_with("mu") => Unit::Location,
        name if name.starts_with('L') => Unit::Precision,
        // Computed from the matrix, and so from draws.
        name if name.starts_with('K') => Unit::Elsewhere,
        _ => Unit::Free,
    });
}

/// A prior that is nearly flat where it stands, seen from afar: with the precision known, mean, deviation and
/// evidence have closed forms.
#[test]
fn a_prior_seen_from_afar() {
    let text = "model { for (i in 1:N) { y[i] ~ dnorm(mu, 1) } mu ~ dnorm(0, 1.0E-6) }";
    let y = noise(30, 1);
    for offset in [1e3, 1e6] {
        let mut data = common::data("N=30");
        let shifted: Vec<f64> = y.iter().map(|y| y + offset).collect();
        put(&mut data, "y", &[30], &shifted);
        let found = answer(&prepared(text, data));
        // Sums of numbers on a grid are exact.
        let (sum, squares): (f64, f64) = (y.iter().sum(), y.iter().map(|y| y * y).sum());
        let (n, prior) = (30.0, 1e-6);
        let precision = n + prior;
        // Where the posterior is from the offset: (Σ(y - o) - τ₀ o) / (n + τ₀).
        let mean = (sum - prior * offset) / precision;
        let ln_2pi = (2.0 * std::f64::consts::PI).ln();
        let exact = 0.5 * (prior.ln() - precision.ln() - n * ln_2pi)
            - 0.5 * (squares + prior * offset * offset - precision * mean * mean);
        let [(mu, sd), _] = found.numbers["mu"];
        assert!(
            ((mu - offset) - mean).abs() <= 1e-8 * sd,
            "{offset}: {mu} {mean}"
        );
        assert!((sd * precision.sqrt() - 1.0).abs() < 1e-12);
        // Relative: at 1e6 the prior alone takes 5e5 nats.
        let gap = (found.bound - exact).abs() / exact.abs();
        assert!(gap < 1e-10, "{offset}: {} {exact}", found.bound);
    }
}

/// Draws of q and of Markov chains are those of centred data, so much further.
#[test]
fn draws_are_where_the_data_are() {
    let draws = |how: Measured| {
        let mut data = sample(how);
        how.constants(&mut data);
        let prepared = prepared(SAMPLE, data);
        let model = prepared.compile(&Demands::default()).expect("a choice");
        let point = climb(&model);
        let variational = model.variational_posterior(&point);
        let mut quantities = quantities(&prepared);
        quantities.retain(|quantity| quantity.element.array == "mu");
        let posterior = Posterior {
            prepared: &prepared,
            variational: &variational,
            response: None,
            weighted: None,
            share: 1.0,
            seed: 1,
        };
        let of_q = posterior
            .draws(&quantities, 0..50)
            .expect("draws")
            .remove(0);
        let options = ChainOptions {
            chains: 1,
            warmup: 10,
            draws: 50,
            seed: 2,
        };
        let stop = AtomicBool::new(false);
        let chains = prepared.chains(
            &model,
            ChainStart::Point(&point),
            &quantities,
            options,
            &stop,
        );
        let mut chains = chains.expect("chains").expect("not interrupted");
        (of_q, chains.chains.remove(0).remove(0))
    };
    let (plain, chain) = draws(PLAIN);
    let offset = 1e6;
    let (far, far_chain) = draws(Measured::response(offset, 1.0));
    for (plain, far) in [(plain, far), (chain, far_chain)] {
        for (a, b) in plain.iter().zip(&far) {
            // A double near 1e6 is known to 1e-10; draws follow one another from there.
            assert!((a - (b - offset)).abs() < 1e-7, "{a} {b}");
        }
    }
}
