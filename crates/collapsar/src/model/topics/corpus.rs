//! A bag of words for each document, in both orders: by document and by word.

use collapsar_core::kernel::bag::Bag;
use collapsar_core::{Error, Place, Result, digest_on};

/// The largest count: up to here every whole number is a 32-bit float.
pub(super) const LARGEST: f32 = 16_777_216.0;
/// The digest of no documents.
pub(super) const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// Unique words with their counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Corpus {
    pub(crate) by_document: Bags,
    pub(crate) by_word: Bags,
    tokens: f64,
}

/// Lists of (id, count), one after another.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bags {
    starts: Vec<usize>,
    ids: Vec<u32>,
    counts: Vec<f32>,
    /// The sum of the counts of each bag.
    pub(crate) totals: Vec<f64>,
    /// Most entries in a bag.
    pub(crate) longest: usize,
}

pub(super) fn sum(counts: &[f32]) -> f64 {
    counts.iter().copied().map(f64::from).sum()
}

impl Bags {
    pub(super) fn new(starts: Vec<usize>, ids: Vec<u32>, counts: Vec<f32>) -> Self {
        let bags = || starts.windows(2).map(|w| &counts[w[0]..w[1]]);
        Self {
            totals: bags().map(sum).collect(),
            longest: bags().map(<[f32]>::len).max().unwrap_or(0),
            starts,
            ids,
            counts,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The ids and counts of bag `index`.
    pub(crate) fn get(&self, index: usize) -> (&[u32], &[f32]) {
        let range = self.starts[index]..self.starts[index + 1];
        (&self.ids[range.clone()], &self.counts[range])
    }

    /// Bag `index`, of rows of numbers.
    pub(crate) fn bag<'a>(&'a self, index: usize, rows: &'a [f64]) -> Bag<'a> {
        let (ids, counts) = self.get(index);
        Bag { ids, counts, rows }
    }

    /// The same entries, listed by id.
    pub(super) fn transposed(&self, ids: usize) -> Self {
        let mut starts = vec![0; ids + 1];
        for &id in &self.ids {
            starts[id as usize + 1] += 1;
        }
        for i in 0..ids {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let (mut ids, mut counts) = (vec![0; self.ids.len()], vec![0.0; self.ids.len()]);
        for index in 0..self.len() {
            let bag = self.get(index);
            for (&id, &count) in bag.0.iter().zip(bag.1) {
                let place = next[id as usize];
                ids[place] = index as u32;
                counts[place] = count;
                next[id as usize] += 1;
            }
        }
        Self::new(starts, ids, counts)
    }
}

impl Corpus {
    /// Documents whose words are `words[starts[d]..starts[d + 1]]`, each with its count, from a
    /// vocabulary of `vocabulary` words.
    ///
    /// # Errors
    /// [`Error::Data`] where there is no word at all, where the lists do not fit together, where
    /// a word is named twice in a document or lies outside the vocabulary, or where a count is
    /// not a positive number up to 2^24.
    pub fn new(
        starts: Vec<usize>,
        words: Vec<u32>,
        counts: Vec<f32>,
        vocabulary: usize,
    ) -> Result<Self> {
        check(&starts, &words, &counts, vocabulary)?;
        let tokens = sum(&counts);
        let by_document = Bags::new(starts, words, counts);
        let by_word = by_document.transposed(vocabulary);
        Ok(Self {
            by_document,
            by_word,
            tokens,
        })
    }

    /// How many documents.
    pub fn documents(&self) -> usize {
        self.by_document.len()
    }

    /// How many words the vocabulary has.
    pub fn vocabulary(&self) -> usize {
        self.by_word.len()
    }

    /// How many pairs of document and word.
    pub fn entries(&self) -> usize {
        self.by_document.ids.len()
    }

    /// The sum of all counts.
    pub fn tokens(&self) -> f64 {
        self.tokens
    }

    /// The words and counts of a document.
    pub fn document(&self, index: usize) -> (&[u32], &[f32]) {
        self.by_document.get(index)
    }

    /// The words that there are, and the same documents with a vocabulary of these alone.
    pub(super) fn compact(&self) -> (Vec<u32>, Self) {
        let there = |word: &u32| !self.by_word.get(*word as usize).0.is_empty();
        let words: Vec<u32> = (0..self.vocabulary() as u32).filter(there).collect();
        let mut places = vec![0; self.vocabulary()];
        for (place, &word) in words.iter().enumerate() {
            places[word as usize] = place as u32;
        }
        let mut by_document = self.by_document.clone();
        for id in &mut by_document.ids {
            *id = places[*id as usize];
        }
        let by_word = by_document.transposed(words.len());
        let tokens = self.tokens;
        let compact = Self {
            by_document,
            by_word,
            tokens,
        };
        (words, compact)
    }

    /// The documents that hold a word, and how often.
    pub fn word(&self, index: usize) -> (&[u32], &[f32]) {
        self.by_word.get(index)
    }

    /// Tells corpora apart.
    pub(crate) fn digest(&self) -> u64 {
        (0..self.documents()).fold(EMPTY, |digest, document| {
            let (words, counts) = self.document(document);
            digest_bag(digest, words, counts)
        })
    }
}

/// The digest of documents and one more.
pub(super) fn digest_bag(digest: u64, words: &[u32], counts: &[f32]) -> u64 {
    let length = (words.len() as u64).to_le_bytes();
    let words = words.iter().flat_map(|x| x.to_le_bytes());
    let counts = counts.iter().flat_map(|x| x.to_bits().to_le_bytes());
    digest_on(digest, length.into_iter().chain(words).chain(counts))
}

/// Refuses a document whose words do not ascend, and whatever a corpus in memory would not have.
pub(super) fn check_bag(
    document: usize,
    words: &[u32],
    counts: &[f32],
    vocabulary: usize,
) -> Result<()> {
    if words.len() != counts.len() {
        let found = format!("{} words with {} counts", words.len(), counts.len());
        let place = Place::item("document", document);
        return Err(Error::data(place, found, "a count for each word"));
    }
    let mut before = None;
    for (&word, &count) in words.iter().zip(counts) {
        if word as usize >= vocabulary {
            return Err(outside(document, word, vocabulary));
        }
        if before == Some(word) {
            return Err(twice(document, word));
        }
        if let Some(before) = before.filter(|before| *before > word) {
            let found = format!("word {word} after word {before}");
            let place = Place::item("document", document);
            return Err(Error::data(place, found, "words that ascend"));
        }
        if !is_count(count) {
            return Err(miscounted(document, word, count));
        }
        before = Some(word);
    }
    Ok(())
}

fn is_count(count: f32) -> bool {
    count > 0.0 && count <= LARGEST
}

fn outside(document: usize, word: u32, vocabulary: usize) -> Error {
    let found = format!("word {word} of a vocabulary of {vocabulary}");
    Error::data(
        Place::item("document", document),
        found,
        "words counted from 0",
    )
}

fn twice(document: usize, word: u32) -> Error {
    let (found, expected) = (
        format!("word {word} twice"),
        "each word once, with its count",
    );
    Error::data(Place::item("document", document), found, expected)
}

fn miscounted(document: usize, word: u32, count: f32) -> Error {
    let found = format!("word {word} with count {count}");
    let expected = "a positive count up to 16777216";
    Error::data(Place::item("document", document), found, expected)
}

fn check(starts: &[usize], words: &[u32], counts: &[f32], vocabulary: usize) -> Result<()> {
    let refuse =
        |place: Place, found: String, expected: &str| Err(Error::data(place, found, expected));
    let covers = starts.first() == Some(&0) && starts.last() == Some(&words.len());
    let whole = if words.len() != counts.len() {
        let found = format!("{} words with {} counts", words.len(), counts.len());
        Some((found, "a count for each word"))
    } else if !covers || !starts.is_sorted() || starts.len() < 2 {
        let found = "documents that do not cover the words in order".to_owned();
        Some((found, "ascending starts, from 0 to the number of words"))
    } else if words.is_empty() {
        Some(("no words".into(), "at least one document with a word"))
    } else if u32::try_from(vocabulary).is_err() || u32::try_from(starts.len()).is_err() {
        let found = format!("{vocabulary} words and {} documents", starts.len() - 1);
        Some((found, "fewer than 2^32 of each"))
    } else {
        None
    };
    if let Some((found, expected)) = whole {
        return refuse(Place::Whole("corpus"), found, expected);
    }
    let mut last_seen = vec![usize::MAX; vocabulary];
    for (document, range) in starts.windows(2).enumerate() {
        for i in range[0]..range[1] {
            let Some(seen) = last_seen.get_mut(words[i] as usize) else {
                return Err(outside(document, words[i], vocabulary));
            };
            if std::mem::replace(seen, document) == document {
                return Err(twice(document, words[i]));
            }
            if !is_count(counts[i]) {
                return Err(miscounted(document, words[i], counts[i]));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_orders_hold_the_same_entries() {
        let corpus = Corpus::new(
            vec![0, 2, 2, 5],
            vec![3, 0, 1, 3, 2],
            vec![1.0, 2.0, 3.0, 4.0, 5.0],
            5,
        )
        .unwrap();
        assert_eq!((corpus.documents(), corpus.vocabulary()), (3, 5));
        assert_eq!(corpus.tokens(), 15.0);
        assert_eq!(corpus.document(1), (&[][..], &[][..]));
        assert_eq!(corpus.word(3), (&[0, 2][..], &[1.0, 4.0][..]));
        assert_eq!(corpus.word(4), (&[][..], &[][..]));
        assert_eq!(corpus.by_word.longest, 2);
    }

    #[test]
    fn wrong_lists_are_refused_by_place() {
        let refused = |starts: &[usize], words: &[u32], counts: &[f32]| {
            Corpus::new(starts.to_vec(), words.to_vec(), counts.to_vec(), 3)
                .unwrap_err()
                .to_string()
        };
        assert!(refused(&[0, 1], &[3], &[1.0]).starts_with("document 1: word 3 of a vocabulary"));
        assert!(refused(&[0, 1, 3], &[0, 1, 1], &[1.0; 3]).starts_with("document 2: word 1 twice"));
        for count in [0.0, -1.0, f32::NAN, f32::INFINITY, 2e7] {
            assert!(refused(&[0, 1], &[0], &[count]).contains("expected a positive count"));
        }
        assert!(refused(&[0, 0], &[], &[]).contains("no words"));
        assert!(refused(&[0, 2], &[0], &[1.0]).contains("do not cover"));
        assert!(refused(&[0], &[], &[]).contains("do not cover"));
        assert!(refused(&[0, 1], &[0], &[1.0, 2.0]).contains("1 words with 2 counts"));
    }
}
