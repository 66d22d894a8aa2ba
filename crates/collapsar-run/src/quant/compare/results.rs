//! The files of a comparison.

use std::io::{self, Write};
use std::path::PathBuf;

use collapsar::quant::compare::{Comparison, Row};
use collapsar_formats::write_atomically;
use serde_json::{Value, json};

use super::{CompareRequest, CompareResult, tested};
use crate::error::Result;
use crate::folder::RunFolder;
use crate::record::{inputs, write_json};

/// Writes everything, and moves it into place.
pub(super) fn write(
    folder: RunFolder,
    request: &CompareRequest,
    result: &CompareResult,
    command: &[String],
) -> Result<()> {
    let conditions = &result.groups.names;
    let table = |file: &str, names: &[String], comparison: &Comparison| {
        write_atomically(&folder.path().join(file), |out| {
            rows(out, conditions, names, &comparison.rows)
        })
    };
    table("compare.tsv", &result.samples.names, &result.transcripts)?;
    if let (Some((genes, _)), Some(comparison)) = (&result.genes, &result.by_gene) {
        table("compare.genes.tsv", &genes.names, comparison)?;
    }
    let mut record = record(request, result)?;
    record["command"] = json!(command);
    record["files"] = folder.files()?;
    write_json(&folder.path().join("run.json"), &record)?;
    folder.commit()
}

fn rows(
    out: &mut dyn Write,
    conditions: &[String],
    names: &[String],
    rows: &[Row],
) -> io::Result<()> {
    write!(out, "Name\tlog2Expression")?;
    for condition in conditions {
        write!(out, "\tlog2Expression.{condition}")?;
    }
    writeln!(
        out,
        "\tlog2FoldChange\tsd\tlower\tupper\tP.positive\tlfsr\tqvalue\tinferentialSd"
    )?;
    for (name, row) in names.iter().zip(rows) {
        let Some(change) = &row.change else {
            // Expression, the conditions, and the nine columns after them but for the name.
            writeln!(out, "{name}{}", "\tNA".repeat(conditions.len() + 9))?;
            continue;
        };
        write!(out, "{name}\t{:.6}", row.expression)?;
        for level in &row.conditions {
            write!(out, "\t{level:.6}")?;
        }
        let interval = [change.mean, change.sd, change.lower, change.upper];
        for value in interval.into_iter().chain([change.positive]) {
            write!(out, "\t{value:.6}")?;
        }
        for value in [change.false_sign, change.qvalue] {
            write!(out, "\t{value:.6e}")?;
        }
        writeln!(out, "\t{:.6}", row.inferential)?;
    }
    Ok(())
}

/// `run.json`: the fields of every run but those of climbs, and what was result.
fn record(request: &CompareRequest, result: &CompareResult) -> Result<Value> {
    let (groups, samples) = (&result.groups, &result.samples);
    let listed = groups.samples.iter().enumerate().map(|(k, sample)| {
        json!({
            "folder": sample.name,
            "condition": groups.names[sample.condition],
            "reads": samples.reads[k],
            "size_factor": samples.scale.factors()[k],
            "draws": samples.draws[k],
        })
    });
    let comparison = |comparison: &Comparison| {
        let [tested, up, down] = tested(comparison);
        json!({
            "all": comparison.rows.len(),
            "tested": tested,
            "up": up,
            "down": down,
            "prior_degrees": comparison.prior_degrees,
            "trend": comparison.trend,
        })
    };
    let (from, to) = result.contrast;
    Ok(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "config": {
            "contrast": [groups.names[from], groups.names[to]],
            "ignore_versions": request.ignore_versions,
            "threads": rayon::current_num_threads(),
        },
        "inputs": inputs(&files(request, result))?,
        "seconds": result.seconds,
        "samples": listed.collect::<Vec<_>>(),
        "residual_degrees": result.transcripts.degrees,
        "transcripts": comparison(&result.transcripts),
        "genes": result.by_gene.as_ref().map(comparison),
    }))
}

/// All files that were read.
fn files(request: &CompareRequest, result: &CompareResult) -> Vec<PathBuf> {
    let names = "quant.sf quant.sf.gz aux_info/bootstrap/bootstraps.gz".split(' ');
    let folders = result.groups.samples.iter().map(|sample| &sample.folder);
    let read = folders.flat_map(|folder| names.clone().map(|file| folder.join(file)));
    let named = [Some(&request.groups), request.genes.as_ref()];
    let named = named.into_iter().flatten().cloned();
    named.chain(read.filter(|file| file.exists())).collect()
}
