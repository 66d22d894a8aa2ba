//! `topics.json`: a fit on disk, which whoever reads it must not have to trust.
//!
//! Few words have a share in many topics, so a word's line lists the topics in which it is expected at
//! all, and a model of 17,000 words and 50 topics is a few megabytes that `grep` can read.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use collapsar::topics::TopicsFit;
use collapsar_formats::TokenOptions;
use serde::{Deserialize, Serialize};

pub(crate) const FILE: &str = "topics.json";

/// Where the other fits of an average are, in a folder of results.
const AVERAGE: &str = "average";

/// Expected counts below this are left out: they would change a probability by less than its
/// uncertainty by far, and are most of what a fit has.
const LEAST: f64 = 1e-6;

/// Priors that the library takes.
const PRIORS: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// A fit with its vocabulary.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Saved {
    pub(crate) about: About,
    pub(crate) vocabulary: Vec<String>,
    /// Without documents.
    pub(crate) fit: TopicsFit,
}

/// What the file begins with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct About {
    /// The version of the program that wrote it.
    pub(crate) version: String,
    /// How many documents and tokens were fitted.
    pub(crate) documents: usize,
    pub(crate) tokens: f64,
    /// A lower bound on ln p(documents).
    pub(crate) bound: f64,
    /// What a word of a text is.
    pub(crate) min_length: usize,
    pub(crate) keep_numbers: bool,
    /// Whether the numbers of words in a corpus of counts are positions in the vocabulary.
    pub(crate) ids_are_positions: bool,
}

/// The file.
#[derive(Deserialize)]
struct Stored {
    #[serde(flatten)]
    about: About,
    topics: usize,
    alpha: Vec<f64>,
    beta: f64,
    /// Each word with the topics that it is expected in, and how often.
    words: Vec<(String, Vec<(usize, f64)>)>,
}

impl Saved {
    pub(crate) fn tokens(&self) -> TokenOptions {
        TokenOptions {
            min_length: self.about.min_length,
            numbers: self.about.keep_numbers,
            ..TokenOptions::default()
        }
    }

    pub(crate) fn write(
        about: &About,
        vocabulary: &[String],
        fit: &TopicsFit,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let head = serde_json::to_string_pretty(about)?;
        // The head's closing brace comes last; a word a line in between.
        writeln!(out, "{},", head.trim_end_matches(['}', '\n']))?;
        writeln!(out, "  \"topics\": {},", fit.topics)?;
        writeln!(out, "  \"alpha\": {},", serde_json::to_string(&fit.alpha)?)?;
        writeln!(out, "  \"beta\": {},", serde_json::to_string(&fit.beta)?)?;
        writeln!(out, "  \"words\": [")?;
        let mut between = "";
        for (word, row) in vocabulary.iter().zip(fit.word_counts.chunks(fit.topics)) {
            let counts: Vec<(usize, f64)> = row
                .iter()
                .copied()
                .enumerate()
                .filter(|&(_, count)| count >= LEAST)
                .collect();
            write!(out, "{between}    ")?;
            serde_json::to_writer(&mut *out, &(word, counts))?;
            between = ",\n";
        }
        writeln!(out, "\n  ]\n}}")
    }

    /// Reads the fit in a folder.
    pub(crate) fn read(folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join(FILE);
        if !path.is_file() {
            bail!(
                "{}: no {FILE} there, expected a folder written by collapsar topics --out",
                folder.display()
            );
        }
        Self::read_file(&path)
    }

    /// Reads the other fits of an average in a folder, of which this one is the best.
    pub(crate) fn others(&self, folder: &Path) -> anyhow::Result<Vec<TopicsFit>> {
        let mut fits = Vec::new();
        for (_, path) in others(folder)? {
            let other = Self::read_file(&path)?;
            if other.vocabulary != self.vocabulary {
                bail!(
                    "{}: of another vocabulary, expected that of {FILE} as in a folder written by one run",
                    path.display()
                );
            }
            fits.push(other.fit);
        }
        Ok(fits)
    }

    fn read_file(path: &Path) -> anyhow::Result<Self> {
        let name = path.display();
        let text = fs::read(path).map_err(|cause| anyhow!("{name}: {cause}"))?;
        let damaged = |cause: String| {
            anyhow!(
                "{name}: damaged or no fit ({cause}), expected a file written by collapsar topics --out"
            )
        };
        let stored: Stored =
            serde_json::from_slice(&text).map_err(|cause| damaged(cause.to_string()))?;
        stored.check().map_err(damaged)
    }
}

/// A file for the other fit of an average with this seed.
pub(crate) fn other(folder: &Path, seed: u64) -> PathBuf {
    folder.join(AVERAGE).join(format!("topics-{seed}.json"))
}

/// Makes room for the other fits of an average: those of an earlier run into the folder go.
pub(crate) fn clear_others(folder: &Path, needed: bool) -> anyhow::Result<()> {
    let place = folder.join(AVERAGE);
    let refused = |cause: io::Error| anyhow!("{}: {cause}", place.display());
    for (_, path) in others(folder)? {
        fs::remove_file(path).map_err(refused)?;
    }
    if needed {
        fs::create_dir_all(&place).map_err(refused)?;
    } else {
        // Stays where there is anything else in it.
        let _ = fs::remove_dir(&place);
    }
    Ok(())
}

/// Files of the other fits of an average in a folder, in the order of their seeds.
fn others(folder: &Path) -> anyhow::Result<Vec<(u64, PathBuf)>> {
    let place = folder.join(AVERAGE);
    if !place.is_dir() {
        return Ok(Vec::new());
    }
    let refused = |cause: io::Error| anyhow!("{}: {cause}", place.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(&place).map_err(refused)? {
        let path = entry.map_err(refused)?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let seed = name.and_then(|name| name.strip_prefix("topics-")?.strip_suffix(".json"));
        if let Some(seed) = seed.and_then(|seed| seed.parse().ok()) {
            files.push((seed, path));
        }
    }
    files.sort();
    Ok(files)
}

impl Stored {
    /// The fit, with sizes and signs that the library takes for granted.
    fn check(self) -> Result<Saved, String> {
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
        Ok(Saved {
            about: self.about,
            vocabulary,
            fit: TopicsFit {
                topics,
                alpha: self.alpha,
                beta: self.beta,
                word_counts,
                document_counts: Vec::new(),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved() -> Saved {
        Saved {
            about: About {
                version: "0.1.0".into(),
                documents: 3,
                tokens: 12.0,
                bound: -17.25,
                min_length: 2,
                keep_numbers: true,
                ids_are_positions: false,
            },
            vocabulary: ["a\"}", "b,c", "unseen"].map(String::from).to_vec(),
            fit: TopicsFit {
                topics: 2,
                alpha: vec![0.1, 1.0 / 3.0],
                beta: 1e-5,
                word_counts: vec![1.0 / 3.0, 0.0, 1e-300_f64.max(2.5), 9.1, 0.0, 0.0],
                document_counts: vec![],
            },
        }
    }

    fn text(saved: &Saved) -> String {
        let mut bytes = Vec::new();
        Saved::write(&saved.about, &saved.vocabulary, &saved.fit, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    fn read(text: &str) -> Result<Saved, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), text).unwrap();
        Saved::read(folder.path()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_fit_returns() {
        let saved = saved();
        assert_eq!(read(&text(&saved)), Ok(saved));
    }

    #[test]
    fn next_to_nothing_is_left_out() {
        let mut small = saved();
        small.fit.word_counts[1] = 1e-9;
        assert_eq!(read(&text(&small)), Ok(saved()));
    }

    #[test]
    fn nothing_is_trusted() {
        let whole = text(&saved());
        let refused = |from: &str, to: &str| {
            assert!(whole.contains(from), "{from}");
            read(&whole.replacen(from, to, 1)).unwrap_err()
        };
        for (from, to, cause) in [
            ("\"topics\": 2", "\"topics\": 3", "alpha of 2 for 3 topics"),
            ("\"topics\": 2", "\"topics\": 0", "no topics"),
            ("[0.1,", "[0.0,", "a prior of 0"),
            ("[0.1,", "[-0.1,", "a prior of -0.1"),
            ("0.00001", "1e300", "a prior of 1"),
            ("[1,9.1]", "[2,9.1]", "in topic 2 of 2"),
            ("[1,9.1]", "[0,9.1]", "twice in topic 0"),
            ("[1,9.1]", "[1,-9.1]", "with a count of -9.1"),
            ("[1,9.1]", "[1,null]", "invalid type: null"),
            ("[1,9.1]", "[1,1e999]", "number out of range"),
            ("[1,9.1]", "[-1,9.1]", "invalid value"),
            ("unseen", "b,c", "word \"b,c\" twice"),
            ("\"words\"", "\"sword\"", "missing field `words`"),
        ] {
            let text = refused(from, to);
            assert!(text.contains(cause), "{from} to {to}: {text}");
            assert!(text.contains("damaged or no fit ("), "{text}");
        }
        for end in 0..whole.len() - 2 {
            assert!(read(&whole[..end]).is_err(), "cut after {end} bytes");
        }
    }
}
