//! Topic models against a plain model that keeps every responsibility, against exact evidences,
//! and where products of exponentials underflow.

#[allow(dead_code)] // `topics_laws` and `topics_fits` use the rest of it
mod plain;

use std::sync::Arc;

use collapsar::special::{digamma, ln_gamma, log_sum_exp};
use collapsar::topics::{Corpus, Start, Topics};
use collapsar::{Direction, Driver, Stop};
use plain::{Plain, Responsibilities, corpus, distance, drawn, given, ln_probability, look, model};
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, RngSeed};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn pair(corpus: &Arc<Corpus>, alpha: &[f64], beta: f64, sweeps: usize) -> (Topics, Plain) {
    let plain = Plain {
        corpus: Arc::clone(corpus),
        alpha: alpha.to_vec(),
        beta,
    };
    (model(corpus, &given(alpha, beta, sweeps)), plain)
}

/// An empty document, a word never seen, a document of one token, fractions of tokens.
fn odd() -> Arc<Corpus> {
    corpus(
        &[
            vec![(0, 2.0), (1, 1.0), (4, 0.5)],
            vec![],
            vec![(3, 1.0)],
            vec![(1, 4.0), (3, 2.5), (5, 1.0), (0, 1.0)],
            vec![(4, 3.0), (5, 0.25)],
            vec![(0, 1e-3)],
        ],
        7,
    )
}

fn priors() -> [(Vec<f64>, f64); 6] {
    [
        (vec![1.0; 3], 1.0),
        (vec![0.1; 9], 0.1),
        (vec![0.01; 3], 0.01),
        (vec![2.0, 0.3, 0.05], 0.2),
        (vec![0.01, 1.0], 0.05),
        (vec![0.7], 0.01),
    ]
}

fn warm(counts: &[Vec<f64>], plain: &Plain) -> Vec<f64> {
    let mut warm = counts.concat();
    warm.extend(&plain.alpha);
    warm.push(plain.beta);
    warm
}

/// VBEM is coordinate ascent: targets for all messages, then sweeps of the documents' own.
#[test]
fn vbem_runs_equal_runs_with_every_responsibility() {
    let mut compared = 0;
    for corpus in [drawn((25, 40, 30), &[0.3; 4], 0.1, 5).0, odd()] {
        for ((alpha, beta), sweeps) in priors().into_iter().flat_map(|p| [(p.clone(), 1), (p, 3)]) {
            let (model, plain) = pair(&corpus, &alpha, beta, sweeps);
            let (start, _) = model.start(Start::Documents, 3).expect("a start");
            let mut found = vec![look(&model, &start, vec![])];
            Driver::new(&model, Direction::Vbem)
                .stop(Stop::Iterations(30))
                .watch(|_, point| found.push(point.clone()))
                .run(start.clone())
                .expect("a run");
            assert!(found.len() > 2 || alpha.len() == 1);
            // One twin runs by itself, another takes each step from where the model was.
            let mut alone = (start.clone(), plain.even());
            let mut step = alone.clone();
            for (i, point) in found.iter().enumerate() {
                // Near its end a run may halve a step whose gain is rounding.
                let near = i > 5 && found[i].bound - found[i - 1].bound < 1e-9;
                if near && distance(&point.messages, &step.0) > 1e-9 {
                    break;
                }
                compared += 1;
                let errors = [&mut alone, &mut step].map(|(messages, counts)| {
                    let r = plain.sweep(messages, counts, sweeps);
                    let (bound, statistics) = (plain.bound(&r), plain.statistics(&r));
                    *messages = plain.word_messages(&statistics);
                    let error = distance(&point.statistics, &statistics)
                        .max(distance(&point.warm, &warm(counts, &plain)));
                    [
                        (point.bound - bound).abs() / bound.abs(),
                        error / corpus.tokens(),
                    ]
                });
                let errors = errors.concat();
                // Rounding of some 1e-15 a step, which may grow where a run leaves a saddle.
                let case = format!("alpha {alpha:?}, {sweeps} sweeps, step {i}: {errors:?}");
                assert!(errors.iter().all(|&error| error < 1e-12), "{case}");
                let counts = &point.warm[..corpus.documents() * alpha.len()];
                step = (
                    plain.word_messages(&point.statistics),
                    counts.chunks(alpha.len()).map(<[f64]>::to_vec).collect(),
                );
            }
        }
    }
    assert!(compared > 400, "{compared} steps");
}

/// q(Z) of random messages.
fn random(plain: &Plain, rng: &mut impl Rng) -> (Vec<f64>, Responsibilities) {
    let mut uniform = || rng.random_range(-2.0..2.0);
    let b: Vec<f64> = (0..plain.topics() * plain.corpus.vocabulary())
        .map(|_| uniform())
        .collect();
    let a: Vec<Vec<f64>> = (0..plain.corpus.documents())
        .map(|_| (0..plain.topics()).map(|_| uniform()).collect())
        .collect();
    let r = plain.responsibilities(&b, &a);
    (b, r)
}

/// Divergence of one Dirichlet from another.
fn divergence(q: &[f64], p: &[f64]) -> f64 {
    let (of_q, of_p): (f64, f64) = (q.iter().sum(), p.iter().sum());
    let each = q.iter().zip(p);
    ln_gamma(of_q) - ln_gamma(of_p)
        + each
            .map(|(q, p)| ln_gamma(*p) - ln_gamma(*q) + (q - p) * (digamma(*q) - digamma(of_q)))
            .sum::<f64>()
}

/// HRL12 (7): the collapsed bound exceeds the mean-field bound by a divergence.
#[test]
fn collapsed_bound_is_mean_field_plus_divergence() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for (alpha, beta) in priors() {
        let (_, plain) = pair(&odd(), &alpha, beta, 1);
        let (topics, vocabulary) = (plain.topics(), plain.corpus.vocabulary());
        let (_, r) = random(&plain, &mut rng);
        let (counts, statistics) = (plain.counts(&r), plain.statistics(&r));
        // Prior and best posterior of each document's proportions and of each topic.
        let mut blocks: Vec<(Vec<f64>, Vec<f64>)> = counts
            .iter()
            .map(|n| {
                let best = alpha.iter().zip(n).map(|(a, n)| a + n).collect();
                (alpha.clone(), best)
            })
            .collect();
        blocks.extend((0..topics).map(|k| {
            let best = (0..vocabulary).map(|v| beta + statistics[v * topics + k]);
            (vec![beta; vocabulary], best.collect())
        }));
        let (mut mean_field, mut gap) = (plain.entropy(&r), 0.0);
        for (prior, best) in &blocks {
            let q: Vec<f64> = best
                .iter()
                .map(|x| x * rng.random_range(0.2..5.0))
                .collect();
            let total = digamma(q.iter().sum());
            // ⟨counts, E ln θ⟩
            let data = best.iter().zip(prior).zip(&q);
            mean_field += data
                .map(|((best, prior), q)| (best - prior) * (digamma(*q) - total))
                .sum::<f64>();
            mean_field -= divergence(&q, prior);
            gap += divergence(&q, best);
        }
        let collapsed = plain.bound(&r);
        assert!(gap > 0.1 && mean_field < collapsed, "{gap}");
        assert!(
            (collapsed - mean_field - gap).abs() < 1e-13 * (mean_field.abs() + gap + 100.0),
            "{collapsed} is not {mean_field} + {gap}"
        );
    }
}

/// Nine tokens, two topics: 512 assignments.
#[test]
fn bound_is_below_the_exact_evidence() {
    let documents = [
        vec![(0, 2.0), (1, 1.0)],
        vec![(2, 3.0)],
        vec![(0, 1.0), (2, 1.0), (3, 1.0)],
    ];
    let corpus = corpus(&documents, 4);
    let tokens: Vec<(usize, usize)> = (0..)
        .zip(&documents)
        .flat_map(|(d, bag)| bag.iter().map(move |&(word, n)| (d, word as usize, n)))
        .flat_map(|(d, word, n)| vec![(d, word); n as usize])
        .collect();
    for (alpha, beta) in [
        (vec![1.0, 1.0], 1.0),
        (vec![0.1, 0.1], 0.1),
        (vec![0.01, 0.01], 0.01),
        (vec![0.5, 0.02], 0.3),
    ] {
        let joint: Vec<f64> = (0..1_u32 << tokens.len())
            .map(|assignment| {
                let mut of_documents = vec![vec![0.0; 2]; 3];
                let mut of_topics = vec![vec![0.0; 4]; 2];
                for (i, &(d, word)) in tokens.iter().enumerate() {
                    let topic = (assignment >> i & 1) as usize;
                    of_documents[d][topic] += 1.0;
                    of_topics[topic][word] += 1.0;
                }
                let documents = of_documents.iter().map(|n| ln_probability(&alpha, n));
                let topics = of_topics.iter().map(|n| ln_probability(&[beta; 4], n));
                documents.chain(topics).sum()
            })
            .collect();
        let evidence = log_sum_exp(&joint);
        let (model, _) = pair(&corpus, &alpha, beta, 2);
        let mut best = f64::NEG_INFINITY;
        for seed in 0..8 {
            for start in Start::ALL {
                let (start, _) = model.start(start, seed).expect("a start");
                let fit = Driver::new(&model, Direction::Auto)
                    .run(start)
                    .expect("a run");
                best = best.max(fit.point.bound);
            }
        }
        // Nor is it far below: one of the assignments alone, twice for the order of the topics.
        let highest = joint.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert!(best < evidence, "{best} {evidence}");
        assert!(best > highest - 1e-9, "{best} {highest}");
    }
}

/// With one topic nothing is approximated.
#[test]
fn one_topic_is_exact() {
    for corpus in [odd(), drawn((40, 30, 50), &[1.0], 0.1, 3).0] {
        for beta in [10.0, 1.0, 0.1, 1e-3, 1e-6] {
            for alpha in [1.0, 1e-6] {
                let counts: Vec<f64> = (0..corpus.vocabulary())
                    .map(|v| corpus.word(v).1.iter().copied().map(f64::from).sum())
                    .collect();
                let evidence = ln_probability(&vec![beta; counts.len()], &counts);
                let (model, _) = pair(&corpus, &[alpha], beta, 2);
                for start in Start::ALL {
                    let (messages, _) = model.start(start, 1).expect("a start");
                    let point = look(&model, &messages, vec![]);
                    let error = (point.bound - evidence).abs() / evidence.abs();
                    assert!(error < 1e-12, "beta {beta}, alpha {alpha}: {error:e}");
                    assert!(distance(&point.statistics, &counts) < 1e-13 * corpus.tokens());
                }
            }
        }
    }
}

/// A vocabulary of one word has evidence 1 and no choice of topic that matters.
#[test]
fn one_word_costs_nothing() {
    let corpus = corpus(&[vec![(0, 5.0)], vec![], vec![(0, 2.0)]], 1);
    let (model, _) = pair(&corpus, &[0.3], 0.1, 2);
    let point = look(&model, &[0.7], vec![]);
    // Sums of log-gammas, some ten.
    assert!(point.bound.abs() < 1e-13, "{}", point.bound);
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 512,
        rng_seed: RngSeed::Fixed(29),
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

proptest! {
    #![proptest_config(config())]

    /// Messages of any size and documents that have begun anywhere, priors down to the smallest:
    /// products underflow, and are redone in logs.
    #[test]
    fn underflow_loses_nothing(
        topics in 1..=9_usize,
        alpha in magnitude(-6.0, 0.5),
        asymmetry in magnitude(-2.0, 0.0),
        beta in magnitude(-6.0, 0.5),
        size in magnitude(-1.0, 4.5),
        settled: bool,
        sweeps in 1..4_usize,
        seed: u64,
    ) {
        let alpha: Vec<f64> = (0..topics)
            .map(|k| if k % 3 == 0 { (alpha * asymmetry).max(1e-6) } else { alpha })
            .collect();
        let (model, plain) = pair(&odd(), &alpha, beta, sweeps);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let messages: Vec<f64> = (0..topics * 7).map(|_| -size * rng.random::<f64>()).collect();
        let mut counts = plain.even();
        if settled {
            // Every document on a topic of its own: the others' messages are ψ(α).
            for (d, counts) in counts.iter_mut().enumerate() {
                let length: f64 = counts.iter().sum();
                counts.fill(0.0);
                counts[d % topics] = length;
            }
        }
        let point = look(&model, &messages, warm(&counts, &plain));
        // The largest message of a document: rounding of logits is rounding of responsibilities.
        let lowest = alpha.iter().copied().fold(f64::INFINITY, f64::min);
        let logit = size + digamma(lowest).abs();
        let allowed = 1e-12_f64.max(8.0 * f64::EPSILON * logit);
        let r = plain.sweep(&messages, &mut counts, sweeps);
        let tokens = plain.corpus.tokens();
        let error = distance(&point.statistics, &plain.statistics(&r)) / tokens;
        prop_assert!(error < allowed, "statistics: {error:e} of {allowed:e}");
        let error = distance(&point.warm, &warm(&counts, &plain)) / tokens;
        prop_assert!(error < allowed, "counts: {error:e} of {allowed:e}");
        // The bound is a difference of terms of the size of messages times tokens.
        let bound = plain.bound(&r);
        let error = (point.bound - bound).abs() / (bound.abs() + tokens);
        prop_assert!(error < allowed, "bound: {error:e} of {allowed:e}");
    }
}
