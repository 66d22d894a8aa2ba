//! The second part of the tour: topics of a small corpus that the program makes up itself.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use collapsar::topics::{Corpus, Ranking, Settings, Start, Topics};
use collapsar::{Direction, Driver, Fit, Stop};
use collapsar_reproduce::corpus_of;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::text::{count, duration, table};

/// What documents are about, and the words of each theme.
#[rustfmt::skip]
const THEMES: [(&str, &str); 4] = [
    ("sea", "ship sailor storm harbour anchor wave captain sail tide island mast gull"),
    ("kitchen", "flour oven butter sugar dough recipe bowl salt bake spoon pepper onion"),
    ("night sky", "star planet orbit telescope comet galaxy moon eclipse meteor crater rocket lens"),
    ("music", "violin chord melody rhythm piano concert singer drum choir tempo flute opera"),
];
/// Words that every document uses.
const FILLER: &str = "new old long small take give often never people time day place";
/// Words of a theme, and of the filler.
const SIZE: usize = 12;

const DOCUMENTS: usize = 200;
/// Words of a document: few, so that none says for itself what the themes are.
const LENGTH: usize = 20;
/// Words of a topic that are printed.
const SHOWN: usize = 7;

/// The vocabulary: theme by theme, then the filler.
fn vocabulary() -> Vec<&'static str> {
    let themes = THEMES.iter().map(|(_, words)| *words);
    let all = themes.chain([FILLER]);
    all.flat_map(str::split_whitespace).collect()
}

/// Documents of two themes each, one more than the other, and filler.
fn corpus(seed: u64) -> collapsar::Result<Arc<Corpus>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let filler = THEMES.len();
    let corpus = corpus_of(SIZE * (filler + 1), DOCUMENTS, |document, counts| {
        let (main, other) = (document % filler, rng.random_range(0..filler));
        for _ in 0..LENGTH {
            let theme = match rng.random_range(0..10) {
                0..3 => filler,
                3..5 => other,
                _ => main,
            };
            counts[SIZE * theme + rng.random_range(0..SIZE)] += 1.0;
        }
    })?;
    Ok(Arc::new(corpus))
}

/// A topic next to a theme.
struct Found {
    topic: usize,
    /// The proportion of all tokens that are of this topic.
    proportion: f64,
    words: Vec<&'static str>,
    /// How many of the theme's words are foremost in the topic.
    own: usize,
}

/// Fits the texts; for each theme the topic that has most of its words.
fn find(interrupt: &AtomicBool) -> collapsar::Result<(Fit, Vec<Found>)> {
    let model = Topics::new(corpus(1)?, &Settings::new(THEMES.len()))?;
    let (start, passes) = model.start_unless(Start::Annealed, 0, interrupt)?;
    let tokens = model.corpus().tokens();
    let climb = Driver::new(&model, Direction::Auto)
        .stop(Stop::Gain(1e-7 * tokens) | Stop::Iterations(10_000))
        .interrupt(interrupt)
        .spent(passes)
        .run(start)?;
    let fit = model.fit(&climb.point);
    let (names, counts) = (vocabulary(), fit.topic_counts());
    let tops = fit.top_words_of_all(SIZE, Ranking::Relevance(0.6));
    let words = |topic: usize| tops[topic].iter().map(|score| names[score.word]);
    let best = |theme: usize| {
        let theme = &names[SIZE * theme..][..SIZE];
        let own = |topic: usize| words(topic).filter(|word| theme.contains(word)).count();
        let topic = (0..fit.topics).rev().max_by_key(|&topic| own(topic));
        let topic = topic.expect("at least one topic");
        Found {
            topic,
            proportion: counts[topic] / tokens,
            words: words(topic).take(SHOWN).collect(),
            own: own(topic),
        }
    };
    let found = (0..THEMES.len()).map(best).collect();
    Ok((climb, found))
}

/// Topics found in the corpus, next to the themes that it was made of.
pub(super) fn tour(interrupt: &AtomicBool) -> collapsar::Result<String> {
    let began = Instant::now();
    let (fit, found) = find(interrupt)?;
    let seconds = began.elapsed().as_secs_f64();
    let head = ["theme", "topic", "share", "words found"];
    let themes = THEMES.iter().zip(&found);
    let rows = themes.map(|((theme, _), found)| {
        vec![
            (*theme).to_owned(),
            found.topic.to_string(),
            format!("{:.0} %", 100.0 * found.proportion),
            format!("{} of {SIZE}", found.own),
        ]
    });
    // The words begin on the left and are no cells of the table therefore.
    let words = found.iter().map(|found| found.words.join(" "));
    let last = std::iter::once("foremost in the topic".to_owned()).chain(words);
    let lines = table(0, &head, rows);
    let lines = lines.lines().zip(last);
    let lines = lines.map(|(line, last)| format!("{line}  {last}\n"));
    Ok(format!(
        "\nTopics next: {DOCUMENTS} short texts that the program makes up, of {} themes with {SIZE} words each and\n\
         {SIZE} more that all share. The fit is given the texts and the number of topics. It found\n\n\
         {}\n\
         in {} over the texts and {}, and its bound is {:.2} nats.\n",
        THEMES.len(),
        lines.collect::<String>(),
        count(fit.passes as usize, "pass"),
        duration(seconds),
        fit.point.bound,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_distinct() {
        let mut words = vocabulary();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), 60);
    }

    #[test]
    fn every_theme_is_found() {
        let (_, found) = find(&AtomicBool::new(false)).unwrap();
        let mut topics: Vec<usize> = found.iter().map(|found| found.topic).collect();
        topics.sort_unstable();
        assert_eq!(topics, [0, 1, 2, 3]);
        for found in &found {
            // Filler may push aside a word that chance left rare.
            assert!(found.own >= 10, "{:?}: {} of 12", found.words, found.own);
        }
    }
}
