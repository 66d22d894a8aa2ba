//! Sections, pictures and tables, and the file that they become.

use std::collections::BTreeMap;
use std::fmt::Display;

use collapsar_text::short;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, context};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::safe;
use crate::saved::SavedRun;

const TEMPLATE: &str = include_str!("../assets/page.html");
pub(crate) const STYLE: &str = include_str!("../assets/page.css");
pub(crate) const VEGA: &str = include_str!("../assets/vega.min.js");
pub(crate) const VEGA_LITE: &str = include_str!("../assets/vega-lite.min.js");
/// What draws, and what a page does with it.
const SCRIPTS: [&str; 4] = [
    VEGA,
    VEGA_LITE,
    include_str!("../assets/vega-interpreter.js"),
    include_str!("../assets/page.js"),
];

/// The most rows of a table below a picture.
const ROWS: usize = 100;

/// A page before it is HTML.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Page {
    pub(crate) title: String,
    /// What it is a page of, as in `Mixture`.
    pub(crate) kind: String,
    pub(crate) lead: String,
    pub(crate) facts: Vec<Fact>,
    pub(crate) sections: Vec<Section>,
    /// Of each run.
    pub(crate) provenance: Vec<Vec<Fact>>,
    /// What scripts need beside the pictures.
    #[serde(skip)]
    pub(crate) data: Map<String, Value>,
    #[serde(skip)]
    pub(crate) charts: Map<String, Value>,
    /// Values for each choice of a picture that the page finds by itself: only files of pictures need them.
    #[serde(skip)]
    pub(crate) apart: BTreeMap<String, Value>,
}

/// A name and what it is.
#[derive(Debug, Serialize)]
pub(crate) struct Fact {
    name: String,
    value: String,
}

pub(crate) fn fact(name: &str, value: impl Display) -> Fact {
    Fact {
        name: name.to_owned(),
        value: value.to_string(),
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Section {
    id: String,
    title: String,
    parts: Vec<Part>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum Part {
    Text {
        class: &'static str,
        text: String,
    },
    Table {
        table: Table,
    },
    Image {
        source: String,
        alt: String,
        caption: String,
    },
    /// A list of names, of which one is shown in several pictures.
    Choice {
        label: String,
        names: Vec<String>,
        charts: String,
    },
    /// The topic and the relevance that bars of terms are of.
    Terms {
        lambda: f64,
    },
    /// A table that can be searched.
    Transcripts {
        id: String,
        label: String,
        /// What the number is that rows are kept by.
        limit: String,
        start: &'static str,
    },
    Figure(Figure),
}

/// The rows of a table that can be searched, the first cell of each being its name.
pub(crate) struct Finder<'a> {
    pub(crate) columns: &'a [&'a str],
    pub(crate) rows: Vec<Value>,
    /// The column that it is sorted by at first, and whether the largest come first.
    pub(crate) sorted: usize,
    pub(crate) falling: bool,
    /// The column that has a limit, and whether that is the most.
    pub(crate) limit: (usize, bool),
}

/// A picture; its specification travels apart.
#[derive(Debug, Serialize)]
pub(crate) struct Figure {
    pub(crate) id: String,
    pub(crate) title: String,
    /// What it shows, for those who do not see it.
    pub(crate) label: String,
    pub(crate) caption: String,
    pub(crate) table: Option<Table>,
    #[serde(skip)]
    pub(crate) spec: Value,
    /// Values of the data set `table` for each of the choices, where there are any.
    #[serde(skip)]
    pub(crate) choices: Option<Vec<Value>>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Table {
    label: String,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    note: String,
    /// Whether cells hold sentences, which go over several lines.
    sentences: bool,
}

impl Table {
    /// Cuts what is long; `all` says where the rest is.
    pub(crate) fn new(
        label: &str,
        head: &[&str],
        rows: impl IntoIterator<Item = Vec<String>>,
        all: &str,
    ) -> Self {
        let mut rows = rows.into_iter();
        let kept: Vec<Vec<String>> = rows.by_ref().take(ROWS).collect();
        let left = rows.count();
        let note = match left {
            0 => String::new(),
            left => format!("The first {ROWS} of {} rows; {all}.", ROWS + left),
        };
        Self {
            label: label.to_owned(),
            head: head.iter().map(|&cell| cell.to_owned()).collect(),
            rows: kept,
            note,
            sentences: false,
        }
    }

    /// With cells that hold sentences.
    pub(crate) fn wide(self) -> Self {
        Self {
            sentences: true,
            ..self
        }
    }
}

/// A cell of a table.
pub(crate) fn cell(value: f64) -> String {
    if value.is_finite() {
        short(value)
    } else {
        "–".to_owned()
    }
}

impl Section {
    pub(crate) fn new(id: &str, title: &str) -> Self {
        Self {
            id: id.to_owned(),
            title: title.to_owned(),
            parts: vec![],
        }
    }

    pub(crate) fn push(&mut self, part: Part) {
        self.parts.push(part);
    }

    /// Whether it has a picture.
    pub(crate) fn has_pictures(&self) -> bool {
        self.parts
            .iter()
            .any(|part| matches!(part, Part::Figure(_)))
    }

    /// Adds a picture, where there is one.
    pub(crate) fn picture(&mut self, figure: Option<Figure>) {
        self.parts.extend(figure.map(Part::Figure));
    }

    pub(crate) fn text(&mut self, text: impl Into<String>) {
        self.class("note", text);
    }

    pub(crate) fn class(&mut self, class: &'static str, text: impl Into<String>) {
        let text = text.into();
        self.push(Part::Text { class, text });
    }
}

impl Page {
    /// The page of one run, with what all have: its provenance.
    pub(crate) fn of(run: &SavedRun, kind: &str, lead: String) -> Self {
        Self {
            title: run.name(),
            kind: kind.to_owned(),
            lead,
            provenance: vec![run.provenance()],
            ..Self::default()
        }
    }

    /// The part of a table that can be searched; its rows travel with the data.
    pub(crate) fn finder(
        &mut self,
        id: &str,
        title: &str,
        limit: &str,
        finder: &Finder<'_>,
    ) -> Part {
        let tables = self
            .data
            .entry("tables".to_owned())
            .or_insert_with(|| json!({}));
        tables[id] = json!({
            "columns": finder.columns, "rows": finder.rows, "sorted": finder.sorted, "falling": finder.falling,
            "limit": finder.limit.0, "most": finder.limit.1,
        });
        Part::Transcripts {
            id: id.to_owned(),
            label: format!("Table of {}", title.to_lowercase()),
            limit: limit.to_owned(),
            start: if finder.limit.1 { "1" } else { "0" },
        }
    }

    pub(crate) fn add(&mut self, mut section: Section) {
        if section.parts.is_empty() {
            return;
        }
        for part in &mut section.parts {
            if let Part::Figure(figure) = part {
                let mut chart = json!({"spec": figure.spec.take()});
                if let Some(choices) = figure.choices.take() {
                    chart["choices"] = choices.into();
                }
                self.charts.insert(figure.id.clone(), chart);
            }
        }
        self.sections.push(section);
    }

    /// The pictures, whose specifications are in `charts`.
    pub(crate) fn figures(&self) -> impl Iterator<Item = &Figure> {
        let parts = self.sections.iter().flat_map(|section| &section.parts);
        parts.filter_map(|part| match part {
            Part::Figure(figure) => Some(figure),
            _ => None,
        })
    }

    /// The file.
    pub(crate) fn html(mut self) -> Result<String> {
        let charts = std::mem::take(&mut self.charts);
        let mut data = std::mem::take(&mut self.data);
        data.insert("charts".to_owned(), charts.into());
        let script = SCRIPTS.join("\n");
        let policy = format!(
            "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
            safe::source_of(&script),
            safe::source_of(STYLE)
        );
        let mut templates = Environment::new();
        templates.set_auto_escape_callback(|_| AutoEscape::Html);
        let rendered = templates.render_str(
            TEMPLATE,
            context! {
                page => Serde(&self),
                policy,
                version => env!("CARGO_PKG_VERSION"),
                style => STYLE,
                script,
                data => safe::json(&data.into()),
            },
        );
        rendered.map_err(|error| {
            Error::folder(&self.title, error.to_string(), "a page that can be made")
        })
    }
}
