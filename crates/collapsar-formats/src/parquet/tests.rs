//! Parquet tables written by the crate's own writer, whole, damaged and cut short.

use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DoubleType, FloatType, Int32Type, Int64Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;

use crate::table::{Table, read_table};

enum Values {
    Bool(Vec<bool>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Text(Vec<&'static str>),
}

/// A file with one row group for each element of `groups`; `levels` are those of every column.
fn file(
    schema: &str,
    codec: Compression,
    groups: &[Vec<Values>],
    levels: Option<&[i16]>,
) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(&format!("message t {{ {schema} }}")).unwrap());
    let properties = Arc::new(WriterProperties::builder().set_compression(codec).build());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties).unwrap();
    for group in groups {
        let mut rows = writer.next_row_group().unwrap();
        for values in group {
            let mut column = rows.next_column().unwrap().unwrap();
            macro_rules! write {
                ($type:ty, $values:expr) => {
                    column
                        .typed::<$type>()
                        .write_batch($values, levels, None)
                        .unwrap()
                };
            }
            match values {
                Values::Bool(values) => write!(BoolType, values),
                Values::Int32(values) => write!(Int32Type, values),
                Values::Int64(values) => write!(Int64Type, values),
                Values::Float(values) => write!(FloatType, values),
                Values::Double(values) => write!(DoubleType, values),
                Values::Text(values) => {
                    let values: Vec<ByteArray> =
                        values.iter().map(|&text| ByteArray::from(text)).collect();
                    write!(ByteArrayType, &values)
                }
            };
            column.close().unwrap();
        }
        rows.close().unwrap();
    }
    writer.close().unwrap();
    bytes
}

fn read(bytes: &[u8], columns: Option<&[&str]>) -> Result<Table, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    std::fs::write(&path, bytes).unwrap();
    let columns: Option<Vec<String>> =
        columns.map(|names| names.iter().map(ToString::to_string).collect());
    let place = format!("{}/", folder.path().display());
    read_table(&path, columns.as_deref()).map_err(|error| error.to_string().replace(&place, ""))
}

fn small(codec: Compression) -> Vec<u8> {
    let group = |from: f64| {
        vec![
            Values::Double(vec![from, from + 1.]),
            Values::Int32(vec![7, -8]),
        ]
    };
    file(
        "required double a; required int32 b;",
        codec,
        &[group(1.), group(3.)],
        None,
    )
}

#[test]
fn codecs_and_row_groups() {
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(ZstdLevel::default()),
        Compression::GZIP(parquet::basic::GzipLevel::default()),
    ];
    for codec in codecs {
        let table = read(&small(codec), None).unwrap();
        assert_eq!(
            (table.rows, table.columns),
            (4, vec!["a".into(), "b".into()])
        );
        assert_eq!(table.values, [1., 7., 2., -8., 3., 7., 4., -8.]);
    }
    assert_eq!(
        read(&small(codecs[0]), Some(&["2"])).unwrap().values,
        [7., -8., 7., -8.]
    );
}

/// A codec that this build lacks is no damage.
#[test]
fn other_codecs() {
    let one = vec![Values::Double(vec![1.])];
    let mut bytes = file(
        "required double a;",
        Compression::UNCOMPRESSED,
        &[one],
        None,
    );
    // The codec follows the column's path in the footer; 14 is LZ4_RAW.
    let codec = b"\x18\x01a\x15\x00";
    let at = bytes.windows(codec.len()).rposition(|part| part == codec);
    bytes[at.unwrap() + codec.len() - 1] = 14;
    assert_eq!(
        read(&bytes, None).unwrap_err(),
        "t.parquet: a compression or encoding that is not supported, expected Parquet with snappy, \
         zstd, gzip or no compression; try df.to_parquet(path, compression=\"zstd\")"
    );
}

#[test]
fn types() {
    let schema = "required boolean a; required int64 b; required float c; required int32 d (UINT_32); \
                  required int64 e (INTEGER(64,false)); required int32 f (DECIMAL(9,2)); required int32 g (INT_8);";
    let group = vec![
        Values::Bool(vec![true, false]),
        Values::Int64(vec![1, -2]),
        Values::Float(vec![1.5, -2.]),
        Values::Int32(vec![1, -1]),
        Values::Int64(vec![1, i64::MIN]),
        Values::Int32(vec![150, -25]),
        Values::Int32(vec![1, -1]),
    ];
    let table = read(&file(schema, Compression::SNAPPY, &[group], None), None).unwrap();
    let second = [0., -2., -2., f64::from(u32::MAX), 2f64.powi(63), -0.25, -1.];
    assert_eq!(
        table.values,
        [[1., 1., 1.5, 1., 1., 1.5, 1.], second].concat()
    );
}

#[test]
fn many_rows_and_an_index() {
    let n = 200_000;
    let values = |offset: i64| Values::Int64((0..n).map(|i| i + offset).collect());
    let schema = "optional int64 x; optional int64 __index_level_0__;";
    let bytes = file(
        schema,
        Compression::SNAPPY,
        &[vec![values(5), values(0)]],
        Some(&vec![1; n as usize]),
    );
    let table = read(&bytes, None).unwrap();
    assert_eq!(
        (table.rows, table.skipped),
        (n as usize, vec!["__index_level_0__".to_owned()])
    );
    assert!(
        table
            .values
            .iter()
            .enumerate()
            .all(|(i, &value)| value == i as f64 + 5.)
    );
}

#[test]
fn refusals() {
    let plain = Compression::UNCOMPRESSED;
    let one = |schema: &str, values: Values| file(schema, plain, &[vec![values]], None);
    let text = file(
        "required double a; required binary species (UTF8); required int64 at (TIMESTAMP(NANOS,true));",
        plain,
        &[vec![
            Values::Double(vec![1.]),
            Values::Text(vec!["setosa"]),
            Values::Int64(vec![0]),
        ]],
        None,
    );
    let null = file(
        "optional double a;",
        plain,
        &[vec![Values::Double(vec![1., 2.])]],
        Some(&[1, 0, 1]),
    );
    let nulls = file(
        "optional double a;",
        plain,
        &[vec![Values::Double(vec![])]],
        Some(&[0, 0]),
    );
    let whole = small(plain);
    let mut garbled = whole.clone();
    garbled[4..60].fill(0xff);
    let results = [
        read(&text, None),
        read(&text, Some(&["at"])),
        read(
            &one("required int32 day (DATE);", Values::Int32(vec![1])),
            None,
        ),
        read(&null, None),
        read(&nulls, None),
        read(
            &one("required double a;", Values::Double(vec![1., f64::NAN])),
            None,
        ),
        read(&file("required double a;", plain, &[], None), None),
        read(&whole, Some(&["c"])),
        read(&whole[..whole.len() - 1], None),
        read(&whole[..20], None),
        read(&garbled, None),
        read(b"PAR1", None),
        read(b"text, of course", None),
        read(b"", None),
    ];
    let texts: Vec<String> = results.into_iter().map(Result::unwrap_err).collect();
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn every_truncation() {
    let whole = small(Compression::SNAPPY);
    for length in 0..whole.len() {
        assert!(read(&whole[..length], None).is_err(), "{length}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&[b"PAR1", &bytes[..], b"\x10\x00\x00\x00PAR1"].concat(), None);
    }

    #[test]
    fn any_changes(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut bytes = small(Compression::UNCOMPRESSED);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = read(&bytes, None);
    }
}

/// Files of a folder are one table, in the order of their names, and are read some rows at a time as they are read at once.
#[test]
fn folders_are_tables() {
    use crate::TableReader;
    let folder = tempfile::tempdir().unwrap();
    let numbers = |from: usize, rows: usize| -> Vec<f64> {
        (from..from + rows).map(|n| n as f64 * 0.5).collect()
    };
    let counts = |rows: usize| -> Vec<i32> { (0..).take(rows).collect() };
    let schema = "required double x; required int32 n;";
    let write = |name: &str, schema: &str, groups: &[Vec<Values>]| {
        let bytes = file(schema, Compression::SNAPPY, groups, None);
        std::fs::write(folder.path().join(name), bytes).unwrap();
    };
    let group = |from, rows| {
        vec![
            Values::Double(numbers(from, rows)),
            Values::Int32(counts(rows)),
        ]
    };
    write("b.parquet", schema, &[group(0, 3)]);
    write(
        "a.parquet",
        schema,
        &[group(100, 70_000), group(7, 1), group(9, 20_000)],
    );
    // The same columns in another order, and one more.
    let other = "required int32 n; required double y; required double x;";
    let turned = vec![
        Values::Int32(counts(2)),
        Values::Double(numbers(0, 2)),
        Values::Double(numbers(50, 2)),
    ];
    write("c.pq", other, &[turned]);
    std::fs::write(folder.path().join("_SUCCESS"), "").unwrap();
    let table = read_table(folder.path(), None).unwrap();
    assert_eq!(table.columns, ["x", "n"]);
    let expected = [
        numbers(100, 70_000),
        numbers(7, 1),
        numbers(9, 20_000),
        numbers(0, 3),
        numbers(50, 2),
    ]
    .concat();
    let found: Vec<f64> = table.values.iter().step_by(2).copied().collect();
    assert_eq!(found, expected);
    assert_eq!(table.values[2 * 90_004 + 1], 0.0);
    let mut reader = TableReader::open(folder.path(), None).unwrap();
    assert_eq!(reader.rows, Some(table.rows));
    let (mut values, mut batch) = (vec![], vec![]);
    while reader.next(&mut batch).unwrap() {
        values.append(&mut batch);
    }
    assert_eq!(values, table.values);

    write(
        "d.parquet",
        "required double x;",
        &[vec![Values::Double(numbers(0, 2))]],
    );
    let refused = read_table(folder.path(), None).unwrap_err().to_string();
    assert!(
        refused.ends_with("d.parquet: no column \"n\", expected \"x\" or an index from 1 to 1"),
        "{refused}"
    );
    let empty = tempfile::tempdir().unwrap();
    let refused = read_table(empty.path(), None).unwrap_err().to_string();
    assert!(
        refused.ends_with(
            "a folder without .parquet files, expected a table, or a folder of Parquet files"
        ),
        "{refused}"
    );
}
