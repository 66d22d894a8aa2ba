//! What is wrong with a record or a header, before the file's name and the record's place are known.

use std::io;

use collapsar::Hint;

use crate::error::{Error, FilePlace, Problem};

/// What was found, what was expected and the next thing to try.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The content is understood but cannot be used.
    Content {
        found: String,
        expected: &'static str,
        hint: Option<Hint>,
    },
    /// The bytes cannot be read or contradict the format.
    Bytes(io::Error),
}

impl Trouble {
    pub(super) fn new(found: impl Into<String>, expected: &'static str) -> Self {
        Trouble::Content {
            found: found.into(),
            expected,
            hint: None,
        }
    }

    pub(super) fn hint(mut self, next: &'static str) -> Self {
        if let Trouble::Content { hint, .. } = &mut self {
            *hint = Some(Hint::plain(next));
        }
        self
    }

    /// The error for this trouble at a place; the whole file is its header.
    pub(super) fn at(self, path: &str, format: &'static str, place: FilePlace) -> Error {
        use io::ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof};
        match self {
            Trouble::Content {
                found,
                expected,
                hint,
            } => {
                let expected = expected.to_owned();
                let content = Problem::Content {
                    found,
                    expected,
                    hint,
                };
                Error::at(path, place, content)
            }
            Trouble::Bytes(error) => match error.kind() {
                UnexpectedEof | InvalidData | InvalidInput | Other => {
                    let cause = match error.kind() {
                        UnexpectedEof => "it ends too early".to_owned(),
                        _ => error.to_string(),
                    };
                    let place = match place {
                        FilePlace::Whole => "header".to_owned(),
                        place => place.to_string(),
                    };
                    Error::damaged(path, format, format!("{place}: {cause}"))
                }
                _ => Error::file(path, &error),
            },
        }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Trouble::Bytes(error)
    }
}
