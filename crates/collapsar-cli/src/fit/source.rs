//! A model and its data as typed, and what is said of them.

use std::path::{Path, PathBuf};

use clap::Args;
use collapsar_bugs::{Data, Prepared};
use collapsar_run::fit::ModelSource;

use crate::common::{Common, Usage};

/// A model and its data, as typed.
#[derive(Debug, Args)]
pub(crate) struct SourceArgs {
    /// Model in the BUGS language; - reads it from standard input
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Data: JSON, R dumps, CSV or TSV (a vector a column), NPY (named as its file); several add up
    #[arg(long, short, value_name = "FILE", num_args = 1..)]
    pub(crate) data: Vec<PathBuf>,
    /// Collapse these arrays, integrating them out
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    #[arg(help_heading = "Model")]
    pub(crate) collapse: Vec<String>,
    /// Do not collapse these arrays
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    #[arg(help_heading = "Model")]
    pub(crate) explicit: Vec<String>,
}

impl SourceArgs {
    /// Refuses what clap cannot know of.
    pub(crate) fn check(&self) -> Result<(), Usage> {
        let stdin = |file: &&PathBuf| file.as_path() == Path::new("-");
        let files = std::iter::once(&self.model).chain(&self.data);
        match files.filter(stdin).count() {
            0 | 1 => Ok(()),
            times => Err(Usage(format!(
                "- is given {times} times, expected once: there is one standard input"
            ))),
        }
    }
}

/// Puts data into a model, and warns of those that it never mentions.
pub(crate) fn with(source: &ModelSource, data: Data, common: &Common) -> anyhow::Result<Prepared> {
    let unused = source.model.unused(&data);
    let prepared = source.with(data);
    // Before a refusal only what may explain it.
    let explains = unused.iter().any(|(_, like)| like.is_some());
    if !unused.is_empty() && (prepared.is_ok() || explains) {
        let one = |(name, like): &(String, Option<String>)| match like {
            Some(like) => format!("{name} (is {like} meant?)"),
            None => name.clone(),
        };
        let names: Vec<String> = unused.iter().map(one).collect();
        let (model, names) = (&source.name, names.join(", "));
        common.warn(&format!("{model}: nothing reads {names} of the data"));
    }
    Ok(prepared?)
}
