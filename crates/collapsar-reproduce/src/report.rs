//! What an experiment leaves: a text of tables, every run as CSV and the record that all runs have.

use std::path::{Path, PathBuf};
use std::time::Instant;

use collapsar_formats::{Input, Outcome, Run, write_atomically};
use serde_json::{Map, Value, json};

use crate::measure::Comparison;
use crate::{Plan, Result};

/// What an experiment came to.
#[derive(Debug)]
pub struct Report {
    /// What was run and what came out, the paper's figures beside ours, as Markdown.
    pub text: String,
    /// The files that were read.
    pub files: Vec<PathBuf>,
    /// The name of the report's own files, without its ending.
    pub(crate) stem: &'static str,
    /// Every run, one to a line.
    pub(crate) csv: String,
    /// Without the command and its inputs.
    pub(crate) record: Run,
}

impl Report {
    /// Writes every run, the text and, last, `run.json` with the command and its inputs into a folder, each whole or
    /// not at all.
    ///
    /// # Errors
    /// [`crate::Error::File`] where the system refuses.
    pub fn write(&self, folder: &Path, command: Vec<String>, inputs: Vec<Input>) -> Result<()> {
        for (ending, text) in [("csv", &self.csv), ("md", &self.text)] {
            let file = folder.join(format!("{}.{ending}", self.stem));
            write_atomically(&file, |file| file.write_all(text.as_bytes()))?;
        }
        let record = Run {
            command,
            inputs,
            ..self.record.clone()
        };
        Ok(record.write(folder)?)
    }
}

/// The record of all runs, with what an experiment adds to the options and to the record.
pub(crate) fn record(
    plan: &Plan,
    comparisons: &[Comparison],
    bound: f64,
    mut config: Value,
    extra: Map<String, Value>,
    began: Instant,
) -> Run {
    let runs = || {
        comparisons
            .iter()
            .flat_map(Comparison::runs)
            .map(|run| run.2)
    };
    let unfinished = runs().filter(|run| !run.outcome.converged()).count();
    config["tolerance"] = json!(plan.tolerance);
    config["max_iterations"] = json!(plan.max_iterations);
    Run {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: Vec::new(),
        config,
        inputs: Vec::new(),
        outcome: Outcome {
            converged: unfinished == 0,
            reason: format!(
                "{unfinished} of {} runs reached the limit of iterations",
                runs().count()
            ),
        },
        bound,
        iterations: runs().map(|run| run.iterations).sum(),
        passes: runs().map(|run| run.passes).sum::<f64>().round() as u64,
        seconds: began.elapsed().as_secs_f64(),
        seed: plan.seed,
        extra,
    }
}

/// Lines of CSV under their head.
pub(crate) fn csv(head: &str, lines: impl Iterator<Item = String>) -> String {
    let lines = std::iter::once(head.to_owned()).chain(lines);
    lines.map(|line| line + "\n").collect()
}
