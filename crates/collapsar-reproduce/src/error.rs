//! What can go wrong in an experiment, as data: the kinds of the crates below, and its own.

use std::fmt;
use std::path::Path;

use collapsar::{Plain, Terms};

/// Every failure of an experiment.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The library refuses options or data.
    Library(Box<collapsar::Error>),
    /// The library refuses what a file holds.
    Data {
        /// The file, and the line where it is known.
        place: String,
        /// What is wrong.
        cause: Box<collapsar::Error>,
    },
    /// A file cannot be read or written.
    File(Box<collapsar_formats::Error>),
    /// Interrupted before all runs had ended.
    PartOfRuns,
    /// Interrupted before every method had ended from one start.
    PartOfStart,
}

/// The crate's result.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// What the library refuses of a file's content.
    pub(crate) fn in_file(path: &Path) -> impl Fn(collapsar::Error) -> Self {
        |cause| Self::Data {
            place: path.display().to_string(),
            cause: Box::new(cause),
        }
    }

    /// The sentence in the terms of a front end.
    pub fn in_terms(&self, terms: &dyn Terms) -> String {
        match self {
            Self::Library(error) => error.in_terms(terms),
            Self::Data { place, cause } => format!("{place}: {}", cause.in_terms(terms)),
            Self::File(error) => error.in_terms(terms),
            Self::PartOfRuns => {
                "interrupted before all runs had ended; a table of some would mislead, so nothing was written".to_owned()
            }
            Self::PartOfStart => {
                "interrupted before every method had ended from one start; nothing was written".to_owned()
            }
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_terms(&Plain))
    }
}

impl std::error::Error for Error {}

impl From<collapsar::Error> for Error {
    fn from(error: collapsar::Error) -> Self {
        Self::Library(Box::new(error))
    }
}

impl From<collapsar_formats::Error> for Error {
    fn from(error: collapsar_formats::Error) -> Self {
        Self::File(Box::new(error))
    }
}
