//! The files of a fit of a model.

use collapsar_bugs::{Quantity, Summary};
use collapsar_formats::write_atomically;
use collapsar_text::quoted;
use serde_json::json;

use super::{ModelRun, Monitored, class_names};
use crate::climb::Climbed;
use crate::error::Result;
use crate::folder::RunFolder;
use crate::record::{Record, header, inputs, numbers};

/// Draws that are made before they are written.
const BATCH: usize = 1000;

impl ModelRun {
    /// Writes all files of a run; `rows` summarise what is monitored.
    pub fn write(
        &self,
        folder: RunFolder,
        climbed: &Climbed,
        monitored: &Monitored,
        rows: &[Summary],
        command: Vec<String>,
    ) -> Result<()> {
        write_atomically(&folder.path().join("posterior.csv"), |out| {
            writeln!(out, "name,mean,sd,q2.5,median,q97.5")?;
            for (quantity, row) in monitored.quantities.iter().zip(rows) {
                let name = quoted(&quantity.to_string());
                let (mean, sd) = (row.mean, row.sd);
                let [low, median, high] = row.quantiles;
                writeln!(out, "{name},{mean:?},{sd:?},{low:?},{median:?},{high:?}")?;
            }
            Ok(())
        })?;
        if let Some(count) = self.request.draws {
            self.write_draws(&folder, climbed, monitored, count)?;
        }
        let (model, data) = &self.request.files;
        let mut files = data.clone();
        files.extend(self.request.climb.resume.clone());
        climbed.write(
            folder,
            Record {
                command,
                config: &self.request,
                files,
                seed: self.request.climb.seed,
                own: json!({
                    // Apart from the data, so that runs of other models have the same inputs.
                    "model": inputs(std::slice::from_ref(model))?.first(),
                    "collapsed": class_names(&self.compiled, true),
                    "explicit": class_names(&self.compiled, false),
                    "messages": self.messages(),
                    "data": self.data(),
                }),
            },
        )
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
