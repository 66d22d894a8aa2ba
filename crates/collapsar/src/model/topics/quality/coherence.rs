//! Whether words are found in the same documents.

use serde::{Deserialize, Serialize};

use crate::topics::Corpus;

use collapsar_core::elementary::Elementary;

/// How words go together in the documents of a corpus; more is better.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Coherence {
    /// The mean over pairs of $\ln \frac{D(w_i, w_j) + 1}{D(w_j)}$, at most $\ln 2$.
    pub umass: f64,
    /// The sum over pairs, which is what Mimno11 reports.
    pub umass_sum: f64,
    /// The mean over pairs of the normalised pointwise mutual information, from −1 to 1.
    pub npmi: f64,
}

impl Coherence {
    pub(super) fn mean(of: &[Self]) -> Option<Self> {
        let mean = |field: fn(&Self) -> f64| of.iter().map(field).sum::<f64>() / of.len() as f64;
        (!of.is_empty()).then(|| Self {
            umass: mean(|one| one.umass),
            umass_sum: mean(|one| one.umass_sum),
            npmi: mean(|one| one.npmi),
        })
    }
}

/// How `words`, the most important first, go together in the documents of `corpus`.
///
/// With $D(w)$ the number of documents that hold $w$ and $D(v, w)$ of those that hold both, UMass
/// coherence (Mimno11) is
///
/// $$\sum_{i = 2}^{n} \sum_{j < i} \ln \frac{D(w_i, w_j) + 1}{D(w_j)},$$
///
/// and normalised pointwise mutual information (Bouma09) of a pair, with $p = D(\cdot) / D$,
///
/// $$\frac{\ln p(v, w) - \ln p(v) - \ln p(w)}{-\ln p(v, w)},$$
///
/// which is −1 where the two never meet, 0 where they are independent and 1 where either is
/// always with the other. Two words that are in every document are independent: 0.
///
/// Words that no document holds and documents that hold no word say nothing and are left out.
/// None where fewer than two words remain.
///
/// # Panics
/// Where a word lies outside of the vocabulary.
pub fn coherence(corpus: &Corpus, words: &[usize]) -> Option<Coherence> {
    let documents = (0..corpus.documents())
        .filter(|&document| !corpus.document(document).0.is_empty())
        .count() as f64;
    let lists: Vec<&[u32]> = words
        .iter()
        .map(|&word| corpus.word(word).0)
        .filter(|list| !list.is_empty())
        .collect();
    let (mut umass_sum, mut npmi_sum, mut pairs) = (0.0, 0.0, 0.0);
    for (i, later) in lists.iter().enumerate() {
        for earlier in &lists[..i] {
            let both = meetings(later, earlier) as f64;
            let (d_later, d_earlier) = (later.len() as f64, earlier.len() as f64);
            umass_sum += ((both + 1.0) / d_earlier).ln_();
            npmi_sum += npmi(both, d_later, d_earlier, documents);
            pairs += 1.0;
        }
    }
    (pairs > 0.0).then(|| Coherence {
        umass: umass_sum / pairs,
        umass_sum,
        npmi: npmi_sum / pairs,
    })
}

fn npmi(both: f64, one: f64, other: f64, documents: f64) -> f64 {
    if both == 0.0 {
        return -1.0;
    }
    if both == documents {
        return 0.0;
    }
    let information = (both * documents / (one * other)).ln_();
    // Rounding may lead outside by a few ulps.
    (information / (documents / both).ln_()).clamp(-1.0, 1.0)
}

/// How many ids two ascending lists share.
fn meetings(mut one: &[u32], mut other: &[u32]) -> usize {
    let mut count = 0;
    while let ([a, after_a @ ..], [b, after_b @ ..]) = (one, other) {
        if a <= b {
            one = after_a;
        }
        if b <= a {
            other = after_b;
        }
        count += usize::from(a == b);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corpus(documents: &[&[u32]]) -> Corpus {
        let mut starts = vec![0];
        let mut words = vec![];
        for document in documents {
            words.extend_from_slice(document);
            starts.push(words.len());
        }
        let counts = vec![7.0; words.len()];
        Corpus::new(starts, words, counts, 4).unwrap()
    }

    fn near(found: f64, expected: f64) -> bool {
        // A few roundings of numbers near 1.
        (found - expected).abs() < 1e-14
    }

    #[test]
    fn as_by_hand() {
        // Four documents that hold words: D(0) = 3, D(1) = 2, D(2) = 2, D(0, 1) = 2,
        // D(0, 2) = 1, D(1, 2) = 1.
        let corpus = corpus(&[&[0, 1], &[2, 1, 0], &[], &[0], &[2]]);
        let found = coherence(&corpus, &[0, 1, 2]).unwrap();
        // ln 3/3 + ln 2/3 + ln 2/2
        assert!(near(found.umass_sum, (2.0_f64 / 3.0).ln_()));
        assert!(near(found.umass, (2.0_f64 / 3.0).ln_() / 3.0));
        // (0, 1): ln(1/2 / (3/4 · 1/2)) / ln 2; (0, 2): ln(1/4 / (3/4 · 1/2)) / ln 4;
        // (1, 2): ln(1/4 / (1/2 · 1/2)) = 0.
        let pairs = (4.0_f64 / 3.0).log2_() + (2.0_f64 / 3.0).log2_() / 2.0;
        assert!(near(found.npmi, pairs / 3.0));
        // The other way round: ln 2/2 + ln 2/2 + ln 3/2, and the same npmi.
        let turned = coherence(&corpus, &[2, 1, 0]).unwrap();
        assert!(near(turned.umass_sum, 1.5_f64.ln_()));
        assert!(near(turned.npmi, found.npmi));
    }

    #[test]
    fn never_always_and_everywhere() {
        let apart = coherence(&corpus(&[&[0], &[1], &[1]]), &[0, 1]).unwrap();
        assert_eq!(apart.npmi, -1.0);
        assert_eq!(apart.umass, 0.0); // ln (0 + 1)/1
        let together = coherence(&corpus(&[&[0, 1], &[0, 1], &[2]]), &[0, 1]).unwrap();
        assert!(near(together.npmi, 1.0));
        let everywhere = coherence(&corpus(&[&[0, 1], &[1, 0]]), &[0, 1]).unwrap();
        assert_eq!(everywhere.npmi, 0.0);
    }

    #[test]
    fn words_never_seen_say_nothing() {
        let corpus = corpus(&[&[0, 1], &[1], &[2]]);
        assert_eq!(coherence(&corpus, &[3, 0, 1]), coherence(&corpus, &[0, 1]));
        assert_eq!(coherence(&corpus, &[3, 1]), None);
        assert_eq!(coherence(&corpus, &[]), None);
    }

    #[test]
    fn lists_meet_where_they_share_an_id() {
        assert_eq!(meetings(&[1, 4, 6, 9], &[0, 4, 5, 9, 11]), 2);
        assert_eq!(meetings(&[], &[0]), 0);
    }
}
