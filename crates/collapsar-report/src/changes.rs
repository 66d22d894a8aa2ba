//! The page of conditions compared: MA and volcano plots, and tables of changes.

use collapsar::elementary::Elementary;
use std::collections::BTreeMap;

use collapsar_run::quant::compare::RATE;
use collapsar_text::{count, thousands};
use serde_json::{Value, json};

use crate::error::Result;
use crate::page::{Figure, Finder, Page, Part, Section, Table, fact};
use crate::quant::digits;
use crate::saved::{SavedRun, damaged, records};
use crate::{chart, safe};

/// Changed ones that are drawn one by one, at most; the others are counted in bins.
const POINTS: usize = 1000;
/// Bins of each axis.
const BINS: usize = 40;
/// The smallest q that a volcano shows: what is smaller stands at its top.
const SMALLEST: f64 = 1e-30;

/// What a line of `compare.tsv` has beside the name.
struct Change {
    name: String,
    expression: f64,
    fold: f64,
    sd: f64,
    interval: [f64; 2],
    false_sign: f64,
    qvalue: f64,
}

pub(crate) fn page(run: &SavedRun) -> Result<Page> {
    let conditions: Vec<String> = run.run.config["contrast"]
        .as_array()
        .map(|names| names.iter().filter_map(Value::as_str).map(safe::name))
        .map(Iterator::collect)
        .unwrap_or_default();
    let [from, to] = conditions.as_slice() else {
        return Err(damaged(&run.file("run.json"), "no two conditions"));
    };
    let lead = format!("What changed from {from} to {to}: log2 fold changes of {to} over {from}.");
    let mut page = Page::of(run, "Comparison of conditions", lead);
    let files = [
        ("genes", "Genes", "compare.genes.tsv"),
        ("transcripts", "Transcripts", "compare.tsv"),
    ];
    for (id, title, file) in files {
        if run.written(file).is_none() {
            continue;
        }
        let (changes, all) = read(run, file)?;
        let found = |up: bool| {
            let with = |c: &&Change| c.qvalue < RATE && (c.fold > 0.0) == up;
            changes.iter().filter(with).count()
        };
        page.facts.extend([
            fact(
                &format!("{title} tested"),
                format!("{} of {}", thousands(changes.len()), thousands(all)),
            ),
            fact(&format!("{title} up at q < {RATE}"), thousands(found(true))),
            fact(
                &format!("{title} down at q < {RATE}"),
                thousands(found(false)),
            ),
        ]);
        let section = pictures(id, title, &changes);
        page.add(section);
        let section = table(&mut page, id, title, &changes);
        page.add(section);
    }
    page.add(samples(run));
    Ok(page)
}

/// The lines that were tested, and how many there are.
fn read(run: &SavedRun, name: &str) -> Result<(Vec<Change>, usize)> {
    let file = run.file(name);
    let mut lines = records(&file, b'\t')?.into_iter();
    let head = lines.next().unwrap_or_default();
    let place = |name: &str| head.iter().position(|cell| cell == name);
    let wanted = [
        "log2Expression",
        "log2FoldChange",
        "sd",
        "lower",
        "upper",
        "lfsr",
        "qvalue",
    ];
    let places: Option<Vec<usize>> = wanted.iter().map(|name| place(name)).collect();
    let places = places.ok_or_else(|| damaged(&file, "not the columns of a comparison"))?;
    let (mut changes, mut all) = (vec![], 0);
    for line in lines {
        all += 1;
        let cells: Option<Vec<&String>> = places.iter().map(|&at| line.get(at)).collect();
        let cells = cells.ok_or_else(|| damaged(&file, "a line without its columns"))?;
        if cells[0] == "NA" {
            continue;
        }
        let numbers: Option<Vec<f64>> = cells.iter().map(|cell| cell.parse().ok()).collect();
        let numbers = numbers.ok_or_else(|| damaged(&file, "a cell that is no number"))?;
        changes.push(Change {
            name: safe::name(&line[0]),
            expression: numbers[0],
            fold: numbers[1],
            sd: numbers[2],
            interval: [numbers[3], numbers[4]],
            false_sign: numbers[5],
            qvalue: numbers[6],
        });
    }
    Ok((changes, all))
}

/// A picture of all changes: bins for what did not change, points for what did.
struct Cloud<'a> {
    id: String,
    title: &'a str,
    label: String,
    caption: String,
    axes: [&'a str; 2],
    place: &'a dyn Fn(&Change) -> [f64; 2],
}

fn pictures(id: &str, title: &str, changes: &[Change]) -> Section {
    let mut section = Section::new(
        &format!("{id}-changes"),
        &format!("Changes of {}", title.to_lowercase()),
    );
    if changes.is_empty() {
        section.text("Nothing was tested: too few reads.");
        return section;
    }
    let mut changed: Vec<&Change> = changes.iter().filter(|c| c.qvalue < RATE).collect();
    changed.sort_by(|a, b| a.false_sign.total_cmp(&b.false_sign));
    let shown = changed.len().min(POINTS);
    let of = if shown < changed.len() {
        format!(
            "The {shown} surest of {} are",
            count(changed.len(), "change")
        )
    } else {
        format!("All {} are", count(changed.len(), "change"))
    };
    let told = format!(
        "{of} points (q < {RATE}); the others are counted in bins: the stronger the shade, the more."
    );
    let clouds = [
        Cloud {
            id: format!("{id}-ma"),
            title: "Changes by expression (MA plot)",
            label: "Log2 fold changes against mean log2 expression".into(),
            caption: told.clone(),
            axes: ["mean log2 TPM", "log2 fold change"],
            place: &|c| [c.expression, c.fold],
        },
        Cloud {
            id: format!("{id}-volcano"),
            title: "Changes by how sure they are (volcano plot)",
            label: "Minus log10 q-values against log2 fold changes".into(),
            caption: format!("{told} q is the false discovery rate; the higher, the surer."),
            axes: ["log2 fold change", "−log10 q"],
            place: &|c| [c.fold, -c.qvalue.max(SMALLEST).log10_()],
        },
    ];
    for cloud in clouds {
        section.push(Part::Figure(figure(&cloud, changes, &changed[..shown])));
    }
    section
}

fn figure(cloud: &Cloud<'_>, changes: &[Change], changed: &[&Change]) -> Figure {
    let places = || changes.iter().map(cloud.place);
    let ends = |axis: usize| {
        let fold = |(low, high): (f64, f64), x: f64| (low.min(x), high.max(x));
        let (low, high) = places()
            .map(|at| at[axis])
            .fold((f64::INFINITY, f64::NEG_INFINITY), fold);
        (low, ((high - low) / BINS as f64).max(1e-9))
    };
    let axes = [ends(0), ends(1)];
    let mut bins: BTreeMap<[usize; 2], usize> = BTreeMap::new();
    for (change, at) in changes.iter().zip(places()) {
        if change.qvalue >= RATE {
            let bin = [0, 1].map(|axis| {
                let (low, wide) = axes[axis];
                (((at[axis] - low) / wide) as usize).min(BINS - 1)
            });
            *bins.entry(bin).or_default() += 1;
        }
    }
    let most = bins.values().copied().max().unwrap_or(1) as f64;
    let bins: Vec<Value> = bins
        .iter()
        .map(|(bin, &number)| {
            let edge = |axis: usize, more: usize| {
                let (low, wide) = axes[axis];
                chart::rounded(low + wide * (bin[axis] + more) as f64)
            };
            let shade = 0.15 + 0.85 * (1.0 + number as f64).ln_() / (1.0 + most).ln_();
            json!({"x": edge(0, 0), "x2": edge(0, 1), "y": edge(1, 0), "y2": edge(1, 1), "unchanged": number,
                "shade": chart::rounded(shade)})
        })
        .collect();
    let points: Vec<Value> = changed
        .iter()
        .map(|change| {
            let [x, y] = (cloud.place)(change).map(chart::rounded);
            let direction = if change.fold > 0.0 { "up" } else { "down" };
            json!({"x": x, "y": y, "name": change.name, "direction": direction, "q": chart::rounded(change.qvalue)})
        })
        .collect();
    let axis = |field: &str, title: &str| json!({"field": field, "type": "quantitative", "title": title, "scale": {"zero": false}});
    let (x, y) = (axis("x", cloud.axes[0]), axis("y", cloud.axes[1]));
    let direction =
        json!({"field": "direction", "type": "nominal", "title": null, "sort": ["up", "down"]});
    let rows = changed.iter().take(20).map(|change| {
        let [x, y] = (cloud.place)(change);
        vec![change.name.clone(), format!("{x:.2}"), format!("{y:.2}")]
    });
    Figure {
        id: cloud.id.clone(),
        title: cloud.title.into(),
        label: cloud.label.clone(),
        caption: cloud.caption.clone(),
        table: Some(Table::new(
            "The surest changes",
            &["name", cloud.axes[0], cloud.axes[1]],
            rows,
            "the table below has all",
        )),
        spec: chart::layers(
            340,
            chart::values(points),
            json!([
                {"data": {"values": bins}, "mark": {"type": "rect", "color": "var(--soft)"}, "encoding": {
                    "x": x, "x2": {"field": "x2"}, "y": y, "y2": {"field": "y2"},
                    "opacity": {"field": "shade", "type": "quantitative", "scale": null, "legend": null},
                    "tooltip": [{"field": "unchanged", "type": "quantitative"}]}},
                {"mark": {"type": "point", "filled": true, "size": 34, "opacity": 0.8}, "encoding": {
                    "x": x, "y": y, "color": direction, "shape": direction,
                    "tooltip": [{"field": "name"}, {"field": "q"}]}},
            ]),
        ),
        choices: None,
    }
}

fn table(page: &mut Page, id: &str, title: &str, changes: &[Change]) -> Section {
    let rows = changes.iter().map(|c| {
        let [low, high] = c.interval.map(digits);
        json!([
            c.name,
            digits(c.expression),
            digits(c.fold),
            digits(c.sd),
            low,
            high,
            digits(c.false_sign),
            digits(c.qvalue)
        ])
    });
    let columns = [
        "name",
        "log2 TPM",
        "log2 change",
        "sd",
        "2.5%",
        "97.5%",
        "wrong sign",
        "q",
    ];
    let finder = Finder {
        columns: &columns,
        rows: rows.collect(),
        sorted: 6,
        falling: false,
        limit: (7, true),
    };
    let mut section = Section::new(&format!("{id}-section"), title);
    section.push(page.finder(id, title, "q of at most", &finder));
    section.text("Log2 fold changes with standard deviation and the interval that holds 95% of the posterior; the probability that the sign is wrong, and q, the false discovery rate of all that are at least as sure.");
    section
}

/// What was compared.
fn samples(run: &SavedRun) -> Section {
    let mut section = Section::new("samples", "Samples");
    let samples: Vec<Value> = run.extra("samples").unwrap_or_default();
    let text = |value: &Value| value.as_str().map(safe::name).unwrap_or_default();
    let number = |value: &Value, places: usize| {
        let number = value.as_f64().unwrap_or(f64::NAN);
        format!("{number:.places$}")
    };
    let rows = samples.iter().map(|sample| {
        vec![
            text(&sample["folder"]),
            text(&sample["condition"]),
            number(&sample["reads"], 0),
            number(&sample["size_factor"], 3),
            number(&sample["draws"], 0),
        ]
    });
    let head = ["folder", "condition", "reads", "size factor", "draws"];
    section.push(Part::Table {
        table: Table::new("Samples", &head, rows, "run.json has all"),
    });
    section
}
