//! A run: from a request and its inputs to results, for the program and for Python alike.
//!
//! - `error`: what can go wrong with a run, as data
//! - `inputs`: files named, recorded and tried
//! - `plan`: how models are climbed, and the defaults
//! - `climb`: climbs from every start, of which the best is kept
//! - `record`, `text`: what a run says of itself, and how results become lines
//! - `fit`: models in the BUGS language
//! - `mixture`: mixtures of Gaussians
//! - `topics`: topic models
//! - `folder`: the folder of a run, which appears as a whole
//! - `quant`: transcripts and genes, from reads

mod climb;
mod error;
pub mod fit;
mod folder;
mod inputs;
pub mod mixture;
mod plan;
pub mod quant;
mod record;
mod text;
pub mod topics;

pub use climb::{Climbed, Climbs, End, Spread, Watch};
pub use error::{Error, Result};
pub use folder::RunFolder;
pub use inputs::{check_target, inputs, name_of};
pub use plan::{
    CHECKPOINT_EVERY, ClimbOptions, MAX_ITERATIONS, MIXTURE_TOLERANCE, Plan, model_tolerance,
    threads, threads_of_jobs, topics_tolerance,
};
