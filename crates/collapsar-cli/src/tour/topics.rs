//! The second part of the tour: topics of a small corpus that the program makes up itself.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

use collapsar::topics::{Corpus, Ranking, Settings, Start, Topics, TopicsFit};
use collapsar::{Direction, Driver, Stop};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::common::Common;
use crate::text::{count, duration, table};

/// What documents are about.
const THEMES: [(&str, [&str; 12]); 4] = [
    (
        "sea",
        [
            "ship", "sailor", "storm", "harbour", "anchor", "wave", "captain", "sail", "tide",
            "island", "mast", "gull",
        ],
    ),
    (
        "kitchen",
        [
            "flour", "oven", "butter", "sugar", "dough", "recipe", "bowl", "salt", "bake", "spoon",
            "pepper", "onion",
        ],
    ),
    (
        "night sky",
        [
            "star",
            "planet",
            "orbit",
            "telescope",
            "comet",
            "galaxy",
            "moon",
            "eclipse",
            "meteor",
            "crater",
            "rocket",
            "lens",
        ],
    ),
    (
        "music",
        [
            "violin", "chord", "melody", "rhythm", "piano", "concert", "singer", "drum", "choir",
            "tempo", "flute", "opera",
        ],
    ),
];

/// Words that every document uses.
const FILLER: [&str; 12] = [
    "new", "old", "long", "small", "take", "give", "often", "never", "people", "time", "day",
    "place",
];

const DOCUMENTS: usize = 200;
/// Words of a document: few, so that none says for itself what the themes are.
const LENGTH: usize = 20;
/// Words of a topic that are printed.
const SHOWN: usize = 7;

/// Each word's place among the themes and the filler.
fn name(word: usize) -> &'static str {
    let all = THEMES.iter().flat_map(|(_, words)| words).chain(&FILLER);
    all.copied().nth(word).expect("a word of the corpus")
}

/// Documents of two themes each, one more than the other, and filler.
fn corpus(seed: u64) -> collapsar::Result<Arc<Corpus>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let size = THEMES[0].1.len();
    let vocabulary = size * THEMES.len() + FILLER.len();
    let (mut starts, mut words, mut counts) = (vec![0], Vec::new(), Vec::new());
    for document in 0..DOCUMENTS {
        let main = document % THEMES.len();
        let other = rng.random_range(0..THEMES.len());
        let mut times = vec![0.0_f32; vocabulary];
        for _ in 0..LENGTH {
            let word = match rng.random_range(0..10) {
                0..3 => size * THEMES.len() + rng.random_range(0..FILLER.len()),
                3..5 => size * other + rng.random_range(0..size),
                _ => size * main + rng.random_range(0..size),
            };
            times[word] += 1.0;
        }
        for (word, count) in times
            .into_iter()
            .enumerate()
            .filter(|(_, count)| *count > 0.0)
        {
            words.push(word as u32);
            counts.push(count);
        }
        starts.push(words.len());
    }
    Ok(Arc::new(Corpus::new(starts, words, counts, vocabulary)?))
}

/// Topics found in the corpus, next to the themes that it was made of.
pub(super) fn tour(common: &Common) -> collapsar::Result<String> {
    let began = Instant::now();
    let model = Topics::new(corpus(1)?, &Settings::new(THEMES.len()))?;
    let (start, passes) = model.start_unless(Start::Annealed, 0, common.interrupt)?;
    let tokens = model.corpus().tokens();
    let fit = Driver::new(&model, Direction::Auto)
        .stop(Stop::Gain(1e-7 * tokens) | Stop::Iterations(10_000))
        .interrupt(common.interrupt)
        .spent(passes)
        .run(start)?;
    let seconds = began.elapsed().as_secs_f64();
    let found = found(&model.fit(&fit.point));
    let size = THEMES[0].1.len();
    let mut text = format!(
        "\nTopics next: {DOCUMENTS} short texts that the program makes up, of {} themes with {size} words each and\n\
         {} more that all share. The fit is given the texts and the number of topics. It found\n\n",
        THEMES.len(),
        FILLER.len(),
    );
    let head = ["theme", "topic", "share", "words found"].map(String::from);
    let rows: Vec<Vec<String>> = THEMES
        .iter()
        .zip(&found)
        .map(|((theme, _), found)| {
            vec![
                (*theme).to_owned(),
                found.topic.to_string(),
                format!("{:.0} %", 100.0 * found.tokens / tokens),
                format!("{} of {size}", found.own),
            ]
        })
        .collect();
    // The words begin on the left and are no cells of the table therefore.
    let words = found.iter().map(|found| found.words.join(" "));
    let last = std::iter::once("foremost in the topic".to_owned()).chain(words);
    for (line, last) in table(&head, &rows).lines().zip(last) {
        writeln!(text, "{line}  {last}").expect("strings take all text");
    }
    writeln!(
        text,
        "\nin {} over the texts and {}, and its bound is {:.2} nats.",
        count(fit.passes as usize, "pass"),
        duration(seconds),
        fit.point.bound,
    )
    .expect("strings take all text");
    Ok(text)
}

/// A topic next to a theme.
struct Found {
    topic: usize,
    tokens: f64,
    words: Vec<&'static str>,
    /// How many of the theme's words are foremost in the topic.
    own: usize,
}

/// For each theme the topic that has most of its words.
fn found(fit: &TopicsFit) -> Vec<Found> {
    let tops = fit.top_words_of_all(THEMES[0].1.len(), Ranking::Relevance(0.6));
    let counts = fit.topic_counts();
    let names = |topic: usize| tops[topic].iter().map(|score| name(score.word));
    let best = |words: &[&str; 12]| {
        let own = |topic: usize| names(topic).filter(|name| words.contains(name)).count();
        let topic = (0..fit.topics).rev().max_by_key(|&topic| own(topic));
        let topic = topic.expect("at least one topic");
        Found {
            topic,
            tokens: counts[topic],
            words: names(topic).take(SHOWN).collect(),
            own: own(topic),
        }
    };
    THEMES.iter().map(|(_, words)| best(words)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_distinct() {
        let mut words: Vec<&str> = (0..60).map(name).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), 60);
    }

    #[test]
    fn every_theme_is_found() {
        let model = Topics::new(corpus(1).unwrap(), &Settings::new(THEMES.len())).unwrap();
        let (start, passes) = model.start(Start::Annealed, 0).unwrap();
        let driver = Driver::new(&model, Direction::Auto).spent(passes);
        let found = found(&model.fit(&driver.run(start).unwrap().point));
        let mut topics: Vec<usize> = found.iter().map(|found| found.topic).collect();
        topics.sort_unstable();
        assert_eq!(topics, [0, 1, 2, 3]);
        for found in &found {
            // Filler may push aside a word that chance left rare.
            assert!(found.own >= 10, "{:?}: {} of 12", found.words, found.own);
        }
    }
}
