//! What salmon writes beside its results, for programs that read it.

use std::path::Path;

use collapsar::quant::fragment::LengthDistribution;
use serde_json::{Value, json};

use super::input::{Learned, QuantInput};
use super::request::{QuantRequest, ReadSource};
use crate::inputs::name_of;

/// The version whose layout is followed; readers choose by it.
const LIKE: &str = "1.10.1";

/// `aux_info/meta_info.json`.
pub(super) fn meta(request: &QuantRequest, input: &QuantInput) -> Value {
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
pub(super) fn command(request: &QuantRequest, out: &Path) -> Value {
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
        "threads": request.threads.to_string(),
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
pub(super) fn library(request: &QuantRequest, learned: &Learned) -> Value {
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
