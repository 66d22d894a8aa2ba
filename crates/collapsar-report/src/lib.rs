//! The folder of a run as a page: one HTML file with its pictures, which opens without a network and lets nothing run but
//! what draws them.
//!
//! - `error`: why there is no page
//! - `saved`: what a folder holds, read again
//! - `page`: sections, pictures and tables, and the file that they become
//! - `pictures`: specifications of fits in memory
//! - `safe`: names of anyone's choice in HTML and scripts
//! - `figures`, `svg`: the pictures of a page as files of their own
//! - `chart`: what Vega-Lite specifications have in common
//! - `climb`: the bound over the passes
//! - `forest`: intervals side by side, and rows of `posterior.csv`
//! - `draws`: densities, traces and ranks
//! - `predictive`: data beside their replicates
//! - `fit`, `mixture`, `topics`, `quant`, `changes`: a page for each kind of run
//! - `plane`: the principal plane of data, and ellipses in it
//! - `map`: topics on a plane
//! - `documents`: topics beyond their words
//! - `compare`: several runs on one page

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod changes;
mod chart;
mod climb;
mod compare;
mod documents;
mod draws;
mod error;
mod figures;
mod fit;
mod forest;
mod map;
mod mixture;
mod page;
pub mod pictures;
mod plane;
mod predictive;
mod quant;
mod safe;
mod saved;
mod svg;
mod topics;

use std::path::{Path, PathBuf};

use collapsar_formats::write_atomically;

pub use error::{Error, Result};
pub use figures::{FIGURES, FigureKind};
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
    page(folders)?.html()
}

/// Writes the pictures of that page into `figures` below a folder, and returns where they are.
///
/// # Errors
///
/// As [`html`] has them, and where the folder cannot be written in.
pub fn write_figures(
    folders: &[PathBuf],
    into: &Path,
    kinds: &[FigureKind],
) -> Result<Vec<PathBuf>> {
    figures::write(&page(folders)?, into, kinds)
}

fn page(folders: &[PathBuf]) -> Result<Page> {
    let runs = folders.iter().map(|folder| SavedRun::read(folder));
    let runs = runs.collect::<Result<Vec<SavedRun>>>()?;
    match runs.as_slice() {
        [run] => one(run),
        runs => compare::page(runs),
    }
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
        Kind::Changes => changes::page(run),
    }
}
