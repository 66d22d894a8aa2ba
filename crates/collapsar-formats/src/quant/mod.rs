//! Transcript quantification: what reads, transcripts and genes come from, and result folders as salmon has them.
//!
//! | File | Decides |
//! |---|---|
//! | `lines` | how a path opens, how lines are cut and what a refusal names |
//! | `float` | how text becomes the nearest number, fast |
//! | `prob` | BitSeq's probabilities of reads, streamed |
//! | `lengths` | BitSeq's lengths of transcripts |
//! | `classes` | equivalence classes: salmon's or kallisto's |
//! | `counts` | which file beside kallisto's classes counts their reads |
//! | `fasta` | which sequences are transcripts |
//! | `names` | what is left of a transcript's name without its version or its GENCODE fields |

mod classes;
mod counts;
mod fasta;
mod float;
mod lengths;
mod lines;
mod names;
mod prob;

pub use classes::{Class, Classes, read_classes};
pub use fasta::{Transcripts, read_transcripts};
pub use lengths::{TranscriptLength, read_lengths};
pub use names::{strip_gencode, strip_version};
pub use prob::{ProbHeader, ProbReader};

#[cfg(test)]
mod testing;
