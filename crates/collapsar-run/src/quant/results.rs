//! The files of a quantification, in salmon's layout with some of our own.

use std::io::{self, Write};
use std::path::Path;

use collapsar::quant::Summary;
use collapsar_formats::{
    QuantRow, Run, prepare_folder, write_atomically, write_draws, write_quant_sf,
};
use serde_json::{Map, Value, json};

use super::estimates::QuantTable;
use super::input::Learned;
use super::request::QuantRequest;
use super::{QuantResult, salmon};
use crate::error::Result;
use crate::folder::RunFolder;
use crate::inputs::inputs;
use crate::record::{fields, write_json, write_trace};

/// Writes everything, and moves it into place.
pub(super) fn write(
    folder: RunFolder,
    request: &QuantRequest,
    result: &QuantResult,
    command: Vec<String>,
) -> Result<()> {
    let QuantResult {
        input,
        solved,
        estimates,
        ..
    } = result;
    let path = folder.path();
    let names = &input.transcripts.names;
    rows(path, "", names, &estimates.transcripts)?;
    if let (Some(genes), Some(estimates)) = (&input.genes, &estimates.genes) {
        rows(path, ".genes", &genes.names, estimates)?;
    }
    let aux = path.join("aux_info");
    prepare_folder(&aux)?;
    if request.draws > 0 {
        write_draws(&aux, names, result.draws(request))?;
    }
    write_json(&aux.join("meta_info.json"), &salmon::meta(request, input))?;
    let called = salmon::command(request, folder.target());
    write_json(&path.join("cmd_info.json"), &called)?;
    if let Some(learned) = &input.learned {
        let counts = salmon::library(request, learned);
        write_json(&path.join("lib_format_counts.json"), &counts)?;
    }
    if !solved.steps.is_empty() {
        write_trace(path, &solved.steps)?;
    }
    let quantified = &solved.quantified;
    folder.record(Run {
        version: env!("CARGO_PKG_VERSION").into(),
        command,
        config: request.record(),
        inputs: inputs(&request.files())?,
        outcome: solved.outcome.clone(),
        bound: quantified.bound,
        iterations: quantified.iterations,
        passes: quantified.passes.ceil() as u64,
        seconds: solved.seconds,
        seed: request.seed,
        extra: extra(result),
    })?;
    folder.commit()
}

/// `quant.sf` and `posterior.tsv`, or those of genes.
fn rows(folder: &Path, kind: &str, names: &[String], rows: &QuantTable) -> Result<()> {
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

/// What `run.json` has beside the fields of every run.
fn extra(result: &QuantResult) -> Map<String, Value> {
    let (input, solved) = (&result.input, &result.solved);
    let (reads, components) = (&input.reads, input.reads.components());
    let mut extra = fields(json!({
        "reads": input.processed,
        "used": input.used(),
        "transcripts": input.transcripts.names.len(),
        "genes": input.genes.as_ref().map(|genes| genes.names.len()),
        "prior": solved.quantified.alpha,
        "cut_error": solved.quantified.cut_error,
        "unique": reads.unique_reads() as u64,
        "rows": reads.rows(),
        "components": components.len(),
        "largest": components.first().map_or(1, |c| c.places.len()),
        "drawing_seconds": solved.drawing,
        "noise": result.estimates.noise,
    }));
    if let Some(learned) = &input.learned {
        extra.insert("alignments".to_owned(), record(learned));
    }
    extra
}

/// What was learned from alignments.
fn record(learned: &Learned) -> Value {
    let Learned { report, tally } = learned;
    json!({
        "records": tally.records,
        "aligned": tally.aligned,
        "unaligned": tally.unaligned,
        "discordant": tally.split,
        "orphans": tally.orphans,
        "placements": tally.placements,
        "supplementary": tally.supplementary,
        "unscored": tally.unscored,
        "incompatible": report.counts.incompatible,
        "too_long": report.counts.too_long,
        "library_type": report.library.to_string(),
        "library_type_share": report.orientations.fraction(report.library),
        "fragment_length_mean": report.fragment_length.mean(),
        "fragment_length_sd": report.fragment_length.sd(),
    })
}
