//! What fits of topic models end at: learned priors, momentum, threads, resumed runs, inference.

#[allow(dead_code)] // `topics_laws` and `topics_theory` use the rest of it
mod plain;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use collapsar::topics::{Alpha, Beta, Corpus, Settings, Start, Topics, TopicsFit, completion};
use collapsar::{Checkpoint, Direction, Driver, Fit, Outcome, Stop};
use plain::{corpus, distance, drawn, given, look, model};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::ThreadPoolBuilder;

fn start(model: &Topics, seed: u64) -> Vec<f64> {
    model.start(Start::Documents, seed).expect("a start").0
}

fn climb(model: &Topics, direction: Direction, gain: f64, start: Vec<f64>) -> Fit {
    let fit = Driver::new(model, direction)
        .stop(Stop::Gain(gain) | Stop::Passes(20_000))
        .run(start)
        .expect("a run");
    assert!(fit.outcome.converged(), "{direction}: {}", fit.outcome);
    fit
}

fn learned(topics: usize) -> Settings {
    Settings {
        alpha: Alpha::Learned,
        beta: Beta::Learned,
        ..Settings::new(topics)
    }
}

/// A corpus whose topics are used very unequally.
fn unequal(seed: u64) -> (Arc<Corpus>, Vec<Vec<f64>>) {
    drawn((200, 60, 80), &[0.05, 0.25, 1.2], 0.05, seed)
}

#[test]
fn learned_priors_end_where_the_bound_is_highest() {
    let (corpus, _) = unequal(1);
    let model_learned = model(&corpus, &learned(3));
    for direction in [Direction::Vbem, Direction::Auto, Direction::Lbfgs] {
        let fit = climb(&model_learned, direction, 1e-10, start(&model_learned, 2));
        let answer = model_learned.fit(&fit.point);
        // The bound at the end of the run as a function of ln priors, by models that have them.
        let at = |which: usize, shift: f64| {
            let (mut alpha, mut beta) = (answer.alpha.clone(), answer.beta);
            match alpha.get_mut(which) {
                Some(alpha) => *alpha *= shift.exp(),
                None => beta *= shift.exp(),
            }
            let other = model(&corpus, &given(&alpha, beta, 3));
            let mut warm = answer.document_counts.clone();
            warm.extend(&alpha);
            warm.push(beta);
            look(&other, &fit.point.messages, warm).bound
        };
        for which in 0..=3 {
            let central = |h: f64| (at(which, h) - at(which, -h)) / (2.0 * h);
            let slope = (4.0 * central(0.5e-2) - central(1e-2)) / 3.0;
            let curvature = (at(which, 1e-2) - 2.0 * at(which, 0.0) + at(which, -1e-2)) / 1e-4;
            assert!(curvature < -1.0, "{direction}, prior {which}: {curvature}");
            // In standard deviations. A gain of 1e-10 is a slope of 1e-5 of them, and ten times
            // that for directions in which steps gain a hundredth of what is left.
            let slope = slope / (-curvature).sqrt();
            assert!(slope.abs() < 1e-4, "{direction}, prior {which}: {slope:e}");
        }
    }
}

/// Each run goes on from where the one with fewer learned priors has ended, since from a start
/// they may end at optima that cannot be compared.
#[test]
fn learned_priors_beat_those_they_begin_from() {
    let (corpus, _) = unequal(3);
    let fixed = model(&corpus, &given(&[0.1; 3], 0.1, 3));
    let alpha = Settings {
        beta: Beta::Given(0.1),
        ..learned(3)
    };
    let (alpha, both) = (model(&corpus, &alpha), model(&corpus, &learned(3)));
    for direction in Direction::ALL {
        let mut messages = start(&fixed, 1);
        let bounds = [&fixed, &alpha, &both].map(|model| {
            let fit = climb(model, direction, 1e-6, messages.clone());
            messages = fit.point.messages;
            fit.point.bound
        });
        assert!(bounds[1] > bounds[0] + 50.0, "{direction}: {bounds:?}");
        assert!(bounds[2] > bounds[1] + 0.1, "{direction}: {bounds:?}");
    }
}

/// Each drawn topic's fellow among those of a fit: the one with the most probability in common.
fn fellow(answer: &TopicsFit, topic: &[f64]) -> usize {
    let common = |p: &[f64]| p.iter().zip(topic).map(|(a, b)| a.min(*b)).sum::<f64>();
    let probabilities = answer.word_probabilities();
    let shares: Vec<f64> = probabilities.chunks(topic.len()).map(common).collect();
    (0..shares.len()).fold(0, |best, k| if shares[k] > shares[best] { k } else { best })
}

#[test]
fn learned_priors_are_near_those_drawn_from() {
    for seed in 0..4 {
        let (corpus, topics) = unequal(10 + seed);
        let model = model(&corpus, &learned(3));
        let fits = (0..4).map(|seed| climb(&model, Direction::Auto, 1e-6, start(&model, seed)));
        let best = fits.max_by(|a, b| a.point.bound.total_cmp(&b.point.bound));
        let answer = model.fit(&best.expect("four fits").point);
        let alpha: Vec<f64> = topics
            .iter()
            .map(|topic| answer.alpha[fellow(&answer, topic)])
            .collect();
        assert!(alpha.is_sorted(), "seed {seed}: {alpha:?}");
        // Two hundred documents say it to a factor of some 1.3; the bound favours few topics.
        for (found, drawn) in alpha
            .iter()
            .zip([0.05, 0.25, 1.2])
            .chain([(&answer.beta, 0.05)])
        {
            let factor = found / drawn;
            assert!((0.4..2.5).contains(&factor), "seed {seed}: {found} {drawn}");
        }
    }
}

/// Momentum gets at least as high as VBEM, in the mean of several starts, with fewer passes.
#[test]
fn momentum_is_quicker_and_not_lower() {
    let (corpus, _) = drawn((120, 50, 60), &[0.2; 5], 0.1, 5);
    let model = model(&corpus, &given(&[0.2; 5], 0.1, 3));
    let mut sums = [[0.0, 0.0]; 2];
    for seed in 0..8 {
        for (sum, direction) in sums.iter_mut().zip([Direction::Vbem, Direction::Auto]) {
            let fit = climb(&model, direction, 1e-6, start(&model, seed));
            sum[0] += fit.point.bound / 8.0;
            sum[1] += fit.passes as f64 / 8.0;
        }
    }
    let [[vbem, vbem_passes], [auto, auto_passes]] = sums;
    assert!(auto > vbem - 1.0, "{auto} {vbem}");
    assert!(
        auto_passes < 0.7 * vbem_passes,
        "{auto_passes} {vbem_passes}"
    );
}

fn small() -> Topics {
    model(&drawn((30, 25, 20), &[0.3; 3], 0.1, 6).0, &learned(3))
}

/// A run taken up again after any number of steps ends with the same bits.
#[test]
fn resumed_runs_are_the_same_bit_for_bit() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.checkpoint");
    let model = small();
    for direction in Direction::ALL {
        let stop = || Stop::Gain(1e-7) | Stop::Iterations(150);
        let mut bounds = vec![];
        let whole = Driver::new(&model, direction)
            .stop(stop())
            .observe(|step| {
                bounds.push(step.bound);
                ControlFlow::Continue(())
            })
            .run(start(&model, 1))
            .expect("a run");
        let last = bounds.len() as u64 - 1;
        for n in (1..=last).filter(|n| n % 9 == 1 || direction == Direction::Auto) {
            let part = Driver::new(&model, direction)
                .stop(Stop::Iterations(n))
                .checkpoint(&path, 1000)
                .run(start(&model, 1))
                .expect("a run");
            assert_eq!(part.outcome, Outcome::Exhausted(Stop::Iterations(n)));
            let checkpoint = Checkpoint::read(&path).expect("just written");
            let mut after = vec![];
            let resumed = Driver::new(&model, direction)
                .stop(stop())
                .observe(|step| {
                    after.push(step.bound);
                    ControlFlow::Continue(())
                })
                .resume(checkpoint)
                .expect("a run");
            assert_eq!(after[..], bounds[n as usize..], "{direction}, after {n}");
            assert_eq!(
                Fit {
                    seconds: 0.0,
                    ..resumed
                },
                Fit {
                    seconds: 0.0,
                    ..whole.clone()
                },
                "{direction}, after {n}"
            );
        }
    }
}

/// A whole fit has the same bits with any number of threads, momentum and learned priors included.
#[test]
fn threads_do_not_matter_to_a_fit() {
    let (corpus, _) = drawn((1100, 12, 700), &[0.2; 4], 0.05, 3);
    let model = model(&corpus, &learned(4));
    let run = |threads: usize| {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("threads");
        let fit = pool.install(|| {
            let (start, passes) = model.start(Start::Annealed, 1).expect("a start");
            Driver::new(&model, Direction::Auto)
                .spent(passes)
                .stop(Stop::Iterations(60))
                .run(start)
                .expect("a run")
        });
        Fit {
            seconds: 0.0,
            ..fit
        }
    };
    let one = run(1);
    assert!(one == run(2) && one == run(3));
}

/// Documents with 80 words or more have one optimum that matters, and infer() settles from even
/// counts where the fit settled from where it was: both find it.
#[test]
fn inference_gives_the_fit_its_own_proportions() {
    let (corpus, _) = drawn((60, 80, 40), &[0.4; 3], 0.1, 8);
    let model = model(&corpus, &given(&[0.4; 3], 0.1, 3));
    let fit = climb(&model, Direction::Auto, 1e-11, start(&model, 1));
    let answer = model.fit(&fit.point);
    let inferred = answer.infer(&corpus).expect("the same vocabulary");
    let own: Vec<f64> = (0..60).flat_map(|d| answer.proportions(d)).collect();
    // Settled where a sweep changes 1e-6; sweeps come nearer by a tenth or so each.
    let error = distance(&inferred.proportions, &own);
    assert!(error < 2e-5, "{error:e}");
    for row in inferred.proportions.chunks(3) {
        assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-14);
    }
}

#[test]
fn inference_gives_empty_and_tiny_documents_the_prior() {
    let (corpus_read, _) = drawn((20, 30, 10), &[0.4; 3], 0.1, 9);
    for alpha in [[0.5, 0.2, 0.05], [1e-3, 5e-3, 2e-3]] {
        let model = model(&corpus_read, &given(&alpha, 0.1, 3));
        let answer = model.fit(&climb(&model, Direction::Auto, 1e-6, start(&model, 1)).point);
        let total: f64 = alpha.iter().sum();
        let prior = alpha.map(|alpha| alpha / total);
        let new = corpus(
            &[vec![], vec![(3, 1e-7)], vec![(1, 4.0)], vec![(9, 1e-7)]],
            10,
        );
        let inferred = answer.infer(&new).expect("the same vocabulary");
        assert_eq!(inferred.proportions[..3], prior);
        for row in [1, 3] {
            let found = &inferred.proportions[3 * row..3 * row + 3];
            // One part in total / 1e-7 is the document's own.
            let error = distance(found, &prior);
            assert!(0.0 < error && error < 1e-7 / total, "{alpha:?}: {error:e}");
        }
        assert!(inferred.bound.is_finite() && inferred.bound < 0.0);
        assert!((inferred.counts.iter().sum::<f64>() - 4.0 - 2e-7).abs() < 1e-12);
    }
}

/// Each entry's probability by its definition.
fn plainly(answer: &TopicsFit, observed: &Arc<Corpus>, evaluated: &Corpus) -> Vec<f64> {
    let proportions = answer.infer(observed).expect("a vocabulary").proportions;
    let words = answer.word_probabilities();
    let (topics, vocabulary) = (answer.topics, answer.vocabulary());
    let entry = |d: usize, v: u32| -> f64 {
        (0..topics)
            .map(|k| proportions[d * topics + k] * words[k * vocabulary + v as usize])
            .sum()
    };
    (0..evaluated.documents())
        .flat_map(|d| evaluated.document(d).0.iter().map(move |&v| (d, v)))
        .map(|(d, v)| entry(d, v))
        .collect()
}

#[test]
fn completion_takes_the_mean_of_probabilities() {
    let (read, _) = drawn((30, 40, 25), &[0.3; 4], 0.1, 11);
    let (observed, _) = drawn((9, 20, 25), &[0.3; 4], 0.1, 12);
    let (evaluated, _) = drawn((9, 15, 25), &[0.3; 4], 0.1, 13);
    let model = model(&read, &given(&[0.1, 0.2, 0.3, 0.4], 0.1, 3));
    let fits: Vec<TopicsFit> = (0..3)
        .map(|seed| model.fit(&climb(&model, Direction::Auto, 1e-3, start(&model, seed)).point))
        .collect();
    let each: Vec<Vec<f64>> = fits
        .iter()
        .map(|fit| plainly(fit, &observed, &evaluated))
        .collect();
    let counts = || (0..9).flat_map(|d| evaluated.document(d).1).copied();
    let ln_probability = |p: &dyn Fn(usize) -> f64| -> f64 {
        (0..)
            .zip(counts())
            .map(|(i, n)| f64::from(n) * p(i).ln())
            .sum()
    };
    let all = completion(&fits, &observed, &evaluated).expect("fits");
    let expected = ln_probability(&|i| each.iter().map(|p| p[i]).sum::<f64>() / 3.0);
    assert!((all.ln_probability / expected - 1.0).abs() < 1e-13);
    assert_eq!(all.tokens, 9.0 * 15.0);
    let mut mean = 0.0;
    for (fit, p) in fits.iter().zip(&each) {
        let one = fit.completion(&observed, &evaluated).expect("a fit");
        let expected = ln_probability(&|i| p[i]);
        assert!((one.ln_probability / expected - 1.0).abs() < 1e-13);
        assert!((one.perplexity().ln() + expected / one.tokens).abs() < 1e-13);
        mean += one.ln_probability / 3.0;
    }
    // Logs are concave.
    assert!(all.ln_probability > mean);
    completion(&[], &observed, &evaluated).expect_err("no fit");
    completion(&fits, &read, &evaluated).expect_err("other documents");
}

#[test]
fn perplexity_of_a_uniform_model_is_the_vocabulary() {
    let (observed, _) = drawn((9, 20, 25), &[0.3; 4], 0.1, 12);
    let (evaluated, _) = drawn((9, 15, 25), &[0.3; 4], 0.1, 13);
    for level in [0.0, 2.5] {
        let uniform = TopicsFit {
            topics: 3,
            alpha: vec![0.1, 0.2, 0.7],
            beta: 0.3,
            word_counts: vec![level; 3 * 25],
            document_counts: vec![],
            drawn: false,
        };
        let perplexity = uniform
            .completion(&observed, &evaluated)
            .expect("the same vocabulary")
            .perplexity();
        assert!((perplexity / 25.0 - 1.0).abs() < 1e-13, "{perplexity}");
    }
}

/// The answers sum to what they should, by topic, word and document.
#[test]
fn counts_add_up() {
    let model = small();
    let fit = climb(&model, Direction::Auto, 1e-6, start(&model, 1));
    let answer = model.fit(&fit.point);
    let corpus = model.corpus();
    let total = |counts: &[f32]| counts.iter().copied().map(f64::from).sum::<f64>();
    for (word, row) in answer.word_counts.chunks(3).enumerate() {
        let expected = total(corpus.word(word).1);
        assert!((row.iter().sum::<f64>() - expected).abs() < 1e-12 * corpus.tokens());
    }
    for (document, row) in answer.document_counts.chunks(3).enumerate() {
        let expected = total(corpus.document(document).1);
        assert!((row.iter().sum::<f64>() - expected).abs() < 1e-12 * corpus.tokens());
    }
    let probabilities = answer.word_probabilities();
    let mut of_documents = [0.0; 3];
    for row in answer.document_counts.chunks(3) {
        for k in 0..3 {
            of_documents[k] += row[k];
        }
    }
    assert!(distance(&of_documents, &answer.topic_counts()) < 1e-12 * corpus.tokens());
    for topic in probabilities.chunks(answer.vocabulary()) {
        assert!((topic.iter().sum::<f64>() - 1.0).abs() < 1e-13);
    }
}

/// Starts are the same for the same seed and differ between seeds, and have a row for each word.
#[test]
fn starts_depend_on_their_seed_alone() {
    let model = small();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for start in Start::ALL {
        let (a, b): (u64, u64) = (rng.random(), rng.random());
        let of = |seed| model.start(start, seed).expect("a start");
        assert_eq!(of(a), of(a));
        assert_ne!(of(a), of(b));
        assert!(of(a).0.iter().all(|m| m.is_finite()));
        assert_eq!(of(a).0.len(), 3 * 20);
    }
}

/// An interrupted start ends after the pass that it is in, with messages to climb from.
#[test]
fn starts_end_once_they_are_interrupted() {
    let model = small();
    let interrupt = AtomicBool::new(false);
    let whole = model.start(Start::Annealed, 1).expect("a start");
    let heard = model.start_unless(Start::Annealed, 1, &interrupt);
    assert_eq!(heard.expect("a start"), whole);
    assert_eq!(whole.1, 30);

    interrupt.store(true, Ordering::Relaxed);
    let (messages, passes) = model
        .start_unless(Start::Annealed, 1, &interrupt)
        .expect("a start");
    let (documents, _) = model.start(Start::Documents, 1).expect("a start");
    assert_eq!((messages, passes), (documents, 0));

    let (messages, passes) = thread::scope(|scope| {
        let corpus = drawn((2000, 400, 500), &[0.1; 30], 0.05, 1).0;
        let large = Topics::new(corpus, &Settings::new(30)).expect("a model");
        interrupt.store(false, Ordering::Relaxed);
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(20));
            interrupt.store(true, Ordering::Relaxed);
        });
        large.start_unless(Start::Annealed, 1, &interrupt)
    })
    .expect("a start");
    assert!(passes < 30, "{passes} passes");
    assert!(messages.iter().all(|m| m.is_finite()));
}
