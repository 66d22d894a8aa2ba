//! Files as every run treats them: named in refusals, recorded with digests, tried before a long climb; `trace.jsonl` and
//! `run.json`, lines of CSV, and how a fit on disk is found again.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use collapsar::Step;
use collapsar_formats::{Input, Run, TraceWriter, prepare_folder, write_atomically};
use collapsar_text::quoted;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::climb::Climbed;
use crate::error::{Error, Result};
use crate::folder::RunFolder;

/// What a run says of itself beside how its climbs ended.
pub(crate) struct Record<C> {
    /// The command line as typed, or what stands for it.
    pub(crate) command: Vec<String>,
    /// The options as used.
    pub(crate) config: C,
    /// The files that were read.
    pub(crate) files: Vec<PathBuf>,
    pub(crate) seed: u64,
    /// What runs of this model alone have, as an object.
    pub(crate) own: Value,
}

impl Climbed {
    /// Writes the steps of the best climb and the record of the run, and moves all into place.
    pub(crate) fn write<C: Serialize>(&self, folder: RunFolder, record: Record<C>) -> Result<()> {
        write_trace(folder.path(), &self.climbs.steps)?;
        let best = self.best();
        let mut extra = fields(json!({
            "best_seed": self.climbs.best_seed,
            "spread": self.climbs.spread(),
            "starts_skipped": self.skipped,
            "fallbacks": best.fallbacks,
            "jumps_tried": best.jumps_tried,
            "jumps_taken": best.jumps_taken,
        }));
        extra.extend(fields(record.own));
        folder.record(Run {
            version: env!("CARGO_PKG_VERSION").into(),
            command: record.command,
            config: json!(record.config),
            inputs: folder.inputs(&record.files)?,
            outcome: self.outcome.clone(),
            bound: best.point.bound,
            iterations: self.iterations,
            passes: self.passes,
            seconds: self.seconds,
            seed: record.seed,
            extra,
        })?;
        folder.commit()
    }
}

/// Writes `trace.jsonl` into a folder.
pub(crate) fn write_trace(folder: &Path, steps: &[Step]) -> Result<()> {
    let mut trace = TraceWriter::create(folder)?;
    for step in steps {
        trace.write(step)?;
    }
    Ok(trace.finish()?)
}

/// The fields of two objects in one.
pub(crate) fn merged(some: impl Serialize, others: Value) -> Value {
    let mut all = fields(json!(some));
    all.extend(fields(others));
    all.into()
}

/// The fields of an object.
pub(crate) fn fields(object: Value) -> Map<String, Value> {
    match object {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Writes JSON that people can read.
pub(crate) fn write_json(path: &Path, content: &impl Serialize) -> Result<()> {
    Ok(write_atomically(path, |mut out| {
        serde_json::to_writer_pretty(&mut out, content)?;
        out.write_all(b"\n")
    })?)
}

/// Names in a line of CSV.
pub(crate) fn header(out: &mut dyn Write, names: &[String]) -> io::Result<()> {
    let names: Vec<_> = names.iter().map(|name| quoted(name)).collect();
    writeln!(out, "{}", names.join(","))
}

/// Numbers in a line of CSV, each as short as it can be without losing a bit.
pub(crate) fn numbers(
    out: &mut dyn Write,
    numbers: impl IntoIterator<Item = f64>,
) -> io::Result<()> {
    let mut line = Vec::new();
    add_numbers(&mut line, numbers);
    out.write_all(&line)
}

/// Adds a line of numbers to text; a table of draws is written in large pieces.
pub(crate) fn add_numbers(text: &mut Vec<u8>, numbers: impl IntoIterator<Item = f64>) {
    let mut buffer = zmij::Buffer::new();
    for (place, number) in numbers.into_iter().enumerate() {
        if place > 0 {
            text.push(b',');
        }
        text.extend_from_slice(buffer.format(number).as_bytes());
    }
    text.push(b'\n');
}

/// Adds a count and a comma to text.
pub(crate) fn add_count(text: &mut Vec<u8>, mut count: usize) {
    let first = text.len();
    loop {
        text.push(b'0' + (count % 10) as u8);
        count /= 10;
        if count == 0 {
            break;
        }
    }
    text[first..].reverse();
    text.push(b',');
}

/// A file's name, as in refusals.
pub fn name_of(file: &Path) -> String {
    match file {
        file if file == Path::new("-") => "stdin".into(),
        file => file.display().to_string(),
    }
}

/// Refuses to write `what` over a file that the run reads, by whatever name.
pub fn check_apart(output: &Path, what: &str, inputs: &[PathBuf]) -> Result<()> {
    // What is not there is no input, as most names are not.
    let mut inputs = inputs.iter().filter(|_| output.exists());
    match inputs.find(|input| is_of(output, input)) {
        Some(_) => Err(Error::input(
            output.display().to_string(),
            "a file that this run reads",
            format!("another one for {what}"),
        )),
        None => Ok(()),
    }
}

/// Whether an output that is there already is an input, or in a folder that is one.
fn is_of(output: &Path, input: &Path) -> bool {
    let (Ok(to), Ok(from)) = (output.canonicalize(), input.canonicalize()) else {
        return false;
    };
    #[cfg(unix)]
    let linked = {
        use std::os::unix::fs::MetadataExt;
        let of = |path: &Path| path.metadata().ok().map(|file| (file.dev(), file.ino()));
        to.is_file() && of(&to) == of(&from)
    };
    #[cfg(not(unix))]
    let linked = false;
    linked || to == from || (from.is_dir() && to.is_file() && to.starts_with(&from))
}

/// The files that a run read, with their digests.
pub fn inputs(files: &[PathBuf]) -> Result<Vec<Input>> {
    let inputs = files.iter().map(|file| {
        // A pipe is empty by now, and may block whoever opens it again.
        if file.is_file() || file.is_dir() {
            return Ok(Input::of(file)?);
        }
        Ok(Input {
            name: name_of(file),
            bytes: 0,
            digest: "unknown: read from a pipe".into(),
        })
    });
    inputs.collect()
}

/// Makes sure that a file, `what` it is, can be written before there is anything to lose.
pub fn check_target(file: &Path, what: &str) -> Result<()> {
    if file.is_dir() {
        let expected = format!("a file for {what}");
        let name = file.display().to_string();
        return Err(Error::input(name, "a folder of that name", expected));
    }
    let folder = file.parent();
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    Ok(prepare_folder(folder.unwrap_or(Path::new(".")))?)
}

/// A fit on disk.
pub(crate) struct SavedFile {
    /// The file's name in the folder of its run.
    pub(crate) name: &'static str,
    /// The command that writes it.
    pub(crate) command: &'static str,
}

impl SavedFile {
    /// The file in the folder of a run.
    pub(crate) fn find(&self, folder: &Path) -> Result<PathBuf> {
        let path = folder.join(self.name);
        if path.is_file() {
            return Ok(path);
        }
        Err(self.refusal(folder, format!("no {} there", self.name), "a folder"))
    }

    /// What such a file holds, which is yet to be checked.
    pub(crate) fn read<T: DeserializeOwned>(&self, path: &Path) -> Result<T> {
        let text = fs::read(path).map_err(|error| collapsar_formats::Error::file(path, &error))?;
        serde_json::from_slice(&text).map_err(|cause| self.damaged(path, &cause.to_string()))
    }

    /// A file whose content cannot be.
    pub(crate) fn damaged(&self, path: &Path, cause: &str) -> Error {
        self.refusal(path, format!("damaged or no fit ({cause})"), "a file")
    }

    fn refusal(&self, path: &Path, found: String, expected: &'static str) -> Error {
        Error::Written {
            name: path.display().to_string(),
            found,
            expected,
            command: Some(self.command),
            option: "out",
        }
    }
}
