//! Halves that make up their documents.

use super::*;

fn corpus() -> Corpus {
    Corpus {
        documents: (0..6).map(|d| d.to_string()).collect(),
        vocabulary: ["a", "b", "c"].map(String::from).to_vec(),
        starts: vec![0, 2, 3, 3, 4, 6, 8],
        words: vec![0, 1, 2, 0, 1, 2, 0, 2],
        counts: vec![3.0, 2.0, 1.0, 4.0, 1.5, 2.0, 1.0, 1.0],
    }
}

fn draw(fraction: f64, seed: u64) -> Result<Holdout> {
    Holdout::draw("x".into(), &corpus(), fraction, seed)
}

#[test]
fn halves_make_up_the_document() {
    let corpus = corpus();
    for seed in 0..20 {
        let drawn = draw(0.5, seed).unwrap();
        assert_eq!((drawn.held.len(), drawn.kept.len()), (2, 4));
        // Empty ones and those of one word are not worth holding out.
        assert!(!drawn.held.contains(&2) && !drawn.held.contains(&1));
        let Halves {
            observed,
            evaluated,
            whole,
            ..
        } = &drawn.halves;
        assert_eq!(observed.tokens() + evaluated.tokens(), whole.tokens());
        assert_eq!(whole.tokens() + drawn.training.tokens(), corpus.tokens());
        for (index, &document) in drawn.held.iter().enumerate() {
            assert_eq!(whole.document(index), corpus.document(document));
            assert!(!evaluated.document(index).0.is_empty());
            assert!(!observed.document(index).0.is_empty());
        }
    }
}

#[test]
fn the_seed_decides() {
    let held = |seed| draw(0.3, seed).unwrap().held;
    assert_eq!(held(3), held(3));
    assert!((0..20).any(|seed| held(seed) != held(3)));
}

#[test]
fn something_is_left_to_fit() {
    let error = draw(0.99, 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "x: holdout = 0.99 leaves nothing of 4 documents with at least two words, expected one or \
         more to fit and to hold out"
    );
}
