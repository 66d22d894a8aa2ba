//! The page of a quantification, and what MultiQC reads of it.
//!
//! - `library`: what became of reads, how they lie, and how long fragments are

mod library;

use std::collections::BTreeMap;

use collapsar_formats::write_atomically;
use collapsar_text::{duration, thousands};
use serde_json::{Value, json};

use crate::error::Result;
use crate::fit::{outcome, percent};
use crate::page::{Fact, Figure, Finder, Page, Part, Section, Table, fact};
use crate::saved::{SavedRun, damaged, records};
use crate::{chart, climb, safe};

use collapsar::elementary::Elementary;

/// The file that MultiQC finds by its name.
const MULTIQC: &str = "collapsar_mqc.json";
/// Bins of each axis of the picture of uncertainty, a decade of reads having five.
const BINS: usize = 20;

/// A line of `posterior.tsv`: TPM and reads, each with deviation and interval.
struct Estimate {
    name: String,
    tpm: [f64; 4],
    reads: [f64; 4],
}

pub(crate) fn page(run: &SavedRun) -> Result<Page> {
    let estimates = read(run, "posterior.tsv")?;
    let mut page = Page::of(
        run,
        "Quantification",
        format!(
            "{} transcripts with their uncertainty.",
            thousands(estimates.len())
        ),
    );
    page.facts = facts(run);
    page.add(library::section(run)?);
    let genes = match run.written("posterior.genes.tsv") {
        Some(_) => Some(read(run, "posterior.genes.tsv")?),
        None => None,
    };
    page.add(uncertainty(&estimates, genes.as_deref()));
    if let Some(genes) = &genes {
        let section = table(&mut page, "genes", "Genes", genes);
        page.add(section);
    }
    let section = table(&mut page, "transcripts", "Transcripts", &estimates);
    page.add(section);
    if let Some(section) = climb::section(std::slice::from_ref(run))? {
        page.add(section);
    }
    Ok(page)
}

fn read(run: &SavedRun, name: &str) -> Result<Vec<Estimate>> {
    let file = run.file(name);
    let mut lines = records(&file, b'\t')?.into_iter();
    let width = lines.next().map_or(0, |head| head.len());
    let estimates = lines.map(|line| {
        let numbers: Option<Vec<f64>> = line
            .get(1..9)?
            .iter()
            .map(|cell| cell.parse().ok())
            .collect();
        let numbers = numbers?;
        let four = |from: usize| [0, 1, 2, 3].map(|at| numbers[from + at]);
        Some(Estimate {
            name: safe::name(&line[0]),
            tpm: four(0),
            reads: four(4),
        })
    });
    let estimates: Option<Vec<Estimate>> = estimates.collect();
    let estimates = estimates.filter(|_| width == 9);
    estimates.ok_or_else(|| damaged(&file, "a line without its nine columns"))
}

fn number(run: &SavedRun, name: &str) -> Option<f64> {
    run.extra(name)
}

fn facts(run: &SavedRun) -> Vec<Fact> {
    let mut facts = vec![];
    let (reads, used) = (number(run, "reads"), number(run, "used"));
    if let (Some(reads), Some(used)) = (reads, used) {
        facts.push(fact("Reads", thousands(reads as usize)));
        facts.push(fact(
            "Of these used",
            percent(used / reads.max(used).max(1.0)),
        ));
        if let Some(unique) = number(run, "unique") {
            facts.push(fact(
                "Of one transcript only",
                percent(unique / used.max(1.0)),
            ));
        }
    }
    let alignments: Value = run.extra("alignments").unwrap_or_default();
    if let Some(library) = alignments["library_type"].as_str() {
        facts.push(fact("Library type", safe::name(library)));
    }
    if let (Some(mean), Some(sd)) = (
        alignments["fragment_length_mean"].as_f64(),
        alignments["fragment_length_sd"].as_f64(),
    ) {
        facts.push(fact("Fragment length", format!("{mean:.0} ± {sd:.0}")));
    }
    facts.push(outcome(run));
    facts.push(fact("Time", duration(run.run.seconds)));
    facts
}

/// How sure the reads of transcripts are, by how many there are, in bins.
fn uncertainty(estimates: &[Estimate], genes: Option<&[Estimate]>) -> Section {
    let mut section = Section::new("certainty", "How certain is it?");
    let expressed = || estimates.iter().filter(|of| of.reads[0] >= 1.0);
    let mut bins: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for of in expressed() {
        let x = (5.0 * of.reads[0].log10_()) as usize;
        let y = (relative(of) * BINS as f64 / 2.0) as usize;
        *bins.entry((x, y)).or_default() += 1;
    }
    if bins.is_empty() {
        section.text("No transcript has a read.");
        return section;
    }
    let most = bins.values().copied().max().unwrap_or(1) as f64;
    let values: Vec<Value> = bins
        .iter()
        .map(|(&(x, y), &count)| {
            let (from, to) = (x as f64 / 5.0, (x + 1) as f64 / 5.0);
            let low = 2.0 * y as f64 / BINS as f64;
            json!({
                "from": chart::rounded(10f64.powf_(from)), "to": chart::rounded(10f64.powf_(to)),
                "low": chart::rounded(low), "high": chart::rounded(low + 2.0 / BINS as f64), "transcripts": count,
                "shade": chart::rounded(0.15 + 0.85 * (1.0 + count as f64).ln_() / (1.0 + most).ln_()),
            })
        })
        .collect();
    let limits = [0.05, 0.1, 0.2, 0.5, 1.0, f64::INFINITY];
    let total: f64 = expressed().map(|of| of.reads[0]).sum();
    let mut below = 0.0;
    let rows: Vec<Vec<String>> = limits
        .iter()
        .map(|&limit| {
            let within = |of: &&Estimate| relative(of) >= below && relative(of) < limit;
            let (count, reads) = expressed()
                .filter(within)
                .fold((0, 0.0), |(count, reads), of| {
                    (count + 1, reads + of.reads[0])
                });
            let words = if limit.is_finite() {
                format!("{below} to {limit}")
            } else {
                format!("{below} or more")
            };
            below = limit;
            vec![words, thousands(count), percent(reads / total)]
        })
        .collect();
    section.push(Part::Figure(Figure {
        id: "certainty-bins".into(),
        title: "How certain each transcript is".into(),
        label: "Relative deviations of transcripts by their reads, in bins".into(),
        caption: format!(
            "The {} transcripts with a read or more, counted in bins: the stronger the shade, the more. Near 0 a transcript's reads are certain; those above 1 cannot be told from those of others.",
            thousands(expressed().count())
        ),
        table: Some(Table::new(
            "Certainty of reads",
            &["sd as a part of the mean", "transcripts", "of all reads"],
            rows,
            "posterior.tsv has all",
        )),
        spec: chart::plain(
            300,
            chart::values(values),
            json!({"type": "rect", "color": chart::colour(0)}),
            json!({
                "x": {"field": "from", "type": "quantitative", "scale": {"type": "log"}, "title": "reads of a transcript"},
                "x2": {"field": "to"},
                "y": {"field": "low", "type": "quantitative", "title": "sd as a part of the mean"},
                "y2": {"field": "high"},
                "opacity": {"field": "shade", "type": "quantitative", "scale": null, "legend": null},
                "tooltip": [{"field": "transcripts", "type": "quantitative"}],
            }),
        ),
        choices: None,
    }));
    section.push(Part::Figure(certain(estimates, genes)));
    section
}

/// The deviation of reads as a part of their mean; two and more are the same.
fn relative(of: &Estimate) -> f64 {
    (of.reads[1] / of.reads[0]).min(1.999_999)
}

/// How many of the expressed transcripts, and genes, are known how well.
fn certain(estimates: &[Estimate], genes: Option<&[Estimate]>) -> Figure {
    const POINTS: usize = 100;
    let (mut values, mut rows): (Vec<Value>, Vec<Vec<String>>) = (vec![], vec![]);
    let sets = [("transcripts", Some(estimates)), ("genes", genes)];
    for (what, all) in sets
        .into_iter()
        .filter_map(|(what, all)| Some((what, all?)))
    {
        let mut known: Vec<f64> = all
            .iter()
            .filter(|of| of.reads[0] >= 1.0)
            .map(relative)
            .collect();
        known.sort_by(f64::total_cmp);
        let part =
            |limit: f64| known.partition_point(|&x| x <= limit) as f64 / known.len().max(1) as f64;
        values.extend((0..=POINTS).map(|at| {
            let limit = at as f64 / POINTS as f64;
            json!({"of": what, "limit": limit, "part": chart::rounded(part(limit))})
        }));
        let mut row = vec![what.to_owned(), thousands(known.len())];
        row.extend([0.05, 0.1, 0.2, 0.5, 1.0].map(|limit| percent(part(limit))));
        rows.push(row);
    }
    let several = rows.len() > 1;
    let head = [
        "of",
        "with reads",
        "sd ≤ 5%",
        "≤ 10%",
        "≤ 20%",
        "≤ 50%",
        "≤ 100%",
    ];
    Figure {
        id: "certainty-parts".into(),
        title: "How much of the expression is certain".into(),
        label: "How many transcripts or genes have a relative deviation below each limit".into(),
        caption: format!(
            "The part of those with a read or more whose reads are known to within the deviation on the axis.{}",
            if several {
                " Reads that transcripts of one gene share leave the gene certain."
            } else {
                ""
            }
        ),
        table: Some(Table::new(
            "Parts that are known to within a limit",
            &head,
            rows,
            "all are here",
        )),
        spec: chart::plain(
            240,
            chart::values(values),
            json!({"type": "line", "strokeWidth": 2}),
            json!({
                "x": {"field": "limit", "type": "quantitative", "title": "sd as a part of the mean, at most", "axis": {"format": "%", "tickCount": 5}},
                "y": {"field": "part", "type": "quantitative", "title": "part of those with reads", "axis": {"format": "%", "tickCount": 5}, "scale": {"domain": [0, 1]}},
                "color": {"field": "of", "type": "nominal", "title": null, "sort": ["transcripts", "genes"]},
                "strokeDash": {"field": "of", "type": "nominal", "title": null, "sort": ["transcripts", "genes"]},
            }),
        ),
        choices: None,
    }
}

/// Four digits are what the table shows.
pub(crate) fn digits(value: f64) -> Value {
    let text = format!("{value:.3e}");
    json!(text.parse::<f64>().unwrap_or(value))
}

fn table(page: &mut Page, id: &str, title: &str, estimates: &[Estimate]) -> Section {
    let rows = estimates.iter().map(|of| {
        let [reads, deviation, ..] = of.reads;
        let [tpm, sd, low, high] = of.tpm.map(digits);
        let relative = if reads > 0.0 { deviation / reads } else { 0.0 };
        json!([of.name, digits(reads), tpm, sd, low, high, digits(relative)])
    });
    let columns = ["name", "reads", "TPM", "sd", "2.5%", "97.5%", "sd / reads"];
    let finder = Finder {
        columns: &columns,
        rows: rows.collect(),
        sorted: 2,
        falling: true,
        limit: (2, false),
    };
    let mut section = Section::new(&format!("{id}-section"), title);
    section.push(page.finder(id, title, "TPM of at least", &finder));
    section.text("Expected reads, transcripts per million (TPM) with standard deviation and the interval that holds 95% of the posterior, and the deviation of the reads as a part of them: near 0 they are certain. A click on a column's name sorts by it.");
    section
}

/// Writes what MultiQC shows of a run in its table of samples.
pub(crate) fn write_multiqc(run: &SavedRun) -> Result<()> {
    let (reads, used) = (
        number(run, "reads").unwrap_or(0.0),
        number(run, "used").unwrap_or(0.0),
    );
    let unique = number(run, "unique").unwrap_or(0.0);
    let share = |part: f64, of: f64| if of > 0.0 { 100.0 * part / of } else { 0.0 };
    let content = json!({
        "id": "collapsar_quant",
        "section_name": "Collapsar",
        "description": "Transcripts quantified by collapsed variational inference.",
        "plot_type": "table",
        "pconfig": {"id": "collapsar_quant_table", "title": "Collapsar: quantification"},
        "headers": {
            "reads": {"title": "Reads", "description": "Reads that were processed", "format": "{:,.0f}"},
            "used": {"title": "% used", "description": "Reads that could be assigned", "max": 100, "min": 0, "suffix": "%"},
            "unique": {"title": "% unique", "description": "Used reads of one transcript only", "max": 100, "min": 0, "suffix": "%"},
            "transcripts": {"title": "Transcripts", "description": "Transcripts of the reference", "format": "{:,.0f}"},
        },
        "data": {run.name(): {
            "reads": reads, "used": share(used, reads.max(used)), "unique": share(unique, used),
            "transcripts": number(run, "transcripts").unwrap_or(0.0),
        }},
    });
    Ok(write_atomically(&run.file(MULTIQC), |out| {
        out.write_all(format!("{content:#}\n").as_bytes())
    })?)
}

/// Names and cells of estimates that two runs have in common.
pub(crate) fn abundances(run: &SavedRun) -> Result<BTreeMap<String, f64>> {
    let estimates = read(run, "posterior.tsv")?;
    Ok(estimates
        .into_iter()
        .map(|of| (of.name, of.tpm[0]))
        .collect())
}
