//! The full text of every kind of error.

use super::*;
use crate::corpus::{Filtered, WordFilter, no_text, no_words};
use crate::table::{Selection, find_column, select};

/// Options as the program has them.
struct Flags;

impl Terms for Flags {
    fn option(&self, name: &'static str) -> String {
        format!("--{}", name.replace('_', "-"))
    }

    fn setting(&self, name: &'static str, value: &str) -> String {
        format!("{} {value}", self.option(name))
    }
}

fn names(n: usize) -> Vec<String> {
    (0..n).map(|i| format!("x{i}")).collect()
}

/// One of each kind; the readers' own tests make most of them from files.
fn all() -> Vec<Error> {
    let not_numbers = |columns: usize, found: &str, numeric: usize| {
        let selection = Selection {
            indices: vec![],
            names: [names(columns), names(numeric)].concat(),
            skipped: vec![],
        };
        selection.not_numbers("data.csv", found, |column| column >= columns)
    };
    let text = |columns, numeric| not_numbers(columns, "text (\"a\" in line 2)", numeric);
    let missing = |place, column, found| Error::missing("data.csv", place, column, found);
    let repeated = ["b".to_owned(), "x".to_owned(), "b".to_owned()];
    let removed = |filter, tokens| Filtered {
        filter,
        words: 1,
        tokens,
    };
    let record = |read: Option<&str>| FilePlace::Record {
        noun: "record",
        number: 7,
        read: read.map(str::to_owned),
    };
    let odd = |place| Error::content("a.bam", "is odd", "even").at(place);
    vec![
        Error::file("data.csv", &io::ErrorKind::NotFound.into()),
        Error::file("data.csv", &io::ErrorKind::PermissionDenied.into()),
        Error::content("data.csv", "a zip file", "text").with_hint(Hint::plain("unzip")),
        Error::content("data.csv", "a zip file", "text"),
        Error::damaged("data.parquet", "Parquet", "Corrupt footer.\nmore"),
        Error::empty("data.csv", "an empty file"),
        Error::ragged("data.csv", 3, 1, 4),
        Error::encoding("data.csv", 3),
        text(1, 0),
        text(14, 2),
        text(2, 30),
        not_numbers(2, "x0 and x1", 1),
        missing(FilePlace::Line(7), "b", "NA"),
        missing(FilePlace::Row(7), "2", "null"),
        find_column("data.csv", &names(2), "columns", "b").unwrap_err(),
        find_column("data.csv", &repeated, "columns", "b").unwrap_err(),
        select(
            "data.csv",
            &repeated[..2],
            None,
            Some(&["b".into(), "1".into()]),
        )
        .unwrap_err(),
        Error::line("docword.x.txt", 4, "count \"0\"", "a number above 0"),
        Error::not_utf8("a.txt", FilePlace::Line(4), 17),
        Error::no_documents("a.txt", "an empty file"),
        no_words(
            "corpus.txt",
            900.0,
            &[
                removed(WordFilter::StopWords("english"), 812.0),
                removed(WordFilter::Rare(5), 88.0),
            ],
        ),
        no_words("corpus.txt", 0.0, &[]),
        no_text("data.csv", "column", &names(14), &names(2)),
        no_text("data.csv", "field", &names(2), &[]),
        odd(record(Some("r"))),
        odd(record(None)),
        odd(FilePlace::Read("r".into())),
        collapsar::Error::setting("min_docs", 0, "a number from 1").into(),
    ]
}

/// One line per kind, as users of the program read them.
#[test]
fn texts() {
    let texts: Vec<String> = all().iter().map(|error| error.in_terms(&Flags)).collect();
    insta::assert_snapshot!(texts.join("\n"));
}

/// Only what is called differently differs in plain terms.
#[test]
fn plain_texts() {
    let all = all().into_iter();
    let differing = all.filter(|error| error.to_string() != error.in_terms(&Flags));
    let texts: Vec<String> = differing.map(|error| error.to_string()).collect();
    insta::assert_snapshot!(texts.join("\n"));
}
