//! What is said of topics obeys its laws, on corpora with empty documents and words never seen.

use std::sync::Arc;

use collapsar::topics::{Corpus, Ranking, Settings, Topics, TopicsFit, coherence, diversity};
use collapsar::{Direction, Driver, Stop};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn config() -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(12),
        ..ProptestConfig::default()
    }
}

/// Log-uniform over powers of ten.
fn magnitude(low: f64, high: f64) -> impl Strategy<Value = f64> {
    (low..high).prop_map(|power| 10_f64.powf(power))
}

/// A corpus and topics that share out its tokens; whole tokens, so that their sums are exact in
/// any order. Two in three entries are empty.
fn example() -> impl Strategy<Value = (Corpus, TopicsFit)> {
    (1..=5_usize, 1..=7_usize, 1..=6_usize)
        .prop_flat_map(|(topics, vocabulary, documents)| {
            let tokens = vec(0..9_u32, topics * vocabulary * documents);
            let alpha = vec(magnitude(-3.0, 3.0), topics);
            (
                Just((topics, vocabulary)),
                tokens,
                alpha,
                magnitude(-3.0, 3.0),
            )
        })
        .prop_map(|((topics, vocabulary), tokens, alpha, beta)| {
            let mut tokens: Vec<f64> = tokens
                .iter()
                .map(|&count| f64::from(count.saturating_sub(5)))
                .collect();
            tokens[0] += 1.0; // a corpus has a token
            let mut fit = TopicsFit {
                topics,
                alpha,
                beta,
                word_counts: vec![0.0; vocabulary * topics],
                document_counts: vec![0.0; tokens.len() / vocabulary],
                drawn: false,
            };
            let (mut starts, mut words, mut counts) = (vec![0], vec![], vec![]);
            for (document, tokens) in tokens.chunks(vocabulary * topics).enumerate() {
                for (word, tokens) in tokens.chunks(topics).enumerate() {
                    for (topic, count) in tokens.iter().enumerate() {
                        fit.word_counts[word * topics + topic] += count;
                        fit.document_counts[document * topics + topic] += count;
                    }
                    let total: f64 = tokens.iter().sum();
                    if total > 0.0 {
                        words.push(word as u32);
                        counts.push(total as f32);
                    }
                }
                starts.push(words.len());
            }
            let corpus = Corpus::new(starts, words, counts, vocabulary).expect("a corpus");
            (corpus, fit)
        })
}

fn ids(fit: &TopicsFit, topic: usize, n: usize, ranking: Ranking) -> Vec<usize> {
    let top = fit.top_words(topic, n, ranking);
    top.iter().map(|score| score.word).collect()
}

/// The same fit with its topics in the opposite order.
fn turned(fit: &TopicsFit) -> TopicsFit {
    let rows = |counts: &[f64]| {
        let rows = counts.chunks(fit.topics);
        rows.flat_map(|row| row.iter().rev().copied()).collect()
    };
    TopicsFit {
        topics: fit.topics,
        alpha: rows(&fit.alpha),
        beta: fit.beta,
        word_counts: rows(&fit.word_counts),
        document_counts: rows(&fit.document_counts),
        drawn: fit.drawn,
    }
}

/// Sums in another order: some ten roundings of numbers up to 1.
fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 1e-12
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn rankings((corpus, fit) in example(), lambda in 0.0..=1.0) {
        let all = fit.vocabulary();
        let seen: Vec<usize> = (0..all).filter(|&word| !corpus.word(word).0.is_empty()).collect();
        let probabilities = fit.word_probabilities();
        for (topic, row) in probabilities.chunks(all).enumerate() {
            let top = fit.top_words(topic, all, Ranking::Probability);
            prop_assert!(top.iter().all(|score| score.probability == row[score.word]));
            prop_assert!(top.iter().all(|score| score.lift.is_finite() && score.lift > 0.0));
            let by_probability = ids(&fit, topic, all, Ranking::Probability);
            let mut expected = seen.clone();
            expected.sort_by(|&a, &b| row[b].total_cmp(&row[a]));
            prop_assert_eq!(&by_probability, &expected);
            prop_assert_eq!(&by_probability, &ids(&fit, topic, all, Ranking::Relevance(1.0)));
            let by_lift = ids(&fit, topic, all, Ranking::Lift);
            prop_assert_eq!(&by_lift, &ids(&fit, topic, all, Ranking::Relevance(0.0)));
            for ranking in [Ranking::Lift, Ranking::Relevance(lambda)] {
                let top = fit.top_words(topic, all, ranking);
                let mut words: Vec<usize> = top.iter().map(|score| score.word).collect();
                prop_assert_eq!(&words[..words.len().min(2)], &ids(&fit, topic, 2, ranking)[..]);
                words.sort_unstable();
                prop_assert_eq!(&words, &seen);
                let lambda = if ranking == Ranking::Lift { 0.0 } else { lambda };
                prop_assert!(top.is_sorted_by(|a, b| a.relevance(lambda) >= b.relevance(lambda)));
            }
        }
        let every: Vec<_> = (0..fit.topics).map(|t| fit.top_words(t, 3, Ranking::Lift)).collect();
        prop_assert_eq!(fit.top_words_of_all(3, Ranking::Lift), every);
    }

    #[test]
    fn coherence_has_its_range((corpus, _) in example()) {
        let words: Vec<usize> = (0..corpus.vocabulary()).collect();
        if let Some(found) = coherence(&corpus, &words) {
            prop_assert!((-1.0..=1.0).contains(&found.npmi));
            prop_assert!(found.umass <= 2_f64.ln() + 1e-12);
            let back: Vec<usize> = words.iter().rev().copied().collect();
            prop_assert!(near(coherence(&corpus, &back).expect("the same words").npmi, found.npmi));
        }
    }

    #[test]
    fn diversity_has_its_range((_, fit) in example(), n in 1..8_usize) {
        let tops: Vec<Vec<usize>> =
            (0..fit.topics).map(|topic| ids(&fit, topic, n, Ranking::Probability)).collect();
        let found = diversity(&tops);
        // No topic lists a word twice, so none is listed more often than there are topics.
        prop_assert!(found <= 1.0 && found * fit.topics as f64 >= 1.0 - 1e-12);
        prop_assert_eq!(diversity(&tops[..1]), 1.0);
    }

    #[test]
    fn relations_are_symmetric((_, fit) in example()) {
        let topics = fit.topics;
        let correlations = fit.topic_correlations();
        let similarities = fit.topic_similarities();
        for s in 0..topics {
            prop_assert_eq!(correlations[s * topics + s], 1.0);
            prop_assert_eq!(similarities[s * topics + s], 1.0);
            for t in 0..topics {
                let (at, across) = (s * topics + t, t * topics + s);
                prop_assert_eq!(correlations[at], correlations[across]);
                prop_assert_eq!(similarities[at], similarities[across]);
                prop_assert!((-1.0..=1.0).contains(&correlations[at]));
                prop_assert!((0.0..=1.0).contains(&similarities[at]));
            }
        }
    }

    #[test]
    fn topics_may_be_relabelled((corpus, fit) in example(), n in 1..8_usize) {
        let other = turned(&fit);
        let last = fit.topics - 1;
        for topic in 0..=last {
            for ranking in [Ranking::Probability, Ranking::Lift, Ranking::Relevance(0.6)] {
                prop_assert_eq!(
                    fit.top_words(topic, n, ranking),
                    other.top_words(last - topic, n, ranking)
                );
            }
            // Among equals rounding may choose another document, not another proportion.
            let (one, two) = (fit.typical_documents(topic, n), other.typical_documents(last - topic, n));
            prop_assert_eq!(one.len(), two.len());
            for (one, two) in one.iter().zip(&two) {
                prop_assert!(near(one.proportion, two.proportion));
            }
        }
        // Turning both rows and columns turns the whole list. Deviations of a millionth, which
        // large priors lead to, keep half of their digits.
        for (one, two) in [
            (fit.topic_correlations(), other.topic_correlations()),
            (fit.topic_similarities(), other.topic_similarities()),
        ] {
            for (one, two) in one.iter().zip(two.iter().rev()) {
                prop_assert!((one - two).abs() < 1e-6, "{one} {two}");
            }
        }
        let (one, two) = (fit.quality(&corpus, n).unwrap(), other.quality(&corpus, n).unwrap());
        prop_assert_eq!(one.used, two.used);
        prop_assert_eq!(one.diversity, two.diversity);
        prop_assert!(near(one.topics.iter().map(|topic| topic.proportion).sum(), 1.0));
        for (one, two) in one.topics.iter().zip(two.topics.iter().rev()) {
            prop_assert_eq!(one.coherence, two.coherence);
            prop_assert!(near(one.exclusivity, two.exclusivity));
            prop_assert!(one.exclusivity > 0.0 && one.exclusivity <= 1.0 + 1e-12);
        }
        prop_assert_eq!(one.coherence.is_some(), two.coherence.is_some());
    }
}

/// Lift takes a word's share from the fit: it is that of the corpus.
#[test]
fn shares_of_a_fit_are_those_of_its_corpus() {
    let corpus = Corpus::new(
        vec![0, 3, 5, 8],
        vec![0, 1, 2, 3, 4, 1, 2, 4],
        vec![5.0, 2.0, 1.0, 6.0, 3.0, 4.0, 1.0, 2.0],
        6,
    );
    let corpus = Arc::new(corpus.expect("a corpus"));
    let model = Topics::new(Arc::clone(&corpus), &Settings::new(2)).expect("a model");
    let start = (0..12).map(|i| f64::from(i * 7 % 5)).collect();
    let run = Driver::new(&model, Direction::Vbem)
        .stop(Stop::Iterations(5))
        .run(start);
    let fit = model.fit(&run.expect("a run").point);
    let top = fit.top_words(0, 6, Ranking::Lift);
    assert_eq!(top.len(), 5);
    for score in top {
        let tokens: f32 = corpus.word(score.word).1.iter().sum();
        let share = f64::from(tokens) / corpus.tokens();
        assert!(near(score.probability / score.lift, share));
    }
}
