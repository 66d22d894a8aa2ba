//! The files of a fit, each of which appears whole or not at all.

use std::io::{self, Write};
use std::path::Path;

use collapsar::topics::Ranking;
use collapsar_formats::write_atomically;
use serde_json::json;

use super::args::FitArgs;
use super::config::{Config, Held, files};
use super::corpus::{self, Data};
use super::fit::Fitted;
use super::saved::{self, About, FILE, Saved};
use crate::text::quoted;

/// Words of each topic in `topics.csv`, unless all are asked for.
const WORDS: usize = 1000;

/// Typical documents of each topic in `topics_quality.csv`.
const TYPICAL: usize = 5;

pub(crate) fn write(
    folder: &Path,
    args: &FitArgs,
    config: &Config,
    data: &Data,
    fitted: &Fitted,
) -> anyhow::Result<()> {
    let (ended, answer) = (&fitted.ended, &fitted.answer);
    let bound = ended.best().point.bound;
    let about = About {
        version: env!("CARGO_PKG_VERSION").into(),
        documents: config.training.documents(),
        tokens: config.training.tokens(),
        bound,
        min_length: data.tokens.min_length,
        keep_numbers: data.tokens.numbers,
        ids_are_positions: data.ids_are_positions(),
    };
    let vocabulary = &data.corpus.vocabulary;
    let proportions = proportions(config, fitted)?;
    // Those of an earlier run go first: at no time are fits of different runs taken for one average.
    saved::clear_others(folder, fitted.average.others().count() > 0)?;
    write_atomically(&folder.join(FILE), |out| {
        Saved::write(&about, vocabulary, answer, out)
    })?;
    for (member, fit) in fitted.average.others() {
        let about = About {
            bound: member.bound,
            ..about.clone()
        };
        write_atomically(&saved::other(folder, member.seed), |out| {
            Saved::write(&about, vocabulary, fit, out)
        })?;
    }
    let number = if args.all_words {
        vocabulary.len()
    } else {
        WORDS
    };
    write_atomically(&folder.join("topics.csv"), |out| {
        writeln!(out, "topic,word,rank,probability,relevance")?;
        let words = answer.top_words_of_all(number, Ranking::Probability);
        for (topic, words) in words.iter().enumerate() {
            for (place, word) in words.iter().enumerate() {
                writeln!(
                    out,
                    "{topic},{},{},{:?},{:?}",
                    quoted(&vocabulary[word.word]),
                    place + 1,
                    word.probability,
                    word.relevance(args.relevance)
                )?;
            }
        }
        Ok(())
    })?;
    write_atomically(&folder.join("documents.csv"), |out| {
        documents(out, &data.corpus, answer.topics, &proportions)
    })?;
    write_atomically(&folder.join("topics_quality.csv"), |out| {
        qualities(out, config, data, fitted)
    })?;
    write_atomically(&folder.join("correlations.csv"), |out| {
        correlations(out, answer.topics, &answer.topic_correlations())
    })?;
    let own = [
        ("topics", json!(answer.topics)),
        ("alpha", json!(answer.alpha)),
        ("beta", json!(answer.beta)),
        ("topic_tokens", json!(answer.topic_counts())),
        ("corpus", corpus::record(data)),
        ("evaluation", json!(fitted.score)),
        ("held_out", held_out(config, data)),
        ("compared", json!(fitted.compared)),
        ("warnings", json!(fitted.warnings)),
    ];
    let files = files(args, data);
    ended.write(folder, config.record(args), &files, config.plan.seed, own)
}

/// The documents that were held out, by name.
fn held_out(config: &Config, data: &Data) -> serde_json::Value {
    match &config.held {
        Held::Out(holdout) => {
            let names = holdout.held.iter().map(|&d| &data.corpus.documents[d]);
            json!(names.collect::<Vec<_>>())
        }
        _ => json!(null),
    }
}

/// Proportions of every document of the corpus: as fitted, or inferred where it was held out.
fn proportions(config: &Config, fitted: &Fitted) -> collapsar::Result<Vec<f64>> {
    let answer = &fitted.answer;
    let topics = answer.topics;
    let fit = (0..answer.documents()).map(|document| answer.proportions(document));
    let Held::Out(holdout) = &config.held else {
        return Ok(fit.flatten().collect());
    };
    let mut all = vec![0.0; (holdout.kept.len() + holdout.held.len()) * topics];
    let inferred = answer.infer(&holdout.halves.whole)?.proportions;
    let inferred = inferred.chunks(topics).map(<[f64]>::to_vec);
    let places = holdout.kept.iter().zip(fit);
    for (&document, row) in places.chain(holdout.held.iter().zip(inferred)) {
        all[document * topics..(document + 1) * topics].copy_from_slice(&row);
    }
    Ok(all)
}

/// The topics, a row each, with how good they are and the documents that show them best.
fn qualities(out: &mut dyn Write, config: &Config, data: &Data, fitted: &Fitted) -> io::Result<()> {
    let answer = &fitted.answer;
    writeln!(
        out,
        "topic,share,tokens,alpha,npmi,umass,exclusivity,documents"
    )?;
    let typical = answer.typical_documents_of_all(TYPICAL);
    for (topic, quality) in fitted.quality.topics.iter().enumerate() {
        // Of a topic that is not used, all that follows is said of the prior.
        let used = quality.used();
        let coherence = quality.coherence.filter(|_| used);
        let number = |x: Option<f64>| x.map(|x| format!("{:?}", x as f32)).unwrap_or_default();
        let names: Vec<&str> = typical[topic]
            .iter()
            // Without a token of the topic a document does not show it, though no other may.
            .filter(|score| used && score.tokens >= 1.0)
            .map(|score| data.corpus.documents[config.held.place(score.document)].as_str())
            .collect();
        writeln!(
            out,
            "{topic},{:?},{:?},{:?},{},{},{},{}",
            quality.proportion as f32,
            quality.tokens as f32,
            answer.alpha[topic] as f32,
            number(coherence.map(|coherence| coherence.npmi)),
            number(coherence.map(|coherence| coherence.umass)),
            number(used.then_some(quality.exclusivity)),
            quoted(&names.join(" | "))
        )?;
    }
    Ok(())
}

/// How topics go together over documents, a row and a column for each.
fn correlations(out: &mut dyn Write, topics: usize, square: &[f64]) -> io::Result<()> {
    write!(out, "topic")?;
    for topic in 0..topics {
        write!(out, ",topic_{topic}")?;
    }
    writeln!(out)?;
    for (topic, row) in square.chunks(topics).enumerate() {
        write!(out, "{topic}")?;
        for rho in row {
            write!(out, ",{:?}", *rho as f32)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Documents with their proportions as CSV; seven digits, which is more than any of them is worth.
pub(crate) fn documents(
    out: &mut dyn Write,
    corpus: &collapsar_formats::Corpus,
    topics: usize,
    proportions: &[f64],
) -> io::Result<()> {
    write!(out, "document,words")?;
    for topic in 0..topics {
        write!(out, ",topic_{topic}")?;
    }
    writeln!(out)?;
    for (index, row) in proportions.chunks(topics).enumerate() {
        let (_, counts) = corpus.document(index);
        // Not sum(), whose zero is negative.
        let words = counts
            .iter()
            .fold(0.0, |sum, &count| sum + f64::from(count));
        write!(out, "{},{words}", quoted(&corpus.documents[index]))?;
        for p in row {
            write!(out, ",{:?}", *p as f32)?;
        }
        writeln!(out)?;
    }
    Ok(())
}
