//! Vega-Lite specifications of fits in memory: the pictures of pages, complete with data and colours.

use collapsar::mixture::MixtureFit;
use collapsar::topics::TopicsFit;
use serde_json::{Value, json};

use crate::figures::standalone;
use crate::forest::Forest;
use crate::page::Figure;
use crate::saved::Row;
use crate::topics::{Terms, map_figure, terms_figure};
use crate::{draws, mixture};

/// What is known of a number.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// What it is called.
    pub name: String,
    /// Its posterior mean.
    pub mean: f64,
    /// 2.5%, 50% and 97.5%.
    pub quantiles: [f64; 3],
}

/// Intervals, one below the other.
pub fn forest(intervals: &[Interval]) -> Value {
    let rows = intervals.iter().map(|interval| Row {
        name: interval.name.clone(),
        mean: interval.mean,
        sd: f64::NAN,
        quantiles: interval.quantiles,
        r_hat: None,
        ess: None,
    });
    let forest = Forest {
        id: "forest",
        beside: "posterior",
        title: String::new(),
        axis: "value",
        runs: vec![(String::new(), rows.collect())],
        zero: false,
    };
    whole(&forest.figure())
}

/// The density of a number's draws, for each chain.
pub fn density(name: &str, chains: &[Vec<f64>]) -> Value {
    whole(&draws::density(name, chains))
}

/// Rows of these columns, row-major, on a plane, with an ellipse for each component; `labels` are their components.
pub fn mixture(fit: &MixtureFit, values: &[f64], labels: &[usize], columns: &[String]) -> Value {
    let used = mixture::in_use(fit);
    whole(&mixture::cloud(values, &|row| labels[row], columns, &used))
}

/// Components without rows: an ellipse for each on a plane, or the densities of one column.
pub fn components(fit: &MixtureFit, columns: &[String]) -> Value {
    whole(&mixture::components(columns, &mixture::in_use(fit)))
}

/// Topics on a plane by how alike their words are.
pub fn topics(fit: &TopicsFit, words: &[String], relevance: f64) -> Value {
    let terms = Terms::of(fit);
    let names = terms.names(relevance, words);
    whole(&map_figure(fit, &terms, words, (&names, relevance)))
}

/// Bars of the most relevant words of a topic.
pub fn terms(fit: &TopicsFit, words: &[String], (topic, relevance): (usize, f64)) -> Value {
    let mut figure = terms_figure();
    let bars = Terms::of(fit).bars(topic, relevance, words);
    figure.spec["data"] = json!({"name": "table", "values": bars});
    whole(&figure)
}

fn whole(figure: &Figure) -> Value {
    standalone(&figure.spec, &figure.label)
}
