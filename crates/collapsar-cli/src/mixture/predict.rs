//! `collapsar mixture predict`: labels, densities and anomaly scores of new data under a saved fit.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use collapsar_formats::Error;
use collapsar_run::mixture::{ClassNames, Prediction, SavedMixture};
use collapsar_run::{check_apart, default_memory};
use collapsar_text::quoted;

use crate::common::emit;
use crate::values::bytes;

const EXAMPLES: &str = "\
Examples:
  collapsar mixture old.csv --out fit
  collapsar mixture predict fit new.csv > labels.csv
  collapsar mixture predict fit new.csv --out labels.csv
  collapsar mixture predict fit new.csv --impute --out complete.csv

The result is CSV with
  row           from 1
  component     the most probable one, from 0, as in components.json
  probability   of that component
  ln_density    log of the posterior predictive density, a mixture of Student-t
  tail          probability that a new row has a lower density still: small for anomalies
  class         the component's class, where the fit was given --labels

Values may be missing (empty or NA in CSV, null in Parquet, NaN): a row is labelled by the columns
that it has, and its density and tail are those of these columns.

With --impute the result is the table itself, with the expected value where one is missing, and
after each column that misses one a column NAME_sd with its standard deviation: 0 where a value
was given.";

/// Label and score new data with a saved fit
///
/// Columns are found by the names that they had in the fit; in data without names, by position.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PredictArgs {
    /// Folder that collapsar mixture --out wrote
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Table of numbers: CSV, TSV, NPY, Parquet or a folder of Parquet files; - reads CSV from standard input
    #[arg(value_name = "DATA")]
    data: PathBuf,
    /// Use these columns instead, by name or by index from 1, in the order of the fit's
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    columns: Option<Vec<String>>,
    /// Memory that the rows may take, as 2GB or 500MB [default: half of what the machine has]
    ///
    /// Rows that do not fit are labelled some at a time. They may miss no values then.
    #[arg(long, value_name = "SIZE", value_parser = bytes, conflicts_with = "impute")]
    memory: Option<u64>,
    /// Fill in missing values in the place of labelling rows, all of them in memory
    #[arg(long)]
    impute: bool,
    /// Write to FILE instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[expect(clippy::result_large_err, reason = "made once, where a run ends")]
pub(crate) fn run(args: &PredictArgs) -> anyhow::Result<ExitCode> {
    if let Some(out) = &args.out {
        let fit = args.folder.join("components.json");
        check_apart(out, "the labels", &[args.data.clone(), fit])?;
    }
    let saved = SavedMixture::read(&args.folder)?;
    if args.impute {
        return impute(args, &saved);
    }
    let memory = args.memory.or_else(default_memory);
    let columns = args.columns.as_deref();
    let mut refused = None;
    let written = emit(args.out.as_deref(), |out| {
        let mut failed = None;
        let told = saved.predict_each(&args.data, columns, memory, |first, prediction| {
            write(out, first, &prediction, saved.names()).map_err(|error| {
                let told = Error::file("labels", &error);
                failed = Some(error);
                told.into()
            })
        });
        match (told, failed) {
            // As it is: a closed pipe is no failure.
            (_, Some(error)) => Err(error),
            (Err(error), None) => {
                let text = error.to_string();
                refused = Some(error);
                Err(std::io::Error::other(text))
            }
            (Ok(()), None) => Ok(()),
        }
    });
    // What was wrong with the data, and not that writing was left off for it.
    if let Some(error) = refused {
        return Err(error.into());
    }
    written?;
    Ok(ExitCode::SUCCESS)
}

fn write(
    out: &mut dyn Write,
    first: usize,
    Prediction { scores, tail }: &Prediction,
    names: ClassNames<'_>,
) -> std::io::Result<()> {
    // Not before there is a row: what cannot be read prints nothing.
    if first == 0 {
        let class = if names.any() { ",class" } else { "" };
        writeln!(out, "row,component,probability,ln_density,tail{class}")?;
    }
    for (row, tail) in tail.iter().enumerate() {
        write!(
            out,
            "{},{},{:?},{:?},{tail:?}",
            first + row + 1,
            scores.labels[row],
            scores.certainty[row],
            scores.ln_density[row],
        )?;
        if names.any() {
            write!(out, ",{}", quoted(&names.class(scores.labels[row])))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn impute(args: &PredictArgs, saved: &SavedMixture) -> anyhow::Result<ExitCode> {
    let (table, imputed) = saved.impute(&args.data, args.columns.as_deref())?;
    let width = table.columns.len();
    let gappy = |column: usize| {
        let mut numbers = table.values.iter().skip(column).step_by(width);
        numbers.any(|x| x.is_nan())
    };
    let gappy: Vec<bool> = (0..width).map(gappy).collect();
    emit(args.out.as_deref(), |out| {
        let names = table.columns.iter().zip(&gappy);
        let head: Vec<String> = names
            .flat_map(|(name, gappy)| {
                let sd = gappy.then(|| quoted(&format!("{name}_sd")));
                [Some(quoted(name)), sd]
            })
            .flatten()
            .collect();
        writeln!(out, "{}", head.join(","))?;
        let rows = imputed
            .mean
            .chunks_exact(width)
            .zip(imputed.sd.chunks_exact(width));
        for (mean, sd) in rows {
            let each = mean.iter().zip(sd).zip(&gappy);
            let cells: Vec<String> = each
                .flat_map(|((mean, sd), gappy)| {
                    [Some(format!("{mean:?}")), gappy.then(|| format!("{sd:?}"))]
                })
                .flatten()
                .collect();
            writeln!(out, "{}", cells.join(","))?;
        }
        Ok(())
    })?;
    Ok(ExitCode::SUCCESS)
}
