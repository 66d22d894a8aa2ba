//! The files of a quantification, in salmon's layout with some of our own.

use std::io::{self, Write};
use std::path::Path;

use collapsar::quant::Summary;
use collapsar_formats::{
    QuantRow, Run, TraceWriter, prepare_folder, write_atomically, write_draws, write_quant_sf,
};
use serde_json::{Map, Value, json};

use super::answer::{Rows, Said, chosen};
use super::args::FitArgs;
use super::data::Data;
use super::solve::Solved;
use super::stage::Stage;
use super::{salmon, summary};
use crate::files::inputs;

/// All but run.json, which comes last: it means that everything before it is there.
const FILES: [&str; 10] = [
    "quant.sf",
    "quant.genes.sf",
    "posterior.tsv",
    "posterior.genes.tsv",
    "aux_info/bootstrap/bootstraps.gz",
    "aux_info/bootstrap/names.tsv.gz",
    "aux_info/meta_info.json",
    "cmd_info.json",
    "lib_format_counts.json",
    "trace.jsonl",
];

pub(crate) fn write(
    stage: Stage,
    args: &FitArgs,
    data: &Data,
    solved: &Solved,
    said: &Said,
) -> anyhow::Result<()> {
    let folder = stage.folder();
    let names = &data.transcripts.names;
    rows(folder, "", names, &said.transcripts)?;
    if let (Some(genes), Some(said)) = (&data.genes, &said.genes) {
        rows(folder, ".genes", &genes.names, said)?;
    }
    let aux = folder.join("aux_info");
    prepare_folder(&aux)?;
    if args.draws > 0 {
        draws(&aux, args, data, solved, said)?;
    }
    json_file(&aux.join("meta_info.json"), &salmon::meta(args, data))?;
    json_file(&folder.join("cmd_info.json"), &salmon::command(args))?;
    if let Some(learned) = &data.learned {
        let counts = salmon::library(args, learned);
        json_file(&folder.join("lib_format_counts.json"), &counts)?;
    }
    if !solved.steps.is_empty() {
        let mut trace = TraceWriter::create(folder)?;
        for step in &solved.steps {
            trace.write(step)?;
        }
        trace.finish()?;
    }
    let quantified = &solved.quantified;
    Run {
        version: env!("CARGO_PKG_VERSION").into(),
        command: std::env::args().collect(),
        config: args.record(),
        inputs: inputs(&args.files())?,
        outcome: solved.outcome.clone(),
        bound: quantified.bound,
        iterations: quantified.iterations,
        passes: quantified.passes.ceil() as u64,
        seconds: solved.seconds,
        seed: args.seed,
        extra: extra(data, solved, said),
    }
    .write(folder)?;
    stage.finish(&FILES, "run.json")
}

/// `quant.sf` and `posterior.tsv`, or those of genes.
fn rows(folder: &Path, kind: &str, names: &[String], rows: &Rows) -> anyhow::Result<()> {
    let lines = (0..names.len()).map(|m| QuantRow {
        name: &names[m],
        length: rows.lengths[m],
        effective: rows.effective[m],
        tpm: rows.tpm[m],
        count: rows.counts[m],
    });
    write_quant_sf(&folder.join(format!("quant{kind}.sf")), lines)?;
    write_atomically(&folder.join(format!("posterior{kind}.tsv")), |out| {
        posterior(out, names, &rows.posterior)
    })?;
    Ok(())
}

fn posterior(out: &mut dyn Write, names: &[String], rows: &[(Summary, Summary)]) -> io::Result<()> {
    writeln!(
        out,
        "Name\tTPM.mean\tTPM.sd\tTPM.lower\tTPM.upper\t\
         NumReads.mean\tNumReads.sd\tNumReads.lower\tNumReads.upper"
    )?;
    for (name, (reads, tpm)) in names.iter().zip(rows) {
        write!(out, "{name}")?;
        for value in [tpm.mean, tpm.sd, tpm.lower, tpm.upper] {
            write!(out, "\t{value:.6}")?;
        }
        for value in [reads.mean, reads.sd, reads.lower, reads.upper] {
            write!(out, "\t{value:.3}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn draws(
    aux: &Path,
    args: &FitArgs,
    data: &Data,
    solved: &Solved,
    said: &Said,
) -> anyhow::Result<()> {
    let names = &data.transcripts.names;
    if let Some(exact) = &solved.draws {
        let counts = |index| exact.counts(&data.reads, index).split_off(data.offset());
        write_draws(aux, names, chosen(args).map(counts))?;
    } else {
        write_draws(aux, names, said.draws.iter().cloned())?;
    }
    Ok(())
}

/// What `run.json` has beside the fields of every run.
fn extra(data: &Data, solved: &Solved, said: &Said) -> Map<String, Value> {
    let quantified = &solved.quantified;
    let components = data.reads.components();
    let mut fields = Map::new();
    let mut add = |name: &str, value: Value| {
        fields.insert(name.to_owned(), value);
    };
    add("reads", json!(data.processed));
    add("used", json!(data.used()));
    add("transcripts", json!(data.transcripts.len()));
    add("genes", json!(data.genes.as_ref().map(|g| g.names.len())));
    add("prior", json!(quantified.alpha));
    add("cut_error", json!(quantified.cut_error));
    add("unique", json!(data.reads.unique_reads() as u64));
    add("rows", json!(data.reads.rows()));
    add("components", json!(components.len()));
    add(
        "largest",
        json!(components.first().map_or(1, |c| c.places.len())),
    );
    add("drawing_seconds", json!(solved.drawing));
    add("noise", json!(said.noise));
    if let Some(learned) = &data.learned {
        add("alignments", summary::record(learned));
    }
    fields
}

fn json_file(path: &Path, value: &Value) -> anyhow::Result<()> {
    Ok(write_atomically(path, |mut out| {
        serde_json::to_writer_pretty(&mut out, value)?;
        out.write_all(b"\n")
    })?)
}
