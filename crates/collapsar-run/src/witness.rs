//! Whether inputs stayed as they were while a run read and fitted them: what is certified by a digest is what was fitted.

use std::fs::{self, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use collapsar_formats::Input;

/// What a digest says of a file that is not what was read any more.
const CHANGED: &str = "unknown: it changed during the run";

/// Files and folders as they were before they were read.
#[derive(Debug, Default)]
pub struct Witness {
    files: Vec<PathBuf>,
    stamps: Vec<Option<u64>>,
}

impl Witness {
    /// Looks at files that are about to be read.
    pub fn of(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let files: Vec<PathBuf> = files.into_iter().collect();
        let stamps = files.iter().map(|file| stamp(file)).collect();
        Self { files, stamps }
    }

    /// The files.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// An input with its digest, taken just now, unless the file is another one by now.
    pub(crate) fn certified(&self, file: &Path, input: Input) -> Input {
        let known = self.files.iter().position(|known| known == file);
        match known {
            Some(place) if self.stamps[place] != stamp(file) => Input {
                digest: CHANGED.to_owned(),
                ..input
            },
            _ => input,
        }
    }
}

/// What changes when a file does, or any file below a folder; nothing for what is neither.
pub(crate) fn stamp(path: &Path) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    let metadata = fs::metadata(path).ok()?;
    if metadata.is_dir() {
        add_folder(path, &mut hasher);
    } else if metadata.is_file() {
        add(&metadata, &mut hasher);
    } else {
        return None;
    }
    Some(hasher.finish())
}

fn add_folder(folder: &Path, hasher: &mut DefaultHasher) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    // As readers of folders: what is hidden is not read.
    let shown = entries.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
    let mut paths: Vec<PathBuf> = shown.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        path.hash(hasher);
        match fs::symlink_metadata(&path) {
            // Links to folders are not followed: they may lead around in circles.
            Ok(metadata) if metadata.is_dir() => add_folder(&path, hasher),
            Ok(metadata) => add(&fs::metadata(&path).unwrap_or(metadata), hasher),
            Err(_) => {}
        }
    }
}

fn add(metadata: &Metadata, hasher: &mut DefaultHasher) {
    (metadata.len(), metadata.modified().ok()).hash(hasher);
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let change = (metadata.ctime(), metadata.ctime_nsec());
        (metadata.dev(), metadata.ino(), change).hash(hasher);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_not_certified() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("texts");
        fs::create_dir(&below).unwrap();
        let (file, text) = (folder.path().join("data.csv"), below.join("a.txt"));
        for path in [&file, &text] {
            fs::write(path, "one").unwrap();
        }
        let files = [file.clone(), below.clone(), folder.path().join("absent")];
        let witness = Witness::of(files);
        let digests =
            || [&file, &below].map(|path| witness.certified(path, Input::of(path).unwrap()).digest);
        assert!(digests().iter().all(|digest| digest.starts_with("sha256:")));
        for path in [&file, &text] {
            fs::write(path, "other").unwrap();
        }
        assert_eq!(digests(), [CHANGED, CHANGED]);
    }
}
