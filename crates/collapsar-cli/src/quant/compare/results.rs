//! The files of a comparison.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use collapsar::quant::compare::{Comparison, Row};
use collapsar_formats::write_atomically;
use serde_json::{Value, json};

use super::super::stage::Stage;
use super::{CompareArgs, Found, summary};
use crate::files::inputs;

/// All but run.json, which comes last: it means that everything before it is there.
const FILES: [&str; 2] = ["compare.tsv", "compare.genes.tsv"];

pub(super) fn write(stage: Stage, args: &CompareArgs, found: &Found) -> anyhow::Result<()> {
    let folder = stage.folder();
    let conditions = &found.groups.names;
    let table = |file: &str, names: &[String], comparison: &Comparison| {
        write_atomically(&folder.join(file), |out| {
            rows(out, conditions, names, &comparison.rows)
        })
    };
    table(FILES[0], &found.samples.names, &found.transcripts)?;
    if let (Some(genes), Some(comparison)) = (&found.genes, &found.by_gene) {
        table(FILES[1], &genes.names, comparison)?;
    }
    let record = record(args, found)?;
    write_atomically(&folder.join("run.json"), |mut out| {
        serde_json::to_writer_pretty(&mut out, &record)?;
        out.write_all(b"\n")
    })?;
    stage.finish(&FILES, "run.json")
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
        for value in [
            change.mean,
            change.sd,
            change.lower,
            change.upper,
            change.positive,
        ] {
            write!(out, "\t{value:.6}")?;
        }
        for value in [change.false_sign, change.qvalue] {
            write!(out, "\t{value:.6e}")?;
        }
        writeln!(out, "\t{:.6}", row.inferential)?;
    }
    Ok(())
}

/// `run.json`: the fields of every run but those of climbs, and what was found.
fn record(args: &CompareArgs, found: &Found) -> anyhow::Result<Value> {
    let (groups, samples) = (&found.groups, &found.samples);
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
        let [tested, up, down] = summary::counts(comparison);
        json!({
            "all": comparison.rows.len(),
            "tested": tested,
            "up": up,
            "down": down,
            "prior_degrees": comparison.prior_degrees,
            "trend": comparison.trend,
        })
    };
    let (from, to) = found.contrast;
    Ok(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "command": std::env::args().collect::<Vec<_>>(),
        "config": {
            "contrast": [groups.names[from], groups.names[to]],
            "ignore_versions": args.ignore_versions,
            "threads": rayon::current_num_threads(),
        },
        "inputs": inputs(&files(args, found))?,
        "seconds": found.seconds,
        "samples": listed.collect::<Vec<_>>(),
        "residual_degrees": found.transcripts.degrees,
        "transcripts": comparison(&found.transcripts),
        "genes": found.by_gene.as_ref().map(comparison),
    }))
}

/// All files that were read.
fn files(args: &CompareArgs, found: &Found) -> Vec<PathBuf> {
    let folders = found.groups.samples.iter().map(|sample| &sample.folder);
    let of = |folder: &PathBuf| {
        [
            "quant.sf",
            "quant.sf.gz",
            "aux_info/bootstrap/bootstraps.gz",
        ]
        .map(|file| folder.join(file))
        .into_iter()
        .filter(|file| Path::exists(file))
    };
    let named = [Some(args.groups.clone()), args.gene_map.clone()];
    named
        .into_iter()
        .flatten()
        .chain(folders.flat_map(of))
        .collect()
}
