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
    let lists: Vec<&[u32]> = words.iter().map(|&word| corpus.word(word).0).collect();
    let numbers: Vec<f64> = lists.iter().map(|list| list.len() as f64).collect();
    of_numbers(documents, &numbers, |i, j| {
        meetings(lists[i], lists[j]) as f64
    })
}

/// How words go together of which each is in so many documents, and each pair in as many as `both` says.
fn of_numbers(
    documents: f64,
    numbers: &[f64],
    both: impl Fn(usize, usize) -> f64,
) -> Option<Coherence> {
    let there: Vec<usize> = (0..numbers.len()).filter(|&i| numbers[i] > 0.0).collect();
    let (mut umass_sum, mut npmi_sum, mut pairs) = (0.0, 0.0, 0.0);
    for (place, &i) in there.iter().enumerate() {
        for &j in &there[..place] {
            let both = both(i, j);
            let (d_later, d_earlier) = (numbers[i], numbers[j]);
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

/// In how many documents the words of several lists are, and their pairs, while documents come one after another.
pub(super) struct Found {
    /// Those with a word at all.
    documents: f64,
    lists: Vec<List>,
    /// Where each word of the vocabulary is listed: `(list, place in it)` from one of `starts` to the next.
    starts: Vec<u32>,
    listed: Vec<(u32, u32)>,
    /// Places of the present document's words in each list, and the lists that have any.
    present: Vec<Vec<usize>>,
    touched: Vec<usize>,
}

/// A list of words: documents that hold each pair of them, those of one word on the diagonal.
struct List {
    length: usize,
    square: Vec<u64>,
}

impl Found {
    /// Nothing found yet of lists of words.
    pub(super) fn new(vocabulary: usize, lists: &[Vec<usize>]) -> Self {
        let mut all: Vec<(usize, u32, u32)> = (lists.iter().zip(0..))
            .flat_map(|(list, of)| {
                list.iter()
                    .zip(0..)
                    .map(move |(&word, place)| (word, of, place))
            })
            .collect();
        all.sort_unstable();
        let before = |word: usize| all.partition_point(|entry| entry.0 < word) as u32;
        let list = |list: &Vec<usize>| List {
            length: list.len(),
            square: vec![0; list.len() * list.len()],
        };
        Self {
            documents: 0.0,
            lists: lists.iter().map(list).collect(),
            starts: (0..=vocabulary).map(before).collect(),
            listed: all.iter().map(|&(_, of, place)| (of, place)).collect(),
            present: vec![vec![]; lists.len()],
            touched: vec![],
        }
    }

    /// Takes in the words of a document.
    pub(super) fn add(&mut self, words: &[u32]) {
        self.documents += f64::from(u8::from(!words.is_empty()));
        for &word in words {
            let range = self.starts[word as usize]..self.starts[word as usize + 1];
            for &(of, place) in &self.listed[range.start as usize..range.end as usize] {
                let present = &mut self.present[of as usize];
                if present.is_empty() {
                    self.touched.push(of as usize);
                }
                present.push(place as usize);
            }
        }
        for of in self.touched.drain(..) {
            let (list, present) = (&mut self.lists[of], &mut self.present[of]);
            for &i in &*present {
                for &j in &*present {
                    list.square[i * list.length + j] += 1;
                }
            }
            present.clear();
        }
    }

    /// How the words of each list go together.
    pub(super) fn coherences(&self) -> Vec<Option<Coherence>> {
        let of = |list: &List| {
            let number = |i: usize, j: usize| list.square[i * list.length + j] as f64;
            let own: Vec<f64> = (0..list.length).map(|i| number(i, i)).collect();
            of_numbers(self.documents, &own, number)
        };
        self.lists.iter().map(of).collect()
    }
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
