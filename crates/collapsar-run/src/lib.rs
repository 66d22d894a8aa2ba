//! A run: from a request and its inputs to results, for the program and for Python alike.
//!
//! - `error`: what can go wrong with a run, as data
//! - `plan`: how models are climbed, and the defaults
//! - `climb`: climbs from every start, of which the best is kept
//! - `verdict`: which posterior results are of, and how far they may be trusted
//! - `record`: files named, recorded and tried, and what a run says of itself
//! - `fit`: models in the BUGS language
//! - `mixture`: mixtures of Gaussians
//! - `topics`: topic models
//! - `memory`: how much memory a run may take
//! - `scratch`: files of what does not fit in memory
//! - `folder`: the folder of a run, which appears as a whole
//! - `witness`: whether inputs stayed as they were
//! - `quant`: transcripts and genes, from reads

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod climb;
mod error;
pub mod fit;
mod folder;
mod memory;
pub mod mixture;
mod plan;
pub mod quant;
mod record;
mod scratch;
pub mod topics;
mod verdict;
mod witness;

pub use climb::{Climbed, Climbs, End, Spread, Watch};
pub use error::{Error, Result};
pub use folder::RunFolder;
pub use memory::{bytes, default_memory};
pub use plan::{
    CHECKPOINT_EVERY, ClimbOptions, MAX_ITERATIONS, MIXTURE_TOLERANCE, Plan, model_tolerance,
    threads, threads_of_jobs, topics_tolerance,
};
pub use record::{check_apart, check_target, inputs, name_of};
pub use scratch::{Scratch, bound_by};
pub use verdict::{COARSE, DRIFTED, GROWN, PosteriorKind, SHIFTED, Signs, UNCERTAIN, Verdict};
pub use witness::Witness;
