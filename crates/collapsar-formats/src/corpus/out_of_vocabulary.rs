//! Decides what becomes of words outside the vocabulary of a fit: they are counted and left out.

use std::collections::HashMap;

use super::filter::{Filter, frequencies, moved, sort_by_frequency, unseen};
use super::options::CorpusOptions;
use super::{Corpus, CorpusReport};

/// The words of new documents that the vocabulary of a fit does not have.
#[derive(Debug, Clone, PartialEq)]
pub struct OutOfVocabulary {
    /// How many different words.
    pub words: usize,
    /// How often they occur in all.
    pub tokens: f64,
    /// Up to ten of them, the most frequent first.
    pub examples: Vec<String>,
    /// The rest of what was found; its `filtered` holds the stop words, short words and numbers that
    /// are outside too and that no fit would have kept.
    pub report: CorpusReport,
}

/// Moves the corpus to `vocabulary`.
pub(super) fn map(
    corpus: Corpus,
    vocabulary: &[String],
    mut report: CorpusReport,
    options: &CorpusOptions,
) -> (Corpus, OutOfVocabulary) {
    let mut ids: HashMap<&str, u32> = HashMap::with_capacity(vocabulary.len());
    for (id, word) in vocabulary.iter().enumerate() {
        ids.entry(word).or_insert(id as u32);
    }
    let place = |word: &String| ids.get(word.as_str()).copied();
    let places: Vec<Option<u32>> = corpus.vocabulary.iter().map(place).collect();
    let (mut tokens, _) = frequencies(&corpus);
    let words = &corpus.vocabulary;
    let outside = |&word: &usize| places[word].is_none() && tokens[word] > 0.0;
    let outside: Vec<usize> = (0..words.len()).filter(outside).collect();
    let names: Vec<String> = outside.iter().map(|&word| words[word].clone()).collect();
    tokens = outside.iter().map(|&word| tokens[word]).collect();
    let mut filter = Filter::new(&tokens);
    filter.by_form(&names, report.format.is_text(), options);
    let mut missed = filter.kept();
    sort_by_frequency(&mut missed, &tokens, &names);
    report.filtered = filter.removed;
    let total = missed.iter().map(|&word| tokens[word]).sum();
    let missed = missed.into_iter().map(|word| names[word].clone()).collect();
    let corpus = moved(corpus, &places, vocabulary.to_vec());
    finish(corpus, report, missed, total)
}

/// Tells of a corpus over exactly the vocabulary, and of the words that it missed.
pub(super) fn finish(
    corpus: Corpus,
    mut report: CorpusReport,
    mut missed: Vec<String>,
    tokens: f64,
) -> (Corpus, OutOfVocabulary) {
    report.empty = corpus.empty();
    report.unseen = unseen(&corpus);
    let words = missed.len();
    missed.truncate(10);
    let outside = OutOfVocabulary {
        words,
        tokens,
        examples: missed,
        report,
    };
    (corpus, outside)
}
