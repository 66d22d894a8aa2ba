use std::fs;

use super::*;
use crate::read_table_with_gaps;

/// All rows, in batches.
fn all(path: &Path, columns: Option<&[String]>) -> Result<(Vec<String>, Vec<u64>)> {
    let mut reader = TableReader::open(path, columns)?;
    let (mut values, mut batch) = (vec![], vec![]);
    while reader.next(&mut batch)? {
        values.extend(batch.iter().map(|x| x.to_bits()));
    }
    assert_eq!(reader.read * reader.columns.len(), values.len());
    Ok((reader.columns, values))
}

fn check(path: &Path, columns: Option<&[String]>) {
    let whole = read_table_with_gaps(path, columns).map(|table| {
        let values = table.values.iter().map(|x| x.to_bits());
        (table.columns, values.collect::<Vec<_>>())
    });
    assert_eq!(all(path, columns), whole, "{}", path.display());
}

/// An array of NumPy, with what its header says of it.
fn array(path: &Path, kind: &str, fortran: &str, shape: &str, data: &[u8]) {
    let mut header =
        format!("{{'descr': '{kind}', 'fortran_order': {fortran}, 'shape': ({shape}), }}");
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    fs::write(path, bytes).unwrap();
}

#[test]
fn rows_are_those_of_the_whole_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    let lines = |rows: usize| -> String {
        let lines = (0..rows).map(|n| format!("{n},{},{}", n as f64 * 0.1, n % 7));
        lines.collect::<Vec<_>>().join("\n") + "\n"
    };
    fs::write(&path, "x,y,z\n".to_owned() + &lines(40_000)).unwrap();
    check(&path, None);
    check(&path, Some(&["z".to_owned(), "1".to_owned()]));
    check(&path, Some(&["absent".to_owned()]));
    fs::write(
        &path,
        "x,y,z\n".to_owned() + &lines(20_000) + "1,,NA\n4,5,6\n",
    )
    .unwrap();
    check(&path, None);
    let text = "x,y,z\n".to_owned() + &lines(20_000) + "1,a,2\n4,inf,6\n" + &lines(20_000);
    fs::write(&path, text).unwrap();
    check(&path, None);
    fs::write(&path, "x,y,z\n").unwrap();
    check(&path, None);
}

#[test]
fn arrays_are_read_by_position_or_in_turn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    let rows = 40_003_usize;
    let number = |i: usize| (i as f64).sin() as f32;
    let single: Vec<u8> = (0..2 * rows)
        .flat_map(|i| number(i).to_le_bytes())
        .collect();
    let double: Vec<u8> = (0..2 * rows)
        .flat_map(|i| f64::from(number(i)).to_le_bytes())
        .collect();
    let big: Vec<u8> = (0..2 * rows)
        .flat_map(|i| number(i).to_be_bytes())
        .collect();
    let short: Vec<u8> = (0..2 * rows)
        .flat_map(|i| (i as u16).to_le_bytes())
        .collect();
    let shape = format!("{rows}, 2");
    for (kind, data, direct) in [
        ("<f4", &single, true),
        ("<f8", &double, true),
        (">f4", &big, false),
        ("<u2", &short, false),
    ] {
        for fortran in ["False", "True"] {
            array(&path, kind, fortran, &shape, data);
            if fortran == "True" && !direct {
                let refused = all(&path, None).unwrap_err().to_string();
                assert!(refused.contains("stored column by column"), "{refused}");
                continue;
            }
            check(&path, None);
            check(&path, Some(&["2".to_owned()]));
            let reader = TableReader::open(&path, None).unwrap();
            assert_eq!((reader.layout.is_some(), reader.rows), (direct, Some(rows)));
        }
    }
    array(&path, "<f8", "False", "3, 2", &double[..40]);
    check(&path, None);
    let infinite = [1.0, f64::NAN, f64::INFINITY, 2.0].map(f64::to_le_bytes);
    array(&path, "<f8", "False", "2, 2", infinite.as_flattened());
    check(&path, None);
}
