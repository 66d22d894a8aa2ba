//! Text tables: what is read, and the full text of what is refused.

use std::io::Write;

use proptest::prelude::*;

use crate::table::{Table, read_table};

fn read_bytes(name: &str, content: &[u8], columns: Option<&[&str]>) -> Result<Table, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    let columns: Option<Vec<String>> =
        columns.map(|names| names.iter().map(ToString::to_string).collect());
    let place = format!("{}/", folder.path().display());
    read_table(&path, columns.as_deref()).map_err(|error| error.to_string().replace(&place, ""))
}

fn read(content: &str, columns: Option<&[&str]>) -> Result<Table, String> {
    read_bytes("t.csv", content.as_bytes(), columns)
}

#[allow(clippy::unnecessary_wraps)] // so that it compares with what `read` returns
fn table(columns: &[&str], values: &[f64], skipped: &[&str]) -> Result<Table, String> {
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let rows = values.len() / columns.len();
    Ok(Table {
        columns: names(columns),
        rows,
        values: values.to_vec(),
        skipped: names(skipped),
    })
}

#[test]
fn headers() {
    assert_eq!(
        read("a,b\n1,2\n3,4\n", None),
        table(&["a", "b"], &[1., 2., 3., 4.], &[])
    );
    assert_eq!(
        read("1,2\n3,4", None),
        table(&["1", "2"], &[1., 2., 3., 4.], &[])
    );
    assert_eq!(
        read("\u{feff}a,b\r\n1,-2e3\r\n\r\n", None),
        table(&["a", "b"], &[1., -2000.], &[])
    );
    assert_eq!(
        read("\"a, x\",b\n\"1\",2\n", None),
        table(&["a, x", "b"], &[1., 2.], &[])
    );
    assert_eq!(
        read("2019,b\n1,2\n", None),
        table(&["2019", "b"], &[1., 2.], &[])
    );
    assert_eq!(
        read("a,,c\n1,2,3\n", None),
        table(&["a", "2", "c"], &[1., 2., 3.], &[])
    );
}

#[test]
fn a_first_row_of_data_is_not_lost() {
    let iris = "5.1,3.5,Iris-setosa\n4.9,3.0,Iris-setosa\n";
    assert_eq!(
        read(iris, Some(&["1", "2"])),
        table(&["1", "2"], &[5.1, 3.5, 4.9, 3.0], &[])
    );
    let years = "country,2019,2020\nfr,1.5,2.5\n";
    assert_eq!(read(years, Some(&["2019"])), table(&["2019"], &[1.5], &[]));
}

#[test]
fn delimiters() {
    let expected = table(&["a", "b"], &[1., 2.], &[]);
    assert_eq!(read_bytes("t.tsv", b"a\tb\n1\t2\n", None), expected);
    assert_eq!(read("a;b\n1;2\n", None), expected);
    assert_eq!(read_bytes("t.txt", b"  a   b\n  1   2\n", None), expected);
    assert_eq!(read_bytes("noextension", b"a,b\n1,2\n", None), expected);
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(b"a\tb\n1\t2\n").unwrap();
    let gz = gz.finish().unwrap();
    assert_eq!(read_bytes("t.tsv.gz", &gz, None), expected);
    insta::assert_snapshot!(read_bytes("t.tsv.gz", &gz[..gz.len() - 6], None).unwrap_err());
}

#[test]
fn row_names_are_skipped() {
    assert_eq!(
        read("\"\",\"a\"\n\"1\",5\n\"2\",6\n", None),
        table(&["a"], &[5., 6.], &["1"])
    );
    assert_eq!(
        read("rownames,a\nMazda RX4,5\n", None),
        table(&["a"], &[5.], &["rownames"])
    );
    assert_eq!(
        read("rownames,a\n1,5\n", Some(&["rownames"])),
        table(&["rownames"], &[1.], &[])
    );
    let write_table = b"\"a\" \"b\"\n\"r1\" 5 6\n\"r2\" 7 8\n";
    assert_eq!(
        read_bytes("t.txt", write_table, None),
        table(&["a", "b"], &[5., 6., 7., 8.], &["1"])
    );
}

#[test]
fn selection() {
    let text = "a,b,3,name\n1,2,30,x\n4,5,60,y\n";
    assert_eq!(
        read(text, Some(&["b", "a"])),
        table(&["b", "a"], &[2., 1., 5., 4.], &[])
    );
    assert_eq!(read(text, Some(&["1"])), table(&["a"], &[1., 4.], &[]));
    assert_eq!(read(text, Some(&["3"])), table(&["3"], &[30., 60.], &[]));
    assert_eq!(read("3,x\n1,2\n", Some(&["3"])), table(&["3"], &[1.], &[]));
    assert_eq!(read("a,b\n1,NA\n", Some(&["a"])), table(&["a"], &[1.], &[]));
}

#[test]
fn refusals() {
    let cases: &[(&str, Option<&[&str]>)] = &[
        ("", None),
        ("\n\n", None),
        ("a,b\n", None),
        ("sepal_length,sepal_width,species\n5.1,3.5,setosa\n", None),
        ("a,b,c,d\n1,x,y,NA\n2,2,2,2\n", None),
        ("a,b\nx,y\n", None),
        ("a,b,c\n1,x,2\n", Some(&["b", "c"])),
        ("a,b\n1,2\n\n3\n", None),
        ("a,b\r\n1,2\r\n3,4,5\r\n", None),
        ("a,b\n1,2\n3,\n", None),
        ("1,NA\n1,2\n", None),
        ("a,b\n1,2\nnan,3\n", None),
        ("a,b\n1,2\n-inf,NA\n", None),
        ("a,b\n1,1e999\n", None),
        ("a,b\n1,?\n", None),
        ("a,b\n1,2\n", Some(&["c"])),
        ("a,b\n1,2\n", Some(&["0"])),
        ("a,b,a\n1,2,3\n", Some(&["a"])),
        ("a,b\n1,2\n", Some(&["a", "1"])),
        ("a,b\n1,\"2\n3,4\n", None),
        ("PK\u{3}\u{4}...", None),
        ("a\u{0}", None),
    ];
    let mut texts: Vec<String> = cases
        .iter()
        .map(|(text, columns)| read(text, *columns).unwrap_err())
        .collect();
    texts.push(read_bytes("t.csv", b"a,b\n1,2\n3,\xe9\n", None).unwrap_err());
    texts.push(read_bytes("t.csv", b"a,b\n1,2\n3,\"\xe9\"\n", None).unwrap_err());
    texts.push(
        read_table(std::path::Path::new("absent.csv"), None)
            .unwrap_err()
            .to_string(),
    );
    texts.push(
        read_table(std::path::Path::new("src"), None)
            .unwrap_err()
            .to_string(),
    );
    insta::assert_snapshot!(texts.join("\n"));
}

proptest! {
    // Each case writes a file; 200 keep the run under a second.
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300), name in "t\\.(csv|tsv|txt|csv\\.gz|dat)") {
        let _ = read_bytes(&name, &bytes, None);
    }

    #[test]
    fn any_likely_text(text in "[ab1-3.,;\t \"\r\nNA-]{0,80}") {
        if let Ok(table) = read(&text, None) {
            prop_assert_eq!(table.values.len(), table.rows * table.columns.len());
        }
    }

    #[test]
    fn numbers_return(values in prop::collection::vec(prop::num::f64::NORMAL, 1..40)) {
        let lines: Vec<String> = values.iter().map(|value| format!("{value:?},{value:e}\n")).collect();
        let expected: Vec<f64> = values.iter().flat_map(|&value| [value, value]).collect();
        prop_assert_eq!(read(&lines.concat(), None).unwrap().values, expected);
    }
}
