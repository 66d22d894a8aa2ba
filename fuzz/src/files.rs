//! Bytes as files: readers take paths, and a folder in memory, which `fuzz/run` gives, costs a few microseconds.

use std::cell::RefCell;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

thread_local! {
    static FOLDER: RefCell<Option<TempDir>> = const { RefCell::new(None) };
}

/// A folder of this thread.
fn folder() -> PathBuf {
    FOLDER.with_borrow_mut(|folder| {
        let made = folder.get_or_insert_with(|| tempfile::tempdir().expect("a temporary folder"));
        made.path().to_owned()
    })
}

/// A file of these bytes; the next one of the same name takes its place.
pub(crate) fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder().join(name);
    fs::write(&path, bytes).expect("a temporary file");
    path
}

/// Does something with a folder of files, which begin with lines of `== name`.
pub(crate) fn with_folder(bytes: &[u8], names: &[&str], work: impl FnOnce(&Path)) {
    let whole = folder().join("run");
    let _ = fs::remove_dir_all(&whole);
    fs::create_dir_all(&whole).expect("a temporary folder");
    for (name, content) in parts(bytes) {
        // Only names that a reader looks for: others would be written for nobody, or anywhere.
        let Some(name) = names.iter().find(|known| known.as_bytes() == name) else {
            continue;
        };
        let path = whole.join(name);
        let parent = path.parent().expect("a file in a folder");
        fs::create_dir_all(parent).expect("a temporary folder");
        fs::write(&path, content).expect("a temporary file");
    }
    work(&whole);
}

/// The parts of an input, each behind a line of `== name`.
pub(crate) fn parts(bytes: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut parts: Vec<(&[u8], usize, usize)> = vec![];
    let mut start = 0;
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let next = start + line.len();
        if let Some(name) = line.strip_prefix(b"== ") {
            parts.push((name.trim_ascii_end(), next, next));
        } else if let Some(last) = parts.last_mut() {
            last.2 = next;
        }
        start = next;
    }
    let part = |(name, from, to)| (name, &bytes[from..to]);
    parts.into_iter().map(part).collect()
}

/// The first byte as a choice among `count` and the rest.
pub(crate) fn choice(bytes: &[u8], count: usize) -> (usize, &[u8]) {
    match bytes.split_first() {
        Some((&first, rest)) => (usize::from(first.wrapping_sub(b'0')) % count, rest),
        None => (0, bytes),
    }
}

/// What was read, if it was; a refusal is put into words, which must not fail either.
pub(crate) fn told<T, E: Display>(result: Result<T, E>) -> Option<T> {
    result.map_err(|error| drop(error.to_string())).ok()
}
