//! Topics beyond their words: quality, typical documents, how they go together, and how well they foresee.

use collapsar_formats::read_table;
use collapsar_text::count;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::Result;
use crate::page::{Figure, Part, Section, Table, cell};
use crate::saved::{SavedRun, damaged, json_lines, records};
use crate::{chart, safe};

/// Topics that are drawn one beside the other at most.
const TOPICS: usize = 60;

/// Coherence and exclusivity of each topic.
pub(crate) fn quality(run: &SavedRun) -> Result<Section> {
    let mut section = Section::new("quality", "How good are the topics?");
    let Some(file) = run.written("topics_quality.csv") else {
        return Ok(section);
    };
    let lines = records(&file, b',')?;
    let head = lines.first().cloned().unwrap_or_default();
    let place = |name: &str| head.iter().position(|cell| cell == name);
    let [Some(share), Some(npmi), Some(umass), Some(exclusivity)] =
        ["share", "npmi", "umass", "exclusivity"].map(place)
    else {
        return Err(damaged(&file, "not the columns of topics"));
    };
    let number = |line: &[String], at: usize| -> Option<f64> { line.get(at)?.parse().ok() };
    let mut values: Vec<Value> = vec![];
    for (topic, line) in lines.iter().skip(1).enumerate().take(TOPICS) {
        for (measure, at) in [("NPMI coherence", npmi), ("exclusivity", exclusivity)] {
            if let Some(value) = number(line, at) {
                values.push(
                    json!({"topic": topic, "measure": measure, "value": chart::rounded(value)}),
                );
            }
        }
    }
    if values.is_empty() {
        return Ok(section);
    }
    let of = |line: &[String], at| number(line, at).map_or_else(|| "–".into(), cell);
    let rows = lines.iter().skip(1).enumerate().map(|(topic, line)| {
        let mut row = vec![topic.to_string()];
        row.extend([share, npmi, umass, exclusivity].map(|at| of(line, at)));
        row
    });
    let order = ["NPMI coherence", "exclusivity"];
    section.push(Part::Figure(Figure {
        id: "quality-topics".into(),
        title: String::new(),
        label: "Coherence and exclusivity of each topic".into(),
        caption: format!(
            "Coherence (NPMI, −1 to 1) says how a topic's ten most probable words meet in documents; exclusivity (to 1) how far they are its own. More is better, and low values of both mark topics not to be read into.{}",
            first(lines.len() - 1)
        ),
        table: Some(Table::new(
            "Measures of topics",
            &["topic", "share", "NPMI", "UMass", "exclusivity"],
            rows,
            "topics_quality.csv has all",
        )),
        spec: chart::plain(
            240,
            chart::values(values),
            json!({"type": "point", "filled": true, "size": 60, "opacity": 1}),
            json!({
                "x": {"field": "topic", "type": "ordinal", "axis": {"labelAngle": 0, "labelOverlap": true, "grid": true}},
                "y": {"field": "value", "type": "quantitative", "title": null},
                "color": {"field": "measure", "type": "nominal", "title": null, "sort": order},
                "shape": {"field": "measure", "type": "nominal", "title": null, "sort": order},
                "tooltip": [{"field": "topic"}, {"field": "measure"}, {"field": "value"}],
            }),
        ),
        choices: None,
    }));
    Ok(section)
}

fn first(topics: usize) -> String {
    if topics > TOPICS {
        format!(" The first {TOPICS} of {topics} topics are drawn.")
    } else {
        String::new()
    }
}

/// The documents that show each topic best, with how they begin.
pub(crate) fn typical(run: &SavedRun, names: &[String]) -> Result<Section> {
    let mut section = Section::new("documents", "Typical documents");
    let Some(file) = run.written("typical_documents.csv") else {
        return Ok(section);
    };
    let lines = records(&file, b',')?;
    let mut texts = false;
    let rows: Option<Vec<Vec<String>>> = (lines.iter().skip(1))
        .map(|line| {
            let [topic, _, document, proportion, tokens, text] = line.as_slice() else {
                return None;
            };
            let topic: usize = topic.parse().ok()?;
            texts |= !text.is_empty();
            Some(vec![
                names.get(topic)?.clone(),
                safe::name(document),
                format!("{:.0}%", 100.0 * proportion.parse::<f64>().ok()?),
                cell(tokens.parse().ok()?),
                safe::text(text, 320),
            ])
        })
        .collect();
    let mut rows = rows.ok_or_else(|| damaged(&file, "a line without its six columns"))?;
    if rows.is_empty() {
        return Ok(section);
    }
    let mut head = vec!["topic", "document", "proportion", "tokens", "text"];
    if !texts {
        head.pop();
        for row in &mut rows {
            row.pop();
        }
    }
    section.push(Part::Table {
        table: Table::new(
            "Typical documents",
            &head,
            rows,
            "typical_documents.csv has all",
        )
        .wide(),
    });
    section.text("Up to five documents that have most of each topic: the proportion of the topic, and how many of their tokens are its own.");
    Ok(section)
}

/// How topics go together over documents.
pub(crate) fn correlations(run: &SavedRun) -> Result<Section> {
    let mut section = Section::new("correlations", "Topics that go together");
    let Some(file) = run.written("correlations.csv") else {
        return Ok(section);
    };
    let table = read_table(&file, None)?;
    let width = table.columns.len();
    if table.rows < 3 || width != table.rows + 1 {
        return Ok(section);
    }
    let topics = table.rows;
    let of = |a: usize, b: usize| table.values[a * width + b + 1];
    let mut pairs: Vec<(usize, usize)> = (0..topics)
        .flat_map(|a| (a + 1..topics).map(move |b| (a, b)))
        .filter(|&(a, b)| of(a, b).is_finite())
        .collect();
    pairs.sort_by(|&(a, b), &(c, d)| of(c, d).abs().total_cmp(&of(a, b).abs()));
    let shown = topics.min(TOPICS);
    let mut values: Vec<Value> = vec![];
    let mut largest = 0.0_f64;
    for a in 0..shown {
        for b in (0..shown).filter(|&b| a != b && of(a, b).is_finite()) {
            largest = largest.max(of(a, b).abs());
            values.push(json!({"a": a, "b": b, "correlation": chart::rounded(of(a, b))}));
        }
    }
    if values.is_empty() {
        return Ok(section);
    }
    let rows = pairs
        .iter()
        .map(|&(a, b)| vec![a.to_string(), b.to_string(), format!("{:.3}", of(a, b))]);
    let axis = json!({"labelAngle": 0, "labelOverlap": true});
    section.push(Part::Figure(Figure {
        id: "correlations-topics".into(),
        title: String::new(),
        label: format!("Correlations of the proportions of {} over documents", count(shown, "topic")),
        caption: format!(
            "Blue: found together in more documents than by chance; orange: in fewer. Proportions add up to 1, so that small negative correlations mean nothing.{}",
            first(topics)
        ),
        table: Some(Table::new("Correlations, the strongest first", &["topic", "topic", "correlation"], rows, "correlations.csv has all")),
        spec: chart::plain(
            // And a line more for the scale of colours.
            chart::rows_height(shown, if shown > 30 { 9 } else { 18 }) + 24,
            chart::values(values),
            json!({"type": "rect"}),
            json!({
                "x": {"field": "a", "type": "ordinal", "title": "topic", "axis": axis},
                "y": {"field": "b", "type": "ordinal", "title": "topic", "axis": axis},
                "color": {"field": "correlation", "type": "quantitative", "title": "correlation",
                    "scale": {"domain": [-largest, 0, largest], "range": ["#d55e00", "#f2f2f2", "#0072b2"]},
                    "legend": {"gradientLength": 160, "orient": "bottom", "direction": "horizontal", "tickCount": 5}},
                "tooltip": [{"field": "a", "title": "topic"}, {"field": "b", "title": "and"}, {"field": "correlation"}],
            }),
        ),
        choices: None,
    }));
    Ok(section)
}

/// One of several numbers of topics that were tried.
#[derive(Deserialize)]
struct Compared {
    topics: usize,
    bound: f64,
    perplexity: Option<f64>,
    used: usize,
    passes: u64,
}

/// A point of `--curve`.
#[derive(Deserialize)]
struct CurvePoint {
    passes: u64,
    perplexity: f64,
}

/// How well the topics foresee documents: by the number of topics, and along the climb.
pub(crate) fn foreseen(run: &SavedRun) -> Section {
    let mut section = Section::new("foreseen", "Documents that were held out");
    let compared: Vec<Compared> = run.extra("compared").unwrap_or_default();
    if compared.len() > 1 {
        section.push(Part::Figure(by_number(&compared)));
    }
    let name = run.run.config.get("curve").and_then(Value::as_str);
    let file = name.and_then(|name| run.near(name));
    if let Some(file) = file {
        // The file is the user's: of another run by now it is no curve of this one.
        let points: Vec<CurvePoint> = json_lines(&file).unwrap_or_default();
        if points.len() > 1 {
            section.push(Part::Figure(along(&points)));
        }
    }
    section
}

fn by_number(compared: &[Compared]) -> Figure {
    let held_out = compared.iter().all(|one| one.perplexity.is_some());
    let height = |one: &Compared| one.perplexity.filter(|_| held_out).unwrap_or(one.bound);
    let values: Vec<Value> = compared
        .iter()
        .map(|one| json!({"topics": one.topics, "height": height(one)}))
        .collect();
    let rows = compared.iter().map(|one| {
        vec![
            one.topics.to_string(),
            one.used.to_string(),
            one.perplexity
                .map_or_else(|| "–".into(), |p| format!("{p:.1}")),
            format!("{:.1}", one.bound),
            one.passes.to_string(),
        ]
    });
    let (title, better) = if held_out {
        ("perplexity of held-out documents", "lower")
    } else {
        ("bound, nats", "higher")
    };
    Figure {
        id: "foreseen-numbers".into(),
        title: "Numbers of topics".into(),
        label: format!("Line of {title} by number of topics"),
        caption: format!("What each number of topics led to: {better} is better."),
        table: Some(Table::new(
            "Numbers of topics",
            &["topics", "in use", "perplexity", "bound", "passes"],
            rows,
            "run.json has all",
        )),
        spec: chart::plain(
            240,
            chart::values(values),
            json!({"type": "line", "point": true, "color": chart::colour(0)}),
            json!({
                "x": {"field": "topics", "type": "quantitative", "scale": {"zero": false}},
                "y": {"field": "height", "type": "quantitative", "title": title, "scale": {"zero": false}},
            }),
        ),
        choices: None,
    }
}

fn along(points: &[CurvePoint]) -> Figure {
    let values: Vec<Value> = points
        .iter()
        .map(|point| json!({"passes": point.passes, "perplexity": point.perplexity}))
        .collect();
    let rows = (points.iter())
        .map(|point| vec![point.passes.to_string(), format!("{:.2}", point.perplexity)]);
    Figure {
        id: "foreseen-curve".into(),
        title: "Along the climb".into(),
        label: "Line of the perplexity of held-out documents over passes".into(),
        caption: "How well documents that were held out are foreseen after so many passes: lower is better.".into(),
        table: Some(Table::new(
            "Perplexity along the climb",
            &["passes", "perplexity"],
            rows,
            "the file of --curve has all",
        )),
        spec: chart::plain(
            240,
            chart::values(values),
            json!({"type": "line", "point": true, "color": chart::colour(0)}),
            json!({
                "x": {"field": "passes", "type": "quantitative", "title": "passes over the data", "scale": {"zero": false}},
                "y": {"field": "perplexity", "type": "quantitative", "scale": {"zero": false}},
            }),
        ),
        choices: None,
    }
}
