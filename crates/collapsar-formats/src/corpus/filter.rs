//! Decides which words are dropped, in which order, and how that is reported.

use std::fmt;

use collapsar::Hint;
use serde::{Deserialize, Serialize, Serializer};

use crate::error::{Error, Result};

use super::Corpus;
use super::options::{CorpusFormat, CorpusOptions};
use super::stop::StopSet;
use super::tokens::{has_no_letter, is_short};

/// What one filter removed.
#[derive(Debug, Clone, PartialEq)]
pub struct Filtered {
    /// What the words were.
    pub filter: WordFilter,
    /// How many different words.
    pub words: usize,
    /// How often they occurred in all.
    pub tokens: f64,
}

/// Which words a filter drops; shown as `stop words (english)` or `in fewer than 5 documents`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum WordFilter {
    /// Those without a letter.
    NoLetter,
    /// Those of fewer letters.
    Short(usize),
    /// Stop words, by the name of their list: `english`, or `list` for one that was given.
    StopWords(&'static str),
    /// Those in fewer documents.
    Rare(u32),
    /// Those in more than this fraction of the documents.
    Frequent(f64),
    /// All but so many, the most frequent.
    Beyond(usize),
}

impl WordFilter {
    /// What would keep such words.
    fn hint(self) -> Hint {
        match self {
            Self::NoLetter => Hint::give("keep_numbers"),
            Self::Short(_) => Hint::lower("min_length"),
            Self::StopWords(_) => Hint::set("stop_words", "none"),
            Self::Rare(_) => Hint::lower("min_docs"),
            Self::Frequent(_) => Hint::higher("max_docs_share"),
            Self::Beyond(_) => Hint::higher("max_vocabulary"),
        }
    }

    /// What the words are, whichever list they are in.
    fn kind(self) -> String {
        match self {
            Self::NoLetter => "without a letter".to_owned(),
            Self::Short(least) => format!("shorter than {least} letters"),
            Self::StopWords(_) => "stop words".to_owned(),
            Self::Rare(least) => format!("in fewer than {least} documents"),
            Self::Frequent(most) => {
                // In percent, to a few digits.
                let percent = (most * 1e6).round() / 1e4;
                format!("in more than {percent}% of the documents")
            }
            Self::Beyond(most) => format!("not among the {most} most frequent"),
        }
    }
}

impl fmt::Display for WordFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StopWords(list) => write!(f, "{} ({list})", self.kind()),
            other => write!(f, "{}", other.kind()),
        }
    }
}

/// As its text.
impl Serialize for WordFilter {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What a filter removed, as a file of documents keeps it.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredFilter {
    filter: String,
    number: f64,
    words: usize,
    tokens: f64,
}

impl StoredFilter {
    pub(super) fn of(filtered: &Filtered) -> Self {
        let (filter, number) = match filtered.filter {
            WordFilter::NoLetter => ("no letter", 0.0),
            WordFilter::Short(least) => ("short", least as f64),
            WordFilter::StopWords(list) => (list, 0.0),
            WordFilter::Rare(least) => ("rare", least.into()),
            WordFilter::Frequent(most) => ("frequent", most),
            WordFilter::Beyond(most) => ("beyond", most as f64),
        };
        Self {
            filter: filter.to_owned(),
            number,
            words: filtered.words,
            tokens: filtered.tokens,
        }
    }

    pub(super) fn filtered(&self) -> Option<Filtered> {
        let number = self.number;
        let filter = match self.filter.as_str() {
            "no letter" => WordFilter::NoLetter,
            "short" => WordFilter::Short(number as usize),
            "rare" => WordFilter::Rare(number as u32),
            "frequent" => WordFilter::Frequent(number),
            "beyond" => WordFilter::Beyond(number as usize),
            list => WordFilter::StopWords(StopSet::list(list)?),
        };
        Some(Filtered {
            filter,
            words: self.words,
            tokens: self.tokens,
        })
    }
}

/// Filters a corpus; texts get their vocabulary by decreasing frequency.
pub(super) fn apply(
    path: &str,
    mut corpus: Corpus,
    format: CorpusFormat,
    options: &CorpusOptions,
) -> Result<(Corpus, Vec<Filtered>)> {
    let (tokens, documents) = frequencies(&corpus);
    let frequencies = (&tokens[..], &documents[..], corpus.documents.len());
    let (kept, removed) = decide(path, &corpus.vocabulary, frequencies, format, options)?;
    let words = std::mem::take(&mut corpus.vocabulary);
    let (places, vocabulary) = places(&kept, words);
    Ok((moved(corpus, &places, vocabulary), removed))
}

/// The words that are kept, in their new order, and what was removed; by how often each of them occurs, in how many documents, and
/// how many documents there are.
pub(super) fn decide(
    path: &str,
    words: &[String],
    (tokens, documents, number): (&[f64], &[u32], usize),
    format: CorpusFormat,
    options: &CorpusOptions,
) -> Result<(Vec<usize>, Vec<Filtered>)> {
    let text = format.is_text();
    let mut filter = Filter::new(tokens);
    filter.by_form(words, text, options);
    let least = options.min_docs;
    // Down to 1 nothing is dropped: words of a vocabulary file that never occur keep their places.
    if least > 1 {
        filter.drop(WordFilter::Rare(least), |word| documents[word] < least);
    }
    let fraction = options.max_docs_share;
    if fraction < 1.0 {
        let most = fraction * number as f64;
        let frequent = |word: usize| f64::from(documents[word]) > most;
        filter.drop(WordFilter::Frequent(fraction), frequent);
    }
    let mut kept = filter.kept();
    if text || options.max_vocabulary.is_some() {
        sort_by_frequency(&mut kept, tokens, words);
    }
    if let Some(most) = options.max_vocabulary {
        let mut beyond = vec![false; words.len()];
        for &word in kept.iter().skip(most) {
            beyond[word] = true;
        }
        filter.drop(WordFilter::Beyond(most), |word| beyond[word]);
        kept.truncate(most);
        if !text {
            kept.sort_unstable();
        }
    }
    if kept.iter().all(|&word| tokens[word] == 0.0) {
        return Err(no_words(path, tokens.iter().sum(), &filter.removed));
    }
    Ok((kept, filter.removed))
}

/// The place of each word, where it is kept, and those that are.
pub(super) fn places(kept: &[usize], mut words: Vec<String>) -> (Vec<Option<u32>>, Vec<String>) {
    let mut places = vec![None; words.len()];
    for (place, &word) in kept.iter().enumerate() {
        places[word] = Some(place as u32);
    }
    let vocabulary = kept.iter().map(|&word| std::mem::take(&mut words[word]));
    (places, vocabulary.collect())
}

/// A corpus of texts without the words that are dropped for what they are.
pub(super) fn by_form(corpus: Corpus, options: &CorpusOptions) -> Corpus {
    let (tokens, _) = frequencies(&corpus);
    let words = &corpus.vocabulary;
    let mut filter = Filter::new(&tokens);
    filter.by_form(words, true, options);
    let kept = filter.kept();
    let mut places = vec![None; words.len()];
    for (place, &word) in kept.iter().enumerate() {
        places[word] = Some(place as u32);
    }
    let vocabulary = kept.iter().map(|&word| words[word].clone()).collect();
    moved(corpus, &places, vocabulary)
}

/// The error of filters that left no word.
pub(crate) fn no_words(path: &str, tokens: f64, filtered: &[Filtered]) -> Error {
    // Reversed, so that of equals it is the first: the later ones saw less.
    let most = filtered.iter().rev();
    let found = match most.max_by(|a, b| a.tokens.total_cmp(&b.tokens)) {
        Some(most) => {
            let removed = format!(
                "{} of {tokens} tokens were {}",
                most.tokens,
                most.filter.kind()
            );
            format!("no words are left after filtering ({removed})")
        }
        None => "documents without a word".to_owned(),
    };
    let hints = filtered.iter().map(|filtered| filtered.filter.hint());
    Error::content(path, found, "at least one").with_hint(Hint::Any(hints.collect()))
}

/// The most frequent first, and of equals the first in the alphabet.
pub(super) fn sort_by_frequency(words: &mut [usize], tokens: &[f64], names: &[String]) {
    words.sort_by(|&a, &b| {
        let more = tokens[b].total_cmp(&tokens[a]);
        more.then_with(|| names[a].cmp(&names[b]))
    });
}

/// The words of the vocabulary that no document has.
pub(super) fn unseen(corpus: &Corpus) -> usize {
    let (_, documents) = frequencies(corpus);
    documents.iter().filter(|&&number| number == 0).count()
}

/// How often each word occurs, and in how many documents.
pub(super) fn frequencies(corpus: &Corpus) -> (Vec<f64>, Vec<u32>) {
    let mut tokens = vec![0.0; corpus.vocabulary.len()];
    let mut documents = vec![0; corpus.vocabulary.len()];
    for (&word, &count) in corpus.words.iter().zip(&corpus.counts) {
        tokens[word as usize] += f64::from(count);
        documents[word as usize] += 1;
    }
    (tokens, documents)
}

/// The corpus with each word in its new place, or without it; no two words have the same place.
pub(super) fn moved(corpus: Corpus, places: &[Option<u32>], vocabulary: Vec<String>) -> Corpus {
    let mut out = Corpus {
        vocabulary,
        starts: vec![0],
        words: Vec::with_capacity(corpus.words.len()),
        counts: Vec::with_capacity(corpus.words.len()),
        ..Corpus::default()
    };
    let mut own: Vec<(u32, f32)> = Vec::new();
    for document in 0..corpus.documents.len() {
        let (words, counts) = corpus.document(document);
        moved_pairs((words, counts), places, &mut own);
        out.words.extend(own.iter().map(|pair| pair.0));
        out.counts.extend(own.iter().map(|pair| pair.1));
        out.starts.push(out.words.len());
    }
    out.documents = corpus.documents;
    out
}

/// The words and counts of a document in their new places.
pub(super) fn moved_pairs(
    (words, counts): (&[u32], &[f32]),
    places: &[Option<u32>],
    own: &mut Vec<(u32, f32)>,
) {
    let pairs = words.iter().zip(counts);
    own.clear();
    own.extend(pairs.filter_map(|(&word, &count)| Some((places[word as usize]?, count))));
    own.sort_unstable_by_key(|pair| pair.0);
}

/// The filters so far.
pub(super) struct Filter<'a> {
    /// How often each word occurs.
    tokens: &'a [f64],
    dropped: Vec<bool>,
    /// What each removed.
    pub(super) removed: Vec<Filtered>,
}

impl<'a> Filter<'a> {
    pub(super) fn new(tokens: &'a [f64]) -> Self {
        Filter {
            tokens,
            dropped: vec![false; tokens.len()],
            removed: Vec::new(),
        }
    }

    /// Drops words for what they are; counts that come as such have chosen theirs, so that only stop
    /// words asked for by name apply.
    pub(super) fn by_form(&mut self, words: &[String], text: bool, options: &CorpusOptions) {
        let rules = options.tokens;
        if text && !rules.numbers {
            self.drop(WordFilter::NoLetter, |word| has_no_letter(&words[word]));
        }
        if text {
            let least = rules.min_length;
            self.drop(WordFilter::Short(least), |word| {
                is_short(&words[word], least)
            });
        }
        if let Some(stop) = StopSet::new(&options.stop_words, text) {
            let filter = WordFilter::StopWords(stop.name);
            self.drop(filter, |word| stop.contains(&words[word]));
        }
    }

    fn drop(&mut self, filter: WordFilter, drops: impl Fn(usize) -> bool) {
        let mut removed = Filtered {
            filter,
            words: 0,
            tokens: 0.0,
        };
        for word in 0..self.dropped.len() {
            if !self.dropped[word] && drops(word) {
                self.dropped[word] = true;
                removed.words += 1;
                removed.tokens += self.tokens[word];
            }
        }
        if removed.words > 0 {
            self.removed.push(removed);
        }
    }

    /// The words that are left, in their order.
    pub(super) fn kept(&self) -> Vec<usize> {
        let words = 0..self.dropped.len();
        words.filter(|&word| !self.dropped[word]).collect()
    }
}
