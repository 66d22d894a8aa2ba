//! Makes a result appear whole or not at all: a temporary file in the same folder, then a rename.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result, system};

/// Writes a file through `content`; on any failure the file at `path` is as it was before.
///
/// # Errors
///
/// Whatever the system or `content` reports, with the path.
pub fn write_atomically(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    let mut temporary = Temporary::create(path)?;
    content(&mut temporary.writer).map_err(|error| Error::file(path, &error))?;
    temporary.finish()
}

/// Creates a folder for results, with its parents, and makes sure that files can be made in it, so that a
/// long run does not end in a refusal.
///
/// # Errors
///
/// If it is not a folder or nothing can be written in it.
pub fn prepare_folder(folder: &Path) -> Result<()> {
    let refused = |found: String| {
        let path = folder.display().to_string();
        Error::content(path, found, "a folder to write in").trying("another")
    };
    if folder.exists() && !folder.is_dir() {
        return Err(refused("a file of that name".to_owned()));
    }
    fs::create_dir_all(folder).map_err(|error| refused(system(&error)))?;
    // Permissions do not tell the whole story (read-only mounts, full quotas), so try.
    let probe = temporary_name(&folder.join("probe"));
    File::create(&probe).map_err(|error| refused(system(&error)))?;
    fs::remove_file(&probe).map_err(|error| refused(system(&error)))
}

/// Hidden, beside the target so that the rename stays on one disk, and different for every process and
/// every file, so that two runs into one folder never write into the same temporary.
fn temporary_name(target: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let unique = NEXT.fetch_add(1, Ordering::Relaxed);
    target.with_file_name(format!(".{name}.{}-{unique}.tmp", process::id()))
}

/// A file being written, which vanishes unless finished.
#[derive(Debug)]
pub(crate) struct Temporary {
    pub(crate) writer: BufWriter<File>,
    path: PathBuf,
    pub(crate) target: PathBuf,
}

impl Temporary {
    pub(crate) fn create(target: &Path) -> Result<Self> {
        let path = temporary_name(target);
        let file = File::create(&path).map_err(|error| Error::file(target, &error))?;
        Ok(Temporary {
            writer: BufWriter::new(file),
            path,
            target: target.to_owned(),
        })
    }

    pub(crate) fn finish(mut self) -> Result<()> {
        self.writer
            .flush()
            .and_then(|()| self.writer.get_ref().sync_all())
            .and_then(|()| fs::rename(&self.path, &self.target))
            .map_err(|error| Error::file(&self.target, &error))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Nothing is there any more if it was renamed; else whoever dropped us has the error.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("means.csv");
        write_atomically(&path, |writer| writer.write_all(b"one")).unwrap();
        write_atomically(&path, |writer| {
            writer.write_all(b"half of tw")?;
            Err(io::Error::other("Disk full"))
        })
        .unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(names(folder.path()), ["means.csv"]);
        write_atomically(&path, |writer| writer.write_all(b"two")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(names(folder.path()), ["means.csv"]);
    }

    #[test]
    fn a_folder_with_parents() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b/c");
        prepare_folder(&deep).unwrap();
        prepare_folder(&deep).unwrap();
        assert!(names(&deep).is_empty());
    }

    #[test]
    fn refusals() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let nowhere = write_atomically(&folder.path().join("absent/x"), |_| Ok(()));
        let full = write_atomically(&file, |_| Err(io::Error::other("Disk full")));
        let results = [
            prepare_folder(&file),
            prepare_folder(&file.join("below")),
            nowhere,
            full,
        ];
        let place = format!("{}/", folder.path().display());
        let texts: Vec<String> = results
            .map(|result| result.unwrap_err().to_string().replace(&place, ""))
            .to_vec();
        insta::assert_snapshot!(texts.join("\n"));
    }
}
