//! The files of a fit, each of which appears whole or not at all.

use std::path::Path;

use collapsar::graph::Role;
use collapsar_formats::write_atomically;
use serde_json::json;

use super::Fitted;
use super::source::names;
use crate::files::inputs;
use crate::text::quoted;

/// Draws that are made before they are written.
const BATCH: usize = 1000;

pub(crate) fn write(folder: &Path, fitted: &Fitted<'_>) -> anyhow::Result<()> {
    let (args, chosen) = (fitted.args, &fitted.chosen);
    write_atomically(&folder.join("posterior.csv"), |out| {
        writeln!(out, "name,mean,sd,q2.5,median,q97.5")?;
        for (quantity, row) in chosen.quantities.iter().zip(&fitted.rows) {
            let name = quoted(&quantity.to_string());
            let [low, median, high] = row.quantiles;
            writeln!(
                out,
                "{name},{:?},{:?},{low:?},{median:?},{high:?}",
                row.mean, row.sd
            )?;
        }
        Ok(())
    })?;
    if let Some(count) = args.draws {
        draws(folder, fitted, count)?;
    }
    let mut files = args.source.data.clone();
    files.extend(args.climb.resume.clone());
    // Apart from the data, so that runs of other models have the same inputs.
    let model = inputs(std::slice::from_ref(&args.source.model))?;
    fitted.ended.write(
        folder,
        args.record(fitted.data()),
        &files,
        args.climb.seed,
        [
            ("model", json!(model.first())),
            (
                "collapsed",
                json!(names(fitted.compiled, |role| role == Role::Collapsed)),
            ),
            (
                "explicit",
                json!(names(fitted.compiled, |role| role != Role::Collapsed)),
            ),
            ("messages", json!(fitted.messages())),
            ("data", json!(fitted.data())),
        ],
    )
}

fn draws(folder: &Path, fitted: &Fitted<'_>, count: usize) -> anyhow::Result<()> {
    let quantities = &fitted.chosen.quantities;
    let posterior = fitted.posterior();
    let mut refused = None;
    let written = write_atomically(&folder.join("draws.csv"), |out| {
        let header: Vec<String> = quantities.iter().map(|q| quoted(&q.to_string())).collect();
        writeln!(out, "{}", header.join(","))?;
        for first in (0..count).step_by(BATCH) {
            let draws = match posterior.draws(quantities, first..count.min(first + BATCH)) {
                Ok(draws) => draws,
                Err(error) => {
                    refused = Some(fitted.source.no_answer(error));
                    return Err(std::io::ErrorKind::InvalidData.into());
                }
            };
            for draw in 0..count.min(first + BATCH) - first {
                let fields: Vec<String> =
                    draws.iter().map(|of| format!("{:?}", of[draw])).collect();
                writeln!(out, "{}", fields.join(","))?;
            }
        }
        Ok(())
    });
    match refused {
        Some(error) => Err(error),
        None => Ok(written?),
    }
}
