//! What looks wrong with topics, on fits made by hand.

use collapsar::topics::Corpus;

use super::*;

#[test]
fn learned_priors_at_their_limits_are_doubted() {
    let corpus = Corpus::new(vec![0, 2, 4], vec![0, 1, 0, 1], vec![2.0; 4], 2).unwrap();
    let doubt = |learned: [bool; 2], alpha, beta, weights: [f64; 2]| {
        let settings = Settings {
            alpha: if learned[0] {
                Alpha::Learned
            } else {
                Alpha::Symmetric(1.0)
            },
            beta: if learned[1] {
                Beta::Learned
            } else {
                Beta::Given(1.0)
            },
            ..Settings::new(2)
        };
        let fit = TopicsFit {
            topics: 2,
            alpha: vec![0.1, alpha],
            beta,
            word_counts: weights.map(|weight| 4.0 * weight).repeat(2),
            document_counts: weights.map(|weight| 4.0 * weight).repeat(2),
            drawn: false,
        };
        let quality = fit.quality(&corpus, WORDS).unwrap();
        limit(&settings, &fit, &quality)
    };
    let (both, merged) = ([0.5, 0.5], [1.0, 0.0]);
    for (found, expected) in [
        (doubt([true, true], 9000.0, 0.1, both), Doubt::Alpha(9000.0)),
        (doubt([false, true], 0.1, 9000.0, both), Doubt::Beta(9000.0)),
        (
            doubt([false, true], 0.1, 0.1, merged),
            Doubt::Unused { used: 1, topics: 2 },
        ),
    ] {
        assert_eq!(found, Some(expected));
    }
    // What was given is what was wanted, and what is usual is nothing to speak of.
    assert_eq!(doubt([false, false], 9000.0, 9000.0, merged), None);
    assert_eq!(doubt([true, true], 2.0, 0.1, both), None);
}

#[test]
fn topics_that_are_alike_are_grouped() {
    // 0 with 3, 3 with 1; 2 with 4, which is not in use.
    let mut similarities = vec![0.0; 25];
    for (a, b) in [(0, 3), (1, 3), (2, 4)] {
        similarities[a * 5 + b] = 0.95;
        similarities[b * 5 + a] = 0.95;
    }
    assert_eq!(groups(5, &similarities, |topic| topic != 4), [[0, 1, 3]]);
    similarities[2 * 5 + 4] = 0.9;
    assert_eq!(groups(5, &similarities, |_| true), [[0, 1, 3]]);
}
