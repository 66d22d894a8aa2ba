//! What all fits have in common: flags, how climbs are watched, how they ended.
//!
//! - `args`: the flags, as typed
//! - `watch`: climbs on the progress bar
//! - `words`: how climbs ended, in words

mod args;
mod watch;
mod words;

pub(crate) use args::ClimbArgs;
pub(crate) use watch::Bar;
pub(crate) use words::{exit, kept_in, lines, nothing, warn};
