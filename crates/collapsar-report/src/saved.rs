//! What the folder of a run holds, read again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use collapsar_formats::{Error as FileError, Input, Run, read_table};
use collapsar_run::{PosteriorKind, Signs, Verdict};
use collapsar_text::{duration, thousands};
use csv_core::{ReadRecordResult, Reader};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::page::{Fact, fact};
use crate::safe;

/// What made a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Fit,
    Mixture,
    Topics,
    Quant,
    /// Conditions that `quant compare` compared.
    Changes,
}

/// The file that each kind of run has and no other.
const OWN: [(&str, Kind); 5] = [
    ("compare.tsv", Kind::Changes),
    ("topics.json", Kind::Topics),
    ("components.json", Kind::Mixture),
    ("quant.sf", Kind::Quant),
    ("posterior.csv", Kind::Fit),
];

/// A run and its folder.
#[derive(Debug)]
pub(crate) struct SavedRun {
    pub(crate) folder: PathBuf,
    pub(crate) kind: Kind,
    pub(crate) run: Run,
}

/// A line of `posterior.csv`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) mean: f64,
    pub(crate) sd: f64,
    /// 2.5%, 50% and 97.5%.
    pub(crate) quantiles: [f64; 3],
    pub(crate) r_hat: Option<f64>,
    pub(crate) ess: Option<f64>,
}

/// A step of the climb, as far as it is drawn.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct TraceStep {
    pub(crate) passes: u64,
    pub(crate) bound: f64,
    #[serde(default)]
    pub(crate) trial: bool,
}

impl SavedRun {
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        const EXPECTED: &str = "a folder that --out wrote";
        let name = folder.display();
        if !folder.is_dir() {
            let found = if folder.exists() {
                "a file"
            } else {
                "no such folder"
            };
            return Err(Error::folder(name, found, EXPECTED));
        }
        let file = folder.join("run.json");
        let text = fs::read(&file).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                Error::folder(&name, "no run.json in it", "a folder of a run that ended")
            }
            _ => FileError::file(&file, &error).into(),
        })?;
        let kind = OWN.iter().find(|(own, _)| folder.join(own).is_file());
        let changes = kind.is_some_and(|(_, kind)| *kind == Kind::Changes);
        let run = serde_json::from_slice(&text).and_then(|mut record: Value| {
            if let (true, Some(fields)) = (changes, record.as_object_mut()) {
                // Nothing is climbed there.
                fields.extend(no_climb());
            }
            Run::deserialize(record)
        });
        let run = run.map_err(|cause| {
            let found = format!("damaged or not the record of a run ({cause})");
            Error::folder(file.display(), found, EXPECTED)
        })?;
        let Some(&(_, kind)) = kind else {
            let found = "no posterior.csv, components.json, topics.json, quant.sf or compare.tsv";
            let expected = "the folder of fit, mixture, topics or quant";
            return Err(Error::folder(name, found, expected));
        };
        Ok(Self {
            folder: folder.to_owned(),
            kind,
            run,
        })
    }

    /// The folder's own name.
    pub(crate) fn name(&self) -> String {
        let whole = fs::canonicalize(&self.folder).unwrap_or_else(|_| self.folder.clone());
        let last = whole.file_name().map(|name| name.to_string_lossy());
        safe::name(&last.unwrap_or_else(|| self.folder.to_string_lossy()))
    }

    /// What the run adds to its record under this name.
    pub(crate) fn extra<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let value = self.run.extra.get(name).filter(|value| !value.is_null())?;
        T::deserialize(value).ok()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The file of this name, where the run wrote one.
    pub(crate) fn written(&self, name: &str) -> Option<PathBuf> {
        Some(self.file(name)).filter(|file| file.is_file())
    }

    /// Finds a file by the path that the command line had, from here or beside the folder.
    pub(crate) fn near(&self, name: &str) -> Option<PathBuf> {
        let given = PathBuf::from(name);
        let beside = self.folder.parent().map(|folder| folder.join(&given));
        let mut found = [Some(given), beside].into_iter().flatten();
        found.find(|file| file.is_file())
    }

    /// Finds a file that the run read, as it was then.
    pub(crate) fn input(&self, input: &Input) -> std::result::Result<PathBuf, String> {
        let name = safe::name(&input.name);
        let Some(file) = self.near(&input.name) else {
            return Err(format!("{name} is not at hand"));
        };
        match Input::of(&file) {
            Ok(now) if now.digest == input.digest => Ok(file),
            Ok(_) => Err(format!("{name} has changed since the run")),
            Err(_) => Err(format!("{name} cannot be read")),
        }
    }

    /// The lines of `posterior.csv`.
    pub(crate) fn posterior(&self) -> Result<Vec<Row>> {
        let file = self.file("posterior.csv");
        let mut lines = records(&file, b',')?.into_iter();
        let head = lines.next().unwrap_or_default();
        rows(&file, &head, lines)
    }

    /// What other posteriors say of the same numbers, by their names; none where the run wrote none.
    pub(crate) fn others(&self) -> Result<Vec<(String, BTreeMap<String, Row>)>> {
        let Some(file) = self.written("posterior_others.csv") else {
            return Ok(vec![]);
        };
        let mut lines = records(&file, b',')?.into_iter();
        let head = lines.next().unwrap_or_default();
        let lines: Vec<Vec<String>> = lines.collect();
        let kind = |line: &Vec<String>| line.get(1).cloned().unwrap_or_default();
        let kinds: BTreeSet<String> = lines.iter().map(kind).collect();
        let mut others = vec![];
        for name in kinds {
            let of = lines.iter().filter(|line| kind(line) == name).cloned();
            let rows = rows(&file, &head, of)?;
            let by_name = rows.into_iter().map(|row| (row.name.clone(), row));
            others.push((name.replace('-', " "), by_name.collect()));
        }
        Ok(others)
    }

    /// The steps of the best climb; none where there is no record of them.
    pub(crate) fn trace(&self) -> Result<Vec<TraceStep>> {
        let Some(file) = self.written("trace.jsonl") else {
            return Ok(vec![]);
        };
        json_lines(&file)
    }

    /// Draws: names, and for each of them the draws of each chain; those of no chains are of one.
    pub(crate) fn chains(&self) -> Result<Option<Chains>> {
        let Some(file) = self.written("draws.csv") else {
            return Ok(None);
        };
        let table = read_table(&file, None)?;
        let width = table.columns.len();
        if width == 0 || table.rows == 0 {
            return Ok(None);
        }
        if width < 3 || table.columns[0] != "chain" || table.columns[1] != "draw" {
            let column = |place: usize| table.values[place..].iter().step_by(width).copied();
            return Ok(Some(Chains {
                draws: (0..width)
                    .map(|place| vec![column(place).collect()])
                    .collect(),
                names: table.columns,
            }));
        }
        let chain = |row: &[f64]| row[0] as usize;
        let rows = || table.values.chunks_exact(width);
        let count = rows().map(chain).max().unwrap_or(0).min(1000);
        let mut draws = vec![vec![vec![]; count]; width - 2];
        for row in rows().filter(|row| (1..=count).contains(&chain(row))) {
            for (of, &value) in draws.iter_mut().zip(&row[2..]) {
                of[chain(row) - 1].push(value);
            }
        }
        Ok(Some(Chains {
            names: table.columns[2..].to_vec(),
            draws,
        }))
    }

    /// Which posterior results are of.
    pub(crate) fn posterior_kind(&self) -> Option<PosteriorKind> {
        self.extra("posterior")
    }

    /// How far results may be trusted, in words: the verdict and its reasons.
    pub(crate) fn verdict(&self) -> Option<(&'static str, Vec<String>)> {
        let verdict: Verdict = self.extra("verdict")?;
        let signs: Signs = self.extra("signs").unwrap_or_default();
        let words = match verdict {
            Verdict::Trust => "Trust means and standard deviations",
            Verdict::TrustMeans => "Trust means but not standard deviations",
            Verdict::Doubt => "Do not trust this",
        };
        Some((words, signs.reasons(self.run.outcome.converged)))
    }

    /// What every page says of its run.
    pub(crate) fn provenance(&self) -> Vec<Fact> {
        let run = &self.run;
        let quoted = |word: &String| match word {
            word if word.contains(|c: char| c.is_whitespace() || "'\"$&|<>*?;()".contains(c)) => {
                format!("'{}'", word.replace('\'', r"'\''"))
            }
            word => word.clone(),
        };
        let command: Vec<String> = run.command.iter().map(quoted).collect();
        let mut facts = vec![
            fact("Run", self.folder.display()),
            fact("Version", &run.version),
            fact("Command", safe::settings(&command.join(" "))),
        ];
        if self.kind == Kind::Changes {
            facts.push(fact("Time", duration(run.seconds)));
        } else {
            let time = format!("{} for {} passes", duration(run.seconds), run.passes);
            facts.extend([fact("Seed", run.seed), fact("Time", time)]);
        }
        if let Some(model) = self.extra::<Input>("model") {
            facts.push(digest("Model", &model));
        }
        facts.extend(run.inputs.iter().map(|input| digest("Input", input)));
        if let Value::Object(config) = &run.config {
            let settings = config.iter().filter(|(_, value)| !value.is_null());
            let settings = settings.map(|(name, value)| format!("{name} {value}"));
            let settings = settings.collect::<Vec<_>>().join(", ");
            facts.push(fact("Settings", safe::settings(&settings)));
        }
        facts
    }

    /// How it ended.
    pub(crate) fn outcome(&self) -> String {
        let outcome = &self.run.outcome;
        if outcome.converged {
            format!("converged ({})", outcome.reason)
        } else {
            format!("not converged ({})", outcome.reason)
        }
    }
}

/// What the record of a run has that climbs.
fn no_climb() -> serde_json::Map<String, Value> {
    let fields = json!({
        "bound": 0.0, "iterations": 0, "passes": 0, "seed": 0,
        "outcome": {"converged": true, "reason": ""},
    });
    fields.as_object().cloned().unwrap_or_default()
}

/// Rows of a table with the columns of `posterior.csv`.
fn rows(
    file: &Path,
    head: &[String],
    lines: impl Iterator<Item = Vec<String>>,
) -> Result<Vec<Row>> {
    let place = |name: &str| head.iter().position(|cell| cell == name);
    let columns = ["name", "mean", "sd", "q2.5", "median", "q97.5"].map(place);
    let [Some(name), numbers @ ..] = columns else {
        return Err(damaged(file, "no column name"));
    };
    let (r_hat, bulk, tail) = (place("r_hat"), place("ess_bulk"), place("ess_tail"));
    let row = |line: Vec<String>| {
        let number = |place: Option<usize>| -> Option<f64> { line.get(place?)?.parse().ok() };
        let [mean, sd, low, median, high] = numbers.map(number);
        let sizes = [number(bulk), number(tail)].into_iter().flatten();
        Some(Row {
            mean: mean?,
            sd: sd?,
            quantiles: [low?, median?, high?],
            r_hat: number(r_hat),
            ess: sizes.min_by(f64::total_cmp),
            name: line.get(name)?.clone(),
        })
    };
    let rows: Option<Vec<Row>> = lines.map(row).collect();
    rows.ok_or_else(|| damaged(file, "a line without its six columns"))
}

/// Objects, one a line.
pub(crate) fn json_lines<T: DeserializeOwned>(file: &Path) -> Result<Vec<T>> {
    let text = fs::read_to_string(file).map_err(|error| FileError::file(file, &error))?;
    let lines = text.lines().map(serde_json::from_str);
    let lines: std::result::Result<Vec<T>, _> = lines.collect();
    lines.map_err(|cause| damaged(file, &cause.to_string()))
}

/// Draws of several chains, or of one.
#[derive(Debug)]
pub(crate) struct Chains {
    pub(crate) names: Vec<String>,
    /// For each name, the draws of each chain.
    pub(crate) draws: Vec<Vec<Vec<f64>>>,
}

impl Chains {
    /// Those of other names.
    pub(crate) fn without(self, left_out: impl Fn(&str) -> bool) -> Self {
        let both = self.names.into_iter().zip(self.draws);
        let kept = both.filter(|(name, _)| !left_out(name));
        let (names, draws) = kept.unzip();
        Self { names, draws }
    }
}

fn digest(what: &str, input: &Input) -> Fact {
    let (name, bytes) = (&input.name, thousands(input.bytes as usize));
    fact(what, format!("{name}, {bytes} bytes, {}", input.digest))
}

pub(crate) fn damaged(file: &Path, cause: &str) -> Error {
    let found = format!("damaged ({cause})");
    Error::folder(file.display(), found, "a file as the run wrote it")
}

/// The cells of a small table of text.
pub(crate) fn records(file: &Path, delimiter: u8) -> Result<Vec<Vec<String>>> {
    let text = fs::read(file).map_err(|error| FileError::file(file, &error))?;
    let mut reader = csv_core::ReaderBuilder::new()
        .delimiter(delimiter)
        .quoting(delimiter == b',')
        .build();
    Ok(split(&mut reader, &text))
}

fn split(reader: &mut Reader, mut text: &[u8]) -> Vec<Vec<String>> {
    let (mut records, mut cells, mut ends) = (vec![], vec![0; 1024], vec![0; 64]);
    let (mut written, mut ended) = (0, 0);
    loop {
        let (result, read, wrote, ends_wrote) =
            reader.read_record(text, &mut cells[written..], &mut ends[ended..]);
        text = &text[read..];
        written += wrote;
        ended += ends_wrote;
        match result {
            ReadRecordResult::OutputFull => cells.resize(2 * cells.len(), 0),
            ReadRecordResult::OutputEndsFull => ends.resize(2 * ends.len(), 0),
            ReadRecordResult::Record => {
                let begins = std::iter::once(0).chain(ends[..ended].iter().copied());
                let parts = begins.zip(&ends[..ended]);
                let parts =
                    parts.map(|(from, &to)| String::from_utf8_lossy(&cells[from..to]).into_owned());
                records.push(parts.collect());
                (written, ended) = (0, 0);
            }
            // Of no text is left: the reader tells the end by the next call.
            ReadRecordResult::InputEmpty => {}
            ReadRecordResult::End => return records,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_with_commas_quotes_and_many_letters() {
        let long = "x".repeat(5000);
        let text = format!("name,mean\n\"mu[1,2]\",1\n\"a \"\"b\"\"\",{long}");
        let mut reader = Reader::new();
        let found = split(&mut reader, text.as_bytes());
        assert_eq!(found[1], ["mu[1,2]", "1"]);
        assert_eq!(found[2], ["a \"b\"", long.as_str()]);
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn folders_that_no_run_wrote() {
        let folder = tempfile::tempdir().unwrap();
        let told = |error: Error| {
            error
                .to_string()
                .replace(folder.path().to_str().unwrap(), "DIR")
        };
        let refused = |path: &Path| told(SavedRun::read(path).unwrap_err());
        assert_eq!(
            refused(&folder.path().join("none")),
            "DIR/none: no such folder, expected a folder that --out wrote"
        );
        assert_eq!(
            refused(folder.path()),
            "DIR: no run.json in it, expected a folder of a run that ended"
        );
        fs::write(folder.path().join("run.json"), "{}").unwrap();
        assert!(refused(folder.path()).starts_with("DIR/run.json: damaged or not the record"));
    }
}
