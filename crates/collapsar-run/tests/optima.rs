//! Default runs of models with labels end at the best bound that many climbs find, whatever the seed, at the price of a few.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use collapsar_bugs::{Array, Data};
use collapsar_run::fit::{ModelRequest, ModelRun, ModelSource};
use collapsar_run::{ClimbOptions, Climbed, Watch};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const SYMBOLS: &str = "model {
  z[1] ~ dcat(start[])
  for (t in 2:T) { z[t] ~ dcat(A[z[t-1],]) }
  for (t in 1:T) { y[t] ~ dcat(B[z[t],]) }
  for (k in 1:3) {
    A[k,1:3] ~ ddirch(a[])
    B[k,1:5] ~ ddirch(b[])
  }
}";

const NORMAL: &str = "model {
  z[1] ~ dcat(start[])
  for (t in 2:T) { z[t] ~ dcat(A[z[t-1],]) }
  for (t in 1:T) { y[t] ~ dnorm(mu[z[t]], tau[z[t]]) }
  for (k in 1:3) {
    A[k,1:3] ~ ddirch(a[])
    mu[k] ~ dnorm(0, 0.01)
    tau[k] ~ dgamma(1, 1)
  }
}";

const CLASSES: &str = "model {
  for (i in 1:N) {
    z[i] ~ dcat(pi[])
    for (j in 1:J) { x[i,j] ~ dbern(p[z[i],j]) }
  }
  pi[1:3] ~ ddirch(a[])
  for (k in 1:3) { for (j in 1:J) { p[k,j] ~ dbeta(1, 1) } }
}";

struct Quiet(AtomicBool);

impl Watch for Quiet {
    fn interrupt(&self) -> &AtomicBool {
        &self.0
    }
}

fn data(arrays: &[(&str, &[usize], Vec<f64>)]) -> Data {
    let mut data = Data::default();
    for (name, dims, values) in arrays {
        let dims = dims.to_vec();
        let values = values.clone();
        data.arrays.insert((*name).into(), Array { dims, values });
    }
    data
}

fn pick(weights: &[f64], rng: &mut impl Rng) -> usize {
    let mut left: f64 = rng.random();
    let found = weights.iter().position(|weight| {
        left -= weight;
        left < 0.0
    });
    found.unwrap_or(weights.len() - 1)
}

/// States of a chain that stays where it is nine times in ten.
fn chain(steps: usize, rng: &mut impl Rng) -> Vec<usize> {
    let mut states = vec![0];
    while states.len() < steps {
        let last = states[states.len() - 1];
        let moves: Vec<f64> = (0..3).map(|k| if k == last { 0.9 } else { 0.05 }).collect();
        states.push(pick(&moves, rng));
    }
    states
}

fn chain_data(y: Vec<f64>) -> Data {
    let (steps, third) = (y.len(), 1.0 / 3.0);
    data(&[
        ("T", &[1], vec![steps as f64]),
        ("start", &[3], vec![third; 3]),
        ("a", &[3], vec![1.0; 3]),
        ("b", &[5], vec![1.0; 5]),
        ("y", &[steps], y),
    ])
}

fn run(text: &str, data: &Data, restarts: Option<usize>, seed: u64) -> (ModelRun, Climbed) {
    let source = ModelSource::new("m.bug".into(), text.into()).expect("a model");
    let prepared = source.with(data.clone()).expect("data");
    let request = ModelRequest {
        climb: ClimbOptions {
            restarts,
            seed,
            ..ClimbOptions::default()
        },
        ..ModelRequest::default()
    };
    let run = request.prepare(Arc::new(source), prepared).expect("a run");
    let climbed = run.climb(&Quiet(AtomicBool::new(false))).expect("climbs");
    (run, climbed)
}

/// The best of forty climbs and of all default runs is the best known bound. Of ten runs one may miss it: of
/// twenty in the bench at most one does.
fn reaches(name: &str, text: &str, data: &Data) {
    let (_, many) = run(text, data, Some(40), 9_000);
    let cost = many.passes as f64 / 40.0;
    let runs: Vec<Climbed> = (0..10)
        .map(|seed| run(text, data, None, 100 * seed).1)
        .collect();
    let bounds = runs.iter().map(|climbed| climbed.best().point.bound);
    let best = bounds.clone().fold(many.best().point.bound, f64::max);
    let reached = bounds.clone().filter(|bound| *bound > best - 1.0).count();
    assert!(
        reached >= 9,
        "{name}: best {best}, {:?}",
        bounds.collect::<Vec<_>>()
    );
    let passes = runs
        .iter()
        .map(|climbed| climbed.passes as f64)
        .sum::<f64>()
        / 10.0;
    assert!(
        passes < 5.0 * cost,
        "{name}: {passes} passes, a climb takes {cost}"
    );
    for climbed in &runs {
        let spread = climbed.climbs.spread();
        assert!(climbed.outcome.converged && spread.abandoned > 0, "{name}");
        assert!(
            spread.starts > spread.abandoned && spread.starts <= 12,
            "{name}"
        );
        assert!(spread.within_a_nat >= 1 && spread.within_a_nat <= spread.finished());
        assert!(spread.highest == climbed.best().point.bound, "{name}");
    }
}

#[test]
fn chains_of_normal_numbers() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let states = chain(400, &mut rng);
    // Uniform noise of deviation 0.7, as far apart as four of these.
    let noise = |rng: &mut ChaCha8Rng| 2.4 * (rng.random::<f64>() - 0.5);
    let y = states
        .iter()
        .map(|&k| 3.0 * k as f64 - 3.0 + noise(&mut rng));
    reaches("normal", NORMAL, &chain_data(y.collect()));
}

#[test]
fn chains_of_symbols() {
    let emissions = [
        [0.6, 0.2, 0.1, 0.05, 0.05],
        [0.1, 0.1, 0.6, 0.1, 0.1],
        [0.1, 0.1, 0.1, 0.35, 0.35],
    ];
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let states = chain(500, &mut rng);
    let y = states
        .iter()
        .map(|&k| 1.0 + pick(&emissions[k], &mut rng) as f64);
    reaches("symbols", SYMBOLS, &chain_data(y.collect()));
}

#[test]
fn latent_classes() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let (people, items) = (200, 6);
    let p = [
        [0.9, 0.8, 0.9, 0.2, 0.1, 0.5],
        [0.1, 0.2, 0.8, 0.9, 0.8, 0.3],
        [0.2, 0.9, 0.1, 0.1, 0.9, 0.9],
    ];
    let mut x = vec![];
    for person in 0..people {
        x.extend((0..items).map(|j| f64::from(u8::from(rng.random::<f64>() < p[person % 3][j]))));
    }
    let data = data(&[
        ("N", &[1], vec![people as f64]),
        ("J", &[1], vec![items as f64]),
        ("a", &[3], vec![1.0; 3]),
        ("x", &[people, items], x),
    ]);
    reaches("classes", CLASSES, &data);
    // Threads change nothing.
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().expect("a pool");
        pool.install(|| run(CLASSES, &data, None, 3).1)
    };
    let (one, three) = (on(1), on(3));
    assert_eq!(one.climbs.ends, three.climbs.ends);
    assert_eq!(one.best().point, three.best().point);
}

/// What is cut in its last climb goes on to the same bits; what is asked for by number does not compete.
#[test]
fn the_last_climb_goes_on_from_its_checkpoint() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let y =
        (0..60).map(|n| 1.0 + f64::from(n % 3) + f64::from(u8::from(rng.random::<f64>() < 0.4)));
    let data = chain_data(y.collect());
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("c");
    let with = |change: &dyn Fn(&mut ClimbOptions)| {
        let source = ModelSource::new("m.bug".into(), SYMBOLS.into()).expect("a model");
        let prepared = source.with(data.clone()).expect("data");
        let mut request = ModelRequest::default();
        change(&mut request.climb);
        let run = request.prepare(Arc::new(source), prepared).expect("a run");
        run.climb(&Quiet(AtomicBool::new(false))).expect("climbs")
    };
    let whole = with(&|_| ());
    // Starts end at gains of 1e-3: only the last leg is cut.
    with(&|climb| {
        climb.tolerance = Some(5e-4);
        climb.checkpoint = Some((file.clone(), 1));
    });
    let resumed = with(&|climb| climb.resume = Some(file.clone()));
    assert_eq!(resumed.best().point, whole.best().point);
    // The checkpoint knows where the other starts ended.
    assert_eq!(resumed.climbs.ends, whole.climbs.ends);
    let asked = with(&|climb| climb.restarts = Some(3));
    let spread = asked.climbs.spread();
    assert_eq!((spread.starts, spread.abandoned), (3, 0));
}
