//! Files beside an output that hold what does not fit in memory, for as long as a run needs them.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use collapsar::mixture::Reading;
use collapsar_formats::write_atomically;
use serde_json::{Value, json};

use crate::error::Result;

/// A file of what does not fit in memory, which goes when this does, unless it is kept.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    kept: bool,
    /// Whether it was there already.
    pub reused: bool,
}

impl Scratch {
    pub(crate) fn new(path: PathBuf, reused: bool) -> Self {
        let kept = false;
        Self { path, kept, reused }
    }

    /// Leaves the file for a run that goes on from here.
    pub fn keep(&mut self) {
        self.kept = true;
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.kept {
            // Whoever reads it still has it open.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// What `run.json` says of a file that passes read, and of what reading it has cost.
pub(crate) fn record(file: &Path, pass_bytes: u64, reading: Reading) -> Value {
    json!({
        "in": "file",
        "file": file.display().to_string(),
        "bytes_per_pass": pass_bytes,
        "bytes_read": reading.bytes,
        "seconds_waited": reading.waited.as_secs_f64(),
        "seconds_spent": reading.spent.as_secs_f64(),
        "bound_by": bound_by(reading),
    })
}

/// Whether passes waited for the disk more than they computed.
pub fn bound_by(reading: Reading) -> &'static str {
    if 2 * reading.waited > reading.spent {
        "disk"
    } else {
        "computing"
    }
}

/// Writes a file with what is made of what is read, whose refusal is told rather than that of writing.
pub(crate) fn write_file(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    let mut refused = None;
    let written = write_atomically(path, |out| {
        content(out).map_err(|error| {
            let text = error.to_string();
            refused = Some(error);
            io::Error::other(text)
        })
    });
    match refused {
        Some(error) => Err(error),
        None => Ok(written?),
    }
}
