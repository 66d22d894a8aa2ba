//! What is wrong with a record or a header, before the file's name and the record's place are known.

use std::io;

use crate::error::{Error, FilePlace};

/// What was found, what was expected and the next thing to try.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The content is understood but cannot be used; there may be something to try.
    Content(String, &'static str, Option<&'static str>),
    /// The bytes cannot be read or contradict the format.
    Bytes(io::Error),
}

impl Trouble {
    pub(super) fn new(found: impl Into<String>, expected: &'static str) -> Self {
        Trouble::Content(found.into(), expected, None)
    }

    pub(super) fn hint(mut self, next: &'static str) -> Self {
        if let Trouble::Content(_, _, hint) = &mut self {
            *hint = Some(next);
        }
        self
    }

    /// The error for this trouble at a place; the whole file is its header.
    pub(super) fn at(self, path: &str, format: &'static str, place: FilePlace) -> Error {
        use io::ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof};
        let error = match self {
            Trouble::Content(found, expected, hint) => {
                let error = Error::content(path, found, expected).at(place);
                return hint.into_iter().fold(error, Error::trying);
            }
            Trouble::Bytes(error) => error,
        };
        let cause = match error.kind() {
            UnexpectedEof => "it ends too early".to_owned(),
            InvalidData | InvalidInput | Other => error.to_string(),
            _ => return Error::file(path, &error),
        };
        let place = match place {
            FilePlace::Whole => "header".to_owned(),
            place => place.to_string(),
        };
        Error::damaged(path, format, format!("{place}: {cause}"))
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Trouble::Bytes(error)
    }
}
