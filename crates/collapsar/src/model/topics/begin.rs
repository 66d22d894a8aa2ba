//! Where topics begin that learn from batches: which documents of the first they lean to.

use collapsar_core::random::{Distribution, Open01};
use rand_chacha::ChaCha8Rng;

use super::Corpus;

/// What a document weighs that is the same as one chosen before: where there are fewer than topics, some are chosen again.
const SAME: f64 = 1e-9;

/// As many documents as there are topics, each unlike those before it: drawn with the square of one less its largest cosine
/// with them. Drawn evenly, documents of the same words draw topics to the same place. None where all are empty.
pub(super) fn unlike(documents: &Corpus, topics: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
    let full: Vec<usize> = (0..documents.documents())
        .filter(|&index| !documents.document(index).0.is_empty())
        .collect();
    if full.is_empty() {
        return vec![];
    }
    let norm = |&index: &usize| {
        let counts = documents.document(index).1.iter();
        counts
            .map(|&count| f64::from(count).powi(2))
            .sum::<f64>()
            .sqrt()
    };
    let norms: Vec<f64> = full.iter().map(norm).collect();
    let mut likeness = vec![0.0_f64; full.len()];
    let mut own = vec![0.0; documents.vocabulary()];
    let mut chosen = Vec::with_capacity(topics);
    for _ in 0..topics {
        let weights: Vec<f64> = (likeness.iter())
            .map(|likeness| (1.0 - likeness).powi(2).max(SAME))
            .collect();
        let drawn: f64 = Open01.sample(rng);
        let mut left = drawn * weights.iter().sum::<f64>();
        let passed = |weight: &f64| {
            left -= weight;
            left < 0.0
        };
        // Rounding may leave a little beyond the last.
        let at = weights.iter().position(passed).unwrap_or(full.len() - 1);
        chosen.push(full[at]);
        let (words, counts) = documents.document(full[at]);
        for (&word, &count) in words.iter().zip(counts) {
            own[word as usize] = f64::from(count) / norms[at];
        }
        for ((&index, norm), likeness) in full.iter().zip(&norms).zip(&mut likeness) {
            let (words, counts) = documents.document(index);
            let entries = words.iter().zip(counts);
            let product: f64 = entries
                .map(|(&word, &count)| own[word as usize] * f64::from(count))
                .sum();
            *likeness = likeness.max(product / norm).min(1.0);
        }
        for &word in words {
            own[word as usize] = 0.0;
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// Documents of one of three groups of words that share none, the first group by far the largest, and one that is empty.
    fn corpus() -> Corpus {
        let (mut starts, mut words) = (vec![0, 0], vec![]);
        for document in 0..40 {
            let group = u32::from(document == 7) + 2 * u32::from(document == 11);
            words.extend([3 * group, 3 * group + 1, 3 * group + 2]);
            starts.push(words.len());
        }
        let counts = vec![2.0; words.len()];
        Corpus::new(starts, words, counts, 9).expect("a corpus")
    }

    #[test]
    fn every_group_is_chosen_however_small_it_is() {
        for seed in 0..20 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let chosen = unlike(&corpus(), 3, &mut rng);
            let mut groups: Vec<u32> = (chosen.iter())
                .map(|&index| corpus().document(index).0[0] / 3)
                .collect();
            groups.sort_unstable();
            assert_eq!(groups, [0, 1, 2], "seed {seed}");
        }
    }

    #[test]
    fn documents_are_chosen_again_where_there_are_fewer_than_topics() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let one = Corpus::new(vec![0, 0, 2], vec![0, 1], vec![1.0, 3.0], 2).expect("a corpus");
        assert_eq!(unlike(&one, 4, &mut rng), [1; 4]);
        // Where no document has a word there is none to choose, and `learn` sees no such batch: `Corpus::new` refuses it.
        assert!(Corpus::new(vec![0, 0], vec![], vec![], 2).is_err());
    }
}
