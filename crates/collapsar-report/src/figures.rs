//! The pictures of a page as files of their own, for papers: SVG, and Vega-Lite specifications that hold their data.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use collapsar_formats::{prepare_folder, write_atomically};
use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::page::{Figure, Page, STYLE};
use crate::svg::Painter;

/// The folder that they are written to.
pub const FIGURES: &str = "figures";

/// Choices of one picture that become files.
const CHOICES: usize = 24;
/// As wide as two columns of a journal, about.
const WIDTH: usize = 640;

/// What a picture becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureKind {
    /// A drawing.
    Svg,
    /// A Vega-Lite specification.
    Json,
}

impl FigureKind {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Svg, Self::Json];

    /// What a command line calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Json => "json",
        }
    }

    fn ending(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Json => "vl.json",
        }
    }
}

/// Writes the pictures of a page below a folder; returns where they are.
pub(crate) fn write(page: &Page, folder: &Path, kinds: &[FigureKind]) -> Result<Vec<PathBuf>> {
    let folder = folder.join(FIGURES);
    prepare_folder(&folder)?;
    let painter = if kinds.contains(&FigureKind::Svg) {
        let painter = Painter::new();
        Some(painter.map_err(|cause| Error::folder(folder.display(), cause, "drawings"))?)
    } else {
        None
    };
    let mut files = vec![];
    for (name, figure, spec) in all(page) {
        for &kind in kinds {
            let file = folder.join(format!("{name}.{}", kind.ending()));
            let text = match &painter {
                Some(painter) if kind == FigureKind::Svg => {
                    let svg = painter.svg(&spec).map_err(|cause| {
                        Error::folder(file.display(), cause, "a picture that can be drawn")
                    })?;
                    titled(&svg, figure)
                }
                _ => json_text(&spec),
            };
            write_atomically(&file, |out| out.write_all(text.as_bytes()))?;
            files.push(file);
        }
    }
    Ok(files)
}

/// Every picture with each of its choices, complete.
fn all(page: &Page) -> Vec<(String, &Figure, Value)> {
    let mut all = vec![];
    for figure in page.figures() {
        let Some(chart) = page.charts.get(&figure.id) else {
            continue;
        };
        let spec = standalone(&chart["spec"], &figure.label);
        let choices = page.apart.get(&figure.id).or(chart.get("choices"));
        let Some(choices) = choices.and_then(Value::as_array) else {
            all.push((figure.id.clone(), figure, spec));
            continue;
        };
        for (place, values) in choices.iter().enumerate().take(CHOICES) {
            let mut one = spec.clone();
            one["data"] = json!({"name": "table", "values": values});
            all.push((format!("{}-{place}", figure.id), figure, one));
        }
    }
    all
}

/// A specification that needs no style sheet and no page around it: with the colours of the light page and a width.
pub(crate) fn standalone(spec: &Value, label: &str) -> Value {
    let colours = colours();
    let mut whole = coloured(spec, &colours);
    whole["$schema"] = json!("https://vega.github.io/schema/vega-lite/v5.json");
    whole["width"] = json!(WIDTH);
    whole["description"] = json!(label);
    whole["config"]["background"] = json!("white");
    whole["config"]["font"] = json!("Helvetica, Arial, sans-serif");
    if let Some(config) = whole["config"].as_object_mut() {
        config.remove("aria");
    }
    whole
}

/// Colours of the light page by their names, as in `--c0`.
fn colours() -> BTreeMap<&'static str, &'static str> {
    let (_, rest) = STYLE.split_once(":root {").unwrap_or_default();
    let (light, _) = rest.split_once('}').unwrap_or_default();
    let pairs = light.split(';').filter_map(|line| line.split_once(':'));
    pairs
        .map(|(name, colour)| (name.trim(), colour.trim()))
        .collect()
}

/// A value with the colours in the place of their names.
fn coloured(value: &Value, colours: &BTreeMap<&str, &str>) -> Value {
    match value {
        Value::String(text) => {
            let name = text
                .strip_prefix("var(")
                .and_then(|rest| rest.strip_suffix(')'));
            let colour = name.and_then(|name| colours.get(name));
            colour.map_or_else(|| value.clone(), |colour| json!(colour))
        }
        Value::Array(all) => all.iter().map(|one| coloured(one, colours)).collect(),
        Value::Object(all) => {
            let each = all
                .iter()
                .map(|(key, one)| (key.clone(), coloured(one, colours)));
            Value::Object(each.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// Who made it.
fn generator() -> String {
    format!("Collapsar {}", env!("CARGO_PKG_VERSION"))
}

/// The specification as a file, with who made it at its beginning.
fn json_text(spec: &Value) -> String {
    let made = json!({ "generator": generator() });
    let rest = spec.to_string();
    let rest = rest.strip_prefix('{').unwrap_or(&rest);
    format!("{{\"usermeta\":{made},{rest}\n")
}

/// A drawing with its words.
fn titled(svg: &str, figure: &Figure) -> String {
    let text = |text: &str| {
        text.replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
    };
    let Some((head, rest)) = svg.split_once('>') else {
        return svg.to_owned();
    };
    let (label, caption, made) = (text(&figure.label), text(&figure.caption), generator());
    format!("{head} role=\"img\"><title>{label}</title><desc>{caption} ({made})</desc>{rest}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_its_own_has_colours() {
        let spec = json!({"width": "container", "config": {"aria": false}, "layer": [{"mark": {"color": "var(--c0)"}}], "x": "var(text)"});
        let whole = standalone(&spec, "words");
        assert_eq!(whole["layer"][0]["mark"]["color"], "#0072b2");
        // What only looks like a colour is a name.
        assert_eq!(whole["x"], "var(text)");
        assert_eq!(whole["width"], WIDTH);
        let text = json_text(&whole);
        assert!(text.starts_with("{\"usermeta\":{\"generator\":\"Collapsar"));
        assert_eq!(
            serde_json::from_str::<Value>(&text).unwrap()["description"],
            "words"
        );
    }
}
