//! How a run is written down and taken up again.

use std::fs;
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::State;
use crate::direction::Direction;
use crate::error::{Error, Mismatch, Result};

/// Bumped when the meaning of what is stored changes.
const FORMAT: u32 = 2;

/// A run between two iterations: everything that the driver owns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    format: u32,
    version: String,
    direction: Direction,
    /// What the model says of itself and its data.
    model: String,
    state: State,
}

/// What every format has, so that another one can be named.
#[derive(Deserialize)]
struct Preamble {
    format: u32,
    version: String,
}

impl Checkpoint {
    pub(crate) fn new(state: &State, direction: Direction, model: String) -> Self {
        Self {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            direction,
            model,
            state: state.clone(),
        }
    }

    /// Iterations that the run had made.
    pub fn iterations(&self) -> u64 {
        self.state.iteration
    }

    /// The direction that the run followed.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Writes to a temporary file beside `path` and renames it, so that a stop at any moment
    /// leaves either the old checkpoint or the new.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn write(&self, path: &Path) -> Result<()> {
        let failed = |cause: &dyn std::fmt::Display| Error::File {
            path: path.display().to_string(),
            cause: format!("the checkpoint could not be written: {cause}"),
        };
        let text = serde_json::to_vec(self).map_err(|cause| failed(&cause))?;
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let part = path.with_file_name(name);
        let write = || -> std::io::Result<()> {
            let mut file = fs::File::create(&part)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&part, path)
        };
        write().map_err(|cause| {
            let _ = fs::remove_file(&part);
            failed(&cause)
        })
    }

    /// Reads what [`Checkpoint::write`] wrote.
    ///
    /// # Errors
    /// [`Error::File`] where it cannot be read, [`Error::Checkpoint`] where it is not one of this version.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read(path).map_err(|cause| Error::File {
            path: path.display().to_string(),
            cause: cause.to_string(),
        })?;
        let damaged = |cause: serde_json::Error| {
            Error::Checkpoint(Mismatch::Damaged {
                path: path.display().to_string(),
                cause: cause.to_string(),
            })
        };
        let preamble: Preamble = serde_json::from_slice(&text).map_err(damaged)?;
        if preamble.format != FORMAT {
            return Err(Error::Checkpoint(Mismatch::Format {
                found: preamble.format,
                version: preamble.version,
                expected: FORMAT,
            }));
        }
        serde_json::from_slice(&text).map_err(damaged)
    }

    pub(super) fn state_for(self, direction: Direction, model: &str) -> Result<State> {
        if self.model != model {
            return Err(Error::Checkpoint(Mismatch::Model {
                found: self.model,
                expected: model.to_owned(),
            }));
        }
        if self.direction != direction {
            return Err(Error::Checkpoint(Mismatch::Method {
                found: self.direction.name(),
                expected: direction.name(),
            }));
        }
        Ok(self.state)
    }
}
