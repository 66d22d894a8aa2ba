//! What to try next, as data: options have one name here, and each front end its own for them.

use super::Terms;

/// What to try.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// Another value of an option.
    Option(&'static str, Change),
    /// Something that is not an option, in plain words: an imperative's object, as in
    /// `iconv -f latin1 -t utf8`.
    Plain(String),
    /// Any one of these.
    Any(Vec<Hint>),
    /// All of these together.
    All(Vec<Hint>),
}

/// How an option might be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// Give it.
    Give,
    /// Give it this value.
    To(String),
    /// Give a lower value.
    Lower,
    /// Give a higher value.
    Higher,
    /// Give fewer or less.
    Fewer,
    /// Leave it out.
    Omit,
}

impl Hint {
    /// Give the option.
    pub fn give(option: &'static str) -> Self {
        Self::Option(option, Change::Give)
    }

    /// Give the option this value.
    pub fn set(option: &'static str, value: impl ToString) -> Self {
        Self::Option(option, Change::To(value.to_string()))
    }

    /// Give the option a lower value.
    pub fn lower(option: &'static str) -> Self {
        Self::Option(option, Change::Lower)
    }

    /// Give the option a higher value.
    pub fn higher(option: &'static str) -> Self {
        Self::Option(option, Change::Higher)
    }

    /// Something that is not an option.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::Plain(text.into())
    }

    /// What follows `try`, in the terms of a front end.
    pub fn in_terms(&self, terms: &dyn Terms) -> String {
        let all = |hints: &[Hint], between| {
            let words: Vec<String> = hints.iter().map(|hint| hint.in_terms(terms)).collect();
            words.join(between)
        };
        match self {
            Self::Option(name, Change::To(value)) => terms.setting(name, value),
            Self::Option(name, change) => {
                let option = terms.option(name);
                match change {
                    Change::Give | Change::To(_) => option,
                    Change::Lower => format!("a lower {option}"),
                    Change::Higher => format!("a higher {option}"),
                    Change::Fewer => format!("fewer {option}"),
                    Change::Omit => format!("without {option}"),
                }
            }
            Self::Plain(text) => text.clone(),
            Self::Any(hints) => all(hints, " or "),
            Self::All(hints) => all(hints, " and "),
        }
    }
}
