//! The files of a fit of topics.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;

use collapsar::topics::{DocumentScore, Ranking, TopicsFit, WordScore};
use collapsar_formats::{Corpus, read_excerpts, write_atomically};
use collapsar_text::quoted;
use serde_json::{Value, json};

use super::corpus::{self, CorpusData};
use super::saved::{self, About, Others};
use super::score::Members;
use super::{Held, TopicsResult, TopicsRun};
use crate::error::Result;
use crate::fit::DIAGNOSTICS;
use crate::folder::RunFolder;
use crate::record::{Record, header, merged, numbers};

/// Words of each topic in `topics.csv`, unless all are asked for.
pub(super) const WORDS: usize = 1000;

/// Typical documents of each topic in `topics_quality.csv` and `typical_documents.csv`, and how much of each is told.
const TYPICAL: usize = 5;
const LETTERS: usize = 300;

/// Writes the words that rank highest in each topic.
pub(super) fn write_words(
    out: &mut dyn Write,
    topics: &[Vec<WordScore>],
    vocabulary: &[String],
    relevance: f64,
) -> io::Result<()> {
    writeln!(out, "topic,word,rank,probability,relevance")?;
    for (topic, words) in topics.iter().enumerate() {
        for (word, rank) in words.iter().zip(1..) {
            let name = quoted(&vocabulary[word.word]);
            let probability = word.probability;
            let relevance = word.relevance(relevance);
            writeln!(out, "{topic},{name},{rank},{probability:?},{relevance:?}")?;
        }
    }
    Ok(())
}

impl TopicsRun<'_> {
    /// Writes all files of a run of a corpus that was read from a file; `doubts` are those of the result
    /// in words.
    ///
    /// # Panics
    /// Where the corpus was not read from a file.
    pub fn write(
        &self,
        folder: RunFolder,
        result: &TopicsResult,
        doubts: &[String],
        command: Vec<String>,
    ) -> Result<()> {
        let data = self.data.expect("a corpus with names");
        let told = self.told(result, data)?;
        let (fit, path) = (&result.fit, folder.path());
        let vocabulary = &data.corpus.vocabulary;
        self.save(&folder, result, data)?;
        write_atomically(&path.join("topics.csv"), |out| {
            let all = self.request.all_words.then_some(vocabulary.len());
            let words = fit.top_words_of_all(all.unwrap_or(WORDS), Ranking::Probability);
            write_words(out, &words, vocabulary, self.request.relevance)
        })?;
        if let (Some(model), Some(data)) = (&result.stored, &data.stored) {
            model.write_documents(path, &data.file, fit)?;
        } else {
            let proportions = self.proportions(fit)?;
            write_atomically(&path.join("documents.csv"), |out| {
                write_documents(out, &data.corpus, fit.topics, &proportions)
            })?;
            self.write_deviations(path, result, data)?;
        }
        write_atomically(&path.join("topics_quality.csv"), |out| {
            write_quality(out, result, &told)
        })?;
        write_atomically(&path.join("typical_documents.csv"), |out| {
            write_typical(out, data, &told)
        })?;
        write_atomically(&path.join("correlations.csv"), |out| {
            write_correlations(out, fit.topics, &told.correlations)
        })?;
        self.write_posterior(&folder, result)?;
        let converged = result.climbed.outcome.converged;
        let record = Record {
            command,
            config: self.config(),
            files: self.files(),
            seed: self.request.climb.seed,
            own: merged(
                result.posterior.record(converged),
                json!({
                    "topics": fit.topics,
                    "alpha": fit.alpha,
                    "beta": fit.beta,
                    "topic_tokens": fit.topic_counts(),
                    "corpus": corpus::record(data)?,
                    "documents": corpus::place(data),
                    "evaluation": result.score,
                    "held_out": self.held_out(data),
                    "compared": result.compared,
                    "warnings": doubts,
                }),
            ),
        };
        result.climbed.write(folder, record)
    }

    /// Shares of topics, those of documents' proportions that are asked for, and draws of both where there are any.
    fn write_posterior(&self, folder: &RunFolder, result: &TopicsResult) -> Result<()> {
        let (path, posterior) = (folder.path(), &result.posterior);
        let topics = result.fit.topics;
        let names = self.names(topics, posterior.rows.len());
        write_atomically(&path.join("posterior.csv"), |out| {
            write!(out, "name,mean,sd,q2.5,median,q97.5")?;
            if posterior.chains.is_some() {
                write!(out, ",{}", DIAGNOSTICS.join(","))?;
            }
            writeln!(out)?;
            for (place, (name, row)) in names.iter().zip(&posterior.rows).enumerate() {
                let (name, mean, sd) = (quoted(name), row.mean, row.sd);
                let [low, median, high] = row.quantiles;
                write!(out, "{name},{mean:?},{sd:?},{low:?},{median:?},{high:?}")?;
                for cell in posterior.diagnostics(place).into_iter().flatten() {
                    let cell = cell.map(|number| format!("{number:?}"));
                    write!(out, ",{}", cell.unwrap_or_default())?;
                }
                writeln!(out)?;
            }
            Ok(())
        })?;
        let Some((draws, _)) = &posterior.chains else {
            return Ok(());
        };
        let written = write_atomically(&path.join("draws.csv"), |out| {
            let first = ["chain".to_owned(), "draw".to_owned()];
            let columns: Vec<String> = first.into_iter().chain(names).collect();
            header(out, &columns)?;
            for (chain, columns) in draws.chains.iter().enumerate() {
                for draw in 0..columns.first().map_or(0, Vec::len) {
                    write!(out, "{},{},", chain + 1, draw + 1)?;
                    numbers(out, columns.iter().map(|of| of[draw]))?;
                }
            }
            Ok(())
        });
        Ok(written?)
    }

    /// Deviations of documents' proportions.
    fn write_deviations(
        &self,
        path: &Path,
        result: &TopicsResult,
        data: &CorpusData,
    ) -> Result<()> {
        let (posterior, topics) = (&result.posterior, result.fit.topics);
        Ok(write_atomically(&path.join("documents_sd.csv"), |out| {
            write_topics(out, "document", topics)?;
            for (fitted, row) in posterior.proportion_sds.chunks(topics).enumerate() {
                let name = &data.corpus.documents[self.held.place(fitted)];
                write!(out, "{}", quoted(name))?;
                write_row(out, row)?;
            }
            Ok(())
        })?)
    }

    /// What several files tell of documents.
    fn told(&self, result: &TopicsResult, data: &CorpusData) -> Result<Told> {
        let fit = &result.fit;
        let (mut typical, correlations) = match &result.stored {
            Some(model) => (model.typical_documents(TYPICAL)?, model.correlations()?),
            None => (
                fit.typical_documents_of_all(TYPICAL),
                fit.topic_correlations(),
            ),
        };
        for (quality, documents) in result.quality.topics.iter().zip(&mut typical) {
            // Without a token of the topic a document does not show it, though no other may.
            documents.retain(|score| quality.used() && score.tokens >= 1.0);
            for score in documents {
                score.document = self.held.place(score.document);
            }
        }
        let documents = typical.iter().flatten().map(|score| score.document);
        let names = data.names_of(&documents.collect())?;
        Ok(Told {
            typical,
            names,
            correlations,
        })
    }

    /// The fit itself, and those whose predictions are averaged.
    fn save(&self, folder: &RunFolder, result: &TopicsResult, data: &CorpusData) -> Result<()> {
        let write = |path: &Path, bound: f64, fit: &TopicsFit| {
            let training = (self.training.documents(), self.training.tokens());
            let about = About::new(data, training, bound);
            let vocabulary = &data.corpus.vocabulary;
            write_atomically(path, |out| saved::write_to(out, &about, vocabulary, fit))
        };
        let (best, bound) = (
            saved::best(folder.path()),
            result.climbed.best().point.bound,
        );
        write(&best, bound, &result.fit)?;
        let place = |which, number| saved::other(folder.path(), which, number);
        for (member, fit) in result.average.others() {
            write(&place(Others::Average, member.seed)?, member.bound, fit)?;
        }
        if let Members::Draws(draws) = Members::of(&result.average, &result.posterior) {
            for (draw, number) in draws.iter().zip(1..) {
                write(&place(Others::Draws, number)?, bound, draw)?;
            }
        }
        Ok(())
    }

    /// The documents that were held out, by name.
    fn held_out(&self, data: &CorpusData) -> Value {
        let Held::Out(holdout) = &self.held else {
            return Value::Null;
        };
        let names = holdout.held.iter().map(|&d| &data.corpus.documents[d]);
        json!(names.collect::<Vec<_>>())
    }

    /// Proportions of every document of the corpus: as fitted, or inferred where it was held out.
    fn proportions(&self, fit: &TopicsFit) -> collapsar::Result<Vec<f64>> {
        let topics = fit.topics;
        let fitted = (0..fit.documents()).map(|document| fit.proportions(document));
        let Held::Out(holdout) = &self.held else {
            return Ok(fitted.flatten().collect());
        };
        let mut all = vec![0.0; (holdout.kept.len() + holdout.held.len()) * topics];
        let inferred = fit.infer(&holdout.halves.whole)?.proportions;
        let inferred = inferred.chunks(topics).map(<[f64]>::to_vec);
        let places = holdout.kept.iter().zip(fitted);
        for (&document, row) in places.chain(holdout.held.iter().zip(inferred)) {
            all[document * topics..(document + 1) * topics].copy_from_slice(&row);
        }
        Ok(all)
    }
}

/// What several files tell of documents.
struct Told {
    /// The documents that show each topic best, by their places in the corpus.
    typical: Vec<Vec<DocumentScore>>,
    /// Their names.
    names: BTreeMap<usize, String>,
    /// How topics go together over documents.
    correlations: Vec<f64>,
}

/// The topics, a row each, with how good they are and the documents that show them best.
fn write_quality(out: &mut dyn Write, result: &TopicsResult, told: &Told) -> io::Result<()> {
    writeln!(
        out,
        "topic,share,tokens,alpha,npmi,umass,exclusivity,documents"
    )?;
    for (topic, quality) in result.quality.topics.iter().enumerate() {
        // Of a topic that is not used, all that follows is said of the prior.
        let used = quality.used();
        let coherence = quality.coherence.filter(|_| used);
        let number = |x: Option<f64>| x.map(|x| format!("{:?}", x as f32)).unwrap_or_default();
        let documents = told.typical[topic].iter();
        let names: Vec<&str> = documents
            .map(|score| told.names[&score.document].as_str())
            .collect();
        writeln!(
            out,
            "{topic},{:?},{:?},{:?},{},{},{},{}",
            quality.proportion as f32,
            quality.tokens as f32,
            result.fit.alpha[topic] as f32,
            number(coherence.map(|coherence| coherence.npmi)),
            number(coherence.map(|coherence| coherence.umass)),
            number(used.then_some(quality.exclusivity)),
            quoted(&names.join(" | "))
        )?;
    }
    Ok(())
}

/// The documents that show each topic best, a row each, with how they begin where the corpus is one of texts.
fn write_typical(out: &mut dyn Write, data: &CorpusData, told: &Told) -> io::Result<()> {
    let wanted: BTreeSet<usize> = told.names.keys().copied().collect();
    let (file, options) = (&data.request.file, &data.request.options);
    // The fit does not hang on what can no longer be read.
    let texts = read_excerpts(file, options, &wanted, LETTERS).unwrap_or_default();
    writeln!(out, "topic,rank,document,proportion,tokens,text")?;
    for (topic, documents) in told.typical.iter().enumerate() {
        for (score, rank) in documents.iter().zip(1..) {
            let name = quoted(&told.names[&score.document]);
            let (proportion, tokens) = (score.proportion as f32, score.tokens as f32);
            let text = texts.get(&score.document).map_or("", String::as_str);
            let text = quoted(text);
            writeln!(
                out,
                "{topic},{rank},{name},{proportion:?},{tokens:?},{text}"
            )?;
        }
    }
    Ok(())
}

/// `first`, and the names of the topics.
pub(super) fn write_topics(out: &mut dyn Write, first: &str, topics: usize) -> io::Result<()> {
    write!(out, "{first}")?;
    (0..topics).try_for_each(|topic| write!(out, ",topic_{topic}"))?;
    writeln!(out)
}

/// Numbers after what a line begins with; seven digits, which is more than any of them is worth.
pub(super) fn write_row(out: &mut dyn Write, numbers: &[f64]) -> io::Result<()> {
    let mut numbers = numbers.iter();
    numbers.try_for_each(|x| write!(out, ",{:?}", *x as f32))?;
    writeln!(out)
}

/// How topics go together over documents, a row and a column for each.
fn write_correlations(out: &mut dyn Write, topics: usize, square: &[f64]) -> io::Result<()> {
    write_topics(out, "topic", topics)?;
    for (topic, row) in square.chunks(topics).enumerate() {
        write!(out, "{topic}")?;
        write_row(out, row)?;
    }
    Ok(())
}

/// Documents with their numbers of words and their proportions as CSV.
pub fn write_documents(
    out: &mut dyn Write,
    corpus: &Corpus,
    topics: usize,
    proportions: &[f64],
) -> io::Result<()> {
    write_topics(out, "document,words", topics)?;
    for (index, row) in proportions.chunks(topics).enumerate() {
        let (_, counts) = corpus.document(index);
        write_document(out, &corpus.documents[index], counts, row)?;
    }
    Ok(())
}

/// A document with how often it has words.
pub(super) fn write_document(
    out: &mut dyn Write,
    name: &str,
    counts: &[f32],
    proportions: &[f64],
) -> io::Result<()> {
    // Not sum(), whose zero is negative.
    let counts = counts.iter().map(|&count| f64::from(count));
    let words = counts.fold(0.0, |sum, count| sum + count);
    write!(out, "{},{words}", quoted(name))?;
    write_row(out, proportions)
}
