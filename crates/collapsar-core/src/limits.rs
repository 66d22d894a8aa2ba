//! Limits of what files and options may ask for, in one place: beyond them the answer is a sentence, not an abort.
//!
//! Each keeps what a few bytes can make the program allocate below a gigabyte; `docs/limits.md` lists them.

/// Elements of an array in a model, and rows of a sparse matrix of which few are given.
pub const ELEMENTS: usize = 20_000_000;
/// Repetitions of lines that a model may have of its own accord.
pub const REPETITIONS: usize = 500_000;
/// Repetitions of lines that each number of the data allows beyond these.
pub const REPETITIONS_PER_NUMBER: usize = 64;
/// States of an unknown label, each of which is derived.
pub const STATES: usize = 20_000;
/// Threads that may be asked for.
pub const THREADS: u32 = 1_024;
/// Transcripts that the header of a file without their names may claim.
pub const TRANSCRIPTS: u64 = 10_000_000;
/// Bytes of an alignment record, and of a name in a header of alignments.
pub const RECORD: u32 = 1 << 28;
/// Climbs that may be asked for.
pub const RESTARTS: u32 = 1_000_000;
/// Draws that may be asked for.
pub const DRAWS: u32 = 10_000_000;
/// Sweeps over documents within a pass.
pub const SWEEPS: u32 = 1_000_000;
/// Numbers of components or topics in one list.
pub const NUMBERS: usize = 1_000;
/// Components of a mixture, and topics.
pub const COMPONENTS: usize = 1_000_000;
/// Rounding error, in nats, of the parts of a bound: beyond it two bounds cannot be told apart.
pub const ROUNDING: f64 = 1e-3;
