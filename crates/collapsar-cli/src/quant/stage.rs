//! A folder of results that appears as a whole: files are written beside their places, then renamed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use collapsar_formats::prepare_folder;

/// Files on their way into a folder. Dropped before [`Stage::finish`] it leaves the folder as it was.
#[derive(Debug)]
pub(crate) struct Stage {
    target: PathBuf,
    /// Whether the target was made for this run.
    made: bool,
    folder: PathBuf,
}

impl Stage {
    /// Makes the folder if need be, and makes sure that it can be written in.
    pub(crate) fn new(target: &Path) -> anyhow::Result<Self> {
        let made = !target.exists();
        prepare_folder(target)?;
        let stage = Self {
            target: target.to_owned(),
            made,
            folder: target.join(format!(".quant.{}.tmp", std::process::id())),
        };
        prepare_folder(&stage.folder)?;
        Ok(stage)
    }

    /// Where files are written for now.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Moves all files to their places: those named in `last` after all others. Files of an earlier run
    /// that this one has none of, among `ours`, are removed.
    pub(crate) fn finish(mut self, ours: &[&str], last: &str) -> anyhow::Result<()> {
        let moved = |file: &str| -> anyhow::Result<()> {
            let (from, to) = (self.folder.join(file), self.target.join(file));
            let failed = || format!("{}", to.display());
            if from.exists() {
                if let Some(folder) = to.parent() {
                    prepare_folder(folder)?;
                }
                fs::rename(&from, &to).with_context(failed)?;
            } else if to.exists() {
                fs::remove_file(&to).with_context(failed)?;
            }
            Ok(())
        };
        for file in ours {
            moved(file)?;
        }
        moved(last)?;
        self.made = false;
        Ok(())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // Nothing to tell anyone here: whoever dropped us has the error.
        let _ = fs::remove_dir_all(&self.folder);
        if self.made {
            // Only if it is empty.
            let _ = fs::remove_dir(&self.target);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<String> = entries
            .map(|entry| name(entry).to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("fit");
        let stage = Stage::new(&target).unwrap();
        fs::write(stage.folder().join("a"), "1").unwrap();
        drop(stage);
        assert!(!target.exists());

        let write = |files: &[&str]| {
            let stage = Stage::new(&target).unwrap();
            for file in files {
                let path = stage.folder().join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "1").unwrap();
            }
            stage.finish(&["a", "deep/b"], "run").unwrap();
        };
        write(&["a", "deep/b", "run"]);
        fs::write(target.join("notes"), "").unwrap();
        assert_eq!(names(&target), ["a", "deep", "notes", "run"]);
        assert_eq!(names(&target.join("deep")), ["b"]);
        // What another run left and this one has not is gone; what is somebody else's stays.
        write(&["a", "run"]);
        assert_eq!(names(&target), ["a", "deep", "notes", "run"]);
        assert!(names(&target.join("deep")).is_empty());
    }
}
