//! Reads plain texts: a document a line, or a document a file below a folder.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, FilePlace, Result};
use crate::lines::Lines;
use crate::open::Opened;

use super::gather::Gatherer;

/// A document a line, empty lines too: its number is its name.
pub(super) fn lines(mut lines: Lines, gatherer: &mut Gatherer<'_>) -> Result<()> {
    while lines.next()? {
        let name = lines.line.to_string();
        gatherer.push_bytes(name, &lines.path, lines.place(), &lines.bytes)?;
    }
    Ok(())
}

/// A document a file, in the order of their paths; what is hidden is skipped.
pub(super) fn folder(folder: &Path, gatherer: &mut Gatherer<'_>) -> Result<()> {
    for path in files(folder)? {
        let input = Opened::open(&path)?.text("UTF-8 text, as in every file of the folder")?;
        let name = input.name.clone();
        let bytes = input.bytes()?;
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        gatherer.push_bytes(relative(&path, folder), &name, FilePlace::Line(1), text)?;
    }
    gatherer.some("a folder without files")
}

/// The files below a folder, in the order of their paths.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut folders = vec![folder.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| Error::file(&folder, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| Error::file(&folder, &error))?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = entry.path();
            let kind = entry
                .file_type()
                .map_err(|error| Error::file(&path, &error))?;
            // A link to a folder may lead back to where it came from; one to a file is that file.
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() || (kind.is_symlink() && path.is_file()) {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The path below the folder, with the same separator everywhere.
pub(crate) fn relative(path: &Path, folder: &Path) -> String {
    let parts = path.strip_prefix(folder).unwrap_or(path).components();
    let parts: Vec<_> = parts
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    parts.join("/")
}
