//! A corpus for the second experiment where none is given: drawn from the model, with words as uneven as in texts.

use collapsar::topics::Corpus;
use collapsar_core::random::{Distribution, Gamma, Poisson};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// How large a corpus is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CorpusSize {
    /// Documents.
    pub documents: usize,
    /// Words of the vocabulary.
    pub words: usize,
    /// Expected tokens of a document.
    pub length: usize,
}

/// Word r is drawn in proportion to 1 / (r + SHIFT): Zipf's law as Mandelbrot fitted it to English.
const SHIFT: f64 = 2.7;
/// Concentration of a topic's words, for each word: low enough for every topic to have words of its own. At
/// 0.1 topics are so alike that fits with beta 1 leave most of them empty.
const SPREAD: f64 = 0.02;
/// Concentration of a document's proportions, for each topic: of ten topics a document is about four or five.
const PROPORTIONS: f64 = 0.5;

/// Documents about `topics` topics. The same numbers give the same corpus on any machine.
pub(crate) fn draw(size: CorpusSize, topics: usize, seed: u64) -> collapsar::Result<Corpus> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let total: f64 = (1..=size.words).map(weight).sum();
    let scale = SPREAD * size.words as f64 / total;
    let base: Vec<f64> = (1..=size.words).map(|rank| scale * weight(rank)).collect();
    let words: Vec<Vec<f64>> = (0..topics).map(|_| dirichlet(&base, &mut rng)).collect();
    let lengths = Poisson::new(size.length as f64).expect("a positive length");
    corpus_of(size.words, size.documents, |_, counts| {
        let proportions = dirichlet(&vec![PROPORTIONS; topics], &mut rng);
        for _ in 0..lengths.sample(&mut rng) as usize {
            let topic = pick(&proportions, &mut rng);
            counts[pick(&words[topic], &mut rng)] += 1.0;
        }
    })
}

/// A corpus of documents, each of which adds to the counts of all words.
///
/// # Errors
/// As [`Corpus::new`], where all counts are zero.
pub fn corpus_of(
    words: usize,
    documents: usize,
    mut write: impl FnMut(usize, &mut [f32]),
) -> collapsar::Result<Corpus> {
    let (mut starts, mut ids, mut counts) = (vec![0], Vec::new(), Vec::new());
    for document in 0..documents {
        let mut bag = vec![0.0; words];
        write(document, &mut bag);
        for (word, count) in bag.into_iter().enumerate() {
            if count > 0.0 {
                ids.push(word as u32);
                counts.push(count);
            }
        }
        starts.push(ids.len());
    }
    Corpus::new(starts, ids, counts, words)
}

/// The words' names, commonest first: w0001, w0002, …
pub(crate) fn names(words: usize) -> Vec<String> {
    (1..=words).map(|rank| format!("w{rank:04}")).collect()
}

fn weight(rank: usize) -> f64 {
    1.0 / (rank as f64 + SHIFT)
}

/// Cumulative probabilities drawn from a Dirichlet.
fn dirichlet(concentrations: &[f64], rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut sum = 0.0;
    let mut add = |&shape: &f64| {
        let gamma = Gamma::new(shape, 1.0).expect("a positive shape");
        sum += gamma.sample(rng);
        sum
    };
    let sums: Vec<f64> = concentrations.iter().map(&mut add).collect();
    sums.into_iter().map(|part| part / sum).collect()
}

fn pick(cumulative: &[f64], rng: &mut ChaCha8Rng) -> usize {
    let at: f64 = rng.random();
    cumulative.partition_point(|&x| x <= at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: CorpusSize = CorpusSize {
        documents: 200,
        words: 2000,
        length: 1700,
    };

    #[test]
    fn sizes_are_those_asked_for() {
        let corpus = draw(SIZE, 10, 1).unwrap();
        assert_eq!((corpus.documents(), corpus.vocabulary()), (200, 2000));
        // Five standard deviations of a Poisson number of mean 340,000.
        assert!((corpus.tokens() - 340_000.0).abs() < 5.0 * 340_000.0_f64.sqrt());
        let names = names(2000);
        assert_eq!((&*names[0], &*names[1999]), ("w0001", "w2000"));
    }

    #[test]
    fn a_seed_is_a_corpus() {
        let small = CorpusSize {
            documents: 5,
            words: 50,
            length: 20,
        };
        assert_eq!(draw(small, 3, 7).unwrap(), draw(small, 3, 7).unwrap());
        assert_ne!(draw(small, 3, 7).unwrap(), draw(small, 3, 8).unwrap());
    }

    #[test]
    fn words_decay_as_zipf_says() {
        let corpus = draw(SIZE, 10, 1).unwrap();
        let count = |word| -> f64 { corpus.word(word).1.iter().copied().map(f64::from).sum() };
        let total: f64 = (1..=SIZE.words).map(weight).sum();
        let mut first = 0;
        for last in [10, 30, 100, 300, 1000, 2000] {
            let drawn: f64 = (first..last).map(count).sum();
            let zipf: f64 = (first + 1..=last).map(weight).sum();
            let ratio = drawn / corpus.tokens() / (zipf / total);
            // Ten topics of concentration 40 have a proportion p to within about sqrt(p / 400) of it, 16% where
            // p is 0.1, as it is at the ends of this list.
            assert!(
                (ratio - 1.0).abs() < 0.3,
                "words {first} to {last}: {ratio}"
            );
            first = last;
        }
    }
}
