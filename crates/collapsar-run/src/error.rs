//! What can go wrong with a run, as data: the kinds of the crates below, and a run's own.

use std::fmt;

use collapsar::{Hint, Place, Plain, Terms};
use collapsar_bugs::Diagnostic;
use collapsar_text::count;

/// Every failure of a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The library refuses options or data.
    Library(collapsar::Error),
    /// The library refuses data that were read from a file.
    Data {
        /// What it refuses.
        error: Box<collapsar::Error>,
        /// The file, as given, and the names of its columns, where it has any.
        file: (String, Vec<String>),
    },
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
    /// What was asked to be collapsed, or not to be, cannot be.
    Collapse {
        /// What the graph refuses.
        error: Box<collapsar::Error>,
        /// The line that forbids it and where it stands, for arrays that meet in one.
        line: Option<(String, String)>,
    },
    /// The value of an option that names nothing that there is.
    Value {
        /// The option.
        option: &'static str,
        /// Its value.
        value: String,
        /// What was found.
        found: &'static str,
        /// What would have been accepted.
        expected: String,
    },
    /// A file or folder that an earlier run should have written, and did not.
    Written {
        /// As given.
        name: String,
        /// What was found.
        found: String,
        /// What would have been accepted, as in `a folder`.
        expected: &'static str,
        /// The command that writes it, where only one does.
        command: Option<&'static str>,
        /// The option that makes it write.
        option: &'static str,
    },
    /// So many documents held out that none is left, on either side.
    Holdout {
        /// The corpus, as given.
        name: String,
        /// The fraction to hold out.
        fraction: f64,
        /// Documents that can be halved.
        documents: usize,
    },
    /// Several climbs where options follow one.
    OneClimb {
        /// The options.
        options: &'static [&'static str],
        /// What there may be several numbers of.
        parts: &'static str,
    },
}

/// The crate's result.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A file or folder that cannot be used for what it was given for.
    pub fn input(
        name: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        collapsar::Error::data(Place::Named(name.into()), found, expected).into()
    }

    /// What the library refuses of a file without columns.
    pub(crate) fn of_file(error: collapsar::Error, name: String) -> Self {
        let (error, file) = (Box::new(error), (name, vec![]));
        Self::Data { error, file }
    }

    /// The same refusal, with what to try.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<Option<Hint>>) -> Self {
        match (self, hint.into()) {
            (Self::Library(error), Some(hint)) => Self::Library(error.with_hint(hint)),
            (error, _) => error,
        }
    }

    /// Whether options that are right by themselves do not go together.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::OneClimb { .. })
    }

    /// The sentence in the terms of a front end.
    pub fn in_terms(&self, terms: &dyn Terms) -> String {
        match self {
            Self::Library(error) => error.in_terms(terms),
            Self::File(error) => error.in_terms(terms),
            Self::Data { error, file } => error.in_terms(&FileTerms { terms, file }),
            Self::Model {
                diagnostic,
                file,
                source,
            } => diagnostic.render(file, source),
            Self::Collapse { error, line } => match (&**error, line) {
                (
                    collapsar::Error::Setting {
                        name,
                        found,
                        expected,
                    },
                    _,
                ) => {
                    format!("{}: expected {expected}", terms.setting(name, found))
                }
                (collapsar::Error::Collapse { found, .. }, Some((line, place))) => format!(
                    "{}: {found} cannot be collapsed, since they meet in {line} ({place})",
                    terms.option("collapse")
                ),
                (error, _) => error.in_terms(terms),
            },
            Self::Value {
                option,
                value,
                found,
                expected,
            } => format!(
                "{}: {found}, expected {expected}",
                terms.setting(option, value)
            ),
            Self::Written {
                name,
                found,
                expected,
                command,
                option,
            } => {
                let command = command.map_or_else(String::new, |name| format!("collapsar {name} "));
                let option = terms.option(option);
                format!("{name}: {found}, expected {expected} written by {command}{option}")
            }
            Self::Holdout {
                name,
                fraction,
                documents,
            } => format!(
                "{name}: {} leaves nothing of {} with at least two words, expected one or more to fit and \
                 to hold out",
                terms.setting("holdout", &fraction.to_string()),
                count(*documents, "document"),
            ),
            Self::OneClimb { options, parts } => {
                let follow = ["follows", "follow"][usize::from(options.len() > 1)];
                let options: Vec<String> = options.iter().map(|name| terms.option(name)).collect();
                format!(
                    "{} {follow} one climb, expected one restart and one number of {parts}",
                    options.join(" and ")
                )
            }
        }
    }
}

/// A front end's terms, with the file that places are in.
struct FileTerms<'a> {
    terms: &'a dyn Terms,
    file: &'a (String, Vec<String>),
}

impl Terms for FileTerms<'_> {
    fn option(&self, name: &'static str) -> String {
        self.terms.option(name)
    }

    fn setting(&self, name: &'static str, value: &str) -> String {
        self.terms.setting(name, value)
    }

    fn place(&self, place: &Place) -> String {
        let (file, columns) = self.file;
        match place {
            Place::Whole(_) => file.clone(),
            Place::Column(index) if *index < columns.len() => {
                format!("{file}: column {:?}", columns[*index])
            }
            place => format!("{file}: {place}"),
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
