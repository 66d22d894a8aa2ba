//! Rows that the fit holds unlikely, by the posterior predictive density of each.

use collapsar_formats::read_table;
use collapsar_text::thousands;
use serde_json::{Value, json};

use super::is_out_of_memory;
use crate::chart;
use crate::error::Result;
use crate::page::{Figure, Part, Section, Table, cell};
use crate::saved::SavedRun;

const BINS: usize = 50;
/// Rows in the table.
const LOWEST: usize = 20;
/// What is below so much of all rows stands in the first bin: one row far away would leave a bin for all others.
const TAIL: f64 = 0.002;

pub(crate) fn section(run: &SavedRun) -> Result<Section> {
    let mut section = Section::new("anomalies", "Unlikely rows");
    if is_out_of_memory(run) {
        section.text("Unlikely rows are left out: the rows did not fit in memory. They are those of assignments.csv of the lowest ln_density.");
        return Ok(section);
    }
    let file = run.file("assignments.csv");
    let columns = ["row", "component", "ln_density"].map(str::to_owned);
    let table = read_table(&file, Some(&columns))?;
    let (width, [row, component, density]) = (columns.len(), [0, 1, 2]);
    let cells = || table.values.chunks_exact(width);
    let mut lowest: Vec<&[f64]> = cells().filter(|of| of[density].is_finite()).collect();
    lowest.sort_by(|a, b| a[density].total_cmp(&b[density]));
    let (Some(last), true) = (lowest.last(), lowest.len() > 1) else {
        return Ok(section);
    };
    let from = lowest[(TAIL * lowest.len() as f64) as usize][density];
    let to = last[density];
    let wide = ((to - from) / BINS as f64).max(1e-9);
    let mut counts = vec![0_usize; BINS];
    for of in &lowest {
        let bin = ((of[density] - from) / wide).max(0.0) as usize;
        counts[bin.min(BINS - 1)] += 1;
    }
    let below = lowest.iter().filter(|of| of[density] < from).count();
    let values: Vec<Value> = counts
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
        .map(|(bin, count)| {
            let low = from + wide * bin as f64;
            json!({"from": chart::rounded(low), "to": chart::rounded(low + wide), "rows": count})
        })
        .collect();
    let rows = lowest.iter().take(LOWEST).map(|of| {
        vec![
            thousands(of[row] as usize),
            format!("{}", of[component]),
            cell(of[density]),
        ]
    });
    let first = if below > 0 {
        format!(
            " The first bar has {} that are lower still.",
            thousands(below)
        )
    } else {
        String::new()
    };
    section.push(Part::Figure(Figure {
        id: "anomalies-density".into(),
        title: String::new(),
        label: "Histogram of the log predictive density of rows".into(),
        caption: format!(
            "How likely each of {} rows is by the posterior predictive density, in nats: those on the left are the ones to look at.{first} The table has the {LOWEST} lowest.",
            thousands(lowest.len())
        ),
        table: Some(Table::new(
            "The most unlikely rows",
            &["row", "component", "ln density"],
            rows,
            "assignments.csv has all",
        )),
        spec: chart::plain(
            240,
            chart::values(values),
            json!({"type": "bar", "color": chart::colour(0)}),
            json!({
                "x": {"field": "from", "type": "quantitative", "bin": {"binned": true}, "title": "ln predictive density", "scale": {"zero": false}},
                "x2": {"field": "to"},
                "y": {"field": "rows", "type": "quantitative"},
                "tooltip": [{"field": "from"}, {"field": "to"}, {"field": "rows"}],
            }),
        ),
        choices: None,
    }));
    Ok(section)
}
