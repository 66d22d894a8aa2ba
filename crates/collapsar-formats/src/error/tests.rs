//! The full text of every kind of error.

use super::*;

/// One line per kind, as a user reads them; the readers' own tests make most of them from files.
#[test]
fn texts() {
    let path = || "data.csv".to_owned();
    let names = |n: usize| (0..n).map(|i| format!("x{i}")).collect::<Vec<_>>();
    let all = [
        Error::File {
            path: path(),
            cause: system(&io::Error::from(io::ErrorKind::NotFound)),
        },
        Error::File {
            path: path(),
            cause: system(&io::Error::from(io::ErrorKind::PermissionDenied)),
        },
        Error::Format {
            path: path(),
            found: "a zip file".into(),
            expected: "text",
            hint: Some("unzip".into()),
        },
        Error::Format {
            path: path(),
            found: "a zip file".into(),
            expected: "text",
            hint: None,
        },
        Error::damaged(
            "data.parquet",
            "Parquet",
            "Parquet error: Corrupt footer.\nmore",
        ),
        Error::Empty {
            path: path(),
            found: "an empty file",
        },
        Error::Ragged {
            path: path(),
            line: 3,
            found: 1,
            expected: 4,
        },
        Error::Quote {
            path: path(),
            line: 3,
        },
        Error::Encoding {
            path: path(),
            line: 3,
        },
        Error::Text {
            path: path(),
            columns: names(1),
            found: "text (\"a\" in line 2)".into(),
            numeric: vec![],
        },
        Error::Text {
            path: path(),
            columns: names(14),
            found: "text (\"a\" in line 2)".into(),
            numeric: names(2),
        },
        Error::Text {
            path: path(),
            columns: names(2),
            found: "text (\"a\" in line 2)".into(),
            numeric: names(30),
        },
        Error::Missing {
            path: path(),
            place: Place::Line(7),
            column: "b".into(),
            found: "NA".into(),
        },
        Error::Missing {
            path: path(),
            place: Place::Row(7),
            column: "2".into(),
            found: "null".into(),
        },
        Error::NoColumn {
            path: path(),
            column: "b".into(),
            columns: names(2),
        },
        Error::Ambiguous {
            path: path(),
            column: "b".into(),
            indices: vec![1, 3],
        },
        Error::Repeated {
            path: path(),
            column: "b".into(),
        },
        Error::Label {
            path: path(),
            line: 3,
            found: "-1".into(),
        },
        Error::Entry {
            path: "docword.x.txt".into(),
            line: 4,
            found: "count \"0\"".into(),
            expected: "a number above 0".into(),
        },
        Error::Utf8 {
            path: "a.txt".into(),
            place: Place::Line(4),
            byte: 17,
        },
        Error::NoDocuments {
            path: "a.txt".into(),
            found: "an empty file",
        },
        Error::NoWords {
            path: "corpus.txt".into(),
            filter: Some(("stop words".into(), 812.0)),
            tokens: 900.0,
            hint: Some("--stop-words none or a lower --min-docs".into()),
        },
        Error::NoWords {
            path: "corpus.txt".into(),
            filter: None,
            tokens: 0.0,
            hint: None,
        },
        Error::NoText {
            path: path(),
            noun: "column",
            columns: names(14),
            text: names(2),
        },
        Error::NoText {
            path: path(),
            noun: "field",
            columns: names(2),
            text: vec![],
        },
        Error::UnknownFormat {
            found: "docx".into(),
            expected: "folder, lines".into(),
        },
        Error::Field {
            path: "run.json".into(),
            field: "bound".into(),
            found: "NaN".into(),
            expected: "a finite number",
        },
        Error::Folder {
            path: "out".into(),
            found: "a file of that name".into(),
        },
    ];
    let texts: Vec<String> = all.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(texts.join("\n"));
}
