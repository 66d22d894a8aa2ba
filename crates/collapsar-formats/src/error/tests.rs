//! The full text of every kind of error.

use super::*;
use crate::corpus::{Filtered, WordFilter};

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
    let data = |problem| Error::of("data.csv", problem);
    let line = |line, problem| Error::at("data.csv", FilePlace::Line(line), problem);
    let text = |columns: usize, numeric: usize| {
        data(Problem::Text {
            columns: names(columns),
            found: NotNumbers::Text {
                example: "a".into(),
                line: 2,
            },
            numeric: names(numeric),
        })
    };
    let missing = |column: &str, found: &str| Problem::Missing {
        column: column.into(),
        found: found.into(),
    };
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
    vec![
        Error::file("data.csv", &io::ErrorKind::NotFound.into()),
        Error::file("data.csv", &io::ErrorKind::PermissionDenied.into()),
        Error::content("data.csv", "a zip file", "text").with_hint(Hint::plain("unzip")),
        Error::content("data.csv", "a zip file", "text"),
        Error::damaged("data.parquet", "Parquet", "Corrupt footer.\nmore"),
        Error::empty("data.csv", "an empty file"),
        line(
            3,
            Problem::Ragged {
                found: 1,
                expected: 4,
            },
        ),
        Error::encoding("data.csv", 3),
        text(1, 0),
        text(14, 2),
        text(2, 30),
        data(Problem::Text {
            columns: names(2),
            found: NotNumbers::Types(names(2)),
            numeric: names(1),
        }),
        line(7, missing("b", "NA")),
        Error::at("data.csv", FilePlace::Row(7), missing("2", "null")),
        data(Problem::NoColumn {
            column: "b".into(),
            columns: names(2),
        }),
        data(Problem::Ambiguous {
            option: "columns",
            column: "b".into(),
            indices: vec![1, 3],
        }),
        data(Problem::Repeated { column: "b".into() }),
        Error::line("docword.x.txt", 4, "count \"0\"", "a number above 0"),
        Error::at("a.txt", FilePlace::Line(4), Problem::Utf8 { byte: 17 }),
        Error::no_documents("a.txt", "an empty file"),
        Error::of(
            "corpus.txt",
            Problem::NoWords {
                tokens: 900.0,
                filtered: vec![
                    removed(WordFilter::StopWords("english"), 812.0),
                    removed(WordFilter::Rare(5), 88.0),
                ],
            },
        ),
        Error::of(
            "corpus.txt",
            Problem::NoWords {
                tokens: 0.0,
                filtered: vec![],
            },
        ),
        data(Problem::NoText {
            noun: "column",
            columns: names(14),
            text: names(2),
        }),
        data(Problem::NoText {
            noun: "field",
            columns: names(2),
            text: vec![],
        }),
        Error::of(
            "t.fa",
            Problem::SameName {
                names: ["a.1".into(), "a.2".into()],
                option: "ignore_versions",
            },
        ),
        Error::at(
            "a.bam",
            record(Some("r")),
            Problem::content("is odd", "even"),
        ),
        Error::at("a.bam", record(None), Problem::content("is odd", "even")),
        Error::at(
            "a.bam",
            FilePlace::Read("r".into()),
            Problem::content("is odd", "even"),
        ),
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
