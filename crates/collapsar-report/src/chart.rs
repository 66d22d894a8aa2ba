//! What Vega-Lite specifications have in common: colours of the style sheet, sizes, axes.

use serde_json::{Value, json};

use collapsar::elementary::Elementary;

/// Colours that stay apart for colour-blind readers (Okabe and Ito), as the style sheet has them on light and on dark.
pub(crate) const COLOURS: usize = 8;

/// The colour of a place in a list; they repeat after the last.
pub(crate) fn colour(place: usize) -> String {
    format!("var(--c{})", place % COLOURS)
}

/// All of them.
pub(crate) fn colours() -> Vec<String> {
    (0..COLOURS).map(colour).collect()
}

/// Shapes that tell apart what has the same colour.
pub(crate) const SHAPES: [&str; 6] = [
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
];

/// A specification of these layers, as wide as the page.
pub(crate) fn layers(height: impl Into<Value>, data: Value, layers: Value) -> Value {
    let mut spec = base(height, data);
    spec["layer"] = layers;
    spec
}

/// A specification of one mark.
pub(crate) fn plain(height: impl Into<Value>, data: Value, mark: Value, encoding: Value) -> Value {
    let mut spec = base(height, data);
    spec["mark"] = mark;
    spec["encoding"] = encoding;
    spec
}

/// Values under the name `table`, by which scripts change them.
pub(crate) fn values(values: impl Into<Value>) -> Value {
    json!({"name": "table", "values": values.into()})
}

fn base(height: impl Into<Value>, data: Value) -> Value {
    let mut spec = json!({
        "width": "container",
        "height": height.into(),
        "autosize": {"type": "fit", "contains": "padding"},
        "config": {
            "background": "transparent",
            // The element around it has the words.
            "aria": false,
            "font": "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif",
            "view": {"stroke": "var(--line)"},
            "axis": {
                "labelColor": "var(--ink)", "titleColor": "var(--ink)", "domainColor": "var(--soft)",
                "tickColor": "var(--soft)", "gridColor": "var(--line)", "labelFontSize": 12, "titleFontSize": 12,
                "titleFontWeight": "normal", "labelLimit": 140,
            },
            // Labels at the ends stay under their ticks, and those that would touch are left out.
            "axisQuantitative": {"tickCount": 8, "labelFlush": false, "labelOverlap": "greedy", "labelSeparation": 6},
            "legend": {
                "labelColor": "var(--ink)", "titleColor": "var(--ink)", "labelFontSize": 12, "titleFontSize": 12,
                "titleFontWeight": "normal", "orient": "bottom", "columns": 4, "labelLimit": 160, "symbolLimit": 40,
            },
            "text": {"color": "var(--ink)"},
            "rule": {"color": "var(--soft)"},
            "range": {"category": colours(), "symbol": SHAPES},
        },
    });
    spec["data"] = data;
    spec
}

/// The height of so many rows of a list, with its axis and a legend of one line.
pub(crate) fn rows_height(rows: usize, each: usize) -> usize {
    (rows * each).max(30) + 80
}

/// A number as a picture has it: six digits are more than it shows.
pub(crate) fn rounded(value: f64) -> Value {
    if value == 0.0 || !value.is_finite() {
        return json!(value);
    }
    let scale = 10f64.powi(5 - value.abs().log10_().floor() as i32);
    let near = (value * scale).round() / scale;
    json!(if near.is_finite() { near } else { value })
}
