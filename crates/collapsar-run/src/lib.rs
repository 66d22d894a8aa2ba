//! A run: from a request and its inputs to results, for the program and for Python alike.
//!
//! - `error`: what can go wrong with a run, as data
//! - `inputs`: files named, recorded and tried
//! - `plan`: how models are climbed, and the defaults
//! - `climb`: climbs from every start, of which the best is kept
//! - `folder`: the folder of a run, which appears as a whole

mod climb;
mod error;
mod folder;
mod inputs;
mod plan;

pub use climb::{Ascent, AtEnd, AtStep, Climbed, Climbs, End, Run, Spread, Start, Watch, each};
pub use error::{Error, Result};
pub use folder::RunFolder;
pub use inputs::{check_target, inputs, name_of};
pub use plan::{
    CHECKPOINT_EVERY, ClimbOptions, MAX_ITERATIONS, MIXTURE_TOLERANCE, Plan, model_tolerance,
    threads, threads_of_jobs, topics_tolerance,
};
