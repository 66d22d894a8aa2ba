//! Folders, lines, tables and JSON lines.

use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::*;

const FIRST: &str = "The cat sat; the CAT, \"purred\" on 12 mats";
const THIRD: &str = "Dogs don’t purr\nor sit x";

/// Texts and ids in two row groups; an empty text is null.
pub(super) fn parquet(rows: &[(&str, i64)]) -> Vec<u8> {
    let schema = "message t { required int64 number; optional binary body (UTF8); }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = Arc::new(WriterProperties::builder().build());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties).unwrap();
    for rows in rows.chunks(2) {
        let mut group = writer.next_row_group().unwrap();
        let ids: Vec<i64> = rows.iter().map(|row| row.1).collect();
        let mut column = group.next_column().unwrap().unwrap();
        column
            .typed::<Int64Type>()
            .write_batch(&ids, None, None)
            .unwrap();
        column.close().unwrap();
        let present = rows.iter().filter(|row| !row.0.is_empty());
        let texts: Vec<ByteArray> = present.map(|row| ByteArray::from(row.0)).collect();
        let levels: Vec<i16> = rows.iter().map(|r| i16::from(!r.0.is_empty())).collect();
        let mut column = group.next_column().unwrap().unwrap();
        column
            .typed::<ByteArrayType>()
            .write_batch(&texts, Some(&levels), None)
            .unwrap();
        column.close().unwrap();
        group.close().unwrap();
    }
    writer.close().unwrap();
    bytes
}

#[test]
fn every_format_gives_the_same_corpus() {
    let files = Files::new();
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let json = |text: &str| serde_json::to_string(text).unwrap();
    let third = THIRD.replace('\n', " ");
    files.write("folder/a.txt", FIRST);
    files.write("folder/b/c.txt.gz", gzip(b""));
    files.write("folder/b/d", THIRD);
    files.write("folder/.hidden", "hidden");
    files.write("folder/.git/e", "hidden");
    let csv = format!("id,body\n7,{}\n8,\n9,{}\n", quoted(FIRST), quoted(THIRD));
    let lines = format!("\u{feff}{FIRST}\r\n\r\n{third}");
    let objects = format!(
        "{{\"id\":7,\"body\":{}}}\n\n{{\"body\":null,\"id\":\"8\"}}\n{{\"id\":9,\"body\":{}}}",
        json(FIRST),
        json(THIRD)
    );
    let plain = format!("{}\n\"\"\n{}\n", json(FIRST), json(THIRD));
    let paths = [
        files.path("folder"),
        files.write("lines.txt", &lines),
        files.write("lines.txt.gz", gzip(lines.as_bytes())),
        files.write("a.csv", &csv),
        files.write(
            "a.tsv",
            csv.replacen("id,body\n7,", "id\tbody\n7\t", 1)
                .replace("8,", "8\t")
                .replace("9,", "9\t"),
        ),
        files.write("a.jsonl", &objects),
        files.write("strings", gzip(plain.as_bytes())),
        files.write("a.bin", parquet(&[(FIRST, 7), ("", 8), (THIRD, 9)])),
    ];
    let formats = [
        "folder", "lines", "lines", "table", "table", "jsonl", "jsonl", "table",
    ];
    for (path, format) in paths.iter().zip(formats) {
        let (corpus, report) = read(path);
        check(&corpus);
        assert_eq!(report.format.name(), format, "{}", path.display());
        assert_eq!(
            corpus.vocabulary,
            ["cat", "dogs", "mats", "purr", "purred", "sat", "sit"]
        );
        assert_eq!(
            bag(&corpus, 0),
            [("cat", 2.0), ("mats", 1.0), ("purred", 1.0), ("sat", 1.0)]
        );
        assert_eq!(bag(&corpus, 1), []);
        assert_eq!(
            bag(&corpus, 2),
            [("dogs", 1.0), ("purr", 1.0), ("sit", 1.0)]
        );
        assert_eq!(report.empty, [1]);
        let filtered: Vec<(String, usize, f64)> = report
            .filtered
            .iter()
            .map(|f| (f.filter.to_string(), f.words, f.tokens))
            .collect();
        assert_eq!(
            filtered,
            [
                ("without a letter".into(), 1, 1.0),
                ("shorter than 2 letters".into(), 1, 1.0),
                ("stop words (english)".into(), 4, 5.0),
            ]
        );
    }
    assert_eq!(read(&paths[0]).0.documents, ["a.txt", "b/c.txt.gz", "b/d"]);
    assert_eq!(read(&paths[1]).0.documents, ["1", "2", "3"]);
    for (path, id) in [(&paths[3], "id"), (&paths[5], "id"), (&paths[7], "number")] {
        let options = CorpusOptions {
            id_column: Some(id.to_owned()),
            ..CorpusOptions::default()
        };
        let (corpus, _) = read_corpus(path, &options).unwrap();
        assert_eq!(corpus.documents, ["7", "8", "9"]);
    }
}

#[test]
fn filters_apply_in_order() {
    let text = "apple apple pear\napple pear plum\napple fig\napple 3d kiwi";
    let read = |change: fn(&mut CorpusOptions)| {
        let mut options = CorpusOptions::default();
        change(&mut options);
        let (corpus, report) = one("a.txt", text, &options).unwrap();
        let filtered: Vec<String> = report
            .filtered
            .iter()
            .map(|f| format!("{}: {} {}", f.filter, f.words, f.tokens))
            .collect();
        (corpus.vocabulary.join(" "), filtered.join("; "))
    };
    assert_eq!(
        read(|_| ()),
        ("apple pear 3d fig kiwi plum".into(), String::new())
    );
    assert_eq!(
        read(|o| o.min_docs = 2),
        ("apple pear".into(), "in fewer than 2 documents: 4 4".into())
    );
    assert_eq!(
        read(|o| {
            o.max_docs_share = 0.5;
            o.max_vocabulary = Some(2);
        }),
        (
            "pear 3d".into(),
            "in more than 50% of the documents: 1 5; not among the 2 most frequent: 3 3".into()
        )
    );
    assert_eq!(
        read(|o| o.stop_words = StopWords::List(strings(&["PEAR", "Fig"]))),
        ("apple 3d kiwi plum".into(), "stop words (list): 2 3".into())
    );
    assert_eq!(
        read(|o| o.tokens.min_length = 5),
        ("apple".into(), "shorter than 5 letters: 5 6".into())
    );
}

#[test]
fn tokens_as_asked() {
    let options = CorpusOptions {
        tokens: TokenOptions {
            min_length: 1,
            lowercase: false,
            numbers: true,
        },
        stop_words: StopWords::None,
        ..CorpusOptions::default()
    };
    let (corpus, report) = one("a.txt", "The the 12 x", &options).unwrap();
    assert_eq!(corpus.vocabulary, ["12", "The", "the", "x"]);
    assert!(report.filtered.is_empty());
}

#[test]
fn bytes_that_are_not_utf8() {
    let latin = b"caf\xe9 noir\nplain text\n";
    let mut csv = b"text\n\"two\nlines \xe9\"\n".to_vec();
    csv.extend(latin);
    let json = b"{\"text\":\"ok\"}\n{\"text\":\"caf\xe9\"}\n";
    let options = CorpusOptions {
        invalid_utf8: InvalidUtf8::Replace,
        ..CorpusOptions::default()
    };
    let files = Files::new();
    let mut refusals = Vec::new();
    files.write("folder/x.txt", b"first\nsecond \xff");
    for (path, replaced) in [
        (files.write("a.txt", latin), 1),
        (files.write("a.csv", &csv), 2),
        (files.write("a.jsonl", json), 1),
        (files.path("folder"), 1),
    ] {
        let error = read_corpus(&path, &CorpusOptions::default()).unwrap_err();
        refusals.push(files.text(&error));
        let (_, report) = read_corpus(&path, &options).unwrap();
        assert_eq!(report.replaced, replaced);
    }
    insta::assert_snapshot!(refusals.join("\n"));
}

#[test]
fn any_number_of_threads_gives_the_same() {
    let text: String = (0..3000u64)
        .map(|i| {
            let word = |k: u64| format!("w{} ", (i * i + 7 * k) % (50 + k));
            (0..i % 9).map(word).collect::<String>() + "\n"
        })
        .collect();
    let files = Files::new();
    let path = files.write("a.txt", text);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| read(&path))
    };
    let (one, many) = (with(1), with(4));
    assert_eq!(one, many);
    assert_eq!(one.0.documents.len(), 3000);
}

#[test]
fn new_documents_in_the_words_of_a_fit() {
    let files = Files::new();
    let path = files.write(
        "new.txt",
        "The cat saw 7 unicorns\nUnicorns of the sea and a y\n",
    );
    let vocabulary = strings(&["sea", "the", "cat", "absent"]);
    let (corpus, outside) =
        read_corpus_with(&path, &vocabulary, &CorpusOptions::default()).unwrap();
    check(&corpus);
    assert_eq!(corpus.vocabulary, vocabulary);
    // A stop word that the fit kept is kept.
    assert_eq!(bag(&corpus, 0), [("the", 1.0), ("cat", 1.0)]);
    assert_eq!(bag(&corpus, 1), [("sea", 1.0), ("the", 1.0)]);
    assert_eq!((outside.words, outside.tokens), (2, 3.0));
    assert_eq!(outside.examples, ["unicorns", "saw"]);
    assert_eq!(outside.report.unseen, 1);
    let filtered = outside.report.filtered.iter().map(|f| f.tokens);
    assert_eq!(filtered.sum::<f64>(), 5.0);
    let options = CorpusOptions {
        stop_words: StopWords::None,
        ..CorpusOptions::default()
    };
    let (_, outside) = read_corpus_with(&path, &vocabulary, &options).unwrap();
    assert_eq!((outside.words, outside.tokens), (4, 5.0));
    // No word in common is not an error: the caller decides.
    let (corpus, outside) = read_corpus_with(&path, &strings(&["x"]), &options).unwrap();
    assert_eq!((corpus.tokens(), outside.report.empty.len()), (0.0, 2));
}

#[test]
fn stop_words_from_a_file() {
    let files = Files::new();
    let path = files.write("stop.txt", "# mine\nAlpha\n\n  beta \n");
    assert_eq!(read_stop_words(&path).unwrap(), ["Alpha", "beta"]);
}

#[test]
fn refusals() {
    let options = |text: Option<&str>, id: Option<&str>| CorpusOptions {
        text_column: text.map(str::to_owned),
        id_column: id.map(str::to_owned),
        ..CorpusOptions::default()
    };
    let as_format = |format| CorpusOptions {
        format: Some(format),
        ..CorpusOptions::default()
    };
    let with =
        |name: &str, bytes: &str, options: &CorpusOptions| one(name, bytes, options).unwrap_err();
    let wide = "title,body\nsome words,other words\n";
    let mut texts = vec![
        refusal("a.txt", ""),
        refusal("a.txt", gzip(b"")),
        refusal("a.txt", "\n\n"),
        refusal(
            "a.txt",
            "the of\nand 12 of zebra's\n".replace("zebra's", "x"),
        ),
        with(
            "a.txt",
            "one two\nthree four\n",
            &CorpusOptions {
                min_docs: 5,
                ..CorpusOptions::default()
            },
        ),
        refusal("a.txt", b"PK\x03\x04"),
        refusal("a.txt", b"\xff\xfea\0"),
        refusal("a.txt", b"words\0more"),
        refusal("a.csv", wide),
        refusal("a.csv", "a,b\n1,2\n"),
        refusal("a.csv", "text\n"),
        refusal("a.csv", "id,text\n1,a,b\n"),
        refusal("a.csv", "id,text\n1,\"a\n"),
        with("a.csv", wide, &options(Some("text"), None)),
        with("a.csv", "body,body\na,b\n", &options(Some("body"), None)),
        with("a.csv", wide, &options(Some("body"), Some("id"))),
        with("a.txt", "words here\n", &options(Some("body"), None)),
        with("a.txt", "words here\n", &as_format(CorpusFormat::Folder)),
        with("a.txt", "words here\n", &as_format(CorpusFormat::Docword)),
        with(
            "a.txt",
            "words here\n",
            &CorpusOptions {
                vocabulary: Some("vocab.txt".into()),
                ..CorpusOptions::default()
            },
        ),
        refusal("a.jsonl", "{\"text\": \"a\"}\n{\"text\": \n"),
        refusal("a.jsonl", "{\"text\": \"a\"}\n{\"body\": \"b\"}\n"),
        refusal("a.jsonl", "{\"text\": \"a\"}\n{\"text\": 5}\n"),
        refusal("a.jsonl", "{\"title\": \"a\", \"body\": \"b\", \"n\": 1}\n"),
        refusal("a.jsonl", "[\"a\", \"b\"]\n"),
        refusal("a.jsonl", "\n \n"),
        with("a.jsonl", "{\"text\": \"a\"}\n", &options(None, Some("id"))),
        with("a.parquet", "no parquet at all", &CorpusOptions::default()),
    ];
    let files = Files::new();
    files.write("binary/x", b"\0\0");
    std::fs::create_dir(files.path("none")).unwrap();
    let rows = files.write("a.parquet", parquet(&[("some words", 1)]));
    for (path, options) in [
        (files.path("absent"), CorpusOptions::default()),
        (files.path("none"), CorpusOptions::default()),
        (files.path("none"), as_format(CorpusFormat::Lines)),
        (files.path("binary"), CorpusOptions::default()),
        (rows.clone(), as_format(CorpusFormat::Lines)),
        (rows.clone(), options(Some("number"), None)),
        (rows, options(Some("text"), None)),
    ] {
        texts.push(files.text(&read_corpus(&path, &options).unwrap_err()));
    }
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn beginnings_of_some_documents() {
    let files = Files::new();
    let path = files.write("a.txt", "one  two\tthree four\nnone\n\nשלום <b>\n");
    let wanted = std::collections::BTreeSet::from([0, 3, 9]);
    let options = CorpusOptions::default();
    let found = read_excerpts(&path, &options, &wanted, 11).unwrap();
    let expected = [(0, "one two thr…"), (3, "שלום <b>")];
    let expected = expected.map(|(place, text)| (place, text.to_owned()));
    assert_eq!(found, expected.into_iter().collect());
    // Counts have no texts, and what has gone is an error.
    let counts = files.write("docword.txt", "1\n1\n1\n1 1 2\n");
    assert!(
        read_excerpts(&counts, &options, &wanted, 9)
            .unwrap()
            .is_empty()
    );
    assert!(read_excerpts(&files.path("gone"), &options, &wanted, 9).is_err());
}
