//! The page of a mixture.
//!
//! - `anomalies`: rows that the fit holds unlikely
//! - `cloud`: rows and components on a plane
//! - `levels`: categorical columns by component

mod anomalies;
mod cloud;
mod levels;

use collapsar::mixture::{Component, MixtureFit};
use collapsar_formats::{Table as Numbers, read_table, read_table_with_gaps};
use collapsar_run::mixture::{ClassNames, SavedMixture, USED};
use collapsar_text::{measured, thousands};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::Result;
use crate::fit::{facts, verdict};
use crate::forest::Forest;
use crate::page::{Figure, Page, Part, Section, Table, cell, fact};
use crate::saved::SavedRun;
use crate::{chart, climb, draws, safe};

pub(crate) use cloud::{cloud, components};

/// Components and columns that are drawn at most.
const COMPONENTS: usize = 24;
const COLUMNS: usize = 30;

/// A component and its number.
pub(crate) type Used<'a> = (usize, &'a Component);

pub(crate) fn page(run: &SavedRun) -> Result<Page> {
    let saved = SavedMixture::read(&run.folder)?;
    let used = in_use(&saved.fit);
    let lead = format!(
        "{} rows of {} columns in {} components, of {} that were offered.",
        thousands(saved.rows),
        saved.columns.len() + saved.categories.len(),
        used.len(),
        saved.fit.components.len()
    );
    let mut page = Page::of(run, "Mixture of Gaussians", lead);
    page.facts = facts(run);
    page.facts.push(fact("Components in use", used.len()));
    page.add(verdict(run));
    let numbers = !saved.columns.is_empty();
    if numbers {
        page.add(scatter(run, &saved, &used)?);
    }
    page.add(weights(run)?);
    if numbers {
        page.add(profile(&saved, &used));
    }
    page.add(levels::section(&saved, &used));
    page.add(anomalies::section(run)?);
    page.add(compared(run));
    if let Some(section) = run.chains()?.and_then(|chains| draws::section(&chains)) {
        page.add(section);
    }
    if let Some(section) = climb::section(std::slice::from_ref(run))? {
        page.add(section);
    }
    Ok(page)
}

/// The components in use, the heaviest first.
pub(crate) fn in_use(fit: &MixtureFit) -> Vec<Used<'_>> {
    let mut used: Vec<Used> = fit.components.iter().enumerate().collect();
    used.retain(|(_, component)| component.count >= USED);
    used.sort_by(|a, b| b.1.weight.total_cmp(&a.1.weight));
    used
}

/// The rows on a plane with an ellipse for each component.
fn scatter(run: &SavedRun, saved: &SavedMixture, used: &[Used]) -> Result<Section> {
    let mut section = Section::new("rows", "Rows and components");
    let data = match data(run, saved) {
        Ok(data) => data,
        Err(why) => {
            section.text(format!("The picture of the rows is left out: {why}."));
            return Ok(section);
        }
    };
    let components = ["component".to_owned()];
    let labels = read_table(&run.file("assignments.csv"), Some(&components))?;
    let label = |row: usize| labels.values[row] as usize;
    if labels.rows != data.rows {
        section.text("The picture of the rows is left out: assignments.csv has other rows.");
        return Ok(section);
    }
    section.push(Part::Figure(cloud(
        &data.values,
        &label,
        &saved.columns,
        used,
    )));
    Ok(section)
}

/// Whether the rows of a run were read from a file, so that neither they nor a line for each fit in memory.
pub(super) fn is_out_of_memory(run: &SavedRun) -> bool {
    let rows = run.run.extra.get("rows");
    rows.is_some_and(|rows| rows["in"] == "file")
}

/// The data of the run, where they are at hand and still the same.
fn data(run: &SavedRun, saved: &SavedMixture) -> std::result::Result<Numbers, String> {
    if is_out_of_memory(run) {
        return Err("the rows did not fit in memory".into());
    }
    let input = run.run.inputs.first().ok_or("the run read no file")?;
    let file = run.input(input)?;
    let named = read_table_with_gaps(&file, Some(&saved.columns));
    let table = named.or_else(|_| read_table_with_gaps(&file, None));
    let mut table = table.map_err(|error| safe::name(&error.to_string()))?;
    if table.columns.len() != saved.columns.len() {
        return Err(format!("{} has other columns", safe::name(&input.name)));
    }
    if table.values.iter().any(|x| x.is_nan()) && !saved.categories.is_empty() {
        let imputed = saved.impute(&file, None);
        table.values = imputed.map_err(|error| error.to_string())?.numbers.mean;
    } else if table.values.iter().any(|x| x.is_nan()) {
        // Rows are drawn where they are expected to be.
        let density = saved.fit.predictive();
        let imputed =
            density.and_then(|density| density.impute(&table.values, saved.columns.len()));
        table.values = imputed.map_err(|error| error.to_string())?.mean;
    }
    Ok(table)
}

fn component_table(columns: &[String], classes: ClassNames<'_>, used: &[Used]) -> Table {
    let names: Vec<String> = columns
        .iter()
        .take(COLUMNS)
        .map(|name| safe::name(name))
        .collect();
    let mut head = vec!["component", "weight", "rows"];
    head.extend(names.iter().map(String::as_str));
    // The number, as in pictures, and the class where it is one.
    let label = |k: usize| match &*classes.class(k) {
        "" => k.to_string(),
        class => format!("{k} {}", safe::name(class)),
    };
    let rows = used.iter().map(|(k, component)| {
        let mut line = vec![
            label(*k),
            measured(component.weight, Some(component.weight_sd)),
            cell(component.count),
        ];
        let means = component.mean.iter().take(COLUMNS).enumerate();
        line.extend(means.map(|(d, mean)| {
            format!(
                "{} (sd {})",
                cell(*mean),
                cell(component.covariance.variance(d).sqrt())
            )
        }));
        line
    });
    Table::new(
        "Components: weights, means and deviations of rows",
        &head,
        rows,
        "components.json has all",
    )
}

fn weights(run: &SavedRun) -> Result<Section> {
    let mut section = Section::new("weights", "Weights");
    if run.written("posterior.csv").is_none() {
        return Ok(section);
    }
    let mut rows = run.posterior()?;
    rows.retain(|row| row.name.starts_with("weight["));
    if rows.is_empty() {
        return Ok(section);
    }
    rows.sort_by(|a, b| b.mean.total_cmp(&a.mean));
    let forest = Forest {
        id: "weights-forest",
        beside: "run",
        title: "Weights of components".into(),
        axis: "weight",
        runs: vec![(run.name(), rows)],
        zero: true,
    };
    section.push(Part::Figure(forest.figure()));
    Ok(section)
}

/// Means of columns by component, in deviations of all rows.
fn profile(saved: &SavedMixture, used: &[Used]) -> Section {
    let mut section = Section::new("profile", "Columns by component");
    let columns = saved.columns.len().min(COLUMNS);
    let names = safe::names(&saved.columns[..columns]);
    let total: f64 = used.iter().map(|(_, component)| component.weight).sum();
    let mut values: Vec<Value> = vec![];
    for d in 0..columns {
        let mean = |f: &dyn Fn(&Component) -> f64| -> f64 {
            used.iter().map(|(_, c)| c.weight * f(c)).sum::<f64>() / total
        };
        let centre = mean(&|c| c.mean[d]);
        let variance = mean(&|c| c.covariance.variance(d) + (c.mean[d] - centre).powi(2));
        let deviation = variance.sqrt();
        if deviation.is_nan() || deviation <= 0.0 {
            continue;
        }
        for (k, component) in used.iter().take(COMPONENTS) {
            let at = (component.mean[d] - centre) / deviation;
            let within = component.covariance.variance(d).sqrt() / deviation;
            values.push(json!({
                "column": names[d], "component": k.to_string(), "at": chart::rounded(at),
                "low": chart::rounded(at - within), "high": chart::rounded(at + within),
                "mean": chart::rounded(component.mean[d]),
            }));
        }
    }
    let order: Vec<String> = used.iter().map(|(k, _)| k.to_string()).collect();
    let y = json!({"field": "column", "type": "nominal", "sort": null, "title": null, "axis": {"grid": true}});
    let offset = json!({"field": "component", "type": "nominal", "sort": order});
    let colour =
        json!({"field": "component", "type": "nominal", "sort": order, "title": "component"});
    let each = 14 + 8 * used.len().min(COMPONENTS);
    let x = |field: &str| json!({"field": field, "type": "quantitative", "title": "deviations from the mean of all rows"});
    section.push(Part::Figure(Figure {
        id: "profile-columns".into(),
        title: String::new(),
        label: "Means of columns by component, in deviations of all rows".into(),
        caption: format!(
            "Where each component's rows lie, column by column: means, and lines of one deviation to either side{}.",
            if saved.columns.len() > columns { format!("; the first {columns} of {} columns", saved.columns.len()) } else { String::new() }
        ),
        table: Some(component_table(&saved.columns, saved.names(), used)),
        spec: chart::layers(
            chart::rows_height(columns, each),
            chart::values(values),
            json!([
                {"mark": {"type": "rule", "strokeWidth": 2}, "encoding": {"y": y, "yOffset": offset, "x": x("low"), "x2": {"field": "high"}, "color": colour}},
                {"mark": {"type": "point", "filled": true, "size": 50, "opacity": 1}, "encoding": {
                    "y": y, "yOffset": offset, "x": x("at"), "color": colour,
                    "shape": {"field": "component", "type": "nominal", "sort": order, "title": "component"},
                    "tooltip": [{"field": "column"}, {"field": "component"}, {"field": "mean"}]}},
            ]),
        ),
        choices: None,
    }));
    section
}

/// One of several numbers of components that were tried.
#[derive(Deserialize)]
struct Compared {
    components: usize,
    bound: f64,
    used: usize,
}

fn compared(run: &SavedRun) -> Section {
    let mut section = Section::new("numbers", "Numbers of components");
    let compared: Vec<Compared> = run.extra("compared").unwrap_or_default();
    if compared.len() < 2 {
        return section;
    }
    let values: Vec<Value> = compared
        .iter()
        .map(|one| json!({"components": one.components, "bound": one.bound}))
        .collect();
    let rows = compared.iter().map(|one| {
        vec![
            one.components.to_string(),
            one.used.to_string(),
            format!("{:.3}", one.bound),
        ]
    });
    section.push(Part::Figure(Figure {
        id: "numbers-bound".into(),
        title: String::new(),
        label: "Bound for each number of components".into(),
        caption: "The best bound for each number of components that was offered: higher is better."
            .into(),
        table: Some(Table::new(
            "Bounds by number of components",
            &["offered", "in use", "bound"],
            rows,
            "run.json has all",
        )),
        spec: chart::plain(
            240,
            chart::values(values),
            json!({"type": "line", "point": true, "color": chart::colour(0)}),
            json!({
                "x": {"field": "components", "type": "ordinal", "axis": {"labelAngle": 0}},
                "y": {"field": "bound", "type": "quantitative", "scale": {"zero": false}},
            }),
        ),
        choices: None,
    }));
    section
}
