//! A run: from a request and its inputs to results, for the program and for Python alike.
//!
//! - `error`: what can go wrong with a run, as data
//! - `folder`: the folder of a run, which appears as a whole

mod error;
mod folder;

pub use error::{Error, Result};
pub use folder::RunFolder;
