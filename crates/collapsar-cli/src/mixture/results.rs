//! The files of a fit, each of which appears whole or not at all.

use std::io::{self, Write};
use std::path::Path;

use collapsar::mixture::MixtureFit;
use collapsar_formats::{Table, write_atomically};
use serde_json::json;

use super::args::FitArgs;
use super::config::{Config, files};
use super::fit::Fitted;
use super::saved::{FILE, Saved};
use crate::text::quoted;

pub(crate) fn write(
    folder: &Path,
    args: &FitArgs,
    config: &Config,
    table: &Table,
    fitted: &Fitted,
    answer: &MixtureFit,
) -> anyhow::Result<()> {
    let ended = &fitted.ended;
    let saved = Saved {
        version: env!("CARGO_PKG_VERSION").into(),
        columns: table.columns.clone(),
        rows: table.rows,
        bound: ended.best().point.bound,
        fit: answer.clone(),
    };
    let density = answer.predictive()?;
    let ln_density = density
        .score(&table.values, table.columns.len())?
        .ln_density;
    // The fit's own responsibilities: q(Z), which the bound is about.
    let mut labels = Vec::with_capacity(table.rows);
    fitted
        .model
        .responsibilities(&ended.best().point.messages, |_, row| {
            labels.push(most_probable(row));
        })?;

    write_atomically(&folder.join(FILE), |mut out| {
        serde_json::to_writer_pretty(&mut out, &saved)?;
        out.write_all(b"\n")
    })?;
    write_atomically(&folder.join("assignments.csv"), |out| {
        writeln!(out, "row,component,probability,ln_density")?;
        for (row, ((component, probability), ln_density)) in
            labels.iter().zip(&ln_density).enumerate()
        {
            writeln!(
                out,
                "{},{component},{probability:?},{ln_density:?}",
                row + 1
            )?;
        }
        Ok(())
    })?;
    if let Some(count) = args.samples {
        let draws = density.sample(count, config.plan.seed);
        write_atomically(&folder.join("samples.csv"), |out| {
            samples(out, &table.columns, &draws)
        })?;
    }
    ended.write(
        folder,
        config.record(args, table, &fitted.model),
        &files(args),
        config.plan.seed,
        [
            ("components", json!(fitted.model.components())),
            ("compared", json!(fitted.compared)),
        ],
    )
}

fn most_probable(row: &[f64]) -> (usize, f64) {
    let first = (0, f64::NEG_INFINITY);
    row.iter().enumerate().fold(
        first,
        |best, (k, &p)| if p > best.1 { (k, p) } else { best },
    )
}

fn samples(out: &mut dyn Write, columns: &[String], draws: &[f64]) -> io::Result<()> {
    let header: Vec<String> = columns.iter().map(|name| quoted(name)).collect();
    writeln!(out, "{}", header.join(","))?;
    for row in draws.chunks_exact(columns.len()) {
        let fields: Vec<String> = row.iter().map(|x| format!("{x:?}")).collect();
        writeln!(out, "{}", fields.join(","))?;
    }
    Ok(())
}
