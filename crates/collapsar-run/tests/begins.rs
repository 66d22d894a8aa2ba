//! Runs that are given initial values, and what `check` tells as `fit` does.
#![allow(clippy::result_large_err)] // errors are those of the library

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use collapsar_bugs::{Array, Data};
use collapsar_run::fit::{ModelRequest, ModelRun, ModelSource};
use collapsar_run::{ClimbOptions, Climbed, Error, Watch};

const MIXTURE: &str = "model {
  for (i in 1:8) { z[i] ~ dcat(pi[]); y[i] ~ dnorm(mu[z[i]], tau) }
  for (k in 1:2) { mu[k] ~ dnorm(0, 0.01) }
  pi[1:2] ~ ddirch(a[]); tau ~ dgamma(1, 1)
}";
const NUMBERS: &str = "y=-3 -2.5 -3.2 -2.8 2.9 3.1 2.7 3.3; a=1 1";

struct Quiet(AtomicBool);

impl Watch for Quiet {
    fn interrupt(&self) -> &AtomicBool {
        &self.0
    }
}

/// `N=3; y=1 2; x[2,3]=1 2 3 4 5 6`.
fn data(text: &str) -> Data {
    let mut data = Data::default();
    for entry in text.split(';').map(str::trim).filter(|e| !e.is_empty()) {
        let (left, right) = entry.split_once('=').expect("name=numbers");
        let values: Vec<f64> = (right.split_whitespace())
            .map(|word| word.parse().expect("a number"))
            .collect();
        let (name, dims) = match left.split_once('[') {
            None => (left, vec![values.len()]),
            Some((name, dims)) => {
                let dims = dims.trim_end_matches(']').split(',');
                (name, dims.map(|d| d.parse().expect("a length")).collect())
            }
        };
        data.arrays.insert(name.into(), Array { dims, values });
    }
    data
}

fn prepared(text: &str, numbers: &str, request: ModelRequest) -> Result<ModelRun, Error> {
    let source = ModelSource::new("m.bug".into(), text.to_owned())?;
    let prepared = source.with(data(numbers))?;
    request.prepare(Arc::new(source), prepared)
}

fn climbed(run: &ModelRun) -> Result<Climbed, Error> {
    run.climb(&Quiet(AtomicBool::new(false)))
}

fn from(inits: &[&str], restarts: Option<usize>) -> ModelRequest {
    ModelRequest {
        inits: inits
            .iter()
            .map(|text| ("a.R".into(), data(text)))
            .collect(),
        climb: ClimbOptions {
            restarts,
            ..ClimbOptions::default()
        },
        ..ModelRequest::default()
    }
}

const POOR: &str = "z=1 2 1 2 1 2 1 2";
const GOOD: &str = "mu=-3 3; tau=4";

#[test]
fn given_starts_are_the_first_ones() {
    let ends = |inits: &[&str], restarts| {
        let run = prepared(MIXTURE, NUMBERS, from(inits, restarts)).expect("a run");
        climbed(&run).expect("a climb").climbs
    };
    let poor = ends(&[POOR], Some(1)).best.point.bound;
    let good = ends(&[GOOD], Some(1)).best.point.bound;
    // Alternate labels say nothing of the data, and the climb ends with one component.
    assert!(poor < good - 5.0, "{poor} {good}");
    let both = ends(&[POOR, GOOD], Some(2)).bounds();
    assert_eq!(both, [poor, good]);
    // Beside starts that compete, a poor one does no harm.
    let competing = ends(&[POOR], None);
    assert!(competing.ends.len() > 2 && (competing.best.point.bound - good).abs() < 1e-6);
    // Without labels there is a climb for each of them.
    let text = "model { for (i in 1:3) { y[i] ~ dnorm(a*b, tau) }
      a ~ dnorm(0, 1); b ~ dnorm(0, 1); tau ~ dgamma(1, 1) }";
    let run = prepared(text, "y=1 2 3", from(&["a=1; b=1", "a=-1; b=-1"], None)).expect("a run");
    let climbs = climbed(&run).expect("a climb").climbs;
    assert_eq!(climbs.ends.len(), 2);
    let refused = prepared(MIXTURE, NUMBERS, from(&[POOR, GOOD], Some(1))).map(drop);
    let refused = refused.expect_err("too few").to_string();
    assert!(refused.contains("at least 2, one for each"), "{refused}");
}

#[test]
fn results_do_not_depend_on_threads() {
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().expect("threads").install(|| {
            let run = prepared(MIXTURE, NUMBERS, from(&[POOR, GOOD], None)).expect("a run");
            let climbs = climbed(&run).expect("a climb").climbs;
            (climbs.bounds(), climbs.best.point.messages)
        })
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn what_has_no_effect_is_said() {
    let text = "model { for (i in 1:4) { y[i] ~ dgamma(a, b) }
      a ~ dunif(0, 9); b ~ dgamma(1, 1); x ~ dnorm(a, 1) }";
    let given = "a=2; .RNG.seed=1; x=3";
    let run = prepared(text, "y=1 2 3 1", from(&[given], None)).expect("a run");
    let reasons = [
        "initial a: no effect, since a fit is made for each of its values",
        "initial x: no effect, since it is predicted after the fit",
        "initial .RNG.seed: no effect, since random numbers are those of the seed",
    ];
    assert_eq!(run.idle_inits, reasons);
}

/// Texts that say nothing wrong by themselves: what is wrong shows in the first point, or in draws of it.
const LATE: &[(&str, &str, &str)] = &[
    (
        "model { for (i in 1:4) { y[i] ~ dnorm(a + b, t) } a ~ dflat(); b ~ dflat(); t ~ dgamma(1, 1) }",
        "y=1 2 3 5",
        "not positive definite",
    ),
    (
        "model { z[1] ~ dcat(h[]) for (t in 2:3) { z[t] ~ dcat(A[z[t-1],]) }
          for (t in 1:3) { y[t] ~ dcat(B[z[t],]) } p ~ dbeta(1, 1); k ~ dbin(p, 3) }",
        "h=1 0; A[2,2]=1 0 0 1; B[2,2]=1 0 0 1; y=1 2 1; k=1",
        "one assignment at least",
    ),
    (
        "model { for (i in 1:2) { for (j in 1:3) { m[i,j] ~ dnorm(0, 1); y[i,j] ~ dnorm(m[i,j], 1) } }
          s[1:2,1:2] <- inverse(m[1:2,1:3]) }",
        "y[2,3]=1 2 3 4 5 6",
        "inverse of an array of lengths",
    ),
    (
        "model { for (i in 1:2) { m[i] ~ dnorm(0, 1); y[i] ~ dnorm(m[i], 1); for (j in 1:2) { M[i,j] <- m[1] } }
          s[1:2,1:2] <- inverse(M[,]) }",
        "y=1 2",
        "singular",
    ),
    (
        "model { a ~ dnorm(50, 1); y ~ dnorm(a, 1); s <- v[trunc(a)] }",
        "y=51; v=1 2",
        "out of range, expected 1 to 2",
    ),
    (
        "model { a ~ dnorm(-50, 1); y ~ dnorm(a, 1); n ~ dnorm(0, a) }",
        "y=-51",
        "expected a positive number",
    ),
];

#[test]
fn what_a_fit_refuses_a_check_tells() {
    for (text, numbers, part) in LATE {
        let run = prepared(text, numbers, ModelRequest::default()).expect(text);
        let numbers = || Ok::<_, Error>(run.monitor(&[])?.quantities);
        let told = numbers().and_then(|numbers| run.check(&numbers));
        let told = told.expect_err(text);
        assert!(told.to_string().contains(part), "{told}");
        let fit = numbers()
            .and_then(|numbers| run.check_lines(&numbers))
            .and_then(|()| climbed(&run).map(drop));
        assert_eq!(fit.expect_err(text), told);
    }
}

/// What can be computed from some draws is no reason to lose a run.
#[test]
fn what_a_check_passes_a_fit_accepts() {
    for (text, numbers, name) in [
        (
            "model { k ~ dcat(p[]); y ~ dnorm(m[k], 1); for (i in 1:2) { m[i] ~ dnorm(0, 1) } s <- v[k + 1] }",
            "p=0.5 0.5; y=1; v=1 2",
            "s",
        ),
        (
            "model { a ~ dnorm(0, 1); y ~ dnorm(a, 1); n ~ dnorm(0, a); l <- log(a) }",
            "y=0.2",
            "n",
        ),
    ] {
        let run = prepared(text, numbers, ModelRequest::default()).expect(text);
        let quantities = run.monitor(&[]).expect("numbers").quantities;
        run.check(&quantities).expect(text);
        let climbed = climbed(&run).expect(text);
        let draws = run.draws(&climbed.best().point, &quantities, 1, 0..200);
        let place = quantities.iter().position(|q| q.to_string() == name);
        let draws = &draws.expect(text)[place.expect(name)];
        let lost = draws.iter().filter(|draw| draw.is_nan()).count();
        assert!(lost > 20 && lost < 180, "{lost}");
        let interrupt = AtomicBool::new(false);
        let result = run.result(&climbed.best().point, &quantities, &interrupt);
        assert!(result.expect(text).is_some());
    }
}
