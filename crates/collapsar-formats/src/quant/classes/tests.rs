//! Classes of salmon and of kallisto.

use super::super::testing::{Files, gzip, one, refusals};
use super::*;

fn class(transcripts: &[u32], weights: Option<&[f64]>, count: f64) -> Class {
    Class {
        transcripts: transcripts.to_vec(),
        weights: weights.map(<[f64]>::to_vec),
        count,
    }
}

/// As salmon 1.10.1 writes them.
const SALMON: &str =
    "3\n3\na\nb\nc\n2\t0\t2\t0.312632\t0.687368\t29\n1\t1\t1\t824\n3\t0\t1\t2\t0.5\t0\t0.5\t2\n";

#[test]
fn salmon_with_and_without_weights() {
    let weighted = Classes {
        names: ["a", "b", "c"].map(str::to_owned).to_vec(),
        transcripts: 3,
        classes: vec![
            class(&[0, 2], Some(&[0.312_632, 0.687_368]), 29.0),
            class(&[1], Some(&[1.0]), 824.0),
            class(&[0, 1, 2], Some(&[0.5, 0.0, 0.5]), 2.0),
        ],
    };
    for content in [
        SALMON.as_bytes().to_vec(),
        gzip(SALMON),
        SALMON.replace('\n', "\r\n").into_bytes(),
        SALMON.trim_end().as_bytes().to_vec(),
    ] {
        assert_eq!(one(content, read_classes), Ok(weighted.clone()));
    }
    let plain = one("2\n2\na\nb\n1\t0\t7\n2\t0\t1\t2.5\n", read_classes).unwrap();
    assert_eq!(
        plain.classes,
        [class(&[0], None, 7.0), class(&[0, 1], None, 2.5)]
    );
    assert_eq!(one("1\n0\na\n", read_classes).unwrap().classes, []);
}

#[test]
fn refusals_of_salmon() {
    let zipped = gzip(SALMON);
    let contents: [&[u8]; 20] = [
        b"",
        b"\n",
        b"a\n",
        b"0\n0\n",
        b"2\n",
        b"2\nx\n",
        b"2\n1\na\n",
        b"2\n1\na\na\n1\t0\t1\n",
        b"3\n1\na\nb\n1\t0\t1\n",
        b"2\n2\na\nb\n1\t0\t1\n",
        b"2\n1\na\nb\n1\t0\t1\n1\t1\t1\n",
        b"2\n1\na\nb\n0\t1\n",
        b"2\n1\na\nb\n9\t0\t1\n",
        b"2\n1\na\nb\n2\t0\t1\t0.5\t1\n",
        b"2\n1\na\nb\n2\t0\t2\t1\n",
        b"2\n1\na\nb\n2\t0\t-1\t1\n",
        b"2\n1\na\nb\n1\t0\tnan\n",
        b"2\n1\na\nb\n1\t0\t-1\t3\n",
        b"2\n1\na\nb\n2\t0\t1\t0\t0\t3\n",
        &zipped[..zipped.len() - 12],
    ];
    insta::assert_snapshot!(refusals(&contents, read_classes));
}

const EC: &str = "0\t0\n1\t1\n2\t2\n3\t0,2\n";

#[test]
fn kallisto_with_its_siblings() {
    let files = Files::new();
    let path = files.write("pseudoalignments.ec", EC);
    files.write("pseudoalignments.tsv", "0\t265\n1\t0\n2\t0\n3\t20\n");
    let read = read_classes(&path).unwrap();
    assert_eq!((read.names.len(), read.transcripts), (0, 3));
    assert_eq!(
        read.classes,
        [
            class(&[0], None, 265.0),
            class(&[1], None, 0.0),
            class(&[2], None, 0.0),
            class(&[0, 2], None, 20.0)
        ]
    );
    // The same from the matrix of one sample, zipped, and with names.
    let path = files.write("matrix.ec.gz", gzip(EC));
    let matrix = "%%MatrixMarket matrix coordinate real general\n1\t4\t2\n1\t1\t265\n1\t4\t20\n";
    files.write("matrix.tcc.mtx.gz", gzip(matrix));
    files.write("transcripts.txt", "a\nb\nc\nd\n");
    let named = read_classes(&path).unwrap();
    assert_eq!(named.names, ["a", "b", "c", "d"]);
    assert_eq!((named.transcripts, named.classes), (4, read.classes));
}

#[test]
fn refusals_of_kallisto() {
    let files = Files::new();
    let mut texts = Vec::new();
    for content in [EC, "0\t0\n2\t1\n", "0\t0,,1\n", "0\t0\n1\n", "0\t-1\n"] {
        let path = files.write("a.ec", content);
        texts.push(files.refusal(read_classes(&path)));
    }
    let path = files.write("a.ec", EC);
    for (name, content) in [
        ("a.mtx", "% only\n"),
        ("a.mtx", "%\n0\t4\t0\n"),
        ("a.mtx", "%\n1\t3\t0\n"),
        ("a.mtx", "%\n1\t4\tx\n"),
        ("a.mtx", "%\n1\t4\t2\n1\t1\t5\n"),
        ("a.mtx", "%\n1\t4\t1\n2\t1\t5\n"),
        ("a.mtx", "%\n1\t4\t1\n1\t0\t5\n"),
        ("a.mtx", "%\n1\t4\t1\n1\t5\t5\n"),
        ("a.tsv", "0\t1\n1\t1\n"),
        ("a.tsv", "0\t1\n0\t1\n"),
        ("a.tsv", "0\t1\n4\t1\n"),
        ("a.tsv", "0\t-1\n"),
        ("a.tsv", "0\t0\t1\n"),
        ("a.tsv", ""),
        ("transcripts.txt", "a\nb\na\n"),
        ("transcripts.txt", "a\nb\n"),
    ] {
        files.write(name, content);
        texts.push(files.refusal(read_classes(&path)));
    }
    insta::assert_snapshot!(texts.join("\n"));
}
