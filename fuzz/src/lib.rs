//! Every reader as a function of bytes, for a fuzzer and for tests that replay what it found.
//!
//! - `memory`: an allocator that counts and refuses what is beyond the limit
//! - `files`: bytes as the files that readers take
//! - `tables`, `corpora`, `alignments`, `transcripts`: data
//! - `models`: texts in the BUGS language, their data and initial values
//! - `checkpoints`, `folders`: what runs leave and other runs take up
//! - `machines`: what workers are asked, and what they answer

mod alignments;
mod checkpoints;
mod corpora;
mod files;
mod folders;
mod machines;
mod memory;
mod models;
mod tables;
mod transcripts;

pub use alignments::bases;
pub use checkpoints::checkpoint;
pub use memory::{Counting, LIMIT};

/// A reader: bytes in, an answer or a refusal, never a panic.
pub type Target = fn(&[u8]);

/// All readers, by the names of their folders in `seeds` and `regressions`.
pub const TARGETS: &[(&str, Target)] = &[
    ("csv", tables::csv),
    ("npy", tables::npy),
    ("parquet", tables::parquet),
    ("texts", corpora::texts),
    ("counts", corpora::counts),
    ("sam", alignments::read),
    ("bam", alignments::read),
    ("cram", alignments::read),
    ("prob", transcripts::prob),
    ("lengths", transcripts::lengths),
    ("classes", transcripts::classes),
    ("fasta", transcripts::fasta),
    ("genes", transcripts::genes),
    ("quant", folders::quant),
    ("bugs", models::text),
    ("elaborate", models::with_data),
    ("json", models::json),
    ("dump", models::dump),
    ("checkpoint", checkpoints::resume),
    ("tasks", machines::tasks),
    ("mixture", folders::mixture),
    ("topics", folders::topics),
    ("report", folders::report),
];

/// The reader of this name.
///
/// # Panics
/// Where there is none.
pub fn target(name: &str) -> Target {
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    found.expect("a name of TARGETS").1
}
