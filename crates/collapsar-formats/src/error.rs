//! What can be wrong with a file: where, what was found, what was expected and what to try. Front ends word it in
//! their own terms.

use std::fmt;
use std::io;
use std::path::Path;

use collapsar::{Hint, Plain, Terms};

/// Every failure to read or write a file.
///
/// The text is one lower-case sentence: where, what was found, what was expected and, where there is
/// one, the next thing to try. [`Error::in_terms`] words it for a front end.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that cannot be read, written or used.
    #[error("{path}{}{}", place.lead(), problem.in_terms(&Plain))]
    File {
        /// The path as given; in a folder, that of the file.
        path: String,
        /// Where in the file.
        place: FilePlace,
        /// What is wrong there; in a box, since results of readers are many and small.
        problem: Box<Problem>,
    },
    /// The library refuses what was read, or an option.
    #[error(transparent)]
    Library(#[from] collapsar::Error),
}

/// What is wrong with a file, or with a place in it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The system refused to read or write, in its words.
    #[error("{0}")]
    System(String),
    /// A column was asked for that is not there.
    #[error("no column {column:?}, expected {} or an index from 1 to {}", listed(columns), columns.len())]
    NoColumn {
        /// The column asked for.
        column: String,
        /// The columns there are.
        columns: Vec<String>,
    },
    /// Anything else that cannot be used.
    #[error("{found}, expected {expected}")]
    Content {
        /// What was found.
        found: String,
        /// What would have been accepted.
        expected: String,
        /// What to try.
        hint: Option<Hint>,
    },
}

/// Where in a file something is. Counts are from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilePlace {
    /// Anywhere: the file as a whole.
    Whole,
    /// A line of text.
    Line(u64),
    /// A row of a binary table.
    Row(u64),
    /// A record of alignments.
    Record {
        /// What it is called: a line in SAM.
        noun: &'static str,
        /// Its number.
        number: u64,
        /// The read that it is of, if that is known.
        read: Option<String>,
    },
    /// All records of a read.
    Read(String),
}

/// The crate's result.
pub type Result<T> = std::result::Result<T, Error>;

/// How text in the most frequent other encoding becomes UTF-8.
const ICONV: &str = "iconv -f latin1 -t utf8";

impl Error {
    /// A problem with a file as a whole.
    pub(crate) fn of(path: impl Into<String>, problem: Problem) -> Self {
        Self::File {
            path: path.into(),
            place: FilePlace::Whole,
            problem: Box::new(problem),
        }
    }

    /// A file of which something was found that cannot be used.
    pub fn content(
        path: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        let problem = Problem::Content {
            found: found.into(),
            expected: expected.into(),
            hint: None,
        };
        Self::of(path, problem)
    }

    /// Something in a line that cannot be used.
    pub(crate) fn line(
        path: impl Into<String>,
        line: u64,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self::content(path, found, expected).at(FilePlace::Line(line))
    }

    /// A line that is not UTF-8.
    pub(crate) fn encoding(path: &str, line: u64) -> Self {
        Self::line(path, line, "bytes that are not UTF-8", "UTF-8 text").trying(ICONV)
    }

    /// A document that is not UTF-8 from a byte on, counted from 1 in the line or field.
    pub(crate) fn not_utf8(path: &str, place: FilePlace, byte: u64) -> Self {
        let replace = Hint::set("invalid_utf8", "replace");
        Self::content(path, format!("byte {byte} is not UTF-8"), "UTF-8 text")
            .at(place)
            .with_hint(Hint::Any(vec![Hint::plain(ICONV), replace]))
    }

    /// A line that has more or fewer fields than the first.
    pub(crate) fn ragged(path: &str, line: u64, found: usize, expected: usize) -> Self {
        let expected = format!("{expected} as in the first line");
        Self::line(path, line, count(found, "field"), expected)
    }

    /// A number that is absent or not finite.
    pub(crate) fn missing(path: &str, place: FilePlace, column: &str, found: &str) -> Self {
        let found = format!("column {column:?} is {found}");
        let error = Self::content(path, found, "a finite number").at(place);
        error.trying("removing or imputing the row")
    }

    /// A table without numbers.
    pub(crate) fn empty(path: &str, found: &str) -> Self {
        Self::content(path, found, "at least one row of numbers")
    }

    /// A corpus without documents.
    pub(crate) fn no_documents(path: &str, found: &str) -> Self {
        Self::content(path, found, "at least one document")
    }

    /// The system's refusal of a file.
    pub fn file(path: impl AsRef<Path>, error: &io::Error) -> Self {
        let path = path.as_ref().display().to_string();
        Self::of(path, Problem::System(system(error)))
    }

    /// A file that contradicts its own format.
    pub(crate) fn damaged(path: &str, format: &str, cause: impl fmt::Display) -> Self {
        let cause = sentence(&cause.to_string());
        let found = format!("damaged or incomplete {format} file ({cause})");
        Self::content(path, found, "a whole one").trying("writing or downloading it again")
    }

    /// The same at a place of the file.
    pub(crate) fn at(mut self, at: FilePlace) -> Self {
        if let Self::File { place, .. } = &mut self {
            *place = at;
        }
        self
    }

    /// The same refusal of content, with what to try.
    #[must_use]
    pub fn with_hint(mut self, what: Hint) -> Self {
        if let Self::File { problem, .. } = &mut self
            && let Problem::Content { hint, .. } = &mut **problem
        {
            *hint = Some(what);
        }
        self
    }

    /// The same refusal of content, with something to try that is not an option.
    pub(crate) fn trying(self, what: &str) -> Self {
        self.with_hint(Hint::plain(what))
    }

    /// The sentence in the terms of a front end.
    pub fn in_terms(&self, terms: &dyn Terms) -> String {
        match self {
            Self::File {
                path,
                place,
                problem,
            } => format!("{path}{}{}", place.lead(), problem.in_terms(terms)),
            Self::Library(error) => error.in_terms(terms),
        }
    }
}

impl Problem {
    /// The sentence after the place, in the terms of a front end.
    fn in_terms(&self, terms: &dyn Terms) -> String {
        let hint = match self {
            Self::Content { hint, .. } => hint.as_ref(),
            _ => None,
        };
        self.to_string() + &Hint::ending(hint, terms)
    }
}

impl FilePlace {
    /// What stands between the path and what was found there.
    fn lead(&self) -> String {
        match self {
            Self::Whole => ": ".to_owned(),
            Self::Line(line) => format!(":{line}: "),
            Self::Row(_) => format!(": {self}: "),
            Self::Record { .. } | Self::Read(_) => format!(": {self} "),
        }
    }
}

impl fmt::Display for FilePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => write!(f, "file"),
            Self::Line(line) => write!(f, "line {line}"),
            Self::Row(row) => write!(f, "row {row}"),
            Self::Record { noun, number, read } => match read {
                Some(read) => write!(f, "{noun} {number} (read {read})"),
                None => write!(f, "{noun} {number}"),
            },
            Self::Read(name) => write!(f, "read {name}"),
        }
    }
}

/// The system's words, without the number that means nothing to most readers.
pub(crate) fn system(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or folder".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "is a folder, expected a file".to_owned(),
        _ => {
            let text = error.to_string();
            sentence(text.split(" (os error").next().unwrap_or(&text))
        }
    }
}

/// Another crate's words made to fit into ours: one line, lower case, short, no full stop.
fn sentence(text: &str) -> String {
    let line = text.lines().next().unwrap_or("").trim();
    let line = line.trim_end_matches('.').replace(". ", ": ");
    let mut chars = line.chars();
    let first: String = chars
        .next()
        .into_iter()
        .flat_map(char::to_lowercase)
        .collect();
    shortened(&format!("{first}{}", chars.as_str()), 120)
}

/// What the JSON parser says, without its line and column, which it gives as numbers too.
pub(crate) fn json_cause(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned()
}

/// At most `limit` characters of a text.
pub(crate) fn shortened(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Names in quotes. Long lists are cut: a table with a thousand columns must still give one readable line.
pub(crate) fn listed(names: &[String]) -> String {
    let shown = names.iter().take(12).map(|name| format!("{name:?}"));
    let shown = shown.collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(12) {
        0 => shown,
        rest => format!("{shown} and {rest} more"),
    }
}

/// Text in quotes, as a sentence shows it.
pub(crate) fn quoted(text: &str) -> String {
    format!("{:?}", shortened(text, 40))
}

/// A number in words: `1 read`, `2 reads`.
pub(crate) fn count<N: fmt::Display + PartialEq + From<u8> + Copy>(
    number: N,
    noun: &str,
) -> String {
    let plural = if number == N::from(1) { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests;
