//! Exact draws of topics against enumeration of every state, a plain conditional, and themselves.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use collapsar::diagnostics::ChainSummary;
use collapsar::special::ln_gamma;
use collapsar::topics::{Alpha, Beta, Corpus, Settings, Start, Topics, TopicsChains, TopicsDraws};
use collapsar::{Direction, Driver, Point, Stop};
use collapsar_core::kernel::bag::padded;
use collapsar_core::kernel::gibbs::{Counts, conditional};

const ALPHA: [f64; 2] = [0.6, 0.9];
const BETA: f64 = 0.5;
const WORDS: usize = 3;
/// The tokens of both documents, by word.
const TOKENS: [&[usize]; 2] = [&[0, 0, 1, 2], &[1, 1, 2, 2]];

fn tiny() -> Topics {
    let corpus = Corpus::new(
        vec![0, 3, 5],
        vec![0, 1, 2, 1, 2],
        vec![2.0, 1.0, 1.0, 2.0, 2.0],
        WORDS,
    );
    let settings = Settings {
        alpha: Alpha::Given(ALPHA.to_vec()),
        beta: Beta::Given(BETA),
        ..Settings::new(2)
    };
    Topics::new(Arc::new(corpus.unwrap()), &settings).unwrap()
}

fn optimum(model: &Topics, seed: u64) -> Point {
    let (start, passes) = model.start(Start::Annealed, seed).unwrap();
    let driver = Driver::new(model, Direction::Auto).spent(passes);
    let stop = Stop::Gain(1e-9) | Stop::Iterations(200);
    driver.stop(stop).run(start).unwrap().point
}

fn draws(model: &Topics, options: TopicsChains) -> TopicsDraws {
    let never = AtomicBool::new(false);
    let drawn = model.draws(&optimum(model, 1), options, &never, None);
    drawn.unwrap().expect("not interrupted")
}

/// ln p(tokens, topics) with proportions and topics integrated out, but for constants.
fn ln_joint(documents: &[[f64; 2]; 2], words: &[[f64; 2]; WORDS]) -> f64 {
    let mut sum = 0.0;
    for counts in documents {
        for k in 0..2 {
            sum += ln_gamma(ALPHA[k] + counts[k]);
        }
    }
    for k in 0..2 {
        let total: f64 = words.iter().map(|row| row[k]).sum();
        sum -= ln_gamma(BETA * WORDS as f64 + total);
        for row in words {
            sum += ln_gamma(BETA + row[k]);
        }
    }
    sum
}

/// Counts of a state: bit by bit the topics of all tokens.
fn counted(state: usize) -> ([[f64; 2]; 2], [[f64; 2]; WORDS]) {
    let (mut documents, mut words) = ([[0.0; 2]; 2], [[0.0; 2]; WORDS]);
    let mut bit = 0;
    for (document, tokens) in TOKENS.iter().enumerate() {
        for &word in *tokens {
            let topic = state >> bit & 1;
            documents[document][topic] += 1.0;
            words[word][topic] += 1.0;
            bit += 1;
        }
    }
    (documents, words)
}

/// What every state together says.
#[derive(Default)]
struct Exact {
    words: [[f64; 2]; WORDS],
    shares: [f64; 2],
    proportions: [[f64; 2]; 2],
    squares: [[f64; 2]; 2],
    /// E θ_00 θ_10.
    product: f64,
}

fn enumerated() -> Exact {
    let states: Vec<_> = (0..1 << 8).map(counted).collect();
    let logs: Vec<f64> = states.iter().map(|(d, w)| ln_joint(d, w)).collect();
    let total = collapsar::special::log_sum_exp(&logs);
    let mut exact = Exact::default();
    for ((documents, words), log) in states.iter().zip(&logs) {
        let p = (log - total).exp();
        let whole = ALPHA[0] + ALPHA[1] + 4.0;
        let mean = |d: usize, k: usize| (ALPHA[k] + documents[d][k]) / whole;
        for k in 0..2 {
            exact.shares[k] += p * (documents[0][k] + documents[1][k]) / 8.0;
            for (sum, row) in exact.words.iter_mut().zip(words) {
                sum[k] += p * row[k];
            }
            for d in 0..2 {
                let spread = mean(d, k) * (1.0 - mean(d, k)) / (whole + 1.0);
                exact.proportions[d][k] += p * mean(d, k);
                exact.squares[d][k] += p * (mean(d, k).powi(2) + spread);
            }
        }
        exact.product += p * mean(0, 0) * mean(1, 0);
    }
    exact
}

#[test]
fn draws_are_those_of_the_posterior() {
    let exact = enumerated();
    let drawn = draws(
        &tiny(),
        TopicsChains {
            chains: 4,
            warmup: 200,
            draws: 20_000,
            seed: 5,
            documents: true,
        },
    );
    // Within 4.5 Monte Carlo standard errors: some thirty numbers are looked at, of which one in two
    // hundred thousand would be outside.
    let near = |what: &str, chains: &[Vec<f64>], mean: f64| {
        let chains: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
        let of = ChainSummary::of(&chains).unwrap();
        let error = of.mcse_mean.unwrap();
        assert!(
            (of.mean - mean).abs() < 4.5 * error,
            "{what}: {} ± {error}, not {mean}",
            of.mean
        );
        assert!(of.r_hat.unwrap() < 1.01);
        error / of.sd
    };
    let column = |all: &[Vec<Vec<f64>>], place: usize| -> Vec<Vec<f64>> {
        all.iter().map(|chain| chain[place].clone()).collect()
    };
    let mut worst: f64 = 0.0;
    for k in 0..2 {
        worst = worst.max(near("share", &column(&drawn.shares, k), exact.shares[k]));
        for d in 0..2 {
            let chains = column(&drawn.proportions, 2 * d + k);
            near("proportion", &chains, exact.proportions[d][k]);
            let squares: Vec<Vec<f64>> = (chains.iter())
                .map(|chain| chain.iter().map(|x| x * x).collect())
                .collect();
            near("square of it", &squares, exact.squares[d][k]);
            let variance = exact.squares[d][k] - exact.proportions[d][k].powi(2);
            // The law of total variance leaves out the noise of the Dirichlet draws, so it is nearer yet.
            let sd = drawn.proportion_sds[2 * d + k];
            assert!((sd / variance.sqrt() - 1.0).abs() < 4.5 * worst);
        }
    }
    let (first, second) = (column(&drawn.proportions, 0), column(&drawn.proportions, 2));
    let products: Vec<Vec<f64>> = (first.iter().zip(&second))
        .map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b).collect())
        .collect();
    near("product", &products, exact.product);
    for (w, row) in exact.words.iter().enumerate() {
        for k in 0..2 {
            let count = drawn.fit.word_counts[2 * w + k];
            // A word's count is at most four, so its deviation is at most two.
            assert!(
                (count - row[k]).abs() < 4.5 * 2.0 * worst,
                "{count} {}",
                row[k]
            );
        }
    }
}

#[test]
fn the_conditional_is_that_of_the_joint() {
    let (topics, width) = (2, padded(2));
    for state in (0..1 << 8).step_by(7) {
        // The first token of the second document, word 1, is taken out and put into either topic.
        let joint = |topic: usize| counted(state & !(1 << 4) | topic << 4);
        let logs = [0, 1].map(|topic| {
            let (documents, words) = joint(topic);
            ln_joint(&documents, &words)
        });
        let plain = (logs[1] - collapsar::special::log_sum_exp(&logs)).exp();
        let old = state >> 4 & 1;
        let (documents, words) = joint(old);
        let mut rows = vec![0.0_f32; WORDS * width];
        let (mut totals, mut alpha) = (vec![0.0; width], vec![0.0; width]);
        let mut document = vec![0.0; width];
        for k in 0..topics {
            alpha[k] = ALPHA[k];
            document[k] = documents[1][k];
            for w in 0..WORDS {
                rows[w * width + k] = words[w][k] as f32;
                totals[k] += words[w][k];
            }
        }
        let counts = Counts {
            words: &mut rows,
            totals: &mut totals,
            alpha: &alpha,
            beta: BETA,
            beta_total: BETA * WORDS as f64,
        };
        let mut fast = [0.0; 2];
        conditional(&counts, &document, (1, old), &mut fast);
        assert!((fast[1] - plain).abs() < 1e-12 && (fast[0] + fast[1] - 1.0).abs() < 1e-12);
    }
}

fn few() -> TopicsChains {
    TopicsChains {
        chains: 3,
        warmup: 20,
        draws: 50,
        seed: 3,
        documents: true,
    }
}

/// Documents of three kinds of words, with learned priors.
fn learned() -> Topics {
    let (mut starts, mut words, mut counts) = (vec![0], vec![], vec![]);
    for document in 0..12_u32 {
        for word in 0..9 {
            if (document + word) % 3 == 0 || (7 * document + 5 * word) % 4 == 0 {
                words.push(word);
                counts.push(if (document + word) % 3 == 0 { 4.0 } else { 1.0 });
            }
        }
        starts.push(words.len());
    }
    let corpus = Corpus::new(starts, words, counts, 9).unwrap();
    Topics::new(Arc::new(corpus), &Settings::new(3)).unwrap()
}

#[test]
fn threads_change_nothing_and_seeds_do() {
    let model = learned();
    let with = |threads: usize, options: TopicsChains| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| draws(&model, options))
    };
    let one = with(1, few());
    assert_eq!(one, with(3, few()));
    assert_ne!(one, with(1, TopicsChains { seed: 4, ..few() }));
    // Priors that are learned move, and are those of all chains.
    assert_ne!(one.fit.alpha, [0.1; 3]);
    assert!(one.fit.drawn && one.fit.beta > 0.0);
}

#[test]
fn means_keep_every_token() {
    let model = learned();
    let drawn = draws(&model, few());
    let tokens = model.corpus().tokens();
    assert!((drawn.fit.topic_counts().iter().sum::<f64>() - tokens).abs() < 1e-9 * tokens);
    for chain in &drawn.shares {
        for draw in 0..50 {
            let sum: f64 = chain.iter().map(|topic| topic[draw]).sum();
            assert!((sum - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn thinned_draws_are_draws() {
    let model = learned();
    // So few that all of them are kept, whose mean is the fit's.
    let short = draws(&model, TopicsChains { draws: 8, ..few() });
    assert_eq!(short.thinned.len(), 3 * 8);
    for (place, &mean) in short.fit.word_counts.iter().enumerate() {
        let each = short.thinned.iter().map(|draw| draw.word_counts[place]);
        // Sums of whole numbers, divided once.
        assert_eq!(each.sum::<f64>() / 24.0, mean);
    }
    // Of fifty each has those after 8, 16, … draws.
    let long = draws(&model, few());
    assert_eq!(long.thinned.len(), 3 * 6);
    for draw in &long.thinned {
        assert!(draw.word_counts.iter().all(|count| count.fract() == 0.0));
        assert_eq!(
            draw.word_counts.iter().sum::<f64>(),
            model.corpus().tokens()
        );
        assert!(draw.drawn && draw.alpha == long.fit.alpha && draw.beta == long.fit.beta);
    }
    assert_ne!(long.thinned[0], long.thinned[1]);
}

#[test]
fn counts_that_are_not_whole_are_refused() {
    let corpus = Corpus::new(vec![0, 2], vec![0, 1], vec![1.0, 2.5], 2).unwrap();
    let model = Topics::new(Arc::new(corpus), &Settings::new(2)).unwrap();
    let never = AtomicBool::new(false);
    let refused = model.draws(&optimum(&model, 1), few(), &never, None);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("word 1 with count 2.5"), "{refused}");
}

#[test]
fn an_interrupt_ends_chains() {
    let model = tiny();
    let at_once = AtomicBool::new(true);
    assert_eq!(
        model
            .draws(&optimum(&model, 1), few(), &at_once, None)
            .unwrap(),
        None
    );
}
