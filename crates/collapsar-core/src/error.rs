//! What can go wrong, as data: one type, a kind for each cause. Front ends word it in their own terms.
//!
//! - `place`: where in the data
//! - `hint`: what to try next

mod hint;
mod place;

use std::fmt;

pub use hint::{Change, Hint};
pub use place::Place;

/// Every failure of the library.
///
/// The text is one lower-case sentence that says where, what was found, what was expected and,
/// where there is one, the next thing to try. [`Error::in_terms`] words it for a front end.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A point lies outside the domain of a potential: a precision that is not positive
    /// definite, a concentration that is not positive. The driver answers by a shorter step.
    Domain {
        /// The block, named as its user knows it.
        block: String,
        /// What was found.
        found: String,
        /// What would have been accepted.
        expected: &'static str,
    },
    /// A sum over the data is not finite; names the first datum to blame.
    Datum {
        /// Zero-based row.
        row: usize,
        /// The value found.
        found: f64,
    },
    /// An option that cannot be used.
    Setting {
        /// The option's name in the library.
        name: &'static str,
        /// What was given.
        found: String,
        /// What would have been accepted.
        expected: String,
    },
    /// Data that cannot be used.
    Data {
        /// Where.
        place: Place,
        /// What was found.
        found: String,
        /// What would have been accepted.
        expected: String,
        /// What to try.
        hint: Option<Hint>,
    },
    /// A factor of a graph that no family can take in.
    Graph {
        /// The factor.
        factor: Factor,
        /// What was found.
        found: String,
        /// What would have been accepted.
        expected: String,
    },
    /// Blocks that cannot be collapsed together.
    Collapse {
        /// The factor that forbids it.
        factor: Factor,
        /// What was asked for.
        found: String,
    },
    /// A checkpoint that does not belong to this run.
    Checkpoint(Mismatch),
    /// A file that could not be read or written.
    File {
        /// The path as given.
        path: String,
        /// The system's words.
        cause: String,
    },
    /// Those who hold the data did not answer as they were asked.
    Exchange {
        /// What was found, and what was expected.
        cause: String,
    },
}

/// A factor of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Factor {
    /// Which, in the order in which factors were added.
    pub number: u32,
    /// As it was named.
    pub name: String,
}

/// Why a checkpoint cannot be taken up.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mismatch {
    /// The file is not a checkpoint, or is damaged.
    Damaged {
        /// The path as given.
        path: String,
        /// What does not hold.
        cause: String,
    },
    /// It has another format.
    Format {
        /// Its format.
        found: u32,
        /// The version that wrote it.
        version: String,
        /// The format of this version.
        expected: u32,
    },
    /// It is of another model or other data.
    Model {
        /// What it is of.
        found: String,
        /// The model at hand.
        expected: String,
    },
    /// What it says of its point is not so.
    Point {
        /// What it says.
        found: String,
        /// What the model says.
        expected: String,
    },
    /// It was climbed by another method.
    Method {
        /// The name of its method.
        found: &'static str,
        /// The name of the method asked for.
        expected: &'static str,
    },
}

/// The library's result.
pub type Result<T> = std::result::Result<T, Error>;

/// How a front end calls what errors speak of.
pub trait Terms {
    /// An option, from its name in the library, such as `mean_precision`.
    fn option(&self, name: &'static str) -> String {
        name.to_owned()
    }

    /// An option with a value, as a user would write it.
    fn setting(&self, name: &'static str, value: &str) -> String {
        format!("{} = {value}", self.option(name))
    }

    /// Whether the front end has the option, so that it may be proposed.
    fn offers(&self, _name: &'static str) -> bool {
        true
    }

    /// A place in the data.
    fn place(&self, place: &Place) -> String {
        place.to_string()
    }
}

/// The library's own terms: options by their names, places counted from 1.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plain;

impl Terms for Plain {}

impl Error {
    /// A point outside the domain of a block.
    pub fn domain(
        block: impl Into<String>,
        found: impl Into<String>,
        expected: &'static str,
    ) -> Self {
        Self::Domain {
            block: block.into(),
            found: found.into(),
            expected,
        }
    }

    /// Data that cannot be used.
    pub fn data(place: Place, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Data {
            place,
            found: found.into(),
            expected: expected.into(),
            hint: None,
        }
    }

    /// An answer of those who hold the data that cannot be used.
    pub fn exchange(cause: String) -> Self {
        Self::Exchange { cause }
    }

    /// An option that cannot be used.
    #[expect(clippy::needless_pass_by_value, reason = "texts and numbers alike")]
    pub fn setting(name: &'static str, found: impl ToString, expected: impl Into<String>) -> Self {
        Self::Setting {
            name,
            found: found.to_string(),
            expected: expected.into(),
        }
    }

    /// The same refusal of data, with what to try.
    #[must_use]
    pub fn with_hint(mut self, what: Hint) -> Self {
        if let Self::Data { hint, .. } = &mut self {
            *hint = Some(what);
        }
        self
    }

    /// Whether a shorter step may avoid the failure.
    pub fn is_recoverable(&self) -> bool {
        matches!(self, Error::Domain { .. } | Error::Datum { .. })
    }

    /// The sentence in the terms of a front end.
    pub fn in_terms(&self, terms: &dyn Terms) -> String {
        match self {
            Self::Domain {
                block,
                found,
                expected,
            } => format!("{block}: {found}, expected {expected}"),
            Self::Datum { row, found } => format!(
                "{}: the log density is {found} in every component, expected a finite number; rescale the data or raise the prior scale",
                terms.place(&Place::Row(*row))
            ),
            Self::Setting {
                name,
                found,
                expected,
            } => format!("{} is {found}, expected {expected}", terms.option(name)),
            Self::Data {
                place,
                found,
                expected,
                hint,
            } => {
                let (place, hint) = (terms.place(place), Hint::ending(hint.as_ref(), terms));
                format!("{place}: {found}, expected {expected}{hint}")
            }
            Self::Graph {
                factor,
                found,
                expected,
            } => format!("{}: {found}, expected {expected}", factor.name),
            Self::Collapse { factor, found } => format!(
                "cannot collapse {found}: a term of {} holds both, expected blocks that meet in no term",
                factor.name
            ),
            Self::Checkpoint(mismatch) => mismatch.in_terms(terms),
            Self::File { path, cause } => format!("{path}: {cause}"),
            Self::Exchange { cause } => format!("workers: {cause}"),
        }
    }
}

impl Mismatch {
    fn in_terms(&self, terms: &dyn Terms) -> String {
        match self {
            Self::Damaged { path, cause } => format!(
                "checkpoint: {path} is not one, or is damaged ({cause}), expected a file written by {}",
                terms.option("checkpoint")
            ),
            Self::Format {
                found,
                version,
                expected,
            } => format!(
                "checkpoint: format {found} of version {version}, expected format {expected}; start the fit anew"
            ),
            Self::Model { found, expected } => {
                format!("checkpoint: one of {found}, expected one of {expected}")
            }
            Self::Point { found, expected } => format!(
                "checkpoint: {found}, expected {expected}; the file has been changed: start the fit anew"
            ),
            Self::Method { found, expected } => format!(
                "checkpoint: one of {}, expected {}",
                terms.setting("method", found),
                terms.setting("method", expected)
            ),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_terms(&Plain))
    }
}

impl std::error::Error for Error {}

impl From<Error> for String {
    fn from(error: Error) -> Self {
        error.to_string()
    }
}
