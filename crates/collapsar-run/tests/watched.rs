//! Chains tell whoever waits for them how far they are, and end where they are asked to.
#![allow(clippy::result_large_err)] // errors are those of the library

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use collapsar::mixture::{DrawOptions, Mixture, Settings as MixtureSettings, Start};
use collapsar::topics::{Corpus, Settings, Start as TopicsStart, Topics, TopicsChains};
use collapsar::{ChainWatch, Direction, Driver};
use collapsar_bugs::{Array, Data};
use collapsar_run::fit::{ModelRequest, ModelSource, PosteriorOptions};
use collapsar_run::{PosteriorKind, Watch};

const CHAINS: usize = 3;
const WARMUP: usize = 8;
const DRAWS: usize = 40;

/// What was seen: draws that will be made, and that were, before the first that is kept and after.
#[derive(Default)]
struct Seen {
    interrupt: AtomicBool,
    told: [AtomicU64; 2],
    made: [AtomicU64; 2],
    /// Draws after which it has enough.
    enough: Option<u64>,
}

impl ChainWatch for Seen {
    fn interrupt(&self) -> &AtomicBool {
        &self.interrupt
    }

    fn begin(&self, warmup: u64, draws: u64) {
        self.told[0].store(warmup, Ordering::Relaxed);
        self.told[1].store(draws, Ordering::Relaxed);
    }

    fn draw(&self, kept: bool) {
        let made = self.made[usize::from(kept)].fetch_add(1, Ordering::Relaxed);
        if self.enough.is_some_and(|enough| kept && made + 1 >= enough) {
            self.interrupt.store(true, Ordering::Relaxed);
        }
    }
}

impl Watch for Seen {
    fn interrupt(&self) -> &AtomicBool {
        &self.interrupt
    }
}

/// Runs chains that tell of all their draws, and then some that are stopped: whether these left anything.
fn check(chains: &dyn Fn(&Seen) -> bool) -> bool {
    let all = Seen::default();
    assert!(chains(&all));
    let expected = [WARMUP, DRAWS].map(|each| (CHAINS * each) as u64);
    let numbers = |of: &[AtomicU64; 2]| [0, 1].map(|at| of[at].load(Ordering::Relaxed));
    assert_eq!(numbers(&all.told), expected);
    assert_eq!(numbers(&all.made), expected);
    let some = Seen {
        enough: Some(50),
        ..Seen::default()
    };
    let left = chains(&some);
    let [_, made] = numbers(&some.made);
    assert!(made >= 50 && made < expected[1], "{made}");
    left
}

#[test]
fn chains_of_a_mixture() {
    let rows = [1.0, 1.2, 0.9, 1.1, 5.0, 5.2, 4.9, 5.1];
    let model = Mixture::new(&rows, 1, &MixtureSettings::new(2)).expect("a model");
    let (start, _) = model.start(&Start::KMeans, 0).expect("a start");
    let driver = Driver::new(&model, Direction::Auto);
    let point = driver.run(start).expect("a climb").point;
    let options = DrawOptions {
        chains: CHAINS,
        warmup: WARMUP,
        draws: DRAWS,
        seed: 1,
    };
    let left = check(&|seen| {
        model
            .chains(&point, options, seen)
            .expect("draws")
            .is_some()
    });
    assert!(!left, "a mixture keeps nothing of chains that were stopped");
}

#[test]
fn chains_of_topics() {
    let corpus = Corpus::new(vec![0, 2, 4], vec![0, 1, 1, 2], vec![3.0, 1.0, 2.0, 2.0], 3);
    let model = Topics::new(Arc::new(corpus.expect("counts")), &Settings::new(2)).expect("topics");
    let (start, _) = model.start(TopicsStart::Random, 0).expect("a start");
    let driver = Driver::new(&model, Direction::Auto);
    let point = driver.run(start).expect("a climb").point;
    let options = TopicsChains {
        chains: CHAINS,
        warmup: WARMUP,
        draws: DRAWS,
        seed: 1,
        documents: false,
    };
    let left = check(&|seen| {
        let drawn = model.draws(&point, options, seen, None);
        drawn.expect("draws").is_some()
    });
    assert!(!left, "topics keep nothing of chains that were stopped");
}

#[test]
fn chains_of_a_model() {
    let source =
        "model { for (i in 1:N) { y[i] ~ dnorm(mu, tau) } mu ~ dnorm(0, 0.01) tau ~ dgamma(1, 1) }";
    let mut data = Data::default();
    for (name, values) in [("y", vec![1.0, 2.5, 0.5, 3.0]), ("N", vec![4.0])] {
        let dims = vec![values.len()];
        data.arrays.insert(name.into(), Array { dims, values });
    }
    let source = ModelSource::new("m.bug".into(), source.to_owned()).expect("a model");
    let prepared = source.with(data).expect("data");
    let request = ModelRequest {
        posterior: PosteriorOptions {
            posterior: Some(PosteriorKind::Exact),
            draws: Some(DRAWS),
            chains: CHAINS,
            warmup: Some(WARMUP),
        },
        ..ModelRequest::default()
    };
    let run = request.prepare(Arc::new(source), prepared).expect("a run");
    let quantities = run.monitor(&[]).expect("numbers").quantities;
    let climbed = run.climb(&Seen::default()).expect("a climb");
    let point = &climbed.best().point;
    let left = check(&|seen| {
        let result = run.result(point, &quantities, seen).expect("draws");
        result.is_some_and(|of| of.chains.is_some())
    });
    assert!(left, "a model keeps what chains had drawn");
}
