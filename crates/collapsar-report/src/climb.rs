//! The climb: the bound over the passes.

use serde_json::{Value, json};

use crate::chart;
use crate::error::Result;
use crate::page::{Figure, Part, Section, Table, cell};
use crate::saved::{SavedRun, TraceStep};

/// Steps that are drawn at most.
const STEPS: usize = 500;

/// Climbs of several runs, each with its name, in one picture.
pub(crate) fn section(runs: &[SavedRun]) -> Result<Option<Section>> {
    let mut climbs = vec![];
    for run in runs {
        climbs.push((run.name(), run.trace()?));
    }
    climbs.retain(|(_, steps)| steps.len() > 1);
    if climbs.is_empty() {
        return Ok(None);
    }
    let mut section = Section::new("climb", "The climb");
    section.push(Part::Figure(figure(&climbs)));
    Ok(Some(section))
}

fn figure(climbs: &[(String, Vec<TraceStep>)]) -> Figure {
    let mut values: Vec<Value> = vec![];
    let mut rows = vec![];
    let mut thinned = false;
    for (place, (name, steps)) in climbs.iter().enumerate() {
        let every = steps.len().div_ceil(STEPS);
        thinned |= every > 1;
        let last = steps.len() - 1;
        for (index, step) in steps.iter().enumerate() {
            if index % every == 0 || index == last || step.trial {
                let run = format!("{} {name}", place + 1);
                values.push(json!({
                    "run": run, "passes": step.passes, "bound": step.bound, "jump": step.trial,
                }));
                rows.push(vec![
                    name.clone(),
                    step.passes.to_string(),
                    format!("{:.3}", step.bound),
                ]);
            }
        }
    }
    let (x, y) = (
        json!({"field": "passes", "type": "quantitative", "title": "passes over the data"}),
        json!({"field": "bound", "type": "quantitative", "title": "bound, nats", "scale": {"zero": false}}),
    );
    let several = climbs.len() > 1;
    let colour = if several {
        json!({"field": "run", "type": "nominal", "title": null})
    } else {
        json!({"value": chart::colour(0)})
    };
    let mut spec = chart::layers(
        260,
        chart::values(values),
        json!([
            {"transform": [{"filter": "!datum.jump"}], "mark": {"type": "line", "interpolate": "monotone"}, "encoding": {"x": x, "y": y, "color": colour}},
            {"transform": [{"filter": "!datum.jump"}], "mark": {"type": "point", "filled": true, "size": 18}, "encoding": {
                "x": x, "y": y, "color": colour,
                "tooltip": [{"field": "passes"}, {"field": "bound"}],
            }},
        ]),
    );
    let jumped = (climbs.iter()).any(|(_, steps)| steps.iter().any(|step| step.trial));
    if let (true, Some(layers)) = (jumped, spec["layer"].as_array_mut()) {
        layers.push(json!({
            "transform": [{"filter": "datum.jump"}],
            "mark": {"type": "point", "shape": "triangle-up", "size": 110, "strokeWidth": 2},
            "encoding": {"x": x, "y": y, "color": {"value": chart::colour(1)}},
        }));
    }
    let (first, end) = (&climbs[0].1[0], climbs[0].1.last());
    let end = end.map_or(0.0, |step| step.bound);
    let mut caption = "The bound, a lower bound on ln p(data), after each step".to_owned();
    if jumped {
        caption += "; triangles are trials of jumps, of which those that raise it are kept";
    }
    if thinned {
        caption += "; some steps of long climbs are left out, all are in trace.jsonl";
    }
    Figure {
        id: "climb-bound".into(),
        title: String::new(),
        label: format!(
            "Line of the bound over passes, from {} to {}",
            cell(first.bound),
            cell(end)
        ),
        caption: caption + ".",
        table: Some(Table::new(
            "Steps of the climb",
            &["run", "passes", "bound"],
            rows,
            "all are in trace.jsonl",
        )),
        spec,
        choices: None,
    }
}
