//! NumPy arrays: every type and order we read, and the full text of what is refused.

use npyz::WriterBuilder;
use proptest::prelude::*;

use super::read;
use crate::open::Opened;
use crate::table::Table;

/// A version 1 file with this header and data.
fn file(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    raw(
        &format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"),
        data,
    )
}

fn raw(header: &str, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
}

fn input(bytes: &[u8]) -> Opened {
    let length = bytes.len() as u64;
    let content = std::io::Cursor::new(bytes.to_vec());
    Opened::new("t.npy".as_ref(), Some(length), content).unwrap()
}

fn of(bytes: &[u8]) -> Result<Table, String> {
    read(input(bytes), None, false).map_err(|error| error.to_string())
}

fn doubles(values: &[f64]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

#[test]
fn arrays_of_any_shape() {
    let any = |fortran, shape: &str, values: &[f64]| {
        let bytes = file("'<f8'", fortran, shape, &doubles(values));
        super::read_array(input(&bytes)).map_err(|e| e.to_string())
    };
    let values: Vec<f64> = (0..12).map(f64::from).collect();
    let (dims, c) = any(false, "(2, 3, 2)", &values).unwrap();
    assert_eq!((dims, c), (vec![2, 3, 2], values.clone()));
    let (_, fortran) = any(true, "(2, 3, 2)", &values).unwrap();
    for (place, value) in fortran.iter().enumerate() {
        // The first index runs fastest in the file.
        let (i, j, k) = (place / 6, place / 2 % 3, place % 2);
        assert_eq!(*value, (i + 2 * j + 6 * k) as f64);
    }
    let (dims, gap) = any(false, "(2,)", &[1.0, f64::NAN]).unwrap();
    assert!(dims == [2] && gap[0] == 1.0 && gap[1].is_nan());
    assert_eq!(any(false, "()", &[4.0]).unwrap(), (vec![1], vec![4.0]));
    assert!(any(false, "(2,)", &[1.0, f64::INFINITY]).is_err());
    let found = any(false, "(2, 2, 2)", &[1.0; 7]).unwrap_err();
    assert!(found.contains("2 by 2 by 2 values"), "{found}");
}

#[test]
fn orders_and_axes() {
    let data = doubles(&[1., 2., 3., 4., 5., 6.]);
    let c = of(&file("'<f8'", false, "(2, 3)", &data)).unwrap();
    assert_eq!(
        (c.rows, c.columns, c.values),
        (
            2,
            vec!["1".into(), "2".into(), "3".into()],
            vec![1., 2., 3., 4., 5., 6.]
        )
    );
    let fortran = of(&file("'<f8'", true, "(2, 3)", &data)).unwrap();
    assert_eq!(fortran.values, [1., 3., 5., 2., 4., 6.]);
    let one = of(&file("'<f8'", false, "(6,)", &data)).unwrap();
    assert_eq!((one.rows, one.columns.len()), (6, 1));
    let bytes = file("'<f8'", true, "(2, 3)", &data);
    let selected = read(input(&bytes), Some(&["3".into(), "1".into()]), false).unwrap();
    assert_eq!(
        (selected.columns, selected.values),
        (vec!["3".into(), "1".into()], vec![5., 1., 6., 2.])
    );
}

#[test]
fn types() {
    macro_rules! check {
        ($descr:literal, $bytes:ident, $($value:expr),+) => {{
            let data = [$($value.$bytes().to_vec()),+].concat();
            let table = of(&file(concat!("'", $descr, "'"), false, "(2,)", &data)).unwrap();
            assert_eq!(table.values, [$($value.to_string().parse::<f64>().unwrap()),+], $descr);
        }};
    }
    check!("<f4", to_le_bytes, 1.5f32, -2f32);
    check!(">f8", to_be_bytes, 1.5f64, -2f64);
    check!("|i1", to_le_bytes, 1i8, -2i8);
    check!("<i2", to_le_bytes, 1i16, -2i16);
    check!(">i4", to_be_bytes, 1i32, -2i32);
    check!("<i8", to_le_bytes, 1i64, -2i64);
    check!("|u1", to_le_bytes, 1u8, 200u8);
    check!("<u2", to_le_bytes, 1u16, 200u16);
    check!("<u4", to_le_bytes, 1u32, 200u32);
    check!(">u8", to_be_bytes, 1u64, 200u64);
    assert_eq!(
        of(&file("'|b1'", false, "(2,)", &[1, 0])).unwrap().values,
        [1., 0.]
    );
}

#[test]
fn another_writer() {
    let mut bytes = Vec::new();
    let mut writer = npyz::WriteOptions::new()
        .default_dtype()
        .shape(&[2, 2])
        .writer(&mut bytes)
        .begin_nd()
        .unwrap();
    writer.extend([1.0f64, 2.0, 3.0, 4.0]).unwrap();
    writer.finish().unwrap();
    assert_eq!(of(&bytes).unwrap().values, [1., 2., 3., 4.]);
}

#[test]
fn refusals() {
    let data = doubles(&[1., 2., 3., f64::NAN]);
    let deep = format!("{}{}", "(".repeat(30_000), ")".repeat(30_000));
    let cases = [
        file("'<f8'", false, "(2, 2)", &data),
        file(
            "'<f8'",
            true,
            "(2, 2)",
            &doubles(&[1., f64::INFINITY, 3., 4.]),
        ),
        file("'<f8'", false, "(2, 2)", &data[..31]),
        file("'<f8'", false, "(2, 1, 2)", &data),
        file("'<f8'", false, "()", &data),
        file("'<f8'", false, "(0, 3)", &[]),
        file("'<f8'", false, "(9223372036854775808, 4)", &data),
        file("'<f8'", false, "(99999999999999999999999, 4)", &data),
        file("'<f8'", false, "(2000000000, 2000000000)", &data),
        file("'<c16'", false, "(2,)", &data),
        file("'<f2'", false, "(2,)", &data),
        file("'|S8'", false, "(2,)", &data),
        file("'|O'", false, "(2,)", &data),
        file("[('x', '<f8'), ('y', '<f8')]", false, "(2,)", &data),
        raw("{'descr': '<f8'}", &data),
        raw("nonsense", &data),
        raw(&deep, &data),
        b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(),
        b"\x93NUMPY\x09\x00\x01\x00\x00\x00 ".to_vec(),
        b"something else".to_vec(),
        Vec::new(),
    ];
    let texts: Vec<String> = cases.iter().map(|bytes| of(bytes).unwrap_err()).collect();
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn every_truncation() {
    let whole = file("'<f8'", false, "(2, 2)", &doubles(&[1., 2., 3., 4.]));
    assert!(of(&whole).is_ok());
    for length in 0..whole.len() {
        assert!(of(&whole[..length]).is_err(), "{length}");
    }
}

proptest! {
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = of(&bytes);
    }

    #[test]
    fn any_header(header in "[{}()\\[\\]',:<>|a-f0-9 \\\\\n-]{0,100}", data in prop::collection::vec(any::<u8>(), 0..50)) {
        let _ = of(&raw(&header, &data));
    }

    #[test]
    fn any_change(at in 0usize..100, byte in any::<u8>()) {
        let mut bytes = file("'<f8'", false, "(2, 2)", &doubles(&[1., 2., 3., 4.]));
        let at = at % bytes.len();
        bytes[at] = byte;
        let _ = of(&bytes);
    }
}
