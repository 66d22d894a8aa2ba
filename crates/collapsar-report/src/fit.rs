//! The page of a model in the BUGS language.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use collapsar_bugs::Drawing;
use collapsar_formats::{Input, read_data};
use collapsar_run::fit::{ModelRequest, ModelSource};
use collapsar_run::{PosteriorKind, Signs};
use collapsar_text::{duration, short};

use crate::climb;
use crate::draws;
use crate::error::Result;
use crate::forest::Forest;
use crate::page::{Fact, Page, Part, Section, fact};
use crate::predictive;
use crate::safe;
use crate::saved::{Row, SavedRun};

use collapsar::elementary::Elementary;

pub(crate) fn page(run: &SavedRun) -> Result<Page> {
    let model: Option<Input> = run.extra("model");
    let model = model.map_or_else(|| "a model".to_owned(), |model| safe::name(&model.name));
    let mut page = Page::of(
        run,
        "Fit of a model",
        format!("What the data say of every number of {model}."),
    );
    page.facts = facts(run);
    page.add(verdict(run));
    let rows = run.posterior()?;
    let chains = run.chains()?;
    let checks = predictive::section(run, &rows, chains.as_ref());
    // Replicates of data are looked at beside the data.
    let elsewhere = |name: &str| checks.has_pictures() && predictive::is_replicate(name);
    let mut own = rows;
    own.retain(|row| !elsewhere(&row.name));
    page.add(parameters(run, &own)?);
    let chains = chains.map(|chains| chains.without(elsewhere));
    if let Some(section) = chains.as_ref().and_then(draws::section) {
        page.add(section);
    }
    page.add(checks);
    page.add(graph(run));
    if let Some(section) = climb::section(std::slice::from_ref(run))? {
        page.add(section);
    }
    Ok(page)
}

/// What stands above everything: the bound, and what it took.
pub(crate) fn facts(run: &SavedRun) -> Vec<Fact> {
    let record = &run.run;
    let mut facts = vec![fact("Bound on ln p(data)", format!("{:.3}", record.bound))];
    let signs: Option<Signs> = run.extra("signs");
    if let Some((estimate, error)) = signs.and_then(|signs| signs.ln_evidence) {
        facts.push(fact(
            "ln p(data) by draws",
            format!("{estimate:.2} ± {error:.2}"),
        ));
    }
    facts.push(outcome(run));
    facts.push(fact("Passes over the data", record.passes));
    facts.push(fact("Time", duration(record.seconds)));
    facts
}

/// How a run ended; powers of ten are not broken across lines.
pub(crate) fn outcome(run: &SavedRun) -> Fact {
    fact("Outcome", run.outcome().replace("e-", "e\u{2011}"))
}

/// How far results may be trusted, and why.
pub(crate) fn verdict(run: &SavedRun) -> Section {
    let mut section = Section::new("verdict", "Verdict");
    let Some((words, reasons)) = run.verdict() else {
        return section;
    };
    let kind = match run.posterior_kind() {
        Some(PosteriorKind::MeanField) => "Standard deviations are those of mean field.",
        Some(PosteriorKind::LinearResponse) => "Standard deviations are those of linear response.",
        Some(PosteriorKind::Exact) => "Draws are exact.",
        None => "",
    };
    let because = if reasons.is_empty() {
        String::new()
    } else {
        format!(": {}", reasons.join(", "))
    };
    let class = if words.starts_with("Trust means and") {
        "lead"
    } else {
        "lead warning"
    };
    section.class(class, format!("{words}{because}. {kind}"));
    let warnings: Vec<String> = run.extra("warnings").unwrap_or_default();
    for warning in warnings {
        section.class("warning", safe::name(&warning));
    }
    let signs: Signs = run.extra("signs").unwrap_or_default();
    if let (Some(r_hat), Some(ess)) = (signs.r_hat, signs.ess) {
        section.text(format!(
            "Of all numbers the largest R-hat is {r_hat:.3} and the smallest effective sample size {ess:.0}."
        ));
    }
    section
}

/// A forest for each array: numbers of one array are of one scale more often than all are.
fn parameters(run: &SavedRun, rows: &[Row]) -> Result<Section> {
    /// Arrays of several elements that have a picture of their own.
    const ARRAYS: usize = 8;
    let mut section = Section::new("parameters", "Parameters");
    let array = |row: &Row| row.name.split('[').next().unwrap_or_default().to_owned();
    let mut groups: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    let mut order = vec![];
    for row in rows {
        let name = array(row);
        if !groups.contains_key(&name) {
            order.push(name.clone());
        }
        groups.entry(name).or_default().push(row.clone());
    }
    let (arrays, single): (Vec<String>, Vec<String>) =
        order.into_iter().partition(|name| groups[name].len() > 1);
    let others = run.others()?;
    let of = |id: &str, title: String, rows: Vec<Row>| {
        let mut runs = vec![(posterior_name(run), rows.clone())];
        for (name, all) in &others {
            let same = rows.iter().filter_map(|row| all.get(&row.name).cloned());
            let same: Vec<Row> = same.collect();
            if !same.is_empty() {
                runs.push((name.clone(), same));
            }
        }
        let forest = Forest {
            id,
            beside: "posterior",
            title,
            axis: "value",
            runs,
            zero: false,
        };
        Part::Figure(forest.figure())
    };
    for (place, name) in arrays.iter().take(ARRAYS).enumerate() {
        let rows = groups[name].clone();
        section.push(of(&format!("array-{place}"), safe::name(name), rows));
    }
    if arrays.len() > ARRAYS {
        section.text(format!(
            "{ARRAYS} of {} arrays are drawn; posterior.csv has all.",
            arrays.len()
        ));
    }
    // Numbers that are no arrays differ in scale: those of about the same size stand together.
    let mut sizes: BTreeMap<i32, Vec<Row>> = BTreeMap::new();
    for row in single.iter().flat_map(|name| &groups[name]) {
        let [low, _, high] = row.quantiles;
        let size = low
            .abs()
            .max(high.abs())
            .log10_()
            .floor()
            .clamp(-300.0, 300.0) as i32;
        sizes
            .entry(size.div_euclid(2))
            .or_default()
            .push(row.clone());
    }
    for (place, rows) in sizes.into_values().rev().enumerate() {
        let names: Vec<String> = rows.iter().map(|row| safe::name(&row.name)).collect();
        let title = match names.as_slice() {
            [name] => name.clone(),
            names if names.len() > 6 => "Single numbers".to_owned(),
            names => names.join(", "),
        };
        section.push(of(&format!("single-{place}"), title, rows));
    }
    if !others.is_empty() {
        section.text("Mean field leaves out how numbers depend on one another, so that its intervals are too short; linear response adds that; exact draws have no such error, only that of their number.");
    }
    Ok(section)
}

/// Which posterior the results are of, in words.
fn posterior_name(run: &SavedRun) -> String {
    run.posterior_kind()
        .map_or_else(|| run.name(), |kind| kind.name().replace('-', " "))
}

/// The drawing of the model, where its text and data are at hand.
fn graph(run: &SavedRun) -> Section {
    let mut section = Section::new("graph", "The model");
    match drawing(run) {
        Ok(svg) => {
            let names = |key: &str| -> String {
                let names: Vec<String> = run.extra(key).unwrap_or_default();
                if names.is_empty() {
                    "nothing".to_owned()
                } else {
                    safe::name(&names.join(", "))
                }
            };
            let (collapsed, explicit) = (names("collapsed"), names("explicit"));
            section.push(Part::Image {
                source: safe::picture(&svg),
                alt: format!("Graph of the model; collapsed: {collapsed}; explicit: {explicit}"),
                caption: format!(
                    "What depends on what. Integrated out: {collapsed}. Kept: {explicit}."
                ),
            });
        }
        Err(why) => section.text(format!("The drawing of the model is left out: {why}.")),
    }
    section
}

fn drawing(run: &SavedRun) -> std::result::Result<String, String> {
    let model: Input = run
        .extra("model")
        .ok_or("the run does not say which it was")?;
    let file = run.input(&model)?;
    let mut data = vec![];
    for input in &run.run.inputs {
        data.push(run.input(input)?);
    }
    let told = |error: collapsar_run::Error| short_sentence(&error.to_string());
    let source = ModelSource::read(&file).map_err(told)?;
    let data = read_data(&data).map_err(|error| short_sentence(&error.to_string()))?;
    let outline = source.model.outline(&data);
    let prepared = source.with(data).map_err(told)?;
    let names = |key: &str| -> Option<Vec<String>> {
        let list = run.run.config.get(key)?.as_array()?;
        Some(
            list.iter()
                .filter_map(|name| Some(name.as_str()?.to_owned()))
                .collect(),
        )
    };
    let request = ModelRequest {
        collapse: names("collapse").unwrap_or_default(),
        explicit: names("explicit").unwrap_or_default(),
        enumerate: names("enumerate"),
        files: (PathBuf::new(), vec![]),
        ..ModelRequest::default()
    };
    let prepared = request
        .prepare(Arc::new(source.clone()), prepared)
        .map_err(told)?;
    let drawing = Drawing::new(&outline, Some(prepared.compiled.choice()));
    Ok(drawing.svg(&source.name))
}

/// The first line of what may be many.
fn short_sentence(text: &str) -> String {
    safe::name(text.lines().next().unwrap_or_default())
}

/// A share of all as people read it.
pub(crate) fn percent(share: f64) -> String {
    format!("{}%", short(100.0 * share))
}
