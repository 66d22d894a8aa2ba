//! The experiments of the paper that the method comes from, HRL12: requests in, tables and files out.
//!
//! - `mixture`: the first experiment, five Gaussians and many restarts; its data are in `ring`, its tables in `tables`
//! - `topics`: the second, topics of papers; `corpus` draws documents where none are given
//! - `quant`: the third, reads and their transcripts; `simulate` makes reads where none are given
//! - `plan`: which runs, and every method from every start for the last two, whose tables are in `paired`
//! - `measure`: what runs came to
//! - `report`: what an experiment leaves to read
//! - `curvature`: the paper's figure 1(b), computed; `line` has the two bounds along a line, `svg` the picture
//! - `error`: what can go wrong

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod corpus;
mod curvature;
mod error;
mod line;
mod measure;
mod mixture;
mod paired;
mod plan;
mod quant;
mod report;
mod ring;
mod simulate;
mod svg;
mod tables;
mod topics;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use collapsar::Terms;

pub use corpus::{CorpusSize, corpus_of};
pub use curvature::{Figure, curvature};
pub use error::{Error, Result};
pub use mixture::MixtureRequest;
pub use plan::Plan;
pub use quant::QuantRequest;
pub use report::Report;
pub use simulate::{Simulated, SimulationSize, simulate};
pub use topics::TopicsRequest;

/// The program that an experiment runs in: it is told how runs go, and may stop them.
pub trait Host: Sync {
    /// What the program calls its options.
    fn terms(&self) -> &dyn Terms;

    /// Set where runs should end after their present step.
    fn interrupt(&self) -> &AtomicBool;

    /// The data are read and so many runs about to begin: the last moment to refuse them.
    ///
    /// # Errors
    /// Whatever keeps the program from taking the results.
    fn begin(&self, runs: usize) -> Result<()>;

    /// How the present run stands, in words that need not be made where nobody reads them.
    fn status(&self, words: &dyn Fn() -> String);

    /// One more run has ended.
    fn advance(&self);

    /// A line for those who want to know more.
    fn detail(&self, line: &str);
}

/// Only the name: tables should not depend on where the data lie.
fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Each item once, in the order in which they first come.
fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut kept = Vec::new();
    for item in items {
        if !kept.contains(&item) {
            kept.push(item);
        }
    }
    kept
}
