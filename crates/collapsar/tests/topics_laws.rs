//! Topic models obey the laws of collapsed models, and every direction obeys its laws on them.
//!
//! The laws are those of the profile: of a model whose documents are settled, which [`Exact`] is.
//! A run settles documents by a few sweeps only; that this is still a climb, and that many sweeps
//! lead to the profile, are laws of their own below.

#[allow(dead_code)] // `topics_theory` and `topics_fits` use the rest of it
mod plain;

use std::ops::ControlFlow;
use std::sync::Arc;

use collapsar::laws::model::{
    bound, conforms, never_falls, rules_agree_on_stationarity, threads_do_not_matter,
    vbem_step_cannot_fall,
};
use collapsar::laws::{hessian_is_nonnegative, hessian_is_symmetric};
use collapsar::topics::{Alpha, Beta, Corpus, Local, Posterior, Settings, Start, Topics};
use collapsar::{Advice, Collapsed, Direction, Driver, Potential, Stop};
use plain::{corpus, distance, drawn, given, look, model};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, RngSeed};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A topic model whose documents are always settled, from even counts on: the profile of
/// maths §7.2, which is a function of the messages alone.
struct Exact<'a>(&'a Topics);

impl Collapsed for Exact<'_> {
    type Local = Local;
    type Posterior = Posterior;

    fn local(&self) -> &Local {
        self.0.local()
    }

    fn posterior(&self) -> &Posterior {
        self.0.posterior()
    }

    fn advice(&self) -> Advice<'_> {
        Advice {
            momentum: true,
            plain_steps: self.0.advice().plain_steps,
            ..Advice::default()
        }
    }

    fn constant(&self) -> f64 {
        self.0.constant()
    }

    fn fingerprint(&self) -> String {
        self.0.fingerprint()
    }
}

/// Small corpora: one drawn from the model, one with an empty document, a word never seen, a
/// document of one token and fractions of tokens, and one of equal documents.
fn corpora() -> [Arc<Corpus>; 3] {
    let odd = [
        vec![(0, 2.0), (1, 1.0), (4, 0.5)],
        vec![],
        vec![(3, 1.0)],
        vec![(1, 4.0), (3, 2.5), (5, 1.0), (0, 1.0)],
        vec![(4, 3.0), (5, 0.25)],
    ];
    let equal = vec![vec![(0, 2.0), (1, 1.0), (2, 3.0)]; 4];
    [
        drawn((12, 15, 9), &[0.5; 3], 0.3, 1).0,
        corpus(&odd, 7),
        corpus(&equal, 3),
    ]
}

/// Priors of documents and of topics.
fn priors() -> [(Vec<f64>, f64); 6] {
    [
        (vec![1.0; 3], 1.0),
        (vec![0.1; 3], 0.1),
        (vec![0.01; 3], 0.01),
        (vec![2.0, 0.3, 0.05], 0.2),
        (vec![0.01, 1.0], 0.05),
        (vec![0.7], 0.01),
    ]
}

fn on_every_model(law: impl Fn(&Topics) -> Result<(), String>) {
    for (i, corpus) in corpora().iter().enumerate() {
        for (alpha, beta) in priors() {
            let model = model(corpus, &given(&alpha, beta, 2));
            if let Err(broken) = law(&model) {
                panic!("corpus {i}, alpha {alpha:?}, beta {beta}: {broken}");
            }
        }
    }
}

fn start(model: &Topics, seed: u64) -> Vec<f64> {
    model.start(Start::Documents, seed).expect("a start").0
}

/// Messages under which every word leans to a topic, by some three nats.
///
/// With priors of a tenth and less a document has several optima, and along a line of messages
/// the one that settling finds may change: there the profile is not smooth, and no law of
/// derivatives holds. Where words hardly lean, such a document settles on one topic for all its
/// words, the metric vanishes and there is nothing to differentiate. With words that lean a
/// document has its words where they lean to, and stays there.
fn leaning(model: &Topics, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let topics = model.topics();
    let message = |i: usize| {
        let leans = (i / topics) % topics == i % topics;
        f64::from(u8::from(leans)) * 3.0 + rng.random_range(-1.0..0.0)
    };
    (0..model.local().dim()).map(message).collect()
}

/// The largest curvature of a message by itself.
fn curvature(model: &Topics, messages: &[f64]) -> f64 {
    let product = |i: usize| {
        let (mut unit, mut out) = (vec![0.0; messages.len()], vec![0.0; messages.len()]);
        unit[i] = 1.0;
        let hessian = model.local().hessian_product(messages, &unit, &mut out);
        hessian.expect("finite messages");
        out[i]
    };
    (0..messages.len()).map(product).fold(0.0, f64::max)
}

#[test]
fn points_conform() {
    on_every_model(|model| {
        for seed in 0..2 {
            let messages = leaning(model, seed);
            // Some documents are not settled; one topic has nothing to settle.
            assert_eq!(curvature(model, &messages) > 0.05, model.topics() > 1);
            conforms(&Exact(model), &messages, seed)?;
        }
        Ok(())
    });
}

/// Where all words of all documents are settled, curvature is what the other topics hold, some
/// 1e-15 of a token here: still a symmetric form, with all but a few of its digits.
#[test]
fn settled_documents_keep_their_curvature() {
    let model = model(
        &corpus(&[vec![(0, 5.0)], vec![(1, 4.0), (2, 3.0)]], 3),
        &given(&[0.03, 0.02], 3.0, 2),
    );
    let messages = [0.0, -0.7, 0.1, 0.3, -0.2, 0.4];
    let largest = curvature(&model, &messages);
    assert!(0.0 < largest && largest < 1e-12, "{largest:e}");
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..10 {
        let mut random = || -> Vec<f64> { (0..6).map(|_| rng.random_range(-1.0..1.0)).collect() };
        let (a, b) = (random(), random());
        hessian_is_symmetric(model.local(), &messages, &a, &b).expect("a symmetric product");
        hessian_is_nonnegative(model.local(), &messages, &a).expect("curvature");
    }
}

/// On the way from a start, with priors that leave documents one optimum.
#[test]
fn points_of_a_climb_conform() {
    for corpus in corpora() {
        for (alpha, beta) in [(vec![1.0; 3], 1.0), (vec![3.0, 1.0], 0.1)] {
            let model = model(&corpus, &given(&alpha, beta, 2));
            for steps in 1..6 {
                let fit = Driver::new(&model, Direction::Vbem)
                    .stop(Stop::Iterations(steps))
                    .run(start(&model, steps))
                    .expect("a run");
                conforms(&Exact(&model), &fit.point.messages, steps).expect("a conforming point");
            }
        }
    }
}

#[test]
fn vbem_steps_of_the_profile_do_not_fall() {
    on_every_model(|model| {
        (0..5).try_for_each(|seed| vbem_step_cannot_fall(&Exact(model), &start(model, seed)))
    });
}

#[test]
fn climbs_of_the_profile_never_fall() {
    on_every_model(|model| {
        for direction in Direction::ALL {
            never_falls(&Exact(model), direction, &start(model, 1))?;
        }
        Ok(())
    });
}

/// Of the profile, where documents have one optimum: elsewhere a step may cross a switch of
/// optima, and the climb ends before it.
#[test]
fn directions_end_at_stationary_points_of_the_profile() {
    for corpus in corpora() {
        for alpha in [vec![1.0; 3], vec![3.0, 1.0], vec![0.7]] {
            let model = model(&corpus, &given(&alpha, 1.0, 2));
            rules_agree_on_stationarity(&Exact(&model), &start(&model, 1)).expect("an optimum");
        }
    }
}

/// Documents keep to their optimum where they are settled from where they were: every direction
/// ends where neither words nor documents want to move, for any priors and sweeps.
#[test]
fn directions_end_at_stationary_points() {
    on_every_model(|model| {
        for direction in Direction::ALL {
            let fit = Driver::new(model, direction)
                .stop(Stop::Gain(1e-12) | Stop::Passes(100_000))
                .run(start(model, 1))
                .map_err(|e| e.to_string())?;
            let point = &fit.point;
            let mut dual = vec![0.0; point.gradient.len()];
            model
                .metric_product(point, &point.gradient, &mut dual)
                .map_err(|e| e.to_string())?;
            let norm: f64 = dual.iter().zip(&point.gradient).map(|(d, g)| d * g).sum();
            let again = look(model, &point.messages, point.warm.clone());
            let moved = distance(&again.warm, &point.warm);
            // As the law for the profile: gains are known to 1e-15 of the bound.
            let allowed = 1e-10 * point.bound.abs().max(1.0);
            if !(fit.outcome.converged() && norm <= allowed && moved <= allowed.sqrt()) {
                return Err(format!("{direction}: {}, {norm:e} {moved:e}", fit.outcome));
            }
        }
        Ok(())
    });
}

/// Many sweeps at fixed messages are the profile; few sweeps are below it.
#[test]
fn many_sweeps_settle() {
    for (i, corpus) in corpora().iter().enumerate() {
        for (alpha, beta) in priors() {
            let few = model(corpus, &given(&alpha, beta, 2));
            let many = model(corpus, &given(&alpha, beta, 20_000));
            let messages = leaning(&few, 4);
            let exact = bound(&Exact(&few), &messages).expect("finite messages");
            let mut statistics = vec![0.0; messages.len()];
            few.local()
                .value_and_gradient(&messages, &mut statistics)
                .expect("finite messages");
            let settled = look(&many, &messages, vec![]);
            let case = format!("corpus {i}, alpha {alpha:?}, beta {beta}");
            let error = (settled.bound - exact).abs() / exact.abs();
            assert!(error < 1e-13, "{case}: {error:e}");
            let error = distance(&settled.statistics, &statistics) / corpus.tokens();
            assert!(error < 1e-13, "{case}: {error:e}");
            // So is the metric, which a point has from its own counts.
            let (mut own, mut exact) = (vec![0.0; messages.len()], vec![0.0; messages.len()]);
            many.metric_product(&settled, &messages, &mut own)
                .and_then(|()| {
                    many.local()
                        .hessian_product(&messages, &messages, &mut exact)
                })
                .expect("finite messages");
            let error = distance(&own, &exact) / corpus.tokens();
            assert!(error < 1e-12, "{case}: {error:e}");
            // Few sweeps are below the profile, but for rounding.
            let local = |model: &Topics| {
                let mut point = settled.clone();
                point.warm.clear();
                model.evaluate(&mut point).expect("finite messages").0
            };
            let (unsettled, settled) = (local(&few), local(&many));
            assert!(unsettled <= settled + 1e-13 * settled.abs(), "{case}");
        }
    }
}

/// The bound of a run rises at every step, and is what its last point gives, whatever the sweeps.
fn rises(model: &Topics, direction: Direction, start: &[f64]) -> Result<(), String> {
    let mut highest = look(model, start, vec![]).bound;
    let mut fall = None;
    let mut last = None;
    let fit = Driver::new(model, direction)
        .stop(Stop::Gain(1e-9) | Stop::Passes(2000))
        .observe(|step| {
            // Written so that a NaN is a fall.
            if !(step.bound > highest && step.gain == step.bound - highest) {
                fall = Some(format!("{direction}: {} after {highest}", step.bound));
            }
            highest = step.bound;
            ControlFlow::Continue(())
        })
        .watch(|_, point| last = Some(point.clone()))
        .run(start.to_vec())
        .map_err(|e| format!("{direction}: {e}"))?;
    if let Some(fall) = fall {
        return Err(fall);
    }
    if last.is_some_and(|last| last != fit.point) || fit.point.bound != highest {
        return Err(format!("{direction}: the run does not end where it says"));
    }
    Ok(())
}

#[test]
fn climbs_never_fall() {
    let learned = |alpha, beta| Settings {
        alpha,
        beta,
        sweeps: 2,
        ..Settings::new(3)
    };
    for corpus in corpora() {
        for (alpha, beta) in priors() {
            for sweeps in [1, 3] {
                let model = model(&corpus, &given(&alpha, beta, sweeps));
                for direction in Direction::ALL {
                    rises(&model, direction, &start(&model, 2)).expect("a rise");
                }
            }
        }
        for settings in [
            learned(Alpha::Learned, Beta::Learned),
            learned(Alpha::Learned, Beta::Given(0.1)),
            learned(Alpha::Symmetric(0.1), Beta::Learned),
        ] {
            let model = model(&corpus, &settings);
            for direction in Direction::ALL {
                for seed in 0..3 {
                    rises(&model, direction, &start(&model, seed)).expect("a rise");
                }
            }
        }
    }
}

/// Metric and covariance are those of the priors learned so far, not of the first.
#[test]
fn products_use_learned_priors() {
    let [corpus, ..] = corpora();
    let learned = model(&corpus, &Settings::new(3));
    let fit = Driver::new(&learned, Direction::Vbem)
        .stop(Stop::Iterations(5))
        .run(start(&learned, 1))
        .expect("a run");
    let answer = learned.fit(&fit.point);
    assert!(answer.alpha.iter().all(|alpha| *alpha != 0.1) && answer.beta != 0.1);
    let fixed = model(&corpus, &given(&answer.alpha, answer.beta, 3));
    let along = leaning(&learned, 1);
    let products = [&learned, &fixed].map(|model| {
        let (mut metric, mut covariance) = (along.clone(), along.clone());
        model
            .metric_product(&fit.point, &along, &mut metric)
            .and_then(|()| model.covariance_product(&fit.point, &along, &mut covariance))
            .expect("finite messages");
        (metric, covariance)
    });
    assert_eq!(products[0], products[1]);
    let mut plain = along.clone();
    fixed
        .posterior()
        .hessian_product(&fit.point.statistics, &along, &mut plain)
        .expect("finite statistics");
    assert_eq!(products[0].1, plain);
}

/// 1100 documents and 700 words: threads take up to three at a time.
#[test]
fn threads_do_not_matter_to_several_chunks() {
    let (corpus, _) = drawn((1100, 12, 700), &[0.2; 5], 0.05, 3);
    for alpha in [vec![0.1; 5], vec![1.0, 0.5, 0.2, 0.1, 0.01]] {
        let model = model(&corpus, &given(&alpha, 0.1, 3));
        threads_do_not_matter(&Exact(&model), &leaning(&model, 1)).expect("the same bits");
    }
}

/// Few cases with a fixed seed: each runs some twenty laws.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 64,
        rng_seed: RngSeed::Fixed(23),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource(
            "proptest-regressions",
        ))),
        ..ProptestConfig::default()
    }
}

/// Log-uniform over powers of ten.
fn magnitude(low: f64, high: f64) -> impl Strategy<Value = f64> {
    (low..high).prop_map(|power| 10_f64.powf(power))
}

/// Any corpus, half of its entries empty, and any priors.
fn example() -> impl Strategy<Value = (Arc<Corpus>, Vec<f64>, f64)> {
    (1..=5_usize, 2..=9_usize, 1..=8_usize)
        .prop_flat_map(|(topics, vocabulary, documents)| {
            (
                vec(vec(0..12_u8, vocabulary), documents),
                vec(magnitude(-2.0, 1.0), topics),
                magnitude(-2.0, 1.0),
            )
        })
        .prop_map(|(counts, alpha, beta)| {
            let mut bags: Vec<Vec<(u32, f32)>> = counts
                .iter()
                .map(|row| {
                    let entries = (0..).zip(row).filter(|(_, n)| **n > 6);
                    entries.map(|(v, n)| (v, f32::from(n - 6))).collect()
                })
                .collect();
            // No fewer tokens than topics.
            bags.push(vec![(0, 5.0)]);
            (corpus(&bags, counts[0].len()), alpha, beta)
        })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_priors((corpus, alpha, beta) in example(), sweeps in 1..5_usize, seed: u64) {
        let model = model(&corpus, &given(&alpha, beta, sweeps));
        let start = start(&model, seed);
        vbem_step_cannot_fall(&Exact(&model), &start).map_err(TestCaseError::fail)?;
        let messages = leaning(&model, seed);
        if curvature(&model, &messages) > 0.1 {
            conforms(&Exact(&model), &messages, seed).map_err(TestCaseError::fail)?;
        }
        for direction in Direction::ALL {
            rises(&model, direction, &start).map_err(TestCaseError::fail)?;
        }
    }
}
