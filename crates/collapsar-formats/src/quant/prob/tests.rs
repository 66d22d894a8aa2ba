//! `.prob` files, whole and odd.

use proptest::prelude::*;

use super::super::testing::{gzip, one, refusals};
use super::*;

use collapsar::elementary::Elementary;

const HEADER: &str = "# Ntotal 5\n# Nmap 2\n# M 3\n# LOGFORMAT (probabilities saved on log scale.)\n# r_name num_alignments (tr_id prob )^*{num_alignments}\n";

type Reads = Vec<(String, u64, Vec<(u32, f64)>)>;

fn reads(path: &Path) -> Result<(ProbHeader, Reads)> {
    let mut reader = ProbReader::open(path)?;
    let header = *reader.header();
    let (mut reads, mut entries) = (Vec::new(), Vec::new());
    while reader.next(&mut entries)? {
        let name = reader.name().into_owned();
        reads.push((name, reader.line(), entries.clone()));
    }
    assert!(entries.is_empty());
    assert_eq!(reader.name(), "");
    assert!(!reader.next(&mut entries)?, "the end stays the end");
    Ok((header, reads))
}

fn with(lines: &str) -> String {
    format!("{HEADER}{lines}")
}

#[test]
fn both_scales_and_all_ends() {
    let lines = "a 2 3 -1.5e+00 0 -20\nb 3 1 -2 1 -2.25 0 -inf\n";
    let whole = with(lines);
    let expected = (
        ProbHeader {
            reads: 5,
            mapped: 2,
            transcripts: 3,
        },
        vec![
            ("a".to_owned(), 6, vec![(3, -1.5), (0, -20.0)]),
            ("b".to_owned(), 7, vec![(1, -2.0), (1, -2.25)]),
        ],
    );
    assert_eq!(one(&whole, reads), Ok(expected.clone()));
    for other in [
        whole.replace('\n', "\r\n").into_bytes(),
        whole.trim_end().as_bytes().to_vec(),
        whole.replace(' ', "\t").into_bytes(),
        whole.replace("-20\n", "-20 \n").into_bytes(),
        [b"\xef\xbb\xbf", whole.as_bytes()].concat(),
        gzip(&whole),
        [gzip(&whole[..100]), gzip(&whole[100..])].concat(),
        (whole.clone() + "\n \n").into_bytes(),
    ] {
        assert_eq!(one(other, reads), Ok(expected.clone()));
    }
    let linear = whole.replace("# LOGFORMAT", "# NEWFORMAT");
    let linear = linear.replace(lines, "a 1 2 0.5\n\nb 3 1 1 0 0 2 1e-300\n");
    let (_, read) = one(linear, reads).unwrap();
    assert_eq!(read[0].2, [(2, 0.5f64.ln_())]);
    assert_eq!(
        (read[1].1, read[1].2.as_slice()),
        (8, &[(1, 0.0), (2, 1e-300f64.ln_())][..])
    );
}

#[test]
fn names_that_are_not_utf8() {
    let bytes = [with("").as_bytes(), b"\xff# 1 1 -1\nb 1 1 -1\n"].concat();
    assert_eq!(one(bytes, reads).unwrap().1[0].0, "\u{fffd}#");
}

#[test]
fn may_go_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<ProbReader>();
}

#[test]
fn no_reads() {
    let empty = "# Ntotal 5\n# Nmap 0\n# M 3\n# LOGFORMAT";
    assert_eq!(one(empty, reads).unwrap().1, []);
}

#[test]
fn refusals_of_lines() {
    let lines = [
        "a",
        "a x 1 -1",
        "a -1 1 -1",
        "a 0",
        "a 2 1 -1",
        "a 1 1 -1 0 -2",
        "a 99999999999999999999 1 -1",
        "a 1 4 -1",
        "a 1 -1 -1",
        "a 1 1.5 -1",
        "a 2 1 -1 2",
        "a 1 1 nan",
        "a 1 1 inf",
        "a 1 1 -1x",
        "a 1 1 -1e400\nb 1 1 -1",
        "a 2 1 -inf 0 -inf",
        "# Ntotal 5",
        "a 1 1 -1",
        "a 1 1 -1\nb 1 1 -1\nc 1 1 -1",
        "",
    ]
    .map(|line| with(line) + "\n");
    let linear = ["a 1 1 -0.5", "a 1 1 1e999", "a 1 1 0"]
        .map(|line| with(line).replace("# LOGFORMAT", "# NEWFORMAT"));
    let all: Vec<&[u8]> = lines.iter().chain(&linear).map(String::as_bytes).collect();
    insta::assert_snapshot!(refusals(&all, reads));
}

#[test]
fn refusals_of_headers() {
    let without = |line: &str| HEADER.replace(line, "");
    let contents = [
        Vec::new(),
        b"\n".to_vec(),
        b"a 1 1 -1\n".to_vec(),
        without("# Nmap 2\n").into_bytes(),
        without("# LOGFORMAT (probabilities saved on log scale.)\n").into_bytes(),
        HEADER.replace("M 3", "M").into_bytes(),
        HEADER.replace("M 3", "M -3").into_bytes(),
        HEADER.replace("M 3", "M 0").into_bytes(),
        HEADER.replace("Nmap 2", "Nmap 6").into_bytes(),
        b"BAM\x01\x00".to_vec(),
        gzip(with("a 1 1 -1\nb 1 1 -1\n"))[..60].to_vec(),
    ];
    let contents: Vec<&[u8]> = contents.iter().map(Vec::as_slice).collect();
    insta::assert_snapshot!(refusals(&contents, reads));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Any line: a refusal, or entries that keep their promises.
    #[test]
    fn any_line(line in "[0-9a .e\\-\t\n#]{0,30}", scale in prop::sample::select(&["LOG", "NEW"][..])) {
        let content = with(&line).replace("LOG", scale);
        match one(content, reads) {
            Ok((_, reads)) => for (_, _, entries) in reads {
                prop_assert!(!entries.is_empty());
                prop_assert!(entries.iter().all(|&(id, log)| id <= 3 && log.is_finite()));
            },
            Err(error) => prop_assert!(!error.to_string().contains('\n')),
        }
    }
}
