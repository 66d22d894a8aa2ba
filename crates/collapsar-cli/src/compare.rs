//! `collapsar compare`: puts the evidence and the bounds of several runs side by side.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use collapsar_formats::Run;

use crate::climb::state;
use crate::common::{Common, print};
use crate::text::{count, duration, table};

/// Compare several runs by evidence or bound
///
/// Reads run.json of folders that --out wrote, and lists them from the best: by the estimate of
/// ln p(data) from draws where every run has one with an error below 0.5, else by the bound. A
/// difference is the logarithm of a Bayes factor, of bounds as far as they are tight: 3 nats are odds of
/// 20 to 1. It means something only where the data are the same.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  collapsar compare with_slope without_slope\n  collapsar compare fits/*"
)]
pub(crate) struct CompareArgs {
    /// Folders of results
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
}

pub(crate) fn run(args: &CompareArgs, common: &Common) -> anyhow::Result<ExitCode> {
    let runs = args.folders.iter().map(|folder| read(folder));
    let mut runs = runs.collect::<anyhow::Result<Vec<Listed>>>()?;
    let by_evidence = runs.iter().all(|listed| listed.evidence().is_some());
    let score = |listed: &Listed| match listed.evidence() {
        Some((estimate, _)) if by_evidence => estimate,
        _ => listed.run.bound,
    };
    // Equal ones stay in the order given.
    runs.sort_by(|a, b| score(b).total_cmp(&score(a)));
    let by = if by_evidence {
        "by ln p(data), estimated from draws"
    } else {
        "by bounds, as not every run has an estimate of ln p(data) with an error below 0.5"
    };
    let note =
        format!("\nto the best: in nats, {by}. Runs compare models only on the same data.\n");
    if let Some(warning) = data_differ(&runs) {
        common.warn(&warning);
    }
    print(&(lines(&runs, score) + &note))?;
    Ok(ExitCode::SUCCESS)
}

/// A run and where it was found.
struct Listed {
    folder: String,
    run: Run,
}

/// The largest error of an estimate that is compared.
const SMALL: f64 = 0.5;

impl Listed {
    /// The estimate of ln p(data) from draws and its error, where that is small.
    fn evidence(&self) -> Option<(f64, f64)> {
        let found = self.run.extra.get("signs")?.get("ln_evidence")?;
        let (estimate, error) = (found.get(0)?.as_f64()?, found.get(1)?.as_f64()?);
        (estimate.is_finite() && error < SMALL).then_some((estimate, error))
    }
}

fn read(folder: &Path) -> anyhow::Result<Listed> {
    let file = folder.join("run.json");
    let name = folder.display().to_string();
    let text = match fs::read(&file) {
        Ok(text) => text,
        Err(_) if !folder.exists() => {
            bail!("{name}: no such folder, expected one that --out wrote")
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory || folder.is_file() => {
            bail!("{name}: a file, expected a folder that --out wrote")
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            bail!("{name}: no run.json in it, expected a folder of a run that ended")
        }
        Err(error) => return Err(anyhow!(error).context(file.display().to_string())),
    };
    let run = serde_json::from_slice(&text)
        .with_context(|| format!("{}: not the run.json of a run", file.display()))?;
    Ok(Listed { folder: name, run })
}

fn lines(runs: &[Listed], score: impl Fn(&Listed) -> f64) -> String {
    let head = [
        "run",
        "bound",
        "ln p(data)",
        "to the best",
        "method",
        "iterations",
        "passes",
        "time",
        "outcome",
    ];
    let best = runs.first().map_or(0.0, &score);
    let rows = runs.iter().map(|listed| {
        let Listed { folder, run } = listed;
        let estimate = listed.evidence();
        let estimate = estimate.map(|(estimate, error)| format!("{estimate:.3} ± {error:.3}"));
        vec![
            folder.clone(),
            format!("{:.3}", run.bound),
            estimate.unwrap_or_else(|| "-".to_owned()),
            format!("{:.3}", score(listed) - best),
            run.config["method"].as_str().unwrap_or("-").to_owned(),
            run.iterations.to_string(),
            run.passes.to_string(),
            duration(run.seconds),
            state(&run.outcome).to_owned(),
        ]
    });
    table(1, &head, rows)
}

/// A warning where runs did not read the same, which names the files.
fn data_differ(runs: &[Listed]) -> Option<String> {
    // By digest: the name, and the runs that read it.
    let mut readers: BTreeMap<&str, (&str, BTreeSet<usize>)> = BTreeMap::new();
    let mut piped = vec![];
    for (place, listed) in runs.iter().enumerate() {
        let mut words = listed.run.command.iter();
        let resumed = words.find(|word| *word == "--resume").and(words.next());
        for input in &listed.run.inputs {
            if Some(&input.name) == resumed {
                continue;
            }
            if !input.digest.starts_with("sha256:") {
                piped.push(listed.folder.as_str());
                continue;
            }
            let entry = readers.entry(&input.digest);
            let (_, readers) = entry.or_insert((&input.name, BTreeSet::new()));
            readers.insert(place);
        }
    }
    let some: Vec<String> = (readers.into_values())
        .filter(|(_, readers)| readers.len() < runs.len())
        .map(|(name, readers)| {
            let folders: Vec<&str> = readers.iter().map(|&r| runs[r].folder.as_str()).collect();
            format!("{name} was read by {} only", folders.join(", "))
        })
        .collect();
    if !some.is_empty() {
        return Some(format!(
            "the data differ, so do not compare the bounds: {}",
            some.join("; ")
        ));
    }
    if piped.is_empty() || runs.len() == 1 {
        return None;
    }
    piped.dedup();
    let runs = count(piped.len(), "run");
    Some(format!(
        "{runs} read from a pipe ({}), so that nobody knows whether the data are the same",
        piped.join(", ")
    ))
}
