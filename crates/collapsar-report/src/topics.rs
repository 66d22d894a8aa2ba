//! The page of a topic model: the map, terms by relevance, shares.

use std::collections::BTreeMap;

use collapsar::elementary::Elementary;
use collapsar::topics::TopicsFit;
use collapsar_run::topics::SavedTopics;
use collapsar_text::thousands;
use serde_json::{Value, json};

use crate::error::Result;
use crate::fit::{facts, percent, verdict};
use crate::forest::Forest;
use crate::page::{Figure, Page, Part, Section, Table, cell, fact};
use crate::saved::SavedRun;
use crate::{chart, climb, documents, map, safe};

/// Terms that are shown of a topic.
const TERMS: usize = 30;
/// Steps of the slider from 0 to 1.
const STEPS: usize = 20;
/// Terms in the table and the names of topics.
const NAMED: usize = 3;

pub(crate) fn page(run: &SavedRun) -> Result<Page> {
    let saved = SavedTopics::read(&run.folder)?;
    let (fit, words) = (&saved.fit, saved.vocabulary());
    let terms = Terms::of(fit);
    let relevance = run.run.config.get("relevance").and_then(Value::as_f64);
    let relevance = relevance.unwrap_or(0.6).clamp(0.0, 1.0);
    let names = terms.names(relevance, words);
    let lead = format!(
        "{} topics of {} words, by {} tokens.",
        fit.topics,
        thousands(words.len()),
        thousands(terms.total as usize)
    );
    let mut page = Page::of(run, "Topics", lead);
    page.facts = facts(run);
    page.facts.push(fact("Topics", fit.topics));
    page.add(verdict(run));
    page.add(explorer(fit, &terms, words, &names, relevance));
    page.add(over_topics(fit, &terms, words));
    page.add(documents::typical(run, &names)?);
    page.add(shares(run)?);
    page.add(documents::quality(run)?);
    page.add(documents::correlations(run)?);
    page.add(documents::foreseen(run));
    if let Some(section) = climb::section(std::slice::from_ref(run))? {
        page.add(section);
    }
    page.apart.insert(
        "terms".to_owned(),
        (0..fit.topics)
            .map(|topic| terms.bars(topic, relevance, words))
            .collect(),
    );
    page.data
        .insert("topics".to_owned(), terms.data(words, &names));
    Ok(page)
}

/// Probabilities of words in topics and in all.
pub(crate) struct Terms {
    probabilities: Vec<f64>,
    /// Expected tokens of each word.
    counts: Vec<f64>,
    /// Expected tokens of each topic.
    tokens: Vec<f64>,
    total: f64,
}

impl Terms {
    pub(crate) fn of(fit: &TopicsFit) -> Self {
        let counts: Vec<f64> = fit
            .word_counts
            .chunks(fit.topics)
            .map(|row| row.iter().sum())
            .collect();
        Self {
            probabilities: fit.word_probabilities(),
            total: counts.iter().sum(),
            counts,
            tokens: fit.topic_counts(),
        }
    }

    fn row(&self, topic: usize) -> &[f64] {
        &self.probabilities[topic * self.counts.len()..(topic + 1) * self.counts.len()]
    }

    /// The most relevant words of a topic, as LDAvis defines relevance.
    fn top(&self, topic: usize, lambda: f64, most: usize) -> Vec<usize> {
        self.tops(topic, &[lambda], most).concat()
    }

    /// The same for several steps of the slider, with the logarithms of all.
    fn tops(&self, topic: usize, lambdas: &[f64], most: usize) -> Vec<Vec<usize>> {
        let row = self.row(topic);
        let logarithms: Vec<(f64, f64, usize)> = (0..row.len())
            .filter(|&word| self.counts[word] > 0.0)
            .map(|word| {
                (
                    row[word].ln_(),
                    (self.counts[word] / self.total).ln_(),
                    word,
                )
            })
            .collect();
        let first = |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        let of = |&lambda: &f64| {
            let scored = logarithms.iter();
            let scored = scored.map(|&(own, overall, word)| (own - (1.0 - lambda) * overall, word));
            let mut scored: Vec<(f64, usize)> = scored.collect();
            if scored.len() > most {
                scored.select_nth_unstable_by(most, first);
                scored.truncate(most);
            }
            scored.sort_by(first);
            scored.into_iter().map(|(_, word)| word).collect()
        };
        lambdas.iter().map(of).collect()
    }

    /// What topics are called: their most relevant words.
    pub(crate) fn names(&self, relevance: f64, words: &[String]) -> Vec<String> {
        let name = |topic: usize| {
            let top = self.top(topic, relevance, NAMED);
            let top: Vec<String> = top.iter().map(|&word| safe::name(&words[word])).collect();
            format!("{topic}: {}", top.join(", "))
        };
        (0..self.tokens.len()).map(name).collect()
    }

    /// The bars of a topic's most relevant words.
    pub(crate) fn bars(&self, topic: usize, relevance: f64, words: &[String]) -> Value {
        let top = self.top(topic, relevance, TERMS).into_iter().enumerate();
        let bars = top.map(|(rank, word)| {
            let inside = self.row(topic)[word] * self.tokens[topic];
            json!({"rank": rank, "word": safe::name(&words[word]), "inside": chart::rounded(inside),
                "overall": chart::rounded(self.counts[word].max(inside))})
        });
        bars.collect()
    }

    /// What the slider needs: for each topic the words that are among the first at any of its steps.
    fn data(&self, words: &[String], names: &[String]) -> Value {
        let (mut places, mut shown, mut counts) = (BTreeMap::new(), vec![], vec![]);
        let topics: Vec<Value> = (0..self.tokens.len())
            .map(|topic| {
                let steps: Vec<f64> = (0..=STEPS).map(|step| step as f64 / STEPS as f64).collect();
                let mut any = self.tops(topic, &steps, TERMS).concat();
                any.sort_unstable();
                any.dedup();
                let line = any.into_iter().map(|word| {
                    let place = *places.entry(word).or_insert_with(|| {
                        shown.push(&words[word]);
                        counts.push(chart::rounded(self.counts[word]));
                        shown.len() - 1
                    });
                    json!([place, self.row(topic)[word]])
                });
                line.collect()
            })
            .collect();
        json!({
            "names": names, "tokens": self.tokens, "total": self.total,
            "words": safe::names(&shown), "counts": counts, "terms": topics,
        })
    }
}

fn explorer(
    fit: &TopicsFit,
    terms: &Terms,
    words: &[String],
    names: &[String],
    relevance: f64,
) -> Section {
    let mut section = Section::new("map", "Topics and their terms");
    // Above both: on wide screens they are side by side.
    section.push(Part::Terms {
        lambda: (relevance * STEPS as f64).round() / STEPS as f64,
    });
    section.push(Part::Figure(map_figure(
        fit,
        terms,
        words,
        (names, relevance),
    )));
    section.push(Part::Figure(terms_figure()));
    section
}

/// Topics on a plane by how alike their words are.
pub(crate) fn map_figure(
    fit: &TopicsFit,
    terms: &Terms,
    words: &[String],
    (names, relevance): (&[String], f64),
) -> Figure {
    let distances = map::divergences(&terms.probabilities, words.len());
    let (places, share) = map::coordinates(&distances, fit.topics);
    let part = |topic: usize| terms.tokens[topic] / terms.total;
    let values: Vec<Value> = (0..fit.topics)
        .map(|topic| {
            let [x, y] = places[topic];
            json!({"x": chart::rounded(x), "y": chart::rounded(y), "share": chart::rounded(part(topic)),
                "topic": topic.to_string(), "place": topic, "terms": names[topic]})
        })
        .collect();
    let axis = |field: &str, title: &str| json!({"field": field, "type": "quantitative", "title": title, "scale": {"zero": false, "nice": false, "padding": 34}, "axis": {"labels": false, "ticks": false}});
    let (x, y) = (
        axis("x", "first principal coordinate"),
        axis("y", "second principal coordinate"),
    );
    let rows = (0..fit.topics).map(|topic| {
        let top: Vec<String> = terms
            .top(topic, relevance, 10)
            .iter()
            .map(|&word| safe::name(&words[word]))
            .collect();
        vec![
            topic.to_string(),
            percent(part(topic)),
            cell(places[topic][0]),
            cell(places[topic][1]),
            top.join(" "),
        ]
    });
    Figure {
        id: "map".into(),
        title: "Map of topics".into(),
        label: format!("Map of {} topics by how alike their words are", fit.topics),
        caption: format!(
            "Topics that use the same words are near: Jensen-Shannon divergences by classical scaling, of which the plane has {}. Areas are shares of tokens. A click on a topic shows its terms; so does the list above.",
            percent(share)
        ),
        table: Some(Table::new(
            "Topics",
            &["topic", "share", "x", "y", "terms"],
            rows,
            "topics.csv has all",
        )),
        spec: chart::layers(
            420,
            chart::values(values),
            json!([
                {"mark": {"type": "circle", "opacity": 0.45, "color": chart::colour(0), "cursor": "pointer"},
                 "encoding": {"x": x, "y": y,
                    "size": {"field": "share", "type": "quantitative", "scale": {"rangeMin": 60, "rangeMax": 2600}, "legend": null},
                    "tooltip": [{"field": "terms", "type": "nominal"}, {"field": "share", "type": "quantitative"}]}},
                {"mark": {"type": "text", "fontSize": 12, "cursor": "pointer"}, "encoding": {"x": x, "y": y, "text": {"field": "topic", "type": "nominal"}}},
            ]),
        ),
        choices: None,
    }
}

/// Bars of the terms of a topic, which has to be chosen.
pub(crate) fn terms_figure() -> Figure {
    let bar = |field: &str, colour: String, opacity: f64| {
        json!({"mark": {"type": "bar", "color": colour, "opacity": opacity}, "encoding": {
            // By a field: an axis keeps the order in which it first saw its words.
            "y": {"field": "word", "type": "nominal", "sort": {"field": "rank", "op": "min"}, "title": null},
            "x": {"field": field, "type": "quantitative", "title": "tokens"},
            "tooltip": [{"field": "word", "type": "nominal"}, {"field": "inside", "type": "quantitative", "title": "in the topic"}, {"field": "overall", "type": "quantitative", "title": "in all"}],
        }})
    };
    Figure {
        id: "terms".into(),
        title: "Terms".into(),
        label: format!("Bars of the {TERMS} most relevant terms of the topic chosen"),
        caption: "Strong: expected tokens of the term in the topic; faint: in all topics. With λ = 1 terms are those of the highest probability, with λ = 0 those that are found nearly only here.".into(),
        table: None,
        spec: chart::layers(
            chart::rows_height(TERMS, 18),
            json!({"name": "table"}),
            json!([bar("overall", chart::colour(5), 0.45), bar("inside", chart::colour(0), 1.0)]),
        ),
        choices: Some(vec![json!([])]),
    }
}

/// The words that tell most about topics, with how they are spread over them: what Termite shows.
fn over_topics(fit: &TopicsFit, terms: &Terms, words: &[String]) -> Section {
    const WORDS: usize = 30;
    const TOPICS: usize = 60;
    let mut section = Section::new("words", "Words over topics");
    let share: Vec<f64> = terms.tokens.iter().map(|n| n / terms.total).collect();
    // Saliency: how often a word is, times how far the topics of its tokens are from those of all.
    let saliency = |word: usize| -> f64 {
        let row = &fit.word_counts[word * fit.topics..(word + 1) * fit.topics];
        let count = terms.counts[word];
        let parts = row.iter().zip(&share).filter(|(n, _)| **n > 0.0);
        let apart: f64 = parts
            .map(|(n, share)| n / count * (n / count / share).ln_())
            .sum();
        count / terms.total * apart
    };
    let mut order: Vec<(f64, usize)> = (0..words.len())
        .filter(|&word| terms.counts[word] > 0.0)
        .map(|word| (saliency(word), word))
        .collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    order.truncate(WORDS);
    let shown = fit.topics.min(TOPICS);
    let names: Vec<&String> = order.iter().map(|(_, word)| &words[*word]).collect();
    let names = safe::names(&names);
    let mut values: Vec<Value> = vec![];
    for (name, (_, word)) in names.iter().zip(&order) {
        for topic in 0..shown {
            let tokens = fit.word_counts[word * fit.topics + topic];
            if tokens > 0.005 * terms.counts[*word] {
                values
                    .push(json!({"word": name, "topic": topic, "tokens": chart::rounded(tokens)}));
            }
        }
    }
    let rows = names.iter().zip(&order).map(|(name, (saliency, word))| {
        let row = &fit.word_counts[word * fit.topics..(word + 1) * fit.topics];
        let most = row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        let (topic, tokens) = most.map_or((0, 0.0), |(topic, tokens)| (topic, *tokens));
        vec![
            name.clone(),
            cell(terms.counts[*word]),
            topic.to_string(),
            percent(tokens / terms.counts[*word]),
            cell(*saliency),
        ]
    });
    let left_out = if fit.topics > shown {
        format!(" The first {shown} of {} topics are drawn.", fit.topics)
    } else {
        String::new()
    };
    section.push(Part::Figure(Figure {
        id: "words-topics".into(),
        title: String::new(),
        label: format!("Circles of the tokens of {} words in each topic", names.len()),
        caption: format!(
            "The {} words that tell most about topics (saliency), and in which topics their tokens are: areas are expected tokens.{left_out}",
            names.len()
        ),
        table: Some(Table::new(
            "Words and their main topics",
            &["word", "tokens", "main topic", "there", "saliency"],
            rows,
            "topics.csv has the words of all topics",
        )),
        spec: chart::plain(
            chart::rows_height(names.len(), 17),
            chart::values(values),
            json!({"type": "circle", "color": chart::colour(0), "opacity": 0.7}),
            json!({
                "x": {"field": "topic", "type": "ordinal", "axis": {"labelAngle": 0, "labelOverlap": true, "grid": true, "orient": "top"}},
                "y": {"field": "word", "type": "nominal", "sort": names, "title": null, "axis": {"grid": true}},
                "size": {"field": "tokens", "type": "quantitative", "scale": {"rangeMin": 4, "rangeMax": 300}, "legend": null},
                "tooltip": [{"field": "word"}, {"field": "topic"}, {"field": "tokens"}],
            }),
        ),
        choices: None,
    }));
    section
}

fn shares(run: &SavedRun) -> Result<Section> {
    let mut section = Section::new("shares", "Shares of topics");
    if run.written("posterior.csv").is_none() {
        return Ok(section);
    }
    let mut rows = run.posterior()?;
    rows.retain(|row| row.name.starts_with("share["));
    rows.sort_by(|a, b| b.mean.total_cmp(&a.mean));
    if rows.is_empty() {
        return Ok(section);
    }
    let forest = Forest {
        id: "shares-forest",
        beside: "run",
        title: "Shares of all tokens".into(),
        axis: "share",
        runs: vec![(run.name(), rows)],
        zero: true,
    };
    section.push(Part::Figure(forest.figure()));
    Ok(section)
}
