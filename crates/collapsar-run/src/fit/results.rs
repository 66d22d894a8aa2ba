//! The files of a fit of a model.

use collapsar_bugs::{ChainDraws, Quantity};
use collapsar_formats::write_atomically;
use collapsar_text::quoted;
use serde_json::{Value, json};

use super::{DIAGNOSTICS, ModelResult, ModelRun, Monitored};
use crate::climb::Climbed;
use crate::error::Result;
use crate::folder::RunFolder;
use crate::record::{Record, add_count, add_numbers, header, numbers};

/// Draws that are made before they are written.
const BATCH: usize = 1000;
/// Bytes of a table that are gathered before they are written.
const PIECE: usize = 1 << 16;

impl ModelRun {
    /// Writes all files of a run; `result` is of what is monitored.
    pub fn write(
        &self,
        folder: RunFolder,
        climbed: &Climbed,
        monitored: &Monitored,
        result: &ModelResult,
        command: Vec<String>,
    ) -> Result<()> {
        write_atomically(&folder.path().join("posterior.csv"), |out| {
            write!(out, "name,mean,sd,q2.5,median,q97.5")?;
            if result.chains.is_some() {
                write!(out, ",{}", DIAGNOSTICS.join(","))?;
            }
            writeln!(out)?;
            for (place, quantity) in monitored.quantities.iter().enumerate() {
                let row = &result.rows[place];
                let name = quoted(&quantity.to_string());
                let (mean, sd) = (row.mean, row.sd);
                let [low, median, high] = row.quantiles;
                write!(out, "{name},{mean:?},{sd:?},{low:?},{median:?},{high:?}")?;
                for cell in result.diagnostics(place).into_iter().flatten() {
                    let cell = cell.map(|number| format!("{number:?}"));
                    write!(out, ",{}", cell.unwrap_or_default())?;
                }
                writeln!(out)?;
            }
            Ok(())
        })?;
        self.write_beside(&folder, climbed, monitored, result)?;
        match (&result.chains, self.request.posterior.draws) {
            (Some((chains, _)), _) => Self::write_chains(&folder, monitored, chains)?,
            (None, Some(count)) => self.write_draws(&folder, climbed, monitored, count)?,
            (None, None) => {}
        }
        let (model, data) = &self.request.files;
        let mut files = data.clone();
        files.extend(self.request.climb.resume.clone());
        let point = &climbed.best().point;
        let enumerated = self.enumerated.as_ref().map(|of| of.record(point));
        let grids: Vec<Value> = (self.prepared.grids().into_iter())
            .map(|grid| {
                json!({
                    "name": grid.name, "values": grid.nodes,
                    "from": grid.ends.0, "to": grid.ends.1, "error": grid.error,
                })
            })
            .collect();
        // Of the folder, which knows what changed meanwhile.
        let seen = [
            folder.inputs(std::slice::from_ref(model))?,
            folder.inputs(&self.request.init_files)?,
        ];
        let mut warnings = self.idle_inits.clone();
        warnings.extend(result.interrupted());
        climbed.write(
            folder,
            Record {
                command,
                config: &self.request,
                files,
                seed: self.request.climb.seed,
                own: json!({
                    // Apart from the data, so that runs of other models have the same inputs.
                    "model": seen[0].first(),
                    // Apart for the same reason.
                    "inits": seen[1],
                    "collapsed": self.class_names(point, true),
                    "explicit": self.class_names(point, false),
                    "enumerated": enumerated.transpose()?,
                    "grids": grids,
                    "warnings": warnings,
                    "messages": self.messages(),
                    "data": self.data(),
                    "posterior": result.kind,
                    "signs": result.signs,
                    "verdict": result.verdict(climbed.outcome.converged),
                }),
            },
        )
    }

    /// `posterior_others.csv`: the same numbers by mean field and linear response, where results are of another posterior.
    fn write_beside(
        &self,
        folder: &RunFolder,
        climbed: &Climbed,
        monitored: &Monitored,
        result: &ModelResult,
    ) -> Result<()> {
        if result.signs.exact {
            // All posteriors are the same.
            return Ok(());
        }
        let quantities = &monitored.quantities;
        let others = self.beside(&climbed.best().point, quantities, result.kind);
        if others.is_empty() {
            return Ok(());
        }
        let file = folder.path().join("posterior_others.csv");
        Ok(write_atomically(&file, |out| {
            writeln!(out, "name,posterior,mean,sd,q2.5,median,q97.5")?;
            for (kind, rows) in &others {
                let rows = quantities.iter().zip(rows);
                for (quantity, row) in rows.filter_map(|(of, row)| Some((of, row.as_ref()?))) {
                    let (name, kind) = (quoted(&quantity.to_string()), kind.name());
                    write!(out, "{name},{kind},{:?},{:?}", row.mean, row.sd)?;
                    let [low, median, high] = row.quantiles;
                    writeln!(out, ",{low:?},{median:?},{high:?}")?;
                }
            }
            Ok(())
        })?)
    }

    /// As other samplers write them: chain and draw, then a column for each number.
    fn write_chains(folder: &RunFolder, monitored: &Monitored, chains: &ChainDraws) -> Result<()> {
        let written = write_atomically(&folder.path().join("draws.csv"), |out| {
            let quantities = monitored.quantities.iter().map(Quantity::to_string);
            let names = ["chain".to_owned(), "draw".to_owned()];
            header(
                out,
                &names.into_iter().chain(quantities).collect::<Vec<_>>(),
            )?;
            let mut text = Vec::with_capacity(2 * PIECE);
            for (chain, columns) in chains.chains.iter().enumerate() {
                for draw in 0..columns.first().map_or(0, Vec::len) {
                    add_count(&mut text, chain + 1);
                    add_count(&mut text, draw + 1);
                    add_numbers(&mut text, columns.iter().map(|of| of[draw]));
                    if text.len() > PIECE {
                        out.write_all(&text)?;
                        text.clear();
                    }
                }
            }
            out.write_all(&text)
        });
        Ok(written?)
    }

    fn write_draws(
        &self,
        folder: &RunFolder,
        climbed: &Climbed,
        monitored: &Monitored,
        count: usize,
    ) -> Result<()> {
        let quantities = &monitored.quantities;
        let (point, seed) = (&climbed.best().point, self.request.climb.seed);
        let mut refused = Ok(());
        let written = write_atomically(&folder.path().join("draws.csv"), |out| {
            let names: Vec<String> = quantities.iter().map(Quantity::to_string).collect();
            header(out, &names)?;
            for first in (0..count).step_by(BATCH) {
                let range = first..count.min(first + BATCH);
                let draws = self.draws(point, quantities, seed, range.clone());
                let draws = draws.map_err(|error| {
                    refused = Err(error);
                    std::io::ErrorKind::InvalidData
                })?;
                for draw in 0..range.len() {
                    numbers(out, draws.iter().map(|of| of[draw]))?;
                }
            }
            Ok(())
        });
        refused.and(written.map_err(Into::into))
    }
}
