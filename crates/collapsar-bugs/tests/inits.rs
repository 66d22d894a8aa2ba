//! Climbs that are given initial values begin there, and what cannot be a start is named.

mod common;
mod models;

use std::collections::BTreeMap;

use collapsar::graph::{Compiled, Demands, PosteriorMarginal, Role};
use collapsar::laws::model::bound;
use collapsar::special::digamma;
use collapsar::{Collapsed, Direction, Driver, Fit, Point, Potential, Stop};
use collapsar_bugs::{Array, Data, Inits, Origin, Prepared};
use common::{climb, data, demands, marginals, mean, prepared};
use models::MODELS;

const MIXTURE: &str = "model {
  for (i in 1:4) { z[i] ~ dcat(pi[]); y[i] ~ dnorm(mu[z[i]], 1) }
  for (k in 1:2) { mu[k] ~ dnorm(m, 0.01) }
  pi[1:2] ~ ddirch(a[])
  sigma <- sqrt(mu[1]*mu[1])
  y.new ~ dnorm(mu[1], 1)
}";
const Y: [f64; 4] = [-3.0, -1.0, 2.0, 4.0];

fn inits(prepared: &Prepared, text: &str) -> Inits {
    prepared.inits(&data(text)).expect("values that can be")
}

/// Where a climb from initial values begins.
fn begun(prepared: &Prepared, model: &Compiled, text: &str) -> Vec<f64> {
    let start = model.start_at(&inits(prepared, text).numbers, 3);
    start.expect("a start").0
}

/// The bound there.
fn first_bound(prepared: &Prepared, model: &Compiled, text: &str) -> f64 {
    bound(model, &begun(prepared, model, text)).expect("inside the domain")
}

/// What q says there.
fn at(prepared: &Prepared, model: &Compiled, text: &str) -> BTreeMap<String, PosteriorMarginal> {
    let messages = begun(prepared, model, text);
    let mut point = Point {
        statistics: vec![0.0; messages.len()],
        gradient: vec![0.0; messages.len()],
        messages,
        ..Point::default()
    };
    model.evaluate(&mut point).expect("inside the domain");
    marginals(prepared, &model.variational_posterior(&point))
}

fn second(marginal: &PosteriorMarginal) -> f64 {
    match marginal {
        PosteriorMarginal::States(states) => states[1],
        _ => f64::NAN,
    }
}

/// Labels begin with what Bayes' rule says at the values of the parameters, wherever numbers are counted from.
#[test]
fn parameters_are_where_they_are_given() {
    for (far, tolerance) in [(0.0, 1e-12), (1e6, 1e-8)] {
        let y: Vec<String> = Y.iter().map(|y| (y + far).to_string()).collect();
        let given = format!("m={far}; a=1 1; y={}", y.join(" "));
        let prepared = prepared(MIXTURE, data(&given));
        let model = prepared.compile(&Demands::default()).expect("a choice");
        let text = format!("mu={} {}; pi=0.7 0.3", far + 1.0, far + 2.0);
        let found = at(&prepared, &model, &text);
        for (i, y) in Y.iter().enumerate() {
            let weight = |share: f64, mu: f64| share * (-0.5 * (y - mu).powi(2)).exp();
            let (one, two) = (weight(0.7, 1.0), weight(0.3, 2.0));
            let expected = two / (one + two);
            let found = second(&found[&format!("z[{}]", i + 1)]);
            assert!(
                (found - expected).abs() < tolerance,
                "{far}: {found} {expected}"
            );
        }
    }
}

/// Parameters begin with what given labels say of them, however poor these are; labels then follow.
#[test]
fn labels_are_where_they_are_given() {
    let prepared = prepared(MIXTURE, data("m=0; a=1 1; y=-3 -1 2 4"));
    let model = prepared.compile(&Demands::default()).expect("a choice");
    let states = [0, 1, 0, 0];
    let found = at(&prepared, &model, "z=1 2 1 1");
    let of = |state: usize| {
        let own = || Y.iter().zip(states).filter(move |(_, z)| *z == state);
        let (count, sum) = (own().count() as f64, own().map(|(y, _)| y).sum::<f64>());
        let precision = 0.01 + count;
        (digamma(1.0 + count), sum / precision, 1.0 / precision)
    };
    for (i, y) in Y.iter().enumerate() {
        let logit = |state: usize| {
            let (ln_share, mu, variance) = of(state);
            ln_share - 0.5 * ((y - mu).powi(2) + variance)
        };
        let expected = 1.0 / (1.0 + (logit(0) - logit(1)).exp());
        let found = second(&found[&format!("z[{}]", i + 1)]);
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }
    let [poor, good] = ["z=1 2 1 1", "z=1 1 2 2"].map(|text| first_bound(&prepared, &model, text));
    assert!(poor < good - 1.0, "{poor} {good}");
}

/// Labels of a chain, of which a few may be missing.
#[test]
fn chains_of_labels_begin_at_states() {
    let text = "model {
      z[1] ~ dcat(half[])
      for (t in 2:8) { z[t] ~ dcat(A[z[t-1],]) }
      for (t in 1:8) { y[t] ~ dnorm(mu[z[t]], 1) }
      for (k in 1:2) { A[k,1:2] ~ ddirch(one[]); mu[k] ~ dnorm(0, 0.01) }
    }";
    let given = "half=0.5 0.5; one=1 1; y=-3 -3 -3 -3 3 3 3 3";
    let prepared = prepared(text, data(given));
    let model = prepared.compile(&Demands::default()).expect("a choice");
    let of = |text: &str| first_bound(&prepared, &model, text);
    let (good, poor) = (of("z=1 1 1 1 2 2 2 2"), of("z=1 2 1 2 1 2 1 2"));
    let some = of("z=1 NA NA NA 2 2 NA NA");
    assert!(
        poor < some && some <= good + 0.1 && poor < good - 5.0,
        "{poor} {some} {good}"
    );
}

/// What has a factor of its own among the messages begins about its values.
#[test]
fn own_factors_begin_about_their_values() {
    let text = "model {
      for (i in 1:6) { y[i] ~ dnorm(a*b[i]*c, tau); b[i] ~ dnorm(1, 1) }
      a ~ dnorm(0, 1); c ~ dnorm(0, 1); PRIOR
    }";
    let mut seen = vec![];
    for prior in [
        "tau ~ dgamma(2, 2)",
        "tau <- pow(s, -2); s ~ dunif(0, 9)",
        "tau ~ dexp(2) T(0.1, 80)",
    ] {
        let prepared = prepared(&text.replace("PRIOR", prior), data("y=1 2 4 0.5 3 2"));
        let model = prepared.compile(&demands("a", "")).expect("a choice");
        let own = |name: &str| {
            let classes = &model.choice().classes;
            let mut of = classes
                .iter()
                .filter(|class| class.names.contains(&name.to_owned()));
            of.all(|class| class.role == Role::Own)
        };
        let given = if prior.contains("dunif") {
            "a=0.3; c=-2.5; s=0.4"
        } else {
            "a=0.3; c=-2.5; tau=6.25"
        };
        let found = at(&prepared, &model, given);
        for (name, value) in [("a", 0.3), ("c", -2.5), ("tau", 6.25), ("s", 0.4)] {
            let Some(marginal) = found.get(name).filter(|_| own(name)) else {
                continue;
            };
            seen.push(name);
            let (found, exact) = (mean(marginal), name != "s" && !prior.contains("dexp"));
            // Numbers between bounds have the top of a density there, not the mean.
            let near = if exact { 1e-9 } else { 0.5 * f64::abs(value) };
            assert!((found - value).abs() < near, "{prior}: {name} {found}");
        }
    }
    assert!(seen.contains(&"tau") && seen.contains(&"s"), "{seen:?}");
    assert!(seen.contains(&"a") || seen.contains(&"c"), "{seen:?}");
}

/// The means of a fit, and the likeliest states of its labels, as initial values.
fn ends(prepared: &Prepared, model: &Compiled, fit: &Fit) -> Data {
    let found = marginals(prepared, &model.variational_posterior(&fit.point));
    let mut out: BTreeMap<String, (Vec<Vec<usize>>, Vec<f64>)> = BTreeMap::new();
    for quantity in prepared.quantities().expect("quantities") {
        let Some(marginal) = found.get(&quantity.to_string()) else {
            continue;
        };
        let value = match (quantity.origin, marginal) {
            (Origin::Label(_, lowest), PosteriorMarginal::States(states)) => {
                let likeliest = (0..states.len()).max_by(|&a, &b| states[a].total_cmp(&states[b]));
                f64::from(lowest) + likeliest.unwrap_or(0) as f64
            }
            (Origin::Variable(..), marginal) => mean(marginal),
            _ => continue,
        };
        let of = out.entry(quantity.element.array).or_default();
        of.0.push(quantity.element.indices);
        of.1.push(value);
    }
    let mut data = Data::default();
    for (name, (indices, values)) in out {
        let axes = indices[0].len().max(1);
        let longest = |axis: usize| indices.iter().filter_map(|i| i.get(axis)).max().copied();
        let dims: Vec<usize> = (0..axes).map(|axis| longest(axis).unwrap_or(1)).collect();
        let mut all = vec![f64::NAN; dims.iter().product()];
        for (indices, value) in indices.iter().zip(values) {
            let place = indices.iter().zip(&dims).fold(0, |p, (i, d)| p * d + i - 1);
            all[place] = value;
        }
        data.arrays.insert(name, Array { dims, values: all });
    }
    data
}

/// Variables of all kinds: a climb that begins at the means of a fit ends at its bound, or above.
#[test]
fn a_fit_is_a_start() {
    let mut broken = vec![];
    let mut climbed = 0;
    for (name, text, numbers) in MODELS {
        let prepared = prepared(text, data(numbers));
        let model = prepared.compile(&Demands::default()).expect("a choice");
        if model.local().dim() == 0 {
            continue;
        }
        let fit = climb(&model, 1, 1e-10);
        let given = match prepared.inits(&ends(&prepared, &model, &fit)) {
            Ok(given) => given,
            Err(refusal) => {
                broken.push(format!("{name}: {refusal}"));
                continue;
            }
        };
        let (start, _) = model.start_at(&given.numbers, 5).expect("a start");
        let first = bound(&model, &start).unwrap_or(f64::NEG_INFINITY);
        let again = Driver::new(&model, Direction::Auto)
            .stop(Stop::Gain(1e-10) | Stop::Passes(20_000))
            .run(start)
            .expect("a run");
        let (end, best) = (again.point.bound, fit.point.bound);
        climbed += 1;
        if !first.is_finite() || end < best - 1e-3 {
            broken.push(format!(
                "{name}: {first}, then {end} in the place of {best}"
            ));
        }
    }
    assert!(climbed > 20, "{climbed}");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn what_cannot_be_a_start_is_named() {
    let text = "model {
      for (i in 1:3) { x[i] ~ dnorm(mu, tau) T(0,); y[i] ~ dnorm(x[i], 1) }
      mu ~ dnorm(0, 1); tau ~ dgamma(1, 1); p ~ dbeta(1, 1); k ~ dbin(p, 5); k2 ~ dbin(p, n)
      L[1:2,1:2] ~ dwish(R[,], 3); w[1:2] ~ dmnorm(zero[], L[,]); v[1:2] ~ dmnorm(w[], L[,])
      u ~ dunif(2, 5); t ~ dnorm(u, 1); sigma <- 1/sqrt(tau)
    }"
    .replace(" T(0,)", "");
    let given = "y=1 2 NA; n=4; k2=2; zero=0 0; v=1 2; t=3; R[2,2]=1 0 0 1";
    let prepared = prepared(&text, data(given));
    for (text, found, expected) in [
        ("taau=1", "taau is no name of the model", "tau"),
        (
            "gamma=1",
            "gamma is no name of the model",
            "x, y, mu, tau, p, k, L, w, u",
        ),
        ("tau=0", "tau is 0", "a positive number"),
        ("p=1", "p is 1", "a number between 0 and 1"),
        ("u=6", "u is 6", "a number between 2 and 5"),
        (
            "sigma=1",
            "sigma is computed",
            "values of what it is computed from",
        ),
        ("n=4", "n is data", "unknowns"),
        ("y=1 NA NA", "y[1] is data", "NA there"),
        ("mu=1 2", "mu is 2 long", "1"),
        ("w=1 2 3", "w is 3 long", "2"),
        (
            "L[2,2]=1 2 2 1",
            "the matrix L from L[1,1] on",
            "a symmetric, positive definite one, all of it",
        ),
    ] {
        let refusal = prepared.inits(&data(text)).expect_err(text);
        assert_eq!(
            (refusal.found.as_str(), refusal.expected.as_str()),
            (found, expected)
        );
    }
    let idle = inits(&prepared, "y=NA NA 2; .RNG.seed=3; k=2; mu=1").idle;
    let names: Vec<&str> = idle.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, [".RNG.seed", "k", "y"]);
}
