//! How a run is written down and taken up again: a line with format, version and checksum, then everything that the
//! driver owns.

use std::fs;
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::State;
use crate::direction::Direction;
use crate::error::{Error, Mismatch, Result};
use crate::files::Temporary;

/// Bumped when the meaning of what is stored changes.
const FORMAT: u32 = 4;

/// A run between two iterations: everything that the driver owns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    direction: Direction,
    /// What the model says of itself and its data.
    model: String,
    state: State,
    /// What whoever runs several climbs needs to know of the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    others: Option<String>,
    /// Whether it comes from a file, which anyone may have changed.
    #[serde(skip)]
    from_file: bool,
}

/// The first line, of which every format has two fields, so that another one can be named.
#[derive(Serialize, Deserialize)]
struct Preamble {
    format: u32,
    version: String,
    /// Of format, version and all that follows.
    #[serde(default)]
    sha256: String,
}

impl Preamble {
    fn of(content: &[u8]) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let sha256 = checksum(FORMAT, &version, content);
        Self {
            format: FORMAT,
            version,
            sha256,
        }
    }
}

fn checksum(format: u32, version: &str, content: &[u8]) -> String {
    let mut hasher = Sha256::new();
    hasher.update(format!("{format} {version}\n"));
    hasher.update(content);
    hexadecimal(&hasher.finalize())
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    let digits = |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16));
    bytes.iter().flat_map(digits).flatten().collect()
}

/// What cannot be taken up.
pub(super) fn damaged(path: &Path, cause: String) -> Error {
    let path = path.display().to_string();
    Error::Checkpoint(Mismatch::Damaged { path, cause })
}

pub(super) fn failed(path: &Path, cause: &dyn std::fmt::Display) -> Error {
    Error::File {
        path: path.display().to_string(),
        cause: format!("the checkpoint could not be written: {cause}"),
    }
}

/// Puts bytes into a file that appears whole.
pub(super) fn place(path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || -> std::io::Result<()> {
        let temporary = Temporary::create(path)?;
        temporary.file().write_all(bytes)?;
        temporary.finish()
    };
    write().map_err(|cause| failed(path, &cause))
}

impl Checkpoint {
    pub(crate) fn new(state: &State, direction: Direction, model: String) -> Self {
        Self {
            direction,
            model,
            state: state.clone(),
            others: None,
            from_file: false,
        }
    }

    /// Iterations that the run had made.
    pub fn iterations(&self) -> u64 {
        self.state.iteration
    }

    /// The same with what whoever runs several climbs needs to know of the others.
    #[must_use]
    pub fn with_others(self, others: Option<String>) -> Self {
        Self { others, ..self }
    }

    /// What [`Checkpoint::with_others`] was given.
    pub fn others(&self) -> Option<&str> {
        self.others.as_deref()
    }

    /// The direction that the run followed.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    pub(super) fn is_from_file(&self) -> bool {
        self.from_file
    }

    /// As a file has it: the first line, and all that follows.
    pub(super) fn bytes(&self, path: &Path) -> Result<Vec<u8>> {
        let json = |cause: serde_json::Error| failed(path, &cause);
        let content = serde_json::to_vec(self).map_err(json)?;
        let preamble = serde_json::to_vec(&Preamble::of(&content)).map_err(json)?;
        Ok([&preamble[..], b"\n", &content].concat())
    }

    /// Writes to a temporary file beside `path` and renames it, so that a stop at any moment
    /// leaves either the old checkpoint or the new. In a folder it gets a file of its own, and a manifest tells that it is the
    /// newest.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn write(&self, path: &Path) -> Result<()> {
        if path.is_dir() {
            return super::ledger::write(path, self);
        }
        place(path, &self.bytes(path)?)
    }

    /// Reads what [`Checkpoint::write`] wrote; of a folder the newest that is whole.
    ///
    /// # Errors
    /// [`Error::File`] where it cannot be read, [`Error::Checkpoint`] where it is not one of this version, or a
    /// single byte is not as it was written.
    pub fn read(path: &Path) -> Result<Self> {
        if path.is_dir() {
            return super::ledger::newest(path);
        }
        let text = fs::read(path).map_err(|cause| Error::File {
            path: path.display().to_string(),
            cause: cause.to_string(),
        })?;
        Self::parse(path, &text)
    }

    /// What the bytes of a file are.
    pub(super) fn parse(path: &Path, text: &[u8]) -> Result<Self> {
        let damaged = |cause: String| damaged(path, cause);
        let end = text.iter().position(|&byte| byte == b'\n');
        let (first, content) = text.split_at(end.unwrap_or(text.len()));
        let content = content.strip_prefix(b"\n").unwrap_or(content);
        let preamble: Preamble =
            serde_json::from_slice(first).map_err(|cause| damaged(cause.to_string()))?;
        if preamble.format != FORMAT {
            return Err(Error::Checkpoint(Mismatch::Format {
                found: preamble.format,
                version: preamble.version,
                expected: FORMAT,
            }));
        }
        if checksum(preamble.format, &preamble.version, content) != preamble.sha256 {
            return Err(damaged("its checksum is another one".to_owned()));
        }
        let read: Self =
            serde_json::from_slice(content).map_err(|cause| damaged(cause.to_string()))?;
        Ok(Self {
            from_file: true,
            ..read
        })
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
