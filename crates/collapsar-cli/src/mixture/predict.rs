//! `collapsar mixture predict`: labels, densities and anomaly scores of new data under a saved fit.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use collapsar_formats::{Error, Problem, Table, read_table};

use super::saved::Saved;
use crate::files::emit;
use crate::text::count;

const EXAMPLES: &str = "\
Examples:
  collapsar mixture old.csv --out fit
  collapsar mixture predict fit new.csv > labels.csv
  collapsar mixture predict fit new.csv --out labels.csv

The result is CSV with
  row           from 1
  component     the most probable one, from 0, as in components.json
  probability   of that component
  ln_density    log of the posterior predictive density, a mixture of Student-t
  tail          probability that a new row has a lower density still: small for anomalies";

/// Label and score new data with a saved fit
///
/// Columns are found by the names that they had in the fit; in data without names, by position.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PredictArgs {
    /// Folder that collapsar mixture --out wrote
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Table of numbers: CSV, TSV, NPY or Parquet; - reads CSV from standard input
    #[arg(value_name = "DATA")]
    data: PathBuf,
    /// Use these columns instead, by name or by index from 1, in the order of the fit's
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    columns: Option<Vec<String>>,
    /// Write to FILE instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Of the draws behind the tail probabilities: the same for everyone, so that two people with the
/// same fit and row see the same number.
const SEED: u64 = 0;

pub(crate) fn run(args: &PredictArgs) -> anyhow::Result<ExitCode> {
    let saved = Saved::read(&args.folder)?;
    let density = saved.fit.predictive()?;
    let table = match &args.columns {
        Some(columns) => read_table(&args.data, Some(columns))?,
        None => read_like(&args.data, &saved.columns)?,
    };
    if table.columns.len() != saved.columns.len() {
        bail!(
            "{}: {}, expected {} as the fit has ({})",
            args.data.display(),
            count(table.columns.len(), "column"),
            saved.columns.len(),
            saved.columns.join(", ")
        );
    }
    let scores = density.score(&table.values, table.columns.len())?;
    let tail = density.tail(&scores.ln_density, SEED);
    emit(args.out.as_deref(), |out| {
        writeln!(out, "row,component,probability,ln_density,tail")?;
        for row in 0..table.rows {
            writeln!(
                out,
                "{},{},{:?},{:?},{:?}",
                row + 1,
                scores.labels[row],
                scores.certainty[row],
                scores.ln_density[row],
                tail[row]
            )?;
        }
        Ok(())
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Reads the columns that a fit has, by name; all of them where the fit or the data have no names.
fn read_like(data: &Path, names: &[String]) -> anyhow::Result<Table> {
    if is_nameless(names) {
        return Ok(read_table(data, None)?);
    }
    match read_table(data, Some(names)) {
        // Standard input cannot be read twice: there, --columns 1,2 says what is meant.
        Err(Error::File { problem, .. })
            if matches!(&*problem, Problem::NoColumn { columns, .. } if is_nameless(columns))
                && data != Path::new("-") =>
        {
            Ok(read_table(data, None)?)
        }
        other => Ok(other?),
    }
}

/// Whether a file's columns are known by their numbers only.
fn is_nameless(columns: &[String]) -> bool {
    columns
        .iter()
        .enumerate()
        .all(|(index, name)| *name == (index + 1).to_string())
}
