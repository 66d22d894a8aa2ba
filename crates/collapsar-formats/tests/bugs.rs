//! Data of models: every format, the full text of what is refused, any bytes, and real files where they are at hand.

use std::io::Write;
use std::path::{Path, PathBuf};

use collapsar_bugs::{Array, Data};
use collapsar_formats::read_data;
use proptest::prelude::*;

/// The data of files, or the error as a user reads it, without the folder.
fn read_all(files: &[(&str, &[u8])]) -> Result<Data, String> {
    let folder = tempfile::tempdir().unwrap();
    let write = |(name, content): &(&str, &[u8])| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let paths: Vec<PathBuf> = files.iter().map(write).collect();
    read_data(&paths).map_err(|error| {
        let text = error.to_string();
        assert!(!text.contains('\n'), "{text}");
        text.replace(&format!("{}/", folder.path().display()), "")
    })
}

fn read(name: &str, content: impl AsRef<[u8]>) -> Result<Data, String> {
    read_all(&[(name, content.as_ref())])
}

/// Lengths and numbers of one array; NaN as a number that compares, which no test has.
fn array(data: &Data, name: &str) -> (Vec<usize>, Vec<f64>) {
    let array = &data.arrays[name];
    let shown = |value: &f64| if value.is_nan() { MISSING } else { *value };
    (array.dims.clone(), array.values.iter().map(shown).collect())
}

const MISSING: f64 = -999.0;

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn json_arrays() {
    let text = r#"{"n": 3, "x": [1, null, -2.5e1], "t": [true, false],
        "a": [[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[9, 10], [11, 12]]], "e": [], "f": [[], []], "m": null}"#;
    let data = read("a.json", text).unwrap();
    assert_eq!(data.arrays["n"], Array::scalar(3.0));
    assert_eq!(array(&data, "x"), (vec![3], vec![1.0, MISSING, -25.0]));
    assert_eq!(array(&data, "t"), (vec![2], vec![1.0, 0.0]));
    let twelve: Vec<f64> = (1..=12).map(f64::from).collect();
    assert_eq!(array(&data, "a"), (vec![3, 2, 2], twelve));
    assert_eq!(array(&data, "e"), (vec![0], vec![]));
    assert_eq!(array(&data, "f"), (vec![2, 0], vec![]));
    assert_eq!(array(&data, "m"), (vec![1], vec![MISSING]));
    // Zipped, with a mark of UTF-8, of another name.
    let marked = "\u{feff}{\"n\": 3}";
    for name in ["a.json.gz", "a.txt.gz", "a"] {
        let found = read(name, gzip(marked.as_bytes())).unwrap();
        assert_eq!(found.arrays["n"], Array::scalar(3.0));
    }
}

#[test]
fn sparse_matrices() {
    let csr = r#"{"L": {"value": [5, 1, null], "col": [3, 1, 2], "row_ptr": [0, 2, 2, 3],
        "dim": [3, 4], "sparse": "csr"}}"#;
    let coo = r#"{"L": {"sparse": "coo", "dim": [3, 4], "row": [3, 1, 1], "col": [2, 3, 1],
        "value": [null, 5, 1]}}"#;
    for text in [csr, coo] {
        let data = read("a.json", text).unwrap();
        let matrix = &data.sparse["L"];
        assert_eq!(
            (matrix.dims, &matrix.starts[..]),
            ([3, 4], &[0, 2, 2, 3][..])
        );
        assert_eq!(matrix.columns, [0, 2, 1]);
        assert_eq!(matrix.values[..2], [1.0, 5.0]);
        assert!(matrix.values[2].is_nan());
    }
}

#[test]
fn dumps() {
    let text = "# a comment; with <- marks\n\"a b\" <-\nc(1L, 2e-1, NA, -.5, +3, 1e+05, Inf, -Inf)\n\
        `T` <- 5; n.2 = -7L\nx <- 3:1; y<-c(1:2,c(z = 9, \"w\"=8), TRUE, F)\n\
        m <- structure(c(1, 2, 3, 4, 5, 6), .Dim = c(2L, 3L), .Dimnames = list(NULL, c(\"a\", \"b,)\", 'c')))\n\
        k <- structure(\n1:8\n,\ndim = as.integer(c(2,2,2))) # end\n\
        v <- structure(1:3, .Dim = 3L, class = \"table\")\n\
        s <- structure(c(4, 5), names = c(\"a\", \"b\"))\n\
        i <- as.integer(c(1.0, 2))\ne <- integer(0)\nz <- numeric(2)\nw <<- as.numeric(4)\n\
        d <- structure(1:6, .Dim = 2:3)";
    let data = read("a.R", text).unwrap();
    let infinity = f64::INFINITY;
    let all = [
        (
            "a b",
            vec![8],
            vec![1.0, 0.2, MISSING, -0.5, 3.0, 1e5, infinity, -infinity],
        ),
        ("T", vec![1], vec![5.0]),
        ("n.2", vec![1], vec![-7.0]),
        ("x", vec![3], vec![3.0, 2.0, 1.0]),
        ("y", vec![6], vec![1.0, 2.0, 9.0, 8.0, 1.0, 0.0]),
        ("m", vec![2, 3], vec![1.0, 3.0, 5.0, 2.0, 4.0, 6.0]),
        (
            "k",
            vec![2, 2, 2],
            vec![1.0, 5.0, 3.0, 7.0, 2.0, 6.0, 4.0, 8.0],
        ),
        ("v", vec![3], vec![1.0, 2.0, 3.0]),
        ("s", vec![2], vec![4.0, 5.0]),
        ("i", vec![2], vec![1.0, 2.0]),
        ("e", vec![0], vec![]),
        ("z", vec![2], vec![0.0, 0.0]),
        ("w", vec![1], vec![4.0]),
        ("d", vec![2, 3], vec![1.0, 3.0, 5.0, 2.0, 4.0, 6.0]),
    ];
    assert_eq!(data.arrays.len(), all.len());
    for (name, dims, values) in all {
        assert_eq!(array(&data, name), (dims, values), "{name}");
    }
    // By its content alone.
    assert_eq!(read("a", text).unwrap().arrays.len(), data.arrays.len());
}

#[test]
fn lists_of_winbugs_run_by_row() {
    let text = "list(N = 2,\n Y = structure(\n .Data = c(1,2,3,\n4,5,6), .Dim = c(2, 3)), x = c(NA, 1),)\nlist(M=1)\n";
    let data = read("a", text).unwrap();
    assert_eq!(
        array(&data, "Y"),
        (vec![2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    );
    assert_eq!(array(&data, "x"), (vec![2], vec![MISSING, 1.0]));
    assert_eq!(data.arrays["M"], Array::scalar(1.0));
}

#[test]
fn columns() {
    let data = read("a.csv", "x,y\n1,NA\n2,\n-3,TRUE\n").unwrap();
    assert_eq!(array(&data, "x"), (vec![3], vec![1.0, 2.0, -3.0]));
    assert_eq!(array(&data, "y"), (vec![3], vec![MISSING, MISSING, 1.0]));
    let data = read("a.tsv.gz", gzip(b"\tx\nfirst\t1\nsecond\t-inf\n")).unwrap();
    assert_eq!(array(&data, "x"), (vec![2], vec![1.0, f64::NEG_INFINITY]));
    assert_eq!(data.arrays.len(), 1);
}

fn npy(shape: &str, values: &[f64]) -> Vec<u8> {
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    let values: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    [
        b"\x93NUMPY\x01\x00",
        &length[..],
        header.as_bytes(),
        &values,
    ]
    .concat()
}

#[test]
fn numpy_arrays_have_the_name_of_the_file() {
    let values = [1.0, 2.0, 3.0, 4.0];
    for (shape, dims) in [
        ("(4,)", vec![4]),
        ("(4, 1)", vec![4, 1]),
        ("(2,2)", vec![2, 2]),
    ] {
        let bytes = npy(shape, &values);
        for (name, bytes) in [("y.npy", bytes.clone()), ("y.npy.gz", gzip(&bytes))] {
            let data = read(name, bytes).unwrap();
            assert_eq!(array(&data, "y"), (dims.clone(), values.to_vec()));
        }
    }
}

#[test]
fn several_files() {
    let files: [(&str, &[u8]); 3] = [
        ("a.json", br#"{"x": 1}"#),
        ("b.R", b"y <- 2"),
        ("c.csv", b"z\n3\n"),
    ];
    let data = read_all(&files).unwrap();
    assert_eq!(data.arrays.keys().collect::<Vec<_>>(), ["x", "y", "z"]);
    assert_eq!(read_data(&[]).unwrap(), Data::default());
}

#[test]
fn refusals() {
    let dim = r#""dim": [2, 2], "value": [1, 2]"#;
    let sparse = |rest: &str| format!("{{\"L\":\n{{{rest}, {dim}}}}}");
    let cases: Vec<(&str, String)> = [
        ("a.json", "{\"x\": [[1, 2], [3]]}"),
        ("a.json", "{\"x\":\n[[1, 2], 3]}"),
        ("a.json", "{\"x\": [[[1], [2]], [[3], [[4]]]]}"),
        ("a.json", "{\"x\": [1, [2]]}"),
        ("a.json", "{\"x\": [[], 1]}"),
        ("a.json", "{\"n\": 1,\n\"city\": \"Paris\"}"),
        ("a.json", "{\"x\": [1, \"2\"]}"),
        ("a.json", "{\"x\": [NaN]}"),
        ("a.json", "{\"x\": [1, 2"),
        ("a.json", "[1, 2]"),
        ("a.json", "{\"x\": 1}\n{\"y\": 2}"),
        ("a.json", "{\"x\": 1, \"x\": 2}"),
        ("a.json", "{\"x\": 1e999}"),
        ("a.json", "{\"x\": {\"mean\": 1}}"),
        ("a.json", "{\"x\": [{\"mean\": 1}]}"),
        ("a.json", "{\"x\": {}}"),
        ("a.json", ""),
        ("a.R", "# nothing\n"),
        ("a.R", "x <- c(1, 2\n"),
        ("a.R", "x <- c(1, , 2)"),
        ("a.R", "x <- 1 2\n"),
        ("a.R", "x <- 1\ny <- rnorm(10)\n"),
        ("a.R", "x <- 1 + 2\n"),
        ("a.R", "x <- 12abc\n"),
        ("a.R", "x <- 1:1e12\n"),
        ("a.R", "x <- structure(c(1, 2, 3), .Dim = c(2, 2))\n"),
        ("a.R", "x <- structure(c(1, 2), .Dim = c(0.5, 4))\n"),
        ("a.R", "x <- numeric(-1)\n"),
        ("a.R", "data <- list(x = 1)\n"),
        ("a.R", "list(1, 2)\n"),
        ("a.R", "x <- 1\nx <- 2\n"),
        ("a.R", "x < 1\n"),
        ("a.R", "x 1\n"),
        ("a.R", "5 <- x\n"),
        ("a.R", "x <- y\n"),
        ("a.R", "\"x <- 1\n"),
        ("a.R", "x[1] <- 1\n"),
        ("a.csv", "x,y\na,Rome\nb,Paris\n"),
        ("a.csv", "x,y\n1\n"),
        ("a.csv", "1,2\n3,4\n"),
        ("a.csv", "x,x\n3,4\n"),
        ("a", "some words\n"),
        ("a.npy", "\u{93}NUM"),
        ("a.R", "x <- 1\0"),
    ]
    .into_iter()
    .map(|(name, text)| (name, text.to_owned()))
    .chain(
        [
            r#""sparse": "csc", "col": [1, 2], "row_ptr": [0, 1, 2]"#,
            r#""sparse": 1, "col": [1, 2], "row_ptr": [0, 1, 2]"#,
            r#""sparse": "csr", "row_ptr": [0, 1, 2]"#,
            r#""sparse": "csr", "col": [0, 1], "row_ptr": [0, 1, 2]"#,
            r#""sparse": "csr", "col": [1, 2], "row_ptr": [0, 2]"#,
            r#""sparse": "csr", "col": [1, 2], "row_ptr": [0, 2, 1]"#,
            r#""sparse": "csr", "col": [1, 2], "row_ptr": [1, 1, 2]"#,
            r#""sparse": "csr", "col": [1, 1], "row_ptr": [0, 2, 2]"#,
            r#""sparse": "csr", "col": [1, 2], "row": [1, 2], "row_ptr": [0, 2, 2]"#,
            r#""sparse": "coo", "col": [1, 2], "row": [1, 3]"#,
            r#""sparse": "coo", "col": [1, 2], "row": [1]"#,
            r#""sparse": "coo", "col": [1, 2.5], "row": [1, 2]"#,
            r#""sparse": "coo", "col": [1, 2], "row": [[1], [2]]"#,
            r#""sparse": "csr", "indices": [1, 2]"#,
        ]
        .map(|rest| ("a.json", sparse(rest))),
    )
    .collect();
    let mut texts: Vec<String> = cases
        .iter()
        .map(|(name, text)| read(name, text).expect_err(text))
        .collect();
    let twice: [(&str, &[u8]); 2] = [("a.json", br#"{"x": 1}"#), ("b.R", b"x <- 2")];
    texts.push(read_all(&twice).unwrap_err());
    let cut = gzip(b"x <- c(1, 2, 3)\n");
    texts.push(read("a.R.gz", &cut[..cut.len() - 6]).unwrap_err());
    texts.push(
        read_data(&[PathBuf::from("no-such-file.R")])
            .unwrap_err()
            .to_string(),
    );
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn deep_nesting_is_an_error() {
    let deep = 100_000;
    let json = format!("{{\"x\": {}{}}}", "[".repeat(deep), "]".repeat(deep));
    assert!(read("a.json", json).is_err());
    let dump = format!("x <- {}1{}", "c(".repeat(deep), ")".repeat(deep));
    assert!(read("a.R", dump).is_err());
}

#[test]
fn texts_are_left_aside_and_told() {
    let data = read("a.csv", "site,x\nnorth,1\nsouth,2\n").unwrap();
    assert_eq!(data.arrays["x"].values, [1.0, 2.0]);
    assert!(data.texts["site"].starts_with("\"north\" in line 2 of "));
    let dump = "f <- structure(c(1L, 2L, 1L), levels = c(\"a\", \"b\"), class = \"factor\")\n\
                names <- c(\"a\", \"b\")\ny <- 3\n";
    let data = read("a.R", dump).unwrap();
    assert_eq!(data.arrays["f"].values, [1.0, 2.0, 1.0]);
    assert_eq!(data.arrays["y"].values, [3.0]);
    assert!(data.texts["names"].starts_with("the text \"a\" in line 2 of "));
    assert!(!data.arrays.contains_key("names"));
}

const NAMES: [&str; 7] = ["a.json", "a.R", "a.txt", "a.csv", "a.tsv", "a.npy", "a"];

const WHOLE: [&str; 4] = [
    "{\"n\": 3, \"x\": [[1, null], [true, -2.5e1]], \"L\": {\"sparse\": \"csr\", \"dim\": [2, 2], \"row_ptr\": [0, 1, 2], \"col\": [1, 2], \"value\": [1, 2]}}",
    "\"a\" <- structure(c(1L, NA, 3, -4e2), .Dim = as.integer(c(2, 2)))\n`b` = 1:3; d <- integer(0) # end\n",
    "list(N=10, x=c(1,2), y=structure(.Data=c(1,2), .Dim=c(1,2)))",
    "x,y\n1,NA\n2,3\n",
];

proptest! {
    #[test]
    fn any_bytes(content in proptest::collection::vec(any::<u8>(), 0..60), name in 0..NAMES.len()) {
        let _ = read(NAMES[name], content);
    }

    #[test]
    fn changed_bytes(
        whole in 0..WHOLE.len(),
        name in 0..NAMES.len(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), "[ -~]"), 1..4),
    ) {
        let mut content = WHOLE[whole].as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(content.len());
            content[at] = byte.as_bytes()[0];
        }
        let _ = read(NAMES[name], content);
    }

    /// A dump in R's order and JSON by rows are the same arrays.
    #[test]
    fn dump_and_json_agree(dims in proptest::collection::vec(1..4_usize, 1..4), seed in 0..1000_u32) {
        let size: usize = dims.iter().product();
        let number = |at: usize| f64::from((at as u32 * 7 + seed) % 101) / 8.0;
        // Plain twin: each number is looked up by its indices.
        let nested = nest(&dims, &mut Vec::new(), &|indices| {
            let (mut at, mut step) = (0, 1);
            for (index, length) in indices.iter().zip(&dims) {
                at += index * step;
                step *= length;
            }
            number(at)
        });
        let list = |numbers: Vec<String>| numbers.join(", ");
        let values = list((0..size).map(|at| number(at).to_string()).collect());
        let lengths = list(dims.iter().map(|length| format!("{length}L")).collect());
        let dump = format!("x <- structure(c({values}), .Dim = c({lengths}))");
        let by_rows = read("a.json", format!("{{\"x\": {nested}}}")).unwrap();
        prop_assert_eq!(read("a.R", dump).unwrap(), by_rows);
    }
}

fn nest(dims: &[usize], indices: &mut Vec<usize>, number: &impl Fn(&[usize]) -> f64) -> String {
    if indices.len() == dims.len() {
        return number(indices).to_string();
    }
    let mut items = Vec::new();
    for index in 0..dims[indices.len()] {
        indices.push(index);
        items.push(nest(dims, indices, number));
        indices.pop();
    }
    format!("[{}]", items.join(","))
}

/// A folder of the shared data.
fn shared() -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("COLLAPSAR_DATA") else {
        eprintln!("skipped: COLLAPSAR_DATA is not set");
        return None;
    };
    Some(Path::new(&folder).join("bugs"))
}

#[test]
fn real_files() {
    let Some(folder) = shared() else { return };
    let one = |name: &str| read_data(&[folder.join(name)]).unwrap();
    let mut read = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.contains("-data") {
            let data = one(&name);
            assert!(!data.arrays.is_empty(), "{name}");
            for (key, array) in &data.arrays {
                let size: usize = array.dims.iter().product();
                assert_eq!(array.values.len(), size, "{name}: {key}");
            }
            read += 1;
        }
    }
    assert!(read >= 16);
    let rats = one("rats-data.R");
    assert_eq!(rats.arrays["Y"].dims, [30, 5]);
    assert_eq!(
        rats.arrays["Y"].values[..5],
        [151.0, 199.0, 246.0, 283.0, 320.0]
    );
    let asia = one("asia-data.R");
    assert_eq!(asia.arrays["p.dyspnoea"].dims, [2, 2, 2]);
    // p.dyspnoea[1,2,1] is the third number of the dump.
    assert_eq!(asia.arrays["p.dyspnoea"].values[2], 0.2);
}

#[test]
fn the_same_data_in_two_formats() {
    let Some(folder) = shared() else { return };
    for name in ["gmm", "lda", "bitseq"] {
        let by = |end: &str| read_data(&[folder.join(format!("{name}-data.{end}"))]).unwrap();
        let (dump, json) = (by("R"), by("json"));
        assert!(dump.arrays.keys().eq(json.arrays.keys()), "{name}");
        for (key, array) in &dump.arrays {
            let other = &json.arrays[key];
            assert_eq!(array.dims, other.dims, "{name}: {key}");
            for (a, b) in array.values.iter().zip(&other.values) {
                // The dumps have ten digits.
                assert!(
                    (a - b).abs() <= 1e-9 * b.abs().max(1.0),
                    "{name}: {key}: {a} and {b}"
                );
            }
        }
    }
    let dense = read_data(&[folder.join("bitseq-data.json")]).unwrap();
    let sparse = read_data(&[folder.join("bitseq-data-sparse.json")]).unwrap();
    let matrix = &sparse.sparse["L"];
    let mut values = vec![0.0; matrix.dims[0] * matrix.dims[1]];
    for row in 0..matrix.dims[0] {
        for entry in matrix.starts[row]..matrix.starts[row + 1] {
            values[row * matrix.dims[1] + matrix.columns[entry] as usize] = matrix.values[entry];
        }
    }
    assert_eq!(dense.arrays["L"].dims, matrix.dims);
    assert_eq!(dense.arrays["L"].values, values);
}
