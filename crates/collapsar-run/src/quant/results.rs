//! The files of a quantification: in salmon's layout, for programs that read it, with some of our own.

use std::io::{self, Write};
use std::path::Path;

use collapsar::quant::Summary;
use collapsar::quant::fragment::LengthDistribution;
use collapsar_formats::{
    QuantRow, Run, prepare_folder, write_atomically, write_draws, write_quant_sf,
};
use serde_json::{Map, Value, json};

use super::QuantResult;
use super::estimates::QuantTable;
use super::input::{Learned, QuantInput};
use super::request::{QuantRequest, ReadSource};
use crate::error::Result;
use crate::folder::RunFolder;
use crate::record::{fields, name_of, write_json, write_trace};

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
    write_json(&aux.join("meta_info.json"), &meta(request, input))?;
    let called = called(request, folder.target());
    write_json(&path.join("cmd_info.json"), &called)?;
    if let Some(learned) = &input.learned {
        let counts = library(request, learned);
        write_json(&path.join("lib_format_counts.json"), &counts)?;
        let lengths = &learned.report.fragment_length;
        write_atomically(&aux.join("fragment_lengths.tsv"), |out| {
            fragment_lengths(out, lengths)
        })?;
    }
    if !solved.steps.is_empty() {
        write_trace(path, &solved.steps)?;
    }
    let quantified = &solved.quantified;
    folder.record(Run {
        version: env!("CARGO_PKG_VERSION").into(),
        command,
        config: request.record(),
        inputs: folder.inputs(&request.files())?,
        outcome: solved.outcome.clone(),
        bound: quantified.bound,
        iterations: quantified.iterations,
        passes: quantified.passes.ceil() as u64,
        seconds: solved.seconds,
        seed: request.climb.seed,
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

/// How probable each length is; a table that ends where nothing is left.
fn fragment_lengths(out: &mut dyn Write, lengths: &LengthDistribution) -> io::Result<()> {
    /// Less than a read of all that anyone sequences.
    const NOTHING: f64 = 1e-10;
    writeln!(out, "length\tprobability")?;
    for length in 1..=lengths.longest() {
        let probability = lengths.probability(length);
        if probability > NOTHING {
            writeln!(out, "{length}\t{probability:e}")?;
        }
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

/// The version whose layout is followed; readers choose by it.
const LIKE: &str = "1.10.1";

/// `aux_info/meta_info.json`.
fn meta(request: &QuantRequest, input: &QuantInput) -> Value {
    let targets = input.transcripts.len();
    let used = input.used();
    let report = input.learned.as_ref().map(|learned| &learned.report);
    let library = report.map(|report| report.library.to_string());
    let lengths = report.map(|report| &report.fragment_length);
    json!({
        "salmon_version": LIKE,
        "collapsar_version": env!("CARGO_PKG_VERSION"),
        "samp_type": if request.draws > 0 { "gibbs" } else { "none" },
        "opt_type": "vb",
        "quant_errors": [],
        "num_libraries": 1,
        "library_types": [library.unwrap_or_else(|| request.fragments.library.to_string())],
        "frag_dist_length": lengths.map(|lengths| lengths.longest() + 1),
        "frag_length_mean": lengths.map(LengthDistribution::mean),
        "frag_length_sd": lengths.map(LengthDistribution::sd),
        "seq_bias_correct": request.fragments.sequence_bias,
        "gc_bias_correct": false,
        "mapping_type": "alignment",
        "num_targets": targets,
        "num_valid_targets": targets,
        "num_decoy_targets": 0,
        "num_eq_classes": input.reads.rows(),
        "serialized_eq_classes": false,
        "num_bootstraps": request.draws,
        "num_processed": input.processed,
        "num_mapped": used,
        "percent_mapped": 100.0 * used as f64 / input.processed.max(used).max(1) as f64,
        "call": "quant",
    })
}

/// `cmd_info.json`.
fn called(request: &QuantRequest, out: &Path) -> Value {
    let input = match request.source {
        ReadSource::Alignments(_) => "alignments",
        ReadSource::Prob(_) => "prob",
        ReadSource::Classes(_) => "eqclasses",
        ReadSource::Matrix(_) => "matrix",
    };
    let mut command = json!({
        "salmon_version": LIKE,
        "collapsar_version": env!("CARGO_PKG_VERSION"),
        "libType": request.fragments.library.to_string(),
        "auxDir": "aux_info",
        "threads": request.climb.threads.to_string(),
    });
    command[input] = json!(request.source.name());
    let files = [
        ("targets", request.transcripts.as_deref()),
        ("lengths", request.lengths_file()),
        ("geneMap", request.genes_file()),
        ("output", Some(out)),
    ];
    for (key, file) in files {
        if let Some(file) = file {
            command[key] = json!(name_of(file));
        }
    }
    command
}

/// `lib_format_counts.json`.
fn library(request: &QuantRequest, learned: &Learned) -> Value {
    let report = &learned.report;
    let counts = &report.counts;
    let compatible = counts.fragments - counts.incompatible;
    let mut record = json!({
        "read_files": request.source.name(),
        "expected_format": report.library.to_string(),
        "compatible_fragment_ratio": compatible as f64 / counts.fragments.max(1) as f64,
        "num_compatible_fragments": compatible,
        "num_assigned_fragments": counts.used,
        "num_frags_with_inconsistent_or_orphan_mappings": counts.incompatible + learned.tally.orphans,
    });
    let mut by_strand = [0, 0];
    for (name, number) in report.orientations.counts() {
        let key = name.replace(' ', "_");
        by_strand[usize::from(name.ends_with('R'))] += number;
        record[key] = json!(number);
    }
    let [forward, reverse] = by_strand;
    record["strand_mapping_bias"] = json!(forward as f64 / (forward + reverse).max(1) as f64);
    record
}
