//! `topics.json`: a fit on disk, which whoever reads it must not have to trust.
//!
//! Few words belong to many topics, so a word's line lists the topics in which it is expected at
//! all, and a model of 17,000 words and 50 topics is a few megabytes that `grep` can read.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use collapsar::topics::{BatchScore, TopicsFit};
use collapsar_formats::{Corpus, CorpusOptions, OutOfVocabulary, TokenOptions};
use serde::{Deserialize, Serialize};

use super::corpus::{CorpusData, Halves, Known, library, read_like};
use super::score::{Members, Score};
use crate::error::{Error, Result};
use crate::record::SavedFile;

const FILE: SavedFile = SavedFile {
    name: "topics.json",
    command: "topics",
};

/// Other fits in the folder of a run, whose predictions are averaged.
#[derive(Clone, Copy)]
pub(super) enum Others {
    /// From other starts, by their seeds.
    Average,
    /// Draws whose mean the fit is, by their order.
    Draws,
}

impl Others {
    const ALL: [Self; 2] = [Self::Average, Self::Draws];

    /// Where they are.
    fn folder(self) -> &'static str {
        match self {
            Self::Average => "average",
            Self::Draws => "draws",
        }
    }
}

/// Expected counts below this are left out: they would change a probability by less than its
/// uncertainty by far, and are most of what a fit has.
const LEAST: f64 = 1e-6;

/// Priors that the library takes.
const PRIORS: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// A fit with its vocabulary.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedTopics {
    about: About,
    vocabulary: Vec<String>,
    /// The fit, without documents.
    pub fit: TopicsFit,
}

/// New documents under a fit.
pub struct Inferred {
    /// The documents, with the words that the fit knows.
    pub corpus: Corpus,
    /// What was found while reading them, with the words that it does not know.
    pub outside: OutOfVocabulary,
    /// Their proportions, row by row.
    pub proportions: Vec<f64>,
}

/// What the file begins with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct About {
    /// The version of the program that wrote it.
    version: String,
    /// How many documents and tokens were fitted.
    documents: usize,
    tokens: f64,
    /// A lower bound on ln p(documents).
    bound: f64,
    /// What a word of a text is.
    min_length: usize,
    keep_numbers: bool,
    /// Whether the numbers of words in a corpus of counts are positions in the vocabulary.
    ids_are_positions: bool,
}

impl About {
    /// Of texts that were read batch by batch.
    pub(super) fn of_texts(tokens: TokenOptions, documents: usize, score: BatchScore) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            documents,
            tokens: score.tokens,
            bound: score.bound,
            min_length: tokens.min_length,
            keep_numbers: tokens.numbers,
            ids_are_positions: false,
        }
    }

    /// Of so many documents with so many tokens, whose words were counted before.
    pub(super) fn of_counts(
        (documents, tokens, bound): (usize, f64, f64),
        ids_are_positions: bool,
    ) -> Self {
        let words = TokenOptions::default();
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            documents,
            tokens,
            bound,
            min_length: words.min_length,
            keep_numbers: words.numbers,
            ids_are_positions,
        }
    }

    pub(super) fn new(data: &CorpusData, (documents, tokens): (usize, f64), bound: f64) -> Self {
        let words = data.request.options.tokens;
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            documents,
            tokens,
            bound,
            min_length: words.min_length,
            keep_numbers: words.numbers,
            ids_are_positions: data.ids_are_positions(),
        }
    }
}

/// The file.
#[derive(Deserialize)]
struct Stored {
    #[serde(flatten)]
    about: About,
    topics: usize,
    alpha: Vec<f64>,
    beta: f64,
    /// Whether counts are means over exact draws.
    #[serde(default)]
    drawn: bool,
    /// Each word with the topics that it is expected in, and how often.
    words: Vec<(String, Vec<(usize, f64)>)>,
}

impl SavedTopics {
    /// Reads the fit in a folder.
    pub fn read(folder: &Path) -> Result<Self> {
        Self::read_file(&FILE.find(folder)?)
    }

    /// The words, in the order of the fit's.
    pub fn vocabulary(&self) -> &[String] {
        &self.vocabulary
    }

    /// What new documents are about; those without any word that the fit knows get the prior's proportions.
    pub fn infer(&self, file: &Path, options: CorpusOptions) -> Result<Inferred> {
        let (corpus, outside) = read_like(file, self.known(), &self.options(options))?;
        let proportions = if corpus.words.is_empty() {
            // The library refuses a corpus without words; here it means the prior everywhere.
            let alpha = &self.fit.alpha;
            let sum: f64 = alpha.iter().sum();
            let prior: Vec<f64> = alpha.iter().map(|a| a / sum).collect();
            prior.repeat(corpus.documents.len())
        } else {
            self.fit.infer(&library(&corpus)?)?.proportions
        };
        Ok(Inferred {
            corpus,
            outside,
            proportions,
        })
    }

    /// Reads documents whose halves are in two files.
    pub fn halves(&self, files: &[PathBuf; 2], options: CorpusOptions) -> Result<Halves> {
        Halves::read(files, self.known(), &self.options(options))
    }

    fn known(&self) -> Known<'_> {
        (&self.vocabulary, self.about.ids_are_positions)
    }

    /// How well the fit foresees documents, or the mean of an average that it is one of, or that of its draws.
    pub fn score(&self, folder: &Path, halves: &Halves) -> Result<Score> {
        let draws = self.read_others(folder, Others::Draws)?;
        if !draws.is_empty() {
            return Ok(Score::new(&self.fit, &Members::Draws(&draws), halves)?);
        }
        let mut all = vec![self.fit.clone()];
        all.extend(self.read_others(folder, Others::Average)?);
        Ok(Score::new(&self.fit, &Members::Starts(&all), halves)?)
    }

    fn read_others(&self, folder: &Path, which: Others) -> Result<Vec<TopicsFit>> {
        let mut all = Vec::new();
        for (_, path) in listed(folder, which)? {
            let other = Self::read_file(&path)?;
            if other.vocabulary != self.vocabulary {
                return Err(Error::input(
                    path.display().to_string(),
                    "of another vocabulary",
                    "that of topics.json as in a folder written by one run",
                ));
            }
            all.push(other.fit);
        }
        Ok(all)
    }

    /// Words of texts are what they were in the fit.
    fn options(&self, options: CorpusOptions) -> CorpusOptions {
        CorpusOptions {
            tokens: TokenOptions {
                min_length: self.about.min_length,
                numbers: self.about.keep_numbers,
                ..TokenOptions::default()
            },
            ..options
        }
    }

    fn read_file(path: &Path) -> Result<Self> {
        let stored: Stored = FILE.read(path)?;
        stored.check().map_err(|cause| FILE.damaged(path, &cause))
    }
}

/// Writes a fit, a word a line.
pub(super) fn write_to(
    out: &mut dyn Write,
    about: &About,
    vocabulary: &[String],
    fit: &TopicsFit,
) -> io::Result<()> {
    let head = serde_json::to_string_pretty(about)?;
    // The head's closing brace comes last; a word a line in between.
    writeln!(out, "{},", head.trim_end_matches(['}', '\n']))?;
    writeln!(out, "  \"topics\": {},", fit.topics)?;
    writeln!(out, "  \"alpha\": {},", serde_json::to_string(&fit.alpha)?)?;
    writeln!(out, "  \"beta\": {},", serde_json::to_string(&fit.beta)?)?;
    writeln!(out, "  \"drawn\": {},", fit.drawn)?;
    writeln!(out, "  \"words\": [")?;
    let mut between = "";
    for (word, row) in vocabulary.iter().zip(fit.word_counts.chunks(fit.topics)) {
        let mut counts: Vec<(usize, f64)> = row.iter().copied().enumerate().collect();
        counts.retain(|&(_, count)| count >= LEAST);
        write!(out, "{between}    ")?;
        serde_json::to_writer(&mut *out, &(word, counts))?;
        between = ",\n";
    }
    writeln!(out, "\n  ]\n}}")
}

/// The file of the best fit.
pub(super) fn best(folder: &Path) -> PathBuf {
    folder.join(FILE.name)
}

/// A file for the other fit with this number.
pub(super) fn other(folder: &Path, which: Others, number: u64) -> Result<PathBuf> {
    let place = folder.join(which.folder());
    collapsar_formats::prepare_folder(&place)?;
    Ok(place.join(format!("topics-{number}.json")))
}

/// Files of all other fits in a folder.
pub(crate) fn others(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for which in Others::ALL {
        files.extend(listed(folder, which)?.into_iter().map(|(_, file)| file));
    }
    Ok(files)
}

/// Files of other fits in a folder, in the order of their numbers.
fn listed(folder: &Path, which: Others) -> Result<Vec<(u64, PathBuf)>> {
    let place = folder.join(which.folder());
    if !place.is_dir() {
        return Ok(Vec::new());
    }
    let refused = |error: io::Error| collapsar_formats::Error::file(&place, &error);
    let mut files = Vec::new();
    for entry in fs::read_dir(&place).map_err(refused)? {
        let path = entry.map_err(refused)?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let number = name.and_then(|name| name.strip_prefix("topics-")?.strip_suffix(".json"));
        if let Some(number) = number.and_then(|number| number.parse().ok()) {
            files.push((number, path));
        }
    }
    files.sort();
    Ok(files)
}

impl Stored {
    /// The fit, with sizes and signs that the library takes for granted.
    fn check(self) -> std::result::Result<SavedTopics, String> {
        let topics = self.topics;
        if topics == 0 || self.words.is_empty() {
            return Err("no topics or no words".into());
        }
        if self.alpha.len() != topics {
            return Err(format!("alpha of {} for {topics} topics", self.alpha.len()));
        }
        let priors = self.alpha.iter().chain([&self.beta]);
        if let Some(wrong) = priors.into_iter().find(|prior| !PRIORS.contains(prior)) {
            return Err(format!("a prior of {wrong}"));
        }
        let size = topics.checked_mul(self.words.len());
        let mut word_counts = Vec::new();
        let room = size.filter(|&size| word_counts.try_reserve_exact(size).is_ok());
        let size = room.ok_or("more topics and words than memory")?;
        word_counts.resize(size, 0.0);
        let mut vocabulary = Vec::with_capacity(self.words.len());
        for (index, (word, counts)) in self.words.into_iter().enumerate() {
            let row = &mut word_counts[index * topics..(index + 1) * topics];
            for (topic, count) in counts {
                if !(count > 0.0 && count.is_finite()) {
                    return Err(format!("word {word:?} with a count of {count}"));
                }
                match row.get_mut(topic) {
                    Some(place) if *place == 0.0 => *place = count,
                    Some(_) => return Err(format!("word {word:?} twice in topic {topic}")),
                    None => return Err(format!("word {word:?} in topic {topic} of {topics}")),
                }
            }
            vocabulary.push(word);
        }
        let mut sorted: Vec<&String> = vocabulary.iter().collect();
        sorted.sort_unstable();
        if let Some([word, _]) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("word {word:?} twice"));
        }
        Ok(SavedTopics {
            about: self.about,
            vocabulary,
            fit: TopicsFit {
                topics,
                alpha: self.alpha,
                beta: self.beta,
                word_counts,
                document_counts: Vec::new(),
                drawn: self.drawn,
            },
        })
    }
}

#[cfg(test)]
mod tests;
