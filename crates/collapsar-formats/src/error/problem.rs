//! What can be wrong with a file, a kind for each cause, and what to try about it.

use std::fmt;

use collapsar::{Change, Hint, Terms};

use super::count;
use crate::corpus::Filtered;

/// What is wrong with a file, or with a place in it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The system refused to read or write, in its words.
    #[error("{0}")]
    System(String),
    /// The content contradicts its own format.
    #[error("damaged or incomplete {format} file ({cause}), expected a whole one")]
    Damaged {
        /// The format's name.
        format: &'static str,
        /// What does not hold.
        cause: String,
    },
    /// Something cannot be used that no other kind tells more of.
    #[error("{found}, expected {expected}")]
    Content {
        /// What was found.
        found: String,
        /// What would have been accepted.
        expected: String,
        /// What to try.
        hint: Option<Hint>,
    },
    /// A line has more or fewer fields than the first.
    #[error("{}, expected {expected} as in the first line", count(*found, "field"))]
    Ragged {
        /// Fields in this line.
        found: usize,
        /// Fields in the first line.
        expected: usize,
    },
    /// Columns that are not numbers.
    #[error("{} {found}, expected numbers", have(columns))]
    Text {
        /// Every selected column that is not numeric.
        columns: Vec<String>,
        /// What they hold.
        found: NotNumbers,
        /// The selected columns that are numeric.
        numeric: Vec<String>,
    },
    /// A value that is absent or not finite.
    #[error("column {column:?} is {found}, expected a finite number")]
    Missing {
        /// The column's name.
        column: String,
        /// What is there.
        found: String,
    },
    /// A column was asked for that is not there.
    #[error("no column {column:?}, expected {} or an index from 1 to {}", listed(columns), columns.len())]
    NoColumn {
        /// The column asked for.
        column: String,
        /// The columns there are.
        columns: Vec<String>,
    },
    /// A column was asked for by a name that several columns have.
    #[error("{} are named {column:?}, expected one", count(indices.len(), "column"))]
    Ambiguous {
        /// The option that asks for it.
        option: &'static str,
        /// The name.
        column: String,
        /// The columns of that name, from 1.
        indices: Vec<usize>,
    },
    /// A column was asked for twice.
    #[error("column {column:?} was selected twice, expected each column once")]
    Repeated {
        /// The column's name.
        column: String,
    },
    /// A document is not UTF-8.
    #[error("byte {byte} is not UTF-8, expected UTF-8 text")]
    Utf8 {
        /// The first such byte of the line or field, from 1.
        byte: u64,
    },
    /// There are no words, or the filters removed them all.
    #[error("{}, expected at least one", no_words(*tokens, filtered))]
    NoWords {
        /// The tokens before filtering.
        tokens: f64,
        /// What each filter removed, in the order applied.
        filtered: Vec<Filtered>,
    },
    /// It is not clear which column or field holds the text.
    #[error("{}", no_text(noun, columns, text))]
    NoText {
        /// What they are called: column or field.
        noun: &'static str,
        /// All there are.
        columns: Vec<String>,
        /// Those that hold text.
        text: Vec<String>,
    },
    /// Two transcripts have one name, because of an option.
    #[error("{}", same_name(names, option))]
    SameName {
        /// The names as the file has them.
        names: [String; 2],
        /// The option.
        option: &'static str,
    },
}

/// What columns hold in place of numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotNumbers {
    /// Text.
    Text {
        /// The first.
        example: String,
        /// Its line, from 1.
        line: u64,
    },
    /// Values of these types.
    Types(Vec<String>),
}

/// How text in the most frequent other encoding becomes UTF-8.
pub(super) const ICONV: &str = "iconv -f latin1 -t utf8";

impl Problem {
    /// Something that cannot be used.
    pub fn content(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Content {
            found: found.into(),
            expected: expected.into(),
            hint: None,
        }
    }

    /// Says what to try about content.
    pub(crate) fn set_hint(&mut self, what: Hint) {
        if let Self::Content { hint, .. } = self {
            *hint = Some(what);
        }
    }

    /// What to try.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Content { hint, .. } => hint.clone(),
            Self::Damaged { .. } => Some(Hint::plain("writing or downloading it again")),
            Self::Text { numeric, .. } => try_columns(numeric),
            Self::Missing { .. } => Some(Hint::plain("removing or imputing the row")),
            Self::Ambiguous {
                option, indices, ..
            } => {
                let indices = indices.iter().map(|index| Hint::set(option, index));
                Some(Hint::Any(indices.collect()))
            }
            Self::Utf8 { .. } => {
                let replace = Hint::set("invalid_utf8", "replace");
                Some(Hint::Any(vec![Hint::plain(ICONV), replace]))
            }
            Self::NoWords { filtered, .. } => {
                let hints = filtered.iter().map(|filtered| filtered.filter.hint());
                Some(Hint::Any(hints.collect()))
            }
            Self::NoText { text, .. } => {
                let name = text.last()?;
                Some(Hint::set("text_column", format!("{name:?}")))
            }
            Self::System(_)
            | Self::Ragged { .. }
            | Self::NoColumn { .. }
            | Self::Repeated { .. }
            | Self::SameName { .. } => None,
        }
    }

    /// The sentence after the place, in the terms of a front end.
    pub(super) fn in_terms(&self, terms: &dyn Terms) -> String {
        let sentence = match self {
            Self::SameName { names, option } => same_name(names, &terms.option(option)),
            other => other.to_string(),
        };
        sentence + &Hint::ending(self.hint().as_ref(), terms)
    }
}

impl fmt::Display for NotNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text { example, line } => write!(f, "text ({example:?} in line {line})"),
            Self::Types(types) => write!(f, "{}", types.join(" and ")),
        }
    }
}

/// Long lists are cut: a table with a thousand columns must still give one readable line.
fn listed(names: &[String]) -> String {
    let shown = names.iter().take(12).map(|name| format!("{name:?}"));
    let shown = shown.collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(12) {
        0 => shown,
        rest => format!("{shown} and {rest} more"),
    }
}

fn have(columns: &[String]) -> String {
    match columns.len() {
        1 => format!("column {} has", listed(columns)),
        _ => format!("columns {} have", listed(columns)),
    }
}

fn try_columns(numeric: &[String]) -> Option<Hint> {
    match numeric.len() {
        0 => None,
        1..=24 => Some(Hint::set("columns", numeric.join(","))),
        n => {
            let few = numeric[..3].join(",");
            let words = format!("some of the {n} numeric columns, such as {few}");
            Some(Hint::Option("columns", Change::With(words.into())))
        }
    }
}

fn no_words(tokens: f64, filtered: &[Filtered]) -> String {
    // Reversed, so that of equals it is the first: the later ones saw less.
    let most = filtered.iter().rev();
    match most.max_by(|a, b| a.tokens.total_cmp(&b.tokens)) {
        Some(Filtered {
            filter,
            tokens: removed,
            ..
        }) => {
            let removed = format!("{removed} of {tokens} tokens were {}", filter.kind());
            format!("no words are left after filtering ({removed})")
        }
        None => "documents without a word".to_owned(),
    }
}

fn no_text(noun: &str, columns: &[String], text: &[String]) -> String {
    let (found, expected) = match text {
        [] if columns.is_empty() => (format!("no {noun}s"), "with text"),
        [] => {
            let found = format!("{noun}s {} hold no text", listed(columns));
            (found, "with text")
        }
        text => {
            let found = format!("{noun}s {} hold text", listed(text));
            (found, "of them to be named \"text\"")
        }
    };
    format!("{found}, expected one {expected}")
}

fn same_name([before, name]: &[String; 2], option: &str) -> String {
    format!("{before:?} and {name:?} are one name by {option}, expected them to differ")
}
