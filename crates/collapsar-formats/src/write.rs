//! Makes a result appear whole or not at all: a temporary file in the same folder, then a rename.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use collapsar::files;

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
    prepare_folder_by(folder, || files::Temporary::create(&folder.join("probe"))).map(drop)
}

/// The same where what is made in it first is of use.
///
/// # Errors
///
/// As [`prepare_folder`] has them.
pub fn prepare_folder_by<T>(folder: &Path, first: impl FnOnce() -> io::Result<T>) -> Result<T> {
    let refused = |found: String| {
        let path = folder.display().to_string();
        Error::content(path, found, "a folder to write in").trying("another")
    };
    if folder.exists() && !folder.is_dir() {
        return Err(refused("a file of that name".to_owned()));
    }
    fs::create_dir_all(folder).map_err(|error| refused(system(&error)))?;
    // Permissions do not tell the whole story (read-only mounts, full quotas), so try.
    first().map_err(|error| refused(system(&error)))
}

/// A file being written, which vanishes unless finished.
#[derive(Debug)]
pub(crate) struct Temporary {
    pub(crate) writer: BufWriter<File>,
    place: files::Temporary,
}

impl Temporary {
    pub(crate) fn create(target: &Path) -> Result<Self> {
        let refused = |error: io::Error| Error::file(target, &error);
        let place = files::Temporary::create(target).map_err(refused)?;
        let file = place.file().try_clone().map_err(refused)?;
        Ok(Temporary {
            writer: BufWriter::new(file),
            place,
        })
    }

    pub(crate) fn target(&self) -> &Path {
        self.place.target()
    }

    pub(crate) fn finish(mut self) -> Result<()> {
        let target = self.target().to_owned();
        let flushed = self.writer.flush();
        flushed
            .and_then(|()| self.place.finish())
            .map_err(|error| Error::file(&target, &error))
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
