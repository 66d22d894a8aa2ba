//! The files of a fit of mixtures.

use collapsar_formats::write_atomically;
use serde_json::json;

use super::{MixtureResult, MixtureRun, SavedMixture};
use crate::error::Result;
use crate::folder::RunFolder;
use crate::record::{Record, header, merged, numbers};

impl MixtureRun<'_> {
    /// Writes all files of a run.
    pub fn write(
        &self,
        folder: RunFolder,
        result: &MixtureResult,
        command: Vec<String>,
    ) -> Result<()> {
        let (request, input) = (&self.request, &self.input);
        let (climbed, fit, model) = (&result.climbed, &result.fit, &result.model);
        let point = &climbed.best().point;
        let columns: Vec<String> = match input.file {
            Some((_, names)) => names.to_vec(),
            None => (1..=input.columns).map(|n| n.to_string()).collect(),
        };
        let density = fit.predictive()?;
        let ln_density = density.score(input.values, input.columns)?.ln_density;
        // The fit's own responsibilities: q(Z), which the bound is about.
        let mut labels = Vec::with_capacity(model.rows());
        model.responsibilities(&point.messages, |_, row| labels.push(most_probable(row)))?;
        let path = folder.path();
        SavedMixture {
            version: env!("CARGO_PKG_VERSION").into(),
            columns: columns.clone(),
            rows: model.rows(),
            bound: point.bound,
            fit: fit.clone(),
        }
        .write(path)?;
        write_atomically(&path.join("assignments.csv"), |out| {
            writeln!(out, "row,component,probability,ln_density")?;
            let rows = labels.iter().zip(&ln_density).zip(1..);
            for (((component, probability), ln_density), row) in rows {
                writeln!(out, "{row},{component},{probability:?},{ln_density:?}")?;
            }
            Ok(())
        })?;
        if let Some(count) = request.samples {
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
                    "covariance": request.settings.covariance,
                    "weights": request.settings.weights,
                    "prior": request.settings.defaults,
                    "hyperparameters": model.prior(),
                    "jumps": self.tries_jumps(),
                    "start": request.start.to_string(),
                    "samples": request.samples,
                }),
            ),
            files: file.chain(request.files()).collect(),
            seed: request.climb.seed,
            own: json!({"components": model.components(), "compared": result.compared}),
        };
        climbed.write(folder, record)
    }
}

fn most_probable(row: &[f64]) -> (usize, f64) {
    let all = row.iter().copied().enumerate();
    let higher = |best: (usize, f64), next: (usize, f64)| if next.1 > best.1 { next } else { best };
    all.fold((0, f64::NEG_INFINITY), higher)
}
