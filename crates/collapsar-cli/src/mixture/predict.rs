//! `collapsar mixture predict`: labels, densities and anomaly scores of new data under a saved fit.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use collapsar::mixture::MISSING;
use collapsar_formats::Error;
use collapsar_run::mixture::{ClassNames, Imputed, Prediction, SavedMixture};
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
was given. Categorical columns, which come after the others, have the likeliest level and a
column NAME_probability.

Levels of categorical columns are known by their names. One that the fit has not seen is refused:
an empty cell is a missing value.";

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
    /// Use these columns instead, by name or by index from 1, in the order of the fit's, categorical ones last
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

/// A column of the table that is filled in: its cells, and how uncertain each is where some were missing.
struct Filled {
    name: String,
    cells: Vec<String>,
    /// What the second column is called, and its cells.
    beside: Option<(String, Vec<String>)>,
}

fn impute(args: &PredictArgs, saved: &SavedMixture) -> anyhow::Result<ExitCode> {
    let imputed = saved.impute(&args.data, args.columns.as_deref())?;
    let columns = filled(saved, &imputed);
    emit(args.out.as_deref(), |out| {
        let head = columns.iter().flat_map(|of| {
            let beside = of.beside.as_ref().map(|(name, _)| quoted(name));
            [Some(quoted(&of.name)), beside]
        });
        let head: Vec<_> = head.flatten().collect();
        writeln!(out, "{}", head.join(","))?;
        for row in 0..imputed.table.rows {
            let cells = columns.iter().flat_map(|of| {
                let beside = of.beside.as_ref().map(|(_, cells)| cells[row].as_str());
                [Some(of.cells[row].as_str()), beside]
            });
            let cells: Vec<&str> = cells.flatten().collect();
            writeln!(out, "{}", cells.join(","))?;
        }
        Ok(())
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The columns of numbers, then those of levels.
fn filled(saved: &SavedMixture, imputed: &Imputed) -> Vec<Filled> {
    let table = &imputed.table;
    let width = table.columns.len();
    let of = |all: &[f64], column: usize| -> Vec<String> {
        let numbers = all.iter().skip(column).step_by(width);
        numbers.map(|x| format!("{x:?}")).collect()
    };
    let numbers = table.columns.iter().enumerate().map(|(column, name)| {
        let mut given = table.values.iter().skip(column).step_by(width);
        let gappy = given.any(|x| x.is_nan());
        Filled {
            name: name.clone(),
            cells: of(&imputed.numbers.mean, column),
            beside: gappy.then(|| (format!("{name}_sd"), of(&imputed.numbers.sd, column))),
        }
    });
    let categories = saved.categories.iter().zip(&imputed.categories);
    let levels = categories.zip(&imputed.levels);
    let levels = levels.map(|((names, given), (codes, probabilities))| {
        let gappy = given.codes.contains(&MISSING);
        let probabilities = || probabilities.iter().map(|p| format!("{p:?}")).collect();
        Filled {
            name: names.name.clone(),
            cells: (codes.iter())
                .map(|code| quoted(&names.levels[*code as usize]))
                .collect(),
            beside: gappy.then(|| (format!("{}_probability", names.name), probabilities())),
        }
    });
    numbers.chain(levels).collect()
}
