//! The folder of a run as a page: one HTML file with its pictures, which opens without a network and lets nothing run but
//! what draws them.
//!
//! - `error`: why there is no page
//! - `saved`: what a folder holds, read again
//! - `page`: sections, pictures and tables, and the file that they become
//! - `safe`: names of anyone's choice in HTML and scripts
//! - `chart`: what Vega-Lite specifications have in common
//! - `climb`: the bound over the passes
//! - `forest`: intervals side by side, and rows of `posterior.csv`
//! - `draws`: densities, traces and ranks
//! - `fit`, `mixture`, `topics`, `quant`: a page for each kind of run
//! - `plane`: the principal plane of data, and ellipses in it
//! - `map`: topics on a plane
//! - `compare`: several runs on one page

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod chart;
mod climb;
mod compare;
mod draws;
mod error;
mod fit;
mod forest;
mod map;
mod mixture;
mod page;
mod plane;
mod quant;
mod safe;
mod saved;
mod topics;

use std::path::{Path, PathBuf};

use collapsar_formats::write_atomically;

pub use error::{Error, Result};
use page::Page;
use saved::{Kind, SavedRun};

/// The file that a page becomes in the folder of its run.
pub const FILE: &str = "report.html";

/// The page of a run, or of several that it compares, as HTML.
///
/// # Errors
///
/// A folder that no run wrote, or whose files are damaged.
pub fn html(folders: &[PathBuf]) -> Result<String> {
    let runs = folders.iter().map(|folder| SavedRun::read(folder));
    let runs = runs.collect::<Result<Vec<SavedRun>>>()?;
    let page = match runs.as_slice() {
        [run] => one(run)?,
        runs => compare::page(runs)?,
    };
    page.html()
}

/// Writes the page of a run into its folder, and what other programs want to know of it: MultiQC of a quantification.
/// Returns the path of the page.
///
/// # Errors
///
/// As [`html`] has them, and where the folder cannot be written in.
pub fn write(folder: &Path) -> Result<PathBuf> {
    let text = html(&[folder.to_owned()])?;
    let path = folder.join(FILE);
    write_atomically(&path, |out| out.write_all(text.as_bytes()))?;
    let run = SavedRun::read(folder)?;
    if run.kind == Kind::Quant {
        quant::write_multiqc(&run)?;
    }
    Ok(path)
}

fn one(run: &SavedRun) -> Result<Page> {
    match run.kind {
        Kind::Fit => fit::page(run),
        Kind::Mixture => mixture::page(run),
        Kind::Topics => topics::page(run),
        Kind::Quant => quant::page(run),
    }
}
