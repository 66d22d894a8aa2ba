//! What the tests of these readers share.

use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::error::Result;

/// A folder of files that is removed in the end.
pub(super) struct Files(tempfile::TempDir);

impl Files {
    pub(super) fn new() -> Self {
        Files(tempfile::tempdir().unwrap())
    }

    pub(super) fn folder(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// The error as a user reads it, without the folder.
    pub(super) fn refusal<T>(&self, result: Result<T>) -> String {
        let place = format!("{}/", self.folder().display());
        let text = result.err().unwrap().to_string();
        assert!(!text.contains('\n'), "{text}");
        text.replace(&place, "")
    }
}

/// One file, read.
pub(super) fn one<T>(
    content: impl AsRef<[u8]>,
    read: impl FnOnce(&Path) -> Result<T>,
) -> Result<T> {
    let files = Files::new();
    read(&files.write("file", content))
}

/// The refusals of several files, a line each.
pub(super) fn refusals<T>(contents: &[&[u8]], read: impl Fn(&Path) -> Result<T>) -> String {
    let files = Files::new();
    let texts: Vec<String> = contents
        .iter()
        .map(|content| files.refusal(read(&files.write("file", content))))
        .collect();
    texts.join("\n")
}

pub(super) fn gzip(content: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content.as_ref()).unwrap();
    encoder.finish().unwrap()
}
