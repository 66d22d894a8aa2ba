//! Why there is no page.

use std::fmt;

use collapsar::{Plain, Terms};

/// Every failure of a page.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read or written.
    File(Box<collapsar_formats::Error>),
    /// What a run wrote cannot be used.
    Run(Box<collapsar_run::Error>),
    /// A folder that no run wrote, or of which something is missing or damaged.
    Folder {
        /// As given.
        name: String,
        /// What was found.
        found: String,
        /// What would have been accepted.
        expected: &'static str,
    },
}

/// The crate's result.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn folder(
        name: impl fmt::Display,
        found: impl Into<String>,
        expected: &'static str,
    ) -> Self {
        let (name, found) = (name.to_string(), found.into());
        Self::Folder {
            name,
            found,
            expected,
        }
    }

    /// The sentence in the terms of a front end.
    pub fn in_terms(&self, terms: &dyn Terms) -> String {
        match self {
            Self::File(error) => error.in_terms(terms),
            Self::Run(error) => error.in_terms(terms),
            Self::Folder {
                name,
                found,
                expected,
            } => format!("{name}: {found}, expected {expected}"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_terms(&Plain))
    }
}

impl std::error::Error for Error {}

impl From<collapsar_formats::Error> for Error {
    fn from(error: collapsar_formats::Error) -> Self {
        Self::File(Box::new(error))
    }
}

impl From<collapsar_run::Error> for Error {
    fn from(error: collapsar_run::Error) -> Self {
        Self::Run(Box::new(error))
    }
}
