//! What became of the reads, how they lie on transcripts, and how long fragments are.

use collapsar_formats::read_table;
use collapsar_text::thousands;
use serde_json::{Value, json};

use super::number;
use crate::chart;
use crate::error::Result;
use crate::fit::percent;
use crate::page::{Figure, Section, Table, cell};
use crate::safe;
use crate::saved::{SavedRun, damaged};

/// Points of the curve of lengths, about.
const POINTS: usize = 300;

pub(crate) fn section(run: &SavedRun) -> Result<Section> {
    let mut section = Section::new("library", "Reads and library");
    section.picture(rates(run));
    section.picture(orientations(run)?);
    section.picture(lengths(run)?);
    Ok(section)
}

/// What became of the reads.
fn rates(run: &SavedRun) -> Option<Figure> {
    let (reads, used) = (number(run, "reads")?, number(run, "used")?);
    let unique = number(run, "unique").unwrap_or(0.0).min(used);
    let alignments: Value = run.extra("alignments").unwrap_or_default();
    let of = |name: &str| alignments[name].as_f64().unwrap_or(0.0);
    let mut parts = vec![
        ("used, of one transcript", unique),
        ("used, of several", used - unique),
        ("not aligned", of("unaligned")),
        ("ends far apart", of("discordant")),
        ("against the library type", of("incompatible")),
        ("too long a fragment", of("too_long")),
    ];
    let told: f64 = parts.iter().map(|(_, count)| count).sum();
    parts.push(("others", (reads - told).max(0.0)));
    parts.retain(|(_, count)| *count > 0.0);
    let total: f64 = parts.iter().map(|(_, count)| count).sum();
    let values: Vec<Value> = parts
        .iter()
        .enumerate()
        .map(|(order, (part, count))| {
            json!({"part": part, "reads": count, "share": chart::rounded(count / total), "order": order})
        })
        .collect();
    let order: Vec<&str> = parts.iter().map(|(part, _)| *part).collect();
    let rows = parts.iter().map(|(part, count)| {
        let share = percent(count / total);
        vec![(*part).to_owned(), thousands(*count as usize), share]
    });
    Some(Figure {
        id: "library-rates".into(),
        title: "What became of the reads".into(),
        label: format!(
            "Bar of reads by what became of them, {} used",
            percent(used / total)
        ),
        caption: format!(
            "Of {} reads or pairs {} are used, {} of these of one transcript only.",
            thousands(total as usize),
            percent(used / total),
            percent(unique / used.max(1.0))
        ),
        table: Some(Table::new(
            "Reads",
            &["reads", "number", "share"],
            rows,
            "run.json has all",
        )),
        spec: chart::plain(
            110,
            chart::values(values),
            json!({"type": "bar"}),
            json!({
                "x": {"field": "share", "type": "quantitative", "stack": "zero", "title": "of all reads", "axis": {"format": "%", "tickCount": 5}, "scale": {"domain": [0, 1]}},
                "color": {"field": "part", "type": "nominal", "title": null, "sort": order},
                "order": {"field": "order", "type": "quantitative"},
                "tooltip": [{"field": "part"}, {"field": "reads"}, {"field": "share"}],
            }),
        ),
        choices: None,
    })
}

/// How fragments lie on transcripts, by salmon's names of library types.
fn orientations(run: &SavedRun) -> Result<Option<Figure>> {
    let Some(file) = run.written("lib_format_counts.json") else {
        return Ok(None);
    };
    let text =
        std::fs::read(&file).map_err(|error| collapsar_formats::Error::file(&file, &error))?;
    let counts: Value =
        serde_json::from_slice(&text).map_err(|cause| damaged(&file, &cause.to_string()))?;
    let names = ["ISF", "ISR", "OSF", "OSR", "MSF", "MSR", "SF", "SR"];
    let alone = ["first_SF", "first_SR", "second_SF", "second_SR"];
    let all = names.iter().chain(&alone);
    let counted: Vec<(String, f64)> = all
        .map(|&name| (name.replace('_', " "), counts[name].as_f64().unwrap_or(0.0)))
        .filter(|(_, count)| *count > 0.0)
        .collect();
    let total: f64 = counted.iter().map(|(_, count)| count).sum();
    if counted.is_empty() {
        return Ok(None);
    }
    let values: Vec<Value> = counted
        .iter()
        .map(|(name, count)| json!({"orientation": name, "fragments": count}))
        .collect();
    let rows = counted.iter().map(|(name, count)| {
        let share = percent(count / total);
        vec![name.clone(), thousands(*count as usize), share]
    });
    let library = counts["expected_format"].as_str().map(safe::name);
    Ok(Some(Figure {
        id: "library-orientations".into(),
        title: "How fragments lie".into(),
        label: "Bars of fragments by orientation and strand".into(),
        caption: format!(
            "Fragments by orientation, in salmon's names: inward, outward or matching, of the forward or the reverse strand. The library is taken as {}.",
            library.unwrap_or_else(|| "unknown".into())
        ),
        table: Some(Table::new(
            "Orientations",
            &["orientation", "fragments", "share"],
            rows,
            "lib_format_counts.json has all",
        )),
        spec: chart::plain(
            chart::rows_height(counted.len(), 20),
            chart::values(values),
            json!({"type": "bar", "color": chart::colour(0)}),
            json!({
                "y": {"field": "orientation", "type": "nominal", "sort": null, "title": null},
                "x": {"field": "fragments", "type": "quantitative"},
                "tooltip": [{"field": "orientation"}, {"field": "fragments"}],
            }),
        ),
        choices: None,
    }))
}

/// How long fragments are.
fn lengths(run: &SavedRun) -> Result<Option<Figure>> {
    let Some(file) = run.written("aux_info/fragment_lengths.tsv") else {
        return Ok(None);
    };
    let table = read_table(&file, None)?;
    if table.columns.len() != 2 || table.rows < 2 {
        return Ok(None);
    }
    let rows: Vec<[f64; 2]> = table
        .values
        .chunks_exact(2)
        .map(|row| [row[0], row[1]])
        .collect();
    // What is hardly ever seen would make everything else narrow.
    let highest = rows.iter().map(|row| row[1]).fold(0.0, f64::max);
    let seen = |row: &&[f64; 2]| row[1] > 1e-4 * highest;
    let every = rows.iter().filter(seen).count().div_ceil(POINTS).max(1);
    let values: Vec<Value> = rows
        .iter()
        .filter(seen)
        .step_by(every)
        .map(|&[length, probability]| json!({"length": length, "probability": chart::rounded(probability)}))
        .collect();
    let mut below = 0.0;
    let quantiles = [0.05, 0.25, 0.5, 0.75, 0.95];
    let mut found = vec![];
    for &[length, probability] in &rows {
        below += probability;
        while found.len() < quantiles.len() && below >= quantiles[found.len()] {
            found.push(vec![percent(quantiles[found.len()]), cell(length)]);
        }
    }
    let mean = number_of(run, "fragment_length_mean");
    let sd = number_of(run, "fragment_length_sd");
    Ok(Some(Figure {
        id: "library-lengths".into(),
        title: "Lengths of fragments".into(),
        label: "Curve of the distribution of fragment lengths".into(),
        caption: match (mean, sd) {
            (Some(mean), Some(sd)) => {
                format!("As learned or given: mean {mean:.0}, standard deviation {sd:.0}.")
            }
            _ => "As learned or given.".into(),
        },
        table: Some(Table::new(
            "Quantiles of lengths",
            &["quantile", "length"],
            found,
            "aux_info/fragment_lengths.tsv has all lengths",
        )),
        spec: chart::plain(
            200,
            chart::values(values),
            json!({"type": "area", "color": chart::colour(0), "opacity": 0.5, "line": {"color": chart::colour(0)}}),
            json!({
                "x": {"field": "length", "type": "quantitative", "title": "bases", "scale": {"zero": false, "nice": false}},
                "y": {"field": "probability", "type": "quantitative"},
            }),
        ),
        choices: None,
    }))
}

fn number_of(run: &SavedRun, name: &str) -> Option<f64> {
    let alignments: Value = run.extra("alignments")?;
    alignments[name].as_f64()
}
