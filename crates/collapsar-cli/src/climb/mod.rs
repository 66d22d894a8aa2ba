//! How any model is climbed: from every start, for every number of parts, under limits, and the best is kept.
//!
//! - `args`: the flags, as typed
//! - `plan`: what they mean, checked once
//! - `run`: the climbs
//! - `ended`: how they ended, in words

mod args;
mod ended;
mod plan;
mod run;

pub(crate) use args::ClimbArgs;
pub(crate) use ended::Ended;
pub(crate) use plan::Plan;
pub(crate) use run::{Ascent, Climbs, each};
