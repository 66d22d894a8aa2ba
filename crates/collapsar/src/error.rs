//! What can go wrong, as data: one type, a kind for each cause.

use thiserror::Error as ThisError;

/// Every failure of the library.
///
/// The text is one lower-case sentence that says where, what was found, what was expected and,
/// where there is one, the next thing to try.
#[derive(Debug, Clone, PartialEq, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// A point lies outside the domain of a potential: a precision that is not positive
    /// definite, a concentration that is not positive. The driver answers by a shorter step.
    #[error("{block}: {found}, expected {expected}")]
    Domain {
        /// The block, named as its user knows it.
        block: String,
        /// What was found.
        found: String,
        /// What would have been accepted.
        expected: &'static str,
    },
    /// A sum over the data is not finite; names the first datum to blame.
    #[error(
        "row {}: the log density is {found} in every component, expected a finite number; rescale the data or raise the prior scale", row + 1
    )]
    Datum {
        /// Zero-based row.
        row: usize,
        /// The value found.
        found: f64,
    },
    /// A setting that cannot be used.
    #[error("{name} is {found}, expected {expected}")]
    Setting {
        /// The setting's name, as in the command line without dashes.
        name: &'static str,
        /// What was given.
        found: String,
        /// What would have been accepted.
        expected: String,
    },
    /// Data that cannot be used.
    #[error("{place}: {found}, expected {expected}")]
    Data {
        /// Where: a row, a column, a name.
        place: String,
        /// What was found.
        found: String,
        /// What would have been accepted.
        expected: String,
    },
    /// A factor of a graph that no family can take in.
    #[error("{factor}: {found}, expected {expected}")]
    Graph {
        /// The factor, as it was named.
        factor: String,
        /// What was found.
        found: String,
        /// What would have been accepted.
        expected: String,
    },
    /// Blocks that cannot be collapsed together.
    #[error(
        "cannot collapse {found}: a term of {factor} holds both, expected blocks that meet in no term"
    )]
    Collapse {
        /// The factor that forbids it.
        factor: String,
        /// What was asked for.
        found: String,
    },
    /// A checkpoint that does not belong to this run.
    #[error("checkpoint: {found}, expected {expected}")]
    Checkpoint {
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// A file that could not be read or written.
    #[error("{path}: {cause}")]
    File {
        /// The path as given.
        path: String,
        /// The system's words.
        cause: String,
    },
}

impl Error {
    /// Whether a shorter step may avoid the failure.
    pub fn is_recoverable(&self) -> bool {
        matches!(self, Error::Domain { .. } | Error::Datum { .. })
    }
}

/// The library's result.
pub type Result<T> = std::result::Result<T, Error>;
