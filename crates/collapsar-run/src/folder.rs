//! A folder of results that appears as a whole: files are written in a private folder inside it, then moved into place
//! while no other run moves its own, and moved back where that fails.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use collapsar::files::{TemporaryFolder, lock_folder, sync_folder};
use collapsar_formats::{Error, Input, Run, prepare_folder, prepare_folder_by};
use serde_json::{Value, json};

use crate::Result;
use crate::topics::others;
use crate::witness::Witness;

/// The record of a run. It comes last and goes first: where it is, everything that it lists is there.
const RUN: &str = "run.json";

/// Where files of an earlier run wait until those of this one are in their places; no run writes a file of that name.
const OLD: &str = ".old";

/// Its field that lists the other files of the run. The first versions had none.
const FILES: &str = "files";

/// What a page of a run adds to its folder later, with what stands near its beginning where it is ours: they are of that run,
/// and go with it.
const LATER: [(&str, &[u8]); 2] = [
    ("report.html", br#"name="generator" content="Collapsar"#),
    ("collapsar_mqc.json", b"{"),
];

/// The folder of pictures of a run.
const FIGURES: &str = "figures";

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
    /// With new files, and a folder for those that they replace.
    staging: TemporaryFolder,
    /// The inputs as they were before they were read.
    witness: Witness,
}

impl RunFolder {
    /// Makes the folder if need be, and makes sure that it can be written in, before there is anything to lose.
    ///
    /// # Errors
    ///
    /// It is not a folder, or nothing can be written in it.
    pub fn begin(target: &Path) -> Result<Self> {
        let made = !target.exists();
        // Inside the target, so that moving is renaming.
        let place = target.join("run");
        let staging = prepare_folder_by(target, || TemporaryFolder::create(&place))?;
        Ok(Self {
            target: target.to_owned(),
            made,
            staging,
            witness: Witness::default(),
        })
    }

    /// The folder of a run of inputs that were seen before they were read, where results are to be kept.
    ///
    /// # Errors
    ///
    /// As those of its two steps.
    pub fn asked(target: Option<&Path>, witness: Witness) -> Result<Option<Self>> {
        match target {
            Some(target) => Ok(Some(Self::begin(target)?.after(witness)?)),
            None => Ok(None),
        }
    }

    /// The same for a run of inputs that were seen before they were read.
    ///
    /// # Errors
    ///
    /// One of them is a file that runs into this folder replace.
    pub fn after(mut self, witness: Witness) -> Result<Self> {
        let known = KNOWN.iter().flat_map(|(_, names)| names.split(' '));
        let known = known.chain([RUN]).map(PathBuf::from);
        // A folder that was just made holds no inputs.
        let all = (!self.made).then(|| earlier(&self.target).into_iter().chain(known));
        for name in all.into_iter().flatten() {
            let what = "an input, or another folder for results";
            crate::record::check_apart(&self.target.join(name), what, witness.files())?;
        }
        self.witness = witness;
        Ok(self)
    }

    /// The files that the run read, with their digests where they stayed as they were.
    ///
    /// # Errors
    ///
    /// One cannot be read.
    pub fn inputs(&self, files: &[PathBuf]) -> Result<Vec<Input>> {
        let inputs = crate::record::inputs(files)?;
        Ok(files
            .iter()
            .zip(inputs)
            .map(|(file, input)| self.witness.certified(file, input))
            .collect())
    }

    /// The folder that files are on their way into.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Where files are written for now, in subfolders too.
    pub fn path(&self) -> &Path {
        self.staging.path()
    }

    /// Writes `run.json`, with a list of the files that have been written so far.
    ///
    /// # Errors
    ///
    /// As [`Run::write`] has them.
    pub fn record(&self, mut run: Run) -> Result<()> {
        run.extra.insert(FILES.to_owned(), self.files()?);
        Ok(run.write(self.path())?)
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
    /// Other runs into the same folder wait meanwhile, so that the last to come is there whole. Stopped in the midst of
    /// it, the folder has no `run.json`.
    ///
    /// # Errors
    ///
    /// The system refuses, or a folder is where a file has to be; the folder is then as it was.
    pub fn commit(mut self) -> Result<()> {
        let files = self.written()?;
        let _lock = lock_folder(&self.target);
        for file in &files {
            self.make_room(file)?;
        }
        let mut moves = Moves::default();
        let moved = self.move_all(&files, &mut moves);
        if moved.is_err() {
            moves.undo();
        }
        moved?;
        sync_folder(&self.target);
        self.made = false;
        Ok(())
    }

    /// Moves files of an earlier run out and those of this one in: the record goes first and comes last.
    fn move_all(&self, files: &[PathBuf], moves: &mut Moves) -> Result<()> {
        let old = self.path().join(OLD);
        let mut earlier = earlier(&self.target);
        earlier.extend(files.iter().cloned());
        earlier.sort();
        earlier.dedup();
        for file in [PathBuf::from(RUN)].iter().chain(&earlier) {
            if fs::symlink_metadata(self.target.join(file)).is_ok() {
                moves.make(&self.target.join(file), &old.join(file))?;
            }
        }
        let record = self.path().join(RUN).exists().then(|| PathBuf::from(RUN));
        for file in files.iter().chain(&record) {
            moves.make(&self.path().join(file), &self.target.join(file))?;
        }
        // Folders that an earlier run leaves empty.
        for file in &earlier {
            let folders = file.ancestors().skip(1);
            for folder in folders.filter(|folder| !folder.as_os_str().is_empty()) {
                // Only if it is empty.
                let _ = fs::remove_dir(self.target.join(folder));
            }
        }
        Ok(())
    }

    /// All files but `run.json`, in order, by their paths below the folder.
    fn written(&self) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        let new = self.path();
        list(new, &mut files).map_err(|error| Error::file(new, &error))?;
        let below = |file: &PathBuf| file.strip_prefix(new).ok().map(Path::to_owned);
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
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        if self.made {
            // Nothing to tell anyone here: whoever dropped us has the error. Only if it is empty.
            let _ = fs::remove_dir_all(self.staging.path());
            let _ = fs::remove_dir(&self.target);
        }
    }
}

/// Files that were moved, so that they can be moved back.
#[derive(Default)]
struct Moves(Vec<(PathBuf, PathBuf)>);

impl Moves {
    fn make(&mut self, from: &Path, to: &Path) -> Result<()> {
        let folder = to.parent().unwrap_or(to);
        let moved = fs::create_dir_all(folder).and_then(|()| fs::rename(from, to));
        moved.map_err(|error| Error::file(to, &error))?;
        self.0.push((from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn undo(self) {
        for (from, to) in self.0.into_iter().rev() {
            // What cannot be moved back is told by what could not be moved.
            let _ = fs::rename(to, from);
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
        let figures = figures(target).into_iter();
        let later = LATER.iter().filter_map(ours).chain(figures);
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

/// Pictures that were made of a run later, by their paths below its folder: of files there those that say so.
fn figures(target: &Path) -> Vec<PathBuf> {
    const MADE: &[u8] = b"Collapsar";
    let entries = fs::read_dir(target.join(FIGURES)).into_iter().flatten();
    let made = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let text = || fs::read(entry.path()).unwrap_or_default();
        let says = |text: &[u8]| {
            let begins = &text[..text.len().min(2000)];
            begins.windows(MADE.len()).any(|part| part == MADE)
        };
        (name.ends_with(".svg") || name.ends_with(".vl.json")) && says(&text())
    });
    made.map(|entry| Path::new(FIGURES).join(entry.file_name()))
        .collect()
}

#[cfg(test)]
mod tests;
