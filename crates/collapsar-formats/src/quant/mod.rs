//! Transcript quantification: what reads, transcripts and genes come from, and result folders as salmon has them.
//!
//! | File | Decides |
//! |---|---|
//! | `lines` | how a path opens, how lines are cut and what a refusal names |
//! | `float` | how text becomes the nearest number, fast |
//! | `prob` | BitSeq's probabilities of reads, streamed |

mod float;
mod lines;
mod prob;

pub use prob::{ProbHeader, ProbReader};

#[cfg(test)]
mod testing;
