//! What a pass of a topic model costs as corpus and topics grow, and what the fit needs beside the corpus.

use std::sync::Arc;

use collapsar::topics::{Alpha, Beta, Corpus, Settings, Start, Topics};
use collapsar::{Direction, Driver, Stop};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use crate::{Failure, Words};

/// Unique words of a document, on average: as in 20 newsgroups.
const DOCUMENT: usize = 70;
/// Themes that documents are drawn from: words of a theme are neighbours in the vocabulary.
const THEMES: usize = 40;

pub(crate) fn run(words: &Words) -> Result<Value, Failure> {
    words.known(&[
        "entries",
        "vocabulary",
        "topics",
        "threads",
        "iterations",
        "seed",
    ])?;
    let entries: usize = words.get("entries", 100_000)?;
    let documents = (entries / DOCUMENT).max(2);
    let vocabulary: usize = words.get("vocabulary", documents.clamp(500, 50_000))?;
    let topics: usize = words.get("topics", 10)?;
    let iterations: u64 = words.get("iterations", 25)?;
    let threads: usize = words.get("threads", 1)?;
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()?;

    let corpus = Arc::new(draw(documents, vocabulary, words.get("seed", 1)?)?);
    let settings = Settings {
        alpha: Alpha::Symmetric(1.0 / topics as f64),
        beta: Beta::Given(0.1),
        ..Settings::new(topics)
    };
    let before = memory("VmRSS:")?;
    let model = Topics::new(Arc::clone(&corpus), &settings)?;
    let (start, passes) = model.start(Start::Annealed, 1)?;
    let began = processor_seconds()?;
    let fit = Driver::new(&model, Direction::Auto)
        .stop(Stop::Iterations(iterations))
        .run(start)?;
    let second = (processor_seconds()? - began) / fit.passes as f64;
    let peak = memory("VmHWM:")?;
    let numbers = (corpus.documents() + vocabulary) * topics;
    let products = corpus.entries() as f64 * topics as f64;
    Ok(json!({
        "documents": corpus.documents(), "vocabulary": vocabulary, "entries": corpus.entries(), "topics": topics,
        "threads": threads, "products": products, "passes": fit.passes + passes,
        "processor_seconds_a_pass": second, "nanoseconds_a_product": second / products * 1e9,
        "peak_over_corpus": peak.saturating_sub(before), "allowed": 8 * 8 * numbers,
        "numbers_of_eight": (peak.saturating_sub(before)) as f64 / (8 * numbers) as f64,
    }))
}

/// Documents of two themes each: words near the themes' own, and common ones by Zipf's law.
fn draw(documents: usize, vocabulary: usize, seed: u64) -> Result<Corpus, Failure> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut starts = vec![0];
    let (mut words, mut counts) = (vec![], vec![]);
    let themes = THEMES.min(vocabulary / 10).max(1);
    let zipf = |u: f64, most: usize| ((most as f64).powf(u) as usize).min(most) - 1;
    for _ in 0..documents {
        let own = [rng.random_range(0..themes), rng.random_range(0..themes)];
        let mut document = std::collections::BTreeMap::new();
        // A third of the tokens repeat a word.
        for _ in 0..DOCUMENT * 3 / 2 {
            let theme = own[usize::from(rng.random::<f64>() < 0.5)];
            let rank = zipf(rng.random(), vocabulary);
            let word = if rng.random::<f64>() < 0.3 {
                rank
            } else {
                (rank + theme * vocabulary / themes) % vocabulary
            };
            *document.entry(word as u32).or_insert(0.0_f32) += 1.0;
        }
        words.extend(document.keys());
        counts.extend(document.values());
        starts.push(words.len());
    }
    Ok(Corpus::new(starts, words, counts, vocabulary)?)
}

/// A line of what the system says of this process's memory, in bytes.
fn memory(line: &str) -> Result<usize, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let kilobytes = status
        .lines()
        .find_map(|text| text.strip_prefix(line))
        .and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<usize>().ok())
        .ok_or("the system does not tell the process's memory")?;
    Ok(kilobytes * 1024)
}

/// Processor time of this process so far, in steps of a hundredth of a second.
fn processor_seconds() -> Result<f64, Failure> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    // After the name, which may hold anything, in brackets: state is the first of the fields.
    let fields: Vec<&str> = text
        .rsplit(')')
        .next()
        .unwrap_or("")
        .split_whitespace()
        .collect();
    let ticks = |index: usize| {
        fields
            .get(index)
            .and_then(|field| field.parse::<f64>().ok())
    };
    let (user, system) = (ticks(11), ticks(12));
    let total = user
        .zip(system)
        .map(|(user, system)| (user + system) / 100.0);
    total.ok_or_else(|| "the system does not tell the process's time".into())
}
