//! What salmon writes beside its results, for programs that read it.

use collapsar::quant::fragment::LengthDistribution;
use serde_json::{Value, json};

use super::args::{FitArgs, Source};
use super::data::{Data, Learned};
use crate::files::name_of;

/// The version whose layout is followed; readers choose by it.
const LIKE: &str = "1.10.1";

/// `aux_info/meta_info.json`.
pub(crate) fn meta(args: &FitArgs, data: &Data) -> Value {
    let targets = data.transcripts.len();
    let used = data.used();
    let report = data.learned.as_ref().map(|learned| &learned.report);
    let library = report.map(|report| report.library.to_string());
    let lengths = report.map(|report| &report.fragment_length);
    json!({
        "salmon_version": LIKE,
        "collapsar_version": env!("CARGO_PKG_VERSION"),
        "samp_type": if args.draws > 0 { "gibbs" } else { "none" },
        "opt_type": "vb",
        "quant_errors": [],
        "num_libraries": 1,
        "library_types": [library.unwrap_or_else(|| args.fragments.library_type.to_string())],
        "frag_dist_length": lengths.map(|lengths| lengths.longest() + 1),
        "frag_length_mean": lengths.map(LengthDistribution::mean),
        "frag_length_sd": lengths.map(LengthDistribution::sd),
        "seq_bias_correct": args.fragments.sequence_bias,
        "gc_bias_correct": false,
        "mapping_type": "alignment",
        "num_targets": targets,
        "num_valid_targets": targets,
        "num_decoy_targets": 0,
        "num_eq_classes": data.reads.rows(),
        "serialized_eq_classes": false,
        "num_bootstraps": args.draws,
        "num_processed": data.processed,
        "num_mapped": used,
        "percent_mapped": 100.0 * used as f64 / data.processed.max(used).max(1) as f64,
        "call": "quant",
    })
}

/// `cmd_info.json`.
pub(crate) fn command(args: &FitArgs) -> Value {
    let (input, file) = match args.source() {
        Source::Alignments(file) => ("alignments", file),
        Source::Prob(file) => ("prob", file),
        Source::Classes(file) => ("eqclasses", file),
    };
    let mut command = json!({
        "salmon_version": LIKE,
        "collapsar_version": env!("CARGO_PKG_VERSION"),
        "libType": args.fragments.library_type.to_string(),
        "auxDir": "aux_info",
        "threads": rayon::current_num_threads().to_string(),
    });
    command[input] = json!(name_of(file));
    let files = [
        ("targets", &args.about.transcripts),
        ("lengths", &args.about.lengths),
        ("geneMap", &args.about.gene_map),
        ("output", &args.out),
    ];
    for (key, file) in files {
        if let Some(file) = file {
            command[key] = json!(name_of(file));
        }
    }
    command
}

/// `lib_format_counts.json`.
pub(crate) fn library(args: &FitArgs, learned: &Learned) -> Value {
    let report = &learned.report;
    let counts = &report.counts;
    let compatible = counts.fragments - counts.incompatible;
    let mut record = json!({
        "read_files": name_of(args.file()),
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
