//! The files of a fit of mixtures.

use std::io::Write;
use std::path::Path;

use collapsar::mixture::{Cells, LevelColumn, Number, PredictiveDensity};
use collapsar_formats::write_atomically;
use collapsar_text::quoted;
use serde_json::json;

use super::saved::DRAWS;
use super::{
    CategoryNames, ClassNames, MixturePosterior, MixtureResult, MixtureRun, SavedMixture,
    name_of_number, rows, scored,
};
use crate::error::Result;
use crate::fit::DIAGNOSTICS;
use crate::folder::RunFolder;
use crate::record::{Record, header, merged, numbers};
use crate::scratch::write_file;

impl MixtureRun<'_> {
    /// Writes all files of a run.
    pub fn write(
        &self,
        folder: RunFolder,
        (result, posterior): (&MixtureResult, &MixturePosterior),
        command: Vec<String>,
    ) -> Result<()> {
        let (request, input) = (&self.request, &self.input);
        let (climbed, model) = (&result.climbed, &result.model);
        let point = &climbed.best().point;
        let columns: Vec<String> = match input.file {
            Some((_, names)) => names.to_vec(),
            None => (1..=input.columns).map(|n| n.to_string()).collect(),
        };
        let density = posterior.density()?;
        let path = folder.path();
        SavedMixture {
            version: env!("CARGO_PKG_VERSION").into(),
            columns: columns.clone(),
            categories: input.category_names().to_vec(),
            classes: input.names().0.to_vec(),
            rows: model.rows(),
            bound: point.bound,
            posterior: posterior.result.kind.name().into(),
            fit: posterior.fit.clone(),
            draws: None,
        }
        .write(path)?;
        posterior.write(path, (&columns, input.category_names()), input.names())?;
        let assignments = path.join("assignments.csv");
        if let Some(stored) = input.stored {
            let of = (model, &point.messages[..], &density);
            write_file(&assignments, |out| scored::write(out, of, stored))?;
            stored.check()?;
        } else {
            let cells = Cells {
                values: input.values,
                columns: input.columns,
                categories: input.categories.map_or(&[], |of| &of.columns),
            };
            let ln_density = if cells.categories.is_empty() {
                density.score(input.values, input.columns)?.ln_density
            } else {
                density.score_cells(cells)?.ln_density
            };
            // The fit's own responsibilities: q(Z), which the bound is about.
            let mut labels = vec![(0, 0.0); model.rows()];
            model.responsibilities(&point.messages, |n, row| {
                labels[n] = scored::most_probable(row);
            })?;
            let names = input.names();
            write_atomically(&assignments, |out| {
                let class = if names.any() { ",class" } else { "" };
                writeln!(out, "{}{class}", scored::HEADER)?;
                let rows = labels.iter().zip(&ln_density).zip(1..);
                for (((component, probability), ln_density), row) in rows {
                    write!(out, "{row},{component},{probability:?},{ln_density:?}")?;
                    if names.any() {
                        write!(out, ",{}", quoted(&names.class(*component)))?;
                    }
                    writeln!(out)?;
                }
                Ok(())
            })?;
        }
        let categories = input.category_names();
        if let Some(count) = request.samples.filter(|_| !categories.is_empty()) {
            let draws = density.sample_cells(count, request.climb.seed);
            write_atomically(&path.join("samples.csv"), |out| {
                samples(out, (&columns, categories), &draws)
            })?;
        } else if let Some(count) = request.samples {
            let draws = density.sample(count, request.climb.seed);
            write_atomically(&path.join("samples.csv"), |out| {
                header(out, &columns)?;
                let mut rows = draws.chunks_exact(columns.len());
                rows.try_for_each(|row| numbers(out, row.iter().copied()))
            })?;
        }
        let file = input.file.iter().map(|(file, _)| file.to_path_buf());
        let record = Record {
            command,
            config: merged(
                &request.climb,
                json!({
                    "components": request.components,
                    "columns": columns,
                    "categorical": input.categories.map(|of| {
                        let each = of.names.iter();
                        let each = each.map(|of| json!({"name": of.name, "levels": of.levels.len()}));
                        each.collect::<Vec<_>>()
                    }),
                    "total_weight": match input.stored {
                        Some(stored) => stored.is_weighted().then(|| model.total()),
                        None => input.weights.map(|weights| weights.iter().sum::<f64>()),
                    },
                    "labels": input.labels.map(|labels| json!({
                        "classes": labels.names,
                        "rows": labels.known(),
                    })),
                    "missing": model.gaps().any().then(|| json!({
                        "values": model.gaps().values,
                        "rows": model.gaps().rows,
                        "empty_rows": model.gaps().empty,
                    })),
                    "covariance": request.settings.covariance,
                    "weights": request.settings.weights,
                    "prior": request.settings.defaults,
                    "hyperparameters": model.prior(),
                    "jumps": self.tries_jumps(),
                    "start": request.start.to_string(),
                    "samples": request.samples,
                    "posterior": request.posterior.posterior,
                    "draws": request.posterior.draws,
                    "chains": request.posterior.chains,
                    "warmup": request.posterior.warmup,
                }),
            ),
            files: file.chain(request.files()).collect(),
            seed: request.climb.seed,
            own: json!({
                "components": model.components(),
                "rows": rows::record(model.stored()),
                "compared": result.compared,
                "posterior": posterior.result.kind,
                "signs": posterior.result.signs,
                "verdict": posterior.result.verdict(climbed.outcome.converged),
                "refused": posterior.refused,
                "relabelled": posterior.draws.as_ref().map(|draws| draws.relabelled),
            }),
        };
        climbed.write(folder, record)
    }
}

impl MixturePosterior {
    /// The posterior predictive density: the mean over draws where there are any.
    pub fn density(&self) -> Result<PredictiveDensity> {
        Ok(match &self.draws {
            Some(draws) => self.fit.predictive_of(draws)?,
            None => self.fit.predictive()?,
        })
    }

    /// `posterior.csv`, and `draws.csv` where there are draws: as other samplers write them, chain and draw, then a
    /// column for each number.
    fn write(
        &self,
        folder: &Path,
        columns: (&[String], &[CategoryNames]),
        names: ClassNames<'_>,
    ) -> Result<()> {
        let name = |number: &Number| name_of_number(*number, columns, names);
        write_atomically(&folder.join("posterior.csv"), |out| {
            write!(out, "name,mean,sd,q2.5,median,q97.5")?;
            if self.draws.is_some() {
                write!(out, ",{}", DIAGNOSTICS.join(","))?;
            }
            writeln!(out)?;
            for (place, number) in self.numbers.iter().enumerate() {
                let row = &self.result.rows[place];
                let (mean, sd) = (row.mean, row.sd);
                let [low, median, high] = row.quantiles;
                let name = quoted(&name(number));
                write!(out, "{name},{mean:?},{sd:?},{low:?},{median:?},{high:?}")?;
                for cell in self.result.diagnostics(place).into_iter().flatten() {
                    let cell = cell.map(|number| format!("{number:?}"));
                    write!(out, ",{}", cell.unwrap_or_default())?;
                }
                writeln!(out)?;
            }
            Ok(())
        })?;
        let Some(draws) = &self.draws else {
            return Ok(());
        };
        Ok(write_atomically(&folder.join(DRAWS), |out| {
            let names = ["chain".to_owned(), "draw".to_owned()].into_iter();
            header(
                out,
                &names
                    .chain(draws.numbers().iter().map(name))
                    .collect::<Vec<_>>(),
            )?;
            for (chain, draw, row) in draws.rows() {
                write!(out, "{},{},", chain + 1, draw + 1)?;
                numbers(out, row.iter().copied())?;
            }
            Ok(())
        })?)
    }
}

/// Writes rows of numbers and of levels by their names.
fn samples(
    out: &mut dyn Write,
    (columns, categories): (&[String], &[CategoryNames]),
    (values, levels): &(Vec<f64>, Vec<LevelColumn>),
) -> std::io::Result<()> {
    let names = columns.iter().chain(categories.iter().map(|of| &of.name));
    header(out, &names.cloned().collect::<Vec<_>>())?;
    let rows = levels.first().map_or(0, |column| column.codes.len());
    for row in 0..rows {
        let numbers = &values[row * columns.len()..(row + 1) * columns.len()];
        let numbers = numbers.iter().map(|x| format!("{x:?}"));
        let each = categories.iter().zip(levels);
        let levels = each.map(|(of, column)| quoted(&of.levels[column.codes[row] as usize]));
        let cells: Vec<String> = numbers.chain(levels).collect();
        writeln!(out, "{}", cells.join(","))?;
    }
    Ok(())
}
