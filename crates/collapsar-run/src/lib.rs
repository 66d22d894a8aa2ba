//! A run: from a request and its inputs to results, for the program and for Python alike.
//!
//! - `error`: what can go wrong with a run, as data

mod error;

pub use error::{Error, Result};
