//! Formats told by their beginning, then by their names.

use std::path::Path;

use super::*;
use crate::open::Opened;

fn told(name: &str, head: &str) -> &'static str {
    let (path, head) = (Path::new(name), std::io::Cursor::new(head.to_owned()));
    let input = Opened::new(path, None, head).unwrap();
    let source = CorpusSource::text(Some(path), input).unwrap();
    format(&source).name()
}

#[test]
fn by_beginning_then_by_name() {
    let long = format!("9000{}", " 17:1".repeat(20_000));
    for (name, head, expected) in [
        ("a.txt", "some words\nmore\n", "lines"),
        ("-", "some words", "lines"),
        ("a.txt", "3\n4\n1\n1 1 1\n", "docword"),
        ("docword.x", "3\n4\n0\n", "docword"),
        ("a.txt", "3\n4\n1\nwords\n", "lines"),
        ("a.txt", "2 0:1 4:2\n0\n1 3:1\n", "ldac"),
        ("a.txt", "2 0:1 4:2\n-1 3:1\n", "svmlight"),
        ("a.txt", "1 1:1 4:2\n1 3:1\n", "svmlight"),
        ("a.svm", "1 3:1\n", "svmlight"),
        ("a.txt", "1 3:1\n", "ldac"),
        ("a.txt", "1 qid:3 3:1 # c\n2 qid:3 3:1\n", "svmlight"),
        ("a.txt", "1 note: at 10:30\n", "lines"),
        ("a.txt", "0\n0\n", "lines"),
        ("a.ldac", "0\n0\n", "ldac"),
        ("a.dat", long.as_str(), "svmlight"),
        ("a.dat", &long.replacen("9000", "90000", 1), "ldac"),
        ("a.txt", "%%MatrixMarket matrix coordinate", "mtx"),
        ("a.txt", "{\"text\": \"a\"}\n", "jsonl"),
        ("a.txt", "{braces} in text\n", "lines"),
        ("a.txt", "\"a\"\n\"b\"\n", "jsonl"),
        ("a.csv", "\"a\"\n\"b\"\n", "table"),
        ("a.txt", "\"Quoted,\" he said\n\"b\"\n", "lines"),
        ("a.csv.gz", "id,text\n", "table"),
        ("a.json", "[1]\n", "jsonl"),
    ] {
        assert_eq!(told(name, head), expected, "{name} {head:.40}");
    }
}
