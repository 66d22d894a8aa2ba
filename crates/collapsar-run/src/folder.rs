//! A folder of results that appears as a whole: files are written in a folder inside it, then moved into place.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use collapsar_formats::{Error, Run, prepare_folder};
use serde_json::{Value, json};

use crate::Result;
use crate::topics::others;

/// The record of a run. It comes last and goes first: where it is, everything that it lists is there.
const RUN: &str = "run.json";

/// Its field that lists the other files of the run. The first versions had none.
const FILES: &str = "files";

/// What a page of a run adds to its folder later, with what stands near its beginning where it is ours: they are of that run,
/// and go with it.
const LATER: [(&str, &[u8]); 2] = [
    ("report.html", br#"name="generator" content="Collapsar"#),
    ("collapsar_mqc.json", b"{"),
];

/// What each command wrote before `run.json` had a list, but for the other fits of an average of topics.
const KNOWN: [(&str, &str); 5] = [
    ("fit", "posterior.csv draws.csv trace.jsonl"),
    (
        "mixture",
        "components.json assignments.csv samples.csv trace.jsonl",
    ),
    (
        "topics",
        "topics.json topics.csv documents.csv topics_quality.csv correlations.csv trace.jsonl",
    ),
    (
        "quant",
        "quant.sf quant.genes.sf posterior.tsv posterior.genes.tsv aux_info/meta_info.json \
         aux_info/bootstrap/bootstraps.gz aux_info/bootstrap/names.tsv.gz cmd_info.json \
         lib_format_counts.json trace.jsonl compare.tsv compare.genes.tsv",
    ),
    (
        "reproduce",
        "mixture.csv mixture.md topics.csv topics.md quant.csv quant.md",
    ),
];

/// Files on their way into a folder. Dropped before [`RunFolder::commit`] it leaves the folder as it was.
#[derive(Debug)]
pub struct RunFolder {
    target: PathBuf,
    /// Whether the target was made for this run.
    made: bool,
    staging: PathBuf,
}

impl RunFolder {
    /// Makes the folder if need be, and makes sure that it can be written in, before there is anything to lose.
    ///
    /// # Errors
    ///
    /// It is not a folder, or nothing can be written in it.
    pub fn begin(target: &Path) -> Result<Self> {
        // Inside the target, so that moving is renaming; of its own for every run, also of one process.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let unique = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".run.{}-{unique}.tmp", std::process::id());
        let folder = Self {
            target: target.to_owned(),
            made: !target.exists(),
            staging: target.join(name),
        };
        prepare_folder(target)?;
        // A process that had our number was stopped before it could clean up.
        let _ = fs::remove_dir_all(&folder.staging);
        prepare_folder(&folder.staging)?;
        Ok(folder)
    }

    /// The folder that files are on their way into.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Where files are written for now, in subfolders too.
    pub fn path(&self) -> &Path {
        &self.staging
    }

    /// Writes `run.json`, with a list of the files that have been written so far.
    ///
    /// # Errors
    ///
    /// As [`Run::write`] has them.
    pub fn record(&self, mut run: Run) -> Result<()> {
        run.extra.insert(FILES.to_owned(), self.files()?);
        Ok(run.write(&self.staging)?)
    }

    /// The files that have been written so far but for `run.json`, as its field `files` has them.
    ///
    /// # Errors
    ///
    /// The system refuses to list them.
    pub fn files(&self) -> Result<Value> {
        let name = |file: &PathBuf| {
            let parts = file.iter().map(OsStr::to_string_lossy);
            json!(parts.collect::<Vec<_>>().join("/"))
        };
        Ok(self.written()?.iter().map(name).collect())
    }

    /// Moves everything into place, `run.json` last. Files of an earlier run that this one has none of are
    /// removed; what is somebody else's stays.
    ///
    /// Stopped in the midst of it, the folder has no `run.json`, and no file of the earlier run that this one
    /// has none of.
    ///
    /// # Errors
    ///
    /// The system refuses, or a folder is where a file has to be.
    pub fn commit(mut self) -> Result<()> {
        let files = self.written()?;
        for file in &files {
            self.make_room(file)?;
        }
        self.clear(&files)?;
        let record = self.staging.join(RUN).exists().then(|| PathBuf::from(RUN));
        for file in files.iter().chain(&record) {
            let to = self.target.join(file);
            // Clearing removes folders that it leaves empty, and this run may need them.
            let made = fs::create_dir_all(to.parent().unwrap_or(&self.target));
            let moved = made.and_then(|()| fs::rename(self.staging.join(file), &to));
            moved.map_err(|error| Error::file(&to, &error))?;
        }
        self.made = false;
        Ok(())
    }

    /// All files but `run.json`, in order, by their paths below the folder.
    fn written(&self) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        list(&self.staging, &mut files).map_err(|error| Error::file(&self.staging, &error))?;
        let below = |file: &PathBuf| file.strip_prefix(&self.staging).ok().map(Path::to_owned);
        let mut files: Vec<PathBuf> = files.iter().filter_map(below).collect();
        files.retain(|file| file != Path::new(RUN));
        files.sort();
        Ok(files)
    }

    /// Makes sure that a file can be moved to its place, while everything is still as it was.
    fn make_room(&self, file: &Path) -> Result<()> {
        let to = self.target.join(file);
        if to.is_dir() {
            return Err(Error::file(&to, &io::ErrorKind::IsADirectory.into()).into());
        }
        match to.parent().filter(|&folder| folder != self.target) {
            Some(folder) => Ok(prepare_folder(folder)?),
            None => Ok(()),
        }
    }

    /// Removes the record of an earlier run, after its files that are not among these.
    fn clear(&self, files: &[PathBuf]) -> Result<()> {
        for file in earlier(&self.target) {
            if !files.contains(&file) {
                self.remove(&file)?;
            }
        }
        self.remove(Path::new(RUN))
    }

    /// Removes a file if it is there, and the folders that it leaves empty.
    fn remove(&self, file: &Path) -> Result<()> {
        let path = self.target.join(file);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::file(&path, &error).into());
            }
            _ => {}
        }
        let folders = file.ancestors().skip(1);
        for folder in folders.filter(|folder| !folder.as_os_str().is_empty()) {
            // Only if it is empty.
            let _ = fs::remove_dir(self.target.join(folder));
        }
        Ok(())
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // Nothing to tell anyone here: whoever dropped us has the error.
        let _ = fs::remove_dir_all(&self.staging);
        if self.made {
            // Only if it is empty.
            let _ = fs::remove_dir(&self.target);
        }
    }
}

/// Adds all files in a folder and its subfolders.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// Files of the run that a folder holds, by their paths below it; none where it holds none of ours.
fn earlier(target: &Path) -> Vec<PathBuf> {
    let text = fs::read(target.join(RUN)).unwrap_or_default();
    let run: Value = serde_json::from_slice(&text).unwrap_or_default();
    if let Value::Array(files) = &run[FILES] {
        let files = files.iter().filter_map(Value::as_str).map(PathBuf::from);
        // Nothing outside the folder, whoever wrote the list.
        let inside = |file: &PathBuf| {
            let mut parts = file.components();
            parts.all(|part| matches!(part, Component::Normal(_)))
        };
        let ours = |(name, sign): &(&str, &[u8])| {
            let text = fs::read(target.join(name)).unwrap_or_default();
            let begins = &text[..text.len().min(2000)];
            let found = begins.windows(sign.len()).any(|part| part == *sign);
            found.then(|| PathBuf::from(name))
        };
        let later = LATER.iter().filter_map(ours);
        return files.filter(inside).chain(later).collect();
    }
    let words = run["command"].as_array().into_iter().flatten();
    let mut words = words.filter_map(Value::as_str).skip(1);
    let known = words.find_map(|word| KNOWN.iter().find(|(command, _)| *command == word));
    let Some((command, names)) = known else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = names.split(' ').map(PathBuf::from).collect();
    if *command == "topics" {
        let others = others(target).unwrap_or_default().into_iter();
        let below = others.filter_map(|file| Some(file.strip_prefix(target).ok()?.to_owned()));
        files.extend(below);
    }
    files
}

#[cfg(test)]
mod tests;
