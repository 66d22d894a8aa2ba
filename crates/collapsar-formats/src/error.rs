//! What can be wrong with a file, as data: one type, a kind for each cause.

use std::fmt;
use std::io;
use std::path::Path;

/// Every failure to read or write a file.
///
/// The text is one lower-case sentence: where, what was found, what was expected and, where there is
/// one, the next thing to try.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused to read or write.
    #[error("{path}: {cause}")]
    File {
        /// The path as given.
        path: String,
        /// The system's words.
        cause: String,
    },
    /// The content is not of a kind, type or shape that can be read.
    #[error("{path}: {found}, expected {expected}{}", attempt(hint.as_deref()))]
    Format {
        /// The path as given.
        path: String,
        /// What was found.
        found: String,
        /// What would have been accepted.
        expected: &'static str,
        /// The next thing to try.
        hint: Option<String>,
    },
    /// The content contradicts its own format.
    #[error(
        "{path}: damaged or incomplete {format} file ({cause}), expected a whole one; try writing or downloading it again"
    )]
    Damaged {
        /// The path as given.
        path: String,
        /// The format's name.
        format: &'static str,
        /// What does not hold.
        cause: String,
    },
    /// There are no data.
    #[error("{path}: {found}, expected at least one row of numbers")]
    Empty {
        /// The path as given.
        path: String,
        /// What there is.
        found: &'static str,
    },
    /// A line has more or fewer fields than the first.
    #[error("{path}:{line}: {}, expected {expected} as in the first line", count(*found, "field"))]
    Ragged {
        /// The path as given.
        path: String,
        /// The line, from 1.
        line: u64,
        /// Fields in this line.
        found: usize,
        /// Fields in the first line.
        expected: usize,
    },
    /// A quote opens and never closes.
    #[error("{path}:{line}: a quote opens and never closes, expected a closing \"")]
    Quote {
        /// The path as given.
        path: String,
        /// The line the quoted record begins in, from 1.
        line: u64,
    },
    /// A line is not UTF-8.
    #[error(
        "{path}:{line}: bytes that are not UTF-8, expected UTF-8 text; try iconv -f latin1 -t utf8"
    )]
    Encoding {
        /// The path as given.
        path: String,
        /// The line, from 1.
        line: u64,
    },
    /// Columns that are not numbers.
    #[error(
        "{path}: {}, expected numbers{}",
        not_numbers(columns, found),
        try_columns(numeric)
    )]
    Text {
        /// The path as given.
        path: String,
        /// Every wanted column that is not numeric.
        columns: Vec<String>,
        /// What they hold, and where for one of them.
        found: String,
        /// The wanted columns that are numeric.
        numeric: Vec<String>,
    },
    /// A value that is absent or not finite.
    #[error(
        "{path}{place}: column {column:?} is {found}, expected a finite number; try removing or imputing the row"
    )]
    Missing {
        /// The path as given.
        path: String,
        /// The line or row.
        place: Place,
        /// The column's name.
        column: String,
        /// What is there.
        found: String,
    },
    /// A column was asked for that is not there.
    #[error("{path}: no column {column:?}, expected {} or an index from 1 to {}", listed(columns), columns.len())]
    NoColumn {
        /// The path as given.
        path: String,
        /// The column asked for.
        column: String,
        /// The columns there are.
        columns: Vec<String>,
    },
    /// A column was asked for by a name that several columns have.
    #[error("{path}: {} are named {column:?}, expected one; try {}", count(indices.len(), "column"), by_index(indices))]
    Ambiguous {
        /// The path as given.
        path: String,
        /// The name.
        column: String,
        /// The columns of that name, from 1.
        indices: Vec<usize>,
    },
    /// A column was asked for twice.
    #[error("{path}: column {column:?} was selected twice, expected each column once")]
    Repeated {
        /// The path as given.
        path: String,
        /// The column's name.
        column: String,
    },
    /// A label is not a whole number from 0.
    #[error("{path}:{line}: label {found:?}, expected a whole number from 0")]
    Label {
        /// The path as given.
        path: String,
        /// The line, from 1.
        line: u64,
        /// What is there.
        found: String,
    },
    /// A line holds something that does not belong there.
    #[error("{path}:{line}: {found}, expected {expected}")]
    Entry {
        /// The path as given.
        path: String,
        /// The line, from 1.
        line: u64,
        /// What is there.
        found: String,
        /// What would have been accepted.
        expected: String,
    },
    /// A document is not UTF-8.
    #[error(
        "{path}{place}: byte {byte} is not UTF-8, expected UTF-8 text; try iconv -f latin1 -t utf8 or --invalid-utf8 replace"
    )]
    Utf8 {
        /// The path as given, or that of the file in the folder.
        path: String,
        /// The line or row.
        place: Place,
        /// The first such byte of the line or field, from 1.
        byte: u64,
    },
    /// There are no documents.
    #[error("{path}: {found}, expected at least one document")]
    NoDocuments {
        /// The path as given.
        path: String,
        /// What there is.
        found: &'static str,
    },
    /// There are no words, or the filters removed them all.
    #[error("{path}: {}, expected at least one{}", no_words(filter.as_ref(), *tokens), attempt(hint.as_deref()))]
    NoWords {
        /// The path as given.
        path: String,
        /// The filter that removed the most tokens, and how many.
        filter: Option<(String, f64)>,
        /// The tokens before filtering.
        tokens: f64,
        /// The next thing to try.
        hint: Option<String>,
    },
    /// It is not clear which column or field holds the text.
    #[error(
        "{path}: {}, expected one{}",
        no_text(columns, text, noun),
        try_text(text)
    )]
    NoText {
        /// The path as given.
        path: String,
        /// What they are called: column or field.
        noun: &'static str,
        /// All there are.
        columns: Vec<String>,
        /// Those that hold text.
        text: Vec<String>,
    },
    /// No format of corpora has that name.
    #[error("format {found:?}, expected {expected}")]
    UnknownFormat {
        /// The name.
        found: String,
        /// The names there are.
        expected: String,
    },
    /// A field has a value that cannot be written, or read.
    #[error("{path}: field {field:?} is {found}, expected {expected}")]
    Field {
        /// The file.
        path: String,
        /// The field's name.
        field: String,
        /// Its value.
        found: String,
        /// What would have been accepted.
        expected: &'static str,
    },
    /// A folder for results cannot be used.
    #[error("{path}: {found}, expected a folder to write in; try another")]
    Folder {
        /// The path as given.
        path: String,
        /// What stands in the way.
        found: String,
    },
    /// The model refuses what was read.
    #[error(transparent)]
    Library(#[from] collapsar::Error),
}

/// Where in a file a value stands; both count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A line of text.
    Line(u64),
    /// A row of a binary table.
    Row(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(line) => write!(f, ":{line}"),
            Place::Row(row) => write!(f, ": row {row}"),
        }
    }
}

/// The crate's result.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The system's refusal of a file.
    pub fn file(path: impl AsRef<Path>, error: &io::Error) -> Self {
        Error::File {
            path: path.as_ref().display().to_string(),
            cause: system(error),
        }
    }

    pub(crate) fn damaged(path: &str, format: &'static str, cause: impl fmt::Display) -> Self {
        Error::Damaged {
            path: path.to_owned(),
            format,
            cause: sentence(&cause.to_string()),
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
    let text = ["Parquet error: ", "External: ", "EOF: "]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))
        .unwrap_or(text);
    let line = text
        .lines()
        .next()
        .unwrap_or("")
        .trim()
        .trim_end_matches('.')
        .replace(". ", ": ");
    let mut chars = line.chars();
    let first = chars
        .next()
        .map(|c| c.to_lowercase().to_string())
        .unwrap_or_default();
    shortened(&format!("{first}{}", chars.as_str()), 120)
}

/// At most `limit` characters of a text.
pub(crate) fn shortened(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

pub(crate) fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

fn attempt(hint: Option<&str>) -> String {
    hint.map(|hint| format!("; try {hint}")).unwrap_or_default()
}

/// Long lists are cut: a table with a thousand columns must still give one readable line.
fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names
        .iter()
        .take(12)
        .map(|name| format!("{name:?}"))
        .collect();
    let rest = names.len().saturating_sub(12);
    let tail = if rest > 0 {
        format!(" and {rest} more")
    } else {
        String::new()
    };
    shown.join(", ") + &tail
}

fn not_numbers(columns: &[String], found: &str) -> String {
    let (noun, verb) = if columns.len() == 1 {
        ("column", "has")
    } else {
        ("columns", "have")
    };
    format!("{noun} {} {verb} {found}", listed(columns))
}

fn try_columns(numeric: &[String]) -> String {
    match numeric.len() {
        0 => String::new(),
        1..=24 => format!("; try --columns {}", numeric.join(",")),
        n => format!(
            "; try --columns with some of the {n} numeric columns, such as {}",
            numeric[..3].join(",")
        ),
    }
}

fn no_words(filter: Option<&(String, f64)>, tokens: f64) -> String {
    match filter {
        Some((filter, removed)) => {
            format!(
                "no words are left after filtering ({removed} of {tokens} tokens were {filter})"
            )
        }
        None => "documents without a word".to_owned(),
    }
}

fn no_text(columns: &[String], text: &[String], noun: &str) -> String {
    match text {
        [] if columns.is_empty() => format!("no {noun}s"),
        [] => format!("{noun}s {} hold no text", listed(columns)),
        _ => format!("{noun}s {} hold text", listed(text)),
    }
}

fn try_text(text: &[String]) -> String {
    match text.last() {
        Some(name) => format!(" of them to be named \"text\"; try --text-column {name:?}"),
        None => " with text".to_owned(),
    }
}

fn by_index(indices: &[usize]) -> String {
    let flags: Vec<String> = indices
        .iter()
        .map(|index| format!("--columns {index}"))
        .collect();
    flags.join(" or ")
}

#[cfg(test)]
mod tests;
