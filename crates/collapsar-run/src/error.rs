//! What can go wrong with a run, as data: the kinds of the crates below, and a run's own.

use std::fmt;

use collapsar::{Plain, Terms};
use collapsar_bugs::Diagnostic;

/// Every failure of a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The library refuses options or data.
    Library(collapsar::Error),
    /// A file cannot be read or written.
    File(collapsar_formats::Error),
    /// The text of a model, or its data, cannot be fitted.
    Model {
        /// What is wrong, and where in the text.
        diagnostic: Box<Diagnostic>,
        /// The model's file, as given.
        file: String,
        /// Its text.
        source: String,
    },
}

/// The crate's result.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The sentence in the terms of a front end.
    pub fn in_terms(&self, terms: &dyn Terms) -> String {
        match self {
            Self::Library(error) => error.in_terms(terms),
            Self::File(collapsar_formats::Error::Library(error)) => error.in_terms(terms),
            Self::File(error) => error.to_string(),
            Self::Model {
                diagnostic,
                file,
                source,
            } => diagnostic.render(file, source),
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
        Self::Library(error)
    }
}

impl From<collapsar_formats::Error> for Error {
    fn from(error: collapsar_formats::Error) -> Self {
        Self::File(error)
    }
}
