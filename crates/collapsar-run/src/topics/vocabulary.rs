//! Words of many files as one vocabulary, counted file by file wherever the files are.

use std::collections::HashMap;
use std::path::Path;

use collapsar::Hint;
use collapsar_formats::CorpusOptions;

use super::corpus::{self, CorpusRequest, read_like};
use crate::error::{Error, Result};
use crate::record::name_of;

/// The words of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct WordCounts {
    /// How many documents it has.
    pub documents: u64,
    /// What its words are.
    pub kind: WordKind,
    /// The words, by their numbers where they have some.
    pub words: Vec<String>,
    /// How often each is there.
    pub tokens: Vec<f64>,
    /// In how many documents.
    pub documents_with: Vec<u64>,
}

/// What the words of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordKind {
    /// Found in texts.
    Texts,
    /// Numbers, which a file of words names.
    Named,
    /// Numbers without names.
    Numbers,
}

/// Which words of all files are kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WordFilters {
    /// Words in fewer documents are dropped.
    pub min_docs: u64,
    /// Words in more than this fraction of the documents are dropped.
    pub max_docs_share: f64,
    /// Only so many words are kept, the most frequent.
    pub max_vocabulary: Option<usize>,
}

impl Default for WordFilters {
    fn default() -> Self {
        Self {
            min_docs: 1,
            max_docs_share: 1.0,
            max_vocabulary: None,
        }
    }
}

/// Documents as workers take them: where each begins, its words, how often each.
pub type Bags = (Vec<usize>, Vec<u32>, Vec<f32>);

impl WordCounts {
    /// Counts the words of a file; words are dropped for what they are, not for how often they are there.
    pub fn read(request: CorpusRequest) -> Result<Self> {
        let data = request.read()?;
        let found = &data.corpus;
        let kind = match (data.report.format.is_text(), data.report.words_are_ids) {
            (true, _) => WordKind::Texts,
            (false, false) => WordKind::Named,
            (false, true) => WordKind::Numbers,
        };
        let mut tokens = vec![0.0; found.vocabulary.len()];
        let mut documents_with = vec![0; found.vocabulary.len()];
        for (&word, &count) in found.words.iter().zip(&found.counts) {
            tokens[word as usize] += f64::from(count);
            documents_with[word as usize] += 1;
        }
        Ok(Self {
            documents: found.documents.len() as u64,
            kind,
            tokens,
            documents_with,
            words: data.corpus.vocabulary,
        })
    }
}

/// The documents of a file in a vocabulary; words outside are left out.
pub fn read_bags(
    file: &Path,
    (vocabulary, ids_are_positions): (&[String], bool),
    options: &CorpusOptions,
) -> Result<Bags> {
    let known = (vocabulary, ids_are_positions);
    let (found, _) = read_like(file, known, options)?;
    let (mut starts, mut words, mut counts) = (vec![0], vec![], vec![]);
    for document in 0..found.documents.len() {
        // Words that a vocabulary has twice are one.
        for (word, count) in corpus::entries(&found, document) {
            words.push(word);
            counts.push(count);
        }
        starts.push(words.len());
    }
    Ok((starts, words, counts))
}

/// The vocabulary of all files, each with its name, and whether numbers of words in files of counts are positions in it.
///
/// Words of texts are in the order of one corpus: by decreasing count, and alphabetically where counts are equal.
pub fn common_vocabulary(
    files: Vec<(String, WordCounts)>,
    filters: WordFilters,
) -> Result<(Vec<String>, bool)> {
    let Some((first_name, first)) = files.first() else {
        return Err(Error::input("corpus", "no files", "at least one"));
    };
    let (first_name, kind) = (first_name.clone(), first.kind);
    if let Some((name, _)) = files.iter().find(|(_, file)| file.kind != kind) {
        let found = format!("not of the kind that {first_name} is");
        let expected = "all texts, all counts of named words, or all counts of numbers";
        return Err(Error::input(name, found, expected));
    }
    let documents: u64 = files.iter().map(|(_, file)| file.documents).sum();
    if kind == WordKind::Numbers && filters != WordFilters::default() {
        let found = "words are numbers without names";
        let error = Error::input(first_name, found, "names, where some words are dropped");
        return Err(error.with_hint(Hint::give("vocabulary")));
    }
    let mut all = Vocabulary::default();
    if kind == WordKind::Texts {
        for (_, file) in files {
            all.add_by_name(file);
        }
    } else {
        for (name, file) in files {
            all.add_by_number(file, kind == WordKind::Named)
                .map_err(|found| {
                    let expected = format!("the same words as {first_name} has");
                    Error::input(name, found, expected).with_hint(Hint::give("vocabulary"))
                })?;
        }
    }
    let sorted = kind == WordKind::Texts || filters.max_vocabulary.is_some();
    let count = all.words.len();
    let mut kept = all.kept(documents, filters, sorted);
    if kind != WordKind::Texts {
        kept.sort_unstable();
    }
    if kept.iter().all(|&word| all.tokens[word] == 0.0) {
        let error = Error::input(name_of(Path::new(&first_name)), "no words are left", "some");
        return Err(error.with_hint(Hint::lower("min_docs")));
    }
    let positions = kind != WordKind::Texts && kept.len() == count;
    let mut words = all.words;
    let names = kept.iter().map(|&word| std::mem::take(&mut words[word]));
    Ok((names.collect(), positions))
}

/// Words of several files.
#[derive(Default)]
struct Vocabulary {
    words: Vec<String>,
    tokens: Vec<f64>,
    documents_with: Vec<u64>,
    places: HashMap<String, usize>,
}

impl Vocabulary {
    fn add_by_name(&mut self, file: WordCounts) {
        let counts = file.tokens.into_iter().zip(file.documents_with);
        for (word, (tokens, documents)) in file.words.into_iter().zip(counts) {
            let place = *self.places.entry(word.clone()).or_insert_with(|| {
                self.words.push(word);
                self.tokens.push(0.0);
                self.documents_with.push(0);
                self.words.len() - 1
            });
            self.tokens[place] += tokens;
            self.documents_with[place] += documents;
        }
    }

    /// Words that are numbers must have the same names; a file without names may know fewer of them.
    fn add_by_number(&mut self, file: WordCounts, named: bool) -> std::result::Result<(), String> {
        let both = self.words.len().min(file.words.len());
        if named && !self.words.is_empty() && self.words.len() != file.words.len() {
            return Err(format!("{} words", file.words.len()));
        }
        if let Some(other) = (0..both).find(|&word| self.words[word] != file.words[word]) {
            return Err(format!("{:?} as word {}", file.words[other], other + 1));
        }
        if file.words.len() > both {
            self.words.extend_from_slice(&file.words[both..]);
            self.tokens.resize(file.words.len(), 0.0);
            self.documents_with.resize(file.words.len(), 0);
        }
        for (sum, tokens) in self.tokens.iter_mut().zip(file.tokens) {
            *sum += tokens;
        }
        for (sum, documents) in self.documents_with.iter_mut().zip(file.documents_with) {
            *sum += documents;
        }
        Ok(())
    }

    fn kept(&self, documents: u64, filters: WordFilters, sorted: bool) -> Vec<usize> {
        let most = filters.max_docs_share * documents as f64;
        let passes = |&word: &usize| {
            let with = self.documents_with[word];
            // Down to 1 nothing is dropped: words of a vocabulary file that never occur keep their places.
            let often = filters.min_docs <= 1 || with >= filters.min_docs;
            often && (filters.max_docs_share >= 1.0 || with as f64 <= most)
        };
        let mut kept: Vec<usize> = (0..self.words.len()).filter(passes).collect();
        if sorted {
            let key = |&word: &usize| (-self.tokens[word], &self.words[word]);
            kept.sort_by(|a, b| {
                let (a, b) = (key(a), key(b));
                a.0.total_cmp(&b.0).then_with(|| a.1.cmp(b.1))
            });
        }
        kept.truncate(filters.max_vocabulary.unwrap_or(usize::MAX));
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use collapsar_formats::read_corpus;

    fn request(file: &Path, options: &CorpusOptions) -> CorpusRequest {
        CorpusRequest {
            file: file.to_owned(),
            options: options.clone(),
            stop_words: None,
        }
    }

    #[test]
    fn texts_in_parts_have_the_vocabulary_of_one_corpus() {
        let folder = tempfile::tempdir().unwrap();
        let lines = [
            "the cat saw the dog",
            "a dog",
            "cats and dogs and a bird",
            "bird cat dog",
        ];
        let whole = folder.path().join("whole.txt");
        std::fs::write(&whole, lines.join("\n")).unwrap();
        let parts = [&lines[..1], &lines[1..3], &lines[3..]].map(|lines| {
            let path = folder.path().join(format!("{}.txt", lines[0].len()));
            std::fs::write(&path, lines.join("\n")).unwrap();
            path
        });
        let filters = [
            WordFilters::default(),
            WordFilters {
                min_docs: 2,
                ..WordFilters::default()
            },
            WordFilters {
                max_docs_share: 0.6,
                max_vocabulary: Some(2),
                ..WordFilters::default()
            },
        ];
        for filters in filters {
            let options = CorpusOptions {
                min_docs: filters.min_docs as u32,
                max_docs_share: filters.max_docs_share,
                max_vocabulary: filters.max_vocabulary,
                ..CorpusOptions::default()
            };
            let (expected, _) = read_corpus(&whole, &options).unwrap();
            let plain = CorpusOptions::default();
            let counted = |path: &std::path::PathBuf| {
                let counts = WordCounts::read(request(path, &plain)).unwrap();
                (path.display().to_string(), counts)
            };
            let files = parts.iter().map(counted).collect();
            let (words, positions) = common_vocabulary(files, filters).unwrap();
            assert_eq!(words, expected.vocabulary);
            assert!(!positions);
            let mut first = 0;
            for part in &parts {
                let (starts, words, counts) = read_bags(part, (&words, false), &plain).unwrap();
                for (document, ends) in starts.windows(2).enumerate() {
                    let own = (&words[ends[0]..ends[1]], &counts[ends[0]..ends[1]]);
                    assert_eq!(own, expected.document(first + document));
                }
                first += starts.len() - 1;
            }
            assert_eq!(first, lines.len());
        }
    }

    #[test]
    fn numbers_without_names_are_positions() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["1 0:2\n2 1:1 3:1\n", "1 5:2\n0\n"].map(|text| {
            let path = folder.path().join(format!("{}.ldac", text.len()));
            std::fs::write(&path, text).unwrap();
            path
        });
        let options = CorpusOptions::default();
        let files = || {
            let counted = |path: &std::path::PathBuf| {
                let counts = WordCounts::read(request(path, &options)).unwrap();
                (path.display().to_string(), counts)
            };
            paths.iter().map(counted).collect::<Vec<_>>()
        };
        let (words, positions) = common_vocabulary(files(), WordFilters::default()).unwrap();
        assert_eq!(words, ["0", "1", "2", "3", "4", "5"]);
        assert!(positions);
        let bags = read_bags(&paths[1], (&words, positions), &options).unwrap();
        assert_eq!(bags, (vec![0, 1, 1], vec![5], vec![2.0]));
        let fewer = WordFilters {
            min_docs: 2,
            ..WordFilters::default()
        };
        let error = common_vocabulary(files(), fewer).unwrap_err().to_string();
        assert!(error.contains("words are numbers without names"), "{error}");
        let text = folder.path().join("text.txt");
        std::fs::write(&text, "some words\n").unwrap();
        let mut mixed = files();
        let counts = WordCounts::read(request(&text, &options)).unwrap();
        mixed.push(("text.txt".into(), counts));
        let error = common_vocabulary(mixed, WordFilters::default()).unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with("text.txt: not of the kind"), "{error}");
    }

    #[test]
    fn files_that_name_their_words_otherwise_are_refused() {
        let counts = |words: &[&str]| WordCounts {
            documents: 3,
            kind: WordKind::Named,
            words: words.iter().map(ToString::to_string).collect(),
            tokens: vec![1.0; words.len()],
            documents_with: vec![1; words.len()],
        };
        let both = |words: &[&str], filters| {
            let files = vec![
                ("a".to_owned(), counts(&["x", "y"])),
                ("b".into(), counts(words)),
            ];
            common_vocabulary(files, filters).map_err(|error| error.to_string())
        };
        let all = WordFilters::default();
        assert_eq!(
            both(&["x", "y"], all),
            Ok((vec!["x".into(), "y".into()], true))
        );
        assert!(
            both(&["x", "z"], all)
                .unwrap_err()
                .starts_with("b: \"z\" as word 2")
        );
        assert!(both(&["x"], all).unwrap_err().starts_with("b: 1 words"));
        let two = WordFilters {
            max_vocabulary: Some(1),
            ..all
        };
        assert_eq!(both(&["x", "y"], two), Ok((vec!["x".into()], false)));
    }
}
