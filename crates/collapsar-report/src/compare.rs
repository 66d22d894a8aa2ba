//! Several runs on one page.

use std::collections::BTreeSet;

use collapsar_run::Signs;
use collapsar_text::duration;

use crate::climb;
use crate::error::{Error, Result};
use crate::forest::Forest;
use crate::page::{Page, Part, Section, Table, cell};
use crate::quant;
use crate::saved::{Kind, Row, SavedRun};

pub(crate) fn page(runs: &[SavedRun]) -> Result<Page> {
    if let Some(of) = runs.iter().find(|run| run.kind == Kind::Changes) {
        let found = "a comparison of conditions";
        let expected = "runs of fit, mixture, topics or quant, or this folder alone";
        return Err(Error::folder(of.folder.display(), found, expected));
    }
    let names: Vec<String> = runs.iter().map(SavedRun::name).collect();
    let mut page = Page {
        title: names.join(", "),
        kind: "Comparison".into(),
        lead: format!("{} runs side by side.", runs.len()),
        provenance: runs.iter().map(SavedRun::provenance).collect(),
        ..Page::default()
    };
    page.add(bounds(runs));
    page.add(numbers(runs)?);
    if let Some(section) = climb::section(runs)? {
        page.add(section);
    }
    Ok(page)
}

/// Bounds, evidence and cost, the best first.
fn bounds(runs: &[SavedRun]) -> Section {
    let mut section = Section::new("bounds", "Bounds");
    let mut order: Vec<&SavedRun> = runs.iter().collect();
    order.sort_by(|a, b| b.run.bound.total_cmp(&a.run.bound));
    let best = order.first().map_or(0.0, |run| run.run.bound);
    let rows = order.iter().map(|saved| {
        let run = &saved.run;
        let signs: Signs = saved.extra("signs").unwrap_or_default();
        let evidence = signs
            .ln_evidence
            .map(|(estimate, error)| format!("{estimate:.2} ± {error:.2}"));
        vec![
            saved.name(),
            format!("{:.3}", run.bound),
            format!("{:.3}", run.bound - best),
            evidence.unwrap_or_else(|| "–".into()),
            run.passes.to_string(),
            duration(run.seconds),
            saved.verdict().map_or("–", |(words, _)| words).to_owned(),
        ]
    });
    let head = [
        "run",
        "bound",
        "to the best",
        "ln p(data)",
        "passes",
        "time",
        "verdict",
    ];
    section.push(Part::Table {
        table: Table::new("Bounds of runs", &head, rows, "the others are not shown"),
    });
    let inputs = |saved: &SavedRun| -> BTreeSet<String> {
        saved
            .run
            .inputs
            .iter()
            .map(|input| input.digest.clone())
            .collect()
    };
    if runs.iter().any(|run| inputs(run) != inputs(&runs[0])) {
        section.class(
            "warning",
            "The runs did not read the same files, so do not compare their bounds.",
        );
    } else {
        section.text("Differences of bounds are in nats. They compare models as far as the bounds are tight, and only on the same data.");
    }
    section
}

/// What the runs have in common.
fn numbers(runs: &[SavedRun]) -> Result<Section> {
    let mut section = Section::new("numbers", "Numbers that all have");
    if runs.iter().all(|run| run.kind == Kind::Quant) {
        let all = runs
            .iter()
            .map(quant::abundances)
            .collect::<Result<Vec<_>>>()?;
        let mut common: Vec<(&String, Vec<f64>)> = all[0]
            .keys()
            .filter_map(|name| {
                Some((
                    name,
                    all.iter()
                        .map(|of| of.get(name).copied())
                        .collect::<Option<Vec<f64>>>()?,
                ))
            })
            .collect();
        common.sort_by(|a, b| b.1[0].total_cmp(&a.1[0]));
        let names: Vec<String> = runs.iter().map(SavedRun::name).collect();
        let mut head = vec!["transcript"];
        head.extend(names.iter().map(String::as_str));
        let rows = common.iter().map(|(name, tpm)| {
            let mut line = vec![(*name).clone()];
            line.extend(tpm.iter().map(|&tpm| cell(tpm)));
            line
        });
        section.text("Transcripts per million, the most abundant of the first run first.");
        section.push(Part::Table {
            table: Table::new(
                "Transcripts per million",
                &head,
                rows,
                "posterior.tsv of each run has all",
            ),
        });
        return Ok(section);
    }
    let mut all: Vec<(String, Vec<Row>)> = vec![];
    for (run, place) in runs.iter().zip(1..) {
        if run.written("posterior.csv").is_none() {
            return Ok(section);
        }
        // Folders in different places may have the same name.
        let place: usize = place;
        all.push((format!("{place} {}", run.name()), run.posterior()?));
    }
    let names =
        |rows: &[Row]| -> BTreeSet<String> { rows.iter().map(|row| row.name.clone()).collect() };
    let mut common = names(&all[0].1);
    for (_, rows) in &all[1..] {
        common = &common & &names(rows);
    }
    for (_, rows) in &mut all {
        rows.retain(|row| common.contains(&row.name));
    }
    if common.is_empty() {
        section.text("The runs have no number of the same name.");
        return Ok(section);
    }
    let forest = Forest {
        id: "numbers-forest",
        beside: "run",
        title: "Posteriors side by side".into(),
        axis: "value",
        runs: all,
        zero: false,
    };
    section.push(Part::Figure(forest.figure()));
    Ok(section)
}
