//! The program's terms for what errors speak of: options are flags, places have their file's names.

use collapsar::{Place, Terms};

/// Options as flags.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flags;

impl Terms for Flags {
    fn option(&self, name: &'static str) -> String {
        format!("--{}", name.replace('_', "-"))
    }

    fn setting(&self, name: &'static str, value: &str) -> String {
        format!("{} {value}", self.option(name))
    }
}

/// Flags, and places of data that were read from a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileTerms<'a> {
    /// The file, as it was given.
    pub(crate) name: &'a str,
    /// The names of its columns, where it has any.
    pub(crate) columns: &'a [String],
}

impl Terms for FileTerms<'_> {
    fn option(&self, name: &'static str) -> String {
        Flags.option(name)
    }

    fn setting(&self, name: &'static str, value: &str) -> String {
        Flags.setting(name, value)
    }

    fn place(&self, place: &Place) -> String {
        let file = self.name;
        match place {
            Place::Whole(_) => file.to_owned(),
            Place::Column(index) if *index < self.columns.len() => {
                format!("{file}: column {:?}", self.columns[*index])
            }
            place => format!("{file}: {place}"),
        }
    }
}
