//! Decides which words are dropped, in which order, and what is said of it.

use crate::error::{Error, Result};

use super::Corpus;
use super::options::{CorpusFormat, CorpusOptions};
use super::stop::StopSet;
use super::tokens::{has_no_letter, is_short};

/// What one filter removed.
#[derive(Debug, Clone, PartialEq)]
pub struct Filtered {
    /// What the words were, as in `stop words (english)` and `in fewer than 5 documents`.
    pub filter: String,
    /// How many different words.
    pub words: usize,
    /// How often they occurred in all.
    pub tokens: f64,
}

/// Filters a corpus; texts get their vocabulary by decreasing frequency.
pub(super) fn apply(
    path: &str,
    corpus: Corpus,
    format: CorpusFormat,
    options: &CorpusOptions,
) -> Result<(Corpus, Vec<Filtered>)> {
    let text = format.is_text();
    let (tokens, documents) = frequencies(&corpus);
    let words = &corpus.vocabulary;
    let mut filter = Filter::new(&tokens);
    filter.by_form(words, text, options);
    let least = options.min_docs;
    // Down to 1 nothing is dropped: words of a vocabulary file that never occur keep their places.
    if least > 1 {
        let label = format!("in fewer than {least} documents");
        filter.drop(&label, "a lower --min-docs", |word| documents[word] < least);
    }
    let share = options.max_docs_share;
    if share < 1.0 {
        let most = share * corpus.documents.len() as f64;
        let label = format!("in more than {}% of the documents", percent(share));
        let hint = "a higher --max-docs-share";
        filter.drop(&label, hint, |word| f64::from(documents[word]) > most);
    }
    let by_frequency = |a: &usize, b: &usize| {
        let more = tokens[*b].total_cmp(&tokens[*a]);
        more.then_with(|| words[*a].cmp(&words[*b]))
    };
    let mut kept = filter.kept();
    if text || options.max_vocabulary.is_some() {
        kept.sort_by(by_frequency);
    }
    if let Some(most) = options.max_vocabulary {
        let mut beyond = vec![false; words.len()];
        for &word in kept.iter().skip(most) {
            beyond[word] = true;
        }
        let label = format!("not among the {most} most frequent");
        filter.drop(&label, "a higher --max-vocabulary", |word| beyond[word]);
        kept.truncate(most);
        if !text {
            kept.sort_unstable();
        }
    }
    if kept.iter().all(|&word| tokens[word] == 0.0) {
        return Err(filter.nothing_left(path));
    }
    let removed = filter.removed.into_iter().map(|(filtered, _)| filtered);
    let removed = removed.collect();
    let mut places = vec![None; words.len()];
    for (place, &word) in kept.iter().enumerate() {
        places[word] = Some(place as u32);
    }
    let vocabulary = kept.iter().map(|&word| words[word].clone()).collect();
    Ok((moved(corpus, &places, vocabulary), removed))
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
        documents: Vec::new(),
        vocabulary,
        starts: Vec::with_capacity(corpus.starts.len()),
        words: Vec::with_capacity(corpus.words.len()),
        counts: Vec::with_capacity(corpus.words.len()),
    };
    out.starts.push(0);
    let mut own: Vec<(u32, f32)> = Vec::new();
    for document in 0..corpus.documents.len() {
        let (words, counts) = corpus.document(document);
        let pairs = words.iter().zip(counts);
        own.clear();
        own.extend(pairs.filter_map(|(&word, &count)| Some((places[word as usize]?, count))));
        own.sort_unstable_by_key(|pair| pair.0);
        out.words.extend(own.iter().map(|pair| pair.0));
        out.counts.extend(own.iter().map(|pair| pair.1));
        out.starts.push(out.words.len());
    }
    out.documents = corpus.documents;
    out
}

/// The filters so far.
pub(super) struct Filter<'a> {
    /// How often each word occurs.
    tokens: &'a [f64],
    dropped: Vec<bool>,
    /// What each removed, and what would bring it back.
    pub(super) removed: Vec<(Filtered, String)>,
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
            self.drop("without a letter", "--keep-numbers", |word| {
                has_no_letter(&words[word])
            });
        }
        if text {
            let label = format!("shorter than {} letters", rules.min_length);
            self.drop(&label, "a lower --min-length", |word| {
                is_short(&words[word], rules.min_length)
            });
        }
        if let Some(stop) = StopSet::new(&options.stop_words, text) {
            self.drop(stop.label, "--stop-words none", |word| {
                stop.contains(&words[word])
            });
        }
    }

    pub(super) fn drop(&mut self, filter: &str, hint: &str, drops: impl Fn(usize) -> bool) {
        let mut removed = Filtered {
            filter: filter.to_owned(),
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
            self.removed.push((removed, hint.to_owned()));
        }
    }

    /// The words that are left, in their order.
    pub(super) fn kept(&self) -> Vec<usize> {
        let words = 0..self.dropped.len();
        words.filter(|&word| !self.dropped[word]).collect()
    }

    fn nothing_left(&self, path: &str) -> Error {
        // The first of equals: the later ones saw less.
        let most =
            self.removed
                .iter()
                .fold(None, |most: Option<&Filtered>, (next, _)| match most {
                    Some(most) if most.tokens >= next.tokens => Some(most),
                    _ => Some(next),
                });
        let hints: Vec<&str> = self.removed.iter().map(|(_, hint)| hint.as_str()).collect();
        Error::NoWords {
            path: path.to_owned(),
            filter: most.map(|filtered| {
                // The label in brackets would stand in brackets.
                let label = filtered.filter.split(" (").next().unwrap_or_default();
                (label.to_owned(), filtered.tokens)
            }),
            tokens: self.tokens.iter().sum(),
            hint: (!hints.is_empty()).then(|| hints.join(" or ")),
        }
    }
}

/// A share in percent, to a few digits.
fn percent(share: f64) -> f64 {
    (share * 1e6).round() / 1e4
}
