//! Transcript quantification: what reads, transcripts and genes come from, and result folders as salmon has them.
//!
//! | File | Decides |
//! |---|---|
//! | `float` | how text becomes the nearest number, fast |
//! | `prob` | BitSeq's probabilities of reads, streamed |
//! | `detect` | what a file of reads is, by its content |
//! | `lengths` | BitSeq's lengths of transcripts |
//! | `classes` | equivalence classes: salmon's or kallisto's |
//! | `counts` | which file beside kallisto's classes counts their reads |
//! | `fasta` | which sequences are transcripts |
//! | `genes` | which gene a transcript belongs to |
//! | `annotation` | how a line of GTF or GFF3 names transcripts and genes |
//! | `names` | what is left of a transcript's name without its version or its GENCODE fields |
//! | `folder` | result folders in salmon's layout, in |
//! | `draws` | result folders in salmon's layout, out |

mod annotation;
mod classes;
mod counts;
mod detect;
mod draws;
mod fasta;
mod float;
mod folder;
mod genes;
mod lengths;
mod names;
mod prob;

pub use classes::{Class, Classes, read_classes};
pub use detect::{ReadsFormat, reads_format};
pub use draws::{QuantRow, write_draws, write_quant_sf};
pub use fasta::{Transcripts, read_transcripts};
pub use folder::{Quantification, read_quantification};
pub use genes::{GeneMap, read_genes};
pub use lengths::{TranscriptLength, read_lengths};
pub use names::{strip_gencode, strip_version};
pub use prob::{ProbHeader, ProbReader};

#[cfg(test)]
mod damage;
#[cfg(test)]
mod testing;
